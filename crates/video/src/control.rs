//! Requests of the player to the decoder's thread, such as seeking. The window's thread never waits for their handling.

use std::sync::atomic::{AtomicBool, Ordering};

use super::frame::nanoseconds;
use super::queue::FrameQueue;
use super::read_control::ReadControl;
use super::sound::SoundFeed;
use crate::color::Staging;
use base::error::Error;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// The target of a seek. Times are in seconds from the movie's beginning; a time after the end selects the last frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seek {
    /// The frame that is shown at this time.
    Exact(f64),
    /// A key frame at or before this time: fast to decode, for repeated seeks while a key is held.
    Keyframe(f64),
    /// The last frame before this time, or else the movie's first frame. With the `movie_s` of a frame, this is a step back
    /// from that frame.
    Before(f64),
}

impl Seek {
    /// Returns the position in the movie, in nanoseconds, whose frame is to be shown; for [`Seek::Before`], the last nanosecond
    /// before its time.
    pub(crate) fn target_ns(self) -> i64 {
        match self {
            Self::Exact(s) | Self::Keyframe(s) => nanoseconds(s),
            Self::Before(s) => (nanoseconds(s) - 1).max(0),
        }
    }
}

/// Requests that the decoder's thread has not handled yet, and settings that it follows.
#[derive(Default)]
pub(super) struct Requests {
    /// The newest seek; `None` once the decoder's thread has taken it.
    pub seek: Option<Seek>,
    /// True if the movie plays again when it has ended.
    pub looping: bool,
    /// The section to repeat, from the first time (included) to the second (excluded), in nanoseconds of the movie; `None` to
    /// repeat none.
    pub section: Option<(i64, i64)>,
}

impl Requests {
    /// Returns true if the movie, or a section of it, plays again when it has ended.
    pub(crate) fn repeats(&self) -> bool {
        self.looping || self.section.is_some()
    }
}

/// State that the window's thread and the decoder's thread share.
pub(super) struct Control {
    pub queue: FrameQueue,
    /// The first warning about the movie, if there is one.
    pub warning: Mutex<Option<Error>>,
    /// A remark, worded as a clause, about packets that are marked as damaged, but could be decoded; `None` if there are none.
    pub note: Mutex<Option<String>>,
    requests: Mutex<Requests>,
    /// Notified when a request or the cancellation has changed.
    changed: Condvar,
    pub read_control: ReadControl,
    /// True if the movie consists of a single picture and no longer sound, so that seeks have no effect.
    pub is_still: AtomicBool,
    /// True if no frame follows because the movie could not be read any further.
    pub has_failed: AtomicBool,
    pub duration: Mutex<MovieDuration>,
    /// The memory that the planes of the next frames are packed into; `None` if planes are not packed.
    pub staging: Mutex<Option<Staging>>,
    /// The handle to the movie's sound. The decoder's thread publishes in it where the pictures continue after seeks and loops.
    pub sound: SoundFeed,
}

impl Control {
    /// Creates the state of a movie with this sound that plays from its beginning; `wake` is called as [`FrameQueue::new`]
    /// describes.
    pub(crate) fn new(
        looping: bool,
        read_control: ReadControl,
        sound: SoundFeed,
        wake: Box<dyn Fn() + Send>,
    ) -> Self {
        Self {
            queue: FrameQueue::new(wake),
            warning: Mutex::default(),
            note: Mutex::default(),
            requests: Mutex::new(Requests { looping, ..Requests::default() }),
            changed: Condvar::new(),
            read_control,
            is_still: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            duration: Mutex::default(),
            staging: Mutex::default(),
            sound,
        }
    }

    /// Stores a warning about the movie, unless there is one already. Does nothing if `warning` is `None`.
    pub(crate) fn set_warning(&self, warning: Option<Error>) {
        let mut present = self.warning.lock();
        *present = present.take().or(warning);
    }

    pub(crate) fn set_staging(&self, staging: Option<Staging>) {
        // The previous value drops after the lock is released.
        let _before = std::mem::replace(&mut *self.staging.lock(), staging);
    }

    /// Requests a seek, and empties the queue, which then accepts only frames at the seek's target. Does nothing in a movie of
    /// one picture without longer sound.
    pub(crate) fn seek(&self, to: Seek) {
        if self.is_still.load(Ordering::Relaxed) {
            return;
        }
        let mut requests = self.requests();
        requests.seek = Some(to);
        self.queue.start_generation(self.read_control.request_seek());
        self.changed.notify_one();
    }

    /// Changes the requests and wakes the decoder's thread.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Requests)) {
        change(&mut self.requests());
        self.changed.notify_one();
    }

    /// Stops all reading and makes [`Control::wait`] return `false`, so that the decoder's thread ends.
    pub(crate) fn stop(&self) {
        // The lock keeps the flag from being set between the check of it and the wait.
        let _requests = self.requests();
        self.read_control.cancel();
        self.changed.notify_one();
    }

    /// Waits at the end of the movie for a seek or, if `may_repeat`, until looping or repeating is turned on. Returns `false`
    /// when the decoder is being dropped.
    pub(crate) fn wait(&self, may_repeat: bool) -> bool {
        let mut requests = self.requests();
        loop {
            if self.read_control.is_cancelled() {
                return false;
            }
            if requests.seek.is_some() || (may_repeat && requests.repeats()) {
                return true;
            }
            self.changed.wait(&mut requests);
        }
    }

    // A panic while the lock was held leaves the requests consistent: every change is a single assignment.
    /// Locks the requests, to read or to change them.
    pub(crate) fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock()
    }
}

/// The duration of a movie: as the file states it, until the end of the file was read.
#[derive(Default)]
pub(super) struct MovieDuration {
    /// The duration in nanoseconds; `None` while it is not known.
    pub ns: Option<i64>,
    /// The size of the file in bytes when its end was read; `None` before that.
    seen_bytes: Option<u64>,
}

impl MovieDuration {
    /// Sets the duration that the file states (`None` if it states none) while it has `bytes` bytes. Does nothing if the end of
    /// the file was already read at that size.
    pub(super) fn state(&mut self, ns: Option<i64>, bytes: u64) {
        if self.seen_bytes != Some(bytes) {
            *self = Self { ns, seen_bytes: None };
        }
    }

    /// Extends a known duration to `end_ns` if that is later. A file that is still being written, or whose header is wrong,
    /// lasts longer than it states.
    pub(super) fn extend(&mut self, end_ns: i64) {
        self.ns = self.ns.map(|ns| ns.max(end_ns));
    }

    /// Sets the duration that was found by reading to the end of a file of `bytes` bytes.
    pub(super) fn set_seen(&mut self, end_ns: i64, bytes: u64) {
        *self = Self { ns: Some(end_ns), seen_bytes: Some(bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_replaces_what_the_file_states() {
        let mut duration = MovieDuration::default();
        duration.extend(5);
        assert_eq!(duration.ns, None, "a duration that nobody states is known at the end");
        duration.state(Some(100), 1000);
        duration.extend(50);
        assert_eq!(duration.ns, Some(100));
        duration.set_seen(80, 1000);
        duration.state(Some(100), 1000);
        assert_eq!(duration.ns, Some(80));
        // A growing file is followed.
        let mut duration = MovieDuration::default();
        duration.state(Some(100), 1000);
        duration.extend(120);
        assert_eq!(duration.ns, Some(120));
        duration.set_seen(130, 1200);
        duration.state(Some(150), 1500);
        assert_eq!(duration.ns, Some(150), "more was written since");
    }
}
