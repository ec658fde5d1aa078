//! The play clock: converts the machine's monotonic time to a position on the play timeline, in nanoseconds. On the play
//! timeline, the time stamps of played frames increase from frame to frame, also across loops and seeks.
//!
//! It runs in real time or at the speed that the user chose. A machine that is too slow drops frames; it never plays in
//! slow motion.

use std::time::{Duration, Instant};

pub(crate) const MIN_SPEED: f64 = 0.25;
pub(crate) const MAX_SPEED: f64 = 4.0;

/// A clock on the play timeline, on which the time stamps of played frames increase across loops and seeks. It can be paused,
/// set, and run at another speed.
///
/// Methods that depend on the current time take it as `now`, so that tests can set it.
#[derive(Debug, Clone)]
pub struct Clock {
    /// The position on the play timeline at `started`, or the present position while the clock is paused.
    base_ns: i64,
    /// The time at which the clock was last started; `None` while the clock is paused.
    started: Option<Instant>,
    /// Seconds of the play timeline per second of real time. Set by [`Clock::set_speed`].
    pub speed: f64,
    /// The number of changes so far of position, speed or pause, by which jumps of the clock are noticed. Changes that only follow
    /// the sound ([`Clock::adjust`], [`Clock::start_with_sound`]) do not count.
    pub revision: u64,
}

impl Clock {
    /// Returns a running clock whose position is `pts_ns` at `now`.
    pub fn new(pts_ns: i64, now: Instant) -> Self {
        Self { base_ns: pts_ns, started: Some(now), speed: 1.0, revision: 0 }
    }

    /// Returns a position on the play timeline, in nanoseconds, and the time at which the clock shows this position. The time
    /// is `None` while the clock is paused.
    pub fn reference(&self) -> (i64, Option<Instant>) {
        (self.base_ns, self.started)
    }

    /// Sets a running clock to `pts_ns` at the time `at`, when the sound that it waited for is heard. Does nothing while
    /// paused.
    pub fn start_with_sound(&mut self, pts_ns: i64, at: Instant) {
        if self.started.is_some() {
            (self.base_ns, self.started) = (pts_ns, Some(at));
        }
    }

    /// Moves the position forward by `ns` nanoseconds (back if negative), to keep this clock in step with another clock.
    pub fn adjust(&mut self, ns: i64) {
        self.base_ns = self.base_ns.saturating_add(ns);
    }

    /// Returns the position on the play timeline, in nanoseconds.
    pub fn now_ns(&self) -> i64 {
        self.now_ns_at(Instant::now())
    }

    /// Returns the position at `now`. A `now` before the clock was started counts as the time of the start.
    pub fn now_ns_at(&self, now: Instant) -> i64 {
        let run = self.started.map_or(0, |started| {
            let real = i64::try_from(now.saturating_duration_since(started).as_nanos()).unwrap_or(i64::MAX);
            // Integers at normal speed, so that nothing is rounded however long the clock runs.
            if self.speed == 1.0 { real } else { (real as f64 * self.speed).round() as i64 }
        });
        self.base_ns.saturating_add(run)
    }

    /// Returns the time at which the clock reaches `pts_ns`; `None` while the clock is paused. For a position in the past,
    /// returns the time at which the clock was started.
    pub fn instant_of(&self, pts_ns: i64) -> Option<Instant> {
        let started = self.started?;
        let ahead = u64::try_from(pts_ns.saturating_sub(self.base_ns)).unwrap_or(0);
        // Rounded up, so that the position has been reached by then.
        let real = if self.speed == 1.0 { ahead } else { (ahead as f64 / self.speed).ceil() as u64 };
        started.checked_add(Duration::from_nanos(real))
    }

    /// Pauses the clock at the time `now`; the position of a paused clock stays.
    pub fn pause(&mut self, now: Instant) {
        self.base_ns = self.now_ns_at(now);
        self.started = None;
        self.revision += 1;
    }

    /// Lets the clock run again from its position, at the time `now`. Does nothing if the clock is running.
    pub fn resume(&mut self, now: Instant) {
        self.started.get_or_insert(now);
        self.revision += 1;
    }

    /// Sets the speed at the time `now`, clamped to [`MIN_SPEED`] to [`MAX_SPEED`]; 1 is real time. The position does not jump,
    /// and a paused clock stays paused. NaN is ignored.
    pub fn set_speed(&mut self, speed: f64, now: Instant) {
        if speed.is_nan() {
            return;
        }
        self.resync(self.now_ns_at(now), now);
        self.speed = speed.clamp(MIN_SPEED, MAX_SPEED);
    }

