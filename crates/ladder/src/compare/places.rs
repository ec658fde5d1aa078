//! The rows of saved results, with what they belong to.

use std::collections::{BTreeMap, HashMap};

use super::Times;
use crate::saved::{Samples, Saved, SavedCase, SavedDevice, SavedRow};
use base::timing::Series;

/// The largest part of the machine that other processes can be known to use beside a row.
const MOST_OTHERS: f64 = 0.99;

/// A row with the case and the device that it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) device: &'a SavedDevice,
    pub(super) case: &'a SavedCase,
    pub(super) row: RowOrPeak<'a>,
}

/// A row of a variant, or the samples of a peak kernel.
#[derive(Clone, Copy)]
pub(super) enum RowOrPeak<'a> {
    Row(&'a SavedRow),
    Peak(&'a str),
}

impl Place<'_> {
    pub(super) fn name(&self) -> String {
        match self.row {
            RowOrPeak::Row(row) => row.name(),
            RowOrPeak::Peak(name) => format!("({name})"),
        }
    }

    /// Returns the samples, if the row has any.
    pub(super) fn samples(&self) -> Option<Samples> {
        match self.row {
            RowOrPeak::Row(row) => row.samples.clone(),
            RowOrPeak::Peak(name) => self.case.peak(name),
        }
    }

    /// Returns the times of the peak kernel, by which changes of the machine are judged; `None` if it was measured by another clock.
    pub(super) fn control(&self, clock: &str) -> Option<Vec<f64>> {
        self.case.control()?.times_by(clock)
    }

    /// Returns the times, if the row was verified and has positive ones only.
    pub(super) fn times(&self) -> Option<Times> {
        let is_noisy = match self.row {
            RowOrPeak::Row(row) if row.outcome != "ok" || row.checked.is_empty() => return None,
            RowOrPeak::Row(row) => row.noisy.is_string(),
            RowOrPeak::Peak(_) => false,
        };
        let times = self.samples()?.times();
        let series = Series::of(&times).filter(|series| series.min > 0.0)?;
        Some(Times { series, is_noisy })
    }

    /// Returns the part of the machine that other processes used, 0 to 1; 0 if it is unknown.
    pub(super) fn others(&self) -> f64 {
        let of = |row: &SavedRow| row.others.unwrap_or(0.0);
        let others = match self.row {
            RowOrPeak::Row(row) => of(row),
            RowOrPeak::Peak(_) => self.case.variants.iter().map(of).fold(0.0, f64::max),
        };
        others.clamp(0.0, MOST_OTHERS)
    }

    pub(super) fn is_mismatch(&self) -> bool {
        matches!(self.row, RowOrPeak::Row(row) if row.outcome == "mismatch")
    }
}

/// Returns all rows of a saved result.
pub(super) fn places(saved: &Saved) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for device in saved.devices() {
        for case in &device.runs {
            let place = |row| Place { device, case, row };
            places.extend(case.peaks().map(|(name, _)| place(RowOrPeak::Peak(name))));
            places.extend(case.variants.iter().map(|row| place(RowOrPeak::Row(row))));
        }
    }
    places
}

/// The rows of a result, to be found by what they have in common with a row of another one.
pub(super) struct Index<'a> {
    /// The indices of the rows by name, and then by the device's index and the case's title. The first of several rows hides the
    /// others.
    by_name: HashMap<String, BTreeMap<(usize, &'a str), usize>>,
}

impl<'a> Index<'a> {
    /// Returns the index of `places`, the rows of `saved`.
    pub(super) fn new(saved: &'a Saved, places: &[Place<'a>]) -> Self {
        let mut by_name: HashMap<String, BTreeMap<(usize, &str), usize>> = HashMap::new();
        for (at, place) in places.iter().enumerate() {
            let device = saved.devices().iter().position(|device| std::ptr::eq(device, place.device));
            let key = (device.unwrap_or_default(), place.case.title.as_str());
            by_name.entry(place.name()).or_default().entry(key).or_insert(at);
        }
        Self { by_name }
    }

    /// Returns the indices of the rows in their order, without those that are hidden.
    pub(super) fn visible(&self) -> impl Iterator<Item = usize> {
        let mut all: Vec<usize> = self.by_name.values().flat_map(|rows| rows.values().copied()).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// Returns the index of the row that is the same work as `wanted`, or else of one with this name that has most in common, so
    /// that the reason names what differs. `same` has the indices of the devices that are the same one.
    pub(super) fn find(&self, name: &str, wanted: &Place<'_>, same: &[usize]) -> Option<usize> {
        let rows = self.by_name.get(name)?;
        let title = wanted.case.title.as_str();
        let of_both = || same.iter().find_map(|device| rows.get(&(*device, title)));
        let of_case = || rows.iter().find(|((_, of), _)| *of == title).map(|(_, at)| at);
        let of_device = || rows.iter().find(|((device, _), _)| same.contains(device)).map(|(_, at)| at);
        of_both().or_else(of_case).or_else(of_device).or_else(|| rows.values().next()).copied()
    }
}
