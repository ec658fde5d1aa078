//! The movie's clock, and how it follows the sound.

use std::ops::Deref;
use std::time::{Duration, Instant};

use video::{Clock, Frame};

/// The largest difference between the movie's clock and the sound that is removed gradually, in nanoseconds. A larger one makes
/// the clock jump.
const MAX_DRIFT_NS: i64 = 60_000_000;
/// The number of differences above [`MAX_DRIFT_NS`] in a row after which the clock jumps.
const JUMP_AFTER: u32 = 4;
/// The time that the clock waits for the first sample to be heard. An idle sink may take more than a second to wake up.
pub(super) const SOUND_WAIT: Duration = Duration::from_secs(2);
/// The number by which a difference between clock and sound is divided to get one adjustment of the clock. The whole difference
/// is not removed at once, because single positions of the sound are not exact.
const ADJUSTMENT: i64 = 8;

/// The movie's clock. It has no meaning before the first picture is shown.
pub struct MovieClock {
    pub(super) clock: Clock,
    /// The number of calls of [`MovieClock::interrupt`] so far. A change means that the next frame interval does not count.
    pub(super) interruptions: u64,
    /// True if an audio device is to play the movie's sound.
    expects_sound: bool,
    /// The end of the time that the clock waits for the first sample to be heard; `None` if it does not wait.
    pub(super) waits_until: Option<Instant>,
    /// The number of times that the sound has gone back to the beginning of a segment of the play timeline, as last reported.
    sound_delays: u32,
    /// The position of the sound less that of the clock, in nanoseconds; `None` while no sound is heard.
    sound_lead_ns: Option<i64>,
    /// The number of differences between sound and clock above [`MAX_DRIFT_NS`] in a row.
    large_leads: u32,
}

impl MovieClock {
    pub(super) fn new() -> Self {
        Self {
            clock: Clock::new(0, Instant::now()),
            interruptions: 0,
            expects_sound: false,
            waits_until: None,
            sound_delays: 0,
            sound_lead_ns: None,
            large_leads: 0,
        }
    }

    /// Sets whether an audio device is to play the movie's sound, so that the clock waits for it after a start, a seek and a
    /// pause.
    pub fn set_expects_sound(&mut self, expects_sound: bool) {
        self.expects_sound = expects_sound;
        if !expects_sound {
            self.stop_waiting();
        }
    }

    /// Returns true if the clock waits for the first sample to be heard.
    pub fn waits_for_sound(&self) -> bool {
        self.waits_until.is_some()
    }

    /// Returns true, and lets the clock run without sound, if it has waited for too long.
    pub fn give_up_sound(&mut self) -> bool {
        let is_late = self.waits_until.is_some_and(|until| Instant::now() >= until);
        if is_late {
            self.stop_waiting();
        }
        is_late
    }

    /// Stops the clock at the position `at_ns` until the sound there is heard, if the movie is not paused and an audio device
    /// is to play the sound. Returns true if the clock waits.
    pub(super) fn wait_at(&mut self, at_ns: i64) -> bool {
        let waits = self.expects_sound && !self.clock.is_paused();
        if waits {
            let until = Instant::now() + SOUND_WAIT;
            // The clock stands until then, even if nobody reads it.
            self.clock.resync(at_ns, until);
            self.waits_until = Some(until);
            self.lose_sound();
            self.interrupt();
        }
        waits
    }

    /// Lets the clock run if it waits for the sound.
    fn stop_waiting(&mut self) {
        if self.waits_until.take().is_some() {
            let now = Instant::now();
            self.clock.resync(self.clock.now_ns_at(now), now);
            self.interrupt();
        }
    }

    /// Follows the sound, whose position is `position_ns` at the time `heard_at`: starts the clock if it waits for the sound,
    /// otherwise adjusts it. `delays` is the number of times that the sound has gone back to the beginning of a segment of the
    /// play timeline.
    pub fn follow_sound(&mut self, position_ns: i64, heard_at: Instant, delays: u32) {
        if self.waits_until.take().is_some() {
            self.clock.start_with_sound(position_ns, heard_at);
            // The picture may have stood still.
            self.interrupt();
        }
        let lead_ns = position_ns.saturating_sub(self.clock.now_ns_at(heard_at));
        let is_large = lead_ns.saturating_abs() > MAX_DRIFT_NS;
        self.large_leads = if is_large { self.large_leads + 1 } else { 0 };
        let went_back = std::mem::replace(&mut self.sound_delays, delays) != delays;
        let adjustment = match () {
            () if went_back || self.large_leads >= JUMP_AFTER => lead_ns,
            () if is_large => 0,
            () => lead_ns / ADJUSTMENT,
        };
        self.clock.adjust(adjustment);
        self.sound_lead_ns = Some(lead_ns - adjustment);
    }

    /// Records that the sound is not heard any more. The clock continues without it.
    pub fn lose_sound(&mut self) {
        (self.sound_lead_ns, self.large_leads) = (None, 0);
    }

    /// Returns the time, in milliseconds, by which this picture is later than its sound if it is shown now; `None` while no
    /// sound is heard.
    pub(super) fn sound_lag_ms(&self, frame: &Frame) -> Option<f64> {
        let sound_ns = self.clock.now_ns().saturating_add(self.sound_lead_ns?);
        Some(sound_ns.saturating_sub(frame.pts_ns) as f64 / 1e6)
    }

    /// Sets the playback speed; 1 is the movie's normal speed.
    pub fn set_speed(&mut self, speed: f64) {
        self.clock.set_speed(speed, Instant::now());
        self.interrupt();
    }

    /// Leaves the time between the last presented frame and the next one out of the statistics. Call it when something other than playing,
    /// such as a resize of the window, delays the next frame.
    pub fn interrupt(&mut self) {
        self.interruptions += 1;
    }

    /// Leaves the time `stopped`, in which the process was stopped, out of the movie's time.
    pub(super) fn exclude_stop(&mut self, stopped: Duration) {
        self.clock.exclude(stopped);
        self.interrupt();
    }
}

impl Deref for MovieClock {
    type Target = Clock;

    fn deref(&self) -> &Clock {
        &self.clock
    }
}
