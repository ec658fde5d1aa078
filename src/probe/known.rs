//! Which devices have come through a test of sharing, from one start to the next. In: the cache file. Out: what a test
//! said, for devices that were tested with the same drivers.
//!
//! The file is `sharing.json` in the user's folder for clreel's caches. An entry holds for one device with one version
//! of its driver, one OpenGL and the same layers of the loader. A device whose test crashed or hung has none, and that of
//! a device that is being tried in a window does not outlive that process: the next one asks in a child again. A file that
//! cannot be read or written costs nothing but the asking.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use serde::{Deserialize, Serialize};

use super::{DrivingDevice, Tested};
use base::load::{self, Unread};
use engine::sharing::Sharing;
use opencl::cl::DeviceInfo;
use opencl::folders;

/// More entries than any machine needs; the oldest ones go.
const MOST: usize = 64;
const SCHEMA: u32 = 2;

/// What a test depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    platform: String,
    device: String,
    version: String,
    driver: String,
    opengl: String,
    layers: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    key: Key,
    /// Why it does not share; none where it does.
    reason: Option<String>,
    /// The process that tries sharing with it and has not come through yet.
    #[serde(default)]
    tried_by: Option<u32>,
    /// The device that drives OpenGL.
    driving: DrivingDevice,
}

impl Entry {
    /// A process that has ended before it came through is the driver's doing; one that lives is just at it.
    fn holds(&self) -> bool {
        let is_at_it = |pid| pid != std::process::id() && Path::new(&format!("/proc/{pid}")).exists();
        self.tried_by.is_none_or(is_at_it)
    }
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct File {
    schema: u32,
    devices: Vec<Entry>,
}

/// The devices that have come through the test with one OpenGL. Several threads may ask and tell.
#[derive(Debug)]
pub(crate) struct Known {
    path: Option<PathBuf>,
    opengl: String,
    layers: String,
    /// Held while the file is read and written anew.
    writing: Mutex<()>,
}

impl Known {
    /// What is known with `opengl`: its interface, renderer and version.
    pub(crate) fn with(opengl: &str) -> Self {
        Self::at(folders::cache().map(|folder| folder.join("sharing.json")), opengl)
    }

    fn at(path: Option<PathBuf>, opengl: &str) -> Self {
        let layers =
            base::environment::get("OPENCL_LAYERS").unwrap_or_default().to_string_lossy().into_owned();
        Self { path, opengl: opengl.to_owned(), layers, writing: Mutex::default() }
    }

    /// What the test of this device said; `None` where it must be tested first.
    pub(crate) fn get(&self, device: &DeviceInfo) -> Option<Tested> {
        let key = self.key(device);
        let devices = read(self.path.as_deref()?)?.devices;
        let entry = devices.into_iter().find(|entry| entry.key == key && entry.holds())?;
        let sharing = entry.reason.map_or(Sharing::ZeroCopy, Sharing::copy);
        Some(Tested { sharing, survived: true, driving: entry.driving })
    }

    /// Keeps what a test said that the device came through.
    pub(crate) fn remember_test(&self, device: &DeviceInfo, tested: &Tested) {
        self.put(device, reason(&tested.sharing), None, Some(&tested.driving));
    }

    /// Keeps what came of sharing with a device that was tested before.
    pub(crate) fn remember(&self, device: &DeviceInfo, sharing: &Sharing) {
        self.put(device, reason(sharing), None, None);
    }

    /// This process is about to try sharing with the device: unless it comes through, the device must be tested again.
    pub(crate) fn begin(&self, device: &DeviceInfo) {
        self.put(device, None, Some(std::process::id()), None);
    }

    /// Writes an entry. Without `driving` that stays as it is.
    fn put(
        &self,
        device: &DeviceInfo,
        reason: Option<String>,
        tried_by: Option<u32>,
        driving: Option<&DrivingDevice>,
    ) {
        let Some(path) = &self.path else { return };
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = read(path) else { return };
        let key = self.key(device);
        let (same, others): (Vec<_>, Vec<_>) =
            before.devices.iter().cloned().partition(|entry| entry.key == key);
        let before_this = same.first().map(|entry| &entry.driving);
        let driving = driving.or(before_this).cloned().unwrap_or(DrivingDevice::Unknown);
        let entry = Entry { key, reason, tried_by, driving };
        let mut devices: Vec<_> = others.into_iter().chain([entry]).collect();
        devices.drain(..devices.len().saturating_sub(MOST));
        let file = File { schema: SCHEMA, devices };
        if file != before {
            write(path, &file);
        }
    }

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

fn reason(sharing: &Sharing) -> Option<String> {
    match sharing {
        Sharing::ZeroCopy => None,
        Sharing::Copy { reason } => Some(reason.clone()),
    }
}

/// What is missing or damaged is empty. `None`, and once a warning on stderr, for what is no such file: nobody writes there.
fn read(path: &Path) -> Option<File> {
    static ONCE: Once = Once::new();
    let text = match load::bytes(path, load::LIST) {
        Err(Unread::Odd(why)) => {
            let path = base::text::name(path);
            ONCE.call_once(|| {
                eprintln!(
                    "clreel: '{path}' is left alone. {why} Remove it, and clreel can keep what it learns."
                )
            });
            return None;
        }
        text => text.unwrap_or_default(),
    };
    let file: Option<File> = serde_json::from_slice(&text).ok();
    Some(file.filter(|file| file.schema == SCHEMA).unwrap_or(File { schema: SCHEMA, devices: Vec::new() }))
}

/// By way of a file beside it, so that another process never reads half of it. It need not be on the disk at once: a
/// window that starts does not wait for that.
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
    use opencl::cl::DeviceKind;

