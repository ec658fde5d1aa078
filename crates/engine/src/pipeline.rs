//! The OpenCL device's share of a frame's way, enqueued so that nothing waits: upload → acquire → convert → correct →
//! (filter) → release, or a download where the picture is wanted in the host's memory.
//!
//! In: a [`Slot`] that is loaded with a frame's planes or its RGBA picture, and the commands that were prepared for
//! it. Out: those commands in the device's queue, around the filter's, which `bands` begins.
//!
//! Variants that [read planes](VariantId::reads_planes) filter them before they are converted; all others filter the RGBA picture.
//!
//! Planes are converted and corrected by one kernel. A picture that comes as RGBA is corrected by a kernel of its own.
//! Only the upload has a queue of its own, on devices with memory of their own: it writes the slot's memory, so that a
//! frame is uploaded while the one before it is filtered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::conversions::Known;
use super::device_job::{Colors, DeviceJob};
use super::pace::ConversionTime;
use super::scopes::{self, Readings, Scopes};
use super::trials::Trials;
use super::{Comparer, Request, Slot};
use crate::sharing::Sharing;
use crate::stats::{Lane, Stage};
use base::error::{Error, Result};
use base::memory::picture_memory;
use box_filter::VariantId;
use box_filter::color_kernels::{Converter, Corrector, pack_pinned};
use box_filter::planar::PlanarFilter;
use box_filter::{BuiltVariant, Scratch};
use opencl::cl::{ClContext, DeviceKind, Queue, failed, flush};
use opencl::event::{Waker, wait_in_queue, wake_after};
use opencl::memory::{Picture, Storage};
use opencl::timer::DeviceClock;
use opencl::transfer::enqueue_copy_to_image;
use opengl::pixel_buffer::PixelBuffer;
use video::Frame;
use video::color::Layout;
use video::color::{Packed, Staging};

/// The filter on one device: its built variants and what is known about their speed.
pub struct Pipeline {
    pub(super) cl: ClContext,
    /// For the uploads; without it they go to the queue of the other commands.
    pub(super) uploads: Option<Queue>,
    /// Memory for packed planes; without it they are packed into the slots' memory, which a CPU device uses in place.
    pub(super) staging: Option<Staging>,
    /// How its results get to OpenGL.
    sharing: Sharing,
    pub(super) built: HashMap<VariantId, BuiltVariant>,
    pub(super) planar: HashMap<VariantId, PlanarFilter>,
    pub(super) scratch: Scratch,
    pub(super) corrector: Option<Corrector>,
    /// What compares pictures, or why nothing does; `None` until it is built, or first wanted by who has no builder.
    pub(super) comparer: Option<Result<Comparer>>,
    /// It was asked for.
    pub(super) comparer_asked: bool,
    pub(super) converter: Converter,
    pub(super) trials: Trials,
    pub(super) known: Known,
    /// The corrector is not to be used.
    pub(super) correction_is_wrong: bool,
    /// The picture before the filter, and the filtered one on its way into a texture.
    pub(super) between: Reused,
    /// The same as an image, where it is a buffer for another filter.
    pub(super) as_image: Reused,
    pub(super) filtered: Reused,
    /// Planes between filter and conversion.
    pub(super) planes: Reused,
    pub(super) conversion_time: ConversionTime,
    pub(super) device_clock: DeviceClock,
    /// What measures frames, or why nothing does; `None` until it is built.
    pub(super) scopes: Option<Result<Scopes>>,
    /// For which pictures it was asked for.
    pub(super) scopes_asked: Option<&'static str>,
}

/// Memory that all jobs share, of the kind and size that was wanted last.
#[derive(Default)]
pub(super) struct Reused(Option<((u32, u32), Picture)>);

impl Reused {
    /// What is replaced lives on in the jobs that still use it.
    pub(super) fn get(&mut self, cl: &ClContext, storage: Storage, size: (u32, u32)) -> Result<Picture> {
        if let Some((_, picture)) = self.0.as_ref().filter(|(s, p)| *s == size && p.storage() == storage) {
            return Ok(picture.clone());
        }
        self.0 = None;
        let picture = Picture::alloc(cl, storage, size.0, size.1)?;
        Ok(self.0.insert((size, picture)).1.clone())
    }

    /// What is there; waits.
    fn read(&self, cl: &ClContext) -> Result<Option<Vec<u8>>> {
        let Some(((width, height), picture)) = &self.0 else { return Ok(None) };
        let mut pixels = picture_memory(*width, *height)?;
        picture.read(&cl.queue, &mut pixels)?;
        Ok(Some(pixels))
    }
}

