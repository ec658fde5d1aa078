//! Where the panels are. In: a drag of a title. Out: the panel's place, always within the window.

use egui::{CursorIcon, Id, Pos2, Rect, Response, Sense, Ui, Vec2, pos2};

/// The panels that can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// The headline.
    Numbers,
    /// The graph.
    Graph,
    /// The sliders of the colour correction.
    Correction,
    /// The OpenCL devices.
    Devices,
    /// The search for the best parameters.
    Tuning,
    /// The last frames on one time axis.
    Timeline,
    /// The rungs.
    Ladder,
    /// The table of stages.
    Stages,
    /// Histogram and waveform.
    Scopes,
    /// The ladders that are measured in spare time.
    Lab,
    /// The check of the device's conversions.
    Conversions,
    /// Kernels that are edited.
    Kernels,
    /// What the scene has to tell.
    Scene,
}

impl Panel {
    /// All of them, in the order of their numbers.
    pub const ALL: [Panel; 13] = [
        Panel::Numbers,
        Panel::Graph,
        Panel::Correction,
        Panel::Devices,
        Panel::Tuning,
        Panel::Timeline,
        Panel::Ladder,
        Panel::Stages,
        Panel::Scopes,
        Panel::Lab,
        Panel::Conversions,
        Panel::Kernels,
        Panel::Scene,
    ];

    /// Its name in egui and in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Panel::Numbers => "numbers",
            Panel::Graph => "graph",
            Panel::Correction => "correction",
            Panel::Devices => "devices",
            Panel::Tuning => "tuning",
            Panel::Timeline => "timeline",
            Panel::Ladder => "ladder",
            Panel::Stages => "stages",
            Panel::Scopes => "scopes",
            Panel::Lab => "lab",
            Panel::Conversions => "conversions",
            Panel::Kernels => "kernels",
            Panel::Scene => "scene",
        }
    }
}

/// Which panels the user has opened, of those that are opened.
pub type Opens = [bool; Panel::ALL.len()];

/// Which are open at the first start: that of a scene, whose title is seen there.
pub fn opens_at_first() -> Opens {
    Panel::ALL.map(|panel| panel == Panel::Scene)
}

/// The upper left corners of the panels that were moved, in points from the window's; the others are `None`.
pub type Places = [Option<[f32; 2]>; Panel::ALL.len()];

/// Whether the panels are folded, in the same order; `None` until the user chose: the headline is folded to a line in a
/// small window then, that of a scene is, and the others never.
pub type Folds = [Option<bool>; Panel::ALL.len()];

/// What the user did with a panel's title.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Title {
    /// Fold or unfold it.
    pub fold: bool,
    /// Where its corner is to be now: `Some(None)` is back at its own place.
    pub moved: Option<Option<[f32; 2]>>,
}

/// The rectangle of a panel of `size` that was moved to `at`, within `area`.
pub(crate) fn floating(at: [f32; 2], size: Vec2, area: Rect) -> Rect {
    let inside =
        |at: f32, least: f32, most: f32| if at.is_finite() { at.min(most).max(least) } else { least };
    let size = size.min(area.size());
    let x = inside(at[0], area.left(), area.right() - size.x);
    let y = inside(at[1], area.top(), area.bottom() - size.y);
    Rect::from_min_size(pos2(x, y), size)
}

/// Makes `row` the handle of a panel whose corner is at `corner`; what is added later lies over it.
pub(crate) fn handle(ui: &Ui, panel: Panel, row: Rect, corner: Pos2) -> (Response, Title) {
    // The same in and out of its own place, so that a drag goes on.
    let id = Id::unique(("panel", panel as usize));
    let response = ui.interact(row, id, Sense::click_and_drag()).on_hover_cursor(CursorIcon::Grab);
    let mut title = Title::default();
    if response.double_clicked() {
        title.moved = Some(None);
    }
    if let Some(pointer) = response.interact_pointer_pos() {
        if response.drag_started() {
            let origin = ui.input(|i| i.pointer.press_origin()).unwrap_or(pointer);
            ui.data_mut(|data| data.insert_temp(id, origin - corner));
        }
        if response.dragged()
            && let Some(grip) = ui.data(|data| data.get_temp::<Vec2>(id))
        {
            let to = pointer - grip;
            if to != corner {
                title.moved = Some(Some([to.x, to.y]));
                ui.request_repaint();
            }
        }
    }
    (response, title)
}

/// What a title's hover text says.
pub(crate) const HOVER: &str = "Drag to move the panel, double-click to put it back";

#[cfg(test)]
mod tests {
    use super::*;
    use egui::vec2;

    #[test]
    fn a_panel_stays_within_the_window() {
        let area = Rect::from_min_max(pos2(8.0, 8.0), pos2(600.0, 300.0));
        let size = vec2(200.0, 100.0);
        assert_eq!(floating([50.0, 60.0], size, area).min, pos2(50.0, 60.0));
        for at in [[1e30, 1e30], [-1e30, 5.0], [f32::NAN, f32::INFINITY], [599.0, 299.0]] {
            assert!(area.contains_rect(floating(at, size, area)), "{at:?}");
            assert!(area.contains_rect(floating(at, vec2(1000.0, 1000.0), area)), "{at:?}");
        }
    }
}
