//! The results of benchmarks as JSON, schema 2: `bench`, `tune`, the Lab and *Save run* write a [`Report`], and `compare` and
//! the Lab read it.
//!
//! A file may come from another machine or another version, or be damaged: unknown keys are ignored, missing keys make rows not
//! comparable, and texts are escaped when they are printed. Files of schema 1 are converted when they are read ([`schema_1`]).

mod of_runs;
mod schema_1;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::NOT_TIMED;
use super::measure::Measurement;
use super::rows::folder_letter;
use super::why::DevicePeaks;
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::metadata::Metadata;
use base::text::escaped;
use base::timing::noise::Noisy;
use base::timing::{Noise, Precision, Series};
use base::verify::Checked;
use base::{load, save};
use compute::KernelFile;
use compute::sample::Sample;
use compute::work::Transfer;

/// The version of the file format.
const SCHEMA: u32 = 2;
/// The value of the key `kind` in the results that this module reads and writes.
const KIND: &str = "bench";
/// The maximum size of a file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The maximum number of rows in a file; a file with more is refused. The comparison of a row takes some milliseconds.
const MAX_ROWS: usize = 5000;

/// The name of times that the host's clock has measured, as reports show it.
const WALL: &str = "wall time";

/// The results of a benchmark on all devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the file format; 2 in files that this version of clreel writes.
    pub schema: u32,
    /// The kind of results: "bench".
    pub kind: String,
    /// The date of the measurement, the machine, and the version of clreel.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// The ladder's name.
    #[serde(default)]
    pub ladder: String,
    /// The movie whose frames are filtered; `None` for generated data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// Sentences about missing results, if a signal ended the benchmark; else `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// The two folders of kernels that were compared with each other; empty if the benchmark used only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// The results, one entry for each device.
    pub devices: Vec<DeviceReport>,
}

/// The movie that a benchmark has filtered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Input {
    /// The path, as the user gave it.
    pub file: String,
    /// The width of the frames.
    pub width: u32,
    /// The height of the frames.
    pub height: u32,
    /// The number of frames.
    pub frames: usize,
    /// The time of the chosen frame in the movie, in seconds; `None` if none was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
    /// The filters of a stack that have filtered the frames before, the lowest one first; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_filters: Option<String>,
}

/// The results on one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceReport {
    /// The device's properties, as `clreel devices --json` lists them; empty if the benchmark needed no device.
    #[serde(flatten)]
    pub properties: Map<String, Value>,
    /// The measured peaks of the device; `None` if they were not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peaks: Option<DevicePeaks>,
    /// The results on this device, one entry for each case.
    pub runs: Vec<RunReport>,
}

/// The results of a case on one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunReport {
    /// The title of the case, which identifies it within a ladder.
    pub title: String,
    /// The case's parameters.
    pub case: Value,
    /// The name of the case's class: the group of similar cases that share a tuning result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The results of the peak kernels; the first one bounds the speed of all variants. Empty for cases of whole frames, of
    /// type conversions and of the window.
    pub peaks: Vec<RowReport>,
    /// The results of the variants, a row for each.
    pub variants: Vec<RowReport>,
    /// One or two sentences of the ladder on what the times show; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The state of the device's clock as a word: "trusted" if its times are used, "rejected" if wall times replace them, or
    /// "uncalibrated".
    pub clock: Option<String>,
    /// The reason why the times of the device's clock are not used, or were not compared with wall times.
    pub clock_reason: Option<String>,
    /// The speed of the device's clock; `None` if it is unknown.
    pub clock_mhz: Option<ClockReport>,
    /// The reason why the speed of the clock is unknown.
    pub clock_mhz_reason: Option<String>,
}

/// The speed of the device's clock in the timed rounds, in MHz.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockReport {
    /// The mean speed.
    pub mean: f64,
    limit: Option<f64>,
    /// The mean speed in the slowest quarter of the rounds; `None` if there are fewer than four readings of the speed. The next
    /// field is the mean speed in the fastest quarter.
    min_quarter: Option<f64>,
    max_quarter: Option<f64>,
    /// True if the mean speeds of the slowest and the fastest quarter differ by more than 5 %.
    changed: bool,
    /// The reasons why the clock was slowed down; `None` if it was not.
    throttled: Option<String>,
    governor: Option<String>,
}

