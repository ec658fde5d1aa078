//! A frame asked for in a certain way, and had as soon as it is there; nothing here waits.
//!
//! In: a decoded frame, a [`Request`] that says what is to be done to it, and a [`Slot`] that says where it is wanted: in a
//! texture, or in the host's memory, which takes no OpenGL. Out: the slot with the picture, and what each step took.
//!
//! ```text
//! submit ▶ load ▶ prepare ▶ start: upload ▶ acquire ▶ convert     poll: look ▶ begin bands ▶ give back ▶ finish
//!          host   plans     device                                      learn  filter        release    the slot
//! ```
//!
//! One frame may be asked for several times, in different ways and for different places. Frames come out in the order in which
//! they were asked for. The memory between the steps belongs to the device's side ([`Pipeline`]): in one in-order queue a
//! frame's last step has read it before the next frame's first step writes it, so a frame is started when all commands of the
//! one before are in the queue.

mod bands;
mod conversions;
mod device_job;
mod estimate;
mod filter;
mod load;
mod pace;
mod pipeline;
mod plans;
mod prepare;
mod slot;
mod surface;
mod trials;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::color::{Correction, RgbaConverter, Staging};
use crate::error::{Error, Result};
pub use crate::gpu::event::Waker;
use crate::gpu::gl_timer;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::glsl::GlslFilter;
use crate::media::Frame;
use crate::stats::{Lane, Span, Stage, StageTimes};
use crate::timing::ms_since;

pub use bands::Bands;
pub use conversions::Check;
use device_job::DeviceJob;
use filter::NativeFilter;
pub use filter::{BAND_MS, FrameFilter, OnTexture, Ran, Running};
pub use pace::Pace;
pub use pipeline::Pipeline;
use plans::Key;
use slot::Place;
pub use slot::Slot;
pub use trials::TrialCase;

/// A filter that was predicted to take longer than this waits for [`Engine::let_go`], so that somebody can be told before.
const HOLD_MS: f64 = 3000.0;

/// What is to be done to a frame. It is settled when the frame is asked for, and stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// The filter; [`VariantId::Off`] is none.
    pub variant: VariantId,
    /// Its radius in pixels.
    pub radius: u32,
    /// How colours are corrected, if they are.
    pub correction: Option<Correction>,
}

/// What tells a frame that was asked for from all others of one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// Why a frame cannot be had as it was asked for.
#[derive(Debug)]
pub enum Refusal {
    /// The variant is not for this device or this picture, or is not there; others may be.
    Unsupported(Error),
    /// Its kernels are changed, and are just being tried in a process of their own.
    Untried,
    /// The device failed, or has too little memory.
    Failed(Error),
    /// There is no picture of the frame to do anything to.
    NotLoaded(Error),
}

impl Refusal {
    /// What is to be said of it.
    pub fn into_error(self) -> Error {
        match self {
            Refusal::Unsupported(error) | Refusal::Failed(error) | Refusal::NotLoaded(error) => error,
            Refusal::Untried => {
                let why = "Its kernels are changed, and are being tried in a process of their own.";
                Error::new("A frame cannot be filtered yet.", why, "Try again soon.")
            }
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Failed(error)
    }
}

/// What became of a frame.
#[derive(Debug)]
pub enum Outcome {
    /// The picture is in the slot.
    Done,
    /// It was cancelled.
    Cancelled,
    /// Its filter failed, which is not the device's.
    Failed(Error),
}

/// A frame that the engine has done with.
pub struct Finished {
    /// Of [`Engine::submit`].
    pub ticket: Ticket,
    /// What became of it.
    pub outcome: Outcome,
    /// With the picture. `None` where a lost device may still write into its memory.
    pub slot: Option<Slot>,
    /// What its stages took.
    pub stages: Stages,
}

/// What a frame's stages took, and when they ran.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    /// In milliseconds: of the device, where it tells, and of the host.
    pub(crate) times: StageTimes,
    /// The filter's time is wall time.
    pub filter_by_wall: bool,
    /// What packing the planes took the decoder's thread, where they were used as that had packed them, in milliseconds.
    pub pack_ms: Option<f64>,
    /// When each ran.
    pub spans: Vec<Span>,
}

