//! The hidden overlay: nobody is left blind. In: what has changed, and the mouse. Out: the numbers in one line for some
//! seconds after a key, or while a picture takes long; and the controls while the mouse is at the lower edge.

use std::time::Duration;

use egui::{Rect, Ui, Vec2, vec2};

use super::layout::Strip;
use super::{Action, Overlay, View, line, panel, theme};

/// Seconds that the line and the controls stay.
const LINE_S: f64 = 3.0;
const CONTROLS_S: f64 = 2.0;
/// Pictures that take this long are told, in seconds.
const BUSY_S: f64 = 1.0;
/// Height of the edge that brings the controls back.
const EDGE: f32 = 56.0;

impl Overlay {
    /// What is shown while the overlay is hidden; `changed`: since the last pass something did that the user sees.
    pub(super) fn hidden(
        &mut self,
        ui: &mut Ui,
        window: Rect,
        view: &View,
        changed: bool,
        actions: &mut Vec<Action>,
    ) {
        let now = ui.input(|i| i.time);
        if changed {
            self.line_until = now + LINE_S;
        }
        let slow = view.busy.is_some_and(|b| b.predicted_s.unwrap_or(0.0).max(b.elapsed_s) >= BUSY_S);
        let line = (now < self.line_until || slow).then(|| self.one_line(ui, window, view));
        if now < self.line_until {
            ui.ctx().request_repaint_after(Duration::from_secs_f64(self.line_until - now));
        }
        let above = self.edge(ui, window, view, now, actions);
        let (banners, message) = self.devices_alone(ui, (above, line), view, actions);
        self.banners(ui, banners, view, true, actions);
        self.on_top(ui, window, message, !view.notices.is_empty(), actions);
    }

    /// The numbers in one line, in the upper left corner. Returns where that is.
    fn one_line(&self, ui: &Ui, window: Rect, view: &View) -> Rect {
        let width = line::width(ui, view, &self.numbers, theme::PAD).min(window.width());
        let rect = Rect::from_min_size(window.min, vec2(width, panel::HEADER));
        theme::ground(ui.painter(), rect, theme::PANEL);
        line::draw(ui, rect, view, &self.numbers, theme::PAD);
        rect
    }

    /// The controls, while the mouse moves at the lower edge or stays over them. Returns the room that they leave.
    fn edge(&mut self, ui: &mut Ui, window: Rect, view: &View, now: f64, actions: &mut Vec<Action>) -> Rect {
        let strip = Strip::new(window, Some(view.variants.len()));
        let (pointer, moved) = ui.input(|i| (i.pointer.latest_pos(), i.pointer.delta() != Vec2::ZERO));
        let is_open = now < self.controls_until;
        let edge = window.bottom() + theme::GAP - EDGE;
        let top = if is_open { strip.rect.top().min(edge) } else { edge };
        if moved && pointer.is_some_and(|p| p.y >= top) {
            self.controls_until = now + CONTROLS_S;
        }
        if now >= self.controls_until {
            return window;
        }
        ui.ctx().request_repaint_after(Duration::from_secs_f64(self.controls_until - now));
        self.strip(ui, &strip, view, actions);
        window.with_max_y((strip.rect.top() - theme::GAP).max(window.top()))
    }
}
