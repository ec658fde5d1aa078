//! The bounded queue between the decoder's thread and the window's. In: decoded frames. Out: the frame that is
//! due.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::frame::{Frame, nanoseconds};

/// Frames that wait at most.
const MAX_FRAMES: usize = 8;
/// Frames that may wait however large they are.
const MIN_FRAMES: usize = 3;
/// Picture data that may wait beyond [`MIN_FRAMES`], in bytes.
const MAX_BYTES: usize = 256 << 20;
/// The clock's value before the player has set it.
const NO_CLOCK: i64 = i64::MIN;

/// What [`FrameQueue::take_due`] found.
#[derive(Debug, Default)]
pub struct Take {
    /// The frame to show now, if one is due.
    pub frame: Option<Frame>,
    /// Frames left out since the last call because their successor was due already.
    pub dropped: u32,
}

/// Frames in the order of their time stamps, at most eight or about 256 MB of them, but at least three.
///
/// The decoder's side waits for room; no method of the player's side ever waits for a frame.
pub struct FrameQueue {
    state: Mutex<State>,
    room: Condvar,
    clock_ns: AtomicI64,
    catching_up: AtomicBool,
    wake: Mutex<Box<dyn Fn() + Send>>,
}

struct State {
    frames: VecDeque<Frame>,
    bytes: usize,
    /// Frames that were overtaken while the player was busy, not told to it yet.
    dropped: u32,
    finished: bool,
    closed: bool,
    /// Frames of another generation are not let in.
    generation: u64,
    /// A seek's first frame has not been handed out yet: until then the player's clock means nothing.
    seeking: bool,
    /// Frames at or behind this position in the movie are not let in.
    limit_ns: i64,
    /// End of the last frame let in, on the play timeline.
    end_ns: i64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            frames: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            finished: false,
            closed: false,
            generation: 0,
            seeking: false,
            limit_ns: i64::MAX,
            end_ns: 0,
        }
    }
}

impl State {
    fn is_full(&self) -> bool {
        let count = self.frames.len();
        count >= MAX_FRAMES || (count >= MIN_FRAMES && self.bytes >= MAX_BYTES)
    }

