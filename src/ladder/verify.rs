//! Checks an output against the reference. In: the bytes that are right, and a way to run a variant on a
//! prepared output. Out: nothing when every byte is right, or a [`MismatchReport`].
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

/// The first byte that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Column, from the left.
    pub x: usize,
    /// Row, from the top.
    pub y: usize,
    /// 0 to 3: red, green, blue, alpha.
    pub channel: usize,
    /// What the variant wrote.
    pub got: u8,
    /// What the reference says.
    pub want: u8,
}

/// How an output differs from the reference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MismatchReport {
    /// Which picture it was, at which size, and how it was launched; empty where there is only one.
    pub case: String,
    /// Bytes of the picture that differ.
    pub count: usize,
    /// Bytes of the picture.
    pub total: usize,
    /// The largest difference of a byte.
    pub max_abs_diff: u8,
    /// Where the first difference is; `None` when only canaries changed.
    pub first: Option<Difference>,
    /// Bytes of the picture that still hold their poison: nobody wrote them.
    pub untouched: usize,
    /// Canary bytes that changed: the output was left on one side or the other.
    pub overrun: usize,
    /// Bytes of the source that changed: it is only to be read.
    pub source: usize,
}

impl MismatchReport {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.overrun == 0 && self.source == 0
    }
}

impl fmt::Display for MismatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(d) = self.first {
            let channel = ["red", "green", "blue", "alpha"].get(d.channel).unwrap_or(&"?");
            parts.push(format!(
                "{} of {} bytes differ by up to {}, first {channel} at ({}, {}): got {}, want {}",
                self.count, self.total, self.max_abs_diff, d.x, d.y, d.got, d.want
            ));
        }
        for (bytes, what) in [
            (self.untouched, "were never written"),
            (self.overrun, "outside the picture were overwritten"),
            (self.source, "of the source were overwritten"),
        ] {
            if bytes > 0 {
                parts.push(format!("{bytes} bytes {what}"));
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
    /// The canary byte at a place of the guarded output: a pattern that no kernel writes by chance.
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

    /// All canary bytes that there are, from a place that is a multiple of their number on.
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

    /// How many of the bytes from place `from` on are not the canaries that were there.
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
    pub fn of(want: &[u8], mut run: impl FnMut(&[u8]) -> Result<Vec<u8>>) -> Result<Self> {
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
    pub fn got(&self) -> &[u8] {
        self.runs.first().map_or(&[], |(_, after)| &after[self.guard..self.guard + self.len])
    }

    /// Whether nobody wrote the byte at `at`, which should be `want`: it held its poison after both runs.
    pub fn is_untouched(&self, at: usize, want: u8) -> bool {
        self.runs.len() > 1
            && self.runs.iter().all(|(poison, after)| after[self.guard + at] == poison.of(want))
    }

    /// How many canaries changed, in the run in which more did.
    pub fn overrun(&self) -> usize {
        let end = self.guard + self.len;
        let changed = |(poison, after): &(Poison, Vec<u8>)| {
            poison.changed(0, &after[..self.guard]) + poison.changed(end, &after[end..])
        };
        self.runs.iter().map(changed).max().unwrap_or(0)
    }
}

/// Runs a variant and compares. `want` holds the right RGBA pixels, rows of `width` pixels. `run` gets the
/// guarded output as it must be before the run: canaries, poisoned picture, canaries, where the picture
/// begins at byte [`guard`]`(want.len())`. It returns the same bytes as they are after the run. Where something is wrong
/// it is called a second time.
///
/// # Errors
/// When `run` fails, or returns another number of bytes.
pub fn check(
    want: &[u8],
    width: usize,
    run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<MismatchReport>> {
    let outputs = Outputs::of(want, run)?;
    let untouched = |at| outputs.is_untouched(at, want[at]);
    let report =
        MismatchReport { overrun: outputs.overrun(), ..differences(want, outputs.got(), width, untouched) };
    Ok((!report.is_empty()).then_some(report))
}

/// Compares an output that was [poisoned] with what is right, and the source with what it was.
pub fn compare(want: &[u8], got: &[u8], width: usize, source: (&[u8], &[u8])) -> Option<MismatchReport> {
    let untouched = |at: usize| got[at] == Poison::First.of(want[at]);
    let source = changed(source.0, source.1);
    let report = MismatchReport { source, ..differences(want, got, width, untouched) };
    (!report.is_empty()).then_some(report)
}

/// How many bytes of something that is only to be read have changed.
pub(crate) fn changed(before: &[u8], after: &[u8]) -> usize {
    if before == after { 0 } else { before.iter().zip(after).filter(|(a, b)| a != b).count() }
}

fn differences(want: &[u8], got: &[u8], width: usize, untouched: impl Fn(usize) -> bool) -> MismatchReport {
    let mut report = MismatchReport { total: want.len(), ..MismatchReport::default() };
    if want == got {
        return report;
    }
    for (at, (&got, &want)) in got.iter().zip(want).enumerate() {
        if got == want {
            continue;
        }
        report.count += 1;
        report.max_abs_diff = report.max_abs_diff.max(got.abs_diff(want));
        report.untouched += usize::from(untouched(at));
        let pixel = at / 4;
        report.first.get_or_insert(Difference {
            x: pixel % width.max(1),
            y: pixel / width.max(1),
            channel: at % 4,
            got,
            want,
        });
    }
    report
}

/// What a check compared, byte for byte: every picture at every size, launched in each way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Sizes of the pictures, as in `1280x720`.
    pub sizes: Vec<String>,
    /// Their names.
    pub pictures: Vec<String>,
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
    pub fn add_to(self, list: &mut Vec<Checked>) {
        let fits = |known: &&mut Checked| {
            let differ = [known.sizes != self.sizes, known.radii != self.radii, known.ways != self.ways];
            (&known.pictures, &known.bands, known.timed) == (&self.pictures, &self.bands, self.timed)
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
        let pictures = match self.pictures.as_slice() {
            [first, others @ ..] if others.len() > 2 => {
                format!("{first} and {} other kinds of picture", others.len())
            }
            all => all.join(", "),
        };
        write!(f, "{timed}{pictures} at {}", self.sizes.join(", "))?;
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
