//! *Save run*: writes the times of the filter in the movie's frames in the format of `clreel bench --save`, which `clreel compare`
//! reads.

use std::io::Write as _;
use std::path::Path;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};

use super::{ExportContext, FrameSample, Recorder, Setting, Stage};
use base::error::{Error, Result};
use base::save;
use base::timing::Series;
use base::timing::noise::{Noise, Noisy};
use box_filter::VariantId;
use ladder::saved::{KIND, KernelFile, Metadata, SCHEMA, Samples};

/// A variant's kernel file in one version of the kernels, for the metadata of files.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct UsedKernel {
    /// The variant's id.
    #[serde(serialize_with = "serialize_id")]
    pub variant: VariantId,
    /// The number of the version, 1 if the kernels were not edited.
    pub version: u64,
    /// The file, with a hash of its text.
    #[serde(flatten)]
    pub kernel: KernelFile,
    /// True if these are the built-in kernels, or edited ones whose output was compared with the reference and is exact.
    pub verified: bool,
}

/// Writes a variant's id.
fn serialize_id<S: Serializer>(id: &VariantId, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(id.as_str())
}

/// Writes the times of the filter to `path`. Frames of another size or device than the last one, of wipes, those right after a
/// change of the variant, and those beside other work on the device, such as tuning, are left out.
///
/// # Errors
/// If no frame with a time is left, the directory is missing or read-only, or the disk is full.
pub fn save_run(path: &Path, recorder: &Recorder, context: &ExportContext) -> Result<()> {
    let rows = rows(recorder, context);
    if rows.is_empty() {
        return Err(Error::new(
            "The run could not be saved.",
            "No frame of this movie has a time of a filter yet.",
            "Let the movie play with a filter, such as key 3.",
        ));
    }
    let run = Run { rows, context };
    save::atomically(path, |out| {
        serde_json::to_writer(&mut *out, &run)?;
        out.write_all(b"\n")
    })
}

/// The frames of each setting, in the order in which the settings first occurred.
type Rows<'a> = Vec<(Setting, Vec<&'a FrameSample>)>;

/// Groups the frames with a time of the filter by their settings.
fn rows<'a>(recorder: &'a Recorder, context: &ExportContext) -> Rows<'a> {
    let mut rows: Rows<'_> = Vec::new();
    let Some(device) = recorder.frames_and_switches().last().map(|(last, _)| last.device) else {
        return rows;
    };
    for (sample, switched) in recorder.frames_and_switches() {
        let is_of_run = sample.size == (context.width, context.height)
            && sample.device == device
            && sample.beside.is_none()
            && !sample.beside_work
            && sample.variant != VariantId::Off;
        let has_time = sample.stages[Stage::Filter as usize] > 0.0;
        if switched || !is_of_run || !has_time {
            continue;
        }
        let setting = sample.setting();
        match rows.iter_mut().find(|(of, _)| *of == setting) {
            Some((_, frames)) => frames.push(sample),
            None => rows.push((setting, vec![sample])),
        }
    }
    rows
}

/// The JSON document.
struct Run<'a> {
    rows: Rows<'a>,
    context: &'a ExportContext,
}

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let c = self.context;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("schema", &SCHEMA)?;
        let Metadata { program, date, host, .. } = &c.metadata;
        map.serialize_entry("kind", KIND)?;
        map.serialize_entry("program", program)?;
        map.serialize_entry("date", date)?;
        map.serialize_entry("host", host)?;
        let frames: usize = self.rows.iter().map(|(_, frames)| frames.len()).sum();
        map.serialize_entry(
            "input",
            &json!({"file": c.movie, "width": c.width, "height": c.height, "frames": frames}),
        )?;
        map.serialize_entry("devices", &[Device(self)])?;
        map.end()
    }
}

/// The device's part of the JSON document, with the rows of each radius.
struct Device<'a>(&'a Run<'a>);

impl Serialize for Device<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let Run { rows, context: c } = self.0;
        let mut map = to.serialize_map(None)?;
        let device = c.device.as_ref().and_then(|device| serde_json::to_value(device).ok());
        for (name, value) in device.as_ref().and_then(Value::as_object).into_iter().flatten() {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("sharing", &c.sharing)?;
        map.serialize_entry("sharing_reason", &c.sharing_reason)?;
        let mut radii: Vec<u32> = rows.iter().map(|(of, _)| of.radius).collect();
        radii.sort_unstable();
        radii.dedup();
        let runs: Vec<Value> = radii.into_iter().map(|radius| case(self.0, radius)).collect();
        map.serialize_entry("runs", &runs)?;
        map.end()
    }
}

/// Returns the JSON of all rows at a radius.
fn case(Run { rows, context: c }: &Run<'_>, radius: u32) -> Value {
    let own: Vec<_> = rows.iter().filter(|(of, _)| of.radius == radius).collect();
    let variants: Vec<Value> = own
        .iter()
        .map(|(of, frames)| {
            let has_versions = own.iter().filter(|(other, _)| other.variant == of.variant).count() > 1;
            row(of, frames, has_versions.then_some(of.versions.first), c)
        })
        .collect();
    json!({
        // Times of frames that play are not those of `bench`.
        "title": format!("{}×{} · radius {radius}, in the window", c.width, c.height),
        "radius": radius,
        "variants": variants,
        "clock": c.clock.json_name(),
        "clock_reason": c.clock.note(),
        "clock_mhz": null,
        "clock_mhz_reason": "It is not recorded while a movie plays.",
    })
}

/// Returns the JSON of a row; `version` is the number of the version if the case has several of the variant.
fn row(of: &Setting, frames: &[&FrameSample], version: Option<u64>, c: &ExportContext) -> Value {
    let by_wall = frames.iter().all(|frame| frame.filter_by_wall);
    let times = |is_wall: bool| -> Vec<Option<f64>> {
        let ms = |frame: &&FrameSample| {
            let ms = frame.stages[Stage::Filter as usize];
            Some(ms).filter(|ms| ms.is_finite() && frame.filter_by_wall == is_wall)
        };
        frames.iter().map(ms).collect()
    };
    let device_ms = (!by_wall).then(|| times(false));
    let samples = Samples { device_ms, dispatch_ms: None, wall_ms: times(true) };
    let series = |times: &[Option<f64>]| Series::of(&times.iter().flatten().copied().collect::<Vec<_>>());
    let (device, wall) = (samples.device_ms.as_deref().and_then(series), series(&samples.wall_ms));
    let known: Vec<f64> = frames.iter().filter_map(|frame| frame.others).collect();
    let others = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let noise = device.or(wall).and_then(|series| Noise::of(&series, others));
    let kernel =
        c.kernels.iter().find(|used| (used.variant, used.version) == (of.variant, of.versions.first));
    let is_verified = kernel.map_or(of.variant.back_end().does_without_opencl(), |used| used.verified);
    let checked = json!({"sizes": [format!("{}x{}", c.width, c.height)], "inputs": ["the movie"]});
    let mut row = json!({
        "id": of.variant.as_str(),
        "kind": of.variant.back_end().as_str(),
        "outcome": "ok",
        "reason": null,
        "device_ms": device,
        "dispatch_ms": null,
        "wall_ms": wall,
        "noisy": Noisy(noise),
        "others": others,
        "samples": samples,
        "checked": if is_verified { vec![checked] } else { Vec::new() },
    });
    if let Some(used) = kernel {
        row["kernel"] = json!(used.kernel);
    }
    if let Some(version) = version {
        row["version"] = version.into();
    }
    row
}
