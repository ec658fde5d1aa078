//! The results of `bench` as JSON, `schema` 1. The box filter has `input`, other ladders have `ladder`; keys of cases,
//! errors and rates differ accordingly. Results that are saved also have the samples of each row, for [`ladder::compare`].

use std::io::Write as _;
use std::path::Path;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::conversions::{Entry, entry};
use super::results::{DeviceResults, Input, Results};
use super::whole_frames;
use super::why::{self, WorkEntry};
use crate::cli::devices::DeviceEntry;
use crate::cli::output::{ClockEntry, print_json};
use base::error::Result;
use base::save;
use base::timing::noise::Noisy;
use base::timing::{Ratio, Series};
use base::verify::Checked;
use engine::sharing::Sharing;
use ladder::Outcome;
use ladder::measure::Measurement;
use ladder::rows::{CaseRun, Row, Throughput};
use ladder::saved::{KernelFile, Metadata, SAMPLES_SUFFIX, SCHEMA, Samples};
use ladder::why::DevicePeaks;

/// The JSON report of `clreel bench`.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    #[serde(flatten)]
    metadata: &'a Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    ladder: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<InputEntry<'a>>,
    /// Sentences about missing results, if a signal ended the benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'a str>,
    /// The folders of kernels, if two are compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    folders: Vec<String>,
    devices: Vec<DeviceReport<'a>>,
}

/// The movie that the benchmark has filtered, in the JSON report.
#[derive(Serialize)]
struct InputEntry<'a> {
    file: &'a str,
    width: u32,
    height: u32,
    frames: usize,
    /// The time of the frame in seconds, with `--at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_s: Option<f64>,
}

/// The results on one device, in the JSON report.
#[derive(Serialize)]
struct DeviceReport<'a> {
    #[serde(flatten)]
    device: Option<DeviceEntry>,
    /// The measured peaks of the device; missing without `--why` and `--roofline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    peaks: Option<DevicePeaks>,
    runs: Vec<RunEntry<'a>>,
    /// The conversions; missing for ladders other than the box filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversions: Option<Vec<Entry<'a>>>,
    /// The times of whole frames; missing without `--whole-frames`.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_frames: Option<Vec<whole_frames::Entry>>,
}

/// A case with the results of its peak kernels and variants, and the results of its device.
struct RunEntry<'a> {
    run: &'a CaseRun,
    device: &'a DeviceResults,
    has_samples: bool,
}

/// The times of the filter in Rust, in the JSON report.
#[derive(Serialize)]
struct NativeEntry<'a> {
    #[serde(flatten)]
    implementation: &'a serde_json::Value,
    outcome: &'static str,
    wall_ms: Option<Series>,
    noisy: Noisy,
    /// The times of each run, if the results are saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Samples>,
}

/// A kernel's or variant's results, in the JSON report.
#[derive(Serialize)]
struct RowEntry<'a> {
    id: &'static str,
    kind: &'static str,
    outcome: &'static str,
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a KernelFile>,
    /// The parameters with which the kernels were built.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a str>,
    /// The index of the folder of kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<usize>,
    /// The kernels' parameters, if several configurations of the variant were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<&'a str>,
    /// The comparison with the kernels of the first folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<RatioEntry>,
    /// The variant and parameters that `auto` has chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<&'a str>,
    /// True if the choice of `auto` comes from `clreel tune`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuned: Option<bool>,
    #[serde(flatten)]
    error: ErrorEntry,
    device_ms: Option<Series>,
    dispatch_ms: Option<Series>,
    wall_ms: Option<Series>,
    #[serde(flatten)]
    rates: Option<Rates>,
    /// Reads, writes and operations of the kernels; `null` if that is not known.
    work: Option<WorkEntry<'a>>,
    /// Sentences on the time; missing without `--why` and `--roofline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<String>>,
    noisy: Noisy,
    /// The part of the machine that other processes used meanwhile, 0 to 1.
    others: Option<f64>,
    /// The times of each run, if the results are saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Samples>,
    /// The comparisons with the reference; empty if the outcome is not `ok`.
    checked: &'a [Checked],
}

