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

mod native;
mod present;
mod submit;
mod work;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::convert::Correction;
use crate::error::{Error, Result};
use crate::gpu::event::Waker;
use crate::gpu::sharing::Slot;
use crate::ladder::box_filter::glsl::{self, GlslFilter};
use crate::ladder::{Kind, VariantId};
use crate::media::{Clock, Decoder, Frame, Orientation, RgbaConverter, Seek};
use crate::overlay::{Busy, VariantStatus};
use crate::pipeline::{JobState, Pipeline};
use crate::stats::{Recorder, Stage, StageTimes, ms_since};
use native::NativeFilter;
use work::Work;

/// A frame that takes the device longer than this leaves the overlay to be repainted on its own.
const OVERLAY_MS: f64 = 50.0;
/// How long a still picture of several movies is shown.
const STILL: Duration = Duration::from_secs(5);
/// A frame that has been on the device for longer than this is told to the user.
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
    stages: StageTimes,
    dropped_before: u32,
    /// [`FrameLoop::generation`] when it was taken.
    generation: u64,
    /// The frame on the screen, filtered anew because no next one comes; it is no new movie frame.
    again: bool,
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
    /// What the picture on the screen could not be filtered with, so that it is not tried over and over.
    not_again: Option<Wanted>,
    dropped: u32,
    /// The movie's time runs: its first picture has been on the screen. Not so after another movie was opened.
    clock_runs: bool,
    /// When the first picture of all was on the screen.
    epoch: Option<Instant>,
    /// Counted up when another movie is opened; frames of an older one are not shown any more.
    generation: u64,
    last_present: Option<Instant>,
    last_swap: Option<Instant>,
    /// How long drawing and swapping has taken lately.
    draw_ns: i64,
    errors: Vec<(Option<VariantId>, Error)>,
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

