//! The kernels of the filter on planes: their arguments and the sizes of their launches.

use super::{Window, work};
use crate::MAX_RADIUS;
use crate::config::Argument::{self, Destination, Number, Scratch, Source};
use crate::config::{Config, Extent, Formulas, ScratchSize};
use base::device::DeviceInfo;
use base::error::Result;
use compute::work::LaunchWork;
use filter::Launch;
use opencl::kernel::{self, Value};
use video::color::Layout;

/// Returns the compiler options for samples of one byte, or of two (`wide`).
pub(crate) fn options(wide: bool) -> String {
    format!("-D WIDE={}", u8::from(wide))
}

/// The number of strips of rows per compute unit on CPUs, and of work-groups per compute unit on all other devices.
const STRIPS: [u32; 2] = [2, 6];
/// The number of work-items in a work-group of the kernel for GPUs.
pub(super) const GROUP: u32 = 128;
/// The number of columns that a work-item of the kernel for GPUs computes.
pub(super) const COLUMNS: u32 = 8;
/// The number of values by which a row of intermediate sums is longer than a row of samples on each side: the edge for the
/// largest window, and padding for whole vectors. `MARGIN` in 08_planes.cl is the same.
const MARGIN: usize = MAX_RADIUS as usize + 32;

/// The arguments of the kernel for CPUs.
pub(crate) static CPU_ARGUMENTS: [Argument; 17] = arguments([Number, Scratch(0)]);

/// The arguments of the kernel for GPUs.
pub(crate) static GPU_ARGUMENTS: [Argument; 17] = arguments([Number, Number]);

/// Returns the arguments of a kernel: those that both kernels have, and two of its own.
const fn arguments([first, second]: [Argument; 2]) -> [Argument; 17] {
    let mut all = [Number; 17];
    (all[0], all[1], all[15], all[16]) = (Source(0), Destination, first, second);
    all
}

/// Returns the numbers that both kernels have as arguments.
fn numbers(e: &Extent) -> [Value; 13] {
    let half = Window::new(e.radius(), true);
    [
        each(e, |from, index| from.size_of(index).0),
        each(e, |from, index| from.size_of(index).1),
        each(e, |from, index| from.components[index].offset),
        each(e, |from, index| from.components[index].stride),
        each(e, |from, index| from.components[index].step),
        each(e, |from, index| from.filtered().components[index].offset),
        each(e, |from, index| from.filtered().components[index].stride),
        each(e, |from, index| {
            let (across, down) = from.subsampled_of(index);
            u32::from(across) + 2 * u32::from(down)
        }),
        Value::Int2(e.layout.map_or([0; 2], |from| [from.shift as i32, (1 << from.depth) - 1])),
        Value::Int4([e.radius(), half.reach, half.full, half.end].map(|value| value as i32)),
        Value::Float4([0, 1, 2, 3].map(|index| scale(e, index))),
        Value::Int(e.first as i32),
        Value::Int(e.rows as i32),
    ]
}

/// The launches of the kernel for GPUs or for CPUs.
pub(crate) struct Planes {
    for_gpu: bool,
}

impl Planes {
    /// The launches of the kernel for CPUs.
    pub(crate) const ON_CPU: Self = Self { for_gpu: false };
    /// The launches of the kernel for all other devices.
    pub(crate) const ON_GPU: Self = Self { for_gpu: true };

    /// Returns the size of a work-group.
    fn group(&self) -> usize {
        if self.for_gpu { GROUP as usize } else { 1 }
    }
}

impl Formulas for Planes {
    fn launch(&self, _: &Config, _: usize, e: &Extent) -> Result<(Launch, Vec<kernel::Argument>)> {
        let mut all = numbers(e).to_vec();
        let groups = if self.for_gpu {
            let counts = groups(e);
            all.extend([0, 1].map(|axis| Value::Int4(counts.map(|count| count[axis] as i32))));
            counts.iter().map(|[across, down]| across * down).sum()
        } else {
            all.push(Value::Int(line_len(e) as i32));
            strips(e, false)
        };
        let local = vec![self.group()];
        let launch = Launch { global: vec![groups as usize * self.group()], local };
        Ok((launch, all.into_iter().map(kernel::Argument::Value).collect()))
    }

    fn group_sizes(&self, _: &Config) -> Vec<usize> {
        vec![self.group()]
    }

    /// Returns true if the column sums of the kernel for GPUs fit local memory. Drivers need a few bytes of it for themselves.
    fn allows(&self, _: &Config, device: &DeviceInfo) -> bool {
        !self.for_gpu || 8 * u64::from(GROUP) * u64::from(COLUMNS + 1) + 64 <= device.local_memory()
    }

    /// Returns the number of samples that are read for each pixel of the picture.
    fn reads_per_pixel(&self, _: &Config, _: usize, e: &Extent) -> f64 {
        let samples: f64 =
            e.layout.iter().flat_map(|from| (0..from.count()).map(|index| area(from, index))).sum();
        let strip = f64::from(e.rows) / f64::from(strips(e, self.for_gpu));
        samples / (f64::from(e.width) * f64::from(e.height)) * (2.0 + f64::from(2 * e.radius() + 1) / strip)
    }

    fn work(&self, _: &Config, _: usize, e: &Extent, launch: LaunchWork) -> Option<LaunchWork> {
        Some(if self.for_gpu { work::on_gpu(e, launch) } else { work::on_cpu(e, launch) })
    }

    fn row_step(&self, _: &Config, _: usize) -> Option<u32> {
        Some(64)
    }

    fn scratch(&self, _: &Config, _: usize, e: &Extent) -> Result<ScratchSize> {
        Ok(ScratchSize::Bytes(8 * strips(e, false) as usize * line_len(e)))
    }
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
    let total = |subsampled| f64::from(Window::new(e.radius(), subsampled).total());
    (fraction / (total(across) * total(down))) as f32
}

/// Returns the length in values of a row of intermediate sums: a row of samples with its edges repeated.
fn line_len(e: &Extent) -> usize {
    (e.width as usize + 2 * MARGIN + 32).next_multiple_of(16)
}

/// Returns the number of a component's samples.
fn area(layout: &Layout, component: usize) -> f64 {
    let (width, height) = layout.size_of(component);
    f64::from(width) * f64::from(height)
}

/// Returns the number of strips into which a band is divided, by the kernel for GPUs or for CPUs.
pub(super) fn strips(e: &Extent, for_gpu: bool) -> u32 {
    (STRIPS[usize::from(for_gpu)] * e.units.max(1)).min(e.rows).max(1)
}

/// Returns for each component the number of work-groups across a row, and the number of strips down the columns.
pub(super) fn groups(e: &Extent) -> [[u32; 2]; 4] {
    let Some(layout) = &e.layout else { return [[0; 2]; 4] };
    let whole: f64 = (0..layout.count()).map(|index| area(layout, index)).sum();
    std::array::from_fn(|index| {
        if index >= layout.count() {
            return [0; 2];
        }
        let (subsampled, down) = layout.subsampled_of(index);
        let reach = Window::new(e.radius(), subsampled).reach;
        let halo = (reach + 1).div_ceil(COLUMNS);
        let blocks = layout.size_of(index).0.div_ceil(COLUMNS);
        let across = blocks.div_ceil(GROUP - 2 * halo);
        let part = f64::from(STRIPS[1] * e.units.max(1)) * area(layout, index) / whole;
        let rows = if down { e.rows.div_ceil(2) } else { e.rows };
        [across, (part as u32 / across).clamp(1, rows)]
    })
}
