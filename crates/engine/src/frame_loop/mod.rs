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

mod anew;
mod bell;
mod choice;
mod collect;
mod control;
mod gl_times;
mod left;
mod lent;
mod present;
mod pulse;
mod state;
mod status;
mod submit;
mod wipe;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::stats::{ClothTimes, Recorder, Setting};
use crate::{Engine, Pipeline, Progress, Readings, Request, Slot, Stages, Ticket};
use base::error::Error;
use base::jobs::Waker;
use bell::Bell;
use box_filter::VariantId;
use choice::Choice;
pub use choice::Measuring;
use control::NEARLY_DONE_MS;
pub use control::Parked;
use gl_times::Awaited;
pub use gl_times::GlTimings;
use ladder::BackEnd;
use lent::Lent;
use opengl::timer::{self, GlTimer, Timing};
use present::Drawn;
use pulse::Pulse;
pub use status::{Busy, VariantStatus};
use video::{Clock, Decoder, Frame};
use wipe::{Beside, Half, Side, Wipe};
pub use wipe::{Filter, ShownWipe};

/// A frame that takes the device longer than this leaves the overlay to be repainted on its own.
const OVERLAY_MS: f64 = 50.0;
/// How long a still picture of several movies is shown.
const STILL: Duration = Duration::from_secs(5);
/// A next frame that is overdue for longer is told to the user.
const STALLED: Duration = Duration::from_secs(1);
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
    /// The frame on the screen, filtered anew because it stays there; it is no new movie frame.
    again: bool,
    /// Its colours may be wrong: what made them is not used any more.
    doubtful: bool,
    /// [`FrameLoop::devices`] when it was taken.
    device: u32,
    side: Side,
    /// Which version of its variant's kernels filters it.
    version: u64,
}

/// A frame that is done.
struct Ready {
    flight: Flight,
    slot: Slot,
    /// The pictures are in their textures.
    is_filled: bool,
    /// OpenGL's own time for fetching the picture.
    fetched: Option<Timing>,
    /// What was measured of it.
    readings: Option<Arc<Readings>>,
    /// The other side of a wipe.
    beside: Option<Box<Beside>>,
}

impl Ready {
    /// All of its slots.
    fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        std::iter::once(&mut self.slot).chain(self.beside.iter_mut().flat_map(|beside| beside.slots_mut()))
    }

    /// How it was filtered.
    fn setting(&self) -> Setting {
        let Request { variant, radius, .. } = self.flight.request;
        let (size, device, beside) = (self.slot.size(), self.flight.device, self.beside_setting());
        let versions = self.versions();
        Setting { variant, radius, size, device, beside, versions }
    }
}

/// What is seen of two pictures side by side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Where the second one begins, in parts of their width as they are shown; the first one is seen to its left alone. `None`: all
    /// of both.
    pub line: Option<f32>,
}

impl Seen {
    /// All of both.
    pub(crate) const ALL: Self = Self { line: None };
}

/// The state of the frame's way.
pub struct FrameLoop {
    gl: Arc<glow::Context>,
    decoder: Decoder,
    lent: Lent,
    /// What times the variant `glsl`, or why there is none.
    glsl: std::result::Result<timer::Clock, Option<Error>>,
    /// Statistics of what was presented.
    pub recorder: Recorder,
    clock: Clock,
    unpaced: bool,
    choice: Choice,
    /// Which version of its kernels filters for a variant, where that is not the first one.
    versions: HashMap<VariantId, u64>,
    wipe: Wipe,
    free: Vec<Slot>,
    /// Frames that were on their way when another filter was chosen, during a pause or for a frame of a long time, with the
    /// number of frames dropped before each: they go first when playing goes on.
    returned: VecDeque<(Arc<Frame>, u32)>,
    /// The overlay has said that the frame that the engine holds will take long.
    held_was_announced: bool,
    flights: VecDeque<Flight>,
    ready: VecDeque<Ready>,
    shown: Option<Ready>,
    drawn: Drawn,
    pulse: Pulse,
    /// For how long the process was stopped in all.
    stopped: Duration,
    seen: Seen,
    dropped: u32,
    /// The movie's time runs: its first picture has been on the screen. Not so after another movie was opened.
    clock_runs: bool,
    /// When that began to be so.
    started_over: Instant,
    /// Counted up when another movie is opened; frames of an older one are not shown any more.
    generation: u64,
    /// Counted up when the device changes.
    devices: u32,
    gl_times: Awaited,
    errors: Vec<(Option<VariantId>, Error)>,
    /// What a frame of an army took that the next row of the statistics has.
    cloth: Option<Box<ClothTimes>>,
    /// The device failed, and its pipeline is gone.
    failure: Option<Error>,
}

