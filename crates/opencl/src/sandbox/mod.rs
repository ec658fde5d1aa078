//! Child processes that run drivers, changed kernels, helpers and Oclgrind, so that a crash or a hang costs only the child.
//!
//! A child is this program with a hidden subcommand, or another program that runs it. A message in either direction is a line of
//! JSON in its stdin or stdout; the child's side is [`enter`], [`send`] and [`serve`]. A child without messages for as long as its
//! [`Limit`] is killed. It ends with the thread that started it, leaves no core file, and its own children end with it. An
//! [`Ending`] has the signal, the exit code or the timeout, and the last lines on stderr.

pub mod builds;
mod child;
mod client;

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::folders::Folder;
use base::timing::load_per_core;
pub use child::{ParentConnection, end_with_parent, enter, receive_line, send, serve, warm_up};
pub(super) use child::{is_sandboxed, step};
pub use client::{BUILD, Client, LAUNCH, Payload, START, TRY_SUBCOMMAND};

/// The minimum time limit of an operation in a child or on a device, unless the user sets a limit.
const MIN_LIMIT: Duration = Duration::from_secs(10);
/// The factor by which the time limit of an operation is longer than its predicted time.
pub(super) const TIMES_PREDICTED: u32 = 10;
/// The predicted time of compiling, and of loading a driver. It results in a time limit of one minute.
pub const PREPARATION: Duration = Duration::from_secs(6);
/// The interval between checks that a child or work on a device is still running.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The shortest time between two checks that shows that this process was stopped in the meantime, or had no CPU core.
const MIN_STOPPED_TIME: Duration = Duration::from_secs(1);
/// The time to wait for a child's end, and for the last lines of its output.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum length of a line, in bytes; longer lines are split.
const MAX_LINE_BYTES: u64 = 4 << 20;
/// The maximum number of bytes that are kept of a child's stderr; the last ones are kept.
const MAX_STDERR_BYTES: usize = 64 << 10;

/// The time limit of an operation: the limit that the user set, or else 10 s or ten times the predicted time, whichever is
/// longer. A limit that the user did not set is longer on a busy machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The time as asked for or predicted, without regard to the load of the machine.
    pub time: Duration,
    is_asked: bool,
}

impl Limit {
    /// Returns the time limit of an operation with this predicted time; `asked` is the limit that the user set, or `None`.
    pub fn new(asked: Option<Duration>, predicted: Duration) -> Self {
        let time = asked.unwrap_or_else(|| MIN_LIMIT.max(predicted.saturating_mul(TIMES_PREDICTED)));
        Self { time, is_asked: asked.is_some() }
    }

    /// Returns the limit in force if `waited` exceeds it, otherwise `None`. The limit in force is [`time`](Self::time),
    /// multiplied by the machine's load if the user did not set the limit.
    pub fn exceeded_by(self, waited: Duration) -> Option<Duration> {
        // The load of the machine is read only if the limit without load is exceeded.
        let scaled = || if self.is_asked { self.time } else { self.time.mul_f64(load_per_core()) };
        (waited > self.time).then(scaled).filter(|limit| waited > *limit)
    }

    /// Returns the longer one of two limits.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if self.time < other.time { other } else { self }
    }
}

/// The reason why a child process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The child exited with this code.
    Exit(i32),
    /// The signal with this number ended the child.
    Signal(i32),
    /// The child was killed after it had sent no message for this time.
    Timeout(Duration),
    /// The child could not be started; holds the reason.
    NotStarted(String),
}

/// The reason why a child process ended, and what it wrote to stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The cause of the end.
    pub cause: Cause,
    /// The last lines that the child wrote to stderr.
    pub stderr: String,
}

impl Ending {
    /// Creates the `Ending` for a child that could not be started.
    pub fn not_started(error: &io::Error) -> Self {
        Self { cause: Cause::NotStarted(error.to_string()), stderr: String::new() }
    }

    /// Returns true if the child ended by an exit or a signal, and not by a timeout.
    pub fn is_crash(&self) -> bool {
        matches!(self.cause, Cause::Exit(_) | Cause::Signal(_))
    }

