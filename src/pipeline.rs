//! The device's share of a frame's way: upload → correct → filter → download, enqueued so that nothing waits.
//!
//! In: a [`Slot`] whose input holds a picture, a variant and a radius. Out: a [`Job`] that is advanced by
//! polling until the filtered picture is back in the slot.
//!
//! A launch that is predicted to take longer than [`BAND_MS`] is cut into bands of rows, and only about two
//! bands are in the queue at a time, because OpenCL cannot cancel a running kernel: a change of variant or
//! radius then waits for two bands at most, not for a frame of several seconds.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::time::Instant;

use crate::convert::Correction;
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, DeviceKind, failed};
use crate::gpu::convert::Corrector;
use crate::gpu::event::{Waker, is_complete, wake_after};
use crate::gpu::sharing::Slot;
use crate::gpu::timer;
use crate::ladder::box_filter::opencl::{BuiltVariant, Picture, Plan, Scratch};
use crate::ladder::{Storage, VariantId};
use crate::media::Matrix;

/// The longest launch that is enqueued whole, in milliseconds; longer ones are cut into bands of this length.
pub const BAND_MS: f64 = 30.0;

/// The filter on one device: its built variants and what is known about their speed.
pub struct Pipeline {
    cl: ClContext,
    built: HashMap<VariantId, BuiltVariant>,
    scratch: Scratch,
    corrector: Option<Corrector>,
    /// The corrected picture, between correction and filter; shared by all jobs of the in-order queue.
    corrected: Option<((u32, u32), Picture)>,
    pace: Pace,
    waker: Waker,
}

/// Nanoseconds for one unit of [`Plan::work`], learned from each finished band.
struct Pace {
    learned: HashMap<(VariantId, usize), f64>,
    unknown: f64,
}

impl Pace {
    /// For a kernel that has not run yet: the slowest that was seen on such a device (reading an image on a
    /// CPU), so that the first band is too short rather than too long.
    fn new(kind: DeviceKind) -> Self {
        let unknown = if kind == DeviceKind::Cpu { 5.0 } else { 0.05 };
        Self { learned: HashMap::new(), unknown }
    }

    fn ms(&self, variant: VariantId, pass: usize, work: f64) -> f64 {
        self.learned.get(&(variant, pass)).copied().unwrap_or(self.unknown) * work / 1e6
    }

    fn learn(&mut self, variant: VariantId, pass: usize, work: f64, ms: f64) {
        if work <= 0.0 || !ms.is_finite() || ms <= 0.0 {
            return;
        }
        let seen = ms * 1e6 / work;
        let value = self.learned.entry((variant, pass)).or_insert(seen);
        *value += 0.3 * (seen - *value);
    }
}

/// Part of a pass that is in the queue.
struct Band {
    event: ocl::Event,
    pass: usize,
    work: f64,
    predicted_ms: f64,
}

/// One frame's commands on the device.
pub struct Job {
    variant: VariantId,
    /// The filter; `None` where colours are corrected only.
    plan: Option<Plan>,
    correction: Option<CorrectionStep>,
    /// The next rows to enqueue: pass and first row; the pass is past the last one when all are in the queue.
    next: (usize, u32),
    bands: VecDeque<Band>,
    upload: Option<ocl::Event>,
    download: Option<ocl::Event>,
    cancelled: bool,
    started: Option<Instant>,
    work_done: f64,
    work_total: f64,
    predicted_ms: f64,
    /// Device time of the upload, in milliseconds.
    pub upload_ms: f64,
    /// Device time of the colour correction, in milliseconds.
    pub correct_ms: f64,
    /// Device time of all bands of all passes, in milliseconds.
    pub filter_ms: f64,
    /// Device time of the download, in milliseconds.
    pub download_ms: f64,
}

/// What is done to the colours of a frame, and where.
struct CorrectionStep {
    correction: Correction,
    matrix: Matrix,
    size: (u32, u32),
    source: Picture,
    target: Picture,
    event: Option<ocl::Event>,
}

/// Where a [`Job`] stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Its commands are not all finished.
    Running,
    /// The filtered picture is in the slot.
    Done,
    /// It was cancelled, and the slot is free again.
    Cancelled,
}

impl Pipeline {
    /// A pipeline without variants; add them as they are built.
    pub fn new(cl: ClContext, waker: Waker) -> Self {
        let pace = Pace::new(cl.device.info.kind);
        Self {
            cl,
            built: HashMap::new(),
            scratch: Scratch::new(),
            corrector: None,
            corrected: None,
            pace,
            waker,
        }
    }

    /// Adds a variant that the builder finished.
    pub fn add(&mut self, variant: BuiltVariant) {
        self.built.insert(variant.info().id, variant);
    }