/// Service times of drawing one picture, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct DrawTimes {
    /// The picture into the window: the calls on the window's thread.
    pub present: f64,
    /// Laying the overlay out and handing it to OpenGL.
    pub overlay: f64,
    /// Swapping the buffers; a software OpenGL draws in it.
    pub swap: f64,
}

/// What the window should do after a turn of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// A picture is due.
    pub redraw: bool,
    /// When to call [`FrameLoop::tick`] again, if nothing wakes the loop before.
    pub wake_at: Option<Instant>,
}

impl FrameLoop {
    /// A loop that plays `decoder`'s frames. The OpenGL context must be current whenever it is used. `waker` is called
    /// when a turn is worth while.
    pub fn new(
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
            lent: Lent::new(engine, bell, waker),
            gl_times: Awaited::new(gl.clone()),
            gl,
            recorder,
            clock: Clock::new(0),
            unpaced,
            choice: Choice::new(),
            versions: HashMap::new(),
            wipe: Wipe::default(),
            free: Vec::new(),
            returned: VecDeque::new(),
            held_was_announced: false,
            flights: VecDeque::new(),
            ready: VecDeque::new(),
            shown: None,
            drawn: Drawn::default(),
            pulse: Pulse::default(),
            stopped: Duration::ZERO,
            seen: Seen::ALL,
            dropped: 0,
            clock_runs: false,
            started_over: Instant::now(),
            generation: 0,
            devices: 0,
            errors: Vec::new(),
            cloth: None,
            failure: None,
        }
    }

    /// The movie's decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Stops reading the movie; whether its thread has ended.
    pub fn end_decoder(&mut self) -> bool {
        self.decoder.end()
    }

    /// The device's side, once it is there and while the engine is; no OpenCL call is to be made with it here.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.lent.engine_mut()?.pipeline_mut()
    }

    /// What `auto` filters such pictures with, where that is known.
    pub fn auto(&mut self, size: (u32, u32), radius: u32) -> Option<String> {
        self.lent.auto(size, radius)
    }

    /// For which pictures what measures them is to be built: wanted, and not there; told once.
    pub fn lacks_scopes(&mut self) -> Option<(u32, u32)> {
        let size = self.shown_size().filter(|_| self.choice.measures())?;
        self.pipeline_mut()?.lacks_scopes(size).then_some(size)
    }

    /// Why nothing is measured on this device, where that is so.
    pub fn not_measured(&mut self) -> Option<&Error> {
        self.lent.not_measured()
    }

    /// Errors since the last call, each with the variant that cannot go on because of it.
    pub fn take_errors(&mut self) -> Vec<(Option<VariantId>, Error)> {
        std::mem::take(&mut self.errors)
    }

    /// The state of a variant that does without OpenCL; `None` for the others.
    pub fn without_opencl_status(&self, id: VariantId) -> Option<VariantStatus> {
        match (id.back_end(), &self.glsl) {
            (BackEnd::Glsl, Err(Some(error))) => Some(VariantStatus::Unavailable(error.clone())),
            (BackEnd::Glsl | BackEnd::Native, _) => Some(VariantStatus::Ready),
            _ => None,
        }
    }

    /// What times the variant `glsl`, if it can be had.
    pub fn glsl_clock(&self) -> Option<timer::Clock> {
        self.glsl.as_ref().ok().copied()
    }

    /// Times OpenGL's commands, where it tells that, and the picture that is shown is a new movie frame.
    pub fn gl_timer(&self) -> Option<GlTimer> {
        self.gl_times.timer().filter(|_| self.drawn.is_new()).cloned()
    }

    /// Why the device failed, if it has since the last call. The loop is without a device then.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// The chosen variant and radius. The variant becomes [`VariantId::Off`] when the chosen one fails.
    pub fn chosen(&self) -> (VariantId, u32) {
        self.choice.filter()
    }

    /// One turn: collects what has finished, submits what is due, and says what comes next. Never waits.
    pub fn tick(&mut self) -> Tick {
        self.look_for_stop();
        if self.clock_runs && !self.unpaced {
            self.decoder.queue().set_clock(self.clock.now_ns());
        }
        self.look_after_left();
        self.collect();
        self.compare_next();
        while self.submit() {}
        self.compare_next();
        // Last: the device is at work meanwhile.
        self.fill();
        self.tidy_wipe();
        Tick { redraw: self.picture_is_due(), wake_at: self.next_wake() }
    }
}
