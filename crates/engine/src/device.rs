//! Sets and removes the engine's OpenCL device, and describes the device's abilities to threads that do not use it.

use super::conversions::Check;
use super::job::Job;
use super::{Engine, Pipeline, Slot, TrialCase};
use base::error::{Error, Result};
use box_filter::color_kernels::Conversion;
use box_filter::color_kernels::check::intended_kernel_file;
use box_filter::{Settings, VariantId};
use compute::BackEnd;
use opencl::memory::Storage;
use stats::{AutoChoice, KernelsId, Layer};
use video::color::Layout;

/// A device that was removed from its engine, with its frames and memory objects. It must be released on the thread that makes the
/// device's calls.
pub(crate) struct RemovedDevice {
    /// The unfinished frames of the device.
    _jobs: Vec<Job>,
    /// Slots that are not needed any more, and slots with the device's memory objects that were taken out of others.
    pub slots: Vec<Slot>,
    pub pipeline: Pipeline,
}

// SAFETY: a removed device goes to the thread that releases it as a whole, with all clones of what it shares within itself. OpenCL's
// objects may be released on any thread; the names of OpenGL's are deleted where the context is current.
unsafe impl Send for RemovedDevice {}

impl RemovedDevice {
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

/// A snapshot of what an engine's device can do now. Workers report it, so that threads without the engine know it, too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceStatus {
    /// True if the device is a CPU; `None` without a device.
    is_cpu: Option<bool>,
    built: Vec<KernelsId>,
    /// Edited kernels whose trial in the sandbox is in progress, each with the settings of the trial.
    pending: Vec<(KernelsId, Settings)>,
    /// Edited kernels whose trial failed, each with the settings of the trial and the error.
    refused: Vec<(KernelsId, Settings, Error)>,
    /// All conversions that frames have requested.
    conversions: Vec<Conversion>,
    /// `Ok` if frames can be measured for the scopes, else the error because of which they cannot; `None` until the kernels
    /// that measure are built.
    pub scopes: Option<Result<()>>,
    /// True once the kernels that compare two pictures are built, or their build has failed.
    pub(crate) has_comparer: bool,
    /// True if the last frame was loaded as planes, for a conversion on the device.
    pub(crate) takes_planes: bool,
    /// The variant and parameters that `auto` runs at the picture size and radius in [`Pipeline::auto_for`].
    pub(crate) auto: Option<AutoChoice>,
}

impl DeviceStatus {
    /// Returns true if these kernels, a variant and its version as in [`Request`](super::Request), can be requested with these settings: the
    /// variant uses no OpenCL, or the kernels are built and no trial of them is in progress.
    pub fn can_filter(&self, kernels: KernelsId, settings: impl Into<Settings>) -> bool {
        kernels.0.back_end().does_without_opencl()
            || self.built.contains(&kernels) && !self.pending.contains(&(kernels, settings.into()))
    }

    /// Returns the error because of which a layer of a stack is left out on this device; `None` if it runs, or will run soon.
    pub fn layer_error(&self, layer: Layer) -> Option<Error> {
        let kernels = (layer.variant, None);
        let is_it =
            |refused: &&(KernelsId, Settings, Error)| (refused.0, refused.1) == (kernels, layer.settings);
        let refused = self.refused.iter().find(is_it).map(|(.., error)| error.clone());
        let is_missing = self.has_device() && !self.built.contains(&kernels);
        refused.or_else(|| is_missing.then(|| super::pipeline::not_built_error(layer.variant)))
    }

    /// Returns true if frames of this variant can be measured for scopes and auto-levels: always if the CPU measures them, and
    /// on an OpenCL device once the scopes' kernels are built.
    pub fn can_measure(&self, variant: VariantId) -> bool {
        match variant.back_end() {
            BackEnd::Native | BackEnd::Glsl => true,
            BackEnd::Nothing => !self.has_device() || self.scopes == Some(Ok(())),
            BackEnd::OpenCl => self.scopes == Some(Ok(())),
        }
    }

