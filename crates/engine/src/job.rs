//! The state of a frame from [`Engine::submit`](super::Engine::submit) until it is returned as [`Finished`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bands::Bands;
use super::device_job::DeviceJob;
use super::plans::PlanKey;
use super::slot::ResultIn;
use super::{Finished, HOLD_MS, Outcome, Progress, Slot, Ticket};
use base::error::Error;
use stats::{Lane, Readings, Request, Span, Stage, Stages};

/// A submitted frame in the engine. Its fields are dropped in their order: OpenCL memory objects may lie in the slot's host
/// memory, so they come before the slot.
pub(super) struct Job {
    pub ticket: Ticket,
    pub request: Request,
    /// The frame's commands on the OpenCL device around the filter; `None` if the frame does not use the device.
    pub on_device: Option<DeviceJob>,
    /// The frame's filter with its bands; `None` without a filter.
    pub filter: Option<Bands>,
    /// The key under which the slot keeps the filter for later frames; `None` if it does not.
    pub plan_key: Option<PlanKey>,
    /// True if the picture is in the slot's texture before it is filtered, as shaders need it.
    pub in_texture: bool,
    pub slot: Slot,
    pub started: Option<Instant>,
    /// True if the frame was cancelled before it was started.
    pub cancelled: bool,
    /// The error because of which the frame could not be started.
    pub error: Option<Error>,
    pub stages: Stages,
    pub readings: Option<Arc<Readings>>,
}

impl Job {
    /// Creates a job that is neither loaded nor prepared. `stages` has the times of what was done before.
    pub(super) fn new(ticket: Ticket, request: Request, slot: Slot, stages: Stages) -> Self {
        Self {
            ticket,
            request,
            on_device: None,
            filter: None,
            plan_key: None,
            in_texture: false,
            slot,
            started: None,
            cancelled: false,
            error: None,
            stages,
            readings: None,
        }
    }

    /// Returns the time since the frame was started; zero if it was not started.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |at| at.elapsed())
    }

    /// Returns the predicted time of the frame's filter in milliseconds; 0 without a filter.
    pub(super) fn predicted_ms(&self) -> f64 {
        self.filter.as_ref().map_or(0.0, |bands| bands.predicted_ms)
    }

    /// Returns the fraction of the frame's work that is done and the predicted time of the rest.
    pub(super) fn progress(&self) -> Progress {
        let bands = self.filter.as_ref();
        Progress {
            predicted_ms: self.predicted_ms(),
            started: self.started,
            fraction: bands.map_or(0.0, Bands::fraction),
            predicted_s: bands.and_then(Bands::total_s),
            is_enqueued: self.is_all_enqueued(),
        }
    }

    /// Returns true if no command of this frame is left to enqueue on the device.
    pub(super) fn is_all_enqueued(&self) -> bool {
        self.cancelled || self.on_device.as_ref().is_none_or(|commands| commands.last.is_some())
    }

    /// Returns true if the frame is held back: its filter is predicted to take longer than [`HOLD_MS`], and `may_take_long` is
    /// false.
    pub(super) fn is_held(&self, may_take_long: bool) -> bool {
        let waits = self.started.is_none() && !self.cancelled;
        waits && !may_take_long && self.predicted_ms() > HOLD_MS
    }
}

/// The unfinished frames in the engine, in the order in which they were submitted.
#[derive(Default)]
pub struct Jobs {
    pub(super) list: VecDeque<Job>,
    /// True if the next waiting frame may be started although its filter is predicted to take longer than [`HOLD_MS`].
    pub(super) may_take_long: bool,
}

impl Jobs {
    /// Cancels the unstarted work of a frame. The frame is finished when its running work is over.
    pub fn cancel(&mut self, ticket: Ticket) {
        let Some(job) = self.list.iter_mut().find(|job| job.ticket == ticket) else { return };
        if job.started.is_none() {
            job.cancelled = true;
        } else if let Some(bands) = &mut job.filter {
            bands.cancel();
        }
    }

    /// Returns the progress of a frame; all zeros for a frame that is finished.
    pub fn progress(&self, ticket: Ticket) -> Progress {
        let job = self.list.iter().find(|job| job.ticket == ticket);
        job.map_or_else(Progress::default, Job::progress)
    }

    /// Returns true if the next frame is held back because its filter is predicted to take longer than [`HOLD_MS`].
    pub fn is_holding(&self) -> bool {
        let next = self.list.iter().find(|job| job.started.is_none() && !job.cancelled);
        next.is_some_and(|job| job.is_held(self.may_take_long))
    }

    /// Takes the device's memory objects out of the frames' slots, to be dropped when the device is idle.
    pub(crate) fn take_device_buffers(&mut self) -> Vec<Slot> {
        self.list.iter_mut().map(|job| job.slot.take_device_buffers(true)).collect()
    }
}

/// Returns the error of the frame's first command that failed, because all later commands fail with it. Polls the commands on
/// the OpenCL device again to find that error. Returns `seen`, the error that was noticed, if the frame uses no OpenCL device.
pub(super) fn first_failure(on_device: Option<&DeviceJob>, bands: Option<&mut Bands>, seen: Error) -> Error {
    let Some(commands) = on_device else { return seen };
    let of_bands = bands.and_then(Bands::failure);
    commands.first_failure(of_bands.as_ref()).or(of_bands).unwrap_or(seen)
}

/// Converts a job that is over into a [`Finished`] frame, with its slot, its times and the luminance measured for the scopes.
pub(super) fn finish(job: Job, outcome: Outcome) -> Finished {
    let Job { ticket, on_device, filter, plan_key, mut slot, started, mut stages, mut readings, .. } = job;
    let to_texture = on_device.as_ref().map_or(job.in_texture, |commands| commands.to_texture);
    let mut result_in = match (to_texture, &filter, &on_device) {
        (true, ..) => ResultIn::Texture,
        (_, _, Some(_)) => ResultIn::Output,
        _ => ResultIn::Input,
    };
    if let Some(mut bands) = filter {
        if on_device.is_none() {
            let took = bands.filter_times();
            stages.times[Stage::Filter as usize] += took.ms;
            stages.filter_by_wall = took.by_wall;
            // Timer queries of shaders return only durations, so a shader's span begins when the frame was started.
            let of_shaders = |from: Instant| {
                let to = from + Duration::try_from_secs_f64(took.ms / 1e3).unwrap_or_default();
                Span { stage: Stage::Filter, lane: Lane::Device, from, to }
            };
            stages.spans.extend(took.on_host.or(started.map(of_shaders)));
        }
        let is_whole = matches!(outcome, Outcome::Done);
        if let Some(measured) = is_whole.then(|| bands.filter.take_measurements()).flatten() {
            readings = measured.readings.map(Arc::new);
            stages.add_spans(measured.spans);
        }
        if let Some(picture) = bands.filter.take_picture() {
            slot.keep_host_picture(picture);
            result_in = ResultIn::Own;
        }
        if let Some(key) = plan_key.filter(|_| started.is_some()) {
            slot.device.plans.put(key, bands.filter);
        }
    }
    if on_device.is_some() && started.is_none() {
        drop(on_device);
        // The host writes its next picture into the memory that these objects lie in.
        drop(slot.take_device_buffers(true));
    }
    slot.result = result_in;
    Finished { ticket, outcome, slot, stages, readings }
}
