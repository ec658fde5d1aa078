//! Why kernels must not run, or cannot. In: what was found of which texts. Out: errors that hold no more, so that nothing says them
//! any longer.

use super::{Sources, Subject};
use base::error::Error;

/// What holds of the texts that were tried last.
#[derive(Default)]
pub(super) struct Refusals {
    all: Vec<Refusal>,
    over: Vec<Error>,
}

struct Refusal {
    subject: Subject,
    sources: Sources,
    error: Error,
}

/// Returns true if both say the same: who tells one of them adds what comes of it.
pub(super) fn is_told(one: &Error, other: &Error) -> bool {
    (&one.what, &one.why) == (&other.what, &other.why)
}

impl Refusals {
    /// Notes what was found of a variant's kernels, or the conversion's, in these texts; `None`: they may run.
    pub(super) fn note(&mut self, subject: Subject, sources: &Sources, error: Option<&Error>) {
        let before = self.all.extract_if(.., |refusal| refusal.subject == subject);
        let is_over = |refusal: &Refusal| !error.is_some_and(|error| is_told(error, &refusal.error));
        self.over.extend(before.filter(is_over).map(|refusal| refusal.error));
        if let Some(error) = error.cloned() {
            self.all.push(Refusal { subject, sources: sources.clone(), error });
        }
    }

    /// Ends those that hold no more, by what was refused and its texts.
    pub(super) fn end(&mut self, is_over: impl Fn(Subject, &Sources) -> bool) {
        let over = self.all.extract_if(.., |refusal| is_over(refusal.subject, &refusal.sources));
        self.over.extend(over.map(|refusal| refusal.error));
    }

    /// Takes the errors that hold no more, of nothing.
    pub(super) fn take_over(&mut self) -> Vec<Error> {
        let mut over = std::mem::take(&mut self.over);
        over.retain(|error| !self.all.iter().any(|refusal| is_told(error, &refusal.error)));
        over
    }
}
