//! Colour correction of RGBA8 pictures: the user's four settings, their conversion to the integers that reference and kernels
//! share ([`CorrectionTables`]), and the reference.
//!
//! The contract, for each pixel:
//!
//! 1. Each of R, G and B is looked up in one table of 256 bytes: `i` becomes
//!    `255 · clamp((i/255 - ½)·contrast + ½ + brightness)^(1/gamma)`, clamped to 0 to 1 before the power and rounded to
//!    the nearest, so that contrast turns around the middle, and gamma above 1 lightens the middle tones.
//! 2. With the luma `L = (wr·R + wg·G + wb·B + 2^15) >> 16`, each becomes
//!    `L + ((saturation·(C - L) + 2^11) >> 12)`, clamped to 0 to 255. The weights are the matrix's, in 1/2^16, and
//!    sum up to 2^16, so that grey stays grey; saturation is in 1/2^12. RGB and YCgCo use the weights of BT.709.
//!
//! The colours of pixels with alpha are taken without it, corrected, and multiplied by it again ([`alpha`](super::alpha)),
//! so that transparent pixels stay transparent and no colour becomes brighter than its alpha allows. Alpha does not change.
//! A neutral correction is the identity.

use std::ops::RangeInclusive;

use ffmpeg_next::frame::Video;
use serde::{Deserialize, Serialize};

use super::alpha::{divide_alpha, has_alpha, multiply_alpha};
use super::matrix;
use crate::color::Matrix;

/// The settings of the colour correction: brightness, contrast, saturation and gamma.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Correction {
    /// The value that is added to every channel, where 1 is white. Valid values are [`Correction::BRIGHTNESS`]; 0 is
    /// neutral.
    pub brightness: f32,
    /// The factor of each channel's distance from middle grey. Valid values are [`Correction::CONTRAST`]; 1 is neutral.
    pub contrast: f32,
    /// The factor of each channel's distance from the grey of the same luma. Valid values are [`Correction::SATURATION`]; 1
    /// is neutral.
    pub saturation: f32,
    /// The gamma: the curve has the exponent 1/gamma. Valid values are [`Correction::GAMMA`]; 1 is neutral.
    pub gamma: f32,
}

impl Default for Correction {
    fn default() -> Self {
        Self::NEUTRAL
    }
}

impl Correction {
    /// The correction that changes nothing.
    pub const NEUTRAL: Self = Self { brightness: 0.0, contrast: 1.0, saturation: 1.0, gamma: 1.0 };
    /// A strong correction for tests of the kernels, in which every step of the calculation changes pixels.
    pub const VIVID: Self = Self { brightness: 0.07, contrast: 1.3, saturation: 1.6, gamma: 1.4 };
    /// The valid values of brightness.
    pub const BRIGHTNESS: RangeInclusive<f32> = -1.0..=1.0;
    /// The valid values of contrast.
    pub const CONTRAST: RangeInclusive<f32> = 0.0..=4.0;
    /// The valid values of saturation.
    pub const SATURATION: RangeInclusive<f32> = 0.0..=4.0;
    /// The valid values of gamma.
    pub const GAMMA: RangeInclusive<f32> = 0.1..=10.0;

    /// Returns the correction with each setting clamped to its valid values; NaN becomes neutral.
    pub fn limited(self) -> Self {
        let limit = |value: f32, range: RangeInclusive<f32>, neutral: f32| {
            if value.is_nan() { neutral } else { value.clamp(*range.start(), *range.end()) }
        };
        let neutral = Self::NEUTRAL;
        Self {
            brightness: limit(self.brightness, Self::BRIGHTNESS, neutral.brightness),
            contrast: limit(self.contrast, Self::CONTRAST, neutral.contrast),
            saturation: limit(self.saturation, Self::SATURATION, neutral.saturation),
            gamma: limit(self.gamma, Self::GAMMA, neutral.gamma),
        }
    }

