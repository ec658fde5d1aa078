//! Where the samples of a picture lie in one packed block of bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::color::{Matrix, Range};

/// What the samples mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Family {
    /// Luma and two chroma components.
    Ycbcr,
    /// Luma alone.
    Grey,
    /// Red, green and blue, perhaps alpha.
    Rgb,
}

/// Rows of bytes in the block, as they come from one plane of the frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Plane {
    /// Where the first row starts, in bytes; a multiple of 64.
    pub offset: usize,
    /// From one row to the next, in bytes; a multiple of 4.
    pub stride: usize,
    /// Bytes of a row that hold samples. 0: the plane is not used.
    pub row: usize,
    /// Rows of the plane.
    pub rows: usize,
}

/// Where the samples of one component lie. All in samples, not bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Component {
    /// The first sample, from the block's start.
    pub offset: u32,
    /// From one row to the next.
    pub stride: u32,
    /// From one sample of a row to the next.
    pub step: u32,
}

/// A picture's size, the meaning of its samples, and where they lie. Made by
/// [`layout_of`](crate::color::planes::layout_of).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// What the samples mean.
    pub family: Family,
    /// Bits of a sample, 8 to 12, those of its fraction included.
    pub depth: u32,
    /// Bits of a sample's fraction: 0 in a decoded picture, more in a [filtered](Layout::filtered) one.
    pub fraction: u32,
    /// Unused bits below a sample.
    pub shift: u32,
    /// Samples take two bytes, the low one first.
    pub wide: bool,
    /// Whether chroma is subsampled, to half the resolution: across, down.
    pub subsampled: (bool, bool),
    /// Whether the rows of chroma belong to the picture's two fields in turns. Never where chroma has all the rows, or
    /// but one.
    pub interlaced: bool,
    /// The chroma siting, where the first chroma sample lies: across, down, as the contract counts it.
    pub siting: (u32, u32),
    /// The matrix, by the file's tags or custom.
    pub matrix: Matrix,
    /// The range, by the file's tags or custom; full for RGB.
    pub range: Range,
    /// The planes in the block, by FFmpeg's numbers.
    pub planes: [Plane; 4],
    /// Y, U, V or R, G, B, A.
    pub components: [Component; 4],
    /// Whether the fourth component is there.
    pub alpha: bool,
}

impl fmt::Display for Layout {
    /// What the samples are, such as `4:2:0, 8 bits`.
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
    /// Planes of 4:2:0 by BT.709 in limited range: bytes, or 12 bits in two bytes.
    pub fn planar_420(width: u32, height: u32, wide: bool) -> Self {
        let unit = if wide { 2 } else { 1 };
        let mut layout = Self {
            width,
            height,
            family: Family::Ycbcr,
            depth: if wide { 12 } else { 8 },
            fraction: 0,
            shift: 0,
            wide,
            subsampled: (true, true),
            interlaced: false,
            siting: (0, 1),
            matrix: Matrix::Bt709,
            range: Range::Limited,
            planes: [Plane::default(); 4],
            components: [Component::default(); 4],
            alpha: false,
        };
        layout.pack(unit, 4);
        layout
    }

    /// A plane for each component, one after the other, with samples of `unit` bytes and rows of a multiple of
    /// `alignment` bytes.
    fn pack(&mut self, unit: usize, alignment: usize) {
        let mut end = 0;
        for index in 0..self.count() {
            let (width, height) = self.size_of(index);
            let (row, rows) = (unit * width as usize, height as usize);
            let stride = row.next_multiple_of(alignment);
            self.planes[index] = Plane { offset: end, stride, row, rows };
            let in_samples = |bytes: usize| (bytes / unit) as u32;
            self.components[index] =
                Component { offset: in_samples(end), stride: in_samples(stride), step: 1 };
            end = (end + stride * rows).next_multiple_of(64);
        }
    }

    /// The same picture as an interlaced or a progressive one; nothing changes where rows of chroma cannot belong to two
    /// fields.
    pub fn with_fields(&self, interlaced: bool) -> Self {
        let has_rows_of_both = self.subsampled_of(1).1 && self.height > 2;
        Self { interlaced: interlaced && has_rows_of_both, ..*self }
    }

    /// Bytes of the packed block.
    pub fn bytes(&self) -> usize {
        self.planes.iter().map(|p| p.offset + p.stride * p.rows).max().unwrap_or(0)
    }

    /// Components that there are: the first so many of `components`.
    pub fn count(&self) -> usize {
        match self.family {
            Family::Grey => 1,
            Family::Ycbcr => 3,
            Family::Rgb => 3 + usize::from(self.alpha),
        }
    }

    /// Whether a component has half the resolution: across, down.
    pub fn subsampled_of(&self, component: usize) -> (bool, bool) {
        let chroma = self.family == Family::Ycbcr && (1..3).contains(&component);
        (chroma && self.subsampled.0, chroma && self.subsampled.1)
    }

    /// Columns and rows of a component.
    pub fn size_of(&self, component: usize) -> (u32, u32) {
        let half = |size: u32, subsampled: bool| if subsampled { size.div_ceil(2) } else { size };
        let (across, down) = self.subsampled_of(component);
        (half(self.width, across), half(self.height, down))
    }

    /// The plane of a component, and where in each of its rows the first sample lies, in bytes.
    pub(crate) fn first_sample_of(&self, component: usize) -> (usize, usize) {
        let unit = if self.wide { 2 } else { 1 };
        let first = unit * self.components[component].offset as usize;
        let plane = self.planes.iter().rposition(|plane| plane.row > 0 && plane.offset <= first).unwrap_or(0);
        (plane, first - self.planes[plane].offset)
    }

    /// The same picture with samples of 12 bits, of which those that this one does not have are a fraction. Each
    /// component has a plane of its own, whose rows start at multiples of 64 bytes.
    pub fn filtered(&self) -> Layout {
        const DEPTH: u32 = 12;
        let fraction = DEPTH - self.depth + self.fraction;
        let (planes, components) = Default::default();
        let mut filtered =
            Layout { depth: DEPTH, fraction, shift: 0, wide: true, planes, components, ..*self };
        filtered.pack(2, 64);
        filtered
    }

    /// The same with another number of rows. The planes have as long rows as before, and lie one after the other.
    pub fn with_rows(&self, height: u32) -> Layout {
        let unit = if self.wide { 2 } else { 1 };
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
            layout.components[index].offset = ((layout.planes[plane].offset + first) / unit) as u32;
        }
        layout
    }

    /// Bytes of the picture as RGBA8.
    pub fn rgba_bytes(&self) -> usize {
        self.width as usize * self.height as usize * 4
    }
}
