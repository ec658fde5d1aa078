//! `clreel tune`: finds the fastest variant and parameters on a device, and stores them in the cache file for `auto` and for the
//! filters of folders. Prints a table or JSON on stdout, progress on stderr. A signal ends the command, which prints the trials so far.

mod report;

use crate::cli::bench::selected_variants;
use crate::cli::ladders::{selected_cases, size_option_ids};
use crate::cli::live::{LiveResults, LiveRun};
use crate::cli::output::{print_json, print_line};
use crate::cli::{PROGRAM, TuneArgs, deduplicate, exit, usage, working_devices};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::memory::require;
use base::metadata::Metadata;
use base::save;
use base::stderr::print_message;
use base::timing::{Noise, noise};
use box_filter::tuned::{RADIUS_RANGES, radius_range};
use box_filter::{Filter, Settings};
use compute::cache::{self, Cache, Entry};
use compute::config::{Config, Tunable};
use compute::trial::Child;
use ladder::NOT_TIMED;
use ladder::results::{DeviceReport, Report};
use ladder::runner::{Ladder, LadderRunner, cache_class};
use ladder::tune::{self as searching, InitialConfigs, SearchObserver, Trial, max_trials};
use ladders::box_filter::BoxFilter;
use opencl::cl::{ClContext, select_device};
use opencl::sources::Sources;
use opencl::watch::{self, WorkGuard};

use report::{Run, Target, print_run};

/// Tunes the box filter or the selected filter of a folder; returns the exit code: 3 if the output of a configuration differs from
/// the reference.
///
/// # Errors
/// If there is nothing to tune, there is no device, the device fails, or the cache cannot be written.
pub(super) fn box_filter(args: &TuneArgs) -> Result<u8> {
    if let Some(name) = args.ladder.first_explicit(size_option_ids()) {
        let why = format!("{name} does not apply to the box filter, which accepts --size and --radius");
        usage("tune", &why);
    }
    let cases = settings(args);
    let (_watched, cl) = device(args)?;
    let sizes = if args.size.is_empty() { vec![(1280, 720)] } else { deduplicate(&args.size) };
    let ladders: Vec<_> = sizes.iter().map(|size| BoxFilter::on_noise(*size)).collect();
    let mut searches = Vec::new();
    for (ladder, (settings, applies_to)) in
        ladders.iter().flat_map(|ladder| cases.iter().map(move |case| (ladder, case)))
    {
        let case = ladder.case(*settings);
        require(ladder.describe(&case).memory)?;
        searches.push((Target::new(ladder, &case, applies_to.clone()), ladder, case));
    }
    search_all(args, &cl, &searches)
}

/// Returns the settings at which the filter is tuned, each with a text about the other cases to which the result applies.
fn settings(args: &TuneArgs) -> Vec<(Settings, Option<String>)> {
    if let Some(filter) = Filter::selected() {
        if args.ladder.first_explicit(["radius".to_owned()]).is_some() {
            usage("tune", &format!("--radius belongs to the box filter, not to '{}'", filter.name));
        }
        let settings = args.folder.settings(filter.initial(), 0);
        return vec![(settings.unwrap_or_else(|why| usage("tune", &why)), None)];
    }
    let radii = match args.radius.is_empty() {
        true => RADIUS_RANGES.iter().map(|(_, sample)| *sample).collect(),
        false => deduplicate(&args.radius),
    };
    let case = |radius: u32| {
        let (first, last) = radius_range(radius);
        (radius.into(), Some(format!("{first} to {last}")))
    };
    radii.into_iter().map(case).collect()
}

/// Returns an error if none of the searches has a variant to tune; in a folder's filter one with values to try.
fn require_values<C: Tunable>(searches: &[InitialConfigs<C>]) -> Result<()> {
    let has_values = |config: &Config<C>| config.code().params().iter().any(|p| !p.values.is_empty());
    let mut configs = searches.iter().flatten().map(|(_, config)| config);
    if configs.any(|config| Filter::selected().is_none() || has_values(config)) {
        return Ok(());
    }
    let (name, hint) = match Filter::selected() {
        None => ("The selected variants", "Select others, or all."),
        Some(filter) => (
            filter.description.name.as_str(),
            "Describe one, such as `tuning.GROUP = { default = 64, values = [32, 64, 128] }`: docs/filters.md.",
        ),
    };
    let why = "On this device no selected variant has a tuning parameter with values to try.";
    Err(Error::new(format!("{name}: there is nothing to tune."), why, hint))
}

/// Tunes a ladder other than the box filter; returns the exit code as [`box_filter()`] does.
///
/// # Errors
/// As for [`box_filter()`].
pub(super) fn generic<L: Ladder>(ladder: &L, args: &TuneArgs) -> Result<u8> {
    let cases = selected_cases(ladder, &args.ladder, &args.size).unwrap_or_else(|why| usage("tune", &why));
    let (_watched, cl) = device(args)?;
    let search = |case| (Target::new(ladder, &case, None), ladder, case);
    search_all(args, &cl, &cases.into_iter().map(search).collect::<Vec<_>>())
}

