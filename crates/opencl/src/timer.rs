//! Times of completed OpenCL commands, from events of a profiling queue. Impossible times, which some drivers report, are
//! rejected.

use std::ptr;
use std::time::{Duration, Instant};

use ocl::ffi;

use crate::cl::{Calibration, Clock, Event, OrFail as _, number_of};
use base::error::{Error, Result};

/// Returns one timestamp of a completed command (`CL_PROFILING_COMMAND_…`), in nanoseconds of the device's clock.
fn nanoseconds(event: &Event, what: ffi::cl_profiling_info) -> Result<u64> {
    let time = number_of(|size, to| {
        // SAFETY: the event is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetEventProfilingInfo(event.raw(), what, size, to, ptr::null_mut()) }
    });
    time.or_fail("The device did not report how long a command took.")
}

/// The timestamps of a completed command in nanoseconds of the device's clock, as the driver reports them.
#[derive(Debug, Clone, Copy)]
pub struct EventTimes {
    /// The time at which the command was enqueued (`CL_PROFILING_COMMAND_QUEUED`).
    pub queued: u64,
    /// The time at which the command began.
    pub start: u64,
    /// The time at which the command ended.
    pub end: u64,
}

impl EventTimes {
    /// Queries the timestamps of a completed command.
    ///
    /// # Errors
    /// Returns an error if the driver reports none.
    pub fn of(event: &Event) -> Result<Self> {
        let queued = nanoseconds(event, ffi::CL_PROFILING_COMMAND_QUEUED)?;
        let (start, end) = span_ns(event)?;
        Ok(Self { queued, start, end })
    }
}

/// The earliest plausible timestamp of a command, in nanoseconds of the device's clock. Before its first command a program makes a
/// context, a program and a queue, which takes milliseconds. Drivers without times report 0, or 0 to 3 for the four timestamps.
const CLOCK_START_NS: u64 = 1_000;
/// The shortest plausible time of a kernel, in nanoseconds: some 200 cycles of the fastest CPU. PoCL takes 200 ns for a
/// work-group that does next to nothing, of which two readings of the clock are 20 to 30; a GPU takes 1,000 ns for an empty
/// kernel.
const MIN_KERNEL_NS: u64 = 50;
/// The shortest plausible time of a copy on the device, in nanoseconds. PoCL takes 30 ns for four bytes.
const MIN_COPY_NS: u64 = 10;

/// Returns true if two timestamps of a command, in nanoseconds of the device's clock, are plausible. `within` is the wall time
/// around the command, if it is known; the two clocks may differ by a tenth and 10 µs. `min_ns` returns the shortest plausible
/// time of the command. It is called only for short commands, since it queries the driver.
pub(crate) fn is_possible(
    (from, to): (u64, u64),
    within: Option<Duration>,
    min_ns: impl FnOnce() -> u64,
) -> bool {
    let most_ns = within.map_or(f64::INFINITY, |within| 1.1 * within.as_nanos() as f64 + 10_000.0);
    let took = to.checked_sub(from).filter(|took| from >= CLOCK_START_NS && *took as f64 <= most_ns);
    took.is_some_and(|took| took >= MIN_KERNEL_NS || took >= min_ns())
}

/// Returns true if `ms` milliseconds are plausible as the time of a kernel: at least some 200 cycles of the fastest CPU.
pub fn is_possible_ms(ms: f64) -> bool {
    ms.is_finite() && ms * 1e6 >= MIN_KERNEL_NS as f64
}

/// Returns the shortest plausible time of an event's command, in nanoseconds. It is 0 for a handover between OpenCL and OpenGL, a
/// marker, or a command that may touch no memory, such as a mapping.
fn min_ns(event: &Event) -> u64 {
    let command = number_of::<u32>(|size, to| {
        // SAFETY: the event is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetEventInfo(event.raw(), ffi::CL_EVENT_COMMAND_TYPE, size, to, ptr::null_mut()) }
    });
    match command {
        Ok(ffi::CL_COMMAND_NDRANGE_KERNEL) => MIN_KERNEL_NS,
        Ok(
            ffi::CL_COMMAND_COPY_BUFFER
            | ffi::CL_COMMAND_COPY_IMAGE
            | ffi::CL_COMMAND_COPY_IMAGE_TO_BUFFER
            | ffi::CL_COMMAND_COPY_BUFFER_TO_IMAGE,
        ) => MIN_COPY_NS,
        _ => 0,
    }
}

/// Returns the milliseconds between two timestamps in nanoseconds of the device's clock.
pub fn ms((from, to): (u64, u64)) -> f64 {
    to.saturating_sub(from) as f64 * 1e-6
}

/// Returns the time that a completed command ran on the device, from START to END, in milliseconds; NaN if the driver reports an
/// impossible time, or one that is longer than `within`, the wall time around the command.
///
/// # Errors
/// Returns an error if the driver reports no times.
pub fn device_ms_within(event: &Event, within: Option<Duration>) -> Result<f64> {
    let span = span_ns(event)?;
    Ok(if is_possible(span, within, || min_ns(event)) { ms(span) } else { f64::NAN })
}

/// Returns the time that a completed command waited before it ran, from QUEUED to START, in milliseconds; `None` if the driver
/// reports an impossible time. `within` is the wall time around the command.
pub fn dispatch_ms(event: &Event, within: Duration) -> Result<Option<f64>> {
    let queued = nanoseconds(event, ffi::CL_PROFILING_COMMAND_QUEUED)?;
    let span = (queued, nanoseconds(event, ffi::CL_PROFILING_COMMAND_START)?);
    Ok(is_possible(span, Some(within), || 0).then(|| ms(span)))
}