impl Pipeline {
    /// A pipeline without variants; add them as they are built. `sharing` says how its results get to OpenGL.
    pub fn new(cl: ClContext, sharing: &Sharing) -> Self {
        // A driver that has no second queue does with one.
        let uploads = wants_two_queues(cl.device.info.kind).then(|| cl.extra_queue().ok()).flatten();
        Self {
            staging: (!cl.uses_host_memory()).then(Staging::default),
            uploads,
            sharing: sharing.clone(),
            built: HashMap::new(),
            planar: HashMap::new(),
            scratch: Scratch::new(),
            corrector: None,
            comparer: None,
            comparer_asked: false,
            converter: Converter::new(&cl),
            trials: Trials::default(),
            known: Known::default(),
            correction_is_wrong: false,
            between: Reused::default(),
            as_image: Reused::default(),
            filtered: Reused::default(),
            planes: Reused::default(),
            conversion_time: ConversionTime::default(),
            device_clock: DeviceClock::default(),
            scopes: None,
            scopes_asked: None,
            cl,
        }
    }

    /// How its results get to OpenGL.
    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Whether they go into the slots' textures.
    pub(super) fn to_texture(&self) -> bool {
        self.sharing == Sharing::ZeroCopy
    }

    /// The device and its context.
    pub fn cl(&self) -> &ClContext {
        &self.cl
    }

    /// Where the planes of frames that this device converts are to be packed, if anywhere before they are loaded.
    pub(crate) fn staging(&self) -> Option<&Staging> {
        self.staging.as_ref()
    }