/// The results of a variant or of a peak kernel at a case: a row of the table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowReport {
    /// The variant's id, or the peak kernel's name.
    pub id: String,
    /// The technology that the variant computes with, such as OpenCL; missing for peak kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The outcome of the row as a word, such as "ok", "mismatch" or "unsupported"; empty if nothing was measured.
    pub outcome: String,
    /// The reason why there are no times, or why they are wall times.
    pub reason: Option<String>,
    /// A description of a row that is not a variant of the ladder: a filter in Rust, or a conversion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Value>,
    /// The kernel file that the variant was built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelFile>,
    /// The parameters with which the kernels were built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// The index of the folder of kernels, if two folders are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<usize>,
    /// The kernels' parameters, which distinguish the rows if several configurations of the variant were timed; else `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// The number of the version of the edited kernels, if several versions were timed; else `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The ratio of the times to those of the first folder's kernels, if two folders are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<RatioReport>,
    /// The variant and parameters that an automatic variant has chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// True if the choice of the automatic variant comes from `clreel tune`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuned: Option<bool>,
    /// The status and the times of the row's configuration in `tune`; `None` for results of other commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<TuningReport>,
    /// The largest error of an element of the output, relative to the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// The largest error of an element that is accepted; missing if the output must equal the reference byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The statistics of the device times.
    pub device_ms: Option<Series>,
    /// The statistics of the times from enqueueing a kernel to its start.
    pub dispatch_ms: Option<Series>,
    /// The statistics of the wall times.
    pub wall_ms: Option<Series>,
    /// The statistics of the times of each stage of a whole frame, by the stage's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stages_ms: BTreeMap<String, Option<Series>>,
    /// The throughput in GB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gb_s: Option<f64>,
    /// The throughput in billions of operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gflop_s: Option<f64>,
    /// The reads, writes and operations of the kernels in a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkReport>,
    /// Sentences that explain the time, if `--why` requested them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Vec<String>>,
    /// The reason why the times are noisy, or false.
    pub noisy: Noisy,
    /// The share of the machine's CPU time that other processes used during the measurement, from 0 to 1; `None` if it is
    /// unknown.
    pub others: Option<f64>,
    /// The times of each run, if they are saved with the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// The comparisons with the reference that the variant has passed; empty if the outcome is not "ok", and for peak kernels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<Checked>,
}

/// The result of measuring one configuration of a variant in `tune`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuningReport {
    /// The status as a word: "kept", "finalist", "ok", "abandoned", "mismatch" or "failed".
    pub status: String,
    /// The time to compile the configuration's kernels, in milliseconds; `None` if they were not compiled in this process.
    pub compile_ms: Option<f64>,
    /// The time of a run in milliseconds: the median of the final runs for the best configurations, which are timed once more
    /// in turn; the minimum for all others.
    pub ms: Option<f64>,
    /// The time of the fastest run of the trial, in milliseconds.
    pub min_ms: Option<f64>,
    /// The median time of the final runs, in milliseconds.
    pub median_ms: Option<f64>,
    /// The speed of the configuration, in percent of the peak kernel's speed.
    pub percent_of_peak: Option<f64>,
}

/// The first of two times divided by the second, with the interval of 99 % confidence. The ratio is above 1 if the second time
/// is shorter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatioReport {
    ratio: f64,
    low: f64,
    high: f64,
    verdict: String,
}

/// The reads, writes and operations of a variant's kernels in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkReport {
    /// The word for an element of the input.
    unit: String,
    reads_per_unit: f64,
    writes_per_unit: f64,
    /// The number of bytes that any implementation must move in a run.
    bytes: u64,
    /// The number of bytes that the variant's kernels read and write in a run, including those that caches provide.
    moved_bytes: u64,
    operations: u64,
    gb_s: Option<f64>,
    gflop_s: Option<f64>,
    /// The rate of the kernels as a share of the device's peak for copying; `None` if the peak was not measured. The next two
    /// fields are the shares of the peaks for reading and for operations.
    copy_share: Option<f64>,
    read_share: Option<f64>,
    operation_share: Option<f64>,
    kernels: Vec<LaunchReport>,
}

/// The reads, writes and operations of one launch of a kernel, its time and its registers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LaunchReport {
    kernel: String,
    reads: Transfer,
    writes: Transfer,
    operations: u64,
    barriers: Option<u64>,
    work_items: u64,
    group_size: u64,
    ms: Option<f64>,
    registers: Option<u64>,
    spilled_bytes: Option<u64>,
}

/// The times of each run of a variant or peak kernel in milliseconds, in the order of the rounds. An element is `None` if the
/// device's driver reported a wrong time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// The device times; `None` if they are not used.
    pub device_ms: Option<Vec<Option<f64>>>,
    /// The times from enqueueing a kernel to its start; `None` if they are not used.
    #[serde(default)]
    pub dispatch_ms: Option<Vec<Option<f64>>>,
    /// The wall times.
    pub wall_ms: Vec<Option<f64>>,
}

