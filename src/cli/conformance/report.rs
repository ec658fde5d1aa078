//! The result of `clreel conformance`, which is saved to a file during the test, and printed as a matrix or JSON at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use comfy_table::Table;

use crate::cli::exit;
use crate::cli::live::LiveResults;
use crate::cli::output::{join_counts, print_json, print_line, table};
use base::error::Result;
use base::save;
use base::stderr::print_message;
use ladders::type_conversions::saved::{CaseResult, DeviceResult, MISSING_IN_DRIVER, Saved};
use ladders::type_conversions::state::State;
use ladders::type_conversions::types::{Case, Type, Widths};
use opencl::cl::Device;

/// The interval at which the result is saved to its file during the test.
const SAVE_INTERVAL: Duration = Duration::from_secs(10);
/// The estimated cost of compiling a case, as the number of values that can be tested in the same time.
const COMPILE_COST: f64 = 2e6;
/// The rule for converting NaN, quoted from the specification of OpenCL C.
const NAN_RULE: &str = "OpenCL C: \"When in saturated mode, […] NaN is converted to zero\" (Out-of-Range Behavior and Saturated \
                        Conversions; \"should be\" before 2026).";
/// The number of seconds after which the remaining time is estimated even if only a small part of the test is done.
const ESTIMATE_AFTER: f64 = 20.0;

/// The result of the test so far, and the file to which it is saved.
pub(super) struct Report {
    pub saved: Saved,
    pub file: Option<PathBuf>,
    pub json: bool,
    /// The time when the file is written next: at the first result, then every [`SAVE_INTERVAL`].
    pub write_at: Instant,
}

/// Returns the finished work and the total work of a device's test, both as numbers of tested values. Compiling a case counts
/// as [`COMPILE_COST`] values.
pub(super) fn work(device: &DeviceResult) -> (f64, f64) {
    // Unsupported cases take no time.
    device.cases.iter().filter(|case| case.outcome != "unsupported").fold((0.0, 0.0), |(done, all), case| {
        let of = case.total as f64 + COMPILE_COST;
        (done + if case.is_settled() { of } else { case.values as f64 }, all + of)
    })
}

impl Report {
    /// Records the state of a case, and saves the result if [`SAVE_INTERVAL`] has passed. Returns true if the state is final.
    pub(super) fn record(&mut self, device: usize, case: Case, state: State, on: &Device) -> bool {
        let widths = self.saved.widths();
        let is_fault = matches!(state, State::Wrong(..) | State::Failed(_));
        let Saved { seed, depth, devices, .. } = &mut self.saved;
        let Some(known) = devices[device].note(case, state) else { return false };
        if is_fault {
            let device = on.info.index;
            let width = if widths == Widths::ALL { String::new() } else { format!(" --width {widths}") };
            let what = format!("--type {case}{width} --{depth} --seed {seed}");
            known.repeat = Some(format!("clreel conformance --device {device} {what}"));
        }
        let settled = known.is_settled();
        if Instant::now() >= self.write_at {
            self.write_at = Instant::now() + SAVE_INTERVAL;
            if let Err(error) = self.write() {
                print_message(&error);
                // Reported once; the end of the test retries.
                self.write_at += Duration::from_secs(3600);
            }
        }
        settled
    }

    /// Estimates the remaining time of a device's test in seconds; `None` while too small a part of the test is done. `began`
    /// is the time when the device's test was started or resumed, and `resumed_work` the [`work`] that had been done then.
    pub(super) fn seconds_left(&self, device: usize, began: Instant, resumed_work: f64) -> Option<f64> {
        let (done, all) = work(&self.saved.devices[device]);
        let recent = done - resumed_work;
        let elapsed = began.elapsed().as_secs_f64();
        let enough = recent > 0.02 * all || elapsed > ESTIMATE_AFTER && recent > 0.0;
        enough.then(|| elapsed * (all - done) / recent)
    }

    /// Saves the result to its file; does nothing if there is none.
    fn write(&self) -> Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        save::atomically(path, |file| {
            serde_json::to_writer_pretty(&mut *file, &self.saved)?;
            file.write_all(b"\n")
        })
    }

    /// Returns the exit code: 3 if a conversion is wrong, else 1 if a conversion could not be tested, else 0.
    pub(super) fn exit_code(&self) -> u8 {
        let any = |outcome| self.saved.devices.iter().any(|device| device.count(outcome) > 0);
        exit::check_code(any("wrong"), any("failed") || any(MISSING_IN_DRIVER))
    }
}

impl LiveResults for Report {
    /// Saves the result to its file and prints it, as JSON or as tables.
    fn print(&self, _: Option<&str>) -> Result<()> {
        // The result is printed even if the file cannot be written, and vice versa.
        let written = self.write();
        if self.json {
            print_json(&self.saved)?;
        } else {
            for device in &self.saved.devices {
                print(device, &self.saved)?;
            }
        }
        written
    }

    /// Returns a sentence about the conversions that an interrupted test has not tested.
    fn describe_missing(&self) -> String {
        let left: usize =
            self.saved.devices.iter().map(|device| device.count("missing") + device.count("partial")).sum();
        let hint = self.file.as_ref().map_or_else(String::new, |file| {
            format!(" Resume with `clreel conformance --resume {}`.", base::text::name(file))
        });
        format!("The test was interrupted; {left} conversions are missing.{hint}")
    }
}

