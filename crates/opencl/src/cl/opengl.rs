//! Commands that hand memory objects over between OpenGL and OpenCL, and events of OpenGL's fences.

use std::ffi::c_void;

use ocl::ffi;

use super::buffer::Mem;
use super::device::Device;
use super::handle::Handle;
use super::queue::{Context, Event, Queue, WaitList};
use super::status::{Answer, Status};

/// Enqueues a command that begins after the events `after` are complete. It acquires the shared memory objects for OpenCL if
/// `to_cl` is true; otherwise it releases them to OpenGL.
///
/// # Errors
/// Returns an error if the driver refuses the command.
pub fn hand_over(queue: &Queue, objects: &[Mem], to_cl: bool, after: &[Event]) -> Answer<Event> {
    let enqueue = if to_cl { ffi::clEnqueueAcquireGLObjects } else { ffi::clEnqueueReleaseGLObjects };
    let objects: Vec<ffi::cl_mem> = objects.iter().map(Mem::raw).collect();
    let list = WaitList::of(after);
    let (waits, events) = list.raw();
    Event::from_call(|event| {
        // SAFETY: queue, memory objects and events are alive, and the lists have these lengths.
        unsafe { enqueue(queue.raw(), objects.len() as u32, objects.as_ptr(), waits, events, event) }
    })
}

/// Creates an event that completes when OpenGL's fence does (`cl_khr_gl_event`). Only an acquire command may wait for it.
///
/// # Errors
/// Returns an error if the driver lacks the function, or refuses the fence.
///
/// # Safety
/// `fence` must be a sync object of the OpenGL context that `context` shares with, and live until the event is complete.
pub unsafe fn event_of_fence(device: &Device, context: &Context, fence: *mut c_void) -> Answer<Event> {
    type CreateEvent = unsafe extern "C" fn(ffi::cl_context, *mut c_void, *mut i32) -> ffi::cl_event;
    let name = c"clCreateEventFromGLsyncKHR".as_ptr();
    // SAFETY: the platform is alive and the name ends with a zero.
    let function = unsafe { ffi::clGetExtensionFunctionAddressForPlatform(device.platform.raw(), name) };
    if function.is_null() {
        return Err(Status(ffi::CL_INVALID_OPERATION));
    }
    // SAFETY: a driver that knows this name gives a function of this type (cl_gl_ext.h).
    let create: CreateEvent = unsafe { std::mem::transmute(function) };
    let mut status = 0;
    // SAFETY: the context is alive, and the caller vouches for the fence. The reference that comes back is given away.
    unsafe {
        let raw = create(context.raw(), fence, &mut status);
        Handle::new(raw, status, ffi::clReleaseEvent).map(Event)
    }
}
