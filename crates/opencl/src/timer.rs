//! Times of OpenCL commands. In: events of a profiling queue that have completed. Out: milliseconds.

use std::ptr;
use std::time::{Duration, Instant};

use ocl::ffi;

use crate::cl::{Event, failed, number_of};
use base::error::Result;

/// One moment of a completed command.
fn nanoseconds(event: &Event, what: ffi::cl_profiling_info) -> Result<u64> {
    let time = number_of(|size, to| {
        // SAFETY: the event is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetEventProfilingInfo(event.raw(), what, size, to, ptr::null_mut()) }
    });
    time.map_err(|e| failed("The device did not say how long a command took.", &e))
}

fn between(event: &Event, from: ffi::cl_profiling_info, to: ffi::cl_profiling_info) -> Result<f64> {
    Ok(ms((nanoseconds(event, from)?, nanoseconds(event, to)?)))
}

/// Milliseconds from one moment of the device's clock to another.
pub fn ms((from, to): (u64, u64)) -> f64 {
    to.saturating_sub(from) as f64 * 1e-6
}

/// The time a completed command ran on the device, START to END, in milliseconds.
pub fn device_ms(event: &Event) -> Result<f64> {
    between(event, ffi::CL_PROFILING_COMMAND_START, ffi::CL_PROFILING_COMMAND_END)
}

/// The time a completed command waited before it ran, QUEUED to START, in milliseconds.
pub fn dispatch_ms(event: &Event) -> Result<f64> {
    between(event, ffi::CL_PROFILING_COMMAND_QUEUED, ffi::CL_PROFILING_COMMAND_START)
}

/// When a completed command ran on the device, START and END, in nanoseconds of the device's clock.
pub fn span_ns(event: &Event) -> Result<(u64, u64)> {
    let start = nanoseconds(event, ffi::CL_PROFILING_COMMAND_START)?;
    Ok((start, nanoseconds(event, ffi::CL_PROFILING_COMMAND_END)?))
}

/// When a completed command ran on the device, as [`span_ns`] has it; `None` where the driver does not tell. Some drivers tell
/// zeros of a handover: nothing stands at the beginning of their clock.
pub fn known_span_ns(event: &Event) -> Option<(u64, u64)> {
    known(span_ns(event).ok())
}

fn known(told: Option<(u64, u64)>) -> Option<(u64, u64)> {
    told.filter(|(from, _)| *from > 0)
}

/// A device's clock, laid over the host's once: the same moment on both, and unknown before the first
/// [look](Self::look).
///
/// A command's QUEUED lies between the host's times before and after the call that enqueued it. The first such pair gives
/// the offset, in its middle; every later one moves it only as far as it must. So times of different frames keep their
/// distances, and two clocks that drift apart are followed.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceClock(Option<(Instant, u64)>);

impl DeviceClock {
    /// Looks at a completed command that was enqueued between `before` and `after`.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub fn look(&mut self, event: &Event, before: Instant, after: Instant) -> Result<()> {
        self.lies_between(nanoseconds(event, ffi::CL_PROFILING_COMMAND_QUEUED)?, before, after);
        Ok(())
    }

    fn lies_between(&mut self, device_ns: u64, before: Instant, after: Instant) {
        let at = match self.instant(device_ns) {
            // Not `clamp`, which panics where they are the wrong way round.
            Some(at) => at.min(after).max(before),
            None => before + after.saturating_duration_since(before) / 2,
        };
        self.0 = Some((at, device_ns));
    }

    /// What the host's clock showed; `None` where that cannot be said.
    pub fn instant(&self, device_ns: u64) -> Option<Instant> {
        let (host, same_ns) = self.0?;
        match device_ns.checked_sub(same_ns) {
            Some(later) => host.checked_add(Duration::from_nanos(later)),
            None => host.checked_sub(Duration::from_nanos(same_ns - device_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_no_time() {
        assert_eq!(known(Some((5, 9))), Some((5, 9)));
        assert_eq!((known(Some((0, 0))), known(None)), (None, None));
    }

    #[test]
    fn a_clock_moves_no_further_than_it_must() {
        let base = Instant::now() + Duration::from_secs(1);
        let at = |us: u64| base + Duration::from_micros(us);
        let mut clock = DeviceClock::default();
        assert_eq!(clock.instant(5_000), None);
        // 5 µs there is between 100 and 120 µs here: 110.
        clock.lies_between(5_000, at(100), at(120));
        assert_eq!((clock.instant(5_000), clock.instant(1_000)), (Some(at(110)), Some(at(106))));
        // A later pair that allows it changes nothing, however far its middle is away.
        clock.lies_between(1_005_000, at(1_109), at(1_900));
        assert_eq!(clock.instant(5_000), Some(at(110)));
        // One that does not moves it to its edge, up and down.
        clock.lies_between(2_005_000, at(2_113), at(2_900));
        assert_eq!(clock.instant(5_000), Some(at(113)));
        clock.lies_between(3_005_000, at(3_000), at(3_111));
        assert_eq!(clock.instant(5_000), Some(at(111)));
        // Distances are the device's own.
        let (from, to) = (clock.instant(7_001), clock.instant(9_004));
        assert_eq!(to.zip(from).map(|(to, from)| to - from), Some(Duration::from_nanos(2_003)));
    }
}
