//! The types of the engine's interface: requests, tickets, refusals, finished frames, their stages and their progress.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::Slot;
use super::scopes::Readings;
use crate::stats::{FilterWork, Span, Stage, StageTimes};
use base::error::Error;
use box_filter::VariantId;
use video::color::Correction;

/// A variant and the version number of its edited kernels; `None` for the version in use.
pub(crate) type KernelsId = (VariantId, Option<u64>);

/// The measurements that are made of a frame after its filter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measurements {
    /// True if the frame's luminance is measured, for the scopes and the heat map.
    pub readings: bool,
    /// True if the frame's contrast is stretched by auto-levels.
    pub levels: bool,
}

/// A request for a frame: its filter, colour correction and measurements. It is fixed when the frame is submitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// The variant that filters the frame; [`VariantId::OFF`] for no filter.
    pub variant: VariantId,
    /// The version number of the variant's edited kernels; `None` for the version in use.
    pub version: Option<u64>,
    /// The filter's radius in pixels.
    pub radius: u32,
    /// The colour correction; `None` if colours are not corrected.
    pub correction: Option<Correction>,
    /// The measurements after the filter.
    pub measurements: Measurements,
}

impl Request {
    /// Creates a request that filters with the version of the kernels in use, without colour correction and measurements.
    pub fn new(variant: VariantId, radius: u32) -> Self {
        Self { variant, version: None, radius, correction: None, measurements: Measurements::default() }
    }

    /// Returns true if this request and `other` produce the same picture of a frame. Measurements for the scopes are not
    /// compared, because they do not change the picture.
    pub(crate) fn makes_same_picture(&self, other: &Self) -> bool {
        self.kernels() == other.kernels()
            && (self.radius == other.radius || self.variant == VariantId::OFF)
            && self.correction == other.correction
            && self.measurements.levels == other.measurements.levels
    }

    pub(crate) fn kernels(&self) -> KernelsId {
        (self.variant, self.version)
    }

    /// Returns true if the frame is to be measured, for the scopes or for auto-levels.
    pub(super) fn measures(&self) -> bool {
        self.measurements != Measurements::default()
    }
}

/// Writes the filter in short, as in "flat r=7".
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.variant == VariantId::OFF {
            true => write!(f, "{}", self.variant),
            false => write!(f, "{} r={}", self.variant, self.radius),
        }
    }
}

/// The number that identifies a submitted frame within one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub(super) u64);

/// The reason why the engine refuses a request.
#[derive(Debug)]
pub enum Refusal {
    /// The variant does not support this device or picture, or is not built. Other variants may work.
    Unsupported(Error),
    /// The trial of the variant's edited kernels in the sandbox is not over, or the requested version has just been replaced by
    /// another one.
    TrialPending,
    /// Something that the filter needs is not built yet. The frame should be submitted again later.
    NotReady,
    /// The device failed or ran out of memory.
    Failed(Error),
    /// The frame could not be loaded, so that there is no picture to filter.
    NotLoaded(Error),
}

impl Refusal {
    /// Returns the error for the user.
    pub fn into_error(self) -> Error {
        let not_yet = |why: &str| Error::new("A frame cannot be filtered yet.", why, "Try again soon.");
        match self {
            Refusal::Unsupported(error) | Refusal::Failed(error) | Refusal::NotLoaded(error) => error,
            Refusal::TrialPending => {
                not_yet("Its kernels are changed, and are being tried in a process of their own.")
            }
            Refusal::NotReady => not_yet("A program that it needs is being built."),
        }
    }
}

impl From<Error> for Refusal {
    /// Treats an error without further information as a failure of the device.
    fn from(error: Error) -> Self {
        Refusal::Failed(error)
    }
}

/// The outcome of a submitted frame.
#[derive(Debug)]
pub enum Outcome {
    /// The filtered picture is in the slot.
    Done,
    /// The frame was cancelled.
    Cancelled,
    /// The frame's filter failed. The device itself continues to work.
    Failed(Error),
}

