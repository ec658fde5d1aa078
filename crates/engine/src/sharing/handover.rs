//! Handing what OpenGL and OpenCL share from the one to the other.

use std::ptr;

use ocl::ffi;

use base::error::{Error, Result};
use opencl::cl::{ClContext, Event, Mem, failed};

/// Puts the handover of a shared object on the queue, to OpenCL or back to OpenGL; `what` says as a sentence what has failed if
/// that cannot be.
///
/// # Errors
/// When the driver refuses.
pub(super) fn hand_over(cl: &ClContext, memory: &Mem, to_cl: bool, what: &str) -> Result<Event> {
    let (queue, memory) = (cl.queue.raw(), memory.raw());
    let enqueue = if to_cl { ffi::clEnqueueAcquireGLObjects } else { ffi::clEnqueueReleaseGLObjects };
    let event = Event::of(|event| {
        // SAFETY: queue and memory object are alive; the list is this one object.
        unsafe { enqueue(queue, 1, &memory, 0, ptr::null(), event) }
    });
    event.map_err(|e| Error {
        hint: "Choose another device, or start with --no-sharing.".to_owned(),
        ..failed(what, &e)
    })
}
