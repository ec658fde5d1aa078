//! Detects driver calls that do not return: each thread registers its operations on a device, with a predicted time, and other
//! threads find the operations that take too long.
//!
//! A stalled call cannot be interrupted, so only another thread can report it.

use std::sync::OnceLock;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::crash::PRINT_TIME;
use super::sandbox::{CHECK_INTERVAL, Limit, PREPARATION, TIMES_PREDICTED, skip_stopped_time};
use base::error::Error;
use base::{cleanup, exit};
use parking_lot::Mutex;

/// An operation that a thread waits for, such as a driver call.
#[derive(Debug, Clone)]
struct Work {
    thread: ThreadId,
    /// The device's name; empty if it is not known yet.
    device: String,
    what: &'static str,
    /// The predicted time of the operation; `None` for computation on the host, which has no time limit.
    predicted: Option<Duration>,
    /// True if the sandbox ends the operation after a time limit of its own.
    is_sandboxed: bool,
    since: Instant,
}

/// All running operations, in the order in which they began: the last entry of a thread is its innermost operation.
static RUNNING_WORK: Mutex<Vec<Work>> = Mutex::new(Vec::new());

/// A guard that keeps an operation of the calling thread in the list of running operations until the guard is dropped.
#[derive(Debug)]
pub struct WorkGuard(Option<ThreadId>);

/// Adds an operation of the calling thread to the list. Without `device`, it uses the device of the thread's current operation.
fn begin(
    device: Option<&str>,
    what: &'static str,
    predicted: Option<Duration>,
    is_sandboxed: bool,
) -> WorkGuard {
    let thread = std::thread::current().id();
    let mut all = RUNNING_WORK.lock();
    let outer = || all.iter().rev().find(|work| work.thread == thread).map(|work| work.device.clone());
    let Some(device) = device.map(str::to_owned).or_else(outer) else { return WorkGuard(None) };
    all.push(Work { thread, device, what, predicted, is_sandboxed, since: Instant::now() });
    WorkGuard(Some(thread))
}

/// Registers that this thread begins an operation on a device; `what` describes it, as in "a kernel is timed". An operation
/// within another one replaces the outer one until it ends; then the time of the outer one starts again.
pub fn on_device(device: &str, what: &'static str) -> WorkGuard {
    begin(Some(device), what, Some(Duration::ZERO), false)
}

/// Registers that this thread begins an operation in which the device's driver compiles. It may take longer than other
/// operations.
pub fn on_compiler(device: &str, what: &'static str) -> WorkGuard {
    begin(Some(device), what, Some(PREPARATION), false)
}

/// Registers that this thread begins a part of its current operation, with the same device and with a predicted time in
/// milliseconds. Does nothing if the thread has no current operation.
pub fn step(what: &'static str, predicted_ms: f64) -> WorkGuard {
    begin(None, what, Some(Duration::try_from_secs_f64(predicted_ms / 1e3).unwrap_or_default()), false)
}

/// Registers that this thread waits for a child process. The time limit is left to the sandbox, which ends the child.
pub(crate) fn in_sandbox(what: &'static str) -> WorkGuard {
    begin(None, what, Some(PREPARATION), true)
}

/// Registers that this thread computes on the host within another operation. It then calls no driver, so it has no time limit.
pub fn on_host() -> WorkGuard {
    begin(None, "", None, false)
}

/// Restarts the timeout of this thread's innermost operation. Call it when the driver has returned.
pub fn progress() {
    let thread = std::thread::current().id();
    if let Some(work) = RUNNING_WORK.lock().iter_mut().rev().find(|work| work.thread == thread) {
        work.since = Instant::now();
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        let Some(thread) = self.0 else { return };
        {
            let mut all = RUNNING_WORK.lock();
            if let Some(at) = all.iter().rposition(|work| work.thread == thread) {
                all.remove(at);
            }
        }
        progress();
    }
}

/// Returns the innermost operation of each thread that calls a driver, with its predicted time.
fn device_work(all: &[Work]) -> impl Iterator<Item = (&Work, Duration)> {
    let innermost = |at: usize| all[at + 1..].iter().all(|later| later.thread != all[at].thread);
    all.iter()
        .enumerate()
        .filter(move |(at, _)| innermost(*at))
        .filter_map(|(_, work)| Some((work, work.predicted?)))
}