    fn device(name: &str, driver: &str) -> DeviceInfo {
        DeviceInfo {
            index: 0,
            name: name.into(),
            platform: "Platform".into(),
            version: "OpenCL 3.0".into(),
            driver: driver.into(),
            kind: DeviceKind::Gpu,
            units: 1,
            clock_mhz: 0,
            global_memory_bytes: 1,
            unified_memory: false,
            max_allocation_bytes: 1,
            local_memory_bytes: 1,
            max_work_group_size: 1,
            max_sub_groups: 0,
            image_support: true,
            max_image: (1, 1),
            extensions: Vec::new(),
        }
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("clreel-known-{name}-{}", std::process::id()))
    }

    #[test]
    fn an_answer_holds_while_device_driver_and_opengl_are_the_same() {
        let folder = folder("same");
        let path = folder.join("not/yet/sharing.json");
        let known = Known::at(Some(path.clone()), "GLX, one");
        let (first, second) = (device("first", "1"), device("second", "1"));
        let tested = |sharing| Tested { sharing, survived: true, driving: DrivingDevice::Unknown };
        assert_eq!(known.get(&first), None);
        known.remember(&first, &Sharing::ZeroCopy);
        known.remember(&second, &Sharing::copy("it cannot"));
        assert_eq!(known.get(&first), Some(tested(Sharing::ZeroCopy)));
        assert_eq!(known.get(&second), Some(tested(Sharing::copy("it cannot"))));
        assert_eq!(known.get(&device("first", "2")), None, "another version of the driver");
        assert_eq!(Known::at(Some(path.clone()), "GLX, two").get(&first), None, "another OpenGL");
        known.begin(&first);
        assert_eq!((known.get(&first), known.get(&second)), (None, Some(tested(Sharing::copy("it cannot")))));
        // Process 1 lives; no process has so high a number.
        for (pid, known_then) in [(1, true), (u32::MAX, false)] {
            known.put(&first, None, Some(pid), None);
            assert_eq!(known.get(&first).is_some(), known_then, "{pid}");
        }
        for n in 0..2 * MOST {
            known.remember(&device("first", &n.to_string()), &Sharing::ZeroCopy);
        }
        assert_eq!(read(&path).unwrap().devices.len(), MOST);
        assert_eq!(known.get(&second), None, "the oldest ones go");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_driver_that_cannot_be_asked_stays_known_as_such() {
        let folder = folder("driving");
        let path = folder.join("sharing.json");
        let known = Known::at(Some(path.clone()), "GLX");
        let first = device("first", "1");
        let driving = || known.get(&first).map(|tested| tested.driving);
        let driving_before = DrivingDevice::NotAsked;
        let crashed = Tested { sharing: Sharing::copy("none"), survived: true, driving: driving_before };
        known.remember_test(&first, &crashed);
        assert_eq!(known.get(&first), Some(crashed.clone()));
        known.begin(&first);
        assert_eq!(driving(), None);
        known.remember(&first, &Sharing::copy("none"));
        assert_eq!(
            driving(),
            Some(DrivingDevice::NotAsked),
            "sharing was tried once more, and nobody was asked"
        );
        let other = DrivingDevice::Other(1, "second".to_owned());
        known.remember_test(&first, &Tested { driving: other.clone(), ..crashed });
        assert_eq!(driving(), Some(other));
        // A file of an earlier version, which has crashes as `false`, is asked for anew.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"schema\": 2", "\"schema\": 1")).unwrap();
        assert_eq!(driving(), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_is_damaged_or_cannot_be_written_costs_only_the_asking() {
        let folder = folder("damaged");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("sharing.json");
        let known = Known::at(Some(path.clone()), "GLX");
        let first = device("first", "1");
        for text in ["", "{", "{\"schema\":99,\"devices\":[]}", "[1,2]", "\u{0}\u{1}"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(known.get(&first), None, "{text:?}");
            known.remember(&first, &Sharing::ZeroCopy);
            assert_eq!(known.get(&first).map(|tested| tested.sharing), Some(Sharing::ZeroCopy), "{text:?}");
        }
        // A folder cannot be made where a file is.
        let nowhere = Known::at(Some(path.join("deeper/sharing.json")), "GLX");
        nowhere.remember(&first, &Sharing::ZeroCopy);
        assert_eq!(nowhere.get(&first), None);
        let homeless = Known::at(None, "GLX");
        homeless.remember(&first, &Sharing::ZeroCopy);
        assert_eq!(homeless.get(&first), None);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
