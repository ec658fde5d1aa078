//! Saved results of benchmarks as JSON. `clreel bench` writes them ([`Metadata`], [`Samples`]), and [`compare`](super::compare)
//! reads them ([`Saved`]).
//!
//! A file may come from another machine or another version, or be damaged: unknown keys are ignored, missing ones make rows not
//! comparable, and texts are escaped when they are printed.

use std::ffi::OsStr;
use std::path::Path;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::measure::{Measurement, Sample};
use base::date;
use base::error::{Error, Result};
use base::load;
use base::text::escaped;

/// The version of the file format.
pub const SCHEMA: u32 = 1;
/// The kind of saved results that benchmarks write.
pub const KIND: &str = "bench";
/// The maximum size of a file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The maximum number of rows that are read: a comparison of each takes some milliseconds.
const MAX_ROWS: usize = 5000;
/// The suffix of the keys under which a run has the samples of its peak kernels.
pub const SAMPLES_SUFFIX: &str = "_samples";

/// The name of the host's clock.
const WALL: &str = "wall time";

/// When, where and by which program results were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The kind of results: [`KIND`].
    pub kind: String,
    /// The program and its version.
    pub program: String,
    /// The date and time in UTC, as in RFC 3339.
    pub date: String,
    /// The machine.
    pub host: Host,
}

/// The machine on which results were measured; texts are empty if they are unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// The name in the network.
    pub name: String,
    /// The operating system's kernel and its version.
    pub system: String,
    /// The processor's name.
    pub processor: String,
    /// The number of logical processors that this process may use.
    pub processors: usize,
}

impl Host {
    /// Returns the machine that this process runs on.
    fn here() -> Self {
        let line = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let cpus = line("/proc/cpuinfo");
        let name = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Self {
            name: line("/proc/sys/kernel/hostname"),
            system: format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")),
            processor: name.map(|(_, name)| name.trim().to_owned()).unwrap_or_default(),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
        }
    }
}

impl Metadata {
    /// Returns the metadata of results that `program` measures here and now.
    pub fn now(program: &str) -> Self {
        let (kind, program) = (KIND.to_owned(), program.to_owned());
        Self { kind, program, date: date::utc(SystemTime::now()), host: Host::here() }
    }
}

/// The times of each run of a variant or peak kernel, in the order of the rounds, in milliseconds. A time that the device's driver
/// reports wrongly is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Device times; `None` if they are not used.
    pub device_ms: Option<Vec<Option<f64>>>,
    /// Times from enqueueing to the start; `None` if they are not used.
    #[serde(default)]
    pub dispatch_ms: Option<Vec<Option<f64>>>,
    /// Wall times.
    pub wall_ms: Vec<Option<f64>>,
}

impl Samples {
    /// Returns the samples of a measurement.
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

    /// Returns the times by which variants are compared, NaN for those that are missing: device times, or wall times if device times
    /// are not used.
    pub(super) fn times(&self) -> Vec<f64> {
        let times = self.device_ms.as_ref().unwrap_or(&self.wall_ms);
        times.iter().map(|ms| ms.unwrap_or(f64::NAN)).collect()
    }

    /// Returns the times by the clock with this name, as [`Samples::clock`] gives it; `None` if there are none.
    pub(super) fn times_by(&self, clock: &str) -> Option<Vec<f64>> {
        let samples = if clock == WALL { Self { device_ms: None, ..self.clone() } } else { self.clone() };
        let has_times = samples.clock() == clock && samples.times().iter().any(|ms| ms.is_finite());
        has_times.then(|| samples.times())
    }

    /// Returns the name of the clock of [`Samples::times`].
    pub(super) fn clock(&self) -> &'static str {
        if self.is_by_wall() { WALL } else { "device time" }
    }

    /// Returns true if [`Samples::times`] are wall times.
    pub(super) fn is_by_wall(&self) -> bool {
        self.device_ms.is_none()
    }
}

/// The kernel file of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelFile {
    /// The path below `kernels/`.
    pub file: String,
    /// A hash of the text, with all includes.
    pub hash: String,
}

/// Saved results that were read from a file.
#[derive(Debug, Clone, Deserialize)]
pub struct Saved {
    schema: u32,
    /// When, where and by which program they were measured.
    #[serde(flatten)]
    pub metadata: Metadata,
    ladder: Option<String>,
    input: Option<Input>,
    devices: Vec<SavedDevice>,
}

/// The input of a benchmark, if it is no generated data.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Input {
    file: String,
    width: u32,
    height: u32,
}

