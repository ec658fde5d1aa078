//! The settings that are kept from one start to the next, and the settings file. Jobs read and write the file, since its file
//! system may not respond.
//!
//! Which panels are open is written only when the window is closed normally: a panel that was open when the process crashed
//! starts closed.
//!
//! The settings file is `$XDG_CONFIG_HOME/clreel/settings.json`, or `~/.config/clreel/settings.json`. The environment variable
//! `CLREEL_SETTINGS` names another file; if it is empty, no settings are saved.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::app::player::SavedMember;
use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::load::{self, Unread};
use overlay::{MAX_RECENT_FILES, MAX_STACK, SavedState};

/// The allowed range of the user's scale of the overlay, which is a factor of the scale that follows from the window's size.
pub(crate) const UI_SCALE: std::ops::RangeInclusive<f32> = 0.5..=4.0;
/// The maximum number of folders of kernels that are remembered.
pub(crate) const MAX_KERNEL_FOLDERS: usize = 20;
/// The minimum time between two writes of the settings file.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum time for which the window waits until the settings file was read (when it opens) or written (when it is closed).
const FILE_TIMEOUT: Duration = Duration::from_secs(2);

/// The user's settings that are kept from one start to the next. A field that the file lacks gets its default; unknown fields
/// in the file are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// The user's scale of the overlay, as a factor of the scale that follows from the window's size; within [`UI_SCALE`].
    pub ui_scale: f32,
    /// The folders of kernels that were edited, newest first, at most [`MAX_KERNEL_FOLDERS`].
    pub kernel_folders: Vec<String>,
    /// The filters of the last stack, in the order in which they ran.
    pub stack: Vec<SavedMember>,
    /// The paths of the movies that were opened last, newest first, at most [`MAX_RECENT_FILES`].
    pub recent_files: Vec<String>,
    /// The state of the overlay. Its fields in the file are `overlay_visible`, `hint_seen`, `hatched`, and fields of the panels
    /// such as `stages_open`, `graph_folded`. `folded` is `None` until the user folds or unfolds the panel; until then it
    /// depends on the window's size. `column_left` and `column_width` are the side and the width of the column of panels.
    #[serde(flatten, with = "fields")]
    pub overlay: SavedState,
}

/// Serialization of the overlay's state as separate fields of the settings.
mod fields {
    use std::collections::BTreeMap;

    use serde::de::{DeserializeOwned, Error};
    use serde::ser::SerializeMap as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use serde_json::Value;

    use overlay::{Panel, SavedState};

    /// Writes the saved state of the overlay as fields of the settings.
    pub(super) fn serialize<S: Serializer>(state: &SavedState, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("overlay_visible", &state.visible)?;
        map.serialize_entry("hint_seen", &state.hint_seen)?;
        map.serialize_entry("hatched", &state.hatched)?;
        map.serialize_entry("column_left", &state.column.left)?;
        map.serialize_entry("column_width", &state.column.width)?;
        for (n, panel) in Panel::ALL.into_iter().enumerate() {
            let name = panel.name();
            if overlay::is_remembered(panel) {
                map.serialize_entry(&format!("{name}_open"), &state.open[n])?;
            }
            if panel != Panel::Correction {
                map.serialize_entry(&format!("{name}_folded"), &state.folded[n])?;
            }
        }
        map.end()
    }

    /// Reads the saved state of the overlay from the fields of the settings.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SavedState, D::Error> {
        let mut map = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let mut state = SavedState::default();
        take_field(&mut map, "overlay_visible", &mut state.visible)?;
        take_field(&mut map, "hint_seen", &mut state.hint_seen)?;
        take_field(&mut map, "hatched", &mut state.hatched)?;
        take_field(&mut map, "column_left", &mut state.column.left)?;
        take_field(&mut map, "column_width", &mut state.column.width)?;
        for (n, panel) in Panel::ALL.into_iter().enumerate() {
            let name = panel.name();
            take_field(&mut map, &format!("{name}_open"), &mut state.open[n])?;
            take_field(&mut map, &format!("{name}_folded"), &mut state.folded[n])?;
        }
        Ok(state)
    }

    /// Removes the field named `name` from `map` and stores its value in `to`; does nothing if there is no such field.
    fn take_field<T: DeserializeOwned, E: Error>(
        map: &mut BTreeMap<String, Value>,
        name: &str,
        to: &mut T,
    ) -> Result<(), E> {
        if let Some(value) = map.remove(name) {
            *to = serde_json::from_value(value).map_err(|e| E::custom(format!("{name}: {e}")))?;
        }
        Ok(())
    }
}

