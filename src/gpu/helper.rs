//! This binary at work for the window, in a process of its own that a driver may crash or hold up. In: a subcommand. Out: what
//! it tells before each of its steps, which it begins when it is let; at the end that it has ended, and what it said then.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::drivers;
use super::process::exit_now;
use super::watch;
use crate::exit;

/// The longest line that is read, and the most that is kept of what is said on stderr, in bytes.
const LONGEST_LINE: u64 = 4 << 20;
const MOST_SAID: u64 = 64 << 10;
/// How long its last words and its end are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A step, as the helper tells it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Step<T> {
    /// Steps that are done.
    pub done: u64,
    /// All of them, where none is left out.
    pub steps: u64,
    /// What comes next; `None` where that was all.
    pub next: Option<String>,
    /// What is known so far.
    pub results: T,
}

// --- the helper's side -----------------------------------------------------------------------------------------

/// From here on the process ends with the thread that started it, and leaves no core file behind.
pub(crate) fn end_with_parent() {
    // SAFETY: plain numbers.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Tells the window a step.
pub(crate) fn tell(step: &Step<impl Serialize>) {
    drivers::print_answer(step);
    let _ = io::stdout().flush();
}

/// Waits until the window lets the step begin. Ends the process where there is no window any more.
pub(crate) fn wait_for_leave() {
    // No driver is at work meanwhile, so no time limit counts.
    let _host = watch::on_host();
    let mut line = String::new();
    if !matches!(io::stdin().read_line(&mut line), Ok(1..)) {
        exit_now(exit::FAILED);
    }
}

// --- the window's side -----------------------------------------------------------------------------------------

/// What was heard of a helper.
#[derive(Debug)]
pub(crate) enum Heard<T> {
    /// It told a step.
    Step(Box<Step<T>>),
    /// Nothing in this time.
    Nothing,
    /// It has ended: what it said last on stderr, else how.
    Ended(String),
}

/// A helper that was started. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Helper {
    child: Child,
    leave: ChildStdin,
    lines: Receiver<Vec<u8>>,
    said: Receiver<Vec<u8>>,
    _drivers: Option<drivers::Folder>,
}

impl Helper {
    /// Starts a subcommand of this binary, with the drivers that answered when they were asked. It ends with the thread that
    /// calls this.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn start(subcommand: &str, arguments: &[String]) -> io::Result<Self> {
        let (mut command, folder) = drivers::command_with_good(subcommand)?;
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(leave), Some(told), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("it has no pipes"));
        };
        let (sender, lines) = channel();
        std::thread::Builder::new().name("helper".into()).spawn(move || {
            let mut told = BufReader::new(told);
            loop {
                let mut line = Vec::new();
                match told.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        })?;
        let (sender, said) = channel();
        std::thread::Builder::new().name("helper-errors".into()).spawn(move || {
            let (mut errors, mut kept) = (errors, Vec::new());
            let _ = errors.by_ref().take(MOST_SAID).read_to_end(&mut kept);
            // The rest is nobody's: but a full pipe would hold it up.
            let _ = io::copy(&mut errors, &mut io::sink());
            let _ = sender.send(kept);
        })?;
        Ok(Self { child, leave, lines, said, _drivers: folder })
    }

    /// What it tells next; waits so long for that.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self, wait: Duration) -> Heard<T> {
        let end = Instant::now() + wait;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                // Drivers print, too.
                Ok(line) => {
                    if let Some(step) = drivers::answers_in(&line).pop() {
                        return Heard::Step(Box::new(step));
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Heard::Nothing,
                Err(RecvTimeoutError::Disconnected) => return Heard::Ended(self.last_words()),
            }
        }
    }

    /// Lets it begin the step that it has told; nothing where it has ended.
    pub(crate) fn let_go_on(&mut self) {
        // That it has ended is heard.
        let _ = self.leave.write_all(b"\n").and_then(|()| self.leave.flush());
    }

    fn last_words(&mut self) -> String {
        let said = self.said.recv_timeout(PATIENCE).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        if let Some(sentence) = said.lines().rev().find_map(|line| line.strip_prefix("clreel: ")) {
            return sentence.to_owned();
        }
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return match status.signal() {
                    Some(number) => format!("Its process was ended by signal {number}."),
                    None => format!("Its process ended with code {}.", status.code().unwrap_or_default()),
                };
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        "Its process closed its pipes.".to_owned()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let end = Instant::now() + PATIENCE;
        // One that hangs in the system does not end: it is left to that.
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
