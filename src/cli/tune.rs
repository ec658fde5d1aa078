//! `clreel tune`: finds the fastest variant and parameters on a device, and stores them in the cache file for `auto`. Prints a
//! table or JSON on stdout, progress on stderr. A signal ends the command, which prints the trials so far.

mod report;

use crate::cli::ladders::{selected_cases, size_option_ids};
use crate::cli::live::{LiveResults, LiveRun};
use crate::cli::output::{print_json, print_line};
use crate::cli::{TuneArgs, deduplicate, exit, usage, working_devices};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::memory::require;
use base::metadata::Metadata;
use base::save;
use base::stderr::print_message;
use base::timing::Noise;
use base::timing::noise;
use box_filter::tuned::{RADIUS_RANGES, radius_range};
use compute::cache::{self, Cache, Entry};
use compute::config::{Config, Tunable};
use compute::trial::Child;
use engine::sharing::Sharing;
use ladder::results::{DeviceReport, Report};
use ladder::runner::{Ladder, LadderRunner, cache_class};
use ladder::tune::{self as searching, SearchObserver, Trial, max_trials};
use ladders::box_filter::BoxFilter;
use opencl::cl::{ClContext, select_device};
use opencl::sources::Sources;
use opencl::watch::{self, WorkGuard};

use report::{Run, Target, TrialRow, print_run};

/// Tunes the box filter; returns the exit code: 3 if the output of a configuration differs from the reference.
///
/// # Errors
/// If there is no device, the device fails, or the cache cannot be written.
pub(super) fn box_filter(args: &TuneArgs) -> Result<u8> {
    if let Some(name) = args.ladder.first_explicit(size_option_ids()) {
        let why = format!("{name} does not apply to the box filter, which accepts --size and --radius");
        return Ok(usage("tune", &why));
    }
    let (_watched, cl) = device(args)?;
    let sizes = if args.size.is_empty() { vec![(1280, 720)] } else { deduplicate(&args.size) };
    let radii = match args.radius.is_empty() {
        true => RADIUS_RANGES.iter().map(|(_, sample)| *sample).collect(),
        false => deduplicate(&args.radius),
    };
    let all: Vec<_> = sizes
        .iter()
        .flat_map(|&size| {
            let ladder = move || BoxFilter::on_noise(size);
            radii.iter().map(move |&radius| (ladder(), radius, ladder().case(radius)))
        })
        .collect();
    let target = |(ladder, radius, case): &(_, u32, _)| {
        let (first, last) = radius_range(*radius);
        Target::new(ladder, case, Some(format!("{first} to {last}")))
    };
    let targets = all.iter().map(target).collect();
    let cases: Vec<_> = all.iter().map(|(ladder, _, case)| (ladder, case)).collect();
    cases.iter().try_for_each(|(ladder, case)| require(ladder.describe(case).memory))?;
    search_all(args, &cl, targets, &cases)
}

/// Tunes a ladder other than the box filter; returns the exit code as [`box_filter()`] does.
///
/// # Errors
/// As for [`box_filter()`].
pub(super) fn generic<L: Ladder>(ladder: &L, args: &TuneArgs) -> Result<u8> {
    let cases = match selected_cases(ladder, &args.ladder, &args.size) {
        Ok(cases) => cases,
        Err(why) => return Ok(usage("tune", &why)),
    };
    let (_watched, cl) = device(args)?;
    let targets = cases.iter().map(|case| Target::new(ladder, case, None)).collect();
    let cases: Vec<_> = cases.iter().map(|case| (ladder, case)).collect();
    search_all(args, &cl, targets, &cases)
}

/// Searches for the best configurations of a ladder for each of `cases`; stores the results in the tuning cache and prints all
/// of them. `targets` contains the descriptions of the cases, in the same order. Returns the exit code.
fn search_all<L: Ladder>(
    args: &TuneArgs,
    cl: &ClContext,
    targets: Vec<Target>,
    cases: &[(&L, &L::Case)],
) -> Result<u8> {
    let info = &cl.device.info;
    let name = cases.first().map_or("", |(ladder, _)| ladder.info().name);
    let configs = |(ladder, case): &(&L, &L::Case)| searching::initial_configs(*ladder, info, case);
    let max_trials = cases.iter().map(|case| max_trials(&configs(case))).max().unwrap_or(0);
    let results = Results {
        args: args.clone(),
        ladder: name,
        device: info.clone(),
        runs: Vec::new(),
        current: None,
        total: targets.len(),
        metadata: Metadata::now(concat!("clreel ", env!("CARGO_PKG_VERSION"))),
    };
    let live = LiveRun::start(results, targets.len() * max_trials);
    let mut child = Child::new(name, args.trial.timeouts.kernel_timeout);
    let mut searched: Vec<Option<Entry>> = Vec::new();
    let mut search_each = || {
        for (n, (target, both)) in targets.iter().zip(cases).enumerate() {
            let (ladder, case) = *both;
            let runner = LadderRunner::new(ladder, Some(&cl.device), cl.sources().clone(), &mut child);
            let mut progress = ProgressObserver { live: &live, target };
            let found = searching::search(&runner, case, configs(both), &mut progress)?;
            let Some(found) = found else { continue };
            let entries = found.entries(info, &cache_class(ladder, case))?;
            live.skip_to((n + 1) * max_trials);
            let mut results = live.results();
            results.current = None;
            results.runs.push(Run::new(target, &found, found.case_run(&runner, case)));
            drop(results);
            // Stored after each search, so that an interruption loses only the search in progress; loaded each time, because
            // other processes may have stored results meanwhile.
            let mut cache = Cache::load();
            let same = |known: &&Option<Entry>| {
                known
                    .as_ref()
                    .is_some_and(|known| entries.iter().any(|entry| entry.search() == known.search()))
            };
            if let Some(earlier) = searched.iter().rposition(|known| same(&known)) {
                let (now, before) = (&target.case.short, &targets[earlier].case.short);
                print_message(format_args!(
                    "The result at {now} replaces the one at {before}: both are of the same class."
                ));
            }
            searched.push(entries.first().cloned());
            cache.put(entries);
            cache.store()?;
        }
        Ok(())
    };
    // The results are printed even if a later search failed.
    let ended = search_each();
    let results = live.finish()?;
    ended?;
    let wrong =
        results.runs.iter().flat_map(|run| &run.trials).any(|trial| trial.tuning.status == "mismatch");
    Ok(if wrong { exit::MISMATCH } else { exit::DONE })
}

