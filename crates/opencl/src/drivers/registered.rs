//! Finds the registered drivers, and makes folders of registrations for the loader.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::folders;
use base::load;

/// The folder of driver registrations that is used unless an environment variable names another one.
pub(crate) const STANDARD_FOLDER: &str = "/etc/OpenCL/vendors";
/// The environment variable that names a folder of registrations, a registration file, or a driver's library.
const VENDORS: &str = "OCL_ICD_VENDORS";
/// The environment variable that names a folder of registrations in place of the standard folder.
const VENDOR_PATH: &str = "OPENCL_VENDOR_PATH";
/// The environment variable that names libraries of drivers, which Khronos' loader loads.
const FILE_NAMES: &str = "OCL_ICD_FILENAMES";

/// A driver that the OpenCL loader would load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RegisteredDriver {
    pub source: Source,
    /// The environment variable that names this driver, if any.
    pub named_by: Option<&'static str>,
}

/// The way in which a driver is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A file that contains the path of the library.
    File(PathBuf),
    /// The library, as an environment variable names it.
    Library(OsString),
}

impl RegisteredDriver {
    /// Creates the entry of a driver that a file registers.
    fn file(path: PathBuf) -> Self {
        Self { source: Source::File(path), named_by: None }
    }

    /// Creates the entry of a driver whose library this environment variable names.
    fn library_of(variable: &'static str, library: &OsStr) -> Self {
        Self { source: Source::Library(library.to_owned()), named_by: Some(variable) }
    }

    /// Returns the file name of the registration or of the library.
    pub(crate) fn name(&self) -> String {
        match &self.source {
            Source::File(path) => base::text::name(path),
            Source::Library(library) => base::text::name(library),
        }
    }

    /// Returns the library to load, read as loaders read it: the first line of the registration file, whitespace included.
    pub(crate) fn library(&self) -> OsString {
        match &self.source {
            Source::File(path) => {
                let bytes = load::bytes(path, load::MAX_LIST_BYTES).unwrap_or_default();
                OsStr::from_bytes(first_line(&bytes)).to_owned()
            }
            Source::Library(library) => library.clone(),
        }
    }

    /// Returns the reason why the registration file names no library; `None` if it names one.
    pub(crate) fn fault(&self) -> Option<String> {
        let Source::File(path) = &self.source else { return None };
        let bytes = match load::bytes(path, load::MAX_LIST_BYTES) {
            Ok(bytes) => bytes,
            Err(why) => return Some(why.to_string()),
        };
        let why = match () {
            () if bytes.trim_ascii().is_empty() => "Its file is empty: the path of the library is missing.",
            () if bytes.contains(&0) => "Its file is no plain text, as where it was saved in UTF-16.",
            () if first_line(&bytes).trim_ascii().is_empty() => {
                "Its file begins with an empty line: the path belongs there."
            }
            () => return None,
        };
        Some(why.to_owned())
    }

    /// Returns true if the file name of the registration or of the library contains `part`. `part` is in lower case.
    pub(crate) fn is_named(&self, part: &str) -> bool {
        let file_name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_file_named = matches!(&self.source, Source::File(path) if file_name(path).contains(part));
        is_file_named || file_name(Path::new(&self.library())).contains(part)
    }

