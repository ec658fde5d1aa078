//! The exit codes of the process, which scripts rely on.

use crate::stderr::print_message;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;

/// Exit code for success, also for a damaged file with at least one decodable frame (with a warning).
pub const DONE: u8 = 0;
/// Exit code for a failure, with a message on stderr.
pub const FAILED: u8 = 1;
/// Exit code for wrong usage, with a message on stderr. clap uses the same code.
pub const USAGE: u8 = 2;
/// Exit code if a variant's output differs from the reference.
pub const MISMATCH: u8 = 3;

/// Exit code if a comparison shows a slowdown of more than `--threshold` allows.
pub const SLOWER: u8 = 4;

/// Returns the exit code of a verification: [`MISMATCH`] if an output differs from the reference, else [`FAILED`] if something
/// failed, else [`DONE`].
pub fn check_code(differs: bool, failed: bool) -> u8 {
    match (differs, failed) {
        (true, _) => MISMATCH,
        (false, true) => FAILED,
        (false, false) => DONE,
    }
}

/// True once [`report`] was called.
pub static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Prints the error in `result`, if there is one, to stderr. Returns the exit code with which the caller must then end the
/// process.
pub fn report(result: Result<u8>) -> u8 {
    IS_REPORTED.store(true, Ordering::Relaxed);
    result.unwrap_or_else(|error| {
        print_message(&error);
        FAILED
    })
}
