//! Oclgrind, which runs a program and tells faults of its kernels. In: what this program is to run under it, and for how long. Out:
//! the faults, and why it did not come to an end.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use opencl::process::end_with_thread;
use opencl::program;

/// The program that checks.
const CHECKER: &str = "oclgrind";
/// Faults that are told of one variant.
const MOST: usize = 5;
/// The longest log that is read, and the most of what else is said, in bytes.
const LOG: u64 = 4 << 20;
const SAID: u64 = 64 << 10;
const LOOK: Duration = Duration::from_millis(5);
/// How long its last words are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What Oclgrind has found.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub what: String,
    pub kernel: String,
    /// Where, as in `box_filter/03_flat.cl:25`.
    pub found_at: String,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It came to its end.
    Done,
    /// It took too long, and was ended.
    Late,
    /// It failed, and how: what it said of that, where it said something.
    Failed(String),
}

/// Where Oclgrind is, if it is installed.
pub(super) fn checker() -> Option<PathBuf> {
    let path = base::environment::get("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(CHECKER)).find(|file| file.is_file())
}

/// Ends the process, and all that it has started.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        if let Ok(group) = libc::pid_t::try_from(self.0.id()) {
            // SAFETY: it takes numbers. The process leads a group of its own, and has not been waited for, so that the number is
            // nobody else's.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.0.wait();
    }
}

/// Runs this program with these arguments under Oclgrind, for so long at most.
///
/// # Errors
/// When the system refuses.
pub(super) fn run(
    checker: &Path,
    arguments: impl FnOnce(&mut Command),
    limit: Duration,
) -> io::Result<(Vec<Fault>, Ended)> {
    let mut command = Command::new(checker);
    // The log goes through a pipe: a file would stay behind where somebody kills this process.
    command.args(["--data-races", "--max-errors", &MOST.to_string(), "--log", "/dev/stdout"]);
    arguments(command.arg(std::env::current_exe()?));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    end_with_thread(&mut command);
    let end = Instant::now() + limit;
    let mut child = Group(command.spawn()?);
    let log = read(child.0.stdout.take(), LOG)?;
    let said = read(child.0.stderr.take(), SAID)?;
    let status = wait(&mut child.0, end)?;
    drop(child);
    let text = |of: Receiver<Vec<u8>>| {
        let bytes = of.recv_timeout(PATIENCE).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (log, said) = (text(log), text(said));
    let ended = match status {
        None => Ended::Late,
        Some(status) if status.success() => Ended::Done,
        Some(status) => Ended::Failed(sentence(&said).unwrap_or_else(|| format!("It ended with {status}."))),
    };
    Ok((faults(&log), ended))
}

/// `None` where it did not end in time.
fn wait(child: &mut Child, end: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            None if Instant::now() < end => std::thread::sleep(LOOK),
            status => return Ok(status),
        }
    }
}

/// Reads a pipe to its end, on a thread of its own, and keeps so many bytes: a full pipe would hold up who writes.
fn read(from: Option<impl Read + Send + 'static>, most: u64) -> io::Result<Receiver<Vec<u8>>> {
    let mut from = from.ok_or_else(|| io::Error::other("it has no pipes"))?;
    let (sender, bytes) = channel();
    std::thread::Builder::new().name("oclgrind".into()).spawn(move || {
        let mut kept = Vec::new();
        // What cannot be read was not said.
        let _ = from.by_ref().take(most).read_to_end(&mut kept);
        let _ = io::copy(&mut from, &mut io::sink());
        let _ = sender.send(kept);
    })?;
    Ok(bytes)
}

/// What this program said at last; else all that was said. The compiler inside of Oclgrind speaks before it.
fn sentence(said: &str) -> Option<String> {
    let own = format!("\n{said}");
    let own = own.split_once("\nclreel: ").map_or(said, |(_, own)| own).trim();
    (!own.is_empty()).then(|| own.to_owned())
}

