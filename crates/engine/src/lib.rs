//! The engine: filters the frames of a movie on a device without blocking, and presents each when it is due.
//!
//! [`frame_loop`] asks for the frames of a movie, [`present`] draws them, [`stats`] has what was measured, [`sharing`] what
//! OpenCL and OpenGL share, [`glsl`] the box filter in shaders.
//!
//! In: a decoded frame, a [`Request`] that says what is to be done to it, and a [`Slot`] that says where it is wanted:
//! in a texture, or in the host's memory, which takes no OpenGL. Out: the slot with the picture, and what each step
//! took.
//!
//! ```text
//! submit ▶ load ▶ prepare ▶ start: upload ▶ acquire ▶ convert     poll: look ▶ begin bands ▶ give back ▶ finish
//!          host   plans     device                                      learn  filter        reduce     the slot
//!                                                                                           levels
//!                                                                                           release
//! ```
//!
//! One frame may be asked for several times, in different ways and for different places. Frames come out in the order
//! in which they were asked for. The memory between the steps belongs to the device's side ([`Pipeline`]): in one
//! in-order queue a frame's last step has read it before the next frame's first step writes it, so a frame is started
//! when all commands of the one before are in the queue.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

mod bands;
mod beside;
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
mod pace;
mod pipeline;
mod plans;
mod prepare;
pub mod present;
mod request;
mod scopes;
pub mod sharing;
mod slot;
pub mod stats;
mod surface;
mod trials;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::glsl::GlslFilter;
use crate::stats::{Span, Stage};
use base::error::{Error, Result};
use base::timing::ms_since;
pub use opencl::event::Waker;
use opencl::watch;
use video::Frame;
use video::color::RgbaConverter;

pub use bands::Bands;
use beside::{FirstRequest, Share};
pub use conversions::Check;
pub(crate) use device::Parting;
use device_job::Colors;
pub use difference::{Compared, Comparer, Difference};
use filter::NativeFilter;
pub use filter::OnTexture;
use job::{Job, finish, first_failure};
pub use pace::Pace;
pub use pipeline::Pipeline;
pub use request::{Finished, Outcome, Progress, Refusal, Request, Stages, Ticket};
pub use scopes::{LEVELS, Readings, STRIPS, Scopes, stretch};
pub(crate) use slot::Rest;
pub use slot::Slot;
pub use trials::TrialCase;

/// A filter that was predicted to take longer than this waits for [`Engine::let_go`], so that somebody can be told
/// before.
const HOLD_MS: f64 = 3000.0;

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
    /// What the last frame has for a second request.
    kept: Option<FirstRequest>,
    next: u64,
    /// Frames are converted by programs only that were checked for such ones.
    only_checked: bool,
    /// The last frame went to the device as planes.
    took_planes: bool,
    /// What takes long may begin.
    may_take_long: bool,
    failure: Option<Error>,
    side: Side,
    waker: Waker,
}

// SAFETY: an engine goes to another thread as a whole, with all clones of what it shares within itself. OpenCL's objects may
// be used on any thread; OpenGL's are used on the window's side alone.
unsafe impl Send for Engine {}

/// What the calling thread may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// All of it.
    Both,
    /// All but OpenCL.
    Window,
    /// All but OpenGL: what is a device's, and what nothing is done to.
    Device,
}

impl Engine {
    /// An engine without a device, and without OpenGL. `waker` is called, on any thread, when [`Engine::poll`] is
    /// worth while.
    pub fn new(waker: Waker) -> Self {
        let why = "It draws with OpenGL, and there is none.";
        Self {
            pipeline: None,
            native: None,
            glsl: Err(Error::new("'glsl' cannot filter this picture.", why, "Choose another variant.")),
            converter: RgbaConverter::new(),
            pace: Pace::default(),
            jobs: VecDeque::new(),
            kept: None,
            next: 0,
            only_checked: false,
            took_planes: false,
            may_take_long: false,
            failure: None,
            side: Side::Both,
            waker,
        }
    }

    /// The same with an OpenGL context, which must be current whenever it is used, for the variant `glsl`.
    pub fn with_opengl(gl: Arc<glow::Context>, waker: Waker) -> Self {
        Self { glsl: GlslFilter::new(gl).map(Rc::new), ..Self::new(waker) }
    }

    /// Asks for a frame: has it loaded, and started as soon as those before it let it. Waits for nothing but OpenGL,
    /// where that still draws from the slot's texture.
    ///
    /// # Errors
    /// When it cannot be had so, with the slot.
    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    pub fn submit(
        &mut self,
        frame: &Frame,
        request: Request,
        slot: Slot,
    ) -> std::result::Result<Ticket, (Slot, Refusal)> {
        self.submit_as(Share::Alone, frame, request, slot)
    }

    #[allow(clippy::result_large_err, reason = "the slot comes back")]
    fn submit_as(
        &mut self,
        share: Share,
        frame: &Frame,
        request: Request,
        mut slot: Slot,
    ) -> std::result::Result<Ticket, (Slot, Refusal)> {
        let mut stages = Stages::default();
        if self.side == Side::Both {
            self.make_ready(&mut slot, &request, &mut stages);
        }
        match self.make_job(share, frame, &request, &mut slot, &mut stages) {
            Err(refusal) => Err((slot, refusal)),
            Ok((load::Prepared { on_device, filter, in_texture, readings, .. }, beside)) => {
                let ticket = Ticket(self.next);
                self.next += 1;
                let (started, cancelled, error) = (None, false, None);
                let filter =
                    filter.map(|(key, filter)| (key, Bands::new(request.variant, filter, &self.pace)));
                self.jobs.push_back(Job {
                    ticket,
                    beside,
                    on_device,
                    filter,
                    in_texture,
                    slot,
                    started,
                    cancelled,
                    error,
                    stages,
                    readings: readings.map(Arc::new),
                });
                self.start_waiting();
                Ok(ticket)
            }
        }
    }

