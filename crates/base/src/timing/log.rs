//! What ran when, of all threads and devices, on one clock. In: [`record`] from any thread. Out: the newest events
//! ([`copy`]), of which `stats::trace` makes a file.
//!
//! Nothing is recorded before [`start`]. Memory is bounded by the number of events: the oldest go, whole blocks of them.
//! What recording takes is summed up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

/// Events that are kept where a trace was asked for: some twenty minutes of a movie at 25 frames a second, about 45 MB.
pub const KEPT_EVENTS: usize = 500_000;
/// … and where one may be asked for, less a block: somewhat more than the last minute of it, about 4 MB.
pub const RECENT_EVENTS: usize = 40_000;
/// Events in a block: old ones go together, and what is kept is never moved.
const BLOCK: usize = 4096;

/// Where something ran: a row of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Track {
    /// From a frame's `take` to its `swap`.
    Frames,
    /// The window's thread; without a window the one that does the work.
    Window,
    /// The threads that make the devices' calls.
    Calls,
    /// The decoder's thread.
    Decoder,
    /// The thread of the filter in Rust.
    Native,
    /// The thread that builds programs.
    Builder,
    /// The thread that searches for the best parameters.
    Tuner,
    /// The thread that has the shirts.
    Cloth,
    /// Any other thread.
    Others,
    /// The device's queue for uploads.
    Uploads,
    /// The device's queue for everything else.
    Device,
    /// The device's queue for the shirts.
    ClothQueue,
    /// OpenGL's device: the filter's shaders.
    GlFilter,
    /// OpenGL's device: fetching the picture into its texture.
    GlTexture,
    /// OpenGL's device: drawing the picture.
    GlPresent,
    /// OpenGL's device: drawing the overlay.
    GlOverlay,
}

impl Track {
    /// The track of the thread that asks.
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

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// Where.
    pub track: Track,
    /// What: a stage's name, or another word.
    pub what: &'static str,
    /// When it began.
    pub from: Instant,
    /// When it was over; `None` where it has no length.
    pub to: Option<Instant>,
    /// Which frame it was for, counted from the first one presented.
    pub frame: Option<u32>,
    /// More about it.
    pub detail: Option<Box<str>>,
}

impl Event {
    /// Something that ran.
    pub fn span(track: Track, what: &'static str, from: Instant, to: Instant) -> Self {
        Self { track, what, from, to: Some(to), frame: None, detail: None }
    }

    /// Something that this thread has done since `from`.
    pub fn since(what: &'static str, from: Instant) -> Self {
        Self::span(Track::of_thread(), what, from, Instant::now())
    }

    /// Something without a length.
    pub fn instant(track: Track, what: &'static str, at: Instant) -> Self {
        Self { track, what, from: at, to: None, frame: None, detail: None }
    }

    /// The same, for a frame, counted from the first one presented.
    pub fn of_frame(self, frame: u64) -> Self {
        Self { frame: u32::try_from(frame).ok(), ..self }
    }

    /// The same, with more about it.
    pub fn with(self, detail: impl Into<Box<str>>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }
}

/// The events that are left, and what recording all of them took.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// When recording began, on the events' clock and on the wall's.
    pub began: (Instant, SystemTime),
    /// The events in the order in which they were recorded, in blocks.
    pub blocks: Vec<Arc<Vec<Event>>>,
    /// Events that had to make room.
    pub forgotten: u64,
    /// Frames before this one may have lost some of theirs.
    pub first_whole_frame: u32,
    /// What recording took all threads together, in nanoseconds.
    pub cost_ns: u64,
}

impl Recorded {
    /// All events.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.blocks.iter().flat_map(|block| block.iter())
    }
}

/// A log with a limit.
struct Log {
    is_on: AtomicBool,
    cost_ns: AtomicU64,
    state: Mutex<Option<State>>,
}

struct State {
    began: (Instant, SystemTime),
    limit: usize,
    full: VecDeque<Arc<Vec<Event>>>,
    newest: Vec<Event>,
    forgotten: u64,
    first_whole_frame: u32,
}

/// The process has one, as it has one clock.
static LOG: Log = Log::new();

/// Begins to record, and keeps `limit` events; where it has begun already only the limit changes.
pub fn start(limit: usize) {
    LOG.start(limit);
}

