//! Blocking runs of a variant on pictures in host memory: to filter one picture, and to compare a variant with the reference.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::config::Extent;
use super::guarded::{GuardedInput, GuardedPicture};
use super::{BuiltVariant, Plan, Scratch};
use base::error::{Error, Result};
use base::memory::zeroed;
use base::verify::{self, MismatchReport};
use opencl::cl::{ClContext, failed};
use opencl::parts::require_sub_buffers;
use opencl::watch;

/// Returns an error unless `bytes` has exactly the length `wanted`.
fn expect_len(bytes: &[u8], wanted: usize, whole: &Extent) -> Result<()> {
    if bytes.len() != wanted {
        let why = format!("{} bytes are not {}×{} pixels.", bytes.len(), whole.width, whole.height);
        return Err(Error::new("The picture could not be filtered.", why, ""));
    }
    Ok(())
}

/// Filters one picture and waits for the result. `src` has the length of [the input](Extent::bytes): for a filter of several frames
/// the pictures of those before follow, nearest first. The memory has no
/// canaries, so that Oclgrind detects accesses beyond it.
///
/// # Errors
/// Returns an error if `src` has another length, or the device cannot run the variant at this size.
pub fn filter_once(cl: &ClContext, variant: &BuiltVariant, src: &[u8], whole: Extent) -> Result<Vec<u8>> {
    let [bytes, filtered_bytes] = whole.bytes();
    expect_len(src, bytes, &whole)?;
    let (input, output) = GuardedInput::with_output(cl, variant.storages(whole.tuned_for), &whole, 0)?;
    let plan = variant.plan((&input.pictures(), &output.picture), &mut Scratch::new(cl), whole)?;
    input.write(&cl.queue, src)?;
    plan.enqueue_all(&cl.queue)?;
    let mut out = zeroed(filtered_bytes)?;
    output.picture.read(&cl.queue, &mut out)?;
    Ok(out)
}

/// The division of a picture's rows into launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bands {
    /// One launch over all rows.
    Whole,
    /// Bands of 1, 3, 7, 31 and 5 rows, repeated.
    Odd,
    /// About five bands, as in the window, with a height that wastes few work-items.
    Steps,
}

/// The heights of the bands of [`Bands::Odd`], which repeat.
const ODD_HEIGHTS: [u32; 5] = [1, 3, 7, 31, 5];

impl Bands {
    /// Returns the name of the division in tables and JSON.
    pub fn name(self) -> &'static str {
        ["whole", "bands of 1, 3, 7, 31, 5 rows", "bands as the window cuts them"][self as usize]
    }

    /// Returns the rows of each launch for a picture with this number of rows. Bands whose height is a multiple of `step` waste
    /// few work-items; without it there is one band.
    pub fn ranges(self, rows: u32, step: Option<u32>) -> Vec<Range<u32>> {
        let height = |band: usize| match (self, step.map(|step| step.max(1))) {
            (Bands::Whole, _) | (_, None) => rows,
            (Bands::Odd, _) => ODD_HEIGHTS[band % ODD_HEIGHTS.len()],
            (Bands::Steps, Some(step)) => (rows / 5).next_multiple_of(step).max(step),
        };
        let (mut bands, mut first) = (Vec::new(), 0);
        while first < rows {
            let last = rows.min(first.saturating_add(height(bands.len())));
            bands.push(first..last);
            first = last;
        }
        bands
    }
}

/// Host memory for the comparison of an output with the reference. It is allocated in advance, because allocating takes longer
/// than filling it.
pub(crate) struct CheckBuffers {
    /// The source between canaries.
    source: Vec<u8>,
    /// The output before the first run, with canaries on both sides. Each byte differs from the expected one.
    output: Vec<u8>,
    /// The source and the output after a run.
    after: [Vec<u8>; 2],
}

/// The first sentence of the error if the device fails while a variant is checked.
const CHECK_FAILED: &str = "The device failed during a check.";

/// Compares the output of a variant's kernels with the reference, on pictures of one size or layout.
pub(crate) struct Checker {
    pub plan: Plan,
    scratch: Scratch,
    source: GuardedInput,
    output: GuardedPicture,
}

impl Checker {
    /// Prepares the kernels for pictures of the extent `whole`.
    ///
    /// # Errors
    /// Returns an error if the variant cannot run at this size, or memory runs out.
    pub(crate) fn new(cl: &ClContext, variant: &BuiltVariant, whole: Extent) -> Result<Self> {
        let guard = verify::guard_bytes(whole.bytes()[1]);
        let storages = variant.storages(whole.tuned_for);
        let (source, output) = GuardedInput::with_output(cl, storages, &whole, guard)?;
        let mut scratch = Scratch::new(cl);
        let plan = variant.plan((&source.pictures(), &output.picture), &mut scratch, whole)?;
        Ok(Self { plan, scratch, source, output })
    }

