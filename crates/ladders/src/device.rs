//! Checks of devices and kernels that several ladders make.

use base::error::Result;
use opencl::cl::{DeviceInfo, Program};
use opencl::kernel::{Kernel, expect_types};

/// Checks that the device has memory for arrays of these sizes in bytes.
///
/// # Errors
/// Returns a sentence for the user if it has not.
pub(super) fn require_memory(device: &DeviceInfo, arrays: &[u64]) -> std::result::Result<(), String> {
    let (sum, largest) = (arrays.iter().sum(), arrays.iter().copied().max().unwrap_or_default());
    match device.has_room(sum, largest) {
        true => Ok(()),
        false => Err(format!("It takes {sum} bytes, more memory than '{}' has.", device.name)),
    }
}

/// Returns the kernel `name` of a file whose arguments have [these types](expect_types).
///
/// # Errors
/// Returns an error if there is no such kernel, or an argument has another type.
pub(super) fn typed_kernel(program: &Program, file: &str, name: &str, types: &[&[&str]]) -> Result<Kernel> {
    let what = format!("The kernel '{name}' in {file} could not be prepared.");
    let kernel = Kernel::from_file(program, file, name, &what)?;
    expect_types(&kernel, file, types)?;
    Ok(kernel)
}
