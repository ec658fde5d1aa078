//! Calibration of a device's clock, which finds out whether the times of events are those of the commands.
//!
//! Some drivers report times that no kernel took, with CL_SUCCESS: numbers instead of times (rusticl 22.3), an END before the
//! START, 7e10 seconds (ROCm 7.2). Before device times are shown, a kernel whose work is n, 2n and 4n is therefore timed by
//! events and by the host's clock. If the two do not grow alike, wall times replace device times.

use std::time::{Duration, Instant};

use ocl::ffi;

use crate::cl::{Answer, Buffer, ClContext, OrFail as _, Queue};
pub use crate::cl::{Calibration, Clock};
use crate::kernel::{self, Kernel, NdRange, Value};
use crate::program;
use crate::sources::Sources;
use crate::timer::{EventTimes, is_possible};
use base::device::ClockState;
use base::error::Result;

/// The file of the kernel that is timed for the calibration.
const KERNEL_FILE: &str = "clock/01_steps.cl";
/// The number of rounds of the kernel's inner loop.
const INNER_ROUNDS: u32 = 1 << 10;
/// The wall time of the shortest launch of a calibration. All launches together take 35 times as long.
const SHORTEST: Duration = Duration::from_micros(1_200);
/// The maximum number of rounds of the outer loop in the shortest launch. A device that would need more rounds does not really
/// run the kernel.
const MAX_OUTER: u32 = 1 << 22;
/// The number of launches with each amount of work. Of these, the launch whose wall time exceeds its device time least is used.
const ROUNDS: usize = 5;
/// The amounts of work that are compared, as multiples of the shortest one.
const FACTORS: [u32; 3] = [1, 2, 4];
/// The maximum number of repetitions of all launches. They are repeated while device times and wall times do not grow alike,
/// since other processes may delay the moment at which the host notices the end of a launch.
const ATTEMPTS: usize = 8;
/// The smallest and the largest accepted growth of device time relative to wall time.
const SLOPE_RANGE: (f64, f64) = (0.8, 1.25);
/// The coarsest accepted resolution of a device's clock in nanoseconds. Common ones are 10 ns (AMD), 32 ns (NVIDIA), 83 ns (Intel) and
/// 1,000 ns.
const MAX_RESOLUTION_NS: u64 = 1_000;

/// Calibrates the clock of a context's device, once for all clones of the context, and returns its state. It takes some 50 ms of the
/// device's time, and should run while the device has no other work. If it fails, the clock stays uncalibrated.
pub fn calibrate(cl: &ClContext) -> ClockState {
    if cl.clock().calibration().is_none() {
        match measure(cl) {
            Ok(found) => drop(cl.clock().0.set(found)),
            Err(error) => return ClockState::Uncalibrated(Some(error.to_string())),
        }
    }
    cl.clock().state()
}

/// The times of one launch of the kernel during a calibration.
#[derive(Clone, Copy)]
struct Launch {
    wall: Duration,
    /// The times that the driver reports; `None` if it reports none.
    device: Option<EventTimes>,
    /// The host's time before and after the launch was enqueued.
    enqueued: (Instant, Instant),
    /// True if the kernel wrote the number that it had to compute.
    is_right: bool,
}

/// Calibrates the clock of the context's device: runs the kernel on a queue of its own and compares its device times with its
/// wall times.
fn measure(cl: &ClContext) -> Result<Calibration> {
    let what = "The device's clock could not be compared with the host's.";
    let cl = cl.with_sources(Sources::default());
    let queue = cl.extra_queue()?;
    let program = program::build(&cl, KERNEL_FILE, "")?;
    let kernel = Kernel::new(&program, "steps").or_fail(what)?;
    let out = Buffer::new(&cl.context, ffi::CL_MEM_READ_WRITE, 4).or_fail(what)?;
    let resolution_ns =
        cl.device.number::<usize>(ffi::CL_DEVICE_PROFILING_TIMER_RESOLUTION).unwrap_or(0) as u64;
    assess(resolution_ns, |outer| launch(&queue, &kernel, &out, outer).or_fail(what))
}

