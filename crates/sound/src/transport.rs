//! The play timeline's clock as the window sets it, and what the device's callback reports.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use video::Clock;

/// The clock of the play timeline: the position at one time, and the tempo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transport {
    /// Changes when the position jumps, the tempo changes or the clock stops or continues; not when it is adjusted to the sound.
    pub revision: u64,
    /// False in a pause, and while the first picture after a start or a seek is not shown.
    pub is_running: bool,
    /// True if the position is known: the first picture after a start or a seek was shown.
    pub is_placed: bool,
    /// The position at `at` in nanoseconds.
    pub position_ns: i64,
    /// When the clock has this position. A later time means that the clock starts then.
    pub at: Instant,
    /// Seconds of the play timeline per second.
    pub tempo: f64,
}

impl Transport {
    /// Returns the state of `clock`. `is_placed` is true if its position is valid; the sound is silent otherwise.
    pub fn new(clock: &Clock, is_placed: bool) -> Self {
        let (position_ns, started) = clock.reference();
        Self {
            revision: clock.revision(),
            is_running: is_placed && started.is_some(),
            is_placed,
            position_ns,
            at: started.unwrap_or_else(Instant::now),
            tempo: clock.speed(),
        }
    }

    /// Returns a clock that stands, without a position.
    pub(crate) fn stopped() -> Self {
        let at = Instant::now();
        Self { revision: 0, is_running: false, is_placed: false, position_ns: 0, at, tempo: 1.0 }
    }

    /// Returns the position at `now` in nanoseconds. Before a clock that runs was started, it has the position of its start.
    pub(crate) fn position_ns_at(&self, now: Instant) -> i64 {
        if !self.is_running {
            return self.position_ns;
        }
        let elapsed_s = now.saturating_duration_since(self.at).as_secs_f64();
        self.position_ns.saturating_add((elapsed_s * self.tempo * 1e9) as i64)
    }
}

/// A position of the play timeline, and the time at which it is heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anchor {
    /// The [`Transport::revision`] that it is of.
    pub revision: u64,
    /// The position in nanoseconds.
    pub position_ns: i64,
    /// When that position is heard.
    pub heard_at: Instant,
}

/// The state that the window, the decoding thread and the device's callback share.
pub(crate) struct Shared {
    transport: Mutex<Transport>,
    anchor: Mutex<Option<Anchor>>,
    /// The bits of the factor by which samples are multiplied.
    gain: AtomicU32,
    /// The time from writing a sample to hearing it, in microseconds; 0 while unknown.
    latency_us: AtomicU32,
    /// The device has failed: its stream must be opened again.
    pub(crate) has_failed: AtomicBool,
    /// The number of buffers that the device has asked for.
    pub(crate) buffers: AtomicU64,
}

impl Shared {
    /// Creates the state of a clock that stands.
    pub(crate) fn new() -> Self {
        Self {
            transport: Mutex::new(Transport::stopped()),
            anchor: Mutex::default(),
            gain: AtomicU32::new(1.0_f32.to_bits()),
            latency_us: AtomicU32::new(0),
            has_failed: AtomicBool::new(false),
            buffers: AtomicU64::new(0),
        }
    }

    /// Returns the clock.
    pub(crate) fn transport(&self) -> Transport {
        *self.transport.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the clock. Wakes `thread` if the revision is another one.
    pub(crate) fn set_transport(&self, transport: Transport, thread: &Thread) {
        let mut present = self.transport.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = (present.revision, present.is_running) != (transport.revision, transport.is_running);
        *present = transport;
        drop(present);
        if is_other {
            thread.unpark();
        }
    }

    /// Takes the newest anchor, unless it was taken before.
    pub(crate) fn take_anchor(&self) -> Option<Anchor> {
        self.anchor.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Publishes an anchor in place of the one before.
    pub(crate) fn set_anchor(&self, anchor: Anchor) {
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) = Some(anchor);
    }

    /// Returns the factor by which samples are multiplied.
    pub(crate) fn gain(&self) -> f32 {
        f32::from_bits(self.gain.load(Ordering::Relaxed))
    }

    /// Sets the factor by which samples are multiplied.
    pub(crate) fn set_gain(&self, gain: f32) {
        self.gain.store(gain.to_bits(), Ordering::Relaxed);
    }

    /// Returns the time from writing a sample to hearing it; zero while no device plays.
    pub(crate) fn latency(&self) -> Duration {
        Duration::from_micros(self.latency_us.load(Ordering::Relaxed).into())
    }

    /// Sets the time from writing a sample to hearing it.
    pub(crate) fn set_latency(&self, latency: Duration) {
        self.latency_us.store(u32::try_from(latency.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }
}
