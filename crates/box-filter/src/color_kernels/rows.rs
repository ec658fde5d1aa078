//! The conversion kernel for CPU devices that computes whole rows, for filtered planes with padded rows.

use super::launch::{
    BYTES, INT, INT4, INT8, KernelSource, Launch, START_FAILED, luma_argument, siting_argument,
};
use super::{Auxiliary, Conversion, ConvertCommand};
use crate::scratch::reserve;
use base::error::Result;
use compute::plan::Types;
use opencl::cl::{Event, failed};
use opencl::kernel::{NdRange, Value, enqueue};
use opencl::memory::Storage;
use video::color::{Coefficients, Family};

/// The OpenCL type of the planes, and of the lines between them and the picture.
const SAMPLES: Types = &["ushort*"];
/// The kernel of the conversion for whole rows.
pub(super) const ROWS: KernelSource = KernelSource {
    file: "convert/03_rows.cl",
    name: "convert_rows",
    types: &[SAMPLES, &["uchar4*"], INT, INT, INT4, INT4, INT4, INT8, INT, BYTES, INT4, INT, SAMPLES],
};
/// The number of strips of rows per compute unit into which a picture is divided.
const STRIPS_PER_UNIT: u32 = 2;
/// The number of values by which a row of intermediate chroma values is longer than a row of pixels: the edges of the row, and
/// padding for whole vectors.
const LINE_MARGIN: usize = 96;

/// Returns true if the kernel for whole rows supports planes of this layout and this kind of memory for the destination, and is
/// faster than the general kernel on this kind of device.
pub(super) fn is_suitable(is_cpu: bool, Conversion { layout, storage }: &Conversion) -> bool {
    let roomy = |at: usize| layout.components[at].step == 1 && layout.planes[at].stride.is_multiple_of(64);
    is_cpu
        && *storage == Storage::Buffer
        && layout.family == Family::Ycbcr
        && (layout.wide, layout.depth, layout.shift) == (true, 12, 0)
        && layout.fraction > 0
        && (0..3).all(roomy)
}

/// Enqueues a conversion with the kernel for whole rows.
pub(super) fn launch(launch: Launch, command: &ConvertCommand, auxiliary: &mut Auxiliary) -> Result<Event> {
    let ConvertCommand { layout, planes, to, correction } = command;
    let tables = correction.tables(layout.matrix);
    let c = Coefficients::of(layout);
    let strips = (STRIPS_PER_UNIT * launch.cl.device.info.units).clamp(1, layout.height.max(1)) as usize;
    let line = (layout.width as usize + LINE_MARGIN).next_multiple_of(32);
    let no_memory = "Memory for the conversion could not be had.";
    let [y, u, v, _] = layout.components.map(|c| (c.offset as i32, c.stride as i32));
    launch.set_arguments([
        planes.mem().into(),
        to.mem().into(),
        Value::Int(layout.width as i32).into(),
        Value::Int(layout.height as i32).into(),
        Value::Int4([y.0, u.0, v.0, 0]).into(),
        Value::Int4([y.1, u.1, v.1, 0]).into(),
        siting_argument(layout).into(),
        Value::Int8([c.luma, c.black, c.middle, c.rv, c.gu, c.gv, c.bu, 0]).into(),
        Value::Int(i32::from(!tables.is_identity())).into(),
        auxiliary.curve.get(launch.cl, &tables)?.into(),
        luma_argument(&tables).into(),
        Value::Int(line as i32).into(),
        reserve(&mut auxiliary.lines, launch.cl, 2 * (2 * strips * line + 32), no_memory)?.into(),
    ])?;
    // SAFETY: these are all arguments of the kernel, with their types; block, destination and lines are as large as it
    // needs for this layout, and it stays inside them.
    unsafe { enqueue(launch.queue, launch.kernel, NdRange::line(strips, 1), &[]) }
        .map_err(|e| failed(START_FAILED, &e))
}
