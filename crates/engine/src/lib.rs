//! The engine filters the frames of a movie on a device without blocking, and presents each frame when it is due.
//!
//! [`frame_loop`] submits the frames of a movie, [`present`] draws them, [`sharing`] shares memory between
//! OpenCL and OpenGL, and [`glsl`] is the box filter in shaders.
//!
//! A frame is submitted with a [`Request`], which says how it is filtered, and a [`Slot`], which receives the picture in a texture or in
//! host memory; the latter needs no OpenGL. The frame comes back as [`Finished`], with the slot and the times of its stages.
//!
//! ```text
//! submit ▶ load ▶ prepare ▶ start: upload ▶ acquire ▶ convert     poll: look ▶ begin bands ▶ give back ▶ finish
//!          host   plans     device                                      learn  filter        reduce     the slot
//!                                                                                           levels
//!                                                                                           release
//! ```
//!
//! One frame may be submitted several times, with different requests and slots. Frames are finished in the order in which they were
//! submitted. The memory between the steps belongs to the [`Pipeline`] and is shared by all frames: in one in-order queue, a frame's last
//! step has read it before the next frame's first step writes it. So a frame is started when all commands of the previous frame are in the
//! queue.

#![warn(missing_docs, unreachable_pub)]
// The docs are for readers of the code: `./dev check` generates them for all items.
#![allow(rustdoc::private_intra_doc_links)]

mod bands;
mod built_variants;
mod conversions;
mod device;
mod device_job;
mod difference;
mod estimate;
mod filter;
pub mod frame_loop;
pub mod glsl;
mod job;
mod load;
mod meters;
mod picture_buffer;
mod pipeline;
mod plans;
mod prepare;
pub mod present;
mod request;
mod scopes;
pub mod sharing;
mod slot;
mod speed_model;
mod surface;
mod trials;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::glsl::{GlslFilter, cannot_filter};
use base::error::{Error, Result};
use base::timing::ms_since;
pub use opencl::event::Waker;
use opencl::event::is_complete;
use opencl::watch;
use stats::{Request, Span, Stage, Stages};
use video::Frame;
use video::color::RgbaConverter;

pub use bands::Bands;
pub use built_variants::BuiltVariants;
pub use conversions::{Check, Conversions};
pub(crate) use device::RemovedDevice;
pub use device::{DeviceStatus, Need};
use device_job::{DeviceJob, UPLOAD_FAILED};
pub use difference::{Comparer, PictureSource};
pub use filter::TextureFilter;
pub use job::Jobs;
use job::{Job, finish, first_failure};
use load::Loader;
pub use meters::Meters;
pub use pipeline::Pipeline;
pub use prepare::not_in_a_stack;
pub use request::{Finished, Outcome, Progress, Refusal, Ticket};
pub use scopes::Scopes;
pub use slot::Slot;
pub use speed_model::SpeedModel;
pub use trials::{TrialCase, Trials};

/// The predicted filter time in milliseconds from which a frame is held back: the frame is not started until
/// [`Engine::start_held`] is called, so that the user can be informed before.
const HOLD_MS: f64 = 3000.0;

/// Filters submitted frames: on one OpenCL device, with OpenGL shaders, or in Rust.
pub struct Engine {
    pipeline: Option<Pipeline>,
    loader: Loader,
    speeds: SpeedModel,
    /// The unfinished frames.
    pub jobs: Jobs,
    next: u64,
    /// The error with which the device failed. No frame continues until the device is removed.
    failure: Option<Error>,
    /// True if the engine does OpenGL's part of a frame itself ([`SlotPreparation`](pipeline::SlotPreparation)).
    has_opengl: bool,
    waker: Waker,
}

impl Engine {
    /// Creates an engine without a device and without OpenGL. `waker` is called, on any thread, when [`Engine::poll`] should be called.
    pub fn new(waker: Waker) -> Self {
        Self::with_glsl(Err(cannot_filter("It draws with OpenGL, and there is none.")), waker)
    }

    /// Creates an engine without a device that can run the variant `glsl`. The OpenGL context must be current whenever the engine is used.
    /// `waker` is called, on any thread, when [`Engine::poll`] should be called.
    pub fn with_opengl(gl: Arc<glow::Context>, waker: Waker) -> Self {
        Self { has_opengl: true, ..Self::with_glsl(GlslFilter::new(gl).map(Rc::new), waker) }
    }

