//! Predicts the time of a run that may be too long to be made only for a prediction, from the times of smaller runs.

use super::definition::Ladder;
use super::outcome::predict;
use base::error::Result;
use opencl::cl::ClContext;

/// The largest exponent with which the time is assumed to grow as a power of the operation count. It is above 1, because larger
/// data no longer fits into caches. A steeper increase between two short runs is noise.
const MAX_EXPONENT: f64 = 1.3;

/// An extrapolation of the time of a run, as a power of its operation count that is fitted to the last two recorded runs.
#[derive(Debug, Default)]
struct Growth {
    /// The operation count and the time in milliseconds of the last recorded run; `None` before the first one.
    previous: Option<(f64, f64)>,
    /// The exponent with which the time grows as a power of the operation count.
    exponent: f64,
}

impl Growth {
    /// Records the time of a run, which must have more operations than the run recorded before it.
    fn record(&mut self, operations: f64, ms: f64) {
        let exponent =
            self.previous.map_or(1.0, |(before, took)| (ms / took).ln() / (operations / before).ln());
        self.exponent = if exponent.is_finite() { exponent.clamp(1.0, MAX_EXPONENT) } else { 1.0 };
        self.previous = Some((operations, ms));
    }

    /// Predicts the time in milliseconds of a run with this operation count; 0 if no run was recorded.
    fn predict_ms(&self, operations: f64) -> f64 {
        self.previous.map_or(0.0, |(before, ms)| ms * (operations / before).powf(self.exponent))
    }
}

/// The predicted time in milliseconds above which a run counts as long. The time of a long run is predicted from smaller cases,
/// without making the run.
const LONG_MS: f64 = 2000.0;

/// Smaller cases and their buffers with loaded inputs, for predicting the times of larger cases.
pub(super) type SmallerBuffers<L> = Vec<(<L as Ladder>::Case, <L as Ladder>::Buffers)>;

/// Predicts the time in milliseconds of a run that takes long, from runs of [smaller cases](Ladder::smaller); `None` if the run
/// does not take long, or the ladder has no smaller cases. `smaller` keeps the buffers of the smaller cases from one call to the
/// next.
pub(super) fn predict_if_long<L: Ladder>(
    (ladder, built): (&L, &L::Built),
    cl: Option<&ClContext>,
    case: &L::Case,
    smaller: &mut SmallerBuffers<L>,
) -> Result<Option<f64>> {
    let operations = |case: &L::Case| ladder.describe(case).operations.max(1.0);
    let mut growth = Growth::default();
    for (index, small) in ladder.smaller(case).into_iter().enumerate() {
        if growth.predict_ms(operations(&small)) > LONG_MS {
            break;
        }
        if smaller.get(index).is_none_or(|(known, _)| *known != small) {
            let mut buffers = ladder.allocate(cl, &small, 0)?;
            ladder.load(&mut buffers, ladder.info().inputs[0])?;
            smaller.truncate(index);
            smaller.push((small.clone(), buffers));
        }
        let (_, buffers) = &mut smaller[index];
        growth.record(operations(&small), predict(|| ladder.run(built, buffers))?);
    }
    let predicted = growth.predict_ms(operations(case));
    Ok((predicted > LONG_MS).then_some(predicted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_extrapolated_and_noise_is_limited() {
        let mut growth = Growth::default();
        assert_eq!(growth.predict_ms(1e9), 0.0, "nothing is known");
        growth.record(8.0, 10.0);
        assert_eq!(growth.predict_ms(64.0), 80.0, "by one run, as the operations");
        // 99 and 1,460 ms, as measured on two cores for data that no longer fits into caches.
        growth.record(64.0, 99.0);
        growth.record(512.0, 1460.0);
        let next = growth.predict_ms(4096.0);
        assert!((21_000.0..22_000.0).contains(&next), "{next}");
        growth.record(4096.0, 1460.0);
        assert_eq!(growth.predict_ms(8192.0), 2920.0, "it was another's noise");
        let mut noisy = Growth::default();
        noisy.record(1.0, 0.0);
        noisy.record(8.0, 5.0);
        assert_eq!(noisy.predict_ms(16.0), 10.0);
        noisy.record(64.0, 5000.0);
        assert!(noisy.predict_ms(512.0) < 5000.0 * 15.0);
    }
}
