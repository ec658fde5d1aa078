//! Trials of edited kernels: runs in the sandbox before the kernels filter frames. This module keeps their results and the
//! trials that are missing, and decides whether a frame may be filtered.

use std::collections::{HashMap, HashSet};

use super::Refusal;
use base::error::{Error, Result};
use box_filter::{Settings, VariantId};
use stats::KernelsId;
use video::color::Layout;

/// The conditions of a trial of a variant's kernels. Kernels that run well with one picture size and settings may hang with
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TrialCase {
    /// The variant.
    pub variant: VariantId,
    /// The version number of the variant's edited kernels; `None` for the version in use.
    pub version: Option<u64>,
    /// Width and height of the picture in pixels.
    pub size: (u32, u32),
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// The layout of the planes if the variant filters planes; `None` if it filters RGBA.
    pub layout: Option<Layout>,
}

impl TrialCase {
    fn kernels(&self) -> KernelsId {
        (self.variant, self.version)
    }
}

/// The trials on one device and their results. A trial is a run of a variant's edited kernels in the sandbox, at one picture
/// size and with one set of settings; it must succeed before the kernels may filter such frames.
#[derive(Debug, Default)]
pub struct Trials {
    /// The variants and versions whose kernels were edited.
    changed: HashSet<KernelsId>,
    /// The result of each trial; `None` while the trial is requested or running.
    cases: HashMap<TrialCase, Option<Result<()>>>,
    /// The trials that were requested and should be run. Each is handed out once.
    pub(super) missing: Vec<TrialCase>,
}

impl Trials {
    /// Marks these kernels as edited, and drops the results of their earlier trials: for each picture size and settings they need a trial in
    /// the sandbox before they filter frames.
    pub fn note_change(&mut self, kernels: KernelsId) {
        self.cases.retain(|case, _| case.kernels() != kernels);
        self.changed.insert(kernels);
    }

    /// Records that the kernels have just passed the trial `case`, and drops the results of their older trials. If `is_changed`
    /// is true, the kernels were edited, so that each other picture size and other settings need a trial of its own.
    pub fn record_passed(&mut self, case: TrialCase, is_changed: bool) {
        self.note_change(case.kernels());
        self.missing.retain(|missing| missing.kernels() != case.kernels());
        match is_changed {
            true => self.record(case, Ok(())),
            false => drop(self.changed.remove(&case.kernels())),
        }
    }

    /// Records the result of a trial.
    pub fn record(&mut self, case: TrialCase, result: Result<()>) {
        self.cases.insert(case, Some(result));
    }

    /// Returns the kernels and settings whose trial is requested or running, so that they cannot be used yet.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (KernelsId, Settings)> {
        let pending = self.cases.iter().filter(|(_, result)| result.is_none());
        pending.map(|(case, _)| (case.kernels(), case.settings))
    }

    /// Returns the kernels and settings whose trial failed, with the error.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (KernelsId, Settings, Error)> {
        let error = |result: &Option<Result<()>>| result.as_ref()?.as_ref().err().cloned();
        self.cases
            .iter()
            .filter_map(move |(case, result)| Some((case.kernels(), case.settings, error(result)?)))
    }

    /// Forgets the trials that have no result, so that frames request them again.
    pub(super) fn forget_requests(&mut self) {
        self.cases.retain(|_, result| result.is_some());
        self.missing.clear();
    }

    /// Returns an error if the kernels of this case must not filter frames yet: [`Refusal::TrialPending`] if their trial has no
    /// result, in which case the trial is requested unless that has been done; [`Refusal::Unsupported`] if the trial failed.
    pub(super) fn require(&mut self, case: TrialCase) -> Result<(), Refusal> {
        if !self.changed.contains(&case.kernels()) {
            return Ok(());
        }
        let missing = &mut self.missing;
        let known = self.cases.entry(case).or_insert_with(|| {
            missing.push(case);
            None
        });
        match known {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Refusal::Unsupported(Error::clone(error))),
            None => Err(Refusal::TrialPending),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    #[test]
    fn trials_without_a_result_are_requested_again() {
        let case = |settings: u32| TrialCase {
            variant: named("flat"),
            version: None,
            size: (4, 4),
            settings: settings.into(),
            layout: None,
        };
        let mut trials = Trials::default();
        trials.cases.extend([(case(1), None), (case(2), Some(Ok(())))]);
        trials.missing.push(case(1));
        trials.forget_requests();
        assert!(trials.missing.is_empty(), "requested again with the next frame");
        assert_eq!(trials.cases.keys().collect::<Vec<_>>(), [&case(2)]);
    }
}
