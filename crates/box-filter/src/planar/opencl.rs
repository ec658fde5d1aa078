//! The filter on planes on an OpenCL device. In: a packed block of planes on the device. Out: commands on a queue that
//! filter it into another block, whole or band by band, and that never wait.

use std::cell::Cell;
use std::ops::Range;

use super::Window;
use crate::{MAX_RADIUS, Scratch, VariantId};
use base::error::{Error, Result};
use opencl::cl::{Answer, ClContext, DeviceKind, Event, Mem, Program, Queue, failed};
use opencl::kernel::{Kernel, Value, enqueue, expect_types, unique};
use opencl::memory::{Picture, Storage};
use opencl::program;
use video::color::Layout;

/// The kernel files of a rung on planes: on CPUs, and the march on all other devices. Their kernels have the same name and
/// arguments in each rung.
#[derive(Debug)]
pub struct PlanesCode([&'static str; 2]);

/// The one that there is.
pub(crate) static PLANES: PlanesCode =
    PlanesCode(["box_filter/08_planes.cl", "box_filter/09_planes_march.cl"]);

impl PlanesCode {
    /// Both.
    pub(crate) fn files(&self) -> &[&'static str] {
        &self.0
    }

    /// The one for a kind of device.
    pub(crate) fn file_on(&self, kind: DeviceKind) -> &&'static str {
        &self.0[usize::from(kind != DeviceKind::Cpu)]
    }

    /// The compiler's options for samples of one byte, or of two.
    pub(crate) fn options(wide: bool) -> String {
        format!("-D WIDE={}", u8::from(wide))
    }

    fn file(&self, march: bool) -> &'static str {
        self.0[usize::from(march)]
    }
}

const KERNEL: &str = "box_planes";
/// Strips of rows for each compute unit: on CPUs, and work-groups on all other devices.
const STRIPS: [u32; 2] = [2, 6];
/// Work-items of a group of the march, and the columns of each.
const GROUP: u32 = 128;
const COLUMNS: u32 = 8;
/// What a line of scratch has on both sides of a row: the edge for the largest window, and room for whole vectors. `MARGIN`
/// in 08_planes.cl is the same.
const MARGIN: usize = MAX_RADIUS as usize + 32;

fn not_prepared(id: VariantId) -> String {
    format!("'{id}' could not be prepared.")
}

fn not_started(id: VariantId) -> String {
    format!("'{id}' could not be started.")
}

/// The filter built for one device, for samples of one byte and of two. It can be made on any thread, and sent to
/// another. Clones share the programs.
#[derive(Debug, Clone)]
pub struct PlanarFilter {
    id: VariantId,
    code: &'static PlanesCode,
    narrow: Program,
    wide: Program,
    /// The code for GPUs.
    march: bool,
    number: u64,
}

impl PlanarFilter {
    /// Builds the programs and runs each once: some drivers finish compiling at the first launch. Takes up to a second,
    /// so call it in the background.
    ///
    /// # Errors
    /// When they do not build, with the log, have other arguments than expected, or fail to run; or `id` filters no planes.
    pub fn build(cl: &ClContext, id: VariantId) -> Result<Self> {
        Self::build_as(cl, id, cl.device.info.kind)
    }

    /// The same with the code for another kind of device, whatever this one is.
    ///
    /// # Errors
    /// As [`PlanarFilter::build`].
    pub fn build_as(cl: &ClContext, id: VariantId, kind: DeviceKind) -> Result<Self> {
        let no_planes = || Error::new(format!("'{id}' cannot be built."), "It filters no planes.", "");
        let code = id.planes().ok_or_else(no_planes)?;
        let march = kind != DeviceKind::Cpu;
        let device = &cl.device.info;
        let local = 8 * u64::from(GROUP) * u64::from(COLUMNS + 1);
        if march && (device.max_work_group_size < GROUP as usize || device.local_memory() < local + 64) {
            let why = format!("It needs groups of {GROUP} work-items with {local} bytes of local memory.");
            return Err(Error::new(format!("'{id}' cannot run on '{}'.", device.name), why, ""));
        }
        let file = code.file(march);
        let build = |wide| program::build(cl, file, &program::source(file)?, &PlanesCode::options(wide));
        let built = Self { id, code, narrow: build(false)?, wide: build(true)?, march, number: unique() };
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

    /// Which rung it is.
    pub fn id(&self) -> VariantId {
        self.id
    }

    /// What tells it from one that was built before.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// A kernel with its arguments, to filter blocks of `layout` into `to`, which holds
    /// [`Layout::filtered`].
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
        let kernel = Kernel::of_file(program, self.code.file(self.march), KERNEL, &not_prepared(self.id))?;
        let units = cl.device.info.units.max(1);
        let march = self.march;
        let plan = PlanarPlan {
            id: self.id,
            file: self.code.file(march),
            kernel,
            layout: *layout,
            to: to.clone(),
            lines: None,
            units,
            march,
            radius: Cell::new(0),
        };
        let lines = match march {
            true => None,
            false => Some(scratch.lines(cl, plan.strips(layout.height) as usize * plan.line())?),
        };
        let plan = PlanarPlan { lines, ..plan };
        plan.bind().map_err(|e| failed(&not_prepared(self.id), &e))?;
        plan.set_radius(radius)?;
        Ok(plan)
    }
}

