//! The contract between a decoded picture's planes and RGBA8, in whole numbers. In: planes as a [`Layout`]
//! describes them. Out: four bytes a pixel, rows without gaps.
//!
//! [`mod@reference`] computes it plainly, the kernels under `kernels/convert` compute it on a device, and both give the
//! same bytes.
//!
//! # From samples to RGB
//!
//! A sample of `depth` bits (8 to 12) is `(stored >> shift) & (2^depth - 1)`; what else is stored is ignored. Planes
//! that a filter made may have a fraction in their lowest bits: then `depth` counts these too, and the largest sample of
//! full range is `2^depth - 2^fraction`. Write
//! `Y` for the luma sample, and `U` and `V` for the chroma samples at the same place, in 1/16 of a level:
//!
//! 1. Where chroma has half the rows, the row `j` of chroma lies at the line `2j + siting/2` of the picture. A line takes
//!    the two rows of chroma around it: of a progressive picture any two, which follow each other; of an
//!    [interlaced](#fields) one two of its own field. With `d` the distance between these rows in lines (2, or 4), and
//!    `e` that from the upper one to the line in 1/8 of `d`, the sample there is `((8 - e)·upper + e·lower + 1) >> 1`, in
//!    1/4 of a level; beyond the first and the last row (of the field) both are that row. Where chroma has all the rows
//!    it is `4·c[y]`.
//!    Then, where chroma has half the columns, the pixel `x` lies at `u = 2x - siting` in quarters of the distance
//!    between two columns of chroma. With `i = floor(u / 4)` and `f = u mod 4` the sample there is
//!    `(4 - f)·c[i] + f·c[i + 1]`, indices clamped to the row. Where chroma has all the columns it is `4·c[x]`.
//!    `siting` is 0, 1 or 2 where the first chroma sample lies on the first pixel, halfway to the second, or on the second.
//!    In progressive pictures `e` is even, so that nothing is rounded.
//! 2. `R = (luma·(16Y - black) + rv·(V - middle) + 2^20) >> 21`, likewise `G` with `gu` and `gv` and `B` with `bu`: a
//!    rounding to the nearest level, ties upwards. The shift rounds towards minus infinity.
//!    In [YCgCo](Matrix::Ycgco) red has `bu·(U - middle)` beside its `V`, too, and blue has `-rv·(V - middle)`.
//! 3. Each is clamped to 0 to 255. Alpha is 255.
//!
//! [`Coefficients`] are the standards' numbers, times 2^21 and rounded to the nearest. No sum leaves 32 bits. The
//! result is within 0.55 levels of the exact one; in interlaced pictures, where the rounding of step 1 adds 1/8 level of
//! chroma, within 0.85.
//!
//! Grey is step 2 with luma alone. RGB takes step 2 with luma alone for each channel, in full range, which keeps
//! 8-bit values as they are; alpha, where there is one, is scaled in the same way. Colours that come with alpha are
//! multiplied by it before all of this, where planes are [packed](planes::pack): see [`alpha`].
//!
//! # Fields
//!
//! The lines 0, 2, 4, … of an interlaced picture are one field and 1, 3, 5, … the other, taken at another moment. Where
//! chroma has half the rows these belong to the fields in turns, too: row `j` to the field `j mod 2`. In the lines of its
//! own field, a chroma row of the usual siting (1) lies a quarter of the way from a line of the upper field to the next
//! one, and three quarters in the lower field, as in interlaced MPEG-2 and H.264. Mixed over both fields, colours would
//! appear where their object is not at that moment. Pictures of at most two lines have one row of chroma, and are treated
//! as progressive. Chroma of all rows needs nothing of this.
//!
//! # Correction
//!
//! The RGB bytes then go through a [`Correction`]; [`correction`] has that contract. A neutral one changes nothing.

pub(crate) mod alpha;
pub(crate) mod correction;
mod fields;
pub(crate) mod layout;
pub(crate) mod matrix;
pub mod planes;
pub mod reference;
pub(crate) mod remarks;
mod rgba;
mod rows;
mod staging;

pub(crate) use alpha::has_alpha;
pub use alpha::straighten;
pub use correction::{Correction, RgbaColors, Tables, correct_reference};
pub(crate) use layout::Plane;
pub use layout::{Component, Family, Layout};
pub use matrix::{Matrix, Range};
pub use reference::{convert_reference, convert_reference_threaded};
pub use rgba::RgbaConverter;
pub use staging::{Packed, PlaneMemory, Staging};

/// Fractional bits of the coefficients.
pub const FRACTION_BITS: u32 = 21;

/// What step 2 multiplies with: 2^21 levels of RGB for each 1/16 level of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coefficients {
    /// Luma's part in each of R, G and B.
    pub luma: i32,
    /// Black, in 1/16 of a level of luma.
    pub black: i32,
    /// No colour, in 1/16 of a level of chroma.
    pub middle: i32,
    /// V's part in red.
    pub rv: i32,
    /// U's part in green.
    pub gu: i32,
    /// V's part in green.
    pub gv: i32,
    /// U's part in blue.
    pub bu: i32,
    /// Red and blue have parts of both.
    pub is_ycgco: bool,
}

impl Coefficients {
    /// The coefficients for a picture's samples.
    pub fn of(layout: &Layout) -> Self {
        Self::new(layout.matrix, layout.range, layout.depth, layout.fraction)
    }

    /// The coefficients for samples of `depth` bits, of which `fraction` are a fraction.
    ///
    /// Limited range follows ITU-R BT.601, BT.709 and BT.2020: luma has 219, chroma 224 levels of 8 bits. In full range
    /// both have `2^depth - 2^fraction`, and chroma's zero is at `2^(depth-1)`.
    ///
    /// YCgCo is `R = Y - Cg + Co`, `G = Y + Cg`, `B = Y - Cg - Co`, with chroma from -1/2 to 1/2, `Cg` in the place of U and
    /// `Co` in that of V (ITU-T H.273, 8.3). H.273 would give its chroma 219 levels in limited range. FFmpeg, zimg and
    /// libplacebo write and read 224, and so do the pictures that there are.
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
        // Of V in red, of U and V in green, of U in blue.
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

    /// Step 2 and 3 for samples in 1/16 of a level.
    pub(crate) fn rgb(&self, y: i32, u: i32, v: i32) -> [u8; 3] {
        let (y, u, v) = (self.luma * (y - self.black), u - self.middle, v - self.middle);
        let level = |sum: i32| ((sum + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS).clamp(0, 255) as u8;
        let (red, blue) = if self.is_ycgco { (self.bu * u, -self.rv * v) } else { (0, 0) };
        [level(y + self.rv * v + red), level(y + self.gu * u + self.gv * v), level(y + self.bu * u + blue)]
    }

    /// Step 2 and 3 with luma alone.
    pub(crate) fn level(&self, y: i32) -> u8 {
        self.rgb(y, self.middle, self.middle)[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRICES: [Matrix; 6] =
        [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020, Matrix::Smpte240m, Matrix::Fcc, Matrix::Ycgco];

    /// The corners of the cube of codes have the largest sums.
    #[test]
    fn no_sum_leaves_32_bits() {
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
    fn full_range_8_bit_levels_stay_as_they_are() {
        let c = Coefficients::new(Matrix::Rgb, Range::Full, 8, 0);
        assert!((0..=255).all(|v| c.level(16 * i32::from(v)) == v));
        let filtered = Coefficients::new(Matrix::Rgb, Range::Full, 12, 4);
        assert!((0..=255).all(|v| filtered.level(16 * 16 * i32::from(v)) == v));
    }

    #[test]
    fn black_white_and_grey_are_exact() {
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
