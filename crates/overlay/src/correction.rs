//! The panel with the sliders of the colour correction.

use egui::{Slider, Ui};

use super::open_panels::OpenPanels;
use super::panel::{self, ColumnPanel, Entry, Pane};
use super::panels::Panel;
use super::{Action, View};
use video::color::Correction;

/// The panel of the colour correction, which is shown while colours are corrected.
pub(super) struct Sliders;

impl ColumnPanel for Sliders {
    fn entry(&self) -> Entry {
        Entry {
            margin: egui::Margin { left: 8, right: 8, top: 2, bottom: 6 },
            ..Entry::new(Panel::Correction, ("Colours", "Brightness, contrast, saturation and gamma"), 220.0)
                .with_key("c", "colour correction")
        }
    }

    fn title(&self, _: &View, _: &OpenPanels) -> String {
        "Colour correction".to_owned()
    }

    fn action(&self) -> Action {
        Action::ToggleCorrection
    }

    fn close_hover(&self) -> String {
        "Switch colour correction off (c)".to_owned()
    }

    fn is_shown(&self, view: &View, _: &OpenPanels) -> bool {
        view.correction.is_some()
    }

    fn show(&self, ui: &mut Ui, pane: &mut Pane) {
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
}
