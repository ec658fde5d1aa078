//! What the player wants of the decoder's thread. In: wishes from the window's thread, which never waits. Out: the
//! newest of them, when the decoder's thread asks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::queue::FrameQueue;
use super::reading::Reading;
use crate::color::Staging;

/// Where to go on. Times are in seconds from the movie's first frame; behind the end they mean its last frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seek {
    /// The frame that is shown at that time.
    Exact(f64),
    /// A key frame at or before that time: soon there, for a key that is held.
    Keyframe(f64),
    /// The last frame before that time, or the first one of the movie: a step back from a frame's `movie_s`.
    Before(f64),
}

/// Wishes that wait for the decoder's thread.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    pub seek: Option<Seek>,
    pub looping: bool,
    /// The part to repeat: from the first time to just before the second, in nanoseconds of the movie.
    pub ab: Option<(i64, i64)>,
}

/// Shared by the two threads.
pub(super) struct Control {
    wishes: Mutex<Wishes>,
    changed: Condvar,
    /// Number of the newest seek.
    pub newest: Arc<AtomicU64>,
    pub reading: Reading,
    /// The movie has one picture only: there is nowhere to go.
    pub still: AtomicBool,
    /// No frame follows because the movie could not be read any further.
    pub failed: AtomicBool,
    /// Where the planes of the next frames are to lie.
    staging: Mutex<Option<Staging>>,
}

impl Control {
    pub(crate) fn new(looping: bool, reading: Reading) -> Self {
        Self {
            wishes: Mutex::new(Wishes { looping, ..Wishes::default() }),
            changed: Condvar::new(),
            newest: Arc::default(),
            reading,
            still: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            staging: Mutex::default(),
        }
    }

    /// Where the planes of the next frames are to lie, if they are to be packed.
    pub(crate) fn staging(&self) -> Option<Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes that.
    pub(crate) fn set_staging(&self, staging: Option<Staging>) {
        // What was there before goes when the lock is free again.
        let _before =
            std::mem::replace(&mut *self.staging.lock().unwrap_or_else(PoisonError::into_inner), staging);
    }

    /// Asks for a seek and empties the queue for its frames.
    pub(crate) fn seek(&self, to: Seek, queue: &FrameQueue) {
        if self.still.load(Ordering::Relaxed) {
            return;
        }
        let mut wishes = self.wishes();
        wishes.seek = Some(to);
        let generation = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        queue.begin(generation);
        self.changed.notify_one();
    }

    /// Changes what is repeated.
    pub(crate) fn repeat(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.wishes());
        self.changed.notify_one();
    }

    /// Lets [`Control::wait`] return `false` and stops all reading.
    pub(crate) fn stop(&self) {
        // The lock keeps the flag from being raised between a look at it and the waiting.
        let _wishes = self.wishes();
        self.reading.stop();
        self.changed.notify_one();
    }

    /// The seek that waits, with its number.
    pub(crate) fn take_seek(&self) -> Option<(u64, Seek)> {
        let mut wishes = self.wishes();
        let seek = wishes.seek.take()?;
        Some((self.newest.load(Ordering::Relaxed), seek))
    }

    /// Waits at the end of the movie for a seek or, where something can be repeated, for the wish to; `false` when
    /// the decoder is being dropped.
    pub(crate) fn wait(&self, may_repeat: bool) -> bool {
        let mut wishes = self.wishes();
        loop {
            if self.reading.is_stopped() {
                return false;
            }
            if wishes.seek.is_some() || (may_repeat && (wishes.looping || wishes.ab.is_some())) {
                return true;
            }
            wishes = self.changed.wait(wishes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    // A panic while the lock was held leaves the wishes whole: every change is a single assignment.
    pub(crate) fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
