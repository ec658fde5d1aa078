//! The panels, and how the user moves them by their title bars.

use egui::{CursorIcon, Id, Rect, Response, Sense, Ui, Vec2, pos2};

/// A panel that can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// The headline: the filter and its time.
    Numbers,
    /// The graph of the filter's or all stages' times.
    Graph,
    /// The sliders of the colour correction.
    Correction,
    /// The list of OpenCL devices.
    Devices,
    /// The background tuning: its state, and its trials as a heat map.
    Tuning,
    /// The last frames on one time axis.
    Timeline,
    /// The ladder: the variants as buttons with their times.
    Ladder,
    /// The table of stages.
    Stages,
    /// Histogram and waveform.
    Scopes,
    /// The Lab: benchmarks of other ladders.
    Lab,
    /// The check of the device's type conversions.
    Conversions,
    /// The versions of edited kernels.
    Kernels,
    /// The panel of the current scene.
    Scene,
}

impl Panel {
    /// All panels in the order of their discriminants, which index [`OpenFlags`], [`FoldStates`] and [`PanelPositions`].
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

    /// Returns the panel's name in egui and in the settings file.
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

/// True for each panel that the user has opened, indexed by [`Panel`].
pub type OpenFlags = [bool; Panel::ALL.len()];

/// Returns the panels that are open at the first start: only the panel of a scene, which is folded to its title bar.
pub fn initially_open() -> OpenFlags {
    Panel::ALL.map(|panel| panel == Panel::Scene)
}

/// The upper left corner of each panel in points, relative to the window's upper left corner, indexed by [`Panel`]; `None`
/// for panels that were not moved.
pub type PanelPositions = [Option<[f32; 2]>; Panel::ALL.len()];

/// True for each panel that the user has folded, indexed by [`Panel`]. `None` until the user chooses: then the headline is
/// folded in a small window, the panel of a scene always, and the others never.
pub type FoldStates = [Option<bool>; Panel::ALL.len()];

/// The changes that the user made to a panel by its title bar in one pass: folding, unfolding or moving.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TitleBarChange {
    /// True to fold the panel, or to unfold it if it is folded.
    pub fold: bool,
    /// The panel's new upper left corner, as in [`PanelPositions`]; `Some(None)` resets it to the default place, `None`
    /// leaves it where it is.
    pub moved: Option<Option<[f32; 2]>>,
}

/// Returns the rectangle of a panel of `size` that was moved to `at`, shifted and cut so that it is within `area`.
pub(crate) fn clamped_rect(at: [f32; 2], size: Vec2, area: Rect) -> Rect {
    let inside =
        |at: f32, least: f32, most: f32| if at.is_finite() { at.min(most).max(least) } else { least };
    let size = size.min(area.size());
    let x = inside(at[0], area.left(), area.right() - size.x);
    let y = inside(at[1], area.top(), area.bottom() - size.y);
    Rect::from_min_size(pos2(x, y), size)
}

/// Makes `bar`, the upper end of a panel, the handle by which the user drags the panel. Returns the response of the handle, and
/// the panel's new position as in [`TitleBarChange::moved`]. Widgets that are added later take precedence.
pub(crate) fn make_drag_handle(ui: &Ui, panel: Panel, bar: Rect) -> (Response, Option<Option<[f32; 2]>>) {
    // The same identifier at the default place and elsewhere, so that a drag continues.
    let id = Id::unique(("panel", panel as usize));
    let response = ui.interact(bar, id, Sense::click_and_drag()).on_hover_cursor(CursorIcon::Grab);
    if response.double_clicked() {
        return (response, Some(None));
    }
    let Some(pointer) = response.interact_pointer_pos() else { return (response, None) };
    if response.drag_started() {
        let origin = ui.input(|i| i.pointer.press_origin()).unwrap_or(pointer);
        ui.data_mut(|data| data.insert_temp(id, origin - bar.min));
    }
    let grip = ui.data(|data| data.get_temp::<Vec2>(id)).filter(|_| response.dragged());
    let to = grip.map(|grip| pointer - grip).filter(|to| *to != bar.min);
    if to.is_some() {
        ui.request_repaint();
    }
    (response, to.map(|to| Some([to.x, to.y])))
}

/// The hover text of the title bars of panels.
pub(crate) const TITLE_BAR_HOVER: &str = "Drag to move the panel; double-click to reset its position";

#[cfg(test)]
mod tests {
    use super::*;
    use egui::vec2;

    #[test]
    fn a_panel_stays_within_the_window() {
        let area = Rect::from_min_max(pos2(8.0, 8.0), pos2(600.0, 300.0));
        let size = vec2(200.0, 100.0);
        assert_eq!(clamped_rect([50.0, 60.0], size, area).min, pos2(50.0, 60.0));
        for at in [[1e30, 1e30], [-1e30, 5.0], [f32::NAN, f32::INFINITY], [599.0, 299.0]] {
            assert!(area.contains_rect(clamped_rect(at, size, area)), "{at:?}");
            assert!(area.contains_rect(clamped_rect(at, vec2(1000.0, 1000.0), area)), "{at:?}");
        }
    }
}
