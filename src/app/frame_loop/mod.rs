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

mod present;
mod submit;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::gpu::sharing::Slot;
use crate::ladder::VariantId;
use crate::media::{Clock, Decoder, Frame, RgbaConverter};
use crate::overlay::Busy;
use crate::pipeline::{Job, JobState, Pipeline};
use crate::stats::{Recorder, Stage, StageTimes, ms_since};

/// A frame that has been on the device for longer than this is told to the user.
const BUSY_S: f64 = 0.25;
/// A pause between two turns of the loop that only a suspended machine or process explains.
const SUSPENDED: Duration = Duration::from_secs(1);

/// A frame between `take` and the screen.
struct Flight {
    slot: Slot,
    frame: Rc<Frame>,
    variant: VariantId,
    radius: u32,
    stages: StageTimes,
    /// The device's share; `None` for an unfiltered frame.
    job: Option<Job>,
    dropped_before: u32,
    /// The frame on the screen, filtered anew while paused; it is no new movie frame.
    again: bool,
}

/// The state of the frame's way.
pub struct FrameLoop {
    gl: Arc<glow::Context>,
    decoder: Decoder,
    converter: RgbaConverter,
    pipeline: Option<Pipeline>,
    /// Statistics of what was presented.
    pub recorder: Recorder,
    clock: Clock,
    unpaced: bool,
    variant: VariantId,
    radius: u32,
    free: Vec<Slot>,
    /// Predicted to take long: waits until the overlay has said so.
    held: Option<Flight>,
    held_was_announced: bool,
    flights: VecDeque<Flight>,
    ready: VecDeque<Flight>,
    shown: Option<Flight>,
    shown_is_new: bool,
    /// What the picture on the screen could not be filtered with, so that it is not tried over and over.
    not_again: Option<(VariantId, u32)>,
    dropped: u32,
    started: Option<Instant>,
    last_tick: Instant,
    last_present: Option<Instant>,
    last_swap: Option<Instant>,
    /// How long drawing and swapping has taken lately.
    draw_ns: i64,
    errors: Vec<(Option<VariantId>, Error)>,
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
    /// A loop that plays `decoder`'s frames. The OpenGL context must be current whenever it is used.
    pub fn new(gl: Arc<glow::Context>, decoder: Decoder, recorder: Recorder, unpaced: bool) -> Self {
        Self {
            gl,
            decoder,
            converter: RgbaConverter::new(),
            pipeline: None,
            recorder,
            clock: Clock::new(0),
            unpaced,
            variant: VariantId::Off,
            radius: 0,
            free: Vec::new(),
            held: None,
            held_was_announced: false,
            flights: VecDeque::new(),
            ready: VecDeque::new(),
            shown: None,
            shown_is_new: false,
            not_again: None,
            dropped: 0,
            started: None,
            last_tick: Instant::now(),
            last_present: None,
            last_swap: None,
            draw_ns: 0,
            errors: Vec::new(),
        }
    }

    /// The movie's decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Gives the loop its device.
    pub fn set_pipeline(&mut self, pipeline: Pipeline) {
        self.pipeline = Some(pipeline);
    }

    /// The device's side, once it is there.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    /// Errors since the last call, each with the variant that cannot go on because of it.
    pub fn take_errors(&mut self) -> Vec<(Option<VariantId>, Error)> {
        std::mem::take(&mut self.errors)
    }

    /// Chooses the filter from the next frame on. Work that is not on the device yet is dropped. Where no next
    /// frame comes, paused or at the end, the picture on the screen is filtered anew.
    pub fn choose(&mut self, variant: VariantId, radius: u32) {
        if (variant, radius) == (self.variant, self.radius) {
            return;
        }
        (self.variant, self.radius) = (variant, radius);
        for job in self.flights.iter_mut().filter_map(|f| f.job.as_mut()) {
            job.cancel();
        }
        if let Some(held) = self.held.take() {
            self.give_up(held);
        }
        self.not_again = None;
    }

    /// Pauses or goes on.
    pub fn toggle_pause(&mut self) {
        if self.clock.is_paused() {
            self.clock.resume();
        } else {
            self.clock.pause();
        }
        self.recorder.mark_discontinuity();
        self.last_present = None;
    }

    /// Whether the movie is paused.
    pub fn is_paused(&self) -> bool {
        self.clock.is_paused()
    }

    /// Position of the picture on the screen in the movie, in seconds.
    pub fn position_s(&self) -> f64 {
        self.shown.as_ref().map_or(0.0, |f| f.frame.movie_s)
    }

    /// Variant and radius that filtered the picture on the screen.
    pub fn shown_filter(&self) -> Option<(VariantId, u32)> {
        self.shown.as_ref().map(|f| (f.variant, f.radius))
    }

    /// Interval of the movie's frames, in nanoseconds, as the picture on the screen has it.
    pub fn frame_interval_ns(&self) -> Option<i64> {
        self.shown.as_ref().map(|f| f.frame.duration_ns).filter(|ns| *ns > 0)
    }

