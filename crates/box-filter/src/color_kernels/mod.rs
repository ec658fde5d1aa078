//! Conversion of planes to RGBA8 and colour correction on a device, by the contract of [`color`](video::color). Each is one
//! command on a queue; no call waits for it.
//!
//! [`PlaneBlock`] uploads the planes. [`Converter`] converts them to RGBA8 and corrects the colours in the same pass.
//! [`Corrector`] corrects a picture that is RGBA8 already. Both can be checked against the reference.

mod block;
pub mod check;
mod correct;
mod launch;
mod rows;

use std::collections::HashMap;

use base::error::{Error, Result};
use ffmpeg_next::frame::Video;
use opencl::cl::{ClContext, Event, Queue, failed};
use opencl::kernel::Value;
use opencl::memory::{Picture, Storage};
use video::color::planes::layout_of;
use video::color::{Coefficients, Component, Correction, Family, Layout, Matrix};

use launch::{
    CurveBuffer, KernelProgram, START_FAILED, build, enqueue_kernel, expect_size, luma_argument,
    siting_argument,
};

use rows::{ChromaRows, ROWS_FILE};

pub use block::{PlaneBlock, pack_pinned};
pub use correct::Corrector;
pub use launch::KernelCache;

/// The kernel file of the conversion, with the general kernel.
const CONVERT_FILE: &str = "convert/01_planes.cl";
/// The accepted types of each argument of the kernel; an empty list accepts any type.
const CONVERT_ARGUMENT_TYPES: [&[&str]; 13] = [
    &[],
    &["uchar4*", "image2d_t"],
    &["int"],
    &["int"],
    &["int4"],
    &["int4"],
    &["int4"],
    &["int4"],
    &["int2"],
    &["int8"],
    &["int"],
    &["uchar*"],
    &["int4"],
];

/// A class of layouts that share one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Class {
    family: Family,
    wide: bool,
    subsampled: (bool, bool),
    ycgco: bool,
    to_image: bool,
    /// True if the kernel for whole rows is intended for this class of layouts.
    rows: bool,
}

impl Class {
    /// Returns the class of a layout and the storage of the destination.
    fn new(cl: &ClContext, layout: &Layout, storage: Storage) -> Self {
        let ycbcr = layout.family == Family::Ycbcr;
        Self {
            family: layout.family,
            wide: layout.wide,
            subsampled: (ycbcr && layout.subsampled.0, ycbcr && layout.subsampled.1),
            ycgco: ycbcr && layout.matrix == Matrix::Ycgco,
            to_image: storage == Storage::Image,
            rows: rows::is_suitable(cl.is_cpu(), layout, storage),
        }
    }

    /// Builds the program of the class, with the kernel for whole rows or the general one.
    fn build(self, cl: &ClContext, row_kernel: bool) -> Result<KernelProgram> {
        if row_kernel {
            return rows::program(cl, &self.options());
        }
        build(cl, CONVERT_FILE, "convert_planes", &self.options(), &CONVERT_ARGUMENT_TYPES)
    }

    fn options(self) -> String {
        let family = match self.family {
            Family::Ycbcr => 0,
            Family::Grey => 1,
            Family::Rgb => 2,
        };
        format!(
            "-D FAMILY={family} -D WIDE={} -D HALF_X={} -D HALF_Y={} -D YCGCO={} -D TO_IMAGE={}",
            u8::from(self.wide),
            u8::from(self.subsampled.0),
            u8::from(self.subsampled.1),
            u8::from(self.ycgco),
            u8::from(self.to_image)
        )
    }
}

/// The program for a class of layouts, built on any thread for a [`Converter`].
#[derive(Clone)]
pub struct ConvertProgram {
    class: Class,
    /// True if the program has the kernel for whole rows; false if it has the general kernel, which replaces a kernel for
    /// whole rows that gives wrong results on this device.
    row_kernel: bool,
    kernel_program: KernelProgram,
}

