//! Detects times in which this process did not run although the loop was due: the process was stopped, as by Ctrl+Z or a
//! debugger, or something outside blocked the window's thread, such as a compositor that takes no pictures of a hidden window.
//!
//! The CPU time of the process distinguishes a stop from work that takes long: filtering or drawing on the CPU uses it, and a
//! stopped process does not. The window's thread waits for no driver, except for one that needs OpenGL's context.

use std::time::{Duration, Instant};

use opencl::process::cpu_time;

/// The shortest delay of the loop that counts as a stop.
const MIN_STOP: Duration = Duration::from_secs(1);
/// A process counts as stopped only if it used less CPU time than the overdue time divided by this number; otherwise it was
/// working.
const IDLE_DIVISOR: u32 = 10;

/// Measures the times for which the process was stopped.
#[derive(Debug, Default)]
pub struct StopDetector {
    /// The time when the loop is due; `None` while it waits only for events.
    due: Option<Instant>,
    /// The CPU time that the process had used at the last call of [`StopDetector::check`] or [`StopDetector::wait_until`];
    /// `None` if unknown.
    used: Option<Duration>,
    /// True if the loop is between two turns.
    is_waiting: bool,
    /// The total time for which the process was stopped.
    pub total: Duration,
}

impl StopDetector {
    /// Returns by how much this turn of the loop is late if the process was stopped meanwhile, as by Ctrl+Z; `None` if it was
    /// not stopped. Call it at the start of each turn. `used` is the CPU time that the process has used, and `calls_drivers` is true if
    /// this thread may have waited for a driver during a turn of the loop.
    pub(super) fn check(
        &mut self,
        now: Instant,
        used: Option<Duration>,
        calls_drivers: bool,
    ) -> Option<Duration> {
        let total = self.total;
        let before = std::mem::replace(self, Self { due: Some(now), used, is_waiting: false, total });
        let late = now.saturating_duration_since(before.due?);
        let worked = used?.saturating_sub(before.used?);
        let was_at_work = worked > late / IDLE_DIVISOR || calls_drivers && !before.is_waiting;
        let stopped = Some(late).filter(|late| *late > MIN_STOP && !was_at_work)?;
        self.total += stopped;
        Some(stopped)
    }

    /// Records that a turn of the loop has ended, and when the next one is due; `due` is `None` if the loop waits only for
    /// events.
    pub fn wait_until(&mut self, due: Option<Instant>) {
        let now = Instant::now();
        self.due = due.map(|due| due.max(now));
        (self.used, self.is_waiting) = (cpu_time(), true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_distinguished_from_waiting_and_from_work() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let ms = |ms: u64| Some(Duration::from_millis(ms));
        let resting = |until: Option<u64>| {
            let (due, used) = (until.map(at), ms(100));
            StopDetector { due, used, is_waiting: true, ..Default::default() }
        };
        let kept = |mut detector: StopDetector, now, cpu| detector.check(at(now), ms(cpu), false);
        assert_eq!(kept(resting(Some(500)), 15_500, 110), ms(15_000), "it was stopped");
        assert_eq!(kept(resting(Some(12_000)), 12_040, 110), None, "it waited for the next slide");
        assert_eq!(kept(resting(None), 60_000, 110), None, "nothing was due");
        assert_eq!(kept(resting(Some(500)), 1_400, 110), None, "a busy machine");
        // The loop is in the middle of a turn.
        let working = || StopDetector { is_waiting: false, ..resting(Some(0)) };
        assert_eq!(kept(working(), 9_000, 500), ms(9_000));
        assert_eq!(kept(working(), 9_000, 9_100), None, "it drew for so long");
        assert_eq!(working().check(at(9_000), ms(500), true), None, "a driver may not have answered");
        assert_eq!(resting(Some(0)).check(at(9_000), ms(500), true), ms(9_000), "none was asked");
        assert_eq!(working().check(at(9_000), None, false), None, "no CPU time is known");
        // Each check starts from the state at the previous check.
        let mut detector = working();
        assert!(detector.check(at(9_000), ms(500), false).is_some());
        assert_eq!(detector.check(at(9_010), ms(500), false), None);
    }
}
