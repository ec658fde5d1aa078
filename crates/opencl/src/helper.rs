//! This binary at work for the window, in a process of its own that a driver may crash or hold up. In: a subcommand. Out: what
//! it tells before each of its steps, which it begins when it is let; at the end that it has ended, and what it said then.

use std::io::{self, Read as _, Write as _};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::drivers;
use super::piped::Piped;
use super::process::exit_now;
use super::watch;
use base::exit;

/// The most that is kept of what is said on stderr, in bytes.
const MOST_SAID: u64 = 64 << 10;
/// How long its last words are waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many times as long as elsewhere drivers may take to answer.
const BUSY: u32 = 6;

/// A step, as the helper tells it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step<T> {
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

/// Tells the window a step.
pub fn tell(step: &Step<impl Serialize>) {
    drivers::print_answer(step);
    let _ = io::stdout().flush();
}

/// Waits until the window lets the step begin. Ends the process where there is no window any more.
pub fn wait_for_leave() {
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
pub enum Heard<T> {
    /// It told a step.
    Step(Box<Step<T>>),
    /// Nothing in this time.
    Nothing,
    /// It has ended: what it said last on stderr, else how.
    Ended(String),
}

/// A helper that was started. Dropping it ends it.
#[derive(Debug)]
pub struct Helper {
    piped: Piped,
    said: Receiver<Vec<u8>>,
    _drivers: Option<drivers::Folder>,
}

impl Helper {
    /// Starts a subcommand of this binary, with the drivers that answered when they were asked. It ends with the thread that
    /// calls this.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(subcommand: &str, arguments: &[String]) -> io::Result<Self> {
        let (mut command, folder) = drivers::command_with_good(subcommand)?;
        command.args(arguments);
        // They have answered before: at a low priority on a busy machine that only takes longer.
        let patience = (BUSY * drivers::time_limit()).min(Duration::from_secs(3600));
        command.env("CLREEL_DRIVER_TIMEOUT", patience.as_secs_f64().to_string());
        let mut piped = Piped::start(command.stderr(Stdio::piped()), "helper")?;
        let errors = piped.stderr().ok_or_else(|| io::Error::other("it has no pipes"))?;
        let (sender, said) = channel();
        std::thread::Builder::new().name("helper-errors".into()).spawn(move || {
            let (mut errors, mut kept) = (errors, Vec::new());
            let _ = errors.by_ref().take(MOST_SAID).read_to_end(&mut kept);
            // The rest is nobody's: but a full pipe would hold it up.
            let _ = io::copy(&mut errors, &mut io::sink());
            let _ = sender.send(kept);
        })?;
        Ok(Self { piped, said, _drivers: folder })
    }

    /// What it tells next; waits so long for that.
    pub fn hear<T: DeserializeOwned>(&mut self, wait: Duration) -> Heard<T> {
        let end = Instant::now() + wait;
        loop {
            match self.piped.hear(end.saturating_duration_since(Instant::now())) {
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
    pub fn let_go_on(&mut self) {
        // That it has ended is heard.
        let _ = self.piped.write(b"\n");
    }

    fn last_words(&mut self) -> String {
        let said = self.said.recv_timeout(PATIENCE).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        if let Some(sentence) = said.lines().rev().find_map(|line| line.strip_prefix("clreel: ")) {
            return sentence.to_owned();
        }
        match self.piped.ended() {
            Some(how) => format!("Its process ended with {how}."),
            None => "Its process closed its pipes.".to_owned(),
        }
    }
}
