//! The filter on planes on an OpenCL device, from one packed block of planes to another, whole or in bands.

use std::cell::Cell;
use std::ops::Range;

use super::Window;
use crate::{MAX_RADIUS, Scratch, VariantId};
use base::error::{Error, Result};
use opencl::cl::{Answer, ClContext, DeviceKind, Event, Mem, Program, Queue, failed};
use opencl::kernel::{Kernel, Value, enqueue, expect_count, expect_types, unique_number};
use opencl::memory::{Picture, Storage};
use opencl::program;
use video::color::Layout;

/// The kernel files of a variant on planes: for CPUs, and for all other devices. The kernels have the same name and arguments
/// in each variant.
#[derive(Debug)]
pub struct PlanesCode([&'static str; 2]);

/// The kernel files of [`VariantId::Planar`].
pub(crate) static PLANES: PlanesCode = PlanesCode(FILES);

/// The names of the kernel files of [`PLANES`].
pub(crate) const FILES: [&str; 2] = ["box_filter/08_planes.cl", "box_filter/09_planes_march.cl"];

impl PlanesCode {
    /// Returns the kernel files: for CPUs, and for all other devices.
    pub(crate) fn files(&self) -> &[&'static str] {
        &self.0
    }

    /// Returns the kernel file for a kind of device.
    pub(crate) fn file_on(&self, kind: DeviceKind) -> &&'static str {
        &self.0[usize::from(kind != DeviceKind::Cpu)]
    }

    /// Returns the compiler options for samples of one byte, or of two (`wide`).
    pub(crate) fn options(wide: bool) -> String {
        format!("-D WIDE={}", u8::from(wide))
    }

    /// Returns the kernel file for GPUs if `for_gpu`, otherwise the one for CPUs.
    fn kernel_file(&self, for_gpu: bool) -> &'static str {
        self.0[usize::from(for_gpu)]
    }
}

/// The name of the kernel in both files.
pub(super) const KERNEL_NAME: &str = "box_planes";
/// The number per compute unit of strips of rows on CPUs, and of work-groups on all other devices.
const STRIPS: [u32; 2] = [2, 6];
/// Bands whose height is a multiple of this number of rows waste little work.
pub(crate) const ROW_STEP: u32 = 64;
/// The number of work-items in a work-group of the kernel for GPUs.
pub(super) const GROUP: u32 = 128;
/// The number of columns that a work-item of the kernel for GPUs computes.
pub(super) const COLUMNS: u32 = 8;
/// The number of values by which a line of scratch extends a row on each side: the edge for the largest window, and padding
/// for whole vectors. `MARGIN` in 08_planes.cl is the same.
const MARGIN: usize = MAX_RADIUS as usize + 32;

/// Returns the first sentence of the error if a variant cannot be built or bound to memory.
fn preparation_error(id: VariantId) -> String {
    format!("'{id}' could not be prepared.")
}

/// Returns the first sentence of the error if a variant cannot be enqueued.
fn start_error(id: VariantId) -> String {
    format!("'{id}' could not be started.")
}

/// The filter on planes, built for one device, for samples of one byte and of two. It can be built on any thread and sent to
/// another. Clones share the programs.
#[derive(Debug, Clone)]
pub struct PlanarFilter {
    id: VariantId,
    code: &'static PlanesCode,
    narrow: Program,
    wide: Program,
    /// True if the programs are those for GPUs.
    for_gpu: bool,
    number: u64,
}

impl PlanarFilter {
    /// Builds the programs and runs each once, because some drivers finish compiling at the first launch. Takes up to a second,
    /// so call it in the background.
    ///
    /// # Errors
    /// When the programs do not build (with the log), have other arguments than expected, or fail to run; or `id` filters
    /// no planes.
    pub fn build(cl: &ClContext, id: VariantId) -> Result<Self> {
        Self::build_as(cl, id, cl.device.info.kind)
    }

