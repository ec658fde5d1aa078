//! Converts a decoded picture of any format to RGBA8 on the CPU: full range, rows without gaps.
//!
//! Formats that [`layout_of`] covers are converted by `rows`, byte for byte as the contract of [`color`](crate::color)
//! requires, so that a picture is the same wherever it is converted. swscale cannot do that: where chroma has half the rows
//! it is off by up to 226 levels at edges, since even its accurate mode uses the nearest row.
//!
//! swscale converts all other formats, and scales. Every channel of a flat area is within 2 levels of the exact value by the
//! matrix and range of [`matrix`], clipped to 0 to 255. That also holds at edges of chroma if chroma has all rows (4:1:1, or
//! 4:2:2 with alpha or 14 bits, are within 0.5 of the interpolation between the samples); with fewer rows, edges are off as
//! above. The fields of [interlaced](crate::color#fields) pictures are converted separately. Alpha is 255 in formats without
//! it; otherwise colours are premultiplied as in [`alpha`](super::alpha). A picture with alpha or fields is converted before
//! it is scaled, so that hidden colours or different moments are not mixed. Code triples far outside of RGB, such as
//! (225, 255, 0), may come out wrong: a sum overflows in swscale where a channel would reach twice its largest value.

use std::ffi::CStr;
use std::ptr;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;

use super::alpha::{has_alpha, premultiply};
use super::fields::{field, has_fields, new_picture};
use super::matrix::{self, Matrix, Range};
use super::planes::{layout_of, siting_of};
use super::rows;
use crate::libav;
use base::error::{Error, Result};
use base::memory::{picture_memory, zeroed};

/// Bytes of one RGBA pixel.
const PIXEL_BYTES: usize = 4;
/// swscale writes groups of up to this many pixels, also beyond the end of a row.
const GROUP_PIXELS: u32 = 16;

/// The parameters of a swscale context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ContextKey {
    source: (u32, u32),
    format: ffmpeg::format::Pixel,
    matrix: Matrix,
    range: Range,
    siting: (u32, u32),
    target: (u32, u32),
}

impl ContextKey {
    /// Returns swscale's flags: bicubic if the picture is scaled, and accurate rounding.
    fn flags(&self) -> i32 {
        use ffmpeg::software::scaling::Flags;
        let filter = if self.source == self.target { Flags::BILINEAR } else { Flags::BICUBIC };
        let flags = filter | Flags::ACCURATE_RND | Flags::FULL_CHR_H_INT;
        flags.bits()
    }
}

/// Converts pictures to RGBA8 with rows without gaps. swscale's context is kept until the size, format or colours change.
pub struct RgbaConverter {
    context: *mut ffi::SwsContext,
    key: Option<ContextKey>,
    /// Memory for rows that are padded to whole groups.
    padded: Vec<u8>,
}

// SAFETY: the context is owned, is used through `&mut self` only, and swscale ties it to no thread.
unsafe impl Send for RgbaConverter {}

impl RgbaConverter {
    /// Returns a converter without a swscale context.
    pub fn new() -> Self {
        libav::initialise();
        Self { context: ptr::null_mut(), key: None, padded: Vec::new() }
    }

    /// Converts `frame` to `dst`, which must hold width × height × 4 bytes.
    ///
    /// # Errors
    /// When `dst` has another size, or the picture's format cannot be read.
    pub fn convert(&mut self, frame: &ffmpeg::frame::Video, dst: &mut [u8]) -> Result<()> {
        self.convert_scaled(frame, (frame.width(), frame.height()), dst)
    }

