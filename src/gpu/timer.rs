//! Times of OpenCL commands. In: events of a profiling queue that have completed. Out: milliseconds.

use std::time::{Duration, Instant};

use ocl::Event;
use ocl::core::{ProfilingInfo, ProfilingInfoResult};

use crate::error::Result;
use crate::gpu::cl::failed;

fn nanoseconds(event: &Event, what: ProfilingInfo) -> Result<u64> {
    match event.profiling_info(what) {
        Ok(
            ProfilingInfoResult::Queued(t)
            | ProfilingInfoResult::Submit(t)
            | ProfilingInfoResult::Start(t)
            | ProfilingInfoResult::End(t),
        ) => Ok(t),
        Err(e) => Err(failed("The device did not say how long a command took.", &e)),
    }
}

fn between(event: &Event, from: ProfilingInfo, to: ProfilingInfo) -> Result<f64> {
    let (from, to) = (nanoseconds(event, from)?, nanoseconds(event, to)?);
    Ok(to.saturating_sub(from) as f64 * 1e-6)
}

/// The time a completed command ran on the device, START to END, in milliseconds.
pub fn device_ms(event: &Event) -> Result<f64> {
    between(event, ProfilingInfo::Start, ProfilingInfo::End)
}

/// The time a completed command waited before it ran, QUEUED to START, in milliseconds.
pub(crate) fn dispatch_ms(event: &Event) -> Result<f64> {
    between(event, ProfilingInfo::Queued, ProfilingInfo::Start)
}

/// When a completed command ran on the device, START and END, in nanoseconds of the device's clock.
pub fn span_ns(event: &Event) -> Result<(u64, u64)> {
    Ok((nanoseconds(event, ProfilingInfo::Start)?, nanoseconds(event, ProfilingInfo::End)?))
}

/// The device's clock on the host's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceClock {
    /// The same moment on both.
    host: Instant,
    device_ns: u64,
}

impl DeviceClock {
    /// From a completed command that was enqueued between `before` and `after`, when the driver noted its QUEUED: right to
    /// half of that time.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub(crate) fn from_enqueued(event: &Event, before: Instant, after: Instant) -> Result<Self> {
        let device_ns = nanoseconds(event, ProfilingInfo::Queued)?;
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
