//! Folders that drivers and the asking of drivers write to. In: the environment. Out: folders that can be written to,
//! where the usual ones cannot.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A folder for what does not outlive the process: that of the session, the one for temporary files, or where neither
/// can be written to, those that every Linux has.
pub(super) fn passing() -> PathBuf {
    let session = base::environment::get("XDG_RUNTIME_DIR").map(PathBuf::from);
    let named = session.into_iter().chain([std::env::temp_dir()]);
    let mut all = named.chain(["/tmp", "/dev/shm"].map(PathBuf::from));
    all.find(|path| path.is_dir() && is_writable(path)).unwrap_or_else(std::env::temp_dir)
}

/// The user's folder for clreel's caches; none where there is no home.
pub fn cache() -> Option<PathBuf> {
    let get = |name| base::environment::get(name).filter(|v: &OsString| !v.is_empty()).map(PathBuf::from);
    // The XDG base directory specification: a relative path there is to be ignored.
    let base = get("XDG_CACHE_HOME").filter(|p| p.is_absolute());
    let base = base.or_else(|| get("HOME").filter(|p| p.is_absolute()).map(|home| home.join(".cache")));
    base.map(|base| base.join("clreel"))
}

/// The folder that PoCL is to keep its kernels in, where it could not use the one that it takes by itself: it then offers
/// no device, and does not say why. `None` where nothing needs to change. `variable` reads the environment.
pub(super) fn pocl_cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if variable("POCL_CACHE_DIR").is_some() {
        return None;
    }
    // Its own rule (PoCL's manual, "POCL_CACHE_DIR").
    let usual = match (variable("XDG_CACHE_HOME"), variable("HOME")) {
        (Some(caches), _) => PathBuf::from(caches),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => PathBuf::from("/tmp"),
    };
    if can_be_made(&usual.join("pocl/kcache")) { None } else { private(&passing()) }
}

/// A folder for this user alone below `parent`, the same each time.
fn private(parent: &Path) -> Option<PathBuf> {
    let path = parent.join(format!("clreel-pocl-{}", user()));
    own(&path).then_some(path)
}

/// Whether the folder, which is made where it is missing, is this user's and nobody else's: what lies in it is loaded as code.
pub(super) fn own(path: &Path) -> bool {
    let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    let made = fs::symlink_metadata(path);
    made.is_ok_and(|made| made.is_dir() && made.uid() == user() && made.mode() & 0o077 == 0)
}

fn user() -> libc::uid_t {
    // SAFETY: it takes nothing and returns a number.
    unsafe { libc::geteuid() }
}

/// Whether a folder is there or can be made, and written to.
fn can_be_made(path: &Path) -> bool {
    // What is no folder ends it: a file's name, a link that leads nowhere.
    let there = path.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    there.is_some_and(|there| there.is_dir() && is_writable(there))
}

fn is_writable(path: &Path) -> bool {
    let Ok(path) = CString::new(OsStr::as_bytes(path.as_os_str())) else { return false };
    // SAFETY: the path ends with a zero.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pocl_gets_another_cache_only_where_its_own_cannot_be_made() {
        let root = std::env::temp_dir().join(format!("clreel-places-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let with = |name: &str, value: &Path| {
            let value = value.as_os_str().to_owned();
            pocl_cache(|asked| (asked == name).then(|| value.clone()))
        };
        assert_eq!(with("XDG_CACHE_HOME", &root.join("not/yet/there")), None);
        assert_eq!(with("HOME", &root), None);
        assert_eq!(with("POCL_CACHE_DIR", &root.join("file")), None, "what the user says stays");
        for other in [with("XDG_CACHE_HOME", &root.join("file")), with("HOME", &root.join("file"))] {
            let other = other.expect("a folder");
            assert!(other.is_dir() && is_writable(&other), "{}", other.display());
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_taken() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = std::env::temp_dir().join(format!("clreel-private-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let made = private(&root).unwrap();
        assert_eq!(private(&root), Some(made.clone()), "the same each time");
        fs::set_permissions(&made, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(private(&root), None);
        fs::remove_dir(&made).unwrap();
        std::os::unix::fs::symlink("/tmp", &made).unwrap();
        assert_eq!(private(&root), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
