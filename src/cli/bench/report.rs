//! The results of `bench` in the format that `compare` and the Lab read.

use super::results::{DeviceResults, Results};
use super::{conversions, whole_frames, why};
use engine::sharing::Sharing;
use ladder::results::{DeviceReport, Report, RunReport};

/// Creates the report from the results, with the times of each run if `has_samples` is true. `interrupted` is a sentence about
/// the missing results if a signal ended the benchmark.
pub(super) fn report(results: &Results, interrupted: Option<&str>, has_samples: bool) -> Report {
    Report {
        input: results.input.clone(),
        interrupted: interrupted.map(str::to_owned),
        folders: results.folders().iter().map(base::text::unicode).collect(),
        devices: results.devices.iter().map(|device| device_report(device, has_samples)).collect(),
        ..Report::new(results.metadata.clone(), results.ladder)
    }
}

/// Creates the report on one device: its cases, whole frames and conversions.
fn device_report(results: &DeviceResults, has_samples: bool) -> DeviceReport {
    let sharing = Sharing::copy("bench opens no window; `clreel devices` tests sharing");
    let run =
        |(_, run): &(usize, _)| RunReport::of(run, results.peaks, |row| why::why(results, row), has_samples);
    let frames = results.whole_frames.as_deref().unwrap_or_default();
    let runs = results.runs.iter().map(run).chain(whole_frames::reports(frames, has_samples));
    DeviceReport {
        peaks: results.peaks,
        runs: runs.chain(conversions::report(&results.conversions, has_samples)).collect(),
        ..DeviceReport::new(results.device.as_ref(), (sharing.name(), sharing.reason()))
    }
}