/// A frame that the engine has finished.
pub struct Finished {
    /// The ticket that [`submit`](super::Engine::submit) returned for the frame.
    pub ticket: Ticket,
    /// The outcome of the frame.
    pub outcome: Outcome,
    /// The slot with the picture.
    pub slot: Slot,
    /// The times of the frame's stages.
    pub stages: Stages,
    /// The luminance measured for the scopes; `None` if that was not requested or is not available.
    pub readings: Option<Arc<Readings>>,
}

/// The measured filter times of a frame's finished bands.
#[derive(Debug, Clone, Default)]
pub(super) struct FilterTimes {
    /// The sum over all bands of all passes, in milliseconds.
    pub ms: f64,
    /// True if `ms` includes wall time, because no device time was available.
    pub by_wall: bool,
    /// The start and end of each band on the device's clock, in nanoseconds.
    pub on_device: Vec<(u64, u64)>,
    /// The interval of the Rust filter on the host's clock; `None` for other filters, and if it did not run.
    pub on_host: Option<Span>,
    /// The bytes and operations of the filter's kernels, and their times; `None` for filters without kernels.
    pub work: Option<Arc<FilterWork>>,
}

/// The times and spans of a frame's stages.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    /// The time of each stage in milliseconds, on the device or the host; NaN if unknown.
    pub times: StageTimes,
    /// True if the filter's time is wall time, because no device time is available.
    pub filter_by_wall: bool,
    /// The bytes and operations of the filter's kernels, and their times; `None` for filters without kernels.
    pub work: Option<Arc<FilterWork>>,
    /// The time in milliseconds that the decoder's thread took to pack the planes; `None` if it did not pack them for this
    /// frame.
    pub pack_ms: Option<f64>,
    /// The intervals in which the stages ran.
    pub spans: Vec<Span>,
}

impl Stages {
    /// Adds the calling thread's work for a stage, from `began` until now, to the times and spans.
    pub(crate) fn record(&mut self, stage: Stage, began: Instant) {
        self.add_spans([Span::since(stage, began)]);
    }

    /// Adds intervals in which threads worked for this frame, and adds their durations to the times of its stages.
    pub(super) fn add_spans(&mut self, spans: impl IntoIterator<Item = Span>) {
        for span in spans {
            self.times[span.stage as usize] += span.ms();
            self.spans.push(span);
        }
    }

    /// Adds the times and intervals of stages that were recorded separately for the same frame.
    pub(crate) fn add(&mut self, other: Stages) {
        for (time, ms) in self.times.iter_mut().zip(other.times) {
            *time += ms;
        }
        self.filter_by_wall |= other.filter_by_wall;
        self.work = other.work.or(self.work.take());
        self.pack_ms = other.pack_ms.or(self.pack_ms);
        self.spans.extend(other.spans);
    }

    /// Returns the filter's time in milliseconds; NaN if unknown.
    pub fn filter_ms(&self) -> f64 {
        self.times[Stage::Filter as usize]
    }
}

/// The progress of a frame in the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// The time of the frame's filter as predicted before it was started, in milliseconds. It is a guess if the variant has not been
    /// measured.
    pub predicted_ms: f64,
    /// When the frame was started; `None` before.
    pub(super) started: Option<Instant>,
    /// The part of the filter's work that is done, 0 to 1.
    pub fraction: f64,
    /// The predicted time from the frame's start to its end, in seconds, as of the end of its last finished band; `None` while
    /// nothing was measured.
    pub(super) predicted_s: Option<f64>,
    /// True if no command of the frame is left to enqueue on the device, so that the next frame need not wait.
    pub is_enqueued: bool,
}

impl Progress {
    /// Returns the time since the frame was started, in seconds; 0 before.
    pub fn elapsed_s(&self) -> f64 {
        self.started.map_or(0.0, |at| at.elapsed().as_secs_f64())
    }

    /// Returns the predicted time from the frame's start to its end, in seconds; `None` while nothing was measured.
    pub fn total_s(&self) -> Option<f64> {
        self.predicted_s.map(|total| total.max(self.elapsed_s()))
    }

    /// Returns the predicted time of the remaining filter work, in milliseconds.
    pub fn remaining_ms(&self) -> f64 {
        let left_s = self.predicted_s.map(|total| (total - self.elapsed_s()).max(0.0));
        left_s.map_or(self.predicted_ms * (1.0 - self.fraction), |left_s| left_s * 1e3)
    }
}
