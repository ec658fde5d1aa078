//! The cache of results of sharing tests, which is kept across starts of clreel. It contains only tests that did not crash or
//! hang.
//!
//! The file is `sharing.json` in clreel's cache folder. An entry is valid for one device with one driver version, one OpenGL
//! driver and the same OpenCL layers. A device whose test crashed or hung has no entry. While the window opens a device with
//! sharing, the device's entry contains the process id. If the process ends before sharing has worked, the entry is invalid and
//! a child process tests the device again. If the file cannot be read or written, devices are tested at each start.

use std::path::{Path, PathBuf};
use std::sync::Once;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{DrivingDevice, SharingTest};
use base::device::DeviceInfo;
use base::load::{self, Unread};
use base::stderr::print_message;
use opencl::binaries::loader_layers;
use opencl::folders;
use stats::Sharing;

/// The maximum number of entries in the cache file; the oldest are dropped.
const MAX_ENTRIES: usize = 64;
/// The version of the cache file's format.
const SCHEMA: u32 = 2;

/// The key of an entry in the cache file: everything on which the result of a sharing test depends.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    platform: String,
    device: String,
    version: String,
    driver: String,
    opengl: String,
    layers: String,
}

/// An entry of the cache file: the result of the sharing test of one device.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    key: Key,
    /// The reason why the device does not share textures; `None` if it does.
    reason: Option<String>,
    /// The id of the process that has started to share textures with the device; cleared once sharing worked.
    #[serde(default)]
    tried_by: Option<u32>,
    /// The device that drives OpenGL, as far as it is known.
    driving: DrivingDevice,
}

impl Entry {
    /// Returns true if the entry can be used; false if a process has started to share textures with the device and ended before
    /// that worked, because then the driver has probably crashed.
    fn is_valid(&self) -> bool {
        let is_running = |pid| pid != std::process::id() && Path::new(&format!("/proc/{pid}")).exists();
        self.tried_by.is_none_or(is_running)
    }
}

/// The contents of the cache file.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct File {
    schema: u32,
    devices: Vec<Entry>,
}

/// The cached results of sharing tests with one OpenGL driver. Threads may share the cache.
#[derive(Debug)]
pub(crate) struct SharingCache {
    path: Option<PathBuf>,
    opengl: String,
    layers: String,
    /// The lock that is held while a thread reads and rewrites the file.
    writing: Mutex<()>,
}

impl SharingCache {
    /// Opens the cache for an OpenGL driver; `opengl` names its interface, renderer and version.
    pub(crate) fn open(opengl: &str) -> Self {
        Self::at(folders::cache_folder().map(|folder| folder.join("sharing.json")), opengl)
    }

    /// Opens the cache in the file at this path; if the path is `None`, nothing is cached.
    fn at(path: Option<PathBuf>, opengl: &str) -> Self {
        Self { path, opengl: opengl.to_owned(), layers: loader_layers(), writing: Mutex::default() }
    }

    /// Returns the cached result of the sharing test of a device; `None` if the device must be tested.
    pub(crate) fn get(&self, device: &DeviceInfo) -> Option<SharingTest> {
        let key = self.key(device);
        let devices = read(self.path.as_deref()?)?.devices;
        let entry = devices.into_iter().find(|entry| entry.key == key && entry.is_valid())?;
        let sharing = entry.reason.map_or(Sharing::ZeroCopy, Sharing::copy);
        Some(SharingTest { sharing, survived: true, driving: entry.driving })
    }

    /// Stores the result of a sharing test that the device survived.
    pub(crate) fn remember_test(&self, device: &DeviceInfo, tested: &SharingTest) {
        self.put(device, |entry| {
            (entry.reason, entry.driving) = (reason(&tested.sharing), tested.driving.clone());
        });
    }

    /// Stores the way of sharing that the window has actually used with the device.
    pub(crate) fn remember(&self, device: &DeviceInfo, sharing: &Sharing) {
        self.put(device, |entry| entry.reason = reason(sharing));
    }

    /// Marks a device in the cache before the window shares textures with it. If the process ends before
    /// [`remember`](Self::remember) is called, the device is tested again at the next start.
    pub(crate) fn mark_pending(&self, device: &DeviceInfo) {
        self.put(device, |entry| entry.tried_by = Some(std::process::id()));
    }

    /// Writes the entry of a device. `set` fills in the entry, which it receives without a reason and without a process id.
    fn put(&self, device: &DeviceInfo, set: impl FnOnce(&mut Entry)) {
        let Some(path) = &self.path else { return };
        let _alone = self.writing.lock();
        let Some(before) = read(path) else { return };
        let key = self.key(device);
        let (same, others): (Vec<_>, Vec<_>) =
            before.devices.iter().cloned().partition(|entry| entry.key == key);
        let driving = same.first().map_or(DrivingDevice::Unknown, |entry| entry.driving.clone());
        let mut entry = Entry { key, reason: None, tried_by: None, driving };
        set(&mut entry);
        let mut devices: Vec<_> = others.into_iter().chain([entry]).collect();
        devices.drain(..devices.len().saturating_sub(MAX_ENTRIES));
        let file = File { schema: SCHEMA, devices };
        if file != before {
            write(path, &file);
        }
    }

    /// Returns the key of a device with this OpenGL driver.
    fn key(&self, device: &DeviceInfo) -> Key {
        Key {
            platform: device.platform.clone(),
            device: device.name.clone(),
            version: device.version.clone(),
            driver: device.driver.clone(),
            opengl: self.opengl.clone(),
            layers: self.layers.clone(),
        }
    }
}

