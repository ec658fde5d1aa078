//! The reference of the [filter on planes](super). No code is shared with a kernel.

use super::Window;
use base::error::{Error, Result};
use video::color::Layout;
use video::color::reference::sample;

/// Filters a packed block, each sample with its whole window. The result has the layout [`Layout::filtered`]; bytes between
/// rows are 0.
///
/// # Errors
/// Returns an error if `block` is smaller than `layout` requires.
pub fn planar_reference(layout: &Layout, block: &[u8], radius: u32) -> Result<Vec<u8>> {
    filter_with(layout, block, radius, window_sums)
}

/// Filters a packed block as [`planar_reference`] does, but with prefix sums, so that the work does not depend on the radius:
/// some tens of milliseconds for common picture sizes.
///
/// # Errors
/// Returns an error as [`planar_reference`] does.
pub fn planar_quick(layout: &Layout, block: &[u8], radius: u32) -> Result<Vec<u8>> {
    filter_with(layout, block, radius, window_sums_by_prefix)
}

/// A function that returns the weighted sum of the window around each sample of a line.
type Filter = fn(&Window, &[u64]) -> Vec<u64>;

/// Filters a block along both axes; `filter` is the implementation of the weighted window.
fn filter_with(layout: &Layout, block: &[u8], radius: u32, filter: Filter) -> Result<Vec<u8>> {
    let _host = opencl::watch::on_host();
    if block.len() < layout.bytes() {
        let why = format!("{} bytes do not hold {}×{} pixels.", block.len(), layout.width, layout.height);
        return Err(Error::new("The planes could not be filtered.", why, ""));
    }
    let to = layout.filtered();
    let mut out = vec![0; to.bytes()];
    for index in 0..layout.count() {
        let (width, height) = layout.size_of(index);
        let (width, height) = (width as usize, height as usize);
        let (subsampled_x, subsampled_y) = layout.subsampled_of(index);
        let (across, down) = (Window::new(radius, subsampled_x), Window::new(radius, subsampled_y));
        let weights = u64::from(across.total()) * u64::from(down.total());
        let scale = (f64::from(1u32 << to.fraction) / weights as f64) as f32;
        let samples: Vec<u64> = (0..width * height)
            .map(|i| sample(layout, block, layout.components[index], i % width, i / width) as u64)
            .collect();
        // The sums are integers, so the order of additions does not matter.
        let mut columns = vec![0; width * height];
        for x in 0..width {
            let column: Vec<u64> = (0..height).map(|y| samples[y * width + x]).collect();
            for (y, sum) in filter(&down, &column).into_iter().enumerate() {
                columns[y * width + x] = sum;
            }
        }
        let (start, stride) = (to.components[index].offset as usize, to.components[index].stride as usize);
        for (y, line) in columns.chunks_exact(width).enumerate() {
            for (x, sum) in filter(&across, line).into_iter().enumerate() {
                let mean = (sum as f32 * scale).round_ties_even() as u16;
                let at = 2 * (start + stride * y + x);
                out[at..at + 2].copy_from_slice(&mean.to_le_bytes());
            }
        }
    }
    Ok(out)
}

/// A [`Filter`] that adds all samples of each window; edges are repeated.
fn window_sums(window: &Window, line: &[u64]) -> Vec<u64> {
    let reach = i64::from(window.reach);
    let sum = |middle: usize| {
        (-reach - 1..=reach + 1)
            .map(|i| {
                let weight = if i.abs() > reach { window.end } else { window.full };
                let at = (middle as i64 + i).clamp(0, line.len() as i64 - 1) as usize;
                u64::from(weight) * line[at]
            })
            .sum()
    };
    (0..line.len()).map(sum).collect()
}

/// A [`Filter`] that computes each sum as a difference of prefix sums; edges are repeated.
fn window_sums_by_prefix(window: &Window, line: &[u64]) -> Vec<u64> {
    let (Some(&left), Some(&right)) = (line.first(), line.last()) else { return Vec::new() };
    let edge = window.reach as usize + 1;
    let mut padded = vec![left; edge];
    padded.extend_from_slice(line);
    padded.resize(edge + line.len() + edge, right);
    // The sum of all samples before each one.
    let mut prefix = vec![0; padded.len() + 1];
    for (at, sample) in padded.iter().enumerate() {
        prefix[at + 1] = prefix[at] + sample;
    }
    let (full, end) = (u64::from(window.full), u64::from(window.end));
    (0..line.len())
        .map(|at| {
            let last = at + 2 * edge;
            full * (prefix[last] - prefix[at + 1]) + end * (padded[at] + padded[last])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_RADIUS;
    use crate::pictures::noise;

    #[test]
    fn prefix_sums_equal_the_definition() {
        for (width, height) in [(1, 1), (1, 9), (11, 1), (6, 5), (31, 18)] {
            for wide in [false, true] {
                let layout = Layout::planar_420(width, height, wide);
                let block = noise(layout.bytes());
                for radius in [0, 1, 2, 3, 8, 31, 40, 41, MAX_RADIUS] {
                    let plain = planar_reference(&layout, &block, radius).unwrap();
                    let quick = planar_quick(&layout, &block, radius).unwrap();
                    assert!(quick == plain, "{width}×{height} r={radius}");
                }
            }
        }
    }
}
