//! Times of OpenCL commands. In: events of a profiling queue that have completed. Out: milliseconds.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ocl::ffi;

use crate::cl::{Event, failed, number_of};
use base::error::{Error, Result};

/// One moment of a completed command.
fn nanoseconds(event: &Event, what: ffi::cl_profiling_info) -> Result<u64> {
    let time = number_of(|size, to| {
        // SAFETY: the event is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetEventProfilingInfo(event.raw(), what, size, to, ptr::null_mut()) }
    });
    time.map_err(|e| failed("The device did not say how long a command took.", &e))
}

/// Why something that ran has no time, for the user.
pub const IMPOSSIBLE: &str = "It has no time: its driver reports impossible times, such as an end before the start, a kernel of \
    less than 50 ns, or more time than has passed. Update the driver, or choose another device.";

/// The earliest moment of a device's clock at which a command can stand: context, program and queue come before it, and take
/// milliseconds. Drivers that tell no times answer 0, or 0 to 3 for the four moments.
const CLOCK_START_NS: u64 = 1_000;
/// The least time of a kernel: some 200 cycles of the fastest processor. PoCL takes 200 ns for a work-group that does next to
/// nothing, of which two readings of the clock are 20 to 30; a GPU takes 1,000 ns for an empty kernel.
const LEAST_NS: u64 = 50;
/// … and of a copy on the device: PoCL takes 30 ns for four bytes.
const LEAST_COPY_NS: u64 = 10;

/// Returns true if two moments of a command can be true, in nanoseconds of the device's clock. `within` is the wall time around
/// it, where that is known; two clocks need not agree better than by a tenth and 10 µs. `least_ns` is asked only of short ones.
fn is_possible((from, to): (u64, u64), within: Option<Duration>, least_ns: impl FnOnce() -> u64) -> bool {
    let most_ns = within.map_or(f64::INFINITY, |within| 1.1 * within.as_nanos() as f64 + 10_000.0);
    let took = to.checked_sub(from).filter(|took| from >= CLOCK_START_NS && *took as f64 <= most_ns);
    took.is_some_and(|took| took >= LEAST_NS || took >= least_ns())
}

/// Returns true if kernels can have taken so many milliseconds: as [`is_possible`], of a time alone.
pub fn is_possible_ms(ms: f64) -> bool {
    ms.is_finite() && ms * 1e6 >= LEAST_NS as f64
}

/// A driver has told an impossible time in this process.
static HAS_LIED: AtomicBool = AtomicBool::new(false);

/// Returns true if times are missing because a driver's were [`IMPOSSIBLE`].
pub fn any_impossible() -> bool {
    HAS_LIED.load(Ordering::Relaxed)
}

/// Returns the least time of such a command; 0 of a handover or a marker, and of what may touch no memory, such as a mapping.
fn least_ns(event: &Event) -> u64 {
    let command = number_of::<u32>(|size, to| {
        // SAFETY: the event is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetEventInfo(event.raw(), ffi::CL_EVENT_COMMAND_TYPE, size, to, ptr::null_mut()) }
    });
    match command {
        Ok(ffi::CL_COMMAND_NDRANGE_KERNEL) => LEAST_NS,
        Ok(ffi::CL_COMMAND_COPY_BUFFER | ffi::CL_COMMAND_COPY_IMAGE) => LEAST_COPY_NS,
        Ok(ffi::CL_COMMAND_COPY_IMAGE_TO_BUFFER | ffi::CL_COMMAND_COPY_BUFFER_TO_IMAGE) => LEAST_COPY_NS,
        _ => 0,
    }
}

/// Milliseconds from one moment of the device's clock to another.
pub fn ms((from, to): (u64, u64)) -> f64 {
    to.saturating_sub(from) as f64 * 1e-6
}

/// The time a completed command ran on the device, START to END, in milliseconds; not a number where the driver tells what
/// cannot be.
///
/// # Errors
/// When the driver tells nothing.
pub fn device_ms(event: &Event) -> Result<f64> {
    device_ms_within(event, None)
}

/// Returns the time as [`device_ms`] does; not a number, too, where it is longer than `within`, the wall time around the command.
pub fn device_ms_within(event: &Event, within: Option<Duration>) -> Result<f64> {
    let told = span_ns(event)?;
    Ok(possible(event, told, within).map_or(f64::NAN, ms))
}

/// The time a completed command waited before it ran, QUEUED to START, in milliseconds, where so much wall time has passed around
/// it; `None` where the driver tells what cannot be.
pub fn dispatch_ms(event: &Event, within: Duration) -> Result<Option<f64>> {
    let queued = nanoseconds(event, ffi::CL_PROFILING_COMMAND_QUEUED)?;
    let told = (queued, nanoseconds(event, ffi::CL_PROFILING_COMMAND_START)?);
    Ok(is_possible(told, Some(within), || 0).then(|| ms(told)))
}

fn possible(event: &Event, told: (u64, u64), within: Option<Duration>) -> Option<(u64, u64)> {
    let is_possible = is_possible(told, within, || least_ns(event));
    // Zeros of a handover are no lie.
    HAS_LIED.fetch_or(!is_possible && least_ns(event) > 0, Ordering::Relaxed);
    is_possible.then_some(told)
}

/// When a completed command ran on the device, START and END, in nanoseconds of the device's clock, as the driver tells it.
pub fn span_ns(event: &Event) -> Result<(u64, u64)> {
    let start = nanoseconds(event, ffi::CL_PROFILING_COMMAND_START)?;
    Ok((start, nanoseconds(event, ffi::CL_PROFILING_COMMAND_END)?))
}

/// When a completed command ran on the device, as [`span_ns`] has it; `None` where the driver does not tell, or tells what cannot
/// be: some tell zeros of a handover. `within` is the wall time around it, where that is known.
pub fn known_span_ns(event: &Event, within: Option<Duration>) -> Option<(u64, u64)> {
    possible(event, span_ns(event).ok()?, within)
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
    /// When the driver does not tell, or tells what cannot be.
    pub fn look(&mut self, event: &Event, before: Instant, after: Instant) -> Result<()> {
        let queued = nanoseconds(event, ffi::CL_PROFILING_COMMAND_QUEUED)?;
        if !is_possible((queued, queued), None, || 0) {
            return Err(Error::new("The device's clock is not known.", IMPOSSIBLE, ""));
        }
        self.lies_between(queued, before, after);
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
    fn impossible_times_are_known() {
        let of = |least, told, within_us: Option<u64>| {
            is_possible(told, within_us.map(Duration::from_micros), || least)
        };
        let (start, us): (u64, u64) = (7_000_000, 1_000);
        assert!(of(50, (start, start + 50), None) && !of(50, (start, start + 49), None));
        assert!(of(10, (start, start + 10), None) && !of(10, (start, start), None));
        assert!(of(0, (start, start), None), "a handover may take no time");
        // All zeros, the numbers of the moments, one that is at the clock's beginning, and an end before the start.
        for told in [(0, 0), (2, 3), (2, 2_000_003), (start, start - 1)] {
            assert!(!of(0, told, None), "{told:?}");
        }
        // Two clocks are not one to the last digit.
        let took = |took_us: u64| (start, start + took_us * us);
        assert!(of(50, took(2), Some(2)) && of(50, took(120), Some(100)) && !of(50, took(121), Some(100)));
        assert!(
            is_possible_ms(5e-5)
                && !is_possible_ms(1e-6)
                && !is_possible_ms(0.0)
                && !is_possible_ms(f64::NAN)
        );
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
