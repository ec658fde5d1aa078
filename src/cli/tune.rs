//! `clreel tune`: finds the fastest variant and parameters on a device, and keeps them for `auto`. Out: a table or
//! JSON on stdout, progress on stderr, and the cache file. A signal in the middle of it shows what has been tried.

use std::sync::{Arc, Mutex, PoisonError};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use crate::cli::bench::{LadderName, believed, number};
use crate::cli::devices::{DeviceEntry, print_json, print_line};
use crate::cli::{TuneArgs, exit, usage, working_devices};
use crate::error::Result;
use crate::gpu::cl::{ClContext, DeviceInfo, select_device};
use crate::gpu::sharing::Sharing;
use crate::ladder::cache::{self, Cache, Entry};
use crate::ladder::config::{Config, Tunable};
use crate::ladder::contest::Ladder;
use crate::ladder::measure::Measurement;
use crate::ladder::trial::Child;
use crate::ladder::tune::{Search, Status, Trial, Watch, most_trials};
use crate::ladder::tune_case;
use crate::ladders::box_filter::trial::Trials;
use crate::ladders::box_filter::tune as pictures;
use crate::ladders::box_filter::tuned::{RADII, range};
use crate::ladders::vector_add::VectorAdd;
use crate::leftovers;
use crate::timing::Series;
use crate::timing::noise::{self, Noise, Noisy};
use crate::verify::Checked;

/// Tunes; returns the exit code: 3 when a configuration differs from the reference.
///
/// # Errors
/// When there is no device, it fails, or the cache cannot be written.
pub fn run(args: &TuneArgs) -> Result<u8> {
    let pictures = [("--size", !args.size.is_empty()), ("--radius", !args.radius.is_empty())];
    let foreign = pictures.into_iter().find(|(_, given)| *given);
    match (args.ladder, foreign) {
        (LadderName::BoxFilter, _) if args.count.is_some() => Ok(usage(
            "tune",
            "the box filter has no --count: it filters pictures, and takes --size and --radius",
        )),
        (LadderName::BoxFilter, _) => tune_box_filter(args),
        (LadderName::VectorAdd, Some((name, _))) => {
            Ok(usage("tune", &format!("{name} belongs to the box filter: --ladder vector-add takes --count")))
        }
        (LadderName::VectorAdd, None) => {
            tune_ladder(VectorAdd, args.count.as_deref().unwrap_or(&[1 << 24]), args)
        }
    }
}

fn tune_box_filter(args: &TuneArgs) -> Result<u8> {
    let cl = device(args)?;
    let info = &cl.device.info;
    let sizes = if args.size.is_empty() { &[(1280, 720)] } else { args.size.as_slice() };
    let radii = match args.radius.is_empty() {
        true => RADII.iter().map(|(_, sample)| *sample).collect(),
        false => args.radius.clone(),
    };
    for &size in sizes {
        pictures::require_memory(info, size)?;
    }
    let all: Vec<_> = sizes.iter().flat_map(|size| radii.iter().map(|radius| (*size, *radius))).collect();
    let variants = pictures::variants();
    let mut trials = Trials::new(args.trial.limit());
    let told = all.iter().map(|&(size, radius)| Subject::pictures(size, radius)).collect();
    tune(args, None, info, told, pictures::most_trials(info, &variants), |n, watch| {
        let (size, radius) = all[n];
        let search = pictures::search(&cl, &variants, size, radius, &mut trials, watch)?;
        let entries = |search: &_| pictures::entries(search, info, size, radius);
        search.map(|search| Ok((entries(&search)?, search))).transpose()
    })
}

fn tune_ladder<L: Ladder>(ladder: L, cases: &[L::Case], args: &TuneArgs) -> Result<u8> {
    let cl = device(args)?;
    let info = &cl.device.info;
    let mut child = Child::new(L::NAME, args.trial.limit());
    let told = cases.iter().map(|case| Subject::case(&ladder, case)).collect();
    let most = most_trials(&tune_case::rungs(&ladder, info));
    tune(args, Some(L::NAME), info, told, most, |n, watch| {
        let search = tune_case::search(&ladder, &cl, &cases[n], &mut child, watch)?;
        let entries = |search: &Search<L::Code>| search.entries(info, &tune_case::class(&ladder, &cases[n]));
        search.map(|search| Ok((entries(&search)?, search))).transpose()
    })
}

