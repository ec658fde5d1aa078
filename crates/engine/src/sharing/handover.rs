//! Hands shared memory objects from OpenGL to OpenCL and back.

use std::slice;

use base::error::{Error, Result};
use opencl::cl::{self, ClContext, Event, Mem, failed};

/// Enqueues the handover of a shared memory object: from OpenGL to OpenCL if `to_cl` is true, else back to OpenGL. `what` is
/// the first sentence of the error message.
///
/// # Errors
/// If the driver refuses the command.
pub(super) fn hand_over(cl: &ClContext, memory: &Mem, to_cl: bool, what: &str) -> Result<Event> {
    cl::hand_over(&cl.queue, slice::from_ref(memory), to_cl, &[]).map_err(|e| Error {
        hint: "Choose another device, or start with --no-sharing.".to_owned(),
        ..failed(what, &e)
    })
}
