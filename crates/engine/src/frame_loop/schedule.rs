//! The timing of frames: pauses, and the time that drawing takes.

use std::time::{Duration, Instant};

use super::flights::Origin;
use super::movie_clock::{MovieClock, SOUND_WAIT};
use stats::Stages;
use video::Frame;

/// A picture that stays on the screen for longer than this is filtered again when another filter is chosen. In an ordinary movie the next
/// frame comes sooner and has the new filter, so that no frame is filtered twice.
const HOLD: Duration = Duration::from_millis(150);

/// Returns true if a frame that takes `takes_ns` to filter would be late by no more than half of its duration. `left_ns` is the
/// time until it should be drawn, negative if it is late.
fn has_time(left_ns: i64, duration_ns: i64, takes_ns: i64) -> bool {
    takes_ns <= left_ns.saturating_add(duration_ns / 2)
}

/// Returns true if a picture that is due to be replaced at `end` stays on the screen for longer than [`HOLD`] from `now` on: because `end`
/// is later, or because `end` passed more than [`HOLD`] ago and no other frame has been decoded (`nothing_follows`).
fn outlasts(end: Instant, now: Instant, nothing_follows: bool) -> bool {
    end > now + HOLD || nothing_follows && now > end + HOLD
}

/// The maximum time for which the first picture waits for its sound before it is shown. The picture then stands still until the
/// clock runs. An audio output that is not suspended starts within half of this time.
const PICTURE_WAIT: Duration = Duration::from_millis(400);
/// The movie's clock, and the decisions that depend on it.
pub struct Schedule {
    /// The movie's clock.
    pub clock: MovieClock,
    /// True if pictures are shown as soon as they are filtered, instead of at their timestamps.
    is_unpaced: bool,
    /// True once the first picture was shown; false again after a seek, a step or another movie.
    pub has_started: bool,
    /// True if the clock has a position: the first picture after a start, a seek or a step was shown, or waits for its sound.
    pub is_placed: bool,
    /// When the loop was created, or when the last seek, step or other movie began.
    pub(super) restarted_at: Instant,
    /// The moving average of the time for drawing and swapping, in nanoseconds.
    draw_ns: i64,
    /// True if the first picture after the next start, seek or step waits for its sound; false for a seek that shows only a
    /// picture.
    picture_waits: bool,
}

impl Schedule {
    /// Creates the schedule of a movie whose first picture is not shown yet.
    pub(super) fn new(is_unpaced: bool) -> Self {
        Self {
            clock: MovieClock::new(),
            is_unpaced,
            has_started: false,
            is_placed: false,
            restarted_at: Instant::now(),
            draw_ns: 0,
            picture_waits: true,
        }
    }

    /// Stops the clock until the sound of its position is heard, if an audio device is to play it.
    pub fn wait_for_sound(&mut self) {
        if self.is_placed && !self.is_unpaced {
            self.clock.wait_at(self.clock.now_ns());
        }
    }

    /// Returns true if the movie is paused.
    pub fn is_paused(&self) -> bool {
        self.clock.is_paused()
    }

    /// Pauses or resumes the movie.
    pub fn toggle_pause(&mut self) {
        if self.is_paused() {
            self.clock.clock.resume(Instant::now());
            self.wait_for_sound();
        } else {
            self.clock.waits_until = None;
            self.clock.clock.pause(Instant::now());
        }
        self.clock.interrupt();
    }

    /// Pauses, and shows the next frame.
    pub fn step(&mut self) {
        if !self.is_paused() {
            self.toggle_pause();
        }
        // The next frame sets the clock, as the first one did.
        self.restart(true);
    }

    /// Stops the clock. The next picture sets the clock to its timestamp and starts it again: when its sound is heard if
    /// `with_sound` is true, otherwise at once.
    pub(super) fn restart(&mut self, with_sound: bool) {
        (self.has_started, self.is_placed, self.restarted_at) = (false, false, Instant::now());
        self.picture_waits = with_sound;
        // The clock does not run until it is placed.
        self.clock.waits_until = None;
        self.clock.lose_sound();
    }

    /// Sets the clock to the timestamp `pts_ns` of a first picture that was filtered, and lets it wait for the sound if an
    /// audio device is to play it.
    pub(super) fn place(&mut self, pts_ns: i64) {
        if self.picture_waits && !self.is_placed && !self.is_unpaced {
            self.is_placed = self.clock.wait_at(pts_ns);
        }
    }

    /// Records that a movie frame was shown. The first frame after a restart starts the clock; every further frame updates the
    /// average of the drawing time with `draw_ms`, if given.
    pub(super) fn note_presented(&mut self, frame: &Frame, draw_ms: Option<f64>) {
        if !std::mem::replace(&mut self.has_started, true) {
            if !std::mem::replace(&mut self.is_placed, true) {
                self.clock.clock.resync(frame.pts_ns, Instant::now());
            }
        } else if let Some(ms) = draw_ms {
            self.draw_ns += ((ms * 1e6) as i64 - self.draw_ns) / 8;
        }
    }

