//! Poison and canaries: the contents of an output buffer before a run, and their evaluation afterwards.

use super::guard_bytes;
use crate::error::{Error, Result};

/// The pattern of the bytes that an output buffer has before a run: filler bytes to detect elements that are not written
/// (poison), and known bytes around them to detect writes out of bounds (canaries).
#[derive(Clone, Copy)]
pub(super) struct Poison {
    /// The bits in which a filler byte differs from the byte that is expected in its place.
    filler: u8,
    /// The bits that distinguish the canary bytes of this pattern from those of the other one.
    canary: u8,
}

/// The patterns of the first and of the second run.
const PATTERNS: [Poison; 2] =
    [Poison { filler: 0xff, canary: 0x5c }, Poison { filler: 0x6b, canary: 0x5c ^ 0xe3 }];

impl Poison {
    /// Returns the filler byte to write before a run where the byte `want` is expected. It always differs from `want`, so that
    /// a byte that is not written is detected.
    pub(super) fn poison_byte(self, want: u8) -> u8 {
        want ^ self.filler
    }

    /// Returns the canary bytes, which repeat every 256 bytes, from an offset in the guarded output on: a pattern that no kernel
    /// writes by chance.
    fn canaries_from(self, from: usize) -> [u8; 256] {
        std::array::from_fn(|at| ((from + at) as u8).wrapping_mul(167) ^ self.canary)
    }

    /// Returns `middle` with `guard` canary bytes on each side.
    fn surround(self, guard: usize, middle: impl ExactSizeIterator<Item = u8>) -> Vec<u8> {
        let canaries = self.canaries_from(0);
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

    /// Returns the contents of an output buffer before a run: a filler byte for each byte of `want`, with canaries on both
    /// sides.
    fn guarded_poison(self, want: &[u8]) -> Vec<u8> {
        self.surround(guard_bytes(want.len()), want.iter().map(|byte| self.poison_byte(*byte)))
    }
}

/// Returns the contents of an output buffer before a run, without canaries, for outputs that cannot be written out of bounds:
/// each byte differs from the expected one in `want`.
pub fn poisoned(want: &[u8]) -> Vec<u8> {
    want.iter().map(|byte| PATTERNS[0].poison_byte(*byte)).collect()
}

/// Returns the contents of the output buffer before the first run: as many bytes as `want`, each of which differs from the
/// expected byte, between canaries.
pub fn guarded_output(want: &[u8]) -> Vec<u8> {
    PATTERNS[0].guarded_poison(want)
}

/// Returns read-only `bytes` with `guard` canary bytes on each side, so that out-of-bounds reads change the result.
pub fn between_canaries(bytes: &[u8], guard: usize) -> Vec<u8> {
    PATTERNS[0].surround(guard, bytes.iter().copied())
}

/// Returns the number of canary bytes that changed in any of the runs, in a part of the output. A written byte may equal the
/// canary of one run, but not of both.
fn count_changed(part: std::ops::Range<usize>, runs: &[(Poison, Vec<u8>)]) -> usize {
    let runs: Vec<_> =
        runs.iter().map(|(poison, all)| (poison.canaries_from(part.start), &all[part.clone()])).collect();
    let of_block = |start: usize| {
        let end = part.len().min(start + 256);
        let same = |(canaries, bytes): &([u8; 256], &[u8])| bytes[start..end] == canaries[..end - start];
        if runs.iter().all(same) {
            return 0;
        }
        let wrong = |at: &usize| runs.iter().any(|(canaries, bytes)| bytes[*at] != canaries[at - start]);
        (start..end).filter(wrong).count()
    };
    (0..part.len()).step_by(256).map(of_block).sum()
}

/// The contents of an output buffer with its canaries after one run or, if the first run was not conclusive, after two.
pub(super) struct Outputs {
    runs: Vec<(Poison, Vec<u8>)>,
    /// The bytes of the output without its canaries.
    own: std::ops::Range<usize>,
    /// Number of canary bytes that changed in any run.
    pub overrun: usize,
}

impl Outputs {
    /// Calls `run` once or, if the first run is not conclusive, twice. `run` gets the contents of the output buffer before the
    /// run, `first` the first time, and returns the contents after the run.
    pub(super) fn from_first(
        want: &[u8],
        first: &[u8],
        mut run: impl FnMut(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        let guard = guard_bytes(want.len());
        let (end, all) = (guard + want.len(), want.len() + 2 * guard);
        let mut outputs = Self { runs: Vec::new(), own: guard..end, overrun: 0 };
        for poison in PATTERNS {
            let is_first = outputs.runs.is_empty();
            let after = if is_first { run(first)? } else { run(&poison.guarded_poison(want))? };
            if after.len() != all {
                let why = format!("It has {} bytes, expected {all}.", after.len());
                return Err(Error::new("The output could not be checked.", why, ""));
            }
            outputs.runs.push((poison, after));
            let changed = [0..guard, end..all].map(|part| count_changed(part, &outputs.runs));
            outputs.overrun = changed.iter().sum();
            let is_poison = |(got, want): (&u8, &u8)| got != want && *got == PATTERNS[0].poison_byte(*want);
            if outputs.overrun == 0 && !outputs.got().iter().zip(want).any(is_poison) {
                break;
            }
        }
        Ok(outputs)
    }

    /// Returns the output after the first run, without canaries.
    pub(super) fn got(&self) -> &[u8] {
        self.runs.first().map_or(&[], |(_, after)| &after[self.own.clone()])
    }

    /// Returns true if the byte at `at`, expected to be `want`, was not written: after each run it has the value from before
    /// the run.
    pub(super) fn is_untouched(&self, at: usize, want: u8) -> bool {
        let is_poison =
            |(poison, after): &(Poison, Vec<u8>)| after[self.own.start + at] == poison.poison_byte(want);
        self.runs.len() > 1 && self.runs.iter().all(is_poison)
    }
}
