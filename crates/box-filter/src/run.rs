//! Complete, blocking runs of a variant on pictures in host memory: for one picture, and to check a variant
//! against the reference.

use std::ops::Range;

use super::{BuiltVariant, Plan, Scratch};
use base::error::{Error, Result};
use base::memory::zeroed;
use base::verify::{self, MismatchReport};
use opencl::cl::{ClContext, failed};
use opencl::memory::{Picture, Rgba, Storage, guarded};
use opencl::parts::require_sub_buffers;
use opencl::watch;

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
    let storage = variant.kernels().storage;
    let input = Picture::alloc(cl, storage, width, height)?;
    let output = Picture::alloc(cl, variant.output(), width, height)?;
    let plan = variant.plan(cl, &input, &output, &mut Scratch::new(), width, height, radius)?;
    input.write(&cl.queue, src)?;
    plan.enqueue_all(&cl.queue)?;
    let mut out = zeroed(src.len())?;
    output.read(&cl.queue, &mut out)?;
    Ok(out)
}

/// How the rows of a pass are shared among launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Bands {
    /// One launch.
    Whole,
    /// So many rows, cycled: bands that begin and end anywhere.
    Odd,
    /// As the window cuts them: multiples of the rows that waste nothing, some five launches.
    Steps,
}

/// The heights of [`Bands::Odd`].
const ODD: [u32; 5] = [1, 3, 7, 31, 5];

impl Bands {
    /// Its name in tables and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Bands::Whole => "whole",
            Bands::Odd => "bands of 1, 3, 7, 31, 5 rows",
            Bands::Steps => "bands as the window cuts them",
        }
    }

    /// The rows of each launch. `step` rows waste nothing.
    pub(crate) fn of(self, rows: u32, step: u32) -> Vec<Range<u32>> {
        let step = step.max(1);
        let mut heights: Box<dyn Iterator<Item = u32>> = match self {
            Bands::Whole => Box::new(std::iter::repeat(rows)),
            Bands::Odd => Box::new(ODD.into_iter().cycle()),
            Bands::Steps => Box::new(std::iter::repeat((rows / 5).next_multiple_of(step).max(step))),
        };
        let mut bands = Vec::new();
        let mut first = 0;
        while first < rows {
            let last = rows.min(first.saturating_add(heights.next().unwrap_or(rows).max(1)));
            bands.push(first..last);
            first = last;
        }
        bands
    }
}

/// The bytes of a check, on their way to a device and back. Made before they cost the check no time: new memory takes longer
/// than it takes to fill it.
pub(crate) struct Room {
    /// The source between canaries.
    source: Vec<u8>,
    /// The output before its first run.
    output: Vec<u8>,
    /// What they are afterwards.
    after: [Vec<u8>; 2],
}

impl Room {
    /// To check what a filter makes of `src`, which is to be `want`.
    ///
    /// # Errors
    /// When memory runs out.
    pub(crate) fn new(src: &[u8], want: &[u8]) -> Result<Self> {
        let source = verify::between_canaries(src, verify::guard(want.len()));
        let output = verify::guarded(want);
        let room = |len| {
            zeroed(len).map(|mut bytes| {
                // The system gives memory when it is first written.
                bytes.fill(1);
                bytes
            })
        };
        let after = [room(source.len())?, room(output.len())?];
        Ok(Self { source, output, after })
    }
}

const CHECK_FAILED: &str = "The device failed during a check.";

/// A variant's kernels on pictures of one size, to be checked.
pub(crate) struct Checker<'a> {
    cl: &'a ClContext,
    plan: Plan,
    scratch: Scratch,
    /// All of the source with its canaries, and the part that is read; one memory for an image.
    source: (Picture, Picture),
    /// The same of the output.
    output: (Picture, Picture),
    size: (u32, u32),
}

impl<'a> Checker<'a> {
    /// Kernels for pictures of a size, with the parameters that the variant has for pictures of the size `of`.
    ///
    /// # Errors
    /// When the variant cannot run at this size, or memory runs out.
    pub(crate) fn new(
        cl: &'a ClContext,
        variant: &BuiltVariant,
        size: (u32, u32),
        of: (u32, u32),
        radius: u32,
    ) -> Result<Self> {
        let (source, output) =
            (memory(cl, variant.kernels().storage, size)?, memory(cl, variant.output(), size)?);
        let mut scratch = Scratch::new();
        let plan = variant.plan_of(cl, &source.1, &output.1, &mut scratch, size, of, radius)?;
        Ok(Self { cl, plan, scratch, source, output, size })
    }