/// Runs the kernel once with `outer` rounds of its outer loop, and returns the times.
fn launch(queue: &Queue, kernel: &Kernel, out: &Buffer, outer: u32) -> Answer<Launch> {
    out.write(queue, &[0; 4])?;
    kernel.set(0, Value::Uint(outer))?;
    kernel.set(1, Value::Uint(INNER_ROUNDS))?;
    kernel.set(2, out.mem())?;
    let before = Instant::now();
    // SAFETY: all arguments are set, with the kernel's types, and the one work-item writes the buffer's one number.
    let event = unsafe { kernel::enqueue(queue, kernel, NdRange::line(1, 1), &[]) }?;
    let after = Instant::now();
    queue.finish()?;
    let wall = before.elapsed();
    let mut number = [0; 4];
    out.read(queue, &mut number)?;
    let is_right = u32::from_ne_bytes(number) == state_after(u64::from(outer) * u64::from(INNER_ROUNDS));
    Ok(Launch { wall, device: EventTimes::of(&event).ok(), enqueued: (before, after), is_right })
}

/// Returns the state of the kernel's random number generator after `steps` steps from state 1, to check the kernel's result.
/// Computed by repeated squaring of a step (F. Brown, "Random number generation with arbitrary strides", 1994).
fn state_after(mut steps: u64) -> u32 {
    let (mut x, mut a, mut c) = (1_u32, 1_664_525_u32, 1_013_904_223_u32);
    while steps > 0 {
        if steps % 2 == 1 {
            x = x.wrapping_mul(a).wrapping_add(c);
        }
        c = c.wrapping_mul(a.wrapping_add(1));
        a = a.wrapping_mul(a);
        steps /= 2;
    }
    x
}

/// Calibrates a clock. `launch` runs the kernel with the given number of rounds of its outer loop. `reported_ns` is the
/// resolution that the driver reports, 0 if it reports none.
fn assess(reported_ns: u64, mut launch: impl FnMut(u32) -> Result<Launch>) -> Result<Calibration> {
    // A driver may compile the kernel when it is first launched.
    launch(1)?;
    // The number of rounds of the outer loop that take the wall time `SHORTEST`.
    let mut outer = 1;
    let outer = loop {
        // The fastest of several launches counts, since another process may have had the CPU during one.
        let mut wall = Duration::MAX;
        for _ in 0..ROUNDS {
            wall = wall.min(launch(outer)?.wall);
        }
        // From here on the overhead of a launch is small.
        if 4 * wall >= SHORTEST || outer >= MAX_OUTER {
            let exact = f64::from(outer) * SHORTEST.as_secs_f64() / wall.as_secs_f64().max(1e-9);
            break exact.clamp(1.0, f64::from(MAX_OUTER)) as u32;
        }
        outer *= 2;
    };
    let mut launches = [const { Vec::new() }; 3];
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        for _ in 0..ROUNDS {
            for (factor, launches) in FACTORS.iter().zip(&mut launches) {
                launches.push(launch(outer * factor)?);
            }
        }
        match compare(reported_ns, &launches) {
            Ok(calibration) => return Ok(calibration),
            Err(growth) => last = growth,
        }
    }
    Ok(Calibration::Rejected(last))
}

