//! For how long a file may be read. In: the wish to stop, and what is being read. Out: whether reading has to end, and an
//! answer within bounds also where the system itself hangs, as a network's disk may.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use base::error::{Error, Result};
use base::text;

/// Overrides how many seconds a file may take to answer.
const TIMEOUT_VARIABLE: &str = "CLREEL_MOVIE_TIMEOUT";
/// How long it may take otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Reading ends by itself at the limit; only after so much more it is left behind.
const GRACE: Duration = Duration::from_secs(1);
/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Whether a movie may have other files opened, as playlists do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum References {
    /// Only the file itself is opened.
    #[default]
    Refused,
    /// Regular files of this machine are opened, too; nothing from a network.
    Allowed,
}

/// Ends an opening, or the reading that follows it, from another thread.
pub use base::jobs::Cancel;

/// One movie's reading: what all that read it share.
#[derive(Clone)]
pub(super) struct Reading(Arc<State>);

struct State {
    cancel: Cancel,
    references: References,
    limit: Duration,
    start: Instant,
    /// When the present step began, in milliseconds from `start`.
    begun_ms: AtomicU64,
    /// When something was last read or decoded, in milliseconds from `start`.
    alive_ms: AtomicU64,
    timed_out: AtomicBool,
    /// The movie itself is at fault: nothing more of it is read.
    given_up: AtomicBool,
}

impl Reading {
    /// Reading that ends when `cancel` says so, and where a step of it takes longer than the limit.
    pub(crate) fn new(references: References, cancel: Cancel) -> Self {
        let seconds = base::environment::seconds(TIMEOUT_VARIABLE);
        let limit = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).filter(|s| !s.is_zero());
        Self::with_limit(references, cancel, limit.unwrap_or(TIMEOUT))
    }

    fn with_limit(references: References, cancel: Cancel, limit: Duration) -> Self {
        Self(Arc::new(State {
            cancel,
            references,
            limit,
            start: Instant::now(),
            begun_ms: AtomicU64::new(0),
            alive_ms: AtomicU64::new(0),
            timed_out: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
        }))
    }

    /// What the movie may open.
    pub(crate) fn references(&self) -> References {
        self.0.references
    }

    /// Stops reading soon.
    pub(crate) fn stop(&self) {
        self.0.cancel.cancel();
    }

    /// Whether somebody wants it to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// A step begins, such as opening, seeking or reading a packet: the limit counts from here.
    pub(crate) fn begin(&self) {
        self.0.begun_ms.store(self.now_ms(), Ordering::Relaxed);
        self.advance();
    }

    /// Something was read or decoded.
    pub(crate) fn advance(&self) {
        self.0.alive_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// Ends the present step and all that follow: the movie is at fault.
    pub(crate) fn give_up(&self) {
        self.0.given_up.store(true, Ordering::Relaxed);
    }

    /// Nothing is being read or decoded, for as long as it takes; [`Reading::advance`] ends that.
    pub(crate) fn rest(&self) {
        self.0.alive_ms.store(u64::MAX, Ordering::Relaxed);
    }

    /// Whether the present step has to end: it was stopped or given up, or takes too long.
    pub(crate) fn is_over(&self) -> bool {
        if self.0.given_up.load(Ordering::Relaxed) {
            return true;
        }
        let late = self.since(&self.0.begun_ms) > self.0.limit;
        if late {
            self.0.timed_out.store(true, Ordering::Relaxed);
        }
        late || self.is_stopped()
    }

    /// Whether a step took too long.
    pub(crate) fn timed_out(&self) -> bool {
        self.0.timed_out.load(Ordering::Relaxed)
    }

    /// Whether nothing has been read or decoded for longer than the limit, so that the reading itself seems to hang.
    pub(crate) fn hangs(&self) -> bool {
        self.since(&self.0.alive_ms) > self.0.limit + GRACE
    }

    /// The error for a file that does not answer in time.
    pub(crate) fn too_slow(&self, path: &Path) -> Error {
        Error::new(
            format!("Reading '{}' takes too long.", text::name(path)),
            format!("It could not be opened and read on within {} s.", self.0.limit.as_secs_f64()),
            format!("Copy it to a disk of this machine; {TIMEOUT_VARIABLE}=seconds waits longer."),
        )
    }

    fn now_ms(&self) -> u64 {
        self.0.start.elapsed().as_millis() as u64
    }

    fn since(&self, ms: &AtomicU64) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(ms.load(Ordering::Relaxed)))
    }
}

/// Does `work`, which reads `path`, on a thread of its own, and waits for it: not longer than reading gets on, and not
/// after it was cancelled. A thread that hangs in the system is left behind.
///
/// # Errors
/// Those of `work`; it was cancelled, or took too long.
pub(super) fn watched<T: Send + 'static>(
    path: &Path,
    reading: &Reading,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let fail = |why: String| Error::new(format!("Cannot open '{}'.", text::name(path)), why, "");
    let (sender, result) = sync_channel(1);
    reading.begin();
    std::thread::Builder::new()
        .name("opener".into())
        .spawn(move || {
            // Nobody listens any more where it took too long.
            let _ = sender.send(work());
        })
        .map_err(|error| fail(format!("{error}.")))?;
    loop {
        match result.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(fail("Reading it ended early.".into())),
            Err(RecvTimeoutError::Timeout) if reading.is_stopped() => {
                return Err(fail("Opening it was given up.".into()));
            }
            Err(RecvTimeoutError::Timeout) if reading.hangs() => {
                reading.stop();
                return Err(reading.too_slow(path));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
impl Default for Reading {
    fn default() -> Self {
        Self::new(References::default(), Cancel::default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn short(cancel: &Cancel) -> Reading {
        Reading::with_limit(References::Refused, cancel.clone(), Duration::from_millis(20))
    }

    #[test]
    fn what_hangs_is_left_behind_with_a_sentence() {
        let (hold, held) = channel::<()>();
        let work = move || {
            let _ = held.recv();
            Ok(())
        };
        let error = watched(Path::new("slow.mp4"), &short(&Cancel::default()), work).unwrap_err();
        assert!(error.what.contains("slow.mp4") && error.what.contains("too long"), "{error}");
        drop(hold);
    }

    #[test]
    fn what_is_cancelled_is_left_behind_at_once() {
        let (hold, held) = channel::<()>();
        let cancel = Cancel::default();
        let reading = Reading::new(References::Refused, cancel.clone());
        cancel.cancel();
        let work = move || {
            let _ = held.recv();
            Ok(())
        };
        assert!(watched(Path::new("a.mp4"), &reading, work).unwrap_err().why.contains("given up"));
        drop(hold);
    }

    #[test]
    fn a_step_that_takes_too_long_ends_and_the_next_one_has_its_own_time() {
        let reading = short(&Cancel::default());
        reading.begin();
        while !reading.is_over() {
            std::thread::yield_now();
        }
        assert!(reading.timed_out() && !reading.is_stopped());
        let patient = Reading::default();
        patient.begin();
        assert!(!patient.is_over() && !patient.timed_out() && !patient.hangs());
    }

    #[test]
    fn work_that_ends_gives_its_result() {
        assert_eq!(watched(Path::new("a"), &Reading::default(), || Ok(7)).unwrap(), 7);
    }
}
