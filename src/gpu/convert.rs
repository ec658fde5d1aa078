//! Conversion and correction on a device, by the contract of [`convert`](crate::convert). In: a frame's planes, or an
//! RGBA picture. Out: one command on a queue that makes the picture of it, and never waits.
//!
//! [`PlaneBlock`] carries the planes to the device. [`Converter`] turns them into RGBA8 and corrects the colours in
//! the same pass. [`Corrector`] corrects a picture that is RGBA8 already.

use std::collections::HashMap;

use ffmpeg_next::frame::Video;
use ocl::core::{self, ArgVal, KernelArgInfo};
use ocl::ffi;
use ocl::flags::MemFlags;
use ocl::prm::{Int2, Int4, Int8};

use crate::convert::{Coefficients, Correction, Family, Layout, Tables};
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, failed};
use crate::gpu::host_block::HostBlock;
use crate::gpu::program;
use crate::gpu::transfer::{enqueue_map, enqueue_unmap, enqueue_write};
use crate::ladder::Storage;
use crate::ladder::box_filter::Picture;
use crate::media::Matrix;
use crate::media::planes::{layout_of, pack};

const CONVERT: &str = "convert/01_planes.cl";
const CORRECT: &str = "convert/02_correct.cl";
const NOT_STARTED: &str = "The conversion of a frame could not be started.";

/// A frame's planes in one block of host memory, and the device's memory for them. On CPU devices both are the same.
///
/// Like a slot's blocks, the host's block must outlive the commands that use it: drop it when they have finished.
pub struct PlaneBlock {
    layout: Layout,
    /// A flat buffer. Declared before `host`, so that it drops first: it may lie there.
    device: Option<Picture>,
    host: HostBlock,
    in_place: bool,
    mapped: bool,
    handed_over: bool,
}

impl PlaneBlock {
    /// Host memory for pictures of `layout`; the device's memory is made at the first upload.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn new(cl: &ClContext, layout: &Layout) -> Result<Self> {
        let in_place = cl.is_cpu();
        let bytes = layout.bytes();
        let host = if in_place { HostBlock::new(bytes)? } else { HostBlock::pinned(cl, bytes)? };
        Ok(Self { layout: *layout, device: None, host, in_place, mapped: false, handed_over: false })
    }

    /// What the block holds.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes that [`PlaneBlock::to_device`] hands over.
    pub fn bytes(&self) -> usize {
        self.layout.bytes()
    }

    /// Copies a frame's planes into the block.
    ///
    /// # Errors
    /// When the device still has the block, or the frame has another layout.
    pub fn fill(&mut self, frame: &Video) -> Result<()> {
        if self.handed_over {
            return Err(Error::new("A picture could not be copied.", "The device has its memory.", ""));
        }
        pack(frame, &self.layout, self.host.bytes_mut())
    }

    /// The same memory as a picture of one row, four bytes a pixel, for the commands that move it.
    fn row(&self) -> (u32, u32) {
        ((self.bytes() / 4) as u32, 1)
    }

    /// Hands the block to the device: enqueues the upload, or on a CPU device the unmapping. The event, if there is
    /// anything to do, is the upload's. Never waits.
    ///
    /// # Errors
    /// When device memory runs out or the command cannot be enqueued.
    pub fn to_device(&mut self, cl: &ClContext) -> Result<Option<ocl::Event>> {
        let (width, height) = self.row();
        let device = match self.device.take() {
            Some(device) => device,
            None if !self.in_place => Picture::alloc(cl, Storage::Buffer, width, height)?,
            // SAFETY: the block holds these bytes, is aligned to a page, and drops after `device`.
            None => unsafe {
                Picture::from_host(cl, Storage::Buffer, width, height, self.host.start().as_ptr())?
            },
        };
        let device = self.device.insert(device);
        self.handed_over = true;
        if !self.in_place {
            // SAFETY: the block holds these bytes, and `fill` refuses until `back_on_host`.
            return unsafe { enqueue_write(cl, device, width, height, self.host.start()) }.map(Some);
        }
        if !std::mem::take(&mut self.mapped) {
            return Ok(None);
        }
        enqueue_unmap(cl, device, self.host.start()).map(Some)
    }

    /// Asks for the block back after the commands enqueued so far: on a CPU device enqueues the mapping, elsewhere
    /// there is nothing to do. When all of them are complete, call [`PlaneBlock::back_on_host`]. Never waits.
    ///
    /// # Errors
    /// When the command cannot be enqueued.
    pub fn to_host(&mut self, cl: &ClContext) -> Result<Option<ocl::Event>> {
        let (width, height) = self.row();
        let Some(device) = self.device.as_ref().filter(|_| self.in_place && !self.mapped) else {
            return Ok(None);
        };
        let flags = ffi::CL_MAP_READ | ffi::CL_MAP_WRITE;
        let event = enqueue_map(cl, device, width, height, flags, self.host.start())?;
        self.mapped = true;
        Ok(Some(event))
    }

    /// Notes that the upload's event, and that of [`PlaneBlock::to_host`] if there was one, are complete.
    pub fn back_on_host(&mut self) {
        self.handed_over = false;
    }
}

