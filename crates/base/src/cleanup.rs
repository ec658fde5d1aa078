//! Cleanup when a signal ends the process: runs a callback, such as one that prints results, and removes temporary files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// The registered paths, which are removed if a signal ends the process.
static REGISTERED_PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file or folder that is removed if a signal ends the process. Dropping this value ends the registration and keeps the file.
#[derive(Debug)]
pub struct CleanupPath(PathBuf);

impl CleanupPath {
    /// Registers a path. Call it before the file or folder is created.
    pub fn new(path: &Path) -> Self {
        REGISTERED_PATHS.lock().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for CleanupPath {
    fn drop(&mut self) {
        let mut paths = REGISTERED_PATHS.lock();
        if let Some(at) = paths.iter().position(|path| *path == self.0) {
            paths.swap_remove(at);
        }
    }
}

/// The callback set by [`on_interrupt`]; `None` before that, and once it was called or removed.
static CALLBACK: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Sets the callback that runs before a signal ends the process, on a thread of its own. A second signal ends the process at
/// once, without waiting for the callback.
pub fn on_interrupt(run: impl FnOnce() + Send + 'static) {
    *CALLBACK.lock() = Some(Box::new(run));
}

/// Runs the callback set by [`on_interrupt`], if there is one, before the process ends for another reason than a signal. Waits
/// for at most `timeout`, since a stalled thread may hold a lock that the callback needs.
pub fn run_interrupt_callback(timeout: Duration) {
    let Some(run) = CALLBACK.lock().take() else { return };
    let (done, result) = channel();
    let run = move || {
        run();
        // The receiver is gone after the timeout.
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("interrupt".into()).spawn(run).is_ok() {
        let _ = result.recv_timeout(timeout);
    }
}

/// Removes the callback set by [`on_interrupt`]. If a signal has already started the callback, this function never returns,
/// since the process is ending. Must only be called after [`on_interrupt`].
pub fn clear_on_interrupt() {
    if CALLBACK.lock().take().is_none() {
        loop {
            std::thread::park();
        }
    }
}

/// Installs handlers for SIGINT, SIGTERM and SIGHUP, which run the callback, remove the registered paths, and then end the
/// process by the same signal. Ignored signals, as under `nohup`, stay ignored. For commands only: the window handles
/// signals itself.
pub fn install_signal_handlers() {
    // The mask of ignored signals; signal 1 is bit 0 (proc_pid_status(5)).
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let handled = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let Ok(mut signals) = Signals::new(handled) else { return };
    let handle = signals.handle();
    let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let run = CALLBACK.lock().take();
            let Some(run) = run else { end_by_signal(signal) };
            let run = move || {
                run();
                end_by_signal(signal)
            };
            // The callback runs on a thread of its own, so that a second signal can end the process at once.
            if std::thread::Builder::new().name("interrupt".into()).spawn(run).is_err() {
                end_by_signal(signal);
            }
        }
    });
    if thread.is_err() {
        // Without the thread the signals would have no effect: restores the default handlers.
        handle.close();
    }
}

/// Removes the registered paths and ends the process by the signal `signal`.
fn end_by_signal(signal: i32) -> ! {
    // The lock is held until the process ends, so that no other path is registered.
    let paths = REGISTERED_PATHS.lock();
    remove_paths(&paths);
    let _ = emulate_default_handler(signal);
    std::process::abort()
}

/// Removes all registered files and folders, for a process that exits while other threads are running.
pub fn remove_all() {
    remove_paths(&REGISTERED_PATHS.lock());
}

/// Removes these files and folders; errors are ignored.
fn remove_paths(paths: &[PathBuf]) {
    for path in paths {
        if path.is_dir() {
            // Another thread may be adding a file.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_paths_are_removed() {
        let folder = std::env::temp_dir().join(format!("clreel-leftovers-{}", std::process::id()));
        let file = folder.join("file");
        let registered = [CleanupPath::new(&folder), CleanupPath::new(&file)];
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(&file, "half").unwrap();
        assert!(REGISTERED_PATHS.lock().contains(&folder) && REGISTERED_PATHS.lock().contains(&file));
        remove_paths(&[file.clone(), folder.clone(), folder.join("was-never-made")]);
        assert!(!folder.exists());
        drop(registered);
        assert!(!REGISTERED_PATHS.lock().contains(&folder) && !REGISTERED_PATHS.lock().contains(&file));
    }
}
