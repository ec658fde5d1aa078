//! Whether a driver keeps parts of buffers (`clCreateSubBuffer`) in their place. In: a context. Out: nothing, or a sentence
//! that names the fault: checks lay canaries round an output that is such a part, and would blame a kernel.
//!
//! PoCL's driver for remote devices (6.0) drops the offset: what is written to the part lands at the buffer's beginning.

use ocl::core::{self, ArgVal};

use super::cl::{ClContext, failed};
use super::kernel::enqueue;
use super::program;
use crate::error::{Error, Result};

/// A multiple of every device's alignment for parts of a buffer.
const UNIT: usize = 4096;
const SOURCE: &str = "__kernel void add_one(__global uchar *bytes) { bytes[get_global_id(0)] += 1; }";

/// Asks the device: a part is written from the host, then by a kernel, and the whole buffer is looked at. It compiles a
/// kernel, so ask only where something went wrong.
///
/// # Errors
/// When a byte is not where it belongs; `opencl_status` stays empty then. Also when the device fails.
pub(crate) fn require_sub_buffers(cl: &ClContext) -> Result<()> {
    let what = "It could not be tried whether the driver keeps parts of buffers in their place.";
    let no = |e: ocl::Error| failed(what, &e);
    let whole = ocl::Buffer::<u8>::builder().context(&cl.context).len(3 * UNIT).build().map_err(no)?;
    let part = whole.create_sub_buffer(None, UNIT, UNIT).map_err(no)?;
    whole.write(&vec![0; 3 * UNIT]).queue(&cl.queue).enq().map_err(no)?;
    part.write(&vec![1; UNIT]).queue(&cl.queue).enq().map_err(no)?;
    keeps_offset(cl, &whole, 1)?;
    let program = program::build(cl, "add_one", SOURCE, "")?;
    let kernel = core::create_kernel(&program, "add_one").map_err(|e| no(e.into()))?;
    core::set_kernel_arg(&kernel, 0, ArgVal::mem(part.as_core())).map_err(|e| no(e.into()))?;
    // SAFETY: the only argument is set, and the part has a byte for each work-item.
    let _event =
        unsafe { enqueue(&cl.queue, &kernel, 1, [UNIT, 1, 1], [64, 1, 1]) }.map_err(|e| no(e.into()))?;
    cl.queue.finish().map_err(no)?;
    keeps_offset(cl, &whole, 2)
}

/// Whether the buffer's middle third holds this value, and the rest is 0.
fn keeps_offset(cl: &ClContext, whole: &ocl::Buffer<u8>, value: u8) -> Result<()> {
    let mut bytes = vec![0; 3 * UNIT];
    let failed = |e| failed("A picture could not be copied from the device.", &e);
    whole.read(&mut bytes).queue(&cl.queue).enq().map_err(failed)?;
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
