//! Reduction on threads of this process.

use std::sync::atomic::{Ordering, compiler_fence};

use bytemuck::{cast_slice, cast_slice_mut};
use parking_lot::Mutex;

use super::{Case, FRAME_NUMBERS};
use crate::plan::Host;
use base::error::Result;
use base::threads::{Threads, share};

/// The variant `serial`, which reduces one pixel at a time on one thread.
pub(super) const SERIAL: Host<Case> = Host { threads: Threads::One, run: run_one_by_one };
/// The variant `threads`, which reduces one pixel at a time on all threads.
pub(super) const THREADS: Host<Case> = Host { threads: Threads::All, run: run_one_by_one };
/// The variant `threads-vectors`, which reduces pixels in vectors on all threads.
pub(super) const THREADS_VECTORS: Host<Case> = Host {
    threads: Threads::All,
    run: |case, inputs, numbers, threads| {
        reduce_vectorized(cast_slice(inputs[0]), case, cast_slice_mut(numbers), threads);
        Ok(())
    },
};

/// Reduces a picture one pixel at a time.
fn run_one_by_one(case: &Case, inputs: &[&[f32]], numbers: &mut [f32], threads: usize) -> Result<()> {
    reduce(cast_slice(inputs[0]), case, cast_slice_mut(numbers), (threads, row_sums_one_by_one));
    Ok(())
}

/// Reduces RGBA pixels in vectors, on `threads` threads, and writes to `numbers` the numbers that
/// [`reference`](super::reference()) computes.
pub fn reduce_vectorized(pixels: &[u8], case: &Case, numbers: &mut [u32], threads: usize) {
    reduce(pixels, case, numbers, (threads, row_sums_avx2_or_plain));
}

/// The sum, minimum, maximum and product over the luminances of some pixels.
#[derive(Debug, Clone, Copy)]
struct PixelSums {
    sum: u64,
    min: u32,
    max: u32,
    /// The product of 2·luminance + 1, modulo 2³².
    product: u32,
}

impl PixelSums {
    /// The values over no pixels, with which a reduction begins.
    const EMPTY: Self = Self { sum: 0, min: 255, max: 0, product: 1 };

    /// Combines these values with the values over other pixels.
    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.product = self.product.wrapping_mul(other.product);
    }
}

/// Reduces a picture to `numbers`; each thread takes one row of blocks after the other. `reduce_row` receives the pixels of a
/// row of blocks, the number of bytes in a row of pixels, the side of a block in pixels, and the slice for the means of the
/// blocks; it returns the sums over all these pixels.
fn reduce(
    pixels: &[u8],
    case: &Case,
    numbers: &mut [u32],
    (threads, reduce_row): (usize, impl Fn(&[u8], usize, usize, &mut [u32]) -> PixelSums + Sync),
) {
    let (row, block) = (4 * case.width as usize, case.block as usize);
    let [across, _] = case.block_counts();
    let (frame_numbers, means) = numbers.split_at_mut(FRAME_NUMBERS);
    let total = Mutex::new(PixelSums::EMPTY);
    let parts = pixels.chunks(row * block).zip(means.chunks_mut(across));
    share(parts, threads, |(rows, means)| {
        let sums = reduce_row(rows, row, block, means);
        total.lock().add(&sums);
    });
    let PixelSums { sum, min, max, product } = total.into_inner();
    let pixels = case.pixels() as u64;
    let mean = ((sum + pixels / 2) / pixels) as u32;
    frame_numbers.copy_from_slice(&[sum as u32, (sum >> 32) as u32, min, max, mean, product]);
}

#[inline(always)]
fn luminance(pixel: u32) -> u32 {
    (13_926 * (pixel & 255) + 46_885 * (pixel >> 8 & 255) + 4_725 * (pixel >> 16 & 255) + 32_768) >> 16
}

/// Returns the four bytes of a pixel as a little-endian number.
#[inline(always)]
fn pixel_bits(pixel: &[u8]) -> u32 {
    u32::from_le_bytes([pixel[0], pixel[1], pixel[2], pixel[3]])
}

/// Reduces a row of blocks one pixel at a time. A compiler fence in the loop, which generates no instruction, keeps the
/// compiler from vectorizing the loop.
fn row_sums_one_by_one(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> PixelSums {
    let mut total = PixelSums::EMPTY;
    for (mean, left) in means.iter_mut().zip((0..row).step_by(4 * block)) {
        let (mut sum, mut count) = (0, 0);
        for line in rows.chunks(row) {
            for pixel in line[left..row.min(left + 4 * block)].chunks_exact(4) {
                let luminance = luminance(pixel_bits(pixel));
                sum += luminance;
                count += 1;
                total.min = total.min.min(luminance);
                total.max = total.max.max(luminance);
                total.product = total.product.wrapping_mul(2 * luminance + 1);
                compiler_fence(Ordering::SeqCst);
            }
        }
        total.sum += u64::from(sum);
        *mean = (sum + count / 2) / count;
    }
    total
}

/// Reduces a row of blocks in vectors, with AVX2 if the CPU has it.
fn row_sums_avx2_or_plain(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> PixelSums {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2, the only feature that the function is compiled for.
        return unsafe { row_sums_avx2(rows, row, block, means) };
    }
    row_sums_vectorized(rows, row, block, means)
}

/// Reduces a row of blocks as [`row_sums_vectorized`] does; compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn row_sums_avx2(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> PixelSums {
    row_sums_vectorized(rows, row, block, means)
}

/// The number of pixels that are reduced side by side.
const LANES: usize = 16;

/// Reduces a row of blocks in loops that the compiler vectorizes for the caller's target features.
#[inline(always)]
fn row_sums_vectorized(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> PixelSums {
    let mut total = PixelSums::EMPTY;
    let (mut min, mut max, mut product) = ([255; LANES], [0; LANES], [1_u32; LANES]);
    // The pixels at the end of each row that do not fill a vector. They are in the last block.
    let mut remainder = PixelSums::EMPTY;
    for (mean, left) in means.iter_mut().zip((0..row).step_by(4 * block)) {
        let right = row.min(left + 4 * block);
        let (mut sums, mut remainder_sum) = ([0; LANES], 0);
        for line in rows.chunks(row) {
            let mut all = line[left..right].chunks_exact(4 * LANES);
            for pixels in &mut all {
                for lane in 0..LANES {
                    let luminance = luminance(pixel_bits(&pixels[4 * lane..4 * lane + 4]));
                    sums[lane] += luminance;
                    min[lane] = luminance.min(min[lane]);
                    max[lane] = luminance.max(max[lane]);
                    product[lane] = product[lane].wrapping_mul(2 * luminance + 1);
                }
            }
            for pixel in all.remainder().chunks_exact(4) {
                let luminance = luminance(pixel_bits(pixel));
                remainder_sum += luminance;
                let (min, max, product) = (luminance, luminance, 2 * luminance + 1);
                remainder.add(&PixelSums { sum: 0, min, max, product });
            }
        }
        let (sum, count) =
            (sums.iter().sum::<u32>() + remainder_sum, ((right - left) / 4 * (rows.len() / row)) as u32);
        total.sum += u64::from(sum);
        *mean = (sum + count / 2) / count;
    }
    total.add(&remainder);
    for lane in 0..LANES {
        total.add(&PixelSums { sum: 0, min: min[lane], max: max[lane], product: product[lane] });
    }
    total
}
