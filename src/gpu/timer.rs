//! Times of OpenCL commands. In: events of a profiling queue that have completed. Out: milliseconds.

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
pub fn dispatch_ms(event: &Event) -> Result<f64> {
    between(event, ProfilingInfo::Queued, ProfilingInfo::Start)
}