    /// Puts the planes of `frame`, which are to be packed as `layout` says, into `slot`; those that the decoder's
    /// thread has packed for this device as they are, and then returns what that took, in milliseconds.
    ///
    /// # Errors
    /// When memory runs out, or the slot's memory is still in use.
    pub(crate) fn load_planes(&self, slot: &mut Slot, frame: &Frame, layout: &Layout) -> Result<Option<f64>> {
        let Some(staging) = &self.staging else {
            return slot.fill(&self.cl, &frame.picture, layout).map(|()| None);
        };
        let is_usable = |packed: &Arc<Packed>| packed.is_of(staging) && packed.layout() == layout;
        if let Some(packed) = frame.packed.get().filter(is_usable) {
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
        self.built.insert(variant.id(), variant);
    }

    /// Adds a filter on planes that the builder finished.
    pub fn add_planar(&mut self, filter: PlanarFilter) {
        self.planar.insert(filter.id(), filter);
    }

    /// Whether a variant can be submitted.
    pub fn has(&self, variant: VariantId) -> bool {
        self.built.contains_key(&variant) || self.planar.contains_key(&variant)
    }

    /// What a variant filters pictures of this size and radius with; `None` where it cannot be submitted.
    pub(crate) fn chosen(
        &self,
        variant: VariantId,
        (width, height): (u32, u32),
        radius: u32,
    ) -> Option<String> {
        self.built.get(&variant)?.chosen(width, height, radius)
    }

    /// Adds the colour correction that the builder finished.
    pub fn set_corrector(&mut self, corrector: Corrector) {
        self.corrector = Some(corrector);
    }

    /// Whether colours of RGBA pictures can be corrected on the device.
    pub fn corrects(&self) -> bool {
        self.corrector.is_some() && !self.correction_is_wrong
    }

    /// Hands the slot's picture to the device, and enqueues what comes before the filter. Waits for nothing but
    /// OpenGL, where that still draws from the slot's texture.
    ///
    /// # Errors
    /// When the driver refuses a command; the device must then be idle ([`Pipeline::drain`]) before the slot goes.
    pub(super) fn begin(&mut self, job: &mut DeviceJob, slot: &mut Slot) -> Result<()> {
        let queue = &self.cl.queue;
        let before = Instant::now();
        job.began = Some(before);
        job.upload = slot.to_device(&self.cl, self.uploads.as_ref().unwrap_or(queue))?;
        if let Some(upload) = job.upload.clone() {
            job.enqueued(&upload, before);
        }
        if let (Some(uploads), Some(_)) = (&self.uploads, &job.upload) {
            flush(uploads)?;
        }
        if job.to_texture {
            let began = Instant::now();
            job.acquire = Some(slot.acquire(&self.cl)?);
            job.host_did(Stage::Acquire, began);
        }
        if let (Some(_), Some(upload)) = (&self.uploads, &job.upload) {
            wait_in_queue(queue, upload)?;
        }
        let (before, size) = (Instant::now(), slot.size());
        let (planes, kept) = slot.planes_and_kept();
        let converted = match (&job.colors, planes, &mut self.corrector) {
            (Some(Colors::Convert { correction, to }), Some(planes), _) => {
                let (layout, block) = (planes.layout(), planes.on_device()?);
                self.converter.enqueue_kept(queue, kept, layout, block, to, correction)?
            }
            (Some(Colors::Correct { correction, rgba, from, to }), _, Some(corrector)) => {
                corrector.enqueue_kept(queue, kept, from, to, size, correction, *rgba)?
            }
            _ => return self.copy_to_image(job),
        };
        job.enqueued(&converted, before);
        job.converted = Some(converted);
        self.copy_to_image(job)
    }

    fn copy_to_image(&self, job: &mut DeviceJob) -> Result<()> {
        let copied = job.to_image.as_ref().map(|(from, to)| enqueue_copy_to_image(&self.cl, from, to));
        job.in_image = copied.transpose()?;
        Ok(())
    }

    /// Enqueues what comes after the filter: the conversion of planes that were filtered, the copy into the texture
    /// and its release, or the download; of a frame that was cancelled only what gives its memory back. `waker` is
    /// called after it.
    ///
    /// # Errors
    /// When the driver refuses a command.
    pub(super) fn give_back(
        &mut self,
        job: &mut DeviceJob,
        slot: &mut Slot,
        cancelled: bool,
        waker: &Waker,
    ) -> Result<()> {
        if let (Some(Colors::ConvertFiltered { correction, layout, from, to }), false) =
            (&job.colors, cancelled)
        {
            let (queue, kept) = (&self.cl.queue, slot.planes_and_kept().1);
            job.converted = Some(self.converter.enqueue_kept(queue, kept, layout, from, to, correction)?);
        }
        if !cancelled {
            self.measure(job)?;
        }
        let began = Instant::now();
        if let (Some(filtered), false) = (&job.to_copy, cancelled) {
            job.copied.push(slot.copy_to_texture(&self.cl, filtered)?);
        }
        let before = Instant::now();
        let last = slot.to_host(&self.cl, job.to_texture)?;
        job.enqueued(&last, before);
        wake_after(&last, waker);
        job.last = Some(last);
        // Drivers do much of a handover in the call, or when the queue is flushed.
        flush(&self.cl.queue)?;
        job.host_did(Stage::Release, began);
        Ok(())
    }

    /// Whether memory of OpenGL's can take the picture to the texture.
    fn takes(&self, pixels: &PixelBuffer) -> bool {
        !self.cl.uses_host_memory() || pixels.is_aligned()
    }

    /// Does what OpenGL has to do before such a request goes to the device with this slot; returns whether there was anything
    /// to wait for.
    pub(super) fn make_ready(&self, slot: &mut Slot, request: &Request) -> bool {
        let is_filtered =
            request.variant != VariantId::Off || request.correction.is_some() || request.measures();
        let shares = self.to_texture() && slot.texture().is_some();
        (is_filtered || !self.cl.is_cpu()) && slot.be_ready(shares, |pixels| self.takes(pixels))
    }

    /// The same before a map of differences is written into this slot.
    pub(super) fn make_map_ready(&self, map: &mut Slot) {
        map.be_ready(self.to_texture() && map.texture().is_some(), |pixels| self.takes(pixels));
    }

    /// How the time of a conversion, and of the correction in its kernel, falls apart.
    pub(super) fn split(&mut self, colors: &Colors, size: (u32, u32), ms: f64) -> (f64, f64) {
        match colors {
            Colors::Convert { correction, to } => {
                self.conversion_time.split((size, to.storage(), false), ms, correction)
            }
            Colors::ConvertFiltered { correction, to, .. } => {
                self.conversion_time.split((size, to.storage(), true), ms, correction)
            }
            Colors::Correct { .. } => (0.0, ms),
        }
    }

    /// The last frame as it was converted on the device for a filter, for those who check that; waits. `None` where that was
    /// not.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn converted(&self) -> Result<Option<Vec<u8>>> {
        self.between.read(&self.cl)
    }

    /// The planes of the last frame as they were filtered, for those who check what was made of them; waits.
    ///
    /// # Errors
    /// As [`Pipeline::converted`].
    pub fn filtered_planes(&self) -> Result<Option<Vec<u8>>> {
        self.planes.read(&self.cl)
    }

