//! Pictures to reduce. In: a kind of input and a case. Out: RGBA pixels in which a fault shows.

use base::random::Xorshift;

/// Names of the kinds; the first is the one that is timed.
pub(crate) const INPUTS: &[&str] = &["noise", "white", "black", "one pixel", "grey"];

/// The edges that blocks have.
pub(crate) const BLOCKS: [u32; 3] = [16, 32, 64];

/// A picture, and the blocks that it is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// The edge of a block, in pixels: one of [`BLOCKS`].
    pub block: u32,
}

impl Case {
    /// Pixels of the picture.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Squares of such an edge that cover the picture, across and down; those at its right and lower end may be cut short.
    pub fn squares(&self, edge: u32) -> [usize; 2] {
        [self.width.div_ceil(edge) as usize, self.height.div_ceil(edge) as usize]
    }

    /// Blocks, across and down.
    pub fn blocks(&self) -> [usize; 2] {
        self.squares(self.block)
    }
}

/// Fills `bytes` with a picture of RGBA between two guards of so many bytes, the same each time. Who reads a guard gets what
/// the picture does not have. Alpha is noise: it has no luminance.
pub(super) fn fill(name: &str, guard: usize, bytes: &mut [u8]) {
    let mut random = Xorshift::new(0x9e37_79b9);
    for word in bytes.chunks_exact_mut(4) {
        word.copy_from_slice(&random.draw().to_le_bytes());
    }
    let end = bytes.len() - guard;
    let picture = &mut bytes[guard..end];
    let last = picture.len() / 4 - 1;
    for (at, pixel) in picture.chunks_exact_mut(4).enumerate() {
        let level = |byte: u8| match name {
            "white" => 255,
            "black" => 0,
            "one pixel" => u8::from(at == last) * 255,
            // Neither 0 nor 255 is among them.
            "grey" => 100 + byte % 32,
            _ => byte,
        };
        for byte in &mut pixel[..3] {
            *byte = level(*byte);
        }
    }
}