    /// Converts `frame` to `dst` and scales it to `size` (width and height, in pixels).
    ///
    /// # Errors
    /// As for [`RgbaConverter::convert`].
    pub fn convert_scaled(
        &mut self,
        frame: &ffmpeg::frame::Video,
        size: (u32, u32),
        dst: &mut [u8],
    ) -> Result<()> {
        let whole = (frame.width(), frame.height());
        let (has_alpha, has_fields) = (has_alpha(frame), has_fields(frame));
        if size == whole {
            if let Some(layout) = layout_of(frame) {
                return rows::convert(frame, &layout, dst);
            }
            if matrix::of_picture(frame).0 == Matrix::Ycgco {
                self.convert_ycgco(frame, dst)?;
            } else if has_fields {
                self.convert_fields(frame, dst)?;
            } else {
                self.convert_by_swscale(frame, frame, size, dst)?;
            }
            if has_alpha {
                premultiply(dst);
            }
            return Ok(());
        }
        if !has_alpha && !has_fields && matrix::of_picture(frame).0 != Matrix::Ycgco {
            return self.convert_by_swscale(frame, frame, size, dst);
        }
        let mut converted = new_picture(ffmpeg::format::Pixel::RGBA, whole)?;
        let mut rgba = picture_memory(whole.0, whole.1)?;
        self.convert(frame, &mut rgba)?;
        libav::fill_plane(&mut converted, 0, &rgba, whole.0 as usize * PIXEL_BYTES);
        self.convert_by_swscale(&converted, &converted, size, dst)?;
        // swscale's filter overshoots at edges, but no colour may exceed its alpha.
        for pixel in dst.chunks_exact_mut(PIXEL_BYTES) {
            let alpha = pixel[3];
            pixel.iter_mut().for_each(|value| *value = alpha.min(*value));
        }
        Ok(())
    }

    /// Converts a YCgCo picture of a format that [`layout_of`] does not cover. swscale does not support YCgCo, so it converts
    /// only the format, to one that `rows` can convert.
    fn convert_ycgco(&mut self, frame: &ffmpeg::frame::Video, dst: &mut [u8]) -> Result<()> {
        let size = (frame.width(), frame.height());
        expect_size(dst, size)?;
        let known = ycgco_444(frame)?;
        let mut rgba = picture_memory(size.0, size.1)?;
        self.convert(&known, &mut rgba)?;
        if has_alpha(frame) {
            // Only the alpha of this result is correct.
            self.convert_by_swscale(frame, frame, size, dst)?;
            rgba.chunks_exact_mut(PIXEL_BYTES)
                .zip(dst.chunks_exact(PIXEL_BYTES))
                .for_each(|(to, from)| to[3] = from[3]);
        }
        dst.copy_from_slice(&rgba);
        Ok(())
    }

    /// Converts the two fields of an interlaced picture, each as a picture of its own.
    fn convert_fields(&mut self, frame: &ffmpeg::frame::Video, dst: &mut [u8]) -> Result<()> {
        let row = frame.width() as usize * PIXEL_BYTES;
        expect_size(dst, (frame.width(), frame.height()))?;
        for parity in 0..2 {
            let field = field(frame, parity)?;
            let mut rgba = picture_memory(field.width(), field.height())?;
            self.convert_by_swscale(&field, frame, (field.width(), field.height()), &mut rgba)?;
            let lines = dst.chunks_exact_mut(row).skip(parity).step_by(2);
            lines.zip(rgba.chunks_exact(row)).for_each(|(to, from)| to.copy_from_slice(from));
        }
        Ok(())
    }

    /// Converts `frame` by swscale, with the matrix, range and siting of `whole`, of which it may be a field.
    fn convert_by_swscale(
        &mut self,
        frame: &ffmpeg::frame::Video,
        whole: &ffmpeg::frame::Video,
        size: (u32, u32),
        dst: &mut [u8],
    ) -> Result<()> {
        let (width, height) = size;
        let row = width as usize * PIXEL_BYTES;
        expect_size(dst, size)?;
        self.prepare(frame, whole, size)?;
        if width.is_multiple_of(GROUP_PIXELS) {
            return self.scale(frame, dst, row);
        }
        let padded_row = width.next_multiple_of(GROUP_PIXELS) as usize * PIXEL_BYTES;
        let mut padded = std::mem::take(&mut self.padded);
        let len = padded_row * height as usize;
        if padded.len() != len {
            drop(padded);
            padded = zeroed(len)?;
        }
        let result = self.scale(frame, &mut padded, padded_row);
        for (to, from) in dst.chunks_exact_mut(row).zip(padded.chunks_exact(padded_row)) {
            to.copy_from_slice(&from[..row]);
        }
        self.padded = padded;
        result
    }

