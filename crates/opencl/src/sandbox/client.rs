//! A child process that serves requests, one after the other, and is started again after it has ended.
//!
//! The child keeps its devices and programs for the next request. A payload is passed in anonymous memory that both processes
//! map, and an empty line reports that the payload is complete: it may be written while the child compiles. The child reports
//! each step and its predicted time, so that a slow kernel is distinguished from an endless one. This module does not interpret
//! requests.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Ending, Limit, PREPARATION, Sandbox};
use crate::drivers;
use base::error::Result;
use base::timing::log::{self, Track};

/// The name of the hidden subcommand that serves requests.
pub const TRY_SUBCOMMAND: &str = "try-kernels";

/// The name of the first step of a request, in which the child loads drivers and opens the device.
pub const START: &str = "start";
/// The name of the step of a request in which the child compiles kernels.
pub const BUILD: &str = "build";
/// The name of the step of a request that follows [`BUILD`], in which the child launches kernels; no kernel runs in
/// earlier steps.
pub const LAUNCH: &str = "launch";

/// A function that returns the payload of a request: bytes that the child reads in addition to the request, such as a picture.
pub type Payload<'a> = &'a dyn Fn() -> Result<Cow<'a, [u8]>>;

/// A message that the child sends.
#[derive(Serialize, Deserialize)]
pub(super) enum Message<A> {
    /// A step begins, such as "build".
    Step(String),
    /// The predicted time of the step, in milliseconds.
    Predicted(f64),
    /// The reply to the request.
    Answer(A),
}

/// The parent's side of the connection to a child process that serves requests. The child is started at the first request, and
/// ends with the thread that started it.
#[derive(Debug)]
pub struct Client {
    name: &'static str,
    running: Option<RunningChild>,
    /// The child's current step, or its last step when it ended.
    pub step: String,
    /// True if the child may have run kernels for the last request, and been damaged by them.
    pub has_run: bool,
}

/// A child process that is running, with the memory that it shares with this process.
#[derive(Debug)]
struct RunningChild {
    sandbox: Sandbox,
    frame: File,
    /// True if the child has served a request whose kernels may have damaged it.
    may_be_damaged: bool,
}

impl Client {
    /// Creates the handle of a child that serves requests under the name `name`, with the drivers that passed their tests.
    pub fn new(name: &'static str) -> Self {
        Self { name, running: None, step: START.to_owned(), has_run: false }
    }

    /// Sends a request to the child, and waits for the reply. The child starts its work at once, while `payload` is computed,
    /// and waits for the payload where it needs it. `limit` receives the name of a step and its predicted time in milliseconds,
    /// and returns how long the step may take without a message. If a child that an earlier request may have damaged crashes,
    /// the request is repeated with a new child. If the child ends in any other way, the next request starts a new one.
    ///
    /// # Errors
    /// Returns the error of `payload`. The inner result is an error if the child has ended.
    pub fn ask<Q: Serialize, A: DeserializeOwned>(
        &mut self,
        request: &Q,
        payload: Option<Payload<'_>>,
        limit: &dyn Fn(&str, Option<f64>) -> Limit,
    ) -> Result<Result<A, Ending>> {
        loop {
            let running = self.running.take().map_or_else(|| RunningChild::start(self.name), Ok);
            let mut running = match running {
                Ok(running) => running,
                Err(e) => return Ok(Err(Ending::not_started(&e))),
            };
            let may_be_damaged = std::mem::replace(&mut running.may_be_damaged, true);
            START.clone_into(&mut self.step);
            self.has_run = false;
            let began = Instant::now();
            running.sandbox.send(request);
            let payload = payload.map_or(Ok(Cow::Borrowed(&[][..])), |payload| payload())?;
            let sized = running.frame.set_len(payload.len() as u64);
            if let Err(e) = sized.and_then(|()| running.frame.write_all_at(&payload, 0)) {
                return Ok(Err(Ending::not_started(&e)));
            }
            // The empty line reports that the payload is complete. If the child has ended, reading its next message returns that.
            let _ = running.sandbox.stdin.write_all(b"\n");
            match self.answer(&mut running.sandbox, began, limit) {
                Ok(answer) => {
                    // The child has loaded its drivers by now.
                    running.sandbox.drivers = None;
                    self.running = Some(running);
                    return Ok(Ok(answer));
                }
                Err(ending) if may_be_damaged && ending.is_crash() => {}
                Err(ending) => return Ok(Err(ending)),
            }
        }
    }

