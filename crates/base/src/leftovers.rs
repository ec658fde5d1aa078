//! What a signal must not lose or leave. In: files and folders that must not outlive the process, for as long as each is
//! in use, and what there is to say before the end. Out: it is said, and nothing is left, when a signal ends the process
//! in the middle of it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

static IN_USE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn in_use() -> MutexGuard<'static, Vec<PathBuf>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path that is taken away when a signal ends the process, until this is dropped.
#[derive(Debug)]
pub struct Passing(PathBuf);

impl Passing {
    /// Call it before the file or folder is made.
    pub fn new(path: &Path) -> Self {
        in_use().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let mut paths = in_use();
        if let Some(at) = paths.iter().position(|path| *path == self.0) {
            paths.swap_remove(at);
        }
    }
}

type LastWords = Box<dyn FnOnce() + Send>;

static LAST_WORDS: Mutex<Option<LastWords>> = Mutex::new(None);

fn last_words() -> MutexGuard<'static, Option<LastWords>> {
    LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When a signal ends the process, `words` are called first, on a thread of their own. A second signal does not wait for
/// them.
pub fn say_before_the_end(words: impl FnOnce() + Send + 'static) {
    *last_words() = Some(Box::new(words));
}

/// Has what is to be said before the end said now, for at most `patience`: the thread that it is about may hold what it needs.
pub fn say_last_words(patience: Duration) {
    let Some(words) = last_words().take() else { return };
    let (done, waits) = channel();
    let say = move || {
        words();
        // Nobody waits any longer where it took too long.
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("last words".into()).spawn(say).is_ok() {
        let _ = waits.recv_timeout(patience);
    }
}

/// Takes back what was to be said. Where that is being said already it does not return: the process ends.
pub fn say_no_more() {
    if last_words().take().is_none() {
        loop {
            std::thread::park();
        }
    }
}

/// From here on SIGINT, SIGTERM and SIGHUP first let the last words be said and take away what is in use, then end the
/// process as ever. Those that were to be ignored, as `nohup` does it, still are. Not for the window, which quits on them
/// by itself.
pub fn remove_on_signals() {
    let ignored = ignored_signals();
    let heeded = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let Ok(mut signals) = Signals::new(heeded) else { return };
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let words = last_words().take();
            let Some(words) = words else { end(signal) };
            let say = move || {
                words();
                end(signal)
            };
            // Not here: who cannot wait for them to end gives the signal again.
            if std::thread::Builder::new().name("last words".into()).spawn(say).is_err() {
                end(signal);
            }
        }
    });
    if thread.is_err() {
        // Without the thread the signals would do nothing at all: back to how they were.
        handle.close();
    }
}

fn end(signal: i32) -> ! {
    // Held to the end: nothing new is made meanwhile.
    let paths = in_use();
    remove(&paths);
    let _ = emulate_default_handler(signal);
    std::process::abort()
}

/// Takes away what is in use, for a process that ends while other threads are at work.
pub fn remove_all() {
    remove(&in_use());
}

fn remove(paths: &[PathBuf]) {
    for path in paths {
        if path.is_dir() {
            // Another thread may put something into it at this moment.
            let emptied = |_: &u32| {
                let kind = fs::remove_dir_all(path).map_err(|e| e.kind());
                kind != Err(ErrorKind::DirectoryNotEmpty)
            };
            let _ = (0..10).find(emptied);
        } else {
            let _ = fs::remove_file(path);
        }
    }
}

/// The signals that this process ignores, the first one in bit 0 (proc_pid_status(5)).
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_known_and_can_be_removed() {
        let folder = std::env::temp_dir().join(format!("clreel-leftovers-{}", std::process::id()));
        let file = folder.join("file");
        let passing = [Passing::new(&folder), Passing::new(&file)];
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(&file, "half").unwrap();
        assert!(in_use().contains(&folder) && in_use().contains(&file));
        remove(&[file.clone(), folder.clone(), folder.join("was-never-made")]);
        assert!(!folder.exists());
        drop(passing);
        assert!(!in_use().contains(&folder) && !in_use().contains(&file));
    }
}
