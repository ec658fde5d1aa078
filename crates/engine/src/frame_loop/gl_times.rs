//! The times of OpenGL commands for frames, measured by timer queries. The results arrive some frames after the commands.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base::timing::log::{self, Event, Track};
use opengl::renderer::is_software;
use opengl::timer::{GlTimer, Timing};
use stats::Recorder;

/// The maximum number of frames with pending timer queries; those of older frames are dropped.
const MAX_TIMINGS: usize = 16;

/// The pending timer queries of OpenGL's commands for one frame, in the order of [`GL_NAMES`](stats::GL_NAMES); `None` for commands
/// that are not timed.
pub(super) type GlTimings = [Option<Timing>; 3];

/// Returns a trace event for each timed group of commands. The event begins when the calls were made.
fn events(timings: &GlTimings, times: [Option<f64>; 3]) -> impl Iterator<Item = Event> {
    let groups =
        [(Track::GlTexture, "texture"), (Track::GlPresent, "present"), (Track::GlOverlay, "overlay")];
    groups.into_iter().zip(timings).zip(times).filter_map(|(((track, what), timing), ms)| {
        let from = timing.as_ref()?.began;
        Some(Event::span(track, what, from, from + Duration::try_from_secs_f64(ms? / 1e3).ok()?))
    })
}

/// The timer for OpenGL commands, and the frames whose query results have not arrived.
#[derive(Default)]
pub(super) struct PendingGlTimes {
    /// The timer; `None` with a software renderer, which draws only when the window's buffers are swapped. A GPU executes commands when
    /// they are issued.
    pub timer: Option<GlTimer>,
    /// The frames with pending queries, each with its number among the frames presented.
    timings: VecDeque<(u64, GlTimings)>,
}

impl PendingGlTimes {
    pub(super) fn new(gl: Arc<glow::Context>) -> Self {
        let timer = (!is_software(&gl)).then(|| GlTimer::new(gl));
        Self { timer, timings: VecDeque::new() }
    }

    /// Adds the queries of a presented frame; `frame` is its number among the presented frames.
    pub(super) fn push(&mut self, frame: u64, timings: GlTimings) {
        self.timings.push_back((frame, timings));
        if self.timings.len() > MAX_TIMINGS {
            self.timings.pop_front();
        }
    }

    /// Adds the times that have arrived to the samples of their frames in `recorder`.
    pub(super) fn collect(&mut self, recorder: &mut Recorder) {
        while let Some((frame, timings)) = self.timings.front() {
            let mut times = [None; 3];
            for (time, timing) in times.iter_mut().zip(timings).filter_map(|(t, of)| Some((t, of.as_ref()?)))
            {
                let Some(took) = timing.finished() else { return };
                *time = took.device_ms;
            }
            recorder.set_gl_times(*frame, times);
            log::record(|| events(timings, times).map(|event| event.with_frame(*frame)));
            self.timings.pop_front();
        }
    }
}
