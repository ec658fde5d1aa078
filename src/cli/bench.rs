//! `clreel bench`: checks every variant against the reference, then times it. Out: a table or JSON on
//! stdout, progress on stderr, there too one sentence where the times are noisy. A signal in the middle of it shows what
//! has been measured.

mod contest;
mod conversions;
mod report;
mod table;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{BenchArgs, exit, usage, working_devices};
use crate::error::Result;
use crate::gpu::cl::{Device, DeviceInfo, no_device, select_device};
use crate::ladder::measure::Measurement;
use crate::ladder::{BackEnd, NOT_TIMED, Outcome};
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::bench::{Input, NativeFault, RadiusRun, Watch, require_memory, run_device};
use crate::ladders::box_filter::trial::Trials;
use crate::ladders::conversions::{self as converted, Which};
use crate::ladders::vector_add::VectorAdd;
use crate::leftovers;
use crate::media;
use crate::timing::{Noise, noise};

pub(crate) use table::{believed, number};

/// The most frames that are kept in memory and cycled.
const MAX_FRAMES: usize = 30;

/// The ladders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LadderName {
    /// The mean of a square window around each pixel of a movie
    #[value(alias = "box_filter")]
    BoxFilter,
    /// The sum of two arrays of floats
    #[value(alias = "vector_add")]
    VectorAdd,
}

/// The variants to time: a list such as `naive,flat`, or `all`; which there are is the ladder's to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantList(String);

impl FromStr for VariantList {
    type Err = std::convert::Infallible;

    fn from_str(list: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self(list.to_owned()))
    }
}

