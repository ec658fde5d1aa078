//! The newest frames with the same setting as the picture on the screen, over which the overlay shows summaries.

use std::collections::{HashMap, VecDeque};

use super::scores::Score;
use super::summary::{HISTORY_FRAMES, SUMMARY_S, Summary, busy, mean_others_share};
use super::{FilterWork, FrameSample, Scores, Setting, Stage};
use base::device::DeviceInfo;
use base::timing::Ratio;
use box_filter::VariantId;

/// The newest frames that were filtered with the same [`Setting`], up to the picture on the screen, and the scores of all
/// variants.
#[derive(Debug, Clone, Default)]
pub struct ShownFrames {
    /// The frames, oldest first, each with its number among the presented frames; `None` for a picture that was filtered again. None is
    /// older than [`SUMMARY_S`].
    frames: VecDeque<(Option<u64>, FrameSample)>,
    /// The scoreboard: the last times of each variant's filter.
    pub scores: Scores,
    /// The conditions under which the picture on the screen was filtered, even if it has not been measured; `None` before the
    /// first picture.
    pub setting: Option<Setting>,
    /// True if the next picture is the first one that was filtered under changed conditions.
    is_first: bool,
    /// The number of changes of the OpenCL device so far. Frames of a previous device are not added.
    device: u32,
    /// The devices that were used, each with the number of device changes at the time when its use began.
    devices: Vec<(u32, Option<DeviceInfo>)>,
    /// The scores of the devices that are not in use, keyed by [`DeviceInfo::index`].
    other_scores: HashMap<usize, HashMap<VariantId, Score>>,
    /// A number that changes whenever the samples behind the summaries change.
    pub changes: u64,
}

impl ShownFrames {
    /// Returns the sample of the picture on the screen; `None` before the first picture, and after a change of the setting until the new
    /// picture was presented. The first sample with a setting has no interval.
    pub fn last(&self) -> Option<&FrameSample> {
        self.frames.back().map(|(_, sample)| sample)
    }

    /// Sets the conditions under which the next picture to be shown was filtered. Drops the collected frames if they differ
    /// from those of the previous picture.
    pub fn begin(&mut self, setting: Setting) {
        if self.setting.replace(setting).is_some_and(|before| before != setting) {
            self.clear();
        }
    }

    /// Records that another OpenCL device, or none, filters from now on, and clears the frames. The scores become those that
    /// were measured on that device before. `device` is the number of device changes so far.
    pub fn device_changed(&mut self, device: u32, info: Option<DeviceInfo>) {
        let index = info.as_ref().map(|info| info.index);
        let known = index.and_then(|index| self.other_scores.remove(&index)).unwrap_or_default();
        let scores = std::mem::replace(&mut self.scores.scores, known);
        let former = self.devices.last().and_then(|(_, info)| info.as_ref());
        if let Some(former) = former.filter(|former| Some(former.index) != index) {
            self.other_scores.insert(former.index, scores);
        }
        self.device = device;
        self.devices.push((device, info));
        self.clear();
    }

    /// Returns the device that was in use after the number `changes` of device changes; `None` if none was in use.
    pub fn device(&self, changes: u32) -> Option<&DeviceInfo> {
        let device = self.devices.iter().rfind(|(number, _)| *number <= changes)?;
        device.1.as_ref()
    }

    /// Returns the devices that were in use before, in the order of their indices, each with the scores that were measured on it.
    pub fn other_devices(&self) -> impl Iterator<Item = (&DeviceInfo, &HashMap<VariantId, Score>)> {
        let mut others: Vec<_> = self.other_scores.iter().filter(|(_, scores)| !scores.is_empty()).collect();
        others.sort_by_key(|(index, _)| **index);
        let info =
            |index| self.devices.iter().rev().flat_map(|(_, info)| info).find(|info| info.index == index);
        others.into_iter().filter_map(move |(index, scores)| Some((info(*index)?, scores)))
    }

    /// Records that this version of a variant's kernels is used from now on, and clears the variant's statistics. If `differs`
    /// is true, its times are left out of all statistics, because its pictures differ from the reference.
    pub fn kernels_changed(&mut self, variant: VariantId, version: u64, differs: bool) {
        self.scores.reset(variant, version, differs);
        self.other_scores.values_mut().for_each(|scores| _ = scores.remove(&variant));
        let is_in = |setting: Setting| {
            setting.variant == variant || setting.beside.is_some_and(|b| b.variant == variant)
        };
        if self.setting.is_some_and(is_in) {
            self.clear();
        }
    }

    /// Returns true if the filter times of this setting are left out of the statistics, because the pictures of that version of
    /// the variant's kernels differ from the reference.
    pub fn is_left_out(&self, setting: &Setting) -> bool {
        self.scores.left_out.contains(&(setting.variant, setting.version))
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.changes += 1;
        self.is_first = true;
    }

    /// Sets the filter times of a sample to unknown, on either side of a wipe, if the pictures of that version of the kernels
    /// differ from the reference. Keeps that of the first side in [`FrameSample::left_out_ms`].
    pub(super) fn remove_excluded(&self, sample: &mut FrameSample) {
        let Setting { variant, version, beside, beside_version, .. } = sample.setting;
        if self.scores.left_out.contains(&(variant, version)) {
            let filter_ms = &mut sample.stages.times[Stage::Filter as usize];
            sample.left_out_ms = Some(std::mem::replace(filter_ms, f64::NAN)).filter(|ms| ms.is_finite());
            sample.stages.work = None;
        }
        let second = beside.map(|beside| beside.variant).zip(beside_version);
        sample
            .beside_filter_ms
            .take_if(|_| second.is_some_and(|second| self.scores.left_out.contains(&second)));
    }

