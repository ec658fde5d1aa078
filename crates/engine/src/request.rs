//! What the engine is asked for and what it says: requests and tickets, refusals, what became of a frame and what it
//! took.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Slot;
use super::bands::Took;
use super::scopes::Readings;
use crate::stats::{Lane, Span, Stage, StageTimes};
use base::error::Error;
use box_filter::VariantId;
use video::color::Correction;

/// What is to be done to a frame. It is settled when the frame is asked for, and stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// The filter; [`VariantId::Off`] is none.
    pub variant: VariantId,
    /// Its radius in pixels.
    pub radius: u32,
    /// How colours are corrected, if they are.
    pub correction: Option<Correction>,
    /// Its luminance is measured on the device, after the filter.
    pub readings: bool,
    /// It is stretched by auto-levels, after the filter.
    pub levels: bool,
}

impl Request {
    /// A filter alone.
    pub fn new(variant: VariantId, radius: u32) -> Self {
        Self { variant, radius, correction: None, readings: false, levels: false }
    }

    /// Whether it makes the same picture of a frame as another one, as far as that can be told beforehand.
    pub(crate) fn makes_as(&self, other: &Self) -> bool {
        self.variant == other.variant
            && (self.radius == other.radius || self.variant == VariantId::Off)
            && self.correction == other.correction
            && self.levels == other.levels
    }

    /// Whether anything is measured of it.
    pub(super) fn measures(&self) -> bool {
        self.readings || self.levels
    }
}

/// Its filter in short, as in "flat r=7".
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.variant {
            VariantId::Off => f.write_str("off"),
            variant => write!(f, "{variant} r={}", self.radius),
        }
    }
}

/// What tells a frame that was asked for from all others of one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub(super) u64);

/// Why a frame cannot be had as it was asked for.
#[derive(Debug)]
pub enum Refusal {
    /// The variant is not for this device or this picture, or is not there; others may be.
    Unsupported(Error),
    /// Its kernels are changed, and are just being tried in a process of their own.
    Untried,
    /// The device failed, or has too little memory.
    Failed(Error),
    /// There is no picture of the frame to do anything to.
    NotLoaded(Error),
}

impl Refusal {
    /// What is to be said of it.
    pub fn into_error(self) -> Error {
        match self {
            Refusal::Unsupported(error) | Refusal::Failed(error) | Refusal::NotLoaded(error) => error,
            Refusal::Untried => {
                let why = "Its kernels are changed, and are being tried in a process of their own.";
                Error::new("A frame cannot be filtered yet.", why, "Try again soon.")
            }
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Failed(error)
    }
}

/// What became of a frame.
#[derive(Debug)]
pub enum Outcome {
    /// The picture is in the slot.
    Done,
    /// It was cancelled.
    Cancelled,
    /// Its filter failed, which is not the device's.
    Failed(Error),
}

/// A frame that the engine has done with.
pub struct Finished {
    /// Of [`submit`](super::Engine::submit).
    pub ticket: Ticket,
    /// What became of it.
    pub outcome: Outcome,
    /// With the picture. `None` where a lost device may still write into its memory.
    pub slot: Option<Slot>,
    /// What its stages took.
    pub stages: Stages,
    /// What was measured of it, where that was asked for and could be had.
    pub readings: Option<Arc<Readings>>,
}

/// What a frame's stages took, and when they ran.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    /// In milliseconds: of the device, where it tells, and of the host.
    pub times: StageTimes,
    /// The filter's time is wall time.
    pub filter_by_wall: bool,
    /// What packing the planes took the decoder's thread, where they were used as that had packed them, in milliseconds.
    pub pack_ms: Option<f64>,
    /// When each ran.
    pub spans: Vec<Span>,
}

impl Stages {
    /// This thread has done something for a stage since `began`.
    pub(crate) fn did(&mut self, stage: Stage, began: Instant) {
        let span = Span::since(stage, began);
        self.times[stage as usize] += span.ms();
        self.spans.push(span);
    }

    /// Forgets all times: something else is in them.
    pub(crate) fn forget(&mut self) {
        self.times = [f64::NAN; Stage::ALL.len()];
        (self.pack_ms, self.spans) = (None, Vec::new());
    }

    /// Adds what other stages of the same frame took.
    pub(crate) fn add(&mut self, other: Stages) {
        for (time, ms) in self.times.iter_mut().zip(other.times) {
            *time += ms;
        }
        self.filter_by_wall |= other.filter_by_wall;
        self.pack_ms = other.pack_ms.or(self.pack_ms);
        self.spans.extend(other.spans);
    }

    /// What the filter took, in milliseconds; not a number where that is not known.
    pub fn filter_ms(&self) -> f64 {
        self.times[Stage::Filter as usize]
    }
}

/// How far a frame is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// What its filter was predicted to take before it began, in milliseconds: a guess, where nothing was known.
    pub predicted_ms: f64,
    /// Predicted time of what is left to do, in milliseconds.
    pub remaining_ms: f64,
    /// Since it was started, in seconds; 0 before.
    pub elapsed_s: f64,
    /// Part of the filter's work that is done, 0 to 1.
    pub fraction: f64,
    /// The best prediction of its whole time, in seconds; `None` while nothing was measured.
    pub total_s: Option<f64>,
}

impl Stages {
    /// Counts what the host has done beside the window's thread.
    pub(super) fn take_in(&mut self, spans: Vec<Span>) {
        for span in &spans {
            self.times[span.stage as usize] += span.ms();
        }
        self.spans.extend(spans);
    }

    /// Notes what a filter took that is not on the OpenCL device. Of shaders OpenGL tells only how long, so they stand
    /// where they were begun.
    pub(super) fn filtered_on_host(&mut self, took: Took, started: Option<Instant>) {
        self.times[Stage::Filter as usize] += took.ms;
        self.filter_by_wall = took.by_wall;
        let of_shaders = |from: Instant| {
            let to = from + Duration::try_from_secs_f64(took.ms / 1e3).unwrap_or_default();
            Span { stage: Stage::Filter, lane: Lane::Device, from, to }
        };
        self.spans.extend(took.on_host.or(started.map(of_shaders)));
    }
}
