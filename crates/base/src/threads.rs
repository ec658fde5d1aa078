//! Distribution of work over threads.

use parking_lot::Mutex;
use std::num::NonZero;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of threads for a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// Only the calling thread.
    One,
    /// As many threads as the machine runs in parallel.
    All,
}

impl Threads {
    /// Returns the number of threads, which depends on the machine for [`Threads::All`].
    pub fn count(self) -> usize {
        match self {
            Threads::One => 1,
            Threads::All => all_threads(),
        }
    }
}

/// Returns the number of threads that the machine runs in parallel.
pub fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Waits for a thread for at most `patience`, and empties `slot` once the thread has ended. Returns the result of the thread,
/// or `None` if it still runs. Returns `Ok` if `slot` is empty.
pub fn join_within(slot: &mut Option<JoinHandle<()>>, patience: Duration) -> Option<std::thread::Result<()>> {
    let end = Instant::now() + patience;
    while slot.as_ref().is_some_and(|thread| !thread.is_finished()) {
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Some(slot.take().map_or(Ok(()), JoinHandle::join))
}

/// Calls `work` for each of `parts` on `threads` threads, including the calling one, and returns when all are done. If threads
/// cannot be started, fewer do the work.
pub fn share<T>(parts: impl Iterator<Item = T> + Send, threads: usize, work: impl Fn(T) + Sync) {
    let parts = Mutex::new(parts);
    let next = || parts.lock().next();
    let run = || {
        while let Some(part) = next() {
            work(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
}
