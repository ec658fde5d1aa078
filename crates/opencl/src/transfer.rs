//! Enqueues transfers of pictures between host and device. No function waits.

use std::ptr::NonNull;

use ocl::ffi;

use crate::cl::{self, ClContext, Event, Queue, Status, status_name};
use crate::memory::Picture;
use base::error::{Error, Result};

/// Returns the error for when a command that transfers a frame cannot be enqueued.
pub fn enqueue_failed(status: Status) -> Error {
    Error::new(
        "A frame could not be handed to the OpenCL device.",
        format!("The driver returned {}.", status_name(status.0)),
        "Choose another variant or device; 0 shows the movie unfiltered.",
    )
}

/// Enqueues the mapping of a picture that uses host memory. `expected` is the address of that memory.
///
/// # Errors
/// Returns an error if the driver reports an error, or does not use the memory in place.
pub fn enqueue_map(
    cl: &ClContext,
    picture: &Picture,
    flags: ffi::cl_map_flags,
    expected: NonNull<u8>,
) -> Result<Event> {
    let mapped = match picture {
        Picture::Buffer(buffer) => {
            buffer.enqueue_map(&cl.queue, flags, buffer.len()).map(|(at, event)| (at, true, event))
        }
        Picture::Image(image) => {
            let is_whole = |row| row == image.size().0 * 4;
            image.enqueue_map(&cl.queue, flags).map(|(at, row, event)| (at, is_whole(row), event))
        }
    };
    let (at, has_no_gaps, event) = mapped.map_err(enqueue_failed)?;
    if at != expected || !has_no_gaps {
        return Err(Error::new(
            "The OpenCL driver does not use the frame's memory in place.",
            "CL_MEM_USE_HOST_PTR gave another address or another row length when it was mapped.",
            "Choose another device; 0 shows the movie unfiltered.",
        ));
    }
    Ok(event)
}

/// Enqueues the unmapping of a picture that is mapped at the address `mapped`.
///
/// # Errors
/// Returns an error if the driver reports one.
pub fn enqueue_unmap(queue: &Queue, picture: &Picture, mapped: NonNull<u8>) -> Result<Event> {
    cl::enqueue_unmap(queue, picture.mem(), mapped).map_err(enqueue_failed)
}

/// Enqueues a copy of the picture in a buffer to an image, or back. Both have the same size.
///
/// # Errors
/// Returns an error if both are of one kind, or the driver reports an error.
pub fn enqueue_copy(queue: &Queue, from: &Picture, to: &Picture) -> Result<Event> {
    match (from, to) {
        (Picture::Buffer(from), Picture::Image(to)) => to.enqueue_copy_from(queue, from),
        (Picture::Image(from), Picture::Buffer(to)) => from.enqueue_copy_to(queue, to),
        _ => Err(Status(ffi::CL_INVALID_MEM_OBJECT)),
    }
    .map_err(enqueue_failed)
}
