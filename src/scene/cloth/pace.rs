//! Limits the time by which the cloth is simulated for each picture, depending on how long recent steps took, so that a late
//! picture does not make the next ones even later.
//!
//! Only the window uses this limit. Tests and `snapshot`, which do not run in real time, compute all steps.

use std::collections::VecDeque;

use ladders::cloth::chain::{MAX_FRAME_S, MAX_STEP_S};

/// The maximum time in seconds that the simulation steps of a picture may take together; at least one step is computed.
const MAX_STEPS_TIME: f64 = 0.04;
/// The number of recent pictures whose times are averaged.
const RECENT_PICTURES: usize = 15;
/// The pace (simulated time divided by elapsed time) below which the panel reports that the simulation is slow.
const MAX_REPORTED_PACE: f64 = 0.9;

/// The times of recent pictures, which limit the time by which the cloth is advanced.
#[derive(Default)]
pub(super) struct Pace {
    /// The time that a simulation step took in each recent picture, in seconds.
    steps: VecDeque<f64>,
    /// For each recent picture, the simulated time and the elapsed time, in seconds.
    advanced: VecDeque<(f64, f64)>,
}

impl Pace {
    /// Adds the time that a simulation step took in the last picture, in seconds.
    pub(super) fn note(&mut self, step: f64) {
        keep(&mut self.steps, step, RECENT_PICTURES);
    }

    /// Returns the time in seconds by which the cloth is advanced after `passed` seconds have elapsed. It is shorter than
    /// `passed` if the simulation is too slow for real time.
    pub(super) fn limited_advance(&mut self, passed: f64) -> f64 {
        let mut steps: Vec<f64> = self.steps.iter().copied().collect();
        steps.sort_by(f64::total_cmp);
        let longest = f64::from(MAX_STEP_S);
        let most = match steps.get(steps.len() / 2) {
            Some(step) => (MAX_STEPS_TIME / step.max(1e-6)).floor().max(1.0) * longest,
            None => f64::INFINITY,
        };
        let goes = passed.min(most).min(f64::from(MAX_FRAME_S));
        keep(&mut self.advanced, (goes, passed), RECENT_PICTURES);
        goes
    }

    /// Returns the pace (simulated time divided by elapsed time) if it is low enough to be reported; otherwise `None`.
    pub(super) fn slow_pace(&self) -> Option<f64> {
        let (advanced, passed) =
            self.advanced.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Some(advanced / passed)
            .filter(|part| *part < MAX_REPORTED_PACE && self.advanced.len() == RECENT_PICTURES)
    }
}

/// Appends a value, and drops the oldest one if there are more than `count`.
pub(super) fn keep<T>(all: &mut VecDeque<T>, one: T, count: usize) {
    all.push_back(one);
    if all.len() > count {
        all.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates pictures with these times for a step and for drawing; returns the last interval between pictures and the
    /// reported pace.
    fn run(step: f64, drawing: f64, bound: bool) -> (f64, Option<f64>) {
        let (mut pace, mut passed) = (Pace::default(), 1.0 / 60.0);
        for _ in 0..100 {
            let goes = if bound { pace.limited_advance(passed) } else { passed.min(f64::from(MAX_FRAME_S)) };
            let steps = (goes / f64::from(MAX_STEP_S) - 0.25).ceil().max(1.0);
            pace.note(step);
            passed = steps * step + drawing;
        }
        (passed, pace.slow_pace())
    }

    #[test]
    fn who_keeps_up_has_all_steps_and_who_does_not_is_slower_and_no_later() {
        assert_eq!(run(0.001, 0.030, true), (run(0.001, 0.030, false).0, None));
        // Pictures at 5 a second have their 12 steps if these are cheap.
        assert_eq!(run(0.001, 0.188, true).1, None);
        // Without a limit, each picture has more steps than the one before.
        let (late, (bounded, told)) = (run(0.042, 0.020, false).0, run(0.042, 0.020, true));
        assert!(late > 0.6, "{late}");
        assert!((bounded - 0.062).abs() < 1e-9, "{bounded}");
        assert!(told.is_some_and(|part| (part - 1.0 / 60.0 / 0.062).abs() < 0.01), "{told:?}");
        // A step that is slower than the budget is computed once in each picture.
        assert!((run(3.0, 0.0, true).0 - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_single_slow_step_counts_little_and_what_was_before_not_at_all() {
        let mut pace = Pace::default();
        (0..5).for_each(|_| pace.note(0.002));
        pace.note(1.0);
        assert_eq!(pace.limited_advance(0.1), 0.1);
        (0..RECENT_PICTURES).for_each(|_| pace.note(1.0));
        assert_eq!(pace.limited_advance(0.1), f64::from(MAX_STEP_S));
        pace = Pace::default();
        assert_eq!((pace.limited_advance(0.1), pace.slow_pace()), (0.1, None));
        assert_eq!(pace.limited_advance(9.0), f64::from(MAX_FRAME_S));
    }
}