/// The ratio of two times with the interval of 99 % confidence, in the JSON report: above 1 if the second one is faster.
#[derive(Serialize)]
struct RatioEntry {
    ratio: f64,
    low: f64,
    high: f64,
    verdict: String,
}

impl RatioEntry {
    fn new(Ratio { low, estimate, high }: Ratio) -> Self {
        let verdict = Ratio { low, estimate, high }.verdict().to_string();
        Self { ratio: estimate, low, high, verdict }
    }
}

/// The largest error of a variant's output, in the JSON report.
#[derive(Serialize)]
#[serde(untagged)]
enum ErrorEntry {
    Frames {
        max_abs_diff: Option<u8>,
    },
    Amounts {
        max_error: Option<f64>,
        /// The largest accepted error of the variant; `null` if results must be equal byte for byte.
        bound: Option<f64>,
    },
}

/// The throughput of a variant, in the JSON report.
#[derive(Serialize)]
struct Rates {
    gb_s: Option<f64>,
    gflop_s: Option<f64>,
}

/// Prints the report; `interrupted` is a sentence about what is missing if a signal ended the benchmark.
pub(super) fn print(results: &Results, interrupted: Option<&str>) -> Result<()> {
    print_json(&report(results, interrupted, false))
}

/// Writes the report with all samples to a file.
pub(super) fn save(results: &Results, path: &Path, interrupted: Option<&str>) -> Result<()> {
    save::atomically(path, |file| {
        serde_json::to_writer(&mut *file, &report(results, interrupted, true))?;
        file.write_all(b"\n")
    })
}

/// Returns the report as a serializable value, with the samples of each row if `has_samples`.
pub(super) fn report<'a>(
    results: &'a Results,
    interrupted: Option<&'a str>,
    has_samples: bool,
) -> impl Serialize + use<'a> {
    let (ladder, input) = match &results.input {
        Input::Generated(ladder) => (Some(*ladder), None),
        Input::Movie { file, size: (width, height), frames, at_s } => {
            (None, Some(InputEntry { file, width: *width, height: *height, frames: *frames, at_s: *at_s }))
        }
    };
    let folders = results.folders.iter().map(base::text::unicode).collect();
    let device = |device| device_report(device, input.is_some(), has_samples);
    let devices = results.devices.iter().map(device).collect();
    Report { schema: SCHEMA, metadata: &results.metadata, ladder, input, interrupted, folders, devices }
}

/// Converts the results on one device to their part of the JSON report.
fn device_report(results: &DeviceResults, is_movie: bool, has_samples: bool) -> DeviceReport<'_> {
    let sharing = Sharing::copy("bench opens no window; `clreel devices` tests sharing");
    DeviceReport {
        device: results.device.as_ref().map(|info| DeviceEntry::new(info, &sharing)),
        peaks: results.peaks,
        runs: results.runs.iter().map(|(_, run)| RunEntry { run, device: results, has_samples }).collect(),
        conversions: is_movie
            .then(|| results.conversions.iter().map(|row| entry(row, has_samples)).collect()),
        whole_frames: results
            .whole_frames
            .as_ref()
            .map(|rows| rows.iter().map(|row| whole_frames::entry(row, has_samples)).collect()),
    }
}

/// Returns the value of the JSON field `noisy` for a measurement.
fn noisy(measured: Option<&Measurement>) -> Noisy {
    Noisy(measured.and_then(Measurement::noise))
}

