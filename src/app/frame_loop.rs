//! A frame's way, stage by stage, as a state machine that never waits.
//!
//! ```text
//! queue ─take─▶ slot ─convert─▶ upload ▶ filter ▶ download ─collect─▶ ready ─present▶ overlay ▶ swap
//!               free            └──────── flights (≤ 2) ───┘          shown
//! ```
//!
//! In: decoded frames, the user's choice of variant and radius. Out: the texture to draw now, and a
//! [`FrameSample`] for each movie frame presented. A frame is filtered ahead of its time and waits, ready,
//! until it is due; the picture on the screen keeps its slot until the next one takes its place.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::gpu::sharing::Slot;
use crate::ladder::VariantId;
use crate::media::{Clock, Decoder, Frame, RgbaConverter};
use crate::overlay::Busy;
use crate::pipeline::{Job, JobState, Pipeline};
use crate::stats::{FrameSample, Recorder, Stage, StageTimes};

/// Frames that may be on their way at once, beside the one on the screen.
const AHEAD: usize = 2;
/// A frame that takes longer than this on the device is not followed by a second one before it is done.
const SLOW_MS: f64 = 100.0;
/// A frame predicted to take longer than this is announced in the overlay before it is started.
const ANNOUNCE_MS: f64 = 3000.0;
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
    shown_must_be_filtered_again: bool,
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
    pub present: f64,
    pub overlay: f64,
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
            shown_must_be_filtered_again: false,
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

    /// Chooses the filter from the next frame on. Work that is not on the device yet is dropped; while paused
    /// the picture on the screen is filtered anew.
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
        self.shown_must_be_filtered_again = self.clock.is_paused();
    }

    /// Pauses or goes on.
    pub fn toggle_pause(&mut self) {
        if self.clock.is_paused() {
            self.clock.resume();
            self.shown_must_be_filtered_again = false;
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
        if self.started.is_some() {
            self.decoder.queue().set_clock(self.clock.now_ns());
        }
        self.collect();
        while self.submit() {}
        Tick { redraw: self.picture_is_due(), wake_at: self.next_wake() }
    }

    // --- collect -------------------------------------------------------------------------------------------

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
        if flight.again {
            // Still wanted, with the choice that replaced this one.
            self.shown_must_be_filtered_again = self.clock.is_paused();
        } else {
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

    // --- take, convert, upload, filter ---------------------------------------------------------------------

    /// Submits one frame if a slot is free and a frame is due; returns whether it did.
    fn submit(&mut self) -> bool {
        if let Some(held) = self.held.take() {
            if !self.held_was_announced {
                self.held = Some(held);
                return false;
            }
            self.start(held);
            return true;
        }
        let slow = self.flights.iter().any(|f| f.job.as_ref().is_some_and(|j| j.predicted_ms() > SLOW_MS));
        // While paused, pictures may wait ready; the one on the screen is filtered again all the same.
        let room = self.flights.len() + self.ready.len() < AHEAD || self.clock.is_paused();
        if slow || !room {
            return false;
        }
        let began = Instant::now();
        let Some((frame, again)) = self.take() else { return false };
        let mut stages = StageTimes::default();
        stages[Stage::Take as usize] = ms_since(began);

        let flight = self.slot_for(&frame).and_then(|slot| self.convert(slot, frame, again, stages));
        match flight {
            Ok(flight) => {
                let long = flight.job.as_ref().is_some_and(|job| job.predicted_ms() > ANNOUNCE_MS);
                if long {
                    self.held_was_announced = false;
                    self.held = Some(flight);
                    return false;
                }
                self.start(flight);
            }
            Err(error) => {
                self.dropped += 1;
                self.errors.push((None, error));
            }
        }
        true
    }

    /// The next frame, or the one on the screen if it must be filtered again.
    fn take(&mut self) -> Option<(Rc<Frame>, bool)> {
        if self.clock.is_paused() {
            if !std::mem::take(&mut self.shown_must_be_filtered_again) {
                return None;
            }
            // A picture that waits for its time is shown after the pause; this one is on the screen now.
            return self.shown.as_ref().map(|shown| (shown.frame.clone(), true));
        }
        let queue = self.decoder.queue();
        if self.unpaced || self.started.is_none() {
            // Before the first picture there is no time yet: only one frame goes ahead.
            let first = self.unpaced || self.flights.len() + self.ready.len() == 0;
            return if first { queue.take_next().map(|f| (Rc::new(f), false)) } else { None };
        }
        let taken = queue.take_due(self.clock.now_ns(), self.lead_ns());
        self.dropped += taken.dropped;
        taken.frame.map(|f| (Rc::new(f), false))
    }

    /// How long before its time a frame may be taken: a frame interval, and at least 20 ms.
    fn lead_ns(&self) -> i64 {
        self.frame_interval_ns().unwrap_or(0).clamp(20_000_000, 100_000_000)
    }

    fn slot_for(&mut self, frame: &Frame) -> Result<Slot> {
        let (width, height) = (frame.width(), frame.height());
        self.free.retain(|slot| slot.size() == (width, height));
        match self.free.pop() {
            Some(slot) => Ok(slot),
            None => Slot::new(&self.gl, width, height),
        }
    }

    /// Converts the frame to RGBA in the slot, and prepares the filter.
    fn convert(
        &mut self,
        mut slot: Slot,
        frame: Rc<Frame>,
        again: bool,
        mut stages: StageTimes,
    ) -> Result<Flight> {
        let began = Instant::now();
        let input = slot.input().ok_or_else(|| {
            Error::new("A frame could not be converted.", "Its memory is still in use by the device.", "")
        })?;
        self.converter.convert(&frame.picture, input)?;
        stages[Stage::Convert as usize] = ms_since(began);

        let mut job = None;
        if let Some(pipeline) = self.pipeline.as_mut().filter(|p| p.has(self.variant)) {
            match pipeline.prepare(&mut slot, self.variant, self.radius) {
                Ok(prepared) => job = Some(prepared),
                Err(error) => {
                    self.errors.push((Some(self.variant), error));
                    self.variant = VariantId::Off;
                }
            }
        }
        let variant = if job.is_some() { self.variant } else { VariantId::Off };
        let dropped_before = if again { 0 } else { std::mem::take(&mut self.dropped) };
        Ok(Flight { slot, frame, variant, radius: self.radius, stages, job, dropped_before, again })
    }

    fn start(&mut self, mut flight: Flight) {
        if let (Some(job), Some(pipeline)) = (flight.job.as_mut(), self.pipeline.as_mut()) {
            if let Err(error) = pipeline.start(job, &mut flight.slot) {
                self.fail(flight, error);
                return;
            }
            self.flights.push_back(flight);
        } else if self.flights.is_empty() {
            self.finish(flight);
        } else {
            // Frames are shown in their order: an unfiltered one waits for those before it.
            self.flights.push_back(flight);
        }
    }

    // --- present -------------------------------------------------------------------------------------------

    fn picture_is_due(&self) -> bool {
        self.ready.front().is_some_and(|f| {
            let now = self.started.is_none() || self.unpaced && !self.clock.is_paused() || f.again;
            now || !self.clock.is_paused() && self.draw_at_ns(&f.frame) <= self.clock.now_ns()
        })
    }

    /// When to begin drawing a picture, so that it is on the screen at its time.
    fn draw_at_ns(&self, frame: &Frame) -> i64 {
        frame.pts_ns - self.draw_ns.clamp(0, frame.duration_ns / 2)
    }

    /// When something is to be done next without an event from outside.
    fn next_wake(&self) -> Option<Instant> {
        let now = Instant::now();
        let at = |pts_ns: i64| {
            let wait = pts_ns.saturating_sub(self.clock.now_ns()).max(0);
            now + Duration::from_nanos(wait as u64)
        };
        let paused = self.clock.is_paused();
        let poll = (!self.flights.is_empty()).then(|| now + Duration::from_millis(5));
        let due = self.ready.front().filter(|_| !paused).map(|f| at(self.draw_at_ns(&f.frame)));
        let room = !paused && self.flights.len() + self.ready.len() < AHEAD && self.held.is_none();
        let take = self.decoder.queue().next_pts_ns().filter(|_| room).map(|pts| at(pts - self.lead_ns()));
        // A frame that is due already waits for a slot: the event that frees one wakes the loop.
        let take = take.map(|t| t.max(now + Duration::from_millis(1)));
        [poll, due, take].into_iter().flatten().min()
    }

    /// Puts the picture that is due on the screen's place and returns what to draw: the texture, the
    /// picture's size in pixels and its pixel aspect.
    pub fn picture(&mut self) -> Option<(glow::Texture, (u32, u32), f64)> {
        if self.picture_is_due() {
            if let Some(next) = self.ready.pop_front() {
                self.shown_is_new = !next.again;
                if let Some(old) = self.shown.replace(next) {
                    self.free.push(old.slot);
                }
            }
        }
        let shown = self.shown.as_ref()?;
        Some((shown.slot.texture(), shown.slot.size(), shown.frame.pixel_aspect()))
    }

    /// Records that the window was swapped; returns whether it showed a new movie frame.
    pub fn swapped(&mut self, times: DrawTimes) -> bool {
        let now = Instant::now();
        if self.held.is_some() {
            self.held_was_announced = true;
        }
        if let Some(last) = self.last_swap.replace(now) {
            self.recorder.overlay_repaint(now.duration_since(last).as_secs_f64() * 1e3);
        }
        let Some(shown) = self.shown.as_mut().filter(|_| self.shown_is_new) else { return false };
        self.shown_is_new = false;
        if self.started.is_none() {
            // The movie's time begins with its first picture on the screen.
            self.started = Some(now);
            self.clock.resync(shown.frame.pts_ns);
        } else {
            let took = ((times.present + times.overlay + times.swap) * 1e6) as i64;
            self.draw_ns += (took - self.draw_ns) / 8;
        }
        shown.stages[Stage::Present as usize] = times.present;
        shown.stages[Stage::Overlay as usize] = times.overlay;
        shown.stages[Stage::Swap as usize] = times.swap;
        let interval =
            self.last_present.replace(now).map(|last| now.duration_since(last).as_secs_f64() * 1e3);
        let lateness = self.clock.now_ns() - shown.frame.pts_ns;
        let sample = FrameSample {
            pts: shown.frame.movie_s,
            presented_at: self.started.map_or(0.0, |s| now.duration_since(s).as_secs_f64()),
            interval_ms: interval,
            stages: shown.stages,
            late: !self.unpaced && lateness > shown.frame.duration_ns / 2,
            dropped_before: shown.dropped_before,
            variant: shown.variant,
            radius: shown.radius,
        };
        self.recorder.push(sample);
        true
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

fn ms_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}
