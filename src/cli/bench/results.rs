//! The results of a benchmark of any ladder, which are updated during the measurement, and printed at its end.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::{conversions, report, table, whole_frames};
use crate::cli::live::LiveResults;
use crate::cli::output::print_json;
use crate::cli::{BenchArgs, exit};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::metadata::Metadata;
use base::save;
use base::stderr::print_message;
use base::timing::{Noise, noise};
use ladder::chart;
use ladder::measure::Measurement;
use ladder::results::Input;
use ladder::roofline::{self, Panel};
use ladder::rows::{Case, CaseRun};
use ladder::why::DevicePeaks;
use ladder::{NOT_TIMED, Outcome};
use ladders::yuv_to_rgba;
use opencl::cl::Device;

/// The results of a benchmark so far.
pub(super) struct Results {
    pub args: BenchArgs,
    pub metadata: Metadata,
    /// The ladder's name.
    pub ladder: &'static str,
    /// The movie whose frames are filtered; `None` for generated data.
    pub input: Option<Input>,
    pub cases: Vec<Case>,
    pub devices: Vec<DeviceResults>,
}

impl Results {
    /// Creates the results of a benchmark that has not begun, for a ladder on generated data.
    pub(super) fn new(
        args: &BenchArgs,
        ladder: &'static str,
        cases: Vec<Case>,
        devices: &[Option<Device>],
    ) -> Self {
        let metadata = Metadata::now(concat!("clreel ", env!("CARGO_PKG_VERSION")));
        let devices = devices.iter().map(|device| DeviceResults::new(device.as_ref())).collect();
        Self { args: args.clone(), metadata, ladder, input: None, cases, devices }
    }

    /// Returns the two folders of kernels that are compared; empty if there are not two.
    pub(super) fn folders(&self) -> &[PathBuf] {
        if self.args.kernels.len() > 1 { &self.args.kernels } else { &[] }
    }
}

/// The results of a benchmark on one device.
pub(super) struct DeviceResults {
    /// The properties of the device; `None` if there is no OpenCL device and no variant needs one.
    pub device: Option<DeviceInfo>,
    /// The results of each case that was run, with the index of the case in [`Results::cases`].
    pub runs: Vec<(usize, CaseRun)>,
    /// The results of the conversions from YUV to RGBA; empty if none are checked.
    pub conversions: Vec<yuv_to_rgba::Row>,
    /// The times of whole frames; `None` without `--whole-frames`.
    pub whole_frames: Option<Vec<whole_frames::Row>>,
    /// The measured peaks of the device; `None` without `--why` and `--roofline`.
    pub peaks: Option<DevicePeaks>,
    /// Sentences on how modified kernels access memory, each with the id of its variant.
    pub accesses: Vec<(&'static str, String)>,
}

impl DeviceResults {
    /// Creates the results of a device on which nothing has been measured yet; `None` stands for no device.
    pub(crate) fn new(device: Option<&Device>) -> Self {
        let device = device.map(|device| device.info.clone());
        Self {
            device,
            runs: Vec::new(),
            conversions: Vec::new(),
            whole_frames: None,
            peaks: None,
            accesses: Vec::new(),
        }
    }

    /// Replaces the stored results of the case with this index by newer ones.
    pub(crate) fn update(&mut self, case: usize, run: CaseRun) {
        match self.runs.iter_mut().find(|(known, _)| *known == case) {
            Some((_, known)) => *known = run,
            None => self.runs.push((case, run)),
        }
    }

    /// Returns true if a variant failed with this error.
    pub(crate) fn has_error(&self, wanted: &Error) -> bool {
        let mut outcomes = self.runs.iter().flat_map(|(_, run)| run.outcomes());
        outcomes.any(|outcome| matches!(outcome, Outcome::Failed(error) if error == wanted))
    }

    /// Returns the device's name, for tables and messages.
    pub(crate) fn name(&self) -> &str {
        self.device.as_ref().map_or("without OpenCL", |device| &device.name)
    }
}

impl LiveResults for Results {
    /// Prints the results as JSON or as tables, and writes the requested charts and the file of saved results.
    fn print(&self, interrupted: Option<&str>) -> Result<()> {
        // The results are printed even if a file cannot be written, and vice versa.
        let charted = self.write_chart(interrupted).and(self.write_roofline());
        let saved =
            self.args.save.as_ref().map_or(Ok(()), |path| report::report(self, interrupted, true).save(path));
        match self.args.json {
            true => print_json(&report::report(self, interrupted, false))?,
            false => table::print(self)?,
        }
        if let Some(noisy) = noise::summary(&self.noise_by_row()) {
            print_message(&noisy);
        }
        charted.and(saved)
    }

