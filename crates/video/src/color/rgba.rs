//! Converts a decoded picture of any format to RGBA8 on the CPU: full range, rows without gaps.
//!
//! `rows` converts all YCbCr, grey and RGB pictures, byte for byte as the contract of [`color`](crate::color) requires: from
//! their own planes where [`layout_of`](super::planes::layout_of) covers these, otherwise from planes that
//! [`samples`](super::samples) makes of them. Every channel is within 2 levels of the exact value by the matrix and range of
//! [`matrix`], clipped to 0 to 255, for any sample values. Alpha that is not part of a layout is read separately, and
//! multiplied as in [`alpha`](super::alpha).
//!
//! swscale, FFmpeg's converter, looks up palettes, interpolates mosaics of sensors, converts XYZ, and scales RGBA. It converts
//! no YCbCr: its accurate paths turn a channel into 0 where the sum of a saturated code triple exceeds twice the largest value,
//! so that bright blue becomes yellow, and where chroma has half the rows they take the nearest one.

use std::ptr;

use ffmpeg_next::ffi;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use ffmpeg_next::software::scaling::context::Definition;
use ffmpeg_next::software::scaling::{Context, Flags};

use super::alpha::{has_alpha, premultiply_packed};
use super::matrix;
use super::planes::{color_layout_of, rows_in, rows_of};
use super::rows::{self, PIXEL_BYTES, expect_size, threads_for};
use super::samples::Samples;
use crate::libav;
use base::error::{Error, Result};
use base::memory::{picture_memory, zeroed};

/// The maximum number of pixels that swscale writes at once. It writes a whole group of this size even where a row ends within
/// it.
const GROUP_PIXELS: u32 = 16;

/// Converts pictures to RGBA8 with rows without gaps. swscale's context is kept until the size or format changes.
pub struct RgbaConverter {
    context: Option<Context>,
    /// A buffer for swscale's output, whose rows have a multiple of [`GROUP_PIXELS`] pixels.
    padded: Vec<u8>,
}

// SAFETY: the context is owned, is used through `&mut self` only, and swscale ties it to no thread.
unsafe impl Send for RgbaConverter {}

impl RgbaConverter {
    /// Creates a converter, which creates its swscale context when it needs one.
    pub fn new() -> Self {
        libav::initialise();
        Self { context: None, padded: Vec::new() }
    }

    /// Converts `frame` to RGBA8 in `dst`, which must hold width × height × 4 bytes.
    ///
    /// # Errors
    /// When `dst` has another size, or the picture's format cannot be read.
    pub fn convert(&mut self, frame: &Video, dst: &mut [u8]) -> Result<()> {
        let size = (frame.width(), frame.height());
        expect_size(dst, size)?;
        if let Some(layout) = color_layout_of(frame) {
            rows::convert(rows_of(frame, &layout)?, &layout, dst, threads_for(&layout))?;
            if layout.alpha {
                return Ok(());
            }
        } else if let Some(samples) = Samples::of(frame) {
            let (layout, block) = samples.to_planes()?;
            rows::convert(rows_in(&block, &layout)?, &layout, dst, threads_for(&layout))?;
        } else {
            self.convert_by_swscale(frame, size, dst)?;
        }
        if has_alpha(frame) {
            if let Some(samples) = Samples::of(frame) {
                samples.copy_alpha(dst);
            }
            premultiply_packed::<3>(dst);
        }
        Ok(())
    }

    /// Converts `frame` to `dst` and scales it to `size` (width and height, in pixels).
    ///
    /// # Errors
    /// As for [`RgbaConverter::convert`].
    pub fn convert_scaled(&mut self, frame: &Video, size: (u32, u32), dst: &mut [u8]) -> Result<()> {
        let whole = (frame.width(), frame.height());
        if size == whole {
            return self.convert(frame, dst);
        }
        let failed = || {
            Error::new("Cannot convert the picture.", "There is no memory for it.", "Close other programs.")
        };
        let mut converted = libav::allocate_picture(Pixel::RGBA, whole.0, whole.1).ok_or_else(failed)?;
        let mut rgba = picture_memory(whole.0, whole.1)?;
        self.convert(frame, &mut rgba)?;
        libav::fill_plane(&mut converted, 0, &rgba, whole.0 as usize * PIXEL_BYTES);
        self.convert_by_swscale(&converted, size, dst)?;
        // swscale's filter overshoots at edges, but no colour may exceed its alpha.
        for pixel in dst.chunks_exact_mut(PIXEL_BYTES) {
            let alpha = pixel[3];
            pixel.iter_mut().for_each(|value| *value = alpha.min(*value));
        }
        Ok(())
    }