/// Makes all `searches` for the best configurations of the selected variants of a ladder; stores the results in the tuning cache
/// and prints all of them. `searches` has the description of each case. Returns the exit code.
fn search_all<L: Ladder>(args: &TuneArgs, cl: &ClContext, searches: &[(Target, &L, L::Case)]) -> Result<u8> {
    let info = &cl.device.info;
    let name = searches.first().map_or("", |(_, ladder, _)| ladder.info().name);
    let configs = |(_, ladder, case): &(Target, &L, L::Case)| {
        let with_kernels = ladder.variants().iter().filter(|variant| variant.code(info.kind).is_some());
        let selected = selected_variants(&args.variant, with_kernels);
        let selected = selected.unwrap_or_else(|why| usage("tune", &why));
        let mut configs = searching::initial_configs(*ladder, info, case);
        configs.retain(|(id, _)| selected.iter().any(|variant| variant.id == *id));
        configs
    };
    let mut configs: Vec<_> = searches.iter().map(configs).collect();
    require_values(&configs)?;
    let max_trials = configs.iter().map(max_trials).max().unwrap_or(0);
    let results = Results {
        args: args.clone(),
        ladder: name,
        device: info.clone(),
        runs: Vec::new(),
        current: None,
        total: searches.len(),
        metadata: Metadata::now(PROGRAM),
    };
    let live = LiveRun::start(results, searches.len() * max_trials);
    let mut child = Child::new(name, args.trial.timeouts.kernel_timeout);
    let mut searched: Vec<(&str, Entry)> = Vec::new();
    let mut search_each = || {
        for (n, ((target, ladder, case), configs)) in searches.iter().zip(configs.drain(..)).enumerate() {
            let runner = LadderRunner::new(*ladder, Some(&cl.device), cl.sources().clone(), &mut child);
            let mut progress = ProgressObserver { live: &live, target };
            let found = searching::search(&runner, case, configs, &mut progress)?;
            let Some(found) = found else { continue };
            let entries = found.entries(info, &cache_class(*ladder, case))?;
            live.skip_to((n + 1) * max_trials);
            let mut results = live.results();
            results.current = None;
            results.runs.push(Run::new(target, &found, found.case_run(&runner, case)));
            drop(results);
            // Stored after each search, so that an interruption loses only the search in progress; loaded each time, because
            // other processes may have stored results meanwhile.
            let mut cache = Cache::load();
            let now = target.case.short.as_str();
            let is_same =
                |(_, known): &&(&str, Entry)| entries.iter().any(|entry| entry.search() == known.search());
            if let Some((before, _)) = searched.iter().rfind(is_same) {
                print_message(format_args!(
                    "The result at {now} replaces the one at {before}: both are of the same class."
                ));
            }
            searched.extend(entries.first().map(|entry| (now, entry.clone())));
            cache.put(entries);
            cache.store()?;
        }
        Ok(())
    };
    // The results are printed even if a later search failed.
    let ended = search_each();
    let results = live.finish()?;
    ended?;
    let mut rows = results.runs.iter().flat_map(|run| &run.trials);
    Ok(exit::check_code(rows.any(|(row, _)| row.outcome == "mismatch"), false))
}

/// Opens the selected device. A watchdog observes the device's driver until the returned guard is dropped.
fn device(args: &TuneArgs) -> Result<(WorkGuard, ClContext)> {
    // Fails before minutes of tuning.
    cache::require_writable()?;
    args.save.as_deref().map_or(Ok(()), save::can_write)?;
    let device = select_device(&working_devices(), args.device.as_deref())?;
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
        // With the time of each run, the report contains only completed searches.
        let report = |has_samples: bool| {
            let sharing = ("copy", "tune opens no window; `clreel devices` tests sharing");
            let runs = self.runs.iter().chain(self.current.iter().filter(|_| !has_samples));
            let device = DeviceReport {
                runs: runs.map(|run| run.report(has_samples)).collect(),
                ..DeviceReport::new(Some(&self.device), sharing)
            };
            Report {
                interrupted: interrupted.map(str::to_owned),
                devices: vec![device],
                ..Report::new(self.metadata.clone(), self.ladder)
            }
        };
        let saved = self.args.save.as_ref().map_or(Ok(()), |path| report(true).save(path));
        let runs = || self.runs.iter().chain(&self.current);
        if self.args.json {
            print_json(&report(false))?;
        } else {
            runs().try_for_each(|run| print_run(&self.device.name, run))?;
            // Printed once, since it is the same for all cases.
            let mut errors = runs().filter_map(|run| run.finals.clock_speed.as_ref().err());
            if let Some(why) = errors.find(|why| *why != NOT_TIMED) {
                print_line(format!("The speed of this device's clock cannot be read. {why}"))?;
            }
        }
        let mut rows: Vec<(String, Option<Noise>)> = Vec::new();
        for run in runs() {
            let (short, peak) = (&run.target.case.short, run.target.peak());
            for (row, noise) in &run.trials {
                if row.trial.as_ref().is_some_and(|trial| trial.ms.is_some()) {
                    let configuration = row.configuration.as_deref().unwrap_or_default();
                    rows.push((format!("{} {configuration}, {short}", row.id), *noise));
                }
            }
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
        let current = self.current.as_ref().map_or_else(String::new, |run| {
            let (short, count) = (&run.target.case.short, run.trials.len());
            format!(" The search at {short} stopped after {count} configurations and is not saved.")
        });
        format!("Tuning was interrupted: {done} of {total} searches are complete and saved.{current}")
    }
}
