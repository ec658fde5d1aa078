//! The comparison in the title of the ladder (the list of variants), *fused vs. naive: 2,300× faster*: the fastest and the
//! slowest of the kernels that were measured at this radius and size.

use base::timing::noise;
use box_filter::VariantId;
use box_filter::Work;
use engine::stats::{Score, Scores};

use crate::prelude::*;

/// The least number of measured frames of each kernel for a comparison. The slowest kernel takes a second or more for a frame.
const MIN_FRAMES: usize = 2;

/// A comparison of two kernels, as texts.
pub(crate) struct Comparison {
    /// The title of the ladder's panel: the fastest and the slowest measured kernel, such as "fused vs. naive", or "The ladder"
    /// before both have enough frames.
    pub title: String,
    /// The slow kernel's time divided by the fast one's: "2,300×", or "~2,000×" if it is noisy. While too few frames were
    /// measured, the progress instead, such as "naive: 1 of 2 frames".
    pub factor: Result<String, String>,
    /// A text with a kernel and its number of measured frames, such as "naive: 2 frames", while these are so few that the factor
    /// may still change; `None` otherwise.
    pub few_frames: Option<String>,
}

impl Comparison {
    /// Compares two variants by their scores (measured times), the slow one first.
    pub(crate) fn between(slow: (VariantId, &Score), fast: (VariantId, &Score)) -> Self {
        let (fewest, n) = if slow.1.n <= fast.1.n { (slow.0, slow.1.n) } else { (fast.0, fast.1.n) };
        if n < MIN_FRAMES {
            let factor = Err(format!("{fewest}: {n} of {MIN_FRAMES} frames"));
            return Self { title: "The ladder".to_owned(), factor, few_frames: None };
        }
        // The noise that leaves fewer digits.
        let noise = [slow.1.noise, fast.1.noise].into_iter().flatten().min_by_key(|noise| noise.digits);
        let factor = theme::with_noise(slow.1.ms / fast.1.ms, noise, theme::short_number);
        let few_frames = (n < noise::MIN_SAMPLES).then(|| format!("{fewest}: {n} frames"));
        Self {
            title: format!("{} vs. {}", fast.0, slow.0),
            factor: Ok(format!("{factor}\u{d7}")),
            few_frames,
        }
    }
}

/// Compares the slowest and the fastest of the kernels with enough frames at this radius and size; if there are not two such
/// kernels, those of all measured kernels. Returns `None` if no two measured kernels differ in speed. Compares only variants
/// that do the same work on the same bytes, and whose times are device times: other back ends are measured by other clocks,
/// `planar` filters other bytes, and `auto` is one of the compared variants under another name.
pub(crate) fn compare(scores: &Scores, radius: u32, size: (u32, u32)) -> Option<Comparison> {
    let kernels = || VariantId::all().filter(|id| matches!(id.work, Work::Kernels(_)));
    let between = |fewest: usize| {
        let is_here = |s: &&Score| s.is_at(radius, size) && s.ms > 0.0 && s.n >= fewest;
        let mut measured: Vec<_> =
            kernels().filter_map(|id| Some((id, scores.of(id).filter(is_here)?))).collect();
        measured.sort_by(|a, b| a.1.ms.total_cmp(&b.1.ms));
        let (fast, slow) = (*measured.first()?, *measured.last()?);
        let factor = slow.1.ms / fast.1.ms;
        // Kernels that are equally fast within the digits shown are not compared.
        (slow.0 != fast.0 && factor.is_finite() && factor >= 1.05).then(|| Comparison::between(slow, fast))
    };
    between(MIN_FRAMES).or_else(|| between(0))
}
