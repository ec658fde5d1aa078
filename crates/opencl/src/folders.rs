//! Folders for caches and temporary files, with replacements where the usual ones are not writable.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use base::cleanup::CleanupPath;

/// A folder for temporary files. The folder and its files are removed when this value is dropped, or when a signal ends the
/// process.
#[derive(Debug)]
pub struct Folder(
    /// The folder's path.
    pub PathBuf,
    #[expect(dead_code, reason = "held until the folder is gone")] CleanupPath,
);

impl Folder {
    /// Creates a folder that only this user can access.
    ///
    /// # Errors
    /// Returns an error if the folder exists, or cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let passing = CleanupPath::new(path);
        fs::DirBuilder::new().mode(0o700).create(path)?;
        Ok(Self(path.to_owned(), passing))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, a few links stay in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Creates an empty folder for a test.
#[cfg(test)]
pub(crate) fn test_folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("clreel-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    Folder::create(&path).unwrap()
}

/// Returns a writable folder for temporary files: the folder of the user's session, the system's folder, `/tmp` or `/dev/shm`,
/// the first of them that is writable.
pub(super) fn temporary_folder() -> PathBuf {
    let session = base::environment::get("XDG_RUNTIME_DIR").map(PathBuf::from);
    let named = session.into_iter().chain([std::env::temp_dir()]);
    let mut all = named.chain(["/tmp", "/dev/shm"].map(PathBuf::from));
    all.find(|path| path.is_dir() && is_writable(path)).unwrap_or_else(std::env::temp_dir)
}

/// Returns the path of the user's folder for clreel's caches; `None` if the user has no home folder.
pub fn cache_folder() -> Option<PathBuf> {
    let get = |name| base::environment::get(name).filter(|v: &OsString| !v.is_empty()).map(PathBuf::from);
    // The XDG base directory specification says to ignore a relative path.
    let base = get("XDG_CACHE_HOME").filter(|p| p.is_absolute());
    let base = base.or_else(|| get("HOME").filter(|p| p.is_absolute()).map(|home| home.join(".cache")));
    base.map(|base| base.join("clreel"))
}

/// Returns a folder for PoCL's cache of kernels if PoCL cannot use its default folder: it would then offer no device and give
/// no reason. `None` if the default folder works. `variable` returns the values of environment variables.
pub(super) fn pocl_cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if variable("POCL_CACHE_DIR").is_some() {
        return None;
    }
    // PoCL's rule for its default folder (PoCL's manual, "POCL_CACHE_DIR").
    let usual = match (variable("XDG_CACHE_HOME"), variable("HOME")) {
        (Some(caches), _) => PathBuf::from(caches),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => PathBuf::from("/tmp"),
    };
    // The nearest ancestor that exists decides whether the folder can be made; it may be a file, or a link that leads nowhere.
    let usual = usual.join("pocl/kcache");
    let there = usual.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    let can_be_made = there.is_some_and(|there| there.is_dir() && is_writable(there));
    if can_be_made { None } else { private_folder(&temporary_folder()) }
}

/// Returns the paths of the entries of a folder, sorted; empty if it cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// Returns the entries of a folder whose names are `prefix` and a number, sorted by name.
pub(super) fn numbered_entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let is_numbered = |path: &PathBuf| {
        let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix(prefix));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    entries(folder).into_iter().filter(is_numbered).collect()
}

/// Creates this user's own folder for PoCL below `parent`, with the same name each time. Returns `None` if the folder cannot be
/// used.
fn private_folder(parent: &Path) -> Option<PathBuf> {
    let path = parent.join(format!("clreel-pocl-{}", user_id()));
    make_private(&path).then_some(path)
}

/// Creates the folder if it is missing. Returns true if it belongs to this user and nobody else can access it, since its files are
/// loaded as code.
pub(super) fn make_private(path: &Path) -> bool {
    let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    let made = fs::symlink_metadata(path);
    made.is_ok_and(|made| made.is_dir() && made.uid() == user_id() && made.mode() & 0o077 == 0)
}

/// Returns the id of the user whose rights the process has.
fn user_id() -> libc::uid_t {
    // SAFETY: it takes nothing and returns a number.
    unsafe { libc::geteuid() }
}

/// Returns true if this process may create files in the folder.
fn is_writable(path: &Path) -> bool {
    access(path, libc::W_OK | libc::X_OK).is_ok()
}

/// Tests whether this process may use a file in the ways of `mode`, such as `R_OK`, without opening it.
pub(super) fn access(path: &Path, mode: libc::c_int) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero.
    match unsafe { libc::access(path.as_ptr(), mode) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pocl_gets_another_cache_only_where_its_own_cannot_be_made() {
        let Folder(root, _) = &test_folder("places");
        fs::write(root.join("file"), "").unwrap();
        let with = |name: &str, value: &Path| {
            let value = value.as_os_str().to_owned();
            pocl_cache(|asked| (asked == name).then(|| value.clone()))
        };
        assert_eq!(with("XDG_CACHE_HOME", &root.join("not/yet/there")), None);
        assert_eq!(with("HOME", root), None);
        assert_eq!(with("POCL_CACHE_DIR", &root.join("file")), None, "what the user says stays");
        for other in [with("XDG_CACHE_HOME", &root.join("file")), with("HOME", &root.join("file"))] {
            let other = other.expect("a folder");
            assert!(other.is_dir() && is_writable(&other), "{}", other.display());
        }
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_taken() {
        use std::os::unix::fs::PermissionsExt as _;
        let Folder(root, _) = &test_folder("private");
        let made = private_folder(root).unwrap();
        assert_eq!(private_folder(root), Some(made.clone()), "the same each time");
        fs::set_permissions(&made, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(private_folder(root), None);
        fs::remove_dir(&made).unwrap();
        std::os::unix::fs::symlink("/tmp", &made).unwrap();
        assert_eq!(private_folder(root), None);
    }
}
