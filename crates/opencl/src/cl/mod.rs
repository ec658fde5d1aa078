//! OpenCL devices and objects: [`Device`]s to choose from, a [`ClContext`] on one of them, and the objects made in it.
//!
//! These types call OpenCL's functions directly (`ocl::ffi`). Each call returns its own status, and dropping or cloning an object
//! never panics; `ocl`'s own types panic if a device is lost.

mod address;
mod buffer;
mod clock;
mod device;
mod handle;
mod image;
mod opengl;
mod program;
mod queue;
mod select;
mod status;

use std::sync::Arc;

use crate::sources::Sources;
use crate::watch;
use base::device::DeviceKind;
use base::error::{Error, ErrorKind, Result};

pub(crate) use buffer::MemFlags;
pub use buffer::{Buffer, Mem, enqueue_unmap};
pub use clock::{Calibration, Clock};
pub use device::{Device, list, list_devices, no_device};
pub use handle::Id;
pub(super) use handle::{Handle, number_of, text_of};
pub use image::{Channel, Image};
pub use opengl::{event_of_fence, hand_over};
pub(super) use program::CompilerInput;
pub(super) use program::Refused;
pub use program::{CompiledProgram, Program};
pub(super) use queue::WaitList;
pub use queue::{Context, Event, Queue};
pub use select::{select, select_device};
pub use status::{Answer, OrFail, Status, failed, is_device_failure, reason, status_name};

/// A device with its context, one in-order queue that profiles its commands, and the [`Sources`] that programs are compiled
/// from. Clones share these objects.
#[derive(Debug, Clone)]
pub struct ClContext {
    /// The one device of the context.
    pub device: Device,
    /// The context in which programs, buffers and images are made.
    pub context: Context,
    /// The context's in-order queue, which profiles its commands.
    pub queue: Queue,
    sources: Sources,
    /// The programs that were passed to [`with_compiled`](Self::with_compiled).
    pub(crate) compiled: Arc<[CompiledProgram]>,
    /// True if binaries of compiled programs are kept from one start of clreel to the next.
    pub(crate) keeps_binaries: bool,
}

impl ClContext {
    /// Creates a context and a queue on `device`. Programs are compiled from `sources`.
    ///
    /// # Errors
    /// Returns an error as [`ClContext::from_context`] does, or if the driver makes no context.
    pub fn new(device: &Device, sources: Sources) -> Result<Self> {
        let _watched = watch::on_device(&device.info.name, "a context is made");
        let context = Context::new(device, &[]).map_err(|e| unusable_error(device, reason(&e)))?;
        Self::from_context(device, context, sources)
    }

    /// Adds a queue to an existing context, whose one device is `device`. Programs are compiled from `sources`.
    ///
    /// # Errors
    /// Returns an error if the driver makes no queue, or is older than OpenCL 1.2.
    pub fn from_context(device: &Device, context: Context, sources: Sources) -> Result<Self> {
        // Such a driver may lack functions of later versions, which must not be called then.
        if device.info.opencl_version().is_some_and(|version| version < (1, 2)) {
            let why = format!("It supports {}, and clreel needs OpenCL 1.2.", device.info.version);
            return Err(unusable_error(device, why));
        }
        let queue = Queue::new(&context, device, Clock::default()).map_err(|e| {
            let why = format!("It creates no command queue: {}", reason(&e));
            Error { kind: ErrorKind::OpenCl(e.0), ..unusable_error(device, why) }
        })?;
        Ok(Self {
            device: device.clone(),
            context,
            queue,
            sources,
            compiled: Arc::default(),
            keeps_binaries: false,
        })
    }

    /// Returns this context with other sources. Drops the programs of [`with_compiled`](Self::with_compiled), since they belong
    /// to the former sources.
    pub fn with_sources(&self, sources: Sources) -> Self {
        Self { sources, compiled: Arc::default(), ..self.clone() }
    }

    /// Returns this context with programs that are already compiled: [`program::build`](crate::program::build) uses them instead of
    /// compiling them again.
    pub fn with_compiled(&self, compiled: Vec<CompiledProgram>) -> Self {
        Self { compiled: compiled.into(), ..self.clone() }
    }

    /// Returns this context, set to [keep](crate::binaries) binaries of compiled programs from one start of clreel to the next.
    pub fn with_kept_binaries(self) -> Self {
        Self { keeps_binaries: true, ..self }
    }

    /// Returns the sources from which programs are compiled.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Creates another in-order, profiling queue of this context, for commands that must not wait for the commands in the
    /// context's first queue.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn extra_queue(&self) -> Result<Queue> {
        Queue::new(&self.context, &self.device, self.clock().clone()).or_fail("A queue could not be made.")
    }

    /// Returns the clock of the device, which times the commands of all queues.
    pub fn clock(&self) -> &Clock {
        self.queue.clock()
    }

    /// Returns true if the device is a CPU.
    pub fn is_cpu(&self) -> bool {
        self.device.info.kind == DeviceKind::Cpu
    }

    /// Returns true if the device computes in the host's memory, so that nothing needs to be copied to it: a CPU of this machine.
    pub fn uses_host_memory(&self) -> bool {
        self.is_cpu() && self.device.info.unified_memory
    }
}

fn unusable_error(device: &Device, why: String) -> Error {
    Error::new(
        format!("The OpenCL device '{}' cannot be used.", device.info.name),
        why,
        "Choose another device with --device; `clreel devices` lists them.",
    )
}

/// Submits the commands in the queue to the device.
///
/// # Errors
/// Returns an error if the driver reports one.
pub fn flush(queue: &Queue) -> Result<()> {
    queue.flush().or_fail("The OpenCL queue could not be started.")
}