/// Returns the operation that has exceeded its time limit, and that limit; `None` if there is none. Of several such operations,
/// returns the one that began first.
fn stalled(all: &[Work], now: Instant, timeout: Option<Duration>) -> Option<(&Work, Duration)> {
    let own = device_work(all).filter(|(work, _)| !work.is_sandboxed);
    let over = own.filter_map(|(work, predicted)| {
        Some((work, Limit::new(timeout, predicted).exceeded_by(now.saturating_duration_since(work.since))?))
    });
    over.min_by_key(|(work, _)| work.since)
}

/// Returns the error for an operation whose device does not respond within `limit`.
fn timeout_error(work: &Work, limit: Duration) -> Error {
    let limit = (limit.as_secs_f64() * 10.0).round() / 10.0;
    not_responding_error(
        &work.device,
        format!("A driver call timed out after {limit} s, while {}.", work.what),
        "Choose another device with --device, skip this driver with --skip-platform, or set a longer --device-timeout.",
    )
}

/// Returns the notice about a driver call that takes longer than `after` and may still return; `what` describes the operation.
pub fn not_responding(device: &str, what: &str, after: Duration) -> Error {
    let why = format!("A driver call has taken more than {} s so far, while {what}.", after.as_secs_f64());
    not_responding_error(device, why, "Ctrl+D selects the next device; devices of other drivers still work.")
}

/// Returns the error for a device that clreel stops using because a driver call has taken the time `after`; `what` describes
/// the operation.
pub fn timed_out(device: &str, what: &str, after: Duration) -> Error {
    not_responding_error(
        device,
        format!("A driver call timed out after {} s, while {what}.", after.as_secs()),
        "",
    )
}

/// Returns an error whose first sentence states that this device, or a driver, does not respond.
fn not_responding_error(device: &str, why: String, hint: &str) -> Error {
    let what = match device {
        "" => "An OpenCL driver does not respond.".to_owned(),
        device => format!("The OpenCL device '{device}' does not respond."),
    };
    Error::new(what, why, hint)
}

/// Returns the operation that has been overdue for longest: the name of its device (empty if it is not known yet), its
/// description, and its duration so far; `None` if no operation is overdue. Considers only devices for which `matters` returns
/// true. An operation is overdue after the time `after` or ten times its predicted time, whichever is longer; compilation is
/// overdue after 10 s, or later on a busy machine.
pub fn longest_overdue(
    after: Duration,
    matters: impl Fn(&str) -> bool,
) -> Option<(String, &'static str, Duration)> {
    let (all, now) = (RUNNING_WORK.lock(), Instant::now());
    let is_silent = |predicted: Duration, waited: Duration| match predicted {
        PREPARATION => Limit::new(None, Duration::ZERO).exceeded_by(waited).is_some(),
        _ => waited > after.max(predicted.saturating_mul(TIMES_PREDICTED)),
    };
    let late = device_work(&all).filter(|(work, _)| matters(&work.device));
    let late = late.map(|(work, predicted)| (work, predicted, now.saturating_duration_since(work.since)));
    let late = late.filter(|(_, predicted, waited)| is_silent(*predicted, *waited));
    let longest = late.max_by_key(|(.., waited)| *waited);
    longest.map(|(work, _, waited)| (work.device.clone(), work.what, waited))
}

/// Returns the time at which [`longest_overdue`] should be called next; `None` if no operation is running.
pub fn next_check(after: Duration) -> Option<Instant> {
    let now = Instant::now();
    let due = RUNNING_WORK
        .lock()
        .iter()
        .filter(|work| work.predicted.is_some())
        .map(|work| work.since + after)
        .min();
    due.map(|due| due.max(now + CHECK_INTERVAL))
}

/// Returns true if clreel should stop using a device that has not responded for the time `silent`. `asked` is the limit that
/// the user set; without it the limit is 10 s, or more on a busy machine.
pub fn is_given_up(silent: Duration, asked: Option<Duration>) -> bool {
    Limit::new(asked, Duration::ZERO).exceeded_by(silent).is_some()
}