    /// Moves a running clock back by `time`, as if it had been paused for that time. Does nothing if the clock is paused.
    pub fn exclude(&mut self, time: Duration) {
        // If it was set within that time, it now starts in the future and stays at that position until then.
        self.started = self.started.map(|started| started.checked_add(time).unwrap_or(started));
        self.revision += 1;
    }

    /// Returns true if the clock is paused.
    pub fn is_paused(&self) -> bool {
        self.started.is_none()
    }

    /// Sets the position at the time `now`. A running clock keeps running, a paused one stays paused.
    pub fn resync(&mut self, pts_ns: i64, now: Instant) {
        self.base_ns = pts_ns;
        self.revision += 1;
        if self.started.is_some() {
            self.started = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a time, and the function that returns the time some milliseconds after it.
    fn start() -> (Instant, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        (start, move |ms| start + Duration::from_millis(ms))
    }

    #[test]
    fn runs_pauses_and_resumes() {
        let (start, at) = start();
        let mut clock = Clock::new(5_000_000, start);
        assert_eq!(clock.now_ns_at(at(10)), 15_000_000);
        clock.pause(at(20));
        assert!(clock.is_paused());
        assert_eq!(clock.now_ns_at(at(500)), 25_000_000);
        clock.pause(at(600));
        assert_eq!(clock.now_ns_at(at(700)), 25_000_000);
        clock.resume(at(1000));
        assert!(!clock.is_paused());
        clock.resume(at(1010));
        assert_eq!(clock.now_ns_at(at(1020)), 45_000_000);
    }

    #[test]
    fn speed_changes_without_a_jump() {
        let (start, at) = start();
        let mut clock = Clock::new(0, start);
        clock.set_speed(2.0, at(100));
        assert_eq!(clock.now_ns_at(at(100)), 100_000_000);
        assert_eq!(clock.now_ns_at(at(150)), 200_000_000);
        assert_eq!(clock.instant_of(300_000_000), Some(at(200)));
        clock.pause(at(200));
        clock.set_speed(0.5, at(900));
        assert!(clock.is_paused());
        assert_eq!((clock.now_ns_at(at(950)), clock.speed), (300_000_000, 0.5));
        clock.resume(at(1000));
        assert_eq!(clock.now_ns_at(at(1100)), 350_000_000);
        clock.set_speed(f64::NAN, at(1100));
        assert_eq!(clock.speed, 0.5);
        clock.set_speed(100.0, at(1100));
        assert_eq!((clock.speed, clock.now_ns_at(at(1101))), (4.0, 354_000_000));
        clock.set_speed(0.0, at(1101));
        assert_eq!(clock.speed, 0.25);
    }

    #[test]
    fn excluded_time_does_not_count() {
        let (start, at) = start();
        let mut clock = Clock::new(0, start);
        clock.set_speed(2.0, start);
        clock.exclude(Duration::from_secs(15));
        assert_eq!(clock.now_ns_at(at(15_100)), 200_000_000);
        assert_eq!(clock.instant_of(400_000_000), Some(at(15_200)));
        clock.resync(0, at(20_000));
        clock.exclude(Duration::from_secs(15));
        assert_eq!(clock.now_ns_at(at(20_500)), 0, "no position before that");
        clock.pause(at(36_000));
        let paused_ns = clock.now_ns_at(at(36_000));
        clock.exclude(Duration::from_secs(15));
        assert_eq!(clock.now_ns_at(at(99_000)), paused_ns);
    }

    #[test]
    fn a_clock_is_set_reaches_positions_and_does_not_run_before_its_start() {
        let (start, at) = start();
        let mut clock = Clock::new(0, start);
        clock.resync(700, at(1000));
        assert_eq!(clock.now_ns_at(at(1000)), 700);
        clock.pause(at(1000));
        clock.resync(-3, at(1000));
        assert!(clock.is_paused());
        assert_eq!(clock.now_ns_at(at(10_000)), -3);
        let mut clock = Clock::new(1_000, start);
        assert_eq!(clock.instant_of(3_000), Some(start + Duration::from_nanos(2_000)));
        assert_eq!(clock.instant_of(0), Some(start));
        clock.pause(start);
        assert_eq!(clock.instant_of(3_000), None);
        assert_eq!(Clock::new(9, at(5000)).now_ns_at(at(3000)), 9);
    }
}
