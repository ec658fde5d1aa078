//! The data that all parts of the overlay share in one pass.

use crate::action::Action;
use crate::table::Numbers;
use crate::view::View;

/// The input and the output of a pass (one layout of the overlay).
pub(crate) struct Pass<'a> {
    pub view: &'a View<'a>,
    pub numbers: &'a Numbers,
    /// True if the window system does not report files that the user drops on the window.
    pub lacks_drops: bool,
    /// The actions that the user has requested in this pass.
    pub actions: Vec<Action>,
}
