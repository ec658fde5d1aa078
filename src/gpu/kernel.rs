//! What all kernels share, whoever's they are: the check of their arguments' types, and the way onto a queue.

use ocl::core::{self, KernelArgInfo};

use crate::error::{Error, Result};

/// Puts a kernel on the queue, over `global` work-items in groups of `local`, of which the first `dimensions` count.
/// Returns at once with the command's event.
///
/// # Safety
/// All arguments must be set, with the right types, and their memory large enough for so many work-items.
pub(crate) unsafe fn enqueue(
    queue: &ocl::Queue,
    kernel: &core::Kernel,
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
) -> core::Result<ocl::Event> {
    let (mut event, none) = (core::Event::null(), None::<&core::Event>);
    // SAFETY: the caller vouches for the arguments.
    unsafe {
        core::enqueue_kernel(queue, kernel, dimensions, None, &global, Some(local), none, Some(&mut event))?;
    }
    Ok(event.into())
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
