//! Keeps the standard output for results. Drivers and kernels print there, too: `printf` in a kernel, messages of compilers. After
//! [`separate`] or [`capture`] whatever else this process prints goes elsewhere, and only [`results`] writes to the standard output.

use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The number of lines that [`PRINTED`] keeps.
const MAX_LINES: usize = 100;
/// The maximum length of a line, in bytes; longer lines are split.
const MAX_LINE_BYTES: u64 = 4096;

/// The standard output with which the process was started; unset before [`separate`] or [`capture`].
static RESULTS: OnceLock<File> = OnceLock::new();
/// The first lines that kernels and drivers have printed.
pub static PRINTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Reserves the standard output for [`results`]: all else that this process prints goes to `other` from now on.
///
/// # Errors
/// Returns an error if the system reports one.
pub fn separate(other: impl AsFd) -> io::Result<()> {
    let stdout = io::stdout();
    if RESULTS.get().is_none() {
        let kept = stdout.as_fd().try_clone_to_owned()?;
        let _ = RESULTS.set(File::from(kept));
    }
    // SAFETY: both are numbers of open files.
    if unsafe { libc::dup2(other.as_fd().as_raw_fd(), stdout.as_raw_fd()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // Otherwise the C library would keep the lines for its buffer in files and pipes until the process ends.
    // SAFETY: the C library's stream lives as long as the process, and it allocates the buffer.
    unsafe { libc::setvbuf(C_STDOUT, std::ptr::null_mut(), libc::_IOLBF, 0) };
    Ok(())
}

unsafe extern "C" {
    /// The C library's stream for the standard output.
    #[link_name = "stdout"]
    static C_STDOUT: *mut libc::FILE;
}

/// Reserves the standard output as [`separate`] does. Whatever else this process prints goes to the standard error, and the first
/// lines are kept for [`PRINTED`].
///
/// # Errors
/// Returns an error if the system reports one.
pub fn capture() -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    let read = move || {
        let mut reader = BufReader::new(reader);
        loop {
            let mut line = Vec::new();
            match reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(1..) => {
                    let _ = io::stderr().lock().write_all(&line);
                    keep(&line);
                }
                _ => return,
            }
        }
    };
    std::thread::Builder::new().name("printed".into()).spawn(read)?;
    separate(writer)
}

/// Adds a line to [`PRINTED`], unless it has [`MAX_LINES`] lines.
fn keep(line: &[u8]) {
    let mut printed = PRINTED.lock();
    if printed.len() < MAX_LINES {
        printed.push(crate::text::escaped(String::from_utf8_lossy(line).trim_end()).into_owned());
    }
}

/// Returns a writer for results: the standard output with which the process was started.
///
/// # Errors
/// Returns an error if the system reports one.
pub fn results() -> io::Result<File> {
    match RESULTS.get() {
        Some(file) => file.try_clone(),
        None => io::stdout().as_fd().try_clone_to_owned().map(File::from),
    }
}

/// Returns the path at which to open a file that the user has named. Names of the standard output, such as `/dev/stdout`, mean
/// the standard output with which the process was started.
pub fn named(path: &Path) -> PathBuf {
    let is_stdout =
        ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name));
    match RESULTS.get() {
        Some(file) if is_stdout => format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        _ => path.to_owned(),
    }
}
