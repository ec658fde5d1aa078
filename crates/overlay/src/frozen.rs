//! The frame at which the user has frozen the timeline.

use crate::theme;
use box_filter::VariantId;
use engine::stats::{Recorder, Timeline};

/// A frozen frame and the frames before it, which the panel of the timeline shows in place of the last frames.
#[derive(Debug)]
pub(crate) struct FrozenFrame {
    pub timeline: Timeline,
    /// The title of the panel while the frame is frozen.
    pub title: String,
    /// The variant that filtered the frame.
    pub filter: VariantId,
}

impl FrozenFrame {
    /// Creates the frozen state for the frame with this number, counted from the first presented frame. Returns `None` if the
    /// recorder no longer has the frame.
    pub(crate) fn new(frame: u64, recorder: &Recorder) -> Option<Self> {
        let (sample, timeline) = recorder.timeline_of(frame)?;
        let title = format!("Frame at {} (Esc to unfreeze)", theme::clock(sample.pts));
        Some(Self { timeline, title, filter: sample.setting.variant })
    }
}
