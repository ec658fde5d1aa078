//! Outcomes that replace a variant's times: it cannot run, its output differs, or it fails.

use super::Outcome;
use base::error::{Error, Result};
use base::verify::MismatchReport;
use compute::sample::Sample;

/// A value, or the outcome that replaces the variant's times.
pub type VariantResult<T> = Result<T, Box<Outcome>>;

/// Wraps an error as the outcome of a failed variant.
pub fn fail(error: Error) -> Box<Outcome> {
    Box::new(Outcome::Failed(error))
}

/// Converts the result of a comparison into an outcome: an error or a mismatch report replaces the variant's times.
pub fn require_match(report: Result<Option<MismatchReport>>) -> VariantResult<()> {
    report.map_err(fail)?.map_or(Ok(()), |report| Err(Box::new(Outcome::Mismatch(report))))
}

/// Converts an outcome without times into an error for tuning.
pub(super) fn to_error(outcome: Outcome) -> Error {
    match outcome {
        Outcome::Failed(error) => error,
        other => Error::new("It cannot be tuned.", other.reason().unwrap_or_default(), ""),
    }
}

/// The time in milliseconds above which a first run predicts the time of later runs well enough. A shorter first run is dominated
/// by warming up.
const COLD_MS: f64 = 300.0;

/// Predicts the time of a run in milliseconds. If the first run is short, a second run is made and its time is returned, since the
/// first run also warms up the device.
///
/// # Errors
/// Returns the errors of `run`.
pub(super) fn predict(mut run: impl FnMut() -> Result<Sample>) -> Result<f64> {
    let cold = run()?.wall_ms;
    if cold > COLD_MS { Ok(cold) } else { Ok(run()?.wall_ms) }
}
