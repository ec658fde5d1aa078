//! The list of movies: paths that come from the command line, were dropped on the window, chosen in a dialog or typed. A job
//! opens each movie, because that reads from the disk.
//!
//! The dialog is shown by a service of the desktop (the portal, over D-Bus) or by `zenity`; a job waits for its result. If
//! neither is available, the caller must ask for a path in another way.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::gl_window::GlWindow;
use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::load;
use base::stderr::print_message;
use video::address::path_of;
use video::{Decoder, OpenOptions};

/// The D-Bus interface that a back end of the desktop portal needs for showing the file dialog.
const CHOOSER: &str = "org.freedesktop.impl.portal.FileChooser";
/// The maximum time for which the window waits, when the user requests a dialog, for the job that finds out whether the desktop
/// has one.
const DETECTION_TIMEOUT: Duration = Duration::from_millis(50);

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
    pub has_request: bool,
    any_opened: bool,
    /// True if the first file of a drop on the window has arrived, so that the next files belong to the same drop. Set to false
    /// when files are dragged over the window.
    pub dropping: bool,
    /// The job that finds out whether the desktop can show a dialog for choosing files. It is a job since it reads folders.
    detection: Option<Job<bool>>,
    has_dialog: bool,
    /// The job that shows a dialog; `None` if no dialog is open.
    dialog: Option<Job<Option<Vec<PathBuf>>>>,
    options: OpenOptions,
    waker: Waker,
}

impl Playlist {
    /// Starts to open the first of `files`, or the next ones if that fails; [`Playlist::poll`] returns the result. Also finds
    /// out whether the desktop has a dialog.
    pub(crate) fn new(files: Vec<PathBuf>, options: OpenOptions, waker: Waker) -> Self {
        let look = |_: &_| Ok(has_dialog(base::environment::get));
        let detection = Job::spawn("desktop", "The desktop could not be asked for a dialog.", &waker, look);
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
            dropping: false,
            detection: Some(detection),
            has_dialog: false,
            dialog: None,
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
            match self.poll(left) {
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
        !self.any_opened && self.opening.is_none() && self.failures > 0 && self.failures >= self.files.len()
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

    /// Handles a file that was dropped on the window: the first file of a drop replaces the list, the others are appended.
    pub(crate) fn dropped(&mut self, path: PathBuf) {
        if std::mem::replace(&mut self.dropping, true) {
            self.next.as_mut().unwrap_or(&mut self.files).push(path);
        } else {
            self.open_instead(vec![path]);
        }
    }

    /// Opens the desktop's dialog for choosing movies over `window`. Returns false if the desktop has no dialog or that is still
    /// unknown after [`DETECTION_TIMEOUT`], or if the dialog is open already and perhaps hidden.
    pub(crate) fn open_dialog(&mut self, window: &GlWindow) -> bool {
        if let Some(answer) = Job::take_result(&mut self.detection, DETECTION_TIMEOUT) {
            self.has_dialog = answer.unwrap_or(false);
        }
        if self.dialog.is_some() || !self.has_dialog {
            return false;
        }
        let folder = std::path::absolute(self.current()).ok();
        let folder = folder.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let title = if window.lacks_drops() {
            "Open movies (on Wayland they cannot be dropped on the window)"
        } else {
            "Open movies"
        };
        let dialog = rfd::FileDialog::new().set_title(title).set_parent(&window.window);
        let ask = move |_: &_| {
            let dialog = match folder.filter(|folder| folder.is_dir()) {
                Some(folder) => dialog.set_directory(folder),
                None => dialog,
            };
            Ok(dialog.pick_files())
        };
        self.dialog = Some(Job::spawn("dialog", "The dialog could not be shown.", &self.waker, ask));
        true
    }

    /// Opens the movies that the user has chosen in the desktop's dialog once that is closed. Returns true if the dialog could
    /// not be displayed.
    pub(crate) fn poll_dialog(&mut self) -> bool {
        match Job::take_result(&mut self.dialog, Duration::ZERO) {
            Some(Ok(Some(files))) if !files.is_empty() => self.open_instead(files),
            // The user has cancelled the dialog, or has not closed it. A dialog that could not be displayed returns no list.
            Some(Ok(Some(_))) | None => {}
            Some(Ok(None) | Err(_)) => return true,
        }
        false
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
            let cancel = reporter.cancel.clone();
            Decoder::open(&path, OpenOptions { cancel, ..options }, Box::new(move || waker()))
        });
        self.opening = Some(MovieOpening { index, step, job });
    }

