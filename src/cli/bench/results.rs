//! What a benchmark has measured so far, whatever the ladder. In: runs of its cases, as they grow. Out: a table or JSON, the
//! exit code, and what is missing where a signal ends it.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::{conversions, report, table, whole};
use crate::cli::exit;
use crate::cli::live::{self, Live};
use base::error::{Error, Result};
use base::save;
use base::timing::{Noise, noise};
use box_filter::yuv_to_rgba as converted;
use ladder::bench::Bench;
use ladder::chart;
use ladder::measure::Measurement;
use ladder::rounds::{Ask, Watch, failed, run};
use ladder::rows::{Case, CaseRun, Entry};
use ladder::{NOT_TIMED, Outcome};
use opencl::cl::{Device, DeviceInfo};

/// What is computed with.
pub(super) enum Subject {
    /// Frames of a movie, scaled to a size, so many of them.
    Movie { file: String, size: (u32, u32), frames: usize },
    /// Numbers that the ladder of this name makes up.
    Numbers(&'static str),
}

/// What a benchmark has measured so far, and all that is needed to show it.
pub(super) struct Results {
    pub json: bool,
    /// Whether the window has started it.
    pub live: bool,
    /// The SVG to write as well.
    pub chart: Option<PathBuf>,
    pub subject: Subject,
    pub rounds: u32,
    pub cases: Vec<Case>,
    pub devices: Vec<DeviceRuns>,
}

/// What has been measured on one device.
pub(super) struct DeviceRuns {
    /// None where there is no OpenCL device, and only what does without was asked for.
    pub device: Option<DeviceInfo>,
    /// Each with its case's index.
    pub runs: Vec<(usize, CaseRun)>,
    /// Empty where they were left out.
    pub conversions: Vec<converted::Row>,
    /// Only where they were asked for.
    pub whole_frames: Option<Vec<whole::Row>>,
}

impl DeviceRuns {
    pub(crate) fn new(device: Option<&Device>) -> Self {
        let device = device.map(|device| device.info.clone());
        Self { device, runs: Vec::new(), conversions: Vec::new(), whole_frames: None }
    }

    /// Returns true if something failed on it for this reason.
    pub(crate) fn tells(&self, reason: &Error) -> bool {
        let mut outcomes = self.runs.iter().flat_map(|(_, run)| run.outcomes());
        outcomes.any(|outcome| matches!(outcome, Outcome::Failed(error) if error == reason))
    }

    /// Its name for people.
    pub(crate) fn name(&self) -> &str {
        self.device.as_ref().map_or("without OpenCL", |device| &device.name)
    }
}

/// Keeps what has been measured on the device with this index, and moves the bar on.
pub(super) struct Progress<'a> {
    pub live: &'a Live<Results>,
    pub device: usize,
}

impl Watch for Progress<'_> {
    fn next(&mut self, what: &str) {
        self.live.step(what);
    }

    fn so_far(&mut self, case: usize, run: CaseRun) {
        let mut results = self.live.results();
        let Some(device) = results.devices.get_mut(self.device) else { return };
        match device.runs.iter_mut().find(|(known, _)| *known == case) {
            Some((_, known)) => *known = run,
            None => device.runs.push((case, run)),
        }
    }
}

impl Progress<'_> {
    /// Runs what was made for the device; where nothing could be made, each of `entries` has failed for that reason.
    pub(crate) fn run<B: Bench>(
        &mut self,
        made: Result<B>,
        entrants: &[B::Entrant],
        entry: impl Fn(B::Entrant) -> Entry,
        cases: &[B::Case],
        ask: Ask,
    ) {
        let error = match made {
            Ok(mut bench) => return run(&mut bench, entrants, cases, ask, self),
            Err(error) => error,
        };
        let named = self.live.results().cases.clone();
        for (index, case) in named.into_iter().enumerate() {
            self.so_far(index, failed(case, entrants.iter().map(|&one| entry(one)), &error));
        }
    }
}

impl live::Results for Results {
    fn print(&self, interrupted: Option<&str>) -> Result<()> {
        // What goes to stdout is shown where the chart cannot be written, and the other way round.
        let charted = self.write_chart(interrupted);
        match self.json {
            true => report::print(self, interrupted)?,
            false => table::print(self)?,
        }
        if let Some(noisy) = noise::summary(&self.rows()) {
            eprintln!("clreel: {noisy}");
        }
        charted
    }

    fn missing(&self) -> String {
        let mut missing = Vec::new();
        let mut few = Vec::new();
        for one in &self.devices {
            let on = match self.devices.len() {
                2.. => format!(" on {}", one.name()),
                _ => String::new(),
            };
            for (index, Case { short, .. }) in self.cases.iter().enumerate() {
                let Some((_, run)) = one.runs.iter().find(|(of, _)| *of == index) else {
                    missing.push(format!("all at {short}{on}"));
                    continue;
                };
                let untimed =
                    |outcome: &Outcome| matches!(outcome, Outcome::Skipped(why) if why == NOT_TIMED);
                let rows = run.rows.iter().filter(|row| untimed(&row.outcome));
                missing.extend(rows.map(|row| format!("{} at {short}{on}", row.entry.name)));
                let most = run.timed().map(|(_, measured)| measured.time.n).max().unwrap_or(0);
                if most < self.rounds as usize {
                    few.push(format!("{most} of {} rounds at {short}{on}", self.rounds));
                }
            }
        }
        let list = |name: &str, what: Vec<String>| match what.is_empty() {
            true => String::new(),
            false => format!(" {name}: {}.", what.join(", ")),
        };
        format!("The benchmark was interrupted.{}{}", list("Missing", missing), list("There are only", few))
    }

