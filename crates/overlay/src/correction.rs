//! The panel with the sliders of the colour correction.

use egui::{Align2, Rect, Slider, Ui, Vec2, vec2};

use super::panel::{self, Entry};
use super::place::Panel;
use super::{Action, View};
use video::color::Correction;

/// The panel's size in points.
const SIZE: Vec2 = vec2(300.0, 150.0);

/// This panel's key, line in the menu, size and corner.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Correction,
    key: Some(("c", "colour correction")),
    menu: ("Colours", "Brightness, contrast, saturation and gamma"),
    about: "",
    size: SIZE,
    min_size: vec2(SIZE.x, panel::MIN_HEIGHT),
    corner: Align2::RIGHT_BOTTOM,
};

/// Lays the contents of the panel in `rect` out. Returns the height in points that the panel needs.
pub(crate) fn show(ui: &mut Ui, rect: Rect, view: &View, actions: &mut Vec<Action>) -> f32 {
    let correction = view.correction.unwrap_or(Correction::NEUTRAL);
    let mut adjusted = correction;
    if panel::title_link(ui, rect, "reset", "Reset to neutral values") {
        adjusted = Correction::NEUTRAL;
    }
    let margin = egui::Margin { left: 8, right: 8, top: 2, bottom: 6 };
    let height = panel::scroll_area(ui, rect, margin, |ui| {
        ui.spacing_mut().slider_width = 110.0;
        ui.add(Slider::new(&mut adjusted.brightness, Correction::BRIGHTNESS).text("brightness"));
        ui.add(Slider::new(&mut adjusted.contrast, Correction::CONTRAST).text("contrast"));
        ui.add(Slider::new(&mut adjusted.saturation, Correction::SATURATION).text("saturation"));
        ui.add(Slider::new(&mut adjusted.gamma, Correction::GAMMA).logarithmic(true).text("gamma"));
    });
    if adjusted != correction {
        actions.push(Action::SetCorrection(adjusted));
    }
    height
}
