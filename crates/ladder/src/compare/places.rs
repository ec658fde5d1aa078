//! The rows of saved results, each with its case and device.

use super::Times;
use crate::results::{DeviceReport, Report, RowReport, RunReport};
use base::timing::Series;

/// The largest share of the machine's CPU time that other processes are assumed to use while a row is measured, from 0 to 1.
const MOST_OTHERS: f64 = 0.99;

/// A row of a saved result, with its case and device.
pub(super) struct Place<'a> {
    /// The name of the row; that of a peak kernel is in parentheses.
    pub name: String,
    /// The index of the device in the result.
    device_at: usize,
    pub device: &'a DeviceReport,
    pub run: &'a RunReport,
    pub row: &'a RowReport,
    /// True if the row is a peak kernel, whose output is not compared with a reference.
    pub is_peak: bool,
}

impl<'a> Place<'a> {
    /// Returns the case whose peak kernel and clock speed show how the machine has changed between two runs: the row's own
    /// case, or the device's first case if the row's case has no peak kernels.
    pub(super) fn control_run(&self) -> &'a RunReport {
        let first = self.device.runs.first().filter(|_| self.run.peaks.is_empty());
        first.unwrap_or(self.run)
    }

    /// Returns the times of the peak kernel, by which the speed of the machine is compared between runs; `None` if it was not
    /// measured by this clock.
    pub(super) fn control(&self, clock: &str) -> Option<Vec<f64>> {
        self.control_run().peaks.iter().find_map(|peak| peak.samples.as_ref())?.times_by(clock)
    }

    /// Returns the times of the row; `None` if its output was not verified or a time is not positive.
    pub(super) fn times(&self) -> Option<Times> {
        let is_verified = self.row.outcome == "ok" && !self.row.checked.is_empty();
        let times = self.row.samples.as_ref().filter(|_| is_verified || self.is_peak)?.times();
        let series = Series::of(&times).filter(|series| series.min > 0.0)?;
        Some(Times { series, is_noisy: self.row.noise().is_some() || self.row.noisy.0.is_some() })
    }

    /// Returns the share of the machine's CPU time that other processes used while the row was measured, from 0 to 1; 0 if it
    /// is unknown.
    pub(super) fn others(&self) -> f64 {
        let of = |row: &RowReport| row.others.unwrap_or(0.0);
        // Results of schema 1 do not have it for peak kernels.
        let rows = if self.is_peak { self.run.variants.as_slice() } else { std::slice::from_ref(self.row) };
        rows.iter().map(of).fold(0.0, f64::max).clamp(0.0, MOST_OTHERS)
    }
}

/// Returns all rows of a saved result.
pub(super) fn places(saved: &Report) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for (device_at, device) in saved.devices.iter().enumerate() {
        for run in &device.runs {
            let place = |name, row, is_peak| Place { name, device_at, device, run, row, is_peak };
            let peaks = run.peaks.iter().filter(|peak| peak.samples.is_some());
            places.extend(peaks.map(|peak| place(format!("({})", peak.id), peak, true)));
            places.extend(run.variants.iter().map(|row| place(row.name(), row, false)));
        }
    }
    places
}

/// Returns the index of the row with the same name and case as `wanted` on the same device, for which `is_same_device` returns
/// true. If there is none, returns the row with this name that has most in common with `wanted`, so that the difference can be
/// reported as the reason for no verdict; `None` if no row has this name.
pub(super) fn find(
    places: &[Place],
    wanted: &Place,
    is_same_device: impl Fn(&Place) -> bool,
) -> Option<usize> {
    let named = places.iter().enumerate().filter(|(_, place)| place.name == wanted.name);
    let found = named.min_by_key(|(_, place)| {
        let title = &place.run.title;
        (*title != wanted.run.title, !is_same_device(place), place.device_at, title)
    });
    found.map(|(at, _)| at)
}

/// Returns true for the first of several rows with the same name, device and case.
pub(super) fn is_first(places: &[Place], at: usize) -> bool {
    let Place { name, device_at, run, .. } = &places[at];
    let is_same =
        |other: &Place| (other.device_at, &other.run.title, &other.name) == (*device_at, &run.title, name);
    !places[..at].iter().any(is_same)
}
