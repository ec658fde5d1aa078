//! Keeps what was measured: the last seconds for the overlay, everything for `--stats`.
//!
//! In: a [`FrameSample`] for each movie frame presented, and for each picture filtered anew in its place; the interval
//! between two swaps of the window. Out: counters, the recent history, and summaries of what is on the screen.

use std::collections::VecDeque;

use super::timeline::FRAMES_SHOWN;
use super::{FrameSample, GlTimes, Scores, Setting, Span, Stage, StageTimes, Timeline};
use base::timing::{Noise, Series};
use box_filter::VariantId;

/// Seconds of history that the graph can show.
pub(crate) const HISTORY_S: f64 = 10.0;
/// Frames that the history holds at most, however fast they come.
pub(crate) const HISTORY_FRAMES: usize = 2_000;
/// Seconds at the end of the history that a [`Summary`] covers.
pub const SUMMARY_S: f64 = 5.0;
/// Frames kept for `--stats`: about 4.6 hours at 30 frames a second, 92 MB. After that the oldest go.
pub(crate) const KEPT_FRAMES: usize = 500_000;
/// Repaint intervals kept without `--stats`.
const RECENT_REPAINTS: usize = 1_000;

/// The end of the history in five numbers, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The newest sample.
    pub last: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest sample.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile, nearest rank.
    pub p95: f64,
    /// Largest sample.
    pub max: f64,
    /// How many samples it summarises.
    pub n: usize,
    /// Why they are not to be trusted to the last digit, if they are not.
    pub noise: Option<Noise>,
}

impl Summary {
    /// Summary of `samples`, oldest first; `None` when there are none. Percentiles are nearest-rank, as in
    /// [`Series`]. Samples that are not finite are left out. `others` is the part of the machine that other processes used
    /// meanwhile, 0 to 1, where that is known.
    pub fn of(samples: impl DoubleEndedIterator<Item = f64>, others: Option<f64>) -> Option<Self> {
        let mut samples: Vec<f64> = samples.filter(|s| s.is_finite()).collect();
        let last = *samples.last()?;
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        samples.sort_unstable_by(f64::total_cmp);
        let n = samples.len();
        let rank = |p: f64| samples[((p * n as f64).ceil() as usize).clamp(1, n) - 1];
        let (min, p50, p95, max) = (samples[0], rank(0.50), rank(0.95), samples[n - 1]);
        let noise = Noise::between((min, p50, p95), n, others);
        Some(Self { last, mean, min, p50, p95, max, n, noise })
    }
}

/// Collects the samples of a run.
///
/// Memory is bounded: the history by [`HISTORY_S`] and [`HISTORY_FRAMES`], and what is kept for `--stats` by
/// [`KEPT_FRAMES`].
#[derive(Debug, Clone)]
pub struct Recorder {
    history: VecDeque<FrameSample>,
    /// When the stages of each of these ran.
    spans: VecDeque<Vec<Span>>,
    /// The newest pictures that were filtered alike, up to the one on the screen, with their places among the frames
    /// presented; a picture that was filtered anew has none.
    stretch: VecDeque<(Option<u64>, FrameSample)>,
    scores: Scores,
    /// How the picture on the screen was filtered, whether or not it has been measured.
    setting: Option<Setting>,
    /// The next picture is the first one after another setting.
    is_first: bool,
    /// Counts the changes of the OpenCL device: what an earlier one has filtered is not among the numbers that are shown.
    device: u32,
    /// Counts what changed the numbers of the picture on the screen.
    shown: u64,
    /// Every frame, when they are kept.
    kept: Option<VecDeque<FrameSample>>,
    keep_limit: usize,
    repaints: VecDeque<f64>,
    presented: u64,
    late: u64,
    dropped: u64,
    /// Rows that no longer fitted into `kept`.
    forgotten: u64,
    frame_gap: bool,
    repaint_gap: bool,
    /// The part of the machine that other processes used lately.
    others: Option<f64>,
}

impl Recorder {
    /// An empty recorder; `keep_all` also keeps what falls out of the history, for `--stats`.
    pub fn new(keep_all: bool) -> Self {
        Self::with_limit(keep_all, KEPT_FRAMES)
    }

