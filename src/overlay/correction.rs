//! The sliders of the colour correction.

use egui::{Align2, Rect, Slider, Ui, Vec2, vec2};

use super::panels::Entry;
use super::place::{self, Panel, Title};
use super::{Action, panel, theme};
use crate::color::Correction;

/// The panel's size in points.
pub(crate) const SIZE: Vec2 = vec2(300.0, 158.0);

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Correction,
    key: Some(("c", "colour correction")),
    button: ("Colours", "Correct the colours: key c", 0),
    size: SIZE,
    least: SIZE,
    corner: Align2::RIGHT_BOTTOM,
    is_shown: |_, view| view.correction.is_some(),
    show: |_, ui, rect, view, actions| {
        let correction = view.correction.unwrap_or(Correction::NEUTRAL);
        (show(ui, rect, correction, actions), SIZE.y)
    },
};

/// Lays the sliders out in `rect`. Returns what was done with the title.
fn show(ui: &mut Ui, rect: Rect, correction: Correction, actions: &mut Vec<Action>) -> Title {
    let mut ui = panel::over(ui, rect, "correction");
    let row = rect.with_max_y(rect.top() + theme::PAD + theme::CONTROL);
    let (response, title) = place::handle(&ui, Panel::Correction, row, rect.min);
    response.on_hover_text(place::HOVER);
    let mut turned = correction;
    ui.horizontal(|ui| {
        ui.label(egui::RichText::new("Colour correction").font(theme::words(13.0)).color(theme::STRONG));
        if ui.button("Reset").on_hover_text("Back to what changes nothing").clicked() {
            turned = Correction::NEUTRAL;
        }
        if ui.button("Off").on_hover_text("Switch it off: the key c").clicked() {
            actions.push(Action::ToggleCorrection);
        }
    });
    ui.spacing_mut().slider_width = 110.0;
    ui.add(Slider::new(&mut turned.brightness, Correction::BRIGHTNESS).text("brightness"));
    ui.add(Slider::new(&mut turned.contrast, Correction::CONTRAST).text("contrast"));
    ui.add(Slider::new(&mut turned.saturation, Correction::SATURATION).text("saturation"));
    ui.add(Slider::new(&mut turned.gamma, Correction::GAMMA).logarithmic(true).text("gamma"));
    if turned != correction {
        actions.push(Action::SetCorrection(turned));
    }
    title
}