    /// Returns the movie's time in nanoseconds, by which frames are taken and dropped. Returns `None` if frames are taken regardless of
    /// time: before the first picture, and if frames are shown as fast as they are filtered.
    pub(super) fn pace_ns(&self) -> Option<i64> {
        (self.has_started && !self.is_unpaced).then(|| self.clock.now_ns())
    }

    /// Returns when the next frame should replace this one on the screen; `None` before the first picture, in a pause, and if
    /// the movie is unpaced.
    pub(super) fn end_of(&self, frame: &Frame) -> Option<Instant> {
        let end_ns = frame.pts_ns.saturating_add(frame.duration_ns);
        self.clock.instant_of(end_ns).filter(|_| self.has_started && !self.is_unpaced)
    }

    /// Returns true if a frame on the screen stays there for longer than [`HOLD`] from now on. `nothing_follows` is true if no
    /// other frame has been decoded.
    pub(super) fn stays(&self, frame: &Frame, nothing_follows: bool) -> bool {
        self.end_of(frame).is_some_and(|end| outlasts(end, Instant::now(), nothing_follows))
    }

    /// Returns the movie's time in nanoseconds at which drawing a frame should begin, so that it is on the screen at its timestamp.
    fn draw_at_ns(&self, frame: &Frame) -> i64 {
        let draw_ns = (self.draw_ns as f64 * self.clock.speed) as i64;
        frame.pts_ns - draw_ns.clamp(0, frame.duration_ns)
    }

    /// Returns when drawing a frame should begin, so that it is on the screen at its timestamp; `None` in a pause.
    pub(super) fn draw_at(&self, frame: &Frame) -> Option<Instant> {
        self.first_draw_at().or_else(|| self.clock.instant_of(self.draw_at_ns(frame)))
    }

    /// Returns when drawing the first picture should begin, so that it is on the screen when its sound is heard or when it has
    /// waited for [`PICTURE_WAIT`]; `None` if no first picture waits for its sound.
    fn first_draw_at(&self) -> Option<Instant> {
        let (_, started) = self.clock.reference();
        let draw = Duration::from_nanos(u64::try_from(self.draw_ns).unwrap_or(0));
        let at = started.filter(|_| self.is_placed && !self.has_started)?;
        let before = if self.clock.waits_for_sound() { SOUND_WAIT - PICTURE_WAIT } else { draw };
        at.checked_sub(before).or(started)
    }

    /// Returns true if a filtered frame should be drawn now.
    pub(super) fn is_due(&self, origin: &Origin) -> bool {
        let is_paused = self.is_paused();
        if self.is_unpaced && !is_paused || origin.replaces_shown {
            return true;
        }
        if !self.has_started {
            return self.first_draw_at().is_none_or(|at| at <= Instant::now());
        }
        !is_paused && self.draw_at_ns(&origin.frame) <= self.clock.now_ns()
    }

    /// Returns how long before its timestamp a frame may be taken, in nanoseconds of the movie: the interval between frames (`interval_ns`,
    /// if known), but at least 20 ms and at most 100 ms of real time.
    pub(super) fn lead_ns(&self, interval_ns: Option<i64>) -> i64 {
        let least = (20e6 * self.clock.speed) as i64;
        interval_ns.unwrap_or(0).clamp(least, 5 * least)
    }

    /// Returns true if the frame can be filtered again before it is late, assuming that each stage takes as long as in
    /// `stages`.
    pub(super) fn can_resubmit(&self, frame: &Frame, stages: &Stages) -> bool {
        if !self.has_started || self.is_unpaced {
            return false;
        }
        let takes_ms = stages.times.iter().sum::<f64>() * self.clock.speed;
        let left_ns = self.draw_at_ns(frame).saturating_sub(self.clock.now_ns());
        self.is_paused() || has_time(left_ns, frame.duration_ns, (takes_ms * 1e6) as i64)
    }

    /// Returns true if a frame that is shown now is late by more than half of its duration. An unpaced frame is never late.
    pub(super) fn is_late(&self, frame: &Frame) -> bool {
        !self.is_unpaced && self.clock.now_ns() - frame.pts_ns > frame.duration_ns / 2
    }

