//! Compares the conversion and correction kernels with their references.

use super::{CONVERT_FILE, Converter, Corrector, KernelCache, ROWS_FILE};
use crate::color_test_pictures::{self, Pattern};
use crate::guarded::GuardedPicture;
use base::error::{Error, Result};
use base::memory::{require, zeroed};
use base::verify::{self, MismatchReport};
use opencl::cl::{ClContext, Queue, failed};
use opencl::memory::{Picture, Rgba, Storage, channel_at};
use opencl::parts::require_sub_buffers;
use video::color::Matrix;
use video::color::reference::convert_rows;
use video::color::{Correction, Layout, RgbaColors};

/// The number of rows of the picture with which a conversion is verified before its first use.
const FEW_ROWS: u32 = 16;
/// The number of rows of a whole picture that are compared at once.
const STRIP_ROWS: usize = 32;

/// Runs a conversion or correction into a poisoned picture, with canaries on both sides of a buffer, and compares the
/// picture with `want`, the expected pixels. `run` enqueues the conversion or correction on `queue`.
///
/// # Errors
/// When the kernel cannot run. A wrong result is not an error but returned as a report.
pub(crate) fn compare(
    cl: &ClContext,
    queue: &Queue,
    storage: Storage,
    (width, height): (u32, u32),
    want: &[u8],
    mut run: impl FnMut(&Picture) -> Result<()>,
) -> Result<Option<MismatchReport>> {
    let finish = || queue.finish().map_err(|e| failed("The device failed during a check.", &e));
    let output = GuardedPicture::new(cl, storage, (width, height), verify::guard_bytes(want.len()))?;
    let report = verify::check(want, &Rgba { width: width as usize }, |before| {
        output.write(queue, before)?;
        run(&output.picture)?;
        finish()?;
        let mut after = zeroed(before.len())?;
        output.read(queue, before, &mut after)?;
        Ok(after)
    })?;
    if report.is_some() && storage == Storage::Buffer {
        // A driver with wrong sub-buffers is reported instead of the kernel.
        require_sub_buffers(cl)?;
    }
    Ok(report)
}

impl Converter {
    /// Converts a block with this layout into a picture of this storage, and compares the picture with `want`, the reference's
    /// output. Waits for the result. Returns a report of the differences, or of changes to the block; `None` if there are none.
    ///
    /// # Errors
    /// When the program does not build or run.
    pub(crate) fn check(
        &mut self,
        queue: &Queue,
        layout: &Layout,
        storage: Storage,
        correction: &Correction,
        (block, want): (&[u8], &[u8]),
    ) -> Result<Option<MismatchReport>> {
        let cl = self.cl.clone();
        let planes = Picture::block(&cl, queue, block)?;
        let report = compare(&cl, queue, storage, (layout.width, layout.height), want, |dst| {
            self.enqueue(queue, &mut KernelCache::default(), layout, &planes, dst, correction).map(drop)
        })?;
        let mut after = zeroed(block.len())?;
        planes.read(queue, &mut after)?;
        if report.is_none() && after != block {
            let source = verify::count_changed(block, &after);
            return Ok(Some(MismatchReport { source, ..empty_report(want.len()) }));
        }
        Ok(report)
    }

    /// Verifies the conversion, before its program is used, with a picture of a few rows of the layout's width, with and
    /// without colour correction. Waits for the result: a report of the differences from the reference, or `None` if there are
    /// none.
    ///
    /// # Errors
    /// As [`Converter::check`].
    pub fn check_few_rows(&mut self, layout: &Layout, storage: Storage) -> Result<Option<MismatchReport>> {
        let part = with_few_rows(layout);
        self.check_with_and_without_correction(
            &part,
            storage,
            &color_test_pictures::block(&part, Pattern::Mixed, 1)?,
            &mut || (),
        )
    }

