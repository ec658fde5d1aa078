//! `clreel bench`: checks every variant against the reference, then times it. Out: a table or JSON on
//! stdout, progress on stderr.

use std::path::PathBuf;
use std::str::FromStr;

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::cli::devices::{DeviceEntry, print_json, print_line};
use crate::cli::{BenchArgs, exit, working_devices};
use crate::error::Result;
use crate::gpu::cl::{Device, no_device, select_device};
use crate::gpu::sharing::Sharing;
use crate::ladder::box_filter::bench::{
    Input, NativeFault, NativeRun, RadiusRun, require_memory, run_device,
};
use crate::ladder::box_filter::native::Lanes;
use crate::ladder::box_filter::trial::Trials;
use crate::ladder::{Kind, Outcome, VariantId};
use crate::media;
use crate::stats::Series;

/// The most frames that are kept in memory and cycled.
const MAX_FRAMES: usize = 30;

/// The variants to time: a list such as `naive,flat`, or `all`; in the order given, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantList(Vec<VariantId>);

impl FromStr for VariantList {
    type Err = String;

    fn from_str(list: &str) -> std::result::Result<Self, String> {
        if list.trim() == "all" {
            return Ok(Self(filters().collect()));
        }
        let mut variants = Vec::new();
        for name in list.split(',') {
            match filters().find(|id| id.as_str() == name.trim()) {
                Some(id) if variants.contains(&id) => {}
                Some(id) => variants.push(id),
                None => {
                    let names: Vec<_> = filters().map(VariantId::as_str).collect();
                    let names = names.join(", ");
                    return Err(format!("no variant is called '{name}'; choose from {names} or all"));
                }
            }
        }
        Ok(Self(variants))
    }
}

/// Everything that filters, in the order of [`VariantId::ALL`].
fn filters() -> impl Iterator<Item = VariantId> {
    VariantId::ALL.into_iter().filter(|id| id.kind() != Kind::Nothing)
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    input: InputEntry,
    devices: Vec<DeviceRuns>,
}

#[derive(Serialize)]
struct InputEntry {
    file: String,
    width: u32,
    height: u32,
    frames: usize,
}

#[derive(Serialize)]
struct DeviceRuns {
    /// None where there is no OpenCL device, and only what does without was asked for.
    #[serde(flatten)]
    device: Option<DeviceEntry>,
    runs: Vec<RunEntry>,
}

#[derive(Serialize)]
struct RunEntry {
    radius: u32,
    copy_ms: Option<Series>,
    variants: Vec<VariantEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    native: Vec<NativeEntry>,
}

#[derive(Serialize)]
struct NativeEntry {
    threads: usize,
    vectors: bool,
    outcome: &'static str,
    wall_ms: Option<Series>,
}

#[derive(Serialize)]
struct VariantEntry {
    id: &'static str,
    kind: &'static str,
    outcome: &'static str,
    reason: Option<String>,
    /// What `auto` chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    max_abs_diff: Option<u8>,
    device_ms: Option<Series>,
    dispatch_ms: Option<Series>,
    wall_ms: Option<Series>,
}

