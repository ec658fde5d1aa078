//! The OpenCL device's part of a frame's processing. All steps are enqueued without waiting: upload → acquire → convert → correct →
//! (filter) → release, or a download if the picture goes to host memory.
//!
//! Variants that [read planes](VariantId::reads_planes) filter them before they are converted; all others filter the RGBA picture.
//!
//! Planes are converted and corrected by one kernel. A picture that comes as RGBA is corrected by a kernel of its own.
//! Only the upload has a queue of its own, on devices with memory of their own: it writes the slot's memory, so that a
//! frame is uploaded while the one before it is filtered.

use std::sync::Arc;
use std::time::Instant;

use ffmpeg_next::frame::Video;

use super::Slot;
use super::built_variants::BuiltVariants;
use super::conversions::Conversions;
use super::device_job::{DeviceJob, DeviceTimes};
use super::meters::Meters;
use super::picture_buffer::PictureBuffer;
use super::speed_model::ConversionTime;
use super::trials::Trials;
use base::device::DeviceKind;
use base::error::{Error, Result};
use box_filter::color_kernels::PinnedPlanes;
use box_filter::{Scratch, VariantId};
use opencl::cl::{ClContext, Queue, flush};
use opencl::event::{Waker, wait_in_queue, wake_after};
use opencl::timer::DeviceClock;
use opencl::transfer::enqueue_copy;
use opengl::pixel_buffer::PixelBuffer;
use stats::{Lane, Request, Sharing, Span, Stage, Stages};
use video::color::{Layout, PackedPicture, Staging};

/// One OpenCL device with its built variants, conversions and measuring kernels, and the memory that all frames use in turn.
pub struct Pipeline {
    /// The OpenCL context, with its device.
    pub cl: ClContext,
    /// The queue for uploads; `None` if uploads go to the queue of the other commands.
    pub(super) uploads: Option<Queue>,
    /// The pinned memory in which the planes of frames should be packed before they are loaded. `None` for a CPU device, which
    /// uses the planes in the slots' memory in place.
    pub(super) staging: Option<Staging>,
    /// The path of pictures from OpenCL to OpenGL: shared textures, or a copy through host memory.
    pub sharing: Sharing,
    /// The variants that are built; they are added as the builder has built them.
    pub variants: BuiltVariants,
    pub(super) scratch: Scratch,
    /// The trials of edited kernels.
    pub trials: Trials,
    /// The programs that convert and correct frames.
    pub conversions: Conversions,
    /// Memory for the RGBA picture between its conversion and its filter, and for those of earlier frames.
    pub(super) between: Vec<PictureBuffer>,
    /// Memory for pictures between the filters of a stack.
    pub(super) stacked: Vec<PictureBuffer>,
    /// Memory for the filtered picture, if that is then copied, or stretched by auto-levels, into a texture.
    pub(super) filtered: PictureBuffer,
    /// Memory for filtered planes before their conversion.
    pub(super) planes: PictureBuffer,
    pub(super) times: DeviceTimes,
    /// The kernels that measure and compare frames.
    pub meters: Meters,
    /// True if the last frame was loaded as planes.
    pub(super) took_planes: bool,
    /// The picture size and radius at which the status reports the variant that `auto` runs; `None` until they are set.
    pub(super) auto_for: Option<((u32, u32), u32)>,
}

impl Pipeline {
    /// Creates a pipeline without variants, which are added as they are built. `sharing` is the path of pictures from OpenCL to
    /// OpenGL.
    pub fn new(cl: ClContext, sharing: &Sharing) -> Self {
        // Without a second queue, uploads go to the only one.
        let wants_two_queues = match base::environment::text("CLREEL_QUEUES").as_deref() {
            Some("1") => false,
            Some("2") => true,
            // On a CPU, an upload is only a handover.
            _ => cl.device.info.kind != DeviceKind::Cpu,
        };
        let uploads = wants_two_queues.then(|| cl.extra_queue().ok()).flatten();
        let times = DeviceTimes {
            clock: DeviceClock::new(cl.clock()),
            uploads: if uploads.is_some() { Lane::Upload } else { Lane::Device },
            conversion: ConversionTime::default(),
        };
        Self {
            staging: (!cl.uses_host_memory()).then(Staging::default),
            uploads,
            sharing: sharing.clone(),
            variants: BuiltVariants::default(),
            scratch: Scratch::new(&cl),
            trials: Trials::default(),
            conversions: Conversions::new(&cl),
            between: Vec::new(),
            stacked: Vec::new(),
            filtered: PictureBuffer::default(),
            planes: PictureBuffer::default(),
            times,
            meters: Meters::default(),
            took_planes: false,
            auto_for: None,
            cl,
        }
    }

