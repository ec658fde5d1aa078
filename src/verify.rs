//! Checks an output against the reference. In: the bytes that are right, what they are made of, and a way to run a
//! variant on a prepared output. Out: nothing when every byte is right, or a [`MismatchReport`].
//!
//! Before the run the output is poisoned: each byte is set to the complement of the right one, so that a byte
//! nobody writes cannot pass by chance. On both sides of it lie as many [canary](guard) bytes as the output has, which must
//! survive. Where a byte seems to hold its poison still, or something else is wrong, a second run with other poison and
//! other canaries tells what nobody writes from what happens to equal the poison.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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
    pub(crate) fn of<E: Elements>(want: &[u8], got: &[u8], elements: &E) -> Option<Self> {
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

/// One element that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Where it is, as in "red at (3, 4)".
    pub position: String,
    /// What the variant wrote.
    #[serde(with = "any_float")]
    pub got: f64,
    /// What the reference says.
    #[serde(with = "any_float")]
    pub want: f64,
}

/// How an output differs from the reference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MismatchReport {
    /// Which input it was, of which size, and how it was launched; empty where there is only one.
    pub case: String,
    /// What is counted: bytes, floats.
    pub elements: String,
    /// Elements of the output that differ.
    pub count: usize,
    /// Elements of the output.
    pub total: usize,
    /// The largest difference of an element.
    #[serde(with = "any_float")]
    pub max_abs_diff: f64,
    /// The first difference; `None` when only canaries changed.
    pub first: Option<Difference>,
    /// Elements of the output that still hold their poison: nobody wrote them.
    pub untouched: usize,
    /// Canary bytes that changed: the output was left on one side or the other.
    pub overrun: usize,
    /// Bytes of the source that changed: it is only to be read.
    pub source: usize,
}

/// A float between processes as its bits: JSON has no word for what is infinite or no number.
mod any_float {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(number.to_bits())
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

impl MismatchReport {
    /// Whether there is nothing to report.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.overrun == 0 && self.source == 0
    }

    /// Whether something was written that is not the output: nobody knows what that does to another process.
    pub(crate) fn wrote_elsewhere(&self) -> bool {
        self.overrun > 0 || self.source > 0
    }

    /// Adds an element that differs.
    pub(crate) fn note(&mut self, got: f64, want: f64, untouched: bool, position: impl FnOnce() -> String) {
        self.count += 1;
        self.untouched += usize::from(untouched);
        // What is no number differs by more than any number.
        let difference = (got - want).abs();
        self.max_abs_diff =
            self.max_abs_diff.max(if difference.is_nan() { f64::INFINITY } else { difference });
        self.first.get_or_insert_with(|| Difference { position: position(), got, want });
    }
}

impl fmt::Display for MismatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let elements = if self.elements.is_empty() { "bytes" } else { &self.elements };
        if let Some(Difference { position, got, want }) = &self.first {
            parts.push(format!(
                "{} of {} {elements} differ by up to {}, first {position}: got {got}, want {want}",
                self.count, self.total, self.max_abs_diff
            ));
        }
        for (count, what, of) in [
            (self.untouched, "were never written", elements),
            (self.overrun, "outside the output were overwritten", "bytes"),
            (self.source, "of the source were overwritten", "bytes"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {of} {what}"));
            }
        }
        if !self.case.is_empty() {
            write!(f, "{}: ", self.case)?;
        }
        f.write_str(&parts.join("; "))
    }
}

/// What an output holds before a run.
#[derive(Debug, Clone, Copy)]
enum Poison {
    First,
    Second,
}

impl Poison {
    /// The canary byte at a byte of the guarded output: a pattern that no kernel writes by chance.
    fn canary(self, at: usize) -> u8 {
        let byte = (at as u8).wrapping_mul(167) ^ 0x5c;
        match self {
            Poison::First => byte,
            Poison::Second => byte ^ 0xe3,
        }
    }

    /// The poison in place of a byte; never the byte itself.
    fn of(self, want: u8) -> u8 {
        match self {
            Poison::First => !want,
            Poison::Second => want ^ 0x6b,
        }
    }

