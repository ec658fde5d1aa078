//! The state of a variant, and of a picture that is awaited, as the overlay shows them.

use base::error::Error;
use box_filter::VariantId;

/// The state of a variant: only one that is ready can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantStatus {
    /// It is built.
    Ready,
    /// Its program is being compiled in the background.
    Building,
    /// It cannot run here, and why.
    Unavailable(Error),
}

/// A picture that is awaited: of the filter that was chosen, or of one that takes long.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// The variant at work.
    pub variant: VariantId,
    /// Its radius in pixels.
    pub radius: u32,
    /// Part of the frame that is done, 0 to 1.
    pub fraction: f32,
    /// Time since it was asked for, in seconds.
    pub elapsed_s: f64,
    /// Predicted time from then until it is there, in seconds; `None` where nothing is known yet.
    pub predicted_s: Option<f64>,
}
