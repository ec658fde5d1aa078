//! Saves the run (the button *Save run*): writes the filter times of the movie's frames as benchmark results, which `clreel
//! compare` reads.

use std::path::Path;

use serde_json::json;

use super::{ExportContext, FrameSample, Recorder, Setting, Stage};
use base::error::{Error, Result};
use base::timing::Series;
use base::timing::noise::{Noise, Noisy};
use base::verify::Checked;
use box_filter::{BoxFilter, VariantId};
use ladder::results::{DeviceReport, Input, Report, RowReport, RunReport, Samples};
use ladder::rows::KernelFile;

/// A variant's kernel file in one version, for the metadata of files.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct UsedKernel {
    /// The variant's id.
    pub variant: VariantId,
    /// The number of the version, 1 if the kernels were not edited.
    pub version: u64,
    /// The file, with a hash of its text.
    #[serde(flatten)]
    pub kernel: KernelFile,
    /// True if these are the built-in kernels, or edited ones whose output was compared with the reference and is exact.
    pub verified: bool,
}

/// Writes the filter times of the movie's frames to `path`. Leaves out frames of another size or device than the last one,
/// frames of wipes, frames right after a change of the variant, and frames during other work on the device, such as tuning.
///
/// # Errors
/// If no frame with a filter time is left, the directory is missing or read-only, or the disk is full.
pub fn save_run(path: &Path, recorder: &Recorder, context: &ExportContext) -> Result<()> {
    let rows = rows(recorder, context);
    if rows.is_empty() {
        return Err(Error::new(
            "The run could not be saved.",
            "No frame of this movie has a time of a filter yet.",
            "Let the movie play with a filter, such as key 3.",
        ));
    }
    report(&rows, context).save(path)
}

/// The frames of each setting, in the order in which the settings first occurred.
type Rows<'a> = Vec<(Setting, Vec<&'a FrameSample>)>;

/// Groups the frames that have a filter time by their settings.
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
            && sample.variant != VariantId::OFF;
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

/// Returns the benchmark results, with a case for each radius.
fn report(rows: &Rows<'_>, c: &ExportContext) -> Report {
    let mut radii: Vec<u32> = rows.iter().map(|(of, _)| of.radius).collect();
    radii.sort_unstable();
    radii.dedup();
    let case = |radius: u32| {
        let own: Vec<_> = rows.iter().filter(|(of, _)| of.radius == radius).collect();
        let variants = own.iter().map(|(of, frames)| {
            let has_versions = own.iter().filter(|(other, _)| other.variant == of.variant).count() > 1;
            RowReport { version: has_versions.then_some(of.versions.first), ..row(of, frames, c) }
        });
        RunReport {
            // Times of frames that play are not comparable to those of `bench`.
            title: format!("{}×{} · radius {radius}, in the window", c.width, c.height),
            case: json!({ "width": c.width, "height": c.height, "radius": radius }),
            variants: variants.collect(),
            clock: Some(c.clock.json_name().to_owned()),
            clock_reason: c.clock.note(),
            clock_mhz_reason: Some("It is not recorded while a movie plays.".to_owned()),
            ..RunReport::default()
        }
    };
    let device = DeviceReport {
        runs: radii.into_iter().map(case).collect(),
        ..DeviceReport::new(c.device.as_ref(), (&c.sharing, &c.sharing_reason))
    };
    let frames = rows.iter().map(|(_, frames)| frames.len()).sum();
    Report {
        input: Some(Input { file: c.movie.clone(), width: c.width, height: c.height, frames, at_s: None }),
        devices: vec![device],
        ..Report::new(c.metadata.clone(), BoxFilter::INFO.name)
    }
}

/// Returns the results of the frames with one setting.
fn row(of: &Setting, frames: &[&FrameSample], c: &ExportContext) -> RowReport {
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
    let (device_ms, wall_ms) = (samples.device_ms.as_deref().and_then(series), series(&samples.wall_ms));
    let known: Vec<f64> = frames.iter().filter_map(|frame| frame.others).collect();
    let others = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    let noise = device_ms.or(wall_ms).and_then(|series| Noise::of(&series, others));
    let used = c.kernels.iter().find(|used| (used.variant, used.version) == (of.variant, of.versions.first));
    let is_verified = used.map_or(of.variant.back_end().does_without_opencl(), |used| used.verified);
    let checked = Checked {
        sizes: vec![format!("{}x{}", c.width, c.height)],
        inputs: vec!["the movie".to_owned()],
        ..Checked::default()
    };
    RowReport {
        kind: Some(of.variant.back_end().as_str().to_owned()),
        outcome: "ok".to_owned(),
        kernel: used.map(|used| used.kernel.clone()),
        device_ms,
        wall_ms,
        noisy: Noisy::from(noise),
        others,
        samples: Some(samples),
        checked: is_verified.then_some(checked).into_iter().collect(),
        ..RowReport::unknown(of.variant.name)
    }
}
