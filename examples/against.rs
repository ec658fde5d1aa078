//! Compares two builds of clreel in turns. Prints a table of ratios; exit code 1 if a figure is slower in the later
//! build, 2 for wrong usage.
//!
//! `./dev against REV` builds both and runs this.
//!
//! Each turn runs both binaries on the same movie, in alternating order, so that other load on the machine affects
//! both. A ratio is that of one turn, the later build's figure by the earlier one's. A figure counts as slower only if
//! it is in three series of turns, each by the rule of [`is_slower`]: with less, noise would decide.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

use box_filter::{VariantId, Work};
use clap::Parser;
use compute::BackEnd;
use opencl::memory::Storage;
use serde_json::Value;

type Failure = Box<dyn std::error::Error>;

/// Compares two builds of clreel in turns.
#[derive(Parser)]
struct Arguments {
    /// The earlier build.
    #[arg(long)]
    before: PathBuf,
    /// The later build.
    #[arg(long)]
    after: PathBuf,
    /// The movie that both play.
    #[arg(long)]
    movie: PathBuf,
    /// Turns of a series, at least five.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(5..))]
    pairs: u32,
    /// Frames that the window shows in a turn.
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u32).range(10..))]
    frames: u32,
    /// The variants of `bench`; by default those on plain buffers and in Rust.
    #[arg(long, default_value_t = buffer_variants())]
    variant: String,
    /// Index, part of a name, cpu or gpu.
    #[arg(long)]
    device: Option<String>,
}

/// Returns the variants that compute on plain buffers or in Rust, each once.
fn buffer_variants() -> String {
    let is_one = |id: &VariantId| {
        let kernels = matches!(id.work, Work::Kernels([code, _]) if code.storage == Storage::Buffer);
        kernels || id.back_end() == BackEnd::Native
    };
    VariantId::all().filter(is_one).map(|id| id.name).collect::<Vec<_>>().join(",")
}

/// The number of series in which a figure must be slower.
const SERIES: usize = 3;
/// Starts per turn, of which the fastest counts.
const STARTS: usize = 3;
/// A median ratio up to this is noise.
const NOISE: f64 = 1.03;
/// A ratio is also noise if less than this share of the turns is slower.
const AGREE: f64 = 0.8;

/// Figures of one turn of one binary, by name; less is better.
type Figures = BTreeMap<String, f64>;
/// The ratios of a series' turns for each figure.
type Ratios = BTreeMap<String, Vec<(f64, f64)>>;

fn main() -> ExitCode {
    let compared = compare(&Arguments::parse()).inspect_err(|why| eprintln!("against: {why}"));
    ExitCode::from(u8::from(!matches!(compared, Ok(true))))
}

/// Runs the series; returns true if nothing is slower.
fn compare(arguments: &Arguments) -> Result<bool, Failure> {
    let folder = std::env::temp_dir().join(format!("clreel-against-{}", std::process::id()));
    let compared = series(arguments, &folder);
    // A leftover folder does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    compared
}

fn series(arguments: &Arguments, folder: &Path) -> Result<bool, Failure> {
    let builds = [(&arguments.before, "before"), (&arguments.after, "after")].map(|(program, name)| Build {
        arguments,
        program,
        folder: folder.join(name),
    });
    eprintln!("against: filling both kernel caches");
    for build in &builds {
        std::fs::create_dir_all(&build.folder)?;
        build.turn()?;
    }
    let mut suspects: Option<Vec<String>> = None;
    for number in 1..=SERIES {
        let mut ratios = Ratios::new();
        for turn in 0..arguments.pairs {
            eprintln!("against: series {number}, turn {} of {}", turn + 1, arguments.pairs);
            let first = turn as usize % 2;
            let mut turns = [builds[first].turn()?, builds[1 - first].turn()?];
            turns.rotate_left(first);
            let [before, after] = turns;
            for (name, pair) in pairs(before, &after)? {
                ratios.entry(name).or_default().push(pair);
            }
        }
        println!("series {number} of at most {SERIES}: {} turns, medians", arguments.pairs);
        println!("{:<26} {:>10} {:>10} {:>8} {:>15}", "figure", "before", "after", "ratio", "least to most");
        for (name, turns) in &ratios {
            println!("{}", row(name, turns));
        }
        let slower = |name: &String| ratios.get(name).is_some_and(|turns| is_slower(turns));
        let left: Vec<String> = match suspects.take() {
            None => ratios.keys().filter(|name| slower(name)).cloned().collect(),
            Some(names) => names.into_iter().filter(slower).collect(),
        };
        if left.is_empty() {
            println!("nothing is slower");
            return Ok(true);
        }
        println!("slower in {number} of {SERIES}: {}\n", left.join(", "));
        suspects = Some(left);
    }
    Ok(false)
}

