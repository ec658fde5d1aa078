//! Predicts the time of a run that may take too long to be made, from the times of smaller runs.

/// The highest power of the operation count with which time is assumed to grow. It is above 1, since larger data no longer fits
/// into caches. A steeper increase between two short runs is noise.
const MAX_EXPONENT: f64 = 1.3;

/// Extrapolates the time of a run as a power of its operation count, fitted to the last two recorded runs.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// The operation count and the time in milliseconds of the last recorded run.
    previous: Option<(f64, f64)>,
    /// The power of the operation count with which time grows.
    exponent: f64,
}

impl Growth {
    /// Records the time of a run, which must have more operations than the run before.
    pub(super) fn record(&mut self, operations: f64, ms: f64) {
        let exponent =
            self.previous.map_or(1.0, |(before, took)| (ms / took).ln() / (operations / before).ln());
        self.exponent = if exponent.is_finite() { exponent.clamp(1.0, MAX_EXPONENT) } else { 1.0 };
        self.previous = Some((operations, ms));
    }

    /// Predicts the time in milliseconds of a run with this operation count; 0 if no run was recorded.
    pub(super) fn predict_ms(&self, operations: f64) -> f64 {
        self.previous.map_or(0.0, |(before, ms)| ms * (operations / before).powf(self.exponent))
    }
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