    /// Waits for the reply to a request, and handles the child's messages about its steps until then.
    fn answer<A: DeserializeOwned>(
        &mut self,
        sandbox: &mut Sandbox,
        began: Instant,
        limit: &dyn Fn(&str, Option<f64>) -> Limit,
    ) -> Result<A, Ending> {
        let (mut allowed, mut since, mut step_began) = (limit(START, None), began, began);
        loop {
            let (said, came) = sandbox.answer(&mut since, allowed)?;
            if !matches!(said, Message::Predicted(_)) {
                let step = || log::Event::span(Track::of_thread(), "trial", step_began, came);
                log::record(|| [step().with(self.step.as_str())]);
                step_began = came;
            }
            match said {
                Message::Answer(answer) => return Ok(answer),
                Message::Step(name) => {
                    allowed = limit(&name, None);
                    self.has_run |= ![START, BUILD].contains(&name.as_str());
                    self.step = name;
                }
                Message::Predicted(ms) => allowed = limit(&self.step, Some(ms)),
            }
            since = Instant::now();
        }
    }

    /// Starts the child, unless it is running, by sending `request`, which must run no kernel, so that it cannot damage the
    /// child. If that fails, the next request reports the failure.
    pub fn make_ready<Q: Serialize, A: DeserializeOwned>(&mut self, request: &Q) {
        let limit = Limit::new(None, PREPARATION);
        if self.running.is_none()
            && matches!(self.ask::<Q, A>(request, None, &|_, _| limit), Ok(Ok(_)))
            && let Some(running) = &mut self.running
        {
            running.may_be_damaged = false;
        }
    }

    /// Reads the payload of the last reply from the shared memory.
    ///
    /// # Errors
    /// Returns an error if the child has ended.
    pub fn read_payload(&self, bytes: &mut [u8]) -> io::Result<()> {
        let gone = || io::Error::other("it is not there any more");
        self.running.as_ref().ok_or_else(gone)?.frame.read_exact_at(bytes, 0)
    }

    /// Releases a child that has ended by itself: its process id, its pipes and the shared memory.
    pub(super) fn release_ended(&mut self) {
        self.running.take_if(|running| running.sandbox.group.has_ended());
    }

    /// Ends the child, which kernels may have damaged, on another thread.
    pub fn end(&mut self) {
        // Ending takes the child a moment, and the caller needs the reply now.
        let running = self.running.take();
        let _ = std::thread::Builder::new().name("end".into()).spawn(move || drop(running));
    }
}

impl RunningChild {
    /// Starts a child process that serves requests under this name.
    fn start(name: &str) -> io::Result<Self> {
        // SAFETY: the name ends with a zero, and the new descriptor is nobody else's.
        let frame = unsafe {
            let number = libc::memfd_create(c"clreel-frame".as_ptr(), libc::MFD_CLOEXEC);
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(number)
        };
        let (mut command, folder) = drivers::sandboxed(TRY_SUBCOMMAND)?;
        let number = frame.as_raw_fd();
        command.arg(name).arg(number.to_string());
        // SAFETY: between fork and exec it makes one system call, with numbers.
        unsafe {
            command.pre_exec(move || match libc::fcntl(number, libc::F_SETFD, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        Ok(Self { sandbox: Sandbox::start(command, folder)?, frame, may_be_damaged: false })
    }
}
