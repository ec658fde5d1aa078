//! Estimates the remaining time of a frame's filter from earlier frames and from the bands of this one.
//!
//! The speed of a pass is measured from the end of its first band, so that gaps between bands count and the wait before the first band
//! does not. The first launch of a kernel also compiles it and finds cold caches, so it counts only if the kernel has run in earlier
//! frames. A pass that has not begun is assumed to differ from its earlier frames by the same factor as the newest measured pass.

/// The progress of one pass of a filter over the picture, for the estimate. Amounts of work are in the filter's own unit, and
/// times are in nanoseconds.
#[derive(Debug, Default)]
struct Pass {
    work: f64,
    /// The time for one unit of work in earlier frames; `None` if it was not measured.
    known: Option<f64>,
    done: f64,
    /// The start and the end of the pass's first band, and the band's work; `None` before that band has finished.
    first: Option<(f64, f64, f64)>,
    /// The time when the last finished band of the pass ended.
    end: f64,
}

impl Pass {
    /// Returns the time for one unit of work in this frame, once a band has shown it.
    fn ns_per_unit(&self) -> Option<f64> {
        let (began, ended, work) = self.first?;
        let (time, done) = match self.known {
            _ if self.done > work => (self.end - ended, self.done - work),
            Some(_) => (ended - began, work),
            None => return None,
        };
        (time > 0.0 && done > 0.0).then(|| time / done)
    }
}

/// The estimate of the remaining filter time of one frame.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    passes: Vec<Pass>,
}

impl Estimate {
    /// Creates an estimate of the time that the filter of a frame will take. `passes` has for each pass its work and, if it was
    /// measured in earlier frames, the time for one unit of work in nanoseconds.
    pub(super) fn new(passes: impl Iterator<Item = (f64, Option<f64>)>) -> Self {
        Self { passes: passes.map(|(work, known)| Pass { work, known, ..Pass::default() }).collect() }
    }

    /// Records a finished band of rows: its pass, its work, and its start and end in nanoseconds on any clock. Bands must be
    /// recorded in the order in which they ran.
    pub(super) fn record_band(&mut self, pass: usize, work: f64, (began, ended): (u64, u64)) {
        let Some(pass) = self.passes.get_mut(pass) else { return };
        pass.first.get_or_insert((began as f64, ended as f64, work));
        pass.done += work;
        pass.end = ended as f64;
    }

    /// Returns the part of all work that is done, 0 to 1.
    pub(super) fn fraction(&self) -> f64 {
        let sum = |amount: fn(&Pass) -> f64| self.passes.iter().map(amount).sum::<f64>();
        let (done, work) = (sum(|p| p.done), sum(|p| p.work));
        if work > 0.0 { (done / work).min(1.0) } else { 0.0 }
    }

    /// Returns the predicted remaining filter time in milliseconds; `None` while neither this frame nor earlier ones were measured.
    pub(super) fn remaining_ms(&self) -> Option<f64> {
        let newest = self.passes.iter().rev().find_map(|p| Some((p, p.ns_per_unit()?)));
        let pace = |pass: &Pass| {
            let own = pass.ns_per_unit();
            own.or_else(|| match (newest, pass.known) {
                (Some((newest, pace)), Some(known)) => Some(newest.known.map_or(pace, |k| known * pace / k)),
                (Some((_, pace)), None) => Some(pace),
                (None, known) => known,
            })
        };
        self.passes.iter().map(|p| Some((p.work - p.done).max(0.0) * pace(p)? / 1e6)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns true if `left` is within a factor of two of `truth`.
    fn near(left: Option<f64>, truth: f64) -> bool {
        left.is_some_and(|left| left / truth > 0.5 && left / truth < 2.0)
    }

    #[test]
    fn a_kernel_that_never_ran_is_estimated_from_its_second_band_on() {
        // 100 bands of 50 ms; the first one is compiled before it runs.
        let mut estimate = Estimate::new([(100.0, None)].into_iter());
        assert_eq!(estimate.remaining_ms(), None);
        estimate.record_band(0, 1.0, (0, 900 * MS));
        assert_eq!((estimate.remaining_ms(), estimate.fraction()), (None, 0.01));
        for n in 1..100 {
            estimate.record_band(0, 1.0, (900 * MS + (n - 1) * 50 * MS, 900 * MS + n * 50 * MS));
            let truth = (99 - n) as f64 * 50.0;
            assert!(
                n == 99 || near(estimate.remaining_ms(), truth),
                "{n}: {:?} of {truth}",
                estimate.remaining_ms()
            );
        }
        assert_eq!((estimate.remaining_ms(), estimate.fraction()), (Some(0.0), 1.0));
        let none = Estimate::default();
        assert_eq!((none.remaining_ms(), none.fraction()), (Some(0.0), 0.0));
    }

    #[test]
    fn one_that_ran_is_estimated_from_the_first_band_on_whatever_it_took_before() {
        // A unit of work takes ten times as long as with the previous settings.
        let mut estimate = Estimate::new([(100.0, Some(5e6))].into_iter());
        assert_eq!(estimate.remaining_ms(), Some(500.0));
        // It had to wait for others until then.
        estimate.record_band(0, 1.0, (7000 * MS, 7050 * MS));
        assert!(near(estimate.remaining_ms(), 4950.0), "{:?}", estimate.remaining_ms());
        let mut estimate = Estimate::new([(10.0, Some(1e6))].into_iter());
        for n in 0..5 {
            estimate.record_band(0, 1.0, (n * 40 * MS, (n * 40 + 10) * MS));
        }
        assert!((estimate.remaining_ms().unwrap() - 200.0).abs() < 1e-6, "{:?}", estimate.remaining_ms());
        // A pass to come is as much slower as it was.
        // The second pass takes four times as long for a unit, and the machine is half as fast as before.
        let mut known = Estimate::new([(10.0, Some(1e6)), (10.0, Some(4e6))].into_iter());
        known.record_band(0, 1.0, (0, 2 * MS));
        assert!((known.remaining_ms().unwrap() - (9.0 * 2.0 + 10.0 * 8.0)).abs() < 1e-6);
        let mut unknown = Estimate::new([(10.0, None), (10.0, None)].into_iter());
        unknown.record_band(0, 1.0, (0, 9 * MS));
        unknown.record_band(0, 1.0, (9 * MS, 11 * MS));
        assert!((unknown.remaining_ms().unwrap() - (8.0 * 2.0 + 10.0 * 2.0)).abs() < 1e-6);
        unknown.record_band(0, 8.0, (11 * MS, 27 * MS));
        // Its own first band is cold too.
        unknown.record_band(1, 1.0, (27 * MS, 99 * MS));
        assert!((unknown.remaining_ms().unwrap() - 9.0 * 2.0).abs() < 1e-6);
        unknown.record_band(1, 1.0, (99 * MS, 103 * MS));
        assert!((unknown.remaining_ms().unwrap() - 8.0 * 4.0).abs() < 1e-6);
    }
}
