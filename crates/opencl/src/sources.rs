//! Texts of kernel files: those built into the binary, and those of a folder that the user names with `--kernels` or
//! `CLREEL_KERNELS`, laid out like `kernels/`. For a file that the folder lacks, the built-in text is used.
//!
//! A file may change between the validation of its kernels and their compilation, but the validated text must be the compiled
//! one. So each version of a folder is read once, and a [`ClContext`](crate::cl::ClContext) has the [`Sources`] from which its
//! programs are compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::folders;
use crate::includes;
use base::error::{Error, ErrorKind, Result};
use base::load::{self, Unread};

/// The kernel files that are built in, as pairs of a path under `kernels/` and a text. `build.rs` lists them.
pub(super) const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The environment variable that names a folder of kernels.
pub(crate) const KERNELS_VARIABLE: &str = "CLREEL_KERNELS";

/// The environment variable that names the folder of the selected filter.
pub const FILTER_VARIABLE: &str = "CLREEL_FILTER";

/// The suggestion to use the built-in kernels, for errors in edited kernels.
pub const BUILT_IN_HINT: &str =
    "To use the built-in kernels, start clreel without --kernels and CLREEL_KERNELS.";

/// The file name extensions of kernels, and of files that these include.
const FILE_ENDINGS: [&str; 6] = ["cl", "clh", "h", "hpp", "inc", "def"];
/// The file that describes a filter, in the folder of its kernels.
pub const DESCRIPTION: &str = "filter.toml";
/// The maximum depth to which a folder of kernels is searched.
const MAX_DEPTH: usize = 4;
/// The maximum number of kernel files that are read from a folder.
const MAX_FILES: usize = 500;

/// Returns the folder of kernels that the environment names; `None` if the variable is not set or empty.
pub fn named_folder() -> Option<PathBuf> {
    named(KERNELS_VARIABLE)
}

/// Returns the folder of a filter that the environment names; `None` if the variable is not set or empty.
pub fn named_filter() -> Option<PathBuf> {
    named(FILTER_VARIABLE)
}