impl Stages {
    /// This thread has done something for a stage since `began`.
    pub(crate) fn did(&mut self, stage: Stage, began: Instant) {
        let span = Span::since(stage, began);
        self.times[stage as usize] += span.ms();
        self.spans.push(span);
    }

    /// Adds what other stages of the same frame took.
    pub(crate) fn add(&mut self, other: Stages) {
        for (time, ms) in self.times.iter_mut().zip(other.times) {
            *time += ms;
        }
        self.filter_by_wall |= other.filter_by_wall;
        self.pack_ms = other.pack_ms.or(self.pack_ms);
        self.spans.extend(other.spans);
    }

    /// What the filter took, in milliseconds; not a number where that is not known.
    pub fn filter_ms(&self) -> f64 {
        self.times[Stage::Filter as usize]
    }
}

/// How far a frame is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// What its filter was predicted to take before it began, in milliseconds: a guess, where nothing was known.
    pub predicted_ms: f64,
    /// Predicted time of what is left to do, in milliseconds.
    pub remaining_ms: f64,
    /// Since it was started, in seconds; 0 before.
    pub elapsed_s: f64,
    /// Part of the filter's work that is done, 0 to 1.
    pub fraction: f64,
    /// The best prediction of its whole time, in seconds; `None` while nothing was measured.
    pub total_s: Option<f64>,
}

/// A frame on its way. Its fields drop in order: memory objects may lie in the slot's host memory, so they go first.
struct Job {
    ticket: Ticket,
    /// Its commands on the OpenCL device around the filter, if it goes there.
    on_device: Option<DeviceJob>,
    /// Its filter, if it has one, and under which key the slot keeps that.
    filter: Option<(Option<Key>, Bands)>,
    /// In the texture already before it is filtered.
    in_texture: bool,
    slot: Slot,
    started: Option<Instant>,
    cancelled: bool,
    /// It could not be started.
    error: Option<Error>,
    stages: Stages,
}

impl Job {
    fn elapsed(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |at| at.elapsed())
    }

    fn predicted_ms(&self) -> f64 {
        self.filter.as_ref().map_or(0.0, |(_, bands)| bands.predicted_ms())
    }

    fn progress(&self) -> Progress {
        let elapsed_s = self.elapsed().as_secs_f64();
        let Some((_, bands)) = &self.filter else { return Progress { elapsed_s, ..Progress::default() } };
        let (predicted_ms, fraction) = (bands.predicted_ms(), bands.fraction());
        let total_s = bands.total_s().map(|total| total.max(elapsed_s));
        let left = || predicted_ms * (1.0 - fraction);
        let remaining_ms = total_s.map_or_else(left, |total| (total - elapsed_s).max(0.0) * 1e3);
        Progress { predicted_ms, remaining_ms, elapsed_s, fraction, total_s }
    }

    /// Whether nothing of it is left to put into the device's queue.
    fn is_all_enqueued(&self) -> bool {
        self.on_device.as_ref().is_none_or(DeviceJob::is_all_enqueued)
    }
}

/// What a device that was left leaves behind.
pub(crate) struct Left {
    /// It finished what it had; else its objects and memory are forgotten, since it may still use them.
    pub idle: bool,
    /// Memory that the decoder's thread packs planes in for it.
    pub staging: Option<Staging>,
    /// The frames that it had.
    pub lost: Vec<Finished>,
}