impl ConvertProgram {
    /// Builds the program for this layout and storage of the destination, and runs it once, because some drivers finish
    /// compiling at the first launch. Takes up to a second, so call it in the background.
    ///
    /// # Errors
    /// When the program does not build, with its log, or fails to run.
    pub fn build(cl: &ClContext, layout: &Layout, storage: Storage) -> Result<Self> {
        let class = Class::new(cl, layout, storage);
        Self::build_with(cl, layout, storage, class.rows)
    }

    /// Builds the program as [`ConvertProgram::build`] does, with the kernel for whole rows if `row_kernel`, otherwise with the
    /// general kernel.
    fn build_with(cl: &ClContext, layout: &Layout, storage: Storage, row_kernel: bool) -> Result<Self> {
        let class = Class::new(cl, layout, storage);
        let program = Self { class, row_kernel, kernel_program: class.build(cl, row_kernel)? };
        // Every component lies at the start of a block of zeros.
        let tiny =
            Layout { width: 8, height: 2, components: Default::default(), interlaced: false, ..*layout };
        let queue = cl.extra_queue()?;
        let block = Picture::alloc(cl, Storage::Buffer, 16, 1)?;
        block.write(&queue, &[0; 64])?;
        let dst = Picture::alloc(cl, storage, 8, 2)?;
        let mut auxiliary = Auxiliary::default();
        let (kernels, neutral) = (&mut KernelCache::default(), &Correction::NEUTRAL);
        let _event = program.launch(cl, &queue, kernels, &tiny, &block, &dst, neutral, &mut auxiliary)?;
        queue.finish().map_err(|e| failed("The conversion failed to run on the device.", &e))?;
        Ok(program)
    }

    #[allow(clippy::too_many_arguments)]
    fn launch(
        &self,
        cl: &ClContext,
        queue: &Queue,
        kernels: &mut KernelCache,
        layout: &Layout,
        block: &Picture,
        dst: &Picture,
        correction: &Correction,
        auxiliary: &mut Auxiliary,
    ) -> Result<Event> {
        let kernel = kernels.get(&self.kernel_program)?;
        let tables = correction.tables(layout.matrix);
        let curve = auxiliary.curve.get(cl, &tables)?;
        if self.row_kernel {
            let lines = &mut auxiliary.lines;
            return rows::launch(cl, queue, kernel, layout, (block, dst), &tables, curve, lines);
        }
        let c = Coefficients::of(layout);
        let each = |value: fn(&Component) -> u32| {
            Value::Int4(layout.components.map(|component| value(&component) as i32))
        };
        let alpha = i32::from(layout.alpha);
        let bits = Value::Int2([layout.shift as i32, (1 << layout.depth) - 1]);
        let across = layout.width.div_ceil(4) as usize;
        // SAFETY: these are all arguments of the kernel, with their types; block and destination are as large as the
        // layout says, and the kernel stays inside them.
        unsafe {
            enqueue_kernel(
                cl,
                queue,
                kernel,
                (across, layout.height as usize),
                [
                    block.mem().into(),
                    dst.mem().into(),
                    Value::Int(layout.width as i32).into(),
                    Value::Int(layout.height as i32).into(),
                    each(|c| c.offset).into(),
                    each(|c| c.stride).into(),
                    each(|c| c.step).into(),
                    siting_argument(layout).into(),
                    bits.into(),
                    Value::Int8([c.luma, c.black, c.middle, c.rv, c.gu, c.gv, c.bu, alpha]).into(),
                    Value::Int(i32::from(!tables.is_identity())).into(),
                    curve.into(),
                    luma_argument(&tables).into(),
                ],
            )
        }
    }
}

/// Converts planes to RGBA8 on one device.
///
/// A converter can be created on any thread and sent to another. All its commands must use one in-order queue.
pub struct Converter {
    cl: ClContext,
    programs: HashMap<Class, ConvertProgram>,
    auxiliary: Auxiliary,
}

