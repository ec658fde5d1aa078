//! Kernels that nobody has tried run in a child process first: one that loops for ever or writes into nowhere costs that
//! child alone. In: requests, and a picture. Out: an answer to each, or the [`Fault`] that ended the child.
//!
//! The child is this binary again, with a hidden subcommand. It stays, so that the next request finds its devices and
//! programs there. A request and what the child says to it are a line of JSON each, in the child's stdin and stdout; the
//! picture lies in memory without a name that both have open, and an empty line says that it is there: it may still be made while
//! the child compiles. While it works the child says what it does and how long that should take, so that a slow kernel is told
//! from an endless one. What is asked is no concern of this module.

mod child;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::at_work::Effort;
use super::drivers;
use super::piped::Piped;
pub use super::spent::Limit;
use super::spent::{LOOK, Spent};
use base::timing::log::{self, Event, Track};
pub use child::{Talk, serve, warm_up};

/// The hidden subcommand with which this binary tries kernels.
pub const TRY: &str = "try-kernels";

/// The step before any other: drivers are loaded, and the device made ready.
pub const START: &str = "start";
/// The step in which the compiler is at work.
pub const BUILD: &str = "build";

/// The step after it, in which kernels may run for the first time.
pub const LAUNCH: &str = "launch";

/// What a child says while it works, and at the end.
#[derive(Debug, Serialize, Deserialize)]
enum Said<A> {
    /// This is what it does now, as in "build".
    Step(String),
    /// The step should take so many milliseconds.
    Predicted(f64),
    /// It is done.
    Answer(A),
}

/// How a trial ended the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The child ended by itself, and how: "signal 11".
    Ended(String),
    /// It was killed in this step, after this time.
    Silent(String, Duration),
    /// There is no child, and why.
    NotStarted(String),
}

/// A child that waits for requests.
#[derive(Debug)]
pub struct Client {
    piped: Piped,
    frame: File,
    asked: u32,
    /// When it was asked last.
    began: Instant,
    step: String,
    /// It may have run kernels for what it was asked last.
    has_run: bool,
    _drivers: Option<drivers::Folder>,
}

impl Client {
    /// Starts a child that answers for this ladder, with the drivers that answered when they were asked. It ends with the
    /// thread that calls this.
    ///
    /// # Errors
    /// [`Fault::NotStarted`].
    pub fn start(ladder: &str) -> Result<Self, Fault> {
        Self::try_start(ladder).map_err(|e| Fault::NotStarted(e.to_string()))
    }

