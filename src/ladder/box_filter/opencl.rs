//! The box filter on an OpenCL device. In: pictures on the device. Out: commands on a queue that filter
//! them, whole or band by band, and that never wait.

use std::cell::Cell;
use std::ops::Range;

use ocl::core::{self, ArgVal, KernelArgInfo, MemObjectType};
use ocl::enums::{ImageChannelDataType, ImageChannelOrder};
use ocl::flags::MemFlags;

use super::config::{Config, Extent, Launch};
use super::{MAX_RADIUS, info};
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, DeviceKind, failed};
use crate::gpu::program;
use crate::ladder::tuned::{self, Cache, SizeClass};
use crate::ladder::{Storage, VariantId, VariantInfo};

/// An RGBA picture on a device, 8 bits a channel, without gaps between rows. Clones share the memory.
#[derive(Debug, Clone)]
pub enum Picture {
    /// A normalised image (`CL_RGBA`, `CL_UNORM_INT8`).
    Image(ocl::Image<u8>),
    /// Width·height·4 bytes.
    Buffer(ocl::Buffer<u8>),
}

impl Picture {
    /// New memory for `width` by `height` pixels; its contents are undefined.
    pub fn alloc(cl: &ClContext, storage: Storage, width: u32, height: u32) -> Result<Self> {
        Self::make(cl, storage, width, height, new_memory(cl), None)
    }

    /// A picture in the host's memory at `memory`: on CPU devices the kernels work right there, and a mapping
    /// copies nothing. Align it to a page.
    ///
    /// # Safety
    /// `memory` must point to `width`·`height`·4 bytes that stay valid, and that nothing else writes while
    /// commands use them, until the last command and the last clone of the picture are gone.
    pub unsafe fn from_host(
        cl: &ClContext,
        storage: Storage,
        width: u32,
        height: u32,
        memory: *mut u8,
    ) -> Result<Self> {
        let flags = MemFlags::new().read_write().use_host_ptr();
        // SAFETY: the caller vouches for the length and the lifetime.
        let memory = unsafe { std::slice::from_raw_parts(memory, width as usize * height as usize * 4) };
        Self::make(cl, storage, width, height, flags, Some(memory))
    }

    fn make(
        cl: &ClContext,
        storage: Storage,
        width: u32,
        height: u32,
        flags: MemFlags,
        host: Option<&[u8]>,
    ) -> Result<Self> {
        let what = "Memory for a picture could not be had on the device.";
        let (w, h) = (width as usize, height as usize);
        match storage {
            Storage::Image => image(cl, ImageChannelDataType::UnormInt8, w, h, flags, host)
                .map(Picture::Image)
                .map_err(|e| failed(what, &e)),
            // SAFETY: the flags fit the host memory, which `from_host` vouches for.
            Storage::Buffer => unsafe { ocl::Buffer::new(&cl.context, flags, w * h * 4, host) }
                .map(Picture::Buffer)
                .map_err(|e| failed(what, &e)),
        }
    }

    /// What it is stored in.
    pub fn storage(&self) -> Storage {
        match self {
            Picture::Image(_) => Storage::Image,
            Picture::Buffer(_) => Storage::Buffer,
        }
    }

    /// Copies pixels from the host and waits. `pixels` must be as long as the picture.
    pub fn write(&self, queue: &ocl::Queue, pixels: &[u8]) -> Result<()> {
        match self {
            Picture::Image(i) => i.write(pixels).queue(queue).enq(),
            Picture::Buffer(b) => b.write(pixels).queue(queue).enq(),
        }
        .map_err(|e| failed("A picture could not be copied to the device.", &e))
    }

    /// Copies the pixels to the host and waits. `pixels` must be as long as the picture.
    pub fn read(&self, queue: &ocl::Queue, pixels: &mut [u8]) -> Result<()> {
        match self {
            Picture::Image(i) => i.read(pixels).queue(queue).enq(),
            Picture::Buffer(b) => b.read(pixels).queue(queue).enq(),
        }
        .map_err(|e| failed("A picture could not be copied from the device.", &e))
    }

