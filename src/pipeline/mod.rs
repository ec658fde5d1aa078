//! The device's share of a frame's way, enqueued so that nothing waits: upload → acquire → convert → correct →
//! filter → release, or a download where textures are not shared.
//!
//! In: a [`Slot`] that is loaded with a frame's planes or its RGBA picture, a variant and a radius. Out: a [`Job`] that
//! is advanced by polling until the filtered picture is in the slot's texture, or back on the host.
//!
//! The variant `planar` filters the planes before they are converted; all others filter the RGBA picture.
//!
//! Planes are converted and corrected by one kernel. A picture that comes as RGBA is corrected by a kernel of its own.
//! Memory between the steps belongs to the pipeline: in one in-order queue a frame's last step has read it before the
//! next frame's first step writes it. Only the upload has a queue of its own, on devices with memory of their own: it
//! writes the slot's memory, so that a frame is uploaded while the one before it is filtered.
//!
//! A launch that is predicted to take longer than [`BAND_MS`] is cut into bands of rows, and only about two
//! bands are in the queue at a time, because OpenCL cannot cancel a running kernel: a change of variant or
//! radius then waits for two bands at most, not for a frame of several seconds.

mod conversions;
mod estimate;
mod job;
mod pace;
mod plans;
mod prepare;
mod slot;
mod trials;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::color::Layout;
use crate::color::kernels::{Converter, Corrector, pack_pinned};
use crate::color::{Packed, Staging};
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, DeviceKind, failed};
use crate::gpu::event::{JobState, Waker, is_complete, wait_in_queue, wake_after};
use crate::gpu::memory::{Picture, Storage};
use crate::gpu::sharing::Sharing;
use crate::gpu::timer::{self, DeviceClock};
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::planar::PlanarFilter;
use crate::ladders::box_filter::{BuiltVariant, Scratch};
use crate::media::Frame;
use crate::stats::{Lane, Span, Stage};
use crate::timing::ms_since;

use conversions::Known;
use job::{Band, Colors, FILTER_FAILED, Filter, RETURN_FAILED};
use pace::{ConversionTime, Pace};

pub use conversions::Check;
pub use job::{Job, JobTimes};
pub use slot::{Loaded, Slot};
pub use trials::TrialCase;
use trials::Trials;

/// The longest launch that is enqueued whole, in milliseconds; longer ones are cut into bands of this length.
pub(crate) const BAND_MS: f64 = 30.0;

/// The filter on one device: its built variants and what is known about their speed.
pub struct Pipeline {
    cl: ClContext,
    /// For the uploads; without it they go to the queue of the other commands.
    uploads: Option<ocl::Queue>,
    /// Memory for packed planes; without it they are packed into the slots' memory, which a CPU device uses in place.
    staging: Option<Staging>,
    /// The results go into the slots' textures.
    to_texture: bool,
    built: HashMap<VariantId, BuiltVariant>,
    planar: Option<PlanarFilter>,
    scratch: Scratch,
    corrector: Option<Corrector>,
    converter: Converter,
    trials: Trials,
    known: Known,
    /// The corrector is not to be used.
    correction_is_wrong: bool,
    /// The picture before the filter, and the filtered one on its way into a texture.
    between: Reused,
    filtered: Reused,
    /// Planes between filter and conversion.
    planes: Reused,
    conversion_time: ConversionTime,
    pace: Pace,
    device_clock: DeviceClock,
    waker: Waker,
}

/// Memory that all jobs share, of the kind and size that was wanted last.
#[derive(Default)]
struct Reused(Option<((u32, u32), Picture)>);

impl Reused {
    /// What is replaced lives on in the jobs that still use it.
    fn get(&mut self, cl: &ClContext, storage: Storage, size: (u32, u32)) -> Result<Picture> {
        if let Some((_, picture)) = self.0.as_ref().filter(|(s, p)| *s == size && p.storage() == storage) {
            return Ok(picture.clone());
        }
        self.0 = None;
        let picture = Picture::alloc(cl, storage, size.0, size.1)?;
        Ok(self.0.insert((size, picture)).1.clone())
    }
}

