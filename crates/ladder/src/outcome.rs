//! Conversions of errors to outcomes. An outcome other than `Ok` takes the place of a variant's times: the variant cannot run,
//! its output differs from the reference, or it fails.

use super::Outcome;
use base::error::{Error, Result};
use base::verify::MismatchReport;
use compute::sample::Sample;

/// A value, or the outcome that takes the place of the variant's times.
pub type VariantResult<T> = Result<T, Box<Outcome>>;

/// Converts an error to the outcome of a failed variant.
pub fn fail(error: Error) -> Box<Outcome> {
    Box::new(Outcome::Failed(error))
}

/// Returns `Ok` if a variant's output equals the reference (no report). An error or a mismatch report becomes the outcome that
/// takes the place of the variant's times.
pub fn require_match(report: Result<Option<MismatchReport>>) -> VariantResult<()> {
    report.map_err(fail)?.map_or(Ok(()), |report| Err(Box::new(Outcome::Mismatch(report))))
}

/// Converts an outcome without times to an error, which tuning returns.
pub(super) fn to_error(outcome: Outcome) -> Error {
    match outcome {
        Outcome::Failed(error) => error,
        other => Error::new("It cannot be tuned.", other.reason().unwrap_or_default(), ""),
    }
}

/// The time in milliseconds above which the first run predicts the time of later runs well enough. A shorter first run consists
/// mostly of warming up.
const COLD_MS: f64 = 300.0;

/// Predicts the time of a run in milliseconds, by calling `run`. If the first run is short, a second run is made and its time
/// is returned, since the first one also warms up the device.
///
/// # Errors
/// Returns the errors of `run`.
pub(super) fn predict(mut run: impl FnMut() -> Result<Sample>) -> Result<f64> {
    let cold = run()?.wall_ms;
    if cold > COLD_MS { Ok(cold) } else { Ok(run()?.wall_ms) }
}
