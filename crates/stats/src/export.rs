//! `--stats FILE`: writes the statistics of a run as CSV or JSON.
//!
//! The file is written completely or not at all.

use std::io::{self, Write};
use std::path::Path;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::columns::{self, Row};
use super::{FrameSample, Recorder, Setting, Stage, settings_json, summary};
use base::device::{ClockState, DeviceInfo};
use base::error::{Error, Result};
use base::metadata::Metadata;
use base::save;
use base::text::escaped;
use base::timing::noise::Noisy;
use base::timing::{Noise, Series};
use box_filter::{Settings, VariantId};
use compute::KernelFile;

/// The kernel source file from which a version of a variant was built, for the metadata of written files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsedKernel {
    /// The variant's id.
    pub variant: VariantId,
    /// The version number of the kernels; 1 if they were not edited.
    pub version: u64,
    /// The path of the source file, with a hash of its text.
    #[serde(flatten)]
    pub kernel: KernelFile,
    /// True if these are the built-in kernels, or edited ones whose output was compared with the reference and is exact.
    pub verified: bool,
}

/// The movie of a run, for the header of the statistics file. The fields are in the order of JSON's keys.
#[derive(Debug, Clone, Serialize)]
pub struct ExportedMovie {
    /// The movie's path as the user gave it.
    pub file: String,
    /// The frame rate according to the container, in frames a second; `None` if the container has none.
    pub fps: Option<f64>,
    /// The height of the picture in pixels.
    pub height: u32,
    /// The width of the picture in pixels.
    pub width: u32,
}

/// Information about the run for the header of the statistics file and of a trace. The fields are in the order of JSON's keys.
#[derive(Debug, Clone, Serialize)]
pub struct ExportContext {
    /// Date, program and machine.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// The kernel files of the variants that have filtered frames.
    pub kernels: Vec<UsedKernel>,
    /// The movie.
    pub movie: ExportedMovie,
    /// The OpenCL device; `None` without one.
    pub device: Option<DeviceInfo>,
    /// The state of the device's clock: whether device times are used, or wall times in their place.
    #[serde(flatten, serialize_with = "serialize_clock")]
    pub clock: ClockState,
    /// The name of OpenGL's renderer.
    pub gl_renderer: String,
    /// "zero-copy" if OpenCL writes into OpenGL's textures, else "copy".
    pub sharing: String,
    /// The reason for copying frames; empty if textures are shared.
    pub sharing_reason: String,
    /// The chosen variant at the end of the run, with the values of its filter's parameters.
    #[serde(flatten, serialize_with = "serialize_filter")]
    pub filter: (VariantId, Settings),
    /// True if frames were presented as fast as they were filtered, instead of at their timestamps.
    pub unpaced: bool,
}

impl ExportContext {
    /// Returns an invented context for tests: a movie of 1280×720 pixels, without a device, and the verified kernel of `naive`.
    #[doc(hidden)]
    pub fn made_up() -> Self {
        Self {
            metadata: Metadata::now("clreel 1"),
            kernels: vec![UsedKernel {
                variant: VariantId::all().find(|id| id.key == '1').unwrap_or(VariantId::OFF),
                version: 1,
                kernel: KernelFile {
                    file: "box_filter/01_naive.cl".to_owned(),
                    hash: "12ab".to_owned(),
                    filter: None,
                },
                verified: true,
            }],
            movie: ExportedMovie {
                file: "clip \"one\".mp4".into(),
                fps: Some(25.0),
                height: 720,
                width: 1280,
            },
            device: None,
            clock: ClockState::Trusted,
            gl_renderer: "renderer".into(),
            sharing: "copy".into(),
            sharing_reason: "no device".into(),
            filter: (VariantId::OFF, 7.into()),
            unpaced: false,
        }
    }
}

