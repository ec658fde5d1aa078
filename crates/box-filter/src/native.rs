//! The box filter without OpenCL: the algorithm of `06_fused.cl` in Rust, on threads, from and to RGBA pixels in host memory.
//! Its output is exact, and OpenCL variants on a CPU are compared with its speed.
//!
//! [`Lanes::Plain`] computes a row pixel by pixel. [`Lanes::Vector`] computes four pixels (sixteen channels) from the previous
//! four, in loops that the compiler vectorises, with AVX2 where the CPU has it. Vectorisation of the plain loops is prevented,
//! so that their times show the gain from vectors.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::MAX_RADIUS;
use base::error::{Error, Result};
use base::threads::share;

pub use base::threads::all_threads;

/// The number of channels that the filter computes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// One pixel after the other, without vector instructions.
    Plain,
    /// Sixteen channels at once, in loops that the compiler vectorises.
    Vector,
}

/// The number of channels that are computed at once: those of four pixels.
const VECTOR_CHANNELS: usize = 16;
/// The number 2²³ + 128. Added to a mean minus 128, it leaves the rounded mean in the lowest byte of the float.
const ROUNDING_OFFSET: f32 = 8_388_736.0;

/// The threads that filter a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    /// Their number; the calling thread is one of them.
    pub count: usize,
    /// The number of channels that each of them filters at once.
    pub lanes: Lanes,
}

/// An RGBA picture, and the radius at which it is filtered.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The pixels.
    pub pixels: &'a [u8],
    /// The width and height.
    pub size: (u32, u32),
    /// The radius in pixels.
    pub radius: u32,
}

impl Input<'_> {
    /// Filters the picture into `dst`.
    ///
    /// # Errors
    /// Returns an error if a picture has another length, or the radius is more than [`MAX_RADIUS`].
    pub fn filter(&self, dst: &mut [u8], threads: Threads) -> Result<()> {
        let _host = opencl::watch::on_host();
        let Self { pixels: src, size, radius } = *self;
        let (width, height) = (size.0 as usize, size.1 as usize);
        let bytes = width * height * 4;
        if src.len() != bytes || dst.len() != bytes || radius > MAX_RADIUS {
            let why =
                format!("{} and {} bytes, {width}×{height} pixels, radius {radius}.", src.len(), dst.len());
            return Err(Error::new("The picture could not be filtered.", why, ""));
        }
        if bytes == 0 {
            return Ok(());
        }
        let count = threads.count.clamp(1, height);
        let strip_rows = height.div_ceil(count);
        share(dst.chunks_mut(strip_rows * width * 4).enumerate(), count, |(n, out)| {
            Strip { src, width, height, radius: radius as usize, y0: n * strip_rows }.run(out, threads.lanes);
        });
        Ok(())
    }
}

/// Prevents the compiler from vectorising the loop that calls this; generates no instruction.
#[inline(always)]
fn prevent_vectorization(lanes: Lanes) {
    if lanes == Lanes::Plain {
        compiler_fence(Ordering::SeqCst);
    }
}

/// Rows of the output, from `y0` on, that one thread computes.
struct Strip<'a> {
    src: &'a [u8],
    width: usize,
    height: usize,
    radius: usize,
    y0: usize,
}

