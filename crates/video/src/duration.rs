//! The duration of a movie as far as it is known: as the file states it, until its end was seen.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The duration of a movie, which several threads may use. Times are in nanoseconds.
#[derive(Default)]
pub(super) struct MovieDuration(Mutex<State>);

/// The duration as far as it is known.
#[derive(Default)]
struct State {
    /// The duration; `None` while it is not known.
    ns: Option<i64>,
    /// The size in bytes of the file whose end was seen.
    seen_bytes: Option<u64>,
}

impl MovieDuration {
    /// Sets the duration that a file of so many bytes states. No effect if the end of the same file was seen.
    pub(super) fn state(&self, ns: Option<i64>, bytes: u64) {
        let mut state = self.lock();
        if state.seen_bytes != Some(bytes) {
            *state = State { ns, seen_bytes: None };
        }
    }

    /// Notes that the movie reaches `end_ns`: a file that is still being written, or whose header is wrong, lasts longer than
    /// it states.
    pub(super) fn extend(&self, end_ns: i64) {
        let mut state = self.lock();
        state.ns = state.ns.map(|ns| ns.max(end_ns));
    }

    /// Sets the duration after the end of a file of so many bytes was seen.
    pub(super) fn set_seen(&self, end_ns: i64, bytes: u64) {
        *self.lock() = State { ns: Some(end_ns), seen_bytes: Some(bytes) };
    }

    /// Returns the duration; `None` while it is not known.
    pub(super) fn get(&self) -> Option<i64> {
        self.lock().ns
    }

    /// Locks the state. A panic while the lock was held leaves it consistent: every change is a single assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_replaces_what_the_file_states() {
        let duration = MovieDuration::default();
        duration.extend(5);
        assert_eq!(duration.get(), None, "a duration that nobody states is known at the end");
        duration.state(Some(100), 1000);
        duration.extend(50);
        assert_eq!(duration.get(), Some(100));
        duration.set_seen(80, 1000);
        duration.state(Some(100), 1000);
        assert_eq!(duration.get(), Some(80));
    }

    #[test]
    fn a_growing_file_is_followed() {
        let duration = MovieDuration::default();
        duration.state(Some(100), 1000);
        duration.extend(120);
        assert_eq!(duration.get(), Some(120));
        duration.set_seen(130, 1200);
        duration.state(Some(150), 1500);
        assert_eq!(duration.get(), Some(150), "more was written since");
    }
}
