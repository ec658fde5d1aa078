//! `clreel bench --ladder NAME`: a ladder that filters no pictures. Out: a table or JSON on stdout, progress on stderr, there
//! too one sentence where the times are noisy. A signal in the middle of it shows what has been measured.

use std::sync::{Arc, Mutex, PoisonError};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use super::table::{believed, noisy_lines};
use super::{reason, worst};
use crate::cli::devices::{DeviceEntry, print_json, print_line};
use crate::cli::{BenchArgs, usage, working_devices};
use crate::error::Result;
use crate::gpu::cl::{Device, DeviceInfo, DeviceKind, no_device, select_device};
use crate::gpu::sharing::Sharing;
use crate::ladder::contest::{self, CaseRun, Ladder, Row};
use crate::ladder::measure::Measurement;
use crate::ladder::rung::Rung;
use crate::ladder::trial::Child;
use crate::ladder::{BackEnd, NOT_TIMED, Outcome};
use crate::leftovers;
use crate::timing::noise::Noisy;
use crate::timing::{Series, noise};
use crate::verify::Checked;

#[derive(Serialize)]
struct Report {
    schema: u32,
    ladder: &'static str,
    /// What is missing, where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<String>,
    devices: Vec<DeviceReport>,
}

#[derive(Serialize)]
struct DeviceReport {
    #[serde(flatten)]
    device: Option<DeviceEntry>,
    runs: Vec<RunEntry>,
}

#[derive(Serialize)]
struct RunEntry {
    case: Value,
    limit: &'static str,
    limit_ms: Option<Series>,
    limit_noisy: Noisy,
    variants: Vec<VariantEntry>,
}

#[derive(Serialize)]
struct VariantEntry {
    id: &'static str,
    kind: &'static str,
    outcome: &'static str,
    reason: Option<String>,
    /// What was chosen, where there was a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    /// Whether `clreel tune` had found it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuned: Option<bool>,
    /// 0 where all bytes are right.
    max_error: Option<f64>,
    /// The largest error that is right; `null` where results are compared by bytes.
    bound: Option<f64>,
    device_ms: Option<Series>,
    dispatch_ms: Option<Series>,
    wall_ms: Option<Series>,
    gb_s: Option<f64>,
    gflop_s: Option<f64>,
    noisy: Noisy,
    checked: Vec<Checked>,
}

/// What has been measured so far, and all that is needed to show it.
struct Results<L: Ladder> {
    ladder: L,
    json: bool,
    rounds: u32,
    cases: Vec<L::Case>,
    devices: Vec<(Option<DeviceInfo>, Vec<CaseRun<L>>)>,
}

/// Keeps what has been measured, and moves the bar on.
struct Progress<'a, L: Ladder> {
    bar: &'a ProgressBar,
    results: &'a Mutex<Results<L>>,
    /// The index of the device.
    index: usize,
}

impl<L: Ladder> contest::Watch<L> for Progress<'_, L> {
    fn next(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
    }

    fn so_far(&mut self, run: CaseRun<L>) {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, runs)) = results.devices.get_mut(self.index) else { return };
        match runs.iter_mut().find(|known| known.case == run.case) {
            Some(known) => *known = run,
            None => runs.push(run),
        }
    }
}

/// Runs the benchmark; returns the exit code: 3 when a rung differs from the reference, 1 when one failed.
///
/// # Errors
/// When there is no device and a rung needs one.
pub(super) fn run<L>(ladder: L, cases: Vec<L::Case>, args: &BenchArgs) -> Result<u8>
where
    L: Ladder + Copy + Send + 'static,
    L::Case: Send,
    L::Code: Sync,
{
    let rungs = match args.variant.among(ladder.rungs().iter().map(|rung| (rung.id, rung))) {
        Ok(rungs) => rungs,
        Err(why) => return Ok(usage("bench", &why)),
    };
    let devices = chosen_devices(args, &rungs)?;
    // Drawn on stderr, and only where that is a terminal.
    let bar = ProgressBar::new((devices.len() * cases.len() * (rungs.len() + args.frames as usize)) as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let of_device = |device: &Option<Device>| (device.as_ref().map(|d| d.info.clone()), Vec::new());
    let results = Arc::new(Mutex::new(Results {
        ladder,
        json: args.json,
        rounds: args.frames,
        cases: cases.clone(),
        devices: devices.iter().map(of_device).collect(),
    }));
    let (interrupted, shown) = (results.clone(), bar.clone());
    leftovers::say_before_the_end(move || {
        shown.finish_and_clear();
        let results = interrupted.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = results.missing();
        // There is nobody to tell that it could not be told.
        let _ = results.print(Some(&missing));
        eprintln!("clreel: {missing}");
    });
    let mut child = Child::new(L::NAME, args.trial.limit());
    for (index, device) in devices.iter().enumerate() {
        let mut watch = Progress { bar: &bar, results: &results, index };
        let mut run = |case: &L::Case, watch: &mut Progress<L>| {
            let case = std::slice::from_ref(case);
            contest::run(&ladder, device.as_ref(), &rungs, case, args.frames, &mut child, watch)
        };
        for case in &cases {
            if let Err(error) = run(case, &mut watch) {
                let row = |rung: &&'static Rung<L::Code>| Row {
                    rung,
                    outcome: Outcome::Failed(error.clone()),
                    chosen: None,
                    checked: Vec::new(),
                };
                let rows = rungs.iter().map(row).collect();
                contest::Watch::so_far(&mut watch, CaseRun { case: case.clone(), limit: None, rows });
            }
        }
    }
    leftovers::say_no_more();
    bar.finish_and_clear();
    let results = results.lock().unwrap_or_else(PoisonError::into_inner);
    results.print(None)?;
    let runs = results.devices.iter().flat_map(|(_, runs)| runs);
    Ok(worst(runs.flat_map(|run| &run.rows).map(|row| &row.outcome)))
}

