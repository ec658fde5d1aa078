//! (skeleton)

use crate::stats::Series;

/// Times of one variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    pub device: Series,
    pub dispatch: Option<Series>,
    pub wall: Option<Series>,
}
