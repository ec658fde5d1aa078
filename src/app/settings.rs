//! What is remembered from one start to the next. In: the settings file. Out: [`Settings`], and the file again
//! when they have changed. Threads of their own read and write it: the folder may be one that does not answer.
//!
//! Which panels are open is written at the end alone: one that was open when the process died starts closed.
//!
//! The file is `$XDG_CONFIG_HOME/clreel/settings.json`, or `~/.config/clreel/settings.json`. The environment
//! variable `CLREEL_SETTINGS` names another one; when it is empty, nothing is remembered.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use base::jobs::{Job, Waker};
use base::load::{self, Unread};
use overlay::{Folds, Opens, Overlay, Places};

/// The environment variable that names another settings file.
pub(crate) const SETTINGS_VARIABLE: &str = "CLREEL_SETTINGS";
/// How small and how large the overlay can be made, relative to what the window's size asks for.
pub(crate) const UI_SCALE: std::ops::RangeInclusive<f32> = 0.5..=4.0;
/// The file is not written more often than this.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long the window waits for the file at its start, and at its end.
const PATIENCE: Duration = Duration::from_secs(2);

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
    /// The stages have patterns beside their greys.
    pub hatched: bool,
    /// Which panels are open, folded, and moved to where: `stages_open`, `graph_folded`, `graph_at`. Folded is `None` until
    /// the user chose: then by the window's size. A place is the upper left corner in points from the window's; `None`: not
    /// moved.
    #[serde(flatten, with = "panels")]
    pub panels: Panels,
}

/// What is remembered of the panels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Panels {
    pub open: Opens,
    pub folded: Folds,
    pub places: Places,
}

impl Default for Panels {
    fn default() -> Self {
        Self { open: overlay::opens_at_first(), folded: Folds::default(), places: Places::default() }
    }
}

/// The panels as fields of the settings.
mod panels {
    use std::collections::BTreeMap;

    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::SerializeMap as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use serde_json::Value;

    use super::Panels;
    use overlay::Panel;

    /// Whether it is opened and closed, and remembered so: some are always there, one as long as what it is about.
    fn is_opened(panel: Panel) -> bool {
        overlay::ENTRIES.iter().any(|entry| entry.panel == panel) && panel != Panel::Correction
    }

    pub(super) fn serialize<S: Serializer>(panels: &Panels, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (n, panel) in Panel::ALL.into_iter().enumerate() {
            let name = panel.name();
            if is_opened(panel) {
                map.serialize_entry(&format!("{name}_open"), &panels.open[n])?;
            }
            if panel != Panel::Correction {
                map.serialize_entry(&format!("{name}_folded"), &panels.folded[n])?;
            }
            map.serialize_entry(&format!("{name}_at"), &panels.places[n])?;
        }
        map.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Panels, D::Error> {
        let mut map = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let mut panels = Panels::default();
        for (n, panel) in Panel::ALL.into_iter().enumerate() {
            take(&mut map, panel, "open", &mut panels.open[n]).map_err(D::Error::custom)?;
            take(&mut map, panel, "folded", &mut panels.folded[n]).map_err(D::Error::custom)?;
            take(&mut map, panel, "at", &mut panels.places[n]).map_err(D::Error::custom)?;
        }
        Ok(panels)
    }

    fn take<T: DeserializeOwned>(
        map: &mut BTreeMap<String, Value>,
        panel: Panel,
        what: &str,
        to: &mut T,
    ) -> Result<(), String> {
        let name = format!("{}_{what}", panel.name());
        if let Some(value) = map.remove(&name) {
            *to = serde_json::from_value(value).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(())
    }
}

impl Settings {
    /// What is to be remembered of the overlay, whose size is `ui_scale`.
    pub(crate) fn of(overlay: &Overlay, ui_scale: f32) -> Self {
        Self {
            overlay_visible: overlay.visible,
            hint_seen: overlay.hint_seen,
            ui_scale,
            hatched: overlay.hatched,
            panels: Panels { open: overlay.open, folded: overlay.folded, places: overlay.places },
        }
    }

    /// The same with no panel open but what opens at the first start. The file has this while the window is open: what a panel asks
    /// of a driver may end the process, and it must not do so at each start.
    fn with_panels_closed(&self) -> Self {
        let mut closed = self.clone();
        for (open, at_first) in closed.panels.open.iter_mut().zip(overlay::opens_at_first()) {
            *open &= at_first;
        }
        closed
    }

    /// An overlay as it is remembered.
    pub(crate) fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::new();
        overlay.visible = self.overlay_visible;
        overlay.hint_seen = self.hint_seen;
        overlay.hatched = self.hatched;
        let Panels { open, folded, places } = self.panels.clone();
        (overlay.open, overlay.folded, overlay.places) = (open, folded, places);
        overlay
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            overlay_visible: true,
            hint_seen: false,
            ui_scale: 1.0,
            hatched: false,
            panels: Panels::default(),
        }
    }
}

/// What came of reading the file: where it is to be written, what it says, what was wrong with it.
type Found = (Option<PathBuf>, Settings, Option<Error>);

