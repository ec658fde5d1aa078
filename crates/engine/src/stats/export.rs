//! `--stats FILE`: writes the statistics of a run as CSV or JSON.
//!
//! The file is written completely or not at all.

use std::io::{self, Write};
use std::path::Path;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{
    ClothTimes, FrameSample, GlTimes, Recorder, SecondSetting, Setting, Stage, UsedKernel, recorder,
};
use base::error::{Error, Result};
use base::save;
use base::text::escaped;
use base::timing::noise::Noisy;
use base::timing::{Noise, Series};
use box_filter::VariantId;
use ladder::saved::Metadata;
use opencl::cl::DeviceInfo;
use opencl::clock::ClockState;

/// Information about the run for the header of the statistics file.
#[derive(Debug, Clone)]
pub struct ExportContext {
    /// Date, program and machine.
    pub metadata: Metadata,
    /// The kernel files of the variants that have filtered frames.
    pub kernels: Vec<UsedKernel>,
    /// The movie's path as the user gave it.
    pub movie: String,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The frame rate according to the container, in frames a second, if it has one.
    pub fps: Option<f64>,
    /// The OpenCL device, if there is one.
    pub device: Option<DeviceInfo>,
    /// How far the device's times are used.
    pub clock: ClockState,
    /// The name of OpenGL's renderer.
    pub gl_renderer: String,
    /// "zero-copy" if OpenCL writes into OpenGL's textures, else "copy".
    pub sharing: String,
    /// Why frames are copied; empty if they are not.
    pub sharing_reason: String,
    /// The chosen variant at the end of the run.
    pub variant: VariantId,
    /// The chosen radius at the end of the run, in pixels.
    pub radius: u32,
    /// Frames were presented as fast as they were filtered, instead of at their timestamps.
    pub unpaced: bool,
}

/// Writes the statistics of a run to `path`, as CSV or JSON depending on the file's extension.
///
/// A CSV file has lines of metadata, which begin with `#`, and one row for each presented frame. A JSON file has the same rows, preceded by counters and by [`Series`] of the times.
/// Times are in seconds if the name ends in `_s`, else in milliseconds. A value that was not measured is empty, or null in JSON. `pack` is
/// the time of packing on the decoder's thread, and `gl_…` are the device times of OpenGL. `filter_wall` is the filter's wall time, if no
/// device time is available; `filter` is then empty. `others` is the share of the machine's CPU time that other processes used lately, up
/// to 1. An interval is the time since the previous frame was presented. If `switched` is true, the previous frame had another setting; most
/// of the interval may have been waiting, so the summaries of intervals leave it out. `beside` is the filter of the second side of a wipe,
/// and `compared` says whether the two sides were compared; their times are only in `wipe` and `difference`, and the time of the second
/// side's filter is in `beside_filter`. `settings` has the statistics for each combination of variant, radius, size, device, second side
/// and version of edited kernels; its `noisy` says why the filter times (for `off` the intervals) are not reliable to the last digit, or
/// is false. `cloth` has the times of the newest frame of the crowd of figures since the previous row: device times, except for `copy` and
/// for the steps in `on_host`, which have the host's. `version` is the version of the variant's kernels, 1 if they were not edited, and
/// `beside_version` is that of the second side. The file appears under its name only when it is complete.
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