    /// Waits for at most `time` for the decoder of a movie that was opened since the last call, or the error of a movie that
    /// could not be opened; returns `None` if there is no result. After an error, starts to open the next movie, until all were
    /// tried; returns each error once.
    pub(crate) fn poll(&mut self, time: Duration) -> Option<Result<Decoder>> {
        let result = self.opening.as_ref()?.job.wait(time)?;
        let MovieOpening { index, step, mut job } = self.opening.take()?;
        if result.is_ok() {
            // Without this, dropping the job would cancel the decoder's reading.
            job.keep();
        }
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
                }
                // A list is played repeatedly, so each error is reported only once.
                if is_known && !self.is_hopeless() {
                    return None;
                }
            }
        }
        Some(result)
    }
}

/// Converts a text that the user has typed to a path: removes spaces around it, replaces `~/` by the home folder `home`, and
/// converts a `file://` URL, which may come from the clipboard.
pub(super) fn typed_path(text: &str, home: Option<&Path>) -> PathBuf {
    let text = text.trim();
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path_of(OsStr::new(text)),
    }
}

/// Returns true if a dialog for choosing files is likely to work: there is a session bus, and a portal with a file chooser or
/// `zenity`. The bus itself is not queried, since a query could start the bus, or wait for a service that never responds. `get`
/// returns the values of environment variables.
fn has_dialog(get: impl Fn(&str) -> Option<OsString>) -> bool {
    let named = get("DBUS_SESSION_BUS_ADDRESS").is_some_and(|a| !a.is_empty());
    let socket = get("XDG_RUNTIME_DIR").is_some_and(|d| Path::new(&d).join("bus").exists());
    if !(named || socket) {
        return false;
    }
    let data = get("XDG_DATA_DIRS").filter(|d| !d.is_empty());
    let data = data.unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let has_chooser = |path: PathBuf| {
        path.extension() == Some(OsStr::new("portal"))
            && load::text(&path, load::MAX_LIST_BYTES).is_ok_and(|text| text.contains(CHOOSER))
    };
    let portal = std::env::split_paths(&data).any(|folder| {
        let back_ends = std::fs::read_dir(folder.join("xdg-desktop-portal/portals"));
        folder.join("dbus-1/services/org.freedesktop.portal.Desktop.service").exists()
            && back_ends.into_iter().flatten().flatten().any(|entry| has_chooser(entry.path()))
    });
    let path = get("PATH").unwrap_or_default();
    portal || std::env::split_paths(&path).any(|folder| folder.join("zenity").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_folder;

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
        let open = |files| Playlist::new(files, OpenOptions::default(), std::sync::Arc::new(|| ()));
        let mut list = open(vec!["/nowhere/a.mp4".into(), video::bundled_clip().unwrap()]);
        assert!(list.poll(long).unwrap().is_err());
        assert!(list.poll(long).unwrap().is_ok());
        list.advance();
        assert!(list.poll(long).is_none(), "it was told before");
        assert!(list.poll(long).unwrap().is_ok());
        list.go(1);
        assert!(list.poll(long).unwrap().is_err());
        let mut hopeless = open(vec!["/nowhere/a.mp4".into(); 2]);
        let told = [hopeless.poll(long), hopeless.poll(long)];
        assert!(told.iter().all(|told| told.as_ref().is_some_and(Result::is_err)) && hopeless.is_hopeless());
    }

    #[test]
    fn a_dialog_needs_a_bus_and_a_service() {
        let folder = test_folder("dialog");
        let folder = &folder.0;
        let (services, portals) = (folder.join("dbus-1/services"), folder.join("xdg-desktop-portal/portals"));
        std::fs::create_dir_all(&services).unwrap();
        std::fs::create_dir_all(&portals).unwrap();
        let with = |bus: &str, path: &str| {
            let (bus, path, data) = (bus.to_owned(), path.to_owned(), folder.clone());
            has_dialog(move |name| match name {
                "DBUS_SESSION_BUS_ADDRESS" => Some((&bus).into()),
                "XDG_DATA_DIRS" => Some((&data).into()),
                "PATH" => Some((&path).into()),
                _ => None,
            })
        };
        assert!(!with("unix:path=/x", "/nowhere"));
        std::fs::write(services.join("org.freedesktop.portal.Desktop.service"), "").unwrap();
        std::fs::write(portals.join("other.portal"), "Interfaces=org.freedesktop.impl.portal.Print").unwrap();
        assert!(!with("unix:path=/x", "/nowhere"), "no part of the portal shows files");
        std::fs::write(portals.join("gtk.portal"), format!("Interfaces={CHOOSER};")).unwrap();
        assert!(with("unix:path=/x", "/nowhere"));
        assert!(!with("", "/nowhere"), "no bus");
        std::fs::remove_dir_all(&portals).unwrap();
        assert!(!with("unix:path=/x", "/nowhere"));
        std::fs::write(folder.join("zenity"), "").unwrap();
        assert!(with("unix:path=/x", folder.to_str().unwrap()));
    }
}
