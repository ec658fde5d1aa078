//! A frame's way, stage by stage, as a state machine that never waits.
//!
//! ```text
//! queue ─take─▶ slot ─convert─▶ upload ▶ filter ▶ download ─collect─▶ ready ─present▶ overlay ▶ swap
//!               free            └──────── flights (≤ 2) ───┘          shown
//! ```
//!
//! In: decoded frames, the user's choice of variant and radius. Out: the texture to draw now, and a
//! `FrameSample` for each movie frame presented. A frame is filtered ahead of its time and waits, ready,
//! until it is due; the picture on the screen keeps its slot until the next one takes its place.

mod collect;
mod control;
mod gl_times;
mod native;
mod present;
mod state;
mod submit;
mod work;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::color::Correction;
use crate::color::{RgbaConverter, Staging};
use crate::error::{Error, Result};
use crate::gpu::event::Waker;
use crate::gpu::gl_timer::{self, GlTimer, Timing};
use crate::ladder::BackEnd;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::glsl::GlslFilter;
use crate::media::{Clock, Decoder, Frame};
use crate::overlay::VariantStatus;
use crate::pipeline::Pipeline;
use crate::pipeline::Slot;
use crate::stats::{Recorder, Setting, Span, Stage, StageTimes};
pub(crate) use gl_times::GlTimings;
use native::NativeFilter;
use work::Work;

/// A frame that takes the device longer than this leaves the overlay to be repainted on its own.
const OVERLAY_MS: f64 = 50.0;
/// How long a still picture of several movies is shown.
const STILL: Duration = Duration::from_secs(5);
/// A picture that has been awaited for longer than this, or been in the filter, is told to the user.
const BUSY_S: f64 = 0.25;
/// Variant, radius and colour correction of a frame.
type Wanted = (VariantId, u32, Option<Correction>);

/// A frame between `take` and the screen.
///
/// Fields drop in order: the work's memory objects may lie in the slot's host memory, so they go first.
struct Flight {
    /// What filters it, or corrects its colours; `None` where nothing is to be done.
    work: Option<Work>,
    slot: Slot,
    frame: Rc<Frame>,
    variant: VariantId,
    radius: u32,
    correction: Option<Correction>,
    stages: Stages,
    dropped_before: u32,
    /// [`FrameLoop::generation`] when it was taken.
    generation: u64,
    /// OpenGL's own time for fetching the filtered picture.
    fetched: Option<Timing>,
    /// The frame on the screen, filtered anew because no next one comes; it is no new movie frame.
    again: bool,
    /// Its colours may be wrong: what made them is not used any more.
    doubtful: bool,
    /// [`FrameLoop::devices`] when it was taken.
    device: u32,
}

impl Flight {
    /// How it was filtered.
    fn setting(&self) -> Setting {
        Setting { variant: self.variant, radius: self.radius, size: self.slot.size(), device: self.device }
    }
}

/// What a frame's stages took, and when they ran.
#[derive(Default)]
struct Stages {
    times: StageTimes,
    /// The filter's time is wall time.
    filter_by_wall: bool,
    /// What packing the planes took the decoder's thread, where they were used as that had packed them.
    pack_ms: Option<f64>,
    spans: Vec<Span>,
}

impl Stages {
    /// The window's thread has done something for a stage since `began`.
    fn did(&mut self, stage: Stage, began: Instant) {
        let span = Span::since(stage, began);
        self.times[stage as usize] += span.ms();
        self.spans.push(span);
    }
}

/// The state of the frame's way.
pub(crate) struct FrameLoop {
    gl: Arc<glow::Context>,
    decoder: Decoder,
    converter: RgbaConverter,
    pipeline: Option<Pipeline>,
    /// Made when it is first wanted.
    native: Option<NativeFilter>,
    /// Or why it cannot be had.
    glsl: Result<GlslFilter>,
    waker: Waker,
    /// Statistics of what was presented.
    pub recorder: Recorder,
    clock: Clock,
    unpaced: bool,
    variant: VariantId,
    radius: u32,
    /// When variant and radius were chosen.
    chosen_at: Option<Instant>,
    /// What colours are corrected with, if they are; never a neutral one.
    correction: Option<Correction>,
    /// No frame is taken before the chosen variant is built.
    waits_for_filter: bool,
    /// No frame is converted on the host while the device's program for it is being built.
    waits_for_conversions: bool,
    free: Vec<Slot>,
    /// Frames that were on their way when another filter was chosen during a pause, with the number of frames
    /// dropped before each: they go first when playing goes on.
    returned: VecDeque<(Rc<Frame>, u32)>,
    /// Predicted to take long: waits until the overlay has said so.
    held: Option<Flight>,
    held_was_announced: bool,
    flights: VecDeque<Flight>,
    ready: VecDeque<Flight>,
    shown: Option<Flight>,
    shown_is_new: bool,
    /// The picture on the screen was filtered anew, and that is not recorded yet.
    shown_is_again: bool,
    /// What the picture on the screen could not be filtered with, so that it is not tried over and over.
    not_again: Option<Wanted>,
    dropped: u32,
    /// The movie's time runs: its first picture has been on the screen. Not so after another movie was opened.
    clock_runs: bool,
    /// When the first picture of all was on the screen.
    epoch: Option<Instant>,
    /// Counted up when another movie is opened; frames of an older one are not shown any more.
    generation: u64,
    /// Counted up when the device changes.
    devices: u32,
    last_present: Option<Instant>,
    last_swap: Option<Instant>,
    /// How long drawing and swapping has taken lately.
    draw_ns: i64,
    gl_timer: GlTimer,
    /// What OpenGL has not told the time of yet: of which frame presented, and its commands.
    gl_timings: VecDeque<(u64, GlTimings)>,
    errors: Vec<(Option<VariantId>, Error)>,
    /// The device failed, and its pipeline is gone.
    failure: Option<Error>,
    /// A device could not even finish: memory was left to it, OpenGL's among it, for as long as the process lives.
    left_behind: bool,
    /// Memory for packed planes of devices that were given up, which comes back frame by frame.
    given_up: Vec<Staging>,
}