/// The device that was asked for.
fn device(args: &TuneArgs) -> Result<ClContext> {
    // Before a search of minutes is for nothing.
    cache::require_place()?;
    ClContext::new(&select_device(&working_devices(), args.device.as_deref())?)
}

/// What a search is for, in the words of its ladder.
#[derive(Clone)]
struct Subject {
    json: SubjectEntry,
    /// As in `1280×720 · radius 7, kept for 4 to 15`.
    title: String,
    /// As in `r=7`.
    short: String,
    /// What nothing that moves the same bytes can pass.
    limit: &'static str,
    /// Bytes that have to be moved.
    bytes: f64,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
enum SubjectEntry {
    Pictures { width: u32, height: u32, radius: u32 },
    Case { case: Value, class: &'static str, limit: &'static str },
}

impl Subject {
    fn pictures((width, height): (u32, u32), radius: u32) -> Self {
        let (first, last) = range(radius);
        Self {
            json: SubjectEntry::Pictures { width, height, radius },
            title: format!("{width}×{height} · radius {radius}, kept for {first} to {last}"),
            short: format!("r={radius}"),
            limit: "copy",
            bytes: f64::from(width) * f64::from(height) * 8.0,
        }
    }

    fn case<L: Ladder>(ladder: &L, case: &L::Case) -> Self {
        let (title, class) = (ladder.title(case), ladder.class(case));
        Self {
            json: SubjectEntry::Case { case: ladder.json(case), class, limit: L::LIMIT },
            short: title.clone(),
            title: format!("{title}, kept for {class} cases"),
            limit: L::LIMIT,
            bytes: ladder.bytes(case),
        }
    }

    fn is_pictures(&self) -> bool {
        matches!(self.json, SubjectEntry::Pictures { .. })
    }
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    /// The box filter's where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    ladder: Option<&'static str>,
    #[serde(flatten)]
    device: DeviceEntry,
    /// What is missing, where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<String>,
    runs: Vec<RunEntry<'a>>,
}

#[derive(Serialize)]
struct RunEntry<'a> {
    #[serde(flatten)]
    of: &'a SubjectEntry,
    #[serde(flatten)]
    limit: LimitEntry,
    /// What was compared of each trial that has a time.
    checked: &'a [Checked],
    trials: &'a [TrialEntry],
}

#[derive(Serialize)]
#[serde(untagged)]
enum LimitEntry {
    Copy { copy_ms: Option<f64>, copy_noisy: Noisy },
    Other { limit_ms: Option<Series>, limit_noisy: Noisy },
}

#[derive(Serialize)]
struct TrialEntry {
    variant: &'static str,
    configuration: String,
    compile_ms: f64,
    /// The median of a best one's runs in turns with the others, the minimum of any other's.
    ms: Option<f64>,
    gb_per_s: Option<f64>,
    #[serde(flatten)]
    share: Share,
    status: &'static str,
    reason: Option<String>,
    noisy: Noisy,
}

/// How fast it is, in percent of the limit.
#[derive(Serialize)]
#[serde(untagged)]
enum Share {
    Copy { percent_of_copy: Option<f64> },
    Other { percent_of_limit: Option<f64> },
}

impl Share {
    fn percent(&self) -> Option<f64> {
        match self {
            Share::Copy { percent_of_copy: percent } | Share::Other { percent_of_limit: percent } => *percent,
        }
    }
}

/// What came of a search so far.
struct Run {
    subject: Subject,
    limit: Option<Measurement>,
    trials: Vec<TrialEntry>,
    checked: Vec<Checked>,
}

impl Run {
    fn new<C: Tunable>(
        subject: &Subject,
        limit: Option<Measurement>,
        trials: &[Trial<C>],
        checked: &[Checked],
    ) -> Self {
        let trials = trials.iter().map(|trial| entry(subject, limit.as_ref(), trial)).collect();
        Self { subject: subject.clone(), limit, trials, checked: checked.to_vec() }
    }

    fn limit_noise(&self) -> Option<Noise> {
        self.limit.as_ref().and_then(Measurement::noise)
    }

    fn entry(&self) -> RunEntry<'_> {
        let (time, noisy) = (self.limit.map(|limit| limit.time), Noisy(self.limit_noise()));
        let limit = match self.subject.is_pictures() {
            true => LimitEntry::Copy { copy_ms: time.map(|time| time.p50), copy_noisy: noisy },
            false => LimitEntry::Other { limit_ms: time, limit_noisy: noisy },
        };
        RunEntry { of: &self.subject.json, limit, checked: &self.checked, trials: &self.trials }
    }
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
    bar: &'a ProgressBar,
    results: &'a Mutex<Results>,
    subject: &'a Subject,
}

