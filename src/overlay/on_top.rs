//! What lies over all panels: the hint, messages, the table of keys, the field for a path, and the button that shows the
//! hidden overlay.

use std::time::Duration;

use egui::{Rect, Ui, vec2};

use super::{Action, Overlay, keys, notices, theme};

/// Seconds that the first-run hint, a message and the button in the corner stay.
const HINT_S: f64 = 10.0;
const MESSAGE_S: f64 = 4.0;
const CORNER_S: f64 = 2.0;

impl Overlay {
    /// The hint, the message and the table of keys.
    pub(super) fn on_top(&mut self, ui: &mut Ui, window: Rect, free: Rect, actions: &mut Vec<Action>) {
        let now = ui.input(|i| i.time);
        let later = |until: f64| ui.ctx().request_repaint_after(Duration::from_secs_f64(until - now));
        // One line at a time: the newest news takes the hint's place.
        let mut line = None;
        let pressed = |e: &egui::Event| matches!(e, egui::Event::Key { pressed: true, .. });
        if !self.hint_seen && ui.input(|i| i.events.iter().any(pressed)) {
            self.hint_seen = true;
        }
        if self.visible && !self.hint_seen {
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
            notices::message(ui, free, line);
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

    /// A button in the lower left corner that shows the hidden overlay, there while the mouse moves there.
    pub(super) fn corner(&mut self, ui: &mut Ui, window: Rect, actions: &mut Vec<Action>) {
        let (now, pointer, moved) =
            ui.input(|i| (i.time, i.pointer.latest_pos(), i.pointer.delta() != egui::Vec2::ZERO));
        let area = Rect::from_min_max(window.left_bottom() - vec2(theme::GAP, 80.0), window.left_bottom())
            .with_max_x(window.left() + 120.0)
            .with_max_y(window.bottom() + theme::GAP);
        if moved && pointer.is_some_and(|p| area.contains(p)) {
            self.corner_until = now + CORNER_S;
        }
        if now >= self.corner_until {
            return;
        }
        ui.ctx().request_repaint_after(Duration::from_secs_f64(self.corner_until - now));
        let rect = Rect::from_min_size(window.left_bottom() - vec2(0.0, 28.0), vec2(60.0, 28.0));
        let button = egui::Button::new("Show").fill(theme::PANEL.to_opaque());
        if ui.put(rect, button).on_hover_text("Show the overlay: key i").clicked() {
            actions.push(Action::ToggleOverlay);
        }
    }
}