    /// Whether a variant can be submitted.
    pub fn has(&self, variant: VariantId) -> bool {
        self.built.contains_key(&variant)
    }

    /// Adds the colour correction that the builder finished.
    pub fn set_corrector(&mut self, corrector: Corrector) {
        self.corrector = Some(corrector);
    }

    /// Whether colours can be corrected on the device.
    pub fn corrects(&self) -> bool {
        self.corrector.is_some()
    }

    /// Predicted time of a whole frame on the device, in milliseconds.
    fn predict(&self, variant: VariantId, plan: &Plan) -> f64 {
        (0..plan.passes()).map(|pass| self.pace.ms(variant, pass, plan.work(pass))).sum()
    }

    /// Prepares correction and filter for the picture in `slot`; nothing is enqueued yet. The job's prediction is
    /// known from here on. With [`VariantId::Off`] the colours are corrected only.
    ///
    /// # Errors
    /// When the variant is not built, does not support this picture, or memory runs out.
    pub fn prepare(
        &mut self,
        slot: &mut Slot,
        variant: VariantId,
        radius: u32,
        correction: Option<(Correction, Matrix)>,
    ) -> Result<Job> {
        let (width, height) = slot.size();
        let built = self.built.get(&variant);
        if variant != VariantId::Off && built.is_none() {
            let what = format!("The variant '{variant}' is not built.");
            return Err(Error::new(what, "", "Choose another variant."));
        }
        if let Some(built) = built {
            built.info().supports(&self.cl.device.info, width, height)?;
        }
        let storage = built.map_or(Storage::Buffer, |b| b.info().storage);
        let (source, target) = slot.pictures(&self.cl, storage)?;
        let mut filter_source = source.clone();
        let correction = match correction.filter(|_| self.corrector.is_some()) {
            None => None,
            Some((correction, matrix)) => {
                let to = match built {
                    None => target.clone(),
                    Some(_) => corrected_picture(&mut self.corrected, &self.cl, storage, (width, height))?,
                };
                filter_source = to.clone();
                let size = (width, height);
                Some(CorrectionStep { correction, matrix, size, source, target: to, event: None })
            }
        };
        let plan = match built {
            None => None,
            Some(built) => Some(built.plan(
                &self.cl,
                &filter_source,
                &target,
                &mut self.scratch,
                width,
                height,
                radius,
            )?),
        };
        Ok(Job {
            variant,
            correction,
            next: (0, 0),
            bands: VecDeque::new(),
            upload: None,
            download: None,
            cancelled: false,
            started: None,
            work_done: 0.0,
            work_total: plan.as_ref().map_or(0.0, |p| (0..p.passes()).map(|pass| p.work(pass)).sum()),
            predicted_ms: plan.as_ref().map_or(0.0, |plan| self.predict(variant, plan)),
            upload_ms: 0.0,
            correct_ms: 0.0,
            filter_ms: 0.0,
            download_ms: 0.0,
            plan,
        })
    }

    /// Hands the slot's picture to the device and enqueues the first bands. Never waits.
    ///
    /// # Errors
    /// When the driver refuses a command; the device must then be idle ([`Pipeline::drain`]) before the slot goes.
    pub fn start(&mut self, job: &mut Job, slot: &mut Slot) -> Result<()> {
        job.started = Some(Instant::now());
        job.upload = slot.to_device(&self.cl)?;
        if let (Some(step), Some(corrector)) = (&mut job.correction, &mut self.corrector) {
            let (from, to) = (&step.source, &step.target);
            let event =
                corrector.enqueue(&self.cl.queue, from, to, step.size, &step.correction, step.matrix)?;
            step.event = Some(event);
        }
        self.fill_queue(job, slot)
    }

    /// Looks at what has finished, learns from it, and enqueues what comes next. Never waits.
    ///
    /// # Errors
    /// When a command failed on the device or the driver refuses one.
    pub fn advance(&mut self, job: &mut Job, slot: &mut Slot) -> Result<JobState> {
        while let Some(band) = job.bands.front() {
            if !is_complete(&band.event)? {
                break;
            }
            let ms = device_ms(&band.event);
            job.filter_ms += ms;
            job.work_done += band.work;
            self.pace.learn(job.variant, band.pass, band.work, ms);
            job.bands.pop_front();
        }
        self.fill_queue(job, slot)?;
        let Some(download) = &job.download else { return Ok(JobState::Running) };
        if !job.bands.is_empty() || !is_complete(download)? {
            return Ok(JobState::Running);
        }
        job.download_ms = device_ms(download);
        job.upload_ms = job.upload.as_ref().map_or(0.0, device_ms);
        job.correct_ms = job.correction.as_ref().and_then(|c| c.event.as_ref()).map_or(0.0, device_ms);
        slot.back_on_host();
        Ok(if job.cancelled { JobState::Cancelled } else { JobState::Done })
    }

