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
use crate::ladder::box_filter::glsl::GlslFilter;
use crate::ladder::{Kind, VariantId};
use crate::media::{Clock, Decoder, Frame, Seek};
use crate::overlay::VariantStatus;
use crate::pipeline::Pipeline;
use crate::pipeline::Slot;
use crate::stats::{Recorder, Setting, Span, Stage, StageTimes};
pub use gl_times::GlTimings;
use native::NativeFilter;
use work::Work;

/// A frame that takes the device longer than this leaves the overlay to be repainted on its own.
const OVERLAY_MS: f64 = 50.0;
/// How long a still picture of several movies is shown.
const STILL: Duration = Duration::from_secs(5);
/// A picture that has been awaited for longer than this, or been in the filter, is told to the user.
const BUSY_S: f64 = 0.25;
/// While the radius changes all the time, a frame with less than this left is finished all the same.
const NEARLY_DONE_MS: f64 = 150.0;
/// … and so is one with less than `PATIENCE_MS` left when nothing was presented for `STARVING`.
const PATIENCE_MS: f64 = 2000.0;
const STARVING: Duration = Duration::from_millis(500);

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
pub struct FrameLoop {
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
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Stops reading the movie; whether its thread has ended.
    pub fn end_decoder(&mut self) -> bool {
        self.decoder.end()
    }

    /// Plays another movie. The picture on the screen stays until the new one's first picture is there.
    pub fn play(&mut self, decoder: Decoder) {
        let old = std::mem::replace(&mut self.decoder, decoder);
        // Frames that wait may lie in a device's memory: they go here.
        old.close();
        // Its end waits for its thread, which may be reading.
        std::thread::spawn(move || drop(old));
        self.start_over();
    }

    /// Goes on elsewhere in the movie. The picture on the screen stays until the new place's first frame is
    /// there, also in a pause. Returns whether there is anywhere to go.
    pub fn seek(&mut self, to: Seek) -> bool {
        let before = self.decoder.generation();
        self.decoder.seek(to);
        let sought = self.decoder.generation() != before;
        if sought {
            self.start_over();
        }
        sought
    }

    /// Pauses, and shows the next frame.
    pub fn step(&mut self) {
        if !self.clock.is_paused() {
            self.toggle_pause();
        }
        // The next frame sets the clock, as the first one did.
        self.clock_runs = false;
    }

    /// Whether a frame was asked for, by a seek or a step, that is not on the screen yet.
    pub fn is_on_its_way(&self) -> bool {
        !self.clock_runs
    }

    /// Lets the movie's time go faster or slower: 1 is its own speed.
    pub fn set_speed(&mut self, speed: f64) {
        self.clock.set_speed(speed);
        self.interrupt();
    }

    /// How fast the movie's time goes.
    pub fn speed(&self) -> f64 {
        self.clock.speed()
    }

    /// Forgets the frames that are on their way; the next frame starts the clock anew.
    fn start_over(&mut self) {
        self.generation += 1;
        self.flights.iter_mut().filter_map(|f| f.work.as_mut()).for_each(Work::cancel);
        let waiting: Vec<Flight> = self.ready.drain(..).chain(self.held.take()).collect();
        waiting.into_iter().for_each(|flight| self.give_up(flight));
        self.returned.clear();
        (self.dropped, self.not_again, self.clock_runs) = (0, None, false);
        self.interrupt();
    }

    /// Gives the loop its device, instead of the one that it has. The picture on the screen stays.
    pub fn set_pipeline(&mut self, pipeline: Pipeline) {
        self.take_down(Vec::new());
        self.pipeline = Some(pipeline);
        self.devices += 1;
        self.not_again = None;
        self.interrupt();
    }

    /// Goes on without a device. The picture on the screen stays.
    pub fn leave_device(&mut self) {
        self.take_down(Vec::new());
        self.devices += 1;
        self.not_again = None;
    }

    /// The device's side, once it is there.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    /// What filters on the OpenCL device, if there is one.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// Errors since the last call, each with the variant that cannot go on because of it.
    pub fn take_errors(&mut self) -> Vec<(Option<VariantId>, Error)> {
        std::mem::take(&mut self.errors)
    }

