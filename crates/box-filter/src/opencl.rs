//! The box filter on an OpenCL device: compiles a variant's kernels, and binds them to pictures as a [`Plan`].

use std::cell::Cell;

use super::config::{Config, Extent};
use super::guarded::GuardedPicture;
use super::plan::{Pass, Plan};
use super::{Kernels, Scratch};
use crate::VariantId;
use crate::tuned::{self, SizeClass, UNTUNED_VARIANT};
use base::error::{Error, Result};
use base::verify;
use ladder::cache::Cache;
use opencl::cl::{self, ClContext, DeviceKind, failed};
use opencl::kernel::{Kernel, unique_number};
use opencl::memory::{Picture, Storage};
use opencl::program::{self, CompiledProgram};

/// The compiler option for an output in an image.
const TO_IMAGE: &str = " -D TO_IMAGE=1";

/// Returns the variant's kernels, or an error if it has none.
fn kernels_of(id: VariantId) -> Result<&'static Kernels> {
    id.kernels().ok_or_else(|| Error::new(format!("'{id}' has no kernel."), "It does without OpenCL.", ""))
}

/// A variant compiled for one device. It can be built on any thread and sent to another. Clones share the programs.
///
/// A variant may have several programs, for different sizes and radii; a plan uses the one for its size and radius.
#[derive(Debug, Clone)]
pub struct BuiltVariant {
    kernels: &'static Kernels,
    /// The programs of the variant; the first one is the default.
    programs: Vec<Program>,
    /// The programs to use instead of the default: a class of sizes, the index of a class of radii, and the index of the
    /// program to use for both.
    choices: Vec<(SizeClass, usize, usize)>,
    output: Storage,
    /// The number that identifies this build of the variant.
    number: u64,
    /// The version of edited kernels, if this is not the one that runs.
    version: Option<u64>,
}

/// A compiled program: one variant with one configuration.
#[derive(Debug, Clone)]
struct Program {
    id: VariantId,
    program: cl::Program,
    config: Config,
    /// True if the kernels are modified, so that their work is not known.
    is_modified: bool,
}

impl BuiltVariant {
    /// Compiles a variant with the device's default parameters ([`VariantId::Auto`]: with what tuning found), and runs it once
    /// on a small picture, because some drivers finish compiling at the first launch. Takes up to a second, so call it in the
    /// background; it uses a queue of its own.
    ///
    /// # Errors
    /// When the device cannot run the variant, or its kernels do not compile (with the log), have other arguments than
    /// expected, or fail to run. Variants without kernels, such as [`VariantId::Off`], are an error.
    pub fn build(cl: &ClContext, id: VariantId) -> Result<Self> {
        Self::build_as(cl, id, cl.device.info.kind)
    }

    /// Compiles the programs of [`BuiltVariant::build`], or of [`BuiltVariant::build_for_textures`] if `to_texture`, without
    /// running them, for [`ClContext::with_compiled`].
    pub fn precompile(cl: &ClContext, id: VariantId, to_texture: bool) -> Vec<CompiledProgram> {
        let device = &cl.device.info;
        let Some(kernels) = id.kernels().filter(|_| id != VariantId::Auto) else { return Vec::new() };
        let code = kernels.code(device.kind);
        let to_image = to_texture && code.to_image && kernels.storage != Storage::Image;
        let config = Config::new(code, device.kind).fit_to_device(device);
        let options = config.options() + if to_image { TO_IMAGE } else { "" };
        program::precompile(cl, code.file, &options).into_iter().collect()
    }

    /// As [`BuiltVariant::build`], with the code and the default parameters for devices of `kind`.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`].
    pub fn build_as(cl: &ClContext, id: VariantId, kind: DeviceKind) -> Result<Self> {
        Self::build_output(cl, id, kind, kernels_of(id)?.storage)
    }

    /// As [`BuiltVariant::build`], but with images for output if the variant's code can write them, so that it can write into a
    /// shared texture.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`].
    pub fn build_for_textures(cl: &ClContext, id: VariantId) -> Result<Self> {
        let kind = cl.device.info.kind;
        let kernels = kernels_of(id)?;
        let output = if kernels.code(kind).to_image { Storage::Image } else { kernels.storage };
        Self::build_output(cl, id, kind, output)
    }

    /// Compiles a variant with the code for devices of `kind` and with this storage of the output.
    fn build_output(cl: &ClContext, id: VariantId, kind: DeviceKind, output: Storage) -> Result<Self> {
        match id {
            VariantId::Auto => Self::build_auto(cl, kind, &Cache::load(), output),
            _ => Self::build_defaults(cl, id, kind, output),
        }
    }

