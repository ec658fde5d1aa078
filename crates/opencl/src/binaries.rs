//! Cache of compiled programs: keeps their binaries on the disk from one start of clreel to the next.
//!
//! The folder is `programs` in the user's folder for clreel's caches. Only this user may write to it, since its files are executed.
//! A file is valid for one platform, device, OpenCL version and driver, one program text with its compiler options, one set of
//! OpenCL loader layers, and one version of clreel. All of these are stored in the file and compared, together with a hash of its
//! bytes. A damaged or foreign file is replaced after compiling again. If there are too many files, those that were used longest
//! ago are removed.
//!
//! Only contexts [with kept binaries](ClContext::with_kept_binaries) load and store binaries, since the binaries of tuning and
//! of benchmarks would displace the programs that each start needs. `CLREEL_BINARIES` overrides this choice: with 0 no context
//! does so, with 1 all do. Programs are always compiled if a folder of kernels is in use (`CLREEL_KERNELS`).
//! `docs/host_side.md` has the measured gain.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cl::ClContext;
use crate::folders;
use crate::sources::{self, hash};
use base::device::DeviceInfo;
use base::environment;
use base::{load, save};

/// The environment variable that overrides whether contexts keep binaries of compiled programs.
const BINARIES_VARIABLE: &str = "CLREEL_BINARIES";
/// The first bytes of a file with a binary: the file's type and the version of its format.
pub const MAGIC: &[u8] = b"clreel program 1\n";
/// The maximum size of a file with a binary, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// The maximum number of files in the cache: enough for all variants on several devices and drivers.
const MAX_FILES: usize = 256;
/// The maximum size of all files in the cache together, in bytes.
const MAX_TOTAL_BYTES: u64 = 64 << 20;

/// The file of one program's binary, which may not exist yet.
pub(super) struct BinaryFile {
    path: PathBuf,
    key: String,
}

impl BinaryFile {
    /// Returns the file for the binary of a program; `None` if binaries of this program are not kept.
    pub(super) fn of(cl: &ClContext, text: &str, options: &str) -> Option<Self> {
        let has_folder = sources::named_folder().is_some() || !cl.sources().is_built_in();
        let wanted = may_use_binaries(cl.keeps_binaries) && !has_folder;
        let folder = wanted.then(folders::cache_folder)??.join("programs");
        Some(Self::in_folder(&folder, key(&cl.device.info, &loader_layers(), text, options)))
    }

    /// Returns the file for the binary with this key in a folder.
    fn in_folder(folder: &Path, key: String) -> Self {
        let path = folder.join(format!("{:016x}.bin", hash(key.as_bytes())));
        Self { path, key }
    }

    /// Returns the stored binary and marks the file as used now; `None` if the file is missing or damaged, or belongs to another
    /// program.
    pub(super) fn get(&self) -> Option<Vec<u8>> {
        if !self.path.parent().is_some_and(folders::make_private) {
            return None;
        }
        let bytes = load::bytes(&self.path, MAX_FILE_BYTES).ok()?;
        let binary = binary_of(&bytes, &self.key)?;
        // If this fails, the file seems older than it is.
        let file = File::options().append(true).open(&self.path);
        let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        Some(binary.to_vec())
    }

    /// Writes the binary to the file. If writing fails, the next start compiles the program again.
    pub(super) fn put(&self, binary: &[u8]) {
        let mut rest = (self.key.len() as u64).to_le_bytes().to_vec();
        rest.extend(self.key.as_bytes());
        rest.extend(binary);
        let Some(folder) = self.path.parent() else { return };
        let length = MAGIC.len() + 8 + rest.len();
        if binary.is_empty() || length as u64 > MAX_FILE_BYTES || !folders::make_private(folder) {
            return;
        }
        let written = save::atomically(&self.path, |out| {
            out.write_all(MAGIC)?;
            out.write_all(&hash(&rest).to_le_bytes())?;
            out.write_all(&rest)
        });
        if written.is_ok() {
            remove_oldest(folder, MAX_FILES, MAX_TOTAL_BYTES);
        }
    }
}

