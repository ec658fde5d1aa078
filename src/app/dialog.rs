//! The desktop's own dialog for choosing files. In: a wish to open something. Out: the chosen paths.
//!
//! The dialog belongs to a service of the desktop (the portal, over D-Bus) or to `zenity`; it waits on a thread of its
//! own. Without either the caller asks in another way.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use winit::window::Window;

use base::jobs::{Job, Waker};
use base::load;

/// What a desktop's service must offer to show the dialog.
const CHOOSER: &str = "org.freedesktop.impl.portal.FileChooser";
/// The answer is waited for no longer when somebody asks for a dialog.
const MOMENT: Duration = Duration::from_millis(50);

/// What came of a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// These files were chosen.
    Chosen(Vec<PathBuf>),
    /// It was closed.
    Cancelled,
    /// It could not be shown.
    Failed,
}

/// A dialog that is open.
pub(crate) struct Dialog {
    job: Job<Option<Vec<PathBuf>>>,
}

impl Dialog {
    /// Opens a dialog over `window`, which shows `folder` if there is one; `None` where no dialog can be had. `waker` is called
    /// when it is closed.
    pub(crate) fn open(window: &Window, folder: Option<PathBuf>, waker: &Waker) -> Option<Self> {
        let dialog = rfd::FileDialog::new().set_title("Open movies").set_parent(window);
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

    /// What came of it, once it is closed.
    pub(crate) fn poll(&self) -> Option<Answer> {
        Some(match self.job.wait(Duration::ZERO)? {
            Ok(Some(files)) if !files.is_empty() => Answer::Chosen(files),
            // Who closes it chooses nothing; what could not be shown gives not even that.
            Ok(Some(_)) => Answer::Cancelled,
            Ok(None) | Err(_) => Answer::Failed,
        })
    }
}

/// Whether the desktop has such a dialog: looked up once and on a thread, because that reads folders.
pub(crate) struct Desktop {
    looking: Option<Job<bool>>,
    has_dialog: bool,
}

impl Desktop {
    /// Begins to look.
    pub(crate) fn look(waker: &Waker) -> Self {
        let look = |_: &_| Ok(available(base::environment::get));
        let looking = Job::spawn("desktop", "The desktop could not be asked for a dialog.", waker, look);
        Self { looking: looking.ok(), has_dialog: false }
    }

    /// Whether it has one, as far as is known in a moment.
    pub(crate) fn has_dialog(&mut self) -> bool {
        if let Some(answer) = self.looking.as_ref().and_then(|job| job.wait(MOMENT)) {
            (self.looking, self.has_dialog) = (None, answer.unwrap_or(false));
        }
        self.has_dialog
    }
}

/// Whether a dialog can be expected: a session bus, and a portal with a chooser or `zenity`. Asking the bus itself could
/// start one, or wait for a service that never answers.
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

/// Whether one of the portal's parts in `folder` can show a dialog.
fn has_chooser(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().map(|entry| entry.path()).any(|path| {
        path.extension() == Some(OsStr::new("portal"))
            && load::text(&path, load::LIST).is_ok_and(|text| text.contains(CHOOSER))
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
