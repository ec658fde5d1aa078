//! The child's side of a trial. In: requests on stdin, the number of the memory to share. Out: what it says on stdout.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::FileExt as _;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{BUILD, LAUNCH, Said};
use crate::process::{end_with_parent, exit_now, keep_memory};
use crate::program::watch;

/// The way back to who asks.
pub struct Talk {
    to: File,
    frame: File,
}

impl Talk {
    /// Says what is done next; from here on its time counts anew.
    pub fn step(&mut self, name: &str) {
        self.say::<()>(&Said::Step(name.to_owned()));
    }

    /// The same, for another place to say it from.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn stepper(&self) -> io::Result<impl FnMut(&str) + use<>> {
        let mut other = Self { to: self.to.try_clone()?, frame: self.frame.try_clone()? };
        Ok(move |name: &str| other.step(name))
    }

    /// Says how long the step should take.
    pub fn predicted(&mut self, ms: f64) {
        self.say::<()>(&Said::Predicted(ms));
    }

    fn say<A: Serialize>(&mut self, said: &Said<A>) {
        let Ok(mut line) = serde_json::to_vec(said) else { return };
        line.push(b'\n');
        if self.to.write_all(&line).is_err() {
            // Nobody listens any more.
            exit_now(1);
        }
    }

    /// A way to the picture of what is asked, for any thread.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn picture(&self) -> io::Result<SharedPicture> {
        self.frame.try_clone().map(SharedPicture)
    }

    /// Puts bytes there.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn write_frame(&self, bytes: &[u8]) -> io::Result<()> {
        self.frame.write_all_at(bytes, 0)
    }
}

/// The picture in the shared memory.
pub struct SharedPicture(File);

impl SharedPicture {
    /// Its bytes, once they are all there; once for each request.
    ///
    /// # Errors
    /// When there are not so many, or nobody asks any more.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut line = String::new();
        match io::stdin().read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => self.0.read_exact_at(bytes, 0),
        }
    }
}

/// Answers each request until nobody asks any more, then ends the process. `frame` is the number of the shared memory.
pub fn serve<Q: DeserializeOwned, A: Serialize>(frame: u32, mut answer: impl FnMut(Q, &mut Talk) -> A) -> ! {
    be_expendable();
    let talk = take_stdout().and_then(|to| {
        let frame = File::options().read(true).write(true).open(format!("/proc/self/fd/{frame}"))?;
        Ok(Talk { to, frame })
    });
    let Ok(mut talk) = talk else { exit_now(1) };
    if let Ok(mut step) = talk.stepper() {
        // What a compiler may take is another matter than what a kernel may.
        watch(move |begins| step(if begins { BUILD } else { LAUNCH }));
    }
    loop {
        // Not locked for longer: what is asked may wait for its picture on another thread.
        let mut line = String::new();
        if !io::stdin().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            break;
        }
        // A picture that nobody wanted.
        if line == "\n" {
            continue;
        }
        let Ok(request) = serde_json::from_str(&line) else { break };
        let answer = answer(request, &mut talk);
        talk.say(&Said::Answer(answer));
    }
    exit_now(0)
}

/// Takes stdout away from drivers and kernels, which print too.
fn take_stdout() -> io::Result<File> {
    let nothing = File::options().write(true).open("/dev/null")?;
    // SAFETY: stdout is open, the new descriptor is nobody else's, and the last call takes numbers of open files.
    unsafe {
        let taken = libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3);
        if taken < 0 {
            return Err(io::Error::last_os_error());
        }
        let taken = File::from_raw_fd(taken);
        match libc::dup2(nothing.as_raw_fd(), libc::STDOUT_FILENO) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(taken),
        }
    }
}

/// Has memory ready for what is asked next.
pub fn warm_up(bytes: usize) {
    drop(std::hint::black_box(vec![1_u8; bytes]));
}

/// It leaves no core file behind, and ends with the thread that has started it: Ctrl+C is for that one alone.
fn be_expendable() {
    end_with_parent();
    keep_memory();
    // SAFETY: plain numbers.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}
