//! Errors of kernels that were refused, because they must not run or cannot. When other sources run, such an error is obsolete
//! and its banner is removed.

use super::{Sources, Subject};
use base::error::Error;

/// The errors of kernels that were refused at their last validation.
#[derive(Default)]
pub(super) struct Refusals {
    all: Vec<Refusal>,
    /// Errors that are obsolete, whose banners are to be removed.
    over: Vec<Error>,
}

/// The refused kernels of a variant or of the conversion.
struct Refusal {
    subject: Subject,
    sources: Sources,
    error: Error,
}

/// Returns true if both errors are equal except for their hints.
pub(super) fn is_same_error(one: &Error, other: &Error) -> bool {
    (&one.what, &one.why) == (&other.what, &other.why)
}

impl Refusals {
    /// Stores the verdict on these sources of a variant or the conversion: the error if they were refused, `None` if they may
    /// run. Replaces the earlier verdict on that variant or conversion.
    pub(super) fn note(&mut self, subject: Subject, sources: &Sources, error: Option<&Error>) {
        let before = self.all.extract_if(.., |refusal| refusal.subject == subject);
        let is_over = |refusal: &Refusal| !error.is_some_and(|error| is_same_error(error, &refusal.error));
        self.over.extend(before.filter(is_over).map(|refusal| refusal.error));
        if let Some(error) = error.cloned() {
            self.all.push(Refusal { subject, sources: sources.clone(), error });
        }
    }

    /// Removes the refusals for which `is_over` returns true. `is_over` receives the variant or conversion, and the refused
    /// sources.
    pub(super) fn end(&mut self, is_over: impl Fn(Subject, &Sources) -> bool) {
        let over = self.all.extract_if(.., |refusal| is_over(refusal.subject, &refusal.sources));
        self.over.extend(over.map(|refusal| refusal.error));
    }

    /// Removes and returns the errors of former refusals that no current refusal has, so that their banners can be removed.
    pub(super) fn take_obsolete_errors(&mut self) -> Vec<Error> {
        let mut over = std::mem::take(&mut self.over);
        over.retain(|error| !self.all.iter().any(|refusal| is_same_error(error, &refusal.error)));
        over
    }
}
