//! The pictures that the ladders reduce, and the cases, which are their sizes.

use serde::{Deserialize, Serialize};

use base::random::Xorshift;

/// The names of the kinds of input; the first one is timed.
pub(crate) const INPUT_NAMES: &[&str] = &["noise", "white", "black", "one pixel", "grey"];

/// The allowed sides of blocks in pixels.
pub(crate) const BLOCK_EDGES: [u32; 3] = [16, 32, 64];

/// A case: the size of a picture, and of the blocks into which it is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// The side of a block in pixels: one of [`BLOCK_EDGES`]. JSON omits it if the ladder does not use blocks.
    #[serde(default = "largest_block")]
    pub block: u32,
}

/// Returns the block size of cases whose JSON omits it.
fn largest_block() -> u32 {
    BLOCK_EDGES[2]
}

impl Case {
    /// Returns the number of pixels in the picture.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Returns the number of squares with this side that cover the picture, across and down. Squares at the right and the lower
    /// end may be cut off.
    pub fn square_counts(&self, edge: u32) -> [usize; 2] {
        [self.width.div_ceil(edge) as usize, self.height.div_ceil(edge) as usize]
    }

    /// Returns the index of the class of the picture's size for tuning: 0 up to 720p, 1 up to 1080p, 2 above.
    pub(crate) fn size_class(&self) -> usize {
        match self.pixels() {
            0..=921_600 => 0,
            921_601..=2_088_960 => 1,
            _ => 2,
        }
    }

    /// Returns the number of blocks across and down.
    pub fn block_counts(&self) -> [usize; 2] {
        self.square_counts(self.block)
    }
}

/// Fills `picture` with the RGBA picture called `name`. Each call gives the same bytes. Alpha is noise, because reductions
/// ignore it.
pub(super) fn fill(name: &str, picture: &mut [u8]) {
    let mut random = Xorshift::new(0x9e37_79b9);
    for word in picture.chunks_exact_mut(4) {
        word.copy_from_slice(&random.draw().to_le_bytes());
    }
    let last = picture.len() / 4 - 1;
    for (at, pixel) in picture.chunks_exact_mut(4).enumerate() {
        let level = |byte: u8| match name {
            "white" => 255,
            "black" => 0,
            "one pixel" => u8::from(at == last) * 255,
            // Neither 0 nor 255 is among these values.
            "grey" => 100 + byte % 32,
            _ => byte,
        };
        for byte in &mut pixel[..3] {
            *byte = level(*byte);
        }
    }
}