    /// As [`PlanarFilter::build`], with the code for devices of `kind`.
    ///
    /// # Errors
    /// As [`PlanarFilter::build`].
    pub fn build_as(cl: &ClContext, id: VariantId, kind: DeviceKind) -> Result<Self> {
        let no_planes = || Error::new(format!("'{id}' cannot be built."), "It filters no planes.", "");
        let code = id.planes().ok_or_else(no_planes)?;
        let for_gpu = kind != DeviceKind::Cpu;
        let device = &cl.device.info;
        let local = 8 * u64::from(GROUP) * u64::from(COLUMNS + 1);
        if for_gpu && (device.max_work_group_size < GROUP as usize || device.local_memory() < local + 64) {
            let why = format!("It needs groups of {GROUP} work-items with {local} bytes of local memory.");
            return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
        }
        let file = code.kernel_file(for_gpu);
        let build = |wide| program::build(cl, file, &PlanesCode::options(wide));
        let built =
            Self { id, code, narrow: build(false)?, wide: build(true)?, for_gpu, number: unique_number() };
        let queue = cl.extra_queue()?;
        for wide in [false, true] {
            let layout = Layout::planar_420(18, 4, wide);
            let block = |layout: &Layout| {
                let picture = Picture::alloc(cl, Storage::Buffer, (layout.bytes() / 4) as u32, 1)?;
                picture.write(&queue, &vec![0; layout.bytes()])?;
                Ok::<_, Error>(picture)
            };
            let (from, to) = (block(&layout)?, block(&layout.filtered())?);
            let plan = built.plan(cl, &layout, &to, &mut Scratch::new(), 1)?;
            plan.check_arguments()?;
            let _event = plan.enqueue(&queue, &from, 0..4)?;
            let failed = |e| failed(&format!("'{id}' failed to run on '{}'.", device.name), &e);
            queue.finish().map_err(failed)?;
        }
        Ok(built)
    }

    /// Returns the variant.
    pub fn id(&self) -> VariantId {
        self.id
    }

    /// Returns a number that identifies this build.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Binds a kernel to memory, to filter blocks of `layout` into `to`, whose layout is [`Layout::filtered`].
    ///
    /// # Errors
    /// When memory runs out, or the radius is too large.
    pub fn plan(
        &self,
        cl: &ClContext,
        layout: &Layout,
        to: &Picture,
        scratch: &mut Scratch,
        radius: u32,
    ) -> Result<PlanarPlan> {
        expect_bytes(self.id, to, layout.filtered().bytes())?;
        let program = if layout.wide { &self.wide } else { &self.narrow };
        let kernel = Kernel::from_file(
            program,
            self.code.kernel_file(self.for_gpu),
            KERNEL_NAME,
            &preparation_error(self.id),
        )?;
        expect_count(&kernel, self.code.kernel_file(self.for_gpu), argument::SCRATCH as usize + 1)?;
        let units = cl.device.info.units.max(1);
        let for_gpu = self.for_gpu;
        let plan = PlanarPlan {
            id: self.id,
            file: self.code.kernel_file(for_gpu),
            kernel,
            layout: *layout,
            to: to.clone(),
            lines: None,
            units,
            for_gpu,
            radius: Cell::new(0),
        };
        let lines = match for_gpu {
            true => None,
            false => Some(scratch.column_sums(cl, plan.strips(layout.height) as usize * plan.line_len())?),
        };
        let plan = PlanarPlan { lines, ..plan };
        plan.bind().map_err(|e| failed(&preparation_error(self.id), &e))?;
        plan.set_radius(radius)?;
        Ok(plan)
    }
}

/// Checks that a block is a buffer of at least this many bytes.
fn expect_bytes(id: VariantId, block: &Picture, bytes: usize) -> Result<()> {
    match block {
        Picture::Buffer(buffer) if buffer.len() >= bytes => Ok(()),
        _ => Err(Error::new(
            preparation_error(id),
            format!("A block on the device does not hold {bytes} bytes."),
            "",
        )),
    }
}

/// The indices of the arguments.
mod argument {
    /// Index of the argument for the source block.
    pub(crate) const FROM: u32 = 0;
    /// Index of the argument for the destination block.
    pub(crate) const TO: u32 = 1;
    /// Index of the first of the arguments with a number for each component.
    pub(crate) const COMPONENTS: u32 = 2;
    /// Index of the argument for the bits of samples.
    pub(crate) const BITS: u32 = 10;
    /// Index of the argument for the weights of the windows.
    pub(crate) const WINDOW: u32 = 11;
    /// Index of the argument for the factors by which sums are multiplied.
    pub(crate) const SCALE: u32 = 12;
    /// Index of the argument for the band's first row.
    pub(crate) const ROW0: u32 = 13;
    /// Index of the argument for the number of rows in the band.
    pub(crate) const ROWS: u32 = 14;
    /// Index of the last argument but one: for the kernel on CPUs, the length of a line of scratch; for the kernel on GPUs, the
    /// work-groups per row.
    pub(crate) const LINE: u32 = 15;
    /// Index of the last argument: for the kernel on CPUs, the scratch memory; for the kernel on GPUs, the strips of rows.
    pub(crate) const SCRATCH: u32 = 16;
}

