//! The box filter without OpenCL: the algorithm of `06_fused.cl` in Rust, on threads. In and out: RGBA pixels in
//! host memory. It is exact, and it is what the OpenCL variants on a CPU are to be compared with.
//!
//! [`Lanes::Plain`] walks along a row pixel by pixel. [`Lanes::Vector`] computes four pixels, sixteen channels, from
//! the four before them, in loops that the compiler turns into vectors; where the processor has AVX2 they are
//! compiled for it. The other way is kept from that, so that the two show what vectors gain.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::MAX_RADIUS;
use base::error::{Error, Result};
use base::threads::share;
use base::verify::{self, MismatchReport};
use opencl::memory::Rgba;

pub use base::threads::all_threads;

/// How a row is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// One pixel after the other.
    Plain,
    /// Sixteen channels at once.
    Vector,
}

/// The channels that are computed at once: four pixels.
const AT_ONCE: usize = 16;
/// 2²³ + 128: added to a mean with 128 taken off, it leaves the rounded mean in the lowest byte.
const MAGIC: f32 = 8_388_736.0;

/// Filters `src` into `dst`, `width`·`height` RGBA pixels each, on `threads` threads; the calling one is among them.
///
/// # Errors
/// When a picture has another length, or the radius is more than [`MAX_RADIUS`].
pub fn filter(
    src: &[u8],
    dst: &mut [u8],
    (width, height): (usize, usize),
    radius: u32,
    threads: usize,
    lanes: Lanes,
) -> Result<()> {
    let _host = opencl::watch::on_host();
    let bytes = width * height * 4;
    if src.len() != bytes || dst.len() != bytes || radius > MAX_RADIUS {
        let why = format!("{} and {} bytes, {width}×{height} pixels, radius {radius}.", src.len(), dst.len());
        return Err(Error::new("The picture could not be filtered.", why, ""));
    }
    if bytes == 0 {
        return Ok(());
    }
    let threads = threads.clamp(1, height);
    let strip_rows = height.div_ceil(threads);
    share(dst.chunks_mut(strip_rows * width * 4).enumerate(), threads, |(n, out)| {
        Strip { src, width, height, radius: radius as usize, y0: n * strip_rows }.run(out, lanes);
    });
    Ok(())
}

/// Checks [`filter`] on all cores and in vectors, on one picture against `want`, the reference's output for it: poisoned,
/// with canaries on both sides.
///
/// # Errors
/// As [`filter`]; a wrong result is no error but a report.
pub(crate) fn check(
    src: &[u8],
    want: &[u8],
    width: u32,
    height: u32,
    radius: u32,
) -> Result<Option<MismatchReport>> {
    let size = (width as usize, height as usize);
    verify::check(want, Rgba { width: size.0 }, |before| {
        let mut after = before.to_vec();
        let picture = &mut after[verify::guard(want.len())..][..want.len()];
        filter(src, picture, size, radius, all_threads(), Lanes::Vector)?;
        Ok(after)
    })
}

/// Keeps the compiler from turning a loop with this in it into vectors; it is no instruction itself.
#[inline(always)]
fn one_by_one(lanes: Lanes) {
    if lanes == Lanes::Plain {
        compiler_fence(Ordering::SeqCst);
    }
}

/// Rows of the output that one thread computes, from `y0` on.
struct Strip<'a> {
    src: &'a [u8],
    width: usize,
    height: usize,
    radius: usize,
    y0: usize,
}