    /// The state of a variant that does without OpenCL; `None` for the others.
    pub fn peer_status(&self, id: VariantId) -> Option<VariantStatus> {
        match (id.kind(), &self.glsl) {
            (Kind::Glsl, Err(error)) => Some(VariantStatus::Unavailable(error.clone())),
            (Kind::Glsl | Kind::Native, _) => Some(VariantStatus::Ready),
            _ => None,
        }
    }

    /// What times the variant `glsl`, if it can be had.
    pub fn glsl_clock(&self) -> Option<gl_timer::Clock> {
        self.glsl.as_ref().ok().map(GlslFilter::clock)
    }

    /// Why the device failed, if it has since the last call. The loop is without a device then.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// The chosen variant and radius. The variant becomes [`VariantId::Off`] when the chosen one fails.
    pub fn chosen(&self) -> (VariantId, u32) {
        (self.variant, self.radius)
    }

    /// Takes no frame before the chosen variant is built: for scripts, which count frames.
    pub fn wait_for_filter(&mut self, wait: bool) {
        self.waits_for_filter = wait;
    }

    /// Converts no frame on the host because the device's program for it is still being built: for scripts.
    pub fn wait_for_conversions(&mut self, wait: bool) {
        self.waits_for_conversions = wait;
    }

    /// Chooses the filter from the next frame on. Work that is not on the device yet is dropped. Where no next
    /// frame comes, paused or at the end, the picture on the screen is filtered anew.
    pub fn choose(&mut self, variant: VariantId, radius: u32) {
        if (variant, radius) == (self.variant, self.radius) {
            return;
        }
        let radius_only = variant == self.variant;
        (self.variant, self.radius) = (variant, radius);
        self.chosen_at = Some(Instant::now());
        self.not_again = None;
        // A slider that moves or a key that is held must not keep every frame from being finished.
        let starving = self.last_present.is_none_or(|at| at.elapsed() > STARVING);
        let limit_ms = if !radius_only {
            0.0
        } else if starving {
            PATIENCE_MS
        } else {
            NEARLY_DONE_MS
        };
        for work in self.flights.iter_mut().filter_map(|f| f.work.as_mut()) {
            if work.remaining_ms() > limit_ms {
                work.cancel();
            }
        }
        if let Some(held) = self.held.take() {
            self.give_up(held);
        }
        self.return_waiting();
    }

    /// In a pause, frames wait that were made as was wanted before: after it they are to be seen as is wanted now.
    fn return_waiting(&mut self) {
        if self.clock.is_paused() {
            let (again, waiting): (VecDeque<Flight>, VecDeque<Flight>) =
                self.ready.drain(..).partition(|f| f.again);
            self.ready = again;
            waiting.into_iter().for_each(|flight| self.give_up(flight));
        }
    }

    /// Notes that what converted or corrected the frames so far is not to be trusted; the picture on the screen anew where
    /// no next one comes.
    pub fn convert_again(&mut self) {
        let all = self.flights.iter_mut().chain(&mut self.ready).chain(&mut self.held).chain(&mut self.shown);
        all.for_each(|flight| flight.doubtful = true);
        self.not_again = None;
        self.return_waiting();
    }

    /// Corrects colours from the next frame on, or not; the picture on the screen anew where no next one comes.
    pub fn correct(&mut self, correction: Option<Correction>) {
        self.correction = correction.filter(|c| !c.is_neutral());
        self.not_again = None;
        self.return_waiting();
    }

    /// Pauses or goes on.
    pub fn toggle_pause(&mut self) {
        if self.clock.is_paused() {
            self.clock.resume();
            for flight in self.flights.iter_mut().filter(|f| f.again) {
                flight.work.iter_mut().for_each(Work::cancel);
            }
            if let Some(held) = self.held.take_if(|f| f.again) {
                self.give_up(held);
            }
        } else {
            self.clock.pause();
        }
        self.interrupt();
    }

    /// Leaves the interval that is running out of the statistics: something other than playing took its time.
    pub fn interrupt(&mut self) {
        self.recorder.mark_discontinuity();
        self.last_present = None;
        self.last_swap = None;
    }

    /// One turn: collects what has finished, submits what is due, and says what comes next. Never waits.
    pub fn tick(&mut self) -> Tick {
        if self.clock_runs && !self.unpaced {
            self.decoder.queue().set_clock(self.clock.now_ns());
        }
        self.given_up.retain(|staging| !staging.is_unused());
        self.collect();
        while self.submit() {}
        Tick { redraw: self.picture_is_due(), wake_at: self.next_wake() }
    }
}
