//! Comparison of a variant's output with the reference.
//!
//! Before the run, the output is poisoned: each byte is set to the complement of the expected one, so that a byte that is not
//! written cannot be equal by chance. [Canary bytes](guard_bytes) on both sides of the output detect writes out of bounds. If a
//! byte seems to have kept its poison or a canary has changed, a second run with other poison and other canaries distinguishes
//! bytes that are not written from bytes that happen to equal the poison.

mod poison;
mod report;

use crate::error::Result;
use poison::Outputs;
pub use poison::{between_canaries, guarded_output, poisoned};
pub use report::{Checked, Difference, MismatchReport};

/// Returns the number of canary bytes on each side of an output of `bytes` bytes: the size of the output, but at least 64 KiB,
/// since errors in small pictures reach further, and at most 256 MiB. The number is a multiple of 4096, which satisfies every
/// device's alignment of sub-buffers.
pub fn guard_bytes(bytes: usize) -> usize {
    const MIN_GUARD_BYTES: usize = 64 << 10;
    const MAX_GUARD_BYTES: usize = 256 << 20;
    bytes.clamp(MIN_GUARD_BYTES, MAX_GUARD_BYTES).next_multiple_of(4096)
}

/// The elements of an output: how they are compared, and how messages name them. By default they are 32-bit floats that must be
/// equal bit for bit.
pub trait Elements: std::fmt::Debug {
    /// Returns the plural name of the elements for messages, as in "3 of 20 bytes differ".
    fn name(&self) -> &'static str {
        "floats"
    }

    /// Returns the size of an element in bytes.
    fn bytes(&self) -> usize {
        size_of::<f32>()
    }

    /// Returns the numeric value of an element; `bytes` has its size.
    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| f64::from(f32::from_le_bytes(bytes)))
    }

    /// Returns the position of the element with index `number` for messages, as in "red at (3, 4)".
    fn position(&self, number: usize) -> String {
        format!("number {number}")
    }

    /// Returns the error of the value `got` of the element with this index, where `want` is expected, in the unit of
    /// [`bound`](Elements::bound); `None` if elements must be equal byte for byte.
    fn error(&self, _number: usize, _got: f64, _want: f64) -> Option<f64> {
        None
    }

    /// Returns the largest accepted error; `None` if elements must be equal byte for byte.
    fn bound(&self) -> Option<f64> {
        None
    }

    /// Returns true if the value `got` of an element that is not equal byte for byte is within the bound.
    fn is_close(&self, number: usize, got: f64, want: f64) -> bool {
        let error = self.error(number, got, want);
        error.zip(self.bound()).is_some_and(|(error, bound)| error <= bound)
    }
}

/// The accuracy of an output that need not be equal byte for byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// The largest error of an element.
    pub max_error: f64,
    /// The largest accepted error.
    pub bound: f64,
}

impl Accuracy {
    /// Computes the accuracy of the output `got`, whose elements are all within the bound of the expected `want`; `None` if
    /// elements must be equal byte for byte.
    pub fn of(want: &[u8], got: &[u8], elements: &dyn Elements) -> Option<Self> {
        let bound = elements.bound()?;
        let both = got.chunks_exact(elements.bytes()).zip(want.chunks_exact(elements.bytes())).enumerate();
        let error = |(number, (got, want)): (usize, (&[u8], &[u8]))| match got == want {
            true => 0.0,
            false => elements.error(number, elements.value(got), elements.value(want)).unwrap_or(0.0),
        };
        Some(Self { max_error: both.map(error).fold(0.0, f64::max), bound })
    }
}

/// Elements that are 32-bit floats and must be equal bit for bit.
#[derive(Debug, Clone, Copy)]
pub struct Floats;

impl Elements for Floats {}

/// Runs a variant and compares its output with `want`; `None` if they are equal or within the bound of `elements`.
///
/// `run` gets the contents of the output buffer before the run: canaries, poison from byte [`guard_bytes`]`(want.len())` on,
/// canaries. It returns the contents after the run. It is called a second time if a wrong byte equals its poison or a
/// canary has changed.
///
/// # Errors
/// Returns an error if `run` fails or returns another number of bytes.
pub fn check(
    want: &[u8],
    elements: &dyn Elements,
    run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<MismatchReport>> {
    check_from(want, elements, &guarded_output(want), run)
}

/// Compares like [`check`], for callers that have computed the contents of the output buffer before the first run: `first` is
/// [`guarded_output`]`(want)`.
///
/// # Errors
/// Returns an error if `run` fails or returns another number of bytes.
pub fn check_from(
    want: &[u8],
    elements: &dyn Elements,
    first: &[u8],
    run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<MismatchReport>> {
    let outputs = Outputs::from_first(want, first, run)?;
    let untouched = |at| outputs.is_untouched(at, want[at]);
    let report = MismatchReport {
        overrun: outputs.overrun,
        ..mismatch_report(want, outputs.got(), elements, untouched)
    };
    Ok((!report.is_empty()).then_some(report))
}

/// Compares an output that was [poisoned] (filled with wrong values) before the run with `want`, the expected output; `source`
/// is the number of bytes of the read-only source that the run changed. Returns `None` if there is nothing to report. The
/// report does not count bytes that were not written, since a single run cannot distinguish them.
pub fn compare(want: &[u8], got: &[u8], elements: &dyn Elements, source: usize) -> Option<MismatchReport> {
    let report = MismatchReport { source, ..mismatch_report(want, got, elements, |_| false) };
    (!report.is_empty()).then_some(report)
}

/// Adds `source`, the number of bytes of the read-only source that a run changed, to the report of a comparison. Returns `None`
/// if there is nothing to report.
pub fn with_source_changes(report: Option<MismatchReport>, source: usize) -> Option<MismatchReport> {
    let report = MismatchReport { source, ..report.unwrap_or_default() };
    (!report.is_empty()).then_some(report)
}

/// Returns the number of bytes that differ between a read-only buffer before and after a run.
pub fn count_changed(before: &[u8], after: &[u8]) -> usize {
    if before == after { 0 } else { before.iter().zip(after).filter(|(a, b)| a != b).count() }
}

/// Compares all elements of `got` with `want`; `untouched` returns true for the index of a byte that was not written.
fn mismatch_report(
    want: &[u8],
    got: &[u8],
    elements: &dyn Elements,
    untouched: impl Fn(usize) -> bool,
) -> MismatchReport {
    let mut report = MismatchReport {
        elements: elements.name().to_owned(),
        total: want.len() / elements.bytes(),
        ..MismatchReport::default()
    };
    if want == got {
        return report;
    }
    let both = got.chunks_exact(elements.bytes()).zip(want.chunks_exact(elements.bytes())).enumerate();
    for (number, (got, want)) in both.filter(|(_, (got, want))| got != want) {
        let (got, want) = (elements.value(got), elements.value(want));
        if elements.is_close(number, got, want) {
            continue;
        }
        let bytes = number * elements.bytes()..(number + 1) * elements.bytes();
        report.untouched += usize::from(bytes.clone().all(&untouched));
        report.note(got, want, || elements.position(number));
    }
    report
}
