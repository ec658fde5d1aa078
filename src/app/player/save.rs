//! What the user saves while the movie plays: the statistics, the frame, the window. Files are named by the
//! time here and never take the place of others. They are written on threads of their own.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::load;
use video::Orientation;
use video::color::straighten;

/// Files on their way to the disk.
#[derive(Default)]
pub(crate) struct Saves {
    running: Vec<Job<Vec<PathBuf>>>,
    /// The picture, the window: wanted with the next drawing.
    frame: bool,
    window: bool,
    /// Width, height and RGBA8 pixels of the window as it was last.
    screenshot: Option<(u32, u32, Vec<u8>)>,
}

impl Saves {
    /// Wants the picture of the next drawing.
    pub(crate) fn want_frame(&mut self) {
        self.frame = true;
    }

    /// Wants the window of the next drawing.
    pub(crate) fn want_window(&mut self) {
        self.window = true;
    }

    /// Whether there must be another drawing for what is wanted.
    pub(crate) fn want_drawing(&self) -> bool {
        self.frame || self.window
    }

    /// Whether the picture is wanted, of this drawing.
    pub(crate) fn takes_frame(&mut self) -> bool {
        std::mem::take(&mut self.frame)
    }

    /// Whether the window is wanted, of this drawing.
    pub(crate) fn takes_window(&mut self) -> bool {
        std::mem::take(&mut self.window)
    }

    /// Keeps the window's pixels for the end.
    pub(crate) fn keep_screenshot(&mut self, (width, height): (u32, u32), rgba: Vec<u8>) {
        self.screenshot = Some((width, height, rgba));
    }

    /// What was kept.
    pub(crate) fn screenshot(&self) -> Option<&(u32, u32, Vec<u8>)> {
        self.screenshot.as_ref()
    }

    /// Hands it over.
    pub(crate) fn take_screenshot(&mut self) -> Option<(u32, u32, Vec<u8>)> {
        self.screenshot.take()
    }

    /// Begins to save RGBA8 pixels, premultiplied, top row first, as `clreel-KIND-TIME.png`, turned by `orientation`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn picture(
        &mut self,
        kind: &'static str,
        size: (u32, u32),
        rgba: Vec<u8>,
        orientation: Orientation,
        waker: &Waker,
    ) -> Result<()> {
        let write = move |paths: &[PathBuf]| {
            let (size, mut rgba) = orientation.turn(size, rgba)?;
            straighten(&mut rgba);
            paths.iter().try_for_each(|path| base::save::png(path, size.0, size.1, &rgba))
        };
        self.begin(kind, &["png"], write, waker)
    }

    /// Begins to let `write` write the files `clreel-KIND-TIME.ENDING` in the first folder that takes them: the
    /// current one, or that for documents. All carry the same name, which none of them had before.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn begin(
        &mut self,
        kind: &'static str,
        endings: &'static [&'static str],
        write: impl FnOnce(&[PathBuf]) -> Result<()> + Send + 'static,
        waker: &Waker,
    ) -> Result<()> {
        let save = move |_: &_| save_in(&folders(), kind, SystemTime::now(), endings, write);
        self.running.push(Job::spawn("save", "A file could not be saved.", waker, save)?);
        Ok(())
    }

    /// What has been saved since the last call; with `wait` also what is still on its way.
    pub(crate) fn finished(&mut self, wait: bool) -> Vec<Result<Vec<PathBuf>>> {
        let time = if wait { Duration::MAX } else { Duration::ZERO };
        let mut saved = Vec::new();
        self.running.retain(|job| match job.wait(time) {
            Some(done) => {
                saved.push(done);
                false
            }
            None => true,
        });
        saved
    }
}

fn save_in(
    folders: &[PathBuf],
    kind: &str,
    now: SystemTime,
    endings: &[&str],
    write: impl FnOnce(&[PathBuf]) -> Result<()>,
) -> Result<Vec<PathBuf>> {
    let mut reason = "There is no folder for it.".to_owned();
    for folder in folders {
        match reserve(folder, &format!("clreel-{kind}-{}", stamp(now)), endings) {
            Ok(paths) => {
                let written = write(&paths);
                if written.is_err() {
                    remove(&paths);
                }
                return written.map(|()| paths);
            }
            Err(e) => reason = format!("The system says of '{}': {e}.", base::text::name(folder)),
        }
    }
    Err(Error::new(
        format!("The {kind} could not be saved."),
        reason,
        "Start clreel in a folder that you may write to.",
    ))
}