fn named(variable: &str) -> Option<PathBuf> {
    base::environment::get(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The texts of kernel files: the built-in texts, and the texts of a folder that differ from these. By default all are
/// built-in. Clones share the texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Texts", into = "Texts")]
pub struct Sources(Arc<Texts>);

/// The texts of changed files by path, such as `box_filter/01_naive.cl`; for a file that cannot be read, its error. The outer
/// error is that of a folder that cannot be read.
type Texts = Result<BTreeMap<String, Result<String>>>;

impl Default for Sources {
    fn default() -> Self {
        Ok(BTreeMap::new()).into()
    }
}

impl From<Texts> for Sources {
    fn from(texts: Texts) -> Self {
        Self(Arc::new(texts))
    }
}

impl From<Sources> for Texts {
    /// Returns the texts, copied if other clones use them.
    fn from(sources: Sources) -> Self {
        Arc::unwrap_or_clone(sources.0)
    }
}

impl Sources {
    /// Reads the kernel files of the [folder that the environment names](named_folder); without one, returns the built-in
    /// files. If the folder cannot be listed, the result [is unreadable](Self::is_unreadable).
    pub fn from_environment() -> Self {
        named_folder().map_or_else(Self::default, |folder| {
            Self::read(&folder).unwrap_or_else(|error| Err(error).into())
        })
    }

    /// Reads the kernel files of a folder: one laid out like `kernels/`, or one of a filter, which has a `filter.toml` and counts
    /// as a folder in `kernels/`. A file that cannot be read is an error only when its [text](Self::text) is requested.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed.
    pub fn read(folder: &Path) -> Result<Self> {
        if let Err(e) = std::fs::read_dir(folder) {
            return Err(unreadable_error(
                &format!("The kernels in {}", folder.display()),
                &format!("{e}."),
                "Name another folder.",
            ));
        }
        let (root, mut texts) = (folder.canonicalize().unwrap_or_default(), BTreeMap::new());
        let filter = filter_name(folder);
        let prefix = filter.as_ref().map_or(String::new(), |name| format!("{name}/"));
        visit_files(folder, &prefix, MAX_DEPTH, &mut |path, name| {
            if let Some(name) = name.filter(|_| texts.len() < MAX_FILES) {
                let read = || load::source(path, load::MAX_KERNEL_BYTES);
                match require_inside(&root, path, filter.is_some()).and_then(|()| read()) {
                    Ok(text) if built_in(name) == Some(&text) => {}
                    Ok(text) => drop(texts.insert(name.to_owned(), Ok(text))),
                    // The file was deleted after the folder was listed.
                    Err(Unread::Missing) => {}
                    Err(why) => {
                        let what = format!("The kernel file {}", path.display());
                        let error = unreadable_error(&what, &why.to_string(), "Correct or delete it.");
                        texts.insert(name.to_owned(), Err(error));
                    }
                }
            }
        });
        Ok(Ok(texts).into())
    }

    /// Creates sources from texts by path, such as `box_filter/01_naive.cl`. Texts that equal the built-in ones are dropped, as
    /// in [`Sources::read`].
    ///
    /// # Errors
    /// Returns the reason if these cannot be the texts of a folder of kernels: there are too many, one is too long, or a path is
    /// not one of a kernel file inside the folder.
    pub fn from_texts(texts: BTreeMap<String, String>) -> Result<Self, String> {
        if texts.len() > MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} files"));
        }
        if let Some(name) = texts.keys().find(|name| !is_kernel_name(name)) {
            return Err(format!("'{name}' is no kernel file"));
        }
        if texts.values().any(|text| text.len() as u64 > load::MAX_KERNEL_BYTES) {
            return Err(format!("a text is longer than {} MiB", load::MAX_KERNEL_BYTES >> 20));
        }
        let changed = texts.into_iter().filter(|(name, text)| built_in(name) != Some(text));
        Ok(Ok(changed.map(|(name, text)| (name, Ok(text))).collect()).into())
    }

    /// Returns true if built-in kernel files are in a folder of this name.
    pub fn has_built_in(folder: &str) -> bool {
        let is_inside = |name: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        EMBEDDED.iter().any(|(name, _)| is_inside(name))
    }

    /// Returns the paths of the changed files, with their texts or the errors with which they could not be read.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &Result<String>)> {
        self.0.iter().flatten().map(|(name, text)| (name.as_str(), text))
    }

    /// Returns the paths and texts of the changed files, without those that could not be read.
    pub fn changed_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.0.iter().flatten();
        texts.filter_map(|(name, text)| Some((name.as_str(), text.as_deref().ok()?)))
    }

    /// Returns the text of a file by its path under `kernels/`.
    ///
    /// # Errors
    /// Returns an error if the file or the folder cannot be read, or there is no such file.
    pub fn text(&self, name: &str) -> Result<String> {
        let built_in =
            || built_in(name).map(str::to_owned).ok_or_else(|| missing_file_error(name, self.is_built_in()));
        self.files()?.get(name).cloned().unwrap_or_else(built_in)
    }

    /// Returns the text of a kernel file with the texts of the files that it includes.
    ///
    /// # Errors
    /// Returns an error as [`Sources::text`] does, or if the included files are too long together.
    pub(super) fn whole_text(&self, name: &str) -> Result<String> {
        self.with_includes(name, &self.text(name)?)
    }

    /// Returns `text`, taken as the text of the file `name`, with the files that it includes.
    ///
    /// # Errors
    /// Returns an error if the included files are too long together.
    pub(super) fn with_includes(&self, name: &str, text: &str) -> Result<String> {
        includes::resolve(name, text, &|name| self.text(name))
    }

    /// Returns true if the folder of kernels has the file `name` with another text than the built-in one.
    pub fn has(&self, name: &str) -> bool {
        self.files().is_ok_and(|files| files.contains_key(name))
    }

    /// Returns true if all files have their built-in texts.
    pub fn is_built_in(&self) -> bool {
        self.files().is_ok_and(BTreeMap::is_empty)
    }

    /// Returns true if the folder of kernels could not be read, so that no text is available; [`Self::require_readable`] has
    /// the reason.
    pub fn is_unreadable(&self) -> bool {
        self.0.is_err()
    }

    /// Succeeds if the folder of kernels could be read.
    ///
    /// # Errors
    /// Returns the error with which reading the folder failed.
    pub fn require_readable(&self) -> Result<()> {
        self.files().map(drop)
    }

    /// Returns true if a file with its includes differs from the built-in one, or is not built in, so that its kernels are not
    /// verified. Returns false for a file that cannot be read, since it cannot be compiled either.
    pub fn is_changed(&self, name: &str) -> bool {
        let built_in = || Self::default().whole_text(name).ok();
        !self.is_built_in() && self.whole_text(name).is_ok_and(|text| built_in() != Some(text))
    }

    /// Returns true if a built-in kernel file (`.cl`) whose path begins with `prefix` [is changed](Self::is_changed).
    pub fn any_changed(&self, prefix: &str) -> bool {
        let is_kernel = |name: &&str| name.starts_with(prefix) && name.ends_with(".cl");
        EMBEDDED.iter().map(|(name, _)| *name).filter(is_kernel).any(|name| self.is_changed(name))
    }

    /// Returns true if a file, with its includes, has the same text in both sources; false if it cannot be read in one of them.
    pub fn is_same(&self, other: &Self, name: &str) -> bool {
        matches!((self.whole_text(name), other.whole_text(name)), (Ok(one), Ok(other)) if one == other)
    }

    /// Returns a hash of a file with its includes, as 16 hexadecimal digits.
    ///
    /// # Errors
    /// Returns an error if a file is missing or cannot be read.
    pub fn fingerprint(&self, name: &str) -> Result<String> {
        Ok(format!("{:016x}", hash(self.whole_text(name)?.as_bytes())))
    }

    /// Returns a hash of all files in the folder of a user's filter, as 16 hexadecimal digits; `None` if it is no such folder.
    pub fn filter_fingerprint(&self, folder: &str) -> Option<String> {
        let is_inside = |name: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let is_filter = self.has(&format!("{folder}/{DESCRIPTION}")) && !Self::has_built_in(folder);
        let texts = self.changed_texts().filter(|(name, _)| is_inside(name));
        is_filter.then(|| format!("{:016x}", hash_of_texts(texts)))
    }

    /// Writes the changed files into the new folder `folder`. Files that could not be read are left out.
    ///
    /// # Errors
    /// Returns the system's error, also if the folder already exists.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir(folder)?;
        write_texts(folder, self.changed_texts())
    }

    /// Returns the names of the files that differ between `before` and these sources.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let files = |sources: &Self| sources.files().cloned().unwrap_or_default();
        let (now, before) = (files(self), files(before));
        let names: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
        names.into_iter().filter(|name| now.get(*name) != before.get(*name)).cloned().collect()
    }

    /// Returns the files that differ from the built-in ones.
    fn files(&self) -> Result<&BTreeMap<String, Result<String>>> {
        self.0.as_ref().as_ref().map_err(Clone::clone)
    }
}