    /// Adds the sample of the picture on the screen. `frame` is its number among the presented frames; `None` if the picture
    /// was filtered again.
    pub(super) fn push(&mut self, frame: Option<u64>, mut sample: FrameSample) {
        let setting = sample.setting;
        self.begin(setting);
        if setting.device < self.device {
            // The frame was being filtered when the device changed. The window already shows the name of the next device.
            return;
        }
        if frame.is_some() && std::mem::take(&mut self.is_first) {
            // Most of the interval was spent waiting for frames of the previous filter.
            sample.interval_ms = None;
        }
        let oldest = sample.presented_at - SUMMARY_S;
        self.frames.push_back((frame, sample));
        while self.frames.len() > HISTORY_FRAMES
            || self.frames.front().is_some_and(|(_, s)| s.presented_at < oldest)
        {
            self.frames.pop_front();
        }
        self.changes += 1;
        self.scores.set(&setting, counted(&self.frames, 2));
    }

    /// Adds the device times of OpenGL's commands to the sample of the frame with this number, if the sample is still there.
    pub(super) fn set_gl_times(&mut self, frame: u64, times: [Option<f64>; 3]) {
        if let Some((_, sample)) = self.frames.iter_mut().find(|(of, _)| *of == Some(frame)) {
            sample.gl = times;
        }
    }

    /// Returns the summary of the filter times of kernels whose pictures differ from the reference, which all other statistics
    /// leave out; `None` without such times.
    pub fn left_out(&self) -> Option<Summary> {
        self.summarise(|sample| sample.left_out_ms)
    }

    /// Returns the summary of a stage's times over the frames; `None` if none was measured.
    pub fn summary(&self, stage: Stage) -> Option<Summary> {
        self.summarise(|s| Some(s.stages.times[stage as usize]))
    }

    /// Returns the kernels of the last frame, each with the median of its times over all frames; `None` if they are not known.
    pub fn work(&self) -> Option<FilterWork> {
        let last = self.last()?.stages.work.as_ref()?;
        let median = |pass: usize| {
            let ms = self.summarise(|sample| {
                let work = sample.stages.work.as_ref().filter(|work| work.config == last.config)?;
                work.pass_ms.get(pass).copied()
            });
            ms.map_or(f64::NAN, |ms| ms.p50)
        };
        let pass_ms = (0..last.pass_ms.len()).map(median).collect();
        Some(FilterWork { pass_ms, ..FilterWork::clone(last) })
    }

    /// Returns the summary of the times of the second side's filter in a wipe; `None` without a wipe.
    pub fn beside(&self) -> Option<Summary> {
        self.summarise(|s| s.beside_filter_ms)
    }

    /// Returns the ratio of the filter's times on the first side of a wipe to those on the second side, which filtered the same
    /// frames; `None` without a wipe, and before enough frames were measured.
    pub fn wipe_ratio(&self) -> Option<Ratio> {
        let pair =
            |(_, sample): &(_, FrameSample)| Some((sample.stages.filter_ms(), sample.beside_filter_ms?));
        let (first, second): (Vec<f64>, Vec<f64>) = self.frames.iter().filter_map(pair).unzip();
        Ratio::of_pairs(&first, &second)
    }

    /// Returns the summary of the intervals between presented frames; `None` if there are none.
    pub fn frame_interval(&self) -> Option<Summary> {
        self.summarise(|s| s.interval_ms)
    }

    /// Returns the summary of the time in each frame interval in which no stage ran; `None` without intervals.
    pub fn idle(&self) -> Option<Summary> {
        let busy = |s: &FrameSample| busy(&s.stages.times) + s.left_out_ms.unwrap_or(0.0);
        self.summarise(|s| Some((s.interval_ms? - busy(s)).max(0.0)))
    }

    /// Returns the summary of the values that `pick` returns for those frames that have an interval, so that all summaries are
    /// of the same frames; if none has one, as some seconds after the beginning of a pause, for all frames. Returns `None` if there are no values.
    pub fn summarise(&self, pick: impl Fn(&FrameSample) -> Option<f64>) -> Option<Summary> {
        let frames = counted(&self.frames, 1);
        Summary::of(frames.clone().filter_map(pick), mean_others_share(frames))
    }
}

/// Returns the frames that have an interval if there are at least `least` of them, otherwise all frames. The first frame of a
/// filter has none: if its filter time counted, the medians of filter and interval would be of different frames.
fn counted(
    frames: &VecDeque<(Option<u64>, FrameSample)>,
    least: usize,
) -> impl DoubleEndedIterator<Item = &FrameSample> + Clone {
    let has_interval = |sample: &FrameSample| sample.interval_ms.is_some();
    let samples = frames.iter().map(|(_, sample)| sample);
    let is_enough = samples.clone().filter(|sample| has_interval(sample)).take(least).count() == least;
    samples.filter(move |sample| !is_enough || has_interval(sample))
}
