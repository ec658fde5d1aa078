//! The names of all panels, and the flags of which panels are open or folded.

/// A panel: a part of the overlay that can be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// The headline: the filter and its time.
    Numbers,
    /// The graph of the filter's times, or of the times of all stages.
    Graph,
    /// The sliders of the colour correction.
    Correction,
    /// The list of OpenCL devices.
    Devices,
    /// The background tuning: its state, and its trials as a heat map.
    Tuning,
    /// The timeline: the last frames on one time axis, with a bar for each stage.
    Timeline,
    /// The ladder: the variants of the filter as buttons with their times.
    Ladder,
    /// The table of stages, the timed parts of a frame's way to the screen.
    Stages,
    /// The scopes: histogram and waveform of the luminance.
    Scopes,
    /// The Lab: benchmarks of the box filter and of other ladders.
    Lab,
    /// The check of the device's type conversions.
    Conversions,
    /// The versions of edited kernels.
    Kernels,
    /// The panel of the current scene.
    Scene,
}

impl Panel {
    /// All panels in the order of their discriminants, which index [`OpenFlags`] and [`FoldStates`].
    pub const ALL: [Panel; 13] = [
        Panel::Numbers,
        Panel::Graph,
        Panel::Correction,
        Panel::Devices,
        Panel::Tuning,
        Panel::Timeline,
        Panel::Ladder,
        Panel::Stages,
        Panel::Scopes,
        Panel::Lab,
        Panel::Conversions,
        Panel::Kernels,
        Panel::Scene,
    ];

    /// Returns the panel's name in egui and in the settings file.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// The names of all panels, in the order of [`Panel::ALL`].
const NAMES: [&str; Panel::ALL.len()] = [
    "numbers",
    "graph",
    "correction",
    "devices",
    "tuning",
    "timeline",
    "ladder",
    "stages",
    "scopes",
    "lab",
    "conversions",
    "kernels",
    "scene",
];

/// Flags, indexed by [`Panel`], that are true for panels that the user has opened.
pub type OpenFlags = [bool; Panel::ALL.len()];

/// Flags, indexed by [`Panel`], that are true for folded and false for unfolded panels; `None` until the user folds or unfolds
/// the panel: then the headline is folded in a small window, the panel of a scene always, and the others never.
pub type FoldStates = [Option<bool>; Panel::ALL.len()];
