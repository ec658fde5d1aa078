//! The child's side of the sandbox: messages to its parent, and requests from there.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::Message;
use crate::process::{exit_now, keep_memory};
use base::{exit, stdout};

/// The pipe to the parent process.
static PARENT: OnceLock<Mutex<File>> = OnceLock::new();
/// True in a child process that serves requests of its parent. Such a process reports the steps of its work.
static SERVES_REQUESTS: AtomicBool = AtomicBool::new(false);
/// True in a sandboxed process.
static IS_SANDBOXED: AtomicBool = AtomicBool::new(false);

/// Returns true in a sandboxed process, which may crash.
pub(crate) fn is_sandboxed() -> bool {
    IS_SANDBOXED.load(Ordering::Relaxed)
}

/// Marks this process as sandboxed, and makes it end with the thread that started it. Call it in a program that a sandboxed
/// process has started.
pub fn end_with_parent() {
    IS_SANDBOXED.store(true, Ordering::Relaxed);
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Reserves stdout for [`send`]: drivers and kernels, which print too, write to /dev/null instead.
///
/// # Errors
/// Returns an error if the system reports one.
pub fn enter() -> io::Result<()> {
    stdout::separate(File::options().write(true).open("/dev/null")?)?;
    let _ = PARENT.set(Mutex::new(stdout::results()?));
    Ok(())
}

/// Sends a message to the parent; does nothing before [`enter`]. Ends the process if the parent has ended. Any thread may call
/// it.
pub fn send(message: &impl Serialize) {
    let (Some(parent), Ok(mut line)) = (PARENT.get(), serde_json::to_vec(message)) else { return };
    line.push(b'\n');
    if parent.lock().write_all(&line).is_err() {
        exit_now(exit::FAILED);
    }
}

/// Waits for the next line from the parent, and returns it. Ends the process if the parent has ended.
pub fn receive_line() -> String {
    // No driver is called while the process waits here, so no time limit applies.
    let _host = crate::watch::on_host();
    let mut line = String::new();
    // Stdin is locked for one line only, since another thread may wait for a payload.
    if !io::stdin().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        exit_now(exit::FAILED);
    }
    line
}

/// Reports to the parent that a step begins; does nothing in a process that serves no requests.
pub(crate) fn step(name: &str) {
    if SERVES_REQUESTS.load(Ordering::Relaxed) {
        send(&Message::<()>::Step(name.to_owned()));
    }
}

/// The child's side of the connection to its parent, with the memory that both share.
#[derive(Debug, Clone, Copy)]
pub struct ParentConnection {
    frame: &'static File,
}

impl ParentConnection {
    /// Reports to the parent that a step begins. The time limit of the step starts now.
    pub fn step(&self, name: &str) {
        step(name);
    }

    /// Reports the predicted time of the current step to the parent, in milliseconds.
    pub fn report_prediction(&self, ms: f64) {
        send(&Message::<()>::Predicted(ms));
    }

    /// Waits until the payload of the request is complete, and reads it into `bytes`. Call it once for each request.
    ///
    /// # Errors
    /// Returns an error if the payload is shorter than `bytes`.
    pub fn read_payload(&self, bytes: &mut [u8]) -> io::Result<()> {
        receive_line();
        self.frame.read_exact_at(bytes, 0)
    }

    /// Writes the payload of the reply to the shared memory.
    ///
    /// # Errors
    /// Returns an error if memory runs out.
    pub fn write_payload(&self, bytes: &[u8]) -> io::Result<()> {
        self.frame.write_all_at(bytes, 0)
    }
}

/// Serves requests in the child process: calls `answer` for each request and sends the result, until the parent ends; then ends
/// the process. `frame` is the descriptor of the shared memory.
pub fn serve<Q: DeserializeOwned, A: Serialize>(
    frame: u32,
    mut answer: impl FnMut(Q, &mut ParentConnection) -> A,
) -> ! {
    keep_memory();
    let opened =
        enter().and_then(|()| File::options().read(true).write(true).open(format!("/proc/self/fd/{frame}")));
    let Ok(frame) = opened else { exit_now(exit::FAILED) };
    SERVES_REQUESTS.store(true, Ordering::Relaxed);
    IS_SANDBOXED.store(true, Ordering::Relaxed);
    let mut talk = ParentConnection { frame: Box::leak(Box::new(frame)) };
    loop {
        let line = receive_line();
        // An empty line completes a payload that the request did not read.
        if line != "\n" {
            let Ok(request) = serde_json::from_str(&line) else { exit_now(exit::FAILED) };
            send(&Message::Answer(answer(request, &mut talk)));
        }
    }
}

/// Allocates and touches `bytes` bytes of memory, so that later allocations are fast.
pub fn warm_up(bytes: usize) {
    drop(std::hint::black_box(vec![1_u8; bytes]));
}
