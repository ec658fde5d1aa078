//! The reference implementation of the conversion from planes to RGBA8 that [`color`](super) defines; it computes one pixel at
//! a time.

use super::{Coefficients, Component, Family, Layout};
use base::error::{Error, Result};
use base::threads::{all_threads, share};

/// Converts the picture in a packed block to RGBA8, without colour correction, in strips on all threads.
///
/// # Errors
/// When the size of `block` or `rgba` does not match `layout`.
pub fn convert_reference(layout: &Layout, block: &[u8], rgba: &mut [u8]) -> Result<()> {
    if block.len() < layout.bytes() || rgba.len() != layout.rgba_bytes() {
        let why = format!("{} bytes do not fit {}×{} pixels.", rgba.len(), layout.width, layout.height);
        return Err(Error::new("Cannot convert the picture.", why, ""));
    }
    let threads = all_threads();
    let rows = (layout.height as usize).div_ceil(4 * threads).max(1);
    let strips = rgba.chunks_mut((rows * layout.width as usize * 4).max(1)).enumerate();
    share(strips, threads, |(number, out)| convert_rows(layout, block, number * rows, out));
    Ok(())
}

/// Converts rows of the picture in a packed block to RGBA8, from `first_row` on, as many as fit into `rgba`. The sizes must
/// match `layout`.
pub fn convert_rows(layout: &Layout, block: &[u8], first_row: usize, rgba: &mut [u8]) {
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

/// Returns the sample of a component at column `x` and row `y` of the component's own samples, as a number of `layout.depth`
/// bits.
pub fn sample(layout: &Layout, block: &[u8], component: Component, x: usize, y: usize) -> i32 {
    let at = component.offset as usize + component.stride as usize * y + component.step as usize * x;
    let stored = match layout.wide {
        false => u32::from(block[at]),
        true => u32::from(u16::from_le_bytes([block[2 * at], block[2 * at + 1]])),
    };
    ((stored >> layout.shift) & ((1 << layout.depth) - 1)) as i32
}

/// Returns a chroma component at pixel (`x`, `y`), interpolated between the chroma samples around the pixel (step 1 of the
/// [contract](super)), in 1/16 of a level.
fn upsampled(layout: &Layout, block: &[u8], component: Component, x: usize, y: usize) -> i32 {
    let rows = rows_around(layout, y);
    let at_column = |(column, weight): (usize, i32)| {
        let sum: i32 =
            rows.iter().map(|&(row, eighths)| eighths * sample(layout, block, component, column, row)).sum();
        weight * ((sum + 1) >> 1)
    };
    columns_around(layout, x).map(at_column).iter().sum()
}

/// Returns the two columns of chroma between which pixel `x` lies, with their weights, which sum up to 4.
fn columns_around(layout: &Layout, x: usize) -> [(usize, i32); 2] {
    if !layout.subsampled.0 {
        return [(x, 4), (x, 0)];
    }
    let last = layout.width.div_ceil(2) as i64 - 1;
    let quarters = 2 * x as i64 - i64::from(layout.siting.0);
    let (index, fraction) = (quarters.div_euclid(4), quarters.rem_euclid(4) as i32);
    [(index.clamp(0, last) as usize, 4 - fraction), ((index + 1).clamp(0, last) as usize, fraction)]
}

/// Returns the two rows of chroma between which line `y` of the picture lies, with their weights, which sum up to 8. In an
/// interlaced picture both rows belong to the field of the line.
fn rows_around(layout: &Layout, y: usize) -> [(usize, i32); 2] {
    if !layout.subsampled.1 {
        return [(y, 8), (y, 0)];
    }
    // All in halves of a line. The line may use the rows first, first + step, …
    let (first, step) = if layout.interlaced { (y as i64 % 2, 2) } else { (0, 1) };
    let place = |row: i64| 4 * row + i64::from(layout.siting.1);
    let distance = place(step) - place(0);
    let beyond = 2 * y as i64 - place(first);
    let (index, eighths) = (beyond.div_euclid(distance), (8 * beyond.rem_euclid(distance) / distance) as i32);
    let last = (i64::from(layout.height.div_ceil(2)) - 1 - first) / step;
    let row = |index: i64| (first + step * index.clamp(0, last)) as usize;
    [(row(index), 8 - eighths), (row(index + 1), eighths)]
}
