//! The box filter on planes: Y, U and V (or grey, or R, G and B) are filtered at their own sizes, before the conversion to
//! RGBA. A pixel of 4:2:0 has 1.5 samples instead of four channels.
//!
//! # The contract
//!
//! Each component is filtered on its own, with edges repeated, to samples of 12 bits
//! ([`Layout::filtered`](video::color::Layout::filtered)), so that the conversion to 8 bits rounds only once. With a
//! [`Window`] for each axis, `sum` the weighted sum of the window's samples, an integer, and `weights` the product of both
//! windows' [totals](Window::total):
//!
//! ```text
//! out = sum · (2^fraction / weights)
//! ```
//!
//! Sum, factor in parentheses and product are each rounded to the nearest `f32`, and the product is then rounded to the
//! nearest integer, ties to even. Constant pictures are unchanged. [`planar_reference`] is the plain implementation; the
//! kernels give the same bytes.
//!
//! # Comparison with a filter after the conversion
//!
//! A filter before the conversion gives the same as one after it, except where the conversion is not linear:
//!
//! - Colours outside of RGB are clamped. A filter after the conversion averages clamped colours, one before it the original
//!   ones. The difference is large in noise and extreme pictures, and zero if all samples are inside of RGB. The filter on
//!   planes loses less.
//! - Chroma of half the resolution is filtered first and then interpolated. A window of `2r + 1` pixels is `r + 1/2` chroma
//!   samples, so the samples at its ends are weighted. The weights are chosen so that the window has the variance of the
//!   pixels' window, and so the same effect on smooth pictures.
//!
//! `tests/planar.rs` states and tests the size of the difference, for pictures of each kind.

pub(crate) mod reference;
pub mod run;
mod samples;
pub mod suite;

pub use reference::{planar_quick, planar_reference};
pub use run::planes_of;
pub use samples::Samples;

/// The weights of a window along one axis: `2·reach + 1` samples have the weight `full`, and one more at each end has the
/// weight `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The number of samples with the weight `full` on each side of the middle sample.
    pub reach: u32,
    /// The weight of the middle sample and of the `reach` samples on each side.
    pub full: u32,
    /// The weight of the one sample at each end of the window.
    pub end: u32,
}

impl Window {
    /// Returns the window for `2·radius + 1` pixels, on an axis of full or of half (`subsampled`) resolution.
    ///
    /// With half the resolution the window covers `radius + 1/2` samples, with fractions at the ends. The fraction is
    /// chosen so that the window's variance, `radius·(radius + 1) / 12`, is a quarter of that of the pixels' window: for
    /// large radii about 3/4 if the radius is even and 1/4 if it is odd, less for small radii. The fraction is rounded to a
    /// multiple of 1/`full`, which is as large as sums of 12-bit samples in 32 bits allow.
    pub(crate) fn new(radius: u32, subsampled: bool) -> Self {
        if !subsampled || radius == 0 {
            return Self { reach: radius, full: 1, end: 0 };
        }
        let full = match radius {
            0..=40 => 16,
            41..=80 => 8,
            _ => 4,
        };
        let (reach, numerator, denominator) = match radius % 2 {
            0 => (radius / 2 - 1, 3 * (radius - 1), 2 * (2 * radius - 1)),
            _ => (radius / 2, radius, 2 * (2 * radius + 3)),
        };
        let end = (2 * full * numerator + denominator) / (2 * denominator);
        Self { reach, full, end }
    }

    /// Returns the sum of the weights of all samples in the window.
    pub(crate) fn total(&self) -> u32 {
        (2 * self.reach + 1) * self.full + 2 * self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_RADIUS;

    fn variance(window: &Window) -> f64 {
        let reach = i64::from(window.reach);
        let weight = |i: i64| f64::from(if i.abs() > reach { window.end } else { window.full });
        let squares: f64 = (-reach - 1..=reach + 1).map(|i| weight(i) * (i * i) as f64).sum();
        squares / f64::from(window.total())
    }

    #[test]
    fn subsampled_windows_have_a_quarter_of_the_variance_and_the_largest_sums_fit_32_bits() {
        for radius in 0..=MAX_RADIUS {
            let (whole, half) = (Window::new(radius, false), Window::new(radius, true));
            assert_eq!(whole.total(), 2 * radius + 1);
            let most = whole.total().max(half.total());
            assert!(u64::from(most).pow(2) * 4095 <= i32::MAX as u64, "radius {radius}");
            if radius == 0 {
                continue;
            }
            let ratio = variance(&half) / (variance(&whole) / 4.0);
            let tolerance = 0.3 / f64::from(radius);
            assert!((ratio - 1.0).abs() < tolerance, "radius {radius}: {half:?} {ratio}");
            assert!(half.end < half.full);
        }
        assert_eq!(Window::new(0, true).total(), 1, "nothing is filtered");
        assert_eq!(Window::new(2, true), Window { reach: 0, full: 16, end: 8 });
    }
}
