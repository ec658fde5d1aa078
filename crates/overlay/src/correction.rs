//! The panel with the sliders of the colour correction.

use egui::Slider;
use video::color::Correction;

use crate::panel::{self, ColumnPanel, Pane};
use crate::prelude::*;

/// The panel of the colour correction, which is shown while colours are corrected.
pub(super) static CORRECTION: ColumnPanel = ColumnPanel {
    key: Some(("c", "colour correction")),
    margin: Margin { left: 8, right: 8, top: 2, bottom: 6 },
    close_hover: Some("Switch colour correction off (c)"),
    is_shown: |_, view, _| view.correction.is_some(),
    ..ColumnPanel::new(
        Panel::Correction,
        ("Colour correction", "Brightness, contrast, saturation and gamma"),
        220.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let (head, pass) = (pane.head, &mut *pane.pass);
    let correction = pass.view.correction.unwrap_or(Correction::NEUTRAL);
    let mut adjusted = correction;
    if panel::title_link(ui, head, "reset", "Reset to neutral values") {
        adjusted = Correction::NEUTRAL;
    }
    ui.spacing_mut().slider_width = 110.0;
    ui.add(Slider::new(&mut adjusted.brightness, Correction::BRIGHTNESS).text("brightness"));
    ui.add(Slider::new(&mut adjusted.contrast, Correction::CONTRAST).text("contrast"));
    ui.add(Slider::new(&mut adjusted.saturation, Correction::SATURATION).text("saturation"));
    ui.add(Slider::new(&mut adjusted.gamma, Correction::GAMMA).logarithmic(true).text("gamma"));
    if adjusted != correction {
        pass.actions.push(Action::SetCorrection(adjusted));
    }
}
