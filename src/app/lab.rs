//! A measurement of a ladder (a set of variants that compute the same result) in the background, for the window's Lab, which
//! shows all ladders, the box filter on the frame on the screen among them; each step needs a permission of the window.
//!
//! A child process runs `clreel bench`: a driver that crashes or stalls affects only that process, which ends with an error if
//! a device does not respond in time.

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::cli::live::Step;
use base::error::{Error, Result};
use base::jobs::{Job, Reporter, Waker};
use ladder::results::Report;
use opencl::drivers;
use opencl::process::lower_priority;
use opencl::sandbox::{Event, Sandbox};

/// Interval in which a measurement checks whether it was cancelled.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Factor by which the drivers' timeout is longer, since the child process has a low priority.
const TIMEOUT_FACTOR: u32 = 6;
/// Number of timed rounds of a measurement.
const ROUNDS: u32 = 9;
/// The first sentence of the error when a ladder cannot be measured.
const MEASUREMENT_FAILED: &str = "The ladder could not be measured.";

/// The parameters of a measurement of a ladder.
pub(crate) struct LabRequest {
    /// The arguments of `clreel bench` that name the ladder and its cases.
    pub case: Vec<OsString>,
    /// The device's index and name.
    pub device: (usize, String),
    /// The timeouts that the user has set for a step of the validation of edited kernels, and for the device.
    pub timeouts: [Option<Duration>; 2],
    /// The path of the watched folder of kernels, if there is one.
    pub kernels: Option<String>,
}

/// The results before a step of the measurement.
pub(crate) struct Progress {
    /// Number of finished steps, and of all steps.
    pub steps: (u64, u64),
    /// The name of the next step; `None` at the end.
    pub next: Option<String>,
    /// The results so far.
    pub report: Report,
}

/// Starts a measurement as a job. Before each step, the job waits for a message from `permits`.
///
/// # Errors
/// If the system cannot start a thread.
pub(crate) fn start(request: LabRequest, permits: Receiver<()>, waker: &Waker) -> Result<Job<(), Progress>> {
    Job::spawn("lab", MEASUREMENT_FAILED, waker, move |reporter| {
        lower_priority();
        measure(&request, &permits, reporter)
    })
}

/// Returns the command line arguments of `clreel bench` for a measurement.
fn arguments(request: &LabRequest) -> Vec<OsString> {
    let LabRequest { case, device: (index, _), timeouts, kernels } = request;
    let (rounds, index) = (ROUNDS.to_string(), index.to_string());
    let mut all = case.clone();
    all.extend(["--live", "--frames", &rounds, "--device", &index].map(OsString::from));
    for (name, timeout) in ["--kernel-timeout", "--device-timeout"].into_iter().zip(timeouts) {
        if let Some(timeout) = timeout {
            all.extend([name.into(), timeout.as_secs_f64().to_string().into()]);
        }
    }
    if let Some(folder) = kernels {
        all.extend(["--kernels".into(), folder.into()]);
    }
    for skipped in drivers::skipped() {
        all.extend(["--skip-platform".into(), skipped.into()]);
    }
    all
}

/// Runs `clreel bench` in a child process, permits its steps, and reports its results.
fn measure(request: &LabRequest, permits: &Receiver<()>, reporter: &Reporter<(), Progress>) -> Result<()> {
    let failed = |why: String| Error::new(MEASUREMENT_FAILED, why, "Try another size or device.");
    let started = drivers::sandboxed("bench").and_then(|(mut command, folder)| {
        // The drivers have answered before: a low priority on a busy machine only takes longer.
        let limit = (TIMEOUT_FACTOR * drivers::test_limit().time()).min(Duration::from_secs(3600));
        command.args(arguments(request)).env("CLREEL_DRIVER_TIMEOUT", limit.as_secs_f64().to_string());
        Sandbox::start(command, folder)
    });
    let mut bench = started.map_err(|e| failed(format!("Its process could not be started: {e}.")))?;
    loop {
        if reporter.is_cancelled() {
            return Ok(());
        }
        match bench.receive::<Step<Report>>(CANCEL_CHECK_INTERVAL) {
            Event::Silence => {}
            Event::End(ending) => {
                let error = ending.error().and_then(|error| error.lines().next());
                return Err(failed(error.map_or_else(|| format!("Its process {ending}."), str::to_owned)));
            }
            Event::Message(step, _) => {
                let progress = progress(step, &request.device.1).map_err(failed)?;
                let is_last = progress.next.is_none();
                reporter.report(progress);
                if is_last {
                    return Ok(());
                }
                loop {
                    match permits.recv_timeout(CANCEL_CHECK_INTERVAL) {
                        Ok(()) => break,
                        Err(RecvTimeoutError::Timeout) if !reporter.is_cancelled() => {}
                        Err(_) => return Ok(()),
                    }
                }
                bench.send(&());
            }
        }
    }
}

/// Converts a step of `bench`; `device` is the device's name.
///
/// # Errors
/// A sentence, if the step has results of another device.
fn progress(step: Step<Report>, device: &str) -> std::result::Result<Progress, String> {
    let Step { done, steps, next, results: report } = step;
    let name = report.devices.first().map_or("", |on| on.text("name"));
    match name == device || name.is_empty() {
        true => Ok(Progress { steps: (done, steps), next, report }),
        false => Err(format!("Another device has answered: '{name}'.")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_of_another_device_are_refused() {
        let text = r#"{"done": 4, "steps": 9, "next": "timing", "results": {"schema": 2, "kind": "bench",
            "program": "", "date": "", "host": {}, "devices": [{"name": "A", "runs": [{"case": {"count": 1}}]}]}}"#;
        let of = |device| super::progress(serde_json::from_str(text).unwrap(), device);
        let progress = of("A").ok().unwrap();
        assert_eq!((progress.steps, progress.next.as_deref()), ((4, 9), Some("timing")));
        assert_eq!(progress.report.devices[0].runs.len(), 1);
        assert!(of("B").err().unwrap().contains("'A'"));
    }
}
