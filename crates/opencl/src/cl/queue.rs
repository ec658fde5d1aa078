//! Contexts, queues and the events of commands: the driver's objects, released with their last clone.

use std::ffi::c_void;
use std::ptr;

use ocl::ffi;

use super::device::Device;
use super::handle::Handle;
use super::status::{Answer, Status};
use crate::crash;

/// What programs, buffers and images are made in. Clones share it.
#[derive(Debug, Clone)]
pub struct Context(Handle);

impl Context {
    /// A context of this one device. `properties` name what it is to share with, as pairs of numbers; the device's platform
    /// is named here.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn new(device: &Device, properties: &[isize]) -> Answer<Self> {
        let (list, id) = (device.properties(properties), device.id.raw());
        let mut status = 0;
        // SAFETY: the list ends with a zero and names a platform and, if anything, an OpenGL context that are alive; the
        // device is one of that platform; no callback is passed. The reference that comes back is given away.
        unsafe {
            let raw = ffi::clCreateContext(list.as_ptr(), 1, &id, None, ptr::null_mut(), &mut status);
            Handle::new(raw, status, ffi::clReleaseContext).map(Self)
        }
    }

    /// The context for a call of OpenCL's, alive while this is borrowed.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

/// A queue for commands. Clones share it.
#[derive(Debug, Clone)]
pub struct Queue(Handle);

impl Queue {
    /// A queue with these properties (`CL_QUEUE_…`).
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn new(
        context: &Context,
        device: &Device,
        properties: ffi::cl_command_queue_properties,
    ) -> Answer<Self> {
        let mut status = 0;
        // SAFETY: context and device are alive, and belong together or are refused. The reference that comes back is given
        // away.
        unsafe {
            let raw = ffi::clCreateCommandQueue(context.raw(), device.id.raw(), properties, &mut status);
            Handle::new(raw, status, ffi::clReleaseCommandQueue).map(Self)
        }
    }

    /// Has the device begin with what is in the queue.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn flush(&self) -> Answer<()> {
        // SAFETY: the queue is alive.
        Status::check(unsafe { ffi::clFlush(self.raw()) })
    }

    /// Waits until all commands are complete.
    ///
    /// # Errors
    /// When the driver refuses, or the device is lost.
    pub fn finish(&self) -> Answer<()> {
        // SAFETY: the queue is alive.
        Status::check(unsafe { ffi::clFinish(self.raw()) }).inspect(|()| crash::ran())
    }

    /// The queue for a call of OpenCL's, alive while this is borrowed.
    pub fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

/// A command in a queue: whether it is complete, and when it ran. Clones share it.
#[derive(Debug, Clone)]
pub struct Event(Handle);

impl Event {
    /// The event of a command that `enqueue` puts on a queue: a function `clEnqueue…`, with where the event goes.
    ///
    /// # Errors
    /// When it is refused.
    pub fn of(enqueue: impl FnOnce(*mut ffi::cl_event) -> ffi::cl_int) -> Answer<Self> {
        let mut raw = ptr::null_mut();
        let status = enqueue(&mut raw);
        // SAFETY: the driver has put an event there with one reference, or nothing.
        unsafe { Handle::new(raw, status, ffi::clReleaseEvent) }.map(Self)
    }

    /// Waits until the command is complete.
    ///
    /// # Errors
    /// When it failed.
    pub fn wait_for(&self) -> Answer<()> {
        // SAFETY: the list is one event, which is alive.
        Status::check(unsafe { ffi::clWaitForEvents(1, &self.raw()) })
    }

    /// The event for a call of OpenCL's, alive while this is borrowed.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

/// Events that a command waits for, as OpenCL's calls take them.
pub(crate) struct WaitList(Vec<ffi::cl_event>);

impl WaitList {
    pub(crate) fn of(events: &[Event]) -> Self {
        Self(events.iter().map(Event::raw).collect())
    }

    /// Its length, and where it starts: null where it is empty, as OpenCL asks for it.
    pub(crate) fn raw(&self) -> (ffi::cl_uint, *const ffi::cl_event) {
        let start = if self.0.is_empty() { ptr::null() } else { self.0.as_ptr() };
        (self.0.len() as ffi::cl_uint, start)
    }
}
