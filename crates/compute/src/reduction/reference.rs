//! The reference for the reduction ladder: computes the expected results pixel by pixel.

use super::Case;

/// The number of results before the means of the blocks: the lower and the upper half of the sum, minimum, maximum, mean and
/// product.
pub const FRAME_NUMBERS: usize = 6;

/// Returns the luminance of an RGBA pixel from 0 to 255: weights 0.2125, 0.7154 and 0.0721, in integers.
pub fn luminance(pixel: &[u8]) -> u32 {
    let [red, green, blue] = [0, 1, 2].map(|channel| u32::from(pixel[channel]));
    (13_926 * red + 46_885 * green + 4_725 * blue + 32_768) >> 16
}

/// Returns the sum, minimum, maximum, mean and product over the luminances of a picture, then the mean of each block, row by
/// row. The product is that of 2·luminance + 1 modulo 2³², which is never 0. Means are rounded to the nearest integer, halves
/// up.
pub fn reference(pixels: &[u8], case: &Case) -> Vec<u32> {
    let (width, block) = (case.width as usize, case.block as usize);
    let [across, down] = case.block_counts();
    let mut blocks = vec![(0_u64, 0_u64); across * down];
    let (mut sum, mut least, mut most, mut product) = (0_u64, u32::MAX, 0, 1_u32);
    for (at, pixel) in pixels.chunks_exact(4).enumerate() {
        let luminance = luminance(pixel);
        sum += u64::from(luminance);
        least = least.min(luminance);
        most = most.max(luminance);
        product = product.wrapping_mul(2 * luminance + 1);
        let of_block = &mut blocks[at / width / block * across + at % width / block];
        *of_block = (of_block.0 + u64::from(luminance), of_block.1 + 1);
    }
    let mean = |(sum, count): (u64, u64)| ((sum + count / 2) / count) as u32;
    let frame = [sum as u32, (sum >> 32) as u32, least, most, mean((sum, case.pixels() as u64)), product];
    frame.into_iter().chain(blocks.into_iter().map(mean)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luminance_weights_add_up_and_differ_by_channel() {
        let of = |pixel: [u8; 4]| luminance(&pixel);
        assert_eq!([of([255; 4]), of([0, 0, 0, 255]), of([77, 77, 77, 0])], [255, 0, 77]);
        // 0.2125, 0.7154 and 0.0721 of 200.
        assert_eq!([of([200, 0, 0, 9]), of([0, 200, 0, 9]), of([0, 0, 200, 9])], [42, 143, 14]);
    }

    #[test]
    fn results_equal_those_computed_by_hand() {
        // 17 by 1: a block of sixteen pixels and one of a single pixel.
        let mut pixels = vec![3; 17 * 4];
        pixels[..4].copy_from_slice(&[11; 4]);
        pixels[64..].copy_from_slice(&[9; 4]);
        let case = Case { width: 17, height: 1, block: 16 };
        // 11 + 15·3 = 56, 56/16 = 3.5, up; 65/17 = 3.8.
        let product = (0..15).fold(23_u32 * 19, |product, _| product.wrapping_mul(7));
        assert_eq!(reference(&pixels, &case), [65, 0, 3, 11, 4, product, 4, 9]);
    }

    #[test]
    fn the_sum_of_a_white_frame_exceeds_32_bits() {
        let case = Case { width: 4200, height: 4100, block: 64 };
        let numbers = reference(&vec![255; case.pixels() * 4], &case);
        let sum = u64::from(numbers[1]) << 32 | u64::from(numbers[0]);
        assert_eq!((sum, numbers[1]), (4200 * 4100 * 255, 1));
        assert!(numbers[6..].iter().all(|mean| *mean == 255) && numbers[6..].len() == 66 * 65);
    }
}
