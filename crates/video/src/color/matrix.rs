//! Determines the YCbCr [`Matrix`] and the sample [`Range`] of a decoded picture.
//!
//! The file's tags decide. Untagged pictures follow convention: BT.709 for high definition and BT.601 for smaller pictures,
//! limited range for YCbCr, full range for RGB, grey and the JPEG formats.

use std::fmt;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::frame::Video;
use serde::{Deserialize, Serialize};

use crate::libav;

/// The minimum width at which a picture without a matrix tag is assumed to be BT.709, however few lines it has: films are
/// cropped to 1280×536. mpv (`mp_csp_guess`) and libplacebo have the same rule.
const HD_WIDTH: u32 = 1280;
/// The largest number of lines of standard definition. A picture without a matrix tag that has more lines is assumed to be
/// BT.709.
const SD_LINES: u32 = 576;

/// The matrix that converts between RGB and YCbCr (or YCgCo).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Matrix {
    /// No matrix: the samples are RGB.
    #[default]
    Rgb,
    /// ITU-R BT.601 (also BT.470BG and SMPTE 170M).
    Bt601,
    /// ITU-R BT.709.
    Bt709,
    /// ITU-R BT.2020 with non-constant luminance.
    Bt2020,
    /// SMPTE 240M.
    Smpte240m,
    /// FCC Title 47.
    Fcc,
    /// YCgCo of ITU-T H.273: luma, a green–magenta difference and an orange–blue difference.
    Ycgco,
}

impl Matrix {
    /// Returns the name, and the weights of red and blue in luma.
    fn properties(self) -> (&'static str, Option<(f64, f64)>) {
        match self {
            Matrix::Rgb => ("RGB", None),
            Matrix::Bt601 => ("BT.601", Some((0.299, 0.114))),
            Matrix::Bt709 => ("BT.709", Some((0.2126, 0.0722))),
            Matrix::Bt2020 => ("BT.2020", Some((0.2627, 0.0593))),
            Matrix::Smpte240m => ("SMPTE 240M", Some((0.212, 0.087))),
            Matrix::Fcc => ("FCC", Some((0.30, 0.11))),
            Matrix::Ycgco => ("YCgCo", None),
        }
    }

    /// Returns the weights of red and blue in luma, from the standard; `None` for RGB, and for YCgCo, whose chroma is no
    /// difference from luma.
    pub fn weights(self) -> Option<(f64, f64)> {
        self.properties().1
    }

    /// Converts a colour, given as red, green and blue from 0 to 1, to 8-bit samples Y, Cb, Cr in limited range. A matrix
    /// without [weights](Matrix::weights) uses those of BT.709.
    ///
    /// ITU-R BT.709-6, 3.2 to 3.4; the other matrices differ by their weights.
    pub fn limited(self, [r, g, b]: [f32; 3]) -> [u8; 3] {
        let (red, blue) = self.weights().or(Matrix::Bt709.weights()).unwrap_or((0.0, 0.0));
        let [r, g, b] = [r, g, b].map(f64::from);
        let luma = red * r + (1.0 - red - blue) * g + blue * b;
        let chroma = |part: f64, weight: f64| 128.0 + 224.0 * (part - luma) / (2.0 * (1.0 - weight));
        [16.0 + 219.0 * luma, chroma(b, blue), chroma(r, red)].map(|sample| sample.round() as u8)
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.properties().0)
    }
}

/// The range of sample values from black to white.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Range {
    /// 16 to 235 for luma, 16 to 240 for chroma, in 8 bits.
    Limited,
    /// 0 to 255 in 8 bits.
    #[default]
    Full,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Range::Limited => "limited",
            Range::Full => "full",
        })
    }
}

/// The tags of matrices in files (`matrix_coefficients` of ITU-T H.273). An unsupported matrix has a name, and the supported matrix
/// of the same primaries, which is used instead, if there is one.
const MATRIX_TAGS: [(u32, Option<Matrix>, Option<&str>); 16] = [
    (0, None, Some("RGB in a format for YCbCr")),
    (1, Some(Matrix::Bt709), None),
    (4, Some(Matrix::Fcc), None),
    (5, Some(Matrix::Bt601), None),
    (6, Some(Matrix::Bt601), None),
    (7, Some(Matrix::Smpte240m), None),
    (8, Some(Matrix::Ycgco), None),
    (9, Some(Matrix::Bt2020), None),
    (10, Some(Matrix::Bt2020), Some("BT.2020 constant luminance")),
    (11, Some(Matrix::Bt2020), Some("SMPTE 2085")),
    (12, None, Some("the matrix that follows from the primaries")),
    (13, None, Some("constant luminance by the primaries")),
    (14, Some(Matrix::Bt2020), Some("ICtCp")),
    (15, Some(Matrix::Bt2020), Some("IPT-PQ-C2 (Dolby Vision)")),
    (16, None, Some("YCgCo-Re")),
    (17, None, Some("YCgCo-Ro")),
];
/// The tag for an unspecified matrix.
const UNSPECIFIED_TAG: u32 = 2;

