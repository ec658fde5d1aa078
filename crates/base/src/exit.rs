//! How the process ends: exit codes, part of the command line's contract.

use crate::error::Result;

/// Done; also a damaged file that gave at least one frame (with a warning).
pub const DONE: u8 = 0;
/// Failed, with a sentence on stderr.
pub const FAILED: u8 = 1;
/// Used in a way that is not known, with a sentence on stderr: clap's own code.
pub const USAGE: u8 = 2;
/// A variant's output differs from the reference.
pub const MISMATCH: u8 = 3;

/// Prints an error to stderr; returns the exit code.
pub fn report(result: Result<u8>) -> u8 {
    result.unwrap_or_else(|error| {
        eprintln!("clreel: {error}");
        FAILED
    })
}
