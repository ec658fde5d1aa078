//! The data that all parts of the overlay share in one pass, with the statistics that the overlay displays, which are refreshed
//! slowly enough to be read.

use base::timing::Ratio;
use stats::{FilterWork, Recorder, Scores, Setting, Stage, Summary};

use crate::action::Action;
use crate::panels::Panel;
use crate::view::View;

/// The input and the output of a pass (one layout of the overlay).
pub(crate) struct Pass<'a> {
    pub view: &'a View<'a>,
    pub numbers: &'a Numbers,
    /// True if the window system does not report files that the user drops on the window.
    pub lacks_drops: bool,
    /// True if the keys of variants change the filter of a wipe's right side.
    pub keys_go_right: bool,
    /// The actions that the user has requested in this pass.
    pub actions: Vec<Action>,
    /// The panel that the user has folded (true) or unfolded (false) in this pass; `None` if there is none.
    pub fold: Option<(Panel, bool)>,
}

/// The displayed statistics, copied from the recorder a few times a second, and at once when the filter changes.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The time of the last refresh, in egui's seconds; `None` before the first one.
    refreshed_at: Option<f64>,
    setting: Option<Setting>,
    /// The recorder's count of changes of the measurements (its `shown.changes`) at the last refresh.
    frame_count: u64,
    pub stages: [Option<Summary>; Stage::ALL.len()],
    /// The filter's times if they are left out of `stages`, because the output differs from the reference.
    left_out: Option<Summary>,
    pub idle: Option<Summary>,
    pub frame: Option<Summary>,
    /// The times that the stages release, present and overlay take on OpenGL's device.
    pub gl: [Option<Summary>; 3],
    /// The filter's times on the right side of a wipe.
    pub second_filter: Option<Summary>,
    /// The ratio of the filter's times on the left side of a wipe to those on the right side.
    pub wipe_ratio: Option<Ratio>,
    /// The times that the decoder's thread takes to pack the planes of pictures.
    pub packing: Option<Summary>,
    pub repaint: Option<Summary>,
    /// The last measured filter time of each variant, refreshed together with the other statistics, so that a time is the same
    /// wherever it is shown.
    pub scores: Scores,
    /// The kernels of the filter, with the median time of each; `None` if they are not known.
    pub work: Option<FilterWork>,
}

impl Numbers {
    /// Refreshes the statistics from `recorder` if they are due. `now` is the time in egui's seconds.
    pub(crate) fn refresh(&mut self, recorder: &Recorder, now: f64) {
        let setting = recorder.shown.last().map(|sample| sample.setting);
        // Seconds between two refreshes of the displayed statistics.
        let due = self.refreshed_at.is_none_or(|t| now < t || now >= t + 0.25);
        if setting == self.setting && !due {
            return;
        }
        self.refreshed_at = Some(now);
        self.setting = setting;
        self.repaint = recorder.recent_repaints();
        if self.frame_count == recorder.shown.changes && self.frame.is_some() {
            return;
        }
        self.frame_count = recorder.shown.changes;
        self.scores = recorder.shown.scores.clone();
        self.work = recorder.shown.work();
        self.stages = Stage::ALL.map(|stage| recorder.shown.summary(stage));
        self.left_out = recorder.shown.left_out();
        self.idle = recorder.shown.idle();
        self.frame = recorder.shown.frame_interval();
        self.packing = recorder.shown.summarise(|sample| sample.stages.pack_ms);
        self.second_filter = recorder.shown.beside();
        self.wipe_ratio = recorder.shown.wipe_ratio();
        self.gl = [0, 1, 2].map(|n| recorder.shown.summarise(|sample| sample.gl[n]));
    }

    /// Returns the statistics of a stage; `None` if the stage was not measured.
    pub(crate) fn stage(&self, stage: Stage) -> Option<Summary> {
        self.stages[stage as usize]
    }

    /// Returns the statistics of the time that a stage takes, also if the filter's output differs from the reference; `None` if
    /// it was not measured.
    pub(crate) fn spent(&self, stage: Stage) -> Option<Summary> {
        self.stage(stage).or(self.left_out.filter(|_| stage == Stage::Filter))
    }

    /// Returns true if the table of stages (`table.rs`) has a row for this stage (a timed part of a frame's way to the screen):
    /// for the filter always, and for other stages if their longest measured time is at least 5 µs. A stage may take no time,
    /// such as the upload on a device that computes in host memory.
    pub(crate) fn takes_time(&self, stage: Stage) -> bool {
        stage == Stage::Filter || self.stage(stage).is_some_and(|s| s.max >= 0.005)
    }
}