/// The colour model of a pixel format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    Rgb,
    Grey,
    /// YCbCr whose format implies full range (`yuvj420p` and similar ones).
    Jpeg,
    Ycbcr,
}

/// Returns the matrix and range of `picture` according to its tags. If tags are missing, convention and the stored size of the
/// picture decide.
///
/// An unsupported matrix is replaced by the nearest supported one; [`super::remarks`] reports the replacement.
pub(crate) fn of_picture(picture: &Video) -> (Matrix, Range) {
    let (space, range) = tags(picture);
    choose_matrix_and_range(model(picture), space, range, (picture.width(), picture.height()))
}

/// Returns a remark, worded as a clause, if the picture's tagged matrix is not supported; otherwise `None`.
pub(super) fn unsupported_matrix_remark(picture: &Video) -> Option<String> {
    let space = tags(picture).0;
    if space == UNSPECIFIED_TAG || !matches!(model(picture), Model::Ycbcr | Model::Jpeg) {
        return None;
    }
    let what = match MATRIX_TAGS.iter().find(|(tag, ..)| *tag == space) {
        Some((_, _, name)) => format!("{} is not supported", (*name)?),
        None => format!("the matrix of number {space} is not known"),
    };
    let shown = match of_picture(picture).0 {
        // Constant luminance is not supported.
        Matrix::Bt2020 => "BT.2020 NCL".to_owned(),
        matrix => matrix.to_string(),
    };
    Some(format!("{what}: colours are shown as {shown}"))
}

/// Returns true if the primaries in the picture's tags affect its colours; false for grey, which has no colours, and XYZ, which
/// swscale converts.
pub(super) fn has_primaries(picture: &Video) -> bool {
    use ffmpeg::format::Pixel;
    model(picture) != Model::Grey && !matches!(picture.format(), Pixel::XYZ12LE | Pixel::XYZ12BE)
}

/// Returns FFmpeg's name of the picture's pixel format.
pub(crate) fn format_name(picture: &Video) -> String {
    picture.format().descriptor().map_or("unknown", |format| format.name()).to_owned()
}

/// Returns the tags of the frame's colour space and range. They come from the file and may be outside of FFmpeg's
/// enumerations, so they are read as integers.
fn tags(picture: &Video) -> (u32, u32) {
    // SAFETY: the frame is valid; both fields are 32-bit enumerations, read as the integers they are in C.
    unsafe {
        let frame = picture.as_ptr();
        (
            (&raw const (*frame).colorspace).cast::<u32>().read(),
            (&raw const (*frame).color_range).cast::<u32>().read(),
        )
    }
}

/// Returns true for the pixel formats of JPEG, which imply full range.
pub(super) fn is_jpeg_format(format: ffmpeg::format::Pixel) -> bool {
    use ffmpeg::format::Pixel;
    matches!(format, Pixel::YUVJ420P | Pixel::YUVJ411P | Pixel::YUVJ422P | Pixel::YUVJ440P | Pixel::YUVJ444P)
}

fn model(picture: &Video) -> Model {
    let format = picture.format();
    let (flags, components) =
        libav::descriptor(format).map_or((0, 0), |format| (format.flags as i32, format.nb_components));
    if is_jpeg_format(format) {
        Model::Jpeg
    } else if flags & (ffi::AV_PIX_FMT_FLAG_RGB | ffi::AV_PIX_FMT_FLAG_PAL) != 0 {
        Model::Rgb
    } else if components <= 2 {
        Model::Grey
    } else {
        Model::Ycbcr
    }
}

