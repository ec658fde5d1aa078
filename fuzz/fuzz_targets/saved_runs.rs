//! Saved results of `bench` and `conformance`, as `clreel compare` reads, compares and draws them.

#![no_main]

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::path::PathBuf;

use ladder::compare::compare;
use ladder::ratio_chart;
use ladder::results::Report;
use ladders::type_conversions::saved::{Saved, changes};
use libfuzzer_sys::fuzz_target;

/// Returns a file in memory with these contents.
fn memory_file(contents: &[u8]) -> File {
    // SAFETY: the name is a C string; a valid descriptor is owned by the returned file alone.
    let mut file = unsafe {
        let descriptor = libc::memfd_create(c"saved".as_ptr(), libc::MFD_CLOEXEC);
        assert!(descriptor >= 0);
        File::from_raw_fd(descriptor)
    };
    file.write_all(contents).expect("memory");
    file
}

fuzz_target!(|contents: &[u8]| {
    let file = memory_file(contents);
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    if let Ok(saved) = Report::read(&path) {
        let rows = compare(&saved, &saved);
        let _ = (saved.describe(), ratio_chart::svg("before", &[("after", &rows)]));
    }
    if let Ok(saved) = Saved::read(&path) {
        let _ = (saved.depth(), saved.widths());
        let _ = changes(&saved, &saved);
    }
});