/// Compares the device times of launches with their wall times, and returns the result of the calibration. `launches` has the
/// launches for each amount of work.
///
/// # Errors
/// Returns a reason to reject the clock if device times do not grow as wall times do, which other processes may have caused.
fn compare(reported_ns: u64, launches: &[Vec<Launch>; 3]) -> Result<Calibration, String> {
    let impossible = |why: &str| Ok(Calibration::Rejected(why.to_owned()));
    let all = || launches.iter().flatten();
    if all().any(|launch| !launch.is_right) {
        return impossible("a kernel was reported as complete that had not run");
    }
    let Some(times) = all().map(|launch| launch.device).collect::<Option<Vec<_>>>() else {
        return impossible("the driver reports no times of commands");
    };
    let resolution_ns = resolution(reported_ns, &times);
    if resolution_ns > MAX_RESOLUTION_NS {
        return impossible(&format!("the device's clock has steps of {}", format_resolution(resolution_ns)));
    }
    // Wall and device time of the run of each amount of work whose overhead is least. A run in which another process had the
    // CPU counts, since both clocks saw that.
    let mut points = [(0.0, 0.0); 3];
    for (launches, point) in launches.iter().zip(&mut points) {
        let times = |launch: &Launch| {
            let EventTimes { start, end, .. } = launch.device?;
            let within = launch.wall + Duration::from_nanos(resolution_ns);
            let is_possible = is_possible((start, end), Some(within), || 1);
            is_possible.then_some((launch.wall.as_nanos() as f64, (end - start) as f64))
        };
        let overhead = |(wall, device): &(f64, f64)| wall - device;
        let least = launches.iter().filter_map(times).min_by(|a, b| overhead(a).total_cmp(&overhead(b)));
        let Some(least) = least else {
            return impossible(
                "the driver reports impossible times, such as an end before the start or more time than has passed",
            );
        };
        *point = least;
    }
    let [shortest, _, longest] = points;
    let (wall, device) = (longest.0 - shortest.0, longest.1 - shortest.1);
    // Both ends are rounded to steps of the device's clock.
    let slack = resolution_ns as f64 / wall;
    let slope = slope(&points);
    if !(SLOPE_RANGE.0 - slack..=SLOPE_RANGE.1 + slack).contains(&slope) {
        return Err(format!(
            "a kernel that took {:.1} ms longer by the host's clock took {:.1} ms longer by the driver's times",
            wall * 1e-6,
            device * 1e-6
        ));
    }
    let pairs = all().map(|launch| launch.enqueued).zip(&times);
    match pairs.min_by_key(|((before, after), _)| *after - *before) {
        Some(((before, after), device)) => {
            let anchor = (before + (after - before) / 2, device.queued);
            Ok(Calibration::Trusted { resolution_ns, anchor })
        }
        None => impossible("the driver reports no times of commands"),
    }
}

/// Returns the slope of the line that fits points best, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
    sum(&|p| (p.0 - x) * (p.1 - y)) / sum(&|p| (p.0 - x).powi(2))
}

/// Determines the resolution of a device's clock in nanoseconds. If the times are multiples of a step, the resolution is that
/// step: NVIDIA's driver reports 1,000 ns and has steps of 32, and a driver that reports 1 ns may count milliseconds. Otherwise
/// it is what the driver reports, since the steps of a clock that does not tick in whole nanoseconds do not show.
fn resolution(reported_ns: u64, times: &[EventTimes]) -> u64 {
    let all = || times.iter().flat_map(|times| [times.start, times.end]);
    let first = all().next().unwrap_or(0);
    match all().fold(0, |step, time| gcd(step, time.abs_diff(first))) {
        0 | 1 => reported_ns.max(1),
        step => step,
    }
}

