//! Work on a picture's rows shared out among threads.

use std::sync::{Mutex, PoisonError};

/// Cuts `rows` into strips of `strip` bytes, and has `threads` threads, of which the calling one is the first, call `work`
/// with each strip and its number. Returns when all are done.
pub(crate) fn each(rows: &mut [u8], strip: usize, threads: usize, work: impl Fn(usize, &mut [u8]) + Sync) {
    let strips = Mutex::new(rows.chunks_mut(strip.max(1)).enumerate());
    let next = || strips.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((number, strip)) = next() {
            work(number, strip);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system gives no thread, those that there are do all of it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}