/// The correction's table on the device. A new one is new memory, since commands on the queue may still read the
/// old one; OpenCL frees that after them.
#[derive(Default)]
struct Curve(Option<([u8; 256], ocl::Buffer<u8>)>);

impl Curve {
    fn get(&mut self, cl: &ClContext, tables: &Tables) -> Result<&core::Mem> {
        let buffer = match self.0.take() {
            Some((curve, buffer)) if curve == tables.curve => buffer,
            _ => {
                let flags = MemFlags::new().read_only().copy_host_ptr();
                // SAFETY: the driver copies the 256 bytes before the call returns.
                unsafe { ocl::Buffer::new(&cl.context, flags, 256, Some(&tables.curve)) }
                    .map_err(|e| failed("Memory for the colour correction could not be had.", &e))?
            }
        };
        Ok(self.0.insert((tables.curve, buffer)).1.as_core())
    }
}

fn luma_argument(tables: &Tables) -> Int4 {
    let [red, green, blue] = tables.luma;
    Int4::new(red, green, blue, tables.saturation)
}

/// Layouts that share one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Class {
    family: Family,
    wide: bool,
    halved: (bool, bool),
    to_image: bool,
}

impl Class {
    fn new(layout: &Layout, storage: Storage) -> Self {
        let ycbcr = layout.family == Family::Ycbcr;
        Self {
            family: layout.family,
            wide: layout.wide,
            halved: (ycbcr && layout.halved.0, ycbcr && layout.halved.1),
            to_image: storage == Storage::Image,
        }
    }

    fn options(self) -> String {
        let family = match self.family {
            Family::Ycbcr => 0,
            Family::Grey => 1,
            Family::Rgb => 2,
        };
        format!(
            "-D FAMILY={family} -D WIDE={} -D HALF_X={} -D HALF_Y={} -D TO_IMAGE={}",
            u8::from(self.wide),
            u8::from(self.halved.0),
            u8::from(self.halved.1),
            u8::from(self.to_image)
        )
    }
}

/// The program for a class of formats, built on any thread for a [`Converter`].
pub struct ConvertProgram {
    class: Class,
    kernel: core::Kernel,
}

impl ConvertProgram {
    /// Builds the program for this layout and kind of destination, and runs it once: some drivers finish compiling at
    /// the first launch. Takes up to a second, so call it in the background.
    ///
    /// # Errors
    /// When the program does not build, with its log, or fails to run.
    pub fn build(cl: &ClContext, layout: &Layout, storage: Storage) -> Result<Self> {
        let class = Class::new(layout, storage);
        let kernel = build(cl, CONVERT, "convert_planes", &class.options())?;
        expect_types(&kernel, CONVERT, &CONVERT_TYPES)?;
        let program = Self { class, kernel };
        // Every component lies at the start of a block of zeros.
        let tiny = Layout { width: 8, height: 2, components: Default::default(), ..*layout };
        let queue = cl.extra_queue()?;
        let block = Picture::alloc(cl, Storage::Buffer, 16, 1)?;
        block.write(&queue, &[0; 64])?;
        let dst = Picture::alloc(cl, storage, 8, 2)?;
        let mut curve = Curve::default();
        let _event = program.launch(cl, &queue, &tiny, &block, &dst, &Correction::NEUTRAL, &mut curve)?;
        queue.finish().map_err(|e| failed("The conversion failed to run on the device.", &e))?;
        Ok(program)
    }