/// The devices to run on; one `None` where there is none and nothing that was asked for needs one.
fn chosen_devices<C>(args: &BenchArgs, rungs: &[&Rung<C>]) -> Result<Vec<Option<Device>>> {
    let devices = working_devices();
    match args.device.as_deref() {
        None if devices.is_empty() && rungs.iter().all(|rung| rung.back_end() == BackEnd::Native) => {
            Ok(vec![None])
        }
        Some("all") if devices.is_empty() => Err(no_device()),
        Some("all") => Ok(devices.into_iter().map(Some).collect()),
        sel => Ok(vec![Some(select_device(&devices, sel)?)]),
    }
}

impl<L: Ladder> Results<L> {
    /// Prints all that is there; `interrupted` says what is not.
    fn print(&self, interrupted: Option<&str>) -> Result<()> {
        if self.json {
            print_json(&self.report(interrupted))?;
        } else {
            for (device, runs) in &self.devices {
                runs.iter().try_for_each(|run| self.print_table(device.as_ref(), run))?;
            }
        }
        let rows = self.devices.iter().flat_map(|(_, runs)| runs).flat_map(|run| {
            let title = self.ladder.title(&run.case);
            named(run).map(move |(name, measured)| (format!("{name}, {title}"), measured.noise()))
        });
        if let Some(noisy) = noise::summary(&rows.collect::<Vec<_>>()) {
            eprintln!("clreel: {noisy}");
        }
        Ok(())
    }

    /// What is missing when it is interrupted, in a sentence or more.
    fn missing(&self) -> String {
        let mut missing = Vec::new();
        for (device, runs) in &self.devices {
            let on = match (device, self.devices.len()) {
                (Some(device), 2..) => format!(" on {}", device.name),
                _ => String::new(),
            };
            for case in &self.cases {
                let title = self.ladder.title(case);
                let Some(run) = runs.iter().find(|run| run.case == *case) else {
                    missing.push(format!("all of {title}{on}"));
                    continue;
                };
                for row in &run.rows {
                    match &row.outcome {
                        Outcome::Skipped(why) if why == NOT_TIMED => {
                            missing.push(format!("{} of {title}{on}", row.rung.id));
                        }
                        Outcome::Ok(m) if m.time.n < self.rounds as usize => {
                            let (id, n) = (row.rung.id, m.time.n);
                            missing.push(format!("{} rounds of {id}, {title}{on}", self.rounds as usize - n));
                        }
                        _ => {}
                    }
                }
            }
        }
        match missing.is_empty() {
            true => "The benchmark was interrupted.".to_owned(),
            false => format!("The benchmark was interrupted. Missing: {}.", missing.join(", ")),
        }
    }

    fn report(&self, interrupted: Option<&str>) -> Report {
        let sharing = Sharing::copy("bench opens no window; `clreel devices` tests sharing");
        let device = |(device, runs): &(Option<DeviceInfo>, Vec<CaseRun<L>>)| DeviceReport {
            device: device.as_ref().map(|info| DeviceEntry::new(info, &sharing)),
            runs: runs.iter().map(|run| self.entry(run)).collect(),
        };
        Report {
            schema: 1,
            ladder: L::NAME,
            interrupted: interrupted.map(str::to_owned),
            devices: self.devices.iter().map(device).collect(),
        }
    }

    fn entry(&self, run: &CaseRun<L>) -> RunEntry {
        RunEntry {
            case: self.ladder.json(&run.case),
            limit: L::LIMIT,
            limit_ms: run.limit.map(|m| m.time),
            limit_noisy: Noisy(run.limit.and_then(|m| m.noise())),
            variants: run.rows.iter().map(|row| self.variant(run, row)).collect(),
        }
    }

