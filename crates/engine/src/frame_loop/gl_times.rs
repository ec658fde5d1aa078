//! What OpenGL's device spends on frames: its answers come some frames after the commands.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::stats::{GlTimes, Recorder};
use base::timing::log::{self, Event, Track};
use opengl::renderer::is_software;
use opengl::timer::{GlTimer, Timing};

/// OpenGL is not asked for the times of frames that are further back.
const MOST_TIMINGS: usize = 16;

/// What tells OpenGL's times of one frame.
#[derive(Default)]
pub struct GlTimings {
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

/// Whoever times OpenGL, and the answers that it owes.
pub(super) struct Awaited {
    timer: GlTimer,
    /// OpenGL draws in the window at once, and not all of it later, when that is swapped.
    draws_at_once: bool,
    /// Of which frame presented, and its commands.
    timings: VecDeque<(u64, GlTimings)>,
}

impl Awaited {
    /// Nothing was asked yet.
    pub(super) fn new(gl: Arc<glow::Context>) -> Self {
        let draws_at_once = !is_software(&gl);
        Self { timer: GlTimer::new(gl), draws_at_once, timings: VecDeque::new() }
    }

    /// Times OpenGL's commands, where its queries tell that: a processor draws when the window is swapped, and copies meanwhile.
    pub(super) fn timer(&self) -> Option<&GlTimer> {
        Some(&self.timer).filter(|_| self.draws_at_once)
    }

    /// A frame was presented whose times have not come.
    pub(super) fn push(&mut self, frame: u64, timings: GlTimings) {
        self.timings.push_back((frame, timings));
        if self.timings.len() > MOST_TIMINGS {
            self.timings.pop_front();
        }
    }

    /// Adds the times that have come to their frames.
    pub(super) fn collect(&mut self, recorder: &mut Recorder) {
        while let Some((frame, timings)) = self.timings.front()
            && let Some(times) = timings.finished()
        {
            recorder.set_gl_times(*frame, times);
            log::record(|| timings.events(&times).map(|event| event.of_frame(*frame)));
            self.timings.pop_front();
        }
    }
}