    pub(super) fn with_limit(keep_all: bool, keep_limit: usize) -> Self {
        Self {
            history: VecDeque::new(),
            spans: VecDeque::new(),
            stretch: VecDeque::new(),
            scores: Scores::default(),
            setting: None,
            is_first: false,
            device: 0,
            shown: 0,
            kept: keep_all.then(VecDeque::new),
            keep_limit,
            repaints: VecDeque::new(),
            presented: 0,
            late: 0,
            dropped: 0,
            forgotten: 0,
            frame_gap: false,
            repaint_gap: false,
            others: None,
        }
    }

    /// Notes what part of the machine other processes used lately, 0 to 1: the pictures that come are measured beside that.
    pub fn note_others(&mut self, part: Option<f64>) {
        self.others = part;
    }

    /// Takes the sample of a frame that has just been presented. The first one after
    /// [`mark_discontinuity`](Self::mark_discontinuity) loses its interval.
    pub fn push(&mut self, mut sample: FrameSample) {
        self.leave_out(&mut sample);
        if std::mem::take(&mut self.frame_gap) {
            sample.interval_ms = None;
        }
        sample.others = self.others;
        self.show(Some(self.presented), sample.clone());
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
        self.history.push_back(sample);
        self.spans.push_back(Vec::new());
        while self.history.len() > HISTORY_FRAMES
            || self.history.front().is_some_and(|s| s.presented_at < oldest)
        {
            self.history.pop_front();
            self.spans.pop_front();
        }
    }

    /// The other side of the wipe that is being shown, if there is one.
    pub fn wiped_with(&self) -> Option<super::Beside> {
        self.setting.and_then(|setting| setting.beside)
    }

    /// Takes the sample of the picture on the screen after it was filtered anew: it is measured and shown, but it is no
    /// movie frame that was presented.
    pub(crate) fn push_again(&mut self, mut sample: FrameSample) {
        self.leave_out(&mut sample);
        (sample.interval_ms, sample.others) = (None, self.others);
        self.show(None, sample);
    }

    /// A picture that was filtered so is being put on the screen. Its own numbers come when it is there; until then those of
    /// the one before, if that was filtered otherwise, are not shown any more.
    pub(crate) fn begin(&mut self, setting: Setting) {
        let Some(before) = self.setting.replace(setting).filter(|before| *before != setting) else { return };
        if before.device != setting.device {
            self.scores.clear();
        }
        self.forget_shown();
    }

    /// Another OpenCL device filters from now on, or none: what was measured before is not its own. `device` counts these
    /// changes.
    pub(crate) fn device_changed(&mut self, device: u32) {
        self.device = device;
        self.scores.clear();
        self.forget_shown();
    }

    /// No number of the picture on the screen holds any more.
    fn forget_shown(&mut self) {
        self.stretch.clear();
        self.shown += 1;
        self.is_first = true;
    }

    /// This version of its kernels filters for this variant from now on: its times begin anew. `differs`: they count for nothing,
    /// because it makes another picture.
    pub(crate) fn kernels_changed(&mut self, variant: VariantId, version: u64, differs: bool) {
        self.scores.start_anew(variant, version, differs);
        let is_in = |setting: Setting| {
            setting.variant == variant || setting.beside.is_some_and(|b| b.variant == variant)
        };
        if self.setting.is_some_and(is_in) {
            self.forget_shown();
        }
    }

    /// What makes another picture has no time of its filter, on either side of a wipe.
    fn leave_out(&self, sample: &mut FrameSample) {
        let versions = sample.versions;
        if self.scores.leaves_out(sample.variant, versions.first) {
            sample.stages[Stage::Filter as usize] = f64::NAN;
        }
        sample.beside_filter_ms = sample
            .beside_filter_ms
            .filter(|_| !sample.beside.is_some_and(|b| self.scores.leaves_out(b.variant, versions.beside)));
    }

    /// Takes the sample of the picture that is on the screen now.
    fn show(&mut self, frame: Option<u64>, mut sample: FrameSample) {
        let setting = sample.setting();
        self.begin(setting);
        if sample.device < self.device {
            // It was on its way when the device changed, whose name stands there already.
            return;
        }
        if frame.is_some() && std::mem::take(&mut self.is_first) {
            // Most of it was waiting, while another filter was at work.
            sample.interval_ms = None;
        }
        let oldest = sample.presented_at - SUMMARY_S;
        self.stretch.push_back((frame, sample));
        while self.stretch.len() > HISTORY_FRAMES
            || self.stretch.front().is_some_and(|(_, s)| s.presented_at < oldest)
        {
            self.stretch.pop_front();
        }
        self.shown += 1;
        let filter = self.stretch.iter().map(|(_, sample)| sample.stages[Stage::Filter as usize]);
        self.scores.set(&setting, filter, others(self.current()));
    }