    /// Drops the frames whose successor is due by `now_ns`.
    fn drop_overtaken(&mut self, now_ns: i64) {
        while !self.seeking && self.frames.get(1).is_some_and(|second| second.pts_ns <= now_ns) {
            self.pop();
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Whether `frame` may come in.
    fn admits(&self, frame: &Frame) -> bool {
        !self.closed && frame.generation == self.generation && nanoseconds(frame.movie_s) < self.limit_ns
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.seeking = false;
        self.bytes = self.bytes.saturating_sub(frame.bytes());
        Some(frame)
    }
}

impl FrameQueue {
    /// An empty queue. `wake` is called, on the decoder's thread, when a frame comes to an empty queue and when
    /// no more frames will come.
    pub fn new(wake: Box<dyn Fn() + Send>) -> Self {
        Self {
            state: Mutex::default(),
            room: Condvar::new(),
            clock_ns: AtomicI64::new(NO_CLOCK),
            catching_up: AtomicBool::new(false),
            wake: Mutex::new(wake),
        }
    }

    /// Takes the frame to show at `now_ns`: frames whose successor is due by then are dropped and counted; the
    /// first of the rest is returned if it is due by `now_ns + lead_ns`. The first frame after a seek is due at
    /// once. Never waits.
    pub fn take_due(&self, now_ns: i64, lead_ns: i64) -> Take {
        let mut state = self.lock();
        state.drop_overtaken(now_ns);
        let mut take = Take { frame: None, dropped: std::mem::take(&mut state.dropped) };
        let due_ns = if state.seeking { i64::MAX } else { now_ns.saturating_add(lead_ns) };
        if state.frames.front().is_some_and(|first| first.pts_ns <= due_ns) {
            take.frame = state.pop();
        }
        let made_room = take.frame.is_some() || take.dropped > 0;
        drop(state);
        if made_room {
            self.room.notify_one();
        }
        take
    }

    /// Whether a seek was asked for whose first frame has not been taken yet.
    pub fn is_seeking(&self) -> bool {
        self.lock().seeking
    }

    /// Takes the next frame, due or not. Never waits.
    pub fn take_next(&self) -> Option<Frame> {
        let frame = self.lock().pop();
        if frame.is_some() {
            self.room.notify_one();
        }
        frame
    }

    /// When the next frame is due on the play timeline, in nanoseconds; `None` while none waits.
    pub fn next_pts_ns(&self) -> Option<i64> {
        self.lock().frames.front().map(|frame| frame.pts_ns)
    }

    /// Frames that wait.
    pub fn waiting(&self) -> usize {
        self.lock().frames.len()
    }

    /// Whether every frame has been handed out and none will follow.
    pub fn is_finished(&self) -> bool {
        let state = self.lock();
        state.finished && state.frames.is_empty()
    }

    /// Tells the decoder where the play clock is, so that it can skip frames when it falls behind. A player that
    /// does not play by the clock never calls this. During a seek it does nothing.
    pub fn set_clock(&self, now_ns: i64) {
        if self.is_seeking() {
            return;
        }
        self.clock_ns.store(now_ns, Ordering::Relaxed);
        // A full queue may have room now: what was overtaken makes way.
        self.room.notify_one();
    }

    /// Whether the decoder has fallen behind the clock and skips frames.
    pub fn is_catching_up(&self) -> bool {
        self.catching_up.load(Ordering::Relaxed)
    }

    /// How far `pts_ns` lies behind the clock, in nanoseconds; 0 when it does not, or when no clock was set.
    pub(super) fn behind_ns(&self, pts_ns: i64) -> i64 {
        let clock = self.clock_ns.load(Ordering::Relaxed);
        if clock == NO_CLOCK { 0 } else { clock.saturating_sub(pts_ns).max(0) }
    }

    pub(super) fn set_catching_up(&self, value: bool) {
        self.catching_up.store(value, Ordering::Relaxed);
    }

    /// Adds a frame, waiting for room. While the player is busy for long, the frames that its clock has overtaken
    /// make room, so that the decoder keeps to the clock. `false`: the queue was closed, a newer seek was asked for,
    /// or the frame lies behind the limit; it is gone, and not counted.
    pub fn push(&self, frame: Frame) -> bool {
        let mut state = self.lock();
        while state.is_full() && state.admits(&frame) {
            state.drop_overtaken(self.clock_ns.load(Ordering::Relaxed));
            if !state.is_full() {
                break;
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.admits(&frame) {
            return false;
        }
        // The device may have been given up while there was no room.
        frame.packed.set(frame.packed.take().filter(|packed| !packed.is_closed()));
        state.end_ns = frame.pts_ns.saturating_add(frame.duration_ns);
        let was_empty = state.frames.is_empty();
        state.bytes += frame.bytes();
        state.frames.push_back(frame);
        drop(state);
        if was_empty {
            self.call_wake();
        }
        true
    }

    /// Empties the queue for the frames of `generation`, the first of which is due at once.
    pub(super) fn begin(&self, generation: u64) {
        let mut state = self.lock();
        state.frames.clear();
        state.bytes = 0;
        state.finished = false;
        state.generation = generation;
        state.seeking = true;
        self.clock_ns.store(NO_CLOCK, Ordering::Relaxed);
        drop(state);
        self.room.notify_one();
    }

    /// Lets in only frames before `limit_ns` in the movie, and throws out those behind it that wait.
    pub(super) fn set_limit(&self, limit_ns: i64) {
        let mut state = self.lock();
        state.limit_ns = limit_ns;
        let from = state.frames.iter().position(|frame| nanoseconds(frame.movie_s) >= limit_ns);
        if let Some(from) = from {
            let out: Vec<Frame> = state.frames.drain(from..).collect();
            state.bytes = state.bytes.saturating_sub(out.iter().map(Frame::bytes).sum());
            state.end_ns = out.first().map_or(state.end_ns, |first| first.pts_ns);
        }
        drop(state);
        self.room.notify_one();
    }

    /// Gives the memory of planes that are packed back to the device that it is of; the frames stay.
    pub(super) fn forget_packed(&self) {
        let state = self.lock();
        let packed: Vec<_> = state.frames.iter().filter_map(|frame| frame.packed.take()).collect();
        drop(state);
        drop(packed);
    }

    /// End of the last frame let in, on the play timeline.
    pub(super) fn end_ns(&self) -> i64 {
        self.lock().end_ns
    }

    /// Says whether no frame of `generation` will follow.
    pub(super) fn finish(&self, generation: u64, finished: bool) {
        let mut state = self.lock();
        if state.generation == generation {
            state.finished = finished;
        }
        drop(state);
        if finished {
            self.call_wake();
        }
    }

    /// Lets a waiting or later [`FrameQueue::push`] return `false`, and lets go of the frames that wait.
    pub(super) fn close(&self) {
        let waiting = {
            let mut state = self.lock();
            state.closed = true;
            state.bytes = 0;
            std::mem::take(&mut state.frames)
        };
        drop(waiting);
        self.room.notify_all();
    }

    fn call_wake(&self) {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        wake();
    }

    // A panic while the lock was held leaves the state whole: every change is a single push, pop or flag.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
