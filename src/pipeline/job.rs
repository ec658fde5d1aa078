//! One frame's commands on the device, and what they took.

use std::collections::VecDeque;
use std::time::Instant;

use crate::convert::Correction;
use crate::ladder::VariantId;
use crate::ladder::box_filter::{Picture, Plan};
use crate::media::Matrix;

/// Part of a pass that is in the queue.
pub(super) struct Band {
    pub(super) event: ocl::Event,
    pub(super) pass: usize,
    pub(super) work: f64,
    pub(super) predicted_ms: f64,
}

/// One frame's commands on the device.
pub struct Job {
    pub(super) variant: VariantId,
    pub(super) colors: Option<Colors>,
    /// The filter; `None` where the picture is converted or corrected only.
    pub(super) plan: Option<Plan>,
    /// The filtered buffer that is to be copied into the texture, on the device.
    pub(super) place: Option<Picture>,
    pub(super) to_texture: bool,
    /// The next rows to enqueue: pass and first row; the pass is past the last one when all are in the queue.
    pub(super) next: (usize, u32),
    pub(super) bands: VecDeque<Band>,
    pub(super) events: Events,
    pub(super) cancelled: bool,
    pub(super) started: Option<Instant>,
    pub(super) work_done: f64,
    pub(super) work_total: f64,
    pub(super) predicted_ms: f64,
    /// What the finished steps took.
    pub times: JobTimes,
}

/// The commands around the filter.
#[derive(Default)]
pub(super) struct Events {
    pub(super) upload: Option<ocl::Event>,
    pub(super) acquire: Option<ocl::Event>,
    pub(super) colors: Option<ocl::Event>,
    pub(super) place: Option<ocl::Event>,
    /// The last command: when it is complete, all are.
    pub(super) last: Option<ocl::Event>,
}

/// Device times of a finished job's steps, in milliseconds; of `acquire` also what the host waited.
#[derive(Debug, Clone, Copy, Default)]
pub struct JobTimes {
    /// Planes or picture to the device.
    pub upload: f64,
    /// The texture to OpenCL.
    pub acquire: f64,
    /// Planes to RGBA.
    pub convert: f64,
    /// The colour correction; where the conversion's kernel does it, what that takes longer than without.
    pub correct: f64,
    /// All bands of all passes.
    pub filter: f64,
    /// The picture to OpenGL: the copy into the texture and its release, or the download.
    pub release: f64,
}

/// What is done to the colours of a frame before the filter, and where.
pub(super) enum Colors {
    Convert { correction: Correction, to: Picture },
    Correct { correction: Correction, matrix: Matrix, size: (u32, u32), from: Picture, to: Picture },
}

/// Where a [`Job`] stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// Its commands are not all finished.
    Running,
    /// The filtered picture is in the slot.
    Done,
    /// It was cancelled, and the slot is free again.
    Cancelled,
}

impl Job {
    pub(super) fn passes(&self) -> usize {
        self.plan.as_ref().map_or(0, Plan::passes)
    }

    /// Drops the bands that are not in the queue yet. The job ends when those that are have finished.
    pub fn cancel(&mut self) {
        if self.events.last.is_none() {
            self.cancelled = true;
        }
    }

    /// Whether all of its commands are in the queue. Until then no other job may be started.
    pub fn is_all_enqueued(&self) -> bool {
        self.events.last.is_some()
    }

    /// Whether its picture is in the slot's texture when it is done.
    pub fn fills_texture(&self) -> bool {
        self.to_texture
    }

    /// Whether anything of it is or was on the device.
    pub fn was_started(&self) -> bool {
        self.started.is_some()
    }

    /// Predicted device time of what is left to do, in milliseconds.
    pub fn remaining_ms(&self) -> f64 {
        self.total_s() * 1e3 * (1.0 - self.fraction())
    }

    /// Predicted device time of the whole frame, in milliseconds.
    pub fn predicted_ms(&self) -> f64 {
        self.predicted_ms
    }

    /// Part of the filter's work that is done, 0 to 1.
    pub fn fraction(&self) -> f64 {
        if self.work_total > 0.0 { (self.work_done / self.work_total).min(1.0) } else { 0.0 }
    }

    /// Time since the job was started, in seconds; 0 before.
    pub fn elapsed_s(&self) -> f64 {
        self.started.map_or(0.0, |at| at.elapsed().as_secs_f64())
    }

    /// The best prediction of the whole frame's time: what was measured so far and is still to come, in
    /// seconds.
    pub fn total_s(&self) -> f64 {
        let fraction = self.fraction();
        if fraction > 0.02 { self.elapsed_s() / fraction } else { self.predicted_ms / 1e3 }
    }
}
