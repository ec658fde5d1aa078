//! The saved run with which the ladder in the window is compared.

use std::path::Path;

use super::*;
use crate::app::playlist::typed_path;
use ladder::results::Report;
use overlay::{LadderColumn, PathPurpose};

/// The saved run whose times the ladder shows, and the job that reads it.
#[derive(Default)]
pub(super) struct SavedRun {
    /// The columns of the run; empty if there is none.
    pub columns: Vec<LadderColumn>,
    reading: Option<Job<Vec<LadderColumn>>>,
}

impl SavedRun {
    /// Asks the user for a saved run; if there is one, removes it.
    pub(super) fn toggle(&mut self, cx: &mut PlayerContext) {
        if self.columns.is_empty() {
            cx.overlay.path_prompt.open(PathPurpose::Run);
        } else {
            *self = Self::default();
        }
    }

    /// Starts to read the saved run at a path that the user has typed.
    pub(super) fn open(&mut self, path: &str, cx: &PlayerContext) {
        let home = base::environment::get("HOME").map(std::path::PathBuf::from);
        let path = typed_path(path, home.as_deref());
        let failed = "The saved run could not be read.";
        self.reading = Some(Job::spawn("saved-run", failed, &cx.waker, move |_| read(&path)));
    }

    /// Takes the saved run once it was read, or shows the error.
    pub(super) fn update(&mut self, cx: &mut PlayerContext) {
        if let Some(read) = Job::take_result(&mut self.reading, Duration::ZERO) {
            self.columns = cx.or_notify(read).unwrap_or_default();
            cx.repaints.redraw_soon();
        }
    }
}

/// Reads the columns of a saved run.
fn read(path: &Path) -> Result<Vec<LadderColumn>> {
    let name = base::text::name(path.file_name().unwrap_or(path.as_os_str()));
    LadderColumn::of_report(&name, &Report::read(path)?)
}
