//! Pictures between host and device, enqueued without waiting.

use std::ptr::{self, NonNull};

use ocl::ffi;

use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, status_name};
use crate::gpu::memory::Picture;

const ORIGIN: [usize; 3] = [0; 3];

fn enqueue_failed(code: i32) -> Error {
    Error::new(
        "A frame could not be handed to the OpenCL device.",
        format!("The driver answered with {}.", status_name(code)),
        "Choose another variant or device; 0 shows the movie unfiltered.",
    )
}

fn finish(code: i32, event: ffi::cl_event) -> Result<ocl::Event> {
    if code != 0 || event.is_null() {
        return Err(enqueue_failed(code));
    }
    // SAFETY: the driver returned this event with one reference, which the wrapper takes over.
    Ok(unsafe { ocl::core::Event::from_raw_create_ptr(event) }.into())
}

/// Maps without blocking; the pointer is known beforehand, since the memory is the host's.
pub(crate) fn enqueue_map(
    cl: &ClContext,
    picture: &Picture,
    width: u32,
    height: u32,
    flags: ffi::cl_map_flags,
    expected: NonNull<u8>,
) -> Result<ocl::Event> {
    let (queue, mem) = (cl.queue.as_core().as_ptr(), picture.mem().as_ptr());
    let mut event: ffi::cl_event = ptr::null_mut();
    let mut code = 0;
    let mut row = width as usize * 4;
    // SAFETY: queue and memory object are alive and of one context; the region is the whole picture.
    let mapped = unsafe {
        match picture {
            Picture::Buffer(_) => {
                let len = width as usize * height as usize * 4;
                ffi::clEnqueueMapBuffer(queue, mem, 0, flags, 0, len, 0, ptr::null(), &mut event, &mut code)
            }
            Picture::Image(_) => {
                let region = [width as usize, height as usize, 1];
                let mut slice = 0;
                ffi::clEnqueueMapImage(
                    queue,
                    mem,
                    0,
                    flags,
                    ORIGIN.as_ptr(),
                    region.as_ptr(),
                    &mut row,
                    &mut slice,
                    0,
                    ptr::null(),
                    &mut event,
                    &mut code,
                )
            }
        }
    };
    let event = finish(code, event)?;
    if mapped.cast() != expected.as_ptr() || row != width as usize * 4 {
        return Err(Error::new(
            "The OpenCL driver does not use the frame's memory in place.",
            "CL_MEM_USE_HOST_PTR gave another address or another row length when it was mapped.",
            "Choose another device; 0 shows the movie unfiltered.",
        ));
    }
    Ok(event)
}

pub(crate) fn enqueue_unmap(
    queue: &ocl::Queue,
    picture: &Picture,
    mapped: NonNull<u8>,
) -> Result<ocl::Event> {
    let mut event: ffi::cl_event = ptr::null_mut();
    // SAFETY: the picture was mapped at this address by `enqueue_map`, and the mapping is complete.
    let code = unsafe {
        ffi::clEnqueueUnmapMemObject(
            queue.as_core().as_ptr(),
            picture.mem().as_ptr(),
            mapped.as_ptr().cast(),
            0,
            ptr::null(),
            &mut event,
        )
    };
    finish(code, event)
}

/// # Safety
/// `from` must hold width·height·4 bytes and stay untouched until the event is complete.
pub(crate) unsafe fn enqueue_write(
    queue: &ocl::Queue,
    picture: &Picture,
    width: u32,
    height: u32,
    from: NonNull<u8>,
) -> Result<ocl::Event> {
    let (queue, mem) = (queue.as_core().as_ptr(), picture.mem().as_ptr());
    let mut event: ffi::cl_event = ptr::null_mut();
    let from = from.as_ptr().cast();
    // SAFETY: see above; queue and memory object are alive and of one context.
    let code = unsafe {
        match picture {
            Picture::Buffer(_) => {
                let len = width as usize * height as usize * 4;
                ffi::clEnqueueWriteBuffer(queue, mem, 0, 0, len, from, 0, ptr::null(), &mut event)
            }
            Picture::Image(_) => {
                let region = [width as usize, height as usize, 1];
                let (origin, region) = (ORIGIN.as_ptr(), region.as_ptr());
                ffi::clEnqueueWriteImage(
                    queue,
                    mem,
                    0,
                    origin,
                    region,
                    0,
                    0,
                    from,
                    0,
                    ptr::null(),
                    &mut event,
                )
            }
        }
    };
    finish(code, event)
}

/// # Safety
/// `into` must have room for width·height·4 bytes and stay untouched until the event is complete.
pub(crate) unsafe fn enqueue_read(
    cl: &ClContext,
    picture: &Picture,
    width: u32,
    height: u32,
    into: NonNull<u8>,
) -> Result<ocl::Event> {
    let (queue, mem) = (cl.queue.as_core().as_ptr(), picture.mem().as_ptr());
    let mut event: ffi::cl_event = ptr::null_mut();
    let into = into.as_ptr().cast();
    // SAFETY: see above; queue and memory object are alive and of one context.
    let code = unsafe {
        match picture {
            Picture::Buffer(_) => {
                let len = width as usize * height as usize * 4;
                ffi::clEnqueueReadBuffer(queue, mem, 0, 0, len, into, 0, ptr::null(), &mut event)
            }
            Picture::Image(_) => {
                let region = [width as usize, height as usize, 1];
                let (origin, region) = (ORIGIN.as_ptr(), region.as_ptr());
                ffi::clEnqueueReadImage(queue, mem, 0, origin, region, 0, 0, into, 0, ptr::null(), &mut event)
            }
        }
    };
    finish(code, event)
}

/// Copies a filtered buffer into an image of the same size, on the device and without waiting.
///
/// # Errors
/// When `from` is no buffer or `to` no image, or the driver refuses.
pub(crate) fn enqueue_copy_to_image(
    cl: &ClContext,
    from: &Picture,
    to: &Picture,
    (width, height): (u32, u32),
) -> Result<ocl::Event> {
    let (Picture::Buffer(from), Picture::Image(to)) = (from, to) else {
        return Err(enqueue_failed(ffi::CL_INVALID_MEM_OBJECT));
    };
    let region = [width as usize, height as usize, 1];
    let mut event: ffi::cl_event = ptr::null_mut();
    // SAFETY: queue and memory objects are alive and of one context; the driver refuses a region that is too large.
    let code = unsafe {
        ffi::clEnqueueCopyBufferToImage(
            cl.queue.as_core().as_ptr(),
            from.as_core().as_ptr(),
            to.as_core().as_ptr(),
            0,
            ORIGIN.as_ptr(),
            region.as_ptr(),
            0,
            ptr::null(),
            &mut event,
        )
    };
    finish(code, event)
}
