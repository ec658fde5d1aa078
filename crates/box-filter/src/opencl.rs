//! The box filter on an OpenCL device: compiles a variant's kernels, and binds them to pictures as a [`Plan`].

use super::arguments::{memory_types, places, wrong_type};
use super::config::{Argument, Code, Config, Extent};
use super::guarded::GuardedInput;
use super::plan::{BoundKernel, Compiled, Plan, Program};
use super::tuned::{self, SizeClass};
use super::{Scratch, VariantId};
use base::device::DeviceKind;
use base::error::{Error, Result};
use base::verify;
use filter::Format;
use opencl::cl::{ClContext, failed};
use opencl::kernel::{Kernel, unique_number};
use opencl::memory::{Picture, Storage};
use opencl::program::{self, CompiledProgram};
use video::color::Layout;

/// Returns the compiler's options for a configuration, and for a macro with which the output is an image: for planes twice, for samples
/// of one byte and of two bytes.
pub(crate) fn options(config: &Config, to_image: Option<&str>) -> Vec<String> {
    let options = config.options() + &to_image.map(|name| format!(" -D {name}=1")).unwrap_or_default();
    match config.code().formats[0] {
        Format::Rgba8 => vec![options],
        _ => [1, 2].map(|bytes| format!("{options} -D SAMPLE_BYTES={bytes}")).into(),
    }
}

/// Compiles each kernel file of a code.
fn compile(cl: &ClContext, code: &Code, options: &str) -> Result<Vec<(&'static str, opencl::cl::Program)>> {
    code.files.iter().map(|file| Ok((*file, program::build(cl, file, options)?))).collect()
}

/// Returns the variant's code for devices of `kind`, or an error if it has none.
fn code_of(id: VariantId, kind: DeviceKind) -> Result<&'static Code> {
    let error = || Error::new(format!("'{id}' has no kernel."), "It does without OpenCL.", "");
    id.code(kind).ok_or_else(error)
}

/// A variant compiled for one device. It can be built on any thread and sent to another. Clones share the programs.
///
/// A variant may have several programs, for different sizes and radii; a plan uses the one for its size and radius.
#[derive(Debug, Clone)]
pub struct BuiltVariant {
    id: VariantId,
    /// The programs of the variant; the first one is the default.
    programs: Vec<Program>,
    /// The programs to use instead of the default: a group of picture sizes, the index of a range of radii, and the index of
    /// the program to use for both.
    choices: Vec<(SizeClass, usize, usize)>,
    /// The kind of memory (buffer or image) of the input of the default program.
    pub input: Storage,
    /// The kind of memory (buffer or image) of the output of the default program.
    pub output: Storage,
    /// The number that identifies this build: plans of another build must not be used for it.
    pub number: u64,
    /// The version of edited kernels that this variant was built from; `None` for the version in use.
    pub version: Option<u64>,
}

impl BuiltVariant {
    /// Compiles a variant with the device's default parameters (`auto` and variants of folders: with the tuning results), and
    /// runs it once on a small picture, because some drivers finish compiling at the first launch. Takes up to a second, so call
    /// it in the background; it uses a queue of its own.
    ///
    /// # Errors
    /// Returns an error if the device cannot run the variant, or its kernels do not compile (with the log), have other
    /// arguments than expected, or fail to run. Variants without kernels, such as [`VariantId::OFF`], are an error.
    pub fn build(cl: &ClContext, id: VariantId) -> Result<Self> {
        Self::build_for(cl, id, false)
    }

    /// Compiles the programs of [`BuiltVariant::build_for`] without running them, for [`ClContext::with_compiled`]. Returns an
    /// empty list for `auto`, and for variants without kernels.
    pub fn precompile(cl: &ClContext, id: VariantId, to_texture: bool) -> Vec<CompiledProgram> {
        let device = &cl.device.info;
        let Some(code) = id.code(device.kind).filter(|_| !id.is_auto()) else { return Vec::new() };
        if code.has_defines {
            return Vec::new();
        }
        let to_image = code.to_image.filter(|_| to_texture && code.output != Storage::Image);
        let config = Config::new(code, device.kind).fit_to_device(device);
        let all = options(&config, to_image);
        let one = |options: &String| {
            code.files.iter().filter_map(|file| program::precompile(cl, file, options)).collect::<Vec<_>>()
        };
        all.iter().flat_map(one).collect()
    }

    /// Compiles a variant as [`BuiltVariant::build`] does, with the code and the default parameters for devices of `kind`.
    ///
    /// # Errors
    /// Returns an error as [`BuiltVariant::build`] does.
    pub fn build_as(cl: &ClContext, id: VariantId, kind: DeviceKind) -> Result<Self> {
        Self::build_defaults(cl, id, kind, code_of(id, kind)?.output)
    }