    /// The memory object, to be set as a kernel's argument.
    pub fn mem(&self) -> &core::Mem {
        match self {
            Picture::Image(i) => i.as_core(),
            Picture::Buffer(b) => b.as_core(),
        }
    }
}

/// Flags of memory without contents. PoCL would have it only when a command needs it, and end the process where there is
/// not enough; asked for the host's memory it has it at once, or says no.
fn new_memory(cl: &ClContext) -> MemFlags {
    let flags = MemFlags::new().read_write();
    if cl.device.info.kind == DeviceKind::Cpu { flags.alloc_host_ptr() } else { flags }
}

fn image<T: ocl::OclPrm>(
    cl: &ClContext,
    data_type: ImageChannelDataType,
    width: usize,
    height: usize,
    flags: MemFlags,
    host: Option<&[T]>,
) -> ocl::Result<ocl::Image<T>> {
    let format = core::ImageFormat::new(ImageChannelOrder::Rgba, data_type);
    let shape = core::ImageDescriptor::new(MemObjectType::Image2d, width, height, 1, 0, 0, 0, None);
    // SAFETY: the description has no pitch and no parent, and host memory, if any, is as long as it says.
    unsafe { ocl::Image::new(&cl.context, flags, format, shape, host) }
}

/// The row sums between two passes. All plans of one in-order queue may share it: one frame's second pass has
/// read it before the next frame's first pass writes it.
#[derive(Debug, Default)]
pub struct Scratch {
    image: Option<((u32, u32), ocl::Image<u16>)>,
    buffer: Option<((u32, u32), ocl::Buffer<u16>)>,
    lines: Option<ocl::Buffer<u16>>,
}

impl Scratch {
    /// Nothing is allocated before a plan asks for it.
    pub fn new() -> Self {
        Self::default()
    }

    /// At least this many pixels of four channels of 16 bits.
    fn lines(&mut self, cl: &ClContext, pixels: usize) -> Result<core::Mem> {
        let what = "Memory for the column sums could not be had on the device.";
        if let Some(lines) = self.lines.as_ref().filter(|l| l.len() >= 4 * pixels) {
            return Ok(lines.as_core().clone());
        }
        // SAFETY: no host memory is involved.
        let new = unsafe { ocl::Buffer::new(&cl.context, new_memory(cl), 4 * pixels, None) };
        let new: ocl::Buffer<u16> = new.map_err(|e| failed(what, &e))?;
        let mem = new.as_core().clone();
        self.lines = Some(new);
        Ok(mem)
    }

    /// Memory for the row sums of a picture, four channels of 16 bits; kept until the size changes.
    fn get(&mut self, cl: &ClContext, storage: Storage, width: u32, height: u32) -> Result<core::Mem> {
        let what = "Memory for the row sums could not be had on the device.";
        let (w, h) = (width as usize, height as usize);
        let flags = new_memory(cl);
        let mem = match storage {
            Storage::Image => {
                if self.image.as_ref().is_none_or(|(size, _)| *size != (width, height)) {
                    self.image = None;
                    let new = image(cl, ImageChannelDataType::UnsignedInt16, w, h, flags, None);
                    self.image = Some(((width, height), new.map_err(|e| failed(what, &e))?));
                }
                self.image.as_ref().map(|(_, i)| i.as_core().clone())
            }
            Storage::Buffer => {
                if self.buffer.as_ref().is_none_or(|(size, _)| *size != (width, height)) {
                    self.buffer = None;
                    // SAFETY: no host memory is involved.
                    let new = unsafe { ocl::Buffer::new(&cl.context, flags, w * h * 4, None) };
                    self.buffer = Some(((width, height), new.map_err(|e| failed(what, &e))?));
                }
                self.buffer.as_ref().map(|(_, b)| b.as_core().clone())
            }
        };
        mem.ok_or_else(|| Error::new(what, "", ""))
    }
}

