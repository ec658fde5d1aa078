//! The texts of kernel files: those that are built in, and those of a folder that the user names, as they were at one moment. In:
//! a folder. Out: [`Sources`], from which everything is built until others take their place.
//!
//! A file may change between the moment in which its kernels are tried and that in which they are built: what was tried is what
//! is built. So a folder is read once for each of its versions, and threads that build [`pin`] one of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::program::{self, EMBEDDED};
use base::error::{Error, Result};
use base::load::{self, Unread};

/// Folders within folders that are looked into, and most files that are read.
const DEPTH: usize = 4;
const MOST_FILES: usize = 500;

/// The kernel files of a folder that are not as they are built in, by their paths there, such as `box_filter/01_naive.cl`. One
/// that is missing is as it is built in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Texts", into = "Texts")]
pub struct Sources(Arc<Texts>);

/// Texts by their paths, or why they cannot be read.
type Texts = BTreeMap<String, Result<String>>;

impl From<Texts> for Sources {
    fn from(texts: Texts) -> Self {
        Self(Arc::new(texts))
    }
}

impl From<Sources> for Texts {
    fn from(sources: Sources) -> Self {
        Arc::unwrap_or_clone(sources.0)
    }
}

impl Sources {
    /// Reads a folder. A file that cannot be read is an error only for who wants it.
    ///
    /// # Errors
    /// When the folder is not there.
    pub fn read(folder: &Path) -> Result<Self> {
        if let Err(e) = std::fs::read_dir(folder) {
            return Err(no_folder(folder, format!("{e}.")));
        }
        let mut texts = Texts::new();
        walk(folder, "", DEPTH, &mut |path, name| {
            if let Some(name) = name.filter(|_| texts.len() < MOST_FILES) {
                add(&mut texts, path, name);
            }
        });
        Ok(texts.into())
    }

    /// The text of a file.
    ///
    /// # Errors
    /// When it cannot be read, or there is none.
    pub fn text(&self, name: &str) -> Result<String> {
        self.0.get(name).cloned().unwrap_or_else(|| program::built_in(name))
    }

    /// Whether the folder has this file, and not as it is built in.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Writes its files into a new folder, from which the same can be read. What could not be read is left out.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir(folder)?;
        let texts = self.0.iter().filter_map(|(name, text)| Some((name.as_str(), text.as_deref().ok()?)));
        write_texts(folder, texts)
    }

    /// The files that are not the same in both, by their names.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let mut names: Vec<&String> = self.0.keys().chain(before.0.keys()).collect();
        names.sort();
        names.dedup();
        names.into_iter().filter(|name| self.0.get(*name) != before.0.get(*name)).cloned().collect()
    }
}

/// Adds a kernel file, unless it is as it is built in.
fn add(texts: &mut Texts, path: &Path, name: &str) {
    match load::text(path, load::KERNEL) {
        Ok(text) if EMBEDDED.iter().any(|(own, built_in)| *own == name && *built_in == text) => {}
        Ok(text) => drop(texts.insert(name.to_owned(), Ok(text))),
        // It went away a moment ago.
        Err(Unread::Missing) => {}
        Err(why) => drop(texts.insert(name.to_owned(), Err(unreadable(path, &why)))),
    }
}

/// Returns the paths of a folder, of those in it, and of its kernel files: what changes where one of these does.
pub fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    walk(folder, "", DEPTH, &mut |path, _| paths.push(path.to_owned()));
    paths
}

/// Visits the folders in a folder, over links, too, and its kernel files, each of which has a name, such as
/// `box_filter/01_naive.cl`.
fn walk(folder: &Path, prefix: &str, depth: usize, visit: &mut impl FnMut(&Path, Option<&str>)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let name = format!("{prefix}{name}");
        if path.is_dir() {
            if depth > 1 {
                visit(&path, None);
                walk(&path, &format!("{name}/"), depth - 1, visit);
            }
        } else if is_kernel_file(&path) {
            visit(&path, Some(&name));
        }
    }
}

/// Whether it is called as kernels and their common parts are. What is hidden is an editor's.
pub fn is_kernel_file(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !is_hidden && path.extension().is_some_and(|ending| ending == "cl" || ending == "clh")
}

const KERNEL_FILE: &str = "The kernel file ";
const KERNEL_FOLDER: &str = "The kernels in ";
const UNREADABLE: &str = " cannot be read.";

/// Whether an error says that a kernel file cannot be had, or the folder of them.
pub fn is_unreadable(error: &Error) -> bool {
    let is_of = |what: &str| error.what.starts_with(what);
    (is_of(KERNEL_FILE) || is_of(KERNEL_FOLDER)) && error.what.ends_with(UNREADABLE)
}

