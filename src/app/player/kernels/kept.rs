//! A stored version of the edited kernels: its sources, the verdicts on them, and the times of its filters.

use std::collections::HashMap;

use base::timing::Noise;
use box_filter::{OWN_FILE, VariantId};
use engine::stats::SecondSetting;
use opencl::sources::Sources;
use overlay::{PendingValidation, Subject, Verdict, VersionResult};

/// The number of measured frames from which the medians of two versions are compared: during the first frames, caches are cold
/// and other kernels are being validated.
pub(super) const MIN_MEDIAN_FRAMES: usize = 20;

/// The conditions of a measurement. Times of two versions can be compared if their conditions are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Circumstances {
    pub variant: VariantId,
    pub radius: u32,
    pub size: (u32, u32),
    pub beside: Option<SecondSetting>,
}

/// A filter's median time in milliseconds, and the number of measured frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Median {
    pub ms: f64,
    pub n: usize,
    /// The noise of the times; `None` if they are not noisy.
    pub noise: Option<Noise>,
}

/// A stored version of the edited kernels: the text of all kernels at one save.
pub(super) struct KeptVersion {
    pub number: u64,
    pub sources: Sources,
    /// The hash of the texts, as in the files of the history.
    pub hash: u64,
    /// True if the texts were in the folder when another version was restored, so that only this version has them.
    pub is_replaced: bool,
    /// True if the version is on the disk.
    pub is_stored: bool,
    pub files: Vec<String>,
    pub judged: Vec<VersionResult>,
    pub untried: PendingValidation,
    /// For each variant or conversion that was validated, the number of the version that ran before this one.
    pub before: HashMap<Subject, u64>,
    pub times: Vec<(Circumstances, Median)>,
}

impl KeptVersion {
    /// Returns the median time that was measured under these conditions, if any.
    pub(super) fn time(&self, of: &Circumstances) -> Option<Median> {
        self.times.iter().find(|(known, _)| known == of).map(|(_, median)| *median)
    }

    /// Returns the result of validating a variant or the conversion in this version, if there is one.
    pub(super) fn find_judged(&self, subject: Subject) -> Option<&VersionResult> {
        self.judged.iter().find(|judged| judged.subject == subject)
    }

    /// Returns true if all kernels that were validated in this version are exact, and validation has ended.
    pub(super) fn is_exact(&self) -> bool {
        let is_over = matches!(self.untried, PendingValidation::Now(0) | PendingValidation::WhenChosen);
        is_over
            && !self.judged.is_empty()
            && self.judged.iter().all(|judged| judged.verdict == Verdict::Exact)
    }

    /// Returns true if all kernels that were validated in this version were refused.
    pub(super) fn has_failed(&self) -> bool {
        let is_refused = |judged: &VersionResult| matches!(judged.verdict, Verdict::Refused(_));
        !self.judged.is_empty() && self.judged.iter().all(is_refused)
    }

    /// Returns true if this version is one of those to which the user may want to return: the first, an exact one, or one
    /// whose texts only this version has.
    pub(super) fn is_lasting(&self) -> bool {
        self.number == 1 || self.is_replaced || self.is_exact()
    }

    /// Returns true if this version lacks the user's own kernel, the file `box_filter/own.cl`, which the previous version had.
    pub(super) fn lost_own_kernel(&self) -> bool {
        self.files.iter().any(|file| file == OWN_FILE) && !self.sources.has(OWN_FILE)
    }

    /// Returns true if the validation of this version has refused the kernels of `subject`, a variant or the YUV conversion: they
    /// must not run, since they may damage memory or not terminate, or they cannot be compiled or run.
    pub(super) fn refuses(&self, subject: Subject) -> bool {
        self.find_judged(subject).is_some_and(|judged| matches!(judged.verdict, Verdict::Refused(_)))
    }

    /// Stores the median time of a filter under these conditions. Keeps the stored median instead if that is of more frames and
    /// `median` is of fewer than [`MIN_MEDIAN_FRAMES`].
    pub(super) fn note(&mut self, of: Circumstances, median: Median) {
        match self.times.iter_mut().find(|(known, _)| *known == of) {
            // After a seek, few frames say less than many.
            Some((_, known)) if median.n < known.n.min(MIN_MEDIAN_FRAMES) => {}
            Some((_, known)) => *known = median,
            None => self.times.push((of, median)),
        }
    }
}
