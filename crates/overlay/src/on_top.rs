//! What lies over all panels: the hint, messages, the table of keys, and the field for a path.

use std::time::Duration;

use egui::{Rect, Ui};

use super::{Action, Overlay, keys, notices};

/// Seconds that the first-run hint and a message stay.
const HINT_S: f64 = 10.0;
const MESSAGE_S: f64 = 4.0;

impl Overlay {
    /// The hint or the message in its place, and the table of keys. The hint waits while there is `news`.
    pub(super) fn on_top(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        message: Rect,
        news: bool,
        actions: &mut Vec<Action>,
    ) {
        let now = ui.input(|i| i.time);
        let later = |until: f64| ui.ctx().request_repaint_after(Duration::from_secs_f64(until - now));
        // One line at a time: the newest news takes the hint's place.
        let mut line = None;
        let pressed = |e: &egui::Event| matches!(e, egui::Event::Key { pressed: true, .. });
        if !self.hint_seen && ui.input(|i| i.events.iter().any(pressed)) {
            self.hint_seen = true;
        }
        if self.visible && !self.hint_seen && !news {
            let until = *self.hint_until.get_or_insert(now + HINT_S);
            if now >= until {
                self.hint_seen = true;
            } else {
                later(until);
                line = Some(keys::hint());
            }
        }
        if let Some((text, until)) = &mut self.said {
            let until = *until.get_or_insert(now + MESSAGE_S);
            if now < until {
                later(until);
                line = Some(text.clone());
            } else {
                self.said = None;
            }
        }
        if let Some(line) = line {
            notices::message(ui, message, line);
        }
        if self.keys_open {
            keys::show(ui, window, actions);
        }
        if let Some(mut field) = self.path_field.take() {
            if field.show(ui, window, actions) {
                self.path_field = Some(field);
            } else {
                self.typed = field.into_text();
                ui.request_repaint();
            }
        }
    }
}
