//! The list of the panels that a key or the menu opens.

use crate::panel::ColumnPanel;
use crate::panels::Panel;
use crate::{conversions, correction, devices, kernels, lab, scene, scopes, stages, timeline, tuning};

/// All panels that a key or the menu opens, in the order of the menu.
pub(crate) static COLUMN_PANELS: [&dyn ColumnPanel; 10] = [
    &stages::Stages,
    &timeline::LastFrames,
    &tuning::TuningPanel,
    &lab::LabPanel,
    &conversions::ConversionsPanel,
    &kernels::KernelsPanel,
    &scopes::Scopes,
    &correction::Sliders,
    &devices::DevicesPanel,
    &scene::CurrentScene,
];

/// Returns true if the settings file keeps whether this panel is open: the sliders of the colour correction are shown as long as
/// colours are corrected, and headline, graph and ladder always.
pub fn is_remembered(panel: Panel) -> bool {
    panel != Panel::Correction && COLUMN_PANELS.iter().any(|listed| listed.entry().panel == panel)
}
