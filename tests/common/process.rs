//! Child processes: their output, and signals.

use std::borrow::BorrowMut;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::movie::Folder;

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

/// Runs a command to its end; requires this exit code, and that it does not panic.
pub fn finish(mut command: impl BorrowMut<Command>, code: i32) -> Output {
    let command = command.borrow_mut();
    let output = command.output().unwrap();
    let told = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{command:?}: {told}");
    assert!(!text(&output.stderr).contains("panicked"), "{command:?}: {told}");
    output
}

/// Runs a command like [`finish`], and parses its stdout as JSON.
pub fn finish_json(command: impl BorrowMut<Command>, code: i32) -> Value {
    json(&finish(command, code))
}

/// Returns the text of a built-in kernel file, such as `box_filter/03_flat.cl`.
pub fn kernel(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(file)).unwrap()
}

/// Returns the text of a built-in kernel file with each `from`, which it must contain, replaced by `to`.
pub fn edited_kernel(file: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(kernel(file), |text, (from, to)| {
        assert!(text.contains(from), "{file} has no {from}");
        text.replace(from, to)
    })
}

/// Returns a folder of kernels with one file, which is edited.
pub fn edited_kernels(name: &str, file: &str, edits: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(&format!("kernels-{name}"));
    folder.with(file, edited_kernel(file, edits));
    folder
}

/// Writes a file in a folder of kernels as editors do that replace the old one by renaming.
pub fn save_kernel(kernels: &Path, file: &str, text: &str) {
    std::fs::write(kernels.join("new~"), text).unwrap();
    std::fs::rename(kernels.join("new~"), kernels.join(file)).unwrap();
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

/// Starts a command and sends it a signal after a delay, with longer delays until its output is `enough`.
pub fn interrupt(command: impl Fn() -> Command, signal: i32, enough: impl Fn(&Output) -> bool) -> Output {
    for turn in 0..16 {
        let child = spawn_interruptible(command(), signal);
        std::thread::sleep(Duration::from_millis(200).mul_f64(1.6_f64.powi(turn)));
        send_signal(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{}", text(&output.stderr));
        if enough(&output) {
            return output;
        }
    }
    panic!("{:?} never got so far", command());
}

/// Starts clreel so that this signal ends it.
pub fn spawn_interruptible(mut command: Command, signal: libc::c_int) -> Child {
    with_default_action(&mut command, signal).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}