impl VariantList {
    /// Those of `all`, which have names: in the order given, each once.
    ///
    /// # Errors
    /// A sentence for the user, where none has such a name.
    fn among<'a, T>(
        &self,
        all: impl Iterator<Item = (&'a str, T)> + Clone,
    ) -> std::result::Result<Vec<T>, String> {
        if self.0.trim() == "all" {
            return Ok(all.map(|(_, one)| one).collect());
        }
        let mut names: Vec<&str> = Vec::new();
        for name in self.0.split(',').map(str::trim) {
            if !all.clone().any(|(known, _)| known == name) {
                let known: Vec<_> = all.map(|(known, _)| known).collect();
                return Err(format!(
                    "invalid value '{}' for '--variant <ID,…>': no variant is called '{name}'; choose all, or some of {}",
                    self.0,
                    known.join(", ")
                ));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names
            .iter()
            .filter_map(|name| all.clone().find(|(known, _)| known == name))
            .map(|(_, one)| one)
            .collect())
    }
}

/// Everything that filters, in the order of [`VariantId::ALL`].
fn filters() -> impl Iterator<Item = VariantId> + Clone {
    VariantId::ALL.into_iter().filter(|id| id.back_end() != BackEnd::Nothing)
}

/// Runs the benchmark; returns the exit code: 3 when a variant differs from the reference, 1 when one
/// failed.
///
/// # Errors
/// When there is no device and a variant needs one, or the movie gives no frame.
pub fn run(args: &BenchArgs) -> Result<u8> {
    if args.ladder == LadderName::VectorAdd {
        return match counts(args) {
            Ok(counts) => contest::run(VectorAdd, counts, args),
            Err(why) => Ok(usage("bench", &why)),
        };
    }
    if args.count.is_some() {
        return Ok(usage("bench", "the box filter has no --count: it filters the pictures of a movie"));
    }
    let variants = match args.variant.among(filters().map(|id| (id.as_str(), id))) {
        Ok(variants) => variants,
        Err(why) => return Ok(usage("bench", &why)),
    };
    let variants = variants.as_slice();
    let mut radii = Vec::new();
    for &radius in &args.radius {
        if !radii.contains(&radius) {
            radii.push(radius);
        }
    }
    let devices = chosen_devices(args, variants)?;
    let file: PathBuf = match &args.file {
        Some(file) => file.clone(),
        None => media::bundled_clip()?,
    };
    if let Some(size) = args.size {
        // Before much time goes into scaling.
        require_memory(size, variants, args.native)?;
    }
    let count = MAX_FRAMES.min(args.frames as usize);
    let clip = media::read_frames_rgba(&file, count, args.size, args.references.get())?;
    if let Some(warning) = &clip.warning {
        eprintln!("clreel: {warning}");
    }
    let input = Input {
        frames: &clip.frames,
        width: clip.width,
        height: clip.height,
        rounds: args.frames,
        native: args.native,
        fail_fast: args.fail_fast,
    };

    let size = (clip.width, clip.height);
    let movie = match args.conversions {
        Which::None => None,
        Which::All | Which::Input => conversions::input(&file, size, args.references.get())?,
    };

    let steps = devices.len() * radii.len() * (variants.len() + args.frames as usize);
    // Drawn on stderr, and only where that is a terminal.
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let results = Arc::new(Mutex::new(Results {
        json: args.json,
        file: file.display().to_string(),
        size: (clip.width, clip.height),
        frames: clip.frames.len(),
        rounds: args.frames,
        radii: radii.clone(),
        devices: devices
            .iter()
            .map(|device| DeviceRuns {
                device: device.as_ref().map(|device| device.info.clone()),
                runs: Vec::new(),
                conversions: Vec::new(),
            })
            .collect(),
    }));
    let (interrupted, shown) = (results.clone(), bar.clone());
    leftovers::say_before_the_end(move || {
        shown.finish_and_clear();
        let results = lock(&interrupted);
        let missing = results.missing();
        // There is nobody to tell that it could not be told.
        let _ = results.print(Some(&missing));
        eprintln!("clreel: {missing}");
    });
    let mut trials = Trials::new(args.trial.limit());
    for (index, device) in devices.iter().enumerate() {
        if args.fail_fast && lock(&results).code() != exit::DONE {
            break;
        }
        let mut watch = Progress { bar: &bar, results: &results, index };
        if let Err(e) = run_device(device.as_ref(), &input, variants, &radii, &mut trials, &mut watch) {
            for &radius in &radii {
                watch.so_far(RadiusRun {
                    radius,
                    copy: None,
                    planes_copy: None,
                    variants: variants.iter().map(|&id| (id, Outcome::Failed(e.clone()))).collect(),
                    checked: Vec::new(),
                    auto: None,
                    native: Vec::new(),
                });
            }
        }
        let goes_on = !args.fail_fast || lock(&results).code() == exit::DONE;
        if let (Some(device), Which::All | Which::Input, true) = (device, args.conversions, goes_on) {
            let mut next = |what: &str| bar.set_message(what.to_owned());
            let ask = converted::Ask {
                size,
                rounds: args.frames,
                which: args.conversions,
                fail_fast: args.fail_fast,
            };
            match converted::run_device(device, movie.as_ref(), &ask, &mut trials, &mut next) {
                Ok(rows) => watch.conversions(rows),
                // Where not even that is there, the variants have said so.
                Err(e) => eprintln!("clreel: {e}"),
            }
        }
    }
    leftovers::say_no_more();
    bar.finish_and_clear();
    let results = lock(&results);
    results.print(None)?;
    Ok(results.code())
}

fn lock(results: &Mutex<Results>) -> MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a benchmark has measured so far, and all that is needed to show it.
struct Results {
    json: bool,
    file: String,
    size: (u32, u32),
    frames: usize,
    rounds: u32,
    radii: Vec<u32>,
    devices: Vec<DeviceRuns>,
}

/// What has been measured on one device.
struct DeviceRuns {
    /// None where there is no OpenCL device, and only what does without was asked for.
    device: Option<DeviceInfo>,
    runs: Vec<RadiusRun>,
    /// Empty where they were left out.
    conversions: Vec<converted::Row>,
}

/// Keeps what has been measured, and moves the bar on.
struct Progress<'a> {
    bar: &'a ProgressBar,
    results: &'a Mutex<Results>,
    /// The index of the device.
    index: usize,
}

impl Progress<'_> {
    fn conversions(&mut self, rows: Vec<converted::Row>) {
        let mut results = lock(self.results);
        if let Some(device) = results.devices.get_mut(self.index) {
            device.conversions = rows;
        }
    }
}

impl Watch for Progress<'_> {
    fn next(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
    }

    fn so_far(&mut self, run: RadiusRun) {
        let mut results = lock(self.results);
        let Some(device) = results.devices.get_mut(self.index) else { return };
        match device.runs.iter_mut().find(|known| known.radius == run.radius) {
            Some(known) => *known = run,
            None => device.runs.push(run),
        }
    }
}

