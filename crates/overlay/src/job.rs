//! The state of background jobs: the search for the best parameters, the benchmarks in the Lab, and the check of type
//! conversions.

use std::fmt;

use egui::{Button, Ui, vec2};

use super::Action;
use crate::describe::Describe as _;

/// The state of a background job.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum JobState {
    /// The job has not been started.
    #[default]
    Idle,
    /// The job was started, and waits for this reason.
    Waiting(Wait),
    /// The job must wait for this reason, but the step that it began earlier is still running.
    Ending(Wait),
    /// The job is running, with this text about its present step.
    Running(String),
    /// The job has finished, and its results are complete.
    Done,
    /// The user has stopped the job.
    Stopped,
    /// The job could not start, or has failed, for this reason.
    Failed(String),
}

impl JobState {
    /// Returns true if the job is running or waiting.
    pub fn is_under_way(&self) -> bool {
        matches!(self, JobState::Waiting(_) | JobState::Ending(_) | JobState::Running(_))
    }
}

stats::named_values! {
    /// The reason for which a background job (tuning, the Lab) waits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Wait {
        /// The movie is playing; the job runs only in a pause.
        Plays = "the movie is playing",
        /// The movie is playing as fast as possible, which leaves no spare time.
        Unpaced = "the movie is playing as fast as possible",
        /// The movie is playing and needs the CPU, which is also the OpenCL device.
        Cpu = "the movie needs the CPU",
        /// Frames of the movie are presented late.
        Late = "frames are late",
        /// Frames are presented in time, but with little time to spare.
        NoTime = "no spare time between frames",
        /// The movie is playing, and its filter is slow.
        Slow = "the filter is slow",
        /// The movie is paused, but the filter is still running.
        Filter = "the filter is running",
        /// The Lab is running a benchmark.
        Lab = "the Lab is measuring",
        /// The device's type conversions are being checked.
        Check = "type conversions are being checked",
        /// The peaks of the device are being measured.
        Peaks = "the device's peaks are being measured",
        /// The variants are being tuned.
        Tuning = "variants are being tuned",
        /// Two versions of a kernel are being compared.
        Versions = "two versions of a kernel are being compared",
        /// Kernels are being compiled for their machine code or registers.
        Compiler = "kernels are being compiled",
    }
}

impl Wait {
    /// Returns true if a pause ends the wait.
    pub fn ends_in_a_pause(self) -> bool {
        use Wait::{Cpu, Late, NoTime, Plays, Slow, Unpaced};
        matches!(self, Plays | Unpaced | Cpu | Late | NoTime | Slow)
    }

    /// Returns a sentence that says what ends the wait: a pause of the movie, or the end of the other job.
    pub(super) fn end_sentence(self) -> &'static str {
        if self.ends_in_a_pause() { "Pause to continue (Space)." } else { "Continues afterwards." }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Lays out the button that starts a job, or stops it while it is under way. `start` and `stop` have the button's label, hover
/// text and action. Returns the action if the user clicked the button.
pub(crate) fn start_or_stop(
    ui: &mut Ui,
    state: &JobState,
    start: (&str, &str, Action),
    stop: (&str, &str, Action),
) -> Option<Action> {
    let (text, hover, action) = if state.is_under_way() { stop } else { start };
    // The same width for both labels, so that the buttons next to it do not move.
    let button = ui.add(Button::new(text).min_size(vec2(76.0, 0.0)));
    button.explain(hover).clicked().then_some(action)
}