/// Runs the benchmark; returns the exit code: 3 when a variant differs from the reference, 1 when one
/// failed.
///
/// # Errors
/// When there is no device and a variant needs one, or the movie gives no frame.
pub fn run(args: &BenchArgs) -> Result<u8> {
    let variants = args.variant.0.as_slice();
    let mut radii = Vec::new();
    for &radius in &args.radius {
        if !radii.contains(&radius) {
            radii.push(radius);
        }
    }
    let devices = chosen_devices(args)?;
    let file: PathBuf = match &args.file {
        Some(file) => file.clone(),
        None => media::bundled_clip()?,
    };
    if let Some(size) = args.size {
        // Before much time goes into scaling.
        require_memory(size, variants, args.native)?;
    }
    let clip = media::read_frames_rgba(&file, MAX_FRAMES.min(args.frames as usize), args.size)?;
    if let Some(warning) = &clip.warning {
        eprintln!("clreel: {warning}");
    }
    let input = Input {
        frames: &clip.frames,
        width: clip.width,
        height: clip.height,
        rounds: args.frames,
        native: args.native,
    };

    let steps = devices.len() * radii.len() * (variants.len() + args.frames as usize);
    // Drawn on stderr, and only where that is a terminal.
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let mut trials = Trials::new(args.trial.limit());
    let mut results = Vec::new();
    for device in &devices {
        let mut progress = |what: &str| {
            bar.set_message(what.to_owned());
            bar.inc(1);
        };
        let runs = run_device(device.as_ref(), &input, variants, &radii, &mut trials, &mut progress);
        let runs = runs.unwrap_or_else(|e| {
            let fail = |&id: &VariantId| (id, Outcome::Failed(e.clone()));
            let run = |&radius| RadiusRun {
                radius,
                copy: None,
                variants: variants.iter().map(fail).collect(),
                auto: None,
                native: Vec::new(),
            };
            radii.iter().map(run).collect()
        });
        results.push((device.as_ref(), runs));
    }
    bar.finish_and_clear();

    if args.json {
        let report = Report {
            schema: 1,
            input: InputEntry {
                file: file.display().to_string(),
                width: clip.width,
                height: clip.height,
                frames: clip.frames.len(),
            },
            devices: results.iter().map(|(device, runs)| device_runs(*device, runs)).collect(),
        };
        print_json(&report)?;
    } else {
        for (device, runs) in &results {
            for run in runs {
                let (name, radius) = (device.map_or("without OpenCL", |d| &d.info.name), run.radius);
                let size = format!("{}×{}", clip.width, clip.height);
                print_line(format!(
                    "{name} · {size} · radius {radius} · device time in ms (native: wall time)"
                ))?;
                print_line(table(run))?;
                if run.variants.iter().any(|(id, outcome)| (*id, outcome.word()) == (VariantId::Planar, "ok"))
                {
                    print_line("planar: the same frames as planes of 4:2:0, with its own reference")?;
                }
                for (id, outcome) in &run.variants {
                    if let Some(reason) = reason(outcome) {
                        print_line(format!("{id}: {}. {reason}", outcome.word()))?;
                    }
                }
                print_line("")?;
            }
        }
    }
    let native_differs = |run: &RadiusRun| run.native.iter().any(|n| n.outcome == Err(NativeFault::Differs));
    if results.iter().flat_map(|(_, runs)| runs).any(native_differs) {
        return Ok(exit::MISMATCH);
    }
    Ok(exit_code(results.iter().flat_map(|(_, runs)| runs)))
}

/// The devices to run on; one `None` where there is none and nothing that was asked for needs one.
fn chosen_devices(args: &BenchArgs) -> Result<Vec<Option<Device>>> {
    let devices = working_devices();
    match args.device.as_deref() {
        None if devices.is_empty() && args.variant.0.iter().all(|id| id.kind().is_peer()) => Ok(vec![None]),
        Some("all") if devices.is_empty() => Err(no_device()),
        Some("all") => Ok(devices.into_iter().map(Some).collect()),
        sel => Ok(vec![Some(select_device(&devices, sel)?)]),
    }
}

