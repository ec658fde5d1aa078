//! The bounded queue of decoded frames between the decoder's thread and the window's.

use std::collections::VecDeque;

use super::frame::{Frame, nanoseconds};
use parking_lot::{Condvar, Mutex};

const MAX_FRAMES: usize = 8;
/// The number of frames that the queue holds even if they are larger than [`MAX_BYTES`].
const MIN_FRAMES: usize = 3;
/// The number of bytes of picture data in the queue beyond which it holds no more than [`MIN_FRAMES`] frames.
const MAX_BYTES: usize = 256 << 20;

/// Frames in the order of their time stamps: at most eight or about 256 MB, but at least three.
///
/// The decoder waits for free space; no method that the player calls ever waits for a frame.
pub struct FrameQueue {
    state: Mutex<State>,
    /// Notified when the queue may have free space, or will no longer accept the frame that the decoder's thread waits to
    /// add.
    has_space: Condvar,
    wake: Mutex<Box<dyn Fn() + Send>>,
}

/// The part of the queue's state that the mutex protects.
#[derive(Default)]
struct State {
    frames: VecDeque<Frame>,
    bytes: usize,
    /// Dropped frames that were not reported to the player yet.
    dropped: u32,
    /// True if no frame will follow until the player seeks or repeats the movie.
    is_finished: bool,
    is_closed: bool,
    /// The number of the newest seek. Frames that were decoded for another seek are rejected.
    generation: u64,
    /// True until the first frame after a seek is taken; until then the player's clock is ignored.
    is_seeking: bool,
    /// The player's last position on the play timeline, in nanoseconds; `None` before the player has set it.
    clock_ns: Option<i64>,
    /// True if the decoder is behind the clock and skips frames.
    is_catching_up: bool,
    /// The position in the movie, in nanoseconds, from which on frames are rejected; `None` accepts all.
    limit_ns: Option<i64>,
    /// The end of the last frame that was added, on the play timeline in nanoseconds.
    end_ns: i64,
}

impl State {
    /// Returns true if the decoder must wait before it adds a frame.
    fn is_full(&self) -> bool {
        let count = self.frames.len();
        count >= MAX_FRAMES || (count >= MIN_FRAMES && self.bytes >= MAX_BYTES)
    }

    /// Drops and counts the frames whose successor is due by `now_ns`.
    fn drop_overdue(&mut self, now_ns: i64) {
        while !self.is_seeking && self.frames.get(1).is_some_and(|second| second.pts_ns <= now_ns) {
            self.pop();
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Returns true if the queue accepts `frame`, once it has free space.
    fn accepts(&self, frame: &Frame) -> bool {
        let is_before_limit = self.limit_ns.is_none_or(|limit| nanoseconds(frame.movie_s) < limit);
        !self.is_closed && frame.generation == self.generation && is_before_limit
    }

    /// Removes the first frame; `None` if the queue is empty.
    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop_front()?;
        self.is_seeking = false;
        self.bytes = self.bytes.saturating_sub(frame.bytes());
        Some(frame)
    }
}

impl FrameQueue {
    /// Returns an empty queue. `wake` is called, on the decoder's thread, when a frame is added to an empty queue and when no
    /// more frames will follow.
    pub fn new(wake: Box<dyn Fn() + Send>) -> Self {
        Self { state: Mutex::default(), has_space: Condvar::new(), wake: Mutex::new(wake) }
    }

    /// Takes the frame to show at `now_ns`. Frames whose successor is due by `now_ns` are dropped and counted; the first
    /// remaining frame is returned if it is due by `now_ns + lead_ns`, with the number of frames dropped since the previous call. The
    /// first frame after a seek is due at once. Never waits.
    pub fn take_due(&self, now_ns: i64, lead_ns: i64) -> (Option<Frame>, u32) {
        let mut state = self.state.lock();
        state.drop_overdue(now_ns);
        let dropped = std::mem::take(&mut state.dropped);
        let due_ns = if state.is_seeking { i64::MAX } else { now_ns.saturating_add(lead_ns) };
        let is_due = state.frames.front().is_some_and(|first| first.pts_ns <= due_ns);
        let frame = if is_due { state.pop() } else { None };
        drop(state);
        if frame.is_some() || dropped > 0 {
            self.has_space.notify_one();
        }
        (frame, dropped)
    }

    /// Returns true if the first frame after the newest seek has not been taken yet.
    pub fn is_seeking(&self) -> bool {
        self.state.lock().is_seeking
    }

    /// Takes the next frame, due or not. Never waits.
    pub fn take_next(&self) -> Option<Frame> {
        let frame = self.state.lock().pop();
        if frame.is_some() {
            self.has_space.notify_one();
        }
        frame
    }

    /// Returns the time on the play timeline at which the next frame is due, in nanoseconds; `None` while the queue is
    /// empty.
    pub fn next_pts_ns(&self) -> Option<i64> {
        self.state.lock().frames.front().map(|frame| frame.pts_ns)
    }