/// Returns the reason why textures are not shared; `None` if they are.
fn reason(sharing: &Sharing) -> Option<String> {
    (*sharing != Sharing::ZeroCopy).then(|| sharing.reason().to_owned())
}

/// Reads the cache file; a missing or invalid file counts as empty. Returns `None` if the path is not that of a regular file,
/// which must not be overwritten, and prints a warning once.
fn read(path: &Path) -> Option<File> {
    static ONCE: Once = Once::new();
    let text = match load::bytes(path, load::MAX_LIST_BYTES) {
        Err(Unread::WrongKind(why)) => {
            let path = base::text::name(path);
            ONCE.call_once(|| {
                print_message(format_args!(
                    "Results of sharing tests are not cached in '{path}'. {why} Remove it."
                ))
            });
            return None;
        }
        text => text.unwrap_or_default(),
    };
    Some(parse(&text))
}

/// Parses the contents of the cache file; invalid contents count as an empty file.
pub(crate) fn parse(contents: &[u8]) -> File {
    let file: Option<File> = load::json(contents).ok();
    file.filter(|file| file.schema == SCHEMA).unwrap_or(File { schema: SCHEMA, devices: Vec::new() })
}

/// Writes the cache file through a temporary file, so that other processes never read an incomplete file. Does not sync to the
/// disk, so that the window starts without delay.
fn write(path: &Path, file: &File) {
    let Ok(text) = serde_json::to_vec_pretty(file) else { return };
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = made.and_then(|()| std::fs::write(&part, text)).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::device::DeviceKind;
    use testkit::movie::Folder;

    fn device(name: &str, driver: &str) -> DeviceInfo {
        let (name, driver, kind) = (name.into(), driver.into(), DeviceKind::Gpu);
        DeviceInfo { name, driver, kind, ..DeviceInfo::made_up() }
    }

    #[test]
    fn an_entry_is_valid_for_the_same_device_driver_and_opengl() {
        let folder = Folder::new("known-same");
        let path = folder.file("not/yet/sharing.json");
        let known = SharingCache::at(Some(path.clone()), "GLX, one");
        let (first, second) = (device("first", "1"), device("second", "1"));
        let tested = |sharing| SharingTest { sharing, survived: true, driving: DrivingDevice::Unknown };
        assert_eq!(known.get(&first), None);
        known.remember(&first, &Sharing::ZeroCopy);
        known.remember(&second, &Sharing::copy("it cannot"));
        assert_eq!(known.get(&first), Some(tested(Sharing::ZeroCopy)));
        assert_eq!(known.get(&second), Some(tested(Sharing::copy("it cannot"))));
        assert_eq!(known.get(&device("first", "2")), None, "another version of the driver");
        assert_eq!(SharingCache::at(Some(path.clone()), "GLX, two").get(&first), None, "another OpenGL");
        known.mark_pending(&first);
        assert_eq!((known.get(&first), known.get(&second)), (None, Some(tested(Sharing::copy("it cannot")))));
        // Process 1 is running; no process has such a high id.
        for (pid, known_then) in [(1, true), (u32::MAX, false)] {
            known.put(&first, |entry| entry.tried_by = Some(pid));
            assert_eq!(known.get(&first).is_some(), known_then, "{pid}");
        }
        for n in 0..2 * MAX_ENTRIES {
            known.remember(&device("first", &n.to_string()), &Sharing::ZeroCopy);
        }
        assert_eq!(read(&path).unwrap().devices.len(), MAX_ENTRIES);
        assert_eq!(known.get(&second), None, "the oldest ones go");
    }

    #[test]
    fn a_driver_that_cannot_be_queried_is_remembered_and_a_damaged_file_only_causes_tests() {
        let folder = Folder::new("known-driving");
        let path = folder.file("sharing.json");
        let known = SharingCache::at(Some(path.clone()), "GLX");
        let first = device("first", "1");
        let driving = || known.get(&first).map(|tested| tested.driving);
        let driving_before = DrivingDevice::NotQueryable;
        let crashed = SharingTest { sharing: Sharing::copy("none"), survived: true, driving: driving_before };
        known.remember_test(&first, &crashed);
        assert_eq!(known.get(&first), Some(crashed.clone()));
        known.mark_pending(&first);
        assert_eq!(driving(), None);
        known.remember(&first, &Sharing::copy("none"));
        assert_eq!(driving(), Some(DrivingDevice::NotQueryable), "sharing was tried again without a query");
        let other = DrivingDevice::Other(1, "second".to_owned());
        known.remember_test(&first, &SharingTest { driving: other.clone(), ..crashed });
        assert_eq!(driving(), Some(other));
        // Files of earlier versions are ignored.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"schema\": 2", "\"schema\": 1")).unwrap();
        assert_eq!(driving(), None);
        for text in ["", "{", "{\"schema\":99,\"devices\":[]}", "[1,2]", "\u{0}\u{1}"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(known.get(&first), None, "{text:?}");
            known.remember(&first, &Sharing::ZeroCopy);
            assert_eq!(known.get(&first).map(|tested| tested.sharing), Some(Sharing::ZeroCopy), "{text:?}");
        }
        // A folder cannot be created where a file is.
        for nowhere in [Some(path.join("deeper/sharing.json")), None] {
            let unwritable = SharingCache::at(nowhere, "GLX");
            unwritable.remember(&first, &Sharing::ZeroCopy);
            assert_eq!(unwritable.get(&first), None);
        }
        let folder = path.parent().unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "nothing is left beside it");
    }
}
