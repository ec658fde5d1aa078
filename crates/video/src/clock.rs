//! The play clock. In: the machine's monotonic time. Out: the position on the play timeline, in nanoseconds.
//!
//! It runs in real time, or at the speed that the user chose: a machine that is too slow drops frames, it never
//! plays in slow motion of its own.

use std::time::{Duration, Instant};

/// The slowest speed of a clock.
pub(crate) const MIN_SPEED: f64 = 0.25;
/// The fastest speed of a clock.
pub(crate) const MAX_SPEED: f64 = 4.0;

/// A clock on the play timeline that can be paused and set.
///
/// Every method has an `_at` form that takes the present as an argument, so that it can be tested.
#[derive(Debug, Clone)]
pub struct Clock {
    /// Position at `since`, or the standing position while paused.
    base_ns: i64,
    /// When the clock was last set going; `None` while paused.
    since: Option<Instant>,
    /// Seconds of the play timeline in a second.
    speed: f64,
}

impl Clock {
    /// A running clock that stands at `pts_ns` now.
    pub fn new(pts_ns: i64) -> Self {
        Self::new_at(pts_ns, Instant::now())
    }

    /// A running clock that stands at `pts_ns` at `now`.
    pub(crate) fn new_at(pts_ns: i64, now: Instant) -> Self {
        Self { base_ns: pts_ns, since: Some(now), speed: 1.0 }
    }

    /// The position on the play timeline, in nanoseconds.
    pub fn now_ns(&self) -> i64 {
        self.now_ns_at(Instant::now())
    }

    /// The position at `now`; a `now` before the clock was set counts as that moment.
    pub(crate) fn now_ns_at(&self, now: Instant) -> i64 {
        let run = self.since.map_or(0, |since| {
            let real = i64::try_from(now.saturating_duration_since(since).as_nanos()).unwrap_or(i64::MAX);
            // Whole numbers at the usual speed: no rounding however long it runs.
            if self.speed == 1.0 { real } else { (real as f64 * self.speed).round() as i64 }
        });
        self.base_ns.saturating_add(run)
    }

    /// When the clock will show `pts_ns`; `None` while paused, and now for a position in the past.
    pub fn instant_of(&self, pts_ns: i64) -> Option<Instant> {
        let since = self.since?;
        let ahead = u64::try_from(pts_ns.saturating_sub(self.base_ns)).unwrap_or(0);
        // Rounded up, so that the position has been reached by then.
        let real = if self.speed == 1.0 { ahead } else { (ahead as f64 / self.speed).ceil() as u64 };
        since.checked_add(Duration::from_nanos(real))
    }

    /// Stops the clock where it is; nothing happens if it stands already.
    pub fn pause(&mut self) {
        self.pause_at(Instant::now());
    }

    /// [`Clock::pause`] at `now`.
    pub(crate) fn pause_at(&mut self, now: Instant) {
        self.base_ns = self.now_ns_at(now);
        self.since = None;
    }

    /// Lets the clock go on from where it stands; nothing happens if it runs already.
    pub fn resume(&mut self) {
        self.resume_at(Instant::now());
    }

    /// [`Clock::resume`] at `now`.
    pub(crate) fn resume_at(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Lets the clock run at `speed`, from [`MIN_SPEED`] to [`MAX_SPEED`]; 1 is real time. The position does not
    /// jump, and a paused clock stays paused. What is not a number is ignored.
    pub fn set_speed(&mut self, speed: f64) {
        self.set_speed_at(speed, Instant::now());
    }

    /// [`Clock::set_speed`] at `now`.
    pub(crate) fn set_speed_at(&mut self, speed: f64, now: Instant) {
        if speed.is_nan() {
            return;
        }
        self.resync_at(self.now_ns_at(now), now);
        self.speed = speed.clamp(MIN_SPEED, MAX_SPEED);
    }

    /// Leaves out so much of the time that has passed: the clock stood still meanwhile.
    pub fn leave_out(&mut self, time: Duration) {
        // It may have been set in the midst of it: then it stands where it was set.
        self.since = self.since.map(|since| since.checked_add(time).unwrap_or(since));
    }

    /// Seconds of the play timeline in a second.
    pub fn speed(&self) -> f64 {
        self.speed
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
    pub(crate) fn resync_at(&mut self, pts_ns: i64, now: Instant) {
        self.base_ns = pts_ns;
        if self.since.is_some() {
            self.since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn speed_changes_without_a_jump() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut clock = Clock::new_at(0, start);
        clock.set_speed_at(2.0, at(100));
        assert_eq!(clock.now_ns_at(at(100)), 100_000_000);
        assert_eq!(clock.now_ns_at(at(150)), 200_000_000);
        assert_eq!(clock.instant_of(300_000_000), Some(at(200)));
        clock.pause_at(at(200));
        clock.set_speed_at(0.5, at(900));
        assert!(clock.is_paused());
        assert_eq!((clock.now_ns_at(at(950)), clock.speed()), (300_000_000, 0.5));
        clock.resume_at(at(1000));
        assert_eq!(clock.now_ns_at(at(1100)), 350_000_000);
        clock.set_speed_at(f64::NAN, at(1100));
        assert_eq!(clock.speed(), 0.5);
        clock.set_speed_at(100.0, at(1100));
        assert_eq!((clock.speed(), clock.now_ns_at(at(1101))), (4.0, 354_000_000));
        clock.set_speed_at(0.0, at(1101));
        assert_eq!(clock.speed(), 0.25);
    }

    #[test]
    fn time_that_is_left_out_has_not_passed() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut clock = Clock::new_at(0, start);
        clock.set_speed_at(2.0, start);
        clock.leave_out(Duration::from_secs(15));
        assert_eq!(clock.now_ns_at(at(15_100)), 200_000_000);
        assert_eq!(clock.instant_of(400_000_000), Some(at(15_200)));
        clock.resync_at(0, at(20_000));
        clock.leave_out(Duration::from_secs(15));
        assert_eq!(clock.now_ns_at(at(20_500)), 0, "no position before that");
        clock.pause_at(at(36_000));
        let paused_ns = clock.now_ns_at(at(36_000));
        clock.leave_out(Duration::from_secs(15));
        assert_eq!(clock.now_ns_at(at(99_000)), paused_ns);
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