    /// Compiles a variant as [`BuiltVariant::build`] does. If `to_texture`, its output is an image where its code can write
    /// one, so that the output can be a shared texture.
    ///
    /// # Errors
    /// Returns an error as [`BuiltVariant::build`] does.
    pub fn build_for(cl: &ClContext, id: VariantId, to_texture: bool) -> Result<Self> {
        let kind = cl.device.info.kind;
        let output_of = |code: &Code| match code.to_image {
            Some(_) if to_texture => Storage::Image,
            _ => code.output,
        };
        let output = output_of(code_of(id, kind)?);
        let untuned = id.untuned().unwrap_or(id);
        let mut built = Self { id, ..Self::build_defaults(cl, untuned, kind, output)? };
        let mut measured = Vec::new();
        // Tuning results that do not build are skipped.
        for choice in tuned::results_for(id, &cl.device.info, cl.sources()) {
            let (code, own) = (choice.config.code(), output_of(choice.config.code()));
            // The box filter's results are not used where another copy of the picture would take longer than they gain.
            if id.opened().is_none() && (code.storage, own) != (built.input, output) {
                continue;
            }
            if let Some(at) = built.find_or_build(cl, choice.variant, &choice.config, own) {
                measured.push((choice.size, choice.radius_class, at));
            }
        }
        // The first matching choice is used, so tuning results come before the defaults.
        built.choices.splice(0..0, measured);
        Ok(built)
    }

