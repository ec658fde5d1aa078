//! Packs the planes of a decoded picture into one block of bytes, top row first and without FFmpeg's padding, and describes
//! them by a [`Layout`].

use std::marker::PhantomData;
use std::ptr;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::frame::Video;

use super::{alpha, matrix};
use crate::color::{Component, Family, Layout};
use crate::libav;
use base::error::{Error, Result};
use base::threads::{all_threads, share};

/// Alignment of the planes in a block, in bytes.
const ALIGNMENT: usize = 64;

/// Returns the layout in which the planes of `frame` are packed for conversion; `None` if the conversion that
/// [`color`](crate::color) defines does not cover its format.
///
/// It covers YCbCr with full or half chroma, planar or interleaved, grey, and RGB with or without alpha: 8 bits, or 9
/// to 12 bits in two bytes, the low byte first. Examples are yuv420p, yuv422p, yuv444p, nv12, yuyv422, gray, rgb24, bgra, rgb0,
/// gbrp, yuv420p10le, p010le, yuv444p12le, gray12le.
pub fn layout_of(frame: &Video) -> Option<Layout> {
    color_layout_of(frame).filter(|layout| layout.alpha || !alpha::has_alpha(frame))
}

/// Returns the layout of the colours of `frame`: as [`layout_of`] does, but also for YCbCr and grey with alpha, whose alpha is
/// left out of the layout.
pub(super) fn color_layout_of(frame: &Video) -> Option<Layout> {
    let (width, height) = (frame.width(), frame.height());
    let format = libav::descriptor(frame.format())?;
    let flags = format.flags as i32;
    let outside = ffi::AV_PIX_FMT_FLAG_PAL
        | ffi::AV_PIX_FMT_FLAG_BITSTREAM
        | ffi::AV_PIX_FMT_FLAG_HWACCEL
        | ffi::AV_PIX_FMT_FLAG_BAYER
        | ffi::AV_PIX_FMT_FLAG_FLOAT;
    let is_rgb = flags & ffi::AV_PIX_FMT_FLAG_RGB != 0;
    let alpha = flags & ffi::AV_PIX_FMT_FLAG_ALPHA != 0;
    let is_xyz = matches!(frame.format(), ffmpeg::format::Pixel::XYZ12LE | ffmpeg::format::Pixel::XYZ12BE);
    let (family, count) = match (format.nb_components, is_rgb, alpha) {
        (1, false, false) | (2, false, true) => (Family::Grey, 1),
        (3, false, false) | (4, false, true) => (Family::Ycbcr, 3),
        (3, true, false) => (Family::Rgb, 3),
        (4, true, true) => (Family::Rgb, 4),
        _ => return None,
    };
    let comp = &format.comp[..count];
    let (depth, shift) = (comp[0].depth as u32, comp[0].shift as u32);
    let chroma = (format.log2_chroma_w, format.log2_chroma_h);
    if flags & outside != 0
        || is_xyz
        || depth > 8 && flags & ffi::AV_PIX_FMT_FLAG_BE != 0
        || width == 0
        || height == 0
        || !(8..=12).contains(&depth)
        || chroma.0.max(chroma.1) > 1
        || shift + depth > if depth > 8 { 16 } else { 8 }
    {
        return None;
    }
    let mut layout = layout_without_planes(frame, family, depth, (chroma.0 == 1, chroma.1 == 1));
    (layout.shift, layout.alpha) = (shift, count == 4);
    let unit = layout.sample_bytes();
    for (index, c) in comp.iter().enumerate() {
        let same = c.depth as u32 == depth && c.shift as u32 == shift;
        let (step, start) = (usize::try_from(c.step).ok()?, usize::try_from(c.offset).ok()?);
        if !same || step == 0 || step % unit != 0 || start % unit != 0 {
            return None;
        }
        let (columns, rows) = layout.size_of(index);
        let plane = layout.planes.get_mut(usize::try_from(c.plane).ok()?)?;
        plane.row = plane.row.max(start + (columns as usize - 1) * step + unit);
        plane.rows = plane.rows.max(rows as usize);
    }
    let mut end = 0usize;
    for plane in &mut layout.planes {
        plane.offset = end;
        plane.stride = plane.row.next_multiple_of(4);
        end = (end + plane.stride * plane.rows).next_multiple_of(ALIGNMENT);
    }
    // The kernels count in 32 bits.
    if end > i32::MAX as usize || u64::from(width) * u64::from(height) > i32::MAX as u64 / 4 {
        return None;
    }
    for (to, c) in layout.components.iter_mut().zip(comp) {
        let plane = layout.planes[c.plane as usize];
        let [offset, stride, step] = [plane.offset + c.offset as usize, plane.stride, c.step as usize]
            .map(|bytes| (bytes / unit) as u32);
        *to = Component { offset, stride, step };
    }
    Some(layout.with_fields(frame.is_interlaced()))
}

/// Returns the layout, still without planes, of samples with this colour model, depth and subsampling, with the size of `frame`
/// and the colours that its tags state.
pub(super) fn layout_without_planes(
    frame: &Video,
    family: Family,
    depth: u32,
    subsampled: (bool, bool),
) -> Layout {
    let (matrix, range) = matrix::of_picture(frame);
    let size = (frame.width(), frame.height());
    Layout {
        siting: siting_of(frame),
        matrix,
        range,
        ..Layout::without_planes(size, family, depth, subsampled)
    }
}