/// The variant's entry in the table, or an error for what is not made of kernels.
fn filter_info(id: VariantId) -> Result<&'static VariantInfo> {
    info(id).ok_or_else(|| Error::new(format!("'{id}' has no kernel."), "It does without OpenCL.", ""))
}

/// A variant compiled for one device. It can be made on any thread, and sent to another.
///
/// [`VariantId::Auto`] is several: each plan takes the one for its size and radius.
#[derive(Debug)]
pub struct BuiltVariant {
    info: &'static VariantInfo,
    /// The first is the default.
    programs: Vec<Program>,
    /// Where another than the default is faster: the size, the class of radii, and which.
    choices: Vec<(SizeClass, usize, usize)>,
    output: Storage,
}

/// One variant with one configuration.
#[derive(Debug)]
struct Program {
    id: VariantId,
    program: ocl::Program,
    config: Config,
}

/// What [`VariantId::Auto`] is where nothing has been measured.
const UNTUNED: VariantId = VariantId::Fused;

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

    /// The same with the code and the default parameters for another kind of device, whatever this one is.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`].
    pub fn build_as(cl: &ClContext, id: VariantId, kind: DeviceKind) -> Result<Self> {
        let storage = filter_info(id)?.storage;
        if id == VariantId::Auto {
            return Self::build_auto(cl, kind, &Cache::load(), storage);
        }
        let code = filter_info(id)?.code(kind);
        Self::build_into(cl, id, &Config::of(code, kind).fitted(&cl.device.info), storage)
    }

    /// The same as [`BuiltVariant::build`], but with images for output where the variant's code can write them: it can
    /// then write into a shared texture.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`].
    pub fn build_for_textures(cl: &ClContext, id: VariantId) -> Result<Self> {
        let kind = cl.device.info.kind;
        let code_of = if id == VariantId::Auto { UNTUNED } else { id };
        let code = filter_info(code_of)?.code(kind);
        if !code.to_image {
            return Self::build(cl, id);
        }
        match id {
            VariantId::Auto => Self::build_auto(cl, kind, &Cache::load(), Storage::Image),
            _ => Self::build_into(cl, id, &Config::of(code, kind).fitted(&cl.device.info), Storage::Image),
        }
    }

    /// [`VariantId::Auto`] by what `cache` says. An entry that does not build, or cannot write `output`, is left out.
    fn build_auto(cl: &ClContext, kind: DeviceKind, cache: &Cache, output: Storage) -> Result<Self> {
        let code = filter_info(UNTUNED)?.code(kind);
        let config = Config::of(code, kind).fitted(&cl.device.info);
        let mut auto = Self::build_into(cl, UNTUNED, &config, output)?;
        auto.info = filter_info(VariantId::Auto)?;
        for choice in cache.choices(&cl.device.info) {
            if info(choice.variant).is_none_or(|info| info.storage != auto.info.storage) {
                continue;
            }
            let same = |p: &Program| p.id == choice.variant && p.config == choice.config;
            let at = match auto.programs.iter().position(same) {
                Some(at) => at,
                None => match Self::build_into(cl, choice.variant, &choice.config, output) {
                    Ok(built) => {
                        auto.programs.extend(built.programs);
                        auto.programs.len() - 1
                    }
                    Err(_) => continue,
                },
            };
            auto.choices.push((choice.size, choice.radius_class, at));
        }
        Ok(auto)
    }

    /// The same with these parameters.
    ///
    /// # Errors
    /// As [`BuiltVariant::build`]; also when the device does not allow these parameters.
    pub fn build_with(cl: &ClContext, id: VariantId, config: &Config) -> Result<Self> {
        Self::build_into(cl, id, config, filter_info(id)?.storage)
    }

    /// The same with an output in `output`, which may be an image for a variant that reads buffers: then nothing
    /// needs to be copied into the picture on the screen.
    ///
    /// # Errors
    /// As [`BuiltVariant::build_with`]; also when the variant's code cannot write that.
    pub fn build_into(cl: &ClContext, id: VariantId, config: &Config, output: Storage) -> Result<Self> {
        let info = filter_info(id)?;
        let device = &cl.device.info;
        let (width, height) = (70, 3);
        info.supports(device, width, height)?;
        if !config.is_allowed(device) {
            let why = format!("The device does not allow {config}.");
            return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
        }
        let mut options = config.options();
        if output != info.storage {
            if !config.code().to_image || output != Storage::Image || !device.image_support {
                let why = format!("Its output cannot be an {output:?} there.").to_lowercase();
                return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
            }
            options += " -D TO_IMAGE=1";
        }
        let file = config.code().file;
        let program = program::build(cl, file, &program::source(file)?, &options)?;
        let programs = vec![Program { id, program, config: config.clone() }];
        let built = Self { info, programs, choices: Vec::new(), output };
        let queue = cl.extra_queue()?;
        let src = Picture::alloc(cl, info.storage, width, height)?;
        let dst = Picture::alloc(cl, output, width, height)?;
        src.write(&queue, &vec![128; (width * height * 4) as usize])?;
        let plan = built.plan(cl, &src, &dst, &mut Scratch::new(), width, height, 1)?;
        plan.check_arguments(output)?;
        plan.enqueue_all(&queue)?;
        queue.finish().map_err(|e| failed(&format!("'{id}' failed to run on '{}'.", device.name), &e))?;
        Ok(built)
    }

    fn program(&self, width: u32, height: u32, radius: u32) -> Option<&Program> {
        let (size, class) = (SizeClass::of(width, height), tuned::radius_class(radius));
        let choice = self.choices.iter().find(|(s, c, _)| *s == size && *c == class);
        self.programs.get(choice.map_or(0, |(.., at)| *at))
    }

    /// What its output is stored in.
    pub fn output(&self) -> Storage {
        self.output
    }

    /// The variant's entry in the ladder.
    pub fn info(&self) -> &'static VariantInfo {
        self.info
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
        let id = self.info.id;
        let what = format!("'{id}' could not be prepared.");
        if src.storage() != self.info.storage || dst.storage() != self.output {
            return Err(Error::new(what, "The pictures are stored in another way than it reads.", ""));
        }
        if width == 0 || height == 0 {
            return Err(Error::new(what, "The picture has no pixels.", ""));
        }
        self.info.supports(&cl.device.info, width, height)?;
        let Some(Program { id: chosen, program, config }) = self.program(width, height, radius) else {
            return Err(Error::new(what, "It is not built.", ""));
        };
        let code = config.code();
        let sums = match code.kernels.len() {
            1 => None,
            _ => Some(scratch.get(cl, self.info.storage, width, height)?),
        };
        let extent = Extent { width, rows: height, radius, units: cl.device.info.units };
        let extra = match (code.scratch)(config, &extent) {
            0 => None,
            pixels => Some(scratch.lines(cl, pixels)?),
        };
        let last = code.kernels.len() - 1;
        let mut passes = Vec::with_capacity(last + 1);
        for (index, name) in code.kernels.iter().enumerate() {
            let kernel = core::create_kernel(program, name).map_err(|e| failed(&what, &e.into()))?;
            let input =
                if index == 0 { src.mem().clone() } else { sums.clone().unwrap_or(src.mem().clone()) };
            let output =
                if index == last { dst.mem().clone() } else { sums.clone().unwrap_or(dst.mem().clone()) };
            let extra = extra.clone().filter(|_| index == last);
            let pass = Pass { kernel, last: index == last, memory: [input, output], extra };
            pass.bind(width, height).map_err(|e| failed(&what, &e.into()))?;
            passes.push(pass);
        }
        let units = cl.device.info.units;
        let (info, chosen, config) = (self.info, *chosen, config.clone());
        let plan = Plan { info, chosen, config, passes, width, height, units, radius: Cell::new(0) };
        plan.set_radius(radius)?;
        Ok(plan)
    }
}

