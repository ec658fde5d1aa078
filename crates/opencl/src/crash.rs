//! Reports which kernel files a driver was compiling when it ended the process. When the process crashes or the driver calls
//! exit(3), a line on stderr names the kernel files that the driver was given ([`mark_building`]) and that have not run yet
//! ([`kernel_ran`]). Then the results so far are printed.
//!
//! A signal handler may call next to nothing. Its message lies in a fixed table of atomics, and is written by write(2). Tables and
//! JSON are printed by a thread that waits for a request from the start. It runs the same callback as SIGTERM, which needs memory
//! and locks that the crashed thread may hold, so the handler waits for it only for a limited time. Rows cannot be printed one by
//! one, since the width of a column depends on all rows, and JSON is one object. The process then ends as it would have: by the
//! same signal, or with the driver's exit code.

use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use base::{cleanup, exit};

/// Signals that end a faulty process, with the message for each.
const SIGNALS: [(libc::c_int, &[u8]); 5] = [
    (libc::SIGSEGV, b"crashed (SIGSEGV)"),
    (libc::SIGABRT, b"crashed (SIGABRT)"),
    (libc::SIGBUS, b"crashed (SIGBUS)"),
    (libc::SIGILL, b"crashed (SIGILL)"),
    (libc::SIGFPE, b"crashed (SIGFPE)"),
];

/// The maximum time that printing the results so far may take before the process ends.
pub(super) const PRINT_TIME: Duration = Duration::from_secs(2);
/// The maximum time in milliseconds that a signal handler waits until another thread has printed the results.
const WAIT_MS: libc::c_int = 2500;

/// The number of entries in [`TABLE`]: more than there are threads that compile.
const MAX_ENTRIES: usize = 8;
/// The maximum length of an entry's text (the names of file and device, and the options), in bytes.
const MAX_TEXT_BYTES: usize = 400;

/// State of a [`TableEntry`]: unused.
const FREE: u8 = 0;
/// State of a [`TableEntry`]: its text is being written.
const WRITTEN: u8 = 1;
/// State of a [`TableEntry`]: a driver is compiling its kernel file.
const BUILDING: u8 = 2;
/// State of a [`TableEntry`]: its kernel file is compiled, and no kernel has run since.
const BUILT: u8 = 3;

/// An entry of [`TABLE`]: a kernel file that was given to a driver, and the text that names the file in the crash report.
struct TableEntry {
    state: AtomicU8,
    length: AtomicUsize,
    text: [AtomicU8; MAX_TEXT_BYTES],
}

impl TableEntry {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let length = self.length.load(Ordering::Relaxed);
        self.text.iter().take(length).map(|byte| byte.load(Ordering::Relaxed))
    }
}

/// The kernel files that drivers are compiling or have compiled, for the crash report. A signal handler can read it without a
/// lock.
static TABLE: [TableEntry; MAX_ENTRIES] = [const {
    TableEntry {
        state: AtomicU8::new(FREE),
        length: AtomicUsize::new(0),
        text: [const { AtomicU8::new(0) }; MAX_TEXT_BYTES],
    }
}; MAX_ENTRIES];

/// A guard that marks a kernel file as being compiled until the guard is dropped.
#[must_use]
pub(super) struct BuildGuard(Option<&'static TableEntry>);

/// Records in the table that a driver is given a kernel file to compile. The file counts as compiled when the returned guard is
/// dropped.
pub(super) fn mark_building(file: &str, device: &str, options: &str) -> BuildGuard {
    let free = TABLE.iter().find(|entry| {
        let claim =
            |from| entry.state.compare_exchange(from, WRITTEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
        claim(FREE) || claim(BUILT)
    });
    if let Some(entry) = free {
        let text = format!("'{file}' for '{device}' with {options}");
        let bytes = text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte });
        for (at, (byte, to)) in bytes.zip(&entry.text).enumerate() {
            to.store(byte, Ordering::Relaxed);
            entry.length.store(at + 1, Ordering::Relaxed);
        }
        entry.state.store(BUILDING, Ordering::Release);
    }
    reinstall_abort_handler();
    BuildGuard(free)
}

impl Drop for BuildGuard {
    fn drop(&mut self) {
        if let Some(entry) = self.0 {
            entry.state.store(BUILT, Ordering::Release);
        }
        reinstall_abort_handler();
    }
}

