//! What conversion and correction share: building a kernel, checking its arguments, putting it on the queue.

use ocl::core::{self, ArgVal, KernelArgInfo};
use ocl::flags::MemFlags;
use ocl::prm::Int4;

use crate::convert::Tables;
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, failed};
use crate::gpu::program;
use crate::ladder::box_filter::Picture;

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

pub(super) fn build(cl: &ClContext, file: &str, name: &str, options: &str) -> Result<core::Kernel> {
    let program = program::build(cl, file, &program::source(file)?, options)?;
    let what = || format!("The kernel '{name}' could not be made.");
    core::create_kernel(&program, name).map_err(|e| failed(&what(), &e.into()))
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
    let local = Some([group.0, group.1, 1]);
    let mut event = core::Event::null();
    // SAFETY: the caller vouches for the arguments.
    unsafe {
        core::enqueue_kernel(queue, kernel, 2, None, &global, local, None::<&core::Event>, Some(&mut event))
    }
    .map_err(|e| failed(NOT_STARTED, &e.into()))?;
    Ok(event.into())
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

/// Compares the types of a kernel's arguments with those that are set: OpenCL itself checks only sizes.
pub(crate) fn expect_types(kernel: &core::Kernel, file: &str, types: &[&[&str]]) -> Result<()> {
    // ocl would look the version up by the kernel's program, and panics where a driver names a program that it does not
    // know, as Intel's CPU runtime does. The question came with this version.
    let version = [core::OpenclVersion::new(1, 2)];
    for (position, wanted) in types.iter().enumerate() {
        // A device may not tell; then there is nothing to compare.
        let (position_cl, what) = (position as u32, KernelArgInfo::TypeName);
        let Ok(found) = core::get_kernel_arg_info(kernel, position_cl, what, Some(&version)) else {
            continue;
        };
        let found = found.to_string();
        let found = found.trim_matches(['\0', ' ']);
        if !found.is_empty() && !wanted.is_empty() && !wanted.contains(&found) {
            return Err(Error::new(
                format!("The kernel in {file} has another argument than expected."),
                format!("Argument {} is {found}, not {}.", position + 1, wanted.join(" or ")),
                "Correct the kernel.",
            ));
        }
    }
    Ok(())
}
