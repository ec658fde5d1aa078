//! The box filter on planes: Y, U and V (or grey, or R, G and B) are filtered at their own sizes, before they become
//! RGBA. A pixel of 4:2:0 has 1.5 samples instead of four channels.
//!
//! # The contract
//!
//! Each component is filtered on its own, with edges repeated, and becomes samples of 12 bits
//! ([`Layout::filtered`](video::color::Layout::filtered)), so that the conversion rounds but once. With a [`Window`]
//! for each axis, `sum` the weighted samples of the window, a whole number, and `weights` the product of both windows'
//! [totals](Window::total):
//!
//! ```text
//! out = sum · (2^fraction / weights)
//! ```
//!
//! where the sum is rounded to the nearest `f32`, the factor in parentheses is one, so is their product, and the product
//! is rounded to the nearest whole number, ties to even. What is constant stays as it is. [`planar_reference`] computes
//! it plainly, the kernels give the same bytes.
//!
//! # Against a filter after the conversion
//!
//! Conversion is linear but for two things, so that a filter before it does the same as one after it but for these:
//!
//! - A colour outside of RGB is clamped. After the conversion the filter averages what was clamped, before it what was
//!   not. In pictures that are all noise or all extremes that is much; in pictures whose samples stay inside of RGB it
//!   is nothing. Where it differs, the planes keep more of the picture.
//! - Chroma of half the resolution is filtered where it is, and interpolated then. A window of `2r + 1` pixels is
//!   `r + 1/2` chroma samples, so its ends are weighted. The weights are chosen so that the window has the variance of
//!   the pixels' window; it then does the same to all that is smooth.
//!
//! `tests/planar.rs` states how much that is, for pictures of each kind, and tests it.

pub(crate) mod opencl;
pub(crate) mod reference;
pub mod run;
pub mod suite;

pub(crate) use opencl::PLANES;
pub(crate) use opencl::PlanesCode;
pub use opencl::{PlanarFilter, PlanarPlan};
pub use reference::{planar_quick, planar_reference};
pub use run::planes_of;

/// Weights of a window along one axis: `2·reach + 1` samples count `full` times, one more on either side counts `end`
/// times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Samples on either side of the middle that count in full.
    pub reach: u32,
    /// What these count.
    pub full: u32,
    /// What the samples at the ends count.
    pub end: u32,
}

impl Window {
    /// The window of `2·radius + 1` pixels, on an axis of full or of half the resolution.
    ///
    /// With half the resolution it has `radius + 1/2` samples, of which a part at each end. The part is chosen so that
    /// the window's variance is a quarter of the pixels' window's, `radius·(radius + 1) / 12`: in the limit of large
    /// radii 3/4 for even and 1/4 for odd ones, less for small ones. It is rounded to a fraction of `full`, which is
    /// as large as 32 bits for the sums of samples of 12 bits allow.
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

    /// All weights.
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
    fn subsampled_windows_have_a_quarter_of_the_variance() {
        for radius in 1..=MAX_RADIUS {
            let (whole, half) = (Window::new(radius, false), Window::new(radius, true));
            assert_eq!(whole.total(), 2 * radius + 1);
            let ratio = variance(&half) / (variance(&whole) / 4.0);
            let tolerance = 0.3 / f64::from(radius);
            assert!((ratio - 1.0).abs() < tolerance, "radius {radius}: {half:?} {ratio}");
            assert!(half.end < half.full);
        }
        assert_eq!(Window::new(0, true).total(), 1, "nothing is filtered");
        assert_eq!(Window::new(2, true), Window { reach: 0, full: 16, end: 8 });
    }

    #[test]
    fn sums_of_the_largest_samples_fit_32_bits() {
        for radius in 0..=MAX_RADIUS {
            let most = Window::new(radius, true).total().max(Window::new(radius, false).total());
            assert!(u64::from(most).pow(2) * 4095 <= i32::MAX as u64, "radius {radius}");
        }
    }
}