/// Positions of the arguments that all kernels of the ladder share.
mod arg {
    pub const INPUT: u32 = 0;
    pub const OUTPUT: u32 = 1;
    pub const WIDTH: u32 = 2;
    pub const HEIGHT: u32 = 3;
    pub const RADIUS: u32 = 4;
    pub const ROW0: u32 = 5;
    pub const ROWS: u32 = 6;
    /// Only in the last pass, which divides.
    pub const SCALE: u32 = 7;
    /// Only where the code asks for scratch memory.
    pub const SCRATCH: u32 = 8;
}

#[derive(Debug)]
struct Pass {
    kernel: core::Kernel,
    last: bool,
    /// Input and output. Kernels do not keep their memory alive, so the plan does.
    memory: [core::Mem; 2],
    extra: Option<core::Mem>,
}

impl Pass {
    fn bind(&self, width: u32, height: u32) -> ocl::core::Result<()> {
        core::set_kernel_arg(&self.kernel, arg::INPUT, ArgVal::mem(&self.memory[0]))?;
        core::set_kernel_arg(&self.kernel, arg::OUTPUT, ArgVal::mem(&self.memory[1]))?;
        if let Some(extra) = &self.extra {
            core::set_kernel_arg(&self.kernel, arg::SCRATCH, ArgVal::mem(extra))?;
        }
        core::set_kernel_arg(&self.kernel, arg::WIDTH, ArgVal::scalar(&(width as i32)))?;
        core::set_kernel_arg(&self.kernel, arg::HEIGHT, ArgVal::scalar(&(height as i32)))
    }

