//! `clreel tune`: finds the fastest variant and parameters on a device, and keeps them for `auto`. Out: a table or
//! JSON on stdout, progress on stderr, and the cache file. A signal in the middle of it shows what has been tried.

mod report;

use crate::cli::devices::{DeviceEntry, print_json};
use crate::cli::ladders::{asked_cases, of_cases};
use crate::cli::live::{self, Live};
use crate::cli::{TuneArgs, each_once, exit, usage, working_devices};
use ::box_filter::trial::Trials;
use ::box_filter::tune as box_filter;
use ::box_filter::tuned::RADII;
use base::error::{Error, Result};
use base::timing::Noise;
use base::timing::noise;
use engine::sharing::Sharing;
use ladder::cache::{self, Cache, Entry};
use ladder::config::{Config, Tunable};
use ladder::contest::{Contest, Ladder};
use ladder::trial::Child;
use ladder::tune::{Search, Trial, Watch, most_trials};
use ladder::tune_case;
use opencl::cl::{ClContext, DeviceInfo, select_device};
use opencl::watch::{self, Watched};

use report::{Report, Run, Subject, TrialEntry, print_run};

/// Tunes; returns the exit code: 3 when a configuration differs from the reference.
///
/// # Errors
/// When there is no device, it fails, or the cache cannot be written.
pub fn run(args: &TuneArgs) -> Result<u8> {
    args.ladder.tune(args)
}

/// The box filter.
pub(super) fn pictures(args: &TuneArgs) -> Result<u8> {
    if let Some(name) = args.given.any(of_cases()) {
        let why = format!("the box filter has no {name}: it filters pictures, and takes --size and --radius");
        return Ok(usage("tune", &why));
    }
    let (_watched, cl) = device(args)?;
    let info = &cl.device.info;
    let sizes = if args.size.is_empty() { vec![(1280, 720)] } else { each_once(&args.size) };
    let radii = match args.radius.is_empty() {
        true => RADII.iter().map(|(_, sample)| *sample).collect(),
        false => each_once(&args.radius),
    };
    for &size in &sizes {
        box_filter::require_memory(info, size)?;
    }
    let all: Vec<_> = sizes.iter().flat_map(|size| radii.iter().map(|radius| (*size, *radius))).collect();
    let variants = box_filter::variants();
    let mut trials = Trials::new(args.trial.limit());
    let told = all.iter().map(|&(size, radius)| Subject::pictures(size, radius)).collect();
    tune(args, None, info, told, box_filter::most_trials(info, &variants), |n, watch| {
        let (size, radius) = all[n];
        let search = box_filter::search(&cl, &variants, size, radius, &mut trials, watch)?;
        let entries = |search: &_| box_filter::entries(search, info, size, radius);
        search.map(|search| Ok((entries(&search)?, search))).transpose()
    })
}

/// A ladder that filters no pictures.
pub(super) fn numbers<L: Ladder>(ladder: &L, args: &TuneArgs) -> Result<u8> {
    let sizes = args.sizes.sizes(&args.size);
    let cases = match asked_cases(ladder, &args.given, &sizes) {
        Ok(cases) => cases,
        Err(why) => return Ok(usage("tune", &why)),
    };
    let (_watched, cl) = device(args)?;
    let info = &cl.device.info;
    let mut child = Child::new(L::NAME, args.trial.limit());
    let mut contest = Contest::new(ladder, Some(&cl.device), &mut child);
    let told = cases.iter().map(|case| Subject::case(ladder, case)).collect();
    let most = most_trials(&tune_case::rungs(ladder, info));
    tune(args, Some(L::NAME), info, told, most, |n, watch| {
        let search = tune_case::search(&mut contest, &cases[n], watch)?;
        let entries = |search: &Search<L::Code>| search.entries(info, &tune_case::class(ladder, &cases[n]));
        search.map(|search| Ok((entries(&search)?, search))).transpose()
    })
}

/// The device that was asked for, which is watched from here on.
fn device(args: &TuneArgs) -> Result<(Watched, ClContext)> {
    // Before a search of minutes is for nothing.
    cache::require_writable()?;
    let device = select_device(&working_devices(), args.device.as_deref())?;
    let watched = watch::on_device(&device.info.name, "configurations are tried");
    ClContext::new(&device).map(|cl| (watched, cl))
}

/// What has been tried so far, and all that is needed to show it.
struct Results {
    json: bool,
    ladder: Option<&'static str>,
    device: DeviceInfo,
    runs: Vec<Run>,
    /// The search that is under way.
    present: Option<Run>,
    /// The searches that there will be.
    wanted: usize,
}

