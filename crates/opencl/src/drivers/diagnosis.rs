//! Finds out why a driver offers no device, after the loader has called it in this process.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;

use super::loader;
use super::registered::RegisteredDriver;

/// Returns the reason why a driver offers no device, and the path of the libOpenCL file if that file is the cause.
pub(super) fn why_empty(driver: &RegisteredDriver) -> (String, Option<String>) {
    let library = driver.library();
    let Ok(name) = CString::new(library.as_bytes()) else {
        return ("The name of its library is not one.".to_owned(), None);
    };
    // SAFETY: the name ends with a zero, and the library stays loaded.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) };
    if handle.is_null() {
        let why =
            invisible_characters(&library).map(str::to_owned).unwrap_or_else(|| not_loaded(&linker_error()));
        return (why, None);
    }
    // SAFETY: the handle is open.
    match loader::library_file().filter(|_| unsafe { loader::ignores_driver(handle) }) {
        Some(file) => {
            let file = file.display().to_string();
            (format!("It works, but the OpenCL library {file} does not find it."), Some(file))
        }
        None if !has_symbol(handle, loader::GET_ADDRESS) && !has_symbol(handle, loader::GET_PLATFORMS) => {
            let name = library.to_string_lossy();
            (format!("Its library, {name}, is no OpenCL driver: it lacks clIcdGetPlatformIDsKHR."), None)
        }
        None => ("It offers no device on this machine.".to_owned(), None),
    }
}

/// Returns a sentence about invisible characters in a library's path: whitespace at its ends, or a byte order mark at its
/// beginning. `None` if there are none.
fn invisible_characters(path: &OsStr) -> Option<&'static str> {
    let bytes = path.as_bytes();
    let is_blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    match bytes {
        _ if bytes.starts_with(b"\xef\xbb\xbf") => {
            Some("In its file the path begins with a byte order mark, as some editors write it: remove that.")
        }
        _ if bytes.ends_with(b"\r") => {
            Some("In its file the path ends in a carriage return, as Windows ends lines: remove that.")
        }
        _ if is_blank(bytes.last()) => Some("In its file the path ends in a blank: remove that."),
        _ if is_blank(bytes.first()) => Some("In its file the path begins with a blank: remove that."),
        _ => None,
    }
}

/// Returns a sentence with the dynamic linker's message `reason`, and with an explanation if the message is hard to understand.
fn not_loaded(reason: &str) -> String {
    let meaning = match reason {
        _ if reason.contains("ELFCLASS32") => " It is for programs of 32 bits, and this one has 64.",
        _ if reason.contains("ELFCLASS64") => " It is for programs of 64 bits, and this one has 32.",
        _ => "",
    };
    format!("Its library cannot be loaded: {reason}.{meaning}")
}

/// Returns the last error message of the dynamic linker.
fn linker_error() -> String {
    // SAFETY: the message is copied before the next call.
    let message = unsafe {
        let message = libc::dlerror();
        (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
    };
    message.unwrap_or_else(|| "no reason given".to_owned())
}

/// Returns true if the opened library has a function with this name.
fn has_symbol(handle: *mut c_void, name: &CStr) -> bool {
    // SAFETY: the handle is open, and the name ends with a zero.
    !unsafe { libc::dlsym(handle, name.as_ptr()) }.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_eye_does_not_see_is_named() {
        for (path, words) in [
            ("/usr/lib/libpocl.so.2\r", Some("ends in a carriage return")),
            ("libpocl.so.2 ", Some("ends in a blank")),
            ("libpocl.so.2\t", Some("ends in a blank")),
            (" libpocl.so.2", Some("begins with a blank")),
            ("\u{feff}libpocl.so.2", Some("begins with a byte order mark")),
            ("/opt/my drivers/lib.so", None),
        ] {
            let found = invisible_characters(OsStr::new(path));
            assert_eq!(found.is_some(), words.is_some(), "{path:?}: {found:?}");
            assert!(found.unwrap_or_default().contains(words.unwrap_or_default()), "{path:?}: {found:?}");
        }
        assert!(not_loaded("/lib/x.so: wrong ELF class: ELFCLASS32").ends_with("this one has 64."));
    }
}