    /// Compiles a variant with the default parameters for each class of sizes.
    fn build_defaults(cl: &ClContext, id: VariantId, kind: DeviceKind, output: Storage) -> Result<Self> {
        let (code, device) = (kernels_of(id)?.code(kind), &cl.device.info);
        let mut built = Self::build_into(cl, id, &Config::new(code, kind).fit_to_device(device), output)?;
        for size in SizeClass::ALL {
            let config = Config::for_kind(code, kind, size.as_str()).fit_to_device(device);
            // Sizes whose parameters this device does not support use the first program.
            if let Some(at) = built.find_or_build(cl, id, &config, output) {
                built.choices.extend((0..tuned::RADIUS_RANGES.len()).map(|class| (size, class, at)));
            }
        }
        Ok(built)
    }

    /// Returns the index of the program with this configuration, and builds it if necessary; `None` if it does not build.
    fn find_or_build(
        &mut self,
        cl: &ClContext,
        id: VariantId,
        config: &Config,
        output: Storage,
    ) -> Option<usize> {
        let is_same = |p: &Program| p.id == id && p.config == *config;
        if let Some(at) = self.programs.iter().position(is_same) {
            return Some(at);
        }
        self.programs.extend(Self::build_into(cl, id, config, output).ok()?.programs);
        Some(self.programs.len() - 1)
    }

    /// Compiles [`VariantId::Auto`] from the tuning results in `cache`. Entries that do not build, or cannot write `output`,
    /// are skipped.
    fn build_auto(cl: &ClContext, kind: DeviceKind, cache: &Cache, output: Storage) -> Result<Self> {
        let mut auto = Self::build_defaults(cl, UNTUNED_VARIANT, kind, output)?;
        auto.kernels = kernels_of(VariantId::Auto)?;
        let mut measured = Vec::new();
        for choice in tuned::tuned_variants(cache, &cl.device.info, cl.sources()) {
            if choice.variant.kernels().is_none_or(|kernels| kernels.storage != auto.kernels.storage) {
                continue;
            }
            if let Some(at) = auto.find_or_build(cl, choice.variant, &choice.config, output) {
                measured.push((choice.size, choice.radius_class, at));
            }
        }
        // The first matching choice is used, so tuning results come before the defaults.
        auto.choices.splice(0..0, measured);
        Ok(auto)
    }

    /// As [`BuiltVariant::build`], with these parameters.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`]; also when the device does not allow these parameters.
    pub fn build_with(cl: &ClContext, id: VariantId, config: &Config) -> Result<Self> {
        Self::build_into(cl, id, config, kernels_of(id)?.storage)
    }

    /// As [`BuiltVariant::build_with`], with the given storage of the output. Variants that read buffers may write images,
    /// which saves a copy to the displayed texture.
    ///
    /// # Errors
    /// As [`BuiltVariant::build_with`]; also when the variant's code cannot write output with this storage.
    pub fn build_into(cl: &ClContext, id: VariantId, config: &Config, output: Storage) -> Result<Self> {
        let kernels = kernels_of(id)?;
        let device = &cl.device.info;
        let (width, height) = (70, 3);
        kernels.supports(device, width, height)?;
        if !config.is_allowed(device) {
            let why = format!("The device does not allow {config}.");
            return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
        }
        let mut options = config.options();
        if output != kernels.storage {
            if !config.code().to_image || output != Storage::Image || !device.image_support {
                let why = format!("Its output cannot be an {output:?} there.").to_lowercase();
                return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
            }
            options += TO_IMAGE;
        }
        let file = config.code().file;
        let program = program::build(cl, file, &options)?;
        let is_modified = cl.sources().is_changed(file);
        let programs = vec![Program { id, program, config: config.clone(), is_modified }];
        let built =
            Self { kernels, programs, choices: Vec::new(), output, number: unique_number(), version: None };
        let queue = cl.extra_queue()?;
        // Modified kernels may write beyond their memory, which canaries protect.
        let bytes = (width * height * 4) as usize;
        let guard = if is_modified { verify::guard_bytes(bytes) } else { 0 };
        let allocate =
            |storage| GuardedPicture::new(cl, storage, (width, height), guard).map(|new| new.picture);
        let (src, dst) = (allocate(kernels.storage)?, allocate(output)?);
        src.write(&queue, &vec![128; bytes])?;
        let plan = built.plan(cl, &src, &dst, &mut Scratch::new(), width, height, 1)?;
        plan.check_arguments(output)?;
        plan.enqueue_all(&queue)?;
        queue.finish().map_err(|e| failed(&format!("'{id}' failed to run on '{}'.", device.name), &e))?;
        Ok(built)
    }

    /// Returns the same programs under another variant's id, such as `auto`.
    pub(super) fn with_id(self, id: &str) -> Self {
        let id: Option<VariantId> = id.parse().ok();
        let kernels = id.and_then(VariantId::kernels).unwrap_or(self.kernels);
        Self { kernels, ..self }
    }