/// Why a frame cannot be filtered.
#[derive(Debug)]
pub enum Refusal {
    /// The variant is not for this device or this picture; others may be.
    Unsupported(Error),
    /// Its kernels are changed, and are just being tried in a process of their own.
    Untried,
    /// The device failed, or has too little memory.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Failed(error)
    }
}

impl Pipeline {
    /// A pipeline without variants; add them as they are built. `sharing` says how its results get to OpenGL.
    pub fn new(cl: ClContext, sharing: &Sharing, waker: Waker) -> Self {
        let pace = Pace::new(cl.device.info.kind);
        // A driver that has no second queue does with one.
        let uploads = wants_two_queues(cl.device.info.kind).then(|| cl.extra_queue().ok()).flatten();
        Self {
            staging: (!cl.uses_host_memory()).then(Staging::default),
            uploads,
            to_texture: *sharing == Sharing::ZeroCopy,
            built: HashMap::new(),
            planar: None,
            scratch: Scratch::new(),
            corrector: None,
            converter: Converter::new(&cl),
            trials: Trials::default(),
            known: Known::default(),
            correction_is_wrong: false,
            between: Reused::default(),
            filtered: Reused::default(),
            planes: Reused::default(),
            conversion_time: ConversionTime::default(),
            pace,
            device_clock: DeviceClock::default(),
            waker,
            cl,
        }
    }

    /// The device and its context.
    pub fn cl(&self) -> &ClContext {
        &self.cl
    }

    /// Where the planes of frames that this device converts are to be packed, if anywhere before they are loaded.
    pub(crate) fn staging(&self) -> Option<&Staging> {
        self.staging.as_ref()
    }

    /// Puts the planes of `frame`, which are to be packed as `layout` says, into `slot`; those that the decoder's thread has
    /// packed for this device as they are, and then returns what that took, in milliseconds.
    ///
    /// # Errors
    /// When memory runs out, or the slot's memory is still in use.
    pub(crate) fn load_planes(&self, slot: &mut Slot, frame: &Frame, layout: &Layout) -> Result<Option<f64>> {
        let Some(staging) = &self.staging else {
            return slot.fill(&self.cl, &frame.picture, layout).map(|()| None);
        };
        let is_usable = |packed: &Arc<Packed>| packed.is_of(staging) && packed.layout() == layout;
        if let Some(packed) = frame.packed.borrow().clone().filter(is_usable) {
            let took_ms = packed.took_ms();
            return slot.load_packed(packed).map(|()| Some(took_ms));
        }
        // The filter's queue may be busy for long.
        let queue = self.uploads.as_ref().unwrap_or(&self.cl.queue);
        slot.load_packed(Arc::new(pack_pinned(&self.cl, queue, staging, &frame.picture, layout)?))
            .map(|()| None)
    }

    /// Adds a variant that the builder finished.
    pub fn add(&mut self, variant: BuiltVariant) {
        self.built.insert(variant.kernels().id, variant);
    }

    /// Adds the filter on planes that the builder finished.
    pub(crate) fn add_planar(&mut self, filter: PlanarFilter) {
        self.planar = Some(filter);
    }

    /// Whether a variant can be submitted.
    pub fn has(&self, variant: VariantId) -> bool {
        match variant {
            VariantId::Planar => self.planar.is_some(),
            _ => self.built.contains_key(&variant),
        }
    }

    /// What a variant filters pictures of this size and radius with; `None` where it cannot be submitted.
    pub fn chosen(&self, variant: VariantId, (width, height): (u32, u32), radius: u32) -> Option<String> {
        self.built.get(&variant)?.chosen(width, height, radius)
    }

    /// Adds the colour correction that the builder finished.
    pub(crate) fn set_corrector(&mut self, corrector: Corrector) {
        self.corrector = Some(corrector);
    }

    /// Whether colours of RGBA pictures can be corrected on the device.
    pub fn corrects(&self) -> bool {
        self.corrector.is_some() && !self.correction_is_wrong
    }

