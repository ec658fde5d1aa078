//! libOpenCL, the library through which all drivers are called: its file, and whether it ignores a driver that works.
//!
//! Many programs bring a copy of libOpenCL, in a folder that `LD_LIBRARY_PATH` names. The copy may be old, or find no driver at
//! all.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::path::PathBuf;
use std::ptr;

use ocl::ffi;

/// The name of the function that ocl-icd and Khronos' loader look up in a driver's library.
pub(super) const GET_PLATFORMS: &CStr = c"clIcdGetPlatformIDsKHR";
/// The name of the function that returns the address of [`GET_PLATFORMS`] if the library does not export the latter.
pub(super) const GET_ADDRESS: &CStr = c"clGetExtensionFunctionAddress";
type GetPlatforms = unsafe extern "system" fn(u32, *mut *mut c_void, *mut u32) -> i32;
type GetAddress = unsafe extern "system" fn(*const c_char) -> *mut c_void;

/// Returns the path of the file that libOpenCL was loaded from; `None` if the system does not report it.
pub(super) fn library_file() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
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
    let is_named = std::env::split_paths(&folders)
        .filter(|folder| !folder.as_os_str().is_empty())
        .any(|folder| file.parent().is_some_and(|parent| parent == folder || is_same_file(parent, &folder)));
    is_named.then_some(file)
}

fn is_same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns true if libOpenCL lists no platform at all, though the driver whose library has this `handle` has platforms. Returns
/// false for a driver without the functions that such a libOpenCL calls.
///
/// # Safety
/// `handle` must come from `dlopen` and still be open.
pub(super) unsafe fn ignores_driver(handle: *mut c_void) -> bool {
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
