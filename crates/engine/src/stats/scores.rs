//! What each variant's filter took when it was measured last: the scoreboard's numbers.
//!
//! In: the newest stretch of frames of one [`Setting`], each time a frame was added to it. Out: a [`Score`] for each variant,
//! which survives a switch to another variant, a pause and a seek.

use super::{Beside, Setting};
use base::timing::Noise;
use box_filter::VariantId;

/// A variant that comes back at the same radius and size keeps its score until so many frames are measured anew: the first
/// one finds caches cold.
const ENOUGH: usize = 3;

/// What a variant's filter took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Median of the newest stretch of frames that were filtered alike, in milliseconds.
    pub ms: f64,
    /// How many frames were measured.
    pub n: usize,
    /// Why that is not to be trusted to the last digit, if it is not.
    pub noise: Option<Noise>,
    /// The radius that it holds for, in pixels.
    pub radius: u32,
    /// The picture's width and height that it holds for, in pixels.
    pub size: (u32, u32),
    /// The other side of a wipe, where there was one: both sides share the machine and its caches.
    pub beside: Option<Beside>,
}

impl Score {
    /// Whether it holds for pictures of this radius and size; else it is of earlier.
    pub fn is_at(&self, radius: u32, size: (u32, u32)) -> bool {
        (self.radius, self.size) == (radius, size)
    }
}

/// Each variant's last score on the device that filters now.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    scores: Vec<(VariantId, Score)>,
    /// These versions of their kernels make another picture: their times are those of other work.
    left_out: Vec<(VariantId, u64)>,
}

impl Scores {
    /// A variant's last score; `None` before its first measured frame on this device, and always for [`VariantId::Off`].
    pub fn of(&self, variant: VariantId) -> Option<&Score> {
        self.scores.iter().find(|(of, _)| *of == variant).map(|(_, score)| score)
    }

    /// Takes what the filter took in the newest stretch, in milliseconds a frame, as far as that was measured. `others` is
    /// the part of the machine that other processes used meanwhile, where that is known.
    pub(super) fn set(
        &mut self,
        setting: &Setting,
        filter_ms: impl Iterator<Item = f64>,
        others: Option<f64>,
    ) {
        if setting.variant == VariantId::Off || self.leaves_out(setting.variant, setting.versions.first) {
            return;
        }
        let mut measured: Vec<f64> = filter_ms.filter(|ms| ms.is_finite() && *ms > 0.0).collect();
        let n = measured.len();
        // The same ranks as a summary's, but cheap enough for every frame.
        let mut at = |part: f64| {
            let rank = ((part * n as f64).ceil() as usize).max(1) - 1;
            (rank < n).then(|| *measured.select_nth_unstable_by(rank, f64::total_cmp).1)
        };
        let (Some(min), Some(ms), Some(p95)) = (at(0.0), at(0.5), at(0.95)) else { return };
        let noise = Noise::between((min, ms, p95), n, others);
        let new = Score { ms, n, noise, radius: setting.radius, size: setting.size, beside: setting.beside };
        match self.scores.iter_mut().find(|(of, _)| *of == setting.variant) {
            Some((_, old)) if old.is_at(new.radius, new.size) && new.n < ENOUGH.min(old.n) => {}
            Some((_, old)) => *old = new,
            None => self.scores.push((setting.variant, new)),
        }
    }

    /// A variant has this version of its kernels now: its score is forgotten, and `left_out` is whether that version has none.
    pub(super) fn start_anew(&mut self, variant: VariantId, version: u64, left_out: bool) {
        self.scores.retain(|(of, _)| *of != variant);
        self.left_out.retain(|of| *of != (variant, version));
        if left_out {
            self.left_out.push((variant, version));
        }
    }

    /// Whether a version of a variant's kernels has no times, because it makes another picture.
    pub(super) fn leaves_out(&self, variant: VariantId, version: u64) -> bool {
        self.left_out.contains(&(variant, version))
    }

    /// Forgets all: another device filters now.
    pub(super) fn clear(&mut self) {
        self.scores.clear();
    }
}