    /// Allocates memory to check the output for `src` against `want`.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub(crate) fn buffers(&self, src: &[u8], want: &[u8]) -> Result<CheckBuffers> {
        expect_len(src, self.plan.whole.bytes()[0], &self.plan.whole)?;
        let source = self.source.between_canaries(src);
        let output = verify::guarded_output(want);
        let allocate = |len| {
            zeroed(len).map(|mut bytes| {
                // The system allocates pages when they are first written.
                bytes.fill(1);
                bytes
            })
        };
        let after = [allocate(source.len())?, allocate(output.len())?];
        Ok(CheckBuffers { source, output, after })
    }

    /// Filters `src` and compares the result with `want`, the reference's output. Before the run, each byte of the output is
    /// set to another value than the expected one, and buffers have canaries on both sides (images cannot be written beyond
    /// their border). The source must not change.
    ///
    /// # Errors
    /// Returns an error if the variant fails to run. A wrong result is not an error but returned as a report.
    pub(crate) fn check(&self, src: &[u8], want: &[u8], bands: Bands) -> Result<Option<MismatchReport>> {
        self.check_with(&mut self.buffers(src, want)?, want, |step| bands.ranges(self.plan.rows(), step))
    }

    /// Filters and compares as [`Checker::check`] does, with memory that was allocated for the picture and `want`. `bands` gets
    /// the [step](Plan::row_step) of a pass, and returns its bands.
    ///
    /// # Errors
    /// Returns an error as [`Checker::check`] does.
    pub(crate) fn check_with(
        &self,
        buffers: &mut CheckBuffers,
        want: &[u8],
        bands: impl Fn(Option<u32>) -> Vec<Range<u32>>,
    ) -> Result<Option<MismatchReport>> {
        let whole = &self.plan.whole;
        expect_len(want, whole.bytes()[1], whole)?;
        let elements = self.plan.id.elements(whole);
        let queue = &self.scratch.cl.queue;
        let CheckBuffers { source: before, output: first, after: [source, output] } = buffers;
        let mut overwritten = 0;
        let report = verify::check_from(want, &elements, first, |poison| {
            let mut after = std::mem::take(output);
            if after.len() != poison.len() {
                after = zeroed(poison.len())?;
            }
            self.source.write(queue, before)?;
            self.output.write(queue, poison)?;
            self.scratch.poison()?;
            let mut events = Vec::new();
            for pass in 0..self.plan.passes() {
                for rows in bands(self.plan.row_step(pass)) {
                    events.push(self.plan.enqueue(queue, pass, rows)?);
                }
            }
            for event in events {
                event.wait_for().map_err(|e| failed(CHECK_FAILED, &e))?;
                // The watchdog's timeout holds for each band.
                watch::progress();
            }
            queue.finish().map_err(|e| failed(CHECK_FAILED, &e))?;
            self.output.read(queue, poison, &mut after)?;
            self.source.read(queue, before, source)?;
            overwritten = overwritten.max(verify::count_changed(before, source));
            Ok(after)
        })?;
        let report = verify::with_source_changes(report, overwritten);
        if report.is_some() {
            // A driver with wrong sub-buffers is reported instead of the kernel.
            require_sub_buffers(&self.scratch.cl)?;
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_cover_all_rows_once_and_in_order() {
        for bands in [Bands::Whole, Bands::Odd, Bands::Steps] {
            for (rows, step) in [(1, 1), (1, 64), (33, 1), (65, 64), (720, 64), (720, 1), (7, 1024)] {
                let all = bands.ranges(rows, Some(step));
                assert!(all.iter().all(|band| band.start < band.end));
                assert!(all.into_iter().flatten().eq(0..rows));
            }
        }
        assert_eq!(Bands::Odd.ranges(13, Some(64)), [0..1, 1..4, 4..11, 11..13]);
        assert_eq!(Bands::Steps.ranges(65, Some(64)), [0..64, 64..65]);
        assert!(Bands::Odd.ranges(720, None).into_iter().eq(std::iter::once(0..720)));
        assert_eq!(Bands::Steps.ranges(720, Some(64)), [0..192, 192..384, 384..576, 576..720]);
    }
}
