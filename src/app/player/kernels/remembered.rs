//! Folders of kernels that were edited before: the settings have their paths, and the panel offers those that still exist.

use super::*;
use crate::app::settings::MAX_KERNEL_FOLDERS;
use overlay::EditedFolder;

/// The path of a folder that can be read, and the number of its files that differ from the built-in ones.
type Readable = (String, usize);

/// The folders of kernels that were edited, the newest first.
#[derive(Default)]
pub(super) struct Remembered {
    folders: Vec<String>,
    /// The job that reads the folders.
    reading: Option<Job<Vec<Readable>>>,
    /// The folders that could be read when the window was opened, without the one that is watched.
    readable: Vec<Readable>,
    /// The folder that is watched.
    watched: Option<String>,
    /// True if the panel does not show `readable` yet.
    is_new: bool,
}

impl Remembered {
    /// Starts to read these folders. A job reads them, since a disk may not respond.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn begin(folders: Vec<String>, waker: &Waker) -> Result<Self> {
        let all = folders.clone();
        let read = move |_: &_| {
            let read = |path: String| {
                let sources = Sources::read(Path::new(&path)).ok()?;
                Some((path, sources.changed_since(&Sources::default()).len()))
            };
            Ok(all.into_iter().filter_map(read).collect())
        };
        let failed = "The folders of edited kernels could not be read.";
        let reading =
            (!folders.is_empty()).then(|| Job::spawn("folders", failed, waker, read)).transpose()?;
        Ok(Self { folders, reading, ..Self::default() })
    }

    /// Makes the folder that is watched from now on the newest one. A path that is not Unicode is not remembered.
    pub(super) fn add(&mut self, folder: &Path) {
        let Some(path) = folder.to_str() else { return };
        self.folders.retain(|known| known != path);
        self.folders.insert(0, path.to_owned());
        self.folders.truncate(MAX_KERNEL_FOLDERS);
        self.readable.retain(|(known, _)| known != path);
        (self.watched, self.is_new) = (Some(path.to_owned()), true);
    }

    /// Returns the paths of all folders for the settings.
    pub(super) fn folders(&self) -> &[String] {
        &self.folders
    }

    /// Returns the path of the folder at this index of the panel's list.
    pub(super) fn path(&self, index: usize) -> Option<PathBuf> {
        self.readable.get(index).map(|(path, _)| PathBuf::from(path))
    }

    /// Returns the folders to show in the panel if they have changed.
    pub(super) fn poll(&mut self) -> Option<Vec<EditedFolder>> {
        if let Some(read) = Job::take_result(&mut self.reading, Duration::ZERO) {
            // The panel does not offer a folder that cannot be read.
            self.readable = read.unwrap_or_default();
            self.readable.retain(|(path, _)| Some(path) != self.watched.as_ref());
            self.is_new = true;
        }
        let row = |(path, edits): &Readable| EditedFolder { path: base::text::name(path), edits: *edits };
        std::mem::take(&mut self.is_new).then(|| self.readable.iter().map(row).collect())
    }
}
