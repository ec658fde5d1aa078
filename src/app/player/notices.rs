//! The banners that show errors over the movie, and the time of the window's next redraw.

use std::time::{Duration, Instant};

use base::error::Error;
use base::stderr::print_message;
use overlay::Notice;

/// Returns true if both errors are equal except for their hints.
pub(super) fn is_same_error(one: &Error, other: &Error) -> bool {
    (&one.what, &one.why) == (&other.what, &other.why)
}

/// The list of error banners. Each error is printed on stderr once.
#[derive(Default)]
pub(super) struct Notices {
    /// All shown error banners, oldest first.
    pub all: Vec<Notice>,
    /// The errors about actions of the user, oldest first, each with the time at which its banner leaves.
    passing: Vec<(Error, Instant)>,
}

/// The greatest number of banners about actions of the user.
const MAX_PASSING: usize = 3;

/// Returns the time for which a banner about an action of the user is shown, so that it can be read.
fn reading_time(error: &Error) -> Duration {
    Duration::from_secs(10) + Duration::from_millis(60) * error.to_string().chars().count() as u32
}

impl Notices {
    /// Shows a banner for an error and prints the error on stderr, unless a banner shows the same error already. A `serious`
    /// error is shown even if the overlay is hidden, and even if it differs from a shown error only in its hint.
    pub(super) fn add(&mut self, error: Error, serious: bool) {
        if self.all.iter().all(|n| n.error != error && (serious || !is_same_error(&n.error, &error))) {
            print_message(&error);
            self.all.push(Notice { error, serious });
        }
    }

    /// Shows a banner for an error about an action of the user. It leaves after a while, or when there are newer ones.
    pub(super) fn add_passing(&mut self, error: Error, serious: bool) {
        let leaves_at = Instant::now() + reading_time(&error);
        self.passing.retain(|(shown, _)| !is_same_error(shown, &error));
        self.passing.push((error.clone(), leaves_at));
        self.add(error, serious);
        if self.passing.len() > MAX_PASSING {
            let (oldest, _) = self.passing.remove(0);
            self.hide(&oldest);
        }
    }

    /// Removes the banners about actions of the user whose time is over. Returns true if there were any, and the time until the
    /// next one leaves.
    pub(super) fn expire(&mut self) -> (bool, Option<Duration>) {
        let now = Instant::now();
        let over: Vec<_> = self.passing.extract_if(.., |(_, leaves_at)| *leaves_at <= now).collect();
        over.iter().for_each(|(error, _)| self.hide(error));
        let next = self.passing.iter().map(|(_, leaves_at)| leaves_at.saturating_duration_since(now)).min();
        (!over.is_empty(), next)
    }

    /// Removes all banners about actions of the user. Returns false if there were none.
    pub(super) fn dismiss_passing(&mut self) -> bool {
        let passing = std::mem::take(&mut self.passing);
        let before = self.all.len();
        passing.iter().for_each(|(error, _)| self.hide(error));
        self.all.len() < before
    }

    /// Removes the banners that show this error.
    pub(super) fn hide(&mut self, error: &Error) {
        self.hide_all(|shown| shown == error);
    }

    /// Removes the banners of all errors for which `is_such` returns true.
    pub(super) fn hide_all(&mut self, is_such: impl Fn(&Error) -> bool) {
        self.all.retain(|notice| !is_such(&notice.error));
    }
}

/// The maximum delay of a redraw without an action of the user. Such a redraw waits for the redraw for the movie's next frame,
/// since each redraw delays that frame.
const MAX_DELAY: Duration = Duration::from_millis(50);

/// The earliest requested redraw of the window, and the time of the last redraw.
pub(super) struct Repaints {
    /// The time at which the next redraw is due; `None` if none was requested.
    pub next_redraw: Option<Instant>,
    last_drawn: Instant,
}

impl Repaints {
    pub(super) fn new() -> Self {
        Self { next_redraw: None, last_drawn: Instant::now() }
    }

    /// Requests a redraw of the window after at most the time `wait`.
    pub(super) fn redraw_within(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.next_redraw = Some(self.next_redraw.map_or(at, |old| old.min(at)));
    }

    /// Requests a redraw of the window in the next turn of the event loop.
    pub(super) fn redraw_soon(&mut self) {
        self.redraw_within(Duration::ZERO);
    }

    /// Requests a redraw together with the movie's next frame, or after [`MAX_DELAY`] if no frame comes earlier.
    pub(super) fn redraw_with_next_frame(&mut self) {
        self.redraw_within(MAX_DELAY);
    }

    /// Requests a redraw of the window when the time `interval` has passed since the last redraw.
    pub(super) fn redraw_every(&mut self, interval: Duration) {
        self.redraw_within(interval.saturating_sub(self.last_drawn.elapsed()));
    }

    /// Clears all requests, because the window is being redrawn.
    pub(super) fn clear(&mut self) {
        (self.next_redraw, self.last_drawn) = (None, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_actions_do_not_pile_up_and_leave_the_others() {
        let error = |n: usize| Error::new(format!("Error {n}."), "Reason.", "");
        let mut notices = Notices::default();
        let shown = |notices: &Notices| -> Vec<String> {
            notices.all.iter().map(|notice| notice.error.what.clone()).collect()
        };
        notices.add(error(0), true);
        (1..=5).chain([5, 4]).for_each(|n| notices.add_passing(error(n), false));
        assert_eq!(shown(&notices), ["Error 0.", "Error 3.", "Error 4.", "Error 5."]);
        assert!(notices.expire().1.is_some_and(|left| left > Duration::from_secs(9)));
        notices.passing[0].1 = Instant::now();
        assert!(notices.expire().0);
        assert_eq!(shown(&notices), ["Error 0.", "Error 4.", "Error 5."]);
        // Esc removes them, and has its other meanings once there are none.
        assert!(notices.dismiss_passing() && !notices.dismiss_passing());
        assert_eq!(shown(&notices), ["Error 0."]);
    }
}
