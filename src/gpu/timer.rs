//! Times of OpenCL commands. In: events of a profiling queue that have completed. Out: milliseconds.

use std::mem::size_of;
use std::ptr;
use std::time::{Duration, Instant};

use ocl::Event;
use ocl::ffi;

use crate::error::{Error, Result};
use crate::gpu::cl::status_name;
use crate::gpu::event::raw;

/// One moment of a completed command. (ocl asks twice: for the length of the answer, and for the answer.)
fn nanoseconds(event: &Event, what: ffi::cl_profiling_info) -> Result<u64> {
    let mut time = 0u64;
    // SAFETY: the event is alive, and `time` is as large as is said.
    let code = unsafe {
        ffi::clGetEventProfilingInfo(
            raw(event),
            what,
            size_of::<u64>(),
            ptr::from_mut(&mut time).cast(),
            ptr::null_mut(),
        )
    };
    if code == 0 {
        return Ok(time);
    }
    let (what, why) = (
        "The device did not say how long a command took.",
        format!("OpenCL returned {}.", status_name(code)),
    );
    Err(Error { opencl_status: Some(code), ..Error::new(what, why, "") })
}

fn between(event: &Event, from: ffi::cl_profiling_info, to: ffi::cl_profiling_info) -> Result<f64> {
    Ok(ms((nanoseconds(event, from)?, nanoseconds(event, to)?)))
}

/// Milliseconds from one moment of the device's clock to another.
pub(crate) fn ms((from, to): (u64, u64)) -> f64 {
    to.saturating_sub(from) as f64 * 1e-6
}

/// The time a completed command ran on the device, START to END, in milliseconds.
pub fn device_ms(event: &Event) -> Result<f64> {
    between(event, ffi::CL_PROFILING_COMMAND_START, ffi::CL_PROFILING_COMMAND_END)
}

/// The time a completed command waited before it ran, QUEUED to START, in milliseconds.
pub(crate) fn dispatch_ms(event: &Event) -> Result<f64> {
    between(event, ffi::CL_PROFILING_COMMAND_QUEUED, ffi::CL_PROFILING_COMMAND_START)
}

/// When a completed command ran on the device, START and END, in nanoseconds of the device's clock.
pub fn span_ns(event: &Event) -> Result<(u64, u64)> {
    let start = nanoseconds(event, ffi::CL_PROFILING_COMMAND_START)?;
    Ok((start, nanoseconds(event, ffi::CL_PROFILING_COMMAND_END)?))
}

/// The device's clock on the host's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceClock {
    /// The same moment on both.
    host: Instant,
    device_ns: u64,
}

impl DeviceClock {
    /// From a completed command that was enqueued between `before` and `after`, when the driver noted its QUEUED:
    /// right to half of that time.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub(crate) fn from_enqueued(event: &Event, before: Instant, after: Instant) -> Result<Self> {
        let device_ns = nanoseconds(event, ffi::CL_PROFILING_COMMAND_QUEUED)?;
        Ok(Self { host: before + after.saturating_duration_since(before) / 2, device_ns })
    }

    /// What the host's clock showed; `None` where that cannot be said.
    pub(crate) fn instant(&self, device_ns: u64) -> Option<Instant> {
        match device_ns.checked_sub(self.device_ns) {
            Some(later) => self.host.checked_add(Duration::from_nanos(later)),
            None => self.host.checked_sub(Duration::from_nanos(self.device_ns - device_ns)),
        }
    }
}