    fn try_start(ladder: &str) -> io::Result<Self> {
        // SAFETY: the name ends with a zero, and the new descriptor is nobody else's.
        let frame = unsafe {
            let number = libc::memfd_create(c"clreel-frame".as_ptr(), libc::MFD_CLOEXEC);
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(number)
        };
        let (mut command, folder) = drivers::command_with_good(TRY)?;
        let number = frame.as_raw_fd();
        command.arg(ladder).arg(number.to_string());
        // SAFETY: between fork and exec it makes one system call, with numbers.
        unsafe {
            command.pre_exec(move || match libc::fcntl(number, libc::F_SETFD, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        let piped = Piped::start(command.stderr(Stdio::null()), "trial")?;
        let (began, step) = (Instant::now(), START.to_owned());
        Ok(Self { piped, frame, asked: 0, began, step, has_run: false, _drivers: folder })
    }

    /// Whether it was asked nothing yet: a kernel before this one cannot have damaged it.
    pub fn is_fresh(&self) -> bool {
        self.asked == 0
    }

    /// What it does, or did when it ended: the last step that it has told.
    pub fn step(&self) -> &str {
        &self.step
    }

    /// Whether it may have run kernels for what it was asked last, and been damaged by them.
    pub fn has_run(&self) -> bool {
        self.has_run
    }

    /// Puts bytes into the memory that the child sees too, and lets it take them.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn write_frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.frame.set_len(bytes.len() as u64)?;
        self.frame.write_all_at(bytes, 0)?;
        self.let_take();
        Ok(())
    }

    /// Says that the picture is there.
    fn let_take(&mut self) {
        // That the child has ended is heard.
        let _ = self.piped.write(b"\n");
    }

    /// Takes the bytes that the child has put there.
    ///
    /// # Errors
    /// When there are not so many.
    pub fn read_frame(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.frame.read_exact_at(bytes, 0)
    }

    /// Asks what needs no picture, and waits for the answer.
    ///
    /// # Errors
    /// As [`Client::answer`].
    pub fn ask<Q: Serialize, A: DeserializeOwned>(
        &mut self,
        request: &Q,
        limit: &dyn Fn(&str, Option<f64>) -> Limit,
    ) -> Result<A, Fault> {
        self.begin(request)?;
        self.let_take();
        self.answer(limit)
    }

    /// Asks; the child begins at once, and waits for its picture where it needs that. After a fault the child is gone: drop this.
    ///
    /// # Errors
    /// When the child ended.
    pub fn begin<Q: Serialize>(&mut self, request: &Q) -> Result<(), Fault> {
        self.asked += 1;
        let mut line = serde_json::to_vec(request).map_err(|e| Fault::NotStarted(e.to_string()))?;
        line.push(b'\n');
        START.clone_into(&mut self.step);
        (self.began, self.has_run) = (Instant::now(), false);
        match self.piped.write(&line) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended()),
        }
    }

    /// Waits for the answer. `limit` says how long a step may take, by its name and what the child predicts for it; where the
    /// child says what it predicts, the step's time begins anew. After a fault the child is gone: drop this.
    ///
    /// # Errors
    /// When the child ended or did not answer in time.
    pub fn answer<A: DeserializeOwned>(
        &mut self,
        limit: &dyn Fn(&str, Option<f64>) -> Limit,
    ) -> Result<A, Fault> {
        // The child has limits of its own.
        let _host = super::watch::on_host();
        let (mut allowed, mut spent) = (limit(START, None), Spent::default());
        let (mut looked, mut step_began) = (Instant::now(), self.began);
        loop {
            match self.piped.hear_when(LOOK) {
                Ok((came, line)) => {
                    let said = serde_json::from_slice(&line);
                    if !matches!(said, Ok(Said::Predicted(_))) {
                        let step = || Event::span(Track::of_thread(), "trial", step_began, came);
                        log::record(|| [step().with(self.step.as_str())]);
                        step_began = came;
                    }
                    match said {
                        Ok(Said::Answer(answer)) => return Ok(answer),
                        Ok(Said::Step(name)) => {
                            allowed = limit(&name, None);
                            self.has_run |= ![START, BUILD].contains(&name.as_str());
                            self.step = name;
                        }
                        Ok(Said::Predicted(ms)) => allowed = limit(&self.step, Some(ms)),
                        Err(_) => return Err(Fault::Ended("an answer that is none".to_owned())),
                    }
                    (spent, looked) = (Spent::default(), Instant::now());
                }
                Err(RecvTimeoutError::Timeout) => {
                    let passed = looked.elapsed();
                    looked += passed;
                    spent.look(passed, Effort::of(self.piped.number()));
                    if let Some(over) = spent.over(allowed) {
                        return Err(Fault::Silent(self.step.clone(), over));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            }
        }
    }

    /// Asks what runs no kernel, and so damages nothing: after it the child is as fresh as before.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn make_ready<Q: Serialize, A: DeserializeOwned>(
        &mut self,
        request: &Q,
        limit: Limit,
    ) -> Result<(), Fault> {
        self.ask::<Q, A>(request, &|_, _| limit)?;
        self.asked = 0;
        Ok(())
    }

    /// How the child ended, whose pipes are closed.
    fn ended(&mut self) -> Fault {
        Fault::Ended(self.piped.ended().unwrap_or_else(|| "its pipe closed".to_owned()))
    }
}
