//! `--stats FILE`: everything that was measured, as CSV or JSON.
//!
//! In: a [`Recorder`] and what is known about the run. Out: one file, complete or not there at all.

use std::io::{self, Write};
use std::path::Path;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Beside, ClothTimes, FrameSample, GlTimes, Recorder, Setting, Stage, recorder};
use base::error::{Error, Result};
use base::save;
use base::timing::noise::Noisy;
use base::timing::{Noise, Series};
use box_filter::VariantId;
use opencl::cl::DeviceInfo;

/// What the statistics are about.
#[derive(Debug, Clone)]
pub struct ExportContext {
    /// The movie's path as the user gave it.
    pub movie: String,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// Frames a second by the container, if it says.
    pub fps: Option<f64>,
    /// The OpenCL device, if there is one.
    pub device: Option<DeviceInfo>,
    /// What OpenGL calls its renderer.
    pub gl_renderer: String,
    /// "copy" or "zero-copy", and why.
    pub sharing: String,
    /// Why it is so; may be empty.
    pub sharing_reason: String,
    /// Variant at the end.
    pub variant: VariantId,
    /// Radius at the end, in pixels.
    pub radius: u32,
    /// Frames were presented as fast as they came.
    pub unpaced: bool,
}

/// Writes the statistics of a run to `path`: CSV or JSON by its ending.
///
/// CSV has one row for each presented frame. JSON has the same rows with the counters and [`Series`] before
/// them. Times are in milliseconds where the name ends in `_ms` or is a stage's, in seconds where it ends in
/// `_s`. What is beside the stages, packing on the decoder's thread (`pack`) and OpenGL's device (`gl_…`), is in
/// milliseconds, and empty (in JSON null) where there is none, like everything that was not measured. `filter_wall` has what
/// the filter took by the wall where no device tells, and then `filter` is empty; `others` is the part of the machine that
/// other processes used lately, 0 to 1. An interval is the time
/// since the frame before was presented, whatever happened meanwhile; where `switched` is true that one was filtered otherwise,
/// and most of the interval may have been waiting. `beside` is the other side of a wipe, `compared` whether the two were; what
/// that took is in `wipe` and `difference` alone, of it the filter in `beside_filter`. Summaries leave switched ones out;
/// `settings` has one for each variant, radius, size, device, other side and version of edited kernels, whose `noisy` says why its
/// filter's times are not to be trusted to the last digit (of `off` its intervals), or false. `cloth` has what the newest frame of
/// an army took that came into the picture since the row before, of the device's clock, or of the host's where `on_host` names the
/// step, and for `copy`; it is empty where there was none. `version` is which version of the variant's kernels filtered, 1 as long
/// as none was edited, and `beside_version` the other side's. The file
/// appears under its name only when it is complete.
///
/// # Errors
/// The ending is neither `.csv` nor `.json`, the directory is missing or read-only, or the disk is full.
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

