//! Timed runs: commands are enqueued on a device, waited for, and timed by the device's clock and the host's.

use std::cell::RefCell;
use std::time::Instant;

use base::error::Result;
use base::timing::log::{self, Track};
use base::timing::ms_since;
use opencl::cl::{Event, Queue, failed};
use opencl::clock::Clock;
use opencl::timer::{self, DeviceClock};
use opencl::watch;

/// The times of one run in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The sum of the times of all commands on the device, each from its start to its end; `None` without a device, and NaN if
    /// the device's driver reports impossible times.
    pub device_ms: Option<f64>,
    /// The time from the first enqueue to the start of the first command on the device; `None` without a command queue.
    pub dispatch_ms: Option<f64>,
    /// The time by the host's clock, from the first enqueue until the last command is complete. It includes no transfers,
    /// because the data is already in the device's memory.
    pub wall_ms: f64,
}

impl Sample {
    /// Creates the sample of a run without a device from its wall time in milliseconds.
    pub fn on_host(wall_ms: f64) -> Self {
        Self { device_ms: None, dispatch_ms: None, wall_ms }
    }

    /// Returns the time by which runs are compared, in milliseconds: the device time, or the wall time if the device time is
    /// missing or impossible.
    pub fn ms(&self) -> f64 {
        self.device_ms.filter(|ms| ms.is_finite()).unwrap_or(self.wall_ms)
    }
}

thread_local! {
    /// The device times of the commands of the last [`sample`] on this thread. They are not in [`Sample`], because few callers
    /// need them.
    static LAST_COMMANDS_MS: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    /// The name that traces show for the kernels that this thread runs.
    static KERNEL_NAME: RefCell<Option<Box<str>>> = const { RefCell::new(None) };
}

/// Calls `run`. Traces show the name `name` for the commands that `run` times.
pub fn named<T>(name: &str, run: impl FnOnce() -> T) -> T {
    KERNEL_NAME.set(Some(name.into()));
    let result = run();
    KERNEL_NAME.set(None);
    result
}

/// Returns the device time in milliseconds of each command of the last [`sample`] on this thread, in order; empty if one of
/// them is not known.
pub fn last_commands_ms() -> Vec<f64> {
    LAST_COMMANDS_MS.with_borrow(Clone::clone)
}

/// Enqueues commands, waits for them, and returns their times. `enqueue` returns the events of the commands in order.
pub fn sample(queue: &Queue, enqueue: impl FnOnce(&Queue) -> Result<Vec<Event>>) -> Result<Sample> {
    LAST_COMMANDS_MS.with_borrow_mut(Vec::clear);
    let begin = Instant::now();
    let events = enqueue(queue)?;
    let enqueued = Instant::now();
    queue.finish().map_err(|e| failed("The device failed while it was timed.", &e))?;
    let (wall_ms, wall) = (ms_since(begin), begin.elapsed());
    let clock = queue.clock();
    log::record(|| {
        let measure = log::Event::span(Track::of_thread(), "measure", begin, begin + wall);
        let name = KERNEL_NAME.with_borrow(Clone::clone);
        let commands = device_spans(clock, "command", &events, (begin, enqueued)).into_iter();
        std::iter::once(measure).chain(commands.map(move |command| match &name {
            Some(name) => command.with(name.clone()),
            None => command,
        }))
    });
    watch::progress();
    if !clock.is_usable() {
        return Ok(Sample::on_host(wall_ms));
    }
    // A driver that reports no times does not make the run fail: wall times take their place.
    let command_ms = |event| timer::device_ms_within(event, Some(wall)).unwrap_or(f64::NAN);
    let commands_ms: Vec<f64> = events.iter().map(command_ms).collect();
    let device_ms: f64 = commands_ms.iter().sum();
    if device_ms.is_finite() {
        LAST_COMMANDS_MS.set(commands_ms);
    }
    let dispatch_ms = events.first().and_then(|first| timer::dispatch_ms(first, wall).ok().flatten());
    Ok(Sample { device_ms: Some(device_ms), dispatch_ms, wall_ms })
}

/// Returns trace events with the name `what` for commands on the device, which have ended. `enqueued` has the times before and
/// after the commands were enqueued.
pub fn device_spans(
    clock: &Clock,
    what: &'static str,
    events: &[Event],
    enqueued: (Instant, Instant),
) -> Vec<log::Event> {
    let mut clock = DeviceClock::new(clock);
    if events.first().is_none_or(|first| clock.adjust(first, enqueued.0, enqueued.1).is_err()) {
        return Vec::new();
    }
    let spans = events.iter().filter_map(|event| clock.span_ns(event, Some(enqueued.0.elapsed())));
    let spans = spans.filter_map(|(from, to)| Some((clock.instant(from)?, clock.instant(to)?)));
    spans.map(|(from, to)| log::Event::span(Track::Device, what, from, to)).collect()
}
