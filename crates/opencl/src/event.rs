//! Polling OpenCL events, and callbacks on their completion.

use std::ffi::c_void;
use std::ptr;

use ocl::ffi;

use crate::cl::{Event, Queue, Status, number_of, status_name};
use crate::crash;
use crate::transfer::enqueue_failed;
use base::error::{Error, Result};

pub use base::jobs::Waker;

/// Returns true if the command of `event` has finished.
///
/// # Errors
/// Returns an error if the command failed on the device; `what` is the error's first sentence.
pub fn is_complete(event: &Event, what: &str) -> Result<bool> {
    let status = number_of::<i32>(|size, to| {
        let what = ffi::CL_EVENT_COMMAND_EXECUTION_STATUS;
        // SAFETY: the event is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetEventInfo(event.raw(), what, size, to, ptr::null_mut()) }
    });
    match status {
        Ok(ffi::CL_COMPLETE) => {
            crash::kernel_ran();
            Ok(true)
        }
        Ok(0..) => Ok(false),
        Ok(code) | Err(Status(code)) => Err(Error::new(
            what,
            format!("The OpenCL driver reports {} for a command of this frame.", status_name(code)),
            "Choose another variant or device; 0 shows the movie unfiltered.",
        )),
    }
}

/// Calls `waker` once when `event` is complete or has failed. It is no error if the driver does not support callbacks, since
/// waiters poll as well.
pub fn wake_after(event: &Event, waker: &Waker) {
    /// The callback that the driver calls when the event is complete: calls the waker.
    extern "C" fn complete(_: ffi::cl_event, _: i32, data: *mut c_void) {
        // SAFETY: `data` is the box that `wake_after` gave away for this one call.
        let waker = unsafe { Box::from_raw(data.cast::<Waker>()) };
        // A panic must not cross into the driver.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&**waker));
    }
    let data: *mut c_void = Box::into_raw(Box::new(waker.clone())).cast();
    // SAFETY: the event is alive, and the callback takes the box over.
    if unsafe { ffi::clSetEventCallback(event.raw(), ffi::CL_COMPLETE, Some(complete), data) } != 0 {
        // SAFETY: the driver refused the callback, so the box is still ours.
        drop(unsafe { Box::from_raw(data.cast::<Waker>()) });
    }
}

/// Makes later commands on `queue` wait for `event`, which belongs to another queue. That queue must have been flushed.
///
/// # Errors
/// Returns an error if the driver reports one.
pub fn wait_in_queue(queue: &Queue, event: &Event) -> Result<()> {
    let event = event.raw();
    // SAFETY: queue and event are alive and of one context; the list has one event, and none is asked for.
    let code = unsafe { ffi::clEnqueueBarrierWithWaitList(queue.raw(), 1, &event, ptr::null_mut()) };
    let hint = "CLREEL_QUEUES=1 uploads without a queue of its own; 0 shows the movie unfiltered.".to_owned();
    Status::check(code).map_err(|status| Error { hint, ..enqueue_failed(status) })
}
