//! A ladder measured in the background, for the window's Lab. In: what to measure, and leave for each step. Out: what is known
//! so far, before each step.
//!
//! `clreel bench` measures, in a process of its own: what a driver crashes or holds up is that process, which ends by itself
//! with a sentence when a device does not answer in time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use base::error::{Error, Result};
use base::jobs::{Job, Said, Teller, Waker};
use base::timing::Series;
use ladders::Listed;
use opencl::drivers;
use opencl::helper::{Heard, Helper, Step};
use opencl::process::lower_priority;
use overlay::LabRow;

/// How long the window waits at its end for the process to be gone.
const PATIENCE: Duration = Duration::from_millis(700);
/// How often it is looked whether it is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Timed rounds.
const ROUNDS: u32 = 9;
/// What has failed.
const FAILED: &str = "The ladder could not be measured.";

/// What to measure.
pub(crate) struct Order {
    /// The ladder.
    pub ladder: Listed,
    /// One of its sizes.
    pub size: &'static str,
    /// The device's index and name.
    pub device: (usize, String),
    /// How long changed kernels, and the device, may take for a step, where the user says.
    pub limits: [Option<Duration>; 2],
    /// The folder of kernels that is watched.
    pub kernels: Option<String>,
}

/// What is known, before a step.
pub(crate) struct Told {
    /// Steps that are done, and all of them.
    pub steps: (u64, u64),
    /// What comes next; `None` where that was all.
    pub next: Option<String>,
    /// The limit.
    pub limit: Option<LabRow>,
    /// The rungs, as far as something is known.
    pub rows: Vec<LabRow>,
    /// What the ladder makes of it, at its end.
    pub remark: Option<String>,
}

/// A ladder that is being measured.
pub(crate) struct Measuring {
    job: Job<(), Told>,
    leave: Sender<()>,
}

impl Measuring {
    /// Begins; each step waits for [leave](Self::let_go_on).
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn begin(order: Order, waker: &Waker) -> Result<Self> {
        let (leave, wanted) = channel();
        let job = Job::spawn("lab", FAILED, waker, move |teller| {
            lower_priority();
            measure(&order, &wanted, teller)
        })?;
        Ok(Self { job, leave })
    }

    /// What it says next, if it has said something.
    pub(crate) fn poll(&self) -> Option<Said<(), Told>> {
        self.job.poll()
    }

    /// Lets the step begin that was told.
    pub(crate) fn let_go_on(&self) {
        // A thread that has ended says why.
        let _ = self.leave.send(());
    }

    /// Ends it, and waits some time for that: its process leaves nothing behind then.
    pub(crate) fn shut_down(&mut self) {
        let _is_over = self.job.end(PATIENCE);
    }
}

fn arguments(order: &Order) -> Vec<String> {
    let Order { ladder, size, device: (index, _), limits, kernels } = order;
    let option = format!("--{}", ladder.option);
    let (rounds, index) = (ROUNDS.to_string(), index.to_string());
    let given = ["--live", "--ladder", ladder.name, &option, size, "--frames", &rounds, "--device", &index];
    let mut all = given.map(str::to_owned).to_vec();
    for (name, limit) in ["--kernel-timeout", "--device-timeout"].into_iter().zip(limits) {
        if let Some(limit) = limit {
            all.extend([name.to_owned(), limit.as_secs_f64().to_string()]);
        }
    }
    if let Some(folder) = kernels {
        all.extend(["--kernels".to_owned(), folder.clone()]);
    }
    for skipped in drivers::skipped() {
        all.extend(["--skip-platform".to_owned(), skipped.clone()]);
    }
    all
}

fn measure(order: &Order, leave: &Receiver<()>, teller: &Teller<(), Told>) -> Result<()> {
    let failed = |why: String| Error::new(FAILED, why, "Try another size or device.");
    let started = Helper::start("bench", &arguments(order));
    let mut helper = started.map_err(|e| failed(format!("Its process could not be started: {e}.")))?;
    loop {
        if teller.is_cancelled() {
            return Ok(());
        }
        match helper.hear::<Report>(LOOK) {
            Heard::Nothing => {}
            Heard::Ended(why) => return Err(failed(why)),
            Heard::Step(step) => {
                let told = told(&step, &order.device.1).map_err(failed)?;
                let is_last = told.next.is_none();
                teller.tell(told);
                if is_last {
                    return Ok(());
                }
                loop {
                    match leave.recv_timeout(LOOK) {
                        Ok(()) => break,
                        Err(RecvTimeoutError::Timeout) if !teller.is_cancelled() => {}
                        Err(_) => return Ok(()),
                    }
                }
                helper.let_go_on();
            }
        }
    }
}