/// Returns the location of the first chroma sample as [`Layout::siting`]. Untagged pictures follow MPEG-2 and later standards
/// (left), the JPEG formats follow JPEG and MPEG-1 (centre).
fn siting_of(frame: &Video) -> (u32, u32) {
    use ffi::AVChromaLocation as Location;
    // SAFETY: the frame is valid. The field is a 32-bit enumeration that comes from the file, so it is read as the
    // integer that it is in C.
    let location = unsafe { (&raw const (*frame.as_ptr()).chroma_location).cast::<u32>().read() };
    let known = [
        (Location::AVCHROMA_LOC_LEFT, (0, 1)),
        (Location::AVCHROMA_LOC_CENTER, (1, 1)),
        (Location::AVCHROMA_LOC_TOPLEFT, (0, 0)),
        (Location::AVCHROMA_LOC_TOP, (1, 0)),
        (Location::AVCHROMA_LOC_BOTTOMLEFT, (0, 2)),
        (Location::AVCHROMA_LOC_BOTTOM, (1, 2)),
    ];
    let by_format = if matrix::is_jpeg_format(frame.format()) { (1, 1) } else { (0, 1) };
    known.into_iter().find(|&(tag, _)| tag as u32 == location).map_or(by_format, |(_, siting)| siting)
}

/// Copies the planes of `frame` into `block`. `layout` must be the result of [`layout_of`] for this frame. Pictures stored
/// bottom up (negative line sizes) are turned upright. Colours are multiplied by their alpha. Bytes of the block between rows
/// are not written.
///
/// # Errors
/// `layout` is another picture's, `block` is too small, or the frame's planes are not in memory.
pub fn pack(frame: &Video, layout: &Layout, block: &mut [u8]) -> Result<()> {
    let planes = rows_of(frame, layout)?;
    if block.len() < layout.bytes() {
        return Err(Error::new("A picture could not be copied.", "The memory for it is too small.", ""));
    }
    for (plane, rows) in layout.planes.iter().zip(planes).filter(|(plane, _)| plane.row > 0) {
        let end = plane.offset + plane.stride * plane.rows;
        rows.copy(&mut block[plane.offset..end], plane.stride);
    }
    if layout.alpha {
        alpha::premultiply_block(layout, block);
    }
    Ok(())
}

/// Returns the rows of the planes of `frame` in FFmpeg's memory. `layout` must be the result of [`color_layout_of`] for this
/// frame.
///
/// # Errors
/// `layout` is another picture's, or the frame's planes are not in memory.
pub(super) fn rows_of<'a>(frame: &'a Video, layout: &Layout) -> Result<[Rows<'a>; 4]> {
    let refuse = |why: &str| Err(Error::new("A picture could not be read.", why, ""));
    if color_layout_of(frame).as_ref() != Some(layout) {
        return refuse("It has another layout than expected.");
    }
    let mut planes = [Rows { start: ptr::null(), line: 0, bytes: 0, count: 0, memory: PhantomData }; 4];
    for (index, plane) in layout.planes.iter().enumerate().filter(|(_, plane)| plane.row > 0) {
        // SAFETY: the frame is valid for as long as it is borrowed; both are plain fields.
        let (start, line) = unsafe { ((*frame.as_ptr()).data[index], (*frame.as_ptr()).linesize[index]) };
        if start.is_null() || (line.unsigned_abs() as usize) < plane.row {
            return refuse("Its planes are not in memory.");
        }
        planes[index] =
            Rows { start, line: line as isize, bytes: plane.row, count: plane.rows, memory: PhantomData };
    }
    Ok(planes)
}

/// Returns the rows of the planes in a packed `block`; `None` if the block is too small for `layout`.
pub(super) fn rows_in<'a>(block: &'a [u8], layout: &Layout) -> Result<[Rows<'a>; 4]> {
    if block.len() < layout.bytes() {
        return Err(Error::new("Cannot convert the picture.", "Its planes are too small.", ""));
    }
    Ok(layout.planes.map(|plane| Rows {
        start: block[plane.offset..].as_ptr(),
        line: plane.stride as isize,
        bytes: plane.row,
        count: plane.rows,
        memory: PhantomData,
    }))
}

/// The minimum number of bytes for which a copy uses several threads, because one core cannot use the whole memory bandwidth.
const MIN_THREADED_COPY: usize = 2 << 20;
/// The largest number of copying threads; more are not faster.
const MAX_COPY_THREADS: usize = 4;

/// Rows of a plane in memory: `count` rows, `line` bytes apart (negative if stored bottom up), each of at least
/// `bytes` bytes.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    start: *const u8,
    line: isize,
    bytes: usize,
    count: usize,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: the rows are only read, while the memory that they belong to is borrowed.
unsafe impl Send for Rows<'_> {}
// SAFETY: as above.
unsafe impl Sync for Rows<'_> {}

impl<'a> Rows<'a> {
    /// Returns the row with the index `y` from the top; an empty slice below the last row.
    pub(super) fn row(&self, y: usize) -> &'a [u8] {
        if y >= self.count {
            return &[];
        }
        // SAFETY: the frame has this row, by the type's description, and is borrowed for this long.
        unsafe { std::slice::from_raw_parts(self.start.offset(y as isize * self.line), self.bytes) }
    }

    /// Copies as many rows as fit into `to`, where rows begin `stride` bytes apart. Large copies use several threads.
    fn copy(self, to: &mut [u8], stride: usize) {
        let threads = if to.len() < MIN_THREADED_COPY { 1 } else { all_threads().min(MAX_COPY_THREADS) };
        let rows = to.len().div_ceil(stride).div_ceil(threads);
        share(to.chunks_mut(rows * stride).enumerate(), threads, |(strip, to)| {
            for (y, to) in (strip * rows..).zip(to.chunks_mut(stride)) {
                to[..self.bytes].copy_from_slice(self.row(y));
            }
        });
    }
}
