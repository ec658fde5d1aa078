//! Pictures for checks. In: a kind, a size, a radius. Out: RGBA pixels in which a kernel's faults show.

use base::random::Xorshift;

/// What is in a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Pattern {
    /// Any bytes, the same each time.
    Noise,
    /// All 255: the largest sums.
    White,
    /// All 0.
    Black,
    /// Rows of white and black as high as the window: from row to row a mean changes by as much as it can.
    StripesAcross,
    /// The same in columns.
    StripesDown,
    /// White and black from pixel to pixel.
    Checkerboard,
    /// Black but for one white pixel.
    OnePixel,
    /// Every channel grows in a direction of its own.
    Ramps,
}

impl Pattern {
    /// All of them, those that show the most first.
    pub(crate) const ALL: [Pattern; 8] = [
        Pattern::Noise,
        Pattern::White,
        Pattern::StripesAcross,
        Pattern::StripesDown,
        Pattern::OnePixel,
        Pattern::Black,
        Pattern::Checkerboard,
        Pattern::Ramps,
    ];

    /// Its name in tables and JSON.
    pub(crate) fn name(self) -> &'static str {
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

    /// The picture, for a filter of this radius.
    pub(crate) fn picture(self, (width, height): (u32, u32), radius: u32) -> Vec<u8> {
        let bytes = width as usize * height as usize * 4;
        // Of both colours also where the window is larger than the picture: the ends of a window then differ the most.
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

/// Noise, the same each time.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut random = Xorshift::new(0x9e37_79b9);
    std::iter::repeat_with(|| (random.draw() >> 9) as u8).take(bytes).collect()
}
