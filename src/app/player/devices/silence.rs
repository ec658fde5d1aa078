//! The message that tells the user that a driver does not respond.

use std::time::{Duration, Instant};

use crate::app::player::PlayerContext;
use base::error::Error;
use opencl::watch;

/// The time that a driver may spend in one call before the user is told that it does not respond.
const NOTICE_DELAY: Duration = Duration::from_millis(1500);

/// The message that tells the user that a driver does not respond; it is empty while all drivers respond.
#[derive(Default)]
pub(super) struct SilenceNotice {
    shown: Option<Error>,
}

impl SilenceNotice {
    /// Shows a notice while a driver does not respond whose device's name satisfies `is_awaited`; removes the notice
    /// afterwards. Returns the time at which to call this function again; `None` if no driver is in a call.
    pub(super) fn update(
        &mut self,
        is_awaited: impl Fn(&str) -> bool,
        cx: &mut PlayerContext,
    ) -> Option<Instant> {
        let silent = watch::longest_overdue(NOTICE_DELAY, is_awaited);
        let error = silent.map(|(device, what, _)| watch::not_responding(&device, what, NOTICE_DELAY));
        if error != self.shown {
            if let Some(before) = self.shown.take() {
                cx.notices.hide(&before);
            }
            if let Some(error) = error.clone() {
                // The notice precedes all others, since it explains why the picture does not change.
                cx.notices.show_first(error);
            }
            self.shown = error;
            cx.repaints.redraw_soon();
        }
        watch::next_check(NOTICE_DELAY)
    }
}
