//! Checks an output against the reference. In: the bytes that are right, what they are made of, and a way to run a
//! variant on a prepared output. Out: nothing when every byte is right, or a [`MismatchReport`].
//!
//! Before the run the output is poisoned: each byte is set to the complement of the right one, so that a byte
//! nobody writes cannot pass by chance. On both sides of it lie as many [canary](guard) bytes as the output has, which must
//! survive. Where a byte seems to hold its poison still, or a canary changed, a second run with other poison and other canaries
//! tells what nobody writes from what happens to equal the poison.

mod poison;
mod report;

use crate::error::Result;
pub use poison::{Outputs, between_canaries, guarded, poisoned};
pub use report::{Checked, Difference, MismatchReport};

/// Canary bytes on each side of an output of so many bytes: as many again, but no fewer than the pages that a small picture
/// is easily left by, and no more than the largest pictures that are usual have. A multiple of every device's alignment for
/// parts of a buffer.
pub fn guard(bytes: usize) -> usize {
    const LEAST: usize = 64 << 10;
    const MOST: usize = 256 << 20;
    bytes.clamp(LEAST, MOST).next_multiple_of(4096)
}

/// What an output is made of: how its bytes are compared, and how a person would call what is wrong.
pub trait Elements {
    /// The word for several of them, as in "3 of 20 bytes differ".
    const NAME: &'static str;
    /// Bytes of one.
    const BYTES: usize;

    /// One as a number; `bytes` are its own.
    fn value(&self, bytes: &[u8]) -> f64;

    /// Where one is, as in "red at (3, 4)"; `number` counts from 0.
    fn position(&self, number: usize) -> String;

    /// How far off the result with this number is, in the unit of the [`bound`](Elements::bound), where it is not byte for
    /// byte what is wanted; `None` where only those bytes are right.
    fn error(&self, _number: usize, _got: f64, _want: f64) -> Option<f64> {
        None
    }

    /// The largest error of a result that will do; `None` where results are compared by bytes.
    fn bound(&self) -> Option<f64> {
        None
    }

    /// Whether a result that is not byte for byte what is wanted will do.
    fn is_close(&self, number: usize, got: f64, want: f64) -> bool {
        let error = self.error(number, got, want);
        error.zip(self.bound()).is_some_and(|(error, bound)| error <= bound)
    }
}

/// How exact an output is that need not be right to the last bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// The largest error that there is.
    pub max_error: f64,
    /// The largest that will do.
    pub bound: f64,
}

impl Accuracy {
    /// Of an output whose elements are all close; `None` where only the right bytes would be.
    pub fn of<E: Elements>(want: &[u8], got: &[u8], elements: &E) -> Option<Self> {
        let bound = elements.bound()?;
        let both = got.chunks_exact(E::BYTES).zip(want.chunks_exact(E::BYTES)).enumerate();
        let error = |(number, (got, want)): (usize, (&[u8], &[u8]))| match got == want {
            true => 0.0,
            false => elements.error(number, elements.value(got), elements.value(want)).unwrap_or(0.0),
        };
        Some(Self { max_error: both.map(error).fold(0.0, f64::max), bound })
    }
}

/// Floats of 32 bits that must be right to the last bit.
#[derive(Debug, Clone, Copy)]
pub struct Floats;

impl Elements for Floats {
    const NAME: &'static str = "floats";
    const BYTES: usize = 4;

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| f64::from(f32::from_le_bytes(bytes)))
    }

    fn position(&self, number: usize) -> String {
        format!("number {number}")
    }
}

/// Runs a variant and compares. `want` holds what is right, in `elements`. `run` gets the guarded output as it must be
/// before the run: canaries, poison, canaries, where the output begins at byte [`guard`]`(want.len())`. It returns the same
/// bytes as they are after the run. Where a wrong byte equals its poison, or a canary changed, it is called a second time.
///
/// # Errors
/// When `run` fails, or returns another number of bytes.
pub fn check<E: Elements>(
    want: &[u8],
    elements: E,
    run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<MismatchReport>> {
    check_from(want, elements, &guarded(want), run)
}

/// The same from the output as it is before the first run: [`guarded`].
pub fn check_from<E: Elements>(
    want: &[u8],
    elements: E,
    first: &[u8],
    run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<MismatchReport>> {
    let outputs = Outputs::from_first(want, first, run)?;
    let untouched = |at| outputs.is_untouched(at, want[at]);
    let report = MismatchReport {
        overrun: outputs.overrun(),
        ..differences(want, outputs.got(), elements, untouched)
    };
    Ok((!report.is_empty()).then_some(report))
}

/// Compares an output that was [poisoned] with what is right, and the source with what it was. Nothing is said of what nobody
/// wrote: after one run a byte that equals its poison may as well have been written.
pub fn compare<E: Elements>(
    want: &[u8],
    got: &[u8],
    elements: E,
    source: (&[u8], &[u8]),
) -> Option<MismatchReport> {
    let source = changed(source.0, source.1);
    let report = MismatchReport { source, ..differences(want, got, elements, |_| false) };
    (!report.is_empty()).then_some(report)
}

/// What a comparison found, and that so many bytes of the source changed.
pub fn with_source(report: Option<MismatchReport>, source: usize) -> Option<MismatchReport> {
    let report = MismatchReport { source, ..report.unwrap_or_default() };
    (!report.is_empty()).then_some(report)
}

/// How many bytes of something that is only to be read have changed.
pub fn changed(before: &[u8], after: &[u8]) -> usize {
    if before == after { 0 } else { before.iter().zip(after).filter(|(a, b)| a != b).count() }
}

fn differences<E: Elements>(
    want: &[u8],
    got: &[u8],
    elements: E,
    untouched: impl Fn(usize) -> bool,
) -> MismatchReport {
    let mut report = MismatchReport {
        elements: E::NAME.to_owned(),
        total: want.len() / E::BYTES,
        ..MismatchReport::default()
    };
    if want == got {
        return report;
    }
    let both = got.chunks_exact(E::BYTES).zip(want.chunks_exact(E::BYTES)).enumerate();
    for (number, (got, want)) in both.filter(|(_, (got, want))| got != want) {
        let (got, want) = (elements.value(got), elements.value(want));
        if elements.is_close(number, got, want) {
            continue;
        }
        let bytes = number * E::BYTES..(number + 1) * E::BYTES;
        report.note(got, want, bytes.clone().all(&untouched), || elements.position(number));
    }
    report
}
