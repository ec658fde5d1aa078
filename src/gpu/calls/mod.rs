//! OpenCL's functions as ocl is to see them: they never answer with what makes ocl panic. In: the calls that ocl makes.
//! Out: the same calls to the driver, and answers that ocl can take.
//!
//! ocl unwraps in `Drop` and `Clone` what `clRelease…` and `clRetain…` answer, and panics at a status that it has no name
//! for. A lost device refuses everything: the window would end in the middle of the movie, a thread without a word, and a
//! panic in the middle of another one aborts the process. No caller can prevent that, so this file's children define the
//! functions themselves. The linker takes a program's own function before a library's; each passes its call on to the
//! library's, which the dynamic linker finds behind this one. That holds for the window, for every subcommand, for tests
//! and examples alike: whatever this library is linked into.

mod references;
mod statuses;

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(super) use statuses::as_the_driver_said;

/// A function of the OpenCL library, looked up when it is called first.
struct Next {
    found: AtomicPtr<c_void>,
    /// Ends with a zero.
    name: &'static str,
}

impl Next {
    const fn new(name: &'static str) -> Self {
        Self { found: AtomicPtr::new(std::ptr::null_mut()), name }
    }

    /// Its address; null where the library has none.
    fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        let name = self.name.as_ptr().cast();
        // SAFETY: both names end with a zero. The next definition is never this program's own, and a library that is
        // opened here is never closed.
        let found = unsafe {
            let next = libc::dlsym(libc::RTLD_NEXT, name);
            if next.is_null() {
                // The linker leaves a library out that it needs nothing from.
                let library = libc::dlopen(c"libOpenCL.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
                if library.is_null() { next } else { libc::dlsym(library, name) }
            } else {
                next
            }
        };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}