    /// Returns true if the variant is built with the version of its kernels that is in use.
    pub fn has_built(&self, variant: VariantId) -> bool {
        self.built.contains(&(variant, None))
    }

    /// Returns true if the kernels of the variant are not built yet; false for variants without OpenCL.
    pub(crate) fn awaits_build(&self, variant: VariantId) -> bool {
        !variant.back_end().does_without_opencl() && !self.has_built(variant)
    }

    pub(crate) fn has_device(&self) -> bool {
        self.is_cpu.is_some()
    }

    /// Returns the conversions to test when kernels were edited: from this layout, and from the layout of its filtered planes.
    /// These are all conversions that frames have requested, and one conversion to a buffer for each kernel file that no
    /// requested conversion uses. Each is returned with its kernel file.
    pub fn conversions_to_test(&self, layout: &Layout) -> Vec<(Conversion, &'static str)> {
        let is_cpu = self.is_cpu.unwrap_or_default();
        let all = |storage: Storage| {
            [*layout, layout.filtered()].into_iter().map(move |layout| {
                let conversion = Conversion { layout, storage };
                (conversion, intended_kernel_file(is_cpu, &conversion))
            })
        };
        let was_requested = |(conversion, _): &(Conversion, _)| self.conversions.contains(conversion);
        let mut found: Vec<_> =
            all(Storage::Buffer).chain(all(Storage::Image)).filter(was_requested).collect();
        for one in all(Storage::Buffer) {
            if found.iter().all(|(_, file)| *file != one.1) {
                found.push(one);
            }
        }
        found
    }
}

/// A program or a result that frames need and that is missing, to be requested from the builder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub enum Need {
    /// The kernels that measure the luminance of pictures of this size for the scopes.
    Scopes((u32, u32)),
    /// The kernels that compare two pictures.
    Comparer,
    /// The program that converts planes of this layout to RGBA in this kind of memory (buffer or image).
    Conversion(Conversion),
    /// The run of edited kernels in the sandbox that must precede their use.
    Trial(TrialCase),
    /// The comparison with the reference, in the background, of a conversion or correction that is in use.
    Check(Check),
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

    /// Returns what the device can do now. Without a device, only variants that use no OpenCL are available.
    pub fn status(&self) -> DeviceStatus {
        self.pipeline.as_ref().map_or_else(DeviceStatus::default, Pipeline::status)
    }

    /// Sets the OpenCL device; releases the device that was set before, with its unfinished frames.
    pub fn set_device(&mut self, pipeline: Pipeline) {
        self.remove_device().map(RemovedDevice::release);
        self.speeds.forget_device(pipeline.cl.device.info.kind);
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
        let slots = self.jobs.take_device_buffers();
        Some(RemovedDevice { _jobs: jobs, slots, pipeline })
    }
}

impl Pipeline {
    /// Returns what the device can do now.
    pub(crate) fn status(&self) -> DeviceStatus {
        let scopes = self.meters.scopes.as_ref();
        DeviceStatus {
            is_cpu: Some(self.cl.is_cpu()),
            built: self.variants.kernels().collect(),
            pending: self.trials.pending().collect(),
            refused: self.trials.refused().collect(),
            conversions: self.conversions.known.trust.keys().copied().collect(),
            scopes: scopes.map(|scopes| scopes.as_ref().map(|_| ()).map_err(Clone::clone)),
            has_comparer: self.meters.comparer.is_some(),
            takes_planes: self.took_planes,
            auto: self.auto_for.and_then(|(size, radius)| self.variants.auto(size, radius)),
        }
    }

    /// Returns the programs and results that frames needed and that were not returned before.
    pub(crate) fn take_needs(&mut self) -> Vec<Need> {
        let known = &mut self.conversions.known;
        let needs = known.missing.drain(..).map(Need::Conversion);
        let needs = needs.chain(self.trials.missing.drain(..).map(Need::Trial));
        needs.chain(known.unchecked.drain(..).map(Need::Check)).collect()
    }
}
