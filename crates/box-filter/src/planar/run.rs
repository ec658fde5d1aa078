//! Blocking runs of the filter on planes, to check it against the reference.

use super::PlanarFilter;
use crate::Scratch;
use crate::guarded::GuardedPicture;
use base::error::Result;
use base::memory::zeroed;
use base::verify::{self, Elements, MismatchReport};
use opencl::cl::{ClContext, failed};
use opencl::memory::{Picture, Storage};
use opencl::parts::require_sub_buffers;
use video::color::Layout;

/// Converts an RGBA picture to planes of 4:2:0 with 8 bits, by BT.709 in limited range, as a movie would have them. Chroma is
/// the mean of two by two pixels.
///
/// # Errors
/// When memory runs out.
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

/// Filters one block and waits. Its memory has no canaries, so that Oclgrind detects accesses beyond it.
///
/// # Errors
/// When the filter cannot run.
pub fn filter_planes_once(
    cl: &ClContext,
    filter: &PlanarFilter,
    layout: &Layout,
    block: &[u8],
    radius: u32,
) -> Result<()> {
    let memory = |bytes: usize| Picture::alloc(cl, Storage::Buffer, bytes.div_ceil(4) as u32, 1);
    let (from, to) = (memory(layout.bytes())?, memory(layout.filtered().bytes())?);
    let mut whole = block.to_vec();
    whole.resize(layout.bytes().next_multiple_of(4), 0);
    from.write(&cl.queue, &whole)?;
    let plan = filter.plan(cl, layout, &to, &mut Scratch::new(), radius)?;
    let _filtered = plan.enqueue(&cl.queue, &from, 0..layout.height)?;
    cl.queue.finish().map_err(|e| failed("The planes could not be filtered.", &e))
}

/// Filters one block and compares the result with `want`, the reference's output. The output is poisoned before; source and
/// output have canaries on both sides. `bands` are the rows at which the run is split; if empty, all rows run at once. The
/// source must not change. The report counts samples; their values are in levels of 8 bits.
///
/// # Errors
/// When the filter cannot run. A wrong result is not an error but returned as a report.
pub fn check(
    cl: &ClContext,
    filter: &PlanarFilter,
    layout: &Layout,
    block: &[u8],
    want: &[u8],
    radius: u32,
    bands: &[u32],
) -> Result<Option<MismatchReport>> {
    let source = verify::between_canaries(block, verify::guard_bytes(block.len()));
    let from = GuardedPicture::buffer(cl, block.len(), verify::guard_bytes(block.len()))?;
    let to = GuardedPicture::buffer(cl, want.len(), verify::guard_bytes(want.len()))?;
    let mut scratch = Scratch::new();
    let plan = filter.plan(cl, layout, &to.picture, &mut scratch, radius)?;
    let mut overwritten = 0;
    let report = verify::check(want, &Samples(layout.filtered()), |poison| {
        from.write(&cl.queue, &source)?;
        to.write(&cl.queue, poison)?;
        scratch.poison(&cl.queue)?;
        let mut start = 0;
        for end in bands.iter().copied().chain([layout.height]) {
            let _filtered = plan.enqueue(&cl.queue, &from.picture, start..end)?;
            start = end;
        }
        let mut after = zeroed(poison.len())?;
        to.read(&cl.queue, poison, &mut after)?;
        let mut left = zeroed(source.len())?;
        from.read(&cl.queue, &source, &mut left)?;
        overwritten = overwritten.max(verify::count_changed(&source, &left));
        Ok(after)
    })?;
    let report = verify::with_source_changes(report, overwritten);
    if report.is_some() {
        // A driver with wrong sub-buffers is reported instead of the kernel.
        require_sub_buffers(cl)?;
    }
    Ok(report)
}

/// The samples of filtered planes with this layout, as levels of 8 bits. Bytes between rows may have any value.
#[derive(Debug, Clone)]
pub struct Samples(pub Layout);

impl Samples {
    /// Returns the component, column and row of the sample with this index; `None` between rows.
    fn place(&self, number: usize) -> Option<(usize, usize, usize)> {
        let place = |channel: usize| {
            let plane = self.0.planes[channel];
            let at = (2 * number).checked_sub(plane.offset)?;
            let (x, y) = (at % plane.stride, at / plane.stride);
            (x < plane.row && y < plane.rows).then_some((channel, x / 2, y))
        };
        (0..self.0.count()).find_map(place)
    }
}

impl Elements for Samples {
    fn name(&self) -> &'static str {
        "samples"
    }

    fn bytes(&self) -> usize {
        2
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        let sample = bytes.try_into().map_or(0, u16::from_le_bytes);
        f64::from(sample) / f64::from(1u32 << self.0.fraction)
    }

    fn position(&self, number: usize) -> String {
        self.place(number)
            .map_or_else(String::new, |(channel, x, y)| format!("component {channel} at ({x}, {y})"))
    }

    fn is_close(&self, number: usize, _: f64, _: f64) -> bool {
        self.place(number).is_none()
    }
}
