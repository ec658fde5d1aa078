//! Reduction by threads of this process. In: RGBA pixels and a case. Out: the numbers.

use std::sync::atomic::{Ordering, compiler_fence};
use std::sync::{Mutex, PoisonError};

use super::digest::Host;
use super::pictures::Case;
use super::reference::OF_FRAME;
use base::threads::{Threads, share};

pub(super) const SERIAL: Host = Host { threads: Threads::One, digest: in_turn };
pub(super) const THREADS: Host = Host { threads: Threads::All, digest: in_turn };
pub(super) const THREADS_VECTORS: Host = Host { threads: Threads::All, digest: in_vectors };

/// One pixel at a time.
fn in_turn(pixels: &[u8], case: &Case, numbers: &mut [u32], threads: usize) {
    reduce(pixels, case, numbers, threads, plain);
}

/// Several pixels an instruction.
pub fn in_vectors(pixels: &[u8], case: &Case, numbers: &mut [u32], threads: usize) {
    reduce(pixels, case, numbers, threads, vectors);
}

/// Numbers of many pixels.
#[derive(Debug, Clone, Copy)]
struct Total {
    sum: u64,
    least: u32,
    most: u32,
    product: u32,
}

impl Total {
    const NONE: Self = Self { sum: 0, least: 255, most: 0, product: 1 };

    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.product = self.product.wrapping_mul(other.product);
    }
}

/// Reduces a picture; each thread takes one row of blocks after the other: `of_rows` gets it, the bytes of a row of pixels, the
/// side of a block, and room for their means.
fn reduce(
    pixels: &[u8],
    case: &Case,
    numbers: &mut [u32],
    threads: usize,
    of_rows: impl Fn(&[u8], usize, usize, &mut [u32]) -> Total + Sync,
) {
    let (row, block) = (4 * case.width as usize, case.block as usize);
    let [across, _] = case.blocks();
    let (of_frame, means) = numbers.split_at_mut(OF_FRAME);
    let total = Mutex::new(Total::NONE);
    let parts = pixels.chunks(row * block).zip(means.chunks_mut(across));
    share(parts, threads, |(rows, means)| {
        let of_rows = of_rows(rows, row, block, means);
        total.lock().unwrap_or_else(PoisonError::into_inner).add(&of_rows);
    });
    let Total { sum, least, most, product } = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let pixels = case.pixels() as u64;
    let mean = ((sum + pixels / 2) / pixels) as u32;
    of_frame.copy_from_slice(&[sum as u32, (sum >> 32) as u32, least, most, mean, product]);
}

/// The sum, shift and all, of an RGBA pixel.
#[inline(always)]
fn luminance(pixel: u32) -> u32 {
    (13_926 * (pixel & 255) + 46_885 * (pixel >> 8 & 255) + 4_725 * (pixel >> 16 & 255) + 32_768) >> 16
}

#[inline(always)]
fn word(pixel: &[u8]) -> u32 {
    u32::from_le_bytes([pixel[0], pixel[1], pixel[2], pixel[3]])
}

/// One pixel at a time, one block after the other in each row: the fence, which is no instruction itself, keeps the compiler
/// from making vectors of it.
fn plain(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> Total {
    let mut total = Total::NONE;
    for (mean, left) in means.iter_mut().zip((0..row).step_by(4 * block)) {
        let (mut sum, mut count) = (0, 0);
        for line in rows.chunks(row) {
            for pixel in line[left..row.min(left + 4 * block)].chunks_exact(4) {
                let luminance = luminance(word(pixel));
                sum += luminance;
                count += 1;
                total.least = total.least.min(luminance);
                total.most = total.most.max(luminance);
                total.product = total.product.wrapping_mul(2 * luminance + 1);
                compiler_fence(Ordering::SeqCst);
            }
        }
        total.sum += u64::from(sum);
        *mean = (sum + count / 2) / count;
    }
    total
}

fn vectors(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> Total {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only feature that it is compiled for.
        return unsafe { vectors_avx2(rows, row, block, means) };
    }
    in_lanes(rows, row, block, means)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn vectors_avx2(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> Total {
    in_lanes(rows, row, block, means)
}

/// Pixels that are reduced side by side.
const LANES: usize = 16;

/// The compiler makes vectors of it, as wide as the caller's processor has.
#[inline(always)]
fn in_lanes(rows: &[u8], row: usize, block: usize, means: &mut [u32]) -> Total {
    let mut total = Total::NONE;
    let (mut least, mut most, mut product) = ([255; LANES], [0; LANES], [1_u32; LANES]);
    // The rest of each row that fills no lanes is in the last block.
    let mut rest = Total::NONE;
    for (mean, left) in means.iter_mut().zip((0..row).step_by(4 * block)) {
        let right = row.min(left + 4 * block);
        let (mut sums, mut of_rest) = ([0; LANES], 0);
        for line in rows.chunks(row) {
            let mut all = line[left..right].chunks_exact(4 * LANES);
            for pixels in &mut all {
                for lane in 0..LANES {
                    let luminance = luminance(word(&pixels[4 * lane..4 * lane + 4]));
                    sums[lane] += luminance;
                    least[lane] = luminance.min(least[lane]);
                    most[lane] = luminance.max(most[lane]);
                    product[lane] = product[lane].wrapping_mul(2 * luminance + 1);
                }
            }
            for pixel in all.remainder().chunks_exact(4) {
                let luminance = luminance(word(pixel));
                of_rest += luminance;
                rest.add(&Total { sum: 0, least: luminance, most: luminance, product: 2 * luminance + 1 });
            }
        }
        let (sum, count) =
            (sums.iter().sum::<u32>() + of_rest, ((right - left) / 4 * (rows.len() / row)) as u32);
        total.sum += u64::from(sum);
        *mean = (sum + count / 2) / count;
    }
    total.add(&rest);
    for lane in 0..LANES {
        total.add(&Total { sum: 0, least: least[lane], most: most[lane], product: product[lane] });
    }
    total
}