    #[allow(clippy::too_many_arguments)]
    fn launch(
        &self,
        cl: &ClContext,
        queue: &ocl::Queue,
        layout: &Layout,
        block: &Picture,
        dst: &Picture,
        correction: &Correction,
        curve: &mut Curve,
    ) -> Result<ocl::Event> {
        let tables = correction.tables(layout.matrix);
        let c = Coefficients::of(layout);
        let each = |value: fn(&crate::convert::Component) -> u32| {
            let [a, b, c, d] = layout.components.map(|component| value(&component) as i32);
            Int4::new(a, b, c, d)
        };
        let alpha = i32::from(layout.alpha);
        let (phase_x, phase_y) = (layout.phase.0 as i32, layout.phase.1 as i32);
        let bits = Int2::new(layout.shift as i32, (1 << layout.depth) - 1);
        let curve = curve.get(cl, &tables)?;
        let across = layout.width.div_ceil(4) as usize;
        // SAFETY: these are all arguments of the kernel, with their types; block and destination are as large as the
        // layout says, and the kernel stays inside them.
        unsafe {
            start(
                cl,
                queue,
                &self.kernel,
                (across, layout.height as usize),
                [
                    ArgVal::mem(block.mem()),
                    ArgVal::mem(dst.mem()),
                    ArgVal::scalar(&(layout.width as i32)),
                    ArgVal::scalar(&(layout.height as i32)),
                    ArgVal::vector(&each(|c| c.offset)),
                    ArgVal::vector(&each(|c| c.stride)),
                    ArgVal::vector(&each(|c| c.step)),
                    ArgVal::vector(&Int2::new(phase_x, phase_y)),
                    ArgVal::vector(&bits),
                    ArgVal::vector(&Int8::new(c.luma, c.black, c.middle, c.rv, c.gu, c.gv, c.bu, alpha)),
                    ArgVal::scalar(&i32::from(!tables.is_identity())),
                    ArgVal::mem(curve),
                    ArgVal::vector(&luma_argument(&tables)),
                ],
            )
        }
    }
}

/// Planes to RGBA8 on one device, for the classes of formats whose programs it was given.
///
/// It can be made on any thread and sent to another. All its commands go to one in-order queue.
pub struct Converter {
    cl: ClContext,
    programs: HashMap<Class, ConvertProgram>,
    curve: Curve,
}

impl Converter {
    /// A converter without programs.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), programs: HashMap::new(), curve: Curve::default() }
    }

    /// How `frame` is packed for the device; `None` where swscale has to convert it.
    pub fn supports(frame: &Video) -> Option<Layout> {
        layout_of(frame)
    }

    /// Whether [`Converter::enqueue`] has its program for this layout and kind of destination.
    pub fn is_ready(&self, layout: &Layout, storage: Storage) -> bool {
        self.programs.contains_key(&Class::new(layout, storage))
    }

    /// Takes a program that was built elsewhere.
    pub fn add(&mut self, program: ConvertProgram) {
        self.programs.insert(program.class, program);
    }

    /// Builds the program for this layout and kind of destination, unless it is there.
    ///
    /// # Errors
    /// As [`ConvertProgram::build`].
    pub fn prepare(&mut self, layout: &Layout, storage: Storage) -> Result<()> {
        if !self.is_ready(layout, storage) {
            self.add(ConvertProgram::build(&self.cl, layout, storage)?);
        }
        Ok(())
    }

    /// Enqueues the conversion of `planes`, which [`PlaneBlock::to_device`] has handed over on the same queue, to
    /// `dst`, and the correction of its colours. Returns at once with the command's event; flush the queue to start
    /// it. It waits for the compiler if [`Converter::prepare`] has not been called for this layout.
    ///
    /// # Errors
    /// When `dst` has another size than the frame, the program does not build, or the device refuses.
    pub fn enqueue(
        &mut self,
        queue: &ocl::Queue,
        planes: &PlaneBlock,
        dst: &Picture,
        correction: &Correction,
    ) -> Result<ocl::Event> {
        let layout = *planes.layout();
        let block = planes
            .device
            .as_ref()
            .ok_or_else(|| Error::new(NOT_STARTED, "Its planes are not on the device.", ""))?;
        expect_size(dst, layout.width, layout.height)?;
        self.prepare(&layout, dst.storage())?;
        let Some(program) = self.programs.get(&Class::new(&layout, dst.storage())) else {
            return Err(Error::new(NOT_STARTED, "Its program is not built.", ""));
        };
        program.launch(&self.cl, queue, &layout, block, dst, correction, &mut self.curve)
    }
}

