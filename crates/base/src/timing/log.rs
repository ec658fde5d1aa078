//! Event log of all threads and devices on one clock, for traces. Threads [`record`] events, and [`copy`] returns the
//! newest, which `stats` writes to a file.
//!
//! Nothing is recorded before [`start`]. The number of events is limited: the oldest are dropped in blocks. The time that
//! recording takes is summed.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

/// Maximum number of kept events with `--trace`: some twenty minutes of a movie at 25 frames per second, about 45 MB.
pub const KEPT_EVENTS: usize = 500_000;
/// Maximum number of kept events without `--trace`, for the key that saves the last minute: about 4 MB.
pub const RECENT_EVENTS: usize = 40_000;
/// Events per block. Blocks are dropped as a whole, so that no event is ever moved.
const BLOCK_EVENTS: usize = 4096;

/// A row of the trace: the thread, queue or GPU stage that an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Track {
    /// Whole frames: from the start of a frame's first stage to the end of its last one.
    Frames,
    /// The window's thread; without a window, the main thread.
    Window,
    /// The devices' threads, which make the OpenCL calls.
    Calls,
    /// The decoder's thread.
    Decoder,
    /// The thread of the variant `native`, which filters in Rust.
    Native,
    /// The thread that builds programs.
    Builder,
    /// The thread of background tuning.
    Tuner,
    /// The thread of the cloth scene.
    Cloth,
    /// Any other thread.
    Others,
    /// The OpenCL queue for uploads.
    Uploads,
    /// The OpenCL queue for all other commands.
    Device,
    /// The OpenCL queue of the cloth scene.
    ClothQueue,
    /// The filter's shaders in OpenGL.
    GlFilter,
    /// The copy of the picture into its texture in OpenGL.
    GlTexture,
    /// Drawing the picture with OpenGL.
    GlPresent,
    /// Drawing the overlay with OpenGL.
    GlOverlay,
}

impl Track {
    /// Returns the track of the calling thread, by its name.
    pub fn of_thread() -> Self {
        thread_local! {
            static TRACK: Track = match std::thread::current().name() {
                Some("main") => Track::Window,
                Some("device") => Track::Calls,
                Some("decoder") => Track::Decoder,
                Some("native") => Track::Native,
                Some("builder") => Track::Builder,
                Some("tuner") => Track::Tuner,
                Some("cloth") => Track::Cloth,
                _ => Track::Others,
            };
        }
        TRACK.with(|track| *track)
    }
}

/// An event: a span of time, or an instant.
#[derive(Debug, Clone)]
pub struct Event {
    /// The thread, queue or GPU stage of the event.
    pub track: Track,
    /// The event's name, such as that of a stage.
    pub what: &'static str,
    /// The start of the event.
    pub from: Instant,
    /// The end of the event; `None` for an instant.
    pub to: Option<Instant>,
    /// The number of the frame that the event belongs to, if any, counted from the first presented one.
    pub frame: Option<u32>,
    /// Details that the trace shows with the event. For a kernel, they are the name of its variant and version.
    pub detail: Option<Box<str>>,
}

impl Event {
    /// Creates an event that lasted from `from` to `to`.
    pub fn span(track: Track, what: &'static str, from: Instant, to: Instant) -> Self {
        Self { track, what, from, to: Some(to), frame: None, detail: None }
    }

    /// Creates an event of the calling thread that lasted from `from` until now.
    pub fn since(what: &'static str, from: Instant) -> Self {
        Self::span(Track::of_thread(), what, from, Instant::now())
    }

    /// Creates an event without duration.
    pub fn instant(track: Track, what: &'static str, at: Instant) -> Self {
        Self { track, what, from: at, to: None, frame: None, detail: None }
    }

    /// Sets the number of the frame that the event belongs to, counted from the first presented one.
    pub fn with_frame(self, frame: u64) -> Self {
        Self { frame: u32::try_from(frame).ok(), ..self }
    }

    /// Returns the name of the variant and version whose kernel ran during this event; `None` if the event is not a kernel.
    pub fn kernel(&self) -> Option<&str> {
        let is_kernel = matches!(self.track, Track::Device | Track::GlFilter | Track::Native);
        self.detail.as_deref().filter(|_| is_kernel && self.to.is_some())
    }

    /// Sets the details that the trace shows with the event.
    pub fn with(self, detail: impl Into<Box<str>>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }
}

