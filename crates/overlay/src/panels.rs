//! The list of all panels that a key or the menu opens.

use crate::panel::Entry;
use crate::place::Panel;
use crate::{conversions, correction, devices, kernels, lab, scene, scopes, stages, timeline, tuning};

/// All panels that a key or the menu opens, in the order of the menu.
pub const ENTRIES: [Entry; 10] = [
    stages::ENTRY,
    timeline::ENTRY,
    tuning::ENTRY,
    lab::ENTRY,
    conversions::ENTRY,
    kernels::ENTRY,
    scopes::ENTRY,
    correction::ENTRY,
    devices::ENTRY,
    scene::ENTRY,
];

/// Returns the entry of a panel; `None` for the panels that are always shown.
pub(crate) fn entry_of(panel: Panel) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.panel == panel)
}
