//! What OpenGL's device spends on frames: its answers come some frames after the commands.

use std::time::Duration;

use super::FrameLoop;
use crate::gpu::gl_timer::{GlTimer, Timing};
use crate::stats::GlTimes;
use crate::timing::log::{self, Event, Track};

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
    /// What ran on OpenGL's device, when its calls were begun.
    fn events(&self, times: &GlTimes) -> impl Iterator<Item = Event> {
        let event = |track, what, timing: &Option<Timing>, ms: Option<f64>| {
            let from = timing.as_ref()?.began();
            Some(Event::span(track, what, from, from + Duration::try_from_secs_f64(ms? / 1e3).ok()?))
        };
        let events = [
            event(Track::GlTexture, "texture", &self.texture, times.texture),
            event(Track::GlPresent, "present", &self.present, times.present),
            event(Track::GlOverlay, "overlay", &self.overlay, times.overlay),
        ];
        events.into_iter().flatten()
    }

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
            if let Some((_, timings)) = self.gl_timings.front() {
                log::record(|| timings.events(&times).map(|event| event.of_frame(frame)));
            }
            self.gl_timings.pop_front();
        }
    }
}
