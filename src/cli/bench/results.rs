//! The results of a benchmark of any ladder, which are updated during the measurement, and printed at its end.

use std::path::PathBuf;

use serde::Serialize;

use super::table::print_run;
use super::{conversions, whole_frames, why};
use crate::cli::live::LiveResults;
use crate::cli::output::{print_json, print_line, write_svg};
use crate::cli::{BenchArgs, PROGRAM, exit};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::metadata::Metadata;
use base::stderr::print_message;
use base::timing::noise;
use ladder::chart;
use ladder::results::{DeviceReport, Input, Report, RunReport};
use ladder::roofline;
use ladder::rows::{Case, CaseRun, folder_letter};
use ladder::runner::{Ladder, describe_case};
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
    pub(super) fn new<L: Ladder>(
        args: &BenchArgs,
        ladder: &L,
        cases: &[L::Case],
        devices: &[Option<Device>],
    ) -> Self {
        let device = |device: &Option<Device>| DeviceResults {
            device: device.as_ref().map(|device| device.info.clone()),
            ..DeviceResults::default()
        };
        Self {
            args: args.clone(),
            metadata: Metadata::now(PROGRAM),
            ladder: ladder.info().name,
            input: None,
            cases: cases.iter().map(|case| describe_case(ladder, case)).collect(),
            devices: devices.iter().map(device).collect(),
        }
    }

    /// Returns the two folders of kernels that are compared; empty if there are not two.
    pub(super) fn folders(&self) -> &[PathBuf] {
        if self.args.kernels.len() > 1 { &self.args.kernels } else { &[] }
    }
}

/// The results of a benchmark on one device.
#[derive(Default)]
pub(super) struct DeviceResults {
    /// The properties of the device; `None` if there is no OpenCL device and no variant needs one.
    pub device: Option<DeviceInfo>,
    /// The results of the cases that were run, in the order of [`Results::cases`].
    pub runs: Vec<CaseRun>,
    /// The results of the conversions from YUV to RGBA; empty if none are checked.
    pub conversions: Vec<yuv_to_rgba::Row>,
    /// The times of whole frames, a case for each radius; empty without `--whole-frames`.
    pub whole_frames: Vec<RunReport>,
    /// The measured peaks of the device; `None` without `--why` and `--roofline`.
    pub peaks: Option<DevicePeaks>,
    /// Sentences on how modified kernels access memory, each with the id of its variant.
    pub accesses: Vec<(&'static str, String)>,
}

impl DeviceResults {
    /// Replaces the stored results of the case with this index by newer ones.
    pub(crate) fn update(&mut self, case: usize, run: CaseRun) {
        match self.runs.get_mut(case) {
            Some(known) => *known = run,
            None => self.runs.push(run),
        }
    }

    /// Returns true if a variant failed with this error.
    pub(crate) fn has_error(&self, wanted: &Error) -> bool {
        let mut outcomes = self.runs.iter().flat_map(CaseRun::outcomes);
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
        let title = self.ladder.replace('_', " ");
        let charted = write_svg(self.args.chart.as_ref(), || {
            let panels: Vec<_> = self.runs().map(|(device, run)| (device.name(), run)).collect();
            chart::svg(&title, &panels, interrupted)
        });
        let charted = charted.and(write_svg(self.args.roofline.as_ref(), || {
            let panels =
                self.runs().map(|(device, run)| (device.name(), run, device.peaks.unwrap_or_default()));
            roofline::svg(&title, &panels.collect::<Vec<_>>())
        }));
        let report = |has_samples| self.report(interrupted, has_samples);
        let saved = self.args.save.as_ref().map_or(Ok(()), |path| report(true).save(path));
        match self.args.json {
            true => print_json(&report(false))?,
            false => self.print_tables()?,
        }
        let mut rows = Vec::new();
        for (_, run) in self.runs() {
            let peaks = run.timed_peaks().map(|(peak, measured)| (peak.name, measured));
            let timed = run.timed().map(|(row, measured)| (row.entry.name.as_str(), measured));
            let all = peaks.chain(timed);
            rows.extend(all.map(|(name, of)| (format!("{name}, {}", run.case.short), of.noise())));
        }
        let conversions = self.devices.iter().flat_map(|device| conversions::times(&device.conversions));
        rows.extend(conversions.map(|(name, measured)| (name, measured.noise())));
        if let Some(noisy) = noise::summary(&rows) {
            print_message(&noisy);
        }
        charted.and(saved)
    }

