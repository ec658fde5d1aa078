//! Cancellation and timeouts of reading a movie, also where a system call itself hangs, as on a network drive.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::errors::cannot_open;
use super::languages::Languages;
use base::error::{Error, Result};
use base::text;

/// Environment variable with the timeout of a step of reading, in seconds.
const TIMEOUT_VARIABLE: &str = "CLREEL_MOVIE_TIMEOUT";
/// The default timeout of a step of reading.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// Additional time after the timeout before a thread that reads is abandoned. Normally, reading ends by itself at the
/// timeout.
const ABANDON_GRACE: Duration = Duration::from_secs(1);
/// The interval at which cancellation is checked while waiting for a thread.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Policy for other files that a movie refers to, as playlists do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum References {
    /// Only the movie's own file is opened.
    #[default]
    Refused,
    /// Regular files of this machine are opened as well, but nothing from a network.
    Allowed,
}

/// The rules for opening a movie: other files that it refers to, and the choice of its sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenPolicy {
    /// Policy for other files that the movie refers to.
    pub references: References,
    /// The languages that select the track of sound. Positions in the movie count from the first sample of that track, if it is
    /// earlier than the first picture.
    pub languages: Languages,
}

impl From<References> for OpenPolicy {
    fn from(references: References) -> Self {
        Self { references, languages: Languages::default() }
    }
}

/// Cancels opening, or the reading that follows it, from another thread.
pub use base::jobs::Cancel;

/// Cancellation and timeouts of one movie, and the number of earlier pictures that its frames get; shared by all that read it.
#[derive(Clone)]
pub(super) struct ReadControl(Arc<State>);

/// The state that all clones of a [`ReadControl`] share.
struct State {
    cancel: Cancel,
    policy: OpenPolicy,
    timeout: Duration,
    start: Instant,
    /// The time at which the present step began, in milliseconds since `start`.
    step_start_ms: AtomicU64,
    /// The time at which something was last read or decoded, in milliseconds since `start`; `u64::MAX` while nothing is to
    /// be read.
    progress_ms: AtomicU64,
    timed_out: AtomicBool,
    /// The number of the newest seek that was requested.
    newest_seek: AtomicU64,
    /// The number of the seek whose pictures are read.
    current_seek: AtomicU64,
    /// True if the movie is invalid and is not read any further.
    is_abandoned: AtomicBool,
    /// The number of earlier pictures that each frame gets.
    earlier: AtomicUsize,
}

impl ReadControl {
    /// Creates the control of a movie's reading, which ends when `cancel` is cancelled or a step takes longer than the timeout.
    pub(crate) fn new(policy: impl Into<OpenPolicy>, cancel: Cancel) -> Self {
        let seconds = base::environment::seconds(TIMEOUT_VARIABLE);
        let timeout = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).filter(|s| !s.is_zero());
        Self::with_timeout(policy.into(), cancel, timeout.unwrap_or(DEFAULT_TIMEOUT))
    }

    /// Creates the control of a movie's reading, with this timeout of a step.
    fn with_timeout(policy: OpenPolicy, cancel: Cancel, timeout: Duration) -> Self {
        Self(Arc::new(State {
            cancel,
            policy,
            timeout,
            start: Instant::now(),
            step_start_ms: AtomicU64::new(0),
            progress_ms: AtomicU64::new(0),
            timed_out: AtomicBool::new(false),
            newest_seek: AtomicU64::new(0),
            current_seek: AtomicU64::new(0),
            is_abandoned: AtomicBool::new(false),
            earlier: AtomicUsize::new(0),
        }))
    }

    /// Returns the number of earlier pictures that each frame gets.
    pub(crate) fn earlier(&self) -> usize {
        self.0.earlier.load(Ordering::Relaxed)
    }

    /// Sets the number of earlier pictures that each frame gets from now on.
    pub(crate) fn set_earlier(&self, count: usize) {
        self.0.earlier.store(count, Ordering::Relaxed);
    }

    pub(crate) fn policy(&self) -> &OpenPolicy {
        &self.0.policy
    }

    /// Cancels reading, which then ends soon.
    pub(crate) fn cancel(&self) {
        self.0.cancel.cancel();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Requests a seek, so that reading for earlier seeks ends soon. Returns the number of the seek.
    pub(crate) fn request_seek(&self) -> u64 {
        self.0.newest_seek.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the number of seeks requested so far, which is the number of the newest one.
    pub(crate) fn newest_seek(&self) -> u64 {
        self.0.newest_seek.load(Ordering::Relaxed)
    }

    /// Makes the newest seek the current one, so that reading is no longer interrupted for it.
    pub(crate) fn begin_newest_seek(&self) {
        self.0.current_seek.store(self.newest_seek(), Ordering::Relaxed);
    }

    /// Returns the number of the seek whose pictures are being read; 0 before the first seek.
    pub(crate) fn current_seek(&self) -> u64 {
        self.0.current_seek.load(Ordering::Relaxed)
    }

    /// Returns true if another seek was requested after the current one.
    pub(crate) fn has_newer_seek(&self) -> bool {
        self.newest_seek() > self.current_seek()
    }

    /// Returns true if reading was cancelled, or a newer seek was requested.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_cancelled() || self.has_newer_seek()
    }

    /// Starts the timeout of a step, such as opening, seeking or reading a packet.
    pub(crate) fn begin_step(&self) {
        self.0.step_start_ms.store(self.now_ms(), Ordering::Relaxed);
        self.note_progress();
    }

    /// Records that something was read or decoded, which restarts the stall check.
    pub(crate) fn note_progress(&self) {
        self.0.progress_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// Ends the present step and all later ones, because the movie is invalid.
    pub(crate) fn abandon(&self) {
        self.0.is_abandoned.store(true, Ordering::Relaxed);
    }

    /// Suspends the stall check for a time in which nothing is to be read. The next [`ReadControl::note_progress`] ends the
    /// suspension.
    pub(crate) fn suspend(&self) {
        self.0.progress_ms.store(u64::MAX, Ordering::Relaxed);
    }

    /// Returns true if the present step must end: reading was cancelled, the movie is invalid, or the timeout has passed.
    pub(crate) fn must_stop(&self) -> bool {
        if self.0.is_abandoned.load(Ordering::Relaxed) {
            return true;
        }
        let late = self.elapsed_since(&self.0.step_start_ms) > self.0.timeout;
        if late {
            self.0.timed_out.store(true, Ordering::Relaxed);
        }
        late || self.is_cancelled()
    }

    /// Returns true if a step took longer than the timeout.
    pub(crate) fn timed_out(&self) -> bool {
        self.0.timed_out.load(Ordering::Relaxed)
    }

    /// Returns true if nothing was read or decoded for longer than the timeout: a system call seems to hang.
    pub(crate) fn is_stalled(&self) -> bool {
        self.elapsed_since(&self.0.progress_ms) > self.0.timeout + ABANDON_GRACE
    }

    /// Returns the error for a file that takes longer than the timeout.
    pub(crate) fn too_slow(&self, path: &Path) -> Error {
        Error::new(
            format!("Reading '{}' takes too long.", text::name(path)),
            format!("It could not be opened and read on within {} s.", self.0.timeout.as_secs_f64()),
            format!("Copy it to a disk of this machine; {TIMEOUT_VARIABLE}=seconds waits longer."),
        )
    }

    /// Returns the time since `start` in milliseconds.
    fn now_ms(&self) -> u64 {
        self.0.start.elapsed().as_millis() as u64
    }

    /// Returns the time since the timestamp `ms`, which is in milliseconds since `start`.
    fn elapsed_since(&self, ms: &AtomicU64) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(ms.load(Ordering::Relaxed)))
    }
}

