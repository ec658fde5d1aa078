//! Tests of the recorder and of the files that it is written to.

mod files;
mod recording;
mod tracing;

use std::fs;

use super::*;
use box_filter::{Filter, VariantId, named};
use testkit::movie::Folder;

/// The filter time in milliseconds of a [`frame`] with a `unit` of 1.
const FILTER: f64 = (Stage::Filter as usize + 1) as f64;

/// Returns a sample of a frame presented at `at` seconds, whose stages take 1, 2, 3 … times `unit` milliseconds.
fn frame(at: f64, interval_ms: f64, unit: f64, variant: VariantId) -> FrameSample {
    let stages = std::array::from_fn(|n| (n + 1) as f64 * unit);
    FrameSample { interval_ms: Some(interval_ms), ..FrameSample::made_up(at, variant, stages) }
}

/// Returns the sample after `change`.
fn with(mut sample: FrameSample, change: impl FnOnce(&mut FrameSample)) -> FrameSample {
    change(&mut sample);
    sample
}

/// Returns the names of the files in a folder.
fn file_names(folder: &Folder) -> Vec<String> {
    fs::read_dir(folder.file("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

fn three_frames() -> Recorder {
    let mut recorder = Recorder::new(true);
    recorder.push(FrameSample { interval_ms: None, ..frame(0.0, 0.0, 0.5, VariantId::OFF) });
    recorder.push(with(frame(0.04, 40.0, 0.25, named("naive")), |sample| {
        (sample.late, sample.dropped_before, sample.sound_lag_ms) = (true, 4, Some(-3.25));
        sample.stages.pack_ms = Some(0.5);
    }));
    recorder.push(frame(0.08, 40.5, 0.125, named("naive")));
    recorder.overlay_repaint(16.0);
    recorder.overlay_repaint(18.0);
    recorder
}