    /// Whether such a request goes to the OpenCL device, or may.
    pub(crate) fn is_for_device(&self, request: &Request) -> bool {
        self.pipeline.is_some() && !request.variant.back_end().does_without_opencl()
    }

    /// Does what OpenGL has to do with the slot before the device takes it. Waits for OpenGL, where that still draws from the
    /// slot's texture.
    pub(crate) fn make_ready(&self, slot: &mut Slot, request: &Request, stages: &mut Stages) {
        let began = Instant::now();
        let pipeline = self.pipeline.as_ref().filter(|_| self.is_for_device(request));
        if pipeline.is_some_and(|pipeline| pipeline.make_ready(slot, request)) {
            stages.did(Stage::Acquire, began);
        }
    }

    /// From here on only this side's frames are moved along.
    pub(crate) fn be_on(&mut self, side: Side) {
        self.side = side;
    }

    fn is_mine(&self, job: &Job) -> bool {
        match self.side {
            Side::Both => true,
            Side::Window => job.on_device.is_none(),
            // What nothing is done to must not keep what comes after it waiting.
            Side::Device => job.on_device.is_some() || job.filter.is_none(),
        }
    }

    /// Whether a frame is the OpenCL device's.
    pub(crate) fn has_device_work(&self) -> bool {
        self.jobs.iter().any(|job| job.on_device.is_some())
    }

    /// The next frame that is done, in the order in which they were asked for. Never waits.
    pub fn poll(&mut self) -> Option<Finished> {
        if self.failure.is_some() {
            return None;
        }
        if self.jobs.front().is_some_and(|job| !self.is_mine(job)) {
            return None;
        }
        let mut job = self.jobs.pop_front()?;
        let began = Instant::now();
        let over = self.advance(&mut job);
        job.stages.times[Stage::Collect as usize] += ms_since(began);
        // Asked too often for a span each time: only that in which it was done has one.
        if matches!(over, Ok(Some(_))) {
            job.stages.spans.push(Span::since(Stage::Collect, began));
        }
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

    /// Starts the frames whose turn it is: commands of one frame do not come between those of another, shaders share a
    /// texture, and what takes long is held.
    pub(crate) fn start_waiting(&mut self) {
        let mut is_queue_free = true;
        for at in 0..self.jobs.len() {
            let Some(mut job) = self.jobs.remove(at) else { return };
            let is_held = job.is_held(self.may_take_long);
            let works = job.on_device.is_some() || job.filter.is_some();
            let may = if job.on_device.is_some() { is_queue_free } else { !job.in_texture || at == 0 };
            let may = may && self.is_mine(&job);
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
        if let Some(commands) = &mut job.on_device {
            // The filter waits for it, and with some drivers for ever where it has failed.
            commands.look_at_upload()?;
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
            let mut bands = bands;
            let is_over = commands.is_over();
            if !is_over.map_err(|seen| first_failure(Some(commands), bands.as_deref_mut(), seen))? {
                return Ok(None);
            }
            let took = bands.map(|bands| bands.took()).unwrap_or_default();
            let (size, uploads) = (job.slot.size(), pipeline.upload_lane());
            let mut clock = pipeline.device_clock;
            let split = |colors: &Colors, ms| pipeline.split(colors, size, ms);
            commands.tell(&mut job.stages, uploads, &mut clock, took, split);
            pipeline.device_clock = clock;
            job.readings = pipeline.readings(commands).map(Arc::new);
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
        self.wait_telling(|_| ())
    }

    /// Waits for the next frame, and tells how far it is after each band. A call of the driver may take as long as a band: all of
    /// them may honestly take minutes.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn wait_telling(&mut self, mut tell: impl FnMut(Progress)) -> Result<Option<Finished>> {
        let (mut before, mut watched) = (None, None);
        loop {
            if let Some(finished) = self.poll() {
                return Ok(Some(finished));
            }
            if let Some(error) = self.failure.take() {
                self.part_with_device().map(Parting::end);
                return Err(error);
            }
            if self.jobs.is_empty() {
                return Ok(None);
            }
            // Whoever waits knows that it may take long.
            self.let_go();
            let next = self.jobs.front().and_then(|job| Some((job.bands_under_way()?, job.progress())));
            if let Some((bands, progress)) = next.filter(|(bands, _)| before != Some(*bands)) {
                drop(watched.take());
                tell(progress);
                watched = Some(watch::step("a band of the frame is filtered", bands.1));
                before = Some(bands);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Drops what has not begun of a frame. It is done when what has begun is over.
    pub fn cancel(&mut self, ticket: Ticket) {
        let Some(at) = self.jobs.iter().position(|job| job.ticket == ticket) else { return };
        if self.jobs.get(at).is_some_and(|job| job.started.is_none()) {
            self.cancel_unstarted(ticket);
            return;
        }
        let Some(job) = self.jobs.get_mut(at) else { return };
        if let Some((_, bands)) = &mut job.filter {
            bands.cancel();
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
        next.is_some_and(|job| job.is_held(self.may_take_long))
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

    /// Why the device failed, if it has since the last call. Nothing goes on until it is left.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }
}