/// Returns the number of a component's samples.
fn area(layout: &Layout, component: usize) -> f64 {
    let (width, height) = layout.size_of(component);
    f64::from(width) * f64::from(height)
}

/// Returns the number of strips into which a band of this many rows is divided on a device with this number of compute units.
pub(super) fn strips(units: u32, for_gpu: bool, rows: u32) -> u32 {
    (STRIPS[usize::from(for_gpu)] * units).min(rows).max(1)
}

/// Returns the work-groups per row and the number of strips for each component, for a band of this many rows of the picture.
pub(super) fn groups(layout: &Layout, radius: u32, units: u32, rows: u32) -> [[u32; 2]; 4] {
    let whole: f64 = (0..layout.count()).map(|index| area(layout, index)).sum();
    std::array::from_fn(|index| {
        if index >= layout.count() {
            return [0; 2];
        }
        let (subsampled, down) = layout.subsampled_of(index);
        let reach = Window::new(radius, subsampled).reach;
        let halo = (reach + 1).div_ceil(COLUMNS);
        let blocks = layout.size_of(index).0.div_ceil(COLUMNS);
        let across = blocks.div_ceil(GROUP - 2 * halo);
        let part = f64::from(STRIPS[1] * units) * area(layout, index) / whole;
        let rows = if down { rows.div_ceil(2) } else { rows };
        [across, (part as u32 / across).clamp(1, rows)]
    })
}

/// The filter on planes with its arguments, for one layout and one destination.
#[derive(Debug)]
pub struct PlanarPlan {
    id: VariantId,
    file: &'static str,
    kernel: Kernel,
    layout: Layout,
    to: Picture,
    /// Scratch memory for column sums, on CPUs only.
    lines: Option<Mem>,
    units: u32,
    for_gpu: bool,
    radius: Cell<u32>,
}

impl PlanarPlan {
    /// Returns the number of rows of the picture.
    pub fn rows(&self) -> u32 {
        self.layout.height
    }

    /// Returns a number of rows: bands whose height is a multiple of it waste little work.
    pub fn row_step(&self) -> u32 {
        ROW_STEP
    }

    /// Returns the estimated work over all rows, in samples read. Use it to compare radii and sizes.
    pub fn work(&self) -> f64 {
        let samples: f64 = (0..self.layout.count()).map(|index| area(&self.layout, index)).sum();
        let strip = f64::from(self.rows()) / f64::from(self.strips(self.rows()));
        samples * (2.0 + f64::from(2 * self.radius.get() + 1) / strip)
    }

    /// Returns the number of strips into which a band of this many rows is divided.
    fn strips(&self, rows: u32) -> u32 {
        strips(self.units, self.for_gpu, rows)
    }

    /// Returns the length in values of a line of scratch: a row with its edges repeated.
    fn line_len(&self) -> usize {
        (self.layout.width as usize + 2 * MARGIN + 32).next_multiple_of(16)
    }

    /// Sets the arguments that do not change: layouts and memory.
    fn bind(&self) -> Answer<()> {
        let (from, to) = (&self.layout, self.layout.filtered());
        let each = |value: &dyn Fn(usize) -> u32| {
            let value = |index| if index < from.count() { value(index) as i32 } else { 0 };
            Value::Int4([value(0), value(1), value(2), value(3)])
        };
        let subsampled = |index| {
            let (across, down) = from.subsampled_of(index);
            u32::from(across) + 2 * u32::from(down)
        };
        // In the order of the kernel's arguments.
        let vectors = [
            each(&|index| from.size_of(index).0),
            each(&|index| from.size_of(index).1),
            each(&|index| from.components[index].offset),
            each(&|index| from.components[index].stride),
            each(&|index| from.components[index].step),
            each(&|index| to.components[index].offset),
            each(&|index| to.components[index].stride),
            each(&subsampled),
        ];
        for (index, vector) in (argument::COMPONENTS..).zip(vectors) {
            self.kernel.set(index, vector)?;
        }
        self.kernel.set(argument::BITS, Value::Int2([from.shift as i32, (1 << from.depth) - 1]))?;
        self.kernel.set(argument::TO, self.to.mem())?;
        if let Some(lines) = &self.lines {
            self.kernel.set(argument::LINE, Value::Int(self.line_len() as i32))?;
            self.kernel.set(argument::SCRATCH, lines)?;
        }
        Ok(())
    }

