//! The conversion kernel for CPU devices that computes whole rows, for filtered planes with padded rows.

use ocl::ffi::{CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};

use super::launch::{KernelProgram, START_FAILED, build, luma_argument, set_arguments, siting_argument};
use base::error::Result;
use opencl::cl::{Buffer, ClContext, Event, Mem, Queue, failed};
use opencl::kernel::{Kernel, Value, enqueue};
use opencl::memory::{Picture, Storage};
use video::color::{Coefficients, CorrectionTables, Family, Layout};

/// The kernel file of the conversion with the kernel for whole rows.
pub(super) const ROWS_FILE: &str = "convert/03_rows.cl";
/// The accepted types of each argument of the kernel.
const ARGUMENT_TYPES: [&[&str]; 13] = [
    &["ushort*"],
    &["uchar4*"],
    &["int"],
    &["int"],
    &["int4"],
    &["int4"],
    &["int4"],
    &["int8"],
    &["int"],
    &["uchar*"],
    &["int4"],
    &["int"],
    &["ushort*"],
];
/// The number of strips of rows per compute unit into which a picture is divided.
const STRIPS_PER_UNIT: u32 = 2;
/// The number of values by which a line of scratch exceeds the pixels of a row: the edges of the row, and padding for whole
/// vectors.
const LINE_MARGIN: usize = 96;

/// Returns true if the kernel for whole rows supports planes of this layout and destinations with this storage, and is
/// faster than the general kernel on this kind of device.
pub(super) fn is_suitable(is_cpu: bool, layout: &Layout, storage: Storage) -> bool {
    let roomy = |at: usize| layout.components[at].step == 1 && layout.planes[at].stride.is_multiple_of(64);
    is_cpu
        && storage == Storage::Buffer
        && layout.family == Family::Ycbcr
        && (layout.wide, layout.depth, layout.shift) == (true, 12, 0)
        && layout.fraction > 0
        && (0..3).all(roomy)
}

/// Builds the program with the kernel for whole rows; `options` are the compiler options of the general kernel's program.
pub(super) fn program(cl: &ClContext, options: &str) -> Result<KernelProgram> {
    build(cl, ROWS_FILE, "convert_rows", options, &ARGUMENT_TYPES)
}

/// Device memory for interpolated rows of chroma, shared by all commands of one in-order queue.
#[derive(Default)]
pub(super) struct ChromaRows(Option<Buffer>);

impl ChromaRows {
    /// Returns memory for at least this many 16-bit values.
    fn get(&mut self, cl: &ClContext, numbers: usize) -> Result<&Mem> {
        let lines = match self.0.take().filter(|lines| lines.len() >= 2 * numbers) {
            Some(lines) => lines,
            None => {
                let flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
                Buffer::new(&cl.context, flags, 2 * numbers)
                    .map_err(|e| failed("Memory for the conversion could not be had.", &e))?
            }
        };
        Ok(self.0.insert(lines).mem())
    }
}

/// Enqueues the conversion of `block` to `dst` with the kernel for whole rows.
#[allow(clippy::too_many_arguments)]
pub(super) fn launch(
    cl: &ClContext,
    queue: &Queue,
    kernel: &Kernel,
    layout: &Layout,
    (block, dst): (&Picture, &Picture),
    tables: &CorrectionTables,
    curve: &Mem,
    lines: &mut ChromaRows,
) -> Result<Event> {
    let c = Coefficients::of(layout);
    let strips = (STRIPS_PER_UNIT * cl.device.info.units).clamp(1, layout.height.max(1)) as usize;
    let line = (layout.width as usize + LINE_MARGIN).next_multiple_of(32);
    let lines = lines.get(cl, 2 * strips * line + 32)?;
    let [y, u, v, _] = layout.components.map(|c| (c.offset as i32, c.stride as i32));
    set_arguments(
        kernel,
        [
            block.mem().into(),
            dst.mem().into(),
            Value::Int(layout.width as i32).into(),
            Value::Int(layout.height as i32).into(),
            Value::Int4([y.0, u.0, v.0, 0]).into(),
            Value::Int4([y.1, u.1, v.1, 0]).into(),
            siting_argument(layout).into(),
            Value::Int8([c.luma, c.black, c.middle, c.rv, c.gu, c.gv, c.bu, 0]).into(),
            Value::Int(i32::from(!tables.is_identity())).into(),
            curve.into(),
            luma_argument(tables).into(),
            Value::Int(line as i32).into(),
            lines.into(),
        ],
    )?;
    // SAFETY: these are all arguments of the kernel, with their types; block, destination and lines are as large as it
    // needs for this layout, and it stays inside them.
    unsafe { enqueue(queue, kernel, 1, [strips, 1, 1], [1, 1, 1]) }.map_err(|e| failed(START_FAILED, &e))
}
