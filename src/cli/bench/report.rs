//! The results of `bench` as JSON: `schema` 1.

use serde::Serialize;

use super::conversions::{Entry, entry};
use super::{DeviceRuns, Results, reason};
use crate::cli::devices::{DeviceEntry, print_json};
use crate::error::Result;
use crate::gpu::sharing::Sharing;
use crate::ladder::Outcome;
use crate::ladder::measure::Measurement;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::bench::{NativeFault, NativeRun, RadiusRun};
use crate::ladders::box_filter::native::Lanes;
use crate::timing::Series;
use crate::timing::noise::Noisy;
use crate::verify::Checked;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    input: InputEntry<'a>,
    /// What is missing, where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'a str>,
    devices: Vec<DeviceReport<'a>>,
}

#[derive(Serialize)]
struct InputEntry<'a> {
    file: &'a str,
    width: u32,
    height: u32,
    frames: usize,
}

#[derive(Serialize)]
struct DeviceReport<'a> {
    #[serde(flatten)]
    device: Option<DeviceEntry>,
    runs: Vec<RunEntry>,
    conversions: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct RunEntry {
    radius: u32,
    copy_ms: Option<Series>,
    copy_noisy: Noisy,
    /// A copy of the bytes that planar reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    planes_copy_ms: Option<Series>,
    #[serde(skip_serializing_if = "Option::is_none")]
    planes_copy_noisy: Option<Noisy>,
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
    noisy: Noisy,
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
    noisy: Noisy,
    /// What was compared; nothing where it is not ok.
    checked: Vec<Checked>,
}

/// Prints them. `interrupted` says what is missing.
pub(super) fn print(results: &Results, interrupted: Option<&str>) -> Result<()> {
    let (width, height) = results.size;
    print_json(&Report {
        schema: 1,
        input: InputEntry { file: &results.file, width, height, frames: results.frames },
        interrupted,
        devices: results.devices.iter().map(device).collect(),
    })
}

fn device(DeviceRuns { device, runs, conversions }: &DeviceRuns) -> DeviceReport<'_> {
    let sharing = Sharing::copy("bench opens no window; `clreel devices` tests sharing");
    DeviceReport {
        device: device.as_ref().map(|info| DeviceEntry::new(info, &sharing)),
        runs: runs.iter().map(run).collect(),
        conversions: conversions.iter().map(entry).collect(),
    }
}

fn noisy(measured: Option<&Measurement>) -> Noisy {
    Noisy(measured.and_then(Measurement::noise))
}

fn run(run: &RadiusRun) -> RunEntry {
    RunEntry {
        radius: run.radius,
        copy_ms: run.copy.and_then(|m| m.device),
        copy_noisy: noisy(run.copy.as_ref()),
        planes_copy_ms: run.planes_copy.and_then(|m| m.device),
        planes_copy_noisy: run.planes_copy.as_ref().map(|m| noisy(Some(m))),
        variants: (0..run.variants.len()).map(|index| variant(run, index)).collect(),
        native: run.native.iter().map(native).collect(),
    }
}

fn variant(run: &RadiusRun, index: usize) -> VariantEntry {
    let (id, outcome) = &run.variants[index];
    let id = *id;
    let times = outcome.measured();
    VariantEntry {
        id: id.as_str(),
        kind: id.back_end().as_str(),
        outcome: outcome.word(),
        reason: reason(outcome),
        chosen: run.auto.clone().filter(|_| id == VariantId::Auto),
        max_abs_diff: match outcome {
            Outcome::Ok(_) => Some(0),
            Outcome::Mismatch(report) => Some(report.max_abs_diff.ceil() as u8),
            _ => None,
        },
        device_ms: times.and_then(|m| m.device),
        dispatch_ms: times.and_then(|m| m.dispatch),
        wall_ms: times.and_then(|m| m.wall),
        noisy: noisy(times),
        checked: times.and(run.checked.get(index)).cloned().unwrap_or_default(),
    }
}

fn native(one: &NativeRun) -> NativeEntry {
    NativeEntry {
        threads: one.threads,
        vectors: one.lanes == Lanes::Vector,
        outcome: match &one.outcome {
            Ok(_) => "ok",
            Err(NativeFault::Differs) => "mismatch",
            Err(NativeFault::Failed(_)) => "failed",
        },
        wall_ms: one.outcome.as_ref().ok().and_then(|m| m.wall),
        noisy: noisy(one.outcome.as_ref().ok()),
    }
}
