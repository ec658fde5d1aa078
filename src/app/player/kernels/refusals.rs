//! Errors of kernels that were refused because they cannot be built or must not run. Once other sources run in their place,
//! such an error is obsolete and its banner is removed.

use super::{Sources, Subject};
use base::error::Error;

/// The variants (or the conversion) whose kernels were refused when they were last validated or built, with the errors.
#[derive(Default)]
pub(super) struct Refusals(Vec<Refusal>);

/// The refusal of the kernels of a variant or the conversion.
pub(super) struct Refusal {
    pub subject: Subject,
    /// The sources that were refused; `None` for the sources at the start of clreel, until the folder has been read.
    pub sources: Option<Sources>,
    pub error: Error,
    /// True if the refusal is obsolete, since other sources run or are being validated.
    is_over: bool,
}

/// Returns true if both errors are equal except for their hints.
pub(super) fn is_same_error(one: &Error, other: &Error) -> bool {
    (&one.what, &one.why) == (&other.what, &other.why)
}

impl Refusals {
    /// Records the result of validating or building these sources of a variant or the conversion: `error` if they were refused,
    /// `None` if they may run. Earlier refusals of that variant or conversion become obsolete.
    pub(super) fn note(&mut self, subject: Subject, sources: Option<Sources>, error: Option<Error>) {
        let earlier = self.0.iter_mut().filter(|refusal| refusal.subject == subject);
        earlier.for_each(|refusal| refusal.is_over = true);
        self.0.extend(error.map(|error| Refusal { subject, sources, error, is_over: false }));
    }

    /// Returns the refusals of the sources at the start of clreel, as long as these sources are unknown.
    pub(super) fn first_mut(&mut self) -> impl Iterator<Item = &mut Refusal> {
        self.0.iter_mut().filter(|refusal| refusal.sources.is_none())
    }

    /// Marks the refusals as obsolete for which `is_over` returns true, given the variant or conversion and the refused
    /// sources.
    pub(super) fn end(&mut self, is_over: impl Fn(Subject, &Sources) -> bool) {
        for refusal in &mut self.0 {
            refusal.is_over |=
                refusal.sources.as_ref().is_some_and(|sources| is_over(refusal.subject, sources));
        }
    }

    /// Removes the obsolete refusals. Returns their errors, except those that another refusal shares, so that the banners can
    /// be removed.
    pub(super) fn take_obsolete_errors(&mut self) -> Vec<Error> {
        let over: Vec<Refusal> = self.0.extract_if(.., |refusal| refusal.is_over).collect();
        let is_repeated = |error: &Error| self.0.iter().any(|other| is_same_error(error, &other.error));
        over.into_iter().map(|refusal| refusal.error).filter(|error| !is_repeated(error)).collect()
    }
}
