//! Complete, blocking runs of the filter on planes: to check it against the reference.

use super::PlanarFilter;
use crate::Scratch;
use base::error::Result;
use base::memory::zeroed;
use base::verify::{self, MismatchReport};
use opencl::cl::{ClContext, failed};
use opencl::memory::{Picture, Storage, guarded};
use opencl::parts::require_sub_buffers;
use video::color::Layout;

/// Planes of 4:2:0, 8 bits, of an RGBA picture, by BT.709 in limited range: what a movie of it would have. Chroma is the
/// mean of two by two pixels.
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
            *to = (16.5 + weighted(pixel, [0.182_586, 0.614_231, 0.062_007])) as u8;
        }
    }
    for y in 0..h.div_ceil(2) {
        for x in 0..w.div_ceil(2) {
            let mut sum = [0.0; 2];
            for pixel in 0..4 {
                let (u, v) = ((2 * x + pixel % 2).min(w - 1), (2 * y + pixel / 2).min(h - 1));
                let pixel = &rgba[4 * (v * w + u)..][..4];
                sum[0] += weighted(pixel, [-0.100_644, -0.338_572, 0.439_216]);
                sum[1] += weighted(pixel, [0.439_216, -0.398_942, -0.040_274]);
            }
            for (index, sum) in [1, 2].into_iter().zip(sum) {
                block[row(index, y) + x] = (128.5 + sum / 4.0) as u8;
            }
        }
    }
    Ok((layout, block))
}

fn weighted(pixel: &[u8], weights: [f32; 3]) -> f32 {
    pixel.iter().zip(weights).map(|(&value, weight)| f32::from(value) * weight).sum()
}

/// Filters one block, and waits for it. Around its memory nothing lies, so that Oclgrind sees what leaves it.
///
/// # Errors
/// When the filter cannot run.
pub fn filter_alone(
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

/// Checks the filter on one block against `want`, the reference's for it: poisoned, with canaries on both sides of source
/// and output. `bands` are rows at which the run is split; without any all rows run at once. The source must stay as it
/// is. The report counts samples; their values are in levels of 8 bits.
///
/// # Errors
/// When the filter cannot run; a wrong result is no error but a report.
pub fn check(
    cl: &ClContext,
    filter: &PlanarFilter,
    layout: &Layout,
    block: &[u8],
    want: &[u8],
    radius: u32,
    bands: &[u32],
) -> Result<Option<MismatchReport>> {
    let source = verify::between_canaries(block, verify::guard(block.len()));
    let (all_from, from) = guarded(cl, block.len(), verify::guard(block.len()))?;
    let (whole, to) = guarded(cl, want.len(), verify::guard(want.len()))?;
    let mut scratch = Scratch::new();
    let plan = filter.plan(cl, layout, &to, &mut scratch, radius)?;
    let mut overwritten = 0;
    let outputs = verify::Outputs::of(want, |poison| {
        all_from.write(&cl.queue, &source)?;
        whole.write(&cl.queue, poison)?;
        scratch.poison(&cl.queue)?;
        let mut start = 0;
        for end in bands.iter().copied().chain([layout.height]) {
            let _filtered = plan.enqueue(&cl.queue, &from, start..end)?;
            start = end;
        }
        let mut after = zeroed(poison.len())?;
        whole.read(&cl.queue, &mut after)?;
        let mut left = zeroed(source.len())?;
        all_from.read(&cl.queue, &mut left)?;
        overwritten = overwritten.max(verify::changed(&source, &left));
        Ok(after)
    })?;
    let untouched = |at| outputs.is_untouched(at, want[at]) && outputs.is_untouched(at + 1, want[at + 1]);
    let report = MismatchReport {
        overrun: outputs.overrun(),
        source: overwritten,
        ..differences(layout, want, outputs.got(), untouched)
    };
    if report.is_empty() {
        return Ok(None);
    }
    // Before a kernel is blamed.
    require_sub_buffers(cl)?;
    Ok(Some(report))
}

/// Compares filtered planes with what is right, and the block that they come from with what it was. As after any single run,
/// nothing is said of what nobody wrote.
pub(crate) fn compare(
    layout: &Layout,
    want: &[u8],
    got: &[u8],
    source: (&[u8], &[u8]),
) -> Option<MismatchReport> {
    let source = verify::changed(source.0, source.1);
    let report = MismatchReport { source, ..differences(layout, want, got, |_| false) };
    (!report.is_empty()).then_some(report)
}

/// What differs in the samples; what lies between their rows may be anything.
fn differences(
    layout: &Layout,
    want: &[u8],
    got: &[u8],
    untouched: impl Fn(usize) -> bool,
) -> MismatchReport {
    let filtered = layout.filtered();
    let mut report = MismatchReport { elements: "samples".to_owned(), ..MismatchReport::default() };
    for channel in 0..filtered.count() {
        let plane = filtered.planes[channel];
        report.total += plane.row / 2 * plane.rows;
        for (y, start) in (0..plane.rows).map(|y| (y, plane.offset + y * plane.stride)) {
            let row = start..start + plane.row;
            if got[row.clone()] == want[row.clone()] {
                continue;
            }
            for (x, at) in row.step_by(2).enumerate() {
                let (got, want) = (sample(got, at), sample(want, at));
                if got == want {
                    continue;
                }
                let level = |sample: u16| f64::from(sample) / f64::from(1u32 << filtered.fraction);
                let position = || format!("component {channel} at ({x}, {y})");
                report.note(level(got), level(want), untouched(at), position);
            }
        }
    }
    report
}

fn sample(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}
