//! The list of movies: paths that come from the command line, were dropped on the window, chosen in a dialog or typed. A job
//! opens each movie, because that reads from the disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::dialog::{DesktopDialog, Dialog, DialogResult};
use crate::gl_window::GlWindow;
use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::stderr::print_message;
use video::address::path_of;
use video::{Decoder, OpenOptions};

/// A movie that a job is opening.
struct MovieOpening {
    index: usize,
    /// The step in the list to the next movie to open if this one cannot be opened: 1 or -1.
    step: isize,
    job: Job<Decoder>,
}

/// The list of movies, and which of them plays.
pub(crate) struct Playlist {
    files: Vec<PathBuf>,
    /// The list that replaces `files` once one of its movies was opened; `None` if there is no new list.
    next: Option<Vec<PathBuf>>,
    current: usize,
    opening: Option<MovieOpening>,
    /// The number of files in succession that could not be opened.
    failures: usize,
    /// The errors of files that could not be opened, since the user last requested a movie.
    refused: Vec<Error>,
    /// The errors of files that could not be opened, before the user last requested a movie.
    refused_before: Vec<Error>,
    /// True if the user has requested a movie since the start.
    pub(crate) has_request: bool,
    any_opened: bool,
    /// True if all files of the list were tried and no file could be opened since the start.
    hopeless: bool,
    /// True if the first file of a drop on the window has arrived, so that the next files belong to the same drop.
    dropping: bool,
    desktop: DesktopDialog,
    dialog: Option<Dialog>,
    /// The error for which no thread could be started to open a movie; `None` if there was none.
    no_thread: Option<Error>,
    options: OpenOptions,
    waker: Waker,
}

impl Playlist {
    /// Starts to open the first of `files`, or the next ones if that fails; [`Playlist::poll`] returns the result.
    pub(crate) fn new(files: Vec<PathBuf>, options: OpenOptions, waker: Waker) -> Self {
        let mut list = Self {
            files,
            next: None,
            current: 0,
            opening: None,
            failures: 0,
            refused: Vec::new(),
            refused_before: Vec::new(),
            has_request: false,
            any_opened: false,
            hopeless: false,
            dropping: false,
            desktop: DesktopDialog::detect(&waker),
            dialog: None,
            no_thread: None,
            options,
            waker,
        };
        list.open(0, 1);
        list
    }

