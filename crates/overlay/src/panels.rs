//! The names of all panels, and the flags of which panels are open or folded.

stats::named_values! {
    /// A panel: a part of the overlay that can be folded. Its name stands in egui and in the settings file, and its
    /// number indexes [`OpenFlags`] and [`FoldStates`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Panel {
        /// The headline: the filter and its time.
        Numbers = "numbers",
        /// The graph of the filter's times, or of the times of all stages.
        Graph = "graph",
        /// The sliders of the colour correction.
        Correction = "correction",
        /// The list of OpenCL devices.
        Devices = "devices",
        /// The background tuning: its state, and its trials as a heat map.
        Tuning = "tuning",
        /// The timeline: the last frames on one time axis, with a bar for each stage.
        Timeline = "timeline",
        /// The ladder: the variants of the filter as buttons with their times.
        Ladder = "ladder",
        /// The table of stages, the timed parts of a frame's way to the screen.
        Stages = "stages",
        /// The scopes: histogram and waveform of the luminance.
        Scopes = "scopes",
        /// The Lab: benchmarks of the box filter and of other ladders.
        Lab = "lab",
        /// The check of the device's type conversions.
        Conversions = "conversions",
        /// The list of filters.
        Filters = "filters",
        /// The versions of edited kernels.
        Kernels = "kernels",
        /// The panel of the current scene.
        Scene = "scene",
    }
}

/// Flags, indexed by [`Panel`], that are true for panels that the user has opened.
pub type OpenFlags = [bool; Panel::ALL.len()];

/// Flags, indexed by [`Panel`], that are true for folded and false for unfolded panels; `None` until the user folds or unfolds
/// the panel: then the headline is folded in a small window, the panel of a scene always, and the others never.
pub type FoldStates = [Option<bool>; Panel::ALL.len()];