impl<C: Tunable> Watch<C> for Progress<'_> {
    fn next(&mut self, rung: &'static str, config: &Config<C>, trials: &[Trial<C>]) {
        self.bar.set_message(format!("{rung} {config}, {}", self.subject.short));
        self.bar.inc(1);
        let so_far = Run::new(self.subject, None, trials, &[]);
        self.results.lock().unwrap_or_else(PoisonError::into_inner).present = Some(so_far);
    }
}

impl Results {
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
    let most = most as u64;
    // Drawn on stderr, and only where that is a terminal.
    let bar = ProgressBar::new(subjects.len() as u64 * most);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let mut cache = Cache::load();
    let results = Arc::new(Mutex::new(Results {
        json: args.json,
        ladder,
        device: device.clone(),
        runs: Vec::new(),
        present: None,
        wanted: subjects.len(),
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
    for (n, subject) in subjects.iter().enumerate() {
        let before = bar.position();
        let mut progress = Progress { bar: &bar, results: &results, subject };
        let Some((entries, found)) = search(n, &mut progress)? else { continue };
        bar.set_position(before + most);
        cache.put(entries);
        // After each search, so that one that is interrupted keeps what it has found.
        cache.store()?;
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        results.present = None;
        results.runs.push(Run::new(subject, found.limit, &found.trials, &found.checked));
    }
    leftovers::say_no_more();
    bar.finish_and_clear();
    let results = results.lock().unwrap_or_else(PoisonError::into_inner);
    results.print(None)?;
    let wrong = results.runs.iter().flat_map(|run| &run.trials).any(|trial| trial.status == "mismatch");
    Ok(if wrong { exit::MISMATCH } else { exit::DONE })
}

fn entry<C: Tunable>(subject: &Subject, limit: Option<&Measurement>, trial: &Trial<C>) -> TrialEntry {
    let ms = trial.median_ms.or(trial.ms());
    let (status, reason) = match &trial.status {
        Status::Scored(_) if trial.median_ms.is_some() => ("best", None),
        Status::Scored(_) => ("ok", None),
        Status::Abandoned(ms) => ("abandoned", Some(format!("One run would take about {} ms.", number(*ms)))),
        Status::Mismatch(report) => ("mismatch", Some(report.to_string())),
        Status::Failed(why) => ("failed", Some(why.clone())),
    };
    let percent = limit.zip(ms).map(|(limit, ms)| 100.0 * limit.time.p50 / ms);
    TrialEntry {
        variant: trial.rung,
        configuration: trial.config.to_string(),
        compile_ms: trial.compile_ms,
        ms,
        gb_per_s: ms.map(|ms| subject.bytes / (ms * 1e6)),
        share: match subject.is_pictures() {
            true => Share::Copy { percent_of_copy: percent },
            false => Share::Other { percent_of_limit: percent },
        },
        status,
        reason,
        noisy: Noisy(trial.noise),
    }
}

fn print_run(device: &str, run: &Run) -> Result<()> {
    print_line(format!("{device} · {} · device time in ms", run.subject.title))?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    let share = format!("% of {}", run.subject.limit);
    table.set_header(["variant", "configuration", "compile ms", "ms", "GB/s", &share, "status"]);
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let show = |value: Option<f64>, noise: &[Option<Noise>]| {
        value.map(|value| believed(value, noise)).unwrap_or_default()
    };
    for trial in &run.trials {
        let noise = [trial.noisy.0];
        table.add_row([
            trial.variant.to_owned(),
            trial.configuration.clone(),
            number(trial.compile_ms),
            show(trial.ms, &noise),
            show(trial.gb_per_s, &noise),
            show(trial.share.percent(), &[trial.noisy.0, run.limit_noise()]),
            trial.status.to_owned(),
        ]);
        if let (Some(reason), "mismatch" | "failed") = (&trial.reason, trial.status) {
            table.add_row(["", reason]);
        }
    }
    print_line(table)?;
    if run.trials.iter().any(|trial| trial.noisy.0.is_some()) {
        print_line("~ noisy: only the digits that can be believed")?;
    }
    if !run.checked.is_empty() {
        print_line("checked, every byte, before a trial has a time:")?;
        run.checked.iter().try_for_each(|one| print_line(format!("  {one}")))?;
    }
    print_line("")
}