    /// Returns the last error message of clreel on the child's stderr, or all of stderr if it has no such message. `None` if stderr
    /// is empty, or if a signal ended the child and clreel printed no error.
    pub fn error(&self) -> Option<&str> {
        let all = self.stderr.trim();
        let at = all.rfind("\nclreel: ").map(|at| at + 1);
        if matches!(self.cause, Cause::Signal(_)) && at.is_none() && !all.starts_with("clreel: ") {
            // The text on stderr may be a compiler's warnings, which are not the reason for the signal.
            return None;
        }
        let error = at.map_or(all, |at| &all[at..]);
        let error = error.strip_prefix("clreel: ").unwrap_or(error);
        (!error.is_empty()).then_some(error)
    }

    /// Returns the last line on the child's stderr that is not empty and not clreel's own: what a driver wrote before it ended the
    /// process, such as "LLVM ERROR: out of memory".
    pub fn last_line(&self) -> Option<&str> {
        let lines = self.stderr.lines().map(str::trim).rev();
        lines.into_iter().find(|line| !line.is_empty() && !line.starts_with("clreel: "))
    }
}

/// Writes a predicate for the child's name, as in "crashed in the sandbox (SIGSEGV)".
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Exit(code) => write!(f, "ended the sandbox with exit code {code}"),
            Cause::Signal(number) => match SIGNAL_NAMES.iter().find(|(known, _)| known == number) {
                Some((_, name)) => write!(f, "crashed in the sandbox ({name})"),
                None => write!(f, "crashed in the sandbox (signal {number})"),
            },
            Cause::Timeout(limit) => {
                write!(f, "timed out after {} s", (limit.as_secs_f64() * 10.0).round() / 10.0)
            }
            Cause::NotStarted(why) => write!(f, "could not be run in the sandbox: {why}"),
        }
    }
}

/// The names of signals that end processes.
const SIGNAL_NAMES: [(i32, &str); 7] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGKILL, "SIGKILL, perhaps for want of memory"),
];

/// The program whose hidden subcommands run in the sandbox; empty if nothing is sandboxed.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program whose hidden subcommands run in the sandbox. The running process cannot be used for that, since in a test of
/// this crate it is the test program. Until this function is called, nothing is sandboxed.
pub fn set_program(path: PathBuf) {
    let _ = PROGRAM.set(path);
}

/// Returns a command for the program with a hidden subcommand, without starting it.
///
/// # Errors
/// Returns an error if [`set_program`] was not called.
pub(super) fn command(subcommand: &str) -> io::Result<Command> {
    let program =
        PROGRAM.get().ok_or_else(|| io::Error::other("no program to run in the sandbox was set"))?;
    let mut command = Command::new(program);
    command.arg0("clreel").arg(subcommand);
    Ok(command)
}

/// A line or message of a child with the time of its arrival; `None` if none arrived in the given time. The error says how and
/// why the child has ended.
type Received<A> = Result<Option<(A, Instant)>, Ending>;

/// A child process of the sandbox. Dropping this value kills the child.
#[derive(Debug)]
pub struct Sandbox {
    group: Group,
    stdin: ChildStdin,
    lines: Receiver<(Vec<u8>, Instant)>,
    stderr: Receiver<Vec<u8>>,
    drivers: Option<Folder>,
}

