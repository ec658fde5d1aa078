//! What a frame's luminance is: numbers, blocks, histogram, waveform; and the levels that follow from it. In: what the device
//! has written, or RGBA pixels. Out: [`Readings`], and pixels that are stretched.

use std::ops::Range;

use ladders::reduction::pictures::Case;
use ladders::reduction::{self, OF_FRAME, luminance};

/// The edge of a block, in pixels.
pub(super) const BLOCK: u32 = 16;
/// Luminances that there are.
pub(super) const BINS: usize = 256;
/// Upright strips of the waveform.
pub const STRIPS: usize = 256;
/// Levels of the waveform, of two luminances each.
pub const LEVELS: usize = 128;
/// Numbers that are counted: histogram and waveform.
pub(super) const COUNTS: usize = BINS + STRIPS * LEVELS;
/// One of so many pixels may lie beyond each end of the levels.
const BEYOND: u64 = 1000;

/// The picture as the reduction has it.
pub(super) fn case((width, height): (u32, u32)) -> Case {
    Case { width, height, block: BLOCK }
}

/// The luminance of one frame, as it came out of the filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings {
    /// Width and height of the picture in pixels.
    pub size: (u32, u32),
    /// Of all pixels.
    pub sum: u64,
    /// The darkest pixel's.
    pub minimum: u32,
    /// The brightest pixel's.
    pub maximum: u32,
    /// Rounded to the nearest.
    pub mean: u32,
    /// The means of blocks of 16×16 pixels, row by row; those at the right and lower edge may be cut short.
    pub blocks: Vec<u32>,
    /// How many pixels have each luminance.
    pub histogram: Vec<u32>,
    /// For each of [`STRIPS`] upright strips, from the left, how many of its pixels have each of [`LEVELS`] levels, from the
    /// darkest. In a picture of fewer columns some strips are empty.
    pub waveform: Vec<u32>,
}

impl Readings {
    /// Of what the kernels have written: the reduction's numbers, and what was counted.
    pub(super) fn of(size: (u32, u32), numbers: &[u32], counts: &[u32]) -> Self {
        let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
        let part = |range: Range<usize>| counts.get(range).unwrap_or_default().to_vec();
        Self {
            size,
            sum: u64::from(number(1)) << 32 | u64::from(number(0)),
            minimum: number(2),
            maximum: number(3),
            mean: number(4),
            blocks: numbers.get(OF_FRAME..).unwrap_or_default().to_vec(),
            histogram: part(0..BINS),
            waveform: part(BINS..COUNTS),
        }
    }

    /// The same by plain Rust, of RGBA pixels.
    pub fn reference(size: (u32, u32), rgba: &[u8]) -> Self {
        let mut counts = vec![0; COUNTS];
        let width = size.0 as usize;
        let mut strip_of = vec![0; width];
        for strip in 0..STRIPS {
            strip_of[strip * width / STRIPS..(strip + 1) * width / STRIPS].fill(strip);
        }
        for (at, pixel) in rgba.chunks_exact(4).enumerate() {
            let luminance = luminance(pixel) as usize;
            counts[luminance] += 1;
            counts[BINS + strip_of[at % width] * LEVELS + luminance / 2] += 1;
        }
        Self::of(size, &reduction::reference(rgba, &case(size)), &counts)
    }

    /// Blocks across and down.
    pub fn across_and_down(&self) -> [usize; 2] {
        case(self.size).blocks()
    }

    /// What auto-levels make black, and what white.
    pub fn ends(&self) -> (u32, u32) {
        ends(&self.histogram)
    }
}

/// The luminances that auto-levels make black and white: at most a thousandth of the pixels is darker, and as many are
/// brighter. 0 and 255 where all pixels are one luminance, but for so many.
pub(crate) fn ends(histogram: &[u32]) -> (u32, u32) {
    let pixels: u64 = histogram.iter().map(|count| u64::from(*count)).sum();
    let low = end(histogram.iter().enumerate(), pixels / BEYOND);
    let high = end(histogram.iter().enumerate().rev(), pixels / BEYOND);
    if high <= low { (0, 255) } else { (low, high) }
}

/// The first luminance from an end before which, with it, there are more pixels than these.
fn end<'a>(mut counts: impl Iterator<Item = (usize, &'a u32)>, pixels: u64) -> u32 {
    let mut beyond = 0;
    let found = counts.find(|(_, count)| {
        beyond += u64::from(**count);
        beyond > pixels
    });
    found.map_or(0, |(luminance, _)| luminance as u32)
}

/// Stretches RGBA pixels between these ends, by plain Rust; alpha stays.
pub fn stretch(rgba: &mut [u8], ends: (u32, u32)) {
    Levels::between(ends).stretch(rgba);
}

/// What becomes of each level of a channel.
pub(super) struct Levels([u8; 256]);

impl Levels {
    /// By auto-levels with these ends.
    pub(super) fn between((low, high): (u32, u32)) -> Self {
        let range = high - low;
        Self(std::array::from_fn(|level| {
            let above = (level as u32).clamp(low, high) - low;
            ((above * 255 + range / 2) / range) as u8
        }))
    }

    /// Of RGBA pixels; alpha stays.
    pub(super) fn stretch(&self, rgba: &mut [u8]) {
        for channel in rgba.chunks_exact_mut(4).flat_map(|pixel| &mut pixel[..3]) {
            *channel = self.0[usize::from(*channel)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_pixels_do_not_decide() {
        let mut histogram = vec![0; BINS];
        (histogram[40], histogram[100], histogram[200]) = (500, 1000, 500);
        // Two of 2000 may lie beyond each end, a third one may not.
        (histogram[0], histogram[255]) = (2, 2);
        assert_eq!(ends(&histogram), (40, 200));
        (histogram[0], histogram[255]) = (3, 3);
        assert_eq!(ends(&histogram), (0, 255));
        let mut flat = vec![0; BINS];
        flat[77] = 5000;
        assert_eq!(ends(&flat), (0, 255));
        flat[78] = 5000;
        assert_eq!(ends(&flat), (77, 78));
    }

    #[test]
    fn ends_become_black_and_white() {
        let mut pixels = [10, 40, 120, 7, 200, 255, 121, 9];
        stretch(&mut pixels, (40, 200));
        // (120 - 40) * 255 / 160 = 127.5, up; alpha stays.
        assert_eq!(pixels, [0, 0, 128, 7, 255, 255, 129, 9]);
        let mut same: Vec<u8> = (0..=255).collect();
        stretch(&mut same, (0, 255));
        assert!(same.iter().enumerate().all(|(at, level)| at == usize::from(*level)));
    }

    /// The kernel multiplies instead of dividing.
    #[test]
    fn a_factor_divides_by_every_range() {
        for range in 1..=255_u64 {
            let factor = (1_u64 << 24).div_ceil(range);
            for above in 0..=range {
                let n = above * 255 + range / 2;
                assert_eq!(((n << 8) * factor) >> 32, n / range, "{above} of {range}");
                assert!(n << 8 < 1 << 32 && factor < 1 << 32);
            }
        }
    }
}