    fn for_window(&self) -> Option<impl Serialize> {
        self.live.then(|| report::of(self, None))
    }
}

impl Results {
    /// Writes the chart, where one was asked for.
    fn write_chart(&self, interrupted: Option<&str>) -> Result<()> {
        let Some(path) = &self.chart else { return Ok(()) };
        let mut panels = Vec::new();
        for one in &self.devices {
            panels.extend(one.runs.iter().map(|(_, run)| (one.name(), run)));
        }
        let ladder = match self.subject {
            Subject::Movie { .. } => box_filter::trial::NAME,
            Subject::Numbers(ladder) => ladder,
        };
        let svg = chart::svg(&ladder.replace('_', " "), &panels, interrupted);
        save::atomically(path, |file| file.write_all(svg.as_bytes()))
    }

    /// The exit code of what is known: 3 when something differs, 1 when something failed.
    pub(crate) fn code(&self) -> u8 {
        let (mut differs, mut fails) = (false, false);
        for one in &self.devices {
            for outcome in one.runs.iter().flat_map(|(_, run)| run.outcomes()) {
                differs |= matches!(outcome, Outcome::Mismatch(_));
                fails |= matches!(outcome, Outcome::Failed(_));
            }
            let of_whole = whole::wrong(one.whole_frames.as_deref().unwrap_or_default());
            for wrong in [conversions::wrong(&one.conversions), of_whole] {
                (differs, fails) = (differs || wrong.0, fails || wrong.1);
            }
        }
        match (differs, fails) {
            (true, _) => exit::MISMATCH,
            (false, true) => exit::FAILED,
            (false, false) => exit::DONE,
        }
    }

    /// All rows that have times, by their names.
    fn rows(&self) -> Vec<(String, Option<Noise>)> {
        let mut rows = Vec::new();
        for (_, run) in self.devices.iter().flat_map(|one| &one.runs) {
            let limits = run.timed_limits().map(|(limit, measured)| (limit.name, measured));
            let timed = run.timed().map(|(row, measured)| (row.entry.name.as_str(), measured));
            let named = |(name, measured): (&str, &Measurement)| {
                (format!("{name}, {}", run.case.short), measured.noise())
            };
            rows.extend(limits.chain(timed).map(named));
        }
        for one in &self.devices {
            let times = conversions::times(&one.conversions);
            rows.extend(times.map(|(name, measured)| (name, measured.noise())));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::VariantId;
    use box_filter::entrants::{Entrant, case};
    use ladder::measure::Sample;
    use ladder::rows::Row;
    use live::Results as _;
    use opencl::memory::Rgba;

    fn results(runs: Vec<(u32, Vec<(VariantId, Outcome)>)>) -> Results {
        let cases = [1, 7, 31].map(|radius| case((1, 1), radius)).to_vec();
        let runs = runs.into_iter().enumerate().map(|(index, (radius, outcomes))| {
            let row = |(id, outcome)| Row::new(Entrant::Variant(id).entry(None), outcome);
            let rows = outcomes.into_iter().map(row).collect();
            (index, CaseRun { rows, ..CaseRun::new(case((1, 1), radius)) })
        });
        let device = DeviceRuns { runs: runs.collect(), ..DeviceRuns::new(None) };
        let subject = Subject::Movie { file: String::new(), size: (1, 1), frames: 1 };
        Results { json: false, live: false, chart: None, subject, rounds: 9, cases, devices: vec![device] }
    }

    #[test]
    fn a_mismatch_outranks_a_failure() {
        let failed = Outcome::Failed(Error::new("no", "", ""));
        let report =
            base::verify::check(&[1, 2, 3, 4], Rgba { width: 1 }, |b| Ok(b.to_vec())).unwrap().unwrap();
        let code = |outcomes: Vec<Outcome>| {
            let outcomes = outcomes.into_iter().map(|outcome| (VariantId::Flat, outcome));
            results(vec![(1, outcomes.collect())]).code()
        };
        assert_eq!(code(vec![Outcome::Skipped("slow".into())]), exit::DONE);
        assert_eq!(code(vec![failed.clone()]), exit::FAILED);
        assert_eq!(code(vec![failed.clone(), Outcome::Mismatch(report), failed.clone()]), exit::MISMATCH);
        let mut limit = results(vec![(1, Vec::new())]);
        limit.devices[0].runs[0].1.limits[0] = failed;
        assert_eq!(limit.code(), exit::FAILED, "a limit counts, too");
    }

    #[test]
    fn what_is_missing_when_it_is_interrupted_is_named() {
        let sample = Sample { device_ms: Some(1.0), dispatch_ms: None, wall_ms: 1.0 };
        let times = |n: usize| Outcome::Ok(Measurement::of(&vec![sample; n]).unwrap());
        let not_timed = || Outcome::Skipped(NOT_TIMED.to_owned());
        let too_slow = Outcome::Skipped("One run would take about 70 s.".to_owned());
        let results = results(vec![
            (1, vec![(VariantId::Flat, times(9)), (VariantId::Naive, too_slow)]),
            (7, vec![(VariantId::Flat, times(2)), (VariantId::Naive, not_timed())]),
        ]);
        assert_eq!(
            results.missing(),
            "The benchmark was interrupted. Missing: naive at r=7, all at r=31. There are only: 2 of 9 rounds at r=7."
        );
    }
}