/// Device memory that commands need besides pictures: the correction's curve, and rows of interpolated chroma.
#[derive(Default)]
struct Auxiliary {
    curve: CurveBuffer,
    lines: ChromaRows,
}

impl Converter {
    /// Creates a converter without programs.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), programs: HashMap::new(), auxiliary: Auxiliary::default() }
    }

    /// Returns the layout in which `frame` is packed for the device; `None` if no kernel converts its format.
    pub fn supports(frame: &Video) -> Option<Layout> {
        layout_of(frame)
    }

    /// Returns true if the program for this layout and storage of the destination is built.
    pub fn is_ready(&self, layout: &Layout, storage: Storage) -> bool {
        self.programs.contains_key(&Class::new(&self.cl, layout, storage))
    }

    /// Adds a program for this device, which another thread may have built.
    pub fn add(&mut self, program: ConvertProgram) {
        self.programs.insert(program.class, program);
    }

    /// Returns true if the kernel for whole rows is used for planes of this layout and a destination with this storage.
    fn uses_row_kernel(&self, layout: &Layout, storage: Storage) -> bool {
        self.programs.get(&Class::new(&self.cl, layout, storage)).is_some_and(|program| program.row_kernel)
    }

    /// Rebuilds the program for this layout and storage of the destination with the general kernel, if it has the kernel
    /// for whole rows. Returns true if the program was rebuilt.
    ///
    /// # Errors
    /// As [`ConvertProgram::build`].
    pub fn disable_row_kernel(&mut self, layout: &Layout, storage: Storage) -> Result<bool> {
        let row_kernel = self.uses_row_kernel(layout, storage);
        if row_kernel {
            self.add(ConvertProgram::build_with(&self.cl, layout, storage, false)?);
        }
        Ok(row_kernel)
    }

    /// Returns a clone of the program for this layout and storage of the destination, for a converter on another thread.
    ///
    /// # Errors
    /// When the program is not built.
    pub fn program(&self, layout: &Layout, storage: Storage) -> Result<ConvertProgram> {
        let program = self.programs.get(&Class::new(&self.cl, layout, storage));
        program.cloned().ok_or_else(|| Error::new(START_FAILED, "Its program is not built.", ""))
    }

    /// Builds the program for this layout and storage of the destination, unless it exists.
    ///
    /// # Errors
    /// As [`ConvertProgram::build`].
    pub fn prepare(&mut self, layout: &Layout, storage: Storage) -> Result<()> {
        if !self.is_ready(layout, storage) {
            self.add(ConvertProgram::build(&self.cl, layout, storage)?);
        }
        Ok(())
    }

    /// Enqueues the conversion of a block with this layout in device memory to `dst`, with a correction of the picture's
    /// colours. [`PlaneBlock::to_device`] must have uploaded the block on the same queue, or on another queue for which `queue`
    /// waits. Arguments that the kernel in `kernels` already has are not set again. Returns the command's event without
    /// waiting; flush the queue to start it. Waits for the compiler if [`Converter::prepare`] was not called for this layout.
    ///
    /// # Errors
    /// When `dst` has another size than the frame, `block` is smaller than the layout, the program does not build, or the
    /// device refuses.
    pub fn enqueue(
        &mut self,
        queue: &Queue,
        kernels: &mut KernelCache,
        layout: &Layout,
        block: &Picture,
        dst: &Picture,
        correction: &Correction,
    ) -> Result<Event> {
        if !matches!(block, Picture::Buffer(buffer) if buffer.len() >= layout.bytes() / 4 * 4) {
            return Err(Error::new(START_FAILED, "Its planes are not all on the device.", ""));
        }
        expect_size(dst, layout.width, layout.height)?;
        self.prepare(layout, dst.storage())?;
        let program = self.program(layout, dst.storage())?;
        program.launch(&self.cl, queue, kernels, layout, block, dst, correction, &mut self.auxiliary)
    }
}