    /// Returns true if the time in which a frame should be on the screen is over: its timestamp plus `duration_ns` nanoseconds
    /// has passed.
    pub(super) fn is_past(&self, frame: &Frame, duration_ns: i64) -> bool {
        let end_ns = frame.pts_ns.saturating_add(duration_ns);
        self.has_started && (self.is_unpaced || self.clock.now_ns() >= end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stays_where_no_next_one_comes_soon() {
        let now = Instant::now() + Duration::from_secs(60);
        let ms = Duration::from_millis;
        // 25 frames a second, 10 at a quarter of their speed, and slides.
        assert!(!outlasts(now + ms(40), now, false) && outlasts(now + ms(400), now, false));
        assert!(outlasts(now + ms(12_000), now, false) && !outlasts(now + ms(100), now, false));
        // The next frame is late: it is being filtered, or the decoder has not decoded it.
        assert!(!outlasts(now - ms(12_000), now, false) && outlasts(now - ms(12_000), now, true));
        assert!(!outlasts(now - ms(100), now, true));
    }

    #[test]
    fn the_clock_follows_the_sound() {
        let mut schedule = Schedule::new(false);
        let start = Instant::now();
        schedule.clock.clock.resync(0, start);
        let mut at = start;
        let ms = Duration::from_millis;
        // The clock of the audio device is 30 ms ahead: the movie's clock does not jump, but soon has caught up.
        for turn in 1..=40 {
            at = start + ms(50 * turn);
            schedule.clock.follow_sound((50 * turn as i64 + 30) * 1_000_000, at, 0);
        }
        let lead_ms = |schedule: &Schedule, at: Instant, true_ms: i64| {
            true_ms - schedule.clock.now_ns_at(at) / 1_000_000
        };
        assert!(lead_ms(&schedule, at, 2030).abs() <= 1, "{}", lead_ms(&schedule, at, 2030));
        let revision = schedule.clock.revision;
        // One wrong position has no effect, several in a row have.
        schedule.clock.follow_sound(9_000_000_000, at, 0);
        assert!(lead_ms(&schedule, at, 2030).abs() <= 1);
        (0..4).for_each(|_| schedule.clock.follow_sound(9_000_000_000, at, 0));
        assert_eq!(lead_ms(&schedule, at, 9000), 0);
        assert_eq!(schedule.clock.revision, revision, "the sound must not follow in turn");
        // The sound went back to the beginning of a segment.
        schedule.clock.follow_sound(8_800_000_000, at, 1);
        assert_eq!(lead_ms(&schedule, at, 8800), 0);
    }

    #[test]
    fn a_first_picture_waits_for_its_sound() {
        let mut schedule = Schedule::new(false);
        schedule.place(5);
        assert!(!schedule.is_placed, "without sound the picture that is shown sets the clock");
        schedule.clock.set_expects_sound(true);
        schedule.place(5_000_000_000);
        assert!(schedule.is_placed && schedule.clock.waits_for_sound() && !schedule.has_started);
        assert_eq!(schedule.clock.now_ns(), 5_000_000_000);
        // An audio device that was suspended delays the clock for long, but the picture only for a short time.
        let (draw_at, now) = (schedule.first_draw_at().unwrap(), Instant::now());
        assert!(draw_at > now + PICTURE_WAIT / 2 && draw_at <= now + PICTURE_WAIT);
        let revision = schedule.clock.revision;
        let heard_at = Instant::now() + Duration::from_millis(90);
        schedule.clock.follow_sound(5_000_000_000, heard_at, 0);
        assert!(!schedule.clock.waits_for_sound());
        assert_eq!(schedule.first_draw_at(), Some(heard_at));
        assert_eq!(schedule.clock.now_ns_at(heard_at + Duration::from_millis(40)), 5_040_000_000);
        assert_eq!(schedule.clock.revision, revision, "the sound has begun and must not begin again");
        // A seek that shows only a picture, and an audio device that is removed while the clock waits for it.
        schedule.restart(false);
        schedule.place(7);
        assert!(!schedule.is_placed);
        schedule.restart(true);
        schedule.place(7_000_000_000);
        assert!(schedule.clock.waits_for_sound());
        schedule.clock.set_expects_sound(false);
        assert!(!schedule.clock.waits_for_sound() && schedule.first_draw_at().unwrap() <= Instant::now());
        assert!(schedule.clock.revision > revision + 1);
    }

    #[test]
    fn a_frame_is_resubmitted_unless_that_makes_it_late() {
        let has_time = |left_ns, takes_ns| has_time(left_ns, 40_000_000, takes_ns);
        assert!(has_time(30_000_000, 10_000_000));
        assert!(has_time(1_000_000, 21_000_000) && !has_time(1_000_000, 22_000_000), "half of its time");
        assert!(has_time(-10_000_000, 9_000_000) && !has_time(-10_000_000, 11_000_000), "it is due");
        assert!(!has_time(30_000_000, 300_000_000), "the filter is slow");
        assert!(!has_time(-1_000_000_000, 0), "it is late as it is");
    }
}