/// Writes the metadata of a run as lines of CSV that begin with `#`.
fn write_comments(out: &mut dyn Write, c: &ExportContext) -> io::Result<()> {
    let Metadata { program, date, host, .. } = &c.metadata;
    let mut facts = vec![
        ("program", program.clone()),
        ("date", date.clone()),
        ("host", format!("{}, {}, {} × {}", host.name, host.system, host.processors, host.processor)),
        ("movie", format!("{}×{} {}", c.width, c.height, c.movie)),
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
    facts.iter().try_for_each(|(name, text)| writeln!(out, "# {name}: {}", escaped(text)))
}

/// Writes the statistics of the presented frames as CSV, a row for each frame.
fn write_csv(out: &mut dyn Write, recorder: &Recorder, context: &ExportContext) -> io::Result<()> {
    write_comments(out, context)?;
    write!(out, "frame,pts_s,presented_at_s,interval_ms,variant,radius,late,dropped_before")?;
    for stage in Stage::ALL {
        write!(out, ",{}", stage.name())?;
    }
    write!(out, ",pack")?;
    for (name, _) in GlTimes::default().named() {
        write!(out, ",{name}")?;
    }
    write!(out, ",width,height,switched,filter_wall,others,beside,compared,beside_filter,cloth_figures")?;
    for name in ClothTimes::NAMES {
        write!(out, ",cloth_{name}")?;
    }
    writeln!(out, ",cloth_on_host,cloth_handovers,version,beside_version,sound_lag")?;
    for (frame, (s, switched)) in (recorder.first_frame()..).zip(recorder.frames_and_switches()) {
        write!(out, "{frame},{:.6},{:.6},", s.pts, s.presented_at)?;
        if let Some(interval) = s.interval_ms {
            write!(out, "{interval:.4}")?;
        }
        write!(out, ",{},{},{},{}", s.variant, s.radius, s.late, s.dropped_before)?;
        let beside = [s.pack_ms].into_iter().chain(s.gl.named().map(|(_, ms)| ms));
        for ms in Stage::ALL.map(|stage| if_finite(s.stage(stage))).into_iter().chain(beside) {
            write_cell(out, ms)?;
        }
        write!(out, ",{},{},{switched}", s.size.0, s.size.1)?;
        for value in [s.filter_wall_ms(), s.others] {
            write_cell(out, value)?;
        }
        let beside = s.setting().second_side_text().unwrap_or_default();
        write!(out, ",{beside},{}", is_compared(s.beside))?;
        write_cell(out, s.beside_filter_ms)?;
        write!(out, ",")?;
        if let Some(cloth) = &s.cloth {
            write!(out, "{}", cloth.figures)?;
        }
        for (at, _) in ClothTimes::NAMES.iter().enumerate() {
            write_cell(out, s.cloth.as_ref().and_then(|cloth| if_finite(*cloth.ms.get(at)?)))?;
        }
        let on_host: Vec<_> = s.cloth.iter().flat_map(|cloth| cloth.steps_on_host()).collect();
        write!(out, ",{},", on_host.join(" "))?;
        if let Some(cloth) = &s.cloth {
            write!(out, "{}", cloth.handovers)?;
        }
        write!(out, ",{},", s.versions.first)?;
        if s.beside.is_some() {
            write!(out, "{}", s.versions.beside)?;
        }
        write_cell(out, s.sound_lag_ms)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the next cell of a CSV row; empty without a value.
fn write_cell(out: &mut dyn Write, value: Option<f64>) -> io::Result<()> {
    match value {
        Some(value) => write!(out, ",{value:.4}"),
        None => write!(out, ","),
    }
}

/// Writes the statistics of the run as a JSON document.
fn write_json(out: &mut dyn Write, recorder: &Recorder, context: &ExportContext) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document { recorder, context })?;
    writeln!(out)
}

/// The JSON document. Its rows are written straight from the recorder, without a second copy of a long run.
struct Document<'a> {
    recorder: &'a Recorder,
    context: &'a ExportContext,
}

