//! Compares the conversion and correction kernels with their references.

use super::{CONVERT, Conversion, ConvertCommand, Converter, CorrectCommand, Corrector, KernelCache, ROWS};
use crate::color_test_pictures::{self, Pattern};
use crate::guarded::GuardedPicture;
use crate::pictures::noise;
use base::error::{Error, Result};
use base::memory::{require, rgba_bytes, zeroed};
use base::verify::{self, MismatchReport};
use opencl::cl::{ClContext, Event, Queue, failed};
use opencl::memory::{Picture, Rgba, Storage, channel_at};
use opencl::parts::require_sub_buffers;
use video::color::reference::convert_rows;
use video::color::{Correction, Matrix, RgbaColors};

/// The number of rows of the picture with which a conversion is verified before its first use.
const FEW_ROWS: u32 = 16;
/// The number of rows of a whole picture that are compared at once.
const STRIP_ROWS: usize = 32;

/// Runs a conversion or correction, and compares the picture with `want`, the expected pixels. Before the run, each byte of the
/// picture is set to another value than the expected one, and a buffer gets canaries (known bytes that detect writes out of
/// bounds) on both sides. `run` enqueues the conversion or correction on `queue`, and gets the picture.
///
/// # Errors
/// Returns an error if the kernel cannot run. A wrong result is not an error but returned as a report.
fn compare(
    cl: &ClContext,
    queue: &Queue,
    output: &GuardedPicture,
    (want, width): (&[u8], u32),
    mut run: impl FnMut(Picture) -> Result<Event>,
) -> Result<Option<MismatchReport>> {
    let report = verify::check(want, &Rgba { width: width as usize }, |before| {
        output.write(queue, before)?;
        run(output.picture.clone())?;
        queue.finish().map_err(|e| failed("The device failed during a check.", &e))?;
        let mut after = zeroed(before.len())?;
        output.read(queue, before, &mut after)?;
        Ok(after)
    })?;
    if report.is_some() && output.picture.storage() == Storage::Buffer {
        // A driver with wrong sub-buffers is reported instead of the kernel.
        require_sub_buffers(cl)?;
    }
    Ok(report)
}

impl Converter {
    /// Converts the planes in `block` with a correction of colours, and compares the picture with `want`, the pixels of the
    /// reference. Waits for the result. Returns a report of the differences, or of changes to the block; `None` if there are none.
    ///
    /// # Errors
    /// Returns an error if the program does not build or run.
    pub fn check(
        &mut self,
        queue: &Queue,
        conversion: &Conversion,
        (block, want): (&[u8], &[u8]),
        correction: Correction,
    ) -> Result<Option<MismatchReport>> {
        let (cl, Conversion { layout, storage }) = (self.cl.clone(), *conversion);
        let planes = Picture::block(&cl, queue, block)?;
        let output = GuardedPicture::of_output(&cl, storage, (layout.width, layout.height))?;
        let report = compare(&cl, queue, &output, (want, layout.width), |to| {
            let command = ConvertCommand { layout, planes: planes.clone(), to, correction };
            self.enqueue(queue, &mut KernelCache::default(), &command)
        })?;
        let mut after = zeroed(block.len())?;
        planes.read(queue, &mut after)?;
        Ok(report.or_else(|| {
            let equal = MismatchReport { total: want.len(), ..MismatchReport::default() };
            verify::with_source_changes(Some(equal), verify::count_changed(block, &after))
        }))
    }

    /// Verifies the conversion, before its program is used, with a picture of a few rows of the layout's width, with and
    /// without colour correction. Waits for the result: a report of the differences from the reference, or `None` if there are
    /// none.
    ///
    /// # Errors
    /// Returns an error as [`Converter::check`] does.
    pub fn check_few_rows(&mut self, conversion: &Conversion) -> Result<Option<MismatchReport>> {
        let part = with_few_rows(conversion);
        let block = color_test_pictures::block(&part.layout, Pattern::Mixed, 1)?;
        self.check_with_and_without_correction(&part, &block, &mut || ())
    }

    /// Verifies edited kernels with the conversion of `block`, which has this layout, and then of a few rows of the layout's
    /// width with each test pattern. Calls `step` before each run. Waits for the result, and returns it as [`Converter::check`]
    /// does.
    ///
    /// # Errors
    /// Returns an error as [`Converter::check`] does.
    pub fn check_extremes(
        &mut self,
        conversion: &Conversion,
        block: &[u8],
        mut step: impl FnMut(),
    ) -> Result<Option<MismatchReport>> {
        // A difference in the given picture has priority in the report.
        let mut report = self.check_with_and_without_correction(conversion, block, &mut step)?;
        let part = with_few_rows(conversion);
        for pattern in Pattern::ALL {
            if report.is_none() {
                let block = color_test_pictures::block(&part.layout, pattern, 1)?;
                report = self.check_with_and_without_correction(&part, &block, &mut step)?;
            }
        }
        Ok(report)
    }

    /// Compares the conversion of `block` with the reference, with and without colour correction. Calls `step` before each run.
    fn check_with_and_without_correction(
        &mut self,
        conversion: &Conversion,
        block: &[u8],
        step: &mut dyn FnMut(),
    ) -> Result<Option<MismatchReport>> {
        let queue = self.cl.extra_queue()?;
        for correction in [Correction::NEUTRAL, Correction::VIVID] {
            let want = color_test_pictures::expected(&conversion.layout, block, &correction)?;
            step();
            let report = self.check(&queue, conversion, (block, &want), correction)?;
            if report.is_some() {
                return Ok(report);
            }
        }
        Ok(None)
    }

