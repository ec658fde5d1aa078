//! Records the samples of presented frames: the last seconds for the overlay and, if requested, all of them for `--stats`. Also counts and
//! summarises them.

use std::collections::VecDeque;

use super::shown::ShownFrames;
use super::summary::{HISTORY_FRAMES, Summary};
use super::timeline::FRAMES_SHOWN;
use super::{FrameSample, Setting, Timeline};
use base::timing::Series;
use box_filter::VariantId;

/// The length of the history that the graph can show, in seconds.
pub const HISTORY_S: f64 = 10.0;
/// The maximum number of frames that are kept for `--stats`: about 4.6 hours at 30 frames a second, 110 MB. Older frames are dropped.
pub const KEPT_FRAMES: usize = 500_000;
/// The maximum number of repaint intervals (times between two swaps of the window's buffers) that are kept without `--stats`.
const RECENT_REPAINTS: usize = 1_000;

/// Collects the samples of all presented frames of a run.
///
/// Memory is bounded: the history by [`HISTORY_S`] and [`HISTORY_FRAMES`], and the frames for `--stats` by [`KEPT_FRAMES`].
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    history: VecDeque<FrameSample>,
    /// The frames that the window's summaries cover.
    pub shown: ShownFrames,
    /// Every presented frame; `None` if frames are not kept for `--stats`.
    kept: Option<VecDeque<FrameSample>>,
    /// The maximum number of frames in `kept`.
    pub(super) keep_limit: usize,
    repaints: VecDeque<f64>,
    /// The number of presented frames.
    pub presented: u64,
    /// The number of frames that were presented more than half a frame interval after their timestamp.
    pub late: u64,
    /// The number of frames that were decoded and then dropped because their successor was due.
    pub dropped: u64,
    /// The number of frames that were dropped from `kept` because it was full, which occurs in very long runs.
    pub(super) forgotten: u64,
    frame_gap: bool,
    repaint_gap: bool,
    /// The part of the machine's CPU time that other processes used lately, 0 to 1, for the next samples.
    pub others: Option<f64>,
    /// Two booleans: true if this program now uses the device for work other than the movie, and true if it has done so since
    /// the last sample.
    other_work: [bool; 2],
}

impl Recorder {
    /// Creates an empty recorder. If `keep_all` is true, it also keeps the frames that are older than the history, for
    /// `--stats`.
    pub fn new(keep_all: bool) -> Self {
        Self { kept: keep_all.then(VecDeque::new), keep_limit: KEPT_FRAMES, ..Self::default() }
    }

    /// Sets whether this program uses the device for work other than the movie. Samples during that time, and the next one
    /// after it, are not saved as the times of a run, because their filter may have waited.
    pub fn set_other_work(&mut self, is_running: bool) {
        self.other_work = [is_running, self.other_work[1] || is_running];
    }

    /// Adds the sample of a frame that has just been presented. The interval of the first sample after
    /// [`mark_discontinuity`](Self::mark_discontinuity) is removed.
    pub fn push(&mut self, mut sample: FrameSample) {
        self.shown.remove_excluded(&mut sample);
        if std::mem::take(&mut self.frame_gap) {
            sample.interval_ms = None;
        }
        sample.others = self.others;
        sample.beside_work = self.other_work[1];
        self.other_work[1] = self.other_work[0];
        let spans = std::mem::take(&mut sample.stages.spans);
        self.shown.push(Some(self.presented), sample.clone());
        // The kernels' work is needed only for the frames in `shown`, and is larger than the rest of a sample.
        sample.stages.work = None;
        self.presented += 1;
        self.late += u64::from(sample.late);
        self.dropped += u64::from(sample.dropped_before);
        if let Some(kept) = &mut self.kept {
            if kept.len() >= self.keep_limit {
                kept.pop_front();
                self.forgotten += 1;
            }
            kept.push_back(sample.clone());
        }
        let oldest = sample.presented_at - HISTORY_S;
        sample.stages.spans = spans;
        self.history.push_back(sample);
        while self.history.len() > HISTORY_FRAMES
            || self.history.front().is_some_and(|s| s.presented_at < oldest)
        {
            self.history.pop_front();
        }
    }

    /// Adds a sample of the picture on the screen, which was filtered again. It does not count as another presented frame.
    pub fn push_refiltered(&mut self, mut sample: FrameSample) {
        self.shown.remove_excluded(&mut sample);
        (sample.interval_ms, sample.others) = (None, self.others);
        sample.stages.spans = Vec::new();
        self.shown.push(None, sample);
    }

    /// Returns the number of the frame to which a sample of the [history](Self::history) belongs, counted from 0 at the first
    /// presented frame; `None` if the sample is not in the history.
    pub fn number_of(&self, sample: &FrameSample) -> Option<u64> {
        let at = self.history.iter().position(|s| std::ptr::eq(s, sample))?;
        self.presented.checked_sub((self.history.len() - at) as u64)
    }