    /// Returns a sentence about the results that an interrupted benchmark lacks.
    fn describe_missing(&self) -> String {
        let mut missing = Vec::new();
        let mut few = Vec::new();
        for device in &self.devices {
            let on = match self.devices.len() {
                2.. => format!(" on {}", device.name()),
                _ => String::new(),
            };
            for (index, Case { short, .. }) in self.cases.iter().enumerate() {
                let Some((_, run)) = device.runs.iter().find(|(of, _)| *of == index) else {
                    missing.push(format!("all variants at {short}{on}"));
                    continue;
                };
                let untimed =
                    |outcome: &Outcome| matches!(outcome, Outcome::Skipped(why) if why == NOT_TIMED);
                let rows = run.rows.iter().filter(|row| untimed(&row.outcome));
                missing.extend(rows.map(|row| format!("{} at {short}{on}", row.entry.name)));
                let most = run.timed().map(|(_, measured)| measured.time.n).max().unwrap_or(0);
                if most < self.args.frames as usize {
                    few.push(format!("{most} of {} rounds at {short}{on}", self.args.frames));
                }
            }
        }
        let list = |name: &str, what: Vec<String>| match what.is_empty() {
            true => String::new(),
            false => format!(" {name}: {}.", what.join(", ")),
        };
        format!("The benchmark was interrupted.{}{}", list("Missing", missing), list("Incomplete", few))
    }

    /// Returns the JSON report for the window, with the times of each run, which the window may save; `None` if no window
    /// started this process.
    fn for_window(&self) -> Option<impl Serialize> {
        self.args.live.then(|| report::report(self, None, true))
    }
}

impl Results {
    /// Writes the bar chart as an SVG file, if one was requested.
    fn write_chart(&self, interrupted: Option<&str>) -> Result<()> {
        let Some(path) = &self.args.chart else { return Ok(()) };
        let mut panels = Vec::new();
        for device in &self.devices {
            panels.extend(device.runs.iter().map(|(_, run)| (device.name(), run)));
        }
        let svg = chart::svg(&self.ladder_title(), &panels, interrupted);
        save::atomically(path, |file| file.write_all(svg.as_bytes()))
    }

    /// Writes the roofline chart as an SVG file, if one was requested.
    fn write_roofline(&self) -> Result<()> {
        let Some(path) = &self.args.roofline else { return Ok(()) };
        let panels = self.devices.iter().flat_map(|device| {
            let panel = |run| Panel { device: device.name(), run, peaks: device.peaks.unwrap_or_default() };
            device.runs.iter().map(move |(_, run)| panel(run))
        });
        let svg = roofline::svg(&self.ladder_title(), &panels.collect::<Vec<_>>());
        save::atomically(path, |file| file.write_all(svg.as_bytes()))
    }

    /// Returns the name of the ladder, for the titles of charts.
    fn ladder_title(&self) -> String {
        self.ladder.replace('_', " ")
    }

    /// Returns the exit code of the results so far: 3 if a variant differs from the reference, else 1 if one failed, else 4 if
    /// a kernel of the second folder is slower than that of the first one by more than the threshold, else 0.
    pub(crate) fn exit_code(&self) -> u8 {
        let runs = || self.devices.iter().flat_map(|device| device.runs.iter().map(|(_, run)| run));
        let mut ratios = runs().flat_map(|run| run.rows.iter().filter_map(|row| run.ratio_of_folders(row)));
        match self.check_code() {
            exit::DONE
                if ratios
                    .any(|ratio| ratio.verdict().is_slower_by(self.args.threshold.unwrap_or_default())) =>
            {
                exit::SLOWER
            }
            code => code,
        }
    }

    /// Returns the exit code that follows from the outputs alone, regardless of times: 3 if a variant differs from the
    /// reference, else 1 if one failed, else 0.
    pub(crate) fn check_code(&self) -> u8 {
        let (mut differs, mut fails) = (false, false);
        for device in &self.devices {
            let variants = device.runs.iter().flat_map(|(_, run)| run.outcomes());
            let conversions = device.conversions.iter().filter_map(|row| row.outcome.as_ref().err());
            let frames = device.whole_frames.iter().flatten().filter_map(whole_frames::Row::failure);
            for outcome in variants.chain(conversions).chain(frames) {
                differs |= matches!(outcome, Outcome::Mismatch(_));
                fails |= matches!(outcome, Outcome::Failed(_));
            }
        }
        exit::check_code(differs, fails)
    }

