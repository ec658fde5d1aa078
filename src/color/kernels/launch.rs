//! What conversion and correction share: building a kernel, its arguments, its work-groups.

use ocl::core::{self, ArgVal};
use ocl::flags::MemFlags;
use ocl::prm::Int4;

use crate::color::Tables;
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, failed};
use crate::gpu::kernel::enqueue;
use crate::gpu::memory::Picture;
use crate::gpu::program;

pub(super) const NOT_STARTED: &str = "The conversion of a frame could not be started.";

/// The correction's table on the device. A new one is new memory, since commands on the queue may still read the
/// old one; OpenCL frees that after them.
#[derive(Default)]
pub(super) struct Curve(Option<([u8; 256], ocl::Buffer<u8>)>);

impl Curve {
    pub(super) fn get(&mut self, cl: &ClContext, tables: &Tables) -> Result<&core::Mem> {
        let buffer = match self.0.take() {
            Some((curve, buffer)) if curve == tables.curve => buffer,
            _ => {
                let flags = MemFlags::new().read_only().copy_host_ptr();
                // SAFETY: the driver copies the 256 bytes before the call returns.
                unsafe { ocl::Buffer::new(&cl.context, flags, 256, Some(&tables.curve)) }
                    .map_err(|e| failed("Memory for the colour correction could not be had.", &e))?
            }
        };
        Ok(self.0.insert((tables.curve, buffer)).1.as_core())
    }
}

pub(super) fn luma_argument(tables: &Tables) -> Int4 {
    let [red, green, blue] = tables.luma;
    Int4::new(red, green, blue, tables.saturation)
}

/// A built program, and one of its kernels. Arguments belong to a kernel, so that each thread needs one of its own.
pub(super) struct Built {
    program: ocl::Program,
    name: &'static str,
    pub(super) kernel: core::Kernel,
}

impl Built {
    /// The same program with another kernel.
    pub(super) fn twin(&self) -> Result<Self> {
        let kernel = kernel(&self.program, self.name)?;
        Ok(Self { program: self.program.clone(), name: self.name, kernel })
    }
}

pub(super) fn build(cl: &ClContext, file: &str, name: &'static str, options: &str) -> Result<Built> {
    let program = program::build(cl, file, &program::source(file)?, options)?;
    let kernel = kernel(&program, name)?;
    Ok(Built { program, name, kernel })
}

fn kernel(program: &ocl::Program, name: &str) -> Result<core::Kernel> {
    let what = || format!("The kernel '{name}' could not be made.");
    core::create_kernel(program, name).map_err(|e| failed(&what(), &e.into()))
}

/// Sets all arguments.
pub(super) fn set<const N: usize>(kernel: &core::Kernel, arguments: [ArgVal; N]) -> Result<()> {
    for (index, argument) in arguments.into_iter().enumerate() {
        core::set_kernel_arg(kernel, index as u32, argument).map_err(|e| failed(NOT_STARTED, &e.into()))?;
    }
    Ok(())
}

/// Sets all arguments and puts the kernel on the queue, over `across` by `down` work-items.
///
/// # Safety
/// The arguments must be all of the kernel's, with the right types, and their memory large enough for it.
pub(super) unsafe fn start<const N: usize>(
    cl: &ClContext,
    queue: &ocl::Queue,
    kernel: &core::Kernel,
    (across, down): (usize, usize),
    arguments: [ArgVal; N],
) -> Result<ocl::Event> {
    set(kernel, arguments)?;
    let wanted = if cl.is_cpu() { (64, 1) } else { (32, 4) };
    let most = cl.device.info.max_work_group_size.max(1);
    let group = if wanted.0 * wanted.1 <= most { wanted } else { (most.min(wanted.0), 1) };
    let global = [across.next_multiple_of(group.0), down.next_multiple_of(group.1), 1];
    // SAFETY: the caller vouches for the arguments.
    unsafe { enqueue(queue, kernel, 2, global, [group.0, group.1, 1]) }
        .map_err(|e| failed(NOT_STARTED, &e.into()))
}

pub(super) fn expect_size(picture: &Picture, width: u32, height: u32) -> Result<()> {
    let (w, h) = (width as usize, height as usize);
    let fits = match picture {
        Picture::Buffer(buffer) => buffer.len() == w * h * 4,
        Picture::Image(image) => image.dims().to_lens().is_ok_and(|dims| dims[..2] == [w, h]),
    };
    if fits && w > 0 && h > 0 {
        return Ok(());
    }
    Err(Error::new(NOT_STARTED, format!("The picture on the device is not {width}×{height} pixels."), ""))
}
