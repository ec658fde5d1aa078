//! Pictures between host and device, enqueued without waiting.

use std::ptr::NonNull;

use ocl::ffi;

use crate::cl::{self, ClContext, Event, Queue, Status, status_name};
use crate::memory::Picture;
use base::error::{Error, Result};

fn enqueue_failed(status: Status) -> Error {
    Error::new(
        "A frame could not be handed to the OpenCL device.",
        format!("The driver answered with {}.", status_name(status.0)),
        "Choose another variant or device; 0 shows the movie unfiltered.",
    )
}

/// Maps without blocking; the pointer is known beforehand, since the memory is the host's.
pub fn enqueue_map(
    cl: &ClContext,
    picture: &Picture,
    width: u32,
    flags: ffi::cl_map_flags,
    expected: NonNull<u8>,
) -> Result<Event> {
    let row = width as usize * 4;
    let mapped = match picture {
        Picture::Buffer(buffer) => {
            buffer.enqueue_map(&cl.queue, flags, buffer.len(), false, &[]).map(|(at, event)| (at, row, event))
        }
        Picture::Image(image) => image.enqueue_map(&cl.queue, flags),
    };
    let (at, mapped_row, event) = mapped.map_err(enqueue_failed)?;
    if at != expected || mapped_row != row {
        return Err(Error::new(
            "The OpenCL driver does not use the frame's memory in place.",
            "CL_MEM_USE_HOST_PTR gave another address or another row length when it was mapped.",
            "Choose another device; 0 shows the movie unfiltered.",
        ));
    }
    Ok(event)
}

/// Enqueues the end of a mapping.
///
/// # Errors
/// When the driver refuses.
pub fn enqueue_unmap(queue: &Queue, picture: &Picture, mapped: NonNull<u8>) -> Result<Event> {
    cl::enqueue_unmap(queue, picture.mem(), mapped).map_err(enqueue_failed)
}

/// # Safety
/// `from` must hold the whole picture and stay untouched until the event is complete.
pub unsafe fn enqueue_write(queue: &Queue, picture: &Picture, from: NonNull<u8>) -> Result<Event> {
    let from = from.as_ptr();
    // SAFETY: the caller vouches for the memory.
    let event = unsafe {
        match picture {
            Picture::Buffer(buffer) => buffer.enqueue_write(queue, from, buffer.len(), false),
            Picture::Image(image) => image.enqueue_write(queue, from, false),
        }
    };
    event.map_err(enqueue_failed)
}

/// # Safety
/// `into` must have room for the whole picture and stay untouched until the event is complete.
pub unsafe fn enqueue_read(cl: &ClContext, picture: &Picture, into: NonNull<u8>) -> Result<Event> {
    let into = into.as_ptr();
    // SAFETY: the caller vouches for the memory.
    let event = unsafe {
        match picture {
            Picture::Buffer(buffer) => buffer.enqueue_read(&cl.queue, into, buffer.len(), false, &[]),
            Picture::Image(image) => image.enqueue_read(&cl.queue, into, false),
        }
    };
    event.map_err(enqueue_failed)
}

/// Copies a filtered buffer into an image of the same size, on the device and without waiting.
///
/// # Errors
/// When `from` is no buffer or `to` no image, or the driver refuses.
pub fn enqueue_copy_to_image(cl: &ClContext, from: &Picture, to: &Picture) -> Result<Event> {
    let (Picture::Buffer(from), Picture::Image(to)) = (from, to) else {
        return Err(enqueue_failed(Status(ffi::CL_INVALID_MEM_OBJECT)));
    };
    to.enqueue_copy_from(&cl.queue, from).map_err(enqueue_failed)
}
