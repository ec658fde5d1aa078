//! Where the samples of a picture lie in one packed block of bytes.

use crate::media::{Matrix, Range};

/// What the samples mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Luma and two chroma components.
    Ycbcr,
    /// Luma alone.
    Grey,
    /// Red, green and blue, perhaps alpha.
    Rgb,
}

/// Rows of bytes in the block, as they come from one plane of the frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Component {
    /// The first sample, from the block's start.
    pub offset: u32,
    /// From one row to the next.
    pub stride: u32,
    /// From one sample of a row to the next.
    pub step: u32,
}

/// A picture's size, the meaning of its samples, and where they lie. Made by
/// [`layout_of`](crate::media::planes::layout_of).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// What the samples mean.
    pub family: Family,
    /// Bits of a sample, 8 to 12.
    pub depth: u32,
    /// Unused bits below a sample.
    pub shift: u32,
    /// Samples take two bytes, the low one first.
    pub wide: bool,
    /// Whether chroma has half the resolution: across, down.
    pub halved: (bool, bool),
    /// Where the first chroma sample lies: across, down (the contract's `phase`).
    pub phase: (u32, u32),
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

impl Layout {
    /// Bytes of the packed block.
    pub fn bytes(&self) -> usize {
        self.planes.iter().map(|p| p.offset + p.stride * p.rows).max().unwrap_or(0)
    }

    /// Bytes of the picture as RGBA8.
    pub fn rgba_bytes(&self) -> usize {
        self.width as usize * self.height as usize * 4
    }
}