fn advance_gl(filter: &mut Result<GlslFilter>, task: &mut glsl::Task) -> Result<JobState> {
    match filter {
        Ok(filter) => filter.advance(task),
        Err(error) => Err(error.clone()),
    }
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
            gl,
            waker,
            recorder,
            clock: Clock::new(0),
            unpaced,
            variant: VariantId::Off,
            radius: 0,
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
            not_again: None,
            dropped: 0,
            clock_runs: false,
            epoch: None,
            generation: 0,
            last_present: None,
            last_swap: None,
            draw_ns: 0,
            errors: Vec::new(),
            failure: None,
        }
    }

    /// The movie's decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Plays another movie. The picture on the screen stays until the new one's first picture is there.
    pub fn play(&mut self, decoder: Decoder) {
        let old = std::mem::replace(&mut self.decoder, decoder);
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
        self.not_again = None;
        self.interrupt();
    }

    /// The device's side, once it is there.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
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
    pub fn glsl_clock(&self) -> Option<glsl::Clock> {
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

    /// Size in pixels of the picture on the screen.
    pub fn shown_size(&self) -> Option<(u32, u32)> {
        self.shown.as_ref().map(|f| f.slot.size())
    }

    /// How the picture on the screen is turned.
    pub fn shown_orientation(&self) -> Orientation {
        self.shown.as_ref().map_or_else(Orientation::default, |f| f.frame.orientation())
    }

    /// Texture of the picture on the screen, and its size in pixels.
    pub fn shown_texture(&self) -> Option<(glow::Texture, (u32, u32))> {
        self.shown.as_ref().map(|f| (f.slot.texture(), f.slot.size()))
    }

    /// Whether the picture on the screen's place was not on the screen yet.
    pub fn shown_is_new(&self) -> bool {
        self.shown_is_new
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
            && self.returned.is_empty()
            && self.frame_to_filter_again().is_none()
    }

    /// Whether every frame was shown, and the last one for its time: a still picture for `STILL`.
    pub fn is_over(&self) -> bool {
        let Some(shown) = &self.shown else { return false };
        let still = shown.frame.number == 0;
        let time_ns = if still { STILL.as_nanos() as i64 } else { shown.frame.duration_ns };
        self.clock_runs
            && self.is_finished()
            && (self.unpaced || self.clock.now_ns() >= shown.frame.pts_ns.saturating_add(time_ns))
    }

    /// The frame that has been in the filter for long, or that will be.
    pub fn busy(&self) -> Option<Busy> {
        let flight = self.held.as_ref().or(self.flights.front())?;
        let work = flight.work.as_ref()?;
        let held = self.held.is_some();
        (held || work.elapsed_s() > BUSY_S).then(|| Busy {
            variant: flight.variant,
            radius: flight.radius,
            fraction: work.fraction() as f32,
            elapsed_s: if held { 0.0 } else { work.elapsed_s() },
            predicted_s: work.total_s(),
        })
    }

    /// Whether a frame takes the device so long that the overlay has to be repainted meanwhile.
    pub fn is_slow(&self) -> bool {
        let mut work = self.flights.iter().chain(&self.held).filter_map(|f| f.work.as_ref());
        work.any(|w| w.predicted_ms().max(w.elapsed_s() * 1e3) > OVERLAY_MS)
    }

    /// One turn: collects what has finished, submits what is due, and says what comes next. Never waits.
    pub fn tick(&mut self) -> Tick {
        if self.clock_runs && !self.unpaced {
            self.decoder.queue().set_clock(self.clock.now_ns());
        }
        self.collect();
        while self.submit() {}
        Tick { redraw: self.picture_is_due(), wake_at: self.next_wake() }
    }

    fn collect(&mut self) {
        while let Some(mut flight) = self.flights.pop_front() {
            let began = Instant::now();
            let state = match (&mut flight.work, &mut self.pipeline) {
                (Some(Work::Device(job)), Some(pipeline)) => pipeline.advance(job, &mut flight.slot),
                (Some(Work::Native(task)), _) => task.advance(),
                (Some(Work::Gl(task)), _) => advance_gl(&mut self.glsl, task),
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

    /// Moves a filtered picture into its texture, unless it is there already.
    fn finish(&mut self, mut flight: Flight) {
        let began = Instant::now();
        match &mut flight.work {
            None => flight.slot.show(false),
            Some(Work::Device(job)) if job.fills_texture() => {}
            Some(Work::Gl(_)) => {}
            Some(Work::Device(_)) => flight.slot.show(true),
            Some(Work::Native(task)) => {
                if let Some(filtered) = task.filtered() {
                    flight.slot.show_pixels(filtered);
                }
                if let Some(native) = &mut self.native {
                    native.finished(task);
                }
            }
        }
        flight.stages[Stage::Release as usize] = ms_since(began);
        if let Some(times) = flight.work.as_ref().map(Work::times) {
            for (stage, ms) in [
                (Stage::Upload, times.upload),
                (Stage::Acquire, times.acquire),
                (Stage::Convert, times.convert),
                (Stage::Correct, times.correct),
                (Stage::Filter, times.filter),
                (Stage::Release, times.release),
            ] {
                flight.stages[stage as usize] += ms;
            }
        }
        if flight.generation != self.generation {
            self.give_up(flight);
        } else if !flight.again {
            self.ready.push_back(flight);
        } else if self.shown.as_ref().is_some_and(|shown| Rc::ptr_eq(&shown.frame, &flight.frame)) {
            self.ready.push_front(flight);
        } else {
            // The movie went on meanwhile.
            self.give_up(flight);
        }
    }

    /// Frees the slot of a frame that will not be shown as it is. During a pause the frame is kept for later,
    /// else it counts as dropped.
    fn give_up(&mut self, mut flight: Flight) {
        if flight.again || flight.generation != self.generation {
            // It is on the screen already, or of a movie that is not played any more.
        } else if self.clock.is_paused() {
            let at = self.returned.partition_point(|(frame, _)| frame.pts_ns < flight.frame.pts_ns);
            self.returned.insert(at, (flight.frame, flight.dropped_before));
        } else {
            self.dropped += flight.dropped_before + 1;
        }
        if matches!(flight.work.take(), Some(Work::Device(job)) if !job.was_started()) {
            // Its memory objects were made for a picture that the host writes anew.
            flight.slot.drop_device_side();
        }
        self.free(flight.slot);
    }

    /// Keeps a slot for a next frame; OpenGL has had its last command for what is in it.
    fn free(&mut self, mut slot: Slot) {
        slot.retire();
        self.free.push(slot);
    }

    /// Tells an error and does without what failed: the variant, or without one the colour correction.
    fn do_without(&mut self, variant: VariantId, error: Error) {
        if variant == VariantId::Off {
            self.correction = None;
            self.errors.push((None, error));
            return;
        }
        self.errors.push((Some(variant), error));
        if variant == self.variant {
            self.variant = VariantId::Off;
        }
    }

    /// A command failed: the loop goes on without a device, and shows the movie unfiltered until it gets another one.
    /// A peer that failed is done without.
    fn fail(&mut self, flight: Flight, error: Error) {
        if flight.work.as_ref().is_some_and(Work::is_peer) {
            self.do_without(flight.variant, error);
            self.give_up(flight);
            return;
        }
        self.failure.get_or_insert(error);
        self.take_down(vec![flight]);
    }

    /// The device has failed, or has no memory left, before a frame was started.
    /// Returns whether its objects can be released.
    fn device_failed(&mut self, error: Error) -> bool {
        self.failure.get_or_insert(error);
        self.take_down(Vec::new())
    }

    /// Waits for the device, so that the frames' memory on it can go, and gives it up.
    /// Returns whether its objects can be released.
    fn take_down(&mut self, mut on_their_way: Vec<Flight>) -> bool {
        let Some(pipeline) = self.pipeline.take() else { return true };
        let idle = pipeline.drain();
        let by_peers = |f: &Flight| f.work.as_ref().is_some_and(Work::is_peer);
        on_their_way.extend(self.flights.drain(..));
        on_their_way.extend(self.held.take_if(|f| !by_peers(f)));
        // What peers filter goes on: its memory on the device is all that it loses.
        (self.flights, on_their_way) = {
            let (by_peers, others): (Vec<_>, Vec<_>) = on_their_way.into_iter().partition(by_peers);
            (by_peers.into(), others)
        };
        let kept = self.flights.iter_mut().chain(&mut self.held);
        let kept = kept.chain(&mut self.ready).chain(&mut self.shown);
        for flight in kept {
            if idle {
                flight.work.take_if(|work| !work.is_peer());
                flight.slot.drop_device_side();
            } else {
                std::mem::forget(flight.work.take_if(|work| !work.is_peer()));
                flight.slot.forget_device_side();
            }
        }
        for mut flight in on_their_way {
            if idle {
                // The job's memory objects go before the memory that they lie in.
                flight.work = None;
                flight.slot.drop_device_side();
                self.give_up(flight);
            } else {
                // The device may still write into the slot's memory: it is never freed.
                self.dropped += flight.dropped_before + u32::from(!flight.again);
                std::mem::forget(flight);
            }
        }
        if idle {
            self.free.clear();
        } else {
            // A context that cannot even finish is lost; releasing its objects would panic or hang.
            std::mem::forget(pipeline);
            self.free.drain(..).for_each(std::mem::forget);
        }
        idle
    }

    /// Ends the loop. Work that is still on the device is left behind with its memory, because a kernel
    /// cannot be stopped and may take minutes; returns whether the device is idle.
    #[must_use]
    pub fn shut_down(&mut self) -> bool {
        self.flights.iter_mut().filter_map(|f| f.work.as_mut()).for_each(Work::cancel);
        self.collect();
        let idle = self.flights.iter().all(|f| f.work.as_ref().is_none_or(Work::is_peer));
        if !idle {
            self.flights.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.pipeline.take());
        }
        idle
    }
}