    /// Returns the frame of the history with this number, and a [`Timeline`] of its stages and those of the frames before it; `None` if the
    /// history does not have the frame.
    pub fn timeline_of(&self, number: u64) -> Option<(&FrameSample, Timeline)> {
        let back = usize::try_from(self.presented.checked_sub(number)?).ok()?;
        let at = self.history.len().checked_sub(back)?;
        let sample = self.history.get(at)?;
        let follows = |n: &usize| self.history[n + 1].interval_ms.is_some();
        let first = (0..at).rev().take_while(follows).take(FRAMES_SHOWN - 1).last().unwrap_or(at);
        let spans = self.history.range(first..=at).map(|sample| &sample.stages.spans);
        let frames = spans.filter(|spans| !spans.is_empty()).cloned().collect();
        Some((sample, Timeline { frames }))
    }

    /// Returns the timeline of the frames that were presented last.
    pub fn timeline(&self) -> Timeline {
        let last = self.presented.checked_sub(1).and_then(|last| self.timeline_of(last));
        last.map(|(_, timeline)| timeline).unwrap_or_default()
    }

    /// Adds the device times of OpenGL's commands to the sample of a frame, if the sample is still kept. `frame` is its number among the
    /// presented frames.
    pub fn set_gl_times(&mut self, frame: u64, times: [Option<f64>; 3]) {
        let presented = self.presented;
        for samples in [Some(&mut self.history), self.kept.as_mut()].into_iter().flatten() {
            let back = presented.checked_sub(frame + 1).and_then(|n| usize::try_from(n).ok());
            let at = back.and_then(|back| samples.len().checked_sub(back + 1));
            if let Some(sample) = at.and_then(|at| samples.get_mut(at)) {
                sample.gl = times;
            }
        }
        self.shown.set_gl_times(frame, times);
    }

    /// Adds the interval between two swaps of the window's buffers, in milliseconds, whatever the swaps showed.
    pub fn overlay_repaint(&mut self, interval_ms: f64) {
        if std::mem::take(&mut self.repaint_gap) {
            return;
        }
        let limit = if self.kept.is_some() { self.keep_limit } else { RECENT_REPAINTS };
        if self.repaints.len() >= limit {
            self.repaints.pop_front();
        }
        self.repaints.push_back(interval_ms);
    }

    /// Leaves the interval before the next frame out of the statistics. Call it after a seek, a pause, a resize or anything
    /// else that took time and is not playback.
    pub fn mark_discontinuity(&mut self) {
        self.frame_gap = true;
        self.repaint_gap = true;
    }

    /// Returns the frames of the last [`HISTORY_S`] seconds, oldest first.
    pub fn history(&self) -> &VecDeque<FrameSample> {
        &self.history
    }

    /// Returns the frames that were kept, oldest first: every presented frame with `keep_all`, else the history.
    pub fn frames(&self) -> &VecDeque<FrameSample> {
        self.kept.as_ref().unwrap_or(&self.history)
    }

    /// Returns the kept frames, each with a boolean that is true if its setting differs from that of the previous frame.
    pub fn frames_and_switches(&self) -> impl Iterator<Item = (&FrameSample, bool)> {
        let frames = self.frames();
        let before = std::iter::once(None).chain(frames.iter().map(Some));
        frames.iter().zip(before).map(|(s, before)| (s, before.is_some_and(|b| b.setting != s.setting)))
    }

    /// Returns the variants that have filtered the recorded frames, each with the number of its version of the kernels.
    pub fn used_versions(&self) -> Vec<(VariantId, u64)> {
        let mut used = Vec::new();
        for frame in self.frames() {
            let Setting { variant, version, beside, beside_version, .. } = frame.setting;
            let second = beside.map(|beside| beside.variant).zip(beside_version);
            for one in std::iter::once((variant, version)).chain(second) {
                if used.last() != Some(&one) && !used.contains(&one) {
                    used.push(one);
                }
            }
        }
        used
    }

    /// Returns the number of the first of [`frames`](Self::frames), counted from 0 at the first presented frame.
    pub fn first_frame(&self) -> u64 {
        match &self.kept {
            Some(_) => self.forgotten,
            None => self.presented.saturating_sub(self.history.len() as u64),
        }
    }

    /// Returns the summary of the last few hundred repaint intervals, the times between two swaps of the window's buffers. Unlike
    /// [`repaint_interval`](Self::repaint_interval) it is cheap however long the run is.
    pub fn recent_repaints(&self) -> Option<Summary> {
        Summary::of(self.repaints.iter().rev().take(RECENT_REPAINTS / 4).rev().copied(), None)
    }

    /// Returns the statistics of the repaint intervals, the times between two swaps of the window's buffers: of the whole run with
    /// `keep_all`, else of the last thousand.
    pub fn repaint_interval(&self) -> Option<Series> {
        Series::of(&self.repaints.iter().copied().collect::<Vec<_>>())
    }
}
