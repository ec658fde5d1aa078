//! `clRetain…` and `clRelease…`, which always succeed. In: handles that ocl's objects clone and drop. Out: references that
//! the driver counts, or does without.
//!
//! - A release that the driver refuses is a leak: of a lost device there is nothing left to be had.
//! - A retain that it refuses leaves an owner that the driver knows nothing of. If all owners released their handle, the
//!   driver would free the object under the last of them. So one release of this handle, the next, is not passed on.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ocl::ffi::{CL_SUCCESS, cl_int};

use super::Next;

type Count = unsafe extern "C" fn(*mut c_void) -> cl_int;

/// How many owners of each handle the driver knows nothing of. A handle with any is alive: its owners are more than its
/// references, so that no other object can have it.
struct Uncounted(Mutex<BTreeMap<usize, u32>>);

static UNCOUNTED: Uncounted = Uncounted::none();

impl Uncounted {
    const fn none() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn handles(&self) -> MutexGuard<'_, BTreeMap<usize, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Safety
    /// `handle` must be alive, and `driver` the function that counts one more reference of its kind.
    unsafe fn retain(&self, handle: *mut c_void, driver: Option<Count>) {
        // SAFETY: the caller vouches for the handle.
        let counted = driver.is_some_and(|retain| unsafe { retain(handle) } == CL_SUCCESS);
        if !counted {
            *self.handles().entry(handle as usize).or_default() += 1;
        }
    }

    /// # Safety
    /// As for [`Uncounted::retain`], with the function that counts one reference less. The caller must have retained
    /// `handle`, or made it, and not use it any more.
    unsafe fn release(&self, handle: *mut c_void, driver: Option<Count>) {
        if self.forget_one(handle as usize) {
            return;
        }
        if let Some(release) = driver {
            // SAFETY: the driver has counted the caller's reference; what it answers changes nothing.
            unsafe { release(handle) };
        }
    }

    /// Whether the driver did not count an owner of this handle, who is struck off.
    fn forget_one(&self, handle: usize) -> bool {
        let mut handles = self.handles();
        let Some(owners) = handles.get_mut(&handle) else { return false };
        *owners -= 1;
        if *owners == 0 {
            handles.remove(&handle);
        }
        true
    }
}

macro_rules! always_succeed {
    ($($count:ident $function:ident,)*) => {$(
        #[allow(non_snake_case, reason = "OpenCL's own name")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(handle: *mut c_void) -> cl_int {
            static NEXT: Next = Next::new(concat!(stringify!($function), "\0"));
            // SAFETY: the library's function of this name has this type, or there is none.
            let driver = unsafe { std::mem::transmute::<*mut c_void, Option<Count>>(NEXT.address()) };
            // SAFETY: OpenCL asks the caller for the same.
            unsafe { UNCOUNTED.$count(handle, driver) };
            CL_SUCCESS
        }
    )*};
}

always_succeed! {
    retain clRetainContext,
    retain clRetainCommandQueue,
    retain clRetainMemObject,
    retain clRetainProgram,
    retain clRetainKernel,
    retain clRetainEvent,
    release clReleaseContext,
    release clReleaseCommandQueue,
    release clReleaseMemObject,
    release clReleaseProgram,
    release clReleaseKernel,
    release clReleaseEvent,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver's object, which counts its references and refuses as long as it is lost.
    struct Object {
        references: u32,
        is_lost: bool,
    }

    unsafe extern "C" fn retain(object: *mut c_void) -> cl_int {
        // SAFETY: each test passes its own object, which is alive.
        let object = unsafe { &mut *object.cast::<Object>() };
        if object.is_lost {
            return -36;
        }
        assert!(object.references > 0, "retained after it was freed");
        object.references += 1;
        CL_SUCCESS
    }

    unsafe extern "C" fn release(object: *mut c_void) -> cl_int {
        // SAFETY: as above.
        let object = unsafe { &mut *object.cast::<Object>() };
        if object.is_lost {
            return -36;
        }
        assert!(object.references > 0, "released after it was freed");
        object.references -= 1;
        CL_SUCCESS
    }

    /// Owners come and go as `steps` say: `+` one comes, `-` one goes, `x` the device is lost, `o` it is back. Returns what
    /// the driver still counts.
    fn references_after(steps: &str) -> u32 {
        let mut object = Object { references: 1, is_lost: false };
        let handle: *mut c_void = std::ptr::from_mut(&mut object).cast();
        let (uncounted, mut owners) = (Uncounted::none(), 1u32);
        for step in steps.chars() {
            // SAFETY: the object is alive; nothing else refers to it meanwhile.
            unsafe {
                match step {
                    '+' => uncounted.retain(handle, Some(retain)),
                    '-' => uncounted.release(handle, Some(release)),
                    lost => (*handle.cast::<Object>()).is_lost = lost == 'x',
                }
                owners = owners + u32::from(step == '+') - u32::from(step == '-');
                let references = (*handle.cast::<Object>()).references;
                assert!(owners == 0 || references > 0, "freed under its owner: {steps}");
            }
        }
        assert_eq!(owners, 0, "{steps}");
        assert!(uncounted.handles().is_empty(), "{steps}");
        object.references
    }

    #[test]
    fn an_object_is_freed_with_its_last_owner_and_not_before() {
        assert_eq!(references_after("++---"), 0);
        // The owner that was not counted goes first, or last.
        assert_eq!(references_after("x+o--"), 0);
        assert_eq!(references_after("x+o+---"), 0);
        assert_eq!(references_after("+x++o----"), 0);
        assert_eq!(references_after("x+o-x+o--"), 0);
    }

    #[test]
    fn what_is_not_released_is_leaked() {
        assert_eq!(references_after("x-"), 1);
        assert_eq!(references_after("+x--"), 2);
        assert_eq!(references_after("x+--"), 1);
    }

    #[test]
    fn a_library_without_the_function_is_no_reason_to_fail() {
        let (uncounted, handle) = (Uncounted::none(), std::ptr::dangling_mut());
        // SAFETY: there is no function to pass the handle to.
        unsafe {
            uncounted.retain(handle, None);
            assert_eq!(uncounted.handles().len(), 1);
            uncounted.release(handle, None);
            uncounted.release(handle, None);
        }
        assert!(uncounted.handles().is_empty());
    }
}