    /// Hands the slot's picture to the device and enqueues the first bands. Waits for nothing but OpenGL, where that
    /// still draws from the slot's texture.
    ///
    /// # Errors
    /// When the driver refuses a command; the device must then be idle ([`Pipeline::drain`]) before the slot goes.
    pub fn start(&mut self, job: &mut Job, slot: &mut Slot) -> Result<()> {
        job.started = Some(Instant::now());
        let queue = &self.cl.queue;
        let before = Instant::now();
        if !job.to_texture && slot.wait_until_fetched() {
            job.times.acquire = ms_since(before);
            job.spans.push(Span::since(Stage::Acquire, before));
        }
        let before = Instant::now();
        job.events.upload = slot.to_device(&self.cl, self.uploads.as_ref().unwrap_or(queue))?;
        if let Some(upload) = job.events.upload.clone() {
            job.enqueued(&upload, before);
        }
        if let Some(uploads) = &self.uploads {
            flush(uploads)?;
        }
        if job.to_texture {
            let began = Instant::now();
            job.events.acquire = Some(slot.acquire(&self.cl)?);
            job.times.acquire = ms_since(began);
            job.spans.push(Span::since(Stage::Acquire, began));
        }
        if let (Some(_), Some(upload)) = (&self.uploads, &job.events.upload) {
            wait_in_queue(queue, upload)?;
        }
        let (planes, kept) = slot.planes_and_kept();
        job.events.colors = match (&job.colors, planes, &mut self.corrector) {
            // They come after it.
            _ if matches!(job.plan, Some((_, Filter::Planes(_)))) => None,
            (Some(Colors::Convert { correction, to }), Some(planes), _) => {
                let (layout, block) = (planes.layout(), planes.on_device()?);
                Some(self.converter.enqueue_kept(queue, kept, layout, block, to, correction)?)
            }
            (Some(Colors::Correct { correction, matrix, size, from, to }), _, Some(corrector)) => {
                Some(corrector.enqueue_kept(queue, kept, from, to, *size, correction, *matrix)?)
            }
            _ => None,
        };
        self.fill_queue(job, slot)
    }

    /// Looks at what has finished, learns from it, and enqueues what comes next. Never waits.
    ///
    /// # Errors
    /// When a command failed on the device or the driver refuses one.
    pub fn advance(&mut self, job: &mut Job, slot: &mut Slot) -> Result<JobState> {
        // On a queue of its own a failed upload is not the other commands' failure with every driver.
        if let Some(upload) = &job.events.upload {
            is_complete(upload, "A frame could not be brought to the device.")?;
        }
        while let Some(band) = job.bands.front() {
            if !is_complete(&band.event, FILTER_FAILED).map_err(|e| job.first_failure(e))? {
                break;
            }
            let Some(band) = job.bands.pop_front() else { break };
            let ms = job.band_ran(&band);
            job.times.filter += ms;
            self.pace.learn(job.variant, band.pass, band.work, ms);
        }
        self.fill_queue(job, slot)?;
        let Some(last) = &job.events.last else { return Ok(JobState::Running) };
        let is_over = |last| is_complete(last, RETURN_FAILED).map_err(|e| job.first_failure(e));
        if !job.bands.is_empty() || !is_over(last)? {
            return Ok(JobState::Running);
        }
        let ran = job.ran();
        let ms = |step: Option<Option<_>>| step.map_or(0.0, |told| told.map_or(f64::NAN, timer::ms));
        let colors = ms(ran.colors);
        let (convert, correct) = match &job.colors {
            // A job of planes that was cancelled converts nothing.
            Some(Colors::Convert { correction, to }) if job.events.colors.is_some() => {
                let filtered = matches!(job.plan, Some((_, Filter::Planes(_))));
                self.conversion_time.split((slot.size(), to.storage(), filtered), colors, correction)
            }
            _ => (0.0, colors),
        };
        job.times = JobTimes {
            upload: ms(ran.upload),
            acquire: job.times.acquire + ms(ran.acquire),
            convert,
            correct,
            filter: job.times.filter,
            release: job.times.release + ms(ran.copied) + ms(ran.last),
        };
        job.note_spans(self.upload_lane(), &ran, &mut self.device_clock);
        if let Some((key, filter)) = job.plan.take() {
            slot.plans().put(key, filter);
        }
        slot.back_on_host();
        Ok(if job.cancelled { JobState::Cancelled } else { JobState::Done })
    }