    fn set_radius(&self, radius: u32) -> ocl::core::Result<()> {
        core::set_kernel_arg(&self.kernel, arg::RADIUS, ArgVal::scalar(&(radius as i32)))?;
        if self.last {
            core::set_kernel_arg(&self.kernel, arg::SCALE, ArgVal::scalar(&scale(radius)))?;
        }
        Ok(())
    }

    fn enqueue(
        &self,
        queue: &ocl::Queue,
        rows: Range<u32>,
        launch: &Launch,
    ) -> ocl::core::Result<ocl::Event> {
        let count = rows.end - rows.start;
        core::set_kernel_arg(&self.kernel, arg::ROW0, ArgVal::scalar(&(rows.start as i32)))?;
        core::set_kernel_arg(&self.kernel, arg::ROWS, ArgVal::scalar(&(count as i32)))?;
        let [across, down] = launch.global;
        let (global, local) = ([across, down, 1], [launch.local[0], launch.local[1], 1]);
        let mut event = core::Event::null();
        // SAFETY: `bind` and `set_radius` have set every argument, `check_arguments` has compared their types,
        // the memory is as large as the kernels expect, and they stay inside it for any rows of the picture.
        unsafe {
            core::enqueue_kernel(
                queue,
                &self.kernel,
                2,
                None,
                &global,
                Some(local),
                None::<&core::Event>,
                Some(&mut event),
            )?;
        }
        Ok(ocl::Event::from(event))
    }
}

/// The factor that kernels multiply sums with to divide by the window's pixels; see common/mean.clh.
fn scale(radius: u32) -> f32 {
    let side = 2 * radius + 1;
    1.0 / (side * side) as f32
}

/// A variant's kernels with their arguments, for one source, one destination and one size.
///
/// It keeps the device memory that it names alive, but not the host memory beneath
/// [`Picture::from_host`].
#[derive(Debug)]
pub struct Plan {
    info: &'static VariantInfo,
    chosen: VariantId,
    config: Config,
    passes: Vec<Pass>,
    width: u32,
    height: u32,
    units: u32,
    radius: Cell<u32>,
}

impl Plan {
    /// The variant that runs and its parameters, as in `fused STRIPS=2`.
    pub fn chosen(&self) -> String {
        format!("{} {}", self.chosen, self.config).trim_end().to_owned()
    }

    /// The number of passes. Each must have covered all rows before the next one begins.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// The rows of the picture.
    pub fn rows(&self) -> u32 {
        self.height
    }

