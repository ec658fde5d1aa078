//! Converts pictures of formats that [`color`](super) does not cover to planes that it covers, so that [`rows`](super::rows)
//! can convert these pictures, too.
//!
//! The planes have the depth of the samples where that is 8 to 12 bits. Samples of fewer bits become 8, those of more, and
//! floating-point numbers, 12: limited range is shifted, full range is scaled, both to the nearest level. Chroma of which one
//! sample belongs to four columns or rows (4:1:1, 4:1:0) is interpolated linearly by its siting, to a sample for each pixel.

use ffmpeg_next::ffi;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use half::f16;

use super::matrix::Range;
use super::planes::layout_without_planes;
use super::{Family, Layout};
use crate::libav;
use base::error::Result;
use base::memory::zeroed;
use base::threads::{all_threads, share};

/// The largest number of bits of a sample in the planes that [`color`](super) covers.
const MAX_DEPTH: u32 = 12;
/// The number of bits of a sample and how many of these are fractional bits, for planes whose chroma is interpolated from one
/// sample for four columns or rows.
const INTERPOLATED: (u32, u32) = (12, 4);
/// The base-2 logarithm of the coarsest supported subsampling of chroma: one sample for four columns or rows.
const QUARTER: u8 = 2;
/// The minimum size in bytes of a plane that is read by several threads.
const MIN_THREADED: usize = 1 << 19;
/// The largest number of threads that read a plane.
const MAX_THREADS: usize = 4;

/// A picture in host memory whose samples can be read, of any format whose FFmpeg description states where its samples are.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    picture: &'a Video,
    format: &'static ffi::AVPixFmtDescriptor,
}

// SAFETY: the picture is only read, while it is borrowed.
unsafe impl Send for Samples<'_> {}
// SAFETY: as above.
unsafe impl Sync for Samples<'_> {}

impl<'a> Samples<'a> {
    /// Returns the samples of `picture`; `None` for palettes, mosaics, XYZ, and pictures that are not in host memory.
    pub(super) fn of(picture: &'a Video) -> Option<Self> {
        let format = libav::descriptor(picture.format())?;
        let outside = ffi::AV_PIX_FMT_FLAG_PAL | ffi::AV_PIX_FMT_FLAG_HWACCEL | ffi::AV_PIX_FMT_FLAG_BAYER;
        let is_xyz = matches!(picture.format(), Pixel::XYZ12LE | Pixel::XYZ12BE);
        let subsampling = format.log2_chroma_w.max(format.log2_chroma_h);
        let is_empty = picture.width() == 0 || picture.height() == 0;
        if format.flags as i32 & outside != 0 || is_xyz || subsampling > QUARTER || is_empty {
            return None;
        }
        let samples = Self { picture, format };
        (0..usize::from(format.nb_components))
            .all(|component| samples.is_in_memory(component))
            .then_some(samples)
    }

    /// Returns true if the rows of a component lie within those of its plane; false for UYYVYY411, whose description in FFmpeg
    /// is wrong.
    fn is_in_memory(&self, component: usize) -> bool {
        let comp = &self.format.comp[component];
        let bits =
            |count: i32| count.max(0) as usize * if self.has(ffi::AV_PIX_FMT_FLAG_BITSTREAM) { 1 } else { 8 };
        let last = (self.size_of(component).0 as usize - 1) * bits(comp.step) + bits(comp.offset);
        let end = last + (comp.depth + comp.shift).max(0) as usize;
        // SAFETY: the frame is valid; both are plain fields, of as many planes as a description may name.
        let (start, line) = unsafe {
            let raw = self.picture.as_ptr();
            ((*raw).data[comp.plane as usize], (*raw).linesize[comp.plane as usize])
        };
        !start.is_null() && (1..=32).contains(&comp.depth) && end <= 8 * line.unsigned_abs() as usize
    }

    fn has(&self, flag: i32) -> bool {
        self.format.flags as i32 & flag != 0
    }

