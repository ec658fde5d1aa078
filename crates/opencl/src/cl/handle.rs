//! Reference-counted handles of the driver's objects, and queries of their properties.
//!
//! Clones share the one reference that the driver counted when it made the object. The driver is never asked to count another
//! reference (`clRetain…`), which it refuses for a lost device. If it refuses to release a reference, the object leaks, which does
//! not matter on a lost device.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use num_traits::PrimInt;
use ocl::ffi::{CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, cl_device_info, cl_int, clGetDeviceInfo};

use super::status::{Answer, Status};
use base::memory::zeroed;
use base::text::{escaped, escaped_lines};

/// The OpenCL function that releases one reference to an object, such as `clReleaseMemObject`.
type Release = unsafe extern "system" fn(*mut c_void) -> cl_int;

/// An object of the driver, released when the last clone of its handle is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Handle(Arc<OwnedObject>);

/// A reference to an object of the driver, with the function that releases it.
#[derive(Debug)]
struct OwnedObject {
    raw: NonNull<c_void>,
    release: Release,
}

// SAFETY: OpenCL's objects belong to no thread, and all functions but clSetKernelArg may be called on several at once
// (OpenCL 1.2, A.2); a `Kernel` is used by one thread at a time.
unsafe impl Send for OwnedObject {}
// SAFETY: as above.
unsafe impl Sync for OwnedObject {}

impl Drop for OwnedObject {
    fn drop(&mut self) {
        // SAFETY: the object is alive, and its one reference is given back here, once.
        let _refused = unsafe { (self.release)(self.raw.as_ptr()) };
    }
}

impl Handle {
    /// Wraps the object that an OpenCL call returned with `status`. Success with a null object is an error.
    ///
    /// # Errors
    /// Returns an error if there is no object.
    ///
    /// # Safety
    /// If `status` is success, `raw` must be null, or a reference that the caller owns and gives away, and that `release` can
    /// release.
    pub(crate) unsafe fn new(raw: *mut c_void, status: cl_int, release: Release) -> Answer<Self> {
        Status::check(status)?;
        let raw = NonNull::new(raw).ok_or(Status(CL_OUT_OF_RESOURCES))?;
        Ok(Self(Arc::new(OwnedObject { raw, release })))
    }

    /// Returns the raw handle for OpenCL calls, valid while this handle is borrowed.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.0.raw.as_ptr()
    }
}

/// The driver's handle of a platform or a device, valid until the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id(*mut c_void);

// SAFETY: it is a name, which any thread may use.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

impl Id {
    pub(super) fn new(raw: *mut c_void) -> Self {
        Self(raw)
    }

    /// Returns the raw handle for OpenCL calls.
    pub fn raw(self) -> *mut c_void {
        self.0
    }
}

