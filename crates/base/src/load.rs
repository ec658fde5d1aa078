//! Reading small files from outside: settings, caches, kernels, lists. In: a path and how long the file may be. Out: its
//! bytes, or why there are none. It never waits and never takes more memory than that, whatever the path names.

use std::fmt;
use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The longest settings, cache or list that is read, in bytes.
pub const LIST: u64 = 4 << 20;
/// The longest kernel file, in bytes.
pub const KERNEL: u64 = 1 << 20;

/// Why a file was not read. It displays as a sentence.
#[derive(Debug)]
pub enum Unread {
    /// Nothing has this name.
    Missing,
    /// It is not what is read: no regular file, or too long. Leave it as it is.
    Odd(String),
    /// The system refused.
    Refused(io::Error),
    /// Its bytes are not what it should hold, and why.
    Damaged(String),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Missing => f.write_str("There is no such file."),
            Unread::Odd(sentence) => f.write_str(sentence),
            Unread::Refused(error) => write!(f, "The system says: {error}."),
            Unread::Damaged(why) => write!(f, "It is damaged: {why}."),
        }
    }
}

impl Unread {
    /// For bytes that cannot be understood.
    pub fn damaged(why: impl fmt::Display) -> Self {
        Unread::Damaged(why.to_string())
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Unread::Missing } else { Unread::Refused(error) }
    }
}

/// The bytes of a regular file, or of the one that a link leads to, of at most `most` bytes.
///
/// # Errors
/// When there is none, it is longer or something else (a pipe, a device, a folder), or the system refuses.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    // Before it is opened: opening a device may already do something.
    require_regular(fs::metadata(path)?.file_type())?;
    // Nonblocking, in case a pipe has taken its place meanwhile.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let found = file.metadata()?;
    require_regular(found.file_type())?;
    let too_long = || Unread::Odd(format!("It is longer than {} MiB.", most >> 20));
    if found.len() > most {
        return Err(too_long());
    }
    // Some files of the system are longer than they say.
    let mut bytes = Vec::with_capacity(found.len() as usize + 1);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// The same as text.
///
/// # Errors
/// As [`bytes`]; also when it is no UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String, Unread> {
    String::from_utf8(bytes(path, most)?).map_err(Unread::damaged)
}

fn require_regular(kind: FileType) -> Result<(), Unread> {
    let name = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a pipe (FIFO)",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    };
    Err(Unread::Odd(format!("It is {name}, not a regular file.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_of_a_sensible_size_are_read() {
        let folder = std::env::temp_dir().join(format!("clreel-load-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        let why = |name: &str| bytes(&at(name), 8).map_err(|e| e.to_string());
        fs::write(at("eight"), "12345678").unwrap();
        symlink("eight", at("link")).unwrap();
        assert_eq!(why("eight").as_deref(), Ok(&b"12345678"[..]));
        assert_eq!(why("link").as_deref(), Ok(&b"12345678"[..]), "a link is followed");
        fs::write(at("nine"), "123456789").unwrap();
        // As long as 4 GiB, without a byte on the disk.
        File::create(at("long")).unwrap().set_len(4 << 30).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink("/proc/self/status", at("unsaid")).unwrap();
        let pipe = std::ffi::CString::new(at("pipe").to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (name, expected) in [
            ("nine", "longer than"),
            ("long", "longer than"),
            ("unsaid", "longer than"),
            ("zero", "a device"),
            ("pipe", "a pipe"),
            ("socket", "a socket"),
            (".", "a folder"),
        ] {
            assert!(matches!(bytes(&at(name), 8), Err(Unread::Odd(why)) if why.contains(expected)), "{name}");
        }
        assert!(matches!(bytes(&at("none"), 8), Err(Unread::Missing)));
        assert!(matches!(bytes(&at("eight/none"), 8), Err(Unread::Refused(_))));
        fs::write(at("nine"), [0xff]).unwrap();
        assert!(matches!(text(&at("nine"), 8), Err(Unread::Damaged(_))));
        fs::remove_dir_all(&folder).unwrap();
    }
}