    /// The picture on the screen; `None` before the first one, and while one that was filtered otherwise than that before is
    /// being put there. It has no interval where it is the first one that was filtered as it is.
    pub fn shown(&self) -> Option<&FrameSample> {
        self.stretch.back().map(|(_, sample)| sample)
    }

    /// How the picture that the numbers are of was filtered.
    pub fn shown_setting(&self) -> Option<Setting> {
        self.shown().map(FrameSample::setting)
    }

    /// Changes whenever the numbers of the picture on the screen do.
    pub fn shown_count(&self) -> u64 {
        self.shown
    }

    /// What each variant's filter took when it was measured last.
    pub fn scores(&self) -> &Scores {
        &self.scores
    }

    /// Takes the sample of a frame that has just been presented, with when its stages ran.
    pub fn push_traced(&mut self, sample: FrameSample, spans: Vec<Span>) {
        self.push(sample);
        if let Some(newest) = self.spans.back_mut() {
            *newest = spans;
        }
    }

    /// Which of the frames presented one of the [history](Self::history) is, counted from the first.
    pub fn number_of(&self, sample: &FrameSample) -> Option<u64> {
        let at = self.history.iter().position(|s| std::ptr::eq(s, sample))?;
        self.presented.checked_sub((self.history.len() - at) as u64)
    }

    /// A frame of the history by that number, and when its stages ran and those of the frames before it, as many as
    /// [`timeline`](Self::timeline) has, as far as they follow each other.
    pub fn timeline_of(&self, number: u64) -> Option<(&FrameSample, Timeline)> {
        let back = usize::try_from(self.presented.checked_sub(number)?).ok()?;
        let at = self.history.len().checked_sub(back)?;
        let sample = self.history.get(at)?;
        let follows = |n: &usize| self.history[n + 1].interval_ms.is_some();
        let first = (0..at).rev().take_while(follows).take(FRAMES_SHOWN - 1).last().unwrap_or(at);
        let mut timeline = Timeline::default();
        let known = self.spans.range(first..=at).filter(|spans| !spans.is_empty());
        known.for_each(|spans| timeline.push(spans.clone()));
        Some((sample, timeline))
    }

    /// When the stages of the last frames ran, as far as these follow each other.
    pub fn timeline(&self) -> Timeline {
        let last = self.presented.checked_sub(1).and_then(|last| self.timeline_of(last));
        last.map(|(_, timeline)| timeline).unwrap_or_default()
    }

    /// Adds what OpenGL's device spent on a frame to its sample, if that is still kept. `frame` counts from the first frame
    /// presented.
    pub(crate) fn set_gl_times(&mut self, frame: u64, times: GlTimes) {
        let presented = self.presented;
        for samples in [Some(&mut self.history), self.kept.as_mut()].into_iter().flatten() {
            let back = presented.checked_sub(frame + 1).and_then(|n| usize::try_from(n).ok());
            let at = back.and_then(|back| samples.len().checked_sub(back + 1));
            if let Some(sample) = at.and_then(|at| samples.get_mut(at)) {
                sample.gl = times;
            }
        }
        if let Some((_, sample)) = self.stretch.iter_mut().find(|(of, _)| *of == Some(frame)) {
            sample.gl = times;
        }
    }

    /// Takes the interval between two swaps of the window, in milliseconds, whatever they showed.
    pub(crate) fn overlay_repaint(&mut self, interval_ms: f64) {
        if std::mem::take(&mut self.repaint_gap) {
            return;
        }
        let limit = if self.kept.is_some() { self.keep_limit } else { RECENT_REPAINTS };
        if self.repaints.len() >= limit {
            self.repaints.pop_front();
        }
        self.repaints.push_back(interval_ms);
    }

    /// Says that time stood still (a seek, a pause, a resize): the next interval is not counted.
    pub(crate) fn mark_discontinuity(&mut self) {
        self.frame_gap = true;
        self.repaint_gap = true;
    }