    /// Creates the swscale context for this picture, unless the present context fits.
    fn prepare(
        &mut self,
        frame: &ffmpeg::frame::Video,
        whole: &ffmpeg::frame::Video,
        target: (u32, u32),
    ) -> Result<()> {
        let (matrix, range) = matrix::of_picture(whole);
        let source = (frame.width(), frame.height());
        let key =
            ContextKey { source, format: frame.format(), matrix, range, siting: siting_of(whole), target };
        if self.key == Some(key) {
            return Ok(());
        }
        self.free_context();
        let unsupported = || {
            Error::new(
                format!("Cannot convert pictures of the format {}.", matrix::format_name(frame)),
                format!("swscale refuses {}×{} to {}×{} RGBA.", source.0, source.1, target.0, target.1),
                "Convert the movie to yuv420p first.",
            )
        };
        let format = ffi::AVPixelFormat::from(key.format);
        // SAFETY: the context is owned, and freed with `self` whatever fails. Options are plain numbers with swscale's own
        // names for them; it refuses those that it cannot do. The tables come from swscale and are static.
        unsafe {
            if ffi::sws_isSupportedInput(format) == 0 {
                return Err(unsupported());
            }
            self.context = ffi::sws_alloc_context();
            if self.context.is_null() {
                return Err(unsupported());
            }
            let mut options = vec![
                (c"srcw", i64::from(source.0)),
                (c"srch", i64::from(source.1)),
                (c"src_format", i64::from(format as i32)),
                (c"dstw", i64::from(target.0)),
                (c"dsth", i64::from(target.1)),
                (c"dst_format", i64::from(ffi::AVPixelFormat::AV_PIX_FMT_RGBA as i32)),
                (c"sws_flags", i64::from(key.flags())),
            ];
            options.extend(chroma_siting(key.format, key.siting));
            for (name, value) in options {
                if ffi::av_opt_set_int(self.context.cast(), name.as_ptr(), value, 0) < 0 {
                    return Err(unsupported());
                }
            }
            let table = ffi::sws_getCoefficients(coefficients(matrix));
            let full = i32::from(range == Range::Full);
            if ffi::sws_init_context(self.context, ptr::null_mut(), ptr::null_mut()) < 0 {
                return Err(unsupported());
            }
            // This fails for RGB sources, which have no matrix.
            ffi::sws_setColorspaceDetails(self.context, table, full, table, 1, 0, 1 << 16, 1 << 16);
        }
        self.key = Some(key);
        Ok(())
    }

