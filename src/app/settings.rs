//! What is remembered from one start to the next. In: the settings file. Out: [`Settings`], and the file again
//! when they have changed.
//!
//! The file is `$XDG_CONFIG_HOME/clreel/settings.json`, or `~/.config/clreel/settings.json`. The environment
//! variable `CLREEL_SETTINGS` names another one; when it is empty, nothing is remembered.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::load::{self, Unread};
use crate::overlay::{Folds, Overlay, Places};

/// The environment variable that names another settings file.
pub(crate) const SETTINGS_VARIABLE: &str = "CLREEL_SETTINGS";
/// How small and how large the overlay can be made, relative to what the window's size asks for.
pub(crate) const UI_SCALE: std::ops::RangeInclusive<f32> = 0.5..=4.0;
/// The file is not written more often than this.
const INTERVAL: Duration = Duration::from_secs(1);

/// What is remembered. What a file does not have keeps its default; what it has beyond that is ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// Whether the overlay is shown.
    pub overlay_visible: bool,
    /// The first-run hint has been shown.
    pub hint_seen: bool,
    /// Size of the overlay relative to what the window's size asks for, in [`UI_SCALE`].
    pub ui_scale: f32,
    /// Whether the table of stages is open.
    pub stages_open: bool,
    /// The same of the last frames' time axis.
    pub timeline_open: bool,
    /// The same of the search for the best parameters.
    pub tuning_open: bool,
    /// The same of the devices.
    pub devices_open: bool,
    /// The stages have patterns beside their greys.
    pub hatched: bool,
    /// The headline is folded to a line; `None` until the user chose: then by the window's size.
    pub numbers_folded: Option<bool>,
    /// The same of the graph.
    pub graph_folded: Option<bool>,
    /// The devices are folded to their title.
    pub devices_folded: Option<bool>,
    /// The same of the search for the best parameters.
    pub tuning_folded: Option<bool>,
    /// The same of the last frames' time axis.
    pub timeline_folded: Option<bool>,
    /// The same of the rungs.
    pub ladder_folded: Option<bool>,
    /// The same of the table of stages.
    pub stages_folded: Option<bool>,
    /// Where the headline was moved to: their upper left corner in points from the window's; `None`: not moved.
    pub numbers_at: Option<[f32; 2]>,
    /// The same of the graph.
    pub graph_at: Option<[f32; 2]>,
    /// The same of the colour correction.
    pub correction_at: Option<[f32; 2]>,
    /// The same of the devices.
    pub devices_at: Option<[f32; 2]>,
    /// The same of the search for the best parameters.
    pub tuning_at: Option<[f32; 2]>,
    /// The same of the last frames' time axis.
    pub timeline_at: Option<[f32; 2]>,
    /// The same of the rungs.
    pub ladder_at: Option<[f32; 2]>,
    /// The same of the table of stages.
    pub stages_at: Option<[f32; 2]>,
}

impl Settings {
    /// What is to be remembered of the overlay, whose size is `ui_scale`.
    pub(crate) fn of(overlay: &Overlay, ui_scale: f32) -> Self {
        let mut settings = Self {
            overlay_visible: overlay.visible,
            hint_seen: overlay.hint_seen,
            ui_scale,
            stages_open: overlay.stages_open,
            timeline_open: overlay.timeline_open,
            tuning_open: overlay.tuning_open,
            devices_open: overlay.devices_open,
            hatched: overlay.hatched,
            ..Self::default()
        };
        settings.set_panels(overlay.folded, overlay.places);
        settings
    }

