//! Pictures to RGBA8 with swscale. In: a decoded picture of any format. Out: four bytes a pixel, rows without
//! gaps, full range.
//!
//! The contract: every channel of a flat patch lies within 2 levels of the exact value by the matrix and range of
//! [`color`], clipped to 0 to 255. Rounding and the interpolation of chroma are swscale's: bilinear, or nearest for
//! 8-bit 4:2:0 of even height on x86-64, the fast way (0.25 ms for 1280×720 on one core, 2.1 ms for other formats).
//! Formats without alpha get 255. Code triples far outside of RGB, such as (225, 255, 0), may come out wrong by the
//! accurate way: a sum overflows in swscale where a channel would reach twice its largest value.

use std::ptr;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;

use super::color::{self, Matrix, Range};
use super::memory::zeroed;
use crate::error::{Error, Result};

/// Bytes of one RGBA pixel.
const PIXEL: usize = 4;
/// swscale's fast paths write whole groups of this many pixels.
const GROUP: u32 = 16;

/// swscale's fast routine cuts fractions off: its results lie up to 3 levels below the exact ones. One luma level more
/// centres them (the unit is 1/256 level).
const FAST_BRIGHTNESS: i32 = 256;

/// Everything that a swscale context is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    source: (u32, u32),
    format: ffmpeg::format::Pixel,
    matrix: Matrix,
    range: Range,
    target: (u32, u32),
}

impl Key {
    /// Whether swscale's unscaled routine for 4:2:0 is used. It takes even heights only, and for 4:2:2 it would leave
    /// out half of the chroma. Elsewhere than on x86 its rounding is another one.
    fn is_fast(&self) -> bool {
        use ffmpeg::format::Pixel;
        cfg!(target_arch = "x86_64")
            && matches!(self.format, Pixel::YUV420P | Pixel::YUVJ420P)
            && self.source == self.target
            && self.source.1.is_multiple_of(2)
    }

    fn flags(&self) -> i32 {
        use ffmpeg::software::scaling::Flags;
        let accurate = Flags::ACCURATE_RND | Flags::FULL_CHR_H_INT;
        let flags = if self.is_fast() {
            Flags::BILINEAR
        } else if self.source == self.target {
            Flags::BILINEAR | accurate
        } else {
            Flags::BICUBIC | accurate
        };
        flags.bits()
    }
}

/// Converts pictures to tight RGBA8; it makes its tables anew when the size, the format or the colours change.
pub struct RgbaConverter {
    context: *mut ffi::SwsContext,
    key: Option<Key>,
    /// Rows with room behind them, for widths that the fast paths do not write to the last pixel.
    padded: Vec<u8>,
}

// SAFETY: the context is owned, is used through `&mut self` only, and swscale ties it to no thread.
unsafe impl Send for RgbaConverter {}

impl RgbaConverter {
    /// A converter without tables yet.
    pub fn new() -> Self {
        super::initialise();
        Self { context: ptr::null_mut(), key: None, padded: Vec::new() }
    }

    /// Converts `frame` to `dst`, which must hold width × height × 4 bytes.
    ///
    /// # Errors
    /// `dst` has another size, or swscale cannot read the picture's format.
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
        let (width, height) = size;
        let row = width as usize * PIXEL;
        if width == 0 || height == 0 || dst.len() != row * height as usize {
            return Err(Error::new(
                "Cannot convert the picture.",
                format!("{} bytes do not hold {width}×{height} RGBA pixels.", dst.len()),
                "",
            ));
        }
        self.prepare(frame, size)?;
        if width.is_multiple_of(GROUP) {
            return self.scale(frame, dst, row);
        }
        let padded_row = width.next_multiple_of(GROUP) as usize * PIXEL;
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

    /// Makes the context for this picture, unless the present one fits.
    fn prepare(&mut self, frame: &ffmpeg::frame::Video, target: (u32, u32)) -> Result<()> {
        let (matrix, range) = color::of_picture(frame);
        let source = (frame.width(), frame.height());
        let key = Key { source, format: frame.format(), matrix, range, target };
        if self.key == Some(key) {
            return Ok(());
        }
        self.free();
        let unsupported = || {
            Error::new(
                format!("Cannot convert pictures of the format {}.", color::format_name(frame)),
                format!("swscale refuses {}×{} to {}×{} RGBA.", source.0, source.1, target.0, target.1),
                "Convert the movie to yuv420p first.",
            )
        };
        let format = ffi::AVPixelFormat::from(key.format);
        // SAFETY: sizes and formats are plain numbers; swscale returns null for those it cannot do. The tables come
        // from swscale and are static.
        unsafe {
            if ffi::sws_isSupportedInput(format) == 0 {
                return Err(unsupported());
            }
            self.context = ffi::sws_getContext(
                source.0 as i32,
                source.1 as i32,
                format,
                target.0 as i32,
                target.1 as i32,
                ffi::AVPixelFormat::AV_PIX_FMT_RGBA,
                key.flags(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null(),
            );
            if self.context.is_null() {
                return Err(unsupported());
            }
            let table = ffi::sws_getCoefficients(coefficients(matrix));
            let full = i32::from(range == Range::Full);
            // It refuses for RGB sources, where there is nothing to set.
            let brightness = if key.is_fast() { FAST_BRIGHTNESS } else { 0 };
            ffi::sws_setColorspaceDetails(self.context, table, full, table, 1, brightness, 1 << 16, 1 << 16);
        }
        self.key = Some(key);
        Ok(())
    }

    /// Runs swscale into `dst` with rows of `stride` bytes.
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

    fn free(&mut self) {
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
        self.free();
    }
}

/// swscale's number of the matrix's table.
fn coefficients(matrix: Matrix) -> i32 {
    match matrix {
        Matrix::Rgb | Matrix::Bt601 => ffi::SWS_CS_ITU601,
        Matrix::Bt709 => ffi::SWS_CS_ITU709,
        Matrix::Bt2020 => ffi::SWS_CS_BT2020,
        Matrix::Smpte240m => ffi::SWS_CS_SMPTE240M,
        Matrix::Fcc => ffi::SWS_CS_FCC,
    }
}