/// Makes empty files of a name that is free for all endings.
fn reserve(folder: &Path, stem: &str, endings: &[&str]) -> std::io::Result<Vec<PathBuf>> {
    'name: for n in 1..1000 {
        let stem = if n == 1 { stem.to_owned() } else { format!("{stem}-{n}") };
        let mut made = Vec::new();
        for ending in endings {
            let path = folder.join(format!("{stem}.{ending}"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => made.push(path),
                Err(e) => {
                    remove(&made);
                    if e.kind() == ErrorKind::AlreadyExists {
                        continue 'name;
                    }
                    return Err(e);
                }
            }
        }
        return Ok(made);
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Removes files that were made a moment ago and are still empty.
fn remove(paths: &[PathBuf]) {
    for path in paths {
        let _ = std::fs::remove_file(path);
    }
}

/// The current folder, then the user's for documents, then the home folder.
pub(super) fn folders() -> Vec<PathBuf> {
    let home = base::environment::get("HOME").map(PathBuf::from).filter(|h| h.is_absolute());
    let config = base::environment::get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|c| c.is_absolute());
    let config = config.or_else(|| home.as_ref().map(|h| h.join(".config")));
    let listed = config.and_then(|c| load::text(&c.join("user-dirs.dirs"), load::LIST).ok());
    let documents = match (&home, listed) {
        (Some(home), Some(text)) => documents(&text, home),
        _ => None,
    };
    let documents = documents.or_else(|| home.as_ref().map(|h| h.join("Documents")));
    [std::env::current_dir().ok(), documents, home].into_iter().flatten().collect()
}

/// The folder for documents from the text of `user-dirs.dirs`: `XDG_DOCUMENTS_DIR="$HOME/Documents"`.
fn documents(text: &str, home: &Path) -> Option<PathBuf> {
    let value = text.lines().find_map(|l| l.trim().strip_prefix("XDG_DOCUMENTS_DIR="))?.trim_matches('"');
    match value.strip_prefix("$HOME") {
        Some(rest) => Some(home.join(rest.trim_start_matches('/'))),
        None => Some(PathBuf::from(value)).filter(|p| p.is_absolute()),
    }
}

/// The time here as `YYYYmmdd-HHMMSS`; the seconds since 1970 where the system cannot say what time it is.
fn stamp(now: SystemTime) -> String {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let since = libc::time_t::try_from(seconds).unwrap_or(0);
    // SAFETY: `parts` is a plain struct of numbers (and a pointer that is not used), which the call fills; it reads the
    // environment, which this program changes at its start alone, before there are other threads.
    let parts = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        (!libc::localtime_r(&since, &mut parts).is_null()).then_some(parts)
    };
    let Some(p) = parts else { return seconds.to_string() };
    let (year, month) = (p.tm_year + 1900, p.tm_mon + 1);
    format!("{year:04}{month:02}{:02}-{:02}{:02}{:02}", p.tm_mday, p.tm_hour, p.tm_min, p.tm_sec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_those_of_the_clock_on_the_wall() {
        // The system's own program says what time that was here.
        for seconds in [0, 951_782_399, 951_782_400, 1_735_689_599, 1_750_000_000] {
            let asked = ["-d", &format!("@{seconds}"), "+%Y%m%d-%H%M%S"];
            let said = std::process::Command::new("date").args(asked).output().unwrap();
            assert_eq!(stamp(at(seconds)), String::from_utf8_lossy(&said.stdout).trim());
        }
    }

    #[test]
    fn names_in_use_are_left_alone() {
        let folder = std::env::temp_dir().join(format!("clreel-save-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let taken = folder.join(format!("clreel-stats-{}.json", stamp(at(0))));
        std::fs::write(&taken, "mine").unwrap();
        let fill = |paths: &[PathBuf]| {
            paths.iter().for_each(|p| std::fs::write(p, "new").unwrap());
            Ok(())
        };
        let nowhere = folder.join("missing");
        let folders = [nowhere, folder.clone()];
        let made = save_in(&folders, "stats", at(0), &["csv", "json"], fill).unwrap();
        let name = |ending| folder.join(format!("clreel-stats-{}-2.{ending}", stamp(at(0))));
        assert_eq!(made, [name("csv"), name("json")]);
        assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
        // A failure leaves nothing behind.
        let fail = |_: &[PathBuf]| Err(Error::new("No.", "", ""));
        assert!(save_in(&folders, "stats", at(0), &["csv", "json"], fail).is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn documents_are_where_the_user_has_them() {
        let text = "# comment\nXDG_DESKTOP_DIR=\"$HOME/Desktop\"\nXDG_DOCUMENTS_DIR=\"$HOME/Papiere\"\n";
        assert_eq!(documents(text, Path::new("/h")), Some("/h/Papiere".into()));
        assert_eq!(documents("XDG_DOCUMENTS_DIR=\"/d\"", Path::new("/h")), Some("/d".into()));
        assert_eq!(documents("", Path::new("/h")), None);
    }
}