/// Settings that are being read.
pub(crate) struct Reading {
    path: Option<PathBuf>,
    job: Result<Job<Found>>,
    waker: Waker,
}

impl Reading {
    /// Begins to read the user's file.
    pub(crate) fn begin(waker: &Waker) -> Self {
        use base::environment::get;
        Self::at(path(get(SETTINGS_VARIABLE), get("XDG_CONFIG_HOME"), get("HOME")), waker)
    }

    fn at(path: Option<PathBuf>, waker: &Waker) -> Self {
        let of = path.clone();
        let job = Job::spawn("settings", "The settings cannot be read.", waker, move |_: &_| Ok(found(of)));
        Self { path, job, waker: waker.clone() }
    }
}

/// The settings file.
pub(crate) struct Store {
    /// `None` when nothing is to be written.
    path: Option<PathBuf>,
    written: Settings,
    written_at: Option<Instant>,
    /// The last change, on its way to the file.
    writing: Option<Job<()>>,
    waker: Waker,
}

impl Store {
    /// The file, and what it says, which is waited for for a moment. A file that cannot be used is kept aside as `.bad`; the
    /// error says so, and the settings are the defaults.
    pub(crate) fn open(reading: Reading) -> (Self, Settings, Option<Error>) {
        let Reading { path, job, waker } = reading;
        let silent = |path: PathBuf| not_remembered(&path, "It was not read in time.");
        let (path, settings, error) = match job.map(|job| job.wait(PATIENCE)) {
            Ok(Some(Ok(found))) => found,
            Ok(None) => (None, Settings::default(), path.map(silent)),
            Ok(Some(Err(error))) | Err(error) => (None, Settings::default(), Some(error)),
        };
        // Where there is a path, it was read.
        let written = settings.with_panels_closed();
        let store = Self { path, written, written_at: None, writing: None, waker };
        (store, settings, error)
    }

    /// Begins to write `settings`, with the panels closed, if they have changed, unless that was done less than a second ago: then
    /// returns how long to wait.
    ///
    /// # Errors
    /// When the file could not be written; it is not tried again.
    pub(crate) fn keep(&mut self, settings: &Settings) -> Result<Option<Duration>> {
        self.look(Duration::ZERO)?;
        let settings = &settings.with_panels_closed();
        // The end of what is being written wakes the loop.
        if self.path.is_none() || *settings == self.written || self.writing.is_some() {
            return Ok(None);
        }
        let wait = self.written_at.and_then(|at| INTERVAL.checked_sub(at.elapsed()));
        if let Some(wait) = wait.filter(|w| !w.is_zero()) {
            return Ok(Some(wait));
        }
        self.write(settings).map(|()| None)
    }

