//! The sentence that the scoreboard tells: *naive → fused: 2,300 times*. In: the scores. Out: two kernels and the factor
//! between them, from times that were measured at the same radius and size only.

use super::theme;
use base::timing::{Noise, noise};
use box_filter::VariantId;
use box_filter::Work;
use engine::stats::Scores;

/// The kernels whose times are compared: device times of the same work on the same bytes. The other back ends run elsewhere, on
/// other clocks, `planar` filters other bytes, and `auto` is one of these under another name.
fn kernels() -> impl Iterator<Item = VariantId> {
    VariantId::ALL.into_iter().filter(|id| matches!(id.rung().work, Work::Kernels(_)))
}

/// What the scoreboard tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Story {
    /// How many times faster one kernel is than another.
    Told {
        /// The slowest kernel.
        slow: VariantId,
        /// The fastest one.
        fast: VariantId,
        /// How many times as long the slow one takes.
        factor: f64,
        /// Why the times of either are not to be trusted to the last digit, if they are not.
        noise: [Option<Noise>; 2],
    },
    /// There would be a factor, but of this kernel only so many frames have been measured.
    Waits {
        /// The kernel.
        of: VariantId,
        /// Its frames.
        n: usize,
    },
}

impl Story {
    /// "naive → fused", or what is waited for.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Told { slow, fast, .. } => format!("{slow} \u{2192} {fast}"),
            Self::Waits { .. } => "The ladder".to_owned(),
        }
    }

    /// "2,300 times"; "~2,000 times" where it is noisy. `None` while too little was measured.
    pub(crate) fn times(&self) -> Option<String> {
        let Self::Told { factor, noise, .. } = self else { return None };
        // Of the two the one with fewer digits.
        let noise = noise.iter().copied().flatten().min_by_key(Noise::digits);
        Some(format!("{} times", theme::believed(*factor, noise, theme::rounded)))
    }

    /// How far it is, while too little was measured: "naive: 2 of 5 frames".
    pub(crate) fn waits(&self) -> Option<String> {
        let Self::Waits { of, n } = self else { return None };
        Some(format!("{of}: {n} of {} frames", noise::FEWEST))
    }
}

/// The slowest kernel that was measured at this radius and size, and the fastest, of those with enough frames; what the
/// first such sentence waits for, where there is none yet. `None` before there are two.
pub(crate) fn story(scores: &Scores, radius: u32, size: (u32, u32)) -> Option<Story> {
    let between = |fewest: usize| {
        let here =
            |id: VariantId| scores.of(id).filter(|s| s.is_at(radius, size) && s.ms > 0.0 && s.n >= fewest);
        let measured = || kernels().filter_map(|id| Some((id, here(id)?)));
        let slow = measured().max_by(|a, b| a.1.ms.total_cmp(&b.1.ms))?;
        let fast = measured().min_by(|a, b| a.1.ms.total_cmp(&b.1.ms))?;
        let factor = slow.1.ms / fast.1.ms;
        // Two that are the same within what is shown are no story.
        (slow.0 != fast.0 && factor.is_finite() && factor >= 1.05).then_some((slow, fast, factor))
    };
    if let Some(((slow, most), (fast, least), factor)) = between(noise::FEWEST) {
        return Some(Story::Told { slow, fast, factor, noise: [most.noise, least.noise] });
    }
    let (slow, fast, _) = between(0)?;
    let (of, score) = [slow, fast].into_iter().find(|(_, score)| score.n < noise::FEWEST)?;
    Some(Story::Waits { of, n: score.n })
}