    fn is_chroma(&self, component: usize) -> bool {
        self.format.nb_components >= 3 && !self.has(ffi::AV_PIX_FMT_FLAG_RGB) && (1..3).contains(&component)
    }

    /// Returns the base-2 logarithm of the number of columns per sample of a component, and that of the number of rows.
    fn subsampling(&self, component: usize) -> (u32, u32) {
        let format = self.format;
        match self.is_chroma(component) {
            true => (format.log2_chroma_w.into(), format.log2_chroma_h.into()),
            false => (0, 0),
        }
    }

    /// Returns the number of columns and of rows of a component's samples.
    fn size_of(&self, component: usize) -> (u32, u32) {
        let (across, down) = self.subsampling(component);
        (self.picture.width().div_ceil(1 << across), self.picture.height().div_ceil(1 << down))
    }

    /// Reads row `y` of a component, and converts its stored numbers to samples by `levels`.
    fn read_row(&self, component: usize, y: u32, levels: &Levels, to: &mut [u16]) {
        match levels {
            Levels::Same => self.read_numbers(component, y, to, |stored| stored as u16),
            Levels::Table(table) => {
                self.read_numbers(component, y, to, |stored| {
                    table.get(stored as usize).copied().unwrap_or(0)
                });
            }
            Levels::Computed(scale) => self.read_numbers(component, y, to, |stored| scale.level(stored)),
        }
    }

    /// Reads row `y` of a component, and converts each stored number to a sample by the function `sample`.
    #[inline(always)]
    fn read_numbers(&self, component: usize, y: u32, to: &mut [u16], sample: impl Fn(u32) -> u16) {
        let comp = &self.format.comp[component];
        if self.has(ffi::AV_PIX_FMT_FLAG_BITSTREAM) {
            let mut numbers = vec![0; to.len()];
            self.read_bits(component, y, &mut numbers);
            to.iter_mut().zip(numbers).for_each(|(to, stored)| *to = sample(stored));
            return;
        }
        let (bits, shift) = ((comp.depth + comp.shift) as u32, comp.shift as u32);
        let unit = bits.div_ceil(8).next_power_of_two() as usize;
        let is_big_endian = self.has(ffi::AV_PIX_FMT_FLAG_BE);
        // Samples within the second byte of a pair with the high byte first are described as one byte before it.
        let offset = (comp.offset + i32::from(is_big_endian && unit == 1)) as usize;
        let step = comp.step as usize;
        // SAFETY: the plane holds this row, to the end of its last sample (`is_in_memory`), and the frame is borrowed.
        let row = unsafe {
            let raw = self.picture.as_ptr();
            let plane = comp.plane as usize;
            let start = (*raw).data[plane].offset(y as isize * (*raw).linesize[plane] as isize).add(offset);
            std::slice::from_raw_parts(start, (to.len() - 1) * step + unit)
        };
        let mask = u32::MAX >> (32 - comp.depth);
        let sample = |stored: u32| sample(stored >> shift & mask);
        match (unit, is_big_endian) {
            (1, _) => each::<1>(row, step, to, |[byte]| sample(byte.into())),
            (2, false) => each::<2>(row, step, to, |bytes| sample(u16::from_le_bytes(bytes).into())),
            (2, true) => each::<2>(row, step, to, |bytes| sample(u16::from_be_bytes(bytes).into())),
            (_, false) => each::<4>(row, step, to, |bytes| sample(u32::from_le_bytes(bytes))),
            (_, true) => each::<4>(row, step, to, |bytes| sample(u32::from_be_bytes(bytes))),
        }
    }

