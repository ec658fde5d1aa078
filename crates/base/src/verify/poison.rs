//! What lies in and around an output before a run. In: what is right. Out: bytes that are nowhere right, among canaries, and what
//! became of them.

use super::guard;
use crate::error::{Error, Result};

/// What an output holds before a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Poison {
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
    pub(super) fn of(self, want: u8) -> u8 {
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

    /// All canary bytes from byte number `from` on.
    fn canaries_from(self, from: usize) -> [u8; 256] {
        let mut canaries = self.canaries();
        canaries.rotate_left(from % 256);
        canaries
    }

    fn guarded(self, want: &[u8]) -> Vec<u8> {
        self.around(guard(want.len()), want.iter().map(|byte| self.of(*byte)))
    }
}

/// An output of poison without canaries, for what cannot be left: no byte of it is right.
pub fn poisoned(want: &[u8]) -> Vec<u8> {
    want.iter().map(|byte| Poison::First.of(*byte)).collect()
}

/// The output that is to hold `want` as it is before the first run: poison among canaries.
pub fn guarded(want: &[u8]) -> Vec<u8> {
    Poison::First.guarded(want)
}

/// Canary bytes around something that is only read: who reads beyond it gets what no picture has there.
pub fn between_canaries(bytes: &[u8], guard: usize) -> Vec<u8> {
    Poison::First.around(guard, bytes.iter().copied())
}

/// Guarded outputs after one run or, where the first left anything to ask, two.
pub struct Outputs {
    runs: Vec<(Poison, Vec<u8>)>,
    guard: usize,
    len: usize,
    /// How many canaries changed in any run.
    overrun: usize,
}

/// How many of the bytes from number `from` on are not the canaries that were there, in any of the runs. What is written over a
/// canary may equal it, but not that of the other run, too.
fn changed(from: usize, runs: &[(Poison, &[u8])]) -> usize {
    let runs: Vec<_> = runs.iter().map(|(poison, bytes)| (poison.canaries_from(from), *bytes)).collect();
    let len = runs.first().map_or(0, |(_, bytes)| bytes.len());
    let of_part = |start: usize| {
        let end = len.min(start + 256);
        let same = |(canaries, bytes): &([u8; 256], &[u8])| bytes[start..end] == canaries[..end - start];
        if runs.iter().all(same) {
            return 0;
        }
        let wrong = |at: &usize| runs.iter().any(|(canaries, bytes)| bytes[*at] != canaries[at - start]);
        (start..end).filter(wrong).count()
    };
    (0..len).step_by(256).map(of_part).sum()
}

impl Outputs {
    /// Lets `run` fill a guarded output that is to hold `want`, once or twice. It gets the output as it must be before the
    /// run, and returns it as it is afterwards.
    pub fn of(want: &[u8], run: impl FnMut(&[u8]) -> Result<Vec<u8>>) -> Result<Self> {
        Self::from_first(want, &guarded(want), run)
    }

    /// The same from `first`, the output as it is before the first run.
    pub(super) fn from_first(
        want: &[u8],
        first: &[u8],
        mut run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        let mut outputs = Self { runs: Vec::new(), guard: guard(want.len()), len: want.len(), overrun: 0 };
        let (guard, end) = (outputs.guard, outputs.guard + outputs.len);
        for poison in [Poison::First, Poison::Second] {
            let after = match poison {
                Poison::First => run(first)?,
                Poison::Second => run(&poison.guarded(want))?,
            };
            if after.len() != outputs.len + 2 * guard {
                return Err(Error::new(
                    "An output could not be checked.",
                    format!("It has {} bytes, not {}.", after.len(), outputs.len + 2 * guard),
                    "",
                ));
            }
            outputs.runs.push((poison, after));
            let of = |part: std::ops::Range<usize>| {
                let runs = outputs.runs.iter().map(|(poison, after)| (*poison, &after[part.clone()]));
                changed(part.start, &runs.collect::<Vec<_>>())
            };
            outputs.overrun = of(0..guard) + of(end..end + guard);
            let is_poison = |(got, want): (&u8, &u8)| got != want && *got == Poison::First.of(*want);
            if outputs.overrun == 0 && !outputs.got().iter().zip(want).any(is_poison) {
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

    /// How many canaries changed in any run.
    pub fn overrun(&self) -> usize {
        self.overrun
    }
}