    /// Enqueues bands until about two are waiting, and the download after the last one.
    fn fill_queue(&mut self, job: &mut Job, slot: &mut Slot) -> Result<()> {
        let mut enqueued = false;
        while let Some((pass, rows)) = self.next_band(job) {
            let Some(plan) = &job.plan else { break };
            let work = plan.work(pass) * rows.len() as f64 / f64::from(plan.rows().max(1));
            let predicted_ms = self.pace.ms(job.variant, pass, work);
            let waiting: f64 = job.bands.iter().map(|b| b.predicted_ms).sum();
            if !job.bands.is_empty() && waiting + predicted_ms > 2.0 * BAND_MS {
                break;
            }
            let event = plan.enqueue(&self.cl.queue, pass, rows.clone())?;
            job.next = if rows.end >= plan.rows() { (pass + 1, 0) } else { (pass, rows.end) };
            if predicted_ms > BAND_MS / 2.0 {
                wake_after(&event, &self.waker);
            }
            job.bands.push_back(Band { event, pass, work, predicted_ms });
            enqueued = true;
        }
        if job.download.is_none() && (job.cancelled || job.next.0 >= job.passes()) {
            let event = slot.to_host(&self.cl)?;
            wake_after(&event, &self.waker);
            job.download = Some(event);
            enqueued = true;
        }
        if enqueued {
            self.cl.queue.flush().map_err(|e| failed("The OpenCL queue could not be started.", &e))?;
        }
        Ok(())
    }

    /// The rows that come next, as many as are predicted to take [`BAND_MS`].
    fn next_band(&self, job: &Job) -> Option<(usize, Range<u32>)> {
        let (pass, first) = job.next;
        let plan = job.plan.as_ref().filter(|plan| !job.cancelled && pass < plan.passes())?;
        let all = plan.rows();
        let step = plan.row_step(pass).max(1);
        let row_ms = self.pace.ms(job.variant, pass, plan.work(pass)) / f64::from(all.max(1));
        let fit = (BAND_MS / row_ms.max(1e-9)).min(f64::from(all)) as u32;
        let rows = (fit / step).max(1).saturating_mul(step);
        Some((pass, first..all.min(first.saturating_add(rows))))
    }

    /// Waits until the device is idle, so that memory it uses can be released. For errors and teardown only.
    pub fn drain(&self) -> bool {
        self.cl.queue.finish().is_ok()
    }
}

/// Device time of a finished command, in milliseconds; 0 where the driver does not tell.
fn device_ms(event: &ocl::Event) -> f64 {
    timer::device_ms(event).unwrap_or(0.0)
}

/// The corrected picture's memory, of the kind and size that is wanted. What is replaced is kept by the jobs
/// that still use it.
fn corrected_picture(
    kept: &mut Option<((u32, u32), Picture)>,
    cl: &ClContext,
    storage: Storage,
    size: (u32, u32),
) -> Result<Picture> {
    if let Some((_, picture)) = kept.as_ref().filter(|(s, p)| *s == size && p.storage() == storage) {
        return Ok(picture.clone());
    }
    let picture = Picture::alloc(cl, storage, size.0, size.1)?;
    *kept = Some((size, picture.clone()));
    Ok(picture)
}

impl Job {
    fn passes(&self) -> usize {
        self.plan.as_ref().map_or(0, Plan::passes)
    }

    /// Drops the bands that are not in the queue yet. The job ends when those that are have finished.
    pub fn cancel(&mut self) {
        if self.download.is_none() {
            self.cancelled = true;
        }
    }

    /// Whether anything of it is or was on the device.
    pub fn was_started(&self) -> bool {
        self.started.is_some()
    }

    /// Predicted device time of what is left to do, in milliseconds.
    pub fn remaining_ms(&self) -> f64 {
        self.total_s() * 1e3 * (1.0 - self.fraction())
    }

    /// Predicted device time of the whole frame, in milliseconds.
    pub fn predicted_ms(&self) -> f64 {
        self.predicted_ms
    }

    /// Part of the filter's work that is done, 0 to 1.
    pub fn fraction(&self) -> f64 {
        if self.work_total > 0.0 { (self.work_done / self.work_total).min(1.0) } else { 0.0 }
    }

    /// Time since the job was started, in seconds; 0 before.
    pub fn elapsed_s(&self) -> f64 {
        self.started.map_or(0.0, |at| at.elapsed().as_secs_f64())
    }

    /// The best prediction of the whole frame's time: what was measured so far and is still to come, in
    /// seconds.
    pub fn total_s(&self) -> f64 {
        let fraction = self.fraction();
        if fraction > 0.02 { self.elapsed_s() / fraction } else { self.predicted_ms / 1e3 }
    }
}
