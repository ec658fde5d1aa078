//! `clreel tune`: finds the fastest variant and parameters on a device, and keeps them for `auto`. Out: a table or
//! JSON on stdout, progress on stderr, and the cache file. A signal in the middle of it shows what has been tried.

use std::sync::{Arc, Mutex, PoisonError};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::cli::bench::{believed, number};
use crate::cli::devices::{DeviceEntry, print_json, print_line};
use crate::cli::{TuneArgs, exit, working_devices};
use crate::error::Result;
use crate::gpu::cl::{ClContext, DeviceInfo, select_device};
use crate::gpu::sharing::Sharing;
use crate::ladders::box_filter::Config;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::trial::Trials;
use crate::ladders::box_filter::tune::{self, Search, Status, Trial};
use crate::ladders::box_filter::tuned::{self, Cache, RADII, radius_class};
use crate::leftovers;
use crate::timing::noise::{self, Noise, Noisy};
use crate::verify::Checked;

#[derive(Serialize)]
struct Report {
    schema: u32,
    #[serde(flatten)]
    device: DeviceEntry,
    /// What is missing, where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<String>,
    runs: Vec<RunEntry>,
}

#[derive(Serialize)]
struct RunEntry {
    width: u32,
    height: u32,
    radius: u32,
    copy_ms: Option<f64>,
    copy_noisy: Noisy,
    /// What was compared of each trial that has a time.
    checked: Vec<Checked>,
    trials: Vec<TrialEntry>,
}

#[derive(Serialize)]
struct TrialEntry {
    variant: &'static str,
    configuration: String,
    compile_ms: f64,
    ms: Option<f64>,
    gb_per_s: Option<f64>,
    percent_of_copy: Option<f64>,
    status: &'static str,
    reason: Option<String>,
    noisy: Noisy,
}

/// What has been tried so far, and all that is needed to show it.
struct Results {
    json: bool,
    device: DeviceInfo,
    searches: Vec<Search>,
    /// The search that is under way.
    present: Option<Search>,
    /// The searches that there will be.
    wanted: usize,
}

/// Keeps what has been tried, and moves the bar on.
struct Watch<'a> {
    bar: &'a ProgressBar,
    results: &'a Mutex<Results>,
    size: (u32, u32),
    radius: u32,
}

impl tune::Watch for Watch<'_> {
    fn next(&mut self, variant: VariantId, config: &Config, trials: &[Trial]) {
        self.bar.set_message(format!("{variant} {config}, r={}", self.radius));
        self.bar.inc(1);
        let ((width, height), radius, trials) = (self.size, self.radius, trials.to_vec());
        let (copy_ms, copy_noise, checked) = (None, None, Vec::new());
        let so_far = Search { width, height, radius, copy_ms, copy_noise, trials, checked };
        self.results.lock().unwrap_or_else(PoisonError::into_inner).present = Some(so_far);
    }
}

impl Results {
    fn print(&self, interrupted: Option<&str>) -> Result<()> {
        let searches = || self.searches.iter().chain(&self.present);
        if self.json {
            let sharing = Sharing::copy("tune opens no window; `clreel devices` tests sharing");
            print_json(&Report {
                schema: 1,
                device: DeviceEntry::new(&self.device, &sharing),
                interrupted: interrupted.map(str::to_owned),
                runs: searches().map(run_entry).collect(),
            })?;
        } else {
            searches().try_for_each(|search| print_search(&self.device.name, search))?;
        }
        let mut rows: Vec<(String, Option<Noise>)> = Vec::new();
        for search in searches() {
            let scored = search.trials.iter().filter(|t| t.ms().is_some());
            let name = |t: &Trial| format!("{} {}, r={}", t.variant, t.config, search.radius);
            rows.extend(scored.map(|t| (name(t), t.noise)));
            rows.extend(search.copy_ms.map(|_| (format!("copy, r={}", search.radius), search.copy_noise)));
        }
        if let Some(noisy) = noise::summary(&rows) {
            eprintln!("clreel: {noisy}");
        }
        Ok(())
    }

    /// What is missing when it is interrupted, in a sentence or more.
    fn missing(&self) -> String {
        let (done, wanted) = (self.searches.len(), self.wanted);
        let present = match &self.present {
            Some(search) => format!(
                " The search at r={} had tried {} configurations, and nothing of it is kept.",
                search.radius,
                search.trials.len()
            ),
            None => String::new(),
        };
        format!("Tuning was interrupted: {done} of {wanted} searches are finished and kept.{present}")
    }
}

