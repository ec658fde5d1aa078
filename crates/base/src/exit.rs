//! How the process ends: exit codes, part of the command line's contract.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;

/// Done; also a damaged file that gave at least one frame (with a warning).
pub const DONE: u8 = 0;
/// Failed, with a sentence on stderr.
pub const FAILED: u8 = 1;
/// Used in a way that is not known, with a sentence on stderr: clap's own code.
pub const USAGE: u8 = 2;
/// A variant's output differs from the reference.
pub const MISMATCH: u8 = 3;

static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Returns true if what made the process end is known to the user: an exit is its own then, and no driver's.
pub fn is_reported() -> bool {
    IS_REPORTED.load(Ordering::Relaxed)
}

/// Prints an error to stderr; returns the exit code, with which the process ends next.
pub fn report(result: Result<u8>) -> u8 {
    IS_REPORTED.store(true, Ordering::Relaxed);
    result.unwrap_or_else(|error| {
        eprintln!("clreel: {error}");
        FAILED
    })
}
