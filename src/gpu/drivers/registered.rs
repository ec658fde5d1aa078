//! Which drivers are registered on the machine, and folders of registrations for the loader. In: the environment and
//! the file system. Out: [`Registered`] drivers, and [`Folder`]s that they can be put into.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::leftovers::Passing;
use crate::load;

const VENDORS: &str = "/etc/OpenCL/vendors";

/// A driver that can be loaded by the loader: its registration, or its library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Registered {
    File(PathBuf),
    Library(OsString),
}

impl Registered {
    pub(crate) fn name(&self) -> String {
        match self {
            Registered::File(path) => crate::text::name(path),
            Registered::Library(library) => crate::text::name(library),
        }
    }

    /// The library to load, as the loader reads it.
    pub(crate) fn library(&self) -> OsString {
        match self {
            Registered::File(path) => {
                let bytes = load::bytes(path, load::LIST).unwrap_or_default();
                let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
                OsStr::from_bytes(line.trim_ascii()).to_owned()
            }
            Registered::Library(library) => library.clone(),
        }
    }

    /// What a name to leave out is looked for in, besides the platforms' names: the files' names.
    pub(crate) fn is_named(&self, part: &str) -> bool {
        let file_name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let file = match self {
            Registered::File(path) => file_name(path),
            Registered::Library(_) => String::new(),
        };
        file.contains(part) || file_name(Path::new(&self.library())).contains(part)
    }

    /// Registers it in `folder`, under a name that keeps the order.
    pub(crate) fn put_into(&self, folder: &Path, number: usize) -> io::Result<()> {
        let link = folder.join(format!("{number:03}.icd"));
        match self {
            Registered::File(path) => symlink(std::path::absolute(path)?, link),
            Registered::Library(library) => fs::write(link, library.as_bytes()),
        }
    }
}

/// The drivers that the loader would load. The rules are those of ocl-icd's manual (libOpenCL(7)) and of Khronos'
/// loader; `variable` reads the environment.
pub(super) fn registered(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Registered> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let standard = PathBuf::from(set("OPENCL_VENDOR_PATH").unwrap_or(VENDORS.into()));
    let mut found = match set("OCL_ICD_VENDORS").map(PathBuf::from) {
        None => files_in(&standard),
        Some(path) if path.is_dir() => files_in(&path),
        Some(path) if path.extension() == Some(OsStr::new("icd")) => {
            let in_standard = standard.join(&path);
            let bare = path.components().count() == 1;
            vec![Registered::File(if bare && in_standard.exists() { in_standard } else { path })]
        }
        Some(library) => vec![Registered::Library(library.into_os_string())],
    };
    // Khronos' loader loads these as well; ocl-icd does not know the variable.
    for library in set("OCL_ICD_FILENAMES").iter().flat_map(|list| list.as_bytes().split(|b| *b == b':')) {
        let listed = Registered::Library(OsStr::from_bytes(library).to_owned());
        // A driver may be registered by one version of its name, and listed by another.
        let is_registered = || found.iter().any(|driver| stem(&driver.library()) == stem(&listed.library()));
        if !library.is_empty() && !is_registered() {
            found.push(listed);
        }
    }
    without_twins(found)
}

/// A library's file name without its version: "libpocl" of "/usr/lib/libpocl.so.2.9.0".
fn stem(library: &OsStr) -> String {
    let name = Path::new(library).file_name().unwrap_or(library).to_string_lossy().into_owned();
    name.split(".so").next().unwrap_or_default().to_owned()
}

/// Drops registrations of a library that is registered already: its devices would be there twice.
fn without_twins(all: Vec<Registered>) -> Vec<Registered> {
    let mut seen: Vec<OsString> = Vec::new();
    let is_new = |driver: &Registered| {
        let library = driver.library();
        let name = Path::new(&library).file_name().unwrap_or(&library).to_owned();
        let new = name.is_empty() || !seen.contains(&name);
        seen.push(name);
        new
    };
    all.into_iter().filter(is_new).collect()
}

fn files_in(folder: &Path) -> Vec<Registered> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension() == Some(OsStr::new("icd"))).collect();
    files.sort();
    files.into_iter().map(Registered::File).collect()
}

/// A folder of this process alone, taken away with all in it when dropped.
#[derive(Debug)]
pub(crate) struct Folder(pub PathBuf, #[expect(dead_code, reason = "held until the folder is gone")] Passing);

impl Folder {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let passing = Passing::new(path);
        fs::DirBuilder::new().mode(0o700).create(path)?;
        Ok(Self(path.to_owned(), passing))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is a few links in a folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_which_drivers_are_registered() {
        let folder = std::env::temp_dir().join(format!("clreel-registered-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let folder = Folder::create(&folder).unwrap();
        for (name, library) in [
            ("b.icd", "/lib/libother.so"),
            ("a.icd", "libsome.so.1 \n"),
            ("c.icd", "libsome.so.1"),
            ("notes.txt", ""),
        ] {
            fs::write(folder.0.join(name), library).unwrap();
        }
        let with = |name: &str, value: &OsStr| {
            let (name, value) = (name.to_owned(), value.to_owned());
            registered(move |asked| (asked == name).then(|| value.clone()))
        };
        let file = |name: &str| Registered::File(folder.0.join(name));
        let both = [file("a.icd"), file("b.icd")];
        assert_eq!(with("OCL_ICD_VENDORS", folder.0.as_os_str()), both);
        assert_eq!(with("OPENCL_VENDOR_PATH", folder.0.as_os_str()), both);
        assert_eq!(with("OCL_ICD_VENDORS", folder.0.join("b.icd").as_os_str()), [file("b.icd")]);
        let library = |name: &str| Registered::Library(name.into());
        assert_eq!(with("OCL_ICD_VENDORS", OsStr::new("libmine.so")), [library("libmine.so")]);
        assert_eq!(stem(OsStr::new("/usr/lib/libpocl.so.2.9.0")), stem(OsStr::new("libpocl.so.2")));
        let listed = with("OCL_ICD_FILENAMES", OsStr::new("/a/libone.so:libone.so.1:libtwo.so"));
        assert_eq!(listed[listed.len() - 2..], [library("/a/libone.so"), library("libtwo.so")]);
        assert_eq!(file("a.icd").library(), "libsome.so.1");
        assert!(file("a.icd").is_named("a.icd") && file("a.icd").is_named("some"));
        assert!(!file("a.icd").is_named("registered"), "the folder's name does not count");
    }
}