/// Service times of drawing one picture, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DrawTimes {
    /// The picture into the window: the calls on the window's thread.
    pub present: f64,
    /// Laying the overlay out and handing it to OpenGL.
    pub overlay: f64,
    /// Swapping the buffers; a software OpenGL draws in it.
    pub swap: f64,
}

/// What the window should do after a turn of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tick {
    /// A picture is due.
    pub redraw: bool,
    /// When to call [`FrameLoop::tick`] again, if nothing wakes the loop before.
    pub wake_at: Option<Instant>,
}

impl FrameLoop {
    /// A loop that plays `decoder`'s frames. The OpenGL context must be current whenever it is used. `waker` is called
    /// when a turn is worth while.
    pub(crate) fn new(
        gl: Arc<glow::Context>,
        decoder: Decoder,
        recorder: Recorder,
        unpaced: bool,
        waker: Waker,
    ) -> Self {
        Self {
            decoder,
            converter: RgbaConverter::new(),
            pipeline: None,
            native: None,
            glsl: GlslFilter::new(gl.clone()),
            gl_timer: GlTimer::new(gl.clone()),
            gl_timings: VecDeque::new(),
            gl,
            waker,
            recorder,
            clock: Clock::new(0),
            unpaced,
            variant: VariantId::Off,
            radius: 0,
            chosen_at: None,
            correction: None,
            waits_for_filter: false,
            waits_for_conversions: false,
            free: Vec::new(),
            returned: VecDeque::new(),
            held: None,
            held_was_announced: false,
            flights: VecDeque::new(),
            ready: VecDeque::new(),
            shown: None,
            shown_is_new: false,
            shown_is_again: false,
            not_again: None,
            dropped: 0,
            clock_runs: false,
            epoch: None,
            generation: 0,
            devices: 0,
            last_present: None,
            last_swap: None,
            draw_ns: 0,
            errors: Vec::new(),
            failure: None,
            left_behind: false,
            given_up: Vec::new(),
        }
    }

    /// The movie's decoder.
    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Stops reading the movie; whether its thread has ended.
    pub(crate) fn end_decoder(&mut self) -> bool {
        self.decoder.end()
    }

    /// The device's side, once it is there.
    pub(crate) fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    /// What filters on the OpenCL device, if there is one.
    pub(crate) fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// Errors since the last call, each with the variant that cannot go on because of it.
    pub(crate) fn take_errors(&mut self) -> Vec<(Option<VariantId>, Error)> {
        std::mem::take(&mut self.errors)
    }

    /// The state of a variant that does without OpenCL; `None` for the others.
    pub(crate) fn without_opencl_status(&self, id: VariantId) -> Option<VariantStatus> {
        match (id.back_end(), &self.glsl) {
            (BackEnd::Glsl, Err(error)) => Some(VariantStatus::Unavailable(error.clone())),
            (BackEnd::Glsl | BackEnd::Native, _) => Some(VariantStatus::Ready),
            _ => None,
        }
    }

    /// What times the variant `glsl`, if it can be had.
    pub(crate) fn glsl_clock(&self) -> Option<gl_timer::Clock> {
        self.glsl.as_ref().ok().map(GlslFilter::clock)
    }

    /// Why the device failed, if it has since the last call. The loop is without a device then.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// The chosen variant and radius. The variant becomes [`VariantId::Off`] when the chosen one fails.
    pub(crate) fn chosen(&self) -> (VariantId, u32) {
        (self.variant, self.radius)
    }

    /// One turn: collects what has finished, submits what is due, and says what comes next. Never waits.
    pub(crate) fn tick(&mut self) -> Tick {
        if self.clock_runs && !self.unpaced {
            self.decoder.queue().set_clock(self.clock.now_ns());
        }
        self.given_up.retain(|staging| !staging.is_unused());
        self.collect();
        while self.submit() {}
        Tick { redraw: self.picture_is_due(), wake_at: self.next_wake() }
    }
}
