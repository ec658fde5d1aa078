//! A process that is talked to in lines. In: a command, lines for its stdin. Out: the lines that it prints, and how it ended.
//! What the lines say is no concern of this module.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A line that is longer comes in parts of so many bytes.
const LONGEST_LINE: u64 = 4 << 20;
/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Piped {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<(Instant, Vec<u8>)>,
}

impl Piped {
    /// Starts it. A thread called `name` reads what it prints.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn start(command: &mut Command, name: &str) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let (sender, lines) = channel();
        let piped = Self { child, stdin, lines };
        // Not joined: a driver may leave a process behind that keeps the pipe open.
        std::thread::Builder::new().name(name.into()).spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match stdout.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send((Instant::now(), line)).is_ok() => {}
                    _ => return,
                }
            }
        })?;
        Ok(piped)
    }

    /// Its number.
    pub(super) fn number(&self) -> u32 {
        self.child.id()
    }

    /// Its stderr, where the command pipes that; once.
    pub(super) fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Writes a line, which ends in one.
    ///
    /// # Errors
    /// When it does not read any more.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.stdin.write_all(line).and_then(|()| self.stdin.flush())
    }

    /// The next line, with its end; waits so long for that.
    pub(super) fn hear(&self, wait: Duration) -> Result<Vec<u8>, RecvTimeoutError> {
        self.hear_when(wait).map(|(_, line)| line)
    }

    /// The same, and when it came.
    pub(super) fn hear_when(&self, wait: Duration) -> Result<(Instant, Vec<u8>), RecvTimeoutError> {
        self.lines.recv_timeout(wait)
    }

    /// How it ended, as in "signal 11", once it prints nothing more; `None` where it only closed its pipe.
    pub(super) fn ended(&mut self) -> Option<String> {
        self.wait().map(|status| match status.signal() {
            Some(number) => format!("signal {number}"),
            None => format!("exit code {}", status.code().unwrap_or_default()),
        })
    }

    /// One that hangs in the system does not end: it is left to that.
    fn wait(&mut self) -> Option<ExitStatus> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(1)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Piped {
        Piped::start(Command::new("sh").arg("-c").arg(script), "piped").unwrap()
    }

    #[test]
    fn lines_go_there_and_come_back_and_the_end_is_told() {
        let long = Duration::from_secs(60);
        let mut piped = shell("read line; echo \"heard $line\"; read line; exit 3");
        piped.write(b"one\n").unwrap();
        assert_eq!(piped.hear(long).unwrap(), b"heard one\n");
        assert_eq!(piped.hear(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout), "it waits");
        piped.write(b"two\n").unwrap();
        assert_eq!(piped.hear(long), Err(RecvTimeoutError::Disconnected));
        assert_eq!(piped.ended().as_deref(), Some("exit code 3"));
        let mut killed = shell("kill -9 $$");
        assert_eq!(killed.hear(long), Err(RecvTimeoutError::Disconnected));
        assert_eq!(killed.ended().as_deref(), Some("signal 9"));
    }
}