    /// Returns the number of frames in the queue.
    pub fn frame_count(&self) -> usize {
        self.state.lock().frames.len()
    }

    /// Returns true if every frame has been taken and none will follow.
    pub fn is_finished(&self) -> bool {
        let state = self.state.lock();
        state.is_finished && state.frames.is_empty()
    }

    /// Sets the position of the play clock, so that the decoder can skip frames when it falls behind. A player without a
    /// clock never calls this. Does nothing during a seek.
    pub fn set_clock(&self, now_ns: i64) {
        let mut state = self.state.lock();
        if state.is_seeking {
            return;
        }
        state.clock_ns = Some(now_ns);
        drop(state);
        // `push` may now drop frames of a full queue.
        self.has_space.notify_one();
    }

    /// Returns true if the decoder is behind the clock and skips frames.
    pub fn is_catching_up(&self) -> bool {
        self.state.lock().is_catching_up
    }

    /// Returns the time in nanoseconds by which `pts_ns` is behind the clock; 0 if it is not behind, or if no clock was set.
    pub(super) fn lateness_ns(&self, pts_ns: i64) -> i64 {
        self.state.lock().clock_ns.map_or(0, |clock| clock.saturating_sub(pts_ns).max(0))
    }

    pub(super) fn set_catching_up(&self, value: bool) {
        self.state.lock().is_catching_up = value;
    }

    /// Adds a frame; waits while the queue is full. Frames whose successor is due by the clock are dropped to make space, so
    /// that the decoder keeps up while the player is busy. Returns `false`, and drops the frame without counting it, if the
    /// queue was closed, a newer seek was requested, or the frame is not before the limit.
    pub fn push(&self, frame: Frame) -> bool {
        let mut state = self.state.lock();
        while state.is_full() && state.accepts(&frame) {
            if let Some(clock_ns) = state.clock_ns {
                state.drop_overdue(clock_ns);
            }
            if !state.is_full() {
                break;
            }
            self.has_space.wait(&mut state);
        }
        if !state.accepts(&frame) {
            return false;
        }
        // The device may have been closed during the wait.
        frame.packed.lock().take_if(|packed| packed.is_closed());
        state.end_ns = frame.pts_ns.saturating_add(frame.duration_ns);
        let was_empty = state.frames.is_empty();
        state.bytes += frame.bytes();
        state.frames.push_back(frame);
        drop(state);
        if was_empty {
            (*self.wake.lock())();
        }
        true
    }

    /// Empties the queue. From now on the queue accepts only frames that were decoded for the seek with the number
    /// `generation`, and the first of these frames is due at once.
    pub(super) fn start_generation(&self, generation: u64) {
        let mut state = self.state.lock();
        state.frames.clear();
        state.bytes = 0;
        state.is_finished = false;
        state.generation = generation;
        state.is_seeking = true;
        state.clock_ns = None;
        drop(state);
        self.has_space.notify_one();
    }

    /// Accepts only frames before the position `limit_ns` in the movie from now on, and removes later frames from the
    /// queue; `None` accepts all.
    pub(super) fn set_limit(&self, limit_ns: Option<i64>) {
        let mut state = self.state.lock();
        state.limit_ns = limit_ns;
        let from = |limit| state.frames.iter().position(|frame| nanoseconds(frame.movie_s) >= limit);
        if let Some(from) = limit_ns.and_then(from) {
            let out: Vec<Frame> = state.frames.drain(from..).collect();
            state.bytes = state.bytes.saturating_sub(out.iter().map(Frame::bytes).sum());
            state.end_ns = out.first().map_or(state.end_ns, |first| first.pts_ns);
        }
        drop(state);
        self.has_space.notify_one();
    }

    /// Removes the packed planes of all queued frames, which returns their memory to its device. The frames stay in the queue.
    pub(super) fn release_packed(&self) {
        let state = self.state.lock();
        let packed: Vec<_> = state.frames.iter().filter_map(|frame| frame.packed.lock().take()).collect();
        drop(state);
        drop(packed);
    }

    pub(super) fn end_ns(&self) -> i64 {
        self.state.lock().end_ns
    }

    /// Sets or clears the mark that no more frames of the seek `generation` will follow. Does nothing if a newer seek was
    /// started.
    pub(super) fn set_finished(&self, generation: u64, finished: bool) {
        let mut state = self.state.lock();
        if state.generation == generation {
            state.is_finished = finished;
        }
        drop(state);
        if finished {
            (*self.wake.lock())();
        }
    }

    /// Drops all frames; a waiting or later [`FrameQueue::push`] returns `false`.
    pub(super) fn close(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.is_closed = true;
            state.bytes = 0;
            std::mem::take(&mut state.frames)
        };
        drop(waiting);
        self.has_space.notify_all();
    }

    // A panic while the lock was held leaves the state consistent: every change is a single push, pop or flag.
}

#[cfg(test)]
mod tests;
