//! The size that a movie's container states for its file.

#![no_main]

use std::fs::File;
use std::io::Write as _;
use std::os::fd::FromRawFd as _;

use libfuzzer_sys::fuzz_target;
use video::declared_size::declared_bytes;

fuzz_target!(|contents: &[u8]| {
    // SAFETY: the name is a C string; a valid descriptor is owned by the file alone.
    let mut file = unsafe {
        let descriptor = libc::memfd_create(c"movie".as_ptr(), libc::MFD_CLOEXEC);
        assert!(descriptor >= 0);
        File::from_raw_fd(descriptor)
    };
    file.write_all(contents).expect("memory");
    let _ = declared_bytes(&file);
});