impl Strip<'_> {
    fn run(&self, out: &mut [u8], lanes: Lanes) {
        #[cfg(target_arch = "x86_64")]
        if lanes == Lanes::Vector && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, the only feature that it is compiled for.
            return unsafe { self.run_avx2(out) };
        }
        match lanes {
            Lanes::Plain => self.rows(out, Lanes::Plain),
            Lanes::Vector => self.rows(out, Lanes::Vector),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&self, out: &mut [u8]) {
        self.rows(out, Lanes::Vector);
    }

    fn line(&self, y: isize) -> &[u8] {
        let y = y.clamp(0, self.height as isize - 1) as usize;
        &self.src[y * self.width * 4..(y + 1) * self.width * 4]
    }

    #[inline(always)]
    fn rows(&self, out: &mut [u8], lanes: Lanes) {
        let (row, r) = (self.width * 4, self.radius as isize);
        // The column sums with their edges repeated: room for the window, and for vectors over both ends.
        let edge = 4 * (self.radius + 1) + AT_ONCE;
        let mut columns = vec![0u16; edge + row + edge];
        let mut changes = vec![0i32; row + 2 * AT_ONCE];
        let top = self.y0 as isize;
        // The window of the row above the strip.
        for y in top - 1 - r..top + r {
            for (sum, enters) in columns[edge..edge + row].iter_mut().zip(self.line(y)) {
                *sum += u16::from(*enters);
                one_by_one(lanes);
            }
        }
        for (y, out) in (top..).zip(out.chunks_exact_mut(row)) {
            let (enters, leaves) = (self.line(y + r), self.line(y - 1 - r));
            for ((sum, enters), leaves) in columns[edge..edge + row].iter_mut().zip(enters).zip(leaves) {
                // In this order nothing is below 0, but above 16 bits it may be for a moment.
                *sum = sum.wrapping_add(u16::from(*enters)).wrapping_sub(u16::from(*leaves));
                one_by_one(lanes);
            }
            let (left, rest) = columns.split_at_mut(edge);
            let (middle, right) = rest.split_at_mut(row);
            left.chunks_exact_mut(4).for_each(|pixel| pixel.copy_from_slice(&middle[..4]));
            right.chunks_exact_mut(4).for_each(|pixel| pixel.copy_from_slice(&middle[row - 4..]));
            match lanes {
                Lanes::Plain => self.sum_pixels(&columns, edge, out),
                Lanes::Vector => self.sum_vectors(&columns, edge, &mut changes, out),
            }
        }
    }

    /// Sums with 128 times the window taken off, of the pixel left of the first one.
    #[inline(always)]
    fn first(&self, columns: &[u16], edge: usize, lanes: Lanes) -> [i32; 4] {
        let side = 2 * self.radius as i32 + 1;
        let mut sum = [-128 * side * side; 4];
        let from = edge - 4 * (self.radius + 1);
        for pixel in columns[from..from + 4 * (2 * self.radius + 1)].chunks_exact(4) {
            for (sum, value) in sum.iter_mut().zip(pixel) {
                *sum += i32::from(*value);
                one_by_one(lanes);
            }
        }
        sum
    }

    #[inline(always)]
    fn mean(&self, sum: i32, scale: f32) -> u8 {
        (sum as f32 * scale + MAGIC).to_bits() as u8
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        let side = 2 * self.radius as u32 + 1;
        1.0 / (side * side) as f32
    }

    #[inline(always)]
    fn sum_pixels(&self, columns: &[u16], edge: usize, out: &mut [u8]) {
        let scale = self.scale();
        let mut sum = self.first(columns, edge, Lanes::Plain);
        let enters = columns[edge + 4 * self.radius..].chunks_exact(4);
        let leaves = columns[edge - 4 * (self.radius + 1)..].chunks_exact(4);
        for ((out, enters), leaves) in out.chunks_exact_mut(4).zip(enters).zip(leaves) {
            for channel in 0..4 {
                sum[channel] += i32::from(enters[channel]) - i32::from(leaves[channel]);
                out[channel] = self.mean(sum[channel], scale);
                one_by_one(Lanes::Plain);
            }
        }
    }

    /// `changes` holds what each channel's sum gains from one pixel to the next, after zeros for one vector: from
    /// four pixels to the next four it is four of these, none of which waits for a sum.
    #[inline(always)]
    fn sum_vectors(&self, columns: &[u16], edge: usize, changes: &mut [i32], out: &mut [u8]) {
        let scale = self.scale();
        let row = out.len();
        let enters = &columns[edge + 4 * self.radius..][..row];
        let leaves = &columns[edge - 4 * (self.radius + 1)..][..row];
        for ((change, enters), leaves) in changes[AT_ONCE..].iter_mut().zip(enters).zip(leaves) {
            *change = i32::from(*enters) - i32::from(*leaves);
        }
        // Before the picture nothing changes, so the four sums there may be thought equal.
        let first = self.first(columns, edge, Lanes::Vector);
        let mut sum = [0i32; AT_ONCE];
        sum.chunks_exact_mut(4).for_each(|pixel| pixel.copy_from_slice(&first));
        let mut at = 0;
        while at < row {
            let window: &[i32; AT_ONCE + 12] = match changes[at + 4..].first_chunk() {
                Some(window) => window,
                None => return,
            };
            for lane in 0..AT_ONCE {
                sum[lane] += (window[lane] + window[lane + 4]) + (window[lane + 8] + window[lane + 12]);
            }
            let pixels: [u8; AT_ONCE] = sum.map(|sum| self.mean(sum, scale));
            match out[at..].first_chunk_mut() {
                Some(out) => *out = pixels,
                None => out[at..].copy_from_slice(&pixels[..row - at]),
            }
            at += AT_ONCE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::noise;
    use crate::reference::reference;

    fn check(src: &[u8], (w, h): (usize, usize), radius: u32) {
        let want = reference(src, w, h, radius as usize);
        for threads in [1, 2, 3, 64] {
            for lanes in [Lanes::Plain, Lanes::Vector] {
                let mut got: Vec<u8> = want.iter().map(|v| !v).collect();
                filter(src, &mut got, (w, h), radius, threads, lanes).unwrap();
                assert!(got == want, "{w}×{h} r={radius}, {threads} threads, {lanes:?}");
            }
        }
    }

    #[test]
    fn equals_the_reference() {
        for w in 1..=20 {
            for radius in [0, 1, 5, 40, MAX_RADIUS - 1, MAX_RADIUS] {
                check(&noise(w * 7 * 4), (w, 7), radius);
                check(&vec![255; w * 7 * 4], (w, 7), radius);
            }
        }
        for (w, h) in [(1, 1), (1, 37), (131, 67), (640, 3)] {
            for radius in [0, 3, 31, 63, 64, MAX_RADIUS] {
                check(&noise(w * h * 4), (w, h), radius);
            }
        }
    }

    #[test]
    fn wrong_lengths_and_radii_are_errors() {
        let run = |src: usize, dst: usize, radius| {
            filter(&vec![0; src], &mut vec![0; dst], (2, 2), radius, 2, Lanes::Vector)
        };
        assert!(run(16, 16, MAX_RADIUS).is_ok());
        assert!(run(15, 16, 1).is_err() && run(16, 17, 1).is_err() && run(16, 16, 129).is_err());
    }
}