impl Sandbox {
    /// Starts a command as a child process. `drivers`, the folder that the child's loader reads, is kept as long as this value.
    ///
    /// # Errors
    /// Returns an error if the system reports one.
    pub fn start(mut command: Command, drivers: Option<Folder>) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let parent = std::process::id();
        // SAFETY: between fork and exec `prepare_child` makes two system calls, with plain numbers.
        unsafe { command.pre_exec(move || prepare_child(parent)) };
        let mut group = Group { child: command.spawn()?, status: None };
        let no_pipes = || io::Error::other("it has no pipes");
        let stdin = group.child.stdin.take().ok_or_else(no_pipes)?;
        let (sender, lines) = channel();
        let each = move |line: Vec<u8>| !line.is_empty() && sender.send((line, Instant::now())).is_ok();
        read_lines(group.child.stdout.take().ok_or_else(no_pipes)?, each)?;
        let (sender, stderr) = channel();
        let mut tail = Vec::new();
        let each = move |line: Vec<u8>| {
            if line.is_empty() {
                return sender.send(std::mem::take(&mut tail)).is_ok();
            }
            tail.extend(line);
            tail.drain(..tail.len().saturating_sub(MAX_STDERR_BYTES));
            true
        };
        read_lines(group.child.stderr.take().ok_or_else(no_pipes)?, each)?;
        Ok(Self { group, stdin, lines, stderr, drivers })
    }

    /// Sends a message to the child. If the child does not read it, the child has ended, and [`Sandbox::receive`] returns that.
    pub fn send(&mut self, message: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(message) else { return };
        line.push(b'\n');
        let _ = self.stdin.write_all(&line).and_then(|()| self.stdin.flush());
    }

    /// Waits up to `wait` for the child's next message. Lines that do not parse are skipped.
    ///
    /// # Errors
    /// Returns how and why the child ended.
    pub fn receive<A: DeserializeOwned>(&mut self, wait: Duration) -> Received<A> {
        let until = Instant::now() + wait;
        while let Some((line, came)) = self.line(until.saturating_duration_since(Instant::now()))? {
            if let Ok(message) = serde_json::from_slice(&line) {
                return Ok(Some((message, came)));
            }
        }
        Ok(None)
    }

    /// Waits for the child's next message; returns it with the time of its arrival. If no message arrives within the limit, counted
    /// from `since`, the child is killed. Time in which this process was stopped is added to `since`.
    ///
    /// # Errors
    /// Returns how and why the child ended if it ended by itself, or was killed after the limit.
    pub fn answer<A: DeserializeOwned>(
        &mut self,
        since: &mut Instant,
        limit: Limit,
    ) -> Result<(A, Instant), Ending> {
        let mut looked = Instant::now();
        loop {
            let received = self.receive(CHECK_INTERVAL);
            skip_stopped_time(&mut looked, [&mut *since]);
            if let Some(answer) = received? {
                return Ok(answer);
            }
            if let Some(limit) = limit.exceeded_by(since.elapsed()) {
                return Err(self.time_out(limit));
            }
        }
    }

    /// Waits for the end of a child that exchanges no messages, such as Oclgrind. Returns the first `max_bytes` bytes of its
    /// output, and how it ended. `limit` is called repeatedly with the time that has passed; if it returns a duration, that
    /// limit is exceeded, and the child is killed.
    pub fn output(
        mut self,
        max_bytes: usize,
        mut limit: impl FnMut(Duration) -> Option<Duration>,
    ) -> (String, Ending) {
        let (mut began, mut looked, mut printed) = (Instant::now(), Instant::now(), Vec::new());
        let mut take = |line: Vec<u8>| {
            printed.extend(line.into_iter().take(max_bytes.saturating_sub(printed.len())));
        };
        let ending = loop {
            let line = self.line(CHECK_INTERVAL);
            skip_stopped_time(&mut looked, [&mut began]);
            match line {
                Ok(line) => line.into_iter().for_each(|(line, _)| take(line)),
                Err(ending) => break ending,
            }
            // If the child has ended, its last lines are still to be read.
            if !self.group.has_ended()
                && let Some(limit) = limit(began.elapsed())
            {
                let ending = self.time_out(limit);
                while let Ok((line, _)) = self.lines.recv_timeout(END_TIMEOUT) {
                    take(line);
                }
                break ending;
            }
        };
        (String::from_utf8_lossy(&printed).into_owned(), ending)
    }

    /// Kills the child because it has sent no message for the time `limit`; returns the `Ending` with this timeout.
    fn time_out(&mut self, limit: Duration) -> Ending {
        self.group.kill();
        self.ending(Some(limit))
    }

    /// Waits up to `wait` for the next line of the child's stdout; returns it with its line end.
    fn line(&mut self, wait: Duration) -> Received<Vec<u8>> {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let has_ended = self.group.has_ended();
            if has_ended {
                // Processes that the child has started may hold its pipes.
                self.group.kill();
            }
            match self.lines.recv_timeout(if has_ended { END_TIMEOUT } else { left.min(CHECK_INTERVAL) }) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Timeout) if !has_ended && left.is_zero() => return Ok(None),
                Err(RecvTimeoutError::Timeout) if !has_ended => {}
                Err(_) => return Err(self.ending(None)),
            }
        }
    }

    /// Waits until the child has ended. Returns what it wrote to stderr, and the cause: the time limit that it has exceeded, if
    /// any, or else its exit status. If the status is unknown, the cause is SIGKILL, since a child that closes its pipes
    /// without ending is killed.
    fn ending(&mut self, exceeded: Option<Duration>) -> Ending {
        let status = self.group.wait();
        let stderr = self.stderr.recv_timeout(END_TIMEOUT).unwrap_or_default();
        let cause = match (exceeded, status.and_then(|status| status.code())) {
            (Some(limit), _) => Cause::Timeout(limit),
            (None, Some(code)) => Cause::Exit(code),
            (None, None) => Cause::Signal(status.and_then(|status| status.signal()).unwrap_or(libc::SIGKILL)),
        };
        Ending { cause, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }
}

