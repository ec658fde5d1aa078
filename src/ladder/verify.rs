//! Checks an output against the reference. In: the bytes that are right, and a way to run a variant on a
//! prepared output. Out: nothing when every byte is right, or a [`MismatchReport`].
//!
//! Before the run the output is poisoned: each byte is set to the complement of the right one, so that a byte
//! nobody writes cannot pass by chance. On both sides of it lie [`GUARD`] canary bytes, which must survive.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Canary bytes on each side of the output. A multiple of every device's alignment for parts of a buffer.
pub const GUARD: usize = 4096;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MismatchReport {
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
}

impl fmt::Display for MismatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(d) = self.first {
            let channel = ["red", "green", "blue", "alpha"].get(d.channel).unwrap_or(&"?");
            write!(
                f,
                "{} of {} bytes differ by up to {}, first {channel} at ({}, {}): got {}, want {}",
                self.count, self.total, self.max_abs_diff, d.x, d.y, d.got, d.want
            )?;
        }
        let joint = if self.first.is_some() { "; " } else { "" };
        if self.untouched > 0 {
            write!(f, "{joint}{} bytes were never written", self.untouched)?;
        }
        if self.overrun > 0 {
            let joint = if self.first.is_some() || self.untouched > 0 { "; " } else { "" };
            write!(f, "{joint}{} bytes outside the picture were overwritten", self.overrun)?;
        }
        Ok(())
    }
}

/// The canary byte at a place of the guarded output: a pattern that no kernel writes by chance.
fn canary(at: usize) -> u8 {
    (at as u8).wrapping_mul(167) ^ 0x5c
}

/// An output before the run: canaries, the complement of `want`, canaries.
pub(crate) fn guarded(want: &[u8]) -> Vec<u8> {
    let end = GUARD + want.len();
    (0..end + GUARD)
        .map(|at| if (GUARD..end).contains(&at) { !want[at - GUARD] } else { canary(at) })
        .collect()
}

/// How many canaries round a guarded output changed.
pub(crate) fn overrun(after: &[u8]) -> usize {
    let end = after.len() - GUARD;
    (0..GUARD).chain(end..after.len()).filter(|&at| after[at] != canary(at)).count()
}

/// Runs a variant and compares. `want` holds the right RGBA pixels, rows of `width` pixels. `run` gets the
/// guarded output as it must be before the run: canaries, poisoned picture, canaries, where the picture
/// begins at byte [`GUARD`]. It returns the same bytes as they are after the run.
///
/// # Errors
/// When `run` fails, or returns another number of bytes.
pub fn check(
    want: &[u8],
    width: usize,
    run: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
) -> Result<Option<MismatchReport>> {
    let before = guarded(want);
    let after = run(&before)?;
    if after.len() != before.len() {
        return Err(Error::new(
            "An output could not be checked.",
            format!("It has {} bytes, not {}.", after.len(), before.len()),
            "",
        ));
    }
    let mut report = MismatchReport {
        count: 0,
        total: want.len(),
        max_abs_diff: 0,
        first: None,
        untouched: 0,
        overrun: overrun(&after),
    };
    for (at, (&got, &want)) in after[GUARD..].iter().zip(want).enumerate() {
        if got == want {
            continue;
        }
        report.count += 1;
        report.max_abs_diff = report.max_abs_diff.max(got.abs_diff(want));
        report.untouched += usize::from(got == !want);
        let pixel = at / 4;
        report.first.get_or_insert(Difference {
            x: pixel % width.max(1),
            y: pixel / width.max(1),
            channel: at % 4,
            got,
            want,
        });
    }
    Ok((report.count > 0 || report.overrun > 0).then_some(report))
}
