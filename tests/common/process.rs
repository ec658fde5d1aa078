//! Child processes: their output, and signals.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output};

use serde_json::Value;

/// The folder in which PoCL caches compiled programs, for `POCL_CACHE_DIR`: most tests compile the same kernels.
pub const COMPILED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/pocl");

/// Returns what a child process printed as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parses stdout as JSON.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// Restores the default action of a signal: a shell may have started the tests with signals ignored, and the child would
/// inherit that.
pub fn with_default_action(command: &mut Command, signal: libc::c_int) -> &mut Command {
    let restore = move || {
        // SAFETY: the call changes this process only.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: `signal` is async-signal-safe, so it may be called between fork and exec.
    unsafe { command.pre_exec(restore) }
}

/// Sends a child process a signal, such as SIGSTOP.
pub fn send_signal(child: &Child, signal: libc::c_int) {
    // SAFETY: the call has no preconditions; who has the child has not reaped it, so the process id is its own.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}