    /// Registers the driver in `folder`, under a file name that begins with `number` and so keeps the order of drivers.
    pub(crate) fn put_into(&self, folder: &Path, number: usize) -> io::Result<()> {
        let link = folder.join(format!("{number:03}.icd"));
        match &self.source {
            Source::File(path) => symlink(std::path::absolute(path)?, link),
            Source::Library(library) => fs::write(link, library.as_bytes()),
        }
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// The place where loaders look for drivers, in addition to the variable [`FILE_NAMES`].
enum Place {
    /// A folder of registrations, and the environment variable that names it, if any.
    Folder(PathBuf, Option<&'static str>),
    /// A single driver.
    Driver(RegisteredDriver),
}

/// Returns the place where loaders look for drivers, by the rules of ocl-icd's manual (libOpenCL(7)) and of Khronos' loader.
/// `variable` returns the values of environment variables.
fn search_place(variable: impl Fn(&str) -> Option<OsString>) -> Place {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let named = set(VENDOR_PATH).map(PathBuf::from);
    let variable = named.is_some().then_some(VENDOR_PATH);
    let standard = named.unwrap_or_else(|| STANDARD_FOLDER.into());
    let Some(path) = set(VENDORS).map(PathBuf::from) else { return Place::Folder(standard, variable) };
    if path.extension() == Some(OsStr::new("icd")) && !path.is_dir() {
        let in_standard = standard.join(&path);
        let bare = path.components().count() == 1;
        let path = if bare && in_standard.exists() { in_standard } else { path };
        return Place::Driver(RegisteredDriver { named_by: Some(VENDORS), ..RegisteredDriver::file(path) });
    }
    // The dynamic linker searches its own folders for the bare name of a library.
    let is_path = path.components().count() > 1;
    match path.is_dir() || is_path && !path.exists() {
        true => Place::Folder(path, Some(VENDORS)),
        false => Place::Driver(RegisteredDriver::library_of(VENDORS, path.as_os_str())),
    }
}

/// Returns the drivers that the loader would load. `variable` returns the values of environment variables.
pub(super) fn registered(variable: impl Fn(&str) -> Option<OsString>) -> Vec<RegisteredDriver> {
    let mut found = match search_place(&variable) {
        Place::Folder(path, _) => files_in(&path),
        Place::Driver(driver) => vec![driver],
    };
    // Khronos' loader loads these as well; ocl-icd does not know the variable.
    let listed = variable(FILE_NAMES).unwrap_or_default();
    for library in listed.as_bytes().split(|b| *b == b':') {
        let listed = RegisteredDriver::library_of(FILE_NAMES, OsStr::from_bytes(library));
        // A driver may be registered by one version of its name, and listed by another.
        let is_registered = || found.iter().any(|driver| stem(&driver.library()) == stem(&listed.library()));
        if !library.is_empty() && !is_registered() {
            found.push(listed);
        }
    }
    // The devices of a library that is registered twice would be listed twice.
    let mut seen: Vec<OsString> = Vec::new();
    found.retain(|driver| {
        let library = driver.library();
        let name = Path::new(&library).file_name().unwrap_or(&library).to_owned();
        let is_new = name.is_empty() || !seen.contains(&name);
        seen.push(name);
        is_new
    });
    found
}

/// Returns the environment variable by which the user names a folder without driver registrations: the text `NAME=folder`, and
/// the reason why there are none, as a sentence. `None` if no variable names a folder, or the folder has registrations.
pub(super) fn dead_variable(variable: impl Fn(&str) -> Option<OsString>) -> Option<(String, String)> {
    let Place::Folder(folder, Some(name)) = search_place(variable) else { return None };
    let why = match fs::read_dir(&folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => "Nothing has this name.".to_owned(),
        Err(e) => format!("It cannot be read: {e}."),
        Ok(_) if files_in(&folder).is_empty() => "No file in this folder ends in .icd.".to_owned(),
        Ok(_) => return None,
    };
    Some((format!("{name}={}", folder.display()), why))
}

/// Returns a library's file name without its version: "libpocl" for "/usr/lib/libpocl.so.2.9.0".
fn stem(library: &OsStr) -> String {
    let name = Path::new(library).file_name().unwrap_or(library).to_string_lossy().into_owned();
    name.split(".so").next().unwrap_or_default().to_owned()
}

/// Returns the drivers that the files of a folder register, ordered by file name.
fn files_in(folder: &Path) -> Vec<RegisteredDriver> {
    let files = folders::entries(folder).into_iter();
    files.filter(|path| path.extension() == Some(OsStr::new("icd"))).map(RegisteredDriver::file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folders::test_folder;

    #[test]
    fn the_environment_says_which_drivers_are_registered() {
        let folder = test_folder("registered");
        for (name, library) in [
            ("b.icd", "/lib/libother.so"),
            ("a.icd", "libsome.so.1\nmore\n"),
            ("c.icd", "libsome.so.1"),
            // Loaders do not find that library, so it is no twin of the others.
            ("0.icd", "libsome.so.1\r\n"),
            ("notes.txt", ""),
        ] {
            fs::write(folder.0.join(name), library).unwrap();
        }
        let with = |name: &str, value: &OsStr| {
            let (name, value) = (name.to_owned(), value.to_owned());
            registered(move |asked| (asked == name).then(|| value.clone()))
        };
        let file = |name: &str| RegisteredDriver::file(folder.0.join(name));
        let all = [file("0.icd"), file("a.icd"), file("b.icd")];
        assert_eq!(with(VENDORS, folder.0.as_os_str()), all);
        assert_eq!(with(VENDOR_PATH, folder.0.as_os_str()), all);
        let named = RegisteredDriver { named_by: Some(VENDORS), ..file("b.icd") };
        assert_eq!(with(VENDORS, folder.0.join("b.icd").as_os_str()), [named]);
        let library = |variable, name: &str| RegisteredDriver::library_of(variable, OsStr::new(name));
        assert_eq!(with(VENDORS, OsStr::new("libmine.so")), [library(VENDORS, "libmine.so")]);
        assert_eq!(stem(OsStr::new("/usr/lib/libpocl.so.2.9.0")), stem(OsStr::new("libpocl.so.2")));
        let listed = with(FILE_NAMES, OsStr::new("/a/libone.so:libone.so.1:libtwo.so"));
        let wanted = [library(FILE_NAMES, "/a/libone.so"), library(FILE_NAMES, "libtwo.so")];
        assert_eq!(listed[listed.len() - 2..], wanted);
        assert_eq!(file("a.icd").library(), "libsome.so.1");
        assert!(file("a.icd").is_named("a.icd") && file("a.icd").is_named("some"));
        assert!(!file("a.icd").is_named("registered"), "the folder's name does not count");
    }

    #[test]
    fn a_variable_that_leads_to_no_driver_is_named() {
        let folder = test_folder("nowhere");
        let with = |variable: &str, value: &Path| {
            let (variable, value) = (variable.to_owned(), value.as_os_str().to_owned());
            dead_variable(move |asked| (asked == variable).then(|| value.clone()))
        };
        for variable in [VENDORS, VENDOR_PATH] {
            let (name, why) = with(variable, &folder.0).unwrap();
            assert_eq!(name, format!("{variable}={}", folder.0.display()));
            assert!(why.contains("No file in this folder ends in .icd"), "{why}");
            let (_, why) = with(variable, &folder.0.join("missing")).unwrap();
            assert_eq!(why, "Nothing has this name.");
        }
        fs::write(folder.0.join("some.icd.bak"), "libsome.so").unwrap();
        assert!(with(VENDORS, &folder.0).is_some());
        fs::write(folder.0.join("some.icd"), "libsome.so").unwrap();
        assert_eq!(with(VENDORS, &folder.0), None);
        // These are drivers, which are asked.
        assert_eq!(with(VENDORS, &folder.0.join("missing.icd")), None);
        assert_eq!(with(VENDORS, Path::new("libmine.so")), None);
        assert_eq!(dead_variable(|_| None), None);
        let fault = |bytes: &[u8]| {
            fs::write(folder.0.join("some.icd"), bytes).unwrap();
            RegisteredDriver::file(folder.0.join("some.icd")).fault()
        };
        for (bytes, words) in [
            (&b""[..], "empty"),
            (b" \r\n", "empty"),
            (b"\nlibsome.so\n", "empty line"),
            (b"\xff\xfel\0i\0b\0", "UTF-16"),
        ] {
            let why = fault(bytes).unwrap_or_default();
            assert!(why.contains(words), "{bytes:?}: {why}");
        }
        assert_eq!(fault(b"libsome.so"), None);
        let missing = RegisteredDriver::file(folder.0.join("missing.icd")).fault();
        assert_eq!(missing.as_deref(), Some("There is no such file."));
        fs::create_dir(folder.0.join("folder.icd")).unwrap();
        let why = RegisteredDriver::file(folder.0.join("folder.icd")).fault().unwrap();
        assert!(why.contains("a folder"), "{why}");
    }
}