    /// Waits until the device is idle, so that memory it uses can be released. For errors and teardown only.
    pub(crate) fn drain(&self) -> bool {
        // Both, whatever the first one says.
        let filter = self.cl.queue.finish().is_ok();
        let uploads = self.uploads.as_ref().is_none_or(|uploads| uploads.finish().is_ok());
        filter && uploads
    }

    /// What the uploads run on, for spans.
    pub(super) fn upload_lane(&self) -> Lane {
        if self.uploads.is_some() { Lane::Upload } else { Lane::Device }
    }
}

impl Pipeline {
    /// Gives it what was built to measure frames, or why that could not be.
    pub fn set_scopes(&mut self, scopes: Result<Scopes>) {
        self.scopes = Some(scopes);
    }

    /// What measures frames, or why nothing does; `None` until it is built.
    pub(crate) fn scopes(&self) -> Option<std::result::Result<(), &Error>> {
        self.scopes.as_ref().map(|scopes| scopes.as_ref().map(|_| ()))
    }

    /// Whether what measures such pictures is to be built; told once.
    pub(crate) fn lacks_scopes(&mut self, size: (u32, u32)) -> bool {
        let class = scopes::class(size);
        self.scopes_asked.replace(class) != Some(class)
    }

    /// Gives it what was built to compare pictures, or why that could not be.
    pub fn set_comparer(&mut self, comparer: Result<Comparer>) {
        self.comparer = Some(comparer);
    }

    /// Whether it has that.
    pub(crate) fn has_comparer(&self) -> bool {
        self.comparer.is_some()
    }

    /// Whether it is to be built; told once.
    pub(crate) fn lacks_comparer(&mut self) -> bool {
        !self.has_comparer() && !std::mem::replace(&mut self.comparer_asked, true)
    }

    /// Forgets what the builder was asked for and has not told, such as one whose thread was left: frames ask
    /// for it anew.
    pub fn ask_again(&mut self) {
        self.trials.ask_again();
        self.known.ask_again();
        self.scopes_asked = None;
        self.comparer_asked = false;
    }

    /// Whether auto-levels, and no filter, write the picture there.
    pub(super) fn levels_write(&self, wanted: Option<&scopes::Wanted>, picture: &Picture) -> bool {
        let Some(Ok(scopes)) = &self.scopes else { return false };
        wanted.is_some_and(|wanted| wanted.levels) && scopes.stretches_into(picture)
    }

    fn measure(&mut self, job: &mut DeviceJob) -> Result<()> {
        if let Some((from, to)) = job.unfiltered.take() {
            let copied = from.enqueue_copy(&self.cl.queue, &to);
            job.copied.push(copied.map_err(|e| failed("A frame could not be copied on the device.", &e))?);
        }
        let (Some((wanted, picture, to)), Some(Ok(scopes))) = (job.wanted.take(), &self.scopes) else {
            return Ok(());
        };
        job.measured = Some(scopes.enqueue(&self.cl, wanted, &picture, &to)?);
        Ok(())
    }

    /// What was measured of a frame that is over.
    pub(super) fn readings(&mut self, job: &mut DeviceJob) -> Option<Readings> {
        let measured = job.measured.take()?;
        match &mut self.scopes {
            Some(Ok(scopes)) => scopes.readings(measured),
            _ => None,
        }
    }
}

/// Prepares what is to be measured of a filtered picture that the filter leaves in such memory. Where there is no memory for it,
/// nothing is measured any more.
pub(super) fn measuring(
    scopes: &mut Option<Result<Scopes>>,
    cl: &ClContext,
    request: &Request,
    storage: Storage,
    size: (u32, u32),
) -> Option<scopes::Wanted> {
    let Some(Ok(measures)) = scopes.as_mut().filter(|_| request.measures()) else { return None };
    match measures.prepare(cl, storage, size, request.readings, request.levels) {
        Ok(wanted) => Some(wanted),
        Err(error) => {
            *scopes = Some(Err(error));
            None
        }
    }
}

/// Whether uploads get a queue of their own. On a CPU they are no work, only a handover. `CLREEL_QUEUES` says otherwise.
fn wants_two_queues(kind: DeviceKind) -> bool {
    match base::environment::text("CLREEL_QUEUES").as_deref() {
        Some("1") => false,
        Some("2") => true,
        _ => kind != DeviceKind::Cpu,
    }
}

/// What is said of a variant that nobody has built.
pub(super) fn not_built(variant: VariantId) -> Error {
    Error::new(format!("The variant '{variant}' is not built."), "", "Choose another variant.")
}
