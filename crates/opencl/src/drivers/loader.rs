//! The library through which all drivers are called, libOpenCL. In: a driver's library. Out: where libOpenCL was loaded from, and
//! whether it leaves out a driver that answers.
//!
//! Many programs bring one of their own, in a folder that `LD_LIBRARY_PATH` names: it may be old, or find no driver at all.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::path::PathBuf;
use std::ptr;

use ocl::ffi;

/// A function that counts platforms and names them.
type GetPlatforms = unsafe extern "system" fn(u32, *mut *mut c_void, *mut u32) -> i32;
/// A function that gives the address of another one.
type GetAddress = unsafe extern "system" fn(*const c_char) -> *mut c_void;

/// The file that libOpenCL was loaded from; `None` where the system does not tell.
pub(super) fn file() -> Option<PathBuf> {
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

/// The file, where it comes from a folder that `LD_LIBRARY_PATH` names.
pub(super) fn brought() -> Option<PathBuf> {
    let file = file()?;
    let folders = base::environment::get("LD_LIBRARY_PATH")?;
    let is_named = std::env::split_paths(&folders)
        .filter(|folder| !folder.as_os_str().is_empty())
        .any(|folder| file.parent().is_some_and(|parent| parent == folder || same(parent, &folder)));
    is_named.then_some(file)
}

fn same(one: &std::path::Path, other: &std::path::Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Whether libOpenCL names no platform at all, though the driver that `handle` stands for has some. A driver that is no
/// library for such loaders is not asked.
///
/// # Safety
/// `handle` is one that `dlopen` gave and that is still open.
pub(super) unsafe fn overlooks(handle: *mut c_void) -> bool {
    let mut count = 0;
    // SAFETY: there is room for the number alone.
    unsafe { ffi::clGetPlatformIDs(0, ptr::null_mut(), &mut count) };
    if count > 0 {
        return false;
    }
    // SAFETY: the names end with a zero; the functions are those of the extension cl_khr_icd, which says what they take.
    let found = unsafe {
        let mut address = libc::dlsym(handle, c"clIcdGetPlatformIDsKHR".as_ptr());
        let by_name = libc::dlsym(handle, c"clGetExtensionFunctionAddress".as_ptr());
        if address.is_null() && !by_name.is_null() {
            let by_name = std::mem::transmute::<*mut c_void, GetAddress>(by_name);
            address = by_name(c"clIcdGetPlatformIDsKHR".as_ptr());
        }
        if address.is_null() {
            return false;
        }
        let platforms = std::mem::transmute::<*mut c_void, GetPlatforms>(address);
        platforms(0, ptr::null_mut(), &mut count)
    };
    found == 0 && count > 0
}
