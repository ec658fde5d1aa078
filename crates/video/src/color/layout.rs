//! The layout of a picture in one packed block of bytes: the places of its planes, and the format of its samples.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::color::{Matrix, Range};
use base::memory::rgba_bytes;

/// The colour model of a picture's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Family {
    /// Luma and two chroma components.
    Ycbcr,
    /// Luma only.
    Grey,
    /// Red, green and blue, with or without alpha.
    Rgb,
}

/// The location of one plane of a picture in the packed block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Plane {
    /// Offset of the first row in bytes; a multiple of 64.
    pub offset: usize,
    /// Distance from one row to the next in bytes; a multiple of 4.
    pub stride: usize,
    /// The number of bytes in each row that hold samples; 0 for an unused plane.
    pub row: usize,
    /// The number of rows of the plane.
    pub rows: usize,
}

/// The location of the samples of one component, such as luma, in the packed block. All values are in samples, not bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Component {
    /// Offset of the first sample from the block's start.
    pub offset: u32,
    /// Distance from one row to the next.
    pub stride: u32,
    /// Distance from one sample of a row to the next.
    pub step: u32,
}

/// A picture's size, and the meaning and location of its samples in a packed block; see
/// [`layout_of`](crate::color::planes::layout_of).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The colour model of the samples.
    pub family: Family,
    /// The number of bits of a sample, 8 to 12, including its fractional bits.
    pub depth: u32,
    /// The number of fractional bits of a sample: 0 in a decoded picture, more in the output of the filter
    /// ([`Layout::filtered`]).
    pub fraction: u32,
    /// The number of unused bits below a sample's lowest bit.
    pub shift: u32,
    /// True if a sample takes two bytes, little-endian; false if it takes one byte.
    pub wide: bool,
    /// True if chroma has half the resolution: the first value horizontally, the second vertically.
    pub subsampled: (bool, bool),
    /// True if rows of chroma belong alternately to the picture's two fields. False if chroma is not subsampled vertically,
    /// or has one row only.
    pub interlaced: bool,
    /// The location of the first chroma sample, horizontally and vertically: 0 on the first pixel, 1 halfway to the second
    /// pixel, 2 on the second pixel (see the [contract](super)).
    pub siting: (u32, u32),
    /// The YCbCr matrix according to the file's tags, or by convention if the picture is untagged.
    pub matrix: Matrix,
    /// The sample range according to the file's tags, or by convention if the picture is untagged; full for RGB.
    pub range: Range,
    /// The planes of the picture in the block, in FFmpeg's order.
    pub planes: [Plane; 4],
    /// The location of the samples of Y, U and V, or of R, G, B and A.
    pub components: [Component; 4],
    /// True if the picture has a fourth component, alpha.
    pub alpha: bool,
}

impl fmt::Display for Layout {
    /// Formats the colour model, the subsampling and the depth, such as `4:2:0, 8 bits`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples = match (self.family, self.subsampled) {
            (Family::Grey, _) => "grey",
            (Family::Rgb, _) => "RGB",
            (Family::Ycbcr, (true, true)) => "4:2:0",
            (Family::Ycbcr, (true, false)) => "4:2:2",
            (Family::Ycbcr, (false, true)) => "4:4:0",
            (Family::Ycbcr, (false, false)) => "4:4:4",
        };
        let interlaced = if self.interlaced { " interlaced" } else { "" };
        write!(f, "{samples}{interlaced}, {} bits", self.depth - self.fraction)
    }
}

impl Layout {
    /// Returns a layout without planes, of samples without a shift or a fraction: progressive, without alpha, in BT.709 with
    /// limited range.
    pub(super) fn without_planes(
        (width, height): (u32, u32),
        family: Family,
        depth: u32,
        subsampled: (bool, bool),
    ) -> Self {
        Self {
            width,
            height,
            family,
            depth,
            fraction: 0,
            shift: 0,
            wide: depth > 8,
            subsampled,
            interlaced: false,
            siting: (0, 1),
            matrix: Matrix::Bt709,
            range: Range::Limited,
            planes: [Plane::default(); 4],
            components: [Component::default(); 4],
            alpha: false,
        }
    }