/// Prints the table of a device's results and the counts of outcomes.
fn print(device: &DeviceResult, saved: &Saved) -> Result<()> {
    print_line(format!("{} ({}, driver {})", device.name, device.platform, device.driver))?;
    print_line(matrix(device))?;
    let counts = [("ok", "right"), ("wrong", "wrong"), ("failed", "failed"), ("unsupported", "unsupported")];
    let unfinished = [("partial", "incomplete"), ("missing", "missing")];
    let counts = counts.into_iter().chain([(MISSING_IN_DRIVER, "missing in the driver")]).chain(unfinished);
    let counts = join_counts(counts.map(|(outcome, word)| (device.count(outcome), word)));
    print_line(format!("{} conversions: {counts}; seed {}", device.cases.len(), saved.seed))?;
    print_line(test_size(device, saved.widths()))?;
    for flushed in &device.conditions.flushes {
        print_line(format!(
            "The device may flush subnormal {flushed} numbers to zero: both results are accepted."
        ))?;
    }
    if !device.missing_in_driver.is_empty() {
        print_line(format!("Missing in the driver: {}", missing_by_mode(device)))?;
    }
    let of_nan = |case: &&CaseResult| {
        let is_nan = case.failure.as_ref().is_some_and(|failure| failure.input == "NaN");
        is_nan && Case::named(&case.case).is_some_and(|case| case.saturates)
    };
    match device.cases.iter().filter(of_nan).count() {
        0 => {}
        count => print_line(format!("{count} wrong with NaN. {NAN_RULE}"))?,
    }
    let mut printed = Vec::new();
    for case in &device.cases {
        if let Some(failure) = &case.failure {
            print_line(format!("{}, {failure}", case.case))?;
        } else if let (Some(reason), "failed") = (&case.reason, case.outcome.as_str()) {
            // A reason that several conversions share is printed once.
            let key = reason.replace(&case.case, "");
            let is_known = printed.contains(&key);
            print_line(format!("{}: {}", case.case, if is_known { "as above" } else { reason.as_str() }))?;
            printed.push(key);
        }
        if let Some(repeat) = &case.repeat {
            print_line(format!("  {repeat}"))?;
        }
    }
    Ok(())
}

/// Returns a text that says how many conversions the driver lacks, for each combination of saturation and rounding mode, such
/// as "90 of 90 with _rte".
fn missing_by_mode(device: &DeviceResult) -> String {
    let mut by_mode: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for known in &device.cases {
        let Some(case) = Case::named(&known.case) else { continue };
        let (missing, all) = by_mode.entry(case.mode()).or_default();
        *missing += usize::from(known.outcome == MISSING_IN_DRIVER);
        *all += 1;
    }
    let parts = by_mode.iter().filter(|(_, (missing, _))| *missing > 0).map(|(mode, (missing, all))| {
        let with = if mode.is_empty() { "without a suffix".to_owned() } else { format!("with {mode}") };
        format!("{missing} of {all} {with}")
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns a sentence that says how many numbers of each source type were tested.
fn test_size(device: &DeviceResult, widths: Widths) -> String {
    let mut parts = Vec::new();
    for from in Type::ALL {
        let of_source = |case: &&CaseResult| Case::named(&case.case).is_some_and(|case| case.from == from);
        let Some(case) = device.cases.iter().find(of_source) else { continue };
        let how = if case.exhaustive { "all" } else { "edge cases and random:" };
        parts.push(format!("{} {how} {}", from.name(), case.total));
    }
    let forms = if widths == Widths::ALL { "in every form".to_owned() } else { format!("of width {widths}") };
    format!("Numbers tested per source type, {forms}: {}", parts.join(", "))
}

/// Creates a table with a row for each source type and a column for each destination type. Its cells contain the number of
/// conversions with each outcome.
fn matrix(device: &DeviceResult) -> Table {
    let cases: Vec<(Case, &CaseResult)> =
        device.cases.iter().filter_map(|known| Some((Case::named(&known.case)?, known))).collect();
    let sources: BTreeSet<Type> = cases.iter().map(|(case, _)| case.from).collect();
    let destinations: BTreeSet<Type> = cases.iter().map(|(case, _)| case.to).collect();
    let titles = destinations.iter().map(|to| format!("to {}", to.name()));
    let mut table = table(std::iter::once("from".to_owned()).chain(titles), 0..0);
    for from in sources {
        let mut row = vec![from.name().to_owned()];
        for to in &destinations {
            let of_pair = cases.iter().filter(|(case, _)| case.from == from && case.to == *to);
            let count = |word: &str| of_pair.clone().filter(|(_, known)| known.outcome == word).count();
            let words = [
                ("ok", "ok"),
                ("wrong", "WRONG"),
                ("failed", "failed"),
                ("unsupported", "-"),
                (MISSING_IN_DRIVER, "missing"),
            ];
            row.push(join_counts(words.map(|(outcome, word)| (count(outcome), word))));
        }
        table.add_row(row);
    }
    table
}
