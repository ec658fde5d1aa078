//! A version of the kernels. In: texts, and what came of them. Out: what is known of it, and what its filters take.

use std::collections::HashMap;

use base::timing::Noise;
use box_filter::{OWN_FILE, VariantId};
use engine::stats::Beside;
use opencl::sources::Sources;
use overlay::{Judged, Subject, Untried, Verdict};

/// Two medians are compared once so many were: the first ones find caches cold, and other kernels being judged.
pub(super) const SETTLED: usize = 20;

/// What a filter was measured with: times of two versions can be compared where this is the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Circumstances {
    pub variant: VariantId,
    pub radius: u32,
    pub size: (u32, u32),
    pub beside: Option<Beside>,
}

/// A filter's median in milliseconds, and of how many frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Median {
    pub ms: f64,
    pub n: usize,
    /// Why it is not to be trusted to the last digit, if it is not.
    pub noise: Option<Noise>,
}

/// Texts, and what came of them.
pub(super) struct KeptVersion {
    pub number: u64,
    pub sources: Sources,
    pub files: Vec<String>,
    pub judged: Vec<Judged>,
    pub untried: Untried,
    /// What ran before, by what was judged.
    pub before: HashMap<Subject, u64>,
    /// The filter's medians.
    pub times: Vec<(Circumstances, Median)>,
}

impl KeptVersion {
    pub(super) fn time(&self, of: &Circumstances) -> Option<Median> {
        self.times.iter().find(|(known, _)| known == of).map(|(_, median)| *median)
    }

    pub(super) fn of(&self, subject: Subject) -> Option<&Judged> {
        self.judged.iter().find(|judged| judged.subject == subject)
    }

    /// Whether the version before had a kernel of the user's own, and this one has none.
    pub(super) fn lost_own(&self) -> bool {
        self.files.iter().any(|file| file == OWN_FILE) && !self.sources.has(OWN_FILE)
    }

    /// Whether it was found that these must not run, or cannot.
    pub(super) fn refuses(&self, subject: Subject) -> bool {
        self.of(subject).is_some_and(|judged| matches!(judged.verdict, Verdict::Refused(_)))
    }

    /// Notes what a filter of it takes.
    pub(super) fn note(&mut self, of: Circumstances, median: Median) {
        match self.times.iter_mut().find(|(known, _)| *known == of) {
            // After a seek, or beside another filter in between, few frames say less than many.
            Some((_, known)) if median.n < known.n.min(SETTLED) => {}
            Some((_, known)) => *known = median,
            None => self.times.push((of, median)),
        }
    }
}
