//! Finds out why a driver offers no device, after the loader has called it in this process.
//!
//! The loader is libOpenCL, the library through which all drivers are called. Many programs bring a copy of it, in a folder that
//! `LD_LIBRARY_PATH` names. The copy may be old, or find no driver at all.

use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::ptr;

use ocl::ffi;

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
        // SAFETY: the message is copied before the next call of the dynamic linker.
        let reason = unsafe {
            let message = libc::dlerror();
            (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
        };
        let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
        let why = invisible_characters(&library).map_or_else(|| not_loaded(&reason), str::to_owned);
        return (why, None);
    }
    // SAFETY: the handle is open.
    match library_file().filter(|_| unsafe { ignores_driver(handle) }) {
        Some(file) => {
            let file = file.display().to_string();
            (format!("It works, but the OpenCL library {file} does not find it."), Some(file))
        }
        None if !has_symbol(handle, GET_ADDRESS) && !has_symbol(handle, GET_PLATFORMS) => {
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

/// Returns true if the opened library has a function with this name.
fn has_symbol(handle: *mut c_void, name: &CStr) -> bool {
    // SAFETY: the handle is open, and the name ends with a zero.
    !unsafe { libc::dlsym(handle, name.as_ptr()) }.is_null()
}

/// The name of the function that ocl-icd and Khronos' loader look up in a driver's library.
const GET_PLATFORMS: &CStr = c"clIcdGetPlatformIDsKHR";
/// The name of the function that returns the address of [`GET_PLATFORMS`] if the library does not export the latter.
const GET_ADDRESS: &CStr = c"clGetExtensionFunctionAddress";
type GetPlatforms = unsafe extern "system" fn(u32, *mut *mut c_void, *mut u32) -> i32;
type GetAddress = unsafe extern "system" fn(*const c_char) -> *mut c_void;

/// Returns the path of the file that libOpenCL was loaded from; `None` if the system does not report it.
fn library_file() -> Option<PathBuf> {
    let known: unsafe extern "system" fn(_, _, _) -> _ = ffi::clGetPlatformIDs;
    // SAFETY: all of it are numbers and addresses, which may be none.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is that of a function, and there is room for the answer.
    let found = unsafe { libc::dladdr(known as *const c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name ends with a zero and lasts as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Returns the path of the loaded libOpenCL if it lies in a folder that `LD_LIBRARY_PATH` names; otherwise `None`.
pub(super) fn from_library_path() -> Option<PathBuf> {
    let file = library_file()?;
    let folders = base::environment::get("LD_LIBRARY_PATH")?;
    let parent = file.parent()?;
    let is_parent = |folder: PathBuf| {
        folder == parent
            || folder.canonicalize().is_ok_and(|folder| parent.canonicalize().is_ok_and(|own| own == folder))
    };
    let mut folders = std::env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty());
    folders.any(is_parent).then_some(file.clone())
}

/// Returns true if libOpenCL lists no platform at all, though the driver whose library has this `handle` has platforms. Returns
/// false for a driver without the functions that such a libOpenCL calls.
///
/// # Safety
/// `handle` must come from `dlopen` and still be open.
unsafe fn ignores_driver(handle: *mut c_void) -> bool {
    let mut count = 0;
    // SAFETY: there is room for the number alone.
    unsafe { ffi::clGetPlatformIDs(0, ptr::null_mut(), &mut count) };
    if count > 0 {
        return false;
    }
    // SAFETY: the names end with a zero; the functions are those of the extension cl_khr_icd, which says what they take.
    let found = unsafe {
        let mut address = libc::dlsym(handle, GET_PLATFORMS.as_ptr());
        let by_name = libc::dlsym(handle, GET_ADDRESS.as_ptr());
        if address.is_null() && !by_name.is_null() {
            let by_name = std::mem::transmute::<*mut c_void, GetAddress>(by_name);
            address = by_name(GET_PLATFORMS.as_ptr());
        }
        if address.is_null() {
            return false;
        }
        let platforms = std::mem::transmute::<*mut c_void, GetPlatforms>(address);
        platforms(0, ptr::null_mut(), &mut count)
    };
    found == 0 && count > 0
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