/// Opens the selected device. A watchdog observes the device's driver until the returned guard is dropped.
fn device(args: &TuneArgs) -> Result<(WorkGuard, ClContext)> {
    // Fails before minutes of tuning.
    cache::require_writable()?;
    args.save.as_deref().map_or(Ok(()), save::can_write)?;
    let device = select_device(&working_devices(), args.on.device.as_deref())?;
    let watched = watch::on_device(&device.info.name, "configurations are tried");
    ClContext::new(&device, Sources::from_environment()).map(|cl| (watched, cl))
}

/// The results of all searches so far.
struct Results {
    args: TuneArgs,
    ladder: &'static str,
    device: DeviceInfo,
    runs: Vec<Run>,
    /// The results so far of the search in progress; `None` if no search is in progress.
    current: Option<Run>,
    /// The number of searches that the command makes in all, including those that have not begun.
    total: usize,
    metadata: Metadata,
}

impl Results {
    /// Returns the report on all searches. `interrupted` is a sentence about the missing results if a signal ended the command.
    /// If `has_samples` is true, the report contains only completed searches, with the time of each run.
    fn report(&self, interrupted: Option<&str>, has_samples: bool) -> Report {
        let sharing = Sharing::copy("tune opens no window; `clreel devices` tests sharing");
        let runs = self.runs.iter().chain(self.current.iter().filter(|_| !has_samples));
        let device = DeviceReport {
            runs: runs.map(|run| run.report(has_samples)).collect(),
            ..DeviceReport::new(Some(&self.device), (sharing.name(), sharing.reason()))
        };
        Report {
            interrupted: interrupted.map(str::to_owned),
            devices: vec![device],
            ..Report::new(self.metadata.clone(), self.ladder)
        }
    }
}

/// The observer of a search, which stores the trials so far and advances the progress bar.
struct ProgressObserver<'a> {
    live: &'a LiveRun<Results>,
    target: &'a Target,
}

impl<C: Tunable> SearchObserver<C> for ProgressObserver<'_> {
    /// Stores the trials so far, and shows the next trial in the progress bar.
    fn begin_trial(&mut self, variant: &'static str, config: &Config<C>, trials: &[Trial<C>]) {
        self.live.next_step(&format!("{variant} {config}, {}", self.target.case.short));
        self.live.results().current = Some(Run::in_progress(self.target, trials));
    }

    /// Prints a warning of the search on stderr.
    fn warn(&mut self, error: &Error) {
        print_message(error);
    }
}

impl LiveResults for Results {
    /// Prints the results of all searches, as JSON or as tables, and saves the final runs.
    fn print(&self, interrupted: Option<&str>) -> Result<()> {
        // The results are printed even if the file cannot be written, and vice versa.
        let report = |has_samples| self.report(interrupted, has_samples);
        let saved = self.args.save.as_ref().map_or(Ok(()), |path| report(true).save(path));
        let runs = || self.runs.iter().chain(&self.current);
        if self.args.json {
            print_json(&report(false))?;
        } else {
            runs().try_for_each(|run| print_run(&self.device.name, run))?;
            // Printed once, since it is the same for all cases.
            if let Some(why) = runs().find_map(Run::clock_speed_error) {
                print_line(format!("The speed of this device's clock cannot be read. {why}"))?;
            }
        }
        let mut rows: Vec<(String, Option<Noise>)> = Vec::new();
        for run in runs() {
            let (short, peak) = (&run.target.case.short, run.target.peak());
            let timed = run.trials.iter().filter(|t| t.tuning.ms.is_some());
            let name = |t: &TrialRow| format!("{} {}, {short}", t.variant, t.configuration);
            rows.extend(timed.map(|t| (name(t), t.noise)));
            rows.extend(run.peak().map(|measured| (format!("{peak}, {short}"), measured.noise())));
        }
        if let Some(noisy) = noise::summary(&rows) {
            print_message(&noisy);
        }
        saved
    }

    /// Returns a sentence about the searches that are missing after an interruption.
    fn describe_missing(&self) -> String {
        let (done, total) = (self.runs.len(), self.total);
        let current = match &self.current {
            Some(run) => format!(
                " The search at {} stopped after {} configurations and is not saved.",
                run.target.case.short,
                run.trials.len()
            ),
            None => String::new(),
        };
        format!("Tuning was interrupted: {done} of {total} searches are complete and saved.{current}")
    }
}