    /// Reads the stored numbers of row `y` of a component, for formats whose samples do not begin at byte boundaries.
    fn read_bits(&self, component: usize, y: u32, to: &mut [u32]) {
        // SAFETY: the frame is valid, its planes hold this row (`is_in_memory`), which is read with the picture's own line
        // sizes, and `to` holds a number of four bytes for each of its columns.
        unsafe {
            let raw = self.picture.as_ptr();
            ffi::av_read_image_line2(
                to.as_mut_ptr().cast(),
                (&raw const (*raw).data).cast_mut().cast(),
                (&raw const (*raw).linesize).cast(),
                self.format,
                0,
                y as libc::c_int,
                component as libc::c_int,
                to.len() as libc::c_int,
                0,
                size_of::<u32>() as libc::c_int,
            );
        }
    }

    /// Returns the way to convert a component's stored numbers to samples of `depth` bits.
    fn levels(&self, component: usize, depth: u32, range: Range) -> Levels {
        let bits = self.format.comp[component].depth as u32;
        let is_inverted = self.picture.format() == Pixel::MonoWhite;
        let is_float = self.has(ffi::AV_PIX_FMT_FLAG_FLOAT);
        let scale = Scale { bits, depth, range, is_inverted, is_float };
        let pixels = u64::from(self.picture.width()) * u64::from(self.picture.height());
        match bits {
            _ if bits == depth && !is_inverted && !is_float => Levels::Same,
            // Elsewhere the table takes longer than the samples.
            ..=16 if pixels >> bits > 0 => {
                Levels::Table((0..1 << bits).map(|number| scale.level(number)).collect())
            }
            _ => Levels::Computed(scale),
        }
    }

    /// Copies the alpha of the picture, if its format has alpha, to the alpha of the RGBA pixels in `rgba`.
    pub(super) fn copy_alpha(&self, rgba: &mut [u8]) {
        if !self.has(ffi::AV_PIX_FMT_FLAG_ALPHA) {
            return;
        }
        let component = usize::from(self.format.nb_components) - 1;
        let levels = self.levels(component, 8, Range::Full);
        let width = self.picture.width() as usize;
        let mut row = vec![0; width];
        for (y, pixels) in (0..).zip(rgba.chunks_exact_mut(4 * width)) {
            self.read_row(component, y, &levels, &mut row);
            pixels.chunks_exact_mut(4).zip(&row).for_each(|(pixel, alpha)| pixel[3] = *alpha as u8);
        }
    }

    /// Copies the samples of all colours, but not alpha, to planes that [`color`](super) covers. Returns the layout of these
    /// planes, and the packed block that holds them.
    ///
    /// # Errors
    /// When memory runs out.
    pub(super) fn to_planes(self) -> Result<(Layout, Vec<u8>)> {
        let layout = self.layout();
        let mut block = zeroed(layout.bytes())?;
        for (component, plane) in layout.planes.iter().enumerate().take(layout.count()) {
            let rows = &mut block[plane.offset..][..plane.stride * plane.rows];
            self.copy_plane(&layout, component, rows);
        }
        Ok((layout, block))
    }

    /// Returns the layout that [`Samples::to_planes`] copies to.
    fn layout(&self) -> Layout {
        let count =
            usize::from(self.format.nb_components) - usize::from(self.has(ffi::AV_PIX_FMT_FLAG_ALPHA));
        let family = match count {
            1 | 2 => Family::Grey,
            _ if self.has(ffi::AV_PIX_FMT_FLAG_RGB) => Family::Rgb,
            _ => Family::Ycbcr,
        };
        let bits = || self.format.comp[..count].iter().map(|comp| comp.depth as u32);
        let most = bits().max().unwrap_or(8);
        let (across, down) = if family == Family::Ycbcr { self.subsampling(1) } else { (0, 0) };
        let (depth, fraction) = match most {
            _ if across.max(down) > 1 => INTERPOLATED,
            9..=MAX_DEPTH if bits().all(|bits| bits == most) => (most, 0),
            0..=8 => (8, 0),
            _ => (MAX_DEPTH, 0),
        };
        let subsampled = (across == 1, down == 1);
        let mut layout =
            Layout { fraction, ..layout_without_planes(self.picture, family, depth, subsampled) };
        layout.pack(4);
        layout.with_fields(self.picture.is_interlaced())
    }

