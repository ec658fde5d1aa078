//! The result of `clreel conformance`, as it grows. In: what is known of each case. Out: a matrix or JSON on stdout, the
//! file, the exit code.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets};

use crate::cli::devices::{print_json, print_line};
use crate::cli::{exit, live};
use base::error::Result;
use base::save;
use ladders::type_conversions::Times;
use ladders::type_conversions::run::State;
use ladders::type_conversions::saved::{OfCase, OfDevice, Saved};
use ladders::type_conversions::types::{Case, Type, Widths};
use opencl::cl::Device;

/// How often the file is written meanwhile.
const EVERY: Duration = Duration::from_secs(10);
/// What compiling a case is taken for, in numbers that could be tried meanwhile.
const COMPILING: f64 = 2e6;
/// After so many seconds an estimate is better than none.
const LONG: f64 = 20.0;

/// What is known.
pub(super) struct Report {
    pub saved: Saved,
    file: Option<PathBuf>,
    json: bool,
    /// When it is written next: at once when something is known, then now and then.
    write_at: Instant,
    /// What was done of each device's work before it went on.
    before: Vec<f64>,
}

/// What is done of a device's work, and all of it.
fn work(one: &OfDevice) -> (f64, f64) {
    // What a device does not have takes no time.
    one.cases.iter().filter(|case| case.outcome != "unsupported").fold((0.0, 0.0), |(done, all), case| {
        let of = case.of as f64 + COMPILING;
        (done + if case.is_settled() { of } else { case.values as f64 }, all + of)
    })
}

impl Report {
    pub(super) fn new(saved: Saved, file: Option<PathBuf>, json: bool) -> Self {
        let before = saved.devices.iter().map(|one| work(one).0).collect();
        Self { saved, file, json, write_at: Instant::now(), before }
    }

    /// The cases of a device that are not settled, with what is done of them.
    pub(super) fn left(&self, device: usize) -> Vec<(Case, u64)> {
        let cases = self.saved.devices.get(device).map(|one| one.cases.as_slice()).unwrap_or_default();
        let left = cases.iter().filter(|case| !case.is_settled());
        left.filter_map(|case| Some((Case::named(&case.case)?, case.values))).collect()
    }

    /// Notes what is known of a case; returns whether it is settled.
    pub(super) fn note(&mut self, device: usize, case: Case, state: State, on: &Device) -> bool {
        let (seed, depth, widths) = (self.saved.seed, self.saved.depth.clone(), self.saved.widths());
        let name = case.to_string();
        let cases = self.saved.devices.get_mut(device).map(|one| one.cases.as_mut_slice());
        let Some(known) = cases.and_then(|cases| cases.iter_mut().find(|known| known.case == name)) else {
            return false;
        };
        if matches!(state, State::Wrong(..) | State::Failed(_)) {
            let device = on.info.index;
            let width = if widths == Widths::ALL { String::new() } else { format!(" --width {widths}") };
            let what = format!("--type {name}{width} --{depth} --seed {seed}");
            known.repeat = Some(format!("clreel conformance --device {device} {what}"));
        }
        known.note(state);
        let settled = known.is_settled();
        if Instant::now() >= self.write_at {
            self.write_at = Instant::now() + EVERY;
            if let Err(error) = self.write() {
                eprintln!("clreel: {error}");
                // Once is enough; at the end it is tried again.
                self.write_at += Duration::from_secs(3600);
            }
        }
        settled
    }

    /// How long it will take from now on, in seconds, if that can be said.
    pub(super) fn seconds_left(&self, device: usize, began: Instant) -> Option<f64> {
        let (done, all) = work(self.saved.devices.get(device)?);
        let now = done - self.before.get(device)?;
        let took = began.elapsed().as_secs_f64();
        let enough = now > 0.02 * all || took > LONG && now > 0.0;
        enough.then(|| took * (all - done) / now)
    }

    /// Notes where the time of a device's test went.
    pub(super) fn took(&mut self, device: usize, seconds: Times) {
        if let Some(device) = self.saved.devices.get_mut(device) {
            device.seconds.add(seconds);
        }
    }

    fn write(&self) -> Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        save::atomically(path, |file| {
            serde_json::to_writer_pretty(&mut *file, &self.saved)?;
            file.write_all(b"\n")
        })
    }

    /// 3 where something is wrong, 1 where something could not be tried.
    pub(super) fn code(&self) -> u8 {
        let any = |outcome| self.saved.devices.iter().any(|one| one.count(outcome) > 0);
        match (any("wrong"), any("failed")) {
            (true, _) => exit::MISMATCH,
            (false, true) => exit::FAILED,
            (false, false) => exit::DONE,
        }
    }
}

