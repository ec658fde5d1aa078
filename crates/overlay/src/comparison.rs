//! The comparison in the title of the ladder (the list of variants), *fused vs. naive: 2,300× faster*: the fastest and the
//! slowest of the kernels that were measured at this radius and size.

use super::theme;
use base::timing::{Noise, noise};
use box_filter::VariantId;
use box_filter::Work;
use engine::stats::{Score, Scores};

/// Returns the variants that may be compared: those that do the same work on the same bytes, and whose times are device times.
/// Other back ends are measured by other clocks, `planar` filters other bytes, and `auto` is one of the compared variants under
/// another name.
fn compared_variants() -> impl Iterator<Item = VariantId> {
    VariantId::all().filter(|id| matches!(id.work, Work::Kernels(_)))
}

/// The least number of measured frames of each kernel for a comparison. The slowest kernel takes a second or more for a frame.
const MIN_FRAMES: usize = 2;

/// A comparison of two kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Comparison {
    /// A comparison of two kernels with enough measured frames.
    Measured {
        /// The slowest kernel.
        slow: VariantId,
        /// The fastest kernel.
        fast: VariantId,
        /// The slow kernel's time divided by the fast one's.
        factor: f64,
        /// The noise of the slow and of the fast kernel's times.
        noise: [Option<Noise>; 2],
        /// The kernel with fewer measured frames, and their number.
        fewest: (VariantId, usize),
    },
    /// There is no comparison yet, because too few frames of a kernel were measured.
    Pending {
        /// A kernel with too few measured frames.
        variant: VariantId,
        /// The number of measured frames of that kernel.
        frames: usize,
    },
}

impl Comparison {
    /// Compares two variants by their scores (measured times), the slow one first.
    pub(crate) fn between(slow: (VariantId, &Score), fast: (VariantId, &Score)) -> Self {
        let fewest = if slow.1.n <= fast.1.n { slow } else { fast };
        let fewest = (fewest.0, fewest.1.n);
        if fewest.1 < MIN_FRAMES {
            return Self::Pending { variant: fewest.0, frames: fewest.1 };
        }
        let noise = [slow.1.noise, fast.1.noise];
        Self::Measured { slow: slow.0, fast: fast.0, factor: slow.1.ms / fast.1.ms, noise, fewest }
    }

    /// Returns the title of the ladder's panel: the fastest and the slowest measured kernel, such as "fused vs. naive", or "The
    /// ladder" before both have enough frames.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Measured { slow, fast, .. } => format!("{fast} vs. {slow}"),
            Self::Pending { .. } => "The ladder".to_owned(),
        }
    }

    /// Returns the factor between the two kernels as text: "2,300×", or "~2,000×" if it is noisy; `None` while too few frames
    /// were measured.
    pub(crate) fn factor(&self) -> Option<String> {
        let Self::Measured { factor, noise, .. } = self else { return None };
        // The noise that leaves fewer digits.
        let noise = noise.iter().copied().flatten().min_by_key(|noise| noise.digits);
        Some(format!("{}\u{d7}", theme::with_noise(*factor, noise, theme::short_number)))
    }

    /// Returns a text with a kernel and its number of measured frames, such as "naive: 2 frames", while these are so few that
    /// the factor may still change; `None` otherwise.
    pub(crate) fn few_frames(&self) -> Option<String> {
        let Self::Measured { fewest: (variant, frames), .. } = self else { return None };
        (*frames < noise::MIN_SAMPLES).then(|| format!("{variant}: {frames} frames"))
    }

    /// Returns the progress as text, such as "naive: 1 of 2 frames", while too few frames were measured; `None` otherwise.
    pub(crate) fn progress(&self) -> Option<String> {
        let Self::Pending { variant, frames } = self else { return None };
        Some(format!("{variant}: {frames} of {MIN_FRAMES} frames"))
    }
}

/// Compares the slowest and the fastest of the kernels with enough frames at this radius and size. If there are not two
/// such kernels, returns [`Comparison::Pending`] for the slowest or the fastest of all measured kernels, and `None` if no
/// two measured kernels differ in speed.
pub(crate) fn compare(scores: &Scores, radius: u32, size: (u32, u32)) -> Option<Comparison> {
    let between = |fewest: usize| {
        let here =
            |id: VariantId| scores.of(id).filter(|s| s.is_at(radius, size) && s.ms > 0.0 && s.n >= fewest);
        let measured = || compared_variants().filter_map(|id| Some((id, here(id)?)));
        let slow = measured().max_by(|a, b| a.1.ms.total_cmp(&b.1.ms))?;
        let fast = measured().min_by(|a, b| a.1.ms.total_cmp(&b.1.ms))?;
        let factor = slow.1.ms / fast.1.ms;
        // Kernels that are equally fast within the digits shown are not compared.
        (slow.0 != fast.0 && factor.is_finite() && factor >= 1.05).then(|| Comparison::between(slow, fast))
    };
    between(MIN_FRAMES).or_else(|| between(0))
}
