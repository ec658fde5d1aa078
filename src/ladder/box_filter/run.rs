//! Complete, blocking runs of a variant on pictures in host memory: for one picture, and to check a variant
//! against the reference.

use super::{BuiltVariant, Picture, Scratch};
use crate::error::{Error, Result};
use crate::gpu::cl::{ClContext, failed};
use crate::ladder::Storage;
use crate::ladder::verify::{self, GUARD, MismatchReport};
use crate::media::memory::zeroed;

fn require_pixels(src: &[u8], width: u32, height: u32) -> Result<()> {
    if src.len() != width as usize * height as usize * 4 {
        let why = format!("{} bytes are not {width}×{height} pixels.", src.len());
        return Err(Error::new("The picture could not be filtered.", why, ""));
    }
    Ok(())
}

/// Filters one picture, and waits for it. `src` holds `width`·`height` RGBA pixels; so does the result.
///
/// # Errors
/// When `src` has another length, or the device cannot run the variant at this size.
pub fn filter_once(
    cl: &ClContext,
    variant: &BuiltVariant,
    src: &[u8],
    width: u32,
    height: u32,
    radius: u32,
) -> Result<Vec<u8>> {
    require_pixels(src, width, height)?;
    let storage = variant.info().storage;
    let input = Picture::alloc(cl, storage, width, height)?;
    let output = Picture::alloc(cl, variant.output(), width, height)?;
    let plan = variant.plan(cl, &input, &output, &mut Scratch::new(), width, height, radius)?;
    input.write(&cl.queue, src)?;
    plan.enqueue_all(&cl.queue)?;
    let mut out = zeroed(src.len())?;
    output.read(&cl.queue, &mut out)?;
    Ok(out)
}

/// Checks a variant on one picture against `want`, the reference's output for it: poisoned, and for buffers
/// with canaries on both sides (an image cannot be written beyond its border).
///
/// # Errors
/// When the variant cannot run; a wrong result is no error but a report.
#[allow(clippy::too_many_arguments)]
pub fn check(
    cl: &ClContext,
    variant: &BuiltVariant,
    src: &[u8],
    want: &[u8],
    width: u32,
    height: u32,
    radius: u32,
    scratch: &mut Scratch,
) -> Result<Option<MismatchReport>> {
    require_pixels(src, width, height)?;
    require_pixels(want, width, height)?;
    let storage = variant.info().storage;
    let input = Picture::alloc(cl, storage, width, height)?;
    input.write(&cl.queue, src)?;
    let mut filter = |output: &Picture| {
        let plan = variant.plan(cl, &input, output, scratch, width, height, radius)?;
        plan.enqueue_all(&cl.queue)?;
        cl.queue.finish().map_err(|e| failed("The device failed during a check.", &e))
    };
    verify::check(want, width as usize, |before| {
        let mut after = before.to_vec();
        match variant.output() {
            Storage::Image => {
                let middle = GUARD..GUARD + want.len();
                let output = Picture::alloc(cl, Storage::Image, width, height)?;
                output.write(&cl.queue, &before[middle.clone()])?;
                filter(&output)?;
                output.read(&cl.queue, &mut after[middle])?;
            }
            Storage::Buffer => {
                let (whole, output) = guarded(cl, before)?;
                filter(&output)?;
                whole.read(&cl.queue, &mut after)?;
            }
        }
        Ok(after)
    })
}

/// A guarded output on the device: all of it, and the part between the canaries.
pub(crate) fn guarded(cl: &ClContext, before: &[u8]) -> Result<(Picture, Picture)> {
    let what = "Memory for a check could not be had on the device.";
    let whole = ocl::Buffer::<u8>::builder().context(&cl.context).len(before.len()).build();
    let whole = whole.map_err(|e| failed(what, &e))?;
    let part = whole.create_sub_buffer(None, GUARD, before.len() - 2 * GUARD);
    let (whole, part) = (Picture::Buffer(whole), Picture::Buffer(part.map_err(|e| failed(what, &e))?));
    whole.write(&cl.queue, before)?;
    Ok((whole, part))
}
