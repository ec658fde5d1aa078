//! The kernels of the filter on planes: their arguments and the sizes of their launches.

use super::Window;
use crate::MAX_RADIUS;
use crate::config::Argument::{self, ColumnSums, Destination, Number, Source};
use crate::config::Extent;
use opencl::kernel::Value;
use video::color::Layout;

/// Returns the compiler options for samples of one byte, or of two (`wide`).
pub(crate) fn options(wide: bool) -> String {
    format!("-D WIDE={}", u8::from(wide))
}

/// The number of strips of rows per compute unit on CPUs, and of work-groups per compute unit on all other devices.
const STRIPS: [u32; 2] = [2, 6];
/// The number of work-items in a work-group of the kernel for GPUs.
pub(crate) const GROUP: u32 = 128;
/// The number of columns that a work-item of the kernel for GPUs computes.
pub(crate) const COLUMNS: u32 = 8;
/// The number of values by which a row of intermediate sums is longer than a row of samples on each side: the edge for the
/// largest window, and padding for whole vectors. `MARGIN` in 08_planes.cl is the same.
const MARGIN: usize = MAX_RADIUS as usize + 32;

pub(crate) static CPU_ARGUMENTS: [Argument; 17] =
    arguments([Number(|e| Value::Int(line_len(e) as i32)), ColumnSums]);

pub(crate) static GPU_ARGUMENTS: [Argument; 17] = arguments([
    Number(|e| Value::Int4(groups(e).map(|[across, _]| across as i32))),
    Number(|e| Value::Int4(groups(e).map(|[_, down]| down as i32))),
]);

/// Returns the arguments of a kernel: those that both kernels have, and two of its own.
const fn arguments([first, second]: [Argument; 2]) -> [Argument; 17] {
    [
        Source,
        Destination,
        Number(|e| each(e, |from, index| from.size_of(index).0)),
        Number(|e| each(e, |from, index| from.size_of(index).1)),
        Number(|e| each(e, |from, index| from.components[index].offset)),
        Number(|e| each(e, |from, index| from.components[index].stride)),
        Number(|e| each(e, |from, index| from.components[index].step)),
        Number(|e| each(e, |from, index| from.filtered().components[index].offset)),
        Number(|e| each(e, |from, index| from.filtered().components[index].stride)),
        Number(|e| {
            each(e, |from, index| {
                let (across, down) = from.subsampled_of(index);
                u32::from(across) + 2 * u32::from(down)
            })
        }),
        Number(|e| Value::Int2(e.layout.map_or([0; 2], |from| [from.shift as i32, (1 << from.depth) - 1]))),
        Number(|e| {
            let half = Window::new(e.radius, true);
            Value::Int4([e.radius, half.reach, half.full, half.end].map(|value| value as i32))
        }),
        Number(|e| Value::Float4([0, 1, 2, 3].map(|index| scale(e, index)))),
        Number(|e| Value::Int(e.first as i32)),
        Number(|e| Value::Int(e.rows as i32)),
        first,
        second,
    ]
}

/// Returns a number for each component of the planes, as one argument of a kernel.
fn each(e: &Extent, value: impl Fn(&Layout, usize) -> u32) -> Value {
    let value = |index| e.layout.filter(|from| index < from.count()).map_or(0, |from| value(&from, index));
    Value::Int4([0, 1, 2, 3].map(|index| value(index) as i32))
}

/// Returns the factor by which a component's sums are multiplied.
fn scale(e: &Extent, index: usize) -> f32 {
    let Some(layout) = e.layout else { return 0.0 };
    let fraction = f64::from(1u32 << layout.filtered().fraction);
    let (across, down) = layout.subsampled_of(index);
    let total = |subsampled| f64::from(Window::new(e.radius, subsampled).total());
    (fraction / (total(across) * total(down))) as f32
}

/// Returns the length in values of a row of intermediate sums: a row of samples with its edges repeated.
pub(crate) fn line_len(e: &Extent) -> usize {
    (e.width as usize + 2 * MARGIN + 32).next_multiple_of(16)
}

/// Returns the number of a component's samples.
fn area(layout: &Layout, component: usize) -> f64 {
    let (width, height) = layout.size_of(component);
    f64::from(width) * f64::from(height)
}

/// Returns the number of strips into which a band is divided, by the kernel for GPUs or for CPUs.
pub(crate) fn strips(e: &Extent, for_gpu: bool) -> u32 {
    (STRIPS[usize::from(for_gpu)] * e.units.max(1)).min(e.rows).max(1)
}

/// Returns the number of samples that are read for each pixel of the picture.
pub(crate) fn reads_per_pixel(e: &Extent, for_gpu: bool) -> f64 {
    let samples: f64 =
        e.layout.iter().flat_map(|from| (0..from.count()).map(|index| area(from, index))).sum();
    let strip = f64::from(e.rows) / f64::from(strips(e, for_gpu));
    samples / (f64::from(e.width) * f64::from(e.height)) * (2.0 + f64::from(2 * e.radius + 1) / strip)
}

/// Returns for each component the number of work-groups across a row, and the number of strips down the columns.
pub(crate) fn groups(e: &Extent) -> [[u32; 2]; 4] {
    let Some(layout) = &e.layout else { return [[0; 2]; 4] };
    let whole: f64 = (0..layout.count()).map(|index| area(layout, index)).sum();
    std::array::from_fn(|index| {
        if index >= layout.count() {
            return [0; 2];
        }
        let (subsampled, down) = layout.subsampled_of(index);
        let reach = Window::new(e.radius, subsampled).reach;
        let halo = (reach + 1).div_ceil(COLUMNS);
        let blocks = layout.size_of(index).0.div_ceil(COLUMNS);
        let across = blocks.div_ceil(GROUP - 2 * halo);
        let part = f64::from(STRIPS[1] * e.units.max(1)) * area(layout, index) / whole;
        let rows = if down { e.rows.div_ceil(2) } else { e.rows };
        [across, (part as u32 / across).clamp(1, rows)]
    })
}
