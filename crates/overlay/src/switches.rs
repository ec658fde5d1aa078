//! The settings of the overlay that the user switches on or off.

use crate::action::Action;

/// The settings of the overlay that the user switches on or off.
#[derive(Debug, Default)]
pub struct Switches {
    /// True to show the heat map of the luminance over the picture.
    pub heat: bool,
    /// True to stretch the filtered picture to the full range of luminance (auto-levels).
    pub levels: bool,
    /// True to show the device's machine code next to the source in the panel of kernels.
    pub machine_code: bool,
    /// True to draw stages with patterns in addition to their greys.
    pub hatched: bool,
    /// True to show the table of keys.
    pub keys: bool,
}

/// A setting with a button in the panel of scopes (histogram and waveform) and with a key.
pub struct Switch {
    /// The key, and its effect as the table of keys describes it.
    pub key: (&'static str, &'static str),
    /// The action of the button and of the key.
    pub action: Action,
    /// The button's label and hover text.
    pub(crate) button: (&'static str, &'static str),
    pub(crate) is_on: fn(&Switches) -> bool,
}

/// The settings with buttons in the panel of scopes, from left to right.
pub const SWITCHES: [Switch; 2] = [
    Switch {
        key: ("H", "heat map of the luminance"),
        action: Action::ToggleHeat,
        button: ("Heat map", "Draw the mean luminance of each block of 16×16 pixels over the picture"),
        is_on: |switches| switches.heat,
    },
    Switch {
        key: ("a", "auto-levels"),
        action: Action::ToggleLevels,
        button: ("Auto-levels", "Stretch each frame's luminance to the full range, by its histogram"),
        is_on: |switches| switches.levels,
    },
];
