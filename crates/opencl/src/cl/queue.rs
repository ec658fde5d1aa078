//! Contexts, queues and events of commands, released with their last clone.

use std::ffi::c_void;
use std::ptr;

use ocl::ffi;

use super::clock::Clock;
use super::device::Device;
use super::handle::Handle;
use super::status::{Answer, Status};
use crate::crash;

/// An OpenCL context, in which programs, buffers and images are created. Clones share it.
#[derive(Debug, Clone)]
pub struct Context(Handle);

impl Context {
    /// Creates a context of one device. `properties` are pairs of a property and its value, and may name an OpenGL context to share
    /// with. The device's platform is added to them.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
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

    /// Returns the raw handle for OpenCL calls, valid while this object is borrowed.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

/// A command queue. Clones share it.
#[derive(Debug, Clone)]
pub struct Queue {
    handle: Handle,
    clock: Clock,
}

impl Queue {
    /// Creates an in-order queue that profiles its commands, which are timed by `clock`.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub(super) fn new(context: &Context, device: &Device, clock: Clock) -> Answer<Self> {
        let (properties, mut status) = (ffi::CL_QUEUE_PROFILING_ENABLE, 0);
        // SAFETY: context and device are alive, and belong together or are refused. The reference that comes back is given
        // away.
        unsafe {
            let raw = ffi::clCreateCommandQueue(context.raw(), device.id.raw(), properties, &mut status);
            let handle = Handle::new(raw, status, ffi::clReleaseCommandQueue)?;
            Ok(Self { handle, clock })
        }
    }

    /// Submits the queued commands to the device.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn flush(&self) -> Answer<()> {
        // SAFETY: the queue is alive.
        Status::check(unsafe { ffi::clFlush(self.raw()) })
    }

    /// Waits until all commands in the queue are complete.
    ///
    /// # Errors
    /// Returns an error if the driver reports one, or the device is lost.
    pub fn finish(&self) -> Answer<()> {
        // SAFETY: the queue is alive.
        Status::check(unsafe { ffi::clFinish(self.raw()) }).inspect(|()| crash::kernel_ran())
    }

    /// Returns the clock of the device, by which the queue's commands are timed.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the raw handle for OpenCL calls, valid while this object is borrowed.
    pub fn raw(&self) -> *mut c_void {
        self.handle.raw()
    }
}

/// The event of an enqueued command, from which its state and its times can be queried. Clones share it.
#[derive(Debug, Clone)]
pub struct Event(pub(super) Handle);

impl Event {
    /// Enqueues a command and returns its event. `enqueue` calls a function `clEnqueue…` with the address for the event.
    ///
    /// # Errors
    /// Returns an error if the driver rejects the command.
    pub fn from_call(enqueue: impl FnOnce(*mut ffi::cl_event) -> ffi::cl_int) -> Answer<Self> {
        let mut raw = ptr::null_mut();
        let status = enqueue(&mut raw);
        // SAFETY: the driver has put an event there with one reference, or nothing.
        unsafe { Handle::new(raw, status, ffi::clReleaseEvent) }.map(Self)
    }

    /// Waits until the command of this event is complete.
    ///
    /// # Errors
    /// Returns an error if the command failed.
    pub fn wait_for(&self) -> Answer<()> {
        // SAFETY: the list is one event, which is alive.
        Status::check(unsafe { ffi::clWaitForEvents(1, &self.raw()) })
    }

    /// Returns the raw handle for OpenCL calls, valid while this object is borrowed.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

/// A list of events that a command waits for.
pub(crate) struct WaitList(Vec<ffi::cl_event>);

impl WaitList {
    pub(crate) fn of(events: &[Event]) -> Self {
        Self(events.iter().map(Event::raw).collect())
    }

    /// Returns the number of events and the address of the list for OpenCL calls. The address is null if the list is empty, as
    /// OpenCL requires.
    pub(crate) fn raw(&self) -> (ffi::cl_uint, *const ffi::cl_event) {
        let start = if self.0.is_empty() { ptr::null() } else { self.0.as_ptr() };
        (self.0.len() as ffi::cl_uint, start)
    }
}
