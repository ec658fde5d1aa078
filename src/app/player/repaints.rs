//! The time of the window's next redraw: the earliest time that was requested.

use std::time::{Duration, Instant};

/// The maximum delay of a redraw without an action of the user. Such a redraw waits for the redraw for the movie's next frame,
/// since each redraw delays that frame.
const MAX_DELAY: Duration = Duration::from_millis(50);

/// The earliest requested redraw of the window, and the time of the last redraw.
pub(super) struct Repaints {
    /// The time at which the next redraw is due; `None` if none was requested.
    pub(super) next_redraw: Option<Instant>,
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
