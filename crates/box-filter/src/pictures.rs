//! RGBA pictures for checks, chosen to expose faults of kernels.

use base::memory::rgba_bytes;
use base::random::Xorshift;

/// The content of a check picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Pseudo-random bytes, the same each time.
    Noise,
    /// All bytes 255, for the largest sums.
    White,
    /// All bytes 0: any other value in the output is an error.
    Black,
    /// White and black rows as high as the window, for the largest change of a mean from row to row.
    StripesAcross,
    /// White and black columns as wide as the window.
    StripesDown,
    /// Alternately white and black pixels.
    Checkerboard,
    /// All pixels are black, except for one white pixel.
    OnePixel,
    /// Channels that each increase in another direction.
    Ramps,
}

impl Pattern {
    /// All patterns; those that expose the most faults come first.
    pub const ALL: [Pattern; 8] = [
        Pattern::Noise,
        Pattern::White,
        Pattern::StripesDown,
        Pattern::StripesAcross,
        Pattern::OnePixel,
        Pattern::Black,
        Pattern::Checkerboard,
        Pattern::Ramps,
    ];

    /// The names of all patterns, in the same order.
    pub const NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ALL[at].name();
            at += 1;
        }
        names
    };

    /// Returns the pattern's name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Noise => "noise",
            Pattern::White => "white",
            Pattern::Black => "black",
            Pattern::StripesAcross => "stripes across",
            Pattern::StripesDown => "stripes down",
            Pattern::Checkerboard => "checkerboard",
            Pattern::OnePixel => "one pixel",
            Pattern::Ramps => "ramps",
        }
    }

    /// Returns the picture for a filter of this radius.
    pub fn picture(self, (width, height): (u32, u32), radius: u32) -> Vec<u8> {
        let bytes = rgba_bytes((width, height));
        // Both colours appear even if the window is larger than the picture.
        let side = |length: u32| (2 * radius + 1).min(length.div_ceil(2)).max(1);
        let grey = |value: &dyn Fn(u32, u32) -> bool| {
            let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
            pixels.flat_map(|(x, y)| [if value(x, y) { 255 } else { 0 }; 4]).collect()
        };
        match self {
            Pattern::Noise => noise(bytes),
            Pattern::White => vec![255; bytes],
            Pattern::Black => vec![0; bytes],
            Pattern::StripesAcross => grey(&|_, y| (y / side(height)).is_multiple_of(2)),
            Pattern::StripesDown => grey(&|x, _| (x / side(width)).is_multiple_of(2)),
            Pattern::Checkerboard => grey(&|x, y| (x + y) % 2 == 0),
            Pattern::OnePixel => grey(&|x, y| (x, y) == (width / 2, height / 3)),
            Pattern::Ramps => {
                let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
                pixels
                    .flat_map(|(x, y)| [(3 * x) as u8, (5 * y) as u8, (x + y) as u8, (x ^ y) as u8])
                    .collect()
            }
        }
    }
}

/// Returns pseudo-random bytes, the same each time.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut random = Xorshift::new(0x9e37_79b9);
    std::iter::repeat_with(|| (random.draw() >> 9) as u8).take(bytes).collect()
}