/// Adds the time for which this process was stopped since `looked`, for example by Ctrl+Z, to each of the times `since`, at
/// which waits began. Sets `looked` to the current time.
pub(super) fn skip_stopped_time<'a>(looked: &mut Instant, since: impl IntoIterator<Item = &'a mut Instant>) {
    let passed = looked.elapsed();
    *looked += passed;
    if passed > MIN_STOPPED_TIME {
        since.into_iter().for_each(|since| *since = (*since + passed).min(*looked));
    }
}

/// Prepares the calling process, a child between fork and exec: it will leave no core file, and be killed when the thread that
/// started it ends. `parent` is the process id of its parent; if the parent has already ended, returns an error.
fn prepare_child(parent: u32) -> io::Result<()> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain numbers.
    match unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
    } {
        // The parent may have ended before the call.
        // SAFETY: plain numbers.
        0 if unsafe { libc::getppid() } as u32 != parent => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads lines from a child's pipe on a separate thread, and calls `each` with each line, including its line feed, until `each`
/// returns false. At the end of the pipe, calls `each` once more, with an empty line. The thread is not joined, since a process
/// that the child started may keep the pipe open.
fn read_lines(
    from: impl Read + Send + 'static,
    mut each: impl FnMut(Vec<u8>) -> bool + Send + 'static,
) -> io::Result<()> {
    let read = move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            // An error counts as the end of the pipe: the part of a line that was read before it is dropped.
            let count = from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).unwrap_or(0);
            line.truncate(count);
            if !each(line) || count == 0 {
                return;
            }
        }
    };
    std::thread::Builder::new().name("sandbox".into()).spawn(read).map(drop)
}

/// A child process that leads a process group. When this value is dropped, the whole group is killed.
#[derive(Debug)]
struct Group {
    child: Child,
    status: Option<ExitStatus>,
}

impl Group {
    /// Returns true if the process has ended. The process stays a zombie, so that its process id is not reused.
    fn has_ended(&self) -> bool {
        // SAFETY: zeros are a value of this struct, which has room for the answer.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: plain numbers, and there is room for the answer.
        let failed = unsafe { libc::waitid(libc::P_PID, self.child.id(), &mut info, options) } != 0;
        // SAFETY: `waitid` has filled `info`.
        failed || unsafe { info.si_pid() } != 0
    }

