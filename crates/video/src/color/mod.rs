//! The contract of the conversion from a decoded picture's planes ([`Layout`]) to RGBA8 (rows without gaps), in integers.
//!
//! [`mod@reference`] is the plain implementation. The CPU code in `rows` and the kernels under `kernels/convert` give the same
//! bytes.
//!
//! # From samples to RGB
//!
//! A sample of `depth` bits (8 to 12) is `(stored >> shift) & (2^depth - 1)`; other bits are ignored. Filtered planes may
//! have a fraction in their lowest bits: then `depth` includes these, and the largest sample of full range is
//! `2^depth - 2^fraction`. Let `Y` be the luma sample, and `U` and `V` the chroma samples at the same location, in 1/16 of a
//! level:
//!
//! 1. Vertical interpolation of chroma. If chroma has half the rows, chroma row `j` lies at line `2j + siting/2` of the
//!    picture. A line uses the nearest chroma row above it and below it; in an [interlaced](#fields) picture those of its
//!    own field. With `d` the distance between these rows in lines (2, or 4), and `e` the distance from the upper row to
//!    the line in 1/8 of `d`, the sample is `((8 - e)·upper + e·lower + 1) >> 1`, in 1/4 of a level. Beyond the first and
//!    the last row (of the field) both are that row. If chroma has all rows, the sample is `4·c[y]`.
//!
//!    Horizontal interpolation. If chroma has half the columns, pixel `x` lies at `u = 2x - siting`, in quarters of the
//!    distance between two chroma columns. With `i = floor(u / 4)` and `f = u mod 4` the sample is
//!    `(4 - f)·c[i] + f·c[i + 1]`, with indices clamped to the row. If chroma has all columns, it is `4·c[x]`.
//!
//!    `siting` is 0, 1 or 2 if the first chroma sample lies on the first pixel, halfway to the second, or on the second.
//!    In progressive pictures `e` is even, so that nothing is rounded.
//! 2. `R = (luma·(16Y - black) + rv·(V - middle) + 2^20) >> 21`, likewise `G` with `gu` and `gv` and `B` with `bu`: this
//!    rounds to the nearest level, ties upwards. The shift rounds towards minus infinity.
//!    In [YCgCo](Matrix::Ycgco) red has the additional term `bu·(U - middle)`, and blue `-rv·(V - middle)`.
//! 3. Each is clamped to 0 to 255. Alpha is 255.
//!
//! [`Coefficients`] are the standards' numbers, times 2^21 and rounded to the nearest. No sum exceeds 32 bits. The
//! result is within 0.55 levels of the exact one; in interlaced pictures, where the rounding of step 1 adds 1/8 level of
//! chroma, within 0.85.
//!
//! Grey uses step 2 with luma alone. RGB uses step 2 with luma alone for each channel, in full range, which keeps 8-bit
//! values unchanged; alpha is scaled in the same way. Straight colours are multiplied by their alpha before all of this,
//! when planes are [packed](planes::pack): see [`alpha`].
//!
//! # Fields
//!
//! The lines 0, 2, 4, … of an interlaced picture are one field and 1, 3, 5, … the other, captured at another moment. If
//! chroma has half the rows, these belong alternately to the fields too: row `j` to the field `j mod 2`. Relative to the
//! lines of its own field, a chroma row of the usual siting (1) lies a quarter of the way from one line to the next in the
//! upper field, and three quarters in the lower field, as in interlaced MPEG-2 and H.264. Interpolation between the fields
//! would mix colours of different moments. Pictures of at most two lines have one row of chroma, and are treated as
//! progressive. Chroma with all rows needs no special treatment.
//!
//! # Correction
//!
//! A [`Correction`] is then applied to the RGB bytes; [`correction`] has that contract. A neutral one changes nothing.

pub(crate) mod alpha;
pub(crate) mod correction;
pub(crate) mod layout;
pub(crate) mod matrix;
pub mod planes;
pub mod reference;
pub(crate) mod remarks;
mod rgba;
mod rows;
mod samples;
mod staging;

