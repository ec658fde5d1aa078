//! Setting and removing the engine's OpenCL device, and queries about what it can do.

use super::job::Job;
use super::request::KernelsId;
use super::slot::DeviceBuffers;
use super::{Engine, Pipeline, Ticket};
use box_filter::VariantId;
use ladder::BackEnd;
use video::Frame;
use video::color::Staging;

/// A device that was removed from its engine, with its frames and memory objects. It must be released on the thread that makes the
/// device's calls.
pub(crate) struct RemovedDevice {
    /// The unfinished frames of the device.
    jobs: Vec<Job>,
    /// The device's memory objects of unused slots, and of slots whose frames do not use the device. A slot is the memory of one picture.
    buffers: Vec<DeviceBuffers>,
    pipeline: Pipeline,
}

// SAFETY: as the engine, of which it is a part.
unsafe impl Send for RemovedDevice {}

impl RemovedDevice {
    /// Returns the tickets of the unfinished frames, which are lost with the device.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> {
        self.jobs.iter().map(|job| job.ticket)
    }

    /// Adds the device's memory objects of further slots, to be released together with the device.
    pub(crate) fn add(&mut self, buffers: impl IntoIterator<Item = DeviceBuffers>) {
        self.buffers.extend(buffers);
    }

    /// Returns the pinned memory in which the decoder's thread packs planes for this device, if there is any.
    pub(crate) fn staging(&self) -> Option<&Staging> {
        self.pipeline.staging()
    }

    /// Waits until the device is idle and releases everything that is on it. Returns true if the device became idle; otherwise everything
    /// is leaked, because the device may still use it.
    pub(crate) fn release(self) -> bool {
        let is_idle = self.pipeline.drain();
        if !is_idle {
            // Releasing its objects would hang.
            std::mem::forget(self);
        }
        is_idle
    }
}

impl Engine {
    /// Returns the pipeline of the OpenCL device; `None` without a device.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// Returns the pipeline of the OpenCL device, to add programs that were built for it; `None` without a device.
    pub fn pipeline_mut(&mut self) -> Option<&mut Pipeline> {
        self.pipeline.as_mut()
    }

    /// Returns the pinned memory in which the decoder should pack the planes of later frames; `None` if the last frame was not loaded as
    /// planes.
    pub(crate) fn staging(&self) -> Option<&Staging> {
        self.pipeline.as_ref().filter(|_| self.loader.took_planes)?.staging()
    }

    /// Returns true if these kernels, a variant and its version as in [`Request`](super::Request), can be requested at this radius: the
    /// variant uses no OpenCL, or the kernels are built and no trial of them is in progress.
    pub fn can_filter(&self, kernels: KernelsId, radius: u32) -> bool {
        let on_device = |p: &Pipeline| p.variants.has(kernels) && !p.trials.is_pending(kernels, radius);
        kernels.0.back_end().does_without_opencl() || self.pipeline.as_ref().is_some_and(on_device)
    }

    /// Returns true if frames of this variant can be measured for scopes and auto-levels: always on the processor, and on an OpenCL device
    /// once the scopes' kernels are built.
    pub fn can_measure(&self, variant: VariantId) -> bool {
        let is_there = |pipeline: &Pipeline| matches!(pipeline.meters.scopes(), Some(Ok(())));
        match variant.back_end() {
            BackEnd::Native | BackEnd::Glsl => true,
            BackEnd::Nothing => self.pipeline.as_ref().is_none_or(is_there),
            BackEnd::OpenCl => self.pipeline.as_ref().is_some_and(is_there),
        }
    }

    /// Returns true if frames of this format cannot be converted on the device yet for these kernels, but will be once the conversion's
    /// program is built and, where required, checked. `to_texture` says that the picture goes into a texture.
    pub(crate) fn lacks_conversion(&mut self, frame: &Frame, kernels: KernelsId, to_texture: bool) -> bool {
        let pipeline = self.pipeline.as_mut().filter(|_| !kernels.0.back_end().does_without_opencl());
        pipeline.is_some_and(|pipeline| self.loader.lacks_conversion(pipeline, frame, kernels, to_texture))
    }

    /// Sets the OpenCL device; releases the device that was set before, with its unfinished frames.
    pub fn set_device(&mut self, pipeline: Pipeline) {
        self.remove_device().map(RemovedDevice::release);
        self.speeds.forget_device(pipeline.cl().device.info.kind);
        self.pipeline = Some(pipeline);
    }

    /// Removes the device and its unfinished frames. Frames of other back ends continue and lose only their memory objects on the device.
    /// Returns `None` if there is no device.
    pub(crate) fn remove_device(&mut self) -> Option<RemovedDevice> {
        let pipeline = self.pipeline.take()?;
        self.failure = None;
        let (jobs, kept): (Vec<Job>, Vec<Job>) =
            self.jobs.list.drain(..).partition(|job| job.on_device.is_some());
        self.jobs.list = kept.into();
        let buffers = self.jobs.list.iter_mut().map(|job| job.slot.take_device_buffers(true)).collect();
        Some(RemovedDevice { jobs, buffers, pipeline })
    }
}