    /// Enqueues bands until about two are waiting, and the download after the last one.
    fn fill_queue(&mut self, job: &mut Job, slot: &mut Slot) -> Result<()> {
        let (mut enqueued, mut release_began) = (false, None);
        while let Some((pass, rows)) = self.next_band(job) {
            let Some((_, plan)) = &job.plan else { break };
            let work = plan.work(pass) * rows.len() as f64 / f64::from(plan.rows().max(1));
            let predicted_ms = self.pace.ms(job.variant, pass, work);
            let waiting: f64 = job.bands.iter().map(|b| b.predicted_ms).sum();
            if !job.bands.is_empty() && waiting + predicted_ms > 2.0 * BAND_MS {
                break;
            }
            let before = Instant::now();
            let event = plan.enqueue(&self.cl.queue, slot, pass, rows.clone())?;
            job.next = if rows.end >= plan.rows() { (pass + 1, 0) } else { (pass, rows.end) };
            job.enqueued(&event, before);
            if predicted_ms > BAND_MS / 2.0 {
                wake_after(&event, &self.waker);
            }
            job.bands.push_back(Band { event, pass, work, predicted_ms });
            enqueued = true;
        }
        if job.events.last.is_none() && (job.cancelled || job.next.0 >= job.passes()) {
            if let (Some((_, Filter::Planes(plan))), Some(Colors::Convert { correction, to }), false) =
                (&job.plan, &job.colors, job.cancelled)
            {
                let (filtered, queue) = (plan.layout().filtered(), &self.cl.queue);
                let kept = &mut slot.plans().colors;
                let event = self.converter.enqueue_kept(queue, kept, &filtered, plan.to(), to, correction)?;
                job.events.colors = Some(event);
            }
            if let (Some(filtered), false) = (&job.to_copy, job.cancelled) {
                job.events.copied = Some(slot.copy_to_texture(&self.cl, filtered)?);
            }
            let before = *release_began.insert(Instant::now());
            let event = slot.to_host(&self.cl, job.to_texture)?;
            job.enqueued(&event, before);
            wake_after(&event, &self.waker);
            job.events.last = Some(event);
            enqueued = true;
        }
        if enqueued {
            flush(&self.cl.queue)?;
        }
        if let Some(began) = release_began {
            // Drivers do much of a handover in the call, or when the queue is flushed.
            job.times.release = ms_since(began);
            job.spans.push(Span::since(Stage::Release, began));
        }
        Ok(())
    }

    /// The rows that come next, as many as are predicted to take [`BAND_MS`].
    fn next_band(&self, job: &Job) -> Option<(usize, Range<u32>)> {
        let (pass, first) = job.next;
        let (_, plan) = job.plan.as_ref().filter(|(_, plan)| !job.cancelled && pass < plan.passes())?;
        let all = plan.rows();
        let step = plan.row_step(pass).max(1);
        let row_ms = self.pace.ms(job.variant, pass, plan.work(pass)) / f64::from(all.max(1));
        let fit = (BAND_MS / row_ms.max(1e-9)).min(f64::from(all)) as u32;
        let (rows, left) = ((fit / step).max(1).saturating_mul(step), all.saturating_sub(first));
        // What is left is no band of its own where it fits.
        let rows = if left <= fit { left } else { rows };
        Some((pass, first..all.min(first.saturating_add(rows))))
    }

    /// Waits until the device is idle, so that memory it uses can be released. For errors and teardown only.
    pub fn drain(&self) -> bool {
        // Both, whatever the first one says.
        let filter = self.cl.queue.finish().is_ok();
        let uploads = self.uploads.as_ref().is_none_or(|uploads| uploads.finish().is_ok());
        filter && uploads
    }

    /// What the uploads run on, for [`Span`]s.
    fn upload_lane(&self) -> Lane {
        if self.uploads.is_some() { Lane::Upload } else { Lane::Device }
    }
}

/// Whether uploads get a queue of their own. On a CPU they are no work, only a handover. `CLREEL_QUEUES` says otherwise.
fn wants_two_queues(kind: DeviceKind) -> bool {
    match std::env::var("CLREEL_QUEUES").as_deref() {
        Ok("1") => false,
        Ok("2") => true,
        _ => kind != DeviceKind::Cpu,
    }
}

fn flush(queue: &ocl::Queue) -> Result<()> {
    queue.flush().map_err(|e| failed("The OpenCL queue could not be started.", &e))
}
