//! Blocking runs of the filter on planes, to compare its output with the reference.

use crate::BuiltVariant;
use crate::run::Checker;
use base::error::Result;
use base::memory::zeroed;
use base::verify::MismatchReport;
use opencl::cl::ClContext;
use video::color::Layout;

/// Converts an RGBA picture to 4:2:0 planes with 8 bits in BT.709 with limited range, as in a movie. Chroma is the mean of two
/// by two pixels.
///
/// # Errors
/// Returns an error if memory runs out.
pub fn planes_of(rgba: &[u8], width: u32, height: u32) -> Result<(Layout, Vec<u8>)> {
    let layout = Layout::planar_420(width, height, false);
    let mut block = zeroed(layout.bytes())?;
    let (w, h) = (width as usize, height as usize);
    let row = |index: usize, y: usize| layout.planes[index].offset + y * layout.planes[index].stride;
    for (y, line) in rgba.chunks_exact(4 * w).enumerate() {
        let to = &mut block[row(0, y)..row(0, y) + w];
        for (to, pixel) in to.iter_mut().zip(line.chunks_exact(4)) {
            *to = (16.5 + weighted_sum(pixel, [0.182_586, 0.614_231, 0.062_007])) as u8;
        }
    }
    for y in 0..h.div_ceil(2) {
        for x in 0..w.div_ceil(2) {
            let mut sum = [0.0; 2];
            for pixel in 0..4 {
                let (u, v) = ((2 * x + pixel % 2).min(w - 1), (2 * y + pixel / 2).min(h - 1));
                let pixel = &rgba[4 * (v * w + u)..][..4];
                sum[0] += weighted_sum(pixel, [-0.100_644, -0.338_572, 0.439_216]);
                sum[1] += weighted_sum(pixel, [0.439_216, -0.398_942, -0.040_274]);
            }
            for (index, sum) in [1, 2].into_iter().zip(sum) {
                block[row(index, y) + x] = (128.5 + sum / 4.0) as u8;
            }
        }
    }
    Ok((layout, block))
}

/// Returns the weighted sum of a pixel's red, green and blue.
fn weighted_sum(pixel: &[u8], weights: [f32; 3]) -> f32 {
    pixel.iter().zip(weights).map(|(&value, weight)| f32::from(value) * weight).sum()
}

/// Planes packed into a block, and the reference's output for them.
#[derive(Debug, Clone, Copy)]
pub struct FilteredPlanes<'a> {
    /// The layout of the block.
    pub layout: Layout,
    /// The radius of the filter.
    pub radius: u32,
    /// The packed planes before the filter.
    pub block: &'a [u8],
    /// The filtered samples of the reference, which are expected.
    pub want: &'a [u8],
}

/// Filters one block and compares the result with the reference's output. `cuts` are the rows at which the run is split; if
/// empty, all rows run at once. The report counts samples; their values are in levels of 8 bits.
///
/// # Errors
/// Returns an error if the filter cannot run. A wrong result is not an error but returned as a report.
pub fn check(
    cl: &ClContext,
    filter: &BuiltVariant,
    &FilteredPlanes { layout, radius, block, want }: &FilteredPlanes,
    cuts: &[u32],
) -> Result<Option<MismatchReport>> {
    let (whole, mut block) = (filter.id().planes_extent(layout, radius), block.to_vec());
    block.resize(whole.bytes()[0], 0);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([whole.height]);
    let bands: Vec<_> = starts.zip(ends).map(|(start, end)| start..end).collect();
    let checker = Checker::new(cl, filter, whole)?;
    checker.check_with(&mut checker.buffers(&block, want)?, want, |_| bands.clone())
}