    /// Returns true if the correction leaves every picture unchanged.
    pub fn is_neutral(&self) -> bool {
        self.tables(Matrix::Bt709).is_identity()
    }

    /// Converts the settings to the integers that the reference and the kernels use, for pictures of this matrix. Settings are
    /// clamped to their valid values.
    pub fn tables(&self, matrix: Matrix) -> CorrectionTables {
        let c = self.limited();
        let (contrast, brightness, exponent) =
            (f64::from(c.contrast), f64::from(c.brightness), 1.0 / f64::from(c.gamma));
        let curve = std::array::from_fn(|i| {
            let level = (i as f64 / 255.0 - 0.5) * contrast + 0.5 + brightness;
            (255.0 * level.clamp(0.0, 1.0).powf(exponent)).round() as u8
        });
        let (red, blue) = matrix.weights().or(Matrix::Bt709.weights()).unwrap_or((0.0, 0.0));
        let fixed = |weight: f64| (weight * 65536.0).round() as i32;
        let (red, blue) = (fixed(red), fixed(blue));
        let saturation = (f64::from(c.saturation) * 4096.0).round() as i32;
        CorrectionTables { curve, luma: [red, 65536 - red - blue, blue], saturation }
    }
}

/// Properties of an RGBA picture that its correction depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RgbaColors {
    /// The YCbCr matrix that the picture was converted with; the correction uses its luma weights.
    pub matrix: Matrix,
    /// True if pixels of the picture may be transparent.
    pub has_alpha: bool,
}

impl RgbaColors {
    /// Returns the properties of the RGBA picture that a decoded picture is converted to.
    pub fn of_picture(picture: &Video) -> Self {
        Self { matrix: matrix::of_picture(picture).0, has_alpha: has_alpha(picture) }
    }
}

/// A [`Correction`] as the integers with which the reference and the kernels compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorrectionTables {
    /// The new value of each 8-bit level.
    pub curve: [u8; 256],
    /// Luma weights of red, green and blue, in units of 1/2^16.
    pub luma: [i32; 3],
    /// The saturation in units of 1/2^12.
    pub saturation: i32,
}

impl CorrectionTables {
    /// Returns true if a correction with these tables leaves every picture unchanged.
    pub fn is_identity(&self) -> bool {
        self.saturation == 4096 && self.curve.iter().zip(0..=255).all(|(&to, from)| to == from)
    }

    /// Returns the corrected colour of one opaque pixel.
    pub(crate) fn apply(&self, rgb: [u8; 3]) -> [u8; 3] {
        let rgb = rgb.map(|v| i32::from(self.curve[usize::from(v)]));
        let weighted: i32 = rgb.iter().zip(self.luma).map(|(v, weight)| v * weight).sum();
        let luma = (weighted + (1 << 15)) >> 16;
        rgb.map(|v| (luma + ((self.saturation * (v - luma) + (1 << 11)) >> 12)).clamp(0, 255) as u8)
    }
}

