//! The banners that show errors over the movie, and the time of the window's next redraw.

use std::time::{Duration, Instant};

use base::error::Error;
use base::stderr::print_message;
use overlay::Notice;

/// Returns true if both errors are equal except for their hints.
pub(super) fn is_same_error(one: &Error, other: &Error) -> bool {
    (&one.what, &one.why) == (&other.what, &other.why)
}

/// The list of error banners. Each error is printed on stderr once.
#[derive(Default)]
pub(super) struct Notices {
    /// All shown error banners, oldest first.
    pub all: Vec<Notice>,
}

impl Notices {
    /// Shows a banner for an error and prints the error on stderr, unless a banner shows the same error already. A `serious`
    /// error is shown even if the overlay is hidden, and even if it differs from a shown error only in its hint.
    pub(super) fn add(&mut self, error: Error, serious: bool) {
        if self.all.iter().all(|n| n.error != error && (serious || !is_same_error(&n.error, &error))) {
            print_message(&error);
            self.all.push(Notice { error, serious });
        }
    }

    /// Removes the banners that show this error.
    pub(super) fn hide(&mut self, error: &Error) {
        self.hide_all(|shown| shown == error);
    }

    /// Removes the banners of all errors for which `is_such` returns true.
    pub(super) fn hide_all(&mut self, is_such: impl Fn(&Error) -> bool) {
        self.all.retain(|notice| !is_such(&notice.error));
    }
}

/// The maximum delay of a redraw without an action of the user. Such a redraw waits for the redraw for the movie's next frame,
/// since each redraw delays that frame.
const MAX_DELAY: Duration = Duration::from_millis(50);

/// The earliest requested redraw of the window, and the time of the last redraw.
pub(super) struct Repaints {
    /// The time at which the next redraw is due; `None` if none was requested.
    pub next_redraw: Option<Instant>,
    last_drawn: Instant,
}

impl Repaints {
    pub(super) fn new() -> Self {
        Self { next_redraw: None, last_drawn: Instant::now() }
    }

    /// Requests a redraw of the window after at most the time `wait`.
    pub(super) fn redraw_within(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.next_redraw = Some(self.next_redraw.map_or(at, |old| old.min(at)));
    }

    /// Requests a redraw of the window in the next turn of the event loop.
    pub(super) fn redraw_soon(&mut self) {
        self.redraw_within(Duration::ZERO);
    }

    /// Requests a redraw together with the movie's next frame, or after [`MAX_DELAY`] if no frame comes earlier.
    pub(super) fn redraw_with_next_frame(&mut self) {
        self.redraw_within(MAX_DELAY);
    }

    /// Requests a redraw of the window when the time `interval` has passed since the last redraw.
    pub(super) fn redraw_every(&mut self, interval: Duration) {
        self.redraw_within(interval.saturating_sub(self.last_drawn.elapsed()));
    }

    /// Clears all requests, because the window is being redrawn.
    pub(super) fn clear(&mut self) {
        (self.next_redraw, self.last_drawn) = (None, Instant::now());
    }
}
