//! The saved run with which the ladder in the window is compared.

use std::path::Path;

use super::*;
use crate::app::playlist::typed_path;
use crate::app::saved_run;
use ladder::results::Report;
use overlay::{LadderColumn, Verdicts};

/// The saved run whose times the ladder shows, and the job that reads it.
#[derive(Default)]
pub(super) struct SavedRun {
    /// The columns of the run; empty if there is none.
    pub columns: Vec<LadderColumn>,
    reading: Option<Job<Vec<LadderColumn>>>,
    /// The job that compares the times of the window with those of each column.
    comparing: Option<Job<Vec<Verdicts>>>,
    /// The number of presented frames at which a comparison was begun last, with its settings; and its time.
    compared: Option<((u64, Settings), Instant)>,
}

/// The least time between two comparisons.
const COMPARE_EVERY: Duration = Duration::from_secs(1);

impl Player<'_> {
    /// Takes the saved run once it was read, or shows the error; and compares the times of the window with it once a second.
    pub(super) fn update_saved_run(&mut self) {
        self.saved_run.update(&mut self.cx);
        let settings = self.cx.frames.choice.filter().1;
        let now = (self.presented, settings);
        let is_due = |(before, at): (_, Instant)| before != now && at.elapsed() >= COMPARE_EVERY;
        let run = &self.saved_run;
        let is_visible = self.cx.overlay.saved_state().visible;
        if run.columns.is_empty()
            || !is_visible
            || run.comparing.is_some()
            || !run.compared.is_none_or(is_due)
        {
            return;
        }
        let Some(size) = self.cx.frames.presenter.screen.size() else { return };
        let report = saved_run::current_results(&self.cx.frames.recorder, &self.export_context(), settings);
        let columns = run.columns.clone();
        let compare =
            move |_: &_| Ok(columns.iter().map(|column| column.compare(&report, (settings, size))).collect());
        self.saved_run.compared = Some((now, Instant::now()));
        let failed = "The saved run could not be compared.";
        self.saved_run.comparing = Some(Job::spawn("compare-run", failed, &self.cx.waker, compare));
    }
}

impl SavedRun {
    /// Removes the columns of the saved run.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Starts to read the saved run at a path that the user has typed.
    pub(super) fn open(&mut self, path: &str, cx: &PlayerContext) {
        let home = base::environment::get("HOME").map(std::path::PathBuf::from);
        let path = typed_path(path, home.as_deref());
        let failed = "The saved run could not be read.";
        self.reading = Some(Job::spawn("saved-run", failed, &cx.waker, move |_| read(&path)));
    }

    /// Takes the saved run once it was read, or shows the error.
    fn update(&mut self, cx: &mut PlayerContext) {
        if let Some(read) = Job::take_result(&mut self.reading, Duration::ZERO) {
            // What cannot be read leaves the run before.
            if let Some(columns) = cx.or_tell(read) {
                *self = Self { columns, ..Self::default() };
            }
            cx.repaints.redraw_soon();
        }
        if let Some(compared) = Job::take_result(&mut self.comparing, Duration::ZERO) {
            let verdicts = cx.or_tell(compared).unwrap_or_default();
            for (column, verdicts) in self.columns.iter_mut().zip(verdicts) {
                column.verdicts = verdicts;
            }
            cx.repaints.redraw_with_next_frame();
        }
    }
}

/// Reads the columns of a saved run.
fn read(path: &Path) -> Result<Vec<LadderColumn>> {
    let name = base::text::name(path.file_name().unwrap_or(path.as_os_str()));
    LadderColumn::of_report(&name, &Report::read(path)?)
}