/// Keeps what has been tried, and moves the bar on.
struct Progress<'a> {
    live: &'a Live<Results>,
    subject: &'a Subject,
}

impl<C: Tunable> Watch<C> for Progress<'_> {
    fn next(&mut self, rung: &'static str, config: &Config<C>, trials: &[Trial<C>]) {
        self.live.step(&format!("{rung} {config}, {}", self.subject.short));
        self.live.results().present = Some(Run::new(self.subject, None, trials, &[]));
    }

    fn warn(&mut self, error: &Error) {
        eprintln!("clreel: {error}");
    }
}

impl live::Results for Results {
    fn print(&self, interrupted: Option<&str>) -> Result<()> {
        let runs = || self.runs.iter().chain(&self.present);
        if self.json {
            let sharing = Sharing::copy("tune opens no window; `clreel devices` tests sharing");
            print_json(&Report {
                schema: 1,
                ladder: self.ladder,
                device: DeviceEntry::new(&self.device, &sharing),
                interrupted: interrupted.map(str::to_owned),
                runs: runs().map(Run::entry).collect(),
            })?;
        } else {
            runs().try_for_each(|run| print_run(&self.device.name, run))?;
        }
        let mut rows: Vec<(String, Option<Noise>)> = Vec::new();
        for run in runs() {
            let Subject { short, limit, .. } = &run.subject;
            let timed = run.trials.iter().filter(|t| t.ms.is_some());
            let name = |t: &TrialEntry| format!("{} {}, {short}", t.variant, t.configuration);
            rows.extend(timed.map(|t| (name(t), t.noisy.0)));
            rows.extend(run.limit.map(|_| (format!("{limit}, {short}"), run.limit_noise())));
        }
        if let Some(noisy) = noise::summary(&rows) {
            eprintln!("clreel: {noisy}");
        }
        Ok(())
    }

    /// What is missing when it is interrupted, in a sentence or more.
    fn missing(&self) -> String {
        let (done, wanted) = (self.runs.len(), self.wanted);
        let present = match &self.present {
            Some(run) => format!(
                " The search at {} had tried {} configurations, and nothing of it is kept.",
                run.subject.short,
                run.trials.len()
            ),
            None => String::new(),
        };
        format!("Tuning was interrupted: {done} of {wanted} searches are finished and kept.{present}")
    }
}

/// Searches for each of `subjects`, by its number, keeps what is found, and shows it.
fn tune<C: Tunable>(
    args: &TuneArgs,
    ladder: Option<&'static str>,
    device: &DeviceInfo,
    subjects: Vec<Subject>,
    most: usize,
    mut search: impl FnMut(usize, &mut dyn Watch<C>) -> Result<Option<(Vec<Entry>, Search<C>)>>,
) -> Result<u8> {
    let results = Results {
        json: args.json,
        ladder,
        device: device.clone(),
        runs: Vec::new(),
        present: None,
        wanted: subjects.len(),
    };
    let live = Live::start(results, subjects.len() * most);
    let mut searched: Vec<Option<Entry>> = Vec::new();
    let mut all = || {
        for (n, subject) in subjects.iter().enumerate() {
            let mut progress = Progress { live: &live, subject };
            let Some((entries, found)) = search(n, &mut progress)? else { continue };
            live.skip_to((n + 1) * most);
            let mut results = live.results();
            results.present = None;
            results.runs.push(Run::new(subject, found.limit, &found.trials, &found.checked));
            drop(results);
            // After each search, so that one that is interrupted keeps what it has found; read anew, because others may have
            // kept something meanwhile.
            let mut cache = Cache::load();
            let same = |known: &&Option<Entry>| {
                known.as_ref().is_some_and(|known| entries.iter().any(|entry| entry.same_search(known)))
            };
            if let Some(earlier) = searched.iter().rposition(|known| same(&known)) {
                let (now, before) = (&subject.short, &subjects[earlier].short);
                eprintln!(
                    "clreel: what was found at {now} is kept in the place of what was found at {before}: they are of one class"
                );
            }
            searched.push(entries.first().cloned());
            cache.put(entries);
            cache.store()?;
        }
        Ok(())
    };
    // What was found is shown, whatever failed after it.
    let ended = all();
    let results = live.finish()?;
    ended?;
    let wrong = results.runs.iter().flat_map(|run| &run.trials).any(|trial| trial.status == "mismatch");
    Ok(if wrong { exit::MISMATCH } else { exit::DONE })
}
