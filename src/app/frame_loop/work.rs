//! What filters a frame on its way: OpenCL commands, or another back end. All of them are started,
//! asked whether they are done, and cancelled in the same way, and none is ever waited for.

use std::time::{Duration, Instant};

use super::native::Task;
use crate::ladders::box_filter::glsl;
use crate::pipeline::{Job, JobTimes};
use crate::stats::{Lane, Span, Stage};

/// The filter's share of a frame.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(super) enum Work {
    /// Commands on the OpenCL device.
    Device(Job),
    /// The filter in Rust, on a thread of its own.
    Native(Task),
    /// Shaders in the window's OpenGL.
    Gl(glsl::Task),
}

impl Work {
    /// Whether it does without OpenCL: then a device that fails does not concern it.
    pub(crate) fn does_without_opencl(&self) -> bool {
        !matches!(self, Work::Device(_))
    }

    /// Predicted time of the whole frame, in milliseconds.
    pub(crate) fn predicted_ms(&self) -> f64 {
        match self {
            Work::Device(job) => job.predicted_ms(),
            Work::Native(task) => task.predicted_ms(),
            Work::Gl(task) => task.predicted_ms(),
        }
    }

    /// Predicted time of what is left to do, in milliseconds.
    pub(crate) fn remaining_ms(&self) -> f64 {
        match self {
            Work::Device(job) => job.remaining_ms(),
            Work::Native(task) => task.predicted_ms() - task.elapsed_s() * 1e3,
            Work::Gl(task) => task.predicted_ms() * (1.0 - task.fraction()),
        }
    }

    /// Time since it was started, in seconds; 0 before.
    pub(crate) fn elapsed_s(&self) -> f64 {
        match self {
            Work::Device(job) => job.elapsed_s(),
            Work::Native(task) => task.elapsed_s(),
            Work::Gl(task) => task.elapsed_s(),
        }
    }

    /// Part of the work that is done, 0 to 1; 0 where it is not known.
    pub(crate) fn fraction(&self) -> f64 {
        match self {
            Work::Device(job) => job.fraction(),
            Work::Native(_) => 0.0,
            Work::Gl(task) => task.fraction(),
        }
    }

    /// The best prediction of the whole frame's time, in seconds; `None` while nothing was measured.
    pub(crate) fn total_s(&self) -> Option<f64> {
        let known = |s: f64| (s > 0.0).then_some(s);
        match self {
            Work::Device(job) => job.total_s(),
            Work::Native(task) => known(task.predicted_ms() / 1e3),
            // Its bands are short: the last one's end is nearly now.
            Work::Gl(task) => known(task.fraction()).map(|done| task.elapsed_s() / done),
        }
    }

    /// Drops what has not begun. The work ends when what has begun is finished.
    pub(crate) fn cancel(&mut self) {
        match self {
            Work::Device(job) => job.cancel(),
            Work::Native(task) => task.cancel(),
            Work::Gl(task) => task.cancel(),
        }
    }

    /// When its steps ran, once it is done; of shaders OpenGL tells only how long, so they stand where they were begun.
    pub(crate) fn spans(&self) -> Vec<Span> {
        match self {
            Work::Device(job) => job.spans.clone(),
            Work::Native(task) => task.ran().into_iter().collect(),
            Work::Gl(task) => {
                let ms = Duration::try_from_secs_f64(task.filter_ms() / 1e3).unwrap_or_default();
                let elapsed = Duration::try_from_secs_f64(task.elapsed_s()).unwrap_or_default();
                let span = |from| Span { stage: Stage::Filter, lane: Lane::Device, from, to: from + ms };
                Instant::now().checked_sub(elapsed).map(span).into_iter().collect()
            }
        }
    }

    /// Whether the filter's time is wall time: nothing tells what it took a device.
    pub(crate) fn is_timed_by_wall(&self) -> bool {
        match self {
            Work::Device(_) => false,
            Work::Native(_) => true,
            Work::Gl(task) => task.is_timed_by_wall(),
        }
    }

    /// Times of its steps, once it is done.
    pub(crate) fn times(&self) -> JobTimes {
        match self {
            Work::Device(job) => job.times,
            Work::Gl(task) => JobTimes { filter: task.filter_ms(), ..JobTimes::default() },
            Work::Native(task) => JobTimes { filter: task.filter_ms(), ..JobTimes::default() },
        }
    }
}