/// How a block can be filtered: a picture of one row, four bytes a pixel, that holds so many bytes.
fn expect_bytes(id: VariantId, block: &Picture, bytes: usize) -> Result<()> {
    match block {
        Picture::Buffer(buffer) if buffer.len() >= bytes => Ok(()),
        _ => Err(Error::new(
            not_prepared(id),
            format!("A block on the device does not hold {bytes} bytes."),
            "",
        )),
    }
}

/// The indices of the arguments.
mod arg {
    pub(crate) const FROM: u32 = 0;
    pub(crate) const TO: u32 = 1;
    pub(crate) const WIDTH: u32 = 2;
    pub(crate) const HEIGHT: u32 = 3;
    pub(crate) const OFFSET: u32 = 4;
    pub(crate) const STRIDE: u32 = 5;
    pub(crate) const STEP: u32 = 6;
    pub(crate) const TO_OFFSET: u32 = 7;
    pub(crate) const TO_STRIDE: u32 = 8;
    pub(crate) const SUBSAMPLED: u32 = 9;
    pub(crate) const BITS: u32 = 10;
    pub(crate) const WINDOW: u32 = 11;
    pub(crate) const SCALE: u32 = 12;
    pub(crate) const ROW0: u32 = 13;
    pub(crate) const ROWS: u32 = 14;
    /// The length of a line of scratch, and the scratch; in the march, groups across and strips.
    pub(crate) const LINE: u32 = 15;
    pub(crate) const SCRATCH: u32 = 16;
}

/// The filter's kernel with its arguments, for one layout and one destination.
#[derive(Debug)]
pub struct PlanarPlan {
    id: VariantId,
    file: &'static str,
    kernel: Kernel,
    layout: Layout,
    to: Picture,
    lines: Option<Mem>,
    units: u32,
    march: bool,
    radius: Cell<u32>,
}

impl PlanarPlan {
    /// Which rung it is.
    pub(crate) fn id(&self) -> VariantId {
        self.id
    }

    /// The layout that it reads.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where it writes: a block of [`Layout::filtered`].
    pub(crate) fn to(&self) -> &Picture {
        &self.to
    }

    /// Rows of the picture.
    pub fn rows(&self) -> u32 {
        self.layout.height
    }

    /// Bands of a multiple of this many rows waste little.
    pub fn row_step(&self) -> u32 {
        64
    }

    /// The work over all rows, in samples read. It compares radii and sizes.
    pub fn work(&self) -> f64 {
        let samples: f64 = (0..self.layout.count()).map(|index| self.area(index)).sum();
        let strip = f64::from(self.rows()) / f64::from(self.strips(self.rows()));
        samples * (2.0 + f64::from(2 * self.radius.get() + 1) / strip)
    }

    fn area(&self, component: usize) -> f64 {
        let (width, height) = self.layout.size_of(component);
        f64::from(width) * f64::from(height)
    }

    /// Strips of a band of rows on a CPU.
    fn strips(&self, rows: u32) -> u32 {
        (STRIPS[usize::from(self.march)] * self.units).min(rows).max(1)
    }