    /// An overlay as it is remembered.
    pub(crate) fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::new();
        overlay.visible = self.overlay_visible;
        overlay.hint_seen = self.hint_seen;
        overlay.folded = self.folded();
        overlay.places = self.places();
        overlay.stages_open = self.stages_open;
        overlay.timeline_open = self.timeline_open;
        overlay.tuning_open = self.tuning_open;
        overlay.devices_open = self.devices_open;
        overlay.hatched = self.hatched;
        overlay
    }

    /// The places as the overlay has them.
    fn places(&self) -> Places {
        [
            self.numbers_at,
            self.graph_at,
            self.correction_at,
            self.devices_at,
            self.tuning_at,
            self.timeline_at,
            self.ladder_at,
            self.stages_at,
        ]
    }

    /// What is folded, as the overlay has it.
    fn folded(&self) -> Folds {
        [
            self.numbers_folded,
            self.graph_folded,
            None,
            self.devices_folded,
            self.tuning_folded,
            self.timeline_folded,
            self.ladder_folded,
            self.stages_folded,
        ]
    }

    /// Remembers what is folded and where the panels are.
    fn set_panels(&mut self, folded: Folds, places: Places) {
        [
            self.numbers_folded,
            self.graph_folded,
            _,
            self.devices_folded,
            self.tuning_folded,
            self.timeline_folded,
            self.ladder_folded,
            self.stages_folded,
        ] = folded;
        [
            self.numbers_at,
            self.graph_at,
            self.correction_at,
            self.devices_at,
            self.tuning_at,
            self.timeline_at,
            self.ladder_at,
            self.stages_at,
        ] = places;
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            overlay_visible: true,
            hint_seen: false,
            ui_scale: 1.0,
            stages_open: false,
            timeline_open: false,
            tuning_open: false,
            devices_open: false,
            hatched: false,
            numbers_folded: None,
            graph_folded: None,
            devices_folded: None,
            tuning_folded: None,
            timeline_folded: None,
            ladder_folded: None,
            stages_folded: None,
            numbers_at: None,
            graph_at: None,
            correction_at: None,
            devices_at: None,
            tuning_at: None,
            timeline_at: None,
            ladder_at: None,
            stages_at: None,
        }
    }
}

/// The settings file.
#[derive(Debug)]
pub(crate) struct Store {
    /// `None` when nothing is to be written.
    path: Option<PathBuf>,
    written: Settings,
    written_at: Option<Instant>,
}

impl Store {
    /// Reads the user's file. A file that cannot be used is kept aside as `.bad`; the error says so, and the
    /// settings are the defaults.
    pub(crate) fn open() -> (Self, Settings, Option<Error>) {
        use crate::environment::get;
        Self::at(path(get(SETTINGS_VARIABLE), get("XDG_CONFIG_HOME"), get("HOME")))
    }

    fn at(path: Option<PathBuf>) -> (Self, Settings, Option<Error>) {
        let (settings, path, error) = match path {
            None => (Settings::default(), None, None),
            Some(path) => match read(&path) {
                Ok(settings) => (settings, Some(path), None),
                Err(Unread::Odd(reason)) => {
                    let error = not_remembered(&path, &reason);
                    (Settings::default(), None, Some(error))
                }
                Err(reason) => {
                    let (path, error) = set_aside(path, &reason.to_string());
                    (Settings::default(), path, Some(error))
                }
            },
        };
        (Self { path, written: settings.clone(), written_at: None }, settings, error)
    }

    /// Writes `settings` if they have changed, unless the file was written less than a second ago: then
    /// returns how long to wait.
    ///
    /// # Errors
    /// When the file cannot be written; it is not tried again.
    pub(crate) fn keep(&mut self, settings: &Settings) -> Result<Option<Duration>> {
        if self.path.is_none() || *settings == self.written {
            return Ok(None);
        }
        let wait = self.written_at.and_then(|at| INTERVAL.checked_sub(at.elapsed()));
        if let Some(wait) = wait.filter(|w| !w.is_zero()) {
            return Ok(Some(wait));
        }
        self.keep_now(settings).map(|()| None)
    }

    /// Writes `settings` if they have changed, at once.
    ///
    /// # Errors
    /// As [`Store::keep`].
    pub(crate) fn keep_now(&mut self, settings: &Settings) -> Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| *settings != self.written) else { return Ok(()) };
        let written = write(path, settings);
        if written.is_err() {
            self.path = None;
        }
        self.written = settings.clone();
        self.written_at = Some(Instant::now());
        written
    }
}

/// Where the settings are, from the three environment variables.
fn path(named: Option<OsString>, config: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    if let Some(named) = named {
        return (!named.is_empty()).then(|| named.into());
    }
    // The XDG base directory specification: a relative path there is to be ignored.
    let config = config.map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || home.filter(|h| !h.is_empty()).map(|h| PathBuf::from(h).join(".config"));
    Some(config.or_else(home)?.join("clreel/settings.json"))
}