    /// Copies the samples of a component to its plane in a packed block; `rows` is the memory of that plane.
    fn copy_plane(self, layout: &Layout, component: usize, rows: &mut [u8]) {
        let (stride, columns) = (layout.planes[component].stride, layout.size_of(component).0 as usize);
        let levels = self.levels(component, layout.depth - layout.fraction, layout.range);
        let threads = if rows.len() < MIN_THREADED { 1 } else { all_threads().min(MAX_THREADS) };
        let strip_rows = (rows.len() / stride).div_ceil(threads);
        share(rows.chunks_mut(strip_rows * stride).enumerate(), threads, |(strip, rows)| {
            let mut line = vec![0; columns];
            let mut memory = (Vec::new(), Vec::new());
            for (y, row) in (strip * strip_rows..).zip(rows.chunks_mut(stride)) {
                self.read_plane_row(layout, component, &levels, y as u32, &mut line, &mut memory);
                layout.write_row(&line, row);
            }
        });
    }

    /// Reads row `y` of a component as it is in the planes of `layout`, interpolated if one sample belongs to four columns or rows.
    /// `memory` is used again for each row.
    fn read_plane_row(
        &self,
        layout: &Layout,
        component: usize,
        levels: &Levels,
        y: u32,
        line: &mut [u16],
        (row, interpolated): &mut (Vec<u16>, Vec<u32>),
    ) {
        let (across, down) = self.subsampling(component);
        let (is_wide, is_tall) = (across == u32::from(QUARTER), down == u32::from(QUARTER));
        if !is_wide && !is_tall {
            self.read_row(component, y, levels, line);
            line.iter_mut().for_each(|sample| *sample <<= layout.fraction);
            return;
        }
        let (columns, rows) = self.size_of(component);
        row.resize(columns as usize, 0);
        // The samples after vertical interpolation; the first and the last one are repeated at the edges.
        interpolated.clear();
        interpolated.resize(row.len() + 2, 0);
        let (above, part) = if is_tall { eighths(y.into(), layout.siting.1) } else { (y.into(), 0) };
        for (at, weight) in [(above, 8 - part), (above + 1, part)] {
            if weight > 0 {
                self.read_row(component, at.clamp(0, i64::from(rows) - 1) as u32, levels, row);
                let sums = interpolated[1..].iter_mut().zip(&*row);
                sums.for_each(|(to, sample)| *to += weight * u32::from(*sample));
            }
        }
        (interpolated[0], interpolated[row.len() + 1]) = (interpolated[1], interpolated[row.len()]);
        let sample = |sum: u32, scale: u32| (((sum << layout.fraction) + scale / 2) / scale) as u16;
        if !is_wide {
            line.iter_mut().zip(&interpolated[1..]).for_each(|(to, sum)| *to = sample(*sum, 8));
            return;
        }
        // The two samples around each of four pixels are the same relative to these.
        let around = [0, 1, 2, 3].map(|pixel| eighths(pixel, layout.siting.0));
        for (to, near) in line.chunks_mut(4).zip(interpolated.windows(3)) {
            for (to, (left, part)) in to.iter_mut().zip(around) {
                let left = (left + 1) as usize;
                *to = sample((8 - part) * near[left] + part * near[left + 1], 64);
            }
        }
    }
}

/// Fills `to`: applies `sample` to the `UNIT` bytes at every `step`-th byte of `row`.
#[inline(always)]
fn each<const UNIT: usize>(row: &[u8], step: usize, to: &mut [u16], sample: impl Fn([u8; UNIT]) -> u16) {
    if step == UNIT {
        to.iter_mut().zip(row.as_chunks().0).for_each(|(to, bytes)| *to = sample(*bytes));
        return;
    }
    for (to, bytes) in to.iter_mut().zip(row.chunks(step)) {
        *to = bytes.first_chunk().map_or(0, |bytes| sample(*bytes));
    }
}

