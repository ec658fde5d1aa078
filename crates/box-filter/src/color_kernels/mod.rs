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
use opencl::cl::{Buffer, ClContext, Event, Queue, failed};
use opencl::kernel::Value;
use opencl::memory::{Picture, Storage};
use serde::{Deserialize, Serialize};
use video::color::planes::layout_of;
use video::color::{Coefficients, Component, Correction, Family, Layout, Matrix};

use launch::{
    BYTES, CurveBuffer, INT, INT4, INT8, KernelProgram, KernelSource, Launch, PICTURE, START_FAILED, build,
    expect_size, luma_argument, siting_argument,
};

use rows::ROWS;

pub use block::{PinnedPlanes, PlaneBlock};
pub use correct::{CorrectCommand, Corrector};
pub use launch::KernelCache;

/// The general kernel of the conversion; it accepts planes of any type.
const CONVERT: KernelSource = KernelSource {
    file: "convert/01_planes.cl",
    name: "convert_planes",
    types: &[&[], PICTURE, INT, INT, INT4, INT4, INT4, INT4, &["int2"], INT8, INT, BYTES, INT4],
};

/// Returns the kinds of memory that a device can write converted pictures to.
pub fn storages(cl: &ClContext) -> &'static [Storage] {
    if cl.device.info.image_support { &[Storage::Buffer, Storage::Image] } else { &[Storage::Buffer] }
}

/// A conversion of whole pictures from planes of this layout to RGBA8 pixels, written to this kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Conversion {
    /// The layout of the planes.
    pub layout: Layout,
    /// The kind of memory (buffer or image) of the destination.
    pub storage: Storage,
}

/// A conversion of one picture on a device, with a correction of its colours.
#[derive(Debug, Clone)]
pub struct ConvertCommand {
    /// The layout of the planes.
    pub layout: Layout,
    /// The memory with the planes, packed into one block.
    pub planes: Picture,
    /// The memory for the RGBA picture.
    pub to: Picture,
    /// The correction of the colours.
    pub correction: Correction,
}

impl ConvertCommand {
    /// Returns the conversion without the picture, which identifies its program.
    pub fn conversion(&self) -> Conversion {
        Conversion { layout: self.layout, storage: self.to.storage() }
    }
}

/// The properties of a conversion that determine its program: conversions with equal properties share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Class {
    family: Family,
    wide: bool,
    subsampled: (bool, bool),
    ycgco: bool,
    to_image: bool,
    /// True if the kernel for whole rows is intended for conversions with these properties.
    rows: bool,
}