/// The saved results of a device. Without a device all texts are empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SavedDevice {
    pub name: String,
    pub platform: String,
    pub version: String,
    pub driver: String,
    /// The kind of device, such as "cpu".
    #[serde(rename = "type")]
    pub kind: String,
    pub runs: Vec<SavedCase>,
    conversions: Vec<SavedConversion>,
    whole_frames: Vec<SavedFrame>,
}

/// The saved results of a case.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SavedCase {
    /// The title, which identifies the case.
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub variants: Vec<SavedRow>,
    pub clock_mhz: Option<SavedClock>,
    #[serde(default)]
    native: Vec<SavedNative>,
    /// The control of a case without peak kernels of its own.
    #[serde(skip)]
    control: Option<Samples>,
    /// All other keys: among them the samples of peak kernels.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The saved speed of a device's clock.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SavedClock {
    /// The mean in MHz.
    pub mean: f64,
}

/// The saved results of a filter in Rust.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SavedNative {
    threads: u32,
    vectors: bool,
    #[serde(flatten)]
    row: SavedRow,
}

/// The saved results of a conversion.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SavedConversion {
    id: String,
    to: String,
    corrected: bool,
    outcome: String,
    reason: Option<String>,
    samples: Option<Samples>,
    noisy: Value,
    others: Option<f64>,
}

/// The saved times of a variant's whole frames.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SavedFrame {
    title: String,
    #[serde(flatten)]
    row: SavedRow,
}

/// The saved results of a variant.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SavedRow {
    pub id: String,
    /// The index of the folder of kernels, if several were compared.
    pub folder: Option<usize>,
    /// The parameters, if several configurations of the variant were tried.
    pub configuration: Option<String>,
    /// The version of the edited kernels, if there are times of several.
    pub version: Option<u64>,
    pub outcome: String,
    pub reason: Option<String>,
    pub samples: Option<Samples>,
    pub kernel: Option<KernelFile>,
    pub checked: Vec<Value>,
    /// False, or a sentence.
    pub noisy: Value,
    /// The part of the machine that other processes used, 0 to 1, if it is known.
    pub others: Option<f64>,
}

impl From<SavedNative> for SavedRow {
    fn from(SavedNative { threads, vectors, row }: SavedNative) -> Self {
        let id = format!("native, {threads} × {}", if vectors { "vectors" } else { "plain" });
        Self { id, ..row }.with_verification()
    }
}

impl From<SavedConversion> for SavedRow {
    fn from(row: SavedConversion) -> Self {
        // Its `kernel` is a path, unlike a variant's.
        let SavedConversion { id, to, corrected, outcome, reason, samples, noisy, others } = row;
        let id = format!("{id} to {to}{}", if corrected { ", corrected" } else { "" });
        Self { id, outcome, reason, samples, noisy, others, ..Self::default() }.with_verification()
    }
}

impl SavedRow {
    /// Returns the row with an output that counts as compared with the reference: `bench` times conversions, whole frames and
    /// filters in Rust only if it has compared their output.
    fn with_verification(self) -> Self {
        Self { checked: vec![Value::Bool(true)], ..self }
    }

    /// Returns the name in tables.
    pub(super) fn name(&self) -> String {
        let configuration = self.configuration.as_ref().map(|configuration| format!(" {configuration}"));
        let folder = self.folder.map(|folder| format!(" ({})", folder_letter(folder)));
        let version = self.version.map(|version| format!(" (version {version})"));
        [Some(self.id.clone()), configuration, folder, version].into_iter().flatten().collect()
    }
}

/// Returns the letter that stands for a folder of kernels, by its index: A for the first one.
pub fn folder_letter(index: usize) -> char {
    char::from(b'A' + index.min(25) as u8)
}

impl SavedDevice {
    /// Returns the number of rows and peak kernels.
    fn row_count(&self) -> usize {
        let in_case = |case: &SavedCase| case.variants.len() + case.native.len() + case.others.len();
        self.runs.iter().map(in_case).sum::<usize>() + self.conversions.len() + self.whole_frames.len()
    }

