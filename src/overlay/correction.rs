//! The sliders of the colour correction.

use egui::{Rect, Sense, Slider, Ui, UiBuilder, vec2};

use super::{Action, theme};
use crate::convert::Correction;

const SIZE: egui::Vec2 = vec2(300.0, 158.0);

/// Lays the sliders out in the lower right corner of `area`, which the control strip leaves free.
pub fn show(ui: &mut Ui, area: Rect, correction: Correction, actions: &mut Vec<Action>) {
    let size = SIZE.min(area.size());
    let rect = Rect::from_min_size(area.max - size, size);
    // Keeps the pointer from what lies below.
    ui.interact(rect, ui.unique_id().with("correction"), Sense::click_and_drag());
    let edge = egui::Stroke::new(1.0, theme::PANEL_EDGE);
    ui.painter().rect(rect, 6, theme::PANEL.to_opaque(), edge, egui::StrokeKind::Inside);
    let mut ui = ui.new_child(UiBuilder::new().id_salt("correction").max_rect(rect.shrink(theme::PAD)));
    ui.set_clip_rect(rect);
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
}