    /// Bands of a multiple of this many rows waste nothing: it is the length of the strips in this pass. Any
    /// other height gives the same bytes.
    pub fn row_step(&self, pass: usize) -> u32 {
        (self.config.code().row_step)(&self.config, pass).max(1)
    }

    /// The work of a pass over all rows, in pixels read. It compares radii and sizes within one variant, and
    /// the passes with each other.
    pub fn work(&self, pass: usize) -> f64 {
        if pass >= self.passes.len() {
            return 0.0;
        }
        let pixels = f64::from(self.width) * f64::from(self.height);
        pixels * (self.config.code().reads)(&self.config, pass, &self.extent(self.height))
    }

    fn extent(&self, rows: u32) -> Extent {
        Extent { width: self.width, rows, radius: self.radius.get(), units: self.units }
    }

    /// Sets the radius of all later launches; those already on the queue keep theirs.
    pub fn set_radius(&self, radius: u32) -> Result<()> {
        let what = "The radius could not be set.";
        if radius > MAX_RADIUS {
            return Err(Error::new(what, format!("{radius} is more than {MAX_RADIUS}."), ""));
        }
        for pass in &self.passes {
            pass.set_radius(radius).map_err(|e| failed(what, &e.into()))?;
        }
        self.radius.set(radius);
        Ok(())
    }

    /// Puts `pass` for a band of rows on the queue, and returns at once. The event tells when it is done and
    /// how long it took. Flush the queue to start it.
    ///
    /// # Errors
    /// When the band is empty or leaves the picture, or the device refuses.
    pub fn enqueue(&self, queue: &ocl::Queue, pass: usize, rows: Range<u32>) -> Result<ocl::Event> {
        let what = || format!("'{}' could not be started.", self.info.id);
        let Some(p) = self.passes.get(pass).filter(|_| rows.start < rows.end && rows.end <= self.height)
        else {
            let why = format!("Pass {pass} has no rows {} to {}.", rows.start, rows.end);
            return Err(Error::new(what(), why, ""));
        };
        let launch = (self.config.code().launch)(&self.config, pass, &self.extent(rows.end - rows.start));
        p.enqueue(queue, rows, &launch).map_err(|e| failed(&what(), &e.into()))
    }

    /// Puts all passes over all rows on the queue, and returns at once with their events.
    pub fn enqueue_all(&self, queue: &ocl::Queue) -> Result<Vec<ocl::Event>> {
        (0..self.passes()).map(|pass| self.enqueue(queue, pass, 0..self.height)).collect()
    }

