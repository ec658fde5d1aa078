//! When the window is drawn next. In: wishes. Out: the earliest of them.

use std::time::{Duration, Instant};

/// What is no answer to a press may wait so long for the next frame, which is drawn with it: each drawing keeps the frame after it
/// waiting.
const NEXT: Duration = Duration::from_millis(50);

/// The wishes since the last drawing.
pub(super) struct Repaints {
    at: Option<Instant>,
    drawn: Instant,
}

impl Repaints {
    pub(super) fn new() -> Self {
        Self { at: None, drawn: Instant::now() }
    }

    /// It is to be drawn after so long, at the latest.
    pub(super) fn after(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.at = Some(self.at.map_or(at, |old| old.min(at)));
    }

    /// It is to be drawn at the next turn.
    pub(super) fn soon(&mut self) {
        self.after(Duration::ZERO);
    }

    /// It is to be drawn with the movie's next frame, or soon where none comes.
    pub(super) fn with_next(&mut self) {
        self.after(NEXT);
    }

    /// It is to be drawn so long after the last drawing.
    pub(super) fn every(&mut self, interval: Duration) {
        self.after(interval.saturating_sub(self.drawn.elapsed()));
    }

    /// It is being drawn: what was wished so far is fulfilled.
    pub(super) fn drawing(&mut self) {
        (self.at, self.drawn) = (None, Instant::now());
    }

    /// When it is to be drawn next, if anybody wishes that.
    pub(super) fn at(&self) -> Option<Instant> {
        self.at
    }
}
