//! The rows of saved results, each with its case and device.

use std::collections::{BTreeMap, HashMap};

use super::Times;
use crate::results::{DeviceReport, Report, RowReport, RunReport};
use base::timing::Series;

/// The largest share of the machine's CPU time that other processes are assumed to use while a row is measured, from 0 to 1.
const MOST_OTHERS: f64 = 0.99;

/// A row of a saved result, with its case and device.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) device: &'a DeviceReport,
    pub(super) run: &'a RunReport,
    pub(super) row: &'a RowReport,
    /// True if the row is a peak kernel, whose output is not compared with a reference.
    pub(super) is_peak: bool,
}

impl<'a> Place<'a> {
    pub(super) fn name(&self) -> String {
        if self.is_peak { format!("({})", self.row.id) } else { self.row.name() }
    }

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
        Some(Times { series, is_noisy: self.row.noisy.0.is_some() })
    }

    /// Returns the share of the machine's CPU time that other processes used while the row was measured, from 0 to 1; 0 if it
    /// is unknown.
    pub(super) fn others(&self) -> f64 {
        let of = |row: &RowReport| row.others.unwrap_or(0.0);
        // Results of schema 1 do not have it for peak kernels.
        let rows = if self.is_peak { self.run.variants.as_slice() } else { std::slice::from_ref(self.row) };
        rows.iter().map(of).fold(0.0, f64::max).clamp(0.0, MOST_OTHERS)
    }

    pub(super) fn is_mismatch(&self) -> bool {
        self.row.outcome == "mismatch"
    }
}

/// Returns all rows of a saved result.
pub(super) fn places(saved: &Report) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for device in &saved.devices {
        for run in &device.runs {
            let place = |row, is_peak| Place { device, run, row, is_peak };
            let peaks = run.peaks.iter().filter(|peak| peak.samples.is_some());
            places.extend(peaks.map(|peak| place(peak, true)));
            places.extend(run.variants.iter().map(|row| place(row, false)));
        }
    }
    places
}

/// An index of a result's rows, to find the row that corresponds to a row of another result.
pub(super) struct Index<'a> {
    /// The indices of the rows: first by the name of the row, then by the index of the device and the title of the case. If
    /// several rows have the same name, device and case, only the first one is in the index.
    by_name: HashMap<String, BTreeMap<(usize, &'a str), usize>>,
}

impl<'a> Index<'a> {
    /// Creates the index of `places`, the rows of `saved`.
    pub(super) fn new(saved: &'a Report, places: &[Place<'a>]) -> Self {
        let mut by_name: HashMap<String, BTreeMap<(usize, &str), usize>> = HashMap::new();
        for (at, place) in places.iter().enumerate() {
            let device = saved.devices.iter().position(|device| std::ptr::eq(device, place.device));
            let key = (device.unwrap_or_default(), place.run.title.as_str());
            by_name.entry(place.name()).or_default().entry(key).or_insert(at);
        }
        Self { by_name }
    }

    /// Returns the indices of the rows in their order. Of several rows with the same name, device and case, only the first one
    /// is included.
    pub(super) fn visible(&self) -> impl Iterator<Item = usize> {
        let mut all: Vec<usize> = self.by_name.values().flat_map(|rows| rows.values().copied()).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// Returns the index of the row with the same name, case and device as `wanted`. If there is none, returns the row with
    /// this name that has most in common with `wanted`, so that the difference can be reported as the reason for no verdict;
    /// `None` if no row has this name. `same` contains the indices of the devices that are the same as that of `wanted`.
    pub(super) fn find(&self, name: &str, wanted: &Place<'_>, same: &[usize]) -> Option<usize> {
        let rows = self.by_name.get(name)?;
        let title = wanted.run.title.as_str();
        let of_both = || same.iter().find_map(|device| rows.get(&(*device, title)));
        let of_case = || rows.iter().find(|((_, of), _)| *of == title).map(|(_, at)| at);
        let of_device = || rows.iter().find(|((device, _), _)| same.contains(device)).map(|(_, at)| at);
        of_both().or_else(of_case).or_else(of_device).or_else(|| rows.values().next()).copied()
    }
}