    /// Returns true if pictures are written into the slots' textures, because textures are shared.
    pub(super) fn to_texture(&self) -> bool {
        self.sharing == Sharing::ZeroCopy
    }

    /// Loads the planes of a picture, packed in `layout`, into `slot`. Returns the time of packing in milliseconds if they are in
    /// `packed`, because the decoder's thread has already packed them for this device; otherwise packs them now and returns `None`.
    ///
    /// # Errors
    /// If memory runs out, or the slot's memory is still in use.
    pub(crate) fn load_planes(
        &self,
        slot: &mut Slot,
        (picture, packed): (&Video, Option<Arc<PackedPicture>>),
        layout: &Layout,
    ) -> Result<Option<f64>> {
        let Some(staging) = &self.staging else {
            return slot.fill(&self.cl, picture, layout).map(|()| None);
        };
        let is_usable = |packed: &Arc<PackedPicture>| packed.belongs_to(staging) && packed.layout() == layout;
        if let Some(packed) = packed.filter(is_usable) {
            let took_ms = packed.packing_ms;
            return slot.load_packed(packed).map(|()| Some(took_ms));
        }
        // Not the filter's queue, which may be busy for long.
        let queue = self.uploads.as_ref().unwrap_or(&self.cl.queue);
        let allocate = || PinnedPlanes::allocate(&self.cl, queue, layout.bytes());
        slot.load_packed(Arc::new(staging.pack(picture, layout, allocate)?)).map(|()| None)
    }

    /// Enqueues a frame's commands before its filter: the upload, the acquisition of the texture, and the conversion or correction. Waits
    /// only for OpenGL, if that still draws from the slot's texture.
    ///
    /// # Errors
    /// If the driver refuses a command. The device must then be idle ([`Pipeline::drain`]) before the slot is dropped.
    pub(super) fn enqueue_before_filter(&mut self, job: &mut DeviceJob, slot: &mut Slot) -> Result<()> {
        let queue = &self.cl.queue;
        let before = Instant::now();
        job.began = Some(before);
        job.uploads = slot.to_device(&self.cl, self.uploads.as_ref().unwrap_or(queue))?;
        let last_upload = job.uploads.last().cloned();
        if let Some(upload) = &last_upload {
            job.note_enqueue_time(upload, before);
        }
        if let (Some(uploads), Some(_)) = (&self.uploads, &last_upload) {
            flush(uploads)?;
        }
        if job.to_texture {
            let began = Instant::now();
            job.acquire = Some(slot.acquire(&self.cl)?);
            job.host_spans.push(Span::since(Stage::Acquire, began));
        }
        if let (Some(_), Some(upload)) = (&self.uploads, &last_upload) {
            wait_in_queue(queue, upload)?;
        }
        let before = Instant::now();
        let first = job.colors.as_ref().filter(|_| !job.colors_last);
        for (back, colors) in first.into_iter().chain(&job.earlier_colors).enumerate() {
            let kernels = &mut slot.frames_back(back).device.plans.colors;
            job.converted.extend(self.conversions.enqueue(kernels, Some(colors))?);
        }
        if let Some(converted) = job.converted.last().cloned() {
            job.note_enqueue_time(&converted, before);
        }
        Ok(())
    }