    /// Sets the radius of later launches; launches that are already enqueued keep their radius.
    ///
    /// # Errors
    /// When the radius is too large.
    pub(crate) fn set_radius(&self, radius: u32) -> Result<()> {
        if radius > MAX_RADIUS {
            return Err(Error::new(
                preparation_error(self.id),
                format!("The radius {radius} is more than {MAX_RADIUS}."),
                "",
            ));
        }
        let half = Window::new(radius, true);
        let window = Value::Int4([radius, half.reach, half.full, half.end].map(|value| value as i32));
        let fraction = f64::from(1u32 << self.layout.filtered().fraction);
        let scale = |index| {
            let (across, down) = self.layout.subsampled_of(index);
            let total = |subsampled| f64::from(Window::new(radius, subsampled).total());
            (fraction / (total(across) * total(down))) as f32
        };
        let scale = Value::Float4([scale(0), scale(1), scale(2), scale(3)]);
        let set =
            self.kernel.set(argument::WINDOW, window).and_then(|()| self.kernel.set(argument::SCALE, scale));
        set.map_err(|e| failed(&preparation_error(self.id), &e))?;
        self.radius.set(radius);
        Ok(())
    }

    /// Enqueues the filter of a band of the picture's rows, from the block `from`, and returns its event without waiting.
    /// Consecutive bands cover consecutive rows of subsampled components. Flush the queue to start it.
    ///
    /// # Errors
    /// When the band is empty or leaves the picture, `from` is too small, or the device refuses.
    pub fn enqueue(&self, queue: &Queue, from: &Picture, rows: Range<u32>) -> Result<Event> {
        if rows.start >= rows.end || rows.end > self.rows() {
            let why = format!("There are no rows {} to {}.", rows.start, rows.end);
            return Err(Error::new(start_error(self.id), why, ""));
        }
        expect_bytes(self.id, from, self.layout.bytes())?;
        self.launch(queue, from, rows).map_err(|e| failed(&start_error(self.id), &e))
    }

    /// Sets the arguments for a band of rows and enqueues the kernel.
    fn launch(&self, queue: &Queue, from: &Picture, rows: Range<u32>) -> Answer<Event> {
        let count = rows.end - rows.start;
        self.kernel.set(argument::FROM, from.mem())?;
        self.kernel.set(argument::ROW0, Value::Int(rows.start as i32))?;
        self.kernel.set(argument::ROWS, Value::Int(count as i32))?;
        let (global, local) = match self.for_gpu {
            false => (self.strips(count), 1),
            true => {
                let groups = groups(&self.layout, self.radius.get(), self.units, count);
                for (index, at) in [(argument::LINE, 0), (argument::SCRATCH, 1)] {
                    self.kernel.set(index, Value::Int4(groups.map(|group| group[at] as i32)))?;
                }
                (groups.iter().map(|[across, down]| across * down).sum::<u32>() * GROUP, GROUP)
            }
        };
        let (global, local) = ([global as usize, 1, 1], [local as usize, 1, 1]);
        // SAFETY: every argument is set, `check_arguments` has compared their types, both blocks are as large as the
        // layouts say, and the kernels stay inside them for any rows of the picture.
        unsafe { enqueue(queue, &self.kernel, 1, global, local) }
    }

    /// Checks that the kernel declares its arguments with the types that the plan sets: OpenCL itself checks only sizes.
    fn check_arguments(&self) -> Result<()> {
        let from = if self.layout.wide { "ushort*" } else { "uchar*" };
        let last = if self.for_gpu { ["int4"; 2] } else { ["int", "uint*"] };
        // Some drivers report the name of the typedef in the kernel file.
        let from = [from, "sample_t*"];
        let mut wanted: Vec<&[&str]> = vec![&from, &["ushort*"]];
        wanted.extend([&["int4"] as &[&str]; 8]);
        wanted.extend([&["int2"] as &[&str], &["int4"], &["float4"], &["int"], &["int"]]);
        wanted.extend(last.each_ref().map(std::slice::from_ref));
        expect_types(&self.kernel, self.file, &wanted)
    }
}