impl Serialize for Document<'_> {
    /// Writes the fields of the document in their documented order.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (r, c) = (self.recorder, self.context);
        let series = |pick: &dyn Fn(&FrameSample) -> Option<f64>| {
            Series::of(&r.frames().iter().filter_map(pick).collect::<Vec<_>>())
        };
        let intervals: Vec<_> = r.frames_and_switches().filter_map(steady_interval).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &1)?;
        let Metadata { program, date, host, .. } = &c.metadata;
        map.serialize_entry("kind", "stats")?;
        map.serialize_entry("program", program)?;
        map.serialize_entry("date", date)?;
        map.serialize_entry("host", host)?;
        map.serialize_entry("kernels", &c.kernels)?;
        map.serialize_entry(
            "movie",
            &serde_json::json!({"file": c.movie, "width": c.width, "height": c.height, "fps": c.fps}),
        )?;
        map.serialize_entry("device", &c.device)?;
        map.serialize_entry("clock", c.clock.json_name())?;
        map.serialize_entry("clock_reason", &c.clock.note())?;
        map.serialize_entry("gl_renderer", &c.gl_renderer)?;
        map.serialize_entry("sharing", &c.sharing)?;
        map.serialize_entry("sharing_reason", &c.sharing_reason)?;
        map.serialize_entry("variant", c.variant.as_str())?;
        map.serialize_entry("radius", &c.radius)?;
        map.serialize_entry("unpaced", &c.unpaced)?;
        map.serialize_entry("presented", &r.presented())?;
        map.serialize_entry("late", &r.late())?;
        map.serialize_entry("dropped", &r.dropped())?;
        map.serialize_entry("rows_forgotten", &r.dropped_samples())?;
        map.serialize_entry("repaint_ms", &r.repaint_interval())?;
        map.serialize_entry("interval_ms", &Series::of(&intervals))?;
        map.serialize_entry("stages", &StageSeries(&|stage| series(&|s| Some(s.stage(stage)))))?;
        map.serialize_entry("filter_wall_ms", &series(&FrameSample::filter_wall_ms))?;
        map.serialize_entry("settings", &Settings(r))?;
        map.serialize_entry("frames", &Rows(r))?;
        map.end()
    }
}

/// A JSON object with the [`Series`] of the times of each stage, in the order of the stages.
struct StageSeries<'a>(&'a dyn Fn(Stage) -> Option<Series>);

impl Serialize for StageSeries<'_> {
    /// Writes the stages' names and series as an object.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(Stage::ALL.iter().map(|stage| (stage.name(), (self.0)(*stage))))
    }
}

/// The JSON list of the presented frames' rows.
struct Rows<'a>(&'a Recorder);

impl Serialize for Rows<'_> {
    /// Writes a [`Row`] for each frame that was kept.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let frames = (self.0.first_frame()..).zip(self.0.frames_and_switches());
        serializer.collect_seq(frames.map(|(frame, (sample, switched))| Row { frame, sample, switched }))
    }
}

/// The JSON object of one presented frame.
struct Row<'a> {
    frame: u64,
    sample: &'a FrameSample,
    switched: bool,
}

impl Serialize for Row<'_> {
    /// Writes the times and facts of the frame.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let s = self.sample;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("frame", &self.frame)?;
        map.serialize_entry("pts_s", &round(s.pts, 1e6))?;
        map.serialize_entry("presented_at_s", &round(s.presented_at, 1e6))?;
        map.serialize_entry("interval_ms", &s.interval_ms.map(|ms| round(ms, 1e4)))?;
        map.serialize_entry("variant", s.variant.as_str())?;
        map.serialize_entry("radius", &s.radius)?;
        map.serialize_entry("late", &s.late)?;
        map.serialize_entry("dropped_before", &s.dropped_before)?;
        for stage in Stage::ALL {
            map.serialize_entry(stage.name(), &if_finite(s.stage(stage)).map(|ms| round(ms, 1e4)))?;
        }
        for (name, ms) in [("pack", s.pack_ms)].into_iter().chain(s.gl.named()) {
            map.serialize_entry(name, &ms.map(|ms| round(ms, 1e4)))?;
        }
        map.serialize_entry("width", &s.size.0)?;
        map.serialize_entry("height", &s.size.1)?;
        map.serialize_entry("switched", &self.switched)?;
        map.serialize_entry("filter_wall", &s.filter_wall_ms().map(|ms| round(ms, 1e4)))?;
        map.serialize_entry("others", &s.others.map(|part| round(part, 1e4)))?;
        map.serialize_entry("beside", &s.setting().second_side_text())?;
        map.serialize_entry("compared", &is_compared(s.beside))?;
        map.serialize_entry("beside_filter", &s.beside_filter_ms.map(|ms| round(ms, 1e4)))?;
        map.serialize_entry("cloth", &s.cloth.as_deref().map(ClothRow))?;
        map.serialize_entry("version", &s.versions.first)?;
        map.serialize_entry("beside_version", &s.beside.map(|_| s.versions.beside))?;
        map.serialize_entry("sound_lag", &s.sound_lag_ms.map(|ms| round(ms, 1e4)))?;
        map.end()
    }
}

