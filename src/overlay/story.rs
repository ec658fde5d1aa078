//! The sentence that the scoreboard tells: *naive → fused: 2,300 times*. In: the scores. Out: two kernels and the factor
//! between them, from times that were measured at the same radius and size only.

use super::theme;
use crate::ladder::VariantId;
use crate::stats::Scores;

/// The kernels whose times are compared: device times of the same work on the same bytes. The peers run elsewhere, on
/// other clocks, `planar` filters other bytes, and `auto` is one of these under another name.
const KERNELS: [VariantId; 6] = [
    VariantId::Naive,
    VariantId::Separable,
    VariantId::Flat,
    VariantId::Vectorized,
    VariantId::RunningSum,
    VariantId::Fused,
];

/// How many times faster one kernel is than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Story {
    slow: VariantId,
    fast: VariantId,
    factor: f64,
}

impl Story {
    /// "naive → fused".
    pub fn between(&self) -> String {
        format!("{} \u{2192} {}", self.slow, self.fast)
    }

    /// "2,300 times".
    pub fn times(&self) -> String {
        format!("{} times", theme::rounded(self.factor))
    }
}

/// The slowest kernel that was measured at this radius and size, and the fastest; `None` before there are two.
pub fn story(scores: &Scores, radius: u32, size: (u32, u32)) -> Option<Story> {
    let measured = || {
        let here = |id: &VariantId| scores.of(*id).filter(|s| s.is_at(radius, size) && s.ms > 0.0);
        KERNELS.iter().filter_map(move |id| Some((*id, here(id)?.ms)))
    };
    let (slow, most) = measured().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (fast, least) = measured().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let factor = most / least;
    // Two that are the same within what is shown are no story.
    (slow != fast && factor.is_finite() && factor >= 1.05).then_some(Story { slow, fast, factor })
}