    /// Compares the types of the kernels' arguments with those that are set: OpenCL itself checks only sizes.
    fn check_arguments(&self, output: Storage) -> Result<()> {
        let code = self.config.code();
        for (pass, name) in self.passes.iter().zip(code.kernels) {
            let memory = |storage| -> &[&str] {
                match storage {
                    Storage::Image => &["image2d_t"],
                    Storage::Buffer => &["uchar4*", "ushort4*"],
                }
            };
            let arguments = match (pass.last, &pass.extra) {
                (false, _) => arg::ROWS,
                (true, None) => arg::SCALE,
                (true, Some(_)) => arg::SCRATCH,
            };
            // Said, so that ocl does not ask the kernel's program, which Intel's CPU runtime does not always know.
            let version = [core::OpenclVersion::new(1, 2)];
            for position in 0..=arguments {
                let wanted = match position {
                    arg::OUTPUT if pass.last => memory(output),
                    arg::INPUT | arg::OUTPUT => memory(self.info.storage),
                    arg::SCRATCH => &["ushort4*"],
                    arg::SCALE => &["float"],
                    _ => &["int"],
                };
                let found = core::get_kernel_arg_info(
                    &pass.kernel,
                    position,
                    KernelArgInfo::TypeName,
                    Some(&version),
                );
                // A device may not tell; then there is nothing to compare. A missing argument has been
                // refused already when it was set.
                let Ok(found) = found else { continue };
                let found = found.to_string();
                let found = found.trim_matches(['\0', ' ']);
                if !found.is_empty() && !wanted.contains(&found) {
                    return Err(Error::new(
                        format!("The kernel '{name}' in {} has another argument than expected.", code.file),
                        format!("Argument {} is {found}, not {}.", position + 1, wanted.join(" or ")),
                        "Correct the kernel, or choose another variant.",
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What common/mean.clh computes, in the same types.
    fn mean(sum: i32, n: i32, scale: f32) -> i32 {
        ((sum - 128 * n) as f32 * scale).round_ties_even() as i32 + 128
    }

    /// What 07_march.cl computes, in the same types: the sum becomes the lowest bits of a float. A compiler may round
    /// the product by itself, or only after the addition.
    fn march_mean(sum: i32, n: i32, scale: f32, lift: f32) -> [u32; 2] {
        let sum = (sum - 128 * n) as f32;
        [sum * scale + lift, sum.mul_add(scale, lift)].map(f32::to_bits)
    }

    #[test]
    fn adding_the_mean_to_a_large_float_is_exact_for_every_radius_and_every_sum() {
        // Each step keeps the order of the sums, rounding included: what holds for the least and the greatest sum
        // that have a mean holds for those between.
        for (lift, zero) in [(12_583_040.0, 0x4b40_0000), (12_583_040.0 - 35_648.0, 0x4b40_0000 - 0x8b40)] {
            for radius in 0..=MAX_RADIUS {
                let n = ((2 * radius + 1) * (2 * radius + 1)) as i32;
                for mean in 0..=255 {
                    for sum in [mean * n - n / 2, mean * n + n / 2].map(|sum| sum.clamp(0, 255 * n)) {
                        let want = zero + mean as u32;
                        let got = march_mean(sum, n, scale(radius), lift);
                        assert_eq!(got, [want; 2], "radius {radius}, sum {sum}");
                    }
                }
            }
        }
        // What the third channel takes back, times 2^16, is what the others leave above their lowest bits.
        let exponents = [0, 8, 24].iter().fold(0u32, |all, shift| all.wrapping_add(0x4b40_0000 << shift));
        assert_eq!(exponents.wrapping_add((0x4b40_0000_u32 - 0x8b40) << 16), 0);
    }

    /// 2²³ + 128: the last bit of a float of this size counts ones.
    const MAGIC: f32 = 8_388_736.0;

    /// `centred_mean16` where the compiler rounds the product and then the sum.
    fn centred_in_two_steps(sum: i32, n: i32, scale: f32) -> i32 {
        i32::from((((sum - 128 * n) as f32 * scale) + MAGIC).to_bits() as u8)
    }

    /// `centred_mean16` where the compiler joins both and rounds once. Here the product is exact, 24 bits by 24,
    /// and the sum in 64 bits is off by less than 2⁻²⁹: that changes nothing so far from a tie.
    fn centred_in_one_step(sum: i32, n: i32, scale: f32) -> i32 {
        let product = f64::from(sum - 128 * n) * f64::from(scale);
        let joined = product + f64::from(MAGIC);
        assert!((joined.fract() - 0.5).abs() > 1e-6, "too near a tie for two roundings: {sum}/{n}");
        i32::from((joined as f32).to_bits() as u8)
    }

    #[test]
    fn the_mean_is_exact_for_every_radius_and_every_sum() {
        for radius in 0..=MAX_RADIUS {
            let n = ((2 * radius + 1) * (2 * radius + 1)) as i32;
            let scale = scale(radius);
            for sum in 0..=255 * n {
                let want = (sum + n / 2) / n;
                assert_eq!(mean(sum, n, scale), want, "radius {radius}, sum {sum}");
                assert_eq!(centred_in_two_steps(sum, n, scale), want, "radius {radius}, sum {sum}");
                assert_eq!(centred_in_one_step(sum, n, scale), want, "radius {radius}, sum {sum}");
            }
        }
    }
}