    /// Waits for at most `time` until a movie was opened; returns `None` after that time. Prints the errors of movies that
    /// cannot be opened on stderr.
    ///
    /// # Errors
    /// The error of the last file, if no file can be opened.
    pub(crate) fn first(&mut self, time: Duration) -> Result<Option<Decoder>> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.poll_for(left) {
                None if left.is_zero() => return Ok(None),
                None => {}
                Some(Ok(decoder)) => return Ok(Some(decoder)),
                Some(Err(error)) if self.is_hopeless() => return Err(error),
                Some(Err(error)) => print_message(&error),
            }
        }
    }

    /// Returns true if all files were tried and no file could be opened since the start.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.hopeless && self.opening.is_none()
    }

    /// Returns the path of the movie that plays or, before the first movie, of the movie that is to be opened.
    pub(crate) fn current(&self) -> &Path {
        self.files.get(self.current).map_or(Path::new(""), PathBuf::as_path)
    }

    /// Returns the number of movies in the list.
    pub(crate) fn count(&self) -> usize {
        self.files.len()
    }

    /// Opens the movie `step` places after the current one in the list (after the last one comes the first), because the user
    /// has requested it. If a movie is being opened, that is cancelled.
    pub(crate) fn go(&mut self, step: isize) {
        let from = self.opening.as_ref().map_or(self.current, |o| o.index);
        self.note_request();
        self.open_after(from, step);
    }

    /// Opens the next movie of the list, because the current one is over.
    pub(crate) fn advance(&mut self) {
        self.failures = 0;
        self.open_after(self.current, 1);
    }

    /// Records that the user has requested a movie, so that earlier errors become obsolete once a movie is opened.
    fn note_request(&mut self) {
        self.has_request = true;
        self.failures = 0;
        self.refused_before.append(&mut self.refused);
    }

    /// Removes and returns the errors that have become obsolete, because a movie was opened that the user had requested after
    /// they occurred.
    pub(crate) fn take_obsolete_errors(&mut self) -> Vec<Error> {
        let mut before = std::mem::take(&mut self.refused_before);
        before.retain(|error| !self.refused.contains(error));
        before
    }

    /// Returns the position of the current movie in the list, counted from 1, and the number of movies; `None` if the list has
    /// only one movie.
    pub(crate) fn list_position(&self) -> Option<(usize, usize)> {
        (self.files.len() > 1).then_some((self.current + 1, self.files.len()))
    }

    /// Opens the movie `step` places after the position `index`; after the last movie comes the first.
    fn open_after(&mut self, index: usize, step: isize) {
        let count = self.list().len() as isize;
        if count > 0 {
            self.open((index as isize + step).rem_euclid(count) as usize, step.signum());
        }
    }

    /// Handles files being dragged over the window: the next file that is dropped begins a new list.
    pub(crate) fn begin_drop(&mut self) {
        self.dropping = false;
    }

    /// Handles a file that was dropped on the window: the first file of a drop replaces the list, the others are appended.
    pub(crate) fn dropped(&mut self, path: PathBuf) {
        if std::mem::replace(&mut self.dropping, true) {
            self.next.as_mut().unwrap_or(&mut self.files).push(path);
        } else {
            self.open_instead(vec![path]);
        }
    }

    /// Opens the desktop's dialog for choosing movies. Returns false if the desktop has no dialog, or if the dialog is open
    /// already and perhaps hidden.
    pub(crate) fn open_dialog(&mut self, window: &GlWindow) -> bool {
        if self.dialog.is_some() || !self.desktop.has_dialog() {
            return false;
        }
        let folder = std::path::absolute(self.current()).ok();
        let folder = folder.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        self.dialog = Dialog::open(window, folder, &self.waker);
        self.dialog.is_some()
    }

    /// Opens the movies that the user has chosen in the desktop's dialog once that is closed. Returns true if the dialog could
    /// not be displayed.
    pub(crate) fn poll_dialog(&mut self) -> bool {
        let Some(answer) = self.dialog.as_ref().and_then(Dialog::poll) else { return false };
        self.dialog = None;
        if let DialogResult::Chosen(files) = &answer {
            self.open_instead(files.clone());
        }
        answer == DialogResult::Failed
    }

    /// Opens the movie at a path that the user has typed.
    pub(crate) fn open_typed(&mut self, text: &str) {
        let home = base::environment::get("HOME").map(PathBuf::from);
        self.open_instead(vec![typed_path(text, home.as_deref())]);
    }

    /// Opens the first of `files` that can be opened. Once it is open, `files` replace the list.
    fn open_instead(&mut self, files: Vec<PathBuf>) {
        self.next = Some(files);
        self.note_request();
        self.open(0, 1);
    }

    /// Returns the list whose movies are being opened: the new list, if there is one, else the current list.
    fn list(&self) -> &[PathBuf] {
        self.next.as_ref().unwrap_or(&self.files)
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.opening.is_some()
    }

    /// Starts to open the movie at this index of the list. If that fails, [`poll`](Self::poll) opens the movie `step` places
    /// later.
    fn open(&mut self, index: usize, step: isize) {
        let Some(path) = self.list().get(index).cloned() else { return };
        let options = OpenOptions { looping: self.list().len() == 1, ..self.options.clone() };
        let waker = self.waker.clone();
        let job = Job::spawn("opener", "The next movie could not be opened.", &self.waker, move |reporter| {
            let cancel = reporter.canceller();
            open_decoder(&path, OpenOptions { cancel, ..options }, &waker)
        });
        match job {
            Ok(job) => self.opening = Some(MovieOpening { index, step, job }),
            Err(error) => self.no_thread = Some(error),
        }
    }

    /// Returns the decoder of a movie that was opened since the last call, or the error of a movie that could not be opened;
    /// `None` if there is no result. After an error, starts to open the next movie, until all were tried; returns each error
    /// once.
    pub(crate) fn poll(&mut self) -> Option<Result<Decoder>> {
        self.poll_for(Duration::ZERO)
    }

    /// Waits for at most `time` for a result, and returns it as [`poll`](Self::poll) does.
    fn poll_for(&mut self, time: Duration) -> Option<Result<Decoder>> {
        if let Some(error) = self.no_thread.take() {
            return Some(Err(error));
        }
        let opening = self.opening.as_ref()?;
        let result = opening.job.wait(time)?;
        let (index, step) = (opening.index, opening.step);
        if let (Ok(_), Some(opening)) = (&result, &mut self.opening) {
            // Without this, dropping the job would cancel the decoder's reading.
            opening.job.keep();
        }
        self.opening = None;
        match &result {
            Ok(_) => {
                if let Some(files) = self.next.take() {
                    self.files = files;
                }
                (self.current, self.failures) = (index, 0);
                // The position to start at is for the first movie only.
                (self.any_opened, self.options.start_s) = (true, 0.0);
            }
            Err(error) => {
                let is_known = self.refused.contains(error);
                if !is_known {
                    self.refused.push(error.clone());
                }
                self.failures += 1;
                let count = self.list().len();
                if self.failures < count {
                    self.open_after(index, step);
                } else if self.next.take().is_some() {
                    // The current movie continues.
                    self.failures = 0;
                } else {
                    self.hopeless = !self.any_opened;
                }
                // A list is played repeatedly, so each error is reported only once.
                if is_known && !self.hopeless {
                    return None;
                }
            }
        }
        Some(result)
    }
}