    /// The work of a run, in pixels read; see [`Plan::work`].
    pub(crate) fn work(&self) -> f64 {
        (0..self.plan.passes()).map(|pass| self.plan.work(pass)).sum()
    }

    /// Predicts the wall time of one run, in milliseconds, where it is not short; see [`Plan::predict_above`]. What is filtered
    /// lies among canaries, and may be anything.
    ///
    /// # Errors
    /// When the device fails.
    pub(crate) fn predict_above(&self, short_ms: f64) -> Result<f64> {
        self.plan.predict_above(&self.cl.queue, short_ms)
    }

    /// Checks one picture against `want`, the reference's output for it: poisoned, with canaries on both sides of source
    /// and output where these are buffers (an image cannot be written beyond its border). The source must stay as it is.
    ///
    /// # Errors
    /// When the variant fails to run; a wrong result is no error but a report.
    pub(crate) fn check(&self, src: &[u8], want: &[u8], bands: Bands) -> Result<Option<MismatchReport>> {
        require_pixels(src, self.size.0, self.size.1)?;
        self.check_in(&mut Room::new(src, want)?, want, bands)
    }

    /// The same with what is made for the picture and `want`.
    ///
    /// # Errors
    /// As [`Checker::check`].
    pub(crate) fn check_in(
        &self,
        room: &mut Room,
        want: &[u8],
        bands: Bands,
    ) -> Result<Option<MismatchReport>> {
        require_pixels(want, self.size.0, self.size.1)?;
        let queue = &self.cl.queue;
        let guard = verify::guard(want.len());
        let middle = guard..guard + want.len();
        let is_image = |picture: &Picture| picture.storage() == Storage::Image;
        let of_source = if is_image(&self.source.0) { middle.clone() } else { 0..room.source.len() };
        let Room { source: before, output: first, after: [source, output] } = room;
        let (before, source) = (&before[of_source.clone()], &mut source[of_source]);
        let mut overwritten = 0;
        let report = verify::check_from(want, Rgba { width: self.size.0 as usize }, first, |poison| {
            let mut after = std::mem::take(output);
            if after.len() != poison.len() {
                after = zeroed(poison.len())?;
            }
            let part = if is_image(&self.output.0) {
                after.copy_from_slice(poison);
                middle.clone()
            } else {
                0..poison.len()
            };
            self.source.0.write(queue, before)?;
            self.output.0.write(queue, &poison[part.clone()])?;
            self.scratch.poison(queue)?;
            let mut events = Vec::new();
            for pass in 0..self.plan.passes() {
                for rows in bands.of(self.plan.rows(), self.plan.row_step(pass)) {
                    events.push(self.plan.enqueue(queue, pass, rows)?);
                }
            }
            for event in events {
                event.wait_for().map_err(|e| failed(CHECK_FAILED, &e))?;
                // Each band has the time that a call of the driver may take.
                watch::progress();
            }
            queue.finish().map_err(|e| failed(CHECK_FAILED, &e))?;
            self.output.0.read(queue, &mut after[part])?;
            self.source.0.read(queue, source)?;
            overwritten = overwritten.max(verify::changed(before, source));
            Ok(after)
        })?;
        let report = verify::with_source(report, overwritten);
        if report.is_some() {
            // Before a kernel is blamed.
            require_sub_buffers(self.cl)?;
        }
        Ok(report)
    }
}

/// A picture to be guarded: all of it, and the part between the canaries; one image.
pub(super) fn memory(
    cl: &ClContext,
    storage: Storage,
    (width, height): (u32, u32),
) -> Result<(Picture, Picture)> {
    match storage {
        Storage::Image => {
            let image = Picture::alloc(cl, storage, width, height)?;
            Ok((image.clone(), image))
        }
        Storage::Buffer => {
            let bytes = width as usize * height as usize * 4;
            guarded(cl, bytes, verify::guard(bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_cover_all_rows_once_and_in_order() {
        for bands in [Bands::Whole, Bands::Odd, Bands::Steps] {
            for (rows, step) in [(1, 1), (1, 64), (33, 1), (65, 64), (720, 64), (720, 1), (7, 1024)] {
                let all = bands.of(rows, step);
                assert!(all.iter().all(|band| band.start < band.end));
                assert_eq!(
                    all.iter().flat_map(|band| band.clone()).collect::<Vec<_>>(),
                    (0..rows).collect::<Vec<_>>()
                );
            }
        }
        assert_eq!(Bands::Odd.of(13, 64), [0..1, 1..4, 4..11, 11..13]);
        assert_eq!(Bands::Steps.of(65, 64), [0..64, 64..65]);
        assert_eq!(Bands::Steps.of(720, 64), [0..192, 192..384, 384..576, 576..720]);
    }
}
