//! YUV to RGBA conversion programs of one context: building, a check of a few rows before the first use, and a check of a whole
//! picture when there is time.

use std::collections::VecDeque;

use super::validator::BuiltConversion;
use super::*;
use box_filter::color_kernels::{Conversion, Converter, Corrector, storages};
use engine::Check;
use video::color::Matrix;

/// The size in pixels of the pictures of checks. It is no multiple of a work-group's size, so that incomplete work-groups
/// occur.
const ODD_SIZE: (u32, u32) = (67, 9);

/// The YUV to RGBA conversion programs of a context, and pending checks of their output.
pub(super) struct Conversions {
    cl: ClContext,
    converter: Converter,
    corrector: Corrector,
    /// True if the kernels in use were edited and are known to differ from the reference, so that their output is not checked.
    differ: bool,
    /// Pending checks of conversions and colour corrections, which are made when nothing is left to build.
    pub later: VecDeque<Check>,
}

impl Conversions {
    /// Creates the state without programs; compiles nothing.
    pub(super) fn new(cl: &ClContext) -> Self {
        let (converter, corrector) = (Converter::new(cl), Corrector::new(cl));
        Self { cl: cl.clone(), converter, corrector, differ: false, later: VecDeque::new() }
    }

    /// Builds the program of a conversion, unless it was built before, and verifies some rows of its output.
    pub(super) fn conversion(&mut self, conversion: Conversion) -> Part {
        let built = self.converter.prepare(&conversion);
        let made = built.and_then(|()| self.first_correct(&conversion, Converter::check_few_rows));
        self.conversion_part(conversion, made.flatten())
    }

    /// Compiles from these kernel sources from now on; drops programs that were compiled from other sources.
    pub(super) fn compile_from(&mut self, sources: Sources) {
        if *self.cl.sources() != sources {
            self.cl = self.cl.with_sources(sources);
            (self.converter, self.corrector) = (Converter::new(&self.cl), Corrector::new(&self.cl));
        }
    }

    /// Replaces all conversion programs by `made`, which were built from the edited kernels `sources`. `differ` is true if
    /// their output differs from the reference.
    pub(super) fn replace(&mut self, made: &[BuiltConversion], differ: bool, sources: Sources) {
        self.cl = self.cl.with_sources(sources);
        self.converter = Converter::new(&self.cl);
        made.iter().for_each(|(program, _)| self.converter.add(program.clone()));
        self.differ = differ;
    }

    /// Makes the next pending check. Returns a message with the error if the output is wrong; `None` otherwise, or if no check
    /// is pending.
    pub(super) fn check_next(&mut self) -> Option<Part> {
        match self.later.pop_front()? {
            Check::Conversion(conversion) => {
                match self.first_correct(&conversion, Converter::check_whole) {
                    // Frames that use it report the failure, if it persists.
                    Ok(Ok(None)) | Err(_) => None,
                    Ok(made) => Some(self.conversion_part(conversion, made)),
                }
            }
            Check::Correction(size, from, to) => {
                match self.corrector.check((from, to), size, Matrix::Bt601) {
                    Ok(Some(report)) => Some(no_corrector(self.corrector.mismatch_error(&report))),
                    _ => None,
                }
            }
        }
    }

    /// Verifies the output of a conversion program with `check`, which returns the differences from the reference (`None` if the
    /// output is right). If the output is wrong, replaces the program by the alternative program, if there is one, and verifies
    /// the output of that. Returns `Ok(None)` if the first program is right or is not verified, `Ok(Some(error))` with an error
    /// to report if the alternative program replaces it, and `Err` if no program is right.
    ///
    /// # Errors
    /// If a program cannot be run.
    fn first_correct(
        &mut self,
        conversion: &Conversion,
        check: fn(&mut Converter, &Conversion) -> Result<Option<MismatchReport>>,
    ) -> Result<Result<Option<Error>>> {
        let mut replaced = None;
        while !self.differ
            && let Some(report) = check(&mut self.converter, conversion)?
        {
            let error = |of: &Converter, hint| of.mismatch_error(conversion, &report, hint);
            let other = error(&self.converter, "Another kernel converts them instead.");
            if replaced.is_some() || !self.converter.disable_row_kernel(conversion)? {
                let hint = "The CPU converts them instead; 'planar' needs the device.";
                return Ok(Err(error(&self.converter, hint)));
            }
            replaced = Some(other);
        }
        Ok(Ok(replaced))
    }

    /// Returns the builder's message about a conversion: its program with an error to report, if there is one, or the reason
    /// why the conversion must not be used.
    fn conversion_part(&self, conversion: Conversion, made: Result<Option<Error>>) -> Part {
        let program = made.and_then(|error| Ok((self.converter.program(&conversion)?, error)));
        match program {
            Ok((program, error)) => {
                let replaces = error.is_some();
                Part::new(error.map_or(News::Installed, News::Replaced), move |pipeline| {
                    pipeline.conversions.add(program, conversion, replaces);
                })
            }
            Err(error) => no_conversion(conversion, error),
        }
    }
}

/// Returns the builder's message about a conversion that cannot be used.
pub(super) fn no_conversion(conversion: Conversion, error: Error) -> Part {
    Part::new(News::NoConversion(error), move |pipeline| pipeline.conversions.refuse(conversion))
}

/// Returns the builder's message about a colour correction that must not be used.
pub(super) fn no_corrector(error: Error) -> Part {
    Part::new(News::Replaced(error), |pipeline| pipeline.conversions.is_corrector_refused = true)
}

/// Builds the colour correction for the context's kinds of memory (buffers, and images if supported), and verifies its output.
/// Returns a message with the error if the output is wrong. Returns `None` if the output is right, or if the program cannot be
/// built: then the CPU corrects colours.
pub(super) fn corrector(cl: &ClContext) -> Option<Part> {
    let mut corrector = Corrector::new(cl);
    // If the device has no images, no variant uses images.
    for &storage in storages(cl) {
        // Without the program the CPU corrects colours.
        corrector.prepare(storage, storage).ok()?;
        match corrector.check((storage, storage), ODD_SIZE, Matrix::Bt709) {
            Ok(None) => {}
            Ok(Some(report)) => return Some(no_corrector(corrector.mismatch_error(&report))),
            Err(_) => return None,
        }
    }
    Some(Part::new(News::Installed, move |pipeline| pipeline.conversions.corrector = Some(corrector)))
}
