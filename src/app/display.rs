//! Detection of two conditions of an X display that winit does not report: the connection is lost ([`is_lost`]), or a window is
//! not mapped ([`is_unmapped`]).
//!
//! Xlib ends the process when its connection breaks, and all measurements would be lost. Since libX11 1.7 a program can prevent
//! that: then every later call on the display fails at once, and the window's event loop can end normally. With an older
//! library, and on Wayland, where winit's event loop ends by itself, this module changes nothing.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use raw_window_handle::{RawDisplayHandle, RawWindowHandle};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, MapState};
use x11rb::rust_connection::RustConnection;

use opencl::event::Waker;

/// True once the connection to the X server has been lost.
static IS_LOST: AtomicBool = AtomicBool::new(false);
/// The `xcb_connection_t` of the display; null if unknown or closed.
static CONNECTION: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// XCB's function `xcb_connection_has_error`; not set if Xlib is not in use.
static HAS_ERROR: OnceLock<HasError> = OnceLock::new();
/// The waker of the event loop, called when the connection breaks.
static WAKER: OnceLock<Waker> = OnceLock::new();

/// The type of a function that handles Xlib's I/O errors.
type IoErrorHandler = unsafe extern "C" fn(*mut c_void) -> c_int;
/// The type of a function that Xlib calls after an I/O error, in place of ending the process.
type ExitHandler = unsafe extern "C" fn(*mut c_void, *mut c_void);
/// The type of the function `XSetIOErrorHandler`.
type SetIoErrorHandler = unsafe extern "C" fn(Option<IoErrorHandler>) -> Option<IoErrorHandler>;
/// The type of the function `XSetIOErrorExitHandler`.
type SetExitHandler = unsafe extern "C" fn(*mut c_void, Option<ExitHandler>, *mut c_void);
/// The type of the function `xcb_connection_has_error`.
type HasError = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Keeps Xlib from ending the process when the connection to the X server breaks; `waker` is called then. Must be called for
/// the only display of the process, before the other functions of this module. Does nothing on Wayland.
pub(crate) fn watch(display: RawDisplayHandle, waker: Waker) {
    let RawDisplayHandle::Xlib(handle) = display else { return };
    let Some(display) = handle.display else { return };
    let _ = WAKER.set(waker);
    // SAFETY: the types are those of Xlib's headers (Xlib.h, Xlib-xcb.h, xcb.h), and the libraries stay loaded. The
    // display is open; the handlers are functions of this program that do not unwind.
    unsafe {
        let connection: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void> =
            function(c"libX11-xcb.so.1", c"XGetXCBConnection");
        let has_error: Option<HasError> = function(c"libxcb.so.1", c"xcb_connection_has_error");
        if let (Some(connection), Some(has_error)) = (connection, has_error) {
            let _ = HAS_ERROR.set(has_error);
            CONNECTION.store(connection(display.as_ptr()), Ordering::Release);
        }
        let set_exit: Option<SetExitHandler> = function(c"libX11.so.6", c"XSetIOErrorExitHandler");
        let set_handler: Option<SetIoErrorHandler> = function(c"libX11.so.6", c"XSetIOErrorHandler");
        // If only the second function existed, the process would end after its handler, without a message.
        if let (Some(set_exit), Some(set_handler)) = (set_exit, set_handler) {
            set_exit(display.as_ptr(), Some(ignore_exit), std::ptr::null_mut());
            set_handler(Some(note_lost));
        }
    }
}

pub(crate) fn is_lost() -> bool {
    let connection = CONNECTION.load(Ordering::Acquire);
    let broken = HAS_ERROR.get().is_some_and(|has_error| {
        // SAFETY: the connection is that of a display that is not closed while it is used: see `stop_using`.
        !connection.is_null() && unsafe { has_error(connection) } != 0
    });
    IS_LOST.load(Ordering::Acquire) || broken
}

/// Returns true if the window is not mapped: most window managers unmap a window that is minimised. Queries the X server by a
/// connection of its own and waits for its reply. Returns false on Wayland, or if the server does not answer.
pub(crate) fn is_unmapped(window: RawWindowHandle) -> bool {
    static SERVER: OnceLock<Option<RustConnection>> = OnceLock::new();
    let RawWindowHandle::Xlib(window) = window else { return false };
    let connect = || x11rb::connect(None).ok().map(|(server, _)| server);
    let Some(server) = SERVER.get_or_init(connect) else { return false };
    let asked = server.get_window_attributes(window.window as u32);
    let attributes = asked.ok().and_then(|asked| asked.reply().ok());
    // Every client is told when the keyboard changes, and x11rb keeps what is not taken.
    while let Ok(Some(_)) = server.poll_for_event() {}
    attributes.is_some_and(|attributes| attributes.map_state == MapState::UNMAPPED)
}

/// Makes [`is_lost`] not use the display from now on. Must be called before the display is closed.
pub(crate) fn stop_using() {
    CONNECTION.store(std::ptr::null_mut(), Ordering::Release);
}

/// Handles Xlib's I/O errors: called when the connection breaks, in the middle of any call of Xlib.
unsafe extern "C" fn note_lost(_: *mut c_void) -> c_int {
    IS_LOST.store(true, Ordering::Release);
    // A waiting event loop would notice the broken connection only with the next event.
    if let Some(waker) = WAKER.get() {
        waker();
    }
    0
}

/// Returns, so that Xlib does not end the process. Xlib calls it after [`note_lost`].
unsafe extern "C" fn ignore_exit(_: *mut c_void, _: *mut c_void) {}

/// Loads a library if necessary, and returns its function with this name; `None` if the library or the function does not exist.
///
/// # Safety
/// `F` must be the type of that function's pointer.
unsafe fn function<F: Copy>(library: &CStr, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: both names are strings that end in 0. A library that is found is never unloaded. A symbol's address is
    // read as the function pointer of the caller's type.
    unsafe {
        let library = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return None;
        }
        let symbol = libc::dlsym(library, name.as_ptr());
        (!symbol.is_null()).then(|| std::mem::transmute_copy(&symbol))
    }
}
