//! The source of frames to filter: the decoder's queue, and frames that were taken before and are to be filtered again.

use std::collections::VecDeque;
use std::sync::Arc;

use super::flights::Origin;
use super::schedule::Schedule;
use base::jobs::{Job, Waker};
use video::{Decoder, Frame};

/// A movie that was taken out of the loop with its position, to be resumed later.
pub struct ParkedMovie {
    /// The movie's decoder.
    pub decoder: Decoder,
    /// The frame on the screen and the frames that were between the decoder and the screen, in the movie's order.
    pub(super) frames: Vec<Arc<Frame>>,
}

impl ParkedMovie {
    /// Creates a movie to be played from its beginning.
    pub fn new(decoder: Decoder) -> Self {
        Self { decoder, frames: Vec::new() }
    }

    /// Closes the movie without waiting for its decoder's thread, which may be reading.
    pub fn retire(self) {
        let Self { decoder, .. } = self;
        // Waiting frames may lie in a device's memory: they are dropped here.
        decoder.close();
        let end = move |_: &_| {
            drop(decoder);
            Ok(())
        };
        // Where no thread can be started, the decoder is dropped here and waited for.
        let none: Waker = Arc::new(|| ());
        drop(Job::<()>::spawn("retire", "A movie could not be closed.", &none, end));
    }
}

/// Hands out the frames to be filtered, and counts the frames that are dropped.
pub struct Intake {
    /// The movie's decoder.
    pub decoder: Decoder,
    /// Frames that are to be filtered again, because another filter was chosen in a pause or while a frame of long duration was being
    /// filtered. Each has the number of frames dropped before it. They are taken before the decoder's frames, in the movie's order.
    pub(super) returned: VecDeque<(Arc<Frame>, u32)>,
    /// The number of frames that were dropped since the last frame that was submitted.
    pub(super) dropped: u32,
    /// A counter that is incremented with each change of the movie and each seek. Frames of an earlier generation are not shown
    /// any more.
    pub(super) generation: u64,
    /// The generation that began with a seek for the pictures of earlier frames, and their number; `None` if there was none.
    pub(super) sought_earlier: Option<(u64, usize)>,
}

impl Intake {
    pub(super) fn new(decoder: Decoder) -> Self {
        Self { decoder, returned: VecDeque::new(), dropped: 0, generation: 0, sought_earlier: None }
    }

    /// Returns true if the frame is of the current movie and was taken since the last seek.
    pub(super) fn is_current(&self, origin: &Origin) -> bool {
        origin.generation == self.generation
    }

    pub(super) fn is_finished(&self) -> bool {
        self.decoder.queue().is_finished()
    }

    /// Takes the next frame to filter: a frame to be filtered again, or the decoder's frame that is due. `interval_ns` is the interval
    /// between the movie's frames, if known.
    pub(super) fn take(&mut self, schedule: &Schedule, interval_ns: Option<i64>) -> Option<Arc<Frame>> {
        if let Some((frame, dropped_before)) = self.returned.pop_front() {
            self.dropped += dropped_before;
            return Some(frame);
        }
        let queue = self.decoder.queue();
        let Some(now_ns) = schedule.pace_ns() else { return queue.take_next().map(Arc::new) };
        let (frame, dropped) = queue.take_due(now_ns, schedule.lead_ns(interval_ns));
        self.dropped += dropped;
        frame.map(Arc::new)
    }

    /// Takes back a frame whose filter or filtered picture was dropped. In a pause, or if the frame is to stay on the screen
    /// for long, the frame is queued to be filtered again; otherwise it counts as dropped. Does nothing for a frame that is on
    /// the screen already, or that was taken before the last seek.
    pub(super) fn give_up(&mut self, origin: Origin, schedule: &Schedule) {
        if origin.replaces_shown || !self.is_current(&origin) {
            return;
        }
        if schedule.is_paused() || schedule.stays(&origin.frame, false) {
            self.resubmit(origin);
        } else {
            self.dropped += origin.dropped_before + 1;
        }
    }

    /// Queues a frame to be taken and filtered again.
    pub(super) fn resubmit(&mut self, origin: Origin) {
        let at = self.returned.partition_point(|(frame, _)| frame.pts_ns < origin.frame.pts_ns);
        self.returned.insert(at, (origin.frame, origin.dropped_before));
    }

    /// Takes the movie out of the loop together with `frames`, its frames that are to be shown first when it is resumed. No movie plays
    /// after that.
    pub(super) fn park(&mut self, mut frames: Vec<Arc<Frame>>) -> ParkedMovie {
        let decoder = std::mem::replace(&mut self.decoder, Decoder::without_frames());
        // Packed planes lie in the memory of a device that may go meanwhile.
        decoder.set_staging(None);
        frames.sort_by_key(|frame| frame.pts_ns);
        // The frame on the screen may also be in a filter.
        frames.dedup_by_key(|frame| frame.pts_ns);
        ParkedMovie { decoder, frames }
    }

    /// Begins another generation of frames, as after a seek: frames that were taken so far are not shown any more.
    pub(super) fn restart(&mut self) {
        self.generation += 1;
        self.returned.clear();
        self.dropped = 0;
    }
}