impl Settings {
    /// Returns these settings with all panels closed, except those that are open at the first start. The file has these
    /// settings while the window is open: if a panel makes a driver crash, that must not happen again at each start.
    fn with_panels_closed(&self) -> Self {
        let mut closed = self.clone();
        for (open, at_first) in closed.overlay.open.iter_mut().zip(SavedState::default().open) {
            *open &= at_first;
        }
        closed
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ui_scale: 1.0,
            kernel_folders: Vec::new(),
            stack: Vec::new(),
            recent_files: Vec::new(),
            overlay: SavedState::default(),
        }
    }
}

/// The result of reading the settings file: the path to which settings are to be written (`None` if they cannot be saved), the
/// settings, and an error (`None` if there was none).
type ReadResult = (Option<PathBuf>, Settings, Option<Error>);

/// The settings file, and the state of reading and writing it.
pub(crate) struct Store {
    /// The path of the settings file; `None` if no settings are saved.
    path: Option<PathBuf>,
    reading: Job<ReadResult>,
    written: Settings,
    written_at: Option<Instant>,
    /// The job that is writing the settings; `None` if nothing is being written.
    writing: Option<Job<()>>,
    waker: Waker,
}

impl Store {
    /// Starts to read the settings file at this path; if there is no path, the settings are the defaults.
    pub(crate) fn start(path: Option<PathBuf>, waker: &Waker) -> Self {
        let of = path.clone();
        let read = move |_: &_| Ok(read_or_default(of));
        let reading = Job::spawn("settings", "The settings cannot be read.", waker, read);
        let (written, waker) = (Settings::default(), waker.clone());
        Self { path, reading, written, written_at: None, writing: None, waker }
    }

    /// Waits for the settings for at most [`FILE_TIMEOUT`]. Returns the settings, and an error (`None` if there was none). An
    /// invalid file is renamed to `.bad`, and the settings are then the defaults.
    pub(crate) fn read(&mut self) -> (Settings, Option<Error>) {
        let silent = |path: &PathBuf| unsaved_settings_error(path, "It was not read in time.");
        let (path, settings, error) = match self.reading.wait(FILE_TIMEOUT) {
            Some(Ok(found)) => found,
            None => (None, Settings::default(), self.path.as_ref().map(silent)),
            Some(Err(error)) => (None, Settings::default(), Some(error)),
        };
        // There is a path only if the file was read.
        (self.path, self.written) = (path, settings.with_panels_closed());
        (settings, error)
    }

    /// Starts to write `settings`, with the panels closed, if they have changed since the last write. If that was less than
    /// [`WRITE_INTERVAL`] ago, writes nothing and returns the time until the next write is allowed; otherwise returns `None`.
    ///
    /// # Errors
    /// If the settings could not be written; then they are not written again.
    pub(crate) fn keep(&mut self, settings: &Settings) -> Result<Option<Duration>> {
        self.poll(Duration::ZERO)?;
        let settings = &settings.with_panels_closed();
        // The end of the running write wakes the event loop.
        if self.path.is_none() || *settings == self.written || self.writing.is_some() {
            return Ok(None);
        }
        let wait = self.written_at.and_then(|at| WRITE_INTERVAL.checked_sub(at.elapsed()));
        if let Some(wait) = wait.filter(|w| !w.is_zero()) {
            return Ok(Some(wait));
        }
        self.write(settings);
        Ok(None)
    }