    /// Returns the layout of 4:2:0 planes in BT.709 with limited range. Samples have 8 bits, or 12 bits in two bytes if `wide`.
    pub fn planar_420(width: u32, height: u32, wide: bool) -> Self {
        let depth = if wide { 12 } else { 8 };
        let mut layout = Self::without_planes((width, height), Family::Ycbcr, depth, (true, true));
        layout.pack(4);
        layout
    }

    /// Returns the number of bytes of a sample.
    pub(super) fn sample_bytes(&self) -> usize {
        if self.wide { 2 } else { 1 }
    }

    /// Sets `planes` and `components` for a plane for each component, one plane after the other. The length of a row is rounded
    /// up to a multiple of `alignment` bytes.
    pub(super) fn pack(&mut self, alignment: usize) {
        let (unit, mut end) = (self.sample_bytes(), 0);
        for index in 0..self.count() {
            let (width, height) = self.size_of(index);
            let (row, rows) = (unit * width as usize, height as usize);
            let stride = row.next_multiple_of(alignment);
            self.planes[index] = Plane { offset: end, stride, row, rows };
            self.components[index] =
                Component { offset: (end / unit) as u32, stride: (stride / unit) as u32, step: 1 };
            end = (end + stride * rows).next_multiple_of(64);
        }
    }

    /// Reads the samples of a component to `line`; `row` has the bytes of a row of its plane from the first sample on.
    #[inline(always)]
    pub(super) fn read_row(&self, component: usize, row: &[u8], line: &mut [u16]) {
        let step = self.sample_bytes() * self.components[component].step as usize;
        match (self.wide, step) {
            (false, 1) => line.iter_mut().zip(row).for_each(|(to, sample)| *to = u16::from(*sample)),
            (false, 2) => read_strided::<2>(line, row, |bytes| u16::from(bytes[0])),
            (false, 3) => read_strided::<3>(line, row, |bytes| u16::from(bytes[0])),
            (false, 4) => read_strided::<4>(line, row, |bytes| u16::from(bytes[0])),
            (true, 2) => read_strided::<2>(line, row, |bytes| self.read_wide(bytes)),
            (true, 4) => read_strided::<4>(line, row, |bytes| self.read_wide(bytes)),
            (wide, step) => {
                for (to, bytes) in line.iter_mut().zip(row.chunks(step)) {
                    *to = if wide { self.read_wide(bytes) } else { u16::from(bytes[0]) };
                }
            }
        }
    }

    /// Returns the sample that is stored in two bytes.
    #[inline(always)]
    fn read_wide(&self, bytes: &[u8]) -> u16 {
        (u16::from_le_bytes([bytes[0], bytes[1]]) >> self.shift) & ((1 << self.depth) - 1)
    }

    /// Writes samples to a row of a plane that holds one component, without the bits beyond [`Layout::depth`].
    pub(super) fn write_row(&self, samples: &[u16], row: &mut [u8]) {
        if self.wide {
            let pairs = row.as_chunks_mut().0.iter_mut().zip(samples);
            pairs.for_each(|(to, sample)| *to = (sample << self.shift).to_le_bytes());
        } else {
            row.iter_mut().zip(samples).for_each(|(to, sample)| *to = *sample as u8);
        }
    }

    /// Returns this layout marked as interlaced or progressive. The result is always progressive if the picture has no rows of
    /// chroma that could belong to two fields.
    pub fn with_fields(&self, interlaced: bool) -> Self {
        let has_rows_of_both = self.subsampled_of(1).1 && self.height > 2;
        Self { interlaced: interlaced && has_rows_of_both, ..*self }
    }

    /// Returns the length in bytes of the packed block that holds the picture.
    pub fn bytes(&self) -> usize {
        self.planes.iter().map(|p| p.offset + p.stride * p.rows).max().unwrap_or(0)
    }

