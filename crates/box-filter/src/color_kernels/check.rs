//! Whether conversion and correction give on a device what their references give. In: the programs, a layout or a size.
//! Out: nothing where every byte is right, or a report.

use super::{CONVERT, Converter, Corrector, ROWS};
use crate::color_trial::{self, Pattern};
use base::error::{Error, Result};
use base::memory::{require, zeroed};
use base::verify::{self, MismatchReport};
use opencl::cl::{ClContext, Queue, failed};
use opencl::memory::{Picture, Rgba, Storage, channel_at, guarded};
use opencl::parts::require_sub_buffers;
use video::color::Matrix;
use video::color::reference::convert_rows;
use video::color::{Correction, Layout, RgbaColors};

/// Rows of a picture that is tried before a conversion is used.
const FEW_ROWS: u32 = 16;
/// Rows that are compared at once in a whole picture.
const STRIP: usize = 32;

/// Runs a conversion or correction to a poisoned picture, for a buffer with canaries on both sides, and compares with `want`.
/// `run` puts it on `queue`.
///
/// # Errors
/// When it cannot run; a wrong result is no error but a report.
pub(crate) fn compare(
    cl: &ClContext,
    queue: &Queue,
    storage: Storage,
    (width, height): (u32, u32),
    want: &[u8],
    mut run: impl FnMut(&Picture) -> Result<()>,
) -> Result<Option<MismatchReport>> {
    let finish = || queue.finish().map_err(|e| failed("The device failed during a check.", &e));
    let report = verify::check(want, Rgba { width: width as usize }, |before| {
        let mut after = before.to_vec();
        match storage {
            Storage::Image => {
                let guard = verify::guard(want.len());
                let middle = guard..guard + want.len();
                let picture = Picture::alloc(cl, storage, width, height)?;
                picture.write(queue, &before[middle.clone()])?;
                run(&picture)?;
                finish()?;
                picture.read(queue, &mut after[middle])?;
            }
            Storage::Buffer => {
                let (whole, picture) = guarded(cl, want.len(), verify::guard(want.len()))?;
                whole.write(queue, before)?;
                run(&picture)?;
                finish()?;
                whole.read(queue, &mut after)?;
            }
        }
        Ok(after)
    })?;
    if report.is_some() && storage == Storage::Buffer {
        // Before a kernel is blamed.
        require_sub_buffers(cl)?;
    }
    Ok(report)
}

impl Converter {
    /// Checks the conversion of a block, which lies as `layout` says, into a picture of this kind; `want` is what the
    /// reference makes of it. Waits.
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
            self.enqueue_block(queue, layout, &planes, dst, correction).map(drop)
        })?;
        let mut after = zeroed(block.len())?;
        planes.read(queue, &mut after)?;
        if report.is_none() && after != block {
            let source = verify::changed(block, &after);
            return Ok(Some(MismatchReport { source, ..nothing(want.len()) }));
        }
        Ok(report)
    }

    /// Checks some rows of the layout's width, as they are and corrected: what is done before a program is used. Waits.
    ///
    /// # Errors
    /// As [`Converter::check`].
    pub fn check_few_rows(&mut self, layout: &Layout, storage: Storage) -> Result<Option<MismatchReport>> {
        let part = few_rows(layout);
        self.check_both(&part, storage, &color_trial::block(&part, Pattern::Mixed, 1)?, &mut || ())
    }

    /// Checks a block that lies as `layout` says, and then some rows of the layout's width of all kinds: what is done with
    /// kernels that were just changed. `step` is told of each run before it begins. Waits.
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
        // What differs in the picture that is looked at is told of that one.
        let mut report = self.check_both(layout, storage, block, &mut step)?;
        let part = few_rows(layout);
        for pattern in Pattern::ALL {
            if report.is_none() {
                report =
                    self.check_both(&part, storage, &color_trial::block(&part, pattern, 1)?, &mut step)?;
            }
        }
        Ok(report)
    }

    /// Checks a block as it is and corrected.
    fn check_both(
        &mut self,
        layout: &Layout,
        storage: Storage,
        block: &[u8],
        step: &mut dyn FnMut(),
    ) -> Result<Option<MismatchReport>> {
        let queue = self.cl.extra_queue()?;
        for correction in [Correction::NEUTRAL, Correction::VIVID] {
            let want = color_trial::expected(layout, block, &correction)?;
            step();
            let report = self.check(&queue, layout, storage, &correction, (block, &want))?;
            if report.is_some() {
                return Ok(report);
            }
        }
        Ok(None)
    }

    /// Checks a picture of the layout's whole size, a strip after the other on this thread: slow, but with memory for
    /// one picture only. Waits.
    ///
    /// # Errors
    /// As [`Converter::check`]; also when memory runs out.
    pub fn check_whole(&mut self, layout: &Layout, storage: Storage) -> Result<Option<MismatchReport>> {
        let (cl, queue) = (self.cl.clone(), self.cl.extra_queue()?);
        require(2 * layout.bytes() + 3 * layout.rgba_bytes())?;
        let block = color_trial::block(layout, Pattern::Mixed, 2)?;
        let planes = Picture::block(&cl, &queue, &block)?;
        let row = layout.width as usize * 4;
        let mut strip = zeroed(row * STRIP)?;
        compare_strips(&cl, &queue, storage, (layout.width, layout.height), &mut strip, |step| match step {
            Step::Run(dst) => {
                self.enqueue_block(&queue, layout, &planes, dst, &Correction::NEUTRAL).map(drop)
            }
            Step::Want(first, rgba) => {
                convert_rows(layout, &block, first, rgba);
                Ok(())
            }
        })
    }

    /// The kernel file that converts such planes now.
    pub(crate) fn file(&self, layout: &Layout, storage: Storage) -> &'static str {
        if self.is_by_rows(layout, storage) { ROWS } else { CONVERT }
    }

    /// What is said of a conversion that is wrong; `instead` is what is done about it.
    pub fn wrong(&self, layout: &Layout, storage: Storage, report: &MismatchReport, instead: &str) -> Error {
        let file = self.file(layout, storage);
        wrong(&self.cl, &format!("pictures ({layout})"), file, report, instead)
    }
}