pub(crate) use alpha::has_alpha;
pub use alpha::unpremultiply;
pub use correction::{Correction, CorrectionTables, RgbaColors, correct_reference};
pub use layout::{Component, Family, Layout};
pub use matrix::{Matrix, Range};
pub use reference::convert_reference;
pub use rgba::RgbaConverter;
pub use staging::{PackedPicture, PlaneMemory, Staging};

/// The number of fractional bits in the fixed-point factors of [`Coefficients`].
pub const FRACTION_BITS: u32 = 21;

/// The fixed-point factors and offsets with which YUV is converted to RGB (step 2 of the [contract](self)). The factors are in
/// units of 2^-21 levels of RGB per 1/16 level of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coefficients {
    /// Factor of luma in each of R, G and B.
    pub luma: i32,
    /// The luma sample of black, in 1/16 of a level.
    pub black: i32,
    /// The chroma sample of grey, in 1/16 of a level.
    pub middle: i32,
    /// Factor of V in red.
    pub rv: i32,
    /// Factor of U in green.
    pub gu: i32,
    /// Factor of V in green.
    pub gv: i32,
    /// Factor of U in blue.
    pub bu: i32,
    /// True for YCgCo, where red and blue depend on both U and V.
    pub is_ycgco: bool,
}

impl Coefficients {
    /// Returns the coefficients for the matrix, range and depth of a layout.
    pub fn of(layout: &Layout) -> Self {
        Self::new(layout.matrix, layout.range, layout.depth, layout.fraction)
    }

    /// Returns the coefficients for samples of `depth` bits, of which `fraction` are a fraction.
    ///
    /// Limited range follows ITU-R BT.601, BT.709 and BT.2020: luma has 219, chroma 224 levels of 8 bits. In full range
    /// both have `2^depth - 2^fraction`, and chroma's zero is at `2^(depth-1)`.
    ///
    /// YCgCo is `R = Y - Cg + Co`, `G = Y + Cg`, `B = Y - Cg - Co`, with chroma from -1/2 to 1/2, `Cg` in the place of U and
    /// `Co` in that of V (ITU-T H.273, 8.3). In limited range H.273 has 219 levels of its chroma, but FFmpeg, zimg, libplacebo
    /// and existing files have 224.
    pub(crate) fn new(matrix: Matrix, range: Range, depth: u32, fraction: u32) -> Self {
        let unit = f64::from(1u32 << (depth - 8));
        let full = f64::from((1u32 << depth) - (1u32 << fraction));
        let (luma, chroma, black) = match range {
            Range::Limited => (219.0 * unit, 224.0 * unit, 16.0 * unit),
            Range::Full => (full, full, 0.0),
        };
        let fixed = |factor: f64, levels: f64| {
            (factor * 255.0 / levels / 16.0 * f64::from(1u32 << FRACTION_BITS)).round() as i32
        };
        // Factors of V in red, of U and V in green, of U in blue.
        let parts = match (matrix, matrix.weights()) {
            (Matrix::Ycgco, _) => [1.0, 1.0, 0.0, -1.0],
            (_, weights) => {
                let (red, blue) = weights.unwrap_or((0.0, 0.0));
                let green = 1.0 - red - blue;
                let (to_red, to_blue) = (2.0 * (1.0 - red), 2.0 * (1.0 - blue));
                [to_red, -to_blue * blue / green, -to_red * red / green, to_blue]
            }
        };
        let [rv, gu, gv, bu] = parts.map(|part| fixed(part, chroma));
        let (black, middle) = ((16.0 * black) as i32, 16 << (depth - 1));
        Self { luma: fixed(1.0, luma), black, middle, rv, gu, gv, bu, is_ycgco: matrix == Matrix::Ycgco }
    }

