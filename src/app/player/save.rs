//! Files that the user saves while the movie plays: statistics, a frame, the window's picture. Their names contain the local
//! time, and they never replace existing files. Jobs write them.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::{date, load};
use video::Orientation;
use video::color::unpremultiply;

/// The pixels of a frame or of the window that are to be saved, and their orientation.
pub(super) struct SavedPicture {
    pub size: (u32, u32),
    /// The premultiplied RGBA pixels, 8 bits a channel, top row first.
    pub rgba: Vec<u8>,
    pub orientation: Orientation,
}

impl SavedPicture {
    /// Writes the picture to a PNG file, rotated as its orientation says.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        let ((width, height), mut rgba) = self.orientation.turn(self.size, self.rgba)?;
        unpremultiply(&mut rgba);
        base::save::png(path, width, height, &rgba)
    }
}

/// The jobs that save files, requests to save pictures at the next redraw, and the screenshot that is written at the end.
pub(super) struct SaveJobs {
    /// The jobs that save files.
    running: Vec<Job<Vec<PathBuf>>>,
    waker: Waker,
    /// True if the frame on the screen is to be saved at the next redraw.
    pub wants_frame: bool,
    /// True if the window's picture is to be saved at the next redraw.
    pub wants_window: bool,
    /// The window's picture for the option `--screenshot`, which is written when the window is closed; `None` if it is not to
    /// be written.
    pub screenshot: Option<SavedPicture>,
    /// The job that tests at the start whether the file of the trace can be written.
    pub trial: Option<Job<()>>,
    /// The job that writes the files of the end.
    pub last: Option<Job<()>>,
    pub last_result: Option<Result<()>>,
}

impl SaveJobs {
    /// Creates the state. Starts a job that tests whether the file `trace` can be written, since the file system may not respond;
    /// does nothing if `trace` is `None`. `waker` is called whenever a job has finished.
    pub(super) fn begin(trace: Option<&Path>, waker: &Waker) -> Self {
        let trial = trace.map(|trace| {
            let trace = trace.to_path_buf();
            let work = move |_: &_| base::save::can_write(&trace);
            Job::spawn("trial", "Whether the trace can be written is not known.", waker, work)
        });
        let (running, waker) = (Vec::new(), waker.clone());
        let (wants_frame, wants_window, screenshot, last, last_result) = (false, false, None, None, None);
        Self { running, waker, wants_frame, wants_window, screenshot, trial, last, last_result }
    }

    /// Returns true if the files of the end are being written: screenshot, last frame, statistics and trace.
    pub(super) fn are_being_written(&self) -> bool {
        self.last.is_some()
    }

    /// Waits for at most `time` until the files of the end are written; returns true if each file was written or has failed.
    pub(super) fn wait_for_last(&mut self, time: Duration) -> bool {
        if let Some(done) = Job::take_result(&mut self.last, time) {
            self.last_result = Some(done);
        }
        self.last_result.is_some()
    }

    /// Starts to save a picture in a new file named `clreel-KIND-TIME.png`, with the name of the filter of a folder and its
    /// settings behind the time, if `filter` has them.
    pub(super) fn picture(&mut self, kind: &'static str, filter: Option<String>, picture: SavedPicture) {
        let (time, folders) = (SystemTime::now(), folders());
        let save = move |_: &_| {
            let name = filter.map_or_else(String::new, |filter| format!("-{}", plain(&filter)));
            let write = |paths: &[PathBuf]| paths.first().map_or(Ok(()), |path| picture.write(path));
            save_in(&folders, (kind, &format!("{}{name}", stamp(time))), &["png"], write)
        };
        self.running.push(Job::spawn("save", "A file could not be saved.", &self.waker, save));
    }

