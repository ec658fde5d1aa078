//! Detects drivers that ignore the offset of sub-buffers (`clCreateSubBuffer`). Verification places an output in a sub-buffer,
//! with canaries (known bytes) around it, and would blame the kernel for the fault of such a driver.
//!
//! PoCL's driver for remote devices (6.0) ignores the offset: data that is written to the sub-buffer lands at the beginning of
//! the buffer.

use ocl::ffi::CL_MEM_READ_WRITE;

use super::cl::{Buffer, ClContext, OrFail as _};
use super::kernel::{Kernel, NdRange, enqueue};
use super::program;
use base::error::{Error, Result};

/// The size of a sub-buffer in the test, in bytes: a multiple of every device's alignment of sub-buffers.
const SUB_BUFFER_BYTES: usize = 4096;
/// The kernel of the test, which changes each byte of its buffer.
const KERNEL_SOURCE: &str = "__kernel void add_one(__global uchar *bytes) { bytes[get_global_id(0)] += 1; }";

/// Tests whether the driver respects the offset of sub-buffers: a sub-buffer is written from the host and then by a kernel, and
/// the whole buffer is compared each time. The test compiles a kernel, so call it only after a failed verification.
///
/// # Errors
/// Returns an error of the kind [`ErrorKind::Other`](base::error::ErrorKind::Other) if the driver ignores the offset. Also returns
/// an error if the device fails.
pub fn require_sub_buffers(cl: &ClContext) -> Result<()> {
    let what = "Sub-buffers of the driver could not be checked.";
    let whole = Buffer::new(&cl.context, CL_MEM_READ_WRITE, 3 * SUB_BUFFER_BYTES).or_fail(what)?;
    let part = whole.part(SUB_BUFFER_BYTES, SUB_BUFFER_BYTES).or_fail(what)?;
    whole.write(&cl.queue, &[0; 3 * SUB_BUFFER_BYTES]).or_fail(what)?;
    part.write(&cl.queue, &[1; SUB_BUFFER_BYTES]).or_fail(what)?;
    check_offset(cl, &whole, 1)?;
    let program = program::build_text(cl, "add_one", KERNEL_SOURCE, "")?;
    let kernel = Kernel::new(&program, "add_one").or_fail(what)?;
    kernel.set(0, part.mem()).or_fail(what)?;
    // SAFETY: the only argument is set, and the part has a byte for each work-item.
    let _event =
        unsafe { enqueue(&cl.queue, &kernel, NdRange::line(SUB_BUFFER_BYTES, 64), &[]) }.or_fail(what)?;
    cl.queue.finish().or_fail(what)?;
    check_offset(cl, &whole, 2)
}

/// Checks the bytes of `whole`: the middle third must hold `value`, and the rest 0.
///
/// # Errors
/// Returns an error if a byte differs, because the driver has ignored the sub-buffer's offset or has not run the kernel, or if
/// the device fails.
fn check_offset(cl: &ClContext, whole: &Buffer, value: u8) -> Result<()> {
    let mut bytes = vec![0; 3 * SUB_BUFFER_BYTES];
    whole.read(&cl.queue, &mut bytes).or_fail("A picture could not be copied from the device.")?;
    let has = |value| {
        let expected = |at| if (SUB_BUFFER_BYTES..2 * SUB_BUFFER_BYTES).contains(&at) { value } else { 0 };
        bytes.iter().enumerate().all(|(at, byte)| *byte == expected(at))
    };
    if has(value) {
        return Ok(());
    }
    // If all bytes have the values of the step before, the kernel did not run at all.
    let why = match value > 1 && has(1) {
        true => "It reports a kernel as complete that has not run.",
        false => {
            "It ignores the offset of sub-buffers (clCreateSubBuffer), so checks would blame the kernels."
        }
    };
    Err(Error::new(
        format!("The driver of '{}' is faulty: nothing can be checked on it.", cl.device.info.name),
        why,
        "Update the driver, or choose another device with --device; `clreel devices` lists them.",
    ))
}