/// The faults of a log, each place once.
fn faults(log: &str) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for part in log.split("\n\n") {
        let mut lines = part.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(what) = lines.next() else { continue };
        let (mut kernel, mut found_at) = (String::new(), String::new());
        for line in lines {
            if let Some(name) = line.strip_prefix("Kernel: ") {
                kernel = name.to_owned();
            } else if let Some((line, file)) =
                line.strip_prefix("At line ").and_then(|at| at.split_once(" of "))
            {
                let line = line.split(' ').next().unwrap_or_default();
                // A race names two places.
                let at = format!("{}:{line}", file.trim_end_matches(':'));
                found_at = if found_at.is_empty() { at } else { format!("{found_at} and {at}") };
            }
        }
        if !kernel.is_empty()
            && !faults.iter().any(|fault| fault.found_at == found_at && fault.kernel == kernel)
        {
            faults.push(Fault { what: what.to_owned(), kernel, found_at });
        }
    }
    faults
}

/// A fault in words, and its line below.
pub(super) fn told(name: &str, fault: &Fault) -> String {
    let mut text = format!("{name}: {} in {} at {}", fault.what, fault.kernel, fault.found_at);
    for at in fault.found_at.split(" and ") {
        let line = at.rsplit_once(':').and_then(|(file, line)| {
            let source = program::source(file).ok()?;
            let line: usize = line.parse().ok()?;
            Some(format!("\n  {line} | {}", source.lines().nth(line.checked_sub(1)?)?.trim_end()))
        });
        text.extend(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clreel_says_is_the_reason_and_not_what_the_compiler_says_before() {
        let said = "1 error generated.\nclreel: The kernel file 'a' does not build.\n  The compiler says:\na:1:2: error\n";
        let why = "The kernel file 'a' does not build.\n  The compiler says:\na:1:2: error";
        assert_eq!(sentence(said).as_deref(), Some(why));
        assert_eq!(sentence("no such library\n").as_deref(), Some("no such library"));
        assert_eq!(sentence(" \n"), None);
    }

    #[test]
    fn what_does_not_end_is_ended_with_all_that_it_has_started() {
        // In the place of Oclgrind a shell, which gets Oclgrind's options first.
        let folder = std::env::temp_dir().join(format!("clreel-oclgrind-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let shell = |script: &str, limit| {
            use std::os::unix::fs::PermissionsExt as _;
            let file = folder.join("shell");
            std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
            run(&file, |_| {}, Duration::from_millis(limit)).unwrap()
        };
        let began = Instant::now();
        // The one that it has started holds the pipes, too.
        let (faults, ended) = shell("echo; echo 'A race'; echo ' Kernel: a'; sleep 600 & sleep 600", 500);
        assert!(matches!(ended, Ended::Late) && faults.len() == 1, "{ended:?} {faults:?}");
        assert!(began.elapsed() < PATIENCE, "nothing holds the pipes: {:?}", began.elapsed());
        let (_, ended) = shell("echo clreel: Because. >&2; exit 1", 60_000);
        assert!(matches!(&ended, Ended::Failed(why) if why == "Because."), "{ended:?}");
        assert!(matches!(shell("exit 0", 60_000).1, Ended::Done));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_log_becomes_faults_each_place_once() {
        let one = "\nInvalid write of size 8 at global memory address 0x30000000c3b90\n\tKernel: box_flat_rows\n\tEntity: \
                   Global(3,2,0) Local(3,2,0) Group(0,0,0)\n\t  store <4 x i16> %sum.0\n\tAt line 25 (column 84) of \
                   box_filter/03_flat.cl:\n\t  \n\t\n";
        let found =
            faults(&format!("{one}{one}\nOclgrind: 2 errors generated - suppressing further errors\n"));
        let [fault] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (fault.kernel.as_str(), fault.found_at.as_str()),
            ("box_flat_rows", "box_filter/03_flat.cl:25")
        );
        let told = told("flat", fault);
        assert!(
            told.starts_with("flat: Invalid write of size 8")
                && told.ends_with("| \tsums[y * width + x] = sum;")
                || told.contains("25 | "),
            "{told}"
        );
        assert_eq!(faults(""), []);
    }
}