/// Records that a kernel has run, and removes compiled files from the table. They stay there until then because some drivers
/// finish compiling and linking only at a kernel's first run.
pub(crate) fn kernel_ran() {
    for entry in &TABLE {
        let _ = entry.state.compare_exchange(BUILT, FREE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The state that signal handlers need: the signal actions that this module's handlers have replaced, and the handler's end of
/// the socket pair by which it asks another thread to print the results.
struct HandlerState {
    before: [libc::sigaction; SIGNALS.len()],
    printer_socket: UnixStream,
}

/// The state of the signal handlers, once they are installed.
static HANDLER_STATE: OnceLock<HandlerState> = OnceLock::new();
/// True once a thread has begun to report a crash.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Installs the signal handlers. Call it before a driver is loaded: PoCL has its own handler for SIGFPE, which must be installed
/// after this one.
pub fn install() {
    let Ok((printer_socket, mut printer)) = UnixStream::pair() else { return };
    let print = move || {
        while printer.read_exact(&mut [0]).is_ok() {
            cleanup::run_interrupt_callback(PRINT_TIME);
            let _ = printer.write_all(&[0]);
        }
    };
    if std::thread::Builder::new().name("crash".into()).spawn(print).is_err() {
        return;
    }
    // SAFETY: zeros are a value of this struct of plain numbers, and there is room for what was installed.
    let before = SIGNALS.map(|(signal, _)| unsafe {
        let mut before = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut before);
        before
    });
    if HANDLER_STATE.set(HandlerState { before, printer_socket }).is_err() {
        return;
    }
    SIGNALS.iter().for_each(|(signal, _)| install_handler(*signal));
    // SAFETY: the function lives as long as the process.
    unsafe { libc::atexit(on_exit) };
}

/// Installs this module's handler for a signal, in front of all others.
fn install_handler(signal: libc::c_int) {
    // SAFETY: zeros are a value of this struct; the handler lives as long as the process, and does only what is allowed there.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        // The handler runs on the thread's alternate stack, if it has one, since its stack may have overflowed.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Installs the handler for SIGABRT again if a compiler has replaced it, as LLVM does: abort(3) calls no second handler. Handlers
/// of other signals are left alone, since LLVM's handlers return to them, and drivers may depend on them.
fn reinstall_abort_handler() {
    if HANDLER_STATE.get().is_some() {
        install_handler(libc::SIGABRT);
    }
}

/// The signal handler: reports the crash, and then lets the former handler or the system end the process.
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(at) = SIGNALS.iter().position(|(known, _)| *known == signal) else { return };
    report(SIGNALS[at].1);
    // SAFETY: the kernel has filled `info`; these functions may be called in a handler, with what was installed before.
    unsafe {
        // The fault of an instruction recurs on return, and goes to the earlier handler: Rust's own distinguishes an overflow
        // of the stack from other faults. A signal that a call has raised does not recur, so it is raised again.
        let is_raised = (*info).si_code <= 0;
        let before = HANDLER_STATE.get().filter(|_| !is_raised).map(|installed| installed.before[at]);
        let before = before.unwrap_or_else(|| std::mem::zeroed());
        libc::sigaction(signal, &before, std::ptr::null_mut());
        if is_raised {
            libc::raise(signal);
        }
    }
}

/// Runs when the process exits: reports that a driver or a kernel has called `exit()`, unless clreel itself exits.
extern "C" fn on_exit() {
    if !exit::IS_REPORTED.load(Ordering::Relaxed) {
        report(b"called exit()");
    }
}

/// Writes to stderr the names of the kernel files that drivers are compiling. If there are none, writes the names of the files
/// that are compiled and whose kernels have not run yet. Then asks another thread to print the results that the command has so
/// far, and waits for that. `what` describes the crash. Async-signal-safe.
fn report(what: &[u8]) {
    if IS_REPORTED.swap(true, Ordering::Relaxed) {
        // Another thread reports a crash, and then ends the process.
        wait_readable(-1);
        return;
    }
    let of = |state| TABLE.iter().filter(move |entry| entry.state.load(Ordering::Acquire) == state);
    let (state, who, when, then): (u8, &[u8], &[u8], &[u8]) = match of(BUILDING).next() {
        Some(_) => (BUILDING, b"The OpenCL driver ", b" while it built ", b"."),
        None => (
            BUILT,
            b"The process ",
            b" before the first run of ",
            b", when some drivers link, by ld on the PATH.",
        ),
    };
    for entry in of(state) {
        let hint = b" Try another variant with --variant, or another device with --device.\n";
        let (before, after): ([&[u8]; 4], [&[u8]; 2]) = ([b"clreel: ", who, what, when], [then, hint]);
        let bytes = before.into_iter().flatten().copied().chain(entry.bytes());
        write_line(2, bytes.chain(after.into_iter().flatten().copied()));
    }
    if let Some(printer_socket) = HANDLER_STATE.get().map(|installed| installed.printer_socket.as_raw_fd()) {
        write_line(printer_socket, std::iter::once(0));
        wait_readable(printer_socket);
    }
}

/// Writes a line to the file descriptor `to` with one system call.
fn write_line(to: libc::c_int, bytes: impl Iterator<Item = u8>) {
    let (mut line, mut length) = ([0; 2 * MAX_TEXT_BYTES], 0);
    for (byte, to) in bytes.zip(&mut line) {
        *to = byte;
        length += 1;
    }
    // SAFETY: so many bytes are there. What cannot be written is lost.
    unsafe { libc::write(to, line.as_ptr().cast(), length) };
}

/// Waits until the file descriptor `from` is readable, for at most [`WAIT_MS`].
fn wait_readable(from: libc::c_int) {
    let mut poll = libc::pollfd { fd: from, events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one entry; a negative number is none.
    unsafe { libc::poll(&mut poll, 1, WAIT_MS) };
}
