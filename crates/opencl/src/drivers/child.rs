//! This binary in a child process that may crash or hang. In: a hidden subcommand and a folder of registered drivers.
//! Out: the answers that it printed, and how it failed.

use std::io::{self, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::registered::Folder;
use crate::process::end_with_parent;
use base::timing::{MOST_CROWDED, crowding};

/// Stands before the answer in what a child prints: drivers print too.
const MARK: &str = "clreel-driver-answer:";

/// How long a child may take where nobody says otherwise.
const LIMIT: Duration = Duration::from_secs(10);
/// How long the system may take to end it, so that what it printed is there.
const DYING: Duration = Duration::from_secs(2);
/// How often it is looked whether it still runs.
const LOOK: Duration = Duration::from_millis(5);

/// What `CLREEL_DRIVER_TIMEOUT` says, in seconds.
fn asked_limit() -> Option<Duration> {
    let seconds = base::environment::seconds("CLREEL_DRIVER_TIMEOUT");
    seconds.filter(|s| s.is_finite() && (0.01..=3600.0).contains(s)).map(Duration::from_secs_f64)
}

/// How long a child may take on a machine that nobody else uses.
pub(crate) fn time_limit() -> Duration {
    allowed(asked_limit(), 1.0)
}

/// How long it may take on a machine that is so busy; what the user asks for stays as it is.
fn allowed(asked: Option<Duration>, crowding: f64) -> Duration {
    asked.unwrap_or_else(|| LIMIT.mul_f64(crowding))
}

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program whose hidden subcommands run in the sandbox. In a test of this crate the process itself is the test, so the
/// program cannot be found from here; without it nothing is sandboxed.
pub fn set_program(path: PathBuf) {
    let _ = PROGRAM.set(path);
}

/// Returns the program with a hidden subcommand, not started yet.
///
/// # Errors
/// Where [`set_program`] was not called.
pub(super) fn command(subcommand: &str) -> io::Result<Command> {
    let program =
        PROGRAM.get().ok_or_else(|| io::Error::other("no program to run in the sandbox was set"))?;
    let mut command = Command::new(program);
    command.arg0("clreel").arg(subcommand);
    Ok(command)
}

/// This binary in a child process that may crash or hang.
pub struct Asked {
    child: Child,
    printed: Receiver<Vec<u8>>,
    _folder: Folder,
}

impl Asked {
    /// Starts it with a hidden subcommand and what belongs to it. Its loader finds the drivers that are registered in
    /// `folder`.
    pub(super) fn start(
        arguments: &[&str],
        variable: Option<(&str, &str)>,
        folder: Folder,
    ) -> io::Result<Self> {
        let mut child = command(arguments.first().copied().unwrap_or_default())?
            .args(arguments.iter().skip(1))
            .env("OCL_ICD_VENDORS", &folder.0)
            .envs(variable)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (sender, printed) = channel();
        let stdout = child.stdout.take();
        // Not joined: a driver may leave a process behind that keeps the pipe open.
        std::thread::Builder::new().name("ask-driver".into()).spawn(move || {
            let mut bytes = Vec::new();
            let _ = stdout.map(|mut out| out.read_to_end(&mut bytes));
            let _ = sender.send(bytes);
        })?;
        Ok(Self { child, printed, _folder: folder })
    }

    /// What it printed, and `None` or how it failed: one sentence. Waits no longer than the limit, from `began` on.
    pub fn wait(mut self, began: Instant) -> (Vec<u8>, Option<String>) {
        let asked = asked_limit();
        let is_over = || {
            let waited = began.elapsed();
            waited > allowed(asked, 1.0) && waited > allowed(asked, crowding())
        };
        let mut printed = None;
        // The pipe closes a moment before the process has ended.
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if !is_over() => {}
                Ok(status) => break status,
                Err(_) => break None,
            }
            match printed {
                None => match self.printed.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => {}
                    all => printed = Some(all.unwrap_or_default()),
                },
                Some(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        // What it printed before it ended, or hung, comes with the pipe's end.
        let mut rest =
            |wait| printed.take().or_else(|| self.printed.recv_timeout(wait).ok()).unwrap_or_default();
        let Some(status) = status else {
            let waited = began.elapsed();
            let _ = self.child.kill();
            let printed = rest(DYING.mul_f64(crowding()));
            // A process that hangs in the kernel does not end: nobody waits for it here.
            let _ = std::thread::Builder::new().spawn(move || self.child.wait());
            let seconds = asked.map_or_else(|| waited.as_secs_f64().floor(), |asked| asked.as_secs_f64());
            return (printed, Some(format!("It did not answer within {seconds} s.")));
        };
        // A process that it has left behind may hold the pipe.
        (rest(time_limit()), (!status.success()).then(|| how_it_ended(status)))
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    let signal = match status.signal() {
        Some(libc::SIGSEGV) => "a segmentation fault",
        Some(libc::SIGABRT) => "an abort",
        Some(libc::SIGBUS) => "a bus error",
        Some(libc::SIGILL) => "an illegal instruction",
        Some(libc::SIGFPE) => "an arithmetic error",
        Some(libc::SIGKILL) => "a kill, perhaps for want of memory",
        Some(number) => return format!("It crashed while it was asked (signal {number})."),
        None => {
            let code = status.code().unwrap_or_default();
            return format!("It ended the process that asked it, with code {code}.");
        }
    };
    format!("It crashed while it was asked: {signal}.")
}

/// The answers in what a child printed.
pub fn answers_in<T: DeserializeOwned>(printed: &[u8]) -> Vec<T> {
    let text = String::from_utf8_lossy(printed);
    let answers = text.lines().filter_map(|line| line.strip_prefix(MARK));
    answers.filter_map(|answer| serde_json::from_str(answer).ok()).collect()
}

/// Prints an answer on a line of its own, whatever the driver has printed.
pub fn print_answer(answer: &impl Serialize) {
    println!("\n{MARK}{}", serde_json::to_string(answer).unwrap_or_default());
}

/// For a process that is expected to crash or hang: it leaves no core file behind, and ends with the thread that waits
/// for it, or soon after the time limit.
pub fn be_expendable() {
    end_with_parent();
    // SAFETY: a plain number.
    unsafe { libc::alarm(allowed(asked_limit(), MOST_CROWDED).as_secs() as libc::c_uint + 2) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_among_what_a_driver_prints() {
        let printed = format!("driver says hello\nno end of line\n{MARK}[1,2]\n{MARK}[\nbye\n\n{MARK}[3]\n");
        assert_eq!(answers_in::<Vec<u32>>(printed.as_bytes()), [vec![1, 2], vec![3]]);
        assert!(answers_in::<Vec<u32>>(b"\xff\xfe nothing").is_empty());
    }
}