    /// All canary bytes that there are, from a byte that is a multiple of their number on.
    fn canaries(self) -> [u8; 256] {
        std::array::from_fn(|at| self.canary(at))
    }

    /// `middle` between canaries.
    fn around(self, guard: usize, middle: impl ExactSizeIterator<Item = u8>) -> Vec<u8> {
        let canaries = self.canaries();
        let end = guard + middle.len();
        let mut bytes = Vec::with_capacity(end + guard);
        let fill = |bytes: &mut Vec<u8>, to: usize| {
            while bytes.len() < to {
                let rest = &canaries[bytes.len() % canaries.len()..];
                bytes.extend_from_slice(&rest[..rest.len().min(to - bytes.len())]);
            }
        };
        fill(&mut bytes, guard);
        bytes.extend(middle);
        fill(&mut bytes, end + guard);
        bytes
    }

    /// How many of the bytes from number `from` on are not the canaries that were there.
    fn changed(self, from: usize, bytes: &[u8]) -> usize {
        let mut canaries = self.canaries();
        canaries.rotate_left(from % 256);
        let wrong = |part: &[u8]| part.iter().zip(&canaries).filter(|(byte, canary)| byte != canary).count();
        bytes
            .chunks(canaries.len())
            .map(|part| if part == &canaries[..part.len()] { 0 } else { wrong(part) })
            .sum()
    }

    fn guarded(self, want: &[u8]) -> Vec<u8> {
        self.around(guard(want.len()), want.iter().map(|byte| self.of(*byte)))
    }
}

/// An output of poison without canaries, for what cannot be left: no byte of it is right.
pub fn poisoned(want: &[u8]) -> Vec<u8> {
    want.iter().map(|byte| Poison::First.of(*byte)).collect()
}

/// Canary bytes around something that is only read: who reads beyond it gets what no picture has there.
pub(crate) fn between_canaries(bytes: &[u8], guard: usize) -> Vec<u8> {
    Poison::First.around(guard, bytes.iter().copied())
}

/// Guarded outputs after one run or, where the first left anything to ask, two.
pub(crate) struct Outputs {
    runs: Vec<(Poison, Vec<u8>)>,
    guard: usize,
    len: usize,
}

impl Outputs {
    /// Lets `run` fill a guarded output that is to hold `want`, once or twice. It gets the output as it must be before the
    /// run, and returns it as it is afterwards.
    pub(crate) fn of(want: &[u8], mut run: impl FnMut(&[u8]) -> Result<Vec<u8>>) -> Result<Self> {
        let mut outputs = Self { runs: Vec::new(), guard: guard(want.len()), len: want.len() };
        for poison in [Poison::First, Poison::Second] {
            let before = poison.guarded(want);
            let after = run(&before)?;
            if after.len() != before.len() {
                return Err(Error::new(
                    "An output could not be checked.",
                    format!("It has {} bytes, not {}.", after.len(), before.len()),
                    "",
                ));
            }
            outputs.runs.push((poison, after));
            if outputs.got() == want && outputs.overrun() == 0 {
                break;
            }
        }
        Ok(outputs)
    }

    /// The picture after the first run.
    pub(crate) fn got(&self) -> &[u8] {
        self.runs.first().map_or(&[], |(_, after)| &after[self.guard..self.guard + self.len])
    }

    /// Whether nobody wrote the byte at `at`, which should be `want`: it held its poison after both runs.
    pub(crate) fn is_untouched(&self, at: usize, want: u8) -> bool {
        self.runs.len() > 1
            && self.runs.iter().all(|(poison, after)| after[self.guard + at] == poison.of(want))
    }

    /// How many canaries changed, in the run in which more did.
    pub(crate) fn overrun(&self) -> usize {
        let end = self.guard + self.len;
        let changed = |(poison, after): &(Poison, Vec<u8>)| {
            poison.changed(0, &after[..self.guard]) + poison.changed(end, &after[end..])
        };
        self.runs.iter().map(changed).max().unwrap_or(0)
    }
}

