//! OpenCL's devices and objects. In: nothing but the machine. Out: [`Device`]s to choose from, a [`ClContext`] to work
//! with, and what is made in it.
//!
//! These types call OpenCL's own functions (`ocl::ffi`). Each call returns what the driver said to this very call, and
//! nothing that is dropped or cloned panics: `ocl`'s own objects do where a device is lost.

mod address;
mod buffer;
mod device;
mod handle;
mod image;
mod program;
mod queue;
mod select;
mod status;

use ocl::ffi::CL_QUEUE_PROFILING_ENABLE;

use crate::watch;
use base::error::{Error, Result};

pub(crate) use buffer::MemFlags;
pub use buffer::{Buffer, Mem, enqueue_unmap};
pub use device::{Device, DeviceInfo, DeviceKind, Id, Listing, UNNAMED, list, list_devices, no_device};
pub(super) use handle::{Handle, number_of, text_of};
pub use image::{Channel, Image};
pub use program::Program;
pub(super) use queue::WaitList;
pub use queue::{Context, Event, Queue};
pub use select::{Selection, select, select_device};
pub use status::{Answer, Status, failed, is_device_failure, reason, status_name};

/// A device with its context and one in-order queue that profiles its commands. Clones share both.
#[derive(Debug, Clone)]
pub struct ClContext {
    /// The one device of the context.
    pub device: Device,
    /// What programs, buffers and images are made in.
    pub context: Context,
    /// In order, with profiling.
    pub queue: Queue,
}

impl ClContext {
    /// Makes a context and a queue on `device`.
    pub fn new(device: &Device) -> Result<Self> {
        let _watched = watch::on_device(&device.info.name, "a context is made");
        let context = Context::new(device, &[]).map_err(|e| unusable(device, reason(&e)))?;
        Self::from_context(device, context)
    }

    /// Makes a queue in a context of this one device.
    ///
    /// # Errors
    /// When the driver gives none, or is too old.
    pub fn from_context(device: &Device, context: Context) -> Result<Self> {
        // Its later functions may not even be there to refuse.
        if is_before_1_2(&device.info.version) {
            let why = format!("It offers {}, and clreel needs OpenCL 1.2.", device.info.version);
            return Err(unusable(device, why));
        }
        let queue = new_queue(&context, device).map_err(|e| {
            let why = format!("It gives no queue for commands: {}", reason(&e));
            Error { opencl_status: Some(e.0), ..unusable(device, why) }
        })?;
        Ok(Self { device: device.clone(), context, queue })
    }

    /// Another in-order, profiling queue of the same context: for what must not stand behind the first one's commands.
    pub fn extra_queue(&self) -> Result<Queue> {
        new_queue(&self.context, &self.device).map_err(|e| failed("A queue could not be made.", &e))
    }

    /// Whether the device is a processor, for which other code and other ways are the fast ones.
    pub fn is_cpu(&self) -> bool {
        self.device.info.kind == DeviceKind::Cpu
    }

    /// Whether the device computes in the host's memory, so that nothing needs to be copied to it: a processor, and not one
    /// of another machine.
    pub fn uses_host_memory(&self) -> bool {
        self.is_cpu() && self.device.info.unified_memory
    }
}

fn new_queue(context: &Context, device: &Device) -> Answer<Queue> {
    Queue::new(context, device, CL_QUEUE_PROFILING_ENABLE)
}

fn unusable(device: &Device, why: String) -> Error {
    Error::new(
        format!("The OpenCL device '{}' cannot be used.", device.info.name),
        why,
        "Choose another device with --device; `clreel devices` lists them.",
    )
}

/// Whether a device's version, as in "OpenCL 3.0 PoCL", is less than 1.2. One that says something else is believed to know.
fn is_before_1_2(version: &str) -> bool {
    let numbers = version.strip_prefix("OpenCL ").and_then(|rest| rest.split_whitespace().next());
    let numbers = numbers.and_then(|numbers| numbers.split_once('.'));
    let number = |text: &str| text.parse::<u32>().ok();
    let numbers = numbers.and_then(|(major, minor)| number(major).zip(number(minor)));
    numbers.is_some_and(|numbers| numbers < (1, 2))
}

/// Has the device begin with what is in the queue.
///
/// # Errors
/// When the driver refuses.
pub fn flush(queue: &Queue) -> Result<()> {
    queue.flush().map_err(|e| failed("The OpenCL queue could not be started.", &e))
}

#[cfg(test)]
mod tests {
    use super::is_before_1_2;

    #[test]
    fn drivers_older_than_opencl_1_2_are_known() {
        for old in ["OpenCL 1.0 ", "OpenCL 1.1 Mesa 20.3", "OpenCL 1.1"] {
            assert!(is_before_1_2(old), "{old}");
        }
        for new in ["OpenCL 1.2 ", "OpenCL 2.0 AMD", "OpenCL 3.0 PoCL HSTR: cpu", "OpenCL 1.10", "", "1.1"] {
            assert!(!is_before_1_2(new), "{new}");
        }
    }
}
