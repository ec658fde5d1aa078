//! Looking at OpenCL events without waiting: complete or not, and a call when it is.

use std::ffi::c_void;
use std::mem::size_of;
use std::ptr;

use ocl::ffi;

use crate::error::{Error, Result};
use crate::gpu::cl::status_name;

pub use crate::jobs::Waker;

/// Whether the command of `event` has finished.
///
/// # Errors
/// When the command failed on the device; `what` says which one that is. (ocl's own query knows no failed commands.)
pub(crate) fn is_complete(event: &ocl::Event, what: &str) -> Result<bool> {
    let mut status: i32 = 0;
    // SAFETY: the event is alive, and `status` is as large as is said.
    let code = unsafe {
        ffi::clGetEventInfo(
            raw(event),
            ffi::CL_EVENT_COMMAND_EXECUTION_STATUS,
            size_of::<i32>(),
            ptr::from_mut(&mut status).cast(),
            ptr::null_mut(),
        )
    };
    let error = if code != 0 { code } else { status.min(0) };
    if error != 0 {
        return Err(Error::new(
            what,
            format!("The OpenCL driver reports {} for a command of this frame.", status_name(error)),
            "Choose another variant or device; 0 shows the movie unfiltered.",
        ));
    }
    Ok(status == ffi::CL_COMPLETE)
}

/// Calls `waker` once when `event` is complete or has failed. A driver without callbacks is no error: whoever
/// waits polls as well.
pub(crate) fn wake_after(event: &ocl::Event, waker: &Waker) {
    extern "C" fn complete(_: ffi::cl_event, _: i32, data: *mut c_void) {
        // SAFETY: `data` is the box that `wake_after` gave away for this one call.
        let waker = unsafe { Box::from_raw(data.cast::<Waker>()) };
        // A panic must not cross into the driver.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&**waker));
    }
    let data: *mut c_void = Box::into_raw(Box::new(waker.clone())).cast();
    // SAFETY: the event is alive, and the callback takes the box over.
    if unsafe { event.set_callback(complete, data) }.is_err() {
        // SAFETY: the driver refused the callback, so the box is still ours.
        drop(unsafe { Box::from_raw(data.cast::<Waker>()) });
    }
}

/// Lets what comes next on `queue` wait for `event` of another queue. That one must be flushed.
///
/// # Errors
/// When the driver refuses.
pub fn wait_in_queue(queue: &ocl::Queue, event: &ocl::Event) -> Result<()> {
    let event = raw(event);
    // SAFETY: queue and event are alive and of one context; the list has one event, and none is asked for.
    let code =
        unsafe { ffi::clEnqueueBarrierWithWaitList(queue.as_core().as_ptr(), 1, &event, ptr::null_mut()) };
    if code == 0 {
        return Ok(());
    }
    Err(Error::new(
        "A frame could not be handed to the OpenCL device.",
        format!("The driver answered with {}.", status_name(code)),
        "CLREEL_QUEUES=1 does without a queue for uploads; 0 shows the movie unfiltered.",
    ))
}

/// The event for one call of OpenCL's own, while it is borrowed.
pub(super) fn raw(event: &ocl::Event) -> ffi::cl_event {
    // SAFETY: the pointer is only copied; the callers use it while `event` is borrowed.
    unsafe { *event.as_ptr_ref() }
}
