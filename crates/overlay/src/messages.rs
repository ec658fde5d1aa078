//! The hint that is shown at the first start, and short messages: one line at a time.

use egui::Ui;

use crate::keys;
use crate::timer::Timer;

/// Seconds for which the hint of the first start is shown.
const HINT_S: f64 = 10.0;
/// Seconds for which a short message is shown.
const MESSAGE_S: f64 = 4.0;

/// The hint that is shown at the first start, and the newest message, with their timers.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// True if the hint was shown for its full time, or a key was pressed.
    pub hint_seen: bool,
    hint: Timer,
    message: String,
    message_timer: Timer,
}

impl Messages {
    /// Shows `text` in place of the previous short message.
    pub(crate) fn show(&mut self, text: String) {
        self.message = text;
        self.message_timer.start();
    }

    /// Returns the text to show in this pass (layout of the overlay): the message, or the hint if there is no message and
    /// `may_hint` is true; `None` if there is neither. A pressed key ends the hint.
    pub(crate) fn current(&mut self, ui: &Ui, may_hint: bool) -> Option<String> {
        let mut text = None;
        let is_press = |event: &egui::Event| matches!(event, egui::Event::Key { pressed: true, .. });
        if !self.hint_seen && ui.input(|i| i.events.iter().any(is_press)) {
            self.hint_seen = true;
        }
        if may_hint && !self.hint_seen {
            if !self.hint.is_running() {
                self.hint.start();
            }
            match self.hint.update(ui, HINT_S) {
                true => text = Some(keys::HINT.to_owned()),
                false => self.hint_seen = true,
            }
        }
        if self.message_timer.update(ui, MESSAGE_S) {
            text = Some(self.message.clone());
        }
        text
    }
}
