//! The box filter on an OpenCL device. In: pictures on the device. Out: commands on a queue that filter
//! them, whole or band by band, and that never wait.

use std::cell::Cell;

use super::config::{self, Config, Extent};
use super::plan::{Pass, Plan};
use super::{Kernels, Scratch, run};
use crate::VariantId;
use crate::tuned::{self, SizeClass, UNTUNED};
use base::error::{Error, Result};
use ladder::cache::Cache;
use opencl::cl::{self, ClContext, DeviceKind, failed};
use opencl::kernel::{Kernel, unique};
use opencl::memory::{Picture, Storage};
use opencl::program::{self, Ahead};

/// The compiler's option for an output in an image.
const TO_IMAGE: &str = " -D TO_IMAGE=1";

/// The variant's kernels, or an error for what is not made of kernels.
fn kernels_of(id: VariantId) -> Result<&'static Kernels> {
    id.kernels().ok_or_else(|| Error::new(format!("'{id}' has no kernel."), "It does without OpenCL.", ""))
}

/// A variant compiled for one device. It can be made on any thread, and sent to another.
///
/// [`VariantId::Auto`] is several: each plan takes the one for its size and radius. Clones share the programs.
#[derive(Debug, Clone)]
pub struct BuiltVariant {
    kernels: &'static Kernels,
    /// The first is the default.
    programs: Vec<Program>,
    /// Where another than the default is faster: the size, the class of radii, and which.
    choices: Vec<(SizeClass, usize, usize)>,
    output: Storage,
    number: u64,
    /// It stands beside the variant itself.
    is_beside: bool,
}

/// One variant with one configuration.
#[derive(Debug, Clone)]
struct Program {
    id: VariantId,
    program: cl::Program,
    config: Config,
}

impl BuiltVariant {
    /// Compiles a variant with the device's default parameters, and runs it once on a small picture: some drivers
    /// finish compiling at the first launch. Takes up to a second, so call it in the background; it uses a queue
    /// of its own.
    ///
    /// # Errors
    /// When the device cannot run the variant, or its kernels do not compile (with the log), have other
    /// arguments than expected, or fail to run. [`VariantId::Off`] is nothing to build and an error.
    pub fn build(cl: &ClContext, id: VariantId) -> Result<Self> {
        Self::build_as(cl, id, cl.device.info.kind)
    }

    /// Compiles what [`BuiltVariant::build`] compiles, or what [`BuiltVariant::build_for_textures`] does, and runs nothing: for
    /// [`program::take_over`].
    pub fn compile_ahead(cl: &ClContext, id: VariantId, to_texture: bool) -> Vec<Ahead> {
        let device = &cl.device.info;
        let Some(kernels) = id.kernels().filter(|_| id != VariantId::Auto) else { return Vec::new() };
        let code = kernels.code(device.kind);
        let to_image = to_texture && code.to_image && kernels.storage != Storage::Image;
        let config = Config::of(code, device.kind).fitted(device);
        let options = config.options() + if to_image { TO_IMAGE } else { "" };
        program::ahead(cl, code.file, &options).into_iter().collect()
    }

    /// The same with the code and the default parameters for another kind of device, whatever this one is.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`].
    pub fn build_as(cl: &ClContext, id: VariantId, kind: DeviceKind) -> Result<Self> {
        let storage = kernels_of(id)?.storage;
        if id == VariantId::Auto {
            return Self::build_auto(cl, kind, &Cache::load(), storage);
        }
        Self::build_defaults(cl, id, kind, storage)
    }

    /// The same as [`BuiltVariant::build`], but with images for output where the variant's code can write them: it can
    /// then write into a shared texture.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`].
    pub fn build_for_textures(cl: &ClContext, id: VariantId) -> Result<Self> {
        let kind = cl.device.info.kind;
        let code_of = if id == VariantId::Auto { UNTUNED } else { id };
        let code = kernels_of(code_of)?.code(kind);
        if !code.to_image {
            return Self::build(cl, id);
        }
        match id {
            VariantId::Auto => Self::build_auto(cl, kind, &Cache::load(), Storage::Image),
            _ => Self::build_defaults(cl, id, kind, Storage::Image),
        }
    }

