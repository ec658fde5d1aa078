//! A folder of kernels as it lies on the disk. In: the folder, whose files and folders may be links. Out: whether anything has
//! changed since it was looked at, and the folders of which the system can tell that sooner.
//!
//! The system tells of changes of one folder, whatever it is called by then: of another that takes its place, of a link's
//! target and of files on another machine it tells nothing. Looking finds those, too: one `stat` for each file and folder.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use opencl::sources;

/// Which file or folder a path leads to, and when that was changed last; `None`: to nothing.
type Stamp = Option<(FileId, u64, (i64, i64))>;
/// Device and inode.
type FileId = (u64, u64);

fn stamp(path: &Path) -> Stamp {
    let of = std::fs::metadata(path).ok()?;
    // The time of a change of any kind: programs that copy set back that of the contents.
    Some(((of.dev(), of.ino()), of.size(), (of.ctime(), of.ctime_nsec())))
}

/// The folder's files and folders at one moment.
#[derive(Default, PartialEq)]
pub(super) struct Disk {
    /// By their paths below the folder's own, which may lead over links.
    stamps: BTreeMap<PathBuf, Stamp>,
}

impl Disk {
    /// Looks at it now.
    pub(super) fn read(folder: &Path) -> Self {
        let stamps = sources::paths(folder).into_iter().map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        });
        Self { stamps: stamps.collect() }
    }

    /// Returns true if something has changed since. Opens no file and no folder: the system would tell of that.
    pub(super) fn has_changed(&self) -> bool {
        self.stamps.iter().any(|(path, before)| stamp(path) != *before)
    }

    /// Returns where the system has to tell of changes.
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

/// Folders of which the system tells changes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Places {
    /// Their paths without links: those with kernel files, and those with files that links lead to.
    pub(super) folders: BTreeMap<PathBuf, FileId>,
    /// Files that links lead to, which may be called otherwise than kernels are.
    pub(super) targets: BTreeSet<PathBuf>,
}

impl Places {
    fn add(&mut self, folder: &Path) {
        if let Some((id, ..)) = stamp(folder) {
            self.folders.insert(folder.to_owned(), id);
        }
    }
}