impl Samples {
    /// Creates the lists of times from a measurement.
    pub fn of(measured: &Measurement) -> Self {
        // JSON has no NaN.
        let of = |ms: fn(&Sample) -> Option<f64>| {
            measured.samples.iter().map(move |s| ms(s).filter(|ms| ms.is_finite()))
        };
        Self {
            device_ms: measured.device.map(|_| of(|s| s.device_ms).collect()),
            dispatch_ms: measured.dispatch.map(|_| of(|s| s.dispatch_ms).collect()),
            wall_ms: of(|s| Some(s.wall_ms)).collect(),
        }
    }

    /// Returns the times by which variants are compared: device times, or wall times if device times are not used. A missing
    /// time is NaN.
    pub(super) fn times(&self) -> Vec<f64> {
        let times = self.device_ms.as_ref().unwrap_or(&self.wall_ms);
        times.iter().map(|ms| ms.unwrap_or(f64::NAN)).collect()
    }

    /// Returns the times measured by the clock with this name, as [`Samples::clock`] returns it; `None` if that clock was not
    /// used.
    pub(super) fn times_by(&self, clock: &str) -> Option<Vec<f64>> {
        let samples = if clock == WALL { Self { device_ms: None, ..self.clone() } } else { self.clone() };
        let has_times = samples.clock() == clock && samples.times().iter().any(|ms| ms.is_finite());
        has_times.then(|| samples.times())
    }

    /// Returns the name of the clock that measured [`Samples::times`].
    pub(super) fn clock(&self) -> &'static str {
        if self.device_ms.is_none() { WALL } else { "device time" }
    }
}

impl RowReport {
    /// Creates the row of a variant or peak kernel that has not been measured: only its id is set.
    pub fn unknown(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Returns the name of the row in tables.
    pub(super) fn name(&self) -> String {
        let configuration = self.configuration.as_ref().map(|configuration| format!(" {configuration}"));
        let folder = self.folder.map(|folder| format!(" ({})", folder_letter(folder)));
        let version = self.version.map(|version| format!(" (version {version})"));
        [Some(self.id.clone()), configuration, folder, version].into_iter().flatten().collect()
    }

    /// Returns the times by which variants are compared: device times, or wall times if there are none; `None` without times.
    pub fn time(&self) -> Option<Series> {
        self.device_ms.or(self.wall_ms)
    }

    /// Returns the median of the row's times in milliseconds; `None` without times.
    pub fn ms(&self) -> Option<f64> {
        self.time().map(|time| time.p50).filter(|ms| *ms > 0.0)
    }

    /// Returns the noise of the times; `None` if they are not noisy. Tables, comparisons and the window use it for all saved rows.
    pub fn noise(&self) -> Option<Noise> {
        let time = self.time()?;
        let marked = || self.noisy.0.is_some().then(|| Noise::without_reason(&time));
        Noise::of(&time, self.others).or_else(marked)
    }

    /// Returns the precision of the times: the number of digits to show, and true if they are noisy.
    pub fn precision(&self) -> Precision {
        let others = self.noise().map(|_| 1.0);
        self.time().map_or(Precision::from(None), |time| Precision::of(&time, others))
    }

    /// Returns the throughput as a number and its unit, such as GB/s; `None` if it is unknown.
    pub fn rate(&self) -> Option<(f64, &'static str)> {
        let gflop_s = self.gflop_s.map(|rate| (rate, "GFLOP/s"));
        gflop_s.or(self.gb_s.map(|rate| (rate, "GB/s")))
    }

    /// Returns the word that tables show instead of times, such as "failed"; `None` if the row has times or has not been
    /// measured yet.
    pub fn word(&self) -> Option<&str> {
        let is_known =
            !["", "ok"].contains(&self.outcome.as_str()) && self.reason.as_deref() != Some(NOT_TIMED);
        is_known.then_some(&self.outcome)
    }

    /// Returns true if the variant's output differs from the reference, or the variant could not be built or run.
    pub fn is_wrong(&self) -> bool {
        ["mismatch", "failed"].contains(&self.outcome.as_str())
    }
}

impl DeviceReport {
    /// Creates the report on a device without any cases. `device` is `None` if the benchmark needs no device. `sharing` is the
    /// name of the way in which frames get from OpenCL to OpenGL, and the reason for that way.
    pub fn new(device: Option<&DeviceInfo>, sharing: (&str, &str)) -> Self {
        let mut report = Self::default();
        if let Some(Ok(Value::Object(properties))) = device.map(serde_json::to_value) {
            report.properties = properties;
            let sharing = [("sharing", sharing.0), ("sharing_reason", sharing.1)];
            report.properties.extend(sharing.map(|(key, text)| (key.to_owned(), text.into())));
        }
        report
    }