/// Returns the timestamps START and END of a completed command in nanoseconds of the device's clock, as the driver reports them.
fn span_ns(event: &Event) -> Result<(u64, u64)> {
    let start = nanoseconds(event, ffi::CL_PROFILING_COMMAND_START)?;
    Ok((start, nanoseconds(event, ffi::CL_PROFILING_COMMAND_END)?))
}

/// Returns the timestamps START and END of a completed command in nanoseconds of the device's clock. Returns `None` if the driver reports none or impossible ones, such
/// as zeros for a handover between OpenCL and OpenGL, if the calibration of `clock` has rejected device times, or if the time
/// is too short for the resolution of `clock`. `within` is the wall time around the command, if it is known.
pub fn known_span_ns(event: &Event, clock: &Clock, within: Option<Duration>) -> Option<(u64, u64)> {
    let span = clock.is_usable().then(|| span_ns(event).ok())??;
    let is_known =
        is_possible(span, within, || min_ns(event)) && clock.resolves(span.1.saturating_sub(span.0) as f64);
    is_known.then_some(span)
}

/// The conversion from timestamps of a device's clock to the host's time. No conversion is known before the first call of
/// [`adjust`](Self::adjust).
///
/// The timestamp QUEUED of a command lies between the host's times before and after the call that enqueued the command. The
/// calibration of the clock sets the offset of the two clocks. Without a calibration, the first such pair of host times sets
/// it: QUEUED is taken to be in the middle between the two times. Each later pair moves the offset only as far as it must, so
/// that times of different frames keep their distances, and clocks that drift apart are followed.
#[derive(Debug, Clone, Default)]
pub struct DeviceClock {
    clock: Clock,
    /// A moment of the host's clock, and the device's clock at that moment in nanoseconds.
    anchor: Option<(Instant, u64)>,
}

impl DeviceClock {
    /// Creates a conversion for a device's clock.
    pub fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), anchor: None }
    }

    /// Returns the timestamps of a command as [`known_span_ns`] does.
    pub fn span_ns(&self, event: &Event, within: Option<Duration>) -> Option<(u64, u64)> {
        known_span_ns(event, &self.clock, within)
    }

    /// Adjusts the conversion by a completed command that was enqueued between `before` and `after`.
    ///
    /// # Errors
    /// Returns an error if the driver reports no time, or an impossible one.
    pub fn adjust(&mut self, event: &Event, before: Instant, after: Instant) -> Result<()> {
        let queued = nanoseconds(event, ffi::CL_PROFILING_COMMAND_QUEUED)?;
        if !self.clock.is_usable() || !is_possible((queued, queued), None, || 0) {
            return Err(Error::new(
                "The device's clock is not known.",
                "Its driver reports impossible times.",
                "",
            ));
        }
        if let (None, Some(Calibration::Trusted { anchor, .. })) = (self.anchor, self.clock.calibration()) {
            self.anchor = Some(*anchor);
        }
        self.shift_between(queued, before, after);
        Ok(())
    }

    /// Adjusts the conversion so that this timestamp lies between two times of the host.
    fn shift_between(&mut self, device_ns: u64, before: Instant, after: Instant) {
        let at = match self.instant(device_ns) {
            // `clamp` would panic if `before` were later than `after`.
            Some(at) => at.min(after).max(before),
            None => before + after.saturating_duration_since(before) / 2,
        };
        self.anchor = Some((at, device_ns));
    }

    /// Converts a timestamp in nanoseconds of the device's clock to the host's time; `None` before the first call of
    /// [`adjust`](Self::adjust).
    pub fn instant(&self, device_ns: u64) -> Option<Instant> {
        let (host, same_ns) = self.anchor?;
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
        let of = |least, span, within_us: Option<u64>| {
            is_possible(span, within_us.map(Duration::from_micros), || least)
        };
        let (start, us): (u64, u64) = (7_000_000, 1_000);
        assert!(of(50, (start, start + 50), None) && !of(50, (start, start + 49), None));
        assert!(of(10, (start, start + 10), None) && !of(10, (start, start), None));
        assert!(of(0, (start, start), None), "a handover may take no time");
        // All zeros, the numbers of the moments, one that is at the clock's beginning, and an end before the start.
        for span in [(0, 0), (2, 3), (2, 2_000_003), (start, start - 1)] {
            assert!(!of(0, span, None), "{span:?}");
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
        clock.shift_between(5_000, at(100), at(120));
        assert_eq!((clock.instant(5_000), clock.instant(1_000)), (Some(at(110)), Some(at(106))));
        // A later pair that allows it changes nothing, however far its middle is away.
        clock.shift_between(1_005_000, at(1_109), at(1_900));
        assert_eq!(clock.instant(5_000), Some(at(110)));
        // One that does not moves it to its edge, up and down.
        clock.shift_between(2_005_000, at(2_113), at(2_900));
        assert_eq!(clock.instant(5_000), Some(at(113)));
        clock.shift_between(3_005_000, at(3_000), at(3_111));
        assert_eq!(clock.instant(5_000), Some(at(111)));
        // Distances are the device's own.
        let (from, to) = (clock.instant(7_001), clock.instant(9_004));
        assert_eq!(to.zip(from).map(|(to, from)| to - from), Some(Duration::from_nanos(2_003)));
    }
}
