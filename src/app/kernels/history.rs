//! The history of a folder of kernels: the versions stored on the disk, which are exact versions and texts that were replaced
//! when a version was restored. They outlive the window, so that yesterday's versions can be restored.
//!
//! Each version is a file in `versions/FOLDER/` beside the settings file, where `FOLDER` is a hash of the path of the folder of
//! kernels. A name has the time and a hash of the texts: names sort by time, and equal texts are kept once. The files may be
//! damaged, or written by others: their paths are checked, since texts are written to these paths when a version is restored.
//! The functions call the file system, so only jobs may call them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use base::load::{self, Unread};
use base::save;
use opencl::sources::{self, Sources, hash, hash_of_texts, is_kernel_name};

/// The maximum number of versions of a folder's kernels that are kept on the disk.
pub(crate) const MAX_STORED: usize = 100;
/// The number of the file format's version.
const SCHEMA: u32 = 1;

/// A version of a folder's kernels as stored on the disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredVersion {
    /// The time at which the version was stored.
    pub saved: SystemTime,
    /// True if validation found the output of the version's kernels equal to the reference.
    pub is_exact: bool,
    /// The files in which the version differs from the version before it.
    pub files: Vec<String>,
    pub sources: Sources,
    /// The hash of the texts, which also is in the name of the version's file.
    pub hash: u64,
}

impl StoredVersion {
    /// Creates a version with the current time.
    pub(crate) fn new(sources: Sources, files: Vec<String>, is_exact: bool) -> Self {
        Self { saved: SystemTime::now(), is_exact, files, hash: fingerprint(&sources), sources }
    }
}

/// The contents of a version's JSON file. It has the texts of the files that differ from the built-in ones.
#[derive(Serialize, Deserialize)]
struct VersionFile {
    schema: u32,
    folder: String,
    saved: u64,
    is_exact: bool,
    files: Vec<String>,
    texts: BTreeMap<String, String>,
}

/// Returns a hash of the texts of all files that differ from the built-in ones.
pub(crate) fn fingerprint(sources: &Sources) -> u64 {
    hash_of_texts(sources.changed_texts())
}

/// The stored versions of one folder of kernels.
#[derive(Debug, Clone)]
pub(crate) struct History {
    /// The folder that contains the files of the versions.
    path: PathBuf,
    /// The absolute path of the folder of kernels.
    kernels: String,
}

impl History {
    /// Returns the history of a folder of kernels, given by its absolute path, that is stored below the folder `root`.
    pub(crate) fn at(root: &Path, kernels: &Path) -> Self {
        let kernels = base::text::unicode(kernels);
        Self { path: root.join(format!("{:016x}", hash(kernels.as_bytes()))), kernels }
    }

    /// Reads all stored versions, the newest first. Also returns an error about files that are ignored, because they cannot be
    /// read or are no versions of this folder; `None` if no file is ignored.
    pub(crate) fn load(&self) -> (Vec<StoredVersion>, Option<Error>) {
        let (mut versions, mut ignored) = (Vec::new(), Vec::new());
        for path in self.files().into_iter().take(MAX_STORED) {
            let contents = load::bytes(&path, load::MAX_LIST_BYTES);
            match contents.and_then(|contents| self.parse(&contents)) {
                Ok(version) => versions.push(version),
                // Another window has removed the file.
                Err(Unread::Missing) => {}
                Err(why) => ignored.push(format!("'{}': {why}", base::text::name(&path))),
            }
        }
        let what = match ignored.len() {
            0 => return (versions, None),
            1 => "An earlier version of the kernels cannot be read and is ignored.".to_owned(),
            n => format!("{n} earlier versions of the kernels cannot be read and are ignored."),
        };
        ignored.truncate(5);
        let error = Error::new(what, ignored.join("\n"), "Delete these files, or leave them.");
        (versions, Some(error))
    }