/// A copy of the event log.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The time at which recording began, on the events' clock and as wall time.
    pub began: (Instant, SystemTime),
    /// The events in recording order, in blocks.
    pub blocks: Vec<Arc<Vec<Event>>>,
    /// Number of events that were dropped because of the limit.
    pub forgotten: u64,
    /// The number of the first frame all of whose events are kept.
    pub first_whole_frame: u32,
    /// Time that all threads spent recording, in nanoseconds.
    pub cost_ns: u64,
}

impl Recording {
    /// Returns all events in recording order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.blocks.iter().flat_map(|block| block.iter())
    }
}

/// The contents of the log, whose number of events is limited.
struct State {
    limit: usize,
    /// The newest events, which are in no block of `kept` yet.
    newest: Vec<Event>,
    kept: Recording,
}

static IS_ON: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Starts recording with a limit of `limit` events; if it has been started before, only the limit changes.
pub fn start(limit: usize) {
    let new = || {
        let began = (Instant::now(), SystemTime::now());
        let kept = Recording { began, blocks: Vec::new(), forgotten: 0, first_whole_frame: 0, cost_ns: 0 };
        State { limit, newest: Vec::new(), kept }
    };
    STATE.lock().get_or_insert_with(new).limit = limit.max(BLOCK_EVENTS);
    IS_ON.store(true, Ordering::Release);
}

/// Records the events that `events` returns. Before [`start`], `events` is not called.
pub fn record<E: IntoIterator<Item = Event>>(events: impl FnOnce() -> E) {
    if !IS_ON.load(Ordering::Acquire) {
        return;
    }
    let began = Instant::now();
    let events = events();
    if let Some(state) = &mut *STATE.lock() {
        events.into_iter().for_each(|event| state.push(event));
        state.kept.cost_ns += began.elapsed().as_nanos() as u64;
    }
}

/// Returns a copy of the log; `None` before [`start`]. Constant time, since blocks are shared.
pub fn copy() -> Option<Recording> {
    let state = STATE.lock();
    let state = state.as_ref()?;
    let mut recording = state.kept.clone();
    recording.blocks.push(Arc::new(state.newest.clone()));
    Some(recording)
}

impl State {
    /// Adds an event. When the newest block is full, the oldest blocks beyond the limit are dropped.
    fn push(&mut self, event: Event) {
        let kept = &mut self.kept;
        if self.newest.len() >= BLOCK_EVENTS {
            kept.blocks.push(Arc::new(std::mem::take(&mut self.newest)));
            while !kept.blocks.is_empty() && (kept.blocks.len() + 1) * BLOCK_EVENTS > self.limit {
                let oldest = kept.blocks.remove(0);
                kept.forgotten += oldest.len() as u64;
                let newest_frame = oldest.iter().filter_map(|event| event.frame).max();
                kept.first_whole_frame =
                    kept.first_whole_frame.max(newest_frame.map_or(0, |frame| frame + 1));
            }
        }
        if self.newest.capacity() == 0 {
            self.newest.reserve_exact(BLOCK_EVENTS);
        }
        self.newest.push(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_recorded_from_the_start_on_and_the_oldest_are_dropped_and_counted() {
        record(|| -> [Event; 0] { panic!("recording has not started") });
        assert!(copy().is_none());
        start(3 * BLOCK_EVENTS);
        let (at, each) = (Instant::now(), 10);
        let frames = BLOCK_EVENTS as u64;
        for frame in 0..frames {
            record(|| (0..each).map(|_| Event::span(Track::Window, "take", at, at).with_frame(frame)));
        }
        let recorded = copy().unwrap();
        assert!(recorded.cost_ns > 0);
        let left = recorded.events().count();
        assert!(left <= 3 * BLOCK_EVENTS && left > 2 * BLOCK_EVENTS, "{left}");
        assert_eq!(left as u64 + recorded.forgotten, frames * each);
        // A block ends within a frame, which loses events; every later frame has all of them.
        let first = u64::from(recorded.first_whole_frame);
        assert_eq!(first, recorded.forgotten.div_ceil(each));
        let of =
            |frame: u64| recorded.events().filter(|e| e.frame.map(u64::from) == Some(frame)).count() as u64;
        assert!((first..frames).all(|frame| of(frame) == each));
        assert!(of(first - 1) < each, "{}", of(first - 1));
    }
}
