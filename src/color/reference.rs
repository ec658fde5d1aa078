//! The contract of [`color`](super), computed plainly: one pixel after the other, each with all its samples.

use super::{Coefficients, Component, Family, Layout};
use crate::error::{Error, Result};
use crate::threads::{all_threads, share};

/// Converts a packed block to RGBA8, without correction.
///
/// # Errors
/// `block` or `rgba` has another size than `layout` says.
pub fn convert_reference(layout: &Layout, block: &[u8], rgba: &mut [u8]) -> Result<()> {
    let _host = crate::gpu::watch::on_host();
    expect_sizes(layout, block, rgba)?;
    convert_rows(layout, block, 0, rgba);
    Ok(())
}

/// The same, in strips on all threads.
///
/// # Errors
/// As [`convert_reference`].
pub(crate) fn convert_reference_threaded(layout: &Layout, block: &[u8], rgba: &mut [u8]) -> Result<()> {
    let _host = crate::gpu::watch::on_host();
    expect_sizes(layout, block, rgba)?;
    let threads = all_threads();
    let rows = (layout.height as usize).div_ceil(4 * threads).max(1);
    let strips = rgba.chunks_mut((rows * layout.width as usize * 4).max(1)).enumerate();
    share(strips, threads, |(number, out)| convert_rows(layout, block, number * rows, out));
    Ok(())
}

fn expect_sizes(layout: &Layout, block: &[u8], rgba: &[u8]) -> Result<()> {
    if block.len() < layout.bytes() || rgba.len() != layout.rgba_bytes() {
        let why = format!("{} bytes do not fit {}×{} pixels.", rgba.len(), layout.width, layout.height);
        return Err(Error::new("Cannot convert the picture.", why, ""));
    }
    Ok(())
}

/// Converts the rows from `first_row` on that `rgba` has room for.
pub(crate) fn convert_rows(layout: &Layout, block: &[u8], first_row: usize, rgba: &mut [u8]) {
    let coefficients = Coefficients::of(layout);
    let [first, second, third, fourth] = layout.components;
    let width = layout.width as usize;
    for (i, pixel) in rgba.chunks_exact_mut(4).enumerate() {
        let (x, y) = (i % width, first_row + i / width);
        let at = |component| 16 * sample(layout, block, component, x, y);
        let rgb = match layout.family {
            Family::Ycbcr => {
                let chroma = |component| upsampled(layout, block, component, x, y);
                coefficients.rgb(at(first), chroma(second), chroma(third))
            }
            Family::Grey => [coefficients.level(at(first)); 3],
            Family::Rgb => [first, second, third].map(|component| coefficients.level(at(component))),
        };
        pixel[..3].copy_from_slice(&rgb);
        pixel[3] = if layout.alpha { coefficients.level(at(fourth)) } else { 255 };
    }
}

fn sample(layout: &Layout, block: &[u8], component: Component, x: usize, y: usize) -> i32 {
    let at = component.offset as usize + component.stride as usize * y + component.step as usize * x;
    let stored = match layout.wide {
        false => u32::from(block[at]),
        true => u32::from(u16::from_le_bytes([block[2 * at], block[2 * at + 1]])),
    };
    ((stored >> layout.shift) & ((1 << layout.depth) - 1)) as i32
}

/// Step 1 of the contract: chroma at a pixel, in 1/16 of a level.
fn upsampled(layout: &Layout, block: &[u8], component: Component, x: usize, y: usize) -> i32 {
    let across = taps(x, layout.width as usize, layout.subsampled.0, layout.siting.0);
    let down = taps(y, layout.height as usize, layout.subsampled.1, layout.siting.1);
    let mut sum = 0;
    for (row, row_weight) in down {
        for (column, column_weight) in across {
            sum += row_weight * column_weight * sample(layout, block, component, column, row);
        }
    }
    sum
}

/// The two samples around a pixel on one axis with their weights, which sum up to 4.
fn taps(pixel: usize, pixels: usize, subsampled: bool, siting: u32) -> [(usize, i32); 2] {
    if !subsampled {
        return [(pixel, 4), (pixel, 0)];
    }
    let last = pixels.div_ceil(2) as i64 - 1;
    let quarters = 2 * pixel as i64 - i64::from(siting);
    let (index, fraction) = (quarters.div_euclid(4), quarters.rem_euclid(4) as i32);
    [(index.clamp(0, last) as usize, 4 - fraction), ((index + 1).clamp(0, last) as usize, fraction)]
}
