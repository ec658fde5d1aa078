//! The state of a folder of kernels on the disk, whose entries may be symbolic links; it is polled for changes, and lists the
//! folders to watch.
//!
//! The system notifies of changes in one folder, also after it was renamed, but not of another folder that replaces it, of
//! changes in a link's target, or of files on another machine. Polling detects those, too, by one `stat` for each file and
//! folder.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use opencl::sources;

/// The recorded state of a path: identity of the file or folder, size in bytes, and time of the last change (seconds,
/// nanoseconds). `None` if nothing exists at the path.
type Stamp = Option<(FileId, u64, (i64, i64))>;
/// The device number and the inode number of a file.
type FileId = (u64, u64);

fn stamp(path: &Path) -> Stamp {
    let of = std::fs::metadata(path).ok()?;
    // `ctime` is used since programs that copy files reset `mtime`.
    Some(((of.dev(), of.ino()), of.size(), (of.ctime(), of.ctime_nsec())))
}

/// The states of all files and folders in a folder of kernels, as last read.
#[derive(Default, PartialEq)]
pub(super) struct Disk {
    /// The state of each path in the folder, by path; paths may contain symbolic links.
    stamps: BTreeMap<PathBuf, Stamp>,
}

impl Disk {
    /// Reads the current state of the folder.
    pub(super) fn read(folder: &Path) -> Self {
        let stamps = sources::paths(folder).into_iter().map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        });
        Self { stamps: stamps.collect() }
    }

    /// Returns true if something in the folder has changed since this state was read. Opens no file and no folder, since the
    /// system would send notifications about that.
    pub(super) fn has_changed(&self) -> bool {
        self.stamps.iter().any(|(path, before)| stamp(path) != *before)
    }

    /// Returns the folders that must be watched to notice changes of these files.
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

/// The folders to watch for changes of kernels, and the targets of symbolic links.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Places {
    /// The folders to watch, by path with links resolved: those with kernel files, and those that contain targets of symbolic
    /// links.
    pub(super) folders: BTreeMap<PathBuf, FileId>,
    /// The targets of symbolic links in the folder of kernels; their names may differ from those of kernel files.
    pub(super) targets: BTreeSet<PathBuf>,
}

impl Places {
    /// Adds a folder to watch; does nothing if it does not exist.
    fn add(&mut self, folder: &Path) {
        if let Some((id, ..)) = stamp(folder) {
            self.folders.insert(folder.to_owned(), id);
        }
    }
}
