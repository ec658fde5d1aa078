//! The contract of the [filter on planes](super), computed plainly: every sample with its whole window. Nothing here is
//! shared with a kernel.

use super::Window;
use crate::convert::Layout;
use crate::error::{Error, Result};

/// Filters a packed block: the result is one of [`Layout::filtered`]. What lies between its rows is 0.
///
/// # Errors
/// `block` is smaller than `layout` says.
pub fn planar_reference(layout: &Layout, block: &[u8], radius: u32) -> Result<Vec<u8>> {
    if block.len() < layout.bytes() {
        let why = format!("{} bytes do not hold {}×{} pixels.", block.len(), layout.width, layout.height);
        return Err(Error::new("The planes could not be filtered.", why, ""));
    }
    let to = layout.filtered();
    let mut out = vec![0; to.bytes()];
    for index in 0..layout.count() {
        let (width, height) = layout.size_of(index);
        let (width, height) = (width as usize, height as usize);
        let (halved_x, halved_y) = layout.halved_of(index);
        let (across, down) = (Window::new(radius, halved_x), Window::new(radius, halved_y));
        let weights = u64::from(across.total()) * u64::from(down.total());
        let scale = (f64::from(1u32 << to.fraction) / weights as f64) as f32;
        let samples: Vec<u64> = (0..width * height)
            .map(|i| u64::from(sample(layout, block, index, i % width, i / width)))
            .collect();
        // The sums are whole, so that the order in which they are added changes nothing.
        let columns: Vec<u64> = (0..width * height)
            .map(|i| weighted(&down, i / width, height, |y| samples[y * width + i % width]))
            .collect();
        let (start, stride) = (to.components[index].offset as usize, to.components[index].stride as usize);
        for y in 0..height {
            for x in 0..width {
                let sum = weighted(&across, x, width, |x| columns[y * width + x]);
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

/// The sum of a window around `middle` on an axis of `length` samples, whose edges repeat.
fn weighted(window: &Window, middle: usize, length: usize, sample: impl Fn(usize) -> u64) -> u64 {
    let reach = i64::from(window.reach);
    (-reach - 1..=reach + 1)
        .map(|i| {
            let weight = if i.abs() > reach { window.end } else { window.full };
            let at = (middle as i64 + i).clamp(0, length as i64 - 1) as usize;
            u64::from(weight) * sample(at)
        })
        .sum()
}