    /// Verifies edited kernels with the conversion of `block`, which has this layout, and then of a few rows of the layout's
    /// width with each test pattern. Calls `step` before each run. Waits for the result, as [`Converter::check`] returns it.
    ///
    /// # Errors
    /// As [`Converter::check`].
    pub(crate) fn check_extremes(
        &mut self,
        layout: &Layout,
        storage: Storage,
        block: &[u8],
        mut step: impl FnMut(),
    ) -> Result<Option<MismatchReport>> {
        // A difference in the given picture has priority in the report.
        let mut report = self.check_with_and_without_correction(layout, storage, block, &mut step)?;
        let part = with_few_rows(layout);
        for pattern in Pattern::ALL {
            if report.is_none() {
                report = self.check_with_and_without_correction(
                    &part,
                    storage,
                    &color_test_pictures::block(&part, pattern, 1)?,
                    &mut step,
                )?;
            }
        }
        Ok(report)
    }

    /// Compares the conversion of `block` with the reference, with and without colour correction. Calls `step` before each run.
    fn check_with_and_without_correction(
        &mut self,
        layout: &Layout,
        storage: Storage,
        block: &[u8],
        step: &mut dyn FnMut(),
    ) -> Result<Option<MismatchReport>> {
        let queue = self.cl.extra_queue()?;
        for correction in [Correction::NEUTRAL, Correction::VIVID] {
            let want = color_test_pictures::expected(layout, block, &correction)?;
            step();
            let report = self.check(&queue, layout, storage, &correction, (block, &want))?;
            if report.is_some() {
                return Ok(report);
            }
        }
        Ok(None)
    }

    /// Compares the conversion of a picture of the layout's whole size with the reference, strip by strip on this thread: slow,
    /// but needs memory for one picture only. Waits for the result.
    ///
    /// # Errors
    /// As [`Converter::check`]; also when memory runs out.
    pub fn check_whole(&mut self, layout: &Layout, storage: Storage) -> Result<Option<MismatchReport>> {
        let (cl, queue) = (self.cl.clone(), self.cl.extra_queue()?);
        require(2 * layout.bytes() + 3 * layout.rgba_bytes())?;
        let block = color_test_pictures::block(layout, Pattern::Mixed, 2)?;
        let planes = Picture::block(&cl, &queue, &block)?;
        // Pixels that are not written stay noise, and so differ from the expected ones.
        let mut got = color_test_pictures::pixels((layout.width, layout.height), 3)?;
        let picture = Picture::alloc(&cl, storage, layout.width, layout.height)?;
        picture.write(&queue, &got)?;
        let kernels = &mut KernelCache::default();
        let _event = self.enqueue(&queue, kernels, layout, &planes, &picture, &Correction::NEUTRAL)?;
        picture.read(&queue, &mut got)?;
        let mut report = empty_report(got.len());
        let row = layout.width as usize * 4;
        let mut strip = zeroed(row * STRIP_ROWS)?;
        for (first, got) in (0..).step_by(STRIP_ROWS).zip(got.chunks(strip.len().max(1))) {
            let want = &mut strip[..got.len()];
            convert_rows(layout, &block, first, want);
            if got != want {
                add_differences(&mut report, row, first, got, want);
            }
        }
        Ok((report.count > 0).then_some(report))
    }

    /// Returns the kernel file that this converter uses for planes of this layout and a destination with this storage.
    pub(crate) fn kernel_file(&self, layout: &Layout, storage: Storage) -> &'static str {
        if self.uses_row_kernel(layout, storage) { ROWS_FILE } else { CONVERT_FILE }
    }

    /// Returns the error for a conversion that differs from the reference; `instead` is a sentence about the consequence.
    pub fn mismatch_error(
        &self,
        layout: &Layout,
        storage: Storage,
        report: &MismatchReport,
        instead: &str,
    ) -> Error {
        let file = self.kernel_file(layout, storage);
        mismatch_error(&self.cl, &format!("pictures ({layout})"), file, report, instead)
    }
}

/// Returns the kernel file that is intended for planes of this layout and a destination with this storage on a device.
pub fn intended_kernel_file(is_cpu: bool, layout: &Layout, storage: Storage) -> &'static str {
    if super::rows::is_suitable(is_cpu, layout, storage) { ROWS_FILE } else { CONVERT_FILE }
}