/// Corrects premultiplied RGBA8 pixels in place; `matrix` determines the luma weights.
pub fn correct_reference(rgba: &mut [u8], correction: &Correction, matrix: Matrix) {
    let tables = correction.tables(matrix);
    if tables.is_identity() {
        return;
    }
    for pixel in rgba.chunks_exact_mut(4) {
        let [r, g, b, a] = [pixel[0], pixel[1], pixel[2], pixel[3]];
        let rgb = match a {
            255 => tables.apply([r, g, b]),
            _ => tables
                .apply([r, g, b].map(|c| divide_alpha(c, a)))
                .map(|c| multiply_alpha(c.into(), a.into(), 255) as u8),
        };
        pixel[..3].copy_from_slice(&rgb);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRICES: [Matrix; 4] = [Matrix::Rgb, Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020];

    #[test]
    fn neutral_is_the_identity_and_grey_stays_grey_at_any_saturation() {
        assert!(Correction::default().is_neutral());
        for matrix in MATRICES {
            let tables = Correction::default().tables(matrix);
            for i in 0..=255u8 {
                for rgb in [[i, 255 - i, i / 2], [i, 0, 255], [0, i, i]] {
                    assert_eq!(tables.apply(rgb), rgb);
                }
            }
            for saturation in [0.0, 0.3, 1.7, 4.0] {
                let tables = Correction { saturation, ..Correction::NEUTRAL }.tables(matrix);
                assert_eq!(tables.luma.iter().sum::<i32>(), 65536);
                assert!((0..=255).all(|v| tables.apply([v; 3]) == [v; 3]));
            }
        }
        assert!(!Correction { saturation: 0.99, ..Correction::NEUTRAL }.is_neutral());
        assert!(!Correction { brightness: 0.01, ..Correction::NEUTRAL }.is_neutral());
    }

    #[test]
    fn each_setting_has_its_effect() {
        let corrected = |c: Correction, rgb| c.tables(Matrix::Bt601).apply(rgb);
        let neutral = Correction::NEUTRAL;
        assert_eq!(corrected(Correction { brightness: 0.2, ..neutral }, [0, 100, 250]), [51, 151, 255]);
        assert_eq!(corrected(Correction { brightness: -0.2, ..neutral }, [0, 100, 250]), [0, 49, 199]);
        assert_eq!(corrected(Correction { contrast: 0.0, ..neutral }, [0, 100, 250]), [128; 3]);
        assert_eq!(corrected(Correction { contrast: 2.0, ..neutral }, [0, 100, 200]), [0, 73, 255]);
        // 255·(64/255)^(1/2) = 127.75
        assert_eq!(corrected(Correction { gamma: 2.0, ..neutral }, [0, 64, 255]), [0, 128, 255]);
        // BT.601: red's luma is 0.299·255 = 76.2.
        assert_eq!(corrected(Correction { saturation: 0.0, ..neutral }, [255, 0, 0]), [76; 3]);
        // 76 + 0.5·(255 - 76) = 165.5, and 76 - 0.5·76.
        assert_eq!(corrected(Correction { saturation: 0.5, ..neutral }, [255, 0, 0]), [166, 38, 38]);
    }

    /// Checks that colours are corrected without their alpha; otherwise brightness would make transparent pixels visible.
    #[test]
    fn colours_are_corrected_without_their_alpha() {
        let bright = Correction { brightness: 0.2, ..Correction::NEUTRAL };
        // 100 of 128 is 199 of 255, which becomes 250, and 125 of 128; what is full stays full.
        let mut pixels = [0, 0, 0, 0, 100, 128, 0, 128, 0, 100, 250, 255];
        correct_reference(&mut pixels, &bright, Matrix::Rgb);
        assert_eq!(pixels, [0, 0, 0, 0, 125, 128, 26, 128, 51, 151, 255, 255]);
        // More colour than alpha is as much as alpha, but where nothing is corrected.
        let mut above = [200, 0, 0, 100];
        correct_reference(&mut above, &Correction::NEUTRAL, Matrix::Rgb);
        assert_eq!(above, [200, 0, 0, 100]);
        correct_reference(&mut above, &bright, Matrix::Rgb);
        assert_eq!(above, [100, 20, 20, 100]);
    }

    #[test]
    fn invalid_values_are_clamped_and_missing_ones_are_neutral() {
        let wild = Correction {
            brightness: f32::NAN,
            contrast: -3.0,
            saturation: f32::INFINITY,
            gamma: f32::NEG_INFINITY,
        };
        let limited = Correction { brightness: 0.0, contrast: 0.0, saturation: 4.0, gamma: 0.1 };
        assert_eq!(wild.limited(), limited);
        assert_eq!(wild.tables(Matrix::Bt709), limited.tables(Matrix::Bt709));
        let read: Correction = serde_json::from_str(r#"{"gamma":2.0}"#).unwrap();
        assert_eq!(read, Correction { gamma: 2.0, ..Correction::NEUTRAL });
    }
}