/// The kernel file that is made for such planes and pictures on a device.
pub fn file_of(cl: &ClContext, layout: &Layout, storage: Storage) -> &'static str {
    if super::rows::takes(cl, layout, storage) { ROWS } else { CONVERT }
}

/// A picture as wide as these, with a few rows. An odd height ends within a row of chroma; it stays odd.
fn few_rows(layout: &Layout) -> Layout {
    layout.with_rows(layout.height.min(FEW_ROWS + layout.height % 2))
}

/// Compares a picture that a device converted with the right one: what is said where they differ. `planes` is how those
/// lay that it came from.
pub fn differing(cl: &ClContext, planes: &Layout, got: &[u8], want: &[u8]) -> Option<Error> {
    if got == want {
        return None;
    }
    let file = file_of(cl, planes, Storage::Buffer);
    let mut report = nothing(want.len());
    note(&mut report, planes.width as usize * 4, 0, got, want);
    Some(wrong(
        cl,
        &format!("pictures ({planes})"),
        file,
        &report,
        "The processor converts this one instead.",
    ))
}

/// What is said of a kernel of `file` that is wrong.
fn wrong(cl: &ClContext, what: &str, file: &str, report: &MismatchReport, instead: &str) -> Error {
    Error::new(
        format!("'{}' converts {what} wrongly.", cl.device.info.name),
        format!("The kernel file '{file}' differs from the reference: {report}."),
        format!("{instead} `clreel bench` checks all conversions."),
    )
}

impl Corrector {
    /// The kernel file that corrects.
    pub(crate) fn file(&self) -> &'static str {
        super::correct::CORRECT
    }

    /// Checks a picture of this size with alpha, and one without. Waits.
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
        let mut src = color_trial::pixels((width, height), 1)?;
        for has_alpha in [true, false] {
            if !has_alpha {
                src.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
            }
            let mut want = src.clone();
            color_trial::corrected(&mut want, &Correction::VIVID, matrix);
            source.write(&queue, &src)?;
            let colors = RgbaColors { matrix, has_alpha };
            let report = compare(&cl, &queue, to, (width, height), &want, |dst| {
                self.enqueue(&queue, &source, dst, (width, height), &Correction::VIVID, colors).map(drop)
            })?;
            if report.is_some() {
                return Ok(report);
            }
        }
        Ok(None)
    }

    /// What is said of a correction that is wrong.
    pub fn wrong(&self, report: &MismatchReport) -> Error {
        let instead = "The processor corrects them instead;";
        let error = wrong(self.cl(), "colours", self.file(), report, instead);
        Error { what: format!("'{}' corrects colours wrongly.", self.cl().device.info.name), ..error }
    }
}

/// What [`compare_strips`] asks for.
enum Step<'a> {
    /// The picture, to be put on the queue.
    Run(&'a Picture),
    /// The rows from here on that are right.
    Want(usize, &'a mut [u8]),
}

/// Runs a conversion to a picture of noise, and compares what comes out in strips as long as `strip`.
fn compare_strips(
    cl: &ClContext,
    queue: &Queue,
    storage: Storage,
    (width, height): (u32, u32),
    strip: &mut [u8],
    mut step: impl FnMut(Step) -> Result<()>,
) -> Result<Option<MismatchReport>> {
    // What nobody writes stays noise, and so does not equal what is right.
    let mut got = color_trial::pixels((width, height), 3)?;
    let picture = Picture::alloc(cl, storage, width, height)?;
    picture.write(queue, &got)?;
    step(Step::Run(&picture))?;
    picture.read(queue, &mut got)?;
    let mut report = nothing(got.len());
    let row = width as usize * 4;
    for (number, got) in got.chunks(strip.len().max(1)).enumerate() {
        let first = number * STRIP;
        let want = &mut strip[..got.len()];
        step(Step::Want(first, want))?;
        if got == want {
            continue;
        }
        note(&mut report, row, first, got, want);
    }
    Ok((report.count > 0).then_some(report))
}

/// Notes what differs in rows of `row` bytes, the first of which is the picture's row `first`.
fn note(report: &mut MismatchReport, row: usize, first: usize, got: &[u8], want: &[u8]) {
    let differing = got.iter().zip(want).enumerate().filter(|(_, (got, want))| got != want);
    for (at, (&got, &want)) in differing {
        let (x, y) = (at % row / 4, first + at / row);
        report.note(got.into(), want.into(), false, || channel_at(at % 4, x, y));
    }
}

fn nothing(total: usize) -> MismatchReport {
    MismatchReport { total, ..MismatchReport::default() }
}