    /// Converts and scales `frame` by swscale.
    fn convert_by_swscale(&mut self, frame: &Video, size: (u32, u32), dst: &mut [u8]) -> Result<()> {
        let (width, height) = size;
        let row = width as usize * PIXEL_BYTES;
        expect_size(dst, size)?;
        let context = fitting_context(&mut self.context, frame, size)?;
        if width.is_multiple_of(GROUP_PIXELS) {
            return scale(context, frame, dst, row);
        }
        let padded_row = width.next_multiple_of(GROUP_PIXELS) as usize * PIXEL_BYTES;
        let len = padded_row * height as usize;
        if self.padded.len() != len {
            self.padded = Vec::new();
            self.padded = zeroed(len)?;
        }
        scale(context, frame, &mut self.padded, padded_row)?;
        for (to, from) in dst.chunks_exact_mut(row).zip(self.padded.chunks_exact(padded_row)) {
            to.copy_from_slice(&from[..row]);
        }
        Ok(())
    }
}

impl Default for RgbaConverter {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the swscale context in `slot` if it is for this picture and this size of the output. Otherwise replaces it by a new one.
fn fitting_context<'a>(
    slot: &'a mut Option<Context>,
    frame: &Video,
    (width, height): (u32, u32),
) -> Result<&'a mut Context> {
    let input = Definition { format: frame.format(), width: frame.width(), height: frame.height() };
    let output = Definition { format: Pixel::RGBA, width, height };
    let present = slot.take().filter(|context| (*context.input(), *context.output()) == (input, output));
    let create = || {
        // Bicubic if the picture is scaled, accurate rounding, and a colour for each pixel instead of one for two.
        let is_scaled = (input.width, input.height) != (width, height);
        let filter = if is_scaled { Flags::BICUBIC } else { Flags::BILINEAR };
        let flags = filter | Flags::ACCURATE_RND | Flags::FULL_CHR_H_INT | Flags::FULL_CHR_H_INP;
        Context::get(input.format, input.width, input.height, output.format, width, height, flags)
    };
    let refused = |_| {
        Error::new(
            format!("Cannot convert pictures of the format {}.", matrix::format_name(frame)),
            format!("swscale refuses {}×{} to {width}×{height} RGBA.", input.width, input.height),
            "Convert the movie to yuv420p first.",
        )
    };
    let context = present.map_or_else(create, Ok).map_err(refused)?;
    Ok(slot.insert(context))
}

/// Runs swscale's `context`, which was made for this frame and for rows of the target's width, on `frame` into `dst`, with rows of `stride` bytes.
fn scale(context: &mut Context, frame: &Video, dst: &mut [u8], stride: usize) -> Result<()> {
    let planes = [dst.as_mut_ptr(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut()];
    let strides = [stride as i32, 0, 0, 0];
    // SAFETY: the context was made for this frame's size and format and for rows of the target's width, which
    // `dst` holds (the callers check). The frame's own pointers and line sizes are passed on, so that pictures
    // stored bottom-up, with negative line sizes, come out upright.
    let rows = unsafe {
        let raw = frame.as_ptr();
        let (data, lines) = ((*raw).data.as_ptr().cast(), (*raw).linesize.as_ptr());
        ffi::sws_scale(context.as_mut_ptr(), data, lines, 0, (*raw).height, planes.as_ptr(), strides.as_ptr())
    };
    if rows <= 0 {
        return Err(Error::new("Cannot convert the picture.", "swscale refused the picture.", ""));
    }
    Ok(())
}