/// Returns the index of the last sample at or before `pixel`, along an axis with one sample for four pixels, and the distance
/// of the pixel from that sample in eighths of the distance between two samples.
fn eighths(pixel: i64, siting: u32) -> (i64, u32) {
    let place = 2 * pixel - 3 * i64::from(siting);
    (place.div_euclid(8), place.rem_euclid(8) as u32)
}

/// The way to convert a component's stored numbers to samples.
enum Levels {
    /// The sample is the stored number.
    Same,
    /// The sample is looked up in this table.
    Table(Vec<u16>),
    /// The sample is computed by [`Scale::level`].
    Computed(Scale),
}

/// The format of a component's stored numbers, which have `bits` bits, and the `depth` of the samples that they are converted
/// to.
struct Scale {
    bits: u32,
    depth: u32,
    range: Range,
    /// True if the stored number 0 is white, and the largest one black.
    is_inverted: bool,
    is_float: bool,
}

impl Scale {
    /// Converts a number as it is stored in the picture to a sample of `depth` bits.
    fn level(&self, stored: u32) -> u16 {
        let largest = (1u64 << self.depth) - 1;
        if self.is_float {
            let is_half = self.bits != 32;
            let value = if is_half { f16::from_bits(stored as u16).to_f32() } else { f32::from_bits(stored) };
            // The cast rounds down, and turns NaN into 0. `round` is a call on CPUs without SSE 4.1.
            return (value.clamp(0.0, 1.0) * largest as f32 + 0.5) as u16;
        }
        let stored_largest = (1u64 << self.bits) - 1;
        let stored = if self.is_inverted { stored_largest - u64::from(stored) } else { stored.into() };
        let level = match (self.bits.checked_sub(self.depth), self.range) {
            (Some(0), _) => stored,
            (Some(more), Range::Limited) => ((stored + (1 << (more - 1))) >> more).min(largest),
            (None, Range::Limited) if self.bits >= 8 => stored << (self.depth - self.bits),
            _ => (stored * largest + stored_largest / 2) / stored_largest,
        };
        level as u16
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::color::{noise, reference};

    /// Compares each chroma sample with the linear interpolation between those of the picture, for every siting.
    #[test]
    fn chroma_of_four_pixels_is_interpolated() {
        use ffi::AVChromaLocation as Location;
        for (format, down) in [(Pixel::YUV411P, 0), (Pixel::YUV410P, 2), (Pixel::YUVJ411P, 0)] {
            for (location, siting) in [
                (Location::AVCHROMA_LOC_LEFT, (0.0, 1.0)),
                (Location::AVCHROMA_LOC_CENTER, (1.0, 1.0)),
                (Location::AVCHROMA_LOC_TOPLEFT, (0.0, 0.0)),
                (Location::AVCHROMA_LOC_BOTTOM, (1.0, 2.0)),
            ] {
                for (width, height) in [(37, 23), (4, 4), (1, 1), (16, 3)] {
                    let mut frame = noise(format, width, height);
                    // SAFETY: the frame is valid and owned; the field is plain.
                    unsafe { (*frame.as_mut_ptr()).chroma_location = location };
                    let (layout, block) = Samples::of(&frame).unwrap().to_planes().unwrap();
                    assert_eq!((layout.depth, layout.fraction, layout.subsampled), (12, 4, (false, false)));
                    let at = |plane: usize, x: f64, y: f64, columns: u32, rows: u32| {
                        let place = |at: f64, count: u32| at.clamp(0.0, f64::from(count - 1));
                        let (x, y) = (place(x, columns), place(y, rows));
                        let sample = |x: f64, y: f64| {
                            f64::from(frame.data(plane)[frame.stride(plane) * y as usize + x as usize])
                        };
                        let row = |y: f64| {
                            let part = x - x.floor();
                            (1.0 - part) * sample(x.floor(), y) + part * sample(x.ceil(), y)
                        };
                        let part = y - y.floor();
                        (1.0 - part) * row(y.floor()) + part * row(y.ceil())
                    };
                    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                        for plane in 0..3 {
                            let got = reference::sample(
                                &layout,
                                &block,
                                layout.components[plane],
                                x as usize,
                                y as usize,
                            );
                            let (x, y) = (f64::from(x), f64::from(y));
                            let exact = match (plane, down) {
                                (0, _) => at(0, x, y, width, height),
                                (_, 0) => at(plane, (x - 1.5 * siting.0) / 4.0, y, width.div_ceil(4), height),
                                _ => {
                                    let (x, y) = ((x - 1.5 * siting.0) / 4.0, (y - 1.5 * siting.1) / 4.0);
                                    at(plane, x, y, width.div_ceil(4), height.div_ceil(4))
                                }
                            };
                            let off = (f64::from(got) / 16.0 - exact).abs();
                            assert!(
                                off <= 1.0 / 32.0,
                                "{format:?} {width}×{height} {x},{y} plane {plane}: {off}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Checks that samples with the high byte first give the same planes as those with the low byte first, also in interlaced
    /// pictures.
    #[test]
    fn the_order_of_bytes_does_not_matter() {
        use crate::color::RgbaConverter;
        for (little, big) in [
            (Pixel::YUV420P10LE, Pixel::YUV420P10BE),
            (Pixel::YUV422P12LE, Pixel::YUV422P12BE),
            (Pixel::YUV420P16LE, Pixel::YUV420P16BE),
            (Pixel::GRAY16LE, Pixel::GRAY16BE),
            (Pixel::RGB48LE, Pixel::RGB48BE),
            (Pixel::GBRAP12LE, Pixel::GBRAP12BE),
        ] {
            for interlaced in [false, true] {
                let mut frames = [noise(little, 38, 14), noise(big, 38, 14)];
                for plane in 0..frames[1].planes() {
                    frames[1]
                        .data_mut(plane)
                        .as_chunks_mut::<2>()
                        .0
                        .iter_mut()
                        .for_each(|pair| pair.reverse());
                }
                // The alpha of one is multiplied at its own depth.
                let tolerance = u8::from(little == Pixel::GBRAP12LE);
                let [a, b] = frames.map(|mut frame| {
                    testkit::movie::set_fields(&mut frame, interlaced, true);
                    let mut rgba = vec![0; 38 * 14 * 4];
                    RgbaConverter::new().convert(&frame, &mut rgba).unwrap();
                    rgba
                });
                let off = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(off <= Some(tolerance), "{little:?} {interlaced}: {off:?}");
            }
        }
    }

    #[test]
    fn half_precision_numbers_and_depths_are_rounded_to_the_nearest() {
        let scale = Scale { bits: 16, depth: 8, range: Range::Full, is_inverted: false, is_float: true };
        // NaN, -1, the smallest number above 0, 0.5, 1 and infinity.
        let halves = [0x7e00, 0xbc00, 1, 0x3800, 0x3c00, 0x7c00];
        assert_eq!(halves.map(|bits| scale.level(bits)), [0, 0, 0, 128, 255, 255]);
        let level = |bits, depth, range, stored| {
            Scale { bits, depth, range, is_inverted: false, is_float: false }.level(stored)
        };
        assert_eq!([0, 8, 31].map(|v| level(5, 8, Range::Full, v)), [0, 66, 255]);
        assert_eq!([0, 7, 8, 0xffff].map(|v| level(16, 12, Range::Limited, v)), [0, 0, 1, 4095]);
        assert_eq!([0, 0x8000, 0xffff].map(|v| level(16, 12, Range::Full, v)), [0, 2048, 4095]);
        assert_eq!(level(32, 12, Range::Full, u32::MAX), 4095);
    }
}
