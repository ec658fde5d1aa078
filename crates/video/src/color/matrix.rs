//! Which matrix and range a picture's numbers are meant in. In: a decoded picture. Out: [`Matrix`] and [`Range`].
//!
//! The file's tags decide. What is untagged follows custom: BT.709 in pictures of high definition and BT.601 in smaller
//! ones, limited range for YCbCr, full range for RGB, grey and the JPEG formats.

use std::ffi::CStr;
use std::fmt;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use serde::{Deserialize, Serialize};

/// Untagged pictures from this width on are taken for BT.709, however few lines are left of them: films are cropped to
/// 1280×536. mpv (`mp_csp_guess`) and libplacebo have the same rule.
const HD_WIDTH: u32 = 1280;
/// … and so are those of more lines than this, the most that television had before.
const SD_LINES: u32 = 576;

/// The matrix between YCbCr and RGB, by the luma weights of red and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Matrix {
    /// The numbers are RGB already.
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
    /// YCgCo of ITU-T H.273: luma, and how much greener than purple and more orange than blue a colour is.
    Ycgco,
}

impl Matrix {
    /// The luma weights of red and blue, from the standard; `None` where the numbers are no differences from luma: for RGB, and
    /// for YCgCo, whose luma is none of colours as they are seen.
    pub fn weights(self) -> Option<(f64, f64)> {
        match self {
            Matrix::Rgb | Matrix::Ycgco => None,
            Matrix::Bt601 => Some((0.299, 0.114)),
            Matrix::Bt709 => Some((0.2126, 0.0722)),
            Matrix::Bt2020 => Some((0.2627, 0.0593)),
            Matrix::Smpte240m => Some((0.212, 0.087)),
            Matrix::Fcc => Some((0.30, 0.11)),
        }
    }

    /// The 8-bit samples of a colour, red, green and blue from 0 to 1, in limited range: Y, Cb, Cr. With a matrix that has no
    /// [weights](Matrix::weights), those of BT.709.
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
        f.write_str(match self {
            Matrix::Rgb => "RGB",
            Matrix::Bt601 => "BT.601",
            Matrix::Bt709 => "BT.709",
            Matrix::Bt2020 => "BT.2020",
            Matrix::Smpte240m => "SMPTE 240M",
            Matrix::Fcc => "FCC",
            Matrix::Ycgco => "YCgCo",
        })
    }
}

/// The numbers that stand for black and white.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Range {
    /// 16 to 235 for luma, 16 to 240 for chroma, in 8 bits.
    Limited,
    /// 0 to 255 in 8 bits.
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

/// The matrices that are taken as they are tagged, by their numbers in ITU-T H.273.
const TAGGED: [(u32, Matrix); 7] = [
    (1, Matrix::Bt709),
    (4, Matrix::Fcc),
    (5, Matrix::Bt601),
    (6, Matrix::Bt601),
    (7, Matrix::Smpte240m),
    (8, Matrix::Ycgco),
    (9, Matrix::Bt2020),
];
/// Those in whose place the matrix of films with the same primaries is taken: BT.2020 with constant luminance, SMPTE 2085,
/// ICtCp and IPT-PQ-C2.
const NEAREST: [(u32, Matrix); 4] =
    [(10, Matrix::Bt2020), (11, Matrix::Bt2020), (14, Matrix::Bt2020), (15, Matrix::Bt2020)];
/// The file does not say.
const UNSPECIFIED: u32 = 2;

/// How a pixel format stores colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    Rgb,
    Grey,
    /// YCbCr whose format means full range (`yuvj420p` and its kind).
    Jpeg,
    Ycbcr,
}

/// Matrix and range of `picture`: its tags, or the customs described above, which go by its size as it is stored.
///
/// In the place of what is not supported the nearest is taken, which [`super::remarks`] tells.
pub(crate) fn of_picture(picture: &ffmpeg::frame::Video) -> (Matrix, Range) {
    let (space, range) = tags(picture);
    decide(model(picture), space, range, (picture.width(), picture.height()))
}

/// What is said of a picture whose tag asks for another matrix than the one that is taken.
pub(super) fn unsupported(picture: &ffmpeg::frame::Video) -> Option<String> {
    let space = tags(picture).0;
    let name = match space {
        _ if !matches!(model(picture), Model::Ycbcr | Model::Jpeg)
            || TAGGED.iter().any(|(tag, _)| *tag == space) =>
        {
            return None;
        }
        UNSPECIFIED => return None,
        0 => "RGB in a format for YCbCr",
        10 => "BT.2020 constant luminance",
        11 => "SMPTE 2085",
        12 => "the matrix that follows from the primaries",
        13 => "constant luminance by the primaries",
        14 => "ICtCp",
        15 => "IPT-PQ-C2 (Dolby Vision)",
        16 => "YCgCo-Re",
        17 => "YCgCo-Ro",
        _ => {
            return Some(format!(
                "the matrix of number {space} is not known: colours are shown as {}",
                instead(picture)
            ));
        }
    };
    Some(format!("{name} is not supported: colours are shown as {}", instead(picture)))
}

/// The name of the matrix that is taken for a picture.
fn instead(picture: &ffmpeg::frame::Video) -> String {
    match of_picture(picture).0 {
        // The other form is among those that are not supported.
        Matrix::Bt2020 => "BT.2020 NCL".to_owned(),
        matrix => matrix.to_string(),
    }
}