    /// Starts to save files named `clreel-KIND-TIME.ENDING`, one for each of `endings`. They are created in the first writable
    /// folder of [`folders`], under a name that is free for all endings. `write` gets their paths in the order of `endings`,
    /// and writes their contents.
    pub(super) fn save(
        &mut self,
        kind: &'static str,
        endings: &[&'static str],
        write: impl FnOnce(&[PathBuf]) -> Result<()> + Send + 'static,
    ) {
        let (time, endings) = (SystemTime::now(), endings.to_vec());
        let save = move |_: &_| save_in(&folders(), (kind, &stamp(time)), &endings, write);
        self.running.push(Job::spawn("save", "A file could not be saved.", &self.waker, save));
    }

    /// Returns the result of each job that has finished since the last call: the paths of the saved files, or the error. If `wait`
    /// is true, waits for all jobs.
    pub(super) fn take_finished(&mut self, wait: bool) -> Vec<Result<Vec<PathBuf>>> {
        let time = if wait { Duration::MAX } else { Duration::ZERO };
        let mut saved = Vec::new();
        self.running.retain(|job| job.wait(time).map(|done| saved.push(done)).is_none());
        saved
    }
}

/// Creates files named `clreel-KIND-TIME.ENDING`, one for each of `endings`, in the first of `folders` that is writable, and
/// makes `write` write them. Returns their paths.
fn save_in(
    folders: &[PathBuf],
    (kind, time): (&str, &str),
    endings: &[&str],
    write: impl FnOnce(&[PathBuf]) -> Result<()>,
) -> Result<Vec<PathBuf>> {
    let (what, stem) = (format!("The {kind} could not be saved."), format!("clreel-{kind}-{time}"));
    let paths = create_in(folders, &stem, what, |path| reserve(path, endings))?;
    let written = write(&paths);
    if written.is_err() {
        remove(&paths);
    }
    written.map(|()| paths)
}

/// Returns a text with `-` in place of all characters but letters, digits and dots, one for several of them.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// Creates a file or folder under a name that is free: calls `create` with the path `stem` in the first folder, then with
/// `stem-2`, `stem-3` and so on as long as something exists at the path. Continues with the next folder if creation fails for
/// another reason. Returns what `create` returned.
///
/// # Errors
/// If nothing can be created in any of the folders; `what` is the first sentence of the error.
pub(super) fn create_in<T>(
    folders: &[PathBuf],
    stem: &str,
    what: impl Into<String>,
    create: impl Fn(&Path) -> std::io::Result<T>,
) -> Result<T> {
    let mut reason = "There is no folder for it.".to_owned();
    for folder in folders {
        let path = |n: u32| folder.join(if n == 1 { stem.to_owned() } else { format!("{stem}-{n}") });
        let is_free = |made: &std::io::Result<T>| {
            made.as_ref().err().is_none_or(|e| e.kind() != ErrorKind::AlreadyExists)
        };
        let made = (1..1000).map(|n| create(&path(n))).find(is_free);
        match made.unwrap_or_else(|| Err(ErrorKind::AlreadyExists.into())) {
            Ok(made) => return Ok(made),
            Err(e) => reason = format!("The system says of '{}': {e}.", base::text::name(folder)),
        }
    }
    Err(Error::new(what, reason, "Start clreel in a folder that you may write to."))
}

/// Creates empty files at the path `stem`, one with each of these endings. If one cannot be created, removes the others.
fn reserve(stem: &Path, endings: &[&str]) -> std::io::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    for ending in endings {
        let mut path = stem.as_os_str().to_owned();
        path.push(format!(".{ending}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => made.push(path.into()),
            Err(e) => {
                remove(&made);
                return Err(e);
            }
        }
    }
    Ok(made)
}

fn remove(paths: &[PathBuf]) {
    for path in paths {
        let _ = std::fs::remove_file(path);
    }
}

/// Returns the folders in which files may be saved, in order of preference: the current folder, the user's folder for
/// documents, the home folder.
pub(super) fn folders() -> Vec<PathBuf> {
    let home = base::environment::get("HOME").map(PathBuf::from).filter(|h| h.is_absolute());
    let config = base::environment::get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|c| c.is_absolute());
    let config = config.or_else(|| home.as_ref().map(|h| h.join(".config")));
    let listed = config.and_then(|c| load::text(&c.join("user-dirs.dirs"), load::MAX_LIST_BYTES).ok());
    let documents = home.as_ref().zip(listed).and_then(|(home, text)| documents(&text, home));
    let documents = documents.or_else(|| home.as_ref().map(|h| h.join("Documents")));
    [std::env::current_dir().ok(), documents, home].into_iter().flatten().collect()
}

/// Returns the user's folder for documents from the text of `user-dirs.dirs`, which has the form
/// `XDG_DOCUMENTS_DIR="$HOME/Documents"`; `None` if the text does not name it.
fn documents(text: &str, home: &Path) -> Option<PathBuf> {
    let value = text.lines().find_map(|l| l.trim().strip_prefix("XDG_DOCUMENTS_DIR="))?.trim_matches('"');
    match value.strip_prefix("$HOME") {
        Some(rest) => Some(home.join(rest.trim_start_matches('/'))),
        None => Some(PathBuf::from(value)).filter(|p| p.is_absolute()),
    }
}

/// Formats a time as local time `YYYYmmdd-HHMMSS`, or as seconds since 1970 if the system has no local time.
fn stamp(now: SystemTime) -> String {
    match date::local(now) {
        Ok([year, month, day, hour, minute, second]) => {
            format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
        }
        Err(seconds) => seconds.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_folder;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_those_of_the_clock_on_the_wall() {
        // The system's `date` formats the same time.
        for seconds in [0, 951_782_399, 951_782_400, 1_735_689_599, 1_750_000_000] {
            let asked = ["-d", &format!("@{seconds}"), "+%Y%m%d-%H%M%S"];
            let said = std::process::Command::new("date").args(asked).output().unwrap();
            assert_eq!(stamp(at(seconds)), String::from_utf8_lossy(&said.stdout).trim());
        }
    }

    #[test]
    fn names_in_use_are_left_alone() {
        let folder = test_folder("save");
        let folder = &folder.0;
        let taken = folder.join(format!("clreel-stats-{}.json", stamp(at(0))));
        std::fs::write(&taken, "mine").unwrap();
        let fill = |paths: &[PathBuf]| {
            paths.iter().for_each(|p| std::fs::write(p, "new").unwrap());
            Ok(())
        };
        let nowhere = folder.join("missing");
        let folders = [nowhere, folder.clone()];
        let endings = ["csv", "json"];
        let made = save_in(&folders, ("stats", &stamp(at(0))), &endings, fill).unwrap();
        let name = |ending| folder.join(format!("clreel-stats-{}-2.{ending}", stamp(at(0))));
        assert_eq!(made, [name("csv"), name("json")]);
        assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
        // If writing fails, no file is left.
        let fail = |_: &[PathBuf]| Err(Error::new("No.", "", ""));
        assert!(save_in(&folders, ("stats", &stamp(at(0))), &endings, fail).is_err());
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 3);
    }

    #[test]
    fn documents_are_where_the_user_has_them() {
        let text = "# comment\nXDG_DESKTOP_DIR=\"$HOME/Desktop\"\nXDG_DOCUMENTS_DIR=\"$HOME/Papiere\"\n";
        assert_eq!(documents(text, Path::new("/h")), Some("/h/Papiere".into()));
        assert_eq!(documents("XDG_DOCUMENTS_DIR=\"/d\"", Path::new("/h")), Some("/d".into()));
        assert_eq!(documents("", Path::new("/h")), None);
    }
}