impl Results {
    /// Prints all that is there; `interrupted` says what is not.
    fn print(&self, interrupted: Option<&str>) -> Result<()> {
        match self.json {
            true => report::print(self, interrupted)?,
            false => table::print(self)?,
        }
        if let Some(noisy) = noise::summary(&self.rows()) {
            eprintln!("clreel: {noisy}");
        }
        Ok(())
    }

    /// The exit code of what is known.
    fn code(&self) -> u8 {
        let code = exit_code(self.devices.iter().flat_map(|device| &device.runs));
        self.devices.iter().fold(code, |code, device| match conversions::wrong(&device.conversions) {
            (true, _) => exit::MISMATCH,
            (false, true) if code == exit::DONE => exit::FAILED,
            _ => code,
        })
    }

    /// All rows that have times, by their names.
    fn rows(&self) -> Vec<(String, Option<Noise>)> {
        let mut rows = Vec::new();
        let runs = self.devices.iter().flat_map(|device| &device.runs);
        for run in runs {
            let mut add = |name: &str, measured: Option<&Measurement>| {
                let noise = measured.map(Measurement::noise);
                rows.extend(noise.map(|noise| (format!("{name}, r={}", run.radius), noise)));
            };
            add("copy", run.copy.as_ref());
            add("copy of planes", run.planes_copy.as_ref());
            for (id, outcome) in &run.variants {
                add(id.as_str(), outcome.measured());
            }
            for one in &run.native {
                add("native", one.outcome.as_ref().ok());
            }
        }
        for device in &self.devices {
            let times = conversions::times(&device.conversions);
            rows.extend(times.map(|(name, measured)| (name, measured.noise())));
        }
        rows
    }

    /// What is missing when it is interrupted, in a sentence or more.
    fn missing(&self) -> String {
        let mut missing = Vec::new();
        let mut short = Vec::new();
        for DeviceRuns { device, runs, .. } in &self.devices {
            let on = match (device, self.devices.len()) {
                (Some(device), 2..) => format!(" on {}", device.name),
                _ => String::new(),
            };
            for &radius in &self.radii {
                let Some(run) = runs.iter().find(|run| run.radius == radius) else {
                    missing.push(format!("all at r={radius}{on}"));
                    continue;
                };
                let untimed =
                    |outcome: &Outcome| matches!(outcome, Outcome::Skipped(why) if why == NOT_TIMED);
                let variants = run.variants.iter().filter(|(_, outcome)| untimed(outcome));
                missing.extend(variants.map(|(id, _)| format!("{id} at r={radius}{on}")));
                let timed = run.variants.iter().filter_map(|(_, outcome)| outcome.measured());
                let most = timed.map(|measured| measured.time.n).max().unwrap_or(0);
                if most < self.rounds as usize {
                    short.push(format!("{most} of {} rounds at r={radius}{on}", self.rounds));
                }
            }
        }
        let list = |name: &str, what: Vec<String>| match what.is_empty() {
            true => String::new(),
            false => format!(" {name}: {}.", what.join(", ")),
        };
        format!("The benchmark was interrupted.{}{}", list("Missing", missing), list("There are only", short))
    }
}

/// The devices to run on; one `None` where there is none and nothing that was asked for needs one.
fn chosen_devices(args: &BenchArgs, variants: &[VariantId]) -> Result<Vec<Option<Device>>> {
    let devices = working_devices();
    match args.device.as_deref() {
        None if devices.is_empty() && variants.iter().all(|id| id.back_end().does_without_opencl()) => {
            Ok(vec![None])
        }
        Some("all") if devices.is_empty() => Err(no_device()),
        Some("all") => Ok(devices.into_iter().map(Some).collect()),
        sel => Ok(vec![Some(select_device(&devices, sel)?)]),
    }
}

/// The counts of a ladder of numbers.
///
/// # Errors
/// A sentence for the user, where something was asked for that only pictures have.
fn counts(args: &BenchArgs) -> std::result::Result<Vec<u32>, String> {
    let pictures = [
        ("FILE", args.file.is_some()),
        ("--size", args.size.is_some()),
        ("--radius", args.radius != [7]),
        ("--native", args.native),
        ("--conversions", args.conversions != Which::All),
    ];
    if let Some((name, _)) = pictures.into_iter().find(|(_, given)| *given) {
        return Err(format!("{name} belongs to the box filter: --ladder vector-add takes --count"));
    }
    let mut counts = Vec::new();
    for &count in args.count.as_deref().unwrap_or(&[1 << 24]) {
        if !counts.contains(&count) {
            counts.push(count);
        }
    }
    Ok(counts)
}

