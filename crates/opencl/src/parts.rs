//! Whether a driver keeps parts of buffers (`clCreateSubBuffer`) in their place. In: a context. Out: nothing, or a sentence
//! that names the fault: checks lay canaries round an output that is such a part, and would blame a kernel.
//!
//! PoCL's driver for remote devices (6.0) drops the offset: what is written to the part lands at the buffer's beginning.

use ocl::ffi::CL_MEM_READ_WRITE;

use super::cl::{Buffer, ClContext, Status, failed};
use super::kernel::{Kernel, enqueue};
use super::program;
use base::error::{Error, Result};

/// A multiple of every device's alignment for parts of a buffer.
const UNIT: usize = 4096;
const SOURCE: &str = "__kernel void add_one(__global uchar *bytes) { bytes[get_global_id(0)] += 1; }";

/// Asks the device: a part is written from the host, then by a kernel, and the whole buffer is looked at. It compiles a
/// kernel, so ask only where something went wrong.
///
/// # Errors
/// When a byte is not where it belongs; `opencl_status` stays empty then. Also when the device fails.
pub fn require_sub_buffers(cl: &ClContext) -> Result<()> {
    let what = "It could not be tried whether the driver keeps parts of buffers in their place.";
    let no = |e: Status| failed(what, &e);
    let whole = Buffer::new(&cl.context, CL_MEM_READ_WRITE, 3 * UNIT).map_err(no)?;
    let part = whole.part(UNIT, UNIT).map_err(no)?;
    whole.write(&cl.queue, &[0; 3 * UNIT]).map_err(no)?;
    part.write(&cl.queue, &[1; UNIT]).map_err(no)?;
    keeps_offset(cl, &whole, 1)?;
    let program = program::build(cl, "add_one", SOURCE, "")?;
    let kernel = Kernel::new(&program, "add_one").map_err(no)?;
    kernel.set(0, part.mem()).map_err(no)?;
    // SAFETY: the only argument is set, and the part has a byte for each work-item.
    let _event = unsafe { enqueue(&cl.queue, &kernel, 1, [UNIT, 1, 1], [64, 1, 1]) }.map_err(no)?;
    cl.queue.finish().map_err(no)?;
    keeps_offset(cl, &whole, 2)
}

/// Whether the buffer's middle third holds this value, and the rest is 0.
fn keeps_offset(cl: &ClContext, whole: &Buffer, value: u8) -> Result<()> {
    let mut bytes = vec![0; 3 * UNIT];
    let failed = |e| failed("A picture could not be copied from the device.", &e);
    whole.read(&cl.queue, &mut bytes).map_err(failed)?;
    let right = |(at, byte): (usize, &u8)| *byte == if (UNIT..2 * UNIT).contains(&at) { value } else { 0 };
    if bytes.iter().enumerate().all(right) {
        return Ok(());
    }
    Err(Error::new(
        format!("The driver of '{}' is faulty: nothing can be checked on it.", cl.device.info.name),
        "It does not keep parts of buffers in their place (clCreateSubBuffer), so a check would blame the kernels.",
        "Update the driver, or choose another device with --device; `clreel devices` lists them.",
    ))
}