/// FFmpeg's name of the picture's pixel format.
pub(crate) fn format_name(picture: &ffmpeg::frame::Video) -> String {
    // SAFETY: the function returns null or a static string.
    unsafe {
        let name = ffi::av_get_pix_fmt_name(picture.format().into());
        if name.is_null() { "unknown".into() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
    }
}

/// The numbers of the colour space and the range as the frame carries them. They come from the file and may be
/// numbers that no enumeration has, so they are read as numbers.
fn tags(picture: &ffmpeg::frame::Video) -> (u32, u32) {
    // SAFETY: the frame is valid; both fields are 32-bit enumerations, read as the integers they are in C.
    unsafe {
        let frame = picture.as_ptr();
        (
            (&raw const (*frame).colorspace).cast::<u32>().read(),
            (&raw const (*frame).color_range).cast::<u32>().read(),
        )
    }
}

fn model(picture: &ffmpeg::frame::Video) -> Model {
    use ffmpeg::format::Pixel;
    let format = picture.format();
    // SAFETY: the function returns null or a static descriptor.
    let (flags, components) = unsafe {
        ffi::av_pix_fmt_desc_get(format.into()).as_ref().map_or((0, 0), |d| (d.flags as i32, d.nb_components))
    };
    match format {
        Pixel::YUVJ420P | Pixel::YUVJ411P | Pixel::YUVJ422P | Pixel::YUVJ440P | Pixel::YUVJ444P => {
            Model::Jpeg
        }
        _ if flags & (ffi::AV_PIX_FMT_FLAG_RGB | ffi::AV_PIX_FMT_FLAG_PAL) != 0 => Model::Rgb,
        _ if components <= 2 => Model::Grey,
        _ => Model::Ycbcr,
    }
}

fn decide(model: Model, space: u32, range: u32, (width, height): (u32, u32)) -> (Matrix, Range) {
    if model == Model::Rgb {
        return (Matrix::Rgb, Range::Full);
    }
    let is_hd = width >= HD_WIDTH || height > SD_LINES;
    let custom = if is_hd { Matrix::Bt709 } else { Matrix::Bt601 };
    let tagged = TAGGED.iter().chain(&NEAREST).find(|(tag, _)| *tag == space);
    let matrix = tagged.map_or(custom, |(_, matrix)| *matrix);
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

    /// Bars at three quarters as ITU-R BT.709 has them, and grey, which has no chroma in any matrix.
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
    fn untagged_pictures_follow_their_size() {
        for model in [Model::Ycbcr, Model::Jpeg] {
            let of = |space, size| decide(model, space, 0, size).0;
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
    }

    #[test]
    fn tags_win() {
        let (small, large) = ((640, 480), (1920, 1080));
        assert_eq!(decide(Model::Ycbcr, 1, 2, small), (Matrix::Bt709, Range::Full));
        assert_eq!(decide(Model::Ycbcr, 5, 1, large), (Matrix::Bt601, Range::Limited));
        assert_eq!(decide(Model::Ycbcr, 9, 0, small), (Matrix::Bt2020, Range::Limited));
        assert_eq!(decide(Model::Jpeg, 8, 0, large), (Matrix::Ycgco, Range::Full));
        // In the place of what is not supported.
        assert_eq!(decide(Model::Ycbcr, 10, 0, small).0, Matrix::Bt2020);
        assert_eq!(decide(Model::Ycbcr, 14, 0, small).0, Matrix::Bt2020);
        assert_eq!(decide(Model::Ycbcr, 12, 0, large).0, Matrix::Bt709);
        assert_eq!(decide(Model::Grey, UNTAGGED, 1, small).1, Range::Limited);
    }

    #[test]
    fn rgb_grey_and_jpeg_are_full_range() {
        let (small, large) = ((640, 480), (1920, 1080));
        assert_eq!(decide(Model::Rgb, 1, 1, large), (Matrix::Rgb, Range::Full));
        assert_eq!(decide(Model::Grey, UNTAGGED, 0, small).1, Range::Full);
        assert_eq!(decide(Model::Jpeg, UNTAGGED, 1, small), (Matrix::Bt601, Range::Full));
        assert_eq!(decide(Model::Ycbcr, UNTAGGED, 77, small).1, Range::Limited);
    }

    #[test]
    fn formats_have_their_model() {
        use ffmpeg::format::Pixel;
        let of = |format| model(&ffmpeg::frame::Video::new(format, 16, 16));
        assert_eq!(of(Pixel::YUVJ420P), Model::Jpeg);
        assert_eq!(of(Pixel::YUV420P10LE), Model::Ycbcr);
        assert_eq!(of(Pixel::NV12), Model::Ycbcr);
        assert_eq!(of(Pixel::GRAY8), Model::Grey);
        assert_eq!(of(Pixel::YA8), Model::Grey);
        assert_eq!(of(Pixel::GBRP), Model::Rgb);
        assert_eq!(of(Pixel::BGRZ), Model::Rgb);
        assert_eq!(of(Pixel::PAL8), Model::Rgb);
        assert_eq!(of(Pixel::MonoBlack), Model::Grey);
    }
}