/// Runs `work`, which reads `path`, on a thread of its own, and waits for its result until reading is cancelled or stalls.
/// A thread that hangs in a system call is abandoned.
///
/// # Errors
/// The errors of `work`; also when reading was cancelled, or stalled for longer than the timeout.
pub(super) fn run_with_timeout<T: Send + 'static>(
    path: &Path,
    read_control: &ReadControl,
    work: impl FnOnce(&Path, &ReadControl) -> Result<T> + Send + 'static,
) -> Result<T> {
    let fail = |why: String| cannot_open(path, why, "");
    let (sender, result) = sync_channel(1);
    let (owned, shared) = (path.to_owned(), read_control.clone());
    read_control.begin_step();
    std::thread::Builder::new()
        .name("opener".into())
        .spawn(move || {
            // The receiver is gone if this took too long.
            let _ = sender.send(work(&owned, &shared));
        })
        .map_err(|error| fail(format!("{error}.")))?;
    loop {
        match result.recv_timeout(POLL_INTERVAL) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(fail("Reading it ended early.".into())),
            Err(RecvTimeoutError::Timeout) if read_control.is_cancelled() => {
                return Err(fail("Opening it was given up.".into()));
            }
            Err(RecvTimeoutError::Timeout) if read_control.is_stalled() => {
                read_control.cancel();
                return Err(read_control.too_slow(path));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
impl Default for ReadControl {
    fn default() -> Self {
        Self::new(References::default(), Cancel::default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn short(cancel: &Cancel) -> ReadControl {
        ReadControl::with_timeout(OpenPolicy::default(), cancel.clone(), Duration::from_millis(20))
    }

    #[test]
    fn a_stalled_or_cancelled_read_is_abandoned_with_an_error() {
        let cancelled = Cancel::default();
        cancelled.cancel();
        let cancelled = ReadControl::new(References::Refused, cancelled);
        for (read_control, words) in [(short(&Cancel::default()), "too long"), (cancelled, "given up")] {
            let (hold, held) = channel::<()>();
            let work = move |_: &Path, _: &ReadControl| {
                let _ = held.recv();
                Ok(())
            };
            let error = run_with_timeout(Path::new("slow.mp4"), &read_control, work).unwrap_err();
            assert!(error.what.contains("slow.mp4") && error.to_string().contains(words), "{error}");
            drop(hold);
        }
        assert_eq!(run_with_timeout(Path::new("a"), &ReadControl::default(), |_, _| Ok(7)).unwrap(), 7);
    }

    #[test]
    fn a_step_times_out() {
        let read_control = short(&Cancel::default());
        read_control.begin_step();
        while !read_control.must_stop() {
            std::thread::yield_now();
        }
        assert!(read_control.timed_out() && !read_control.is_cancelled());
        let patient = ReadControl::default();
        patient.begin_step();
        assert!(!patient.must_stop() && !patient.timed_out() && !patient.is_stalled());
    }
}