/// Writes the statistics of a run to `path`, as CSV or JSON depending on the file's extension.
///
/// A CSV file has lines of metadata, which begin with `#`, and one row for each presented frame. A JSON file has the same rows,
/// preceded by counters and by [`Series`] of the times. [`columns`] defines the columns. Summaries leave out the intervals of
/// frames whose setting has just changed, because they consist mostly of waiting. `settings` has the statistics for each
/// combination of variant, settings of its filter, size, device, second side and version of edited kernels; its `noisy` is the reason why the
/// filter times (for `off` the intervals) are not reliable to the last digit, or false. The file appears under its name only
/// when it is complete.
///
/// # Errors
/// If the extension is neither `.csv` nor `.json`, the directory is missing or read-only, or the disk is full.
pub fn export(path: &Path, recorder: &Recorder, context: &ExportContext) -> Result<()> {
    let write: fn(&mut dyn Write, &Recorder, &ExportContext) -> io::Result<()> =
        match path.extension().and_then(|e| e.to_str()) {
            Some("csv") => write_csv,
            Some("json") => write_json,
            _ => {
                return Err(Error::new(
                    format!("The statistics cannot be written to {}.", path.display()),
                    "The name ends in neither .csv nor .json.",
                    "Choose a name such as stats.csv or stats.json.",
                ));
            }
        };
    save::atomically(path, |out| write(out, recorder, context))
}

/// Writes the metadata of a run as lines of CSV that begin with `#`, and the statistics of the presented frames, a row for each
/// frame. The column of the settings is left out unless a filter of a folder has filtered a frame.
fn write_csv(out: &mut dyn Write, recorder: &Recorder, c: &ExportContext) -> io::Result<()> {
    let Metadata { program, date, host } = &c.metadata;
    let mut facts = vec![
        ("program", program.clone()),
        ("date", date.clone()),
        ("host", format!("{}, {}, {} × {}", host.name, host.system, host.processors, host.processor)),
        ("movie", format!("{}×{} {}", c.movie.width, c.movie.height, c.movie.file)),
    ];
    if let Some(DeviceInfo { name, platform, version, driver, .. }) = &c.device {
        facts.push(("device", format!("{name}, {platform}, {version}, driver {driver}")));
    }
    let clock = c.clock.note().map_or_else(String::new, |note| format!(": {note}"));
    facts.push(("clock", format!("{}{clock}", c.clock.json_name())));
    facts.push(("opengl", format!("{}, {}", c.gl_renderer, c.sharing)));
    for UsedKernel { variant, version, kernel, verified } in &c.kernels {
        let verified = if *verified { "verified" } else { "not verified" };
        let text = format!("{variant} version {version}, {}, {}, {verified}", kernel.file, kernel.hash);
        facts.push(("kernel", text));
    }
    // A name with a line break must not begin a row.
    facts.iter().try_for_each(|(name, text)| writeln!(out, "# {name}: {}", escaped(text)))?;
    let has_settings = recorder.frames().iter().any(|sample| sample.setting.variant.opened().is_some());
    writeln!(out, "{}", columns::csv_header(has_settings))?;
    rows(recorder).try_for_each(|row| writeln!(out, "{}", columns::csv(&row, has_settings)))
}

/// Returns the recorded frames as rows, each with its number, and true if its setting differs from that of the previous frame.
fn rows(recorder: &Recorder) -> impl Iterator<Item = Row<'_>> {
    let frames = (recorder.first_frame()..).zip(recorder.frames_and_switches());
    frames.map(|(frame, (sample, switched))| Row { frame, sample, switched })
}

/// Writes the statistics of the run as a JSON document. Its rows are written straight from the recorder, without a second copy of a
/// long run.
fn write_json(out: &mut dyn Write, r: &Recorder, context: &ExportContext) -> io::Result<()> {
    let frames: Vec<_> = r.frames_and_switches().collect();
    let document = Document {
        schema: 1,
        kind: "stats",
        context,
        presented: r.presented,
        late: r.late,
        dropped: r.dropped,
        rows_forgotten: r.forgotten,
        repaint_ms: r.repaint_interval(),
        times: Times::of(&frames),
        settings: settings(&frames),
        frames: r,
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}

/// The JSON document of `--stats`.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    kind: &'static str,
    #[serde(flatten)]
    context: &'a ExportContext,
    presented: u64,
    late: u64,
    dropped: u64,
    rows_forgotten: u64,
    repaint_ms: Option<Series>,
    #[serde(flatten)]
    times: Times,
    settings: Vec<Value>,
    #[serde(serialize_with = "serialize_rows")]
    frames: &'a Recorder,
}

