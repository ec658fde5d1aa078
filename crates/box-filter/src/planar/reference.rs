//! The contract of the [filter on planes](super), computed plainly: every sample with its whole window. Nothing here is
//! shared with a kernel.

use super::Window;
use base::error::{Error, Result};
use video::color::Layout;

/// Filters a packed block: the result is one of [`Layout::filtered`]. What lies between its rows is 0.
///
/// # Errors
/// `block` is smaller than `layout` says.
pub fn planar_reference(layout: &Layout, block: &[u8], radius: u32) -> Result<Vec<u8>> {
    filtered(layout, block, radius, plainly)
}

/// The same with sums of lines up to each sample, whose work does not depend on the radius: some tens of milliseconds for
/// pictures of usual sizes.
///
/// # Errors
/// As [`planar_reference`].
pub fn planar_quick(layout: &Layout, block: &[u8], radius: u32) -> Result<Vec<u8>> {
    filtered(layout, block, radius, by_sums)
}

/// What a window makes of a line of samples.
type Filter = fn(&Window, &[u64]) -> Vec<u64>;

fn filtered(layout: &Layout, block: &[u8], radius: u32, filter: Filter) -> Result<Vec<u8>> {
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
            .map(|i| u64::from(sample(layout, block, index, i % width, i / width)))
            .collect();
        // The sums are whole, so that the order in which they are added changes nothing.
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

fn sample(layout: &Layout, block: &[u8], index: usize, x: usize, y: usize) -> u32 {
    let component = layout.components[index];
    let at = component.offset as usize + component.stride as usize * y + component.step as usize * x;
    let stored = match layout.wide {
        false => u32::from(block[at]),
        true => u32::from(u16::from_le_bytes([block[2 * at], block[2 * at + 1]])),
    };
    stored >> layout.shift & ((1 << layout.depth) - 1)
}

/// The sums of the windows around each sample of a line, whose edges repeat: every sample with its weight.
fn plainly(window: &Window, line: &[u64]) -> Vec<u64> {
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

/// The same by differences of sums.
fn by_sums(window: &Window, line: &[u64]) -> Vec<u64> {
    let (Some(&left), Some(&right)) = (line.first(), line.last()) else { return Vec::new() };
    let edge = window.reach as usize + 1;
    let mut padded = vec![left; edge];
    padded.extend_from_slice(line);
    padded.resize(edge + line.len() + edge, right);
    // The sum of all before each sample.
    let mut before = vec![0; padded.len() + 1];
    for (at, sample) in padded.iter().enumerate() {
        before[at + 1] = before[at] + sample;
    }
    let (full, end) = (u64::from(window.full), u64::from(window.end));
    (0..line.len())
        .map(|at| {
            let last = at + 2 * edge;
            full * (before[last] - before[at + 1]) + end * (padded[at] + padded[last])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_RADIUS;
    use crate::pictures::noise;

    #[test]
    fn sums_of_lines_give_what_the_definition_does() {
        for (width, height) in [(1, 1), (1, 9), (11, 1), (6, 5), (31, 18)] {
            for wide in [false, true] {
                let layout = Layout::planar_420(width, height, wide);
                let block = noise(layout.bytes());
                for radius in [0, 1, 2, 3, 8, 31, 40, 41, MAX_RADIUS] {
                    let plain = planar_reference(&layout, &block, radius).unwrap();
                    assert!(
                        planar_quick(&layout, &block, radius).unwrap() == plain,
                        "{width}×{height} r={radius}"
                    );
                }
            }
        }
    }
}
