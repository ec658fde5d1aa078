//! Conversion and correction on a device, by the contract of [`color`](video::color). In: a frame's planes, or an
//! RGBA picture. Out: one command on a queue that makes the picture of it, and never waits.
//!
//! [`PlaneBlock`] carries the planes to the device. [`Converter`] turns them into RGBA8 and corrects the colours in
//! the same pass. [`Corrector`] corrects a picture that is RGBA8 already. Both can check themselves against the reference.

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

use launch::{Built, Curve, NOT_STARTED, build, expect_size, luma_argument, siting_argument, start};

use rows::{Lines, ROWS};

pub use block::{PlaneBlock, pack_pinned};
pub use correct::Corrector;
pub use launch::KeptKernels;

const CONVERT: &str = "convert/01_planes.cl";
/// Types of the kernel's arguments; an empty list takes any.
const CONVERT_TYPES: [&[&str]; 13] = [
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

/// Layouts that share one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Class {
    family: Family,
    wide: bool,
    subsampled: (bool, bool),
    ycgco: bool,
    to_image: bool,
    /// By the kernel for whole rows.
    rows: bool,
}

impl Class {
    fn new(cl: &ClContext, layout: &Layout, storage: Storage) -> Self {
        let ycbcr = layout.family == Family::Ycbcr;
        Self {
            family: layout.family,
            wide: layout.wide,
            subsampled: (ycbcr && layout.subsampled.0, ycbcr && layout.subsampled.1),
            ycgco: ycbcr && layout.matrix == Matrix::Ycgco,
            to_image: storage == Storage::Image,
            rows: rows::takes(cl, layout, storage),
        }
    }