/// Returns the text of a built-in kernel file; `None` if there is no such file.
fn built_in(name: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// Returns the error for a kernel file that does not exist. `is_built_in` is true if no folder of kernels is used.
fn missing_file_error(name: &str, is_built_in: bool) -> Error {
    let folder = match named_folder() {
        Some(folder) => Some(format!("in {}", base::text::name(folder))),
        None => (!is_built_in).then(|| "in the folder of kernels".to_owned()),
    };
    let (why, hint) = match folder {
        Some(folder) => (
            format!("It is neither {folder} nor among the built-in kernels."),
            "Correct the name, or put the file there.",
        ),
        None => (
            "It is not among the built-in kernels.".to_owned(),
            "Name the folder that has it with --kernels.",
        ),
    };
    Error {
        kind: ErrorKind::NoKernelFile,
        ..Error::new(format!("There is no kernel file '{name}'."), why, hint)
    }
}

/// Returns the error for a kernel file or folder that cannot be read. `hint` is a suggestion to the user, in addition to using the
/// built-in kernels.
fn unreadable_error(what: &str, why: &str, hint: &str) -> Error {
    let error = Error::new(format!("{what} cannot be read."), why, format!("{hint} {BUILT_IN_HINT}"));
    Error { kind: ErrorKind::KernelsUnreadable, ..error }
}

/// Checks that a header is a file of the folder `root`, and also a kernel if the folder is that of a filter. Other kernels may be
/// links to other places; a folder from elsewhere must not pass other files to the compiler, which quotes them in its log.
fn require_inside(root: &Path, path: &Path, is_filter: bool) -> Result<(), Unread> {
    let is_header = path.extension().is_some_and(|ending| ending != "cl");
    match (is_header || is_filter) && path.canonicalize().is_ok_and(|real| !real.starts_with(root)) {
        true => Err(Unread::WrongKind("It is a link that leaves the folder.".to_owned())),
        false => Ok(()),
    }
}

/// Returns the name of the filter whose folder this is; `None` if it has no `filter.toml`.
fn filter_name(folder: &Path) -> Option<String> {
    let path = folder.canonicalize().ok().filter(|path| path.join(DESCRIPTION).exists())?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// Returns the folder below which the files of a folder of kernels have their paths: that folder, or the parent of the folder of a
/// filter.
pub fn root(folder: &Path) -> PathBuf {
    let parent = || folder.canonicalize().ok()?.parent().map(Path::to_owned);
    filter_name(folder).and_then(|_| parent()).unwrap_or_else(|| folder.to_owned())
}

/// Returns the paths of a folder, its subfolders and its kernel files. Any change of the kernels changes a file or folder with one
/// of these paths.
pub fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    visit_files(folder, "", MAX_DEPTH, &mut |path, _| paths.push(path.to_owned()));
    paths
}

/// Calls `visit` for the subfolders of a folder, also behind symbolic links, and for its kernel files. Kernel files are passed with
/// their name, such as `box_filter/01_naive.cl`, subfolders with `None`.
fn visit_files(folder: &Path, prefix: &str, depth: usize, visit: &mut impl FnMut(&Path, Option<&str>)) {
    for path in folders::entries(folder) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let name = format!("{prefix}{name}");
        if is_kernel_file(&path) {
            // A folder of such a name is passed as well; reading it fails.
            visit(&path, Some(&name));
        } else if path.is_dir() && depth > 1 {
            visit(&path, None);
            visit_files(&path, &format!("{name}/"), depth - 1, visit);
        }
    }
}