/// Converts one frame on the device, and waits for it: `rgba` gets its width × height × 4 bytes. Returns `false`, and
/// leaves `rgba` alone, where swscale has to convert the format.
///
/// # Errors
/// When the program does not build, or the device fails.
pub fn convert_once(cl: &ClContext, frame: &Video, rgba: &mut [u8]) -> Result<bool> {
    let Some(layout) = Converter::supports(frame) else { return Ok(false) };
    let mut planes = PlaneBlock::new(cl, &layout)?;
    planes.fill(frame)?;
    let picture = Picture::alloc(cl, Storage::Buffer, layout.width, layout.height)?;
    let mut converter = Converter::new(cl);
    let _uploaded = planes.to_device(cl)?;
    let converted = converter.enqueue(&cl.queue, &planes, &picture, &Correction::NEUTRAL);
    let read = converted.and_then(|_| picture.read(&cl.queue, rgba));
    // The block must outlive the commands that use it.
    let finished = cl.queue.finish().map_err(|e| failed("The conversion failed to run on the device.", &e));
    read.and(finished).map(|()| true)
}

/// RGBA8 to RGBA8 with other colours, on one device. It builds a program when it is first needed.
///
/// It can be made and prepared on any thread and sent to another. All its commands go to one in-order queue.
pub struct Corrector {
    cl: ClContext,
    kernels: HashMap<(bool, bool), core::Kernel>,
    curve: Curve,
}

impl Corrector {
    /// A corrector without programs.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), kernels: HashMap::new(), curve: Curve::default() }
    }

    /// Whether [`Corrector::enqueue`] has its program for these kinds of source and destination.
    pub fn is_ready(&self, from: Storage, to: Storage) -> bool {
        self.kernels.contains_key(&(from == Storage::Image, to == Storage::Image))
    }

    /// Builds the program for these kinds of source and destination, unless it is there, and runs it once. Takes up to
    /// a second, so call it in the background.
    ///
    /// # Errors
    /// When the program does not build, with its log, or fails to run.
    pub fn prepare(&mut self, from: Storage, to: Storage) -> Result<()> {
        let class = (from == Storage::Image, to == Storage::Image);
        if self.kernels.contains_key(&class) {
            return Ok(());
        }
        let options = format!("-D FROM_IMAGE={} -D TO_IMAGE={}", u8::from(class.0), u8::from(class.1));
        let kernel = build(&self.cl, CORRECT, "correct_pixels", &options)?;
        expect_types(&kernel, CORRECT, &CORRECT_TYPES)?;
        self.kernels.insert(class, kernel);
        let mut run = || -> Result<()> {
            let queue = self.cl.extra_queue()?;
            let (src, dst) = (Picture::alloc(&self.cl, from, 8, 2)?, Picture::alloc(&self.cl, to, 8, 2)?);
            src.write(&queue, &[0; 64])?;
            let neutral = Correction::NEUTRAL.tables(Matrix::Bt709);
            let _event = self.launch(&queue, &src, &dst, (8, 2), &neutral)?;
            queue.finish().map_err(|e| failed("The colour correction failed to run on the device.", &e))
        };
        let ran = run();
        ran.inspect_err(|_| drop(self.kernels.remove(&class)))
    }

    /// Enqueues the correction of `src` to `dst`, both of `size` (width and height in pixels); `matrix` gives the luma
    /// weights. `src` and `dst` may be the same buffer, but not the same image. Returns at once with the command's
    /// event; flush the queue to start it. It waits for the compiler if [`Corrector::prepare`] has not been called
    /// for these kinds. Leave it out where [`Correction::is_neutral`]: it would copy.
    ///
    /// # Errors
    /// When a picture has another size, both are one image, the program does not build, or the device refuses.
    pub fn enqueue(
        &mut self,
        queue: &ocl::Queue,
        src: &Picture,
        dst: &Picture,
        size: (u32, u32),
        correction: &Correction,
        matrix: Matrix,
    ) -> Result<ocl::Event> {
        expect_size(src, size.0, size.1)?;
        expect_size(dst, size.0, size.1)?;
        if src.storage() == Storage::Image && src.mem().as_ptr() == dst.mem().as_ptr() {
            let why = "An image cannot be read and written by one command.";
            return Err(Error::new("The colours could not be corrected.", why, ""));
        }
        self.prepare(src.storage(), dst.storage())?;
        self.launch(queue, src, dst, size, &correction.tables(matrix))
    }

    fn launch(
        &mut self,
        queue: &ocl::Queue,
        src: &Picture,
        dst: &Picture,
        (width, height): (u32, u32),
        tables: &Tables,
    ) -> Result<ocl::Event> {
        let class = (src.storage() == Storage::Image, dst.storage() == Storage::Image);
        let Some(kernel) = self.kernels.get(&class) else {
            return Err(Error::new(NOT_STARTED, "Its program is not built.", ""));
        };
        let curve = self.curve.get(&self.cl, tables)?;
        // SAFETY: these are all arguments of the kernel, with their types; both pictures have this size, and the
        // kernel stays inside them.
        unsafe {
            start(
                &self.cl,
                queue,
                kernel,
                (width as usize, height as usize),
                [
                    ArgVal::mem(src.mem()),
                    ArgVal::mem(dst.mem()),
                    ArgVal::scalar(&(width as i32)),
                    ArgVal::scalar(&(height as i32)),
                    ArgVal::mem(curve),
                    ArgVal::vector(&luma_argument(tables)),
                ],
            )
        }
    }
}