/// Formats the resolution of a clock, given in nanoseconds, as in "32 ns", "1 µs" and "1 ms".
pub fn format_resolution(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} µs", ns / 1_000),
        _ => format!("{} ms", ns / 1_000_000),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock};

    use super::*;

    /// Launches of a device of which each round of the outer loop takes a microsecond; `clock` makes the driver's START and END from
    /// the true ones.
    fn calibration(reported_ns: u64, clock: impl Fn(u64, u64) -> (u64, u64)) -> Calibration {
        let (base, mut now, mut launches) = (Instant::now(), 5_000_123_u64, 0);
        assess(reported_ns, |outer| {
            // Overhead of some microseconds before the start and after the end.
            launches += 1;
            let (queued, start) = (now + 700, now + 9_100 + launches * launches);
            let end = start + u64::from(outer) * 1_000 + launches;
            now = end + 21_017;
            let (from, to) = clock(start, end);
            let before = base + Duration::from_nanos(queued - 300);
            Ok(Launch {
                wall: Duration::from_nanos(now - queued),
                device: Some(EventTimes { queued, start: from, end: to }),
                enqueued: (before, before + Duration::from_nanos(600)),
                is_right: true,
            })
        })
        .unwrap()
    }

    fn rejection(clock: impl Fn(u64, u64) -> (u64, u64)) -> String {
        match calibration(1, clock) {
            Calibration::Rejected(why) => why,
            trusted => panic!("{trusted:?}"),
        }
    }

    #[test]
    fn an_honest_clock_is_trusted_and_its_resolution_is_that_of_its_steps() {
        let Calibration::Trusted { resolution_ns, anchor: (at, ns) } =
            calibration(1, |start, end| (start, end))
        else {
            panic!("rejected");
        };
        assert_eq!(resolution_ns, 1);
        let clock =
            Clock(Arc::new(OnceLock::from(Calibration::Trusted { resolution_ns: 32, anchor: (at, ns) })));
        assert!(clock.resolves(320.0) && !clock.resolves(319.0) && clock.is_usable());
        // A fifth of the time may be missing, since a launch has an overhead that only one of the clocks sees.
        assert!(matches!(
            calibration(1, |start, end| (start, end - (end - start) / 8)),
            Calibration::Trusted { .. }
        ));
        // Steps finer than the reported resolution count, and what does not show is what the driver reports.
        let of =
            |reported: u64, step: u64| match calibration(reported, |a, b| (a / step * step, b / step * step))
            {
                Calibration::Trusted { resolution_ns, .. } => resolution_ns,
                rejected => panic!("{rejected:?}"),
            };
        assert_eq!((of(1_000, 32), of(83, 1), of(0, 1)), (32, 83, 1));
    }

    #[test]
    fn clocks_that_lie_and_kernels_that_did_not_run_are_rejected() {
        let impossible = "impossible times";
        for (name, why) in [
            ("zero", rejection(|_, _| (0, 0))),
            ("counted", rejection(|_, _| (2, 3))),
            ("reversed", rejection(|start, end| (end, start))),
            ("same", rejection(|start, _| (start, start))),
            ("tenfold", rejection(|start, end| (start, start + 10 * (end - start)))),
            ("zero for lack of steps", rejection(|start, _| (start / 1_000 * 1_000, start / 1_000 * 1_000))),
        ] {
            assert!(why.contains(impossible), "{name}: {why}");
        }
        let ticks = |ns: u64| ns / 1_000_000 * 1_000_000;
        assert_eq!(
            rejection(|start, end| (ticks(start), ticks(end))),
            "the device's clock has steps of 1 ms"
        );
        let constant = rejection(|start, _| (start, start + 500_000));
        assert!(constant.contains("took 0.0 ms longer by the driver's times"), "{constant}");
        let tenth = rejection(|start, end| (start, start + (end - start) / 10));
        assert!(tenth.contains("ms longer by the host's clock took 0.3 ms longer"), "{tenth}");
        let slow = rejection(|start, end| (start, start + (end - start) * 7 / 10));
        assert!(slow.contains("longer by the driver's times"), "{slow}");
        let at = Instant::now();
        let found = assess(1, |_| {
            let device = Some(EventTimes { queued: 5_000, start: 6_000, end: 9_000 });
            Ok(Launch { wall: Duration::from_micros(4), device, enqueued: (at, at), is_right: false })
        });
        let Ok(Calibration::Rejected(why)) = found else { panic!("{found:?}") };
        assert!(why.contains("had not run"), "{why}");
    }

    #[test]
    fn the_generator_is_the_kernels() {
        let mut state = 1_u32;
        for steps in 0..2_000 {
            assert_eq!(state_after(steps), state, "after {steps} steps");
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        }
    }
}
