//! What winit does not say of an X display: that its server went away, and that a window is not mapped. In: the event
//! loop's display. Out: [`is_lost`], [`is_unmapped`].
//!
//! Xlib ends the process when its connection breaks, and nothing that was measured would be kept. Since libX11 1.7 a
//! program may have it otherwise: every later call on the display fails at once, and the window's loop can end in order.
//! With an older library, and on Wayland, where winit's loop ends by itself, nothing is changed here.

use std::ffi::{CStr, c_int, c_long, c_ulong, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use raw_window_handle::{RawDisplayHandle, RawWindowHandle};

use opencl::event::Waker;

static LOST: AtomicBool = AtomicBool::new(false);
/// Xlib's `Display`.
static DISPLAY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static GET_ATTRIBUTES: OnceLock<GetAttributes> = OnceLock::new();
/// The `xcb_connection_t` below Xlib's display.
static CONNECTION: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static HAS_ERROR: OnceLock<HasError> = OnceLock::new();
static WAKER: OnceLock<Waker> = OnceLock::new();

type IoErrorHandler = unsafe extern "C" fn(*mut c_void) -> c_int;
type ExitHandler = unsafe extern "C" fn(*mut c_void, *mut c_void);
type SetIoErrorHandler = unsafe extern "C" fn(Option<IoErrorHandler>) -> Option<IoErrorHandler>;
type SetExitHandler = unsafe extern "C" fn(*mut c_void, Option<ExitHandler>, *mut c_void);
type GetConnection = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type HasError = unsafe extern "C" fn(*mut c_void) -> c_int;

type GetAttributes = unsafe extern "C" fn(*mut c_void, c_ulong, *mut Attributes) -> c_int;

/// `XWindowAttributes` of Xlib.h.
#[repr(C)]
struct Attributes {
    geometry: [c_int; 6],
    visual: *mut c_void,
    root: c_ulong,
    class_and_gravity: [c_int; 4],
    planes_and_pixel: [c_ulong; 2],
    save_under: c_int,
    colormap: c_ulong,
    map_installed: c_int,
    /// 0: not mapped.
    map_state: c_int,
    masks: [c_long; 3],
    override_redirect: c_int,
    screen: *mut c_void,
}

/// Keeps Xlib from ending the process when the server goes away; `waker` is called then. For the one display of the
/// process, before the other functions are called; does nothing on Wayland.
pub(crate) fn watch(display: RawDisplayHandle, waker: Waker) {
    let RawDisplayHandle::Xlib(handle) = display else { return };
    let Some(display) = handle.display else { return };
    let _ = WAKER.set(waker);
    // SAFETY: the types are those of Xlib's headers (Xlib.h, Xlib-xcb.h, xcb.h), and the libraries stay loaded. The
    // display is open; the handlers are functions of this program that do not unwind.
    unsafe {
        let connection: Option<GetConnection> = function(c"libX11-xcb.so.1", c"XGetXCBConnection");
        let has_error: Option<HasError> = function(c"libxcb.so.1", c"xcb_connection_has_error");
        if let (Some(connection), Some(has_error)) = (connection, has_error) {
            let _ = HAS_ERROR.set(has_error);
            CONNECTION.store(connection(display.as_ptr()), Ordering::Release);
        }
        if let Some(get) = function(c"libX11.so.6", c"XGetWindowAttributes") {
            let _ = GET_ATTRIBUTES.set(get);
            DISPLAY.store(display.as_ptr(), Ordering::Release);
        }
        let set_exit: Option<SetExitHandler> = function(c"libX11.so.6", c"XSetIOErrorExitHandler");
        let set_handler: Option<SetIoErrorHandler> = function(c"libX11.so.6", c"XSetIOErrorHandler");
        // Without the first the process ends after the second, and would do so without a word.
        if let (Some(set_exit), Some(set_handler)) = (set_exit, set_handler) {
            set_exit(display.as_ptr(), Some(stay), std::ptr::null_mut());
            set_handler(Some(note));
        }
    }
}

/// Whether the connection to the X server is broken.
pub(crate) fn is_lost() -> bool {
    let connection = CONNECTION.load(Ordering::Acquire);
    let broken = HAS_ERROR.get().is_some_and(|has_error| {
        // SAFETY: the connection is that of a display that is never closed while it is asked for: see `forget`.
        !connection.is_null() && unsafe { has_error(connection) } != 0
    });
    LOST.load(Ordering::Acquire) || broken
}

/// Whether the window is not mapped: most window managers unmap it while it is minimised. Asks the X server and waits
/// for its answer; on the thread of the event loop only. `false` on Wayland.
pub(crate) fn is_unmapped(window: RawWindowHandle) -> bool {
    let display = DISPLAY.load(Ordering::Acquire);
    let (RawWindowHandle::Xlib(window), Some(get)) = (window, GET_ATTRIBUTES.get()) else { return false };
    if display.is_null() {
        return false;
    }
    let mut attributes = MaybeUninit::<Attributes>::uninit();
    // SAFETY: the display is open: see `forget`. The call fills the attributes where it does not return 0.
    unsafe {
        get(display, window.window, attributes.as_mut_ptr()) != 0 && attributes.assume_init().map_state == 0
    }
}

/// The display is about to be closed in order: from here on it is not asked any more.
pub(crate) fn forget() {
    DISPLAY.store(std::ptr::null_mut(), Ordering::Release);
    CONNECTION.store(std::ptr::null_mut(), Ordering::Release);
}

/// Called by Xlib when a connection broke, in the middle of any call.
unsafe extern "C" fn note(_: *mut c_void) -> c_int {
    LOST.store(true, Ordering::Release);
    // A loop that waits would not look before something else happens.
    if let Some(waker) = WAKER.get() {
        waker();
    }
    0
}

/// Called by Xlib after it, instead of ending the process.
unsafe extern "C" fn stay(_: *mut c_void, _: *mut c_void) {}

/// A function of a library that is loaded already, or can be.
///
/// # Safety
/// `F` must be the type of that function's pointer.
unsafe fn function<F: Copy>(library: &CStr, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: both names are strings that end in 0. A library that is found is never unloaded. A symbol's address is
    // read as the function pointer that the caller says it is.
    unsafe {
        let library = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return None;
        }
        let symbol = libc::dlsym(library, name.as_ptr());
        (!symbol.is_null()).then(|| std::mem::transmute_copy(&symbol))
    }
}
