//! Programs as the driver compiled them, from one start to the next. In: a device, a program's whole text and the compiler's
//! options. Out: the driver's binary of an earlier start, where there is one that is whole.
//!
//! The folder is `programs` in the user's folder for clreel's caches, and must be this user's alone to write: what lies in it
//! is run. A file holds for one platform, device, version and driver, one text and its options, one set of the loader's
//! layers, and one version of clreel: all of them stand in it and are compared, and a hash of all its bytes is. What is
//! damaged or another's is compiled anew and replaced. The files that were used longest ago go where there are too many.
//!
//! Only threads that [`keep`] do: what a search or a benchmark compiles once would push out what each start needs. Changed
//! kernels (`CLREEL_KERNELS`) are always compiled. `CLREEL_BINARIES` has the last word: 0 keeps and uses none, 1 does so on all
//! threads. `docs/host_side.md` has what it gains.

use std::cell::Cell;
use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cl::DeviceInfo;
use crate::folders;
use crate::program::hash;
use crate::sources;
use base::environment;
use base::{load, save};

/// The environment variable that says whether binaries are kept.
const VARIABLE: &str = "CLREEL_BINARIES";
/// What a file begins with: its kind and layout.
const MAGIC: &[u8] = b"clreel program 1\n";
/// The longest file, in bytes.
const LONGEST: u64 = 16 << 20;
/// Most files, and most bytes of all of them: all variants on several devices and drivers.
const MOST: usize = 256;
const MOST_BYTES: u64 = 64 << 20;

thread_local! {
    static KEEPS: Cell<bool> = const { Cell::new(false) };
}

/// From here on the binaries of programs that this thread builds are kept, and taken where there are some.
pub fn keep() {
    KEEPS.set(true);
}

/// Where the binary of one program is, or is to be.
#[derive(Debug)]
pub(super) struct BinaryFile {
    path: PathBuf,
    key: String,
}

impl BinaryFile {
    /// The file of a program's binary; `None` where none is to be kept.
    pub(super) fn of(device: &DeviceInfo, text: &str, options: &str) -> Option<Self> {
        let asked = environment::text(VARIABLE);
        let wanted = is_wanted(asked.as_deref(), KEEPS.get()) && !sources::is_named();
        let folder = wanted.then(folders::cache)??.join("programs");
        let layers = environment::get("OPENCL_LAYERS").unwrap_or_default();
        Some(Self::at(&folder, device, &layers.to_string_lossy(), text, options))
    }

    fn at(folder: &Path, device: &DeviceInfo, layers: &str, text: &str, options: &str) -> Self {
        let own = concat!("clreel ", env!("CARGO_PKG_VERSION"));
        let DeviceInfo { platform, name, version, driver, .. } = device;
        let parts = [own, platform, name, version, driver, layers, options, text];
        // None of them has a zero in it, or they would be no strings of C.
        let key = parts.join("\0");
        let path = folder.join(format!("{:016x}.bin", hash(key.as_bytes())));
        Self { path, key }
    }

    /// The binary, if there is one that is whole and of this very program. It counts as used now.
    pub(super) fn get(&self) -> Option<Vec<u8>> {
        if !self.path.parent().is_some_and(folders::own) {
            return None;
        }
        let bytes = load::bytes(&self.path, LONGEST).ok()?;
        let (hashed, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*hashed) != hash(rest) {
            return None;
        }
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (key, binary) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        if key != self.key.as_bytes() || binary.is_empty() {
            return None;
        }
        // Where that fails it only seems older than it is.
        let file = File::options().append(true).open(&self.path);
        let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        Some(binary.to_vec())
    }

    /// Keeps the binary. Where that fails, the next start compiles again.
    pub(super) fn put(&self, binary: &[u8]) {
        let mut rest = (self.key.len() as u64).to_le_bytes().to_vec();
        rest.extend(self.key.as_bytes());
        rest.extend(binary);
        let Some(folder) = self.path.parent() else { return };
        let length = MAGIC.len() + 8 + rest.len();
        if binary.is_empty() || length as u64 > LONGEST || !folders::own(folder) {
            return;
        }
        let written = save::atomically(&self.path, |out| {
            out.write_all(MAGIC)?;
            out.write_all(&hash(&rest).to_le_bytes())?;
            out.write_all(&rest)
        });
        if written.is_ok() {
            make_room(folder, MOST, MOST_BYTES);
        }
    }
}

/// Whether binaries are kept: the variable's word, if it has one.
fn is_wanted(asked: Option<&str>, thread_keeps: bool) -> bool {
    match asked {
        Some("0") => false,
        Some("1") => true,
        _ => thread_keeps,
    }
}