impl Serialize for RunEntry<'_> {
    /// Writes the fields of the case, followed by the results of its rows.
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let CaseRun { case, peaks: outcomes, rows, remark, clock, clock_speed } = self.run;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("title", &case.title)?;
        match (case.throughput, case.json.as_object()) {
            (Throughput::Frames, Some(fields)) => {
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
            }
            _ => {
                map.serialize_entry("case", &case.json)?;
                map.serialize_entry("limit", case.peaks.first().map_or("", |peak| peak.name))?;
            }
        }
        for (index, (peak, outcome)) in case.peaks.iter().zip(outcomes).enumerate() {
            let measured = outcome.measured();
            let failed = matches!(outcome, Outcome::Failed(_) | Outcome::Mismatch(_));
            if index == 0 || measured.is_some() || failed {
                map.serialize_entry(&format!("{}_ms", peak.key), &measured.map(|m| m.time))?;
                map.serialize_entry(&format!("{}_noisy", peak.key), &noisy(measured))?;
                if let Some(measured) = measured.filter(|_| self.has_samples) {
                    map.serialize_entry(&format!("{}{SAMPLES_SUFFIX}", peak.key), &Samples::of(measured))?;
                }
            }
            if failed {
                map.serialize_entry(&format!("{}_reason", peak.key), &outcome.reason())?;
            }
        }
        let (native, variants): (Vec<&Row>, Vec<&Row>) =
            rows.iter().partition(|row| row.entry.extra.is_some());
        let variants: Vec<_> = variants.into_iter().map(|row| row_entry(self, row)).collect();
        map.serialize_entry("variants", &variants)?;
        let native: Vec<_> =
            native.into_iter().filter_map(|row| native_entry(row, self.has_samples)).collect();
        if !native.is_empty() {
            map.serialize_entry("native", &native)?;
        }
        if let Some(remark) = remark {
            map.serialize_entry("remark", remark)?;
        }
        map.serialize_entry("clock", clock.json_name())?;
        map.serialize_entry("clock_reason", &self.run.clock_note())?;
        map.serialize_entry("clock_mhz", &clock_speed.as_ref().ok().map(ClockEntry::new))?;
        map.serialize_entry("clock_mhz_reason", &clock_speed.as_ref().err())?;
        map.end()
    }
}

/// Converts a row of results to its entry in the JSON report.
fn row_entry<'a>(entry: &RunEntry<'a>, row: &'a Row) -> RowEntry<'a> {
    let RunEntry { run, device, has_samples } = *entry;
    let times = row.outcome.measured();
    let per_ns = |amount: f64| times.map(|m| amount / (m.time.p50 * 1e6)).filter(|rate| rate.is_finite());
    let max_error = match &row.outcome {
        Outcome::Ok(_) => Some(row.accuracy.map_or(0.0, |accuracy| accuracy.max_error)),
        Outcome::Mismatch(report) => Some(report.max_abs_diff),
        _ => None,
    };
    let (error, rates) = match run.case.throughput {
        Throughput::Frames => {
            (ErrorEntry::Frames { max_abs_diff: max_error.map(|error| error.ceil() as u8) }, None)
        }
        Throughput::Work { bytes, operations } => (
            ErrorEntry::Amounts { max_error, bound: row.accuracy.map(|accuracy| accuracy.bound) },
            Some(Rates { gb_s: per_ns(bytes), gflop_s: per_ns(operations).filter(|rate| *rate > 0.0) }),
        ),
    };
    RowEntry {
        id: row.entry.id,
        kind: row.entry.back_end.as_str(),
        outcome: row.outcome.word(),
        reason: row.outcome.reason().or_else(|| run.clock_reason(row)),
        kernel: row.kernel.as_ref(),
        parameters: row.parameters.as_deref(),
        folder: row.folder,
        configuration: row.configuration.as_deref(),
        compared: run.ratio_of_folders(row).map(RatioEntry::new),
        chosen: row.auto_choice.as_ref().map(|chosen| chosen.config.as_str()),
        tuned: row.auto_choice.as_ref().and_then(|chosen| chosen.from_cache),
        error,
        device_ms: times.and_then(|m| m.device),
        dispatch_ms: times.and_then(|m| m.dispatch),
        wall_ms: times.and_then(|m| m.wall),
        rates,
        work: why::entry(row, device.peaks),
        why: why::why(device, row),
        noisy: noisy(times),
        others: times.and_then(|m| m.others),
        samples: times.filter(|_| has_samples).map(Samples::of),
        checked: times.map_or(&[], |_| row.checked.as_slice()),
    }
}

/// Converts the row of a filter in Rust to its entry in the JSON report, with the samples if `has_samples`; `None` for other rows.
fn native_entry(row: &Row, has_samples: bool) -> Option<NativeEntry<'_>> {
    let times = row.outcome.measured();
    Some(NativeEntry {
        implementation: row.entry.extra.as_ref()?,
        outcome: row.outcome.word(),
        wall_ms: times.and_then(|m| m.wall),
        noisy: noisy(times),
        samples: times.filter(|_| has_samples).map(Samples::of),
    })
}