    /// Returns the number of components of the picture, which are the first entries of `components`.
    pub fn count(&self) -> usize {
        match self.family {
            Family::Grey => 1,
            Family::Ycbcr => 3,
            Family::Rgb => 3 + usize::from(self.alpha),
        }
    }

    /// Returns true if a component has half the resolution of the picture: the first value horizontally, the second vertically.
    pub fn subsampled_of(&self, component: usize) -> (bool, bool) {
        let chroma = self.family == Family::Ycbcr && (1..3).contains(&component);
        (chroma && self.subsampled.0, chroma && self.subsampled.1)
    }

    /// Returns the number of columns and of rows of a component's samples.
    pub fn size_of(&self, component: usize) -> (u32, u32) {
        let half = |size: u32, subsampled: bool| if subsampled { size.div_ceil(2) } else { size };
        let (across, down) = self.subsampled_of(component);
        (half(self.width, across), half(self.height, down))
    }

    /// Returns the plane of a component, and the offset in bytes of the component's first sample in each row of that plane.
    pub(crate) fn first_sample_of(&self, component: usize) -> (usize, usize) {
        let first = self.sample_bytes() * self.components[component].offset as usize;
        let plane = self.planes.iter().rposition(|plane| plane.row > 0 && plane.offset <= first).unwrap_or(0);
        (plane, first - self.planes[plane].offset)
    }

    /// Returns the layout of the picture that the filter makes of planes with this layout. Its samples have 12 bits, of which
    /// those beyond the depth of the input are fractional bits. Each component has its own plane, whose rows start at multiples
    /// of 64 bytes.
    pub fn filtered(&self) -> Layout {
        /// Bits of the samples of a filtered picture.
        const DEPTH: u32 = 12;
        let fraction = DEPTH - self.depth + self.fraction;
        let (planes, components) = Default::default();
        let mut filtered =
            Layout { depth: DEPTH, fraction, shift: 0, wide: true, planes, components, ..*self };
        filtered.pack(64);
        filtered
    }

    /// Returns this layout for a picture of `height` rows. The rows of the planes keep their length; the planes follow each
    /// other.
    pub fn with_rows(&self, height: u32) -> Layout {
        let mut layout = Layout { height, ..*self }.with_fields(self.interlaced);
        for index in 0..self.count() {
            layout.planes[self.first_sample_of(index).0].rows = layout.size_of(index).1 as usize;
        }
        let mut end = 0;
        for plane in layout.planes.iter_mut().filter(|plane| plane.row > 0) {
            plane.offset = end;
            end = (end + plane.stride * plane.rows).next_multiple_of(64);
        }
        for index in 0..self.count() {
            let (plane, first) = self.first_sample_of(index);
            layout.components[index].offset =
                ((layout.planes[plane].offset + first) / self.sample_bytes()) as u32;
        }
        layout
    }

    /// Returns true if samples of both layouts are at the same places and have the same bits, whatever colours they stand for.
    pub fn is_stored_as(&self, other: &Self) -> bool {
        let Self { interlaced, siting, matrix, range, .. } = *other;
        Self { interlaced, siting, matrix, range, ..*self } == *other
    }

    /// Returns the length in bytes of the picture after conversion to RGBA8.
    pub fn rgba_bytes(&self) -> usize {
        rgba_bytes((self.width, self.height))
    }
}

/// Fills `line` with samples of `row` that begin `STEP` bytes apart. `sample` converts the bytes from the beginning of a sample
/// to the beginning of the next one; for the last sample there may be fewer than `STEP` bytes.
#[inline(always)]
fn read_strided<const STEP: usize>(line: &mut [u16], row: &[u8], sample: impl Fn(&[u8]) -> u16) {
    let Some((last, line)) = line.split_last_mut() else { return };
    for (to, bytes) in line.iter_mut().zip(row.chunks_exact(STEP)) {
        *to = sample(bytes);
    }
    *last = sample(&row[line.len() * STEP..]);
}
