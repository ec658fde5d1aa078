//! The movies to play, one after the other and round again. In: paths, from the command line, dropped on the window,
//! chosen in a dialog or typed. Out: decoders, opened on a thread of their own because opening reads from the disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use winit::window::Window;

use super::dialog::{Answer, Desktop, Dialog};
use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use video::address::path_of;
use video::{Decoder, OpenOptions};

/// A decoder that is being opened.
struct Opening {
    index: usize,
    /// Which way it goes on where this one cannot be opened: 1 or -1.
    step: isize,
    /// It cancels the opening when it goes.
    job: Job<Decoder>,
}

/// The list, and which of its movies plays.
pub(crate) struct Playlist {
    files: Vec<PathBuf>,
    /// What takes the list's place once one of it can be opened.
    next: Option<Vec<PathBuf>>,
    current: usize,
    opening: Option<Opening>,
    /// Files that could not be opened since the last one that could.
    failures: usize,
    /// Why files could not be opened, since the user last asked for one, and before.
    refused: Vec<Error>,
    refused_before: Vec<Error>,
    /// The user has asked for another movie than those that the command line named.
    asked: bool,
    any_opened: bool,
    /// None of the first files could be opened.
    hopeless: bool,
    /// A file of what is being dropped has arrived: the others of it follow.
    dropping: bool,
    desktop: Desktop,
    dialog: Option<Dialog>,
    /// Why a movie could not even begin to be opened.
    no_thread: Option<Error>,
    options: OpenOptions,
    waker: Waker,
}

impl Playlist {
    /// Begins to open the first of `files`; [`Playlist::poll`] tells what came of it.
    pub(crate) fn new(files: Vec<PathBuf>, options: OpenOptions, waker: Waker) -> Self {
        let mut list = Self {
            files,
            next: None,
            current: 0,
            opening: None,
            failures: 0,
            refused: Vec::new(),
            refused_before: Vec::new(),
            asked: false,
            any_opened: false,
            hopeless: false,
            dropping: false,
            desktop: Desktop::look(&waker),
            dialog: None,
            no_thread: None,
            options,
            waker,
        };
        list.begin(0, 1);
        list
    }