/// What makes the pictures that were asked for.
pub struct Engine {
    pipeline: Option<Pipeline>,
    /// Made when it is first wanted.
    native: Option<NativeFilter>,
    /// Or why it cannot be had.
    glsl: Result<Rc<GlslFilter>>,
    /// What converts on the host.
    converter: RgbaConverter,
    pace: Pace,
    jobs: VecDeque<Job>,
    next: u64,
    /// Frames are converted by programs only that were checked for such ones.
    only_checked: bool,
    /// The last frame went to the device as planes.
    took_planes: bool,
    /// What takes long may begin.
    may_take_long: bool,
    failure: Option<Error>,
    waker: Waker,
}

impl Engine {
    /// An engine without a device, and without OpenGL. `waker` is called, on any thread, when [`Engine::poll`] is worth while.
    pub fn new(waker: Waker) -> Self {
        let why = "It draws with OpenGL, and there is none.";
        Self {
            pipeline: None,
            native: None,
            glsl: Err(Error::new("'glsl' cannot filter this picture.", why, "Choose another variant.")),
            converter: RgbaConverter::new(),
            pace: Pace::default(),
            jobs: VecDeque::new(),
            next: 0,
            only_checked: false,
            took_planes: false,
            may_take_long: false,
            failure: None,
            waker,
        }
    }

    /// The same with an OpenGL context, which must be current whenever it is used, for the variant `glsl`.
    pub fn with_opengl(gl: Arc<glow::Context>, waker: Waker) -> Self {
        Self { glsl: GlslFilter::new(gl).map(Rc::new), ..Self::new(waker) }
    }

    /// Asks for a frame: has it loaded, and started as soon as those before it let it. Waits for nothing but OpenGL, where that
    /// still draws from the slot's texture.
    ///
    /// # Errors
    /// When it cannot be had so, with the slot.
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    pub fn submit(
        &mut self,
        frame: &Frame,
        request: Request,
        mut slot: Slot,
    ) -> std::result::Result<Ticket, (Slot, Refusal)> {
        let mut stages = Stages::default();
        let loaded = self.load(frame, &request, &mut slot, &mut stages);
        match loaded.and_then(|matrix| self.prepare(&request, &mut slot, matrix, &mut stages)) {
            Err(refusal) => Err((slot, refusal)),
            Ok(load::Prepared { on_device, filter, in_texture }) => {
                let ticket = Ticket(self.next);
                self.next += 1;
                let (started, cancelled, error) = (None, false, None);
                let filter =
                    filter.map(|(key, filter)| (key, Bands::new(request.variant, filter, &self.pace)));
                self.jobs.push_back(Job {
                    ticket,
                    on_device,
                    filter,
                    in_texture,
                    slot,
                    started,
                    cancelled,
                    error,
                    stages,
                });
                self.start_waiting();
                Ok(ticket)
            }
        }
    }

    /// The next frame that is done, in the order in which they were asked for. Never waits.
    pub fn poll(&mut self) -> Option<Finished> {
        if self.failure.is_some() {
            return None;
        }
        let mut job = self.jobs.pop_front()?;
        let began = Instant::now();
        let over = self.advance(&mut job);
        // Asked too often for a span each time.
        job.stages.times[Stage::Collect as usize] += ms_since(began);
        let outcome = match over {
            Ok(Some(outcome)) => outcome,
            Err(error) if job.on_device.is_none() => Outcome::Failed(error),
            running => {
                self.failure = running.err();
                self.jobs.push_front(job);
                return None;
            }
        };
        self.start_waiting();
        Some(finish(job, outcome))
    }

    /// Starts the frames whose turn it is: commands of one frame do not come between those of another, shaders share a texture,
    /// and what takes long is held.
    fn start_waiting(&mut self) {
        let mut is_queue_free = true;
        for at in 0..self.jobs.len() {
            let Some(mut job) = self.jobs.remove(at) else { return };
            let is_held = job.started.is_none() && job.predicted_ms() > HOLD_MS && !self.may_take_long;
            let works = job.on_device.is_some() || job.filter.is_some();
            let may = if job.on_device.is_some() { is_queue_free } else { !job.in_texture || at == 0 };
            if works && may && !is_held && job.started.is_none() && !job.cancelled && job.error.is_none() {
                self.may_take_long = false;
                job.error = self.start(&mut job).err();
            }
            is_queue_free &= job.is_all_enqueued();
            self.jobs.insert(at, job);
            if is_held {
                return;
            }
        }
    }