    /// Returns the name of each timed row on all devices, and the reasons why its times are noisy (`None` if they are not).
    fn noise_by_row(&self) -> Vec<(String, Option<Noise>)> {
        let mut rows = Vec::new();
        for (_, run) in self.devices.iter().flat_map(|device| &device.runs) {
            let peaks = run.timed_peaks().map(|(peak, measured)| (peak.name, measured));
            let timed = run.timed().map(|(row, measured)| (row.entry.name.as_str(), measured));
            let row_of = |(name, measured): (&str, &Measurement)| {
                (format!("{name}, {}", run.case.short), measured.noise())
            };
            rows.extend(peaks.chain(timed).map(row_of));
        }
        for device in &self.devices {
            let times = conversions::times(&device.conversions);
            rows.extend(times.map(|(name, measured)| (name, measured.noise())));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use box_filter::{VariantId, named};
    use clap::Parser as _;
    use compute::sample::Sample;
    use ladder::rows::{Entry, Row};
    use ladder::runner::describe_case;
    use ladders::box_filter::{BoxFilter, all_variants};
    use opencl::memory::Rgba;

    fn results(runs: Vec<(u32, Vec<(VariantId, Outcome)>)>) -> Results {
        let ladder = BoxFilter::on_noise((1, 1));
        let case = |radius| describe_case(&ladder, &ladder.case(radius));
        let cases = [1, 7, 31].map(case).to_vec();
        let runs = runs.into_iter().enumerate().map(|(index, (radius, outcomes))| {
            let row = |(id, outcome): (VariantId, Outcome)| {
                let variant = all_variants().iter().find(|variant| variant.id == id.name).unwrap();
                Row::new(Entry::new(variant, None), outcome)
            };
            let rows = outcomes.into_iter().map(row).collect();
            (index, CaseRun { rows, ..CaseRun::new(case(radius)) })
        });
        let cli = Cli::parse_from(["clreel", "bench", "--frames", "9"]);
        let Some(Command::Bench(args)) = cli.command else { panic!("{cli:?}") };
        let mut results = Results::new(&args, BoxFilter::INFO.name, cases, &[None]);
        results.devices[0].runs = runs.collect();
        results
    }

    #[test]
    fn a_mismatch_outranks_a_failure() {
        let failed = Outcome::Failed(Error::new("no", "", ""));
        let report =
            base::verify::check(&[1, 2, 3, 4], &Rgba { width: 1 }, |b| Ok(b.to_vec())).unwrap().unwrap();
        let code = |outcomes: Vec<Outcome>| {
            let outcomes = outcomes.into_iter().map(|outcome| (named("flat"), outcome));
            results(vec![(1, outcomes.collect())]).exit_code()
        };
        assert_eq!(code(vec![Outcome::Skipped("slow".into())]), exit::DONE);
        assert_eq!(code(vec![failed.clone()]), exit::FAILED);
        assert_eq!(code(vec![failed.clone(), Outcome::Mismatch(report), failed.clone()]), exit::MISMATCH);
        let mut peak = results(vec![(1, Vec::new())]);
        peak.devices[0].runs[0].1.peaks[0] = failed;
        assert_eq!(peak.exit_code(), exit::FAILED, "a failed peak kernel counts, too");
    }

    #[test]
    fn an_interruption_lists_what_is_missing() {
        let sample = Sample { device_ms: Some(1.0), dispatch_ms: None, wall_ms: 1.0 };
        let times = |n: usize| Outcome::Ok(Measurement::from_samples(&vec![sample; n]).unwrap());
        let not_timed = || Outcome::Skipped(NOT_TIMED.to_owned());
        let too_slow = Outcome::Skipped("One run would take about 70 s.".to_owned());
        let results = results(vec![
            (1, vec![(named("flat"), times(9)), (named("naive"), too_slow)]),
            (7, vec![(named("flat"), times(2)), (named("naive"), not_timed())]),
        ]);
        assert_eq!(
            results.describe_missing(),
            "The benchmark was interrupted. Missing: naive at r=7, all variants at r=31. Incomplete: 2 of 9 rounds at r=7."
        );
    }
}
