//! The clock of the play timeline as the window sets it, and the positions that the audio device's callback reports.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Instant;

use parking_lot::Mutex;
use video::Clock;

/// The state of the play timeline's clock: its position at one time, and the tempo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transport {
    /// A number that changes when the position jumps, the tempo changes, or the clock stops or continues. It stays the same
    /// when the clock is adjusted to the sound.
    pub revision: u64,
    /// True if the clock runs; false in a pause, and after a start or a seek until the first picture is filtered.
    pub is_running: bool,
    /// True if the position is known; false after a start or a seek until the first picture is filtered.
    pub is_placed: bool,
    /// True if the clock waits for the sound: the sound then begins with the sample at `position_ns`, as soon as it can.
    /// Otherwise the sound joins at the clock's position.
    pub waits_for_sound: bool,
    /// The position in nanoseconds that the clock has at the time `at`.
    pub position_ns: i64,
    /// The time at which the clock has this position. If the time is in the future, the clock starts then.
    pub at: Instant,
    /// Seconds of the play timeline per second of real time.
    pub tempo: f64,
}

impl Transport {
    /// Returns the present state of `clock`. `is_placed` is true if its position is valid; if it is not, the sound is silent.
    pub fn new(clock: &Clock, is_placed: bool, waits_for_sound: bool) -> Self {
        let (position_ns, started) = clock.reference();
        Self {
            revision: clock.revision,
            is_running: is_placed && started.is_some(),
            is_placed,
            waits_for_sound,
            position_ns,
            at: started.unwrap_or_else(Instant::now),
            tempo: clock.speed,
        }
    }

    /// Returns a stopped clock without a position.
    pub(crate) fn stopped() -> Self {
        Self {
            revision: 0,
            is_running: false,
            is_placed: false,
            waits_for_sound: false,
            position_ns: 0,
            at: Instant::now(),
            tempo: 1.0,
        }
    }

    /// Returns the position at `now` in nanoseconds. A clock that will start in the future has the position of its start until
    /// then.
    pub(crate) fn position_ns_at(&self, now: Instant) -> i64 {
        if !self.is_running {
            return self.position_ns;
        }
        let elapsed_s = now.saturating_duration_since(self.at).as_secs_f64();
        self.position_ns.saturating_add((elapsed_s * self.tempo * 1e9) as i64)
    }
}

/// A position on the play timeline, with the time at which its sound is heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anchor {
    /// The [`Transport::revision`] of the clock for which the position was reported.
    pub revision: u64,
    /// The position in nanoseconds.
    pub position_ns: i64,
    /// The time at which that position is heard.
    pub heard_at: Instant,
    /// The number of times that the sound went back to the beginning of a segment whose samples came too late. When the number
    /// changes, the clock must go back at once.
    pub delays: u32,
}

/// The state that the window, the decoding thread and the audio device's callback share.
pub(crate) struct Shared {
    pub(crate) transport: Mutex<Transport>,
    /// The newest reported position that the window has not taken yet.
    pub(crate) anchor: Mutex<Option<Anchor>>,
    /// The factor by which samples are multiplied, as the bits of an `f32`.
    gain: AtomicU32,
    /// True if the device has failed, so that its stream must be opened again.
    pub(crate) has_failed: AtomicBool,
    /// The number of buffers that the device has asked for.
    pub(crate) buffers: AtomicU64,
    /// The value of `buffers` when the device last started to play; `u64::MAX` while the device does not play.
    pub(crate) played_from: AtomicU64,
    /// The [`Transport::revision`] of the clock whose first samples are in the ring buffer; `u64::MAX` before the first one.
    pub(crate) ready: AtomicU64,
    /// True from when the sound for which the clock waited begins until the window is woken.
    pub(crate) has_begun: AtomicBool,
    /// True once the decoding thread must end.
    pub(crate) quits: AtomicBool,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            transport: Mutex::new(Transport::stopped()),
            anchor: Mutex::default(),
            gain: AtomicU32::new(1.0_f32.to_bits()),
            has_failed: AtomicBool::new(false),
            buffers: AtomicU64::new(0),
            played_from: AtomicU64::new(u64::MAX),
            ready: AtomicU64::new(u64::MAX),
            has_begun: AtomicBool::new(false),
            quits: AtomicBool::new(false),
        }
    }

    /// Sets the state of the clock. Wakes `thread` if the clock's revision has changed, or the clock has stopped or started.
    pub(crate) fn set_transport(&self, transport: Transport, thread: &Thread) {
        let mut present = self.transport.lock();
        let is_other = (present.revision, present.is_running) != (transport.revision, transport.is_running);
        *present = transport;
        drop(present);
        if is_other {
            thread.unpark();
        }
    }

    /// Returns the factor by which samples are multiplied.
    pub(crate) fn gain(&self) -> f32 {
        f32::from_bits(self.gain.load(Ordering::Relaxed))
    }

    pub(crate) fn set_gain(&self, gain: f32) {
        self.gain.store(gain.to_bits(), Ordering::Relaxed);
    }
}
