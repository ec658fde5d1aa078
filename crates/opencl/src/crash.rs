//! Reports what a driver was compiling when it ended the process: a line on stderr names the kernel files that a driver was given
//! ([`building`]) and that have not run yet ([`ran`]), when the process crashes or the driver calls exit(3). Then the results that
//! are there are printed.
//!
//! A handler of a signal may call next to nothing: what it says lies in a fixed table of atomics, and goes out by write(2). Tables
//! and JSON are made by a thread that waits for that from the start: the one that SIGTERM has them printed by needs memory and
//! locks, which the crashed thread may hold, so it is waited for only so long. Rows cannot be printed as they come: the width of
//! a column depends on all of them, and JSON is one object. The process then ends as it would have: by the same signal, or with
//! the driver's exit code.

use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use base::{exit, leftovers};

/// Signals that end a process which is at fault, and what has happened then.
const SIGNALS: [(libc::c_int, &[u8]); 5] = [
    (libc::SIGSEGV, b"crashed (SIGSEGV)"),
    (libc::SIGABRT, b"crashed (SIGABRT)"),
    (libc::SIGBUS, b"crashed (SIGBUS)"),
    (libc::SIGILL, b"crashed (SIGILL)"),
    (libc::SIGFPE, b"crashed (SIGFPE)"),
];

/// How long the results may take to be printed, and how long that is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
const WAIT_MS: libc::c_int = 2500;

/// Files that can be named at once: more threads than compile.
const FILES: usize = 8;
/// Bytes of a file's name, its device and its options.
const TEXT: usize = 400;

/// States of a [`File`].
const FREE: u8 = 0;
const WRITTEN: u8 = 1;
const BUILDING: u8 = 2;
const BUILT: u8 = 3;

/// A kernel file that a driver has, as the line on stderr names it.
struct File {
    state: AtomicU8,
    length: AtomicUsize,
    text: [AtomicU8; TEXT],
}

impl File {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let length = self.length.load(Ordering::Relaxed);
        self.text.iter().take(length).map(|byte| byte.load(Ordering::Relaxed))
    }
}

static TABLE: [File; FILES] = [const {
    File { state: AtomicU8::new(FREE), length: AtomicUsize::new(0), text: [const { AtomicU8::new(0) }; TEXT] }
}; FILES];

/// A driver has this file to compile, until it is dropped.
#[must_use]
pub(super) struct Building(Option<&'static File>);

/// Notes that a driver is given a kernel file to compile.
pub(super) fn building(file: &str, device: &str, options: &str) -> Building {
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
    heed_abort();
    Building(free)
}

impl Drop for Building {
    fn drop(&mut self) {
        if let Some(entry) = self.0 {
            entry.state.store(BUILT, Ordering::Release);
        }
        heed_abort();
    }
}

/// Notes that a kernel has run: some drivers finish compiling, and link, only then.
pub(crate) fn ran() {
    for entry in &TABLE {
        let _ = entry.state.compare_exchange(BUILT, FREE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The actions that were installed for the signals before, and the handler's end of the pair by which it has results printed.
struct Installed {
    before: [libc::sigaction; SIGNALS.len()],
    bell: UnixStream,
}

static INSTALLED: OnceLock<Installed> = OnceLock::new();
/// A thread has begun to say what happened.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// From here on a crash, or a driver that ends the process, is told as the module says. Call it before a driver is loaded: PoCL
/// has a handler of its own for SIGFPE, which must come first.
pub fn install() {
    let Ok((bell, mut printer)) = UnixStream::pair() else { return };
    let print = move || {
        while printer.read_exact(&mut [0]).is_ok() {
            leftovers::say_last_words(PATIENCE);
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
    if INSTALLED.set(Installed { before, bell }).is_err() {
        return;
    }
    SIGNALS.iter().for_each(|(signal, _)| heed(*signal));
    // SAFETY: the function lives as long as the process.
    unsafe { libc::atexit(on_exit) };
}

/// Puts the handler of a signal before all others.
fn heed(signal: libc::c_int) {
    // SAFETY: zeros are a value of this struct; the handler lives as long as the process, and does only what is allowed there.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        // On the other stack, where a thread has one: its own may have overflowed.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Installs the handler again where a compiler has put its own there meanwhile, as LLVM does: abort(3) calls no second one.
/// Handlers of other signals are left alone: LLVM's return to them, and drivers may live by them.
fn heed_abort() {
    if INSTALLED.get().is_some() {
        heed(libc::SIGABRT);
    }
}

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(at) = SIGNALS.iter().position(|(known, _)| *known == signal) else { return };
    tell(SIGNALS[at].1);
    // SAFETY: the kernel has filled `info`; these functions may be called in a handler, with what was installed before.
    unsafe {
        // What a call has raised does not come again by itself, as an instruction's fault does. That goes to who was there
        // before: Rust's own handler tells an overflow of the stack from other faults.
        let is_raised = (*info).si_code <= 0;
        let before = INSTALLED.get().filter(|_| !is_raised).map(|installed| installed.before[at]);
        let before = before.unwrap_or_else(|| std::mem::zeroed());
        libc::sigaction(signal, &before, std::ptr::null_mut());
        if is_raised {
            libc::raise(signal);
        }
    }
}

extern "C" fn on_exit() {
    if !exit::is_reported() {
        tell(b"called exit()");
    }
}

/// Names what is being compiled, and has the results printed. Async-signal-safe.
fn tell(what: &[u8]) {
    if IS_TOLD.swap(true, Ordering::Relaxed) {
        // Another thread is at it; it ends the process.
        wait(-1);
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
        put(2, bytes.chain(after.into_iter().flatten().copied()));
    }
    if let Some(bell) = INSTALLED.get().map(|installed| installed.bell.as_raw_fd()) {
        put(bell, std::iter::once(0));
        wait(bell);
    }
}

/// Writes a line at once.
fn put(to: libc::c_int, bytes: impl Iterator<Item = u8>) {
    let (mut line, mut length) = ([0; 2 * TEXT], 0);
    for (byte, to) in bytes.zip(&mut line) {
        *to = byte;
        length += 1;
    }
    // SAFETY: so many bytes are there. What cannot be written is lost.
    unsafe { libc::write(to, line.as_ptr().cast(), length) };
}

/// Waits until there is something to read, or for so long as all of it may take.
fn wait(from: libc::c_int) {
    let mut poll = libc::pollfd { fd: from, events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one entry; a negative number is none.
    unsafe { libc::poll(&mut poll, 1, WAIT_MS) };
}