    /// Writes `settings`, including which panels are open, if they have changed, and waits until they are written. To be called
    /// when the window is closed normally.
    ///
    /// # Errors
    /// As for [`Store::keep`]; also if writing takes too long.
    pub(crate) fn keep_now(&mut self, settings: &Settings) -> Result<()> {
        self.poll(FILE_TIMEOUT)?;
        if *settings != self.written {
            self.write(settings);
            self.poll(FILE_TIMEOUT)?;
        }
        match (&self.writing, &self.path) {
            (Some(_), Some(path)) => Err(Error::new(
                format!("The settings in '{}' may not have been kept.", path.display()),
                "They were not written in time.",
                "",
            )),
            _ => Ok(()),
        }
    }

    fn write(&mut self, settings: &Settings) {
        let Some(path) = self.path.clone().filter(|_| self.writing.is_none()) else { return };
        (self.written, self.written_at) = (settings.clone(), Some(Instant::now()));
        let settings = settings.clone();
        let work = move |_: &_| write(&path, &settings);
        self.writing = Some(Job::spawn("settings", "The settings could not be kept.", &self.waker, work));
    }

    /// Waits for at most `time` for the result of the job that writes the settings.
    fn poll(&mut self, time: Duration) -> Result<()> {
        let written = Job::take_result(&mut self.writing, time).unwrap_or(Ok(()));
        written.inspect_err(|_| self.path = None)
    }
}

/// Reads the settings file at `path`; returns the defaults if there is no path. Renames an invalid file, and returns the
/// defaults then; if it cannot be renamed, settings are not saved.
fn read_or_default(path: Option<PathBuf>) -> ReadResult {
    let Some(path) = path else { return (None, Settings::default(), None) };
    match read(&path) {
        Ok(settings) => {
            let closed = settings.with_panels_closed();
            // Written before any driver is called. If that fails, the write at the end reports the error.
            if closed != settings {
                let _ = write(&path, &closed);
            }
            (Some(path), settings, None)
        }
        Err(reason) => {
            let error = unsaved_settings_error(&path, &reason.to_string());
            let name = |n: u32| {
                let mut name = path.as_os_str().to_owned();
                name.push(if n == 0 { ".bad".to_owned() } else { format!(".bad{n}") });
                PathBuf::from(name)
            };
            let is_file = !matches!(reason, Unread::WrongKind(_));
            let aside = (0..100).map(name).find(|p| is_file && std::fs::symlink_metadata(p).is_err());
            match aside.filter(|aside| std::fs::rename(&path, aside).is_ok()) {
                Some(aside) => {
                    let aside = aside.display();
                    let hint = format!("Settings begin anew; the old file is kept as '{aside}'.");
                    (Some(path), Settings::default(), Some(Error { hint, ..error }))
                }
                None => (None, Settings::default(), Some(error)),
            }
        }
    }
}

/// Returns the path of the settings file, which depends on the values of `CLREEL_SETTINGS`, `XDG_CONFIG_HOME` and `HOME`;
/// `None` if no settings are saved.
fn path(named: Option<OsString>, config: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    if let Some(named) = named {
        return (!named.is_empty()).then(|| named.into());
    }
    // The XDG base directory specification requires that a relative path is ignored.
    let config = config.map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || home.filter(|h| !h.is_empty()).map(|h| PathBuf::from(h).join(".config"));
    Some(config.or_else(home)?.join("clreel/settings.json"))
}

/// Returns the path of the user's settings file; `None` if no settings are saved.
pub(crate) fn file() -> Option<PathBuf> {
    use base::environment::get;
    path(get("CLREEL_SETTINGS"), get("XDG_CONFIG_HOME"), get("HOME"))
}

/// Returns the folder of the settings file, in which other files of the user are kept, too; `None` if no settings are saved.
pub(crate) fn folder() -> Option<PathBuf> {
    Some(std::path::absolute(file()?).ok()?.parent()?.to_owned())
}

/// Returns the folders of kernels that were edited, newest first; none if the settings cannot be read.
pub(crate) fn kernel_folders() -> Vec<String> {
    file().and_then(|file| read(&file).ok()).unwrap_or_default().kernel_folders
}

