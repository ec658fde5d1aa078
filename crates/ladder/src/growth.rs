//! How long something takes that is too long to be tried. In: what smaller ones took. Out: a prediction.

/// The most that time grows by, as a power of the operations: what fitted into the caches does not any more. More than this
/// between two short runs is noise.
const STEEPEST: f64 = 1.3;

/// How time grows with the operations, by the two runs that were timed last.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// Operations and milliseconds.
    last: Option<(f64, f64)>,
    /// The power of the operations that time grows with.
    power: f64,
}

impl Growth {
    /// A run with more operations than the one before.
    pub(super) fn note(&mut self, operations: f64, ms: f64) {
        let power = self.last.map_or(1.0, |(before, took)| (ms / took).ln() / (operations / before).ln());
        self.power = if power.is_finite() { power.clamp(1.0, STEEPEST) } else { 1.0 };
        self.last = Some((operations, ms));
    }

    /// What so many operations would take, in milliseconds; 0 as long as nothing is known.
    pub(super) fn at(&self, operations: f64) -> f64 {
        self.last.map_or(0.0, |(before, ms)| ms * (operations / before).powf(self.power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_grows_as_it_has_grown_and_noise_is_not_followed() {
        let mut growth = Growth::default();
        assert_eq!(growth.at(1e9), 0.0, "nothing is known");
        growth.note(8.0, 10.0);
        assert_eq!(growth.at(64.0), 80.0, "by one run, as the operations");
        // 99 and 1,460 ms, as something takes on two cores that no longer fits into caches.
        growth.note(64.0, 99.0);
        growth.note(512.0, 1460.0);
        let next = growth.at(4096.0);
        assert!((21_000.0..22_000.0).contains(&next), "{next}");
        growth.note(4096.0, 1460.0);
        assert_eq!(growth.at(8192.0), 2920.0, "it was another's noise");
        let mut noisy = Growth::default();
        noisy.note(1.0, 0.0);
        noisy.note(8.0, 5.0);
        assert_eq!(noisy.at(16.0), 10.0);
        noisy.note(64.0, 5000.0);
        assert!(noisy.at(512.0) < 5000.0 * 15.0);
    }
}