    /// Writes `settings`, with the panels that are open, if the file has others, at once, and waits for that: the window has ended as
    /// it should.
    ///
    /// # Errors
    /// As [`Store::keep`], and where it takes too long.
    pub(crate) fn keep_now(&mut self, settings: &Settings) -> Result<()> {
        self.look(PATIENCE)?;
        if *settings != self.written {
            self.write(settings)?;
            self.look(PATIENCE)?;
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

    fn write(&mut self, settings: &Settings) -> Result<()> {
        let Some(path) = self.path.clone().filter(|_| self.writing.is_none()) else { return Ok(()) };
        (self.written, self.written_at) = (settings.clone(), Some(Instant::now()));
        let settings = settings.clone();
        let job = Job::spawn("settings", "The settings could not be kept.", &self.waker, move |_: &_| {
            write(&path, &settings)
        });
        self.writing = Some(job.inspect_err(|_| self.path = None)?);
        Ok(())
    }

    /// Takes what came of the writing, if it is over in that time.
    fn look(&mut self, time: Duration) -> Result<()> {
        let Some(done) = self.writing.as_ref().and_then(|job| job.wait(time)) else { return Ok(()) };
        self.writing = None;
        done.inspect_err(|_| self.path = None)
    }
}

/// Reads the file at `path`.
fn found(path: Option<PathBuf>) -> Found {
    let Some(path) = path else { return (None, Settings::default(), None) };
    match read(&path) {
        Ok(settings) => {
            let closed = settings.with_panels_closed();
            // Before any driver is asked. Where it fails, the end of the window says so.
            if closed != settings {
                let _ = write(&path, &closed);
            }
            (Some(path), settings, None)
        }
        Err(Unread::Odd(reason)) => {
            let error = not_remembered(&path, &reason);
            (None, Settings::default(), Some(error))
        }
        Err(reason) => {
            let (path, error) = set_aside(path, &reason.to_string());
            (path, Settings::default(), Some(error))
        }
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
    base::save::atomically(&path, |file| {
        serde_json::to_writer_pretty(&mut *file, settings)?;
        writeln!(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use overlay::Panel;

    /// The file as the next start has it.
    fn open(path: &Path) -> (Store, Settings, Option<Error>) {
        let waker: Waker = std::sync::Arc::new(|| {});
        Store::open(Reading::at(Some(path.to_owned()), &waker))
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("clreel-settings-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn settings_come_back_as_they_were_written() {
        let folder = folder("back");
        let file = folder.join("new/settings.json");
        let (mut store, settings, error) = open(&file);
        assert_eq!((settings, error), (Settings::default(), None));
        let mut changed = Settings { overlay_visible: false, ui_scale: 1.5, ..Settings::default() };
        for (n, panel) in Panel::ALL.into_iter().enumerate() {
            changed.panels.open[n] = matches!(panel, Panel::Stages | Panel::Devices);
            changed.panels.folded[n] = (panel != Panel::Correction).then_some(n % 2 == 0);
            changed.panels.places[n] = (n != 1).then_some([12.5 * n as f32, 300.25]);
        }
        assert_eq!(store.keep(&changed).unwrap(), None);
        store.look(Duration::from_secs(60)).unwrap();
        assert_eq!(read(&file).unwrap(), changed.with_panels_closed());
        // So soon after, the next change has to wait, but not at the end.
        let again = Settings { hint_seen: true, ..changed };
        assert!(store.keep(&again).unwrap().is_some());
        store.keep_now(&again).unwrap();
        let (_, found, error) = open(&file);
        assert_eq!((found, error), (again, None));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn panels_that_were_open_when_the_process_died_start_closed() {
        let folder = folder("died");
        let file = folder.join("settings.json");
        let opened = |settings: &Settings| {
            let is_open = |panel: &Panel| settings.panels.open[*panel as usize];
            Panel::ALL.into_iter().filter(is_open).collect::<Vec<_>>()
        };
        let (mut store, mut settings, _) = open(&file);
        settings.panels.open[Panel::Scopes as usize] = true;
        settings.panels.places[Panel::Scopes as usize] = Some([3.0, 4.0]);
        store.keep_now(&settings).unwrap();
        // The next start has it open, and dies; one that opens it again dies as well.
        let (mut store, mut found, _) = open(&file);
        assert_eq!(found, settings);
        let (_, after, _) = open(&file);
        assert_eq!(opened(&after), [Panel::Scene]);
        assert_eq!(after.panels.places, settings.panels.places, "but stay where they were");
        found.hint_seen = true;
        store.keep(&found).unwrap();
        store.look(Duration::from_secs(60)).unwrap();
        let (mut store, mut after, _) = open(&file);
        assert_eq!((opened(&after), after.hint_seen), (vec![Panel::Scene], true));
        // What is closed stays closed.
        after.panels.open[Panel::Scene as usize] = false;
        store.keep(&after).unwrap();
        store.look(Duration::from_secs(60)).unwrap();
        assert_eq!(opened(&open(&file).1), []);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn panels_have_the_names_that_they_always_had() {
        let text = r#"{"stages_open": true, "graph_folded": false, "numbers_at": [1.5, 2.0], "correction_at": null}"#;
        let settings: Settings = serde_json::from_str(text).unwrap();
        let Panels { open, folded, places } = settings.panels;
        let opened = |panel: &Panel| open[*panel as usize];
        let opened: Vec<Panel> = Panel::ALL.into_iter().filter(opened).collect();
        // What the file does not name is as at the first start.
        assert_eq!(opened, [Panel::Stages, Panel::Scene]);
        assert_eq!(folded[Panel::Graph as usize], Some(false));
        assert_eq!(places[Panel::Numbers as usize], Some([1.5, 2.0]));
        assert!(serde_json::from_str::<Settings>(r#"{"graph_at": "there"}"#).is_err());
    }

    #[test]
    fn a_damaged_file_is_kept_aside() {
        let folder = folder("bad");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("settings.json");
        for (n, aside) in ["settings.json.bad", "settings.json.bad1"].into_iter().enumerate() {
            let text = format!("{{ damaged {n}");
            std::fs::write(&file, &text).unwrap();
            let (mut store, settings, error) = open(&file);
            assert_eq!(settings, Settings::default());
            assert!(error.unwrap().hint.contains(aside));
            assert_eq!(std::fs::read_to_string(folder.join(aside)).unwrap(), text);
            store.keep_now(&Settings { hint_seen: true, ..settings }).unwrap();
            assert!(open(&file).1.hint_seen);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_once() {
        let folder = folder("told");
        std::fs::create_dir_all(&folder).unwrap();
        let (mut store, settings, _) = open(&folder.join("settings.json"));
        std::fs::remove_dir_all(&folder).unwrap();
        // There is no folder where a file is.
        std::fs::write(&folder, "").unwrap();
        assert!(store.keep_now(&Settings { hint_seen: true, ..settings.clone() }).is_err());
        assert_eq!(store.keep_now(&Settings { hatched: true, ..settings }), Ok(()));
        std::fs::remove_file(folder).unwrap();
    }

    #[test]
    fn missing_and_strange_fields_do_no_harm() {
        let folder = folder("fields");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("settings.json");
        std::fs::write(&file, r#"{"ui_scale": 1e30, "of_a_later_version": [1]}"#).unwrap();
        let (_, settings, error) = open(&file);
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