/// Returns each figure of a turn, before and after.
///
/// # Errors
/// Fails if one of the builds lacks a figure of the other, or has one that is no positive number: its ratio would show nothing.
fn pairs(before: Figures, after: &Figures) -> Result<BTreeMap<String, (f64, f64)>, Failure> {
    if let Some(name) = after.keys().find(|name| !before.contains_key(*name)) {
        return Err(format!("only the later build has the figure '{name}'").into());
    }
    if before.is_empty() {
        return Err("the builds have no figures".into());
    }
    let pair = |(name, before): (String, f64)| {
        let after =
            *after.get(&name).ok_or_else(|| format!("only the earlier build has the figure '{name}'"))?;
        if !(before > 0.0 && before.is_finite() && after > 0.0 && after.is_finite()) {
            return Err(format!("the figure '{name}' is {before} before and {after} after").into());
        }
        Ok((name, (before, after)))
    };
    before.into_iter().map(pair).collect()
}

/// Returns true if the turns, each before and after, show a slowdown: the median of the ratios is more than noise, and most
/// turns agree.
fn is_slower(turns: &[(f64, f64)]) -> bool {
    let ratios = ratios(turns);
    let slower = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    median(&ratios) > NOISE && slower as f64 >= AGREE * ratios.len() as f64
}

fn ratios(turns: &[(f64, f64)]) -> Vec<f64> {
    turns.iter().map(|(before, after)| after / before).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

fn row(name: &str, turns: &[(f64, f64)]) -> String {
    let ratios = ratios(turns);
    let (before, after): (Vec<f64>, Vec<f64>) = turns.iter().copied().unzip();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    format!(
        "{name:<26} {:>10.3} {:>10.3} {:>8.3} {:>15}",
        median(&before),
        median(&after),
        median(&ratios),
        format!("{least:.2} to {most:.2}")
    )
}

/// A binary, and the arguments and folder for its runs.
struct Build<'a> {
    arguments: &'a Arguments,
    program: &'a Path,
    /// The build's caches, so that neither uses programs that the other has compiled.
    folder: PathBuf,
}

/// The resources that a run used.
struct Used {
    wall_s: f64,
    cpu_s: f64,
    memory_mib: f64,
}