fn read(path: &Path) -> std::result::Result<Settings, Unread> {
    let bytes = match load::bytes(path, load::LIST) {
        Err(Unread::Missing) => return Ok(Settings::default()),
        bytes => bytes?,
    };
    let mut settings: Settings = serde_json::from_slice(&bytes).map_err(Unread::damaged)?;
    let scale = settings.ui_scale;
    settings.ui_scale = if scale.is_finite() { scale.clamp(*UI_SCALE.start(), *UI_SCALE.end()) } else { 1.0 };
    Ok(settings)
}

/// Renames a file that cannot be used. When even that fails, the file is left alone and nothing is written.
fn set_aside(path: PathBuf, reason: &str) -> (Option<PathBuf>, Error) {
    let name = |n: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if n == 0 { ".bad".to_owned() } else { format!(".bad{n}") });
        PathBuf::from(name)
    };
    let aside = (0..100).map(name).find(|p| std::fs::symlink_metadata(p).is_err());
    match aside.filter(|aside| std::fs::rename(&path, aside).is_ok()) {
        Some(aside) => {
            let hint = format!("Settings begin anew; the old file is kept as '{}'.", aside.display());
            let error = Error::new(unreadable(&path), reason, hint);
            (Some(path), error)
        }
        None => (None, not_remembered(&path, reason)),
    }
}

/// For what is left alone.
fn not_remembered(path: &Path, reason: &str) -> Error {
    Error::new(unreadable(path), reason, "Settings are not remembered; remove or correct the file.")
}

fn unreadable(path: &Path) -> String {
    format!("The settings in '{}' cannot be read.", path.display())
}

fn write(path: &Path, settings: &Settings) -> Result<()> {
    // A link is followed, so that it stays one.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if let Some(folder) = path.parent() {
        // What is wrong with the folder shows when the file is written.
        let _ = std::fs::create_dir_all(folder);
    }
    crate::save::atomically(&path, |file| {
        serde_json::to_writer_pretty(&mut *file, settings)?;
        writeln!(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("clreel-settings-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn settings_come_back_as_they_were_written() {
        let folder = folder("back");
        let file = folder.join("new/settings.json");
        let (mut store, settings, error) = Store::at(Some(file.clone()));
        assert_eq!((settings, error), (Settings::default(), None));
        let changed = Settings {
            overlay_visible: false,
            ui_scale: 1.5,
            graph_folded: Some(true),
            graph_at: Some([12.5, 300.25]),
            tuning_at: Some([1.0, 2.0]),
            timeline_at: Some([3.0, 4.0]),
            devices_folded: Some(true),
            ..Settings::default()
        };
        assert_eq!(store.keep(&changed).unwrap(), None);
        let (_, read, error) = Store::at(Some(file.clone()));
        assert_eq!((read, error), (changed.clone(), None));
        // So soon after, the next change has to wait, but not at the end.
        let again = Settings { hint_seen: true, ..changed };
        assert!(store.keep(&again).unwrap().is_some());
        store.keep_now(&again).unwrap();
        assert_eq!(Store::at(Some(file)).1, again);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_file_is_kept_aside() {
        let folder = folder("bad");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("settings.json");
        for (n, aside) in ["settings.json.bad", "settings.json.bad1"].into_iter().enumerate() {
            let text = format!("{{ damaged {n}");
            std::fs::write(&file, &text).unwrap();
            let (mut store, settings, error) = Store::at(Some(file.clone()));
            assert_eq!(settings, Settings::default());
            assert!(error.unwrap().hint.contains(aside));
            assert_eq!(std::fs::read_to_string(folder.join(aside)).unwrap(), text);
            store.keep(&Settings { hint_seen: true, ..settings }).unwrap();
            assert!(Store::at(Some(file.clone())).1.hint_seen);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn missing_and_strange_fields_do_no_harm() {
        let folder = folder("fields");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("settings.json");
        std::fs::write(&file, r#"{"ui_scale": 1e30, "of_a_later_version": [1]}"#).unwrap();
        let (_, settings, error) = Store::at(Some(file));
        assert_eq!((settings, error), (Settings { ui_scale: 4.0, ..Settings::default() }, None));
        std::fs::remove_dir_all(folder).unwrap();
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