    /// Converts luma and chroma samples, in 1/16 of a level, to RGB bytes: steps 2 and 3 of this module's contract.
    pub(crate) fn rgb(&self, y: i32, u: i32, v: i32) -> [u8; 3] {
        let (y, u, v) = (self.luma * (y - self.black), u - self.middle, v - self.middle);
        let level = |sum: i32| ((sum + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS).clamp(0, 255) as u8;
        let (red, blue) = if self.is_ycgco { (self.bu * u, -self.rv * v) } else { (0, 0) };
        [level(y + self.rv * v + red), level(y + self.gu * u + self.gv * v), level(y + self.bu * u + blue)]
    }

    /// Converts a luma sample without chroma, in 1/16 of a level, to a byte of grey: steps 2 and 3 of this module's contract.
    pub(crate) fn level(&self, y: i32) -> u8 {
        self.rgb(y, self.middle, self.middle)[0]
    }
}

/// Returns a picture with noise in every plane.
#[cfg(test)]
fn noise(format: ffmpeg_next::format::Pixel, width: u32, height: u32) -> ffmpeg_next::frame::Video {
    let mut frame = ffmpeg_next::frame::Video::new(format, width, height);
    let mut state = 0x9e37_79b9_u32;
    for plane in 0..frame.planes() {
        for byte in frame.data_mut(plane) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRICES: [Matrix; 6] =
        [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020, Matrix::Smpte240m, Matrix::Fcc, Matrix::Ycgco];

    /// Checks the largest and smallest samples, with which the sums are largest.
    #[test]
    fn no_sum_exceeds_32_bits() {
        for matrix in MATRICES {
            for range in [Range::Limited, Range::Full] {
                let filtered = (1..=4).map(|fraction| (12, fraction));
                for (depth, fraction) in (8..=12).map(|depth| (depth, 0)).chain(filtered) {
                    let c = Coefficients::new(matrix, range, depth, fraction);
                    let top = 16 * ((1i64 << depth) - (1i64 << fraction));
                    for corner in 0..8 {
                        let at = |bit: i64| if corner >> bit & 1 == 1 { top } else { 0 };
                        let y = i64::from(c.luma) * (at(0) - i64::from(c.black));
                        let (u, v) = (at(1) - i64::from(c.middle), at(2) - i64::from(c.middle));
                        let half = 1 << (FRACTION_BITS - 1);
                        let both = i64::from(c.is_ycgco);
                        let (red, blue) = (both * i64::from(c.bu) * u, -both * i64::from(c.rv) * v);
                        for sum in [
                            y + i64::from(c.rv) * v,
                            y + i64::from(c.rv) * v + red + half,
                            y + i64::from(c.gu) * u,
                            y + i64::from(c.gu) * u + i64::from(c.gv) * v + half,
                            y + i64::from(c.bu) * u,
                            y + i64::from(c.bu) * u + blue + half,
                        ] {
                            assert!(
                                i32::try_from(sum).is_ok(),
                                "{matrix} {range} {depth}.{fraction} bits: {sum}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn full_range_8_bit_levels_and_black_white_and_grey_are_exact() {
        let c = Coefficients::new(Matrix::Rgb, Range::Full, 8, 0);
        assert!((0..=255).all(|v| c.level(16 * i32::from(v)) == v));
        let filtered = Coefficients::new(Matrix::Rgb, Range::Full, 12, 4);
        assert!((0..=255).all(|v| filtered.level(16 * 16 * i32::from(v)) == v));
        for matrix in MATRICES {
            for depth in 8..=12 {
                let limited = Coefficients::new(matrix, Range::Limited, depth, 0);
                let code = |level: i32| 16 * (level << (depth - 8));
                let middle = limited.middle;
                assert_eq!(limited.rgb(code(16), middle, middle), [0; 3]);
                assert_eq!(limited.rgb(code(235), middle, middle), [255; 3]);
                assert_eq!(limited.rgb(0, middle, middle), [0; 3]);
                let full = Coefficients::new(matrix, Range::Full, depth, 0);
                assert_eq!(full.rgb(16 * ((1 << depth) - 1), middle, middle), [255; 3]);
                for y in 0..1 << depth {
                    let [r, g, b] = limited.rgb(16 * y, middle, middle);
                    assert!(r == g && g == b);
                }
            }
        }
    }
}
