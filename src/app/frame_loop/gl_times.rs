//! What OpenGL's device spends on frames: its answers come some frames after the commands.

use super::FrameLoop;
use crate::gpu::gl_timer::{GlTimer, Timing};
use crate::stats::GlTimes;

/// What tells OpenGL's times of one frame.
#[derive(Default)]
pub(crate) struct GlTimings {
    /// Fetching the picture into its texture.
    pub(super) texture: Option<Timing>,
    /// Drawing the picture.
    pub present: Option<Timing>,
    /// Drawing the overlay.
    pub overlay: Option<Timing>,
}

impl GlTimings {
    /// The times, once all of them are there.
    fn finished(&self) -> Option<GlTimes> {
        let ms = |timing: &Option<Timing>| match timing {
            Some(timing) => timing.finished().map(|took| took.device_ms),
            None => Some(None),
        };
        Some(GlTimes {
            texture: ms(&self.texture)?,
            present: ms(&self.present)?,
            overlay: ms(&self.overlay)?,
        })
    }
}

impl FrameLoop {
    /// Times OpenGL's commands, where the picture that is shown is a new movie frame.
    pub(crate) fn gl_timer(&self) -> Option<GlTimer> {
        self.shown_is_new.then(|| self.gl_timer.clone())
    }

    /// Adds the times that have come to their frames.
    pub(super) fn collect_gl_times(&mut self) {
        while let Some((frame, times)) =
            self.gl_timings.front().and_then(|(frame, timings)| Some((*frame, timings.finished()?)))
        {
            self.recorder.set_gl_times(frame, times);
            self.gl_timings.pop_front();
        }
    }
}
