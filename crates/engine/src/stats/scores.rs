//! The scoreboard: the last filter time of each variant. It is kept while other variants are chosen, in pauses and after seeks.

use super::summary::mean_others_share;
use super::{FrameSample, SecondSetting, Setting, Stage};
use base::timing::{Noise, noise};
use box_filter::VariantId;
use compute::work::WorkTotals;

/// The number of measured frames from which a variant that is chosen again at the same radius and size gets a new score. Until
/// then the old score stays, because the first frame finds cold caches.
const MIN_FRAMES: usize = 3;

/// The measured time of a variant's filter, for comparison with other variants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The median filter time, in milliseconds, of the newest frames filtered under the same conditions.
    pub ms: f64,
    /// The number of frames in the median.
    pub n: usize,
    /// The reason why the last digits of the time are not reliable; `None` if they are.
    pub noise: Option<Noise>,
    /// The radius at which the time was measured, in pixels.
    pub radius: u32,
    /// The width and height of the pictures that were measured, in pixels.
    pub size: (u32, u32),
    /// The filter of the second side of a wipe during the measurement; `None` without a wipe. Both sides share the machine and
    /// its caches.
    pub beside: Option<SecondSetting>,
    /// The bytes and operations of the kernels' work; `None` if not known.
    pub work: Option<WorkTotals>,
}

impl Score {
    /// Returns true if the score was measured at this radius and picture size.
    pub fn is_at(&self, radius: u32, size: (u32, u32)) -> bool {
        (self.radius, self.size) == (radius, size)
    }
}

/// The last score of each variant on the current device.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    scores: Vec<(VariantId, Score)>,
    /// Variants and version numbers of edited kernels whose pictures differ from the reference, so that their times are not comparable and
    /// get no score.
    left_out: Vec<(VariantId, u64)>,
    /// The version of the kernels that is in use, for each variant whose kernels have changed.
    in_use: Vec<(VariantId, u64)>,
}

impl Scores {
    /// Returns a variant's last score; `None` before its first measured frame on this device, and always for [`VariantId::OFF`].
    pub fn of(&self, variant: VariantId) -> Option<&Score> {
        self.scores.iter().find(|(of, _)| *of == variant).map(|(_, score)| score)
    }

    /// Sets the score of the setting's variant from the newest frames, oldest first. Filter times that are not finite are left out.
    pub(super) fn set<'f>(
        &mut self,
        setting: &Setting,
        mut frames: impl DoubleEndedIterator<Item = &'f FrameSample> + Clone,
    ) {
        let version = setting.versions.first;
        if setting.variant == VariantId::OFF || self.leaves_out(setting.variant, version) {
            return;
        }
        // The frame was still filtered by another version than the one that is in use now.
        if self.in_use.iter().any(|&(of, now)| of == setting.variant && now != version) {
            return;
        }
        let filter_ms = frames.clone().map(|sample| sample.stages[Stage::Filter as usize]);
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
        let noise = Noise::from_percentiles((ms, p95), (at(low), at(high)), n, others);
        let work = frames.next_back().and_then(|last| Some(last.work.as_ref()?.work.as_ref()?.totals()));
        let Setting { radius, size, beside, .. } = *setting;
        let new = Score { ms, n, noise, radius, size, beside, work };
        match self.scores.iter_mut().find(|(of, _)| *of == setting.variant) {
            Some((_, old)) if old.is_at(new.radius, new.size) && new.n < MIN_FRAMES.min(old.n) => {}
            Some((_, old)) => *old = new,
            None => self.scores.push((setting.variant, new)),
        }
    }

    /// Removes a variant's score, because `version` of its kernels is used from now on. If `left_out` is true, that version
    /// gets no score.
    pub(super) fn reset(&mut self, variant: VariantId, version: u64, left_out: bool) {
        self.scores.retain(|(of, _)| *of != variant);
        self.in_use.retain(|(of, _)| *of != variant);
        self.in_use.push((variant, version));
        self.leave_out(variant, version, left_out);
    }

    /// Sets whether the times of this version of a variant's kernels are left out of the scores.
    pub(super) fn leave_out(&mut self, variant: VariantId, version: u64, left_out: bool) {
        self.left_out.retain(|of| *of != (variant, version));
        if left_out {
            self.left_out.push((variant, version));
        }
    }

    /// Returns true if this version of a variant's kernels gets no score, because its pictures differ from the reference.
    pub(super) fn leaves_out(&self, variant: VariantId, version: u64) -> bool {
        self.left_out.contains(&(variant, version))
    }

    /// Replaces the scores, because the device has changed, by those that were measured on the new device before. Returns the
    /// replaced scores.
    pub(super) fn replace(&mut self, scores: DeviceScores) -> DeviceScores {
        DeviceScores(std::mem::replace(&mut self.scores, scores.0))
    }
}

/// The scores of a device that is not in use.
#[derive(Debug, Clone, Default)]
pub(super) struct DeviceScores(Vec<(VariantId, Score)>);

impl DeviceScores {
    /// Removes a variant's score, because its kernels have changed.
    pub(super) fn reset(&mut self, variant: VariantId) {
        self.0.retain(|(of, _)| *of != variant);
    }
}