    /// Waits so long for the first movie that can be opened; the others are told on stderr. `None`: it takes longer.
    ///
    /// # Errors
    /// The last file's, when none can be opened.
    pub(crate) fn first(&mut self, time: Duration) -> Result<Option<Decoder>> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.poll_for(left) {
                None if left.is_zero() => return Ok(None),
                None => {}
                Some(Ok(decoder)) => return Ok(Some(decoder)),
                Some(Err(error)) if self.is_hopeless() => return Err(error),
                Some(Err(error)) => eprintln!("clreel: {error}"),
            }
        }
    }

    /// Whether no movie has been opened yet, and none is going to be.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.hopeless && self.opening.is_none()
    }

    /// The movie that plays, or is opened as the first one.
    pub(crate) fn current(&self) -> &Path {
        self.files.get(self.current).map_or(Path::new(""), PathBuf::as_path)
    }

    /// Number of movies.
    pub(crate) fn count(&self) -> usize {
        self.files.len()
    }

    /// Goes `step` movies on, because the user wants that, or back when it is negative, and round at the ends. Opening a movie that is
    /// being opened already is given up.
    pub(crate) fn go(&mut self, step: isize) {
        let from = self.opening.as_ref().map_or(self.current, |o| o.index);
        self.ask_anew();
        self.begin_beside(from, step);
    }

    /// Goes on to the next movie, because the one that played is over.
    pub(crate) fn advance(&mut self) {
        self.failures = 0;
        self.begin_beside(self.current, 1);
    }

    /// The user asks for another movie.
    fn ask_anew(&mut self) {
        self.asked = true;
        self.failures = 0;
        self.refused_before.append(&mut self.refused);
    }

    /// Whether the user has asked for a movie while the window was open.
    pub(crate) fn was_asked(&self) -> bool {
        self.asked
    }

    /// Errors that say nothing any more, because what was asked for after them could be opened.
    pub(crate) fn outlived(&mut self) -> Vec<Error> {
        let mut before = std::mem::take(&mut self.refused_before);
        before.retain(|error| !self.refused.contains(error));
        before
    }

    /// The movie that plays, counted from 1, and how many there are; `None` where it is alone.
    pub(crate) fn in_list(&self) -> Option<(usize, usize)> {
        (self.files.len() > 1).then_some((self.current + 1, self.files.len()))
    }

    /// Opens the movie that lies `step` beside one of the list, round at the ends.
    fn begin_beside(&mut self, index: usize, step: isize) {
        let count = self.list().len() as isize;
        if count > 0 {
            self.begin((index as isize + step).rem_euclid(count) as usize, step.signum());
        }
    }

    /// Files have come over the window: what is dropped next is a drop of its own.
    pub(crate) fn hovered(&mut self) {
        self.dropping = false;
    }

    /// Takes a file that was dropped on the window: the first of a drop replaces the list, the others follow it.
    pub(crate) fn dropped(&mut self, path: PathBuf) {
        if std::mem::replace(&mut self.dropping, true) {
            self.next.as_mut().unwrap_or(&mut self.files).push(path);
        } else {
            self.open_instead(vec![path]);
        }
    }

    /// Asks for movies with the desktop's dialog; `false` where there is none, or it is open already and perhaps
    /// nowhere to be seen.
    pub(crate) fn ask(&mut self, window: &Window) -> bool {
        if self.dialog.is_some() || !self.desktop.has_dialog() {
            return false;
        }
        let folder = std::path::absolute(self.current()).ok();
        let folder = folder.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        self.dialog = Dialog::open(window, folder, &self.waker);
        self.dialog.is_some()
    }

    /// Opens what was chosen in the dialog since the last call; whether the dialog could not be shown.
    pub(crate) fn dialog_failed(&mut self) -> bool {
        let Some(answer) = self.dialog.as_ref().and_then(Dialog::poll) else { return false };
        self.dialog = None;
        if let Answer::Chosen(files) = &answer {
            self.open_instead(files.clone());
        }
        answer == Answer::Failed
    }

    /// Opens the movie at a path as a user types it.
    pub(crate) fn open_typed(&mut self, text: &str) {
        let home = base::environment::get("HOME").map(PathBuf::from);
        self.open_instead(vec![typed(text, home.as_deref())]);
    }

    /// Opens the first of `files` that can be opened; then they take the list's place.
    fn open_instead(&mut self, files: Vec<PathBuf>) {
        self.next = Some(files);
        self.ask_anew();
        self.begin(0, 1);
    }

    fn list(&self) -> &[PathBuf] {
        self.next.as_ref().unwrap_or(&self.files)
    }

    /// Whether a movie is being opened.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening.is_some()
    }

    fn begin(&mut self, index: usize, step: isize) {
        let Some(path) = self.list().get(index).cloned() else { return };
        let options = OpenOptions { looping: self.list().len() == 1, ..self.options.clone() };
        let waker = self.waker.clone();
        let job = Job::spawn("opener", "The next movie could not be opened.", &self.waker, move |teller| {
            let cancel = teller.canceller();
            open(&path, OpenOptions { cancel, ..options }, &waker)
        });
        match job {
            Ok(job) => self.opening = Some(Opening { index, step, job }),
            Err(error) => self.no_thread = Some(error),
        }
    }

    /// The decoder that was opened since the last call, or why it could not be, which is told once; then the next movie is
    /// tried, until all of them have failed.
    pub(crate) fn poll(&mut self) -> Option<Result<Decoder>> {
        self.poll_for(Duration::ZERO)
    }

    fn poll_for(&mut self, time: Duration) -> Option<Result<Decoder>> {
        if let Some(error) = self.no_thread.take() {
            return Some(Err(error));
        }
        let opening = self.opening.as_ref()?;
        let result = opening.job.wait(time)?;
        let (index, step) = (opening.index, opening.step);
        if let (Ok(_), Some(opening)) = (&result, &mut self.opening) {
            // What was opened goes on being read.
            opening.job.keep();
        }
        self.opening = None;
        match &result {
            Ok(_) => {
                if let Some(files) = self.next.take() {
                    self.files = files;
                }
                (self.current, self.failures) = (index, 0);
                // Only the first one starts elsewhere than at its beginning.
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
                    self.begin_beside(index, step);
                } else if self.next.take().is_some() {
                    // What played goes on.
                    self.failures = 0;
                } else {
                    self.hopeless = !self.any_opened;
                }
                // A list goes round and round: nobody wants to read it each time.
                if is_known && !self.hopeless {
                    return None;
                }
            }
        }
        Some(result)
    }
}

/// The path that a user means by `text`: spaces around it do not count, `~/` is the home folder, and the address of a
/// file (`file://`) may come from the clipboard.
fn typed(text: &str, home: Option<&Path>) -> PathBuf {
    let text = text.trim();
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path_of(OsStr::new(text)),
    }
}

fn open(path: &Path, options: OpenOptions, waker: &Waker) -> Result<Decoder> {
    let waker = waker.clone();
    Decoder::open(path, options, Box::new(move || waker()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_their_user_means() {
        let typed = |text| typed(text, Some(Path::new("/h")));
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