    /// Compares the conversion of a picture of the layout's whole size with the reference. The reference is computed strip by
    /// strip on this thread, which is slow but needs memory for one picture only. Waits for the result.
    ///
    /// # Errors
    /// Returns an error as [`Converter::check`] does, or if memory runs out.
    pub fn check_whole(
        &mut self,
        &Conversion { layout, storage }: &Conversion,
    ) -> Result<Option<MismatchReport>> {
        let queue = self.cl.extra_queue()?;
        require(2 * layout.bytes() + 3 * layout.rgba_bytes())?;
        let block = color_test_pictures::block(&layout, Pattern::Mixed, 2)?;
        let planes = Picture::block(&self.cl, &queue, &block)?;
        // Pixels that are not written stay noise, and so differ from the expected ones.
        let mut got = noise(layout.rgba_bytes());
        let to = Picture::alloc(&self.cl, storage, layout.width, layout.height)?;
        to.write(&queue, &got)?;
        let command = ConvertCommand { layout, planes, to, correction: Correction::NEUTRAL };
        let _event = self.enqueue(&queue, &mut KernelCache::default(), &command)?;
        command.to.read(&queue, &mut got)?;
        let mut report = MismatchReport { total: got.len(), ..MismatchReport::default() };
        let row = layout.width as usize * 4;
        let mut strip = zeroed(row * STRIP_ROWS)?;
        for (first, got) in (0..).step_by(STRIP_ROWS).zip(got.chunks(strip.len().max(1))) {
            let want = &mut strip[..got.len()];
            convert_rows(&layout, &block, first, want);
            for (at, (got, want)) in got.iter().zip(&*want).enumerate().filter(|(_, (got, want))| got != want)
            {
                let position = || channel_at(at % 4, at % row / 4, first + at / row);
                report.note((*got).into(), (*want).into(), position);
            }
        }
        Ok((report.count > 0).then_some(report))
    }

    /// Returns the kernel file that this converter uses for this conversion.
    pub fn kernel_file(&self, conversion: &Conversion) -> &'static str {
        if self.uses_row_kernel(conversion) { ROWS.file } else { CONVERT.file }
    }

    /// Returns the error for a conversion that differs from the reference; `instead` is a sentence about what is used instead
    /// of this kernel.
    pub fn mismatch_error(&self, conversion: &Conversion, report: &MismatchReport, instead: &str) -> Error {
        let what = format!("converts pictures ({})", conversion.layout);
        mismatch_error(&self.cl, &what, (self.kernel_file(conversion), report), instead)
    }
}

/// Returns the kernel file that is intended for this conversion on a device.
pub fn intended_kernel_file(is_cpu: bool, conversion: &Conversion) -> &'static str {
    if super::rows::is_suitable(is_cpu, conversion) { ROWS.file } else { CONVERT.file }
}

/// Returns the conversion of a few rows only. An odd height stays odd, so that the picture ends within a row of chroma.
fn with_few_rows(Conversion { layout, storage }: &Conversion) -> Conversion {
    let layout = layout.with_rows(layout.height.min(FEW_ROWS + layout.height % 2));
    Conversion { layout, storage: *storage }
}

/// Compares a picture that a device converted with the expected one. Returns an error if they differ, otherwise `None`.
pub fn compare_converted(cl: &ClContext, conversion: &Conversion, got: &[u8], want: &[u8]) -> Option<Error> {
    let planes = &conversion.layout;
    let report = verify::compare(want, got, &Rgba { width: planes.width as usize }, 0)?;
    let (file, instead) =
        (intended_kernel_file(cl.is_cpu(), conversion), "The CPU converts this one instead.");
    Some(mismatch_error(cl, &format!("converts pictures ({planes})"), (file, &report), instead))
}

/// Returns the error for a kernel of `file` whose result is wrong: the device does `what` wrongly.
fn mismatch_error(
    cl: &ClContext,
    what: &str,
    (file, report): (&str, &MismatchReport),
    instead: &str,
) -> Error {
    Error::new(
        format!("'{}' {what} wrongly.", cl.device.info.name),
        format!("The kernel file '{file}' differs from the reference: {report}."),
        format!("{instead} `clreel bench` checks all conversions."),
    )
}

impl Corrector {
    /// Returns the kernel file of the correction.
    pub fn kernel_file(&self) -> &'static str {
        super::correct::CORRECT.file
    }

    /// Compares the correction of a picture of this size with the reference, once with alpha and once without. Waits for the
    /// result.
    ///
    /// # Errors
    /// Returns an error if the program does not build or run.
    pub fn check(
        &mut self,
        (from, to): (Storage, Storage),
        size: (u32, u32),
        matrix: Matrix,
    ) -> Result<Option<MismatchReport>> {
        let (cl, queue) = (self.cl.clone(), self.cl.extra_queue()?);
        let source = Picture::alloc(&cl, from, size.0, size.1)?;
        require(3 * rgba_bytes(size))?;
        let mut src = noise(rgba_bytes(size));
        for has_alpha in [true, false] {
            if !has_alpha {
                src.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
            }
            let mut want = src.clone();
            color_test_pictures::corrected(&mut want, &Correction::VIVID, matrix);
            source.write(&queue, &src)?;
            let output = GuardedPicture::of_output(&cl, to, size)?;
            let report = compare(&cl, &queue, &output, (&want, size.0), |to| {
                let (correction, colors) = (Correction::VIVID, RgbaColors { matrix, has_alpha });
                let command = CorrectCommand { from: source.clone(), to, size, correction, colors };
                self.enqueue(&queue, &mut KernelCache::default(), &command)
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
        mismatch_error(&self.cl, "corrects colours", (self.kernel_file(), report), instead)
    }
}