    /// Hands the frame to the device, and begins its first bands.
    fn start(&mut self, job: &mut Job) -> Result<()> {
        job.started = Some(Instant::now());
        if let (Some(commands), Some(pipeline)) = (&mut job.on_device, &mut self.pipeline) {
            pipeline.begin(commands, &mut job.slot)?;
        }
        self.go_on(job)
    }

    /// Begins bands until about two are on their way, and asks for the frame back after the last one.
    fn go_on(&mut self, job: &mut Job) -> Result<()> {
        let bands = job.filter.as_mut().map(|(_, bands)| bands);
        let (begun, all, cancelled) = match bands {
            None => (false, true, job.cancelled),
            Some(bands) => {
                let begun = bands.begin(&self.pace, &self.waker)?;
                (begun, bands.all_begun(), bands.is_cancelled())
            }
        };
        match (&mut job.on_device, &mut self.pipeline, &job.filter) {
            (Some(commands), Some(pipeline), _) if all && !commands.is_all_enqueued() => {
                pipeline.give_back(commands, &mut job.slot, cancelled, &self.waker)
            }
            (_, _, Some((_, bands))) if begun => bands.flush(),
            _ => Ok(()),
        }
    }

    /// Looks at what is over, learns from it, and begins what comes next; what became of the frame, once that is known.
    fn advance(&mut self, job: &mut Job) -> Result<Option<Outcome>> {
        if let Some(error) = job.error.take() {
            return Err(error);
        }
        if job.started.is_none() {
            let nothing = job.on_device.is_none() && job.filter.is_none();
            let over =
                if job.cancelled { Some(Outcome::Cancelled) } else { nothing.then_some(Outcome::Done) };
            return Ok(over);
        }
        let elapsed = job.elapsed();
        if let Some((_, bands)) = &mut job.filter {
            let looked = bands.look(&mut self.pace, elapsed);
            looked.map_err(|seen| first_failure(job.on_device.as_ref(), Some(bands), seen))?;
        }
        self.go_on(job)?;
        let bands = job.filter.as_mut().map(|(_, bands)| bands);
        if bands.as_ref().is_some_and(|bands| !bands.is_over()) {
            return Ok(None);
        }
        if let (Some(commands), Some(pipeline)) = (&mut job.on_device, &mut self.pipeline) {
            let took = bands.as_ref().map(|bands| bands.took()).unwrap_or_default();
            if !commands.is_over().map_err(|seen| first_failure(Some(commands), bands, seen))? {
                return Ok(None);
            }
            let (size, uploads) = (job.slot.size(), pipeline.upload_lane());
            commands.tell(&mut job.stages, uploads, took, |colors, ms| pipeline.split(colors, size, ms));
            job.slot.back_on_host();
        }
        let cancelled = job.cancelled || job.filter.as_ref().is_some_and(|(_, bands)| bands.is_cancelled());
        Ok(Some(if cancelled { Outcome::Cancelled } else { Outcome::Done }))
    }