    /// Returns the variant marked as this version of edited kernels, for a wipe against the version that runs.
    pub fn with_version(self, version: u64) -> Self {
        Self { version: Some(version), ..self }
    }

    /// Returns the variant.
    pub fn id(&self) -> VariantId {
        self.kernels.id
    }

    /// Returns the version of edited kernels; `None` if it is the one that runs.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// Returns the program for pictures of this size and radius.
    fn program(&self, width: u32, height: u32, radius: u32) -> Option<&Program> {
        let (size, class) = (SizeClass::of(width, height), tuned::radius_class(radius));
        let choice = self.choices.iter().find(|(s, c, _)| *s == size && *c == class);
        self.programs.get(choice.map_or(0, |(.., at)| *at))
    }

    /// Returns the variant and the parameters that are used for pictures of this size and radius.
    pub fn config(&self, (width, height): (u32, u32), radius: u32) -> Option<(VariantId, &Config)> {
        self.program(width, height, radius).map(|program| (program.id, &program.config))
    }

    /// Returns a number that identifies this build: plans of another build must not be used for it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the storage (buffer or image) of the variant's output.
    pub fn output(&self) -> Storage {
        self.output
    }

    /// Returns the declaration of the variant's kernels.
    pub fn kernels(&self) -> &'static Kernels {
        self.kernels
    }

    /// Binds the kernels to memory, to filter `src` into `dst` with `radius`. `src` must have the storage of this variant's
    /// input, and `dst` the storage of its [`output`](Self::output). Both must have exactly `width` by `height` pixels, and
    /// must not be the same memory.
    ///
    /// # Errors
    /// When the device cannot run the variant at this size, or runs out of memory.
    #[allow(clippy::too_many_arguments)]
    pub fn plan(
        &self,
        cl: &ClContext,
        src: &Picture,
        dst: &Picture,
        scratch: &mut Scratch,
        width: u32,
        height: u32,
        radius: u32,
    ) -> Result<Plan> {
        self.plan_tuned_for(cl, src, dst, scratch, (width, height), (width, height), radius)
    }

    /// As [`BuiltVariant::plan`], with the parameters that are used for pictures of `tuned_size`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn plan_tuned_for(
        &self,
        cl: &ClContext,
        src: &Picture,
        dst: &Picture,
        scratch: &mut Scratch,
        (width, height): (u32, u32),
        tuned_size: (u32, u32),
        radius: u32,
    ) -> Result<Plan> {
        let id = self.kernels.id;
        let what = format!("'{id}' could not be prepared.");
        if src.storage() != self.kernels.storage || dst.storage() != self.output {
            return Err(Error::new(what, "The pictures are stored in another way than it reads.", ""));
        }
        if width == 0 || height == 0 {
            return Err(Error::new(what, "The picture has no pixels.", ""));
        }
        self.kernels.supports(&cl.device.info, width, height)?;
        let Some(Program { id: variant, program, config, is_modified }) =
            self.program(tuned_size.0, tuned_size.1, radius)
        else {
            return Err(Error::new(what, "It is not built.", ""));
        };
        let code = config.code();
        let sums = match code.kernels.len() {
            1 => None,
            _ => Some(scratch.row_sums(cl, self.kernels.storage, width, height)?),
        };
        let extent = Extent { width, rows: height, radius, units: cl.device.info.units };
        let extra = match (code.scratch)(config, &extent) {
            0 => None,
            pixels => Some(scratch.column_sums(cl, pixels)?),
        };
        let last = code.kernels.len() - 1;
        let mut passes = Vec::with_capacity(last + 1);
        for (index, name) in code.kernels.iter().enumerate() {
            let kernel = Kernel::from_file(program, code.file, name, &what)?;
            let (is_first, is_last) = (index == 0, index == last);
            let between = sums.as_ref();
            let input = between.filter(|_| !is_first).unwrap_or(src.mem());
            let output = between.filter(|_| !is_last).unwrap_or(dst.mem());
            let scratch = extra.as_ref().filter(|_| is_last);
            let pass = Pass { kernel, is_last, has_scratch: scratch.is_some() };
            // Before a missing argument is set, whose error would name no number.
            pass.expect_count(code.file, name)?;
            pass.bind([input, output], scratch, (width, height)).map_err(|e| failed(&what, &e))?;
            passes.push(pass);
        }
        let units = cl.device.info.units;
        let (kernels, variant, config, is_modified) = (self.kernels, *variant, config.clone(), *is_modified);
        let radius_now = Cell::new(0);
        let plan =
            Plan { kernels, variant, config, is_modified, passes, width, height, units, radius: radius_now };
        plan.set_radius(radius)?;
        Ok(plan)
    }
}