    fn build(self, cl: &ClContext, by_rows: bool) -> Result<Built> {
        if by_rows {
            return rows::program(cl, &self.options());
        }
        build(cl, CONVERT, "convert_planes", &self.options(), &CONVERT_TYPES)
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

/// The program for a class of formats, built on any thread for a [`Converter`].
#[derive(Clone)]
pub struct ConvertProgram {
    class: Class,
    /// Its kernel is the one for whole rows, as the class has it unless that is wrong on this device.
    by_rows: bool,
    built: Built,
}

impl ConvertProgram {
    /// Builds the program for this layout and kind of destination, and runs it once: some drivers finish compiling at
    /// the first launch. Takes up to a second, so call it in the background.
    ///
    /// # Errors
    /// When the program does not build, with its log, or fails to run.
    pub fn build(cl: &ClContext, layout: &Layout, storage: Storage) -> Result<Self> {
        let class = Class::new(cl, layout, storage);
        Self::build_by(cl, layout, storage, class.rows)
    }

    fn build_by(cl: &ClContext, layout: &Layout, storage: Storage, by_rows: bool) -> Result<Self> {
        let class = Class::new(cl, layout, storage);
        let program = Self { class, by_rows, built: class.build(cl, by_rows)? };
        // Every component lies at the start of a block of zeros.
        let tiny =
            Layout { width: 8, height: 2, components: Default::default(), interlaced: false, ..*layout };
        let queue = cl.extra_queue()?;
        let block = Picture::alloc(cl, Storage::Buffer, 16, 1)?;
        block.write(&queue, &[0; 64])?;
        let dst = Picture::alloc(cl, storage, 8, 2)?;
        let mut auxiliary = Auxiliary::default();
        let (kept, neutral) = (&mut KeptKernels::default(), &Correction::NEUTRAL);
        let _event = program.launch(cl, &queue, kept, &tiny, &block, &dst, neutral, &mut auxiliary)?;
        queue.finish().map_err(|e| failed("The conversion failed to run on the device.", &e))?;
        Ok(program)
    }

    #[allow(clippy::too_many_arguments)]
    fn launch(
        &self,
        cl: &ClContext,
        queue: &Queue,
        kept: &mut KeptKernels,
        layout: &Layout,
        block: &Picture,
        dst: &Picture,
        correction: &Correction,
        auxiliary: &mut Auxiliary,
    ) -> Result<Event> {
        let kernel = kept.get(&self.built)?;
        let tables = correction.tables(layout.matrix);
        let curve = auxiliary.curve.get(cl, &tables)?;
        if self.by_rows {
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
            start(
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

/// Planes to RGBA8 on one device, for the classes of formats whose programs it was given.
///
/// It can be made on any thread and sent to another. All its commands go to one in-order queue.
pub struct Converter {
    cl: ClContext,
    programs: HashMap<Class, ConvertProgram>,
    auxiliary: Auxiliary,
    /// For those who keep none.
    kept: KeptKernels,
}

/// What commands need beside pictures.
#[derive(Default)]
struct Auxiliary {
    curve: Curve,
    lines: Lines,
}

impl Converter {
    /// A converter without programs.
    pub fn new(cl: &ClContext) -> Self {
        Self {
            cl: cl.clone(),
            programs: HashMap::new(),
            auxiliary: Auxiliary::default(),
            kept: KeptKernels::default(),
        }
    }

    /// How `frame` is packed for the device; `None` where no kernel converts such a format.
    pub fn supports(frame: &Video) -> Option<Layout> {
        layout_of(frame)
    }

    /// Whether [`Converter::enqueue`] has its program for this layout and kind of destination.
    pub fn is_ready(&self, layout: &Layout, storage: Storage) -> bool {
        self.programs.contains_key(&Class::new(&self.cl, layout, storage))
    }

    /// Takes a program that was built elsewhere.
    pub fn add(&mut self, program: ConvertProgram) {
        self.programs.insert(program.class, program);
    }

    /// Whether the kernel for whole rows converts such planes.
    fn is_by_rows(&self, layout: &Layout, storage: Storage) -> bool {
        self.programs.get(&Class::new(&self.cl, layout, storage)).is_some_and(|program| program.by_rows)
    }

    /// Has the other kernel convert such planes from now on where the one for whole rows does; returns whether it did.
    ///
    /// # Errors
    /// As [`ConvertProgram::build`].
    pub fn do_without_rows(&mut self, layout: &Layout, storage: Storage) -> Result<bool> {
        let by_rows = self.is_by_rows(layout, storage);
        if by_rows {
            self.add(ConvertProgram::build_by(&self.cl, layout, storage, false)?);
        }
        Ok(by_rows)
    }

    /// The program, for a converter on another thread.
    ///
    /// # Errors
    /// When it is not built.
    pub fn program(&self, layout: &Layout, storage: Storage) -> Result<ConvertProgram> {
        let class = Class::new(&self.cl, layout, storage);
        let Some(program) = self.programs.get(&class) else {
            return Err(Error::new(NOT_STARTED, "Its program is not built.", ""));
        };
        Ok(program.clone())
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

    /// Enqueues the conversion of `planes`, which [`PlaneBlock::to_device`] has handed over on the same queue or on one
    /// that it waits for, to `dst`, and the correction of its colours. Returns at once with the command's event; flush
    /// the queue to start it. It waits for the compiler if [`Converter::prepare`] has not been called for this layout.
    ///
    /// # Errors
    /// When `dst` has another size than the frame, the program does not build, or the device refuses.
    pub fn enqueue(
        &mut self,
        queue: &Queue,
        planes: &PlaneBlock,
        dst: &Picture,
        correction: &Correction,
    ) -> Result<Event> {
        self.enqueue_block(queue, planes.layout(), planes.on_device()?, dst, correction)
    }

    /// The same for a block that is on the device already, as `layout` describes it.
    ///
    /// # Errors
    /// As [`Converter::enqueue`]; also when `block` is smaller than the layout.
    pub fn enqueue_block(
        &mut self,
        queue: &Queue,
        layout: &Layout,
        block: &Picture,
        dst: &Picture,
        correction: &Correction,
    ) -> Result<Event> {
        let mut kept = std::mem::take(&mut self.kept);
        let enqueued = self.enqueue_kept(queue, &mut kept, layout, block, dst, correction);
        // Whoever keeps no kernels may free the memory.
        kept.forget_memory();
        self.kept = kept;
        enqueued
    }

    /// The same by a kernel of `kept`: arguments that it has from the last time are not set again.
    ///
    /// # Errors
    /// As [`Converter::enqueue_block`].
    pub fn enqueue_kept(
        &mut self,
        queue: &Queue,
        kept: &mut KeptKernels,
        layout: &Layout,
        block: &Picture,
        dst: &Picture,
        correction: &Correction,
    ) -> Result<Event> {
        if !matches!(block, Picture::Buffer(buffer) if buffer.len() >= layout.bytes() / 4 * 4) {
            return Err(Error::new(NOT_STARTED, "Its planes are not all on the device.", ""));
        }
        expect_size(dst, layout.width, layout.height)?;
        self.prepare(layout, dst.storage())?;
        let Some(program) = self.programs.get(&Class::new(&self.cl, layout, dst.storage())) else {
            return Err(Error::new(NOT_STARTED, "Its program is not built.", ""));
        };
        program.launch(&self.cl, queue, kept, layout, block, dst, correction, &mut self.auxiliary)
    }
}
