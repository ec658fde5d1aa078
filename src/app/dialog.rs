//! The desktop's dialog for choosing files.
//!
//! The dialog is shown by a service of the desktop (the portal, over D-Bus) or by `zenity`; a job waits for its result. If
//! neither is available, the caller must ask for a path in another way.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::gl_window::GlWindow;
use base::jobs::{Job, Waker};
use base::load;

/// The D-Bus interface that a back end of the desktop portal needs for showing the file dialog.
const CHOOSER: &str = "org.freedesktop.impl.portal.FileChooser";
/// The maximum time for which the window waits, when the user requests a dialog, for the job that finds out whether the desktop
/// has one.
const DETECTION_TIMEOUT: Duration = Duration::from_millis(50);

/// The way in which a dialog was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DialogResult {
    /// The user has chosen these files.
    Chosen(Vec<PathBuf>),
    /// The user has cancelled the dialog.
    Cancelled,
    /// The dialog could not be displayed.
    Failed,
}

/// An open dialog for choosing files.
pub(crate) struct Dialog {
    job: Job<Option<Vec<PathBuf>>>,
}

impl Dialog {
    /// Opens a dialog for choosing files over `window`. The dialog shows `folder` if that exists. `waker` is called when the
    /// dialog is closed. Returns `None` if the system cannot start a thread.
    pub(crate) fn open(window: &GlWindow, folder: Option<PathBuf>, waker: &Waker) -> Option<Self> {
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
        let job = Job::spawn("dialog", "The dialog could not be shown.", waker, ask).ok()?;
        Some(Self { job })
    }

    /// Returns the result once the dialog is closed; `None` while it is open.
    pub(crate) fn poll(&self) -> Option<DialogResult> {
        Some(match self.job.wait(Duration::ZERO)? {
            Ok(Some(files)) if !files.is_empty() => DialogResult::Chosen(files),
            // A dialog that could not be displayed returns `None`, not an empty list.
            Ok(Some(_)) => DialogResult::Cancelled,
            Ok(None) | Err(_) => DialogResult::Failed,
        })
    }
}

/// The job that finds out whether the desktop can show a dialog for choosing files, and its result. It is a job since it reads
/// folders.
pub(crate) struct DesktopDialog {
    detection: Option<Job<bool>>,
    has_dialog: bool,
}

impl DesktopDialog {
    /// Starts the job that detects whether the desktop can show a dialog.
    pub(crate) fn detect(waker: &Waker) -> Self {
        let look = |_: &_| Ok(available(base::environment::get));
        let detection = Job::spawn("desktop", "The desktop could not be asked for a dialog.", waker, look);
        Self { detection: detection.ok(), has_dialog: false }
    }

    /// Returns true if the desktop can show a dialog; false also if that is still unknown after [`DETECTION_TIMEOUT`].
    pub(crate) fn has_dialog(&mut self) -> bool {
        if let Some(answer) = Job::take_result(&mut self.detection, DETECTION_TIMEOUT) {
            self.has_dialog = answer.unwrap_or(false);
        }
        self.has_dialog
    }
}

/// Returns true if a dialog for choosing files is likely to work: there is a session bus, and a portal with a file chooser or
/// `zenity`. The bus itself is not queried, since a query could start the bus, or wait for a service that never responds. `get`
/// returns the values of environment variables.
fn available(get: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    let named = get("DBUS_SESSION_BUS_ADDRESS").is_some_and(|a| !a.is_empty());
    let socket = get("XDG_RUNTIME_DIR").is_some_and(|d| Path::new(&d).join("bus").exists());
    if !(named || socket) {
        return false;
    }
    let data = get("XDG_DATA_DIRS").filter(|d| !d.is_empty());
    let data = data.unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let portal = std::env::split_paths(&data).any(|folder| {
        folder.join("dbus-1/services/org.freedesktop.portal.Desktop.service").exists()
            && has_chooser(&folder.join("xdg-desktop-portal/portals"))
    });
    let path = get("PATH").unwrap_or_default();
    portal || std::env::split_paths(&path).any(|folder| folder.join("zenity").is_file())
}

/// Returns true if one of the portal back ends in `folder` can show a file chooser.
fn has_chooser(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().map(|entry| entry.path()).any(|path| {
        path.extension() == Some(OsStr::new("portal"))
            && load::text(&path, load::MAX_LIST_BYTES).is_ok_and(|text| text.contains(CHOOSER))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialog_needs_a_bus_and_a_service() {
        let folder = std::env::temp_dir().join(format!("clreel-dialog-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (services, portals) = (folder.join("dbus-1/services"), folder.join("xdg-desktop-portal/portals"));
        std::fs::create_dir_all(&services).unwrap();
        std::fs::create_dir_all(&portals).unwrap();
        let with = |bus: &str, path: &str| {
            let (bus, path, data) = (bus.to_owned(), path.to_owned(), folder.clone());
            available(move |name| match name {
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
        std::fs::remove_dir_all(folder).unwrap();
    }
}