    /// Numbers of a line of scratch: a row with its edges repeated, as the kernel needs it.
    fn line(&self) -> usize {
        (self.layout.width as usize + 2 * MARGIN + 32).next_multiple_of(16)
    }

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
        let vectors = [
            (arg::WIDTH, each(&|index| from.size_of(index).0)),
            (arg::HEIGHT, each(&|index| from.size_of(index).1)),
            (arg::OFFSET, each(&|index| from.components[index].offset)),
            (arg::STRIDE, each(&|index| from.components[index].stride)),
            (arg::STEP, each(&|index| from.components[index].step)),
            (arg::TO_OFFSET, each(&|index| to.components[index].offset)),
            (arg::TO_STRIDE, each(&|index| to.components[index].stride)),
            (arg::SUBSAMPLED, each(&subsampled)),
        ];
        for (index, vector) in vectors {
            self.kernel.set(index, vector)?;
        }
        self.kernel.set(arg::BITS, Value::Int2([from.shift as i32, (1 << from.depth) - 1]))?;
        self.kernel.set(arg::TO, self.to.mem())?;
        if let Some(lines) = &self.lines {
            self.kernel.set(arg::LINE, Value::Int(self.line() as i32))?;
            self.kernel.set(arg::SCRATCH, lines)?;
        }
        Ok(())
    }

    /// Sets the radius of all later launches; those already on the queue keep theirs.
    ///
    /// # Errors
    /// When it is too large.
    pub(crate) fn set_radius(&self, radius: u32) -> Result<()> {
        if radius > MAX_RADIUS {
            return Err(Error::new(
                not_prepared(self.id),
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
        let set = self.kernel.set(arg::WINDOW, window).and_then(|()| self.kernel.set(arg::SCALE, scale));
        set.map_err(|e| failed(&not_prepared(self.id), &e))?;
        self.radius.set(radius);
        Ok(())
    }

    /// Work-groups across and strips for each component of a band of the picture's rows.
    fn groups(&self, rows: u32) -> [[u32; 2]; 4] {
        let whole: f64 = (0..self.layout.count()).map(|index| self.area(index)).sum();
        std::array::from_fn(|index| {
            if index >= self.layout.count() {
                return [0; 2];
            }
            let (subsampled, down) = self.layout.subsampled_of(index);
            let reach = Window::new(self.radius.get(), subsampled).reach;
            let halo = (reach + 1).div_ceil(COLUMNS);
            let blocks = self.layout.size_of(index).0.div_ceil(COLUMNS);
            let across = blocks.div_ceil(GROUP - 2 * halo);
            let part = f64::from(STRIPS[1] * self.units) * self.area(index) / whole;
            let rows = if down { rows.div_ceil(2) } else { rows };
            [across, (part as u32 / across).clamp(1, rows)]
        })
    }

    /// Puts the filter for a band of the picture's rows on the queue, from the block `from`, and returns at once. The
    /// event tells when it is done. Bands that follow each other give the rows of a subsampled component that do. Flush the
    /// queue to start it.
    ///
    /// # Errors
    /// When the band is empty or leaves the picture, `from` is too small, or the device refuses.
    pub fn enqueue(&self, queue: &Queue, from: &Picture, rows: Range<u32>) -> Result<Event> {
        if rows.start >= rows.end || rows.end > self.rows() {
            let why = format!("There are no rows {} to {}.", rows.start, rows.end);
            return Err(Error::new(not_started(self.id), why, ""));
        }
        expect_bytes(self.id, from, self.layout.bytes())?;
        self.launch(queue, from, rows).map_err(|e| failed(&not_started(self.id), &e))
    }

    fn launch(&self, queue: &Queue, from: &Picture, rows: Range<u32>) -> Answer<Event> {
        let count = rows.end - rows.start;
        self.kernel.set(arg::FROM, from.mem())?;
        self.kernel.set(arg::ROW0, Value::Int(rows.start as i32))?;
        self.kernel.set(arg::ROWS, Value::Int(count as i32))?;
        let (global, local) = match self.march {
            false => (self.strips(count), 1),
            true => {
                let groups = self.groups(count);
                for (index, at) in [(arg::LINE, 0), (arg::SCRATCH, 1)] {
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

    /// Compares the types of the kernel's arguments with those that are set: OpenCL itself checks only sizes.
    fn check_arguments(&self) -> Result<()> {
        let from = if self.layout.wide { "ushort*" } else { "uchar*" };
        let last = if self.march { ["int4"; 2] } else { ["int", "uint*"] };
        // Some drivers tell the name that the kernel file gives to the type.
        let from = [from, "sample_t*"];
        let mut wanted: Vec<&[&str]> = vec![&from, &["ushort*"]];
        wanted.extend([&["int4"] as &[&str]; 8]);
        wanted.extend([&["int2"] as &[&str], &["int4"], &["float4"], &["int"], &["int"]]);
        wanted.extend(last.each_ref().map(std::slice::from_ref));
        expect_types(&self.kernel, self.file, &wanted)
    }
}