    /// Returns a sentence about the results that an interrupted benchmark lacks.
    fn describe_missing(&self) -> String {
        let (mut missing, mut few) = (Vec::new(), Vec::new());
        for device in &self.devices {
            let on = match self.devices.len() {
                2.. => format!(" on {}", device.name()),
                _ => String::new(),
            };
            for (index, Case { short, .. }) in self.cases.iter().enumerate() {
                let Some(run) = device.runs.get(index) else {
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
        self.args.live.then(|| self.report(None, true))
    }
}

impl Results {
    /// Returns the results of all cases on all devices.
    fn runs(&self) -> impl Iterator<Item = (&DeviceResults, &CaseRun)> {
        self.devices.iter().flat_map(|device| device.runs.iter().map(move |run| (device, run)))
    }

    /// Prints all tables, and the reasons and notes below them.
    fn print_tables(&self) -> Result<()> {
        for (index, folder) in self.folders().iter().enumerate() {
            print_line(format!("{}: {}", folder_letter(index), base::text::name(folder)))?;
        }
        if let Some(Input { stack_filters: Some(below), .. }) = &self.input {
            print_line(format!("The frames are those that {below} gives."))?;
        }
        for device in &self.devices {
            let mut reasons = Vec::new();
            device.runs.iter().try_for_each(|run| print_run(device.name(), run, &mut reasons))?;
            // Printed once, since it is the same for all cases.
            let unread = device.runs.iter().filter(|run| run.timed().next().is_some());
            if let Some(why) = unread.filter_map(|run| run.clock_speed.as_ref().err()).next() {
                print_line(format!("The speed of this device's clock cannot be read. {why}\n"))?;
            }
            why::print(device)?;
            if let Some(Input { width, height, .. }) = self.input {
                whole_frames::print(device.name(), (width, height), &device.whole_frames)?;
                conversions::print(device.name(), (width, height), &device.conversions, &mut reasons)?;
            }
        }
        Ok(())
    }

    /// Creates the report that `compare` and the Lab read, with the times of each run if `has_samples` is true. `interrupted` is
    /// a sentence about the missing results if a signal ended the benchmark.
    fn report(&self, interrupted: Option<&str>, has_samples: bool) -> Report {
        let sharing = ("copy", "bench opens no window; `clreel devices` tests sharing");
        let device = |of: &DeviceResults| {
            let run = |run: &CaseRun| RunReport::of(run, of.peaks, |row| why::why(of, row), has_samples);
            let frames = of.whole_frames.iter().cloned().map(|mut run| {
                if !has_samples {
                    run.variants.iter_mut().for_each(|row| row.samples = None);
                }
                run
            });
            let runs = of.runs.iter().map(run).chain(frames);
            DeviceReport {
                peaks: of.peaks,
                runs: runs.chain(conversions::report(&of.conversions, has_samples)).collect(),
                ..DeviceReport::new(of.device.as_ref(), sharing)
            }
        };
        Report {
            input: self.input.clone(),
            interrupted: interrupted.map(str::to_owned),
            folders: self.folders().iter().map(base::text::unicode).collect(),
            devices: self.devices.iter().map(device).collect(),
            ..Report::new(self.metadata.clone(), self.ladder)
        }
    }

    /// Returns the exit code of the results so far: 3 if a variant differs from the reference, else 1 if one failed, else 4 if
    /// a kernel of the second folder is slower than that of the first one by more than the threshold, else 0.
    pub(crate) fn exit_code(&self) -> u8 {
        let mut ratios =
            self.runs().flat_map(|(_, run)| run.rows.iter().filter_map(|row| run.ratio_of_folders(row)));
        let threshold = self.args.threshold.unwrap_or_default();
        match self.check_code() {
            exit::DONE if ratios.any(|ratio| ratio.verdict().is_slower_by(threshold)) => exit::SLOWER,
            code => code,
        }
    }

    /// Returns the exit code that follows from the outputs alone, regardless of times: 3 if a variant differs from the
    /// reference, else 1 if one failed, else 0.
    pub(crate) fn check_code(&self) -> u8 {
        let (mut differs, mut fails) = (false, false);
        for device in &self.devices {
            let variants = device.runs.iter().flat_map(CaseRun::outcomes);
            let conversions = device.conversions.iter().filter_map(|row| row.outcome.as_ref().err());
            for outcome in variants.chain(conversions) {
                differs |= matches!(outcome, Outcome::Mismatch(_));
                fails |= matches!(outcome, Outcome::Failed(_));
            }
            for row in device.whole_frames.iter().flat_map(|run| &run.variants) {
                differs |= row.outcome == "mismatch";
                fails |= row.outcome == "failed";
            }
        }
        exit::check_code(differs, fails)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use box_filter::{VariantId, named};
    use clap::Parser as _;
    use compute::sample::Sample;
    use ladder::measure::Measurement;
    use ladder::rows::{Entry, Row};
    use ladders::box_filter::{BoxFilter, variants};
    use opencl::memory::Rgba;

    fn results(runs: Vec<(u32, Vec<(VariantId, Outcome)>)>) -> Results {
        let ladder = BoxFilter::on_noise((1, 1));
        let cases = [1, 7, 31].map(|radius| ladder.case(radius));
        let runs = runs.into_iter().map(|(radius, outcomes)| {
            let row = |(id, outcome): (VariantId, Outcome)| {
                let variant =
                    variants(VariantId::OFF.filter()).iter().find(|variant| variant.id == id.name).unwrap();
                Row::new(Entry::new(variant, None), outcome)
            };
            let rows = outcomes.into_iter().map(row).collect();
            CaseRun { rows, ..CaseRun::new(describe_case(&ladder, &ladder.case(radius))) }
        });
        let cli = Cli::parse_from(["clreel", "bench", "--frames", "9"]);
        let Some(Command::Bench(args)) = cli.command else { panic!("{cli:?}") };
        let mut results = Results::new(&args, &ladder, &cases, &[None]);
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
        peak.devices[0].runs[0].peaks[0] = failed;
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
