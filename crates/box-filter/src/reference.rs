//! The reference of the box filter in scalar Rust, whose output every variant must equal. Pictures are RGBA with 8 bits per
//! channel and `width`·4 bytes per row. No code is shared with a kernel.

use std::ops::Range;

use base::threads::{all_threads, share};

/// The number of pixel reads above which [`reference()`] uses the summed-area table instead of the plain loop.
const MAX_PLAIN_READS: f64 = 5e8;
/// The number of pixel reads above which [`quick`] uses the summed-area table instead of the plain loop.
const MAX_QUICK_READS: f64 = 1e6;

/// Returns the filtered picture, by [`plain`] unless that would take seconds, otherwise by [`summed_area`].
/// `src` must hold `width`·`height` pixels.
pub fn reference(src: &[u8], width: usize, height: usize, radius: usize) -> Vec<u8> {
    plain_or_table(src, (width, height), radius, MAX_PLAIN_READS)
}

/// Returns the filtered picture as [`reference()`] does, but within some tens of milliseconds for common picture sizes: most
/// use [`summed_area`].
pub fn quick(src: &[u8], width: usize, height: usize, radius: usize) -> Vec<u8> {
    plain_or_table(src, (width, height), radius, MAX_QUICK_READS)
}

/// Filters by [`plain`] if that reads at most `max_reads` pixels, otherwise by [`summed_area`].
fn plain_or_table(src: &[u8], (width, height): (usize, usize), radius: usize, max_reads: f64) -> Vec<u8> {
    let _host = opencl::watch::on_host();
    let side = (2 * radius + 1) as f64;
    match width as f64 * height as f64 * side * side <= max_reads {
        true => plain(src, width, height, radius),
        false => summed_area(src, width, height, radius),
    }
}

/// Returns the filtered picture, by four nested loops as in the definition.
pub fn plain(src: &[u8], width: usize, height: usize, radius: usize) -> Vec<u8> {
    let (w, h, r) = (width as i64, height as i64, radius as i64);
    let window_pixels = (2 * r + 1) * (2 * r + 1);
    let mut out = vec![0; width * height * 4];
    for y in 0..h {
        for x in 0..w {
            let mut sum = [0i64; 4];
            for v in y - r..=y + r {
                let row = v.clamp(0, h - 1) * w;
                for u in x - r..=x + r {
                    let at = ((row + u.clamp(0, w - 1)) * 4) as usize;
                    for (sum, value) in sum.iter_mut().zip(&src[at..at + 4]) {
                        *sum += i64::from(*value);
                    }
                }
            }
            let at = ((y * w + x) * 4) as usize;
            for (out, sum) in out[at..at + 4].iter_mut().zip(sum) {
                *out = ((sum + window_pixels / 2) / window_pixels) as u8;
            }
        }
    }
    out
}

/// Returns the filtered picture, by summed-area tables (F. Crow, "Summed-area tables for texture mapping", 1984), whose work
/// does not depend on the radius. A table covers some rows of the picture and the windows around them, with the picture's
/// edge repeated; threads share the rows.
pub fn summed_area(src: &[u8], width: usize, height: usize, radius: usize) -> Vec<u8> {
    let mut out = vec![0; width * height * 4];
    if out.is_empty() {
        return out;
    }
    let side = 2 * radius + 1;
    let window_pixels = (side * side) as u32;
    // Each thread has a table of its own.
    let threads = all_threads().min(height).min(4);
    // The fewer the strips, the fewer windows are summed twice; the more, the smaller a table.
    let rows = height.div_ceil(threads).min(side.max(64));
    let strips = out.chunks_mut(rows * width * 4).enumerate();
    share(strips, threads, |(number, out)| {
        let first = number * rows;
        let strip = first..first + out.len() / (width * 4);
        let (table, table_width) = sums_above_and_left(src, (width, height), radius, strip);
        for (y, line) in out.chunks_exact_mut(width * 4).enumerate() {
            let (top, bottom) = (y * table_width, (y + side) * table_width);
            for (x, pixel) in line.chunks_exact_mut(4).enumerate() {
                let corners =
                    [table[bottom + x + side], table[top + x], table[bottom + x], table[top + x + side]];
                for (channel, out) in pixel.iter_mut().enumerate() {
                    let [all, above_left, left, above] = corners.map(|corner| corner[channel]);
                    let sum = all.wrapping_add(above_left).wrapping_sub(left).wrapping_sub(above);
                    *out = ((sum + window_pixels / 2) / window_pixels) as u8;
                }
            }
        }
    });
    out
}

/// Returns the summed-area table of these rows and the windows around them, and its width. Its entry (u, v) is the sum of the
/// padded picture above and left of (u, v), both exclusive, from the strip's top on. It may overflow 32 bits, but a window's
/// sum, a difference of four entries, is at most 255·257².
fn sums_above_and_left(
    src: &[u8],
    (width, height): (usize, usize),
    radius: usize,
    rows: Range<usize>,
) -> (Vec<[u32; 4]>, usize) {
    let (table_width, table_height) = (width + 2 * radius + 1, rows.len() + 2 * radius + 1);
    let mut table = vec![[0u32; 4]; table_width * table_height];
    for v in 1..table_height {
        let y = (rows.start + v - 1).saturating_sub(radius).min(height - 1);
        let mut row_sum = [0u32; 4];
        for u in 1..table_width {
            let x = (u - 1).saturating_sub(radius).min(width - 1);
            let at = (y * width + x) * 4;
            for (channel, sum) in row_sum.iter_mut().enumerate() {
                *sum += u32::from(src[at + channel]);
                table[v * table_width + u][channel] =
                    table[(v - 1) * table_width + u][channel].wrapping_add(*sum);
            }
        }
    }
    (table, table_width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_RADIUS;
    use crate::pictures::noise;

    #[test]
    fn the_table_equals_the_plain_loop() {
        for (w, h) in [(1, 1), (1, 9), (9, 1), (2, 3), (13, 7), (31, 33), (5, 150)] {
            for r in [0, 1, 2, 7, 16, 40, MAX_RADIUS as usize] {
                for src in [noise(w * h * 4), vec![255; w * h * 4], vec![0; w * h * 4]] {
                    let filtered = plain(&src, w, h, r);
                    assert_eq!(filtered, summed_area(&src, w, h, r), "{w}×{h} r={r}");
                    assert!(r > 0 || filtered == src, "{w}×{h}: radius 0 changes nothing");
                }
            }
        }
    }

    #[test]
    fn known_values() {
        // Three pixels in a row, r=1: columns repeat, so the mean is that of three neighbours.
        let src = [0, 9, 0, 255, 3, 9, 100, 255, 9, 9, 0, 255];
        assert_eq!(plain(&src, 3, 1, 1), [1, 9, 33, 255, 4, 9, 33, 255, 7, 9, 33, 255]);
        // Half is impossible, N being odd; 4/9 goes down and 5/9 up.
        let mut src = vec![0; 36];
        src[0] = 1; // the corner counts four times in its own window
        src[2 * 4 + 1] = 1;
        src[8 * 4 + 1] = 1;
        let out = plain(&src, 3, 3, 1);
        assert_eq!(out[0], 0);
        src[4] = 1; // one more pixel, counted twice: 6/9
        assert_eq!(plain(&src, 3, 3, 1)[0], 1);
    }
}
