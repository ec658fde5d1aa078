//! The hint that is shown at the first start, and short messages: one line at a time.

use crate::keys;
use crate::prelude::*;
use crate::timer::Timer;

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
        let is_press = |event: &egui::Event| matches!(event, egui::Event::Key { pressed: true, .. });
        self.hint_seen |= ui.input(|i| i.events.iter().any(is_press));
        let mut text = None;
        if may_hint && !self.hint_seen {
            if !self.hint.is_running() {
                self.hint.start();
            }
            // Seconds for which the hint of the first start is shown.
            self.hint_seen = !self.hint.update(ui, 10.0);
            text = (!self.hint_seen).then(|| keys::HINT.to_owned());
        }
        // Seconds for which a short message is shown.
        if self.message_timer.update(ui, 4.0) { Some(self.message.clone()) } else { text }
    }
}
