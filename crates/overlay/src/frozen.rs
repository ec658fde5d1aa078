//! A frame at which the timeline is frozen.

use crate::theme;
use box_filter::VariantId;
use engine::stats::{Recorder, Timeline};

/// A frozen frame and the frames before it, which the panel shows in place of the last frames.
#[derive(Debug)]
pub(crate) struct FrozenFrame {
    pub timeline: Timeline,
    /// The title of the panel while the frame is frozen.
    pub title: String,
    /// The variant that filtered the frame.
    pub filter: VariantId,
}

impl FrozenFrame {
    /// Creates the timeline of the frame with this number, counted from the first presented frame; `None` if the recorder
    /// no longer has the frame.
    pub(crate) fn new(frame: u64, recorder: &Recorder) -> Option<Self> {
        let (sample, timeline) = recorder.timeline_of(frame)?;
        let title = format!("Frame at {} (Esc to unfreeze)", theme::clock(sample.pts));
        Some(Self { timeline, title, filter: sample.variant })
    }
}
