//! A measurement of a ladder (a set of variants that compute the same result) in the background, for the window's Lab, which
//! shows all ladders, the box filter on the frame on the screen among them; each step needs a permission of the window.
//!
//! A child process runs `clreel bench`: a driver that crashes or stalls affects only that process, which ends with an error if
//! a device does not respond in time.

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::cli::live::Step;
use base::error::{Error, Result};
use base::jobs::{Job, Reporter, Waker};
use base::timing::Series;
use ladder::saved::KernelFile;
use opencl::drivers;
use opencl::process::lower_priority;
use opencl::sandbox::{Event, Sandbox};
use overlay::{LabKernel, LabRow, LabRun};

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
    /// The results of each case so far.
    pub runs: Vec<LabRun>,
    /// All of these results in the format of `clreel bench --save`.
    pub report: Value,
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
        match bench.receive::<Step<Value>>(CANCEL_CHECK_INTERVAL) {
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

/// The part of the JSON report of `bench` that the Lab shows.
#[derive(Deserialize)]
struct Report {
    devices: Vec<DeviceRuns>,
}

/// The results on one device.
#[derive(Deserialize)]
struct DeviceRuns {
    name: Option<String>,
    runs: Vec<Run>,
}

/// The results of one case: of the kernel that measures the device's limit, and of the variants.
#[derive(Deserialize)]
struct Run {
    /// The radius, if this is a case of the box filter, whose peak kernel is a copy.
    radius: Option<u32>,
    #[serde(default = "copy")]
    limit: String,
    #[serde(alias = "copy_ms")]
    limit_ms: Option<Series>,
    #[serde(alias = "copy_noisy")]
    limit_noisy: Option<Value>,
    /// Why the peak kernel failed or its output is wrong; missing otherwise.
    #[serde(alias = "copy_reason")]
    limit_reason: Option<String>,
    variants: Vec<Variant>,
    remark: Option<String>,
}

/// Returns the name of the box filter's peak kernel.
fn copy() -> String {
    "copy".to_owned()
}

/// The result of one variant.
#[derive(Deserialize)]
struct Variant {
    id: String,
    outcome: String,
    reason: Option<String>,
    chosen: Option<String>,
    kernel: Option<KernelFile>,
    parameters: Option<String>,
    device_ms: Option<Series>,
    wall_ms: Option<Series>,
    gb_s: Option<f64>,
    gflop_s: Option<f64>,
    noisy: Value,
}

/// Returns the sentence in the JSON field `noisy`; `None` if the times are not noisy.
fn noisy(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

/// Converts a variant's result to a row of the Lab's table.
fn row(variant: &Variant) -> LabRow {
    let gflop_s = variant.gflop_s.map(|rate| (rate, "GFLOP/s"));
    let has_time = variant.outcome == "ok";
    let not_timed = variant.reason.as_deref() == Some(ladder::NOT_TIMED);
    LabRow {
        outcome: if not_timed { String::new() } else { variant.outcome.clone() },
        reason: variant.reason.clone(),
        chosen: variant.chosen.clone(),
        kernel: variant.kernel.as_ref().map(|kernel| LabKernel {
            file: kernel.file.clone(),
            parameters: variant.parameters.clone().unwrap_or_default(),
        }),
        time: variant.device_ms.or(variant.wall_ms).filter(|_| has_time),
        by_wall: variant.device_ms.is_none(),
        noisy: noisy(Some(&variant.noisy)),
        rate: gflop_s.or(variant.gb_s.map(|rate| (rate, "GB/s"))),
        ..LabRow::unknown(&variant.id)
    }
}

/// Converts the results of a case.
fn lab_run(run: &Run) -> LabRun {
    let peak = LabRow {
        outcome: run.limit_reason.as_ref().map_or(String::new(), |_| "failed".to_owned()),
        time: run.limit_ms,
        noisy: noisy(run.limit_noisy.as_ref()),
        reason: run.limit_reason.clone(),
        ..LabRow::unknown(&run.limit)
    };
    let rows = run.variants.iter().map(row).collect();
    LabRun { radius: run.radius, peak: Some(peak), rows, remark: run.remark.clone() }
}

/// Converts the results before a step of `bench` to the Lab's results; `device` is the device's name.
///
/// # Errors
/// A sentence, if the step has results of another device, or no results.
fn progress(step: Step<Value>, device: &str) -> std::result::Result<Progress, String> {
    let report =
        Report::deserialize(&step.results).map_err(|e| format!("Its results cannot be read: {e}."))?;
    let on = report.devices.first();
    if let Some(other) = on.and_then(|on| on.name.as_deref()).filter(|name| *name != device) {
        return Err(format!("Another device has answered: '{other}'."));
    }
    let runs = on.map_or(Vec::new(), |on| on.runs.iter().map(lab_run).collect());
    Ok(Progress { steps: (step.done, step.steps), next: step.next, runs, report: step.results })
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_bench_reports_becomes_rows() {
        let series =
            r#"{"min": 1, "p50": 2, "p50_low": 1, "p50_high": 3, "p95": 3, "p99": 3, "max": 3, "n": 9}"#;
        let text = format!(
            r#"{{"done": 4, "steps": 9, "next": "timing", "results": {{"devices": [{{"name": "A", "runs": [
                {{"case": 1, "limit": "copy", "limit_ms": {series}, "limit_noisy": false, "variants": [
                {{"id": "a", "outcome": "ok", "kernel": {{"file": "x.cl", "hash": "1"}}, "parameters": "N=4", "device_ms": {series}, "wall_ms": null, "gb_s": 3.0, "gflop_s": null,
                  "noisy": "Only 1 run."}},
                {{"id": "b", "outcome": "skipped", "reason": "It was not timed.", "noisy": false}},
                {{"id": "c", "outcome": "unsupported", "reason": "No room.", "noisy": false}}],
                "remark": "Which: a."}}]}}]}}}}"#
        );
        let of = |text: &str, device| super::progress(serde_json::from_str(text).unwrap(), device);
        let progress = of(&text, "A").ok().unwrap();
        assert_eq!((progress.steps, progress.next.as_deref()), ((4, 9), Some("timing")));
        let [run] = progress.runs.as_slice() else { panic!("one case") };
        assert_eq!((run.radius, run.remark.as_deref()), (None, Some("Which: a.")));
        assert_eq!(run.peak.as_ref().unwrap().time.unwrap().p50, 2.0);
        let [a, b, c] = run.rows.as_slice() else { panic!("three rows") };
        assert_eq!((a.rate, a.noisy.as_deref()), (Some((3.0, "GB/s")), Some("Only 1 run.")));
        let kernel = a.kernel.as_ref().map(|kernel| (kernel.file.as_str(), kernel.parameters.as_str()));
        assert_eq!((kernel, &b.kernel), (Some(("x.cl", "N=4")), &None));
        assert_eq!((b.outcome.as_str(), b.time), ("", None), "nothing is known of it yet");
        assert_eq!((c.outcome.as_str(), c.reason.as_deref()), ("unsupported", Some("No room.")));
        assert!(of(&text, "B").err().unwrap().contains("'A'"));
        let why = r#"null, "limit_reason": "It does not build.\n  Why.""#;
        let failed = of(&text.replacen(series, why, 1), "A").ok().unwrap();
        let peak = failed.runs[0].peak.as_ref().unwrap();
        assert_eq!((peak.outcome.as_str(), peak.time), ("failed", None));
        // The box filter has a radius, and its peak kernel is a copy.
        let filter = text.replace(r#""case": 1, "limit": "copy", "limit_ms""#, r#""radius": 7, "copy_ms""#);
        let run = of(&filter, "A").ok().unwrap().runs.remove(0);
        let peak = run.peak.unwrap();
        assert_eq!((run.radius, peak.name.as_str(), peak.time.unwrap().p50), (Some(7), "copy", 2.0));
    }
}
