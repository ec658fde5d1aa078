//! Times in which this process did not run although the loop was to: it was stopped, as by Ctrl+Z or a debugger, or something
//! outside kept the window's thread, as a compositor does that takes no pictures of a hidden window. In: when the loop runs, and
//! when it is to run next. Out: how long it was kept from that.
//!
//! Work that takes long is told from a stop by the processor's time: who filters or draws on the processor uses it, and nobody does
//! in a process that is stopped. The window's thread waits for no driver, except for one that wants OpenGL's context.

use std::time::{Duration, Instant};

use opencl::process::cpu_time;

/// The shortest time that counts.
const LEAST: Duration = Duration::from_secs(1);
/// A process that used more than this part of one core was at work.
const IDLE: u32 = 10;

/// When the loop has run, and is to run next.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// It is to run from then on; `None` where it waits for events alone.
    due: Option<Instant>,
    /// The processor's time that the process had had.
    used: Option<Duration>,
    /// It waits for its time, or an event.
    rests: bool,
}

impl Pulse {
    /// The loop runs. Returns how long it did not although it was due, where that was no work. `calls_drivers`: in the middle of a
    /// turn this thread may have waited for a driver.
    pub(super) fn beat(&mut self, calls_drivers: bool) -> Option<Duration> {
        self.beat_at(Instant::now(), cpu_time(), calls_drivers)
    }

    fn beat_at(&mut self, now: Instant, used: Option<Duration>, calls_drivers: bool) -> Option<Duration> {
        let before = std::mem::replace(self, Self { due: Some(now), used, rests: false });
        let kept = now.saturating_duration_since(before.due?);
        let worked = used?.saturating_sub(before.used?);
        let was_at_work = worked > kept / IDLE || calls_drivers && !before.rests;
        (kept > LEAST && !was_at_work).then_some(kept)
    }

    /// The turn is over, and the next one is due at that time, or with an event.
    pub(super) fn rest(&mut self, until: Option<Instant>) {
        let now = Instant::now();
        *self = Self { due: until.map(|until| until.max(now)), used: cpu_time(), rests: true };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_told_from_waiting_and_from_work() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let used = |ms: u64| Some(Duration::from_millis(ms));
        let resting = |until: Option<u64>| Pulse { due: until.map(at), used: used(100), rests: true };
        let kept = |mut pulse: Pulse, now, cpu| pulse.beat_at(at(now), used(cpu), false);
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(kept(resting(Some(500)), 15_500, 110), ms(15_000), "it was stopped");
        assert_eq!(kept(resting(Some(12_000)), 12_040, 110), None, "it waited for the next slide");
        assert_eq!(kept(resting(None), 60_000, 110), None, "nothing was due");
        assert_eq!(kept(resting(Some(500)), 1_400, 110), None, "a busy machine");
        // In the middle of a turn.
        let working = || Pulse { due: Some(at(0)), used: used(100), rests: false };
        assert_eq!(kept(working(), 9_000, 500), ms(9_000));
        assert_eq!(kept(working(), 9_000, 9_100), None, "it drew for so long");
        assert_eq!(working().beat_at(at(9_000), used(500), true), None, "a driver may not have answered");
        assert_eq!(resting(Some(0)).beat_at(at(9_000), used(500), true), ms(9_000), "none was asked");
        assert_eq!(working().beat_at(at(9_000), None, false), None, "the system does not tell");
        // Each beat begins anew.
        let mut pulse = working();
        assert!(pulse.beat_at(at(9_000), used(500), false).is_some());
        assert_eq!(pulse.beat_at(at(9_010), used(500), false), None);
    }
}