    /// Returns the paths of all stored versions, the newest first.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| is_version(path)).collect();
        files.sort_unstable_by(|one, other| other.cmp(one));
        files
    }

    /// Parses the contents of a version's file and checks them.
    pub(crate) fn parse(&self, contents: &[u8]) -> Result<StoredVersion, Unread> {
        let file: VersionFile = load::json(contents)?;
        if file.schema != SCHEMA {
            return Err(Unread::damaged(format!("its format is {}, not {SCHEMA}", file.schema)));
        }
        if file.folder != self.kernels {
            return Err(Unread::damaged("it is of another folder of kernels"));
        }
        if let Some(name) = file.files.iter().find(|name| !is_kernel_name(name)) {
            return Err(Unread::damaged(format!("'{name}' is no kernel file")));
        }
        let saved = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(file.saved));
        let saved = saved.ok_or_else(|| Unread::damaged("its time is impossible"))?;
        let sources = Sources::from_texts(file.texts).map_err(Unread::damaged)?;
        Ok(StoredVersion { saved, ..StoredVersion::new(sources, file.files, file.is_exact) })
    }

    /// Writes a version, in place of a stored version with the same texts, and removes the oldest versions beyond
    /// [`MAX_STORED`].
    ///
    /// # Errors
    /// If the version cannot be written; then nothing is removed.
    pub(crate) fn store(&self, version: &StoredVersion) -> Result<()> {
        let saved = version.saved.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let file = VersionFile {
            schema: SCHEMA,
            folder: self.kernels.clone(),
            saved,
            is_exact: version.is_exact,
            files: version.files.clone(),
            texts: version
                .sources
                .changed_texts()
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
        };
        let bytes = serde_json::to_vec(&file).map_err(|e| failed(&e.to_string()))?;
        if bytes.len() as u64 > load::MAX_LIST_BYTES {
            return Err(failed(&format!("its texts are longer than {} MiB", load::MAX_LIST_BYTES >> 20)));
        }
        let ending = format!("-{:016x}.json", version.hash);
        // An error of the folder shows when the file is written.
        let _ = std::fs::create_dir_all(&self.path);
        let path = self.path.join(format!("{saved:012}{ending}"));
        save::atomically(&path, |out| out.write_all(&bytes)).map_err(|error| failed(&format!("{error}")))?;
        let files = self.files();
        let has_same_texts = |other: &&PathBuf| **other != path && other.to_string_lossy().ends_with(&ending);
        for old in files.iter().filter(has_same_texts).chain(files.iter().skip(MAX_STORED)) {
            // A file that cannot be removed does no harm.
            let _ = std::fs::remove_file(old);
        }
        Ok(())
    }
}

