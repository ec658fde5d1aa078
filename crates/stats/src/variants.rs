//! The states of variants, and what the user is waiting for.

use base::error::Error;
use box_filter::{Settings, VariantId};

/// The state of a variant. Only a variant that is ready can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantStatus {
    /// The variant is built and can be chosen.
    Ready,
    /// The variant's program is being compiled in the background.
    Building,
    /// The variant cannot run here, for this reason.
    Unavailable(Error),
}

/// A picture that the user is waiting for: the first one with the chosen filter, or one whose filter takes long.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// The variant that filters the picture.
    pub variant: VariantId,
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// True if the variant's kernels are not built yet, so that the filter cannot begin.
    pub awaits_build: bool,
    /// The part of the filter's work that is done, 0 to 1.
    pub fraction: f32,
    /// The time since the picture was requested, in seconds; if its kernels had to be built first, the time since they were
    /// built.
    pub elapsed_s: f64,
    /// The predicted time from the request until the picture is filtered, in seconds; `None` if nothing was measured yet.
    pub predicted_s: Option<f64>,
}

/// The variant, with its parameters, that the automatic choice (`auto`) runs at one picture size and radius.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoChoice {
    /// The variant that is run.
    pub variant: VariantId,
    /// The values of its tuning parameters, such as "STRIPS=2"; empty if it has none.
    pub config: String,
}