    /// Runs swscale on `frame` into `dst`, with rows of `stride` bytes.
    fn scale(&mut self, frame: &ffmpeg::frame::Video, dst: &mut [u8], stride: usize) -> Result<()> {
        let planes = [dst.as_mut_ptr(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut()];
        let strides = [stride as i32, 0, 0, 0];
        // SAFETY: the context was made for this frame's size and format and for rows of the target's width, which
        // `dst` holds (the callers check). The frame's own pointers and line sizes are passed on, so that pictures
        // stored bottom-up, with negative line sizes, come out upright.
        let rows = unsafe {
            let raw = frame.as_ptr();
            ffi::sws_scale(
                self.context,
                (*raw).data.as_ptr().cast(),
                (*raw).linesize.as_ptr(),
                0,
                (*raw).height,
                planes.as_ptr(),
                strides.as_ptr(),
            )
        };
        if rows <= 0 {
            return Err(Error::new("Cannot convert the picture.", "swscale refused the picture.", ""));
        }
        Ok(())
    }

    /// Frees swscale's context, if there is one.
    fn free_context(&mut self) {
        // SAFETY: the context is null or owned, and is not used again.
        unsafe { ffi::sws_freeContext(self.context) };
        self.context = ptr::null_mut();
        self.key = None;
    }
}

impl Default for RgbaConverter {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for RgbaConverter {
    fn drop(&mut self) {
        self.free_context();
    }
}

/// Checks that `dst` holds exactly a picture of this size.
pub(super) fn expect_size(dst: &[u8], (width, height): (u32, u32)) -> Result<()> {
    if width == 0 || height == 0 || dst.len() != width as usize * height as usize * PIXEL_BYTES {
        return Err(Error::new(
            "Cannot convert the picture.",
            format!("{} bytes do not hold {width}×{height} RGBA pixels.", dst.len()),
            "",
        ));
    }
    Ok(())
}

/// Copies the samples of a YCgCo picture to 4:4:4 planes of 8 bits, or of 12 bits if they have more than 8.
fn ycgco_444(frame: &ffmpeg::frame::Video) -> Result<ffmpeg::frame::Video> {
    use ffmpeg::format::Pixel;
    use ffmpeg::software::scaling::{Context, Flags};
    let (width, height) = (frame.width(), frame.height());
    let is_deep = libav::descriptor(frame.format()).is_some_and(|format| format.comp[0].depth > 8);
    let to = if is_deep { Pixel::YUV444P12LE } else { Pixel::YUV444P };
    let mut known = new_picture(to, (width, height))?;
    let flags = Flags::BILINEAR | Flags::ACCURATE_RND | Flags::FULL_CHR_H_INT;
    let converted = Context::get(frame.format(), width, height, to, width, height, flags)
        .and_then(|mut context| context.run(frame, &mut known));
    converted.map_err(|error| {
        let what = format!("Cannot convert pictures of the format {}.", matrix::format_name(frame));
        Error::new(what, format!("swscale says: {error}."), "Convert the movie to yuv420p first.")
    })?;
    let (_, range) = matrix::of_picture(frame);
    known.set_color_space(ffmpeg::util::color::Space::YCGCO);
    known.set_color_range(match range {
        Range::Full => ffmpeg::util::color::Range::JPEG,
        Range::Limited => ffmpeg::util::color::Range::MPEG,
    });
    Ok(known)
}

/// Returns swscale's options for the location of the first chroma sample, in 1/256 of a pixel, along the axes on which
/// chroma is subsampled.
fn chroma_siting(
    format: ffmpeg::format::Pixel,
    siting: (u32, u32),
) -> impl Iterator<Item = (&'static CStr, i64)> {
    let subsampling =
        libav::descriptor(format).map_or((0, 0), |format| (format.log2_chroma_w, format.log2_chroma_h));
    let axes = [(c"src_h_chr_pos", subsampling.0, siting.0), (c"src_v_chr_pos", subsampling.1, siting.1)];
    let position = |log2: u8, siting: u32| i64::from(((128 << log2) - 128) * siting);
    axes.into_iter().filter(|axis| axis.1 > 0).map(move |(name, log2, siting)| (name, position(log2, siting)))
}

/// Returns swscale's constant for the matrix.
fn coefficients(matrix: Matrix) -> i32 {
    match matrix {
        // YCgCo pictures are not converted to RGB with this.
        Matrix::Rgb | Matrix::Bt601 | Matrix::Ycgco => ffi::SWS_CS_ITU601,
        Matrix::Bt709 => ffi::SWS_CS_ITU709,
        Matrix::Bt2020 => ffi::SWS_CS_BT2020,
        Matrix::Smpte240m => ffi::SWS_CS_SMPTE240M,
        Matrix::Fcc => ffi::SWS_CS_FCC,
    }
}
