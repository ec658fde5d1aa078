//! What conversion and correction share: building a program, its kernels, their arguments and work-groups.

use ocl::ffi::CL_MEM_READ_ONLY;

use base::error::{Error, Result};
use opencl::cl::{Buffer, ClContext, Event, Mem, Program, Queue, failed};
use opencl::kernel::{Argument, Kernel, Value, enqueue, expect_types, unique};
use opencl::memory::Picture;
use opencl::program;
use video::color::{Layout, Tables};

pub(super) const NOT_STARTED: &str = "The conversion of a frame could not be started.";

/// The correction's table on the device. A new one is new memory, since commands on the queue may still read the
/// old one; OpenCL frees that after them.
#[derive(Default)]
pub(super) struct Curve(Option<([u8; 256], Buffer)>);

impl Curve {
    pub(super) fn get(&mut self, cl: &ClContext, tables: &Tables) -> Result<&Mem> {
        let buffer = match self.0.take() {
            Some((curve, buffer)) if curve == tables.curve => buffer,
            _ => Buffer::copied(&cl.context, CL_MEM_READ_ONLY, &tables.curve)
                .map_err(|e| failed("Memory for the colour correction could not be had.", &e))?,
        };
        Ok(self.0.insert((tables.curve, buffer)).1.mem())
    }
}

/// Where chroma lies: across, down, and 1 where its rows belong to two fields.
pub(super) fn siting_argument(layout: &Layout) -> Value {
    Value::Int4([layout.siting.0 as i32, layout.siting.1 as i32, i32::from(layout.interlaced), 0])
}

pub(super) fn luma_argument(tables: &Tables) -> Value {
    let [red, green, blue] = tables.luma;
    Value::Int4([red, green, blue, tables.saturation])
}

/// A built program for one of its kernels. Arguments belong to a kernel, so that each thread makes its own of it.
#[derive(Clone)]
pub(super) struct Built {
    program: Program,
    name: &'static str,
    number: u64,
}

impl Built {
    fn kernel(&self) -> Result<Kernel> {
        let what = || format!("The kernel '{}' could not be made.", self.name);
        Kernel::new(&self.program, self.name).map_err(|e| failed(&what(), &e))
    }
}

/// Builds a program, and compares the types of its kernel's arguments with those that are set.
pub(super) fn build(
    cl: &ClContext,
    file: &str,
    name: &'static str,
    options: &str,
    types: &[&[&str]],
) -> Result<Built> {
    let program = program::build(cl, file, &program::source(file)?, options)?;
    let built = Built { program, name, number: unique() };
    let what = format!("The kernel '{name}' in {file} could not be made.");
    expect_types(&Kernel::of_file(&built.program, file, name, &what)?, file, types)?;
    Ok(built)
}

/// Kernels of conversion and correction with the arguments that they had last, for whoever starts the same ones again: those
/// of one place that frames are loaded into. They keep its memory objects alive, so drop them before the host memory beneath.
#[derive(Debug, Default)]
pub struct KeptKernels(Vec<(u64, Kernel)>);

impl KeptKernels {
    /// More than there are for frames of one kind, with and without a filter on planes.
    const MOST: usize = 4;

    pub(super) fn get(&mut self, built: &Built) -> Result<&Kernel> {
        let at = match self.0.iter().position(|(number, _)| *number == built.number) {
            Some(at) => at,
            None => {
                let kernel = built.kernel()?;
                self.0.truncate(Self::MOST - 1);
                self.0.push((built.number, kernel));
                self.0.len() - 1
            }
        };
        self.0[..=at].rotate_right(1);
        let first = self.0.first().map(|(_, kernel)| kernel);
        first.ok_or_else(|| Error::new(NOT_STARTED, "Its program is not built.", ""))
    }

    /// Lets their memory objects go.
    pub(super) fn forget_memory(&self) {
        self.0.iter().for_each(|(_, kernel)| kernel.forget_memory());
    }
}

/// Sets all arguments.
pub(super) fn set<const N: usize>(kernel: &Kernel, arguments: [Argument; N]) -> Result<()> {
    for (index, argument) in (0..).zip(arguments) {
        kernel.set(index, argument).map_err(|e| failed(NOT_STARTED, &e))?;
    }
    Ok(())
}

/// Sets all arguments and puts the kernel on the queue, over `across` by `down` work-items.
///
/// # Safety
/// The arguments must be all of the kernel's, with the right types, and their memory large enough for it.
pub(super) unsafe fn start<const N: usize>(
    cl: &ClContext,
    queue: &Queue,
    kernel: &Kernel,
    (across, down): (usize, usize),
    arguments: [Argument; N],
) -> Result<Event> {
    set(kernel, arguments)?;
    let wanted = if cl.is_cpu() { (64, 1) } else { (32, 4) };
    let most = cl.device.info.max_work_group_size.max(1);
    let group = if wanted.0 * wanted.1 <= most { wanted } else { (most.min(wanted.0), 1) };
    let global = [across.next_multiple_of(group.0), down.next_multiple_of(group.1), 1];
    // SAFETY: the caller vouches for the arguments.
    unsafe { enqueue(queue, kernel, 2, global, [group.0, group.1, 1]) }.map_err(|e| failed(NOT_STARTED, &e))
}

pub(super) fn expect_size(picture: &Picture, width: u32, height: u32) -> Result<()> {
    let (w, h) = (width as usize, height as usize);
    let fits = match picture {
        Picture::Buffer(buffer) => buffer.len() == w * h * 4,
        Picture::Image(image) => image.size() == (w, h),
    };
    if fits && w > 0 && h > 0 {
        return Ok(());
    }
    Err(Error::new(NOT_STARTED, format!("The picture on the device is not {width}×{height} pixels."), ""))
}
