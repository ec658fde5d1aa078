//! The panel with the sliders of the colour correction.

use egui::{Rect, Slider, Ui};

use super::panel::{self, Entry};
use super::panels::Panel;
use super::{Action, View};
use video::color::Correction;

/// The panel's least width in points.
const WIDTH: f32 = 220.0;

/// The entry of this panel in the list of panels: key, line in the menu and width.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Correction,
    key: Some(("c", "colour correction")),
    menu: ("Colours", "Brightness, contrast, saturation and gamma"),
    about: "",
    width: WIDTH,
};

/// Lays the contents of the panel with the title bar `head` out.
pub(crate) fn show(ui: &mut Ui, head: Rect, view: &View, actions: &mut Vec<Action>) {
    let correction = view.correction.unwrap_or(Correction::NEUTRAL);
    let mut adjusted = correction;
    if panel::title_link(ui, head, "reset", "Reset to neutral values") {
        adjusted = Correction::NEUTRAL;
    }
    let margin = egui::Margin { left: 8, right: 8, top: 2, bottom: 6 };
    panel::padded(ui, margin, |ui| {
        ui.spacing_mut().slider_width = 110.0;
        ui.add(Slider::new(&mut adjusted.brightness, Correction::BRIGHTNESS).text("brightness"));
        ui.add(Slider::new(&mut adjusted.contrast, Correction::CONTRAST).text("contrast"));
        ui.add(Slider::new(&mut adjusted.saturation, Correction::SATURATION).text("saturation"));
        ui.add(Slider::new(&mut adjusted.gamma, Correction::GAMMA).logarithmic(true).text("gamma"));
    });
    if adjusted != correction {
        actions.push(Action::SetCorrection(adjusted));
    }
}
