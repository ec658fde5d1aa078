//! What a command that measures for minutes shows meanwhile. In: results that grow, and how many steps there are. Out: a bar
//! on stderr where that is a terminal; at the end the results, also where a signal ends it. Where the window has started it,
//! the window is told of each step and lets it begin.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use base::error::Result;
use base::leftovers;
use opencl::helper;
use opencl::watch;

/// Results that can be shown at any time.
pub(crate) trait Results: Send + 'static {
    /// Prints all that is there; `interrupted` says what is not.
    ///
    /// # Errors
    /// When it cannot be written.
    fn print(&self, interrupted: Option<&str>) -> Result<()>;

    /// What is missing when it is interrupted, in a sentence or more.
    fn missing(&self) -> String;

    /// What the window that has started it is told of them; `None` where no window has.
    fn for_window(&self) -> Option<impl Serialize> {
        None::<()>
    }
}

/// Results that are being measured.
pub(crate) struct Live<R> {
    bar: ProgressBar,
    results: Arc<Mutex<R>>,
}

fn lock<R>(results: &Mutex<R>) -> MutexGuard<'_, R> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Results> Live<R> {
    /// From here on a signal shows what is there.
    pub(crate) fn start(results: R, steps: usize) -> Self {
        // Drawn on stderr, and only where that is a terminal.
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        let results = Arc::new(Mutex::new(results));
        let (interrupted, shown) = (results.clone(), bar.clone());
        leftovers::say_before_the_end(move || {
            shown.finish_and_clear();
            let results = lock(&interrupted);
            let missing = results.missing();
            if let Err(error) = results.print(Some(&missing)) {
                eprintln!("clreel: {error}");
            }
            eprintln!("clreel: {missing}");
        });
        Self { bar, results }
    }

    /// The results as they are.
    pub(crate) fn results(&self) -> MutexGuard<'_, R> {
        lock(&self.results)
    }

    /// Says what happens now.
    pub(crate) fn say(&self, what: &str) {
        // A terminal may be held.
        let _host = watch::on_host();
        self.bar.set_message(what.to_owned());
    }

    /// Says what happens now, which is a step.
    pub(crate) fn step(&self, what: &str) {
        self.say(what);
        let (done, steps) = (self.bar.position(), self.bar.length().unwrap_or_default());
        // The results are not held while it waits.
        let mut is_asked = false;
        if let Some(results) = self.results().for_window() {
            helper::tell(&helper::Step { done, steps, next: Some(what.to_owned()), results });
            is_asked = true;
        }
        if is_asked {
            helper::wait_for_leave();
        }
        self.bar.inc(1);
    }

    /// Says on stderr what is worth a line of its own.
    pub(crate) fn line(&self, what: &str) {
        let _host = watch::on_host();
        self.bar.suspend(|| eprintln!("clreel: {what}"));
    }

    /// So many steps are done: some were not needed.
    pub(crate) fn skip_to(&self, steps: usize) {
        self.bar.set_position(steps as u64);
    }

    /// Shows all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn finish(&self) -> Result<MutexGuard<'_, R>> {
        let _host = watch::on_host();
        leftovers::say_no_more();
        self.bar.finish_and_clear();
        let results = self.results();
        match results.for_window() {
            Some(all) => {
                let steps = self.bar.length().unwrap_or_default();
                helper::tell(&helper::Step { done: steps, steps, next: None, results: all });
            }
            None => results.print(None)?,
        }
        Ok(results)
    }
}
