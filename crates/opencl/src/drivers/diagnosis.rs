//! Why a driver gives no device. In: its registration, after the loader has asked it in this process. Out: one sentence.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;

use super::loader;
use super::registered::Registered;

/// What ocl-icd and Khronos' loader look up in a driver's library.
const ENTRY: &CStr = c"clIcdGetPlatformIDsKHR";
const BY_NAME: &CStr = c"clGetExtensionFunctionAddress";

/// Returns why a driver has no device; and the file of libOpenCL where that is to blame.
pub(super) fn why_empty(driver: &Registered) -> (String, Option<String>) {
    let library = driver.library();
    let Ok(name) = CString::new(library.as_bytes()) else {
        return ("The name of its library is not one.".to_owned(), None);
    };
    // SAFETY: the name ends with a zero, and the library stays loaded.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) };
    if handle.is_null() {
        let why = blanks(&library).map(str::to_owned).unwrap_or_else(|| not_loaded(&reason()));
        return (why, None);
    }
    // SAFETY: the handle is open.
    match loader::file().filter(|_| unsafe { loader::overlooks(handle) }) {
        Some(file) => {
            let file = file.display().to_string();
            (format!("It answers, but the OpenCL library {file} does not find it."), Some(file))
        }
        None if !has(handle, BY_NAME) && !has(handle, ENTRY) => {
            let name = library.to_string_lossy();
            (format!("Its library, {name}, is no OpenCL driver: it lacks clIcdGetPlatformIDsKHR."), None)
        }
        None => ("It offers no device on this machine.".to_owned(), None),
    }
}

/// What is wrong with a path that no library has, where the eye does not see it.
fn blanks(path: &OsStr) -> Option<&'static str> {
    let bytes = path.as_bytes();
    let is_blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    match bytes {
        _ if bytes.starts_with(b"\xef\xbb\xbf") => Some(
            "In its file the path begins with a byte order mark, as some editors write it: take that out.",
        ),
        _ if bytes.ends_with(b"\r") => {
            Some("In its file the path ends in a carriage return, as Windows ends lines: take that out.")
        }
        _ if is_blank(bytes.last()) => Some("In its file the path ends in a blank: take that out."),
        _ if is_blank(bytes.first()) => Some("In its file the path begins with a blank: take that out."),
        _ => None,
    }
}

/// The loader's own words, and what they mean where few know that.
fn not_loaded(reason: &str) -> String {
    let meaning = match reason {
        _ if reason.contains("ELFCLASS32") => " It is for programs of 32 bits, and this one has 64.",
        _ if reason.contains("ELFCLASS64") => " It is for programs of 64 bits, and this one has 32.",
        _ => "",
    };
    format!("Its library cannot be loaded: {reason}.{meaning}")
}

/// Why the last library could not be loaded.
fn reason() -> String {
    // SAFETY: the message is copied before the next call.
    let message = unsafe {
        let message = libc::dlerror();
        (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
    };
    message.unwrap_or_else(|| "no reason given".to_owned())
}

fn has(handle: *mut c_void, name: &CStr) -> bool {
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
            let found = blanks(OsStr::new(path));
            assert_eq!(found.is_some(), words.is_some(), "{path:?}: {found:?}");
            assert!(found.unwrap_or_default().contains(words.unwrap_or_default()), "{path:?}: {found:?}");
        }
        assert!(not_loaded("/lib/x.so: wrong ELF class: ELFCLASS32").ends_with("this one has 64."));
    }
}