/// Runs a variant and compares. `want` holds what is right, in `elements`. `run` gets the guarded output as it must be
/// before the run: canaries, poison, canaries, where the output begins at byte [`guard`]`(want.len())`. It returns the same
/// bytes as they are after the run. Where something is wrong it is called a second time.
///
/// # Errors
/// When `run` fails, or returns another number of bytes.
pub fn check<E: Elements>(
    want: &[u8],
    elements: E,
    run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<MismatchReport>> {
    let outputs = Outputs::of(want, run)?;
    let untouched = |at| outputs.is_untouched(at, want[at]);
    let report = MismatchReport {
        overrun: outputs.overrun(),
        ..differences(want, outputs.got(), elements, untouched)
    };
    Ok((!report.is_empty()).then_some(report))
}

/// Compares an output that was [poisoned] with what is right, and the source with what it was.
pub fn compare<E: Elements>(
    want: &[u8],
    got: &[u8],
    elements: E,
    source: (&[u8], &[u8]),
) -> Option<MismatchReport> {
    let untouched = |at: usize| got[at] == Poison::First.of(want[at]);
    let source = changed(source.0, source.1);
    let report = MismatchReport { source, ..differences(want, got, elements, untouched) };
    (!report.is_empty()).then_some(report)
}

/// What a comparison found, and that so many bytes of the source changed.
pub(crate) fn with_source(report: Option<MismatchReport>, source: usize) -> Option<MismatchReport> {
    let report = MismatchReport { source, ..report.unwrap_or_default() };
    (!report.is_empty()).then_some(report)
}

/// How many bytes of something that is only to be read have changed.
pub(crate) fn changed(before: &[u8], after: &[u8]) -> usize {
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

/// What a check compared, byte for byte: every picture at every size, launched in each way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Sizes of the pictures, as in `1280x720`.
    pub sizes: Vec<String>,
    /// The kinds of input.
    #[serde(rename = "pictures")]
    pub inputs: Vec<String>,
    /// How each was launched: whole, or in bands of rows.
    pub bands: Vec<String>,
    /// The radii, where that is not the one that is timed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radii: Vec<u32>,
    /// What was read or written, where that is not what is timed: layouts of planes, an image, other parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<String>,
    /// Whether it is an output that was timed.
    pub timed: bool,
}

impl Checked {
    /// Adds it to a list: to what differs from it only in the sizes, in the radii or in the ways, if that is there.
    pub(crate) fn add_to(self, list: &mut Vec<Checked>) {
        let fits = |known: &&mut Checked| {
            let differ = [known.sizes != self.sizes, known.radii != self.radii, known.ways != self.ways];
            (&known.inputs, &known.bands, known.timed) == (&self.inputs, &self.bands, self.timed)
                && known.radii.is_empty() == self.radii.is_empty()
                && known.ways.is_empty() == self.ways.is_empty()
                && differ.iter().filter(|differs| **differs).count() <= 1
        };
        let Some(known) = list.iter_mut().find(fits) else { return list.push(self) };
        fn join<T: PartialEq>(to: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !to.contains(&one) {
                    to.push(one);
                }
            }
        }
        join(&mut known.sizes, self.sizes);
        join(&mut known.radii, self.radii);
        join(&mut known.ways, self.ways);
    }
}

/// As in `noise, white at 5x3, 67x33, whole, bands of …`.
impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timed = if self.timed { "what was timed: " } else { "" };
        let inputs = match self.inputs.as_slice() {
            [first, others @ ..] if others.len() > 2 => {
                format!("{first} and {} others", others.len())
            }
            all => all.join(", "),
        };
        write!(f, "{timed}{inputs} at {}", self.sizes.join(", "))?;
        if self.bands.len() > 1 || self.bands.iter().any(|bands| bands != "whole") {
            write!(f, ", {}", self.bands.join(" and "))?;
        }
        if !self.radii.is_empty() {
            let radii: Vec<String> = self.radii.iter().map(u32::to_string).collect();
            write!(f, ", r = {}", radii.join(", "))?;
        }
        if !self.ways.is_empty() {
            write!(f, " ({})", self.ways.join(", "))?;
        }
        Ok(())
    }
}