/// Queries a property of any length. `ask` calls a function `clGet…Info` with the size of an area of memory, its address, and the
/// address for the length of the whole property; it is called twice.
pub(crate) fn bytes_of(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Answer<Vec<u8>> {
    let mut length = 0;
    Status::check(ask(0, ptr::null_mut(), &mut length))?;
    let mut bytes = zeroed(length).map_err(|_| Status(CL_OUT_OF_HOST_MEMORY))?;
    if length > 0 {
        let mut written = length;
        Status::check(ask(length, bytes.as_mut_ptr().cast(), &mut written))?;
        bytes.truncate(written);
    }
    Ok(bytes)
}

/// Queries a property that is text in one line, and removes NUL characters and white space at both ends.
pub(crate) fn text_of(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Answer<String> {
    Ok(escaped(trim(&String::from_utf8_lossy(&bytes_of(ask)?))).into_owned())
}

/// Queries a property that is text in several lines, such as a build log.
pub(crate) fn lines_of(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Answer<String> {
    let log = String::from_utf8_lossy(&bytes_of(ask)?).replace("\r\n", "\n");
    Ok(escaped_lines(trim(&log)).into_owned())
}

/// Removes NUL characters and white space at both ends of a text.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\0' || c.is_whitespace())
}

/// Queries a property that is one number. `ask` calls a function `clGet…Info` with the size and the address of the number.
pub(crate) fn number_of<T: PrimInt>(ask: impl FnOnce(usize, *mut c_void) -> cl_int) -> Answer<T> {
    let mut number = T::zero();
    Status::check(ask(size_of::<T>(), ptr::from_mut(&mut number).cast())).map(|()| number)
}

/// Queries a numeric property of a device; `None` if the driver does not report it.
pub(super) fn number<T: PrimInt>(id: Id, what: cl_device_info) -> Option<T> {
    let answer = number_of(|size, to| {
        // SAFETY: the device is one that the driver has named, and there is room for `size` bytes.
        unsafe { clGetDeviceInfo(id.raw(), what, size, to, ptr::null_mut()) }
    });
    answer.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    /// A fake object of a driver: counts its releases, and holds the status that a release returns.
    struct Object {
        released: AtomicI32,
        answer: cl_int,
    }

    unsafe extern "system" fn release(object: *mut c_void) -> cl_int {
        // SAFETY: each test passes its own object, which is alive.
        let object = unsafe { &*object.cast::<Object>() };
        object.released.fetch_add(1, Ordering::Relaxed);
        object.answer
    }

    fn handle(object: &Object, status: cl_int) -> Answer<Handle> {
        // SAFETY: the function only counts.
        unsafe { Handle::new(ptr::from_ref(object).cast_mut().cast(), status, release) }
    }

    #[test]
    fn an_object_is_released_once_with_its_last_owner_whatever_the_driver_answers() {
        for answer in [0, -36, -1092] {
            let object = Object { released: AtomicI32::new(0), answer };
            let released = || object.released.load(Ordering::Relaxed);
            let first = handle(&object, 0).unwrap();
            let second = first.clone();
            assert_eq!(first.raw(), second.raw());
            drop(first);
            let third = second.clone();
            drop(second);
            assert_eq!(released(), 0);
            std::thread::spawn(move || drop(third)).join().unwrap();
            assert_eq!(released(), 1);
        }
        let object = Object { released: AtomicI32::new(0), answer: 0 };
        assert_eq!(handle(&object, -1092).unwrap_err(), Status(-1092));
        assert_eq!(object.released.load(Ordering::Relaxed), 0);
        // SAFETY: there is nothing to release.
        let none = unsafe { Handle::new(ptr::null_mut(), 0, release) };
        assert_eq!(none.unwrap_err(), Status(CL_OUT_OF_RESOURCES));
    }

    #[test]
    fn answers_are_as_long_as_the_driver_says_and_no_longer() {
        let tell = |text: &'static [u8], claimed: usize| {
            move |size: usize, to: *mut c_void, length: *mut usize| {
                // SAFETY: the address has room for `size` bytes, and the length for one number.
                unsafe {
                    *length = if to.is_null() { claimed } else { text.len() };
                    if !to.is_null() {
                        ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), size.min(text.len()));
                    }
                }
                0
            }
        };
        assert_eq!(text_of(tell(b" name \0", 7)), Ok("name".to_owned()));
        assert_eq!(text_of(tell(b"name", 4)), Ok("name".to_owned()));
        assert_eq!(text_of(tell(b"\xffname\0\0", 7)), Ok("\u{fffd}name".to_owned()));
        assert_eq!(text_of(tell(b"a\n\x1b[31m\0", 8)), Ok("a\\n\\x1b[31m".to_owned()));
        assert_eq!(lines_of(tell(b"a\r\n\tb\x07\n", 7)), Ok("a\n\tb\\x07".to_owned()));
        // Less than was said at first, and more than there was room for.
        assert_eq!(bytes_of(tell(b"ab", 5)), Ok(b"ab".to_vec()));
        assert_eq!(bytes_of(tell(b"abcd", 2)), Ok(b"ab".to_vec()));
        assert_eq!(bytes_of(tell(b"", 0)), Ok(Vec::new()));
        assert_eq!(bytes_of(tell(b"", usize::MAX)), Err(Status(CL_OUT_OF_HOST_MEMORY)));
        assert_eq!(text_of(|_, _, _| -1092), Err(Status(-1092)));
        assert_eq!(number_of::<u64>(|_, _| -30), Err(Status(-30)));
    }
}