/// Converts a text that the user has typed to a path: removes spaces around it, replaces `~/` by the home folder `home`, and
/// converts a `file://` URL, which may come from the clipboard.
fn typed_path(text: &str, home: Option<&Path>) -> PathBuf {
    let text = text.trim();
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path_of(OsStr::new(text)),
    }
}

/// Opens a movie; `waker` is called whenever a frame was decoded.
fn open_decoder(path: &Path, options: OpenOptions, waker: &Waker) -> Result<Decoder> {
    let waker = waker.clone();
    Decoder::open(path, options, Box::new(move || waker()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_their_user_means() {
        let typed = |text| typed_path(text, Some(Path::new("/h")));
        assert_eq!(typed(" /a b.mp4 \n"), Path::new("/a b.mp4"));
        assert_eq!(typed("~/a.mp4"), Path::new("/h/a.mp4"));
        assert_eq!(typed("~a.mp4"), Path::new("~a.mp4"));
        assert_eq!(typed("file:///a%20%C3%A4%2.mp4"), Path::new("/a \u{e4}%2.mp4"));
        assert_eq!(typed(" file://localhost/a.mp4 "), Path::new("/a.mp4"));
        assert_eq!(typed("50%20.mp4"), Path::new("50%20.mp4"), "only an address is decoded");
    }

    #[test]
    fn what_cannot_be_opened_is_told_once_in_all_rounds_and_when_it_is_asked_for() {
        let long = Duration::from_secs(60);
        let files = vec!["/nowhere/a.mp4".into(), video::bundled_clip().unwrap()];
        let mut list = Playlist::new(files, OpenOptions::default(), std::sync::Arc::new(|| ()));
        assert!(list.poll_for(long).unwrap().is_err());
        assert!(list.poll_for(long).unwrap().is_ok());
        list.advance();
        assert!(list.poll_for(long).is_none(), "it was told before");
        assert!(list.poll_for(long).unwrap().is_ok());
        list.go(1);
        assert!(list.poll_for(long).unwrap().is_err());
        let mut hopeless = Playlist::new(
            vec!["/nowhere/a.mp4".into(); 2],
            OpenOptions::default(),
            std::sync::Arc::new(|| ()),
        );
        let told = [hopeless.poll_for(long), hopeless.poll_for(long)];
        assert!(told.iter().all(|told| told.as_ref().is_some_and(Result::is_err)) && hopeless.is_hopeless());
    }
}