/// The timeout that the user set, stored when the watchdog starts.
static TIMEOUT: OnceLock<Option<Duration>> = OnceLock::new();

/// Returns the timeout that the user set; `None` if the user set none. If an operation on a device makes no progress for this
/// time, the process is ended.
pub(crate) fn timeout() -> Option<Duration> {
    TIMEOUT.get().copied().flatten()
}

/// Starts a thread that ends the process with an error once work on a device exceeds its [`Limit`]; the results so far are
/// printed. Time in which this process had no CPU core or was stopped, as after Ctrl+Z, does not count.
pub fn end_process_after(timeout: Option<Duration>) {
    let _ = TIMEOUT.set(timeout);
    let watch = move || {
        let mut looked = Instant::now();
        let said = loop {
            std::thread::sleep(CHECK_INTERVAL);
            let mut all = RUNNING_WORK.lock();
            skip_stopped_time(&mut looked, all.iter_mut().map(|work| &mut work.since));
            if let Some((work, limit)) = stalled(&all, Instant::now(), timeout) {
                break timeout_error(work, limit);
            }
        };
        cleanup::run_interrupt_callback(PRINT_TIME);
        crate::process::exit_now(exit::report(Err(said)));
    };
    // Without the thread, the process waits for the driver without a limit.
    let _ = std::thread::Builder::new().name("watch".into()).spawn(watch);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_work_counts_and_the_outer_one_begins_anew() {
        let me = std::thread::current().id();
        let mine = || -> Vec<Work> {
            RUNNING_WORK.lock().iter().filter(|work| work.thread == me).cloned().collect()
        };
        let name = || {
            let now = Instant::now() + Duration::from_secs(5);
            let all = mine();
            stalled(&all, now, Some(Duration::from_secs(4))).map(|(work, _)| (work.device.clone(), work.what))
        };
        let of = |what| Some(("A".to_owned(), what));
        drop(step("nobody's", 0.0));
        assert_eq!(name(), None, "no device is known");
        let outer = on_device("A", "outer");
        let before = mine()[0].since;
        let inner = step("inner", 0.0);
        assert_eq!(name(), of("inner"));
        let host = on_host();
        assert_eq!(name(), None);
        drop((host, inner));
        assert_eq!(name(), of("outer"));
        assert!(mine()[0].since > before, "what came between was progress");
        drop(outer);
        assert!(mine().is_empty());
    }

    #[test]
    fn other_threads_work_is_seen_and_what_is_predicted_has_its_time() {
        let work = |what, predicted| Work {
            thread: std::thread::current().id(),
            device: "A".to_owned(),
            what,
            predicted: Some(Duration::from_secs(predicted)),
            is_sandboxed: false,
            since: Instant::now(),
        };
        let other = std::thread::spawn(|| std::thread::current().id()).join().unwrap();
        let all = [Work { thread: other, ..work("theirs", 20) }, work("outer", 0), work("mine", 0)];
        let at = |seconds, asked: Option<u64>| {
            let now = all[2].since + Duration::from_secs(seconds);
            stalled(&all, now, asked.map(Duration::from_secs))
                .map(|(work, limit)| (work.what, limit.as_secs()))
        };
        assert_eq!(at(9, None), None);
        // On a machine of any load.
        assert_eq!(at(61, None).map(|(what, _)| what), Some("mine"));
        assert_eq!(at(61, Some(60)), Some(("theirs", 60)), "it is the oldest");
        let said = timeout_error(&all[2], Duration::from_secs(10)).to_string();
        assert!(said.contains("'A' does not respond") && said.contains("after 10 s, while mine"), "{said}");
    }

    #[test]
    fn a_compiler_may_be_silent_for_longer() {
        let silent =
            |name: &'static str| longest_overdue(Duration::ZERO, move |device| device == name).is_some();
        let watched = (on_device("watched device", "work"), on_compiler("watched compiler", "work"));
        std::thread::sleep(Duration::from_millis(2));
        assert!(!silent("watched device"), "only the innermost work of a thread counts");
        assert!(!silent("watched compiler"), "not yet");
        drop(watched.1);
        std::thread::sleep(Duration::from_millis(2));
        assert!(silent("watched device"));
    }
}
