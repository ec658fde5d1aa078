//! Which variants must be tried before they run here, and what came of that. In: variants whose kernels are changed, and
//! what frames are to be filtered with. Out: the trials that are missing; leave to filter, or a sentence why not.

use std::collections::{HashMap, HashSet};

use ffmpeg_next::frame::Video;

use super::{Pipeline, Refusal};
use base::error::{Error, Result};
use box_filter::VariantId;
use box_filter::color_kernels::Converter;
use video::color::Layout;

/// One way to run a variant's kernels: what runs well at one size and radius may hang at another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TrialCase {
    /// The variant.
    pub variant: VariantId,
    /// Width and height of the picture in pixels.
    pub size: (u32, u32),
    /// The radius in pixels.
    pub radius: u32,
    /// How the planes lie, for what filters planes.
    pub layout: Option<Layout>,
}

/// What is known of trials on one device.
#[derive(Debug, Default)]
pub(super) struct Trials {
    /// Variants with changed kernels.
    changed: HashSet<VariantId>,
    /// What came of trials; `None` while one is under way.
    cases: HashMap<TrialCase, Option<Result<()>>>,
    /// Those that nobody has begun.
    missing: Vec<TrialCase>,
}

impl Trials {
    /// Forgets those whose end was not told: they are asked for anew.
    pub(super) fn ask_again(&mut self) {
        self.cases.retain(|_, result| result.is_some());
        self.missing.clear();
    }
}

impl Pipeline {
    /// This variant's kernels are changed: each way to run them is tried first, from here on.
    pub fn must_try(&mut self, variant: VariantId) {
        self.trials.cases.retain(|case, _| case.variant != variant);
        self.trials.changed.insert(variant);
    }

    /// This variant was just tried in this way and may be used so; `is_changed`: all other ways are to be tried first.
    pub fn was_judged(&mut self, case: TrialCase, is_changed: bool) {
        self.must_try(case.variant);
        self.trials.missing.retain(|missing| missing.variant != case.variant);
        match is_changed {
            true => self.tried(case, Ok(())),
            false => drop(self.trials.changed.remove(&case.variant)),
        }
    }

    /// Trials to be made, each told once.
    pub fn missing_trials(&mut self) -> Vec<TrialCase> {
        std::mem::take(&mut self.trials.missing)
    }

    /// Takes what came of a trial.
    pub fn tried(&mut self, case: TrialCase, result: Result<()>) {
        self.trials.cases.insert(case, Some(result));
    }

    /// Whether a trial of this variant at this radius is under way: it does not filter until that is over.
    pub(crate) fn awaits_trial(&self, variant: VariantId, radius: u32) -> bool {
        self.trials
            .cases
            .iter()
            .any(|(case, result)| result.is_none() && (case.variant, case.radius) == (variant, radius))
    }

    /// Whether this variant's kernels are being tried for such frames, or are to be: that is asked for then.
    pub(crate) fn is_untried(&mut self, frame: &Video, variant: VariantId, radius: u32) -> bool {
        let layout = Converter::supports(frame).filter(|_| variant.reads_planes());
        let case = TrialCase { variant, size: (frame.width(), frame.height()), radius, layout };
        matches!(self.require_trial(case), Err(Refusal::Untried))
    }

    /// Lets through what needs no trial, and what has come through one.
    pub(super) fn require_trial(&mut self, case: TrialCase) -> std::result::Result<(), Refusal> {
        if !self.trials.changed.contains(&case.variant) {
            return Ok(());
        }
        let missing = &mut self.trials.missing;
        let known = self.trials.cases.entry(case).or_insert_with(|| {
            missing.push(case);
            None
        });
        match known {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Refusal::Unsupported(Error::clone(error))),
            None => Err(Refusal::Untried),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_told_is_asked_again() {
        let case = |radius| TrialCase { variant: VariantId::Flat, size: (4, 4), radius, layout: None };
        let mut trials = Trials::default();
        trials.cases.extend([(case(1), None), (case(2), Some(Ok(())))]);
        trials.missing.push(case(1));
        trials.ask_again();
        assert!(trials.missing.is_empty(), "it is told when it is wanted");
        assert_eq!(trials.cases.keys().collect::<Vec<_>>(), [&case(2)]);
    }
}
