//! The banners that show errors over the movie. Each error is printed on stderr once.

use base::error::Error;
use base::stderr::print_message;
use overlay::Notice;

/// The list of error banners.
#[derive(Default)]
pub(super) struct Notices {
    /// All shown error banners, oldest first.
    pub(super) all: Vec<Notice>,
}

impl Notices {
    /// Shows a banner for an error and prints the error on stderr, unless a banner shows the same error already. A `serious`
    /// error is shown even if the overlay is hidden, and even if it differs from a shown error only in its hint.
    pub(super) fn add(&mut self, error: Error, serious: bool) {
        let is_same = |n: &Notice| (&n.error.what, &n.error.why) == (&error.what, &error.why);
        if self.all.iter().all(|n| n.error != error && (serious || !is_same(n))) {
            print_message(&error);
            self.show(error, serious);
        }
    }

    /// Shows a banner for an error, without printing the error.
    pub(super) fn show(&mut self, error: Error, serious: bool) {
        self.all.push(Notice { error, serious });
    }

    /// Shows the banner of a serious error before all others, without printing the error.
    pub(super) fn show_first(&mut self, error: Error) {
        self.all.insert(0, Notice { error, serious: true });
    }

    /// Removes the banners that show this error.
    pub(super) fn hide(&mut self, error: &Error) {
        self.hide_all(|shown| shown == error);
    }

    /// Removes the banners of all errors for which `is_such` returns true.
    pub(super) fn hide_all(&mut self, is_such: impl Fn(&Error) -> bool) {
        self.all.retain(|notice| !is_such(&notice.error));
    }

    /// Removes the error banner at this index.
    pub(super) fn dismiss(&mut self, index: usize) {
        if index < self.all.len() {
            self.all.remove(index);
        }
    }
}
