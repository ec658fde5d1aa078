//! Errors of kernels that were refused, because they must not run or cannot. Once other sources run, such an error is obsolete
//! and its banner is removed.

use super::{Sources, Subject};
use base::error::Error;

/// The kernels that were refused at their last validation or build.
#[derive(Default)]
pub(super) struct Refusals(Vec<Refusal>);

/// The refused kernels of a variant or of the conversion.
pub(super) struct Refusal {
    pub subject: Subject,
    /// The refused sources; `None` for the sources at the start, until the folder is read.
    pub sources: Option<Sources>,
    pub error: Error,
    /// True if other sources run or are being validated.
    is_over: bool,
}

/// Returns true if both errors are equal except for their hints.
pub(super) fn is_same_error(one: &Error, other: &Error) -> bool {
    (&one.what, &one.why) == (&other.what, &other.why)
}

impl Refusals {
    /// Stores the error if these sources of a variant or the conversion were refused, `None` if they may run, in place of
    /// earlier errors of that variant or conversion.
    pub(super) fn note(&mut self, subject: Subject, sources: Option<Sources>, error: Option<Error>) {
        let earlier = self.0.iter_mut().filter(|refusal| refusal.subject == subject);
        earlier.for_each(|refusal| refusal.is_over = true);
        self.0.extend(error.map(|error| Refusal { subject, sources, error, is_over: false }));
    }

    /// Returns the refusals whose sources are those at the start and not known yet.
    pub(super) fn first_mut(&mut self) -> impl Iterator<Item = &mut Refusal> {
        self.0.iter_mut().filter(|refusal| refusal.sources.is_none())
    }

    /// Ends the refusals for which `is_over` returns true. `is_over` receives the variant or conversion, and the refused
    /// sources.
    pub(super) fn end(&mut self, is_over: impl Fn(Subject, &Sources) -> bool) {
        for refusal in &mut self.0 {
            refusal.is_over |=
                refusal.sources.as_ref().is_some_and(|sources| is_over(refusal.subject, sources));
        }
    }

    /// Removes the refusals that are over. Returns their errors that no other refusal has, so that their banners can be removed.
    pub(super) fn take_obsolete_errors(&mut self) -> Vec<Error> {
        let over: Vec<Refusal> = self.0.extract_if(.., |refusal| refusal.is_over).collect();
        let is_repeated = |error: &Error| self.0.iter().any(|other| is_same_error(error, &other.error));
        over.into_iter().map(|refusal| refusal.error).filter(|error| !is_repeated(error)).collect()
    }
}