/// Why the files of a folder cannot be had.
pub(super) fn no_folder(folder: &Path, why: impl Into<String>) -> Error {
    Error::new(format!("{KERNEL_FOLDER}{}{UNREADABLE}", folder.display()), why, another_folder())
}

/// Why a kernel file cannot be had.
pub(super) fn unreadable(path: &Path, why: &Unread) -> Error {
    let hint =
        format!("Correct or delete it, or {} to use the kernels that are built in.", program::way_back());
    Error::new(format!("{KERNEL_FILE}{}{UNREADABLE}", path.display()), why.to_string(), hint)
}

fn another_folder() -> String {
    format!("Name another folder, or {} to use the kernels that are built in.", program::way_back())
}

/// What is built from now on, by threads that have pinned nothing; without any the folder that the environment names is read
/// each time.
static CURRENT: RwLock<Option<Sources>> = RwLock::new(None);

thread_local! {
    static PINNED: RefCell<Option<Sources>> = const { RefCell::new(None) };
}

/// Reads the folder that the environment names, for all threads of this process; once, and nothing where it names none. Where it
/// is not there, whoever builds from it says so.
pub fn read_named() {
    let mut current = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    if current.is_none() {
        let folder = program::named_folder();
        *current = folder.and_then(|folder| Sources::read(&folder).ok());
    }
}

/// From here on all threads build from these that have [pinned](pin) no others.
pub fn set_current(sources: Sources) {
    *CURRENT.write().unwrap_or_else(PoisonError::into_inner) = Some(sources);
}

/// What this thread builds from; `None`: from what is built in, or from the files of the folder that the environment names.
pub fn current() -> Option<Sources> {
    let pinned = PINNED.with_borrow(Clone::clone);
    pinned.or_else(|| CURRENT.read().unwrap_or_else(PoisonError::into_inner).clone())
}

/// From here on this thread builds from these alone; `None`: from the current ones.
pub fn pin(sources: Option<Sources>) {
    PINNED.set(sources);
}

/// The same with what is current now.
pub fn pin_current() {
    pin(None);
    pin(current());
}

/// Whether kernels may be others than those that are built in.
pub(crate) fn may_differ() -> bool {
    current().map_or_else(|| program::named_folder().is_some(), |sources| sources != Sources::default())
}

/// Whether this process builds from a folder.
pub(super) fn is_named() -> bool {
    program::named_folder().is_some()
        || PINNED.with_borrow(Option::is_some)
        || CURRENT.read().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Writes all kernel files as they are built in into a folder that is made for them, and which must not be there yet.
///
/// # Errors
/// What the system says.
pub fn write_built_in(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    write_texts(folder, EMBEDDED.iter().map(|(name, text)| (*name, *text)))
}

fn write_texts<'a>(folder: &Path, texts: impl Iterator<Item = (&'a str, &'a str)>) -> std::io::Result<()> {
    for (name, text) in texts {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_once_and_what_is_built_in_is_no_change() {
        let root = std::env::temp_dir().join(format!("clreel-sources-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        assert!(Sources::read(&root).is_err());
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
        assert!(second.text("common/mean.clh").is_err(), "no text");
        std::fs::remove_file(&flat).unwrap();
        assert_eq!(second.text("box_filter/03_flat.cl").unwrap(), "mine", "it was read before");
        let copy = root.with_extension("copy");
        let _ = std::fs::remove_dir_all(&copy);
        second.write(&copy).unwrap();
        assert!(second.write(&copy).is_err(), "nothing is written over");
        let copied = Sources::read(&copy).unwrap();
        assert_eq!(copied.changed_since(&second), ["common/mean.clh"], "all but what is no text");
        std::fs::remove_dir_all(&copy).unwrap();
        let third = Sources::read(&root).unwrap();
        assert_eq!(third.text("box_filter/03_flat.cl"), program::built_in("box_filter/03_flat.cl"));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_thread_keeps_what_it_has_pinned() {
        let mine = Sources::from(Texts::from([("box_filter/03_flat.cl".to_owned(), Ok("mine".to_owned()))]));
        pin(Some(mine));
        assert_eq!(program::source("box_filter/03_flat.cl").unwrap(), "mine");
        assert!(
            program::is_changed("box_filter/03_flat.cl") && !program::is_changed("box_filter/01_naive.cl")
        );
        pin(None);
        assert_eq!(program::source("box_filter/03_flat.cl"), program::built_in("box_filter/03_flat.cl"));
    }
}