/// The JSON object `cloth` in the row of a frame: the times of the newest rendered frame of the crowd of figures (the cloth simulation).
struct ClothRow<'a>(&'a ClothTimes);

impl Serialize for ClothRow<'_> {
    /// Writes the number of figures, the times, and where the steps ran.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("figures", &self.0.figures)?;
        for (name, ms) in ClothTimes::NAMES.iter().zip(self.0.ms) {
            map.serialize_entry(name, &if_finite(ms).map(|ms| round(ms, 1e4)))?;
        }
        map.serialize_entry("on_host", &self.0.steps_on_host().collect::<Vec<_>>())?;
        map.serialize_entry("handovers", &self.0.handovers)?;
        map.end()
    }
}

/// Returns true if there was a wipe and its two sides were compared.
fn is_compared(beside: Option<SecondSetting>) -> bool {
    beside.is_some_and(|beside| beside.compared)
}

/// Returns a time that was measured; `None` for NaN, which stands for an unmeasured time.
fn if_finite(ms: f64) -> Option<f64> {
    ms.is_finite().then_some(ms)
}

/// Returns a frame's interval; `None` if its setting has just changed, since most of that interval was waiting.
fn steady_interval((sample, switched): (&FrameSample, bool)) -> Option<f64> {
    sample.interval_ms.filter(|_| !switched)
}

/// The JSON list `settings`: the statistics of each [`Setting`], in the order in which the settings first occurred.
struct Settings<'a>(&'a Recorder);

impl Serialize for Settings<'_> {
    /// Groups the frames by setting, and writes a [`SettingRow`] for each.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut settings: Vec<(Setting, Vec<(&FrameSample, bool)>)> = Vec::new();
        for frame in self.0.frames_and_switches() {
            let setting = frame.0.setting();
            match settings.iter_mut().find(|(of, _)| *of == setting) {
                Some((_, frames)) => frames.push(frame),
                None => settings.push((setting, vec![frame])),
            }
        }
        serializer.collect_seq(settings.iter().map(|(of, frames)| SettingRow { of, frames }))
    }
}

/// The JSON object with the statistics of the frames with one setting.
struct SettingRow<'a> {
    of: &'a Setting,
    frames: &'a [(&'a FrameSample, bool)],
}

impl Serialize for SettingRow<'_> {
    /// Writes the setting and the statistics of its frames.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let of = self.of;
        let intervals: Vec<_> = self.frames.iter().copied().filter_map(steady_interval).collect();
        let stage =
            |stage: Stage| Series::of(&self.frames.iter().map(|(s, _)| s.stage(stage)).collect::<Vec<_>>());
        let walls: Vec<_> = self.frames.iter().filter_map(|(s, _)| s.filter_wall_ms()).collect();
        let (intervals, walls) = (Series::of(&intervals), Series::of(&walls));
        // Without a filter, the times that can be noisy are the frames' intervals.
        let measured = if of.variant == VariantId::Off { intervals } else { walls.or(stage(Stage::Filter)) };
        let others = recorder::mean_others_share(self.frames.iter().map(|(s, _)| *s));
        let noise = measured.and_then(|measured| Noise::of(&measured, others));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("variant", of.variant.as_str())?;
        map.serialize_entry("radius", &of.radius)?;
        map.serialize_entry("width", &of.size.0)?;
        map.serialize_entry("height", &of.size.1)?;
        map.serialize_entry("device_changes", &of.device)?;
        map.serialize_entry("beside", &of.second_side_text())?;
        map.serialize_entry("compared", &is_compared(of.beside))?;
        map.serialize_entry("presented", &self.frames.len())?;
        map.serialize_entry("interval_ms", &intervals)?;
        map.serialize_entry("stages", &StageSeries(&stage))?;
        map.serialize_entry("filter_wall_ms", &walls)?;
        map.serialize_entry("noisy", &Noisy(noise))?;
        map.serialize_entry("version", &of.versions.first)?;
        map.serialize_entry("beside_version", &of.beside.map(|_| of.versions.beside))?;
        map.end()
    }
}

/// Rounds a value to a multiple of 1 / `per_unit`, since the clock provides no further digits.
fn round(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}