/// The exit code of some outcomes: 3 when one differs, 1 when one failed.
fn worst<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> u8 {
    let mut code = exit::DONE;
    for outcome in outcomes {
        match outcome {
            Outcome::Mismatch(_) => return exit::MISMATCH,
            Outcome::Failed(_) => code = exit::FAILED,
            Outcome::Ok(_) | Outcome::Unsupported(_) | Outcome::Skipped(_) => {}
        }
    }
    code
}

fn exit_code<'a>(runs: impl Iterator<Item = &'a RadiusRun>) -> u8 {
    let mut outcomes = Vec::new();
    for run in runs {
        if run.native.iter().any(|one| one.outcome.as_ref().is_err_and(|e| *e == NativeFault::Differs)) {
            return exit::MISMATCH;
        }
        outcomes.extend(run.variants.iter().map(|(_, outcome)| outcome));
    }
    worst(outcomes.into_iter())
}

/// Why an outcome is not ok.
fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Ok(_) => None,
        Outcome::Unsupported(why) | Outcome::Skipped(why) => Some(why.clone()),
        Outcome::Mismatch(report) => Some(report.to_string()),
        Outcome::Failed(e) => Some(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::memory::Rgba;

    #[test]
    fn variant_lists() {
        let filters = || filters().map(|id| (id.as_str(), id));
        let parse = |list: &str| VariantList(list.to_owned()).among(filters());
        assert_eq!(parse("all").map(|v| v.len()), Ok(VariantId::ALL.len() - 1), "all but `off`");
        assert_eq!(parse("flat, naive,flat"), Ok(vec![VariantId::Flat, VariantId::Naive]));
        assert!(parse("off").is_err());
        assert!(parse("").is_err());
        assert!(parse("naive,fast").unwrap_err().contains("fast"));
    }

    #[test]
    fn a_mismatch_outranks_a_failure() {
        let failed = Outcome::Failed(crate::error::Error::new("no", "", ""));
        let report =
            crate::verify::check(&[1, 2, 3, 4], Rgba { width: 1 }, |b| Ok(b.to_vec())).unwrap().unwrap();
        let run = |outcomes: Vec<Outcome>| RadiusRun {
            radius: 1,
            copy: None,
            planes_copy: None,
            variants: outcomes.into_iter().map(|o| (VariantId::Flat, o)).collect(),
            checked: Vec::new(),
            auto: None,
            native: Vec::new(),
        };
        let code = |outcomes| exit_code([run(outcomes)].iter());
        assert_eq!(code(vec![Outcome::Skipped("slow".into())]), exit::DONE);
        assert_eq!(code(vec![failed.clone()]), exit::FAILED);
        assert_eq!(code(vec![failed.clone(), Outcome::Mismatch(report), failed]), exit::MISMATCH);
    }

    #[test]
    fn what_is_missing_when_it_is_interrupted_is_named() {
        let sample = crate::ladder::measure::Sample { device_ms: Some(1.0), dispatch_ms: None, wall_ms: 1.0 };
        let run = |radius, outcomes: Vec<(VariantId, Outcome)>| RadiusRun {
            radius,
            copy: None,
            planes_copy: None,
            variants: outcomes,
            checked: Vec::new(),
            auto: None,
            native: Vec::new(),
        };
        let times = |n: usize| Outcome::Ok(Measurement::of(&vec![sample; n]).unwrap());
        let not_timed = || Outcome::Skipped(NOT_TIMED.to_owned());
        let too_slow = Outcome::Skipped("One run would take about 70 s.".to_owned());
        let runs = vec![
            run(1, vec![(VariantId::Flat, times(9)), (VariantId::Naive, too_slow)]),
            run(7, vec![(VariantId::Flat, times(2)), (VariantId::Naive, not_timed())]),
        ];
        let results = Results {
            json: false,
            file: String::new(),
            size: (1, 1),
            frames: 1,
            rounds: 9,
            radii: vec![1, 7, 31],
            devices: vec![DeviceRuns { device: None, runs, conversions: Vec::new() }],
        };
        assert_eq!(
            results.missing(),
            "The benchmark was interrupted. Missing: naive at r=7, all at r=31. There are only: 2 of 9 rounds at r=7."
        );
    }
}