/// Removes the files that were used longest ago, until there are no more than `most` files and bytes.
fn make_room(folder: &Path, most: usize, most_bytes: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let found = entries.flatten().map(|entry| entry.path());
    let ours = found.filter(|path| path.extension().is_some_and(|ending| ending == "bin"));
    let mut files: Vec<(SystemTime, u64, PathBuf)> = ours
        .filter_map(|path| {
            let told = fs::symlink_metadata(&path).ok()?;
            Some((told.modified().ok()?, told.len(), path))
        })
        .collect();
    files.sort_unstable_by_key(|file| Reverse(file.0));
    let mut bytes = 0;
    for (n, (_, length, path)) in files.iter().enumerate() {
        bytes += length;
        if n >= most || bytes > most_bytes {
            // Another process may have done so already.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::Duration;

    use super::*;

    /// A folder of the test's own, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("clreel-binaries-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_the_same_program_on_the_same_driver_has_a_binary() {
        let folder = Folder::new("key");
        let device = DeviceInfo::made_up();
        let at = |device: &DeviceInfo, layers: &str, text: &str, options: &str| {
            BinaryFile::at(&folder.0, device, layers, text, options)
        };
        let file = at(&device, "", "text", "-D A=1");
        assert_eq!(file.get(), None);
        file.put(b"binary");
        assert_eq!(file.get().as_deref(), Some(&b"binary"[..]));
        let other = |change: fn(&mut DeviceInfo)| {
            let mut other = device.clone();
            change(&mut other);
            at(&other, "", "text", "-D A=1").get()
        };
        assert_eq!(other(|d| d.driver.push('2')), None);
        assert_eq!(other(|d| d.name.push('2')), None);
        assert_eq!(other(|d| d.platform.push('2')), None);
        assert_eq!(other(|d| d.version.push('2')), None);
        assert!(other(|d| d.index = 3).is_some(), "where it stands in the list does not matter");
        assert_eq!(at(&device, "layer.so", "text", "-D A=1").get(), None);
        assert_eq!(at(&device, "", "text2", "-D A=1").get(), None);
        assert_eq!(at(&device, "", "text", "-D A=2").get(), None);
        // Another one's file under this name: a collision of hashes, or a copy.
        let copied = at(&device, "", "text2", "-D A=1");
        fs::copy(&file.path, &copied.path).unwrap();
        assert_eq!(copied.get(), None);
        copied.put(b"other");
        assert_eq!(copied.get().as_deref(), Some(&b"other"[..]), "it is replaced");
    }

    #[test]
    fn a_damaged_file_is_none() {
        let folder = Folder::new("damaged");
        let file = BinaryFile::at(&folder.0, &DeviceInfo::made_up(), "", "text", "");
        file.put(b"binary");
        let whole = fs::read(&file.path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            fs::write(&file.path, &damaged).unwrap();
            assert_eq!(file.get(), None, "byte {at}");
            fs::write(&file.path, &whole[..at]).unwrap();
            assert_eq!(file.get(), None, "{at} bytes");
        }
        // A length that is no length, with a hash that is right.
        let mut rest = u64::MAX.to_le_bytes().to_vec();
        rest.extend(b"key");
        fs::write(&file.path, [MAGIC, &hash(&rest).to_le_bytes(), &rest].concat()).unwrap();
        assert_eq!(file.get(), None);
        fs::remove_file(&file.path).unwrap();
        symlink("/dev/zero", &file.path).unwrap();
        assert_eq!(file.get(), None);
        fs::remove_file(&file.path).unwrap();
        file.put(&[]);
        assert!(!file.path.exists(), "no binary");
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let folder = Folder::new("shared");
        let file = BinaryFile::at(&folder.0, &DeviceInfo::made_up(), "", "text", "");
        file.put(b"binary");
        assert!(file.get().is_some());
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(file.get(), None);
        file.put(b"another");
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(file.get().as_deref(), Some(&b"binary"[..]));
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let folder = Folder::new("room");
        let files: Vec<BinaryFile> = (0..6)
            .map(|n| BinaryFile::at(&folder.0, &DeviceInfo::made_up(), "", &format!("text {n}"), ""))
            .collect();
        let old = SystemTime::now() - Duration::from_secs(1000);
        for (n, file) in (0..).zip(&files) {
            file.put(&[7; 1000]);
            let file = File::options().append(true).open(&file.path).unwrap();
            file.set_modified(old + Duration::from_secs(n)).unwrap();
        }
        let there = || files.iter().map(|file| u8::from(file.path.exists())).collect::<Vec<_>>();
        assert!(files[0].get().is_some(), "now it is the newest");
        make_room(&folder.0, 5, u64::MAX);
        assert_eq!(there(), [1, 0, 1, 1, 1, 1]);
        let length = fs::metadata(&files[0].path).unwrap().len();
        make_room(&folder.0, 5, 3 * length);
        assert_eq!(there(), [1, 0, 0, 0, 1, 1]);
        fs::write(folder.0.join("mine.txt"), "not ours to remove").unwrap();
        make_room(&folder.0, 0, 0);
        assert_eq!((there(), folder.0.join("mine.txt").exists()), (vec![0; 6], true));
    }

    #[test]
    fn the_variable_has_the_last_word() {
        for keeps in [false, true] {
            assert!(is_wanted(Some("1"), keeps) && !is_wanted(Some("0"), keeps));
            assert_eq!((is_wanted(None, keeps), is_wanted(Some("perhaps"), keeps)), (keeps, keeps));
        }
    }
}