fn exit_code<'a>(runs: impl Iterator<Item = &'a RadiusRun>) -> u8 {
    let mut code = exit::DONE;
    for (_, outcome) in runs.flat_map(|run| &run.variants) {
        match outcome {
            Outcome::Mismatch(_) => return exit::MISMATCH,
            Outcome::Failed(_) => code = exit::FAILED,
            Outcome::Ok(_) | Outcome::Unsupported(_) | Outcome::Skipped(_) => {}
        }
    }
    code
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

fn device_runs(device: Option<&Device>, runs: &[RadiusRun]) -> DeviceRuns {
    let variant = |(id, outcome): &(VariantId, Outcome), auto: &Option<String>| {
        let times = match outcome {
            Outcome::Ok(m) => Some(m),
            _ => None,
        };
        VariantEntry {
            id: id.as_str(),
            kind: id.kind().as_str(),
            outcome: outcome.word(),
            reason: reason(outcome),
            chosen: auto.clone().filter(|_| *id == VariantId::Auto),
            max_abs_diff: match outcome {
                Outcome::Ok(_) => Some(0),
                Outcome::Mismatch(report) => Some(report.max_abs_diff),
                _ => None,
            },
            // Threads of this process have only the wall clock.
            device_ms: times.filter(|_| id.kind() != Kind::Native).map(|m| m.device),
            dispatch_ms: times.filter(|_| id.kind() == Kind::OpenCl).and_then(|m| m.dispatch),
            wall_ms: times.and_then(|m| m.wall),
        }
    };
    let native = |one: &NativeRun| NativeEntry {
        threads: one.threads,
        vectors: one.lanes == Lanes::Vector,
        outcome: match &one.outcome {
            Ok(_) => "ok",
            Err(NativeFault::Differs) => "mismatch",
            Err(NativeFault::Failed(_)) => "failed",
        },
        wall_ms: one.outcome.as_ref().ok().copied(),
    };
    let run = |run: &RadiusRun| RunEntry {
        radius: run.radius,
        copy_ms: run.copy,
        variants: run.variants.iter().map(|v| variant(v, &run.auto)).collect(),
        native: run.native.iter().map(native).collect(),
    };
    let sharing = Sharing::copy("bench opens no window; `clreel devices` tests sharing");
    DeviceRuns {
        device: device.map(|device| DeviceEntry::new(&device.info, &sharing)),
        runs: runs.iter().map(run).collect(),
    }
}

/// Three significant digits, so that 0.035 and 701 read equally well.
pub(crate) fn number(value: f64) -> String {
    let digits = (2 - value.abs().max(1e-9).log10().floor() as i64).clamp(0, 4) as usize;
    format!("{value:.digits$}")
}

fn table(run: &RadiusRun) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(["variant", "min", "p50", "p95", "n", "fps", "× copy", "speed-up"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let median = |outcome: &Outcome| match outcome {
        Outcome::Ok(m) => Some(m.device.p50),
        _ => None,
    };
    // Compared with naive; where naive has no time, with the slowest that has one.
    let naive = run.variants.iter().find(|(id, _)| *id == VariantId::Naive).and_then(|(_, o)| median(o));
    let slowest = run.variants.iter().filter_map(|(_, o)| median(o)).max_by(f64::total_cmp);
    let base = naive.or(slowest);
    let ratio = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) if b > 0.0 => format!("{}×", number(a / b)),
        _ => String::new(),
    };
    let row = |name: &str, s: &Series, speed_up: String| {
        [
            name.to_owned(),
            number(s.min),
            number(s.p50),
            number(s.p95),
            s.n.to_string(),
            number(1000.0 / s.p50.max(1e-6)),
            ratio(Some(s.p50), run.copy.map(|c| c.p50)),
            speed_up,
        ]
    };
    if let Some(copy) = &run.copy {
        table.add_row(row("(copy)", copy, String::new()));
    }
    for (id, outcome) in &run.variants {
        match outcome {
            Outcome::Ok(m) => {
                let name = match &run.auto {
                    Some(chosen) if *id == VariantId::Auto => &format!("auto: {chosen}"),
                    _ => id.as_str(),
                };
                table.add_row(row(name, &m.device, ratio(base, Some(m.device.p50))));
            }
            other => {
                table.add_row([id.as_str(), other.word(), "", "", "", "", "", ""]);
            }
        }
    }
    for one in &run.native {
        let lanes = if one.lanes == Lanes::Vector { "vectors" } else { "plain" };
        let name = format!("native, {} × {lanes}", one.threads);
        match &one.outcome {
            Ok(series) => table.add_row(row(&name, series, ratio(base, Some(series.p50)))),
            Err(NativeFault::Differs) => table.add_row([name.as_str(), "It differs from the reference."]),
            Err(NativeFault::Failed(why)) => table.add_row([name.as_str(), why]),
        };
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variant_lists() {
        let parse = |list: &str| list.parse::<VariantList>().map(|v| v.0);
        assert_eq!(parse("all").map(|v| v.len()), Ok(VariantId::ALL.len() - 1), "all but `off`");
        assert_eq!(parse("flat, naive,flat"), Ok(vec![VariantId::Flat, VariantId::Naive]));
        assert!(parse("off").is_err());
        assert!(parse("").is_err());
        assert!(parse("naive,fast").unwrap_err().contains("fast"));
    }

    #[test]
    fn a_mismatch_outranks_a_failure() {
        let failed = Outcome::Failed(crate::error::Error::new("no", "", ""));
        let report = crate::ladder::verify::check(&[1, 2, 3, 4], 1, |b| Ok(b.to_vec())).unwrap().unwrap();
        let run = |outcomes: Vec<Outcome>| RadiusRun {
            radius: 1,
            copy: None,
            variants: outcomes.into_iter().map(|o| (VariantId::Flat, o)).collect(),
            auto: None,
            native: Vec::new(),
        };
        let code = |outcomes| exit_code([run(outcomes)].iter());
        assert_eq!(code(vec![Outcome::Skipped("slow".into())]), exit::DONE);
        assert_eq!(code(vec![failed.clone()]), exit::FAILED);
        assert_eq!(code(vec![failed.clone(), Outcome::Mismatch(report), failed]), exit::MISMATCH);
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(
            [number(701.4), number(3.2), number(0.0351), number(12.34)],
            ["701", "3.20", "0.0351", "12.3"]
        );
    }
}