impl Build<'_> {
    /// Runs one turn: `bench`, the start, and the window without a filter and with one.
    fn turn(&self) -> Result<Figures, Failure> {
        let mut figures = self.bench()?;
        let mut first = BTreeMap::new();
        for variant in ["off", "fused"] {
            first.insert(variant, self.window(variant, 1)?.cpu_s);
        }
        let starts: Result<Vec<_>, _> = (0..STARTS).map(|_| self.window("fused", 1)).collect();
        let start_s = starts?.iter().map(|used| used.wall_s).fold(f64::INFINITY, f64::min);
        figures.insert("start to first frame, s".to_owned(), start_s);
        for (variant, first_s) in first {
            let all = self.window(variant, self.arguments.frames)?;
            let frame_ms = (all.cpu_s - first_s) * 1e3 / f64::from(self.arguments.frames - 1);
            figures.insert(format!("window, {variant}: CPU ms a frame"), frame_ms);
            figures.insert(format!("window, {variant}: MiB"), all.memory_mib);
        }
        Ok(figures)
    }

    /// Returns median times of the variants at radius 7.
    fn bench(&self) -> Result<Figures, Failure> {
        let out = self.folder.join("bench.json");
        let mut command = self.command();
        command.arg("bench").arg(&self.arguments.movie);
        command.args(["--json", "--radius", "7", "--frames", "15", "--variant", &self.arguments.variant]);
        command.stdout(std::fs::File::create(&out)?);
        self.run(command)?;
        let told: Value = serde_json::from_slice(&std::fs::read(&out)?)?;
        let variants =
            told["devices"][0]["runs"][0]["variants"].as_array().ok_or("bench gave no variants")?;
        let asked = self.arguments.variant.split(',').count();
        if variants.len() < asked {
            let (program, rows) = (self.program.display(), variants.len());
            return Err(format!("bench of {program} has {rows} rows of {asked}").into());
        }
        let mut figures = Figures::new();
        for variant in variants {
            let median = |clock: &str| variant[clock]["p50"].as_f64();
            let (id, ms) = (variant["id"].as_str(), median("device_ms").or_else(|| median("wall_ms")));
            match (id, ms) {
                (Some(id), Some(ms)) => figures.insert(format!("bench, {id}: ms"), ms),
                _ => return Err(format!("bench of {} timed no {variant}", self.program.display()).into()),
            };
        }
        Ok(figures)
    }

    /// Plays `frames` frames in the window.
    fn window(&self, variant: &str, frames: u32) -> Result<Used, Failure> {
        let mut command = self.command();
        command.arg(&self.arguments.movie).args(["--radius", "7", "--variant", variant]);
        command.args(["--frames", &frames.to_string()]).stdout(Stdio::null());
        self.run(command)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.env("XDG_CACHE_HOME", &self.folder).env("POCL_CACHE_DIR", self.folder.join("pocl"));
        // Settings of the user are neither read nor written.
        command.env("CLREEL_SETTINGS", "").stdin(Stdio::null());
        command
    }

    fn run(&self, mut command: Command) -> Result<Used, Failure> {
        if let Some(device) = &self.arguments.device {
            command.args(["--device", device]);
        }
        let log = self.folder.join("stderr");
        let began = Instant::now();
        let child = command.stderr(std::fs::File::create(&log)?).spawn()?;
        let mut status = 0;
        // SAFETY: rusage is plain numbers, for which all bits zero are a value.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to values that outlive the call; the child was not waited for yet.
        if unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut used) } < 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        let (status, wall_s) = (ExitStatus::from_raw(status), began.elapsed().as_secs_f64());
        if !status.success() {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("{} ended with {status}: {said}", self.program.display()).into());
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
        Ok(Used { wall_s, cpu_s, memory_mib: used.ru_maxrss as f64 / 1024.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_is_more_than_noise_in_most_turns() {
        assert!(is_slower(&[(10.0, 11.0), (10.0, 10.9), (9.0, 10.0), (10.0, 10.6), (20.0, 19.0)]));
        assert!(!is_slower(&[(10.0, 10.2), (10.0, 10.1), (9.0, 9.2), (10.0, 10.2), (20.0, 20.2)]), "noise");
        assert!(!is_slower(&[(10.0, 12.0), (10.0, 12.0), (9.0, 12.0), (10.0, 9.0), (20.0, 19.0)]), "3 of 5");
        assert!(!is_slower(&[(10.0, 9.0); 5]));
    }

    #[test]
    fn a_figure_that_a_build_lacks_is_an_error() {
        let figures =
            |list: &[(&str, f64)]| list.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect();
        let [both, one]: [Figures; 2] = [figures(&[("a", 1.0), ("b", 2.0)]), figures(&[("a", 3.0)])];
        assert_eq!(pairs(both.clone(), &both).unwrap().len(), 2);
        let refused =
            |before: &Figures, after: &Figures| pairs(before.clone(), after).unwrap_err().to_string();
        assert!(refused(&both, &one).contains("only the earlier build has the figure 'b'"));
        assert!(refused(&one, &both).contains("only the later build has the figure 'b'"));
        assert!(refused(&Figures::new(), &Figures::new()).contains("no figures"));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let wrong = figures(&[("a", wrong)]);
            assert!(refused(&wrong, &one).contains("'a'") && refused(&one, &wrong).contains("'a'"));
        }
    }

    /// Compares two scripts in place of the builds; `bench` of the later one has no rows.
    #[test]
    fn a_build_without_rows_is_an_error() {
        let folder = std::env::temp_dir().join(format!("clreel-against-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let build = |name: &str, rows: &str| {
            let path = folder.join(name);
            let report = format!(r#"{{"devices":[{{"runs":[{{"variants":[{rows}]}}]}}]}}"#);
            std::fs::write(&path, format!("#!/bin/sh\nif [ $1 = bench ]; then echo '{report}'; fi\n"))
                .unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let row = r#"{"id":"flat","device_ms":{"p50":1.0}}"#;
        let (with, without) = (build("with", row), build("without", ""));
        let arguments = |after: &str| {
            let given =
                ["against", "--before", &with, "--after", after, "--movie", "m.mkv", "--variant", "flat"];
            Arguments::parse_from(given)
        };
        let refused = compare(&arguments(&without)).unwrap_err().to_string();
        assert!(refused.contains("without has 0 rows of 1"), "{refused}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