/// Returns true if the file has the extension of kernels or headers and is not hidden, or describes a filter. Hidden files belong to
/// editors.
pub fn is_kernel_file(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let is_known = |ending: &OsStr| FILE_ENDINGS.iter().any(|known| ending == *known);
    !is_hidden && path.extension().is_some_and(is_known)
        || path.file_name().is_some_and(|name| name == DESCRIPTION)
}

/// Returns true if a kernel file inside a folder of kernels can have this path, relative to the folder.
pub fn is_kernel_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |part: &&str| !part.is_empty() && *part != "." && *part != "..";
    parts.len() <= MAX_DEPTH
        && parts.iter().all(is_plain)
        && !name.contains(base::text::is_control)
        && is_kernel_file(Path::new(name))
}

/// Writes the built-in kernel files into a new folder.
///
/// # Errors
/// Returns the system's error, also if the folder already exists.
pub fn write_built_in(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    write_texts(folder, EMBEDDED.iter().map(|(name, text)| (*name, *text)))
}

/// Writes files with these names and texts into a folder.
fn write_texts<'a>(folder: &Path, texts: impl Iterator<Item = (&'a str, &'a str)>) -> std::io::Result<()> {
    for (name, text) in texts {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, base::text::to_bytes(text))?;
    }
    Ok(())
}

/// Returns a hash of files: their paths and texts.
pub fn hash_of_texts<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
    let mut bytes = Vec::new();
    for (name, text) in files {
        for part in [name, text] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
    }
    hash(&bytes)
}