    fn variant(&self, run: &CaseRun<L>, row: &Row<L::Code>) -> VariantEntry {
        let times = row.outcome.measured();
        let back_end = row.rung.back_end();
        let a_second =
            |amount: f64| times.map(|m| amount / (m.time.p50 * 1e6)).filter(|rate| rate.is_finite());
        VariantEntry {
            id: row.rung.id,
            kind: back_end.as_str(),
            outcome: row.outcome.word(),
            reason: reason(&row.outcome),
            chosen: row.chosen.as_ref().map(|chosen| chosen.what.clone()),
            tuned: row.chosen.as_ref().map(|chosen| chosen.tuned),
            max_error: match &row.outcome {
                Outcome::Ok(_) => Some(0.0),
                Outcome::Mismatch(report) => Some(report.max_abs_diff),
                _ => None,
            },
            bound: None,
            device_ms: times.and_then(|m| m.device),
            dispatch_ms: times.and_then(|m| m.dispatch),
            wall_ms: times.and_then(|m| m.wall),
            gb_s: a_second(self.ladder.bytes(&run.case)),
            gflop_s: a_second(self.ladder.operations(&run.case)),
            noisy: Noisy(times.and_then(Measurement::noise)),
            checked: times.map(|_| row.checked.clone()).unwrap_or_default(),
        }
    }

    fn print_table(&self, device: Option<&DeviceInfo>, run: &CaseRun<L>) -> Result<()> {
        let name = device.map_or("without OpenCL", |device| &device.name);
        let title = self.ladder.title(&run.case);
        print_line(format!("{name} · {title} · device time in ms (without OpenCL: wall time)"))?;
        print_line(self.table(device, run))?;
        for row in &run.rows {
            if let Some(reason) = reason(&row.outcome) {
                print_line(format!("{}: {}. {reason}", row.rung.id, row.outcome.word()))?;
            }
        }
        for row in run.rows.iter().filter(|row| row.chosen.as_ref().is_some_and(|chosen| chosen.tuned)) {
            let class = self.ladder.class(&run.case);
            print_line(format!("{}: as `clreel tune` found it for {class} cases", row.rung.id))?;
        }
        let limit = L::LIMIT;
        let limit = run.limit.as_ref().map(|m| (limit, m));
        let rows = run.rows.iter().filter_map(|row| Some((row.rung.id, row.outcome.measured()?)));
        for line in noisy_lines(limit.into_iter().chain(rows)) {
            print_line(line)?;
        }
        for line in checked(&run.rows) {
            print_line(line)?;
        }
        print_line("")
    }

    fn table(&self, device: Option<&DeviceInfo>, run: &CaseRun<L>) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_BORDERS_ONLY);
        let of_limit = format!("× {}", L::LIMIT);
        table.set_header(["variant", "min", "p50", "p95", "n", "GB/s", "GFLOP/s", &of_limit, "speed-up"]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let slowest = run.rows.iter().filter_map(|row| row.outcome.measured());
        let slowest = slowest.max_by(|a, b| f64::total_cmp(&a.time.p50, &b.time.p50));
        // A device with memory of its own says nothing of the processor's.
        let shared = device.is_some_and(|device| device.kind == DeviceKind::Cpu);
        let ratio = |a: Option<&Measurement>, b: Option<&Measurement>| match (a, b) {
            (Some(a), Some(b)) if b.time.p50 > 0.0 => {
                format!("{}×", believed(a.time.p50 / b.time.p50, &[a.noise(), b.noise()]))
            }
            _ => String::new(),
        };
        let (bytes, operations) = (self.ladder.bytes(&run.case), self.ladder.operations(&run.case));
        let row = |name: &str, m: &Measurement, operations: f64, of_limit: String, speed_up: String| {
            let (s, noise) = (&m.time, [m.noise()]);
            let a_second = |amount: f64| match amount {
                0.0 => String::new(),
                _ => believed(amount / (s.p50.max(1e-6) * 1e6), &noise),
            };
            [
                name.to_owned(),
                believed(s.min, &noise),
                believed(s.p50, &noise),
                believed(s.p95, &noise),
                s.n.to_string(),
                a_second(bytes),
                a_second(operations),
                of_limit,
                speed_up,
            ]
        };
        let limit = run.limit.as_ref();
        if let Some(limit) = limit {
            table.add_row(row(&format!("({})", L::LIMIT), limit, 0.0, String::new(), String::new()));
        }
        for one in &run.rows {
            let Some(measured) = one.outcome.measured() else {
                table.add_row([one.rung.id, one.outcome.word()]);
                continue;
            };
            let name = match &one.chosen {
                Some(chosen) => &format!("{}: {}", one.rung.id, chosen.what),
                None => one.rung.id,
            };
            let comparable = shared || one.rung.back_end() == BackEnd::OpenCl;
            let of_limit = ratio(Some(measured), limit.filter(|_| comparable));
            table.add_row(row(name, measured, operations, of_limit, ratio(slowest, Some(measured))));
        }
        table
    }
}

/// The limit and the rows that have times, by their names.
fn named<L: Ladder>(run: &CaseRun<L>) -> impl Iterator<Item = (&'static str, Measurement)> + '_ {
    let limit = run.limit.map(|measured| (L::LIMIT, measured));
    let rows = run.rows.iter().filter_map(|row| Some((row.rung.id, *row.outcome.measured()?)));
    limit.into_iter().chain(rows)
}

/// What was compared, for all rungs of which it is the same.
fn checked<C>(rows: &[Row<C>]) -> Vec<String> {
    let timed = rows.iter().filter(|row| row.outcome.measured().is_some());
    super::table::checked_lines(timed.map(|row| (row.rung.id, row.checked.as_slice())))
}
