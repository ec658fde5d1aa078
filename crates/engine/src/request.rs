//! The types of the engine's interface: requests, tickets, refusals, finished frames, their stages and their progress.

use std::sync::Arc;
use std::time::Instant;

use super::Slot;
use base::error::Error;
use stats::{FilterWork, MAX_OTHERS, Readings, Span, Stages};

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
    /// The sum over all bands of the chosen variant's passes, in milliseconds.
    pub ms: f64,
    /// The sum over the bands of each layer of a stack, in milliseconds.
    pub layer_ms: [f64; MAX_OTHERS],
    /// The sum over all bands of the layers and all copies between filters, in milliseconds.
    pub stack_ms: f64,
    /// True if `ms` includes wall time, because no device time was available.
    pub by_wall: bool,
    /// The start and end of each band of the chosen variant on the device's clock, in nanoseconds.
    pub on_device: Vec<(u64, u64)>,
    /// The start and end of each other band.
    pub stack_on_device: Vec<(u64, u64)>,
    /// The interval of the Rust filter on the host's clock; `None` for other filters, and if it did not run.
    pub on_host: Option<Span>,
    /// The bytes and operations of the filter's kernels, and their times; `None` for filters without kernels.
    pub work: Option<Arc<FilterWork>>,
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