    /// Creates an engine without a device; `glsl` has the compiled shaders, or the reason why there are none.
    fn with_glsl(glsl: Result<Rc<GlslFilter>>, waker: Waker) -> Self {
        let loader = Loader { native: None, glsl, converter: RgbaConverter::new(), waker: waker.clone() };
        Self {
            pipeline: None,
            loader,
            speeds: SpeedModel::default(),
            jobs: Jobs::default(),
            next: 0,
            failure: None,
            has_opengl: false,
            waker,
        }
    }

    /// Submits a frame: loads it into the slot, and starts its filter as soon as the frames before it allow. Waits only for OpenGL, if
    /// that still draws from the slot's texture. Returns a ticket that identifies the frame.
    ///
    /// # Errors
    /// If the request is refused: the slot and the reason.
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    pub fn submit(
        &mut self,
        frame: &Frame,
        request: Request,
        mut slot: Slot,
    ) -> Result<Ticket, (Slot, Refusal)> {
        let (ticket, mut stages) = (Ticket(self.next), Stages::default());
        self.next += 1;
        let is_for_device = self.has_opengl && !request.variant.back_end().does_without_opencl();
        if let Some(pipeline) = self.pipeline.as_ref().filter(|_| is_for_device) {
            pipeline.slot_preparation().prepare(&mut slot, &request, &mut stages);
        }
        self.submit_job(frame, Job::new(ticket, request, slot, stages)).map(|()| ticket)
    }

    /// Submits a frame as [`Engine::submit`] does. OpenGL's part of the frame is done already.
    ///
    /// # Errors
    /// If the request is refused: the slot and the reason.
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    pub(crate) fn submit_job(&mut self, frame: &Frame, mut job: Job) -> Result<(), (Slot, Refusal)> {
        let request = job.request;
        let mut pipeline =
            self.pipeline.as_mut().filter(|_| !request.variant.back_end().does_without_opencl());
        let loaded = self.loader.load(pipeline.as_deref_mut(), frame, &mut job).map_err(Refusal::NotLoaded);
        match loaded.and_then(|colors| self.loader.prepare(pipeline, &mut job, &colors)) {
            Err(refusal) => return Err((job.slot, refusal)),
            Ok(filter) => {
                job.filter = filter.map(|filter| Bands::new(request.kernels(), filter, &self.speeds));
            }
        }
        self.jobs.list.push_back(job);
        self.start_waiting();
        Ok(())
    }

    /// Returns the frame that was submitted first if it is finished; otherwise `None`. Never waits.
    pub fn poll(&mut self) -> Option<Finished> {
        if self.failure.is_some() {
            return None;
        }
        let mut job = self.jobs.list.pop_front()?;
        let began = Instant::now();
        let over = self.advance(&mut job);
        job.stages.times[Stage::Collect as usize] += ms_since(began);
        // Polls are too frequent for a span each: only the one that finishes the frame has one.
        if matches!(over, Ok(Some(_))) {
            job.stages.spans.push(Span::since(Stage::Collect, began));
        }
        let outcome = match over {
            Ok(Some(outcome)) => outcome,
            Err(error) if job.on_device.is_none() => Outcome::Failed(error),
            running => {
                self.failure = running.err();
                self.jobs.list.push_front(job);
                return None;
            }
        };
        self.start_waiting();
        Some(finish(job, outcome))
    }

    /// Starts the waiting frames that may start now. A frame may have to wait because commands of two frames must not mix in
    /// the device's queue, because shaders share one texture, or because its filter will take long.
    pub(crate) fn start_waiting(&mut self) {
        let mut is_queue_free = true;
        for at in 0..self.jobs.list.len() {
            let Some(mut job) = self.jobs.list.remove(at) else { return };
            let is_held = job.is_held(self.jobs.may_take_long);
            let works = job.on_device.is_some() || job.filter.is_some();
            let may = if job.on_device.is_some() { is_queue_free } else { !job.in_texture || at == 0 };
            if works && may && !is_held && job.started.is_none() && !job.cancelled && job.error.is_none() {
                self.jobs.may_take_long = false;
                job.error = self.start(&mut job).err();
            }
            is_queue_free &= job.is_all_enqueued();
            self.jobs.list.insert(at, job);
            if is_held {
                return;
            }
        }
    }

    /// Starts a frame: hands it to the device, and starts its first bands.
    fn start(&mut self, job: &mut Job) -> Result<()> {
        job.started = Some(Instant::now());
        if let (Some(commands), Some(pipeline)) = (&mut job.on_device, &mut self.pipeline) {
            pipeline.enqueue_before_filter(commands, &mut job.slot)?;
        }
        self.continue_job(job)
    }