impl Class {
    /// Returns the properties of this conversion on the context's device.
    fn new(cl: &ClContext, conversion: &Conversion) -> Self {
        let Conversion { layout, storage } = conversion;
        let ycbcr = layout.family == Family::Ycbcr;
        Self {
            family: layout.family,
            wide: layout.wide,
            subsampled: (ycbcr && layout.subsampled.0, ycbcr && layout.subsampled.1),
            ycgco: ycbcr && layout.matrix == Matrix::Ycgco,
            to_image: *storage == Storage::Image,
            rows: rows::is_suitable(cl.is_cpu(), conversion),
        }
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

/// A program for the conversion of certain layouts, built on any thread for a [`Converter`].
#[derive(Clone)]
pub struct ConvertProgram {
    class: Class,
    /// True if the program has the kernel for whole rows; false if it has the general kernel, which replaces a kernel for
    /// whole rows that gives wrong results on this device.
    row_kernel: bool,
    kernel_program: KernelProgram,
}

impl ConvertProgram {
    /// Builds the program of a conversion, and runs it once, because some drivers finish compiling at the first launch. Takes
    /// up to a second, so call it in the background.
    ///
    /// # Errors
    /// Returns an error if the program does not build, with its log, or fails to run.
    pub fn build(cl: &ClContext, conversion: &Conversion) -> Result<Self> {
        Self::build_with(cl, conversion, Class::new(cl, conversion).rows)
    }

    /// Builds the program as [`ConvertProgram::build`] does, with the kernel for whole rows if `row_kernel`, otherwise with the
    /// general kernel.
    fn build_with(cl: &ClContext, conversion: &Conversion, row_kernel: bool) -> Result<Self> {
        let class = Class::new(cl, conversion);
        let source = if row_kernel { &ROWS } else { &CONVERT };
        let program = Self { class, row_kernel, kernel_program: build(cl, source, &class.options())? };
        // Every component lies at the start of a block of zeros.
        let components = Default::default();
        let layout = Layout { width: 8, height: 2, components, interlaced: false, ..conversion.layout };
        let queue = cl.extra_queue()?;
        let planes = Picture::block(cl, &queue, &[0; 64])?;
        let to = Picture::alloc(cl, conversion.storage, 8, 2)?;
        let tiny = ConvertCommand { layout, planes, to, correction: Correction::NEUTRAL };
        let kernels = &mut KernelCache::default();
        let launch = Launch { cl, queue: &queue, kernel: kernels.get(&program.kernel_program)? };
        let _event = program.launch(launch, &tiny, &mut Auxiliary::default())?;
        queue.finish().map_err(|e| failed("The conversion failed to run on the device.", &e))?;
        Ok(program)
    }

    fn launch(&self, launch: Launch, command: &ConvertCommand, auxiliary: &mut Auxiliary) -> Result<Event> {
        if self.row_kernel {
            return rows::launch(launch, command, auxiliary);
        }
        let ConvertCommand { layout, planes, to, correction } = command;
        let tables = correction.tables(layout.matrix);
        let c = Coefficients::of(layout);
        let each = |value: fn(&Component) -> u32| {
            Value::Int4(layout.components.map(|component| value(&component) as i32))
        };
        let alpha = i32::from(layout.alpha);
        let bits = Value::Int2([layout.shift as i32, (1 << layout.depth) - 1]);
        let arguments = [
            planes.mem().into(),
            to.mem().into(),
            Value::Int(layout.width as i32).into(),
            Value::Int(layout.height as i32).into(),
            each(|c| c.offset).into(),
            each(|c| c.stride).into(),
            each(|c| c.step).into(),
            siting_argument(layout).into(),
            bits.into(),
            Value::Int8([c.luma, c.black, c.middle, c.rv, c.gu, c.gv, c.bu, alpha]).into(),
            Value::Int(i32::from(!tables.is_identity())).into(),
            auxiliary.curve.get(launch.cl, &tables)?.into(),
            luma_argument(&tables).into(),
        ];
        // SAFETY: these are all arguments of the kernel, with their types; block and destination are as large as the
        // layout says, and the kernel stays inside them.
        unsafe { launch.enqueue((layout.width.div_ceil(4), layout.height), arguments) }
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
    lines: Option<Buffer>,
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

    /// Returns true if the program of this conversion is built.
    pub fn is_ready(&self, conversion: &Conversion) -> bool {
        self.programs.contains_key(&Class::new(&self.cl, conversion))
    }

    /// Adds a program for this device, which another thread may have built.
    pub fn add(&mut self, program: ConvertProgram) {
        self.programs.insert(program.class, program);
    }

    /// Returns true if the kernel for whole rows is used for this conversion.
    fn uses_row_kernel(&self, conversion: &Conversion) -> bool {
        self.programs.get(&Class::new(&self.cl, conversion)).is_some_and(|program| program.row_kernel)
    }

    /// Rebuilds the program of this conversion with the general kernel, if it has the kernel for whole rows. Returns true if
    /// the program was rebuilt.
    ///
    /// # Errors
    /// Returns an error as [`ConvertProgram::build`] does.
    pub fn disable_row_kernel(&mut self, conversion: &Conversion) -> Result<bool> {
        let row_kernel = self.uses_row_kernel(conversion);
        if row_kernel {
            self.add(ConvertProgram::build_with(&self.cl, conversion, false)?);
        }
        Ok(row_kernel)
    }

    /// Returns a clone of the program of this conversion, for a converter on another thread.
    ///
    /// # Errors
    /// Returns an error if the program is not built.
    pub fn program(&self, conversion: &Conversion) -> Result<ConvertProgram> {
        let program = self.programs.get(&Class::new(&self.cl, conversion));
        program.cloned().ok_or_else(|| Error::new(START_FAILED, "Its program is not built.", ""))
    }

    /// Builds the program of this conversion, unless it exists.
    ///
    /// # Errors
    /// Returns an error as [`ConvertProgram::build`] does.
    pub fn prepare(&mut self, conversion: &Conversion) -> Result<()> {
        if !self.is_ready(conversion) {
            self.add(ConvertProgram::build(&self.cl, conversion)?);
        }
        Ok(())
    }

    /// Enqueues a conversion. [`PlaneBlock::to_device`] must have uploaded the planes on the same queue, or on another queue for
    /// which `queue` waits. Arguments that the kernel in `kernels` already has are not set again. Returns the command's event
    /// without waiting; flush the queue to start it. Waits for the compiler if [`Converter::prepare`] was not called for this
    /// conversion.
    ///
    /// # Errors
    /// Returns an error if the destination has another size than the frame, the block is smaller than the layout, the program
    /// does not build, or the device refuses.
    pub fn enqueue(
        &mut self,
        queue: &Queue,
        kernels: &mut KernelCache,
        command: &ConvertCommand,
    ) -> Result<Event> {
        let ConvertCommand { layout, planes, to, .. } = command;
        if !matches!(planes, Picture::Buffer(buffer) if buffer.len() >= layout.bytes() / 4 * 4) {
            return Err(Error::new(START_FAILED, "Its planes are not all on the device.", ""));
        }
        expect_size(to, layout.width, layout.height)?;
        self.prepare(&command.conversion())?;
        let program = self.program(&command.conversion())?;
        let launch = Launch { cl: &self.cl, queue, kernel: kernels.get(&program.kernel_program)? };
        program.launch(launch, command, &mut self.auxiliary)
    }
}