/// Reads the settings file and checks its contents.
fn read(path: &Path) -> Result<Settings, Unread> {
    let bytes = match load::bytes(path, load::MAX_LIST_BYTES) {
        Err(Unread::Missing) => return Ok(Settings::default()),
        bytes => bytes?,
    };
    parse(&bytes)
}

/// Parses the contents of the settings file and checks them.
pub(crate) fn parse(contents: &[u8]) -> Result<Settings, Unread> {
    let mut settings: Settings = load::json(contents)?;
    let scale = settings.ui_scale;
    settings.ui_scale = if scale.is_finite() { scale.clamp(*UI_SCALE.start(), *UI_SCALE.end()) } else { 1.0 };
    settings.kernel_folders.truncate(MAX_KERNEL_FOLDERS);
    settings.stack.truncate(MAX_STACK);
    settings.recent_files.truncate(MAX_RECENT_FILES);
    Ok(settings)
}

/// Returns the error for when the settings file cannot be used, so that changes of the settings are not saved.
fn unsaved_settings_error(path: &Path, reason: &str) -> Error {
    let what = format!("The settings in '{}' cannot be read.", path.display());
    Error::new(what, reason, "Settings are not remembered; remove or correct the file.")
}

/// Writes `settings` to the file at `path`, and creates the file's folder if necessary.
fn write(path: &Path, settings: &Settings) -> Result<()> {
    // A symbolic link is followed, so that it is not replaced by a file.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if let Some(folder) = path.parent() {
        // An error of the folder shows when the file is written.
        let _ = std::fs::create_dir_all(folder);
    }
    base::save::atomically(&path, |file| {
        serde_json::to_writer_pretty(&mut *file, settings)?;
        writeln!(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_folder;
    use overlay::{ColumnState, Panel};

    /// Reads the settings file at `path` as the next start of clreel would.
    fn open(path: &Path) -> (Store, Settings, Option<Error>) {
        let waker: Waker = std::sync::Arc::new(|| {});
        let mut store = Store::start(Some(path.to_owned()), &waker);
        let (settings, error) = store.read();
        (store, settings, error)
    }

    fn opened(settings: &Settings) -> Vec<Panel> {
        let is_open = |panel: &Panel| settings.overlay.open[*panel as usize];
        Panel::ALL.into_iter().filter(is_open).collect()
    }

    fn with_hint_seen(settings: &Settings) -> Settings {
        let mut seen = settings.clone();
        seen.overlay.hint_seen = true;
        seen
    }

    #[test]
    fn settings_come_back_as_they_were_written() {
        let folder = test_folder("settings-back");
        let file = folder.0.join("new/settings.json");
        let (mut store, settings, error) = open(&file);
        assert_eq!((settings, error), (Settings::default(), None));
        let folders = vec!["/home/user/kernels".to_owned()];
        let recent_files = vec!["/home/user/clip.mp4".to_owned()];
        let mut changed =
            Settings { ui_scale: 1.5, kernel_folders: folders, recent_files, ..Settings::default() };
        changed.overlay.visible = false;
        for (n, panel) in Panel::ALL.into_iter().enumerate() {
            changed.overlay.open[n] = matches!(panel, Panel::Stages | Panel::Devices);
            changed.overlay.folded[n] = (panel != Panel::Correction).then_some(n % 2 == 0);
        }
        changed.overlay.column = ColumnState { left: true, width: Some(612.5) };
        assert_eq!(store.keep(&changed).unwrap(), None);
        store.poll(Duration::from_secs(60)).unwrap();
        assert_eq!(read(&file).unwrap(), changed.with_panels_closed());
        // So soon after a write, the next change has to wait, but not at the end.
        let again = with_hint_seen(&changed);
        assert!(store.keep(&again).unwrap().is_some());
        store.keep_now(&again).unwrap();
        let (_, found, error) = open(&file);
        assert_eq!((found, error), (again, None));
    }

    #[test]
    fn panels_that_were_open_when_the_process_died_start_closed() {
        let folder = test_folder("settings-died");
        let file = folder.0.join("settings.json");
        let (mut store, mut settings, _) = open(&file);
        settings.overlay.open[Panel::Scopes as usize] = true;
        settings.overlay.folded[Panel::Scopes as usize] = Some(true);
        store.keep_now(&settings).unwrap();
        // The next start opens the panel and crashes; a start that opened it again would crash as well.
        let (mut store, mut found, _) = open(&file);
        assert_eq!(found, settings);
        let (_, after, _) = open(&file);
        assert_eq!(opened(&after), [Panel::Scene]);
        assert_eq!(after.overlay.folded, settings.overlay.folded, "but stay folded");
        found.overlay.hint_seen = true;
        store.keep(&found).unwrap();
        store.poll(Duration::from_secs(60)).unwrap();
        let (mut store, mut after, _) = open(&file);
        assert_eq!((opened(&after), after.overlay.hint_seen), (vec![Panel::Scene], true));
        // A closed panel stays closed.
        after.overlay.open[Panel::Scene as usize] = false;
        store.keep(&after).unwrap();
        store.poll(Duration::from_secs(60)).unwrap();
        assert_eq!(opened(&open(&file).1), []);
    }

    #[test]
    fn panels_have_the_names_that_they_always_had() {
        // An earlier program also wrote the places of panels.
        let text = br#"{"stages_open": true, "graph_folded": false, "numbers_at": [1.5, 2.0], "correction_at": null}"#;
        let settings = parse(text).unwrap();
        // Settings that the file does not name are those of the first start.
        assert_eq!(opened(&settings), [Panel::Stages, Panel::Scene]);
        assert_eq!(settings.overlay.folded[Panel::Graph as usize], Some(false));
        assert!(parse(br#"{"graph_folded": "there"}"#).is_err());
        // Missing and strange fields do no harm.
        let settings = parse(br#"{"ui_scale": 1e30, "of_a_later_version": [1]}"#).unwrap();
        assert_eq!(settings, Settings { ui_scale: 4.0, ..Settings::default() });
    }

    #[test]
    fn a_damaged_file_is_kept_aside() {
        let folder = test_folder("settings-bad");
        let file = folder.0.join("settings.json");
        for (n, aside) in ["settings.json.bad", "settings.json.bad1"].into_iter().enumerate() {
            let text = format!("{{ damaged {n}");
            std::fs::write(&file, &text).unwrap();
            let (mut store, settings, error) = open(&file);
            assert_eq!(settings, Settings::default());
            assert!(error.unwrap().hint.contains(aside));
            assert_eq!(std::fs::read_to_string(folder.0.join(aside)).unwrap(), text);
            store.keep_now(&with_hint_seen(&settings)).unwrap();
            assert!(open(&file).1.overlay.hint_seen);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_once() {
        let folder = test_folder("settings-told");
        let (mut store, settings, _) = open(&folder.0.join("settings.json"));
        std::fs::remove_dir_all(&folder.0).unwrap();
        // A folder cannot be created where a file is.
        std::fs::write(&folder.0, "").unwrap();
        assert!(store.keep_now(&with_hint_seen(&settings)).is_err());
        let mut hatched = settings;
        hatched.overlay.hatched = true;
        assert_eq!(store.keep_now(&hatched), Ok(()));
        std::fs::remove_file(&folder.0).unwrap();
    }

    #[test]
    fn the_variables_say_where() {
        let s = |text: &str| Some(OsString::from(text));
        assert_eq!(path(s("a.json"), s("/c"), s("/h")), Some("a.json".into()));
        assert_eq!(path(s(""), s("/c"), s("/h")), None);
        assert_eq!(path(None, s("/c"), s("/h")), Some("/c/clreel/settings.json".into()));
        assert_eq!(path(None, s("c"), s("/h")), Some("/h/.config/clreel/settings.json".into()));
        assert_eq!(path(None, None, None), None);
    }
}