fn build(cl: &ClContext, file: &str, name: &str, options: &str) -> Result<core::Kernel> {
    let program = program::build(cl, file, &program::source(file)?, options)?;
    let what = || format!("The kernel '{name}' could not be made.");
    core::create_kernel(&program, name).map_err(|e| failed(&what(), &e.into()))
}

/// Sets all arguments and puts the kernel on the queue, over `across` by `down` work-items.
///
/// # Safety
/// The arguments must be all of the kernel's, with the right types, and their memory large enough for it.
unsafe fn start<const N: usize>(
    cl: &ClContext,
    queue: &ocl::Queue,
    kernel: &core::Kernel,
    (across, down): (usize, usize),
    arguments: [ArgVal; N],
) -> Result<ocl::Event> {
    for (index, argument) in arguments.into_iter().enumerate() {
        core::set_kernel_arg(kernel, index as u32, argument).map_err(|e| failed(NOT_STARTED, &e.into()))?;
    }
    let wanted = if cl.is_cpu() { (64, 1) } else { (32, 4) };
    let most = cl.device.info.max_work_group_size.max(1);
    let group = if wanted.0 * wanted.1 <= most { wanted } else { (most.min(wanted.0), 1) };
    let global = [across.next_multiple_of(group.0), down.next_multiple_of(group.1), 1];
    let local = Some([group.0, group.1, 1]);
    let mut event = core::Event::null();
    // SAFETY: the caller vouches for the arguments.
    unsafe {
        core::enqueue_kernel(queue, kernel, 2, None, &global, local, None::<&core::Event>, Some(&mut event))
    }
    .map_err(|e| failed(NOT_STARTED, &e.into()))?;
    Ok(event.into())
}

fn expect_size(picture: &Picture, width: u32, height: u32) -> Result<()> {
    let (w, h) = (width as usize, height as usize);
    let fits = match picture {
        Picture::Buffer(buffer) => buffer.len() == w * h * 4,
        Picture::Image(image) => image.dims().to_lens().is_ok_and(|dims| dims[..2] == [w, h]),
    };
    if fits && w > 0 && h > 0 {
        return Ok(());
    }
    Err(Error::new(NOT_STARTED, format!("The picture on the device is not {width}×{height} pixels."), ""))
}

/// Types of the kernels' arguments; an empty list takes any.
const CONVERT_TYPES: [&[&str]; 13] = [
    &[],
    &["uchar4*", "image2d_t"],
    &["int"],
    &["int"],
    &["int4"],
    &["int4"],
    &["int4"],
    &["int2"],
    &["int2"],
    &["int8"],
    &["int"],
    &["uchar*"],
    &["int4"],
];
const CORRECT_TYPES: [&[&str]; 6] =
    [&["uchar4*", "image2d_t"], &["uchar4*", "image2d_t"], &["int"], &["int"], &["uchar*"], &["int4"]];

/// Compares the types of a kernel's arguments with those that are set: OpenCL itself checks only sizes.
fn expect_types(kernel: &core::Kernel, file: &str, types: &[&[&str]]) -> Result<()> {
    // ocl would look the version up by the kernel's program, and panics where a driver names a program that it does not
    // know, as Intel's CPU runtime does. The question came with this version.
    let version = [core::OpenclVersion::new(1, 2)];
    for (position, wanted) in types.iter().enumerate() {
        // A device may not tell; then there is nothing to compare.
        let (position_cl, what) = (position as u32, KernelArgInfo::TypeName);
        let Ok(found) = core::get_kernel_arg_info(kernel, position_cl, what, Some(&version)) else {
            continue;
        };
        let found = found.to_string();
        let found = found.trim_matches(['\0', ' ']);
        if !found.is_empty() && !wanted.is_empty() && !wanted.contains(&found) {
            return Err(Error::new(
                format!("The kernel in {file} has another argument than expected."),
                format!("Argument {} is {found}, not {}.", position + 1, wanted.join(" or ")),
                "Correct the kernel.",
            ));
        }
    }
    Ok(())
}