    /// Starts further bands of a frame until about two are in flight. After the last band, enqueues the commands that return the picture.
    fn continue_job(&mut self, job: &mut Job) -> Result<()> {
        let begun = match &mut job.filter {
            Some(bands) => bands.start_bands(&self.speeds, &self.waker)?,
            None => false,
        };
        let bands = job.filter.as_ref();
        match (&mut job.on_device, &mut self.pipeline) {
            (Some(commands), Some(pipeline))
                if bands.is_none_or(Bands::all_started) && commands.last.is_none() =>
            {
                commands.is_cancelled = bands.map_or(job.cancelled, Bands::is_cancelled);
                pipeline.enqueue_after_filter(commands, &mut job.slot, &self.waker)
            }
            _ => bands.filter(|_| begun).map_or(Ok(()), |bands| bands.filter.flush()),
        }
    }

    /// Polls the running commands of a frame, records the times of finished ones, and starts the next ones. Returns the outcome once the
    /// frame is finished.
    fn advance(&mut self, job: &mut Job) -> Result<Option<Outcome>> {
        if let Some(error) = job.error.take() {
            return Err(error);
        }
        let over = |cancelled: bool| Ok(Some(if cancelled { Outcome::Cancelled } else { Outcome::Done }));
        if job.started.is_none() {
            let is_over = job.cancelled || job.on_device.is_none() && job.filter.is_none();
            return if is_over { over(job.cancelled) } else { Ok(None) };
        }
        if let Some(DeviceJob { uploads, is_uploaded, .. }) = &mut job.on_device
            && !*is_uploaded
        {
            // The filter waits for the upload, and with some drivers forever if the upload has failed. An upload may have a queue of its
            // own; if it fails, not every driver also fails the commands of the other queue that wait for it.
            let complete: Vec<bool> =
                uploads.iter().map(|upload| is_complete(upload, UPLOAD_FAILED)).collect::<Result<_>>()?;
            *is_uploaded = complete.into_iter().all(|is_complete| is_complete);
        }
        let elapsed = job.elapsed();
        if let Some(bands) = &mut job.filter {
            let polled = bands.poll(&mut self.speeds, elapsed);
            polled.map_err(|seen| first_failure(job.on_device.as_ref(), Some(bands), seen))?;
        }
        self.continue_job(job)?;
        if job.filter.as_ref().is_some_and(|bands| !bands.is_over()) {
            return Ok(None);
        }
        if let (Some(commands), Some(pipeline)) = (&mut job.on_device, &mut self.pipeline) {
            let is_over = commands.is_over();
            if !is_over.map_err(|seen| first_failure(Some(commands), job.filter.as_mut(), seen))? {
                return Ok(None);
            }
            let took = job.filter.as_ref().map(Bands::filter_times).unwrap_or_default();
            commands.report_times(&mut job.stages, took, &mut pipeline.times);
            job.readings = pipeline.meters.readings(commands).map(Arc::new);
            job.slot.note_back_on_host();
        }
        over(job.cancelled || job.filter.as_ref().is_some_and(Bands::is_cancelled))
    }

    /// Waits for the next frame to finish, and calls `on_progress` with the frame's progress whenever bands of rows have
    /// started or finished. The frame may take minutes. Returns `None` if no frame is in the engine.
    ///
    /// # Errors
    /// If the device failed. It is then removed, with all frames that were on it.
    pub fn wait_with_progress(&mut self, mut on_progress: impl FnMut(Progress)) -> Result<Option<Finished>> {
        let (mut before, mut watched) = (None, None);
        loop {
            if let Some(finished) = self.poll() {
                return Ok(Some(finished));
            }
            if let Some(error) = self.failure.take() {
                self.remove_device().map(RemovedDevice::release);
                return Err(error);
            }
            if self.jobs.list.is_empty() {
                return Ok(None);
            }
            // The caller waits anyway, so nothing has to be announced first.
            self.start_held();
            let next = self.jobs.list.front().and_then(|job| {
                let bands = job.filter.as_ref().filter(|_| job.started.is_some())?;
                Some(((bands.fraction(), bands.in_flight_ms()), job.progress()))
            });
            if let Some((bands, progress)) = next.filter(|(bands, _)| before != Some(*bands)) {
                drop(watched.take());
                on_progress(progress);
                watched = Some(watch::step("a band of the frame is filtered", bands.1));
                before = Some(bands);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Starts the frame that is held back because its filter will take long, if there is one.
    pub fn start_held(&mut self) {
        if self.jobs.is_holding() {
            self.jobs.may_take_long = true;
            self.start_waiting();
        }
    }
}
