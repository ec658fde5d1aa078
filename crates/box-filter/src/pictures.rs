//! RGBA pictures for checks, chosen to expose faults of kernels.

use super::MAX_RADIUS;
use super::config::Extent;
use super::planar::suite;
use base::memory::rgba_bytes;
use base::random::Xorshift;

/// The content of a check picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Pseudo-random bytes, the same each time.
    Noise,
    /// All bytes 255, for the largest sums.
    White,
    /// White and black columns as wide as the window.
    StripesDown,
    /// White and black rows as high as the window, for the largest change of a mean from row to row.
    StripesAcross,
    /// All pixels are black, except for one white pixel.
    OnePixel,
    /// All bytes 0: any other value in the output is an error.
    Black,
    /// Alternately white and black pixels.
    Checkerboard,
    /// Channels that each increase in another direction.
    Ramps,
}

impl Pattern {
    /// All patterns; those that expose the most faults come first.
    pub const ALL: [Pattern; 8] = {
        use Pattern::*;
        [Noise, White, StripesDown, StripesAcross, OnePixel, Black, Checkerboard, Ramps]
    };

    /// The names of all patterns, in the same order.
    pub const NAMES: [&'static str; Self::ALL.len()] =
        ["noise", "white", "stripes down", "stripes across", "one pixel", "black", "checkerboard", "ramps"];

    /// Returns the pattern's name in tables and JSON.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the picture for a filter of this radius.
    pub fn picture(self, (width, height): (u32, u32), radius: u32) -> Vec<u8> {
        let bytes = rgba_bytes((width, height));
        // Both colours appear even if the window is larger than the picture.
        let side = |length: u32| (2 * radius + 1).min(length.div_ceil(2)).max(1);
        let pixels = |color: &dyn Fn(u32, u32) -> [u8; 4]| -> Vec<u8> {
            (0..height).flat_map(|y| (0..width).flat_map(move |x| color(x, y))).collect()
        };
        let grey =
            |is_white: &dyn Fn(u32, u32) -> bool| pixels(&|x, y| [if is_white(x, y) { 255 } else { 0 }; 4]);
        match self {
            Pattern::Noise => noise(bytes),
            Pattern::White => vec![255; bytes],
            Pattern::Black => vec![0; bytes],
            Pattern::StripesAcross => grey(&|_, y| (y / side(height)).is_multiple_of(2)),
            Pattern::StripesDown => grey(&|x, _| (x / side(width)).is_multiple_of(2)),
            Pattern::Checkerboard => grey(&|x, y| (x + y) % 2 == 0),
            Pattern::OnePixel => grey(&|x, y| (x, y) == (width / 2, height / 3)),
            Pattern::Ramps => pixels(&|x, y| [(3 * x) as u8, (5 * y) as u8, (x + y) as u8, (x ^ y) as u8]),
        }
    }
}

impl Pattern {
    /// Returns the input for a filter: its picture and those of the frames before. Noise is another one in each frame, so that
    /// their order matters; all other patterns are repeated, for the largest sums.
    pub fn input(self, whole: &Extent) -> Vec<u8> {
        let radius = whole.radius().min(MAX_RADIUS);
        let frames = whole.frames as usize;
        match (self, &whole.layout) {
            (Pattern::Noise, layout) => {
                let mut noise = noise(whole.bytes()[0]);
                layout.iter().for_each(|layout| suite::clear_unused_bits(layout, &mut noise));
                noise
            }
            (_, Some(layout)) => suite::block(self, layout, radius).repeat(frames),
            (_, None) => self.picture((whole.width, whole.height), radius).repeat(frames),
        }
    }
}

/// Returns pseudo-random bytes, the same each time.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut random = Xorshift::new(0x9e37_79b9);
    std::iter::repeat_with(|| (random.draw() >> 9) as u8).take(bytes).collect()
}
