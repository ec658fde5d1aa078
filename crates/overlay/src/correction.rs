//! The sliders of the colour correction.

use egui::{Align2, Rect, Slider, Ui, Vec2, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::{Action, panel};
use video::color::Correction;

/// The panel's size in points.
const SIZE: Vec2 = vec2(300.0, 150.0);

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Correction,
    key: Some(("c", "colour correction")),
    menu: ("Colours", "Correct the colours"),
    size: SIZE,
    least: vec2(SIZE.x, panels::LEAST),
    corner: Align2::RIGHT_BOTTOM,
    is_shown: |_, view| view.correction.is_some(),
    show: |overlay, ui, rect, view, actions| {
        let correction = view.correction.unwrap_or(Correction::NEUTRAL);
        show(ui, rect, correction, overlay.is_folded(Panel::Correction), actions)
    },
};

/// Lays the sliders out in `rect`, with a scroll bar where it is too low. Returns what was done with the title, and the height
/// that the panel would like to have.
fn show(
    ui: &mut Ui,
    rect: Rect,
    correction: Correction,
    folded: bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let frame = panel::Frame {
        panel: Panel::Correction,
        id: "correction",
        name: "Colour correction",
        hover: place::HOVER,
        close: ("Switch it off: the key c", Action::ToggleCorrection),
    };
    let (title, inner) = frame.show(ui, rect, folded, actions);
    let Some(mut ui) = inner else { return (title, panel::HEADER) };
    let mut turned = correction;
    if panel::link(&mut ui, rect, "reset", "Back to what changes nothing") {
        turned = Correction::NEUTRAL;
    }
    let margin = egui::Margin { left: 8, right: 8, top: 2, bottom: 6 };
    let height = panel::scrolled(&mut ui, rect, |ui| {
        egui::Frame::new().inner_margin(margin).show(ui, |ui| {
            ui.spacing_mut().slider_width = 110.0;
            ui.add(Slider::new(&mut turned.brightness, Correction::BRIGHTNESS).text("brightness"));
            ui.add(Slider::new(&mut turned.contrast, Correction::CONTRAST).text("contrast"));
            ui.add(Slider::new(&mut turned.saturation, Correction::SATURATION).text("saturation"));
            ui.add(Slider::new(&mut turned.gamma, Correction::GAMMA).logarithmic(true).text("gamma"));
        });
    });
    if turned != correction {
        actions.push(Action::SetCorrection(turned));
    }
    (title, panel::HEADER + height + 2.0)
}
