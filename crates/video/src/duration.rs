//! The duration of a movie: as the file states it, until the end of the file was read.

use parking_lot::Mutex;
/// The duration of a movie in nanoseconds, shared by several threads.
#[derive(Default)]
pub(super) struct MovieDuration(Mutex<State>);

#[derive(Default)]
struct State {
    /// The duration; `None` while it is not known.
    ns: Option<i64>,
    /// The size of the file in bytes when its end was read; `None` before that.
    seen_bytes: Option<u64>,
}

impl MovieDuration {
    /// Sets the duration that the file states (`None` if it states none) while it has `bytes` bytes. Does nothing if the end of
    /// the file was already read at that size.
    pub(super) fn state(&self, ns: Option<i64>, bytes: u64) {
        let mut state = self.0.lock();
        if state.seen_bytes != Some(bytes) {
            *state = State { ns, seen_bytes: None };
        }
    }

    /// Extends a known duration to `end_ns` if that is later. A file that is still being written, or whose header is wrong,
    /// lasts longer than it states.
    pub(super) fn extend(&self, end_ns: i64) {
        let mut state = self.0.lock();
        state.ns = state.ns.map(|ns| ns.max(end_ns));
    }

    /// Sets the duration that was found by reading to the end of a file of `bytes` bytes.
    pub(super) fn set_seen(&self, end_ns: i64, bytes: u64) {
        *self.0.lock() = State { ns: Some(end_ns), seen_bytes: Some(bytes) };
    }

    /// Returns the duration; `None` while it is not known.
    pub(super) fn get(&self) -> Option<i64> {
        self.0.lock().ns
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