    /// Returns the device's property with this key, such as "name", "platform" or "driver"; empty if it is unknown.
    pub fn text(&self, property: &str) -> &str {
        self.properties.get(property).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Returns the kind of the saved results in a file, which is "bench" for those of this module; `None` if the file has no kind.
///
/// # Errors
/// Returns an error if the file cannot be read, or is no JSON.
pub fn kind_of(path: &Path) -> Result<Option<String>> {
    Ok(read_as::<Format>(path)?.kind)
}

/// The keys of a results file that identify its format.
#[derive(Deserialize)]
struct Format {
    kind: Option<String>,
    schema: Option<Value>,
}

/// Returns true if a file begins like saved results. Reads only its head, so that the files of a folder can be listed.
pub fn begins_like_results(path: &Path) -> bool {
    let mut head = [0; 256];
    // Opening a named pipe would wait.
    let file = path.is_file().then(|| std::fs::File::open(path).ok()).flatten();
    let read = file.and_then(|mut file| file.read(&mut head).ok()).unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..read]);
    let kind = head.split_once("\"kind\"").and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    kind.is_some_and(|kind| kind.trim_start().starts_with(&format!("\"{KIND}\"")))
}

/// Reads a JSON file of saved results into the type `T`; keys that `T` does not have are ignored.
fn read_as<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let read = load::bytes(path, MAX_FILE_BYTES).and_then(|bytes| load::json(&bytes));
    read.map_err(|why| refused(path, why))
}

/// Returns the error for a file that does not contain benchmark results; `why` is the reason.
fn refused(path: &Path, why: impl ToString) -> Error {
    let what = format!("The result '{}' cannot be read.", path.display());
    Error::new(
        what,
        why.to_string(),
        "Choose a file by `clreel bench --save`, or by 'Save run' (Ctrl R) in the window.",
    )
}

impl Report {
    /// Creates an empty report on a benchmark of `ladder`; the caller adds the devices.
    pub fn new(metadata: Metadata, ladder: &str) -> Self {
        Self { schema: SCHEMA, kind: KIND.to_owned(), metadata, ladder: ladder.to_owned(), ..Self::default() }
    }

    /// Reads saved results from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has no benchmark results in this format or in that of schema 1.
    pub fn read(path: &Path) -> Result<Self> {
        let Format { kind, schema } = read_as(path)?;
        if kind.as_deref() != Some(KIND) {
            return Err(refused(path, "It is no saved result of a benchmark."));
        }
        let saved: Self = match schema.as_ref().and_then(Value::as_u64) {
            Some(1) => {
                serde_json::from_value(schema_1::convert(read_as(path)?)).map_err(|why| refused(path, why))?
            }
            Some(2) => read_as(path)?,
            _ => return Err(refused(path, "It has the format of another version.")),
        };
        let runs = saved.devices.iter().flat_map(|device| &device.runs);
        match runs.map(|run| run.peaks.len() + run.variants.len()).sum::<usize>() {
            ..=MAX_ROWS => Ok(saved),
            _ => Err(refused(path, format!("It has more than {MAX_ROWS} rows."))),
        }
    }

    /// Writes the results to a file.
    ///
    /// # Errors
    /// Returns an error if the directory is missing or read-only, or the disk is full.
    pub fn save(&self, path: &Path) -> Result<()> {
        save::atomically(path, |file| {
            serde_json::to_writer(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }

    /// Returns the width, the height and the file name of the movie that was filtered; `None` if the input is not a movie.
    pub(super) fn movie(&self) -> Option<(u32, u32, &OsStr)> {
        let Input { file, width, height, .. } = self.input.as_ref()?;
        Some((*width, *height, Path::new(file).file_name().unwrap_or_default()))
    }

    /// Returns a line that describes the results: the version of clreel, the date, the host, and the device if there is exactly
    /// one.
    pub fn describe(&self) -> String {
        let Metadata { program, date, host } = &self.metadata;
        let mut text = format!("{program}, {date}, {}", host.name);
        if let [device] = self.devices.as_slice()
            && !device.text("name").is_empty()
        {
            text.push_str(&format!(", {}, driver {}", device.text("name"), device.text("driver")));
        }
        escaped(&text).into_owned()
    }
}
