//! The overlay while it is hidden: the line of statistics for some seconds after a change or while a picture takes long, and
//! the controls while the mouse is at the lower edge.

use box_filter::{Settings, VariantId};

use crate::prelude::*;
use crate::timer::Timer;
use crate::{line, panel};

/// Seconds for which the controls stay on the screen after the mouse has moved.
const CONTROLS_S: f64 = 2.0;

/// The choices whose changes show the line of statistics, except the target of a seek: variant, settings of its filter, pause, speed, loop, part
/// that repeats, and colour correction.
type Choices = (VariantId, Settings, bool, f64, String, (Option<f64>, Option<f64>), bool);

/// The timers of the line of statistics and of the controls, which the hidden overlay shows for a while.
#[derive(Debug, Default)]
pub(crate) struct HiddenTimers {
    line: Timer,
    controls: Timer,
    /// The user's settings and the target of a seek in the previous pass; `None` before the first pass.
    previous: Option<(Choices, Option<f64>)>,
    /// True if a setting that the user sees has changed since the previous pass.
    has_changed: bool,
}

impl HiddenTimers {
    /// Compares the settings that the user sees with those of the previous pass. Call this in each pass, whether the overlay is
    /// hidden or not.
    pub(crate) fn note_changes(&mut self, view: &View) {
        let View { chosen, settings, paused, speed, loop_range, target_s, .. } = *view;
        let loop_text = view.loop_text.to_owned();
        let now = (chosen, settings, paused, speed, loop_text, loop_range, view.correction.is_some());
        // The end of a seek is no change.
        let differs = |(before, target): (Choices, Option<f64>)| {
            now != before || target_s.is_some() && target_s != target
        };
        self.has_changed = self.previous.take().is_some_and(differs);
        self.previous = Some((now, target_s));
    }

    /// Returns true if the line of statistics is shown in this pass. Each change of a setting restarts the time for which it is
    /// shown.
    pub(crate) fn shows_line(&mut self, ui: &Ui, view: &View) -> bool {
        if self.has_changed {
            self.line.start();
        }
        // A picture that takes at least this many seconds counts as slow, and the line of statistics shows its progress.
        let is_slow = view.busy.is_some_and(|b| b.predicted_s.unwrap_or(0.0).max(b.elapsed_s) >= 1.0);
        // Seconds for which the line of statistics stays on the screen after a change.
        self.line.update(ui, 3.0) || is_slow
    }

    /// Returns true if the controls are shown in this pass: the mouse has moved at the lower edge, or over the controls, whose
    /// upper edge is `top`.
    pub(crate) fn shows_controls(&mut self, ui: &Ui, window: Rect, top: f32) -> bool {
        let (pointer, moved) = ui.input(|i| (i.pointer.latest_pos(), i.pointer.delta() != Vec2::ZERO));
        // Height in points of the area at the window's lower edge in which the mouse makes the controls appear.
        let edge = window.bottom() + theme::GAP - 56.0;
        let top = if self.controls.update(ui, CONTROLS_S) { top.min(edge) } else { edge };
        if moved && pointer.is_some_and(|p| p.y >= top) {
            self.controls.start();
        }
        self.controls.update(ui, CONTROLS_S)
    }
}

/// Draws the statistics in one line in the upper left corner of `window`.
pub(crate) fn draw_line(ui: &Ui, window: Rect, pass: &Pass) {
    let width = line::width(ui, theme::PAD, pass).min(window.width());
    let rect = Rect::from_min_size(window.min, vec2(width, panel::HEADER_HEIGHT));
    theme::draw_ground(ui.painter(), rect, theme::PANEL);
    line::draw(ui, rect, theme::PAD, pass);
}
