//! What the user saves while the movie plays: the statistics, the frame, the window. Files are named by the
//! time (UTC) and never take the place of others. Pictures are compressed on a thread of their own.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::gpu::event::Waker;

/// Pictures on their way to the disk.
#[derive(Default)]
pub struct Saves {
    running: Vec<JoinHandle<Result<PathBuf>>>,
}

impl Saves {
    /// Begins to save RGBA8 pixels, top row first, as `clreel-KIND-TIME.png`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn picture(
        &mut self,
        kind: &'static str,
        size: (u32, u32),
        rgba: Vec<u8>,
        waker: Waker,
    ) -> Result<()> {
        let work = move || {
            let saved = save(kind, &["png"], |paths| crate::save::png(&paths[0], size.0, size.1, &rgba));
            waker();
            saved.map(|mut paths| paths.remove(0))
        };
        let thread = std::thread::Builder::new().name("save".into()).spawn(work).map_err(|e| {
            Error::new("The picture could not be saved.", format!("The system says: {e}."), "Try it again.")
        })?;
        self.running.push(thread);
        Ok(())
    }

    /// What has been saved since the last call; with `wait` also what is still on its way.
    pub fn finished(&mut self, wait: bool) -> Vec<Result<PathBuf>> {
        let (done, running) =
            std::mem::take(&mut self.running).into_iter().partition(|t| wait || t.is_finished());
        self.running = running;
        let join = |thread: JoinHandle<_>| {
            thread.join().unwrap_or_else(|_| Err(Error::new("The picture could not be saved.", "", "")))
        };
        Vec::into_iter(done).map(join).collect()
    }
}

/// Lets `write` write the files `clreel-KIND-TIME.ENDING` in the first folder that takes them: the current
/// one, or that for documents. All carry the same name, which none of them had before.
///
/// # Errors
/// Those of `write`, or that there is no folder to write to.
pub fn save(
    kind: &str,
    endings: &[&str],
    mut write: impl FnMut(&[PathBuf]) -> Result<()>,
) -> Result<Vec<PathBuf>> {
    save_in(&folders(), kind, SystemTime::now(), endings, &mut write)
}

fn save_in(
    folders: &[PathBuf],
    kind: &str,
    now: SystemTime,
    endings: &[&str],
    write: &mut dyn FnMut(&[PathBuf]) -> Result<()>,
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
            Err(e) => reason = format!("The system says of '{}': {e}.", folder.display()),
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
fn folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|h| h.is_absolute());
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|c| c.is_absolute());
    let config = config.or_else(|| home.as_ref().map(|h| h.join(".config")));
    let listed = config.and_then(|c| std::fs::read_to_string(c.join("user-dirs.dirs")).ok());
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

/// The time as `YYYYmmdd-HHMMSS`, UTC. The date is Howard Hinnant's `civil_from_days`
/// ("chrono-Compatible Low-Level Date Algorithms"): years that begin in March, in cycles of 400.
fn stamp(now: SystemTime) -> String {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{date:02}-{h:02}{m:02}{s:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        assert_eq!(stamp(at(0)), "19700101-000000");
        assert_eq!(stamp(at(951_782_399)), "20000228-235959");
        assert_eq!(stamp(at(951_782_400)), "20000229-000000");
        assert_eq!(stamp(at(1_735_689_599)), "20241231-235959");
        assert_eq!(stamp(at(4_107_542_400)), "21000301-000000");
    }

    #[test]
    fn names_in_use_are_left_alone() {
        let folder = std::env::temp_dir().join(format!("clreel-save-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let taken = folder.join("clreel-stats-19700101-000000.json");
        std::fs::write(&taken, "mine").unwrap();
        let mut fill = |paths: &[PathBuf]| {
            paths.iter().for_each(|p| std::fs::write(p, "new").unwrap());
            Ok(())
        };
        let nowhere = folder.join("missing");
        let folders = [nowhere, folder.clone()];
        let made = save_in(&folders, "stats", at(0), &["csv", "json"], &mut fill).unwrap();
        let name = |ending| folder.join(format!("clreel-stats-19700101-000000-2.{ending}"));
        assert_eq!(made, [name("csv"), name("json")]);
        assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
        // A failure leaves nothing behind.
        let mut fail = |_: &[PathBuf]| Err(Error::new("No.", "", ""));
        assert!(save_in(&folders, "stats", at(0), &["csv", "json"], &mut fail).is_err());
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