fn write_csv(out: &mut dyn Write, recorder: &Recorder, _: &ExportContext) -> io::Result<()> {
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
    writeln!(out, ",cloth_on_host,cloth_handovers,version,beside_version")?;
    for (frame, (s, switched)) in (recorder.first_frame()..).zip(recorder.frames_and_switches()) {
        write!(out, "{frame},{:.6},{:.6},", s.pts, s.presented_at)?;
        if let Some(interval) = s.interval_ms {
            write!(out, "{interval:.4}")?;
        }
        write!(out, ",{},{},{},{}", s.variant, s.radius, s.late, s.dropped_before)?;
        let beside = [s.pack_ms].into_iter().chain(s.gl.named().map(|(_, ms)| ms));
        for ms in Stage::ALL.map(|stage| known(s.stage(stage))).into_iter().chain(beside) {
            cell(out, ms)?;
        }
        write!(out, ",{},{},{switched}", s.size.0, s.size.1)?;
        for value in [s.filter_wall_ms(), s.others] {
            cell(out, value)?;
        }
        let beside = s.setting().beside_words().unwrap_or_default();
        write!(out, ",{beside},{}", is_compared(s.beside))?;
        cell(out, s.beside_filter_ms)?;
        write!(out, ",")?;
        if let Some(cloth) = &s.cloth {
            write!(out, "{}", cloth.figures)?;
        }
        for (at, _) in ClothTimes::NAMES.iter().enumerate() {
            cell(out, s.cloth.as_ref().and_then(|cloth| known(*cloth.ms.get(at)?)))?;
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
        writeln!(out)?;
    }
    Ok(())
}

/// The next cell of a row; empty where nothing is known.
fn cell(out: &mut dyn Write, value: Option<f64>) -> io::Result<()> {
    match value {
        Some(value) => write!(out, ",{value:.4}"),
        None => write!(out, ","),
    }
}

fn write_json(out: &mut dyn Write, recorder: &Recorder, context: &ExportContext) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document { recorder, context })?;
    writeln!(out)
}

/// The JSON file. Rows are written straight from the recorder: no second copy of a long run.
struct Document<'a> {
    recorder: &'a Recorder,
    context: &'a ExportContext,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (r, c) = (self.recorder, self.context);
        let series = |pick: &dyn Fn(&FrameSample) -> Option<f64>| {
            Series::of(&r.frames().iter().filter_map(pick).collect::<Vec<_>>())
        };
        let intervals: Vec<_> = r.frames_and_switches().filter_map(own_interval).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &1)?;
        map.serialize_entry(
            "movie",
            &serde_json::json!({"file": c.movie, "width": c.width, "height": c.height, "fps": c.fps}),
        )?;
        map.serialize_entry("device", &c.device)?;
        map.serialize_entry("gl_renderer", &c.gl_renderer)?;
        map.serialize_entry("sharing", &c.sharing)?;
        map.serialize_entry("sharing_reason", &c.sharing_reason)?;
        map.serialize_entry("variant", c.variant.as_str())?;
        map.serialize_entry("radius", &c.radius)?;
        map.serialize_entry("unpaced", &c.unpaced)?;
        map.serialize_entry("presented", &r.presented())?;
        map.serialize_entry("late", &r.late())?;
        map.serialize_entry("dropped", &r.dropped())?;
        map.serialize_entry("rows_forgotten", &r.forgotten())?;
        map.serialize_entry("repaint_ms", &r.repaint_interval())?;
        map.serialize_entry("interval_ms", &Series::of(&intervals))?;
        map.serialize_entry("stages", &StageSeries(&|stage| series(&|s| Some(s.stage(stage)))))?;
        map.serialize_entry("filter_wall_ms", &series(&FrameSample::filter_wall_ms))?;
        map.serialize_entry("settings", &Settings(r))?;
        map.serialize_entry("frames", &Rows(r))?;
        map.end()
    }
}

/// `{"take": series, …}` in the order of the stages.
struct StageSeries<'a>(&'a dyn Fn(Stage) -> Option<Series>);

impl Serialize for StageSeries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(Stage::ALL.iter().map(|stage| (stage.name(), (self.0)(*stage))))
    }
}

struct Rows<'a>(&'a Recorder);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let frames = (self.0.first_frame()..).zip(self.0.frames_and_switches());
        serializer.collect_seq(frames.map(|(frame, (sample, switched))| Row { frame, sample, switched }))
    }
}

struct Row<'a> {
    frame: u64,
    sample: &'a FrameSample,
    switched: bool,
}