    /// Adds the filters in Rust to the rows of their cases, and cases for the conversions and the whole frames. Their control is the
    /// peak kernel of the first case.
    fn add_cases(&mut self) {
        let control = self.runs.first().and_then(|case| case.peaks().next().map(|(_, peak)| peak));
        for case in &mut self.runs {
            case.variants.extend(std::mem::take(&mut case.native).into_iter().map(SavedRow::from));
        }
        let clock_mhz = self.runs.first().and_then(|case| case.clock_mhz.clone());
        let case = |title: String, variants: Vec<SavedRow>| SavedCase {
            title,
            variants,
            clock_mhz: clock_mhz.clone(),
            native: Vec::new(),
            control: control.clone(),
            others: Map::new(),
        };
        let rows: Vec<SavedRow> =
            std::mem::take(&mut self.conversions).into_iter().map(SavedRow::from).collect();
        let frames = std::mem::take(&mut self.whole_frames);
        let mut titles: Vec<&str> = frames.iter().map(|frame| frame.title.as_str()).collect();
        titles.dedup();
        let mut added = Vec::new();
        for title in titles {
            let own = frames.iter().filter(|frame| frame.title == title);
            let rows = own.map(|frame| frame.row.clone().with_verification()).collect();
            added.push(case(title.to_owned(), rows));
        }
        if !rows.is_empty() {
            added.push(case("conversions".to_owned(), rows));
        }
        self.runs.extend(added);
    }
}

impl SavedCase {
    /// Returns the samples of the kernel whose work is the same in each run, by which changes of the machine are judged.
    pub(super) fn control(&self) -> Option<Samples> {
        self.control.clone().or_else(|| self.peaks().next().map(|(_, samples)| samples))
    }

    /// Returns the names and samples of the case's peak kernels, the one that moves the same bytes first: its name is the shortest.
    pub(super) fn peaks(&self) -> impl Iterator<Item = (&str, Samples)> {
        let mut names: Vec<&str> =
            self.others.keys().filter_map(|key| key.strip_suffix(SAMPLES_SUFFIX)).collect();
        names.sort_by_key(|name| name.len());
        names.into_iter().filter_map(|name| Some((name, self.peak(name)?)))
    }

    /// Returns the samples of the peak kernel with this name.
    pub(super) fn peak(&self, name: &str) -> Option<Samples> {
        Samples::deserialize(self.others.get(&format!("{name}{SAMPLES_SUFFIX}"))?).ok()
    }
}

/// Returns the kind of a saved result, such as [`KIND`]; `None` if it has none.
///
/// # Errors
/// Returns an error if the file cannot be read, or is no JSON.
pub fn kind_of(path: &Path) -> Result<Option<String>> {
    /// The only key that is read.
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<String>,
    }
    Ok(read_as::<Kind>(path)?.kind)
}

/// Reads a saved result as a type of the keys that are wanted.
fn read_as<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let what = || format!("The result '{}' cannot be read.", path.display());
    let bytes = load::bytes(path, MAX_FILE_BYTES).map_err(|why| Error::new(what(), why.to_string(), HINT))?;
    load::json(&bytes).map_err(|why| Error::new(what(), why.to_string(), HINT))
}

/// The suggestion to the user if a file is no saved result.
const HINT: &str = "Choose a file that `clreel bench --save` wrote.";

impl Saved {
    /// Reads saved results from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has no results of a benchmark in this format.
    pub fn read(path: &Path) -> Result<Self> {
        let refused =
            |why: &str| Error::new(format!("The result '{}' cannot be read.", path.display()), why, HINT);
        if kind_of(path)?.as_deref() != Some(KIND) {
            return Err(refused("It is no saved result of a benchmark."));
        }
        let mut saved: Self = read_as(path)?;
        // Counted before the rows are grouped, which takes too long for millions of them.
        let rows: usize = saved.devices.iter().map(SavedDevice::row_count).sum();
        match (saved.schema, rows) {
            (SCHEMA, ..=MAX_ROWS) => {
                saved.devices.iter_mut().for_each(SavedDevice::add_cases);
                Ok(saved)
            }
            (SCHEMA, _) => Err(refused(&format!("It has more than {MAX_ROWS} rows."))),
            _ => Err(refused("It has the format of another version.")),
        }
    }

    /// Returns the devices.
    pub(super) fn devices(&self) -> &[SavedDevice] {
        &self.devices
    }

    /// Returns the name of the ladder, and the size and the name of its input, if it has one.
    pub(super) fn work(&self) -> (&str, Option<(u32, u32, &OsStr)>) {
        let input = self
            .input
            .as_ref()
            .map(|input| (input.width, input.height, Path::new(&input.file).file_name().unwrap_or_default()));
        (self.ladder.as_deref().unwrap_or_default(), input)
    }

    /// Describes the results in a line: the program, date and host, and the device if there is one.
    pub fn describe(&self) -> String {
        let Metadata { program, date, host, .. } = &self.metadata;
        let mut text = format!("{program}, {date}, {}", host.name);
        if let [SavedDevice { name, driver, .. }] = self.devices.as_slice()
            && !name.is_empty()
        {
            text.push_str(&format!(", {name}, driver {driver}"));
        }
        escaped(&text).into_owned()
    }
}