/// Tunes; returns the exit code: 3 when a configuration differs from the reference.
///
/// # Errors
/// When there is no device, it fails, or the cache cannot be written.
pub fn run(args: &TuneArgs) -> Result<u8> {
    // Before a search of minutes is for nothing.
    tuned::require_writable()?;
    let device = select_device(&working_devices(), args.device.as_deref())?;
    let cl = ClContext::new(&device)?;
    let sizes = if args.size.is_empty() { vec![(1280, 720)] } else { args.size.clone() };
    let radii = match args.radius.is_empty() {
        true => RADII.iter().map(|(_, sample)| *sample).collect(),
        false => args.radius.clone(),
    };
    for &size in &sizes {
        tune::require_memory(&device.info, size)?;
    }
    let variants = tune::variants();
    let most = tune::most_trials(&device.info, &variants) as u64;
    // Drawn on stderr, and only where that is a terminal.
    let bar = ProgressBar::new((sizes.len() * radii.len()) as u64 * most);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let mut trials = Trials::new(args.trial.limit());
    let mut cache = Cache::load();
    let results = Arc::new(Mutex::new(Results {
        json: args.json,
        device: device.info.clone(),
        searches: Vec::new(),
        present: None,
        wanted: sizes.len() * radii.len(),
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
    for size in sizes {
        for &radius in &radii {
            let before = bar.position();
            let mut watch = Watch { bar: &bar, results: &results, size, radius };
            let Some(search) = tune::search(&cl, &variants, size, radius, &mut trials, &mut watch)? else {
                continue;
            };
            bar.set_position(before + most);
            cache.put(search.entries(&device.info)?);
            // After each search, so that one that is interrupted keeps what it has found.
            cache.store()?;
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.present = None;
            results.searches.push(search);
        }
    }
    leftovers::say_no_more();
    bar.finish_and_clear();
    let results = results.lock().unwrap_or_else(PoisonError::into_inner);
    results.print(None)?;
    let wrong =
        results.searches.iter().flat_map(|s| &s.trials).any(|t| matches!(t.status, Status::Mismatch(_)));
    Ok(if wrong { exit::MISMATCH } else { exit::DONE })
}

fn run_entry(search: &Search) -> RunEntry {
    RunEntry {
        width: search.width,
        height: search.height,
        radius: search.radius,
        copy_ms: search.copy_ms,
        copy_noisy: Noisy(search.copy_noise),
        checked: search.checked.clone(),
        trials: search.trials.iter().map(|t| entry(search, t)).collect(),
    }
}

fn entry(search: &Search, trial: &Trial) -> TrialEntry {
    let bytes = f64::from(search.width) * f64::from(search.height) * 8.0;
    let ms = trial.median_ms.or(trial.ms());
    let (status, reason) = match &trial.status {
        Status::Scored(_) if trial.median_ms.is_some() => ("best", None),
        Status::Scored(_) => ("ok", None),
        Status::Abandoned(ms) => ("abandoned", Some(format!("One run would take about {} ms.", number(*ms)))),
        Status::Mismatch(report) => ("mismatch", Some(report.to_string())),
        Status::Failed(why) => ("failed", Some(why.clone())),
    };
    TrialEntry {
        variant: trial.variant.as_str(),
        configuration: trial.config.to_string(),
        compile_ms: trial.compile_ms,
        ms,
        gb_per_s: ms.map(|ms| bytes / (ms * 1e6)),
        percent_of_copy: search.copy_ms.zip(ms).map(|(copy, ms)| 100.0 * copy / ms),
        status,
        reason,
        noisy: Noisy(trial.noise),
    }
}

fn print_search(device: &str, search: &Search) -> Result<()> {
    let (w, h, radius) = (search.width, search.height, search.radius);
    let class = radius_class(radius);
    let first = if class == 0 { 0 } else { RADII[class - 1].0 + 1 };
    let last = RADII[class].0;
    print_line(format!(
        "{device} · {w}×{h} · radius {radius}, kept for {first} to {last} · device time in ms"
    ))?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(["variant", "configuration", "compile ms", "ms", "GB/s", "% of copy", "status"]);
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let show = |value: Option<f64>, noise: &[Option<Noise>]| {
        value.map(|value| believed(value, noise)).unwrap_or_default()
    };
    for trial in search.trials.iter().map(|t| entry(search, t)) {
        let noise = [trial.noisy.0];
        table.add_row([
            trial.variant.to_owned(),
            trial.configuration,
            number(trial.compile_ms),
            show(trial.ms, &noise),
            show(trial.gb_per_s, &noise),
            show(trial.percent_of_copy, &[trial.noisy.0, search.copy_noise]),
            trial.status.to_owned(),
        ]);
        if let (Some(reason), "mismatch" | "failed") = (trial.reason, trial.status) {
            table.add_row(["", &reason]);
        }
    }
    print_line(table)?;
    if search.trials.iter().any(|trial| trial.noise.is_some()) {
        print_line("~ noisy: only the digits that can be believed")?;
    }
    if !search.checked.is_empty() {
        print_line("checked, every byte, before a trial has a time:")?;
        search.checked.iter().try_for_each(|one| print_line(format!("  {one}")))?;
    }
    print_line("")
}
