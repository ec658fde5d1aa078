//! Timers of parts that are shown for some seconds.

use std::time::Duration;

use egui::Ui;

/// The timer of a part of the overlay that is shown for some seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Timer {
    /// The timer was not started, or its time is over.
    #[default]
    Over,
    /// The timer was started since the last pass; its time begins with the next one.
    Started,
    /// The timer runs until this time, in egui's seconds.
    Until(f64),
}

impl Timer {
    /// Starts the timer, or starts it again.
    pub(crate) fn start(&mut self) {
        *self = Timer::Started;
    }

    /// Returns true if the timer runs, as of the last [`Timer::update`].
    pub(crate) fn is_running(self) -> bool {
        self != Timer::Over
    }

    /// Returns true if the timer, which runs for this number of seconds, runs in this pass. The end of the timer causes a
    /// repaint.
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