impl live::Results for Report {
    fn print(&self, _: Option<&str>) -> Result<()> {
        // What goes to stdout is shown where the file cannot be written, and the other way round.
        let written = self.write();
        if self.json {
            print_json(&self.saved)?;
        } else {
            for one in &self.saved.devices {
                print(one, &self.saved)?;
            }
        }
        written
    }

    fn missing(&self) -> String {
        let left: usize =
            self.saved.devices.iter().map(|one| one.count("missing") + one.count("partial")).sum();
        let goes_on = match &self.file {
            Some(file) => format!(" `clreel conformance --resume {}` goes on.", base::text::name(file)),
            None => String::new(),
        };
        format!("The test was interrupted; {left} conversions are missing.{goes_on}")
    }
}

fn print(one: &OfDevice, saved: &Saved) -> Result<()> {
    print_line(format!("{} ({}, driver {})", one.name, one.platform, one.driver))?;
    print_line(matrix(one))?;
    let counts = [("ok", "right"), ("wrong", "wrong"), ("failed", "failed"), ("unsupported", "unsupported")];
    let counts = counts.into_iter().chain([("partial", "begun"), ("missing", "missing")]);
    let counts: Vec<String> = counts
        .filter_map(|(outcome, word)| match one.count(outcome) {
            0 => None,
            count => Some(format!("{count} {word}")),
        })
        .collect();
    print_line(format!("{} conversions: {}; seed {}", one.cases.len(), counts.join(", "), saved.seed))?;
    print_line(tried(one, saved.widths()))?;
    for flushed in &one.conditions.flushes {
        print_line(format!("The device may take subnormal numbers of {flushed} for zeros: both are right."))?;
    }
    for case in &one.cases {
        if let Some(failure) = &case.failure {
            print_line(format!("{}, {failure}", case.case))?;
        } else if let (Some(reason), "failed") = (&case.reason, case.outcome.as_str()) {
            print_line(format!("{}: {reason}", case.case))?;
        }
        if let Some(repeat) = &case.repeat {
            print_line(format!("  {repeat}"))?;
        }
    }
    Ok(())
}

/// How many numbers of each source were tried.
fn tried(one: &OfDevice, widths: Widths) -> String {
    let mut parts = Vec::new();
    for from in Type::ALL {
        let of_source = |case: &&OfCase| Case::named(&case.case).is_some_and(|case| case.from == from);
        let Some(case) = one.cases.iter().find(of_source) else { continue };
        let how = if case.exhaustive { "all" } else { "edges and random ones:" };
        parts.push(format!("{} {how} {}", from.name(), case.of));
    }
    let forms = if widths == Widths::ALL { "in every form".to_owned() } else { format!("of width {widths}") };
    format!("Numbers of each, {forms}: {}", parts.join(", "))
}

/// A row for each source, a column for each destination: how many are right, or what is not.
fn matrix(one: &OfDevice) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    let cases: Vec<(Case, &OfCase)> =
        one.cases.iter().filter_map(|known| Some((Case::named(&known.case)?, known))).collect();
    let used = |pick: fn(&Case) -> Type| {
        let has = move |of: &Type, cases: &[(Case, &OfCase)]| cases.iter().any(|(case, _)| pick(case) == *of);
        Type::ALL.into_iter().filter(|of| has(of, &cases)).collect::<Vec<_>>()
    };
    let (sources, destinations) = (used(|case| case.from), used(|case| case.to));
    let titles = destinations.iter().map(|to| format!("to {}", to.name()));
    table.set_header(std::iter::once("from".to_owned()).chain(titles));
    for from in sources {
        let mut row = vec![from.name().to_owned()];
        for to in &destinations {
            let of_pair = cases.iter().filter(|(case, _)| case.from == from && case.to == *to);
            let count = |word: &str| of_pair.clone().filter(|(_, known)| known.outcome == word).count();
            let words = [("ok", "ok"), ("wrong", "WRONG"), ("failed", "failed"), ("unsupported", "-")];
            let parts = words.iter().filter_map(|(outcome, word)| match count(outcome) {
                0 => None,
                count => Some(format!("{count} {word}")),
            });
            row.push(parts.collect::<Vec<_>>().join(", "));
        }
        table.add_row(row);
    }
    table
}