    fn kill(&self) {
        if let (None, Ok(group)) = (self.status, libc::pid_t::try_from(self.child.id())) {
            // SAFETY: plain numbers. The process has not been waited for, so the number is nobody else's.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }

    /// Waits for the end of the process, and kills the group if the process does not end by itself. A process that hangs in the
    /// system's kernel may survive that.
    fn wait(&mut self) -> Option<ExitStatus> {
        for _ in 0..2 {
            let end = Instant::now() + END_TIMEOUT;
            while !self.has_ended() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.kill();
        }
        if self.status.is_none() && self.has_ended() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        let _ = self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Sandbox {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        Sandbox::start(command, None).unwrap()
    }

    fn cause(script: &str) -> (Cause, String) {
        let ending = shell(script).receive::<u32>(LONG).unwrap_err();
        (ending.cause, ending.stderr)
    }

    #[test]
    fn messages_come_back_among_other_lines_and_endings_have_signal_code_and_last_lines() {
        let mut sandbox = shell("read n; echo hello; echo \"[$n\"; echo \"$n\"; read n");
        assert!(sandbox.receive::<u32>(Duration::from_millis(1)).unwrap().is_none());
        sandbox.send(&7);
        assert!(matches!(sandbox.receive::<u32>(LONG), Ok(Some((7, _)))));
        assert_eq!(cause("echo one >&2; echo two >&2; exit 3"), (Cause::Exit(3), "one\ntwo\n".to_owned()));
        assert_eq!(cause("kill -SEGV $$").0, Cause::Signal(libc::SIGSEGV));
        // The process that the child starts holds the pipes, and does not end by itself.
        let began = Instant::now();
        assert_eq!(cause("sleep 600 & kill -ABRT $$").0, Cause::Signal(libc::SIGABRT));
        assert!(began.elapsed() < LONG, "it is not waited for");
        let long =
            "i=0; while [ $i -lt 9000 ]; do echo 'some more words' >&2; i=$((i+1)); done; echo last >&2";
        let (_, stderr) = cause(long);
        assert!(stderr.len() <= MAX_STDERR_BYTES && stderr.ends_with("last\n"), "{}", stderr.len());
        let ending = |cause| Ending { cause, stderr: String::new() }.to_string();
        assert_eq!(ending(Cause::Signal(libc::SIGSEGV)), "crashed in the sandbox (SIGSEGV)");
        assert_eq!(ending(Cause::Timeout(Duration::from_millis(2500))), "timed out after 2.5 s");
    }

    #[test]
    fn what_does_not_end_is_killed_with_all_that_it_has_started() {
        let began = Instant::now();
        let limit = Limit::new(Some(Duration::from_millis(300)), Duration::ZERO);
        let ending = shell("echo why >&2; sleep 600 & sleep 600")
            .answer::<u32>(&mut began.clone(), limit)
            .unwrap_err();
        assert_eq!(ending.cause, Cause::Timeout(limit.time));
        assert_eq!(ending.stderr, "why\n", "nothing holds the pipe");
        let over = |passed| (passed > Duration::from_millis(300)).then_some(passed);
        let (printed, ending) = shell("echo; echo some; sleep 600 & sleep 600").output(6, over);
        assert_eq!((printed.as_str(), ending.is_crash()), ("\nsome\n", false));
        assert!(began.elapsed() < LONG);
        let (printed, ending) = shell("echo much; exit 0").output(3, |_| None);
        assert_eq!((printed.as_str(), ending.cause), ("muc", Cause::Exit(0)));
    }

    #[test]
    fn the_error_of_this_program_is_told_from_what_compilers_and_drivers_write() {
        let ending = |cause, stderr: &str| Ending { cause, stderr: stderr.to_owned() };
        let said = "1 error generated.\nclreel: The kernel file 'a' does not build.\n  The compiler says:\na:1:2: error\n";
        let why = "The kernel file 'a' does not build.\n  The compiler says:\na:1:2: error";
        for (stderr, error) in [
            (said, Some(why)),
            ("clreel: One.\nclreel: Two.\n", Some("Two.")),
            ("clreel: One.\n", Some("One.")),
            ("no such library\n", Some("no such library")),
            (" \n", None),
        ] {
            assert_eq!(ending(Cause::Exit(1), stderr).error(), error);
        }
        let aborted =
            "warning: odd\nLLVM ERROR: no such type\n \nclreel: The OpenCL driver crashed (SIGABRT).\n";
        for (stderr, last) in [
            (aborted, Some("LLVM ERROR: no such type")),
            ("clreel: The OpenCL driver crashed (SIGSEGV).\n", None),
            ("", None),
        ] {
            assert_eq!(ending(Cause::Signal(libc::SIGABRT), stderr).last_line(), last);
        }
    }

    #[test]
    fn limits_are_asked_for_or_ten_times_the_prediction() {
        let seconds = Duration::from_secs;
        assert_eq!(Limit::new(None, Duration::ZERO).time, seconds(10));
        assert_eq!(Limit::new(None, seconds(9)).time, seconds(90));
        assert_eq!(Limit::new(None, PREPARATION).time, seconds(60));
        let asked = Limit::new(Some(seconds(30)), seconds(9));
        assert_eq!(
            (asked.exceeded_by(seconds(30)), asked.exceeded_by(seconds(31))),
            (None, Some(seconds(30)))
        );
        assert_eq!(Limit::new(None, Duration::ZERO).exceeded_by(seconds(9)), None);
        assert!(
            Limit::new(None, Duration::ZERO).exceeded_by(seconds(61)).is_some(),
            "on a machine of any load"
        );
        assert_eq!(asked.max(Limit::new(None, PREPARATION)).time, seconds(60));
    }
}
