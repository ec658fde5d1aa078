//! Test pictures for the conversion and correction kernels: blocks of samples that cover every part of the contract, and the
//! reference's output for them.

use base::error::Result;
use base::memory::zeroed;
use base::random::Xorshift;
use opencl::watch;
use video::color::{Correction, Layout, Matrix, convert_reference};

/// The kinds of samples with which a test picture is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Smallest and largest samples, random ones, and greyish ones, of which no channel is clamped, in random order. Bits
    /// that hold no sample are noise.
    Mixed,
    /// All samples have the largest value.
    Largest,
    /// All bits are zero.
    Zero,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Pattern; 3] = [Pattern::Mixed, Pattern::Largest, Pattern::Zero];
}

/// Returns a block of samples with this layout and pattern. Equal arguments give equal blocks.
///
/// # Errors
/// Returns an error if memory runs out.
pub fn block(layout: &Layout, pattern: Pattern, seed: u32) -> Result<Vec<u8>> {
    let mut block = zeroed(layout.bytes().next_multiple_of(4))?;
    if pattern == Pattern::Zero {
        return Ok(block);
    }
    let mut random = Xorshift::new(seed.wrapping_mul(0x9e37_79b9) | 1);
    // The contract ignores other bits of a decoded picture; filtered planes have none.
    let junk = layout.fraction == 0 && pattern == Pattern::Mixed;
    if junk {
        for four in block.chunks_exact_mut(4) {
            four.copy_from_slice(&random.draw().to_le_bytes());
        }
    }
    let (all, largest) = ((1u32 << layout.depth) - 1, (1u32 << layout.depth) - (1 << layout.fraction));
    for (index, component) in layout.components.iter().enumerate().take(layout.count()) {
        let (columns, rows) = layout.size_of(index);
        for y in 0..rows {
            for x in 0..columns {
                let drawn = random.draw();
                let value = match (pattern, drawn >> 30) {
                    (Pattern::Largest, _) => largest,
                    (_, 0) => largest * (drawn & 1),
                    (_, 1) => (drawn & all).min(largest),
                    _ => (3 << (layout.depth - 3)) + (drawn & (all >> 2)),
                };
                let at = (component.offset + component.stride * y + component.step * x) as usize;
                store(layout, &mut block, at, value);
            }
        }
    }
    Ok(block)
}

/// Writes a sample at the index `at`, and keeps the other bits.
fn store(layout: &Layout, block: &mut [u8], at: usize, value: u32) {
    let mask = ((1u32 << layout.depth) - 1) << layout.shift;
    if layout.wide {
        let beside = u32::from(u16::from_le_bytes([block[2 * at], block[2 * at + 1]])) & !mask;
        block[2 * at..2 * at + 2].copy_from_slice(&((value << layout.shift | beside) as u16).to_le_bytes());
    } else {
        block[at] = (value << layout.shift | u32::from(block[at]) & !mask) as u8;
    }
}

/// Returns the reference's conversion of a block with this correction, computed on all threads.
///
/// # Errors
/// Returns an error if memory runs out, or the block is too small.
pub fn expected(layout: &Layout, block: &[u8], correction: &Correction) -> Result<Vec<u8>> {
    let _host = watch::on_host();
    let mut rgba = zeroed(layout.rgba_bytes())?;
    convert_reference(layout, block, &mut rgba)?;
    corrected(&mut rgba, correction, layout.matrix);
    Ok(rgba)
}

/// Corrects pixels in place by the reference. Does nothing if the correction is neutral.
pub fn corrected(rgba: &mut [u8], correction: &Correction, matrix: Matrix) {
    if !correction.is_neutral() {
        video::color::correct_reference(rgba, correction, matrix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use video::color::reference::convert_rows;

    #[test]
    fn a_mixed_picture_has_levels_of_all_kinds() {
        for layout in [Layout::planar_420(66, 33, false), Layout::planar_420(66, 33, true).filtered()] {
            let block = block(&layout, Pattern::Mixed, 1).unwrap();
            let rgba = expected(&layout, &block, &Correction::NEUTRAL).unwrap();
            let colours: Vec<u8> = rgba.chunks_exact(4).flat_map(|p| p[..3].to_vec()).collect();
            let share =
                |of: fn(&u8) -> bool| colours.iter().filter(|v| of(v)).count() as f64 / colours.len() as f64;
            assert!(share(|v| *v == 0) > 0.02 && share(|v| *v == 255) > 0.02, "some are cut off");
            assert!(share(|v| (1..=254).contains(v)) > 0.4, "most are not");
            assert!(rgba.chunks_exact(4).all(|p| p[3] == 255));
        }
    }

    #[test]
    fn strips_on_threads_equal_the_whole() {
        let layout = Layout::planar_420(31, 19, false);
        let block = block(&layout, Pattern::Mixed, 3).unwrap();
        let mut plain = vec![0; layout.rgba_bytes()];
        convert_rows(&layout, &block, 0, &mut plain);
        assert_eq!(expected(&layout, &block, &Correction::NEUTRAL).unwrap(), plain);
    }

    #[test]
    fn fewer_rows_are_a_smaller_picture() {
        let layout = Layout::planar_420(34, 30, true);
        let part = layout.with_rows(5);
        assert_eq!((part.width, part.height), (34, 5));
        assert_eq!(part.planes.map(|p| p.rows), [5, 3, 3, 0]);
        assert_eq!(part.planes.map(|p| p.stride), layout.planes.map(|p| p.stride));
        assert_eq!(part.with_rows(30), layout);
    }
}