/// What `bench` reports, as far as it is shown.
#[derive(Deserialize)]
struct Report {
    devices: Vec<OnDevice>,
}

#[derive(Deserialize)]
struct OnDevice {
    name: Option<String>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    limit: String,
    limit_ms: Option<Series>,
    limit_noisy: Option<Value>,
    /// Only where that is wrong.
    limit_reason: Option<String>,
    variants: Vec<Variant>,
    remark: Option<String>,
}

#[derive(Deserialize)]
struct Variant {
    id: String,
    outcome: String,
    reason: Option<String>,
    chosen: Option<String>,
    device_ms: Option<Series>,
    wall_ms: Option<Series>,
    gb_s: Option<f64>,
    gflop_s: Option<f64>,
    noisy: Value,
}

/// The sentence on noise, where there is one.
fn noisy(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn row(variant: &Variant) -> LabRow {
    let gflop_s = variant.gflop_s.map(|rate| (rate, "GFLOP/s"));
    let has_time = variant.outcome == "ok";
    let not_timed = variant.reason.as_deref() == Some(ladder::NOT_TIMED);
    LabRow {
        outcome: if not_timed { String::new() } else { variant.outcome.clone() },
        reason: variant.reason.clone(),
        chosen: variant.chosen.clone(),
        time: variant.device_ms.or(variant.wall_ms).filter(|_| has_time),
        by_wall: variant.device_ms.is_none(),
        noisy: noisy(Some(&variant.noisy)),
        rate: gflop_s.or(variant.gb_s.map(|rate| (rate, "GB/s"))),
        ..LabRow::unknown(&variant.id)
    }
}

/// A step as the window is told it.
///
/// # Errors
/// A sentence, where another device has answered.
fn told(step: &Step<Report>, device: &str) -> std::result::Result<Told, String> {
    let on = step.results.devices.first();
    if let Some(other) = on.and_then(|on| on.name.as_deref()).filter(|name| *name != device) {
        return Err(format!("Another device has answered: '{other}'."));
    }
    let run = on.and_then(|on| on.runs.first());
    let limit = run.map(|run| LabRow {
        outcome: run.limit_reason.as_ref().map_or(String::new(), |_| "failed".to_owned()),
        time: run.limit_ms,
        noisy: noisy(run.limit_noisy.as_ref()),
        reason: run.limit_reason.clone(),
        ..LabRow::unknown(&run.limit)
    });
    let rows = run.map_or(Vec::new(), |run| run.variants.iter().map(row).collect());
    let remark = run.and_then(|run| run.remark.clone());
    Ok(Told { steps: (step.done, step.steps), next: step.next.clone(), limit, rows, remark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bench_reports_becomes_rows() {
        let series = r#"{"min": 1, "p50": 2, "p95": 3, "p99": 3, "max": 3, "n": 9}"#;
        let text = format!(
            r#"{{"done": 4, "steps": 9, "next": "timing", "results": {{"devices": [{{"name": "A", "runs": [
                {{"case": 1, "limit": "copy", "limit_ms": {series}, "limit_noisy": false, "variants": [
                {{"id": "a", "outcome": "ok", "device_ms": {series}, "wall_ms": null, "gb_s": 3.0, "gflop_s": null,
                  "noisy": "Only 1 run."}},
                {{"id": "b", "outcome": "skipped", "reason": "It was not timed.", "noisy": false}},
                {{"id": "c", "outcome": "unsupported", "reason": "No room.", "noisy": false}}],
                "remark": "Which: a."}}]}}]}}}}"#
        );
        let step: Step<Report> = serde_json::from_str(&text).unwrap();
        let told = super::told(&step, "A").ok().unwrap();
        assert_eq!((told.steps, told.next.as_deref()), ((4, 9), Some("timing")));
        assert_eq!(told.remark.as_deref(), Some("Which: a."));
        assert_eq!(told.limit.unwrap().time.unwrap().p50, 2.0);
        let [a, b, c] = told.rows.as_slice() else { panic!("three rows") };
        assert_eq!((a.rate, a.noisy.as_deref()), (Some((3.0, "GB/s")), Some("Only 1 run.")));
        assert_eq!((b.outcome.as_str(), b.time), ("", None), "nothing is known of it yet");
        assert_eq!((c.outcome.as_str(), c.reason.as_deref()), ("unsupported", Some("No room.")));
        assert!(super::told(&step, "B").err().unwrap().contains("'A'"));
        let why = r#"null, "limit_reason": "It does not build.\n  Why.""#;
        let step = serde_json::from_str(&text.replacen(series, why, 1)).unwrap();
        let limit = super::told(&step, "A").ok().unwrap().limit.unwrap();
        assert_eq!((limit.outcome.as_str(), limit.time), ("failed", None));
    }
}