/// The statistics of the frames' times, for the JSON document.
#[derive(Serialize)]
struct Times {
    interval_ms: Option<Series>,
    stages: Map<String, Value>,
    filter_wall_ms: Option<Series>,
}

impl Times {
    /// Computes the statistics. Intervals of frames whose setting has just changed do not count, because they consist mostly of
    /// waiting.
    fn of(frames: &[(&FrameSample, bool)]) -> Self {
        let series = |pick: &dyn Fn(&FrameSample) -> Option<f64>| {
            Series::of(&frames.iter().filter_map(|(sample, _)| pick(sample)).collect::<Vec<_>>())
        };
        let steady = frames.iter().filter(|(_, switched)| !switched);
        let intervals: Vec<_> = steady.filter_map(|(sample, _)| sample.interval_ms).collect();
        let stage = |stage: Stage| (stage.name().to_owned(), json!(series(&|s| Some(s.stage(stage)))));
        Self {
            interval_ms: Series::of(&intervals),
            stages: Stage::ALL.into_iter().map(stage).collect(),
            filter_wall_ms: series(&FrameSample::filter_wall_ms),
        }
    }
}

/// Writes the name of the clock's state, and its reason.
fn serialize_clock<S: Serializer>(clock: &ClockState, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("clock", clock.json_name())?;
    map.serialize_entry("clock_reason", &clock.note())?;
    map.end()
}

/// Writes the variant's id and the settings of its filter. Those of the filter of a folder have a key of their own, since the
/// document's `settings` are the statistics for each setting.
fn serialize_filter<S: Serializer>(
    (variant, settings): &(VariantId, Settings),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (key, value) = settings_json(*variant, *settings);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("variant", variant)?;
    map.serialize_entry(if value.is_object() { "variant_settings" } else { key }, &value)?;
    map.end()
}

/// Writes one row for each frame that the recorder has kept.
fn serialize_rows<S: Serializer>(recorder: &&Recorder, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows(recorder).map(|row| columns::json(&row)))
}

/// Returns the statistics of the frames with each [`Setting`], in the order in which the settings first occurred.
fn settings(frames: &[(&FrameSample, bool)]) -> Vec<Value> {
    let mut settings: Vec<(Setting, Vec<(&FrameSample, bool)>)> = Vec::new();
    for frame in frames {
        match settings.iter_mut().find(|(of, _)| *of == frame.0.setting) {
            Some((_, frames)) => frames.push(*frame),
            None => settings.push((frame.0.setting, vec![*frame])),
        }
    }
    settings.iter().map(|(of, frames)| setting_row(of, frames)).collect()
}

/// Returns the statistics of the frames that were filtered with one setting.
fn setting_row(of: &Setting, frames: &[(&FrameSample, bool)]) -> Value {
    let Times { interval_ms, stages, filter_wall_ms } = Times::of(frames);
    let filter = || {
        let stage = frames.iter().map(|(sample, _)| sample.stage(Stage::Filter)).collect::<Vec<_>>();
        filter_wall_ms.or(Series::of(&stage))
    };
    // Without a filter, the times that can be noisy are the frames' intervals.
    let measured = if of.variant == VariantId::OFF { interval_ms } else { filter() };
    let others = summary::mean_others_share(frames.iter().map(|(sample, _)| *sample));
    let noise = measured.and_then(|measured| Noise::of(&measured, others));
    let (key, value) = settings_json(of.variant, of.settings);
    json!({
        "variant": of.variant.name,
        key: value,
        "width": of.size.0,
        "height": of.size.1,
        "device_changes": of.device,
        "beside": of.second_side_text(),
        "stack_filters": of.stack_text(),
        "compared": of.is_compared(),
        "presented": frames.len(),
        "interval_ms": interval_ms,
        "stages": stages,
        "filter_wall_ms": filter_wall_ms,
        "noisy": Noisy::from(noise),
        "version": of.version,
        "beside_version": of.beside_version,
    })
}
