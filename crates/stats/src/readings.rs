//! The luminance of a frame: its statistics, block means, histogram and waveform, and the two luminances that auto-levels map
//! to black and to white.

use std::ops::Range;

use compute::reduction::kernels::BINS;
use compute::reduction::{self, Case, FRAME_NUMBERS, luminance};

/// The width and height in pixels of a block whose mean luminance is measured.
pub const BLOCK: u32 = 16;
/// The number of vertical strips of the waveform.
pub const STRIPS: usize = 256;
/// The number of levels of the waveform. Each level counts two adjacent luminances.
pub const LEVELS: usize = 128;
/// The number of counters in all: those of the histogram, followed by those of the waveform.
pub const COUNTS: usize = BINS + STRIPS * LEVELS;
/// The divisor of the number of pixels that auto-levels may clip at each end: at most this part of all pixels is darker than
/// the new black, and at most as many are brighter than the new white.
const CLIP_DIVISOR: u64 = 1000;

/// Returns the picture size and block size with which the reduction is run for pictures of this size.
pub fn case((width, height): (u32, u32)) -> Case {
    Case { width, height, block: BLOCK }
}

/// The luminance of one frame after its filter, as measured for the scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings {
    /// The width and height of the picture in pixels.
    pub size: (u32, u32),
    /// The sum of the luminances of all pixels.
    pub sum: u64,
    /// The luminance of the darkest pixel.
    pub minimum: u32,
    /// The luminance of the brightest pixel.
    pub maximum: u32,
    /// The mean luminance, rounded to the nearest integer.
    pub mean: u32,
    /// The mean luminances of blocks of 16×16 pixels, row by row. Blocks at the right and lower edge may be smaller.
    pub blocks: Vec<u32>,
    /// The number of pixels of each luminance, 0 to 255.
    pub histogram: Vec<u32>,
    /// For each of [`STRIPS`] vertical strips, from the left, the number of its pixels with each of [`LEVELS`] levels, from the darkest.
    /// If a picture has fewer columns, some strips are empty.
    pub waveform: Vec<u32>,
}

impl Readings {
    /// Creates the readings from the kernels' results. `numbers` has the results of the reduction (sum, extremes, mean and
    /// block means), and `counts` the counters of the histogram, followed by those of the waveform.
    pub fn of(size: (u32, u32), numbers: &[u32], counts: &[u32]) -> Self {
        let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
        let part = |range: Range<usize>| counts.get(range).unwrap_or_default().to_vec();
        Self {
            size,
            sum: u64::from(number(1)) << 32 | u64::from(number(0)),
            minimum: number(2),
            maximum: number(3),
            mean: number(4),
            blocks: numbers.get(FRAME_NUMBERS..).unwrap_or_default().to_vec(),
            histogram: part(0..BINS),
            waveform: part(BINS..COUNTS),
        }
    }

    /// Measures RGBA pixels in plain Rust, as the reference for the kernels.
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

    /// Returns the number of blocks in a row and in a column.
    pub fn across_and_down(&self) -> [usize; 2] {
        case(self.size).block_counts()
    }

    /// Returns the luminances that auto-levels map to black and to white.
    pub fn ends(&self) -> (u32, u32) {
        ends(&self.histogram)
    }
}

/// Returns the luminances that auto-levels map to black and to white for this histogram. At most a thousandth of the pixels is
/// darker than the first luminance, and at most as many are brighter than the second. Returns 0 and 255 if no range is left
/// between the two.
pub fn ends(histogram: &[u32]) -> (u32, u32) {
    let pixels: u64 = histogram.iter().map(|count| u64::from(*count)).sum();
    let low = end(histogram.iter().enumerate(), pixels / CLIP_DIVISOR);
    let high = end(histogram.iter().enumerate().rev(), pixels / CLIP_DIVISOR);
    if high <= low { (0, 255) } else { (low, high) }
}

/// Returns the first luminance at which the running sum of counts exceeds `pixels`. `counts` has the luminances with their
/// counts, in the order of summation.
fn end<'a>(mut counts: impl Iterator<Item = (usize, &'a u32)>, pixels: u64) -> u32 {
    let mut beyond = 0;
    let found = counts.find(|(_, count)| {
        beyond += u64::from(**count);
        beyond > pixels
    });
    found.map_or(0, |(luminance, _)| luminance as u32)
}

/// Stretches the colours of RGBA pixels so that these two luminances become black and white, in plain Rust. Alpha is unchanged.
pub fn stretch(rgba: &mut [u8], (low, high): (u32, u32)) {
    let range = high - low;
    let levels: [u8; 256] = std::array::from_fn(|level| {
        let above = (level as u32).clamp(low, high) - low;
        ((above * 255 + range / 2) / range) as u8
    });
    for channel in rgba.chunks_exact_mut(4).flat_map(|pixel| &mut pixel[..3]) {
        *channel = levels[usize::from(*channel)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_pixels_do_not_decide_which_ends_become_black_and_white() {
        let mut histogram = vec![0; BINS];
        (histogram[40], histogram[100], histogram[200]) = (500, 1000, 500);
        // At each end, two of 2000 pixels may be clipped, but not three.
        (histogram[0], histogram[255]) = (2, 2);
        assert_eq!(ends(&histogram), (40, 200));
        (histogram[0], histogram[255]) = (3, 3);
        assert_eq!(ends(&histogram), (0, 255));
        let mut flat = vec![0; BINS];
        flat[77] = 5000;
        assert_eq!(ends(&flat), (0, 255));
        flat[78] = 5000;
        assert_eq!(ends(&flat), (77, 78));
        let mut pixels = [10, 40, 120, 7, 200, 255, 121, 9];
        stretch(&mut pixels, (40, 200));
        // (120 - 40) * 255 / 160 = 127.5, up; alpha stays.
        assert_eq!(pixels, [0, 0, 128, 7, 255, 255, 129, 9]);
        let mut same: Vec<u8> = (0..=255).collect();
        stretch(&mut same, (0, 255));
        assert!(same.iter().enumerate().all(|(at, level)| at == usize::from(*level)));
    }

    /// The kernel of auto-levels multiplies by a factor instead of dividing by the range.
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