    /// Waits for the next frame, for those who have nothing else to do; `None` where none is on its way.
    ///
    /// # Errors
    /// When the device failed: it is left, with all that was on it.
    pub fn wait(&mut self) -> Result<Option<Finished>> {
        loop {
            if let Some(finished) = self.poll() {
                return Ok(Some(finished));
            }
            if let Some(error) = self.failure.take() {
                self.leave_device();
                return Err(error);
            }
            if self.jobs.is_empty() {
                return Ok(None);
            }
            // Whoever waits knows that it may take long.
            self.let_go();
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Drops what has not begun of a frame. It is done when what has begun is over.
    pub fn cancel(&mut self, ticket: Ticket) {
        let Some(job) = self.jobs.iter_mut().find(|job| job.ticket == ticket) else { return };
        match &mut job.filter {
            _ if job.started.is_none() => job.cancelled = true,
            Some((_, bands)) => bands.cancel(),
            None => {}
        }
    }

    /// How far a frame is; nothing of one that is done.
    pub fn progress(&self, ticket: Ticket) -> Progress {
        let job = self.jobs.iter().find(|job| job.ticket == ticket);
        job.map_or_else(Progress::default, Job::progress)
    }

    /// Whether the next frame is held because it takes long.
    pub fn is_holding(&self) -> bool {
        let next = self.jobs.iter().find(|job| job.started.is_none() && !job.cancelled);
        next.is_some_and(|job| job.predicted_ms() > HOLD_MS && !self.may_take_long)
    }

    /// Starts a frame that is held because it takes long.
    pub fn let_go(&mut self) {
        if self.is_holding() {
            self.may_take_long = true;
            self.start_waiting();
        }
    }

    /// Whether commands of a frame are not all in the device's queue yet: another one would have to wait.
    pub fn is_queue_busy(&self) -> bool {
        self.jobs.iter().any(|job| !job.is_all_enqueued())
    }

    /// Why the device failed, if it has since the last call. Nothing goes on until it is [left](Engine::leave_device).
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// The device's side, if there is one.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// The same, to be given what was built for it.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    /// Why there is no filter by shaders, if there is none.
    pub(crate) fn glsl_error(&self) -> Option<&Error> {
        self.glsl.as_ref().err()
    }

    /// What times the variant `glsl`, if it can be had.
    pub(crate) fn glsl_clock(&self) -> Option<gl_timer::Clock> {
        self.glsl.as_ref().ok().map(|filter| filter.clock())
    }

    /// Converts frames on the device only by programs that were checked for such ones.
    pub fn convert_only_checked(&mut self, only_checked: bool) {
        self.only_checked = only_checked;
    }

    /// Where the planes of frames to come are to be packed, as it went with the last one.
    pub(crate) fn staging(&self) -> Option<&Staging> {
        self.pipeline.as_ref().filter(|_| self.took_planes)?.staging()
    }

    /// Whether a variant can be asked for: it is there, and nobody is just trying it.
    pub fn can_filter(&self, variant: VariantId, radius: u32) -> bool {
        let on_device = |p: &Pipeline| p.has(variant) && !p.awaits_trial(variant, radius);
        variant.back_end().does_without_opencl() || self.pipeline.as_ref().is_some_and(on_device)
    }

    /// Whether such frames will be converted on the device, as soon as the program for it is built and, where that is wanted,
    /// checked. `to_texture` says where they are wanted.
    pub(crate) fn lacks_conversion(&mut self, frame: &Frame, variant: VariantId, to_texture: bool) -> bool {
        let (picture, only_checked) = (&frame.picture, self.only_checked);
        let Some(pipeline) = self.pipeline.as_mut().filter(|_| !variant.back_end().does_without_opencl())
        else {
            return false;
        };
        pipeline.conversion(picture, variant, to_texture, only_checked).is_none()
            && pipeline.will_convert(picture, variant, to_texture)
    }

    /// Takes a device, in place of the one that it has.
    pub fn set_device(&mut self, pipeline: Pipeline) {
        self.leave_device();
        self.pace.forget_device(pipeline.cl().device.info.kind);
        self.pipeline = Some(pipeline);
    }

    /// Waits until the device is idle, and gives it up, with the frames that are on it. What other back ends filter goes on: its
    /// memory on the device is all that it loses. `None` where there is no device.
    pub(crate) fn leave_device(&mut self) -> Option<Left> {
        let pipeline = self.pipeline.take()?;
        self.failure = None;
        let idle = pipeline.drain();
        let (lost, kept): (Vec<Job>, Vec<Job>) = self.jobs.drain(..).partition(|job| job.on_device.is_some());
        self.jobs = kept.into();
        for job in &mut self.jobs {
            job.slot.leave_device(idle);
        }
        let lost = lost.into_iter().map(|job| lose(job, idle)).collect();
        let staging = pipeline.staging().cloned();
        if !idle {
            // A context that cannot even finish is lost; releasing its objects would panic or hang.
            std::mem::forget(pipeline);
        }
        Some(Left { idle, staging, lost })
    }

    /// Ends it. Work that is still on the device is left behind with its memory, because a kernel cannot be stopped and may take
    /// minutes; returns whether the device is idle.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        let tickets: Vec<Ticket> = self.jobs.iter().map(|job| job.ticket).collect();
        tickets.into_iter().for_each(|ticket| self.cancel(ticket));
        while self.poll().is_some() {}
        let idle = !self.jobs.iter().any(|job| job.on_device.is_some() && job.started.is_some());
        if !idle {
            self.jobs.drain(..).for_each(std::mem::forget);
            std::mem::forget(self.pipeline.take());
        }
        idle
    }
}

/// The first of a frame's commands that failed: all after it fail with it.
fn first_failure(on_device: Option<&DeviceJob>, bands: Option<&mut Bands>, seen: Error) -> Error {
    let of_bands = bands.and_then(Bands::failure);
    on_device.and_then(|commands| commands.first_failure(of_bands.as_ref())).or(of_bands).unwrap_or(seen)
}

/// Takes a frame that is over apart.
fn finish(job: Job, outcome: Outcome) -> Finished {
    let Job { ticket, on_device, filter, in_texture, mut slot, started, mut stages, .. } = job;
    let to_texture = on_device.as_ref().map_or(in_texture, DeviceJob::fills_texture);
    let mut place = match (to_texture, &filter, &on_device) {
        (true, ..) => Place::Texture,
        (_, _, Some(_)) => Place::Output,
        _ => Place::Input,
    };
    if let Some((key, mut bands)) = filter {
        if on_device.is_none() {
            stages.filtered_on_host(bands.took(), started);
        }
        if let Some(picture) = bands.take_picture() {
            slot.keep_own(picture);
            place = Place::Own;
        }
        match (key, started) {
            (Some(key), Some(_)) => slot.plans().put(key, bands.into_filter()),
            _ => drop(bands),
        }
    }
    if on_device.is_some() && started.is_none() {
        drop(on_device);
        // Its memory objects were made for a picture that the host writes anew.
        slot.leave_device(true);
    }
    slot.result_is_in(place);
    Finished { ticket, outcome, slot: Some(slot), stages }
}

/// Takes a frame apart whose device is left.
fn lose(job: Job, idle: bool) -> Finished {
    let (ticket, outcome) = (job.ticket, Outcome::Cancelled);
    if !idle {
        // The device may still write into the slot's memory: it is never freed.
        std::mem::forget(job);
        return Finished { ticket, outcome, slot: None, stages: Stages::default() };
    }
    let Job { on_device, filter, mut slot, stages, .. } = job;
    // Memory objects go before the memory that they lie in.
    drop((on_device, filter));
    slot.leave_device(true);
    Finished { ticket, outcome, slot: Some(slot), stages }
}

impl Stages {
    /// Notes what a filter took that is not on the OpenCL device. Of shaders OpenGL tells only how long, so they stand where
    /// they were begun.
    fn filtered_on_host(&mut self, took: bands::Took, started: Option<Instant>) {
        self.times[Stage::Filter as usize] += took.ms;
        self.filter_by_wall = took.by_wall;
        let of_shaders = |from: Instant| {
            let to = from + Duration::try_from_secs_f64(took.ms / 1e3).unwrap_or_default();
            Span { stage: Stage::Filter, lane: Lane::Device, from, to }
        };
        self.spans.extend(took.on_host.or(started.map(of_shaders)));
    }
}
