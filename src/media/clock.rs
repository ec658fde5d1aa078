//! The play clock. In: the machine's monotonic time. Out: the position on the play timeline, in nanoseconds.
//!
//! It runs in real time: a machine that is too slow drops frames, it never plays in slow motion.

use std::time::Instant;

/// A clock on the play timeline that can be paused and set.
///
/// Every method has an `_at` form that takes the present as an argument, so that it can be tested.
#[derive(Debug, Clone)]
pub struct Clock {
    /// Position at `since`, or the standing position while paused.
    base_ns: i64,
    /// When the clock was last set going; `None` while paused.
    since: Option<Instant>,
}

impl Clock {
    /// A running clock that stands at `pts_ns` now.
    pub fn new(pts_ns: i64) -> Self {
        Self::new_at(pts_ns, Instant::now())
    }

    /// A running clock that stands at `pts_ns` at `now`.
    pub fn new_at(pts_ns: i64, now: Instant) -> Self {
        Self { base_ns: pts_ns, since: Some(now) }
    }

    /// The position on the play timeline, in nanoseconds.
    pub fn now_ns(&self) -> i64 {
        self.now_ns_at(Instant::now())
    }

    /// The position at `now`; a `now` before the clock was set counts as that moment.
    pub fn now_ns_at(&self, now: Instant) -> i64 {
        let run = self.since.map_or(0, |since| {
            i64::try_from(now.saturating_duration_since(since).as_nanos()).unwrap_or(i64::MAX)
        });
        self.base_ns.saturating_add(run)
    }

    /// When the clock will show `pts_ns`; `None` while paused, and now for a position in the past.
    pub fn instant_of(&self, pts_ns: i64) -> Option<Instant> {
        let since = self.since?;
        let ahead = u64::try_from(pts_ns.saturating_sub(self.base_ns)).unwrap_or(0);
        since.checked_add(std::time::Duration::from_nanos(ahead))
    }

    /// Stops the clock where it is; nothing happens if it stands already.
    pub fn pause(&mut self) {
        self.pause_at(Instant::now());
    }

    /// [`Clock::pause`] at `now`.
    pub fn pause_at(&mut self, now: Instant) {
        self.base_ns = self.now_ns_at(now);
        self.since = None;
    }

    /// Lets the clock go on from where it stands; nothing happens if it runs already.
    pub fn resume(&mut self) {
        self.resume_at(Instant::now());
    }

    /// [`Clock::resume`] at `now`.
    pub fn resume_at(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Whether the clock stands.
    pub fn is_paused(&self) -> bool {
        self.since.is_none()
    }

    /// Sets the position, running or paused as before.
    pub fn resync(&mut self, pts_ns: i64) {
        self.resync_at(pts_ns, Instant::now());
    }

    /// [`Clock::resync`] at `now`.
    pub fn resync_at(&mut self, pts_ns: i64, now: Instant) {
        self.base_ns = pts_ns;
        if self.since.is_some() {
            self.since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn runs_pauses_and_goes_on() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut clock = Clock::new_at(5_000_000, start);
        assert_eq!(clock.now_ns_at(at(10)), 15_000_000);
        clock.pause_at(at(20));
        assert!(clock.is_paused());
        assert_eq!(clock.now_ns_at(at(500)), 25_000_000);
        clock.pause_at(at(600));
        assert_eq!(clock.now_ns_at(at(700)), 25_000_000);
        clock.resume_at(at(1000));
        assert!(!clock.is_paused());
        clock.resume_at(at(1010));
        assert_eq!(clock.now_ns_at(at(1020)), 45_000_000);
    }

    #[test]
    fn resync_keeps_the_pause() {
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        let mut clock = Clock::new_at(0, start);
        clock.resync_at(700, later);
        assert_eq!(clock.now_ns_at(later), 700);
        clock.pause_at(later);
        clock.resync_at(-3, later);
        assert!(clock.is_paused());
        assert_eq!(clock.now_ns_at(later + Duration::from_secs(9)), -3);
    }

    #[test]
    fn says_when_a_position_is_reached() {
        let start = Instant::now();
        let mut clock = Clock::new_at(1_000, start);
        assert_eq!(clock.instant_of(3_000), Some(start + Duration::from_nanos(2_000)));
        assert_eq!(clock.instant_of(0), Some(start));
        clock.pause_at(start);
        assert_eq!(clock.instant_of(3_000), None);
    }

    #[test]
    fn time_before_the_start_does_not_run_backwards() {
        let start = Instant::now() + Duration::from_secs(5);
        assert_eq!(Clock::new_at(9, start).now_ns_at(start - Duration::from_secs(2)), 9);
    }
}
