//! Work in parts on several threads. In: the parts, and what to do with one. Out: all of it is done.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

/// How many threads work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The calling one.
    One,
    /// As many as can run at once.
    All,
}

impl Threads {
    /// How many these are here and now.
    pub fn count(self) -> usize {
        match self {
            Threads::One => 1,
            Threads::All => all_threads(),
        }
    }
}

/// As many threads as can run at once.
pub fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Gives each of `parts` to `work`, on `threads` threads; the calling one is among them. Where the system gives no thread,
/// those that there are do all of it.
pub fn share<T>(parts: impl Iterator<Item = T> + Send, threads: usize, work: impl Fn(T) + Sync) {
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
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