    /// A variant with the default parameters for each size.
    fn build_defaults(cl: &ClContext, id: VariantId, kind: DeviceKind, output: Storage) -> Result<Self> {
        let (code, device) = (kernels_of(id)?.code(kind), &cl.device.info);
        let mut built = Self::build_into(cl, id, &Config::of(code, kind).fitted(device), output)?;
        for size in SizeClass::ALL {
            let config = config::for_size(code, kind, size).fitted(device);
            // One that this device does not allow leaves its size to the others.
            if let Some(at) = built.program_of(cl, id, &config, output) {
                built.choices.extend((0..tuned::RADII.len()).map(|class| (size, class, at)));
            }
        }
        Ok(built)
    }

    /// The index of the program with this configuration, which is built if it is new; `None` if it does not build.
    fn program_of(
        &mut self,
        cl: &ClContext,
        id: VariantId,
        config: &Config,
        output: Storage,
    ) -> Option<usize> {
        let same = |p: &Program| p.id == id && p.config == *config;
        if let Some(at) = self.programs.iter().position(same) {
            return Some(at);
        }
        self.programs.extend(Self::build_into(cl, id, config, output).ok()?.programs);
        Some(self.programs.len() - 1)
    }

    /// [`VariantId::Auto`] by what `cache` says. An entry that does not build, or cannot write `output`, is left out.
    fn build_auto(cl: &ClContext, kind: DeviceKind, cache: &Cache, output: Storage) -> Result<Self> {
        let mut auto = Self::build_defaults(cl, UNTUNED, kind, output)?;
        auto.kernels = kernels_of(VariantId::Auto)?;
        let mut measured = Vec::new();
        for choice in tuned::choices(cache, &cl.device.info) {
            if choice.variant.kernels().is_none_or(|kernels| kernels.storage != auto.kernels.storage) {
                continue;
            }
            if let Some(at) = auto.program_of(cl, choice.variant, &choice.config, output) {
                measured.push((choice.size, choice.radius_class, at));
            }
        }
        // The first that fits is taken: what was measured goes before the defaults.
        auto.choices.splice(0..0, measured);
        Ok(auto)
    }

    /// The same with these parameters.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`]; also when the device does not allow these parameters.
    pub fn build_with(cl: &ClContext, id: VariantId, config: &Config) -> Result<Self> {
        Self::build_into(cl, id, config, kernels_of(id)?.storage)
    }

