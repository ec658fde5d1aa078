//! Timers of parts of the overlay that are shown for some seconds.

use std::time::Duration;

use egui::Ui;

/// The timer of a part of the overlay that is shown for some seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Timer {
    /// The timer was not started, or its time is over.
    #[default]
    Over,
    /// The timer was started since the last pass (layout of the overlay); its time begins with the next one.
    Started,
    /// The timer runs until this time, in egui's seconds.
    Until(f64),
}

impl Timer {
    /// Starts the timer, or starts it again.
    pub(crate) fn start(&mut self) {
        *self = Timer::Started;
    }

    /// Returns true if the timer was running at the last [`Timer::update`].
    pub(crate) fn is_running(self) -> bool {
        self != Timer::Over
    }

    /// Updates the timer, which runs for this number of seconds, and returns true if it is running in this pass. When the time
    /// is over, the overlay is painted again.
    pub(crate) fn update(&mut self, ui: &Ui, seconds: f64) -> bool {
        let now = ui.input(|i| i.time);
        let until = match *self {
            Timer::Over => return false,
            Timer::Started => now + seconds,
            Timer::Until(until) => until,
        };
        *self = if now < until { Timer::Until(until) } else { Timer::Over };
        if self.is_running() {
            ui.ctx().request_repaint_after(Duration::from_secs_f64(until - now));
        }
        self.is_running()
    }
}
