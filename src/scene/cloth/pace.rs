//! How far the cloth may go on by one picture. In: what its last steps took. Out: seconds, so that late pictures do not make the
//! next ones later still.
//!
//! Only the window asks: what has a clock of its own, as a test or `snapshot`, has all of its steps.

use std::collections::VecDeque;

use ladders::cloth::chain::{LATEST, LONGEST};

/// The steps of a picture may take so long, in seconds; one of them is always had.
const BUDGET: f64 = 0.04;
/// So many pictures tell what a step takes, and how the army keeps up.
const LAST: usize = 15;
/// Who is slower than this part of the clock is told.
const TOLD: f64 = 0.9;

/// What the last pictures took.
#[derive(Default)]
pub(super) struct Pace {
    /// Seconds of a step.
    steps: VecDeque<f64>,
    /// By how many seconds the cloth went on, and how many had passed.
    went: VecDeque<(f64, f64)>,
}

impl Pace {
    /// Takes what a step took in a picture, in seconds.
    pub(super) fn note(&mut self, step: f64) {
        keep(&mut self.steps, step);
    }

    /// Of `passed` seconds those by which the cloth goes on.
    pub(super) fn bounded(&mut self, passed: f64) -> f64 {
        let mut steps: Vec<f64> = self.steps.iter().copied().collect();
        steps.sort_by(f64::total_cmp);
        let longest = f64::from(LONGEST);
        let most = match steps.get(steps.len() / 2) {
            Some(step) => (BUDGET / step.max(1e-6)).floor().max(1.0) * longest,
            None => f64::INFINITY,
        };
        let goes = passed.min(most).min(f64::from(LATEST));
        keep(&mut self.went, (goes, passed));
        goes
    }

    /// Which part of the clock's time the army has, if that is to be told.
    pub(super) fn slower(&self) -> Option<f64> {
        let (went, passed) = self.went.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Some(went / passed).filter(|part| *part < TOLD && self.went.len() == LAST)
    }

    /// Forgets all: another army, or another device.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn keep<T>(all: &mut VecDeque<T>, one: T) {
    all.push_back(one);
    if all.len() > LAST {
        all.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pictures of a machine whose steps take so long and whose drawing takes so long: how late they come at last, and which part of
    /// the clock is told.
    fn run(step: f64, drawing: f64, bound: bool) -> (f64, Option<f64>) {
        let (mut pace, mut passed) = (Pace::default(), 1.0 / 60.0);
        for _ in 0..100 {
            let goes = if bound { pace.bounded(passed) } else { passed.min(f64::from(LATEST)) };
            let steps = (goes / f64::from(LONGEST) - 0.25).ceil().max(1.0);
            pace.note(step);
            passed = steps * step + drawing;
        }
        (passed, pace.slower())
    }

    #[test]
    fn who_keeps_up_has_all_steps_and_who_does_not_is_slower_and_no_later() {
        assert_eq!(
            (run(0.001, 0.030, true).0, run(0.001, 0.030, true).1),
            (run(0.001, 0.030, false).0, None)
        );
        // Pictures at 5 a second have their 12 steps, where those are cheap.
        assert_eq!(run(0.001, 0.188, true).1, None);
        // Without a bound each picture has more steps than the one before.
        let (late, (bounded, told)) = (run(0.042, 0.020, false).0, run(0.042, 0.020, true));
        assert!(late > 0.6, "{late}");
        assert!((bounded - 0.062).abs() < 1e-9, "{bounded}");
        assert!(told.is_some_and(|part| (part - 1.0 / 60.0 / 0.062).abs() < 0.01), "{told:?}");
        // One that is slower than the budget has a step each time all the same.
        assert!((run(3.0, 0.0, true).0 - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_single_slow_step_counts_little_and_what_was_before_not_at_all() {
        let mut pace = Pace::default();
        (0..5).for_each(|_| pace.note(0.002));
        pace.note(1.0);
        assert_eq!(pace.bounded(0.1), 0.1);
        (0..LAST).for_each(|_| pace.note(1.0));
        assert_eq!(pace.bounded(0.1), f64::from(LONGEST));
        pace.clear();
        assert_eq!((pace.bounded(0.1), pace.slower()), (0.1, None));
        assert_eq!(pace.bounded(9.0), f64::from(LATEST));
    }
}
