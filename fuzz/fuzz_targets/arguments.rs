//! The command line: sizes, radii, times, matrices and all other values. The input has an argument in each line.

#![no_main]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use clap::Parser as _;
use clreel::cli::Cli;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let arguments = input.split(|byte| *byte == b'\n').map(OsStr::from_bytes);
    if let Err(error) = Cli::try_parse_from(std::iter::once(OsStr::new("clreel")).chain(arguments)) {
        let _ = error.to_string();
    }
});
