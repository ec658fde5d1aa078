//! Progress and results of commands that measure for minutes. A progress bar is shown if stderr is a terminal, and the results
//! are printed at the end or when a signal ends the process. If the window has started the process, the process sends a message
//! before each step and waits until the window permits the step.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use base::cleanup;
use base::error::Result;
use base::stderr::print_message;
use opencl::sandbox;
use opencl::watch;

/// A message to the window before each step of a measurement and at its end. The process waits for a line on stdin before it
/// starts the step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Step<T> {
    /// Number of steps of the measurement that are done.
    pub done: u64,
    /// Total number of steps of the measurement if none is skipped.
    pub steps: u64,
    /// The name of the next step, such as "timing flat"; `None` at the end.
    pub next: Option<String>,
    /// The results of the measurement so far.
    pub results: T,
}

/// Results of a measurement that can be printed at any time, even while they are incomplete.
pub(crate) trait LiveResults: Send + 'static {
    /// Prints the results so far; `interrupted` is a sentence about the missing results if a signal ended the process.
    ///
    /// # Errors
    /// If writing fails.
    fn print(&self, interrupted: Option<&str>) -> Result<()>;

    /// Returns sentences about the results that are missing because a signal ended the measurement.
    fn describe_missing(&self) -> String;

    /// Returns the results as they are sent to the window; `None` if no window started this process.
    fn for_window(&self) -> Option<impl Serialize> {
        None::<()>
    }
}

/// Creates a progress bar, which is drawn on stderr, and only where that is a terminal.
pub(super) fn progress_bar(steps: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(steps).with_style(style)
}

/// A measurement in progress, with its progress bar and its results so far.
pub(crate) struct LiveRun<R> {
    bar: ProgressBar,
    results: Arc<Mutex<R>>,
}

impl<R: LiveResults> LiveRun<R> {
    /// Starts the progress bar. From now on, SIGINT, SIGTERM and SIGHUP print the results so far before they end the process.
    pub(crate) fn start(results: R, steps: usize) -> Self {
        let bar = progress_bar(steps as u64, "{bar:30} {pos}/{len} {msg}");
        let results = Arc::new(Mutex::new(results));
        let (interrupted, visible_bar) = (results.clone(), bar.clone());
        cleanup::on_interrupt(move || {
            visible_bar.finish_and_clear();
            let results = interrupted.lock();
            let missing = results.describe_missing();
            if let Err(error) = results.print(Some(&missing)) {
                print_message(&error);
            }
            print_message(&missing);
        });
        Self { bar, results }
    }

    /// Locks the results. The lock must not be held during a step.
    pub(crate) fn results(&self) -> MutexGuard<'_, R> {
        self.results.lock()
    }

    /// Sets the text beside the progress bar.
    pub(crate) fn set_message(&self, text: &str) {
        // A terminal that is stopped (Ctrl+S) must not count as a driver that hangs.
        let _host = watch::on_host();
        self.bar.set_message(text.to_owned());
    }

    /// Starts the next step: sets the text beside the progress bar, advances the bar, and waits for the window's permission if
    /// the window started this process.
    pub(crate) fn next_step(&self, text: &str) {
        self.set_message(text);
        let (done, steps) = (self.bar.position(), self.bar.length().unwrap_or_default());
        // The results must be unlocked during the wait.
        let sent = self.results().for_window().map(|results| {
            sandbox::send(&Step { done, steps, next: Some(text.to_owned()), results });
        });
        if sent.is_some() {
            sandbox::receive_line();
        }
        self.bar.inc(1);
    }

    /// Prints a line to stderr above the progress bar.
    pub(crate) fn print_line(&self, text: &str) {
        let _host = watch::on_host();
        self.bar.suspend(|| print_message(text));
    }

    /// Sets the progress bar to this number of finished steps, after steps were skipped.
    pub(crate) fn skip_to(&self, steps: usize) {
        self.bar.set_position(steps as u64);
    }

    /// Removes the progress bar and prints the results, or sends them to the window.
    ///
    /// # Errors
    /// If writing the results fails.
    pub(crate) fn finish(&self) -> Result<MutexGuard<'_, R>> {
        let _host = watch::on_host();
        cleanup::clear_on_interrupt();
        self.bar.finish_and_clear();
        let results = self.results();
        match results.for_window() {
            Some(all) => {
                let steps = self.bar.length().unwrap_or_default();
                sandbox::send(&Step { done: steps, steps, next: None, results: all });
            }
            None => results.print(None)?,
        }
        Ok(results)
    }
}
