//! The builder's work on conversions: programs, checked before they are used, and checked once more when there is time.
//! In: a context, layouts. Out: [`Part`]s.

use std::collections::VecDeque;

use super::judging::JudgedConversions;
use super::part::Part;
use base::error::{Error, Result};
use base::verify::MismatchReport;
use box_filter::color_kernels::{Converter, Corrector};
use engine::Check;
use opencl::cl::ClContext;
use opencl::memory::Storage;
use overlay::Verdict;
use video::color::Layout;
use video::color::Matrix;

/// What is done instead of a wrong conversion.
const ON_THE_PROCESSOR: &str = "The processor converts them instead; 'planar' needs the device.";
const BY_THE_OTHER: &str = "Another kernel converts them instead.";
/// A size that is no multiple of any work-group's.
const ODD: (u32, u32) = (67, 9);

/// Programs of its own for the context that is built for.
pub(super) struct Conversions {
    cl: ClContext,
    converter: Converter,
    corrector: Corrector,
    /// The user knows that they make another picture, and wants to see it: they are compared with nothing.
    differ: bool,
    /// To be checked when there is nothing else to do.
    later: VecDeque<Check>,
}

/// Checks a conversion.
type Checked = fn(&mut Converter, &Layout, Storage) -> Result<Option<MismatchReport>>;

impl Conversions {
    pub(crate) fn new(cl: &ClContext) -> Self {
        Self {
            cl: cl.clone(),
            converter: Converter::new(cl),
            corrector: Corrector::new(cl),
            differ: false,
            later: VecDeque::new(),
        }
    }

    /// Builds the program for such planes, unless that was done, and checks some rows.
    pub(crate) fn conversion(&mut self, layout: Layout, storage: Storage) -> Part {
        let built = self.converter.prepare(&layout, storage).map_err(Wrong::from);
        let made = built.and_then(|()| self.first_right(&layout, storage, Converter::check_few_rows));
        self.part(layout, storage, made)
    }

    /// Goes on with what was made of changed kernels, and with nothing that was built before.
    pub(super) fn take_judged(&mut self, judged: &JudgedConversions) {
        self.converter = Converter::new(&self.cl);
        judged.made.iter().for_each(|(program, ..)| self.converter.add(program.clone()));
        self.differ = matches!(judged.verdict, Verdict::Differs(_));
    }

    /// Builds the correction, and checks it.
    pub(crate) fn corrector(&self) -> Option<Part> {
        let mut corrector = Corrector::new(&self.cl);
        for storage in [Storage::Buffer, Storage::Image] {
            // Without images the image variants are not there either.
            if storage == Storage::Image && !self.cl.device.info.image_support {
                continue;
            }
            // What cannot be built is corrected on the processor.
            corrector.prepare(storage, storage).ok()?;
            match corrector.check((storage, storage), ODD, Matrix::Bt709) {
                Ok(None) => {}
                Ok(Some(report)) => return Some(Part::NoCorrector(corrector.wrong(&report))),
                Err(_) => return None,
            }
        }
        Some(Part::Corrector(Box::new(corrector)))
    }

    /// Notes what is to be checked in spare time.
    pub(crate) fn later(&mut self, check: Check) {
        self.later.push_back(check);
    }

    /// Whether nothing is left to be checked.
    pub(crate) fn is_idle(&self) -> bool {
        self.later.is_empty()
    }

    /// Checks what comes next; the part, if any, is the news that something is wrong.
    pub(crate) fn check_next(&mut self) -> Option<Part> {
        match self.later.pop_front()? {
            Check::Conversion(layout, storage) => {
                let checked = self.first_right(&layout, storage, Converter::check_whole);
                match checked {
                    Ok(None) => None,
                    // Whoever uses it meets the failure too, if it stays.
                    Err(Wrong::Failed(_)) => None,
                    made => Some(self.part(layout, storage, made)),
                }
            }
            Check::Correction(size, from, to) => {
                match self.corrector.check((from, to), size, Matrix::Bt601) {
                    Ok(Some(report)) => Some(Part::NoCorrector(self.corrector.wrong(&report))),
                    _ => None,
                }
            }
        }
    }

    /// Checks the program, and where it is wrong another one, if there is: that one's `Ok` has what is to be said.
    fn first_right(
        &mut self,
        layout: &Layout,
        storage: Storage,
        check: Checked,
    ) -> std::result::Result<Option<Error>, Wrong> {
        let report = if self.differ { None } else { check(&mut self.converter, layout, storage)? };
        let Some(report) = report else { return Ok(None) };
        let said = |converter: &Converter, report: &MismatchReport, instead: &str| {
            converter.wrong(layout, storage, report, instead)
        };
        let error = said(&self.converter, &report, BY_THE_OTHER);
        if !self.converter.do_without_rows(layout, storage)? {
            return Err(Wrong::Differs(said(&self.converter, &report, ON_THE_PROCESSOR)));
        }
        match check(&mut self.converter, layout, storage)? {
            None => Ok(Some(error)),
            Some(report) => Err(Wrong::Differs(said(&self.converter, &report, ON_THE_PROCESSOR))),
        }
    }

    fn part(
        &self,
        layout: Layout,
        storage: Storage,
        made: std::result::Result<Option<Error>, Wrong>,
    ) -> Part {
        let program = made.and_then(|said| Ok((self.converter.program(&layout, storage)?, said)));
        match program {
            Ok((program, said)) => Part::Conversion(Box::new((program, layout, storage, said))),
            Err(Wrong::Differs(error)) | Err(Wrong::Failed(error)) => {
                Part::NoConversion(Box::new(layout), storage, error)
            }
        }
    }
}

/// Why a conversion is not used.
enum Wrong {
    /// It differs from the reference.
    Differs(Error),
    /// It does not build or run.
    Failed(Error),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Wrong::Failed(error)
    }
}
