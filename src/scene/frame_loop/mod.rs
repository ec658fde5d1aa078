//! A frame's way, stage by stage, as a state machine that never waits.
//!
//! ```text
//! queue ─take─▶ slot ─submit─▶ engine (≤ 2 flights) ─poll─▶ ready ─present▶ overlay ▶ swap
//!               free                                        shown
//! ```
//!
//! The engine works on the device's thread where OpenCL is called ([`lent`]).
//!
//! In: decoded frames, the user's choice of variant and radius. Out: the texture to draw now, and a
//! `FrameSample` for each movie frame presented. A frame is filtered ahead of its time and waits, ready,
//! until it is due; the picture on the screen keeps its slot until the next one takes its place.

mod bell;
mod collect;
mod control;
mod gl_times;
mod lent;
mod present;
mod state;
mod submit;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::color::Correction;
use crate::engine::{Engine, Pipeline, Progress, Request, Rest, Slot, Stages, Ticket};
use crate::error::Error;
use crate::gpu::device_thread::DeviceThread;
use crate::gpu::gl_timer::{self, GlTimer, Timing};
use crate::jobs::Waker;
use crate::ladder::BackEnd;
use crate::ladders::box_filter::VariantId;
use crate::media::{Clock, Decoder, Frame};
use crate::overlay::VariantStatus;
use crate::stats::{Recorder, Setting};
use bell::Bell;
pub(crate) use control::Parked;
pub(crate) use gl_times::GlTimings;
use lent::{Away, Left, WithPipeline};

/// A frame that takes the device longer than this leaves the overlay to be repainted on its own.
const OVERLAY_MS: f64 = 50.0;
/// How long a still picture of several movies is shown.
const STILL: Duration = Duration::from_secs(5);
/// A picture that has been awaited for longer than this, or been in the filter, is told to the user.
const BUSY_S: f64 = 0.25;

/// A frame on its way through the engine.
struct Flight {
    ticket: Ticket,
    frame: Arc<Frame>,
    /// How it was asked for, settled when it was taken.
    request: Request,
    /// How far it was when the engine went away.
    progress: Progress,
    /// What taking it took.
    stages: Stages,
    dropped_before: u32,
    /// [`FrameLoop::generation`] when it was taken.
    generation: u64,
    /// The frame on the screen, filtered anew because no next one comes; it is no new movie frame.
    again: bool,
    /// Its colours may be wrong: what made them is not used any more.
    doubtful: bool,
    /// [`FrameLoop::devices`] when it was taken.
    device: u32,
}

/// A frame whose picture is in its slot's texture.
struct Ready {
    flight: Flight,
    slot: Slot,
    /// OpenGL's own time for fetching the picture.
    fetched: Option<Timing>,
}

impl Ready {
    /// How it was filtered.
    fn setting(&self) -> Setting {
        let Request { variant, radius, .. } = self.flight.request;
        Setting { variant, radius, size: self.slot.size(), device: self.flight.device }
    }
}

/// The state of the frame's way.
pub(crate) struct FrameLoop {
    gl: Arc<glow::Context>,
    decoder: Decoder,
    /// `None` while it is on the device's thread.
    engine: Option<Box<Engine>>,
    away: Option<Away>,
    /// What the engine calls.
    bell: Arc<Bell>,
    /// When the engine was asked last for frames that are done.
    asked_at: Instant,
    /// Makes the device's calls.
    thread: Option<DeviceThread>,
    /// The window's thread has to make them: the driver wants OpenGL's context.
    calls_here: bool,
    /// For the engine, when it is back: frames to be cancelled, and what the device's side is to be told.
    cancels: Vec<Ticket>,
    later: Vec<WithPipeline>,
    /// What the device has of slots that it could not use.
    rests: Vec<Rest>,
    /// Devices that were given up, until they are idle.
    left: Vec<Left>,
    waker: Waker,
    /// What times the variant `glsl`, or why there is none.
    glsl: std::result::Result<gl_timer::Clock, Option<Error>>,
    /// The parameters of `auto`, as they were when the engine was here, and for which pictures and radius they are wanted.
    auto: Option<String>,
    auto_for: Option<((u32, u32), u32)>,
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
    returned: VecDeque<(Arc<Frame>, u32)>,
    /// The overlay has said that the frame that the engine holds will take long.
    held_was_announced: bool,
    flights: VecDeque<Flight>,
    ready: VecDeque<Ready>,
    shown: Option<Ready>,
    shown_is_new: bool,
    /// The picture on the screen was filtered anew, and that is not recorded yet.
    shown_is_again: bool,
    /// What the picture on the screen could not be filtered with, so that it is not tried over and over.
    not_again: Option<Request>,
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
        let bell = Bell::new(&waker);
        let engine = Engine::with_opengl(gl.clone(), Bell::waker(&bell));
        Self {
            decoder,
            glsl: engine.glsl_clock().ok_or_else(|| engine.glsl_error().cloned()),
            engine: Some(Box::new(engine)),
            away: None,
            bell,
            asked_at: Instant::now(),
            thread: None,
            calls_here: false,
            cancels: Vec::new(),
            later: Vec::new(),
            rests: Vec::new(),
            left: Vec::new(),
            waker,
            auto: None,
            auto_for: None,
            gl_timer: GlTimer::new(gl.clone()),
            gl_timings: VecDeque::new(),
            gl,
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

    /// The device's side, once it is there and while the engine is; no OpenCL call is to be made with it here.
    pub(crate) fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.engine.as_mut()?.pipeline_mut()
    }

    /// What `auto` filters such pictures with, where that is known.
    pub(crate) fn auto(&mut self, size: (u32, u32), radius: u32) -> Option<String> {
        self.auto_for = Some((size, radius));
        self.ask_for_auto();
        self.auto.clone()
    }

    /// Asks the engine for the parameters of `auto`, if somebody wants them and it is here.
    fn ask_for_auto(&mut self) {
        let Some(engine) = &self.engine else { return };
        if let Some((size, radius)) = self.auto_for.take() {
            self.auto = engine.pipeline().and_then(|pipeline| pipeline.chosen(VariantId::Auto, size, radius));
        }
    }

    /// Errors since the last call, each with the variant that cannot go on because of it.
    pub(crate) fn take_errors(&mut self) -> Vec<(Option<VariantId>, Error)> {
        std::mem::take(&mut self.errors)
    }

    /// The state of a variant that does without OpenCL; `None` for the others.
    pub(crate) fn without_opencl_status(&self, id: VariantId) -> Option<VariantStatus> {
        match (id.back_end(), &self.glsl) {
            (BackEnd::Glsl, Err(Some(error))) => Some(VariantStatus::Unavailable(error.clone())),
            (BackEnd::Glsl | BackEnd::Native, _) => Some(VariantStatus::Ready),
            _ => None,
        }
    }

    /// What times the variant `glsl`, if it can be had.
    pub(crate) fn glsl_clock(&self) -> Option<gl_timer::Clock> {
        self.glsl.as_ref().ok().copied()
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
        self.look_after_left();
        self.collect();
        while self.submit() {}
        Tick { redraw: self.picture_is_due(), wake_at: self.next_wake() }
    }
}