    /// The frames of the last [`HISTORY_S`] seconds, oldest first.
    pub fn history(&self) -> &VecDeque<FrameSample> {
        &self.history
    }

    /// Every frame that was kept, oldest first: all of them with `keep_all`, else the history.
    pub(crate) fn frames(&self) -> &VecDeque<FrameSample> {
        self.kept.as_ref().unwrap_or(&self.history)
    }

    /// Every frame that was kept, and whether the frame before it was filtered otherwise.
    pub(crate) fn frames_and_switches(&self) -> impl Iterator<Item = (&FrameSample, bool)> {
        let frames = self.frames();
        let before = std::iter::once(None).chain(frames.iter().map(Some));
        frames.iter().zip(before).map(|(s, before)| (s, before.is_some_and(|b| b.setting() != s.setting())))
    }

    /// Index of the first of [`frames`](Self::frames), counted from the first frame presented.
    pub(crate) fn first_frame(&self) -> u64 {
        match &self.kept {
            Some(_) => self.forgotten,
            None => self.presented.saturating_sub(self.history.len() as u64),
        }
    }

    /// The pictures that the summaries are about, oldest first: filtered as the one on the screen, one after the other,
    /// and not older than [`SUMMARY_S`]. A switch therefore shows with its first frame.
    fn current(&self) -> impl DoubleEndedIterator<Item = &FrameSample> {
        self.stretch.iter().map(|(_, sample)| sample)
    }

    /// Summary of what is picked of each of these pictures.
    fn summarise(&self, pick: impl Fn(&FrameSample) -> Option<f64>) -> Option<Summary> {
        Summary::of(self.current().filter_map(pick), others(self.current()))
    }

    /// Summary of a stage over the last [`SUMMARY_S`] seconds of the picture on the screen's [`Setting`].
    pub fn summary(&self, stage: Stage) -> Option<Summary> {
        self.summarise(|s| Some(s.stages[stage as usize]))
    }

    /// Summary of one of OpenGL's times over the same frames, as far as they are known.
    pub fn gl_summary(&self, time: impl Fn(&GlTimes) -> Option<f64>) -> Option<Summary> {
        self.summarise(|s| time(&s.gl))
    }

    /// Summary of what the filter of a wipe's other side took over the same frames.
    pub fn beside(&self) -> Option<Summary> {
        self.summarise(|s| s.beside_filter_ms)
    }

    /// Summary of what packing the planes took the decoder's thread over the same frames, where that did it.
    pub fn packing(&self) -> Option<Summary> {
        self.summarise(|s| s.pack_ms)
    }

    /// Summary of the frame time, the interval between two presents, over the same frames.
    pub fn frame_interval(&self) -> Option<Summary> {
        self.summarise(|s| s.interval_ms)
    }

    /// Summary of what the stages leave of the frame time, over the same frames.
    pub fn idle(&self) -> Option<Summary> {
        self.summarise(|s| Some((s.interval_ms? - busy(&s.stages)).max(0.0)))
    }

    /// Summary of the last few hundred repaint intervals; unlike
    /// [`repaint_interval`](Self::repaint_interval) cheap however long the run is.
    pub fn recent_repaints(&self) -> Option<Summary> {
        Summary::of(self.repaints.iter().rev().take(RECENT_REPAINTS / 4).rev().copied(), None)
    }

    /// Statistics of the repaint interval: of the whole run with `keep_all`, else of the last thousand.
    pub(crate) fn repaint_interval(&self) -> Option<Series> {
        Series::of(&self.repaints.iter().copied().collect::<Vec<_>>())
    }

    /// Frames presented.
    pub fn presented(&self) -> u64 {
        self.presented
    }

    /// Frames presented more than half a frame interval after their time stamp.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Frames decoded and then left out because their successor was due.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Rows that had to make room in a very long run with `keep_all`.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

/// Sum of a frame's stages, in milliseconds.
pub fn busy(stages: &StageTimes) -> f64 {
    stages.iter().filter(|s| s.is_finite()).sum()
}

/// The part of the machine that other processes used beside these frames, 0 to 1: the mean of what is known.
pub fn others<'a>(frames: impl Iterator<Item = &'a FrameSample>) -> Option<f64> {
    let (sum, n) = frames.filter_map(|s| s.others).fold((0.0, 0u32), |(sum, n), part| (sum + part, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}
