//! One frame on its way through the engine, and how it is taken apart in the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bands::Bands;
use super::device_job::DeviceJob;
use super::plans::Key;
use super::scopes::Readings;
use super::slot::ResultIn;
use super::{Finished, HOLD_MS, Outcome, Progress, Slot, Stages, Ticket};
use base::error::Error;

/// A frame on its way. Its fields drop in order: memory objects may lie in the slot's host memory, so they go first.
pub(super) struct Job {
    pub(super) ticket: Ticket,
    /// The one whose unfiltered picture it filters, too.
    pub(super) beside: Option<Ticket>,
    /// Its commands on the OpenCL device around the filter, if it goes there.
    pub(super) on_device: Option<DeviceJob>,
    /// Its filter, if it has one, and under which key the slot keeps that.
    pub(super) filter: Option<(Option<Key>, Bands)>,
    /// In the texture already before it is filtered.
    pub(super) in_texture: bool,
    pub(super) slot: Slot,
    pub(super) started: Option<Instant>,
    /// Before it was started.
    pub(super) cancelled: bool,
    /// It could not be started.
    pub(super) error: Option<Error>,
    pub(super) stages: Stages,
    pub(super) readings: Option<Arc<Readings>>,
}

impl Job {
    pub(super) fn elapsed(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |at| at.elapsed())
    }

    pub(super) fn predicted_ms(&self) -> f64 {
        self.filter.as_ref().map_or(0.0, |(_, bands)| bands.predicted_ms())
    }

    pub(super) fn progress(&self) -> Progress {
        let elapsed_s = self.elapsed().as_secs_f64();
        let Some((_, bands)) = &self.filter else { return Progress { elapsed_s, ..Progress::default() } };
        let (predicted_ms, fraction) = (bands.predicted_ms(), bands.fraction());
        let total_s = bands.total_s().map(|total| total.max(elapsed_s));
        let left = || predicted_ms * (1.0 - fraction);
        let remaining_ms = total_s.map_or_else(left, |total| (total - elapsed_s).max(0.0) * 1e3);
        Progress { predicted_ms, remaining_ms, elapsed_s, fraction, total_s }
    }

    /// Part of its filter that is done, 0 to 1, and what the bands were predicted to take that are on their way, in milliseconds;
    /// `None` while it is not filtered.
    pub(super) fn bands_under_way(&self) -> Option<(f64, f64)> {
        let (_, bands) = self.filter.as_ref().filter(|_| self.started.is_some())?;
        Some((bands.fraction(), bands.awaited_ms()))
    }

    /// Whether nothing of it is left to put into the device's queue.
    pub(super) fn is_all_enqueued(&self) -> bool {
        self.cancelled || self.on_device.as_ref().is_none_or(DeviceJob::is_all_enqueued)
    }

    /// Whether it waits because it takes long.
    pub(super) fn is_held(&self, may_take_long: bool) -> bool {
        let waits = self.started.is_none() && !self.cancelled;
        waits && !may_take_long && self.predicted_ms() > HOLD_MS
    }
}

/// The first of a frame's commands that failed: all after it fail with it. Only the device can be asked twice; of another
/// back end what was `seen` is all there is.
pub(super) fn first_failure(on_device: Option<&DeviceJob>, bands: Option<&mut Bands>, seen: Error) -> Error {
    let Some(commands) = on_device else { return seen };
    let of_bands = bands.and_then(Bands::failure);
    commands.first_failure(of_bands.as_ref()).or(of_bands).unwrap_or(seen)
}

/// Takes a frame that is over apart.
pub(super) fn finish(job: Job, outcome: Outcome) -> Finished {
    let Job { ticket, on_device, filter, in_texture, mut slot, started, mut stages, mut readings, .. } = job;
    let to_texture = on_device.as_ref().map_or(in_texture, DeviceJob::fills_texture);
    let mut result_in = match (to_texture, &filter, &on_device) {
        (true, ..) => ResultIn::Texture,
        (_, _, Some(_)) => ResultIn::Output,
        _ => ResultIn::Input,
    };
    if let Some((key, mut bands)) = filter {
        if on_device.is_none() {
            stages.filtered_on_host(bands.took(), started);
        }
        let is_whole = matches!(outcome, Outcome::Done);
        if let Some(measured) = is_whole.then(|| bands.take_measured()).flatten() {
            readings = measured.readings.map(Arc::new);
            stages.take_in(measured.spans);
        }
        if let Some(picture) = bands.take_picture() {
            slot.keep_own(picture);
            result_in = ResultIn::Own;
        }
        match (key, started) {
            (Some(key), Some(_)) => slot.plans().put(key, bands.into_filter()),
            _ => drop(bands),
        }
    }
    if on_device.is_some() && started.is_none() {
        drop(on_device);
        // Its memory objects were made for a picture that the host writes anew.
        slot.leave_device(true);
    }
    if result_in != ResultIn::Input {
        slot.give_input_back();
    }
    slot.result_is_in(result_in);
    Finished { ticket, outcome, slot: Some(slot), stages, readings }
}
