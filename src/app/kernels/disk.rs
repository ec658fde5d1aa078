//! The state of a folder of kernels on the disk, whose files and folders may be links: polled for changes, and the list of
//! folders to watch.
//!
//! The system notifies of changes in one folder, also after it was renamed, but not of another folder that replaces it, of
//! changes in a link's target, or of files on another machine. Polling detects those, too, by one `stat` for each file and
//! folder.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use opencl::sources;

/// The state of a path: the identity of its file or folder, the size, and the time of the last change; `None` if there is
/// nothing at the path.
type Stamp = Option<(FileId, u64, (i64, i64))>;
/// The device number and the inode number of a file.
type FileId = (u64, u64);

/// Returns the current state of a path.
fn stamp(path: &Path) -> Stamp {
    let of = std::fs::metadata(path).ok()?;
    // `ctime`, since programs that copy reset `mtime`.
    Some(((of.dev(), of.ino()), of.size(), (of.ctime(), of.ctime_nsec())))
}

/// The state of a folder's files and folders at the time when it was read.
#[derive(Default, PartialEq)]
pub(super) struct Disk {
    /// The state of each path in the folder; paths may contain links.
    stamps: BTreeMap<PathBuf, Stamp>,
}

impl Disk {
    /// Reads the folder's state now.
    pub(super) fn read(folder: &Path) -> Self {
        let stamps = sources::paths(folder).into_iter().map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        });
        Self { stamps: stamps.collect() }
    }

    /// Returns true if something has changed since this state was read. Opens no file and no folder, since the system would
    /// notify of that.
    pub(super) fn has_changed(&self) -> bool {
        self.stamps.iter().any(|(path, before)| stamp(path) != *before)
    }

    /// Returns the folders to watch for changes of these files.
    pub(super) fn places(&self) -> Places {
        let mut places = Places::default();
        for path in self.stamps.keys() {
            let Ok(real) = path.canonicalize() else { continue };
            if real.is_dir() {
                places.add(&real);
            } else if path.is_symlink() {
                places.add(real.parent().unwrap_or(Path::new("/")));
                places.targets.insert(real);
            }
        }
        places
    }
}

/// The folders to watch for changes of kernels.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Places {
    /// The paths of the folders, with links resolved: those with kernel files, and those with files to which links lead.
    pub(super) folders: BTreeMap<PathBuf, FileId>,
    /// The files to which links lead; their names may differ from those of kernels.
    pub(super) targets: BTreeSet<PathBuf>,
}

impl Places {
    /// Adds a folder to watch, if it exists.
    fn add(&mut self, folder: &Path) {
        if let Some((id, ..)) = stamp(folder) {
            self.folders.insert(folder.to_owned(), id);
        }
    }
}