impl Serialize for Row<'_> {
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
            map.serialize_entry(stage.name(), &known(s.stage(stage)).map(|ms| round(ms, 1e4)))?;
        }
        for (name, ms) in [("pack", s.pack_ms)].into_iter().chain(s.gl.named()) {
            map.serialize_entry(name, &ms.map(|ms| round(ms, 1e4)))?;
        }
        map.serialize_entry("width", &s.size.0)?;
        map.serialize_entry("height", &s.size.1)?;
        map.serialize_entry("switched", &self.switched)?;
        map.serialize_entry("filter_wall", &s.filter_wall_ms().map(|ms| round(ms, 1e4)))?;
        map.serialize_entry("others", &s.others.map(|part| round(part, 1e4)))?;
        map.serialize_entry("beside", &s.setting().beside_words())?;
        map.serialize_entry("compared", &is_compared(s.beside))?;
        map.serialize_entry("beside_filter", &s.beside_filter_ms.map(|ms| round(ms, 1e4)))?;
        map.serialize_entry("cloth", &s.cloth.as_deref().map(OfCloth))?;
        map.serialize_entry("version", &s.versions.first)?;
        map.serialize_entry("beside_version", &s.beside.map(|_| s.versions.beside))?;
        map.end()
    }
}

/// What an army's frame took.
struct OfCloth<'a>(&'a ClothTimes);

impl Serialize for OfCloth<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("figures", &self.0.figures)?;
        for (name, ms) in ClothTimes::NAMES.iter().zip(self.0.ms) {
            map.serialize_entry(name, &known(ms).map(|ms| round(ms, 1e4)))?;
        }
        map.serialize_entry("on_host", &self.0.steps_on_host().collect::<Vec<_>>())?;
        map.serialize_entry("handovers", &self.0.handovers)?;
        map.end()
    }
}

fn is_compared(beside: Option<Beside>) -> bool {
    beside.is_some_and(|beside| beside.compared)
}

/// A time, where it was measured.
fn known(ms: f64) -> Option<f64> {
    ms.is_finite().then_some(ms)
}

/// A frame's interval, unless most of it was waiting after a switch.
fn own_interval((sample, switched): (&FrameSample, bool)) -> Option<f64> {
    sample.interval_ms.filter(|_| !switched)
}

/// The statistics of the frames that were filtered alike, in the order in which each way came first.
struct Settings<'a>(&'a Recorder);

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut settings: Vec<(Setting, Vec<(&FrameSample, bool)>)> = Vec::new();
        for frame in self.0.frames_and_switches() {
            let setting = frame.0.setting();
            match settings.iter_mut().find(|(of, _)| *of == setting) {
                Some((_, frames)) => frames.push(frame),
                None => settings.push((setting, vec![frame])),
            }
        }
        serializer.collect_seq(settings.iter().map(|(of, frames)| OfSetting { of, frames }))
    }
}

struct OfSetting<'a> {
    of: &'a Setting,
    frames: &'a [(&'a FrameSample, bool)],
}

impl Serialize for OfSetting<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let of = self.of;
        let intervals: Vec<_> = self.frames.iter().copied().filter_map(own_interval).collect();
        let stage =
            |stage: Stage| Series::of(&self.frames.iter().map(|(s, _)| s.stage(stage)).collect::<Vec<_>>());
        let walls: Vec<_> = self.frames.iter().filter_map(|(s, _)| s.filter_wall_ms()).collect();
        let (intervals, walls) = (Series::of(&intervals), Series::of(&walls));
        // Where nothing was filtered, what was measured is the frames' own time.
        let measured = if of.variant == VariantId::Off { intervals } else { walls.or(stage(Stage::Filter)) };
        let others = recorder::others(self.frames.iter().map(|(s, _)| *s));
        let noise = measured.and_then(|measured| Noise::of(&measured, others));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("variant", of.variant.as_str())?;
        map.serialize_entry("radius", &of.radius)?;
        map.serialize_entry("width", &of.size.0)?;
        map.serialize_entry("height", &of.size.1)?;
        map.serialize_entry("device_changes", &of.device)?;
        map.serialize_entry("beside", &of.beside_words())?;
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

/// Cuts digits that the clock does not have.
fn round(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}