    /// Enqueues a frame's commands after its filter: the conversion of filtered planes or the correction of the picture made of planes, the measurements, and either the copy
    /// into the texture and its release to OpenGL, or the download. For a cancelled frame, only enqueues the return of the
    /// slot's memory. `waker` is called when the commands are complete.
    ///
    /// # Errors
    /// If the driver refuses a command.
    pub(super) fn enqueue_after_filter(
        &mut self,
        job: &mut DeviceJob,
        slot: &mut Slot,
        waker: &Waker,
    ) -> Result<()> {
        if !job.is_cancelled {
            if let Some(colors) = job.colors.as_ref().filter(|_| job.colors_last) {
                let converted = self.conversions.enqueue(&mut slot.device.plans.colors, Some(colors))?;
                job.converted.extend(converted);
            }
            self.meters.enqueue(&self.cl, job)?;
        }
        let began = Instant::now();
        if let (Some(filtered), false) = (&job.to_copy, job.is_cancelled) {
            let texture = slot.device.shared_texture()?;
            job.copied.push(enqueue_copy(&self.cl.queue, filtered, texture)?);
        }
        let before = Instant::now();
        let last = slot.to_host(&self.cl, job.to_texture)?;
        job.note_enqueue_time(&last, before);
        wake_after(&last, waker);
        job.last = Some(last);
        // Drivers do much of a handover to OpenGL in the call, or when the queue is flushed.
        flush(&self.cl.queue)?;
        job.host_spans.push(Span::since(Stage::Release, began));
        Ok(())
    }

    /// Returns the properties of the device that determine what OpenGL has to do before a frame.
    pub(crate) fn slot_preparation(&self) -> SlotPreparation {
        SlotPreparation {
            shares_textures: self.to_texture(),
            is_cpu: self.cl.is_cpu(),
            uses_host_memory: self.cl.uses_host_memory(),
        }
    }

    /// Returns the last frame after its conversion to RGBA on the device, before the filter, for tests. Waits for the device.
    /// Returns `None` if no frame was converted.
    ///
    /// # Errors
    /// If memory runs out, or the device fails.
    pub fn read_converted(&self) -> Result<Option<Vec<u8>>> {
        self.between.first().map_or(Ok(None), |between| between.read(&self.cl))
    }

    /// Returns the filtered planes of the last frame, for tests. Waits for the device. Returns `None` if no planes were
    /// filtered.
    ///
    /// # Errors
    /// If memory runs out, or the device fails.
    pub fn read_filtered_planes(&self) -> Result<Option<Vec<u8>>> {
        self.planes.read(&self.cl)
    }

    /// Waits until the device is idle, so that its memory can be released; returns false if a queue failed. For errors and teardown only.
    pub(crate) fn drain(&self) -> bool {
        // Waits for both, also if the first one failed.
        let filter = self.cl.queue.finish().is_ok();
        let uploads = self.uploads.as_ref().is_none_or(|uploads| uploads.finish().is_ok());
        filter && uploads
    }

    /// Forgets the trials and conversions that were requested from the builder and have no result, for example because the builder's thread
    /// was abandoned. Frames request them again.
    pub fn forget_requests(&mut self) {
        self.trials.forget_requests();
        self.conversions.known.forget_requests();
    }
}

/// Properties of a device that determine what OpenGL must do before the device uses a slot. The methods do that on the thread
/// with OpenGL's context, so that the device's thread needs no OpenGL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotPreparation {
    shares_textures: bool,
    is_cpu: bool,
    uses_host_memory: bool,
}

impl SlotPreparation {
    /// Waits until OpenGL has finished with the slot, if the request needs that, and adds the time to `stages`.
    pub(crate) fn prepare(self, slot: &mut Slot, request: &Request, stages: &mut Stages) {
        let began = Instant::now();
        let is_filtered =
            request.filters().next().is_some() || request.correction.is_some() || request.measures();
        if (is_filtered || !self.is_cpu) && self.prepare_map(slot) {
            stages.record(Stage::Acquire, began);
        }
    }

    /// Waits until OpenGL has finished with a slot that the device will write, such as that of a map of differences. Returns
    /// true if there was anything to wait for, even if OpenGL had already finished.
    pub(crate) fn prepare_map(self, slot: &mut Slot) -> bool {
        let shares = self.shares_textures && slot.texture().is_some();
        // The device writes into the pixel buffer, from where OpenGL copies the picture into the texture.
        // Drivers of CPU devices use memory in place only if it starts at a page boundary.
        let can_write_into =
            |pixels: &PixelBuffer| !self.uses_host_memory || pixels.start().addr().get().is_multiple_of(4096);
        slot.prepare_for_device(shares, can_write_into)
    }
}

pub(super) fn not_built_error(variant: VariantId) -> Error {
    Error::new(format!("The variant '{variant}' is not built."), "", "Choose another variant.")
}