/// Returns a hash of bytes that detects damage and changes; it does not withstand attacks (FNV-1a: G. Fowler, L. C. Noll, K.-P.
/// Vo, 1991).
pub fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_once_and_what_is_built_in_is_no_change() {
        let folder = folders::test_folder("sources");
        let root = folder.0.join("kernels");
        let error = Sources::read(&root).unwrap_err();
        assert_eq!(error.kind, ErrorKind::KernelsUnreadable);
        assert!(error.hint.contains("Name another folder. To use the built-in kernels, "), "{error}");
        write_built_in(&root).unwrap();
        assert!(write_built_in(&root).is_err(), "nothing is written over");
        let first = Sources::read(&root).unwrap();
        assert_eq!(first, Sources::default());
        let flat = root.join("box_filter/03_flat.cl");
        std::fs::write(&flat, "mine").unwrap();
        std::fs::write(root.join("box_filter/03_flat.cl~"), "no kernel").unwrap();
        std::fs::write(root.join("common/mean.clh"), [0xff, 0xfe]).unwrap();
        let second = Sources::read(&root).unwrap();
        assert_eq!(second.changed_since(&first), ["box_filter/03_flat.cl", "common/mean.clh"]);
        assert_eq!(first.changed_since(&second), second.changed_since(&first));
        assert_eq!(second.text("box_filter/03_flat.cl").unwrap(), "mine");
        let error = second.text("common/mean.clh").unwrap_err();
        assert_eq!(error.kind, ErrorKind::KernelsUnreadable, "no text");
        assert!(error.hint.contains("Correct or delete it. "), "{error}");
        let unreadable = Sources::from(Err(error.clone()));
        assert!(unreadable.is_unreadable() && !unreadable.is_built_in());
        assert_eq!(unreadable.text("box_filter/03_flat.cl"), Err(error));
        std::fs::remove_file(&flat).unwrap();
        assert_eq!(second.text("box_filter/03_flat.cl").unwrap(), "mine", "it was read before");
        let copy = root.with_extension("copy");
        second.write(&copy).unwrap();
        assert!(second.write(&copy).is_err(), "nothing is written over");
        let copied = Sources::read(&copy).unwrap();
        assert_eq!(copied.changed_since(&second), ["common/mean.clh"], "all but what is no text");
        let third = Sources::read(&root).unwrap();
        assert_eq!(third.text("box_filter/03_flat.cl"), Sources::default().text("box_filter/03_flat.cl"));
    }

    #[test]
    fn a_header_that_is_a_link_out_of_the_folder_is_not_read() {
        use std::os::unix::fs::symlink;
        let folder = folders::test_folder("links");
        let root = &folder.0;
        let kernels = root.join("kernels");
        std::fs::create_dir_all(kernels.join("common")).unwrap();
        std::fs::create_dir(root.join("out")).unwrap();
        std::fs::write(root.join("out/x.clh"), "outside").unwrap();
        std::fs::write(kernels.join("common/in.clh"), "inside").unwrap();
        for (name, target) in [
            ("inner.clh", "common/in.clh"),
            ("outer.clh", "../out/x.clh"),
            ("folder", "../out"),
            ("own.cl", "../out/x.clh"),
        ] {
            symlink(target, kernels.join(name)).unwrap();
        }
        symlink("kernels", root.join("link")).unwrap();
        for folder in [&kernels, &root.join("link")] {
            let sources = Sources::read(folder).unwrap();
            assert_eq!(sources.text("inner.clh").as_deref(), Ok("inside"));
            assert_eq!(sources.text("own.cl").as_deref(), Ok("outside"), "a kernel may be a link");
            for name in ["outer.clh", "folder/x.clh"] {
                let error = sources.text(name).unwrap_err();
                assert_eq!(error.why, "It is a link that leaves the folder.", "{name}");
            }
        }
    }

    #[test]
    fn texts_from_elsewhere_are_those_of_files_inside_a_folder() {
        let of = |name: &str| Sources::from_texts(BTreeMap::from([(name.to_owned(), "mine".to_owned())]));
        for name in ["box_filter/03_flat.cl", "own.clh", "a/b/c/d.cl"] {
            assert_eq!(of(name).unwrap().text(name).unwrap(), "mine");
        }
        for name in [
            "../x.cl",
            "/x.cl",
            "a/../../x.cl",
            "a//x.cl",
            "./x.cl",
            "a/.x.cl",
            "a/x.txt",
            "x",
            "",
            "a/b/c/d/e.cl",
            "a/\n.cl",
        ] {
            assert!(of(name).is_err(), "{name}");
        }
        let flat = "box_filter/03_flat.cl";
        let same = BTreeMap::from([(flat.to_owned(), Sources::default().text(flat).unwrap())]);
        assert_eq!(Sources::from_texts(same), Ok(Sources::default()), "it is as it is built in");
        let long = BTreeMap::from([(flat.to_owned(), "x".repeat((load::MAX_KERNEL_BYTES + 1) as usize))]);
        assert!(Sources::from_texts(long).is_err());
    }

    #[test]
    fn every_embedded_file_is_one_text() {
        for (name, text) in EMBEDDED {
            assert!(!Sources::default().with_includes(name, text).unwrap().contains("#include"), "{name}");
        }
    }
}