    /// Whether every frame was shown and none will come.
    pub fn is_finished(&self) -> bool {
        self.decoder.queue().is_finished()
            && self.flights.is_empty()
            && self.ready.is_empty()
            && self.held.is_none()
    }

    /// The frame that has been in the filter for long, or that will be.
    pub fn busy(&self) -> Option<Busy> {
        let flight = self.held.as_ref().or(self.flights.front())?;
        let job = flight.job.as_ref()?;
        let held = self.held.is_some();
        (held || job.elapsed_s() > BUSY_S).then(|| Busy {
            variant: flight.variant,
            radius: flight.radius,
            fraction: job.fraction() as f32,
            elapsed_s: if held { 0.0 } else { job.elapsed_s() },
            predicted_s: job.total_s(),
        })
    }

    /// Whether the device takes longer for a frame than the movie's frame interval, so that the overlay has to
    /// be repainted between frames.
    pub fn is_slow(&self) -> bool {
        let interval_ms = self.frame_interval_ns().unwrap_or(0).max(1_000_000) as f64 / 1e6;
        let jobs = self.flights.iter().chain(&self.held).filter_map(|f| f.job.as_ref());
        jobs.into_iter().any(|j| j.predicted_ms() > interval_ms || j.elapsed_s() * 1e3 > interval_ms)
    }

    /// One turn: collects what has finished, submits what is due, and says what comes next. Never waits.
    pub fn tick(&mut self) -> Tick {
        let now = Instant::now();
        if now.duration_since(self.last_tick) > SUSPENDED && !self.flights.iter().any(|f| f.job.is_some()) {
            // The machine slept: go on from here instead of dropping everything in between.
            if let Some(next) = self.decoder.queue().next_pts_ns() {
                self.clock.resync(next);
            }
            self.recorder.mark_discontinuity();
            self.last_present = None;
        }
        self.last_tick = now;
        if self.started.is_some() && !self.unpaced {
            self.decoder.queue().set_clock(self.clock.now_ns());
        }
        self.collect();
        while self.submit() {}
        Tick { redraw: self.picture_is_due(), wake_at: self.next_wake() }
    }

    fn collect(&mut self) {
        while let Some(mut flight) = self.flights.pop_front() {
            let began = Instant::now();
            let state = match (flight.job.as_mut(), self.pipeline.as_mut()) {
                (Some(job), Some(pipeline)) => pipeline.advance(job, &mut flight.slot),
                _ => Ok(JobState::Done),
            };
            flight.stages[Stage::Collect as usize] += ms_since(began);
            match state {
                Ok(JobState::Running) => {
                    self.flights.push_front(flight);
                    return;
                }
                Ok(JobState::Done) => self.finish(flight),
                Ok(JobState::Cancelled) => self.give_up(flight),
                Err(error) => self.fail(flight, error),
            }
        }
    }

    /// Moves a filtered picture into its texture.
    fn finish(&mut self, mut flight: Flight) {
        let began = Instant::now();
        flight.slot.show(flight.job.is_some());
        flight.stages[Stage::Release as usize] = ms_since(began);
        if let Some(job) = &flight.job {
            flight.stages[Stage::Upload as usize] = job.upload_ms;
            flight.stages[Stage::Filter as usize] = job.filter_ms;
            flight.stages[Stage::Release as usize] += job.download_ms;
        }
        if flight.again {
            self.ready.push_front(flight);
        } else {
            self.ready.push_back(flight);
        }
    }

    /// Frees the slot of a frame that will not be shown.
    fn give_up(&mut self, flight: Flight) {
        if !flight.again {
            self.dropped += flight.dropped_before + 1;
        }
        self.free.push(flight.slot);
    }

    /// A command failed: waits for the device, so that the frame's memory can go, and shows the movie
    /// unfiltered from here on.
    fn fail(&mut self, flight: Flight, error: Error) {
        self.errors.push((Some(flight.variant), error));
        self.variant = VariantId::Off;
        let idle = self.pipeline.as_ref().is_none_or(Pipeline::drain);
        for flight in std::iter::once(flight).chain(self.flights.drain(..)) {
            self.dropped += 1;
            if !idle {
                // The device may still write into the slot's memory: it is never freed.
                std::mem::forget(flight);
            }
        }
        if !idle {
            // A context that cannot even finish is lost; releasing its objects would panic or hang.
            std::mem::forget(self.pipeline.take());
            self.free.drain(..).for_each(std::mem::forget);
        }
    }

    /// Ends the loop. Work that is still on the device is left behind with its memory, because a kernel
    /// cannot be stopped and may take minutes.
    pub fn shut_down(mut self) {
        for job in self.flights.iter_mut().filter_map(|f| f.job.as_mut()) {
            job.cancel();
        }
        self.collect();
        if self.flights.iter().any(|f| f.job.is_some()) {
            self.flights.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.pipeline.take());
        }
    }
}