/// Chooses the matrix and range by the tags `space` and `range`, or for missing tags by convention and the picture's size.
fn choose_matrix_and_range(
    model: Model,
    space: u32,
    range: u32,
    (width, height): (u32, u32),
) -> (Matrix, Range) {
    if model == Model::Rgb {
        return (Matrix::Rgb, Range::Full);
    }
    let is_hd = width >= HD_WIDTH || height > SD_LINES;
    let by_size = if is_hd { Matrix::Bt709 } else { Matrix::Bt601 };
    let tagged = MATRIX_TAGS.iter().find(|(tag, ..)| *tag == space);
    let matrix = tagged.and_then(|(_, matrix, _)| *matrix).unwrap_or(by_size);
    let range = match model {
        _ if range == ffi::AVColorRange::AVCOL_RANGE_JPEG as u32 => Range::Full,
        Model::Jpeg => Range::Full,
        _ if range == ffi::AVColorRange::AVCOL_RANGE_MPEG as u32 => Range::Limited,
        Model::Grey => Range::Full,
        _ => Range::Limited,
    };
    (matrix, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTAGGED: u32 = ffi::AVColorSpace::AVCOL_SPC_UNSPECIFIED as u32;

    /// Checks the samples of colour bars at 75 % by ITU-R BT.709, and of grey, which has no chroma in any matrix.
    #[test]
    fn colours_have_their_samples() {
        assert_eq!(Matrix::Bt709.limited([0.75; 3]), [180, 128, 128]);
        assert_eq!(Matrix::Bt709.limited([0.75, 0.0, 0.0]), [51, 109, 212]);
        assert_eq!(Matrix::Bt601.limited([0.75, 0.0, 0.0]), [65, 100, 212]);
        for matrix in [Matrix::Rgb, Matrix::Bt601, Matrix::Bt2020, Matrix::Smpte240m, Matrix::Fcc] {
            assert_eq!(
                [matrix.limited([0.0; 3]), matrix.limited([1.0; 3])],
                [[16, 128, 128], [235, 128, 128]]
            );
        }
    }

    #[test]
    fn tags_have_priority_over_the_size_and_rgb_grey_and_jpeg_are_full_range() {
        for model in [Model::Ycbcr, Model::Jpeg] {
            let of = |space, size| choose_matrix_and_range(model, space, 0, size).0;
            for size in [(720, 576), (1279, 576), (1024, 576), (1, 1), (640, 480)] {
                assert_eq!(of(UNTAGGED, size), Matrix::Bt601, "{size:?}");
            }
            for size in
                [(1280, 536), (1920, 500), (1280, 1), (720, 577), (608, 1080), (720, 1280), (1280, 720)]
            {
                assert_eq!(of(UNTAGGED, size), Matrix::Bt709, "{size:?}");
            }
            // Numbers that no matrix has are no tags.
            assert_eq!((of(0, (640, 1080)), of(12345, (640, 480))), (Matrix::Bt709, Matrix::Bt601));
        }
        use Matrix::{Bt601, Bt709, Bt2020, Rgb, Ycgco};
        use Range::{Full, Limited};
        let (small, large) = ((640, 480), (1920, 1080));
        for (model, space, range, size, expected) in [
            (Model::Ycbcr, 1, 2, small, (Bt709, Full)),
            (Model::Ycbcr, 5, 1, large, (Bt601, Limited)),
            (Model::Ycbcr, 9, 0, small, (Bt2020, Limited)),
            (Model::Jpeg, 8, 0, large, (Ycgco, Full)),
            // In the place of what is not supported.
            (Model::Ycbcr, 10, 0, small, (Bt2020, Limited)),
            (Model::Ycbcr, 14, 0, small, (Bt2020, Limited)),
            (Model::Ycbcr, 12, 0, large, (Bt709, Limited)),
            (Model::Ycbcr, UNTAGGED, 77, small, (Bt601, Limited)),
            (Model::Grey, UNTAGGED, 1, small, (Bt601, Limited)),
            (Model::Grey, UNTAGGED, 0, small, (Bt601, Full)),
            (Model::Rgb, 1, 1, large, (Rgb, Full)),
            (Model::Jpeg, UNTAGGED, 1, small, (Bt601, Full)),
        ] {
            assert_eq!(
                choose_matrix_and_range(model, space, range, size),
                expected,
                "{model:?} {space} {range}"
            );
        }
    }

    #[test]
    fn formats_have_their_model() {
        use ffmpeg::format::Pixel;
        for (format, expected) in [
            (Pixel::YUVJ420P, Model::Jpeg),
            (Pixel::YUV420P10LE, Model::Ycbcr),
            (Pixel::NV12, Model::Ycbcr),
            (Pixel::GRAY8, Model::Grey),
            (Pixel::YA8, Model::Grey),
            (Pixel::GBRP, Model::Rgb),
            (Pixel::BGRZ, Model::Rgb),
            (Pixel::PAL8, Model::Rgb),
            (Pixel::MonoBlack, Model::Grey),
        ] {
            assert_eq!(model(&Video::new(format, 16, 16)), expected, "{format:?}");
        }
    }
}