/// Returns true if the path's file name has the form that [`History::store`] uses.
fn is_version(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"));
    name.and_then(|name| name.split_once('-')).is_some_and(|(time, hash)| {
        time.len() == 12
            && hash.len() == 16
            && time.bytes().all(|byte| byte.is_ascii_digit())
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Returns the error for a version that could not be stored.
fn failed(why: &str) -> Error {
    Error::new(
        "A version of the kernels could not be kept for the next start.",
        why,
        "It is kept until the window closes.",
    )
}

/// Writes texts to files in the folder of kernels, given as pairs of name and text. Each file is written completely or not at
/// all.
///
/// # Errors
/// If a file cannot be written; files that come before it in `texts` have been written.
pub(crate) fn write_texts(folder: &Path, texts: &[(String, String)]) -> Result<()> {
    let root = sources::root(folder);
    for (name, text) in texts {
        let path = root.join(name);
        if let Some(parent) = path.parent() {
            // An error of the folder shows when the file is written.
            let _ = std::fs::create_dir_all(parent);
        }
        save::atomically(&path, |out| out.write_all(&base::text::to_bytes(text)))?;
    }
    Ok(())
}

/// Returns name and text of the files to write in order to restore the version `wanted`: those in which it differs from the
/// texts `now`. Files that `wanted` lacks and that are not built in stay as they are.
pub(crate) fn texts_to_restore(wanted: &Sources, now: &Sources) -> Vec<(String, String)> {
    let changed = wanted.changed_since(now).into_iter();
    changed.filter_map(|name| wanted.text(&name).ok().map(|text| (name, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_folder;

    const FLAT: &str = "box_filter/03_flat.cl";

    /// Creates a version that was saved at this second, with this text of one file.
    fn version(seconds: u64, text: &str) -> StoredVersion {
        let saved = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let sources = Sources::from_texts([(FLAT.to_owned(), text.to_owned())].into()).unwrap();
        StoredVersion { saved, ..StoredVersion::new(sources, vec![FLAT.to_owned()], true) }
    }

    #[test]
    fn the_newest_hundred_versions_come_back_newest_first_and_equal_texts_once() {
        let root = test_folder("history-back");
        let history = History::at(&root.0, Path::new("/kernels"));
        assert_eq!(history.load(), (Vec::new(), None), "there is no folder yet");
        let [one, two, again] = [version(10, "one"), version(20, "two"), version(30, "one")];
        [&one, &two, &again].into_iter().for_each(|version| history.store(version).unwrap());
        assert_eq!(history.load(), (vec![again, two], None));
        let history = History::at(&root.0, Path::new("/other"));
        assert_eq!(history.load().0, [], "another folder has its own");
        // The newest hundred stay.
        (0..MAX_STORED as u64 + 3).for_each(|n| history.store(&version(n, &n.to_string())).unwrap());
        let (kept, error) = history.load();
        assert_eq!((kept.len(), error), (MAX_STORED, None));
        assert_eq!(kept.last(), Some(&version(3, "3")));
        assert_eq!(history.files().len(), MAX_STORED);
    }

    #[test]
    fn damaged_and_hostile_files_are_ignored_with_one_sentence() {
        let root = test_folder("history-hostile");
        let history = History::at(&root.0, Path::new("/kernels"));
        history.store(&version(10, "good")).unwrap();
        let good = std::fs::read_to_string(&history.files()[0]).unwrap();
        let put = |n: u32, text: &str| {
            std::fs::write(history.path.join(format!("{n:012}-{n:016x}.json")), text).unwrap();
        };
        let hostile = [
            "{ damaged".to_owned(),
            good.replace(FLAT, "../../outside.cl"),
            good.replace(FLAT, "/etc/outside.cl"),
            good.replace("/kernels", "/other"),
            good.replace("\"saved\":10", "\"saved\":18446744073709551615"),
            good.replace("\"schema\":1", "\"schema\":2"),
        ];
        for (n, text) in (100..).zip(&hostile) {
            put(n, text);
        }
        std::fs::create_dir(history.path.join(format!("{:012}-{:016x}.json", 900, 900))).unwrap();
        // Names that no version has are not read.
        std::fs::write(history.path.join("notes.json"), "mine").unwrap();
        let (kept, error) = history.load();
        assert_eq!(kept, [version(10, "good")]);
        let error = error.unwrap();
        assert_eq!(error.what, "7 earlier versions of the kernels cannot be read and are ignored.");
        assert!(error.why.contains("It is a folder, not a regular file."), "{error}");
        // Each of these files is ignored on its own.
        for text in hostile {
            assert!(history.parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_full_disk_is_an_error_and_removes_nothing() {
        let root = test_folder("history-full");
        let history = History::at(&root.0, Path::new("/kernels"));
        history.store(&version(10, "one")).unwrap();
        // The next file is a link to a device that is always full.
        let next = version(20, "two");
        let name = format!("{:012}-{:016x}.json", 20, next.hash);
        std::os::unix::fs::symlink("/dev/full", history.path.join(name)).unwrap();
        let error = history.store(&next).unwrap_err();
        assert!(error.why.contains("No space left"), "{error}");
        let (kept, error) = history.load();
        assert_eq!(kept, [version(10, "one")]);
        assert!(error.is_some(), "the device is no version");
    }

    #[test]
    fn restoring_writes_only_what_differs_and_removes_nothing() {
        let root = test_folder("history-restore");
        let (own, mean) = ("box_filter/own.cl", "common/mean.clh");
        let sources = |texts: &[(&str, &str)]| {
            let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            Sources::from_texts(texts.collect()).unwrap()
        };
        let wanted = sources(&[(FLAT, "old")]);
        let now = sources(&[(FLAT, "new"), (own, "mine"), (mean, "edited")]);
        let texts = texts_to_restore(&wanted, &now);
        let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [FLAT, mean], "the version has no {own}, and does not remove it");
        write_texts(&root.0, &texts).unwrap();
        assert_eq!(std::fs::read_to_string(root.0.join(FLAT)).unwrap(), "old");
        let built_in = Sources::default().text(mean).unwrap();
        assert_eq!(std::fs::read_to_string(root.0.join(mean)).unwrap(), built_in);
        assert!(texts_to_restore(&now, &now).is_empty());
    }
}