impl Strip<'_> {
    /// Filters as many rows, from the strip's first row on, as `out` holds, with AVX2 if the CPU has it and `lanes` allows it.
    fn run(&self, out: &mut [u8], lanes: Lanes) {
        #[cfg(target_arch = "x86_64")]
        if lanes == Lanes::Vector && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has AVX2, the only feature that the function is compiled for.
            return unsafe { self.run_avx2(out) };
        }
        match lanes {
            Lanes::Plain => self.filter_rows(out, Lanes::Plain),
            Lanes::Vector => self.filter_rows(out, Lanes::Vector),
        }
    }

    /// Filters as [`Strip::filter_rows`] does, compiled for AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&self, out: &mut [u8]) {
        self.filter_rows(out, Lanes::Vector);
    }

    /// Returns the number of channels beyond each end of a row, for the window and for vectors.
    #[inline(always)]
    fn edge(&self) -> usize {
        4 * (self.radius + 1) + VECTOR_CHANNELS
    }

    /// Returns a row of the source; rows beyond the border repeat the edge.
    fn source_row(&self, y: isize) -> &[u8] {
        let y = y.clamp(0, self.height as isize - 1) as usize;
        &self.src[y * self.width * 4..(y + 1) * self.width * 4]
    }

    /// Filters as many rows, from the strip's first row on, as `out` holds.
    #[inline(always)]
    fn filter_rows(&self, out: &mut [u8], lanes: Lanes) {
        let (row, r) = (self.width * 4, self.radius as isize);
        // The column sums with their edges repeated.
        let edge = self.edge();
        let mut columns = vec![0u16; edge + row + edge];
        let mut changes = vec![0i32; row + 2 * VECTOR_CHANNELS];
        let top = self.y0 as isize;
        // The window of the row above the strip.
        for y in top - 1 - r..top + r {
            for (sum, added) in columns[edge..edge + row].iter_mut().zip(self.source_row(y)) {
                *sum += u16::from(*added);
                prevent_vectorization(lanes);
            }
        }
        for (y, out) in (top..).zip(out.chunks_exact_mut(row)) {
            let (added, removed) = (self.source_row(y + r), self.source_row(y - 1 - r));
            for ((sum, added), removed) in columns[edge..edge + row].iter_mut().zip(added).zip(removed) {
                // In this order nothing is below 0, but above 16 bits it may be for a moment.
                *sum = sum.wrapping_add(u16::from(*added)).wrapping_sub(u16::from(*removed));
                prevent_vectorization(lanes);
            }
            let (left, rest) = columns.split_at_mut(edge);
            let (middle, right) = rest.split_at_mut(row);
            left.chunks_exact_mut(4).for_each(|pixel| pixel.copy_from_slice(&middle[..4]));
            right.chunks_exact_mut(4).for_each(|pixel| pixel.copy_from_slice(&middle[row - 4..]));
            match lanes {
                Lanes::Plain => self.sum_pixels(&columns, out),
                Lanes::Vector => self.sum_vectors(&columns, &mut changes, out),
            }
        }
    }

    /// Returns the channel sums of the window left of the first pixel, minus 128 times the number of the window's pixels.
    #[inline(always)]
    fn first_window_sums(&self, columns: &[u16], lanes: Lanes) -> [i32; 4] {
        let side = 2 * self.radius as i32 + 1;
        let mut sum = [-128 * side * side; 4];
        let from = self.edge() - 4 * (self.radius + 1);
        for pixel in columns[from..from + 4 * (2 * self.radius + 1)].chunks_exact(4) {
            for (sum, value) in sum.iter_mut().zip(pixel) {
                *sum += i32::from(*value);
                prevent_vectorization(lanes);
            }
        }
        sum
    }

    /// Returns the rounded mean for a sum minus 128 times the number of the window's pixels.
    #[inline(always)]
    fn mean(&self, sum: i32, scale: f32) -> u8 {
        (sum as f32 * scale + ROUNDING_OFFSET).to_bits() as u8
    }

    /// Returns 1 divided by the number of the window's pixels.
    #[inline(always)]
    fn scale(&self) -> f32 {
        let side = 2 * self.radius as u32 + 1;
        1.0 / (side * side) as f32
    }

    /// Computes a row from its column sums, pixel by pixel.
    #[inline(always)]
    fn sum_pixels(&self, columns: &[u16], out: &mut [u8]) {
        let (edge, scale) = (self.edge(), self.scale());
        let mut sum = self.first_window_sums(columns, Lanes::Plain);
        let added = columns[edge + 4 * self.radius..].chunks_exact(4);
        let removed = columns[edge - 4 * (self.radius + 1)..].chunks_exact(4);
        for ((out, added), removed) in out.chunks_exact_mut(4).zip(added).zip(removed) {
            for channel in 0..4 {
                sum[channel] += i32::from(added[channel]) - i32::from(removed[channel]);
                out[channel] = self.mean(sum[channel], scale);
                prevent_vectorization(Lanes::Plain);
            }
        }
    }

    /// Computes a row from its column sums, four pixels at a time. `changes` receives the change of each channel's sum from
    /// one pixel to the next, after zeros for one vector. Four of these changes add up to the change from four pixels to
    /// the next four, without a dependency on a sum.
    #[inline(always)]
    fn sum_vectors(&self, columns: &[u16], changes: &mut [i32], out: &mut [u8]) {
        let (edge, scale) = (self.edge(), self.scale());
        let row = out.len();
        let added = &columns[edge + 4 * self.radius..][..row];
        let removed = &columns[edge - 4 * (self.radius + 1)..][..row];
        for ((change, added), removed) in changes[VECTOR_CHANNELS..].iter_mut().zip(added).zip(removed) {
            *change = i32::from(*added) - i32::from(*removed);
        }
        // The changes before the picture are zero, so the four sums there are equal.
        let first_window_sums = self.first_window_sums(columns, Lanes::Vector);
        let mut sum = [0i32; VECTOR_CHANNELS];
        sum.chunks_exact_mut(4).for_each(|pixel| pixel.copy_from_slice(&first_window_sums));
        let mut at = 0;
        while at < row {
            let Some(window) = changes[at + 4..].first_chunk::<{ VECTOR_CHANNELS + 12 }>() else { return };
            for lane in 0..VECTOR_CHANNELS {
                sum[lane] += (window[lane] + window[lane + 4]) + (window[lane + 8] + window[lane + 12]);
            }
            let pixels: [u8; VECTOR_CHANNELS] = sum.map(|sum| self.mean(sum, scale));
            match out[at..].first_chunk_mut() {
                Some(out) => *out = pixels,
                None => out[at..].copy_from_slice(&pixels[..row - at]),
            }
            at += VECTOR_CHANNELS;
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
        for count in [1, 2, 3, 64] {
            for lanes in [Lanes::Plain, Lanes::Vector] {
                let mut got: Vec<u8> = want.iter().map(|v| !v).collect();
                let input = Input { pixels: src, size: (w as u32, h as u32), radius };
                input.filter(&mut got, Threads { count, lanes }).unwrap();
                assert!(got == want, "{w}×{h} r={radius}, {count} threads, {lanes:?}");
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
            let input = Input { pixels: &vec![0; src], size: (2, 2), radius };
            input.filter(&mut vec![0; dst], Threads { count: 2, lanes: Lanes::Vector })
        };
        assert!(run(16, 16, MAX_RADIUS).is_ok());
        assert!(run(15, 16, 1).is_err() && run(16, 17, 1).is_err() && run(16, 16, 129).is_err());
    }
}