    /// Compiles a variant with the default parameters for each [`SizeClass`].
    fn build_defaults(cl: &ClContext, id: VariantId, kind: DeviceKind, output: Storage) -> Result<Self> {
        let (code, device) = (code_of(id, kind)?, &cl.device.info);
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

    /// Compiles a variant as [`BuiltVariant::build`] does, with these parameters.
    ///
    /// # Errors
    /// Returns an error as [`BuiltVariant::build`] does, or if the device does not allow these parameters.
    pub fn build_with(cl: &ClContext, id: VariantId, config: &Config) -> Result<Self> {
        Self::build_into(cl, id, config, config.code().output)
    }

    /// Compiles a variant as [`BuiltVariant::build_with`] does, with the given kind of memory for the output. Variants that
    /// read buffers may write images, which saves a copy to the displayed texture.
    ///
    /// # Errors
    /// Returns an error as [`BuiltVariant::build_with`] does, or if the variant's code cannot write output to this kind of
    /// memory.
    pub fn build_into(cl: &ClContext, id: VariantId, config: &Config, output: Storage) -> Result<Self> {
        let (code, device) = (config.code(), &cl.device.info);
        id.supports(device, 70, 3)?;
        if !config.is_allowed(device) {
            let what = Some(config.to_string()).filter(|values| !values.is_empty());
            let why =
                format!("The device does not allow {}.", what.as_deref().unwrap_or("so much local memory"));
            return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
        }
        let mut to_image = None;
        if output != code.output {
            to_image = code.to_image.filter(|_| output == Storage::Image && device.image_support);
            if to_image.is_none() {
                let why = format!("Its output cannot be an {output:?} there.").to_lowercase();
                return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
            }
        }
        let is_modified = code.files.iter().any(|file| cl.sources().is_changed(file));
        let compiled = |options: String| {
            let files = if code.has_defines { Vec::new() } else { compile(cl, code, &options)? };
            Ok(Compiled { options, files })
        };
        let compiled = options(config, to_image).into_iter().map(compiled).collect::<Result<Vec<_>>>()?;
        let widths = [false, true].into_iter().take(compiled.len());
        let (cl_of_program, config) = (cl.clone(), config.clone());
        let program = Program { id, cl: cl_of_program, compiled, config, output, is_modified };
        let (choices, input, number) = (Vec::new(), code.storage, unique_number());
        let built = Self { id, programs: vec![program], choices, input, output, number, version: None };
        let queue = cl.extra_queue()?;
        for is_wide in widths {
            let layout = id.reads_planes().then(|| Layout::planar_420(18, 4, is_wide));
            let size = layout.map_or((70, 3), |layout| (layout.width, layout.height));
            let whole = id.extent_of(layout, size, id.trial_settings());
            let [bytes, filtered_bytes] = whole.bytes();
            // Modified kernels may write beyond their memory, which canaries protect.
            let guard = if is_modified { verify::guard_bytes(filtered_bytes) } else { 0 };
            let (src, dst) = GuardedInput::with_output(cl, [input, output], &whole, guard)?;
            src.write(&queue, &src.between_canaries(&vec![128; bytes]))?;
            let plan = built.plan((&src.pictures(), &dst.picture), &mut Scratch::new(cl), whole)?;
            plan.check_arguments(device, output)?;
            plan.enqueue_all(&queue)?;
            queue.finish().map_err(|e| failed(&format!("'{id}' failed to run on '{}'.", device.name), &e))?;
        }
        Ok(built)
    }

    /// Returns the same programs under another variant's id, such as `auto`.
    pub fn with_id(self, id: &str) -> Self {
        Self { id: id.parse().unwrap_or(self.id), ..self }
    }

    /// Returns the id under which the variant was built, such as `auto`.
    pub fn id(&self) -> VariantId {
        self.id
    }

    /// Returns the program for pictures of this size and radius; `None` if none is built.
    fn program(&self, (width, height): (u32, u32), radius: u32) -> Option<&Program> {
        let (size, class) = (SizeClass::of(width, height), tuned::radius_class(radius));
        let choice = self.choices.iter().find(|(s, c, _)| *s == size && *c == class);
        self.programs.get(choice.map_or(0, |(.., at)| *at))
    }

    /// Returns the kinds of memory of input and output for pictures of this size: those of the variant that is used for it. All
    /// radii have the same ones.
    pub fn storages(&self, size: (u32, u32)) -> [Storage; 2] {
        let own = |program: &Program| [program.config.code().storage, program.output];
        self.program(size, 0).map_or([self.input, self.output], own)
    }

    /// Returns the variant and the parameters that are used for pictures of this size and radius; `None` if nothing is built.
    pub fn config(&self, size: (u32, u32), radius: u32) -> Option<(VariantId, &Config)> {
        self.program(size, radius).map(|program| (program.id, &program.config))
    }

    /// Binds the kernels to memory, to filter the first of `sources` into `dst`. The other sources are the pictures of the frames
    /// before, nearest first; the last one stands for those that are missing. `dst` is another memory object than the sources. All
    /// hold exactly a whole picture, in the variant's [kinds of memory](Self::storages) for its size.
    ///
    /// # Errors
    /// Returns an error if the device cannot run the variant at this size, or runs out of memory.
    pub fn plan(
        &self,
        (sources, dst): (&[&Picture], &Picture),
        scratch: &mut Scratch,
        whole: Extent,
    ) -> Result<Plan> {
        let id = self.id;
        let what = format!("'{id}' could not be prepared.");
        let failed_with = |why: String| Err(Error::new(what.clone(), why, ""));
        let Some(last) = sources.last() else {
            return failed_with("It has no picture.".to_owned());
        };
        let is_small =
            |picture: &Picture, bytes| matches!(picture, Picture::Buffer(buffer) if buffer.len() < bytes);
        let is_too_small = |layout: Layout| {
            let is_source_small = |source: &&Picture| is_small(source, layout.bytes());
            sources.iter().any(is_source_small) || is_small(dst, whole.bytes()[1])
        };
        let [input, output] = self.storages(whole.tuned_for);
        let is_input = |source: &&Picture| source.storage() == input;
        let is_stored_so = sources.iter().all(is_input) && dst.storage() == output;
        if !is_stored_so || id.reads_planes() != whole.layout.is_some() {
            return failed_with("The pictures are stored in another way than it reads.".to_owned());
        }
        if whole.width == 0 || whole.height == 0 {
            return failed_with("The picture has no pixels.".to_owned());
        }
        if whole.layout.is_some_and(is_too_small) {
            return failed_with("A block on the device is smaller than its planes.".to_owned());
        }
        let parameters = &id.filter().description.parameters;
        if !whole.settings.suit(parameters) {
            let wrong = whole.settings.text(parameters);
            return failed_with(format!("A parameter is outside of its range: {wrong}."));
        }
        let device = scratch.cl.device.info.clone();
        let Some(program) = self.program(whole.tuned_for, whole.radius()) else {
            return failed_with("It is not built.".to_owned());
        };
        program.id.supports(&device, whole.width, whole.height)?;
        let whole = Extent { units: device.units, ..whole };
        let code = program.config.code();
        let is_wide = whole.layout.is_some_and(|layout| layout.wide);
        let Some(Compiled { options, files }) = program.compiled.get(usize::from(is_wide)) else {
            return failed_with("It is not built.".to_owned());
        };
        let defined = match code.has_defines {
            true => {
                let options = format!("{options}{}", code.formulas.defines(&program.config, &whole)?);
                Some(compile(&program.cl, code, &options)?)
            }
            false => None,
        };
        let files = defined.as_ref().unwrap_or(files);
        let mut kernels = Vec::with_capacity(code.passes.len());
        for pass in code.passes {
            let built = files.iter().find(|(file, _)| *file == pass.file);
            let Some((_, built)) = built else { return failed_with("It is not built.".to_owned()) };
            let kernel = Kernel::from_file(built, &device, pass.file, pass.kernel, &what)?;
            let places = places(&program.cl, &kernel, pass)?;
            let mut numbers = Vec::new();
            for (at, (argument, place)) in pass.arguments.iter().zip(&places).enumerate() {
                let (storage, memory) = match argument {
                    Argument::Source(back) => (input, sources.get(*back).unwrap_or(last).mem().clone()),
                    Argument::Destination => (output, dst.mem().clone()),
                    Argument::Scratch(index) => {
                        let size = code.formulas.scratch(&program.config, *index, &whole)?;
                        (size.storage(), scratch.memory(*index, size)?)
                    }
                    Argument::Number => {
                        numbers.push(*place);
                        continue;
                    }
                };
                // A wrong type is the reason, if there is one.
                let wanted = memory_types(storage);
                kernel.set(*place, &memory).map_err(|e| {
                    wrong_type(&kernel, pass, (at, *place), wanted).unwrap_or_else(|| failed(&what, &e))
                })?;
            }
            kernels.push(BoundKernel { kernel, places, numbers });
        }
        let shape = Plan::shape(&program.config, &whole);
        Ok(Plan { id, program: program.clone(), kernels, whole, shape })
    }
}
