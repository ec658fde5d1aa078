//! What the user must know. In: errors. Out: banners, each of which is told once, on stderr, too.

use base::error::Error;
use overlay::Notice;

/// The banners, oldest first.
#[derive(Default)]
pub(super) struct Notices {
    all: Vec<Notice>,
}

impl Notices {
    /// Tells an error, unless its banner is there already; `serious` ones are shown over a hidden overlay, too, and tell what comes
    /// of it beside what others say.
    pub(super) fn tell(&mut self, error: Error, serious: bool) {
        let is_said = |n: &Notice| (&n.error.what, &n.error.why) == (&error.what, &error.why);
        if self.all.iter().all(|n| n.error != error && (serious || !is_said(n))) {
            eprintln!("clreel: {error}");
            self.show(error, serious);
        }
    }

    /// Shows a banner that is told elsewhere.
    pub(super) fn show(&mut self, error: Error, serious: bool) {
        self.all.push(Notice { error, serious });
    }

    /// Shows a banner that is told elsewhere before all others.
    pub(super) fn show_first(&mut self, error: Error) {
        self.all.insert(0, Notice { error, serious: true });
    }

    /// Takes the banners of an error away: it says nothing any more.
    pub(super) fn hide(&mut self, error: &Error) {
        self.hide_all(|told| told == error);
    }

    /// The same with all errors that are such ones.
    pub(super) fn hide_all(&mut self, is_such: impl Fn(&Error) -> bool) {
        self.all.retain(|notice| !is_such(&notice.error));
    }

    /// The user has read the banner at this position.
    pub(super) fn dismiss(&mut self, index: usize) {
        if index < self.all.len() {
            self.all.remove(index);
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Notice] {
        &self.all
    }
}
