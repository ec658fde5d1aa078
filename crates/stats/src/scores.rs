//! The scoreboard: the last filter time of each variant. It is kept while other variants are chosen, in pauses and after seeks.

use std::collections::{HashMap, HashSet};

use super::summary::mean_others_share;
use super::{FrameSample, SecondSetting, Setting};
use base::timing::{Noise, noise};
use box_filter::{Settings, VariantId};
use compute::work::WorkTotals;

/// The number of measured frames from which a variant that is chosen again at the same settings and size gets a new score. Until
/// then the old score stays, because the first frame finds cold caches.
const MIN_FRAMES: usize = 3;

/// The measured time of a variant's filter, for comparison with other variants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The median filter time, in milliseconds, of the newest frames filtered under the same conditions.
    pub ms: f64,
    /// The interval of the median in milliseconds; with fewer than six frames, from the least to the greatest time.
    pub interval: (f64, f64),
    /// The number of frames in the median.
    pub n: usize,
    /// The reason why the last digits of the time are not reliable; `None` if they are.
    pub noise: Option<Noise>,
    /// The values of the filter's parameters with which the time was measured.
    pub settings: Settings,
    /// The width and height of the pictures that were measured, in pixels.
    pub size: (u32, u32),
    /// The filter of the second side of a wipe during the measurement; `None` without a wipe. Both sides share the machine and
    /// its caches.
    pub beside: Option<SecondSetting>,
    /// The bytes and operations of the kernels' work; `None` if not known.
    pub work: Option<WorkTotals>,
}

impl Score {
    /// Returns true if the score was measured with these settings of the filter and this picture size.
    pub fn is_at(&self, settings: impl Into<Settings>, size: (u32, u32)) -> bool {
        (self.settings, self.size) == (settings.into(), size)
    }
}

/// The last score of each variant on the current device.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    pub(super) scores: HashMap<VariantId, Score>,
    /// Variants and version numbers of edited kernels whose pictures differ from the reference, so that their times are not comparable and
    /// get no score.
    pub(super) left_out: HashSet<(VariantId, u64)>,
    /// The version of the kernels that is in use, for each variant whose kernels have changed.
    in_use: HashMap<VariantId, u64>,
}

impl Scores {
    /// Returns a variant's last score; `None` before its first measured frame on this device, and always for [`VariantId::OFF`].
    pub fn of(&self, variant: VariantId) -> Option<&Score> {
        self.scores.get(&variant)
    }

    /// Sets the score of the setting's variant from the newest frames, oldest first. Filter times that are not finite are left out.
    pub(super) fn set<'f>(
        &mut self,
        setting: &Setting,
        mut frames: impl DoubleEndedIterator<Item = &'f FrameSample> + Clone,
    ) {
        let Setting { variant, settings, size, version, beside, .. } = *setting;
        if variant == VariantId::OFF || self.left_out.contains(&(variant, version)) {
            return;
        }
        // The frame was still filtered by another version than the one that is in use now.
        if self.in_use.get(&variant).is_some_and(|now| *now != version) {
            return;
        }
        let filter_ms = frames.clone().map(|sample| sample.stages.filter_ms());
        let mut measured: Vec<f64> = filter_ms.filter(|ms| ms.is_finite() && *ms > 0.0).collect();
        let n = measured.len();
        if n == 0 {
            return;
        }
        // The percentiles have the same ranks as those of a summary, but are cheap enough to compute for every frame.
        let mut at = |rank: usize| *measured.select_nth_unstable_by(rank, f64::total_cmp).1;
        let rank = |part: f64| ((part * n as f64).ceil() as usize).max(1) - 1;
        let (ms, p95) = (at(rank(0.5)), at(rank(0.95)));
        let (low, high) = noise::median_interval_ranks(n);
        let others = mean_others_share(frames.clone());
        let interval = (at(low), at(high));
        let noise = Noise::from_percentiles((ms, p95), interval, n, others);
        let work =
            frames.next_back().and_then(|last| Some(last.stages.work.as_ref()?.work.as_ref()?.totals()));
        let new = Score { ms, interval, n, noise, settings, size, beside, work };
        let is_kept = |old: &Score| old.is_at(settings, size) && n < MIN_FRAMES.min(old.n);
        if !self.scores.get(&variant).is_some_and(is_kept) {
            self.scores.insert(variant, new);
        }
    }

    /// Removes a variant's score, because `version` of its kernels is used from now on. If `left_out` is true, that version
    /// gets no score.
    pub(super) fn reset(&mut self, variant: VariantId, version: u64, left_out: bool) {
        self.scores.remove(&variant);
        self.in_use.insert(variant, version);
        self.leave_out(variant, version, left_out);
    }

    /// Sets whether the times of this version of a variant's kernels are left out of the scores.
    pub fn leave_out(&mut self, variant: VariantId, version: u64, left_out: bool) {
        let kernels = (variant, version);
        let _ = if left_out { self.left_out.insert(kernels) } else { self.left_out.remove(&kernels) };
    }
}
