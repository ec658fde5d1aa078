//! The egui overlay. In: a [`View`], plain data about this moment. Out: [`Action`]s that the user asked for.

use crate::error::Error;
use crate::ladder::VariantId;

/// What the user asked for with the mouse; keys give the same actions.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    SetVariant(VariantId),
    SetRadius(u32),
    TogglePause,
    ToggleOverlay,
    DismissNotice(usize),
    Quit,
}

/// Whether a variant can be chosen now.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantStatus {
    Ready,
    /// Its program is being compiled in the background.
    Building,
    /// It cannot run here, and why.
    Unavailable(Error),
}

/// A frame that has been in the filter for long enough to tell the user about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    pub variant: VariantId,
    pub radius: u32,
    /// Part of the frame that is done, 0 to 1.
    pub fraction: f32,
    pub elapsed_s: f64,
    /// Predicted time of the whole frame, in seconds.
    pub predicted_s: f64,
}
