//! The list of the panels in the column, which a key or the menu opens.

use crate::panel::ColumnPanel;
use crate::panels::Panel;
use crate::{
    conversions, correction, devices, filters, kernels, lab, scene, scopes, stages, timeline, tuning,
};

/// All panels of the column, which a key or the menu opens, in the order of the menu.
pub(crate) static COLUMN_PANELS: [&ColumnPanel; 11] = [
    &stages::STAGES,
    &timeline::TIMELINE,
    &tuning::TUNING,
    &lab::LAB,
    &conversions::CONVERSIONS,
    &filters::FILTERS,
    &kernels::KERNELS,
    &scopes::SCOPES,
    &correction::CORRECTION,
    &devices::DEVICES,
    &scene::SCENE,
];

/// Returns true if the settings file records whether this panel is open. It does not for the sliders of the colour correction,
/// which are shown while colours are corrected, nor for headline, graph and ladder, which are always shown.
pub fn is_remembered(panel: Panel) -> bool {
    panel != Panel::Correction && COLUMN_PANELS.iter().any(|listed| listed.panel == panel)
}