/// Returns the layout with a few rows only. An odd height stays odd, so that the picture ends within a row of chroma.
fn with_few_rows(layout: &Layout) -> Layout {
    layout.with_rows(layout.height.min(FEW_ROWS + layout.height % 2))
}

/// Compares a picture that a device converted with the expected one. Returns an error if they differ, otherwise `None`;
/// `planes` is the layout of the planes.
pub fn compare_converted(cl: &ClContext, planes: &Layout, got: &[u8], want: &[u8]) -> Option<Error> {
    if got == want {
        return None;
    }
    let file = intended_kernel_file(cl.is_cpu(), planes, Storage::Buffer);
    let mut report = empty_report(want.len());
    add_differences(&mut report, planes.width as usize * 4, 0, got, want);
    Some(mismatch_error(
        cl,
        &format!("pictures ({planes})"),
        file,
        &report,
        "The CPU converts this one instead.",
    ))
}

/// Returns the error for a kernel of `file` whose result is wrong.
fn mismatch_error(cl: &ClContext, what: &str, file: &str, report: &MismatchReport, instead: &str) -> Error {
    Error::new(
        format!("'{}' converts {what} wrongly.", cl.device.info.name),
        format!("The kernel file '{file}' differs from the reference: {report}."),
        format!("{instead} `clreel bench` checks all conversions."),
    )
}

impl Corrector {
    pub(crate) fn kernel_file(&self) -> &'static str {
        super::correct::CORRECT_FILE
    }

    /// Compares the correction of a picture of this size with the reference, once with alpha and once without. Waits for the
    /// result.
    ///
    /// # Errors
    /// When the program does not build or run.
    pub fn check(
        &mut self,
        (from, to): (Storage, Storage),
        (width, height): (u32, u32),
        matrix: Matrix,
    ) -> Result<Option<MismatchReport>> {
        let (cl, queue) = (self.cl().clone(), self.cl().extra_queue()?);
        let source = Picture::alloc(&cl, from, width, height)?;
        let mut src = color_test_pictures::pixels((width, height), 1)?;
        for has_alpha in [true, false] {
            if !has_alpha {
                src.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
            }
            let mut want = src.clone();
            color_test_pictures::corrected(&mut want, &Correction::VIVID, matrix);
            source.write(&queue, &src)?;
            let colors = RgbaColors { matrix, has_alpha };
            let report = compare(&cl, &queue, to, (width, height), &want, |dst| {
                let (kernels, vivid) = (&mut KernelCache::default(), &Correction::VIVID);
                self.enqueue(&queue, kernels, &source, dst, (width, height), vivid, colors).map(drop)
            })?;
            if report.is_some() {
                return Ok(report);
            }
        }
        Ok(None)
    }

    /// Returns the error for a correction that differs from the reference.
    pub fn mismatch_error(&self, report: &MismatchReport) -> Error {
        let instead = "The CPU corrects them instead;";
        let error = mismatch_error(self.cl(), "colours", self.kernel_file(), report, instead);
        Error { what: format!("'{}' corrects colours wrongly.", self.cl().device.info.name), ..error }
    }
}

/// Adds each byte of `got` that differs from `want` to the report. Both hold whole rows of `row` bytes, of which the first
/// is the picture's row `first`.
fn add_differences(report: &mut MismatchReport, row: usize, first: usize, got: &[u8], want: &[u8]) {
    let compare_converted = got.iter().zip(want).enumerate().filter(|(_, (got, want))| got != want);
    for (at, (&got, &want)) in compare_converted {
        let (x, y) = (at % row / 4, first + at / row);
        report.note(got.into(), want.into(), false, || channel_at(at % 4, x, y));
    }
}

/// Returns the report of an output of `total` bytes without differences.
fn empty_report(total: usize) -> MismatchReport {
    MismatchReport { total, ..MismatchReport::default() }
}
