//! The settings file: what was read and written again is the same.

#![no_main]

use clreel::fuzzing::settings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|contents: &[u8]| {
    if let Some(written) = settings(contents) {
        assert_eq!(settings(written.as_bytes()), Some(written));
    }
});