    /// The same with an output in `output`, which may be an image for a variant that reads buffers: then nothing
    /// needs to be copied into the picture on the screen.
    ///
    /// # Errors
    /// As [`BuiltVariant::build_with`]; also when the variant's code cannot write that.
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
        let program = program::build(cl, file, &program::source(file)?, &options)?;
        let programs = vec![Program { id, program, config: config.clone() }];
        let built =
            Self { kernels, programs, choices: Vec::new(), output, number: unique(), is_beside: false };
        let queue = cl.extra_queue()?;
        // Changed kernels may leave their memory: among canaries that is not at once another's.
        let memory = |storage| match program::is_changed(file) {
            true => run::memory(cl, storage, (width, height)).map(|(_, part)| part),
            false => Picture::alloc(cl, storage, width, height),
        };
        let (src, dst) = (memory(kernels.storage)?, memory(output)?);
        src.write(&queue, &vec![128; (width * height * 4) as usize])?;
        let plan = built.plan(cl, &src, &dst, &mut Scratch::new(), width, height, 1)?;
        plan.check_arguments(output)?;
        plan.enqueue_all(&queue)?;
        queue.finish().map_err(|e| failed(&format!("'{id}' failed to run on '{}'.", device.name), &e))?;
        Ok(built)
    }

    /// The same as [`VariantId::Version`], beside the variant itself.
    pub fn beside(self) -> Self {
        Self { is_beside: true, ..self }
    }

    /// What it is chosen by.
    pub fn id(&self) -> VariantId {
        if self.is_beside { VariantId::Version } else { self.kernels.id }
    }

    fn program(&self, width: u32, height: u32, radius: u32) -> Option<&Program> {
        let (size, class) = (SizeClass::of(width, height), tuned::radius_class(radius));
        let choice = self.choices.iter().find(|(s, c, _)| *s == size && *c == class);
        self.programs.get(choice.map_or(0, |(.., at)| *at))
    }

    /// The variant and the parameters that pictures of this size and radius are filtered with.
    pub fn chosen(&self, width: u32, height: u32, radius: u32) -> Option<String> {
        let program = self.program(width, height, radius)?;
        Some(format!("{} {}", program.id, program.config).trim_end().to_owned())
    }

    /// The same as the variant itself and its parameters.
    pub(super) fn config(&self, (width, height): (u32, u32), radius: u32) -> Option<(VariantId, &Config)> {
        self.program(width, height, radius).map(|program| (program.id, &program.config))
    }

    /// What tells it from others, of another variant or built before: plans of one are not those of another.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What its output is stored in.
    pub fn output(&self) -> Storage {
        self.output
    }

    /// The variant's kernels as they are declared.
    pub fn kernels(&self) -> &'static Kernels {
        self.kernels
    }

    /// Kernels with all their arguments, to filter `src` into `dst` with `radius`. `src` must have this
    /// variant's storage, `dst` that of its [`output`](Self::output), both exactly `width` by `height` pixels. They
    /// must not be the same memory.
    ///
    /// # Errors
    /// When the device cannot run it at this size, or runs out of memory.
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
        self.plan_of(cl, src, dst, scratch, (width, height), (width, height), radius)
    }

    /// The same with the parameters that pictures of the size `of` are filtered with.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn plan_of(
        &self,
        cl: &ClContext,
        src: &Picture,
        dst: &Picture,
        scratch: &mut Scratch,
        (width, height): (u32, u32),
        of: (u32, u32),
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
        let Some(Program { id: chosen, program, config }) = self.program(of.0, of.1, radius) else {
            return Err(Error::new(what, "It is not built.", ""));
        };
        let code = config.code();
        let sums = match code.kernels.len() {
            1 => None,
            _ => Some(scratch.get(cl, self.kernels.storage, width, height)?),
        };
        let extent = Extent { width, rows: height, radius, units: cl.device.info.units };
        let extra = match (code.scratch)(config, &extent) {
            0 => None,
            pixels => Some(scratch.lines(cl, pixels)?),
        };
        let last = code.kernels.len() - 1;
        let mut passes = Vec::with_capacity(last + 1);
        for (index, name) in code.kernels.iter().enumerate() {
            let kernel = Kernel::of_file(program, code.file, name, &what)?;
            let (first, last) = (index == 0, index == last);
            let between = sums.as_ref();
            let input = between.filter(|_| !first).unwrap_or(src.mem());
            let output = between.filter(|_| !last).unwrap_or(dst.mem());
            let scratch = extra.as_ref().filter(|_| last);
            let pass = Pass { kernel, last, has_scratch: scratch.is_some() };
            pass.bind([input, output], scratch, (width, height)).map_err(|e| failed(&what, &e))?;
            passes.push(pass);
        }
        let units = cl.device.info.units;
        let (kernels, chosen, config) = (self.kernels, *chosen, config.clone());
        let plan = Plan { kernels, chosen, config, passes, width, height, units, radius: Cell::new(0) };
        plan.set_radius(radius)?;
        Ok(plan)
    }
}