/// Records what `events` returns, if anything is recorded; otherwise that is not called.
pub fn record<E: IntoIterator<Item = Event>>(events: impl FnOnce() -> E) {
    LOG.record(events);
}

/// What is recorded so far; `None` where nothing is. It takes no longer the more there is.
pub fn copy() -> Option<Recorded> {
    LOG.copy()
}

impl Log {
    const fn new() -> Self {
        Self { is_on: AtomicBool::new(false), cost_ns: AtomicU64::new(0), state: Mutex::new(None) }
    }

    // A panic while the lock was held leaves the state whole.
    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, limit: usize) {
        self.lock().get_or_insert_with(State::new).limit = limit.max(BLOCK);
        self.is_on.store(true, Ordering::Release);
    }

    fn record<E: IntoIterator<Item = Event>>(&self, events: impl FnOnce() -> E) {
        if !self.is_on.load(Ordering::Acquire) {
            return;
        }
        let began = Instant::now();
        let events = events();
        if let Some(state) = &mut *self.lock() {
            events.into_iter().for_each(|event| state.push(event));
        }
        let took = began.elapsed().as_nanos();
        self.cost_ns.fetch_add(u64::try_from(took).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn copy(&self) -> Option<Recorded> {
        let state = self.lock();
        let state = state.as_ref()?;
        let newest = Arc::new(state.newest.clone());
        Some(Recorded {
            began: state.began,
            blocks: state.full.iter().cloned().chain([newest]).collect(),
            forgotten: state.forgotten,
            first_whole_frame: state.first_whole_frame,
            cost_ns: self.cost_ns.load(Ordering::Relaxed),
        })
    }
}

impl State {
    fn new() -> Self {
        Self {
            began: (Instant::now(), SystemTime::now()),
            limit: BLOCK,
            full: VecDeque::new(),
            newest: Vec::new(),
            forgotten: 0,
            first_whole_frame: 0,
        }
    }

    fn push(&mut self, event: Event) {
        if self.newest.len() >= BLOCK {
            self.full.push_back(Arc::new(std::mem::take(&mut self.newest)));
            while (self.full.len() + 1) * BLOCK > self.limit {
                let Some(oldest) = self.full.pop_front() else { break };
                self.forgotten += oldest.len() as u64;
                let newest_frame = oldest.iter().filter_map(|event| event.frame).max();
                self.first_whole_frame =
                    self.first_whole_frame.max(newest_frame.map_or(0, |frame| frame + 1));
            }
        }
        if self.newest.capacity() == 0 {
            self.newest.reserve_exact(BLOCK);
        }
        self.newest.push(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_made_before_it_starts() {
        let log = Log::new();
        log.record(|| -> [Event; 0] { panic!("nobody wants events yet") });
        assert!(log.copy().is_none());
        log.start(10);
        log.record(|| [Event::instant(Track::Window, "drop", Instant::now())]);
        let recorded = log.copy().unwrap();
        assert_eq!((recorded.events().count(), recorded.forgotten), (1, 0));
        assert!(recorded.cost_ns > 0);
    }

    #[test]
    fn the_oldest_events_go_and_are_counted_and_their_frames_are_not_whole() {
        let log = Log::new();
        log.start(3 * BLOCK);
        let (at, each) = (Instant::now(), 10);
        let frames = BLOCK as u64;
        for frame in 0..frames {
            log.record(|| (0..each).map(|_| Event::span(Track::Window, "take", at, at).of_frame(frame)));
        }
        let recorded = log.copy().unwrap();
        let left = recorded.events().count();
        assert!(left <= 3 * BLOCK && left > 2 * BLOCK, "{left}");
        assert_eq!(left as u64 + recorded.forgotten, frames * each);
        // A block ends within a frame: that one has lost events, and every later one has all.
        let first = u64::from(recorded.first_whole_frame);
        assert_eq!(first, recorded.forgotten.div_ceil(each));
        let of =
            |frame: u64| recorded.events().filter(|e| e.frame.map(u64::from) == Some(frame)).count() as u64;
        assert!((first..frames).all(|frame| of(frame) == each));
        assert!(of(first - 1) < each, "{}", of(first - 1));
    }
}