/// Returns the binary in the contents of a file; `None` if they are damaged or have another key than `key`.
pub fn binary_of<'a>(contents: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let (hashed, rest) = contents.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*hashed) != hash(rest) {
        return None;
    }
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (own, binary) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    (own == key.as_bytes() && !binary.is_empty()).then_some(binary)
}

/// Returns the layers of the OpenCL loader, as listed in the environment variable `OPENCL_LAYERS`; empty if it is not set.
pub fn loader_layers() -> String {
    environment::get("OPENCL_LAYERS").unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the key of a program's binary: everything that the binary depends on, as one string.
pub(super) fn key(device: &DeviceInfo, layers: &str, text: &str, options: &str) -> String {
    let own = concat!("clreel ", env!("CARGO_PKG_VERSION"));
    let DeviceInfo { platform, name, version, driver, .. } = device;
    // No part contains a zero, since all of them come from or go to C strings.
    [own, platform, name, version, driver, layers, options, text].join("\0")
}

/// Returns true if binaries that earlier starts of clreel have stored may be used; `by_default` holds unless `CLREEL_BINARIES`
/// overrides it.
pub(super) fn may_use_binaries(by_default: bool) -> bool {
    is_wanted(environment::text(BINARIES_VARIABLE).as_deref(), by_default)
}

/// Returns true if binaries are kept: `context_keeps` is the context's setting, which `setting`, the value of
/// `CLREEL_BINARIES`, overrides.
fn is_wanted(setting: Option<&str>, context_keeps: bool) -> bool {
    match setting {
        Some("0") => false,
        Some("1") => true,
        _ => context_keeps,
    }
}

/// Removes the files that were used longest ago, until the folder has at most `max_files` files and `max_bytes` bytes.
fn remove_oldest(folder: &Path, max_files: usize, max_bytes: u64) {
    let found = folders::entries(folder).into_iter();
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
        if n >= max_files || bytes > max_bytes {
            // Another process may have removed the file already.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_the_same_program_on_the_same_driver_has_a_binary() {
        let folder = folders::test_folder("binaries-key");
        let device = DeviceInfo::made_up();
        let at = |device: &DeviceInfo, layers: &str, text: &str, options: &str| {
            BinaryFile::in_folder(&folder.0, key(device, layers, text, options))
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
        // The file of another program under this name: a collision of hashes, or a copy.
        let copied = at(&device, "", "text2", "-D A=1");
        fs::copy(&file.path, &copied.path).unwrap();
        assert_eq!(copied.get(), None);
        copied.put(b"other");
        assert_eq!(copied.get().as_deref(), Some(&b"other"[..]), "it is replaced");
    }

    #[test]
    fn neither_a_damaged_file_nor_a_folder_that_others_may_write_to_is_used() {
        let folder = folders::test_folder("binaries-damaged");
        let file = BinaryFile::in_folder(&folder.0, key(&DeviceInfo::made_up(), "", "text", ""));
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
        // A wrong length with a correct hash.
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
        let folder = folders::test_folder("binaries-room");
        let files: Vec<BinaryFile> = (0..6)
            .map(|n| {
                BinaryFile::in_folder(&folder.0, key(&DeviceInfo::made_up(), "", &format!("text {n}"), ""))
            })
            .collect();
        let old = SystemTime::now() - Duration::from_secs(1000);
        for (n, file) in (0..).zip(&files) {
            file.put(&[7; 1000]);
            let file = File::options().append(true).open(&file.path).unwrap();
            file.set_modified(old + Duration::from_secs(n)).unwrap();
        }
        let there = || files.iter().map(|file| u8::from(file.path.exists())).collect::<Vec<_>>();
        assert!(files[0].get().is_some(), "now it is the newest");
        remove_oldest(&folder.0, 5, u64::MAX);
        assert_eq!(there(), [1, 0, 1, 1, 1, 1]);
        let length = fs::metadata(&files[0].path).unwrap().len();
        remove_oldest(&folder.0, 5, 3 * length);
        assert_eq!(there(), [1, 0, 0, 0, 1, 1]);
        fs::write(folder.0.join("mine.txt"), "not ours to remove").unwrap();
        remove_oldest(&folder.0, 0, 0);
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
