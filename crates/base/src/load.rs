//! Reading of small files: settings, caches, kernels, lists. Never blocks and never allocates more than the given limit,
//! whatever the path refers to.

use std::fmt;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::de::DeserializeOwned;

/// Maximum size of settings, caches and lists in bytes.
pub const MAX_LIST_BYTES: u64 = 4 << 20;
/// Maximum size of kernel files in bytes.
pub const MAX_KERNEL_BYTES: u64 = 1 << 20;

/// The reason why a file was not read; `Display` formats it as a sentence.
#[derive(Debug)]
pub enum Unread {
    /// The file does not exist.
    Missing,
    /// The path is no regular file, or the file is too long; the string is a sentence about this. The caller must not overwrite
    /// such a file.
    WrongKind(String),
    /// The system returned an error.
    Refused(io::Error),
    /// The contents of the file are invalid; the string is the reason.
    Damaged(String),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Missing => f.write_str("There is no such file."),
            Unread::WrongKind(sentence) => f.write_str(sentence),
            Unread::Refused(error) => write!(f, "It cannot be read: {error}."),
            Unread::Damaged(why) => write!(f, "It is invalid: {why}."),
        }
    }
}

impl Unread {
    /// Returns [`Unread::Damaged`] with this reason, for a file with invalid contents.
    pub fn damaged(why: impl fmt::Display) -> Self {
        Unread::Damaged(why.to_string())
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Unread::Missing } else { Unread::Refused(error) }
    }
}

impl From<OpenError> for Unread {
    fn from(failure: OpenError) -> Self {
        let kind = match failure {
            OpenError::NotRegular(kind) => kind,
            OpenError::Io(error) => return error.into(),
        };
        let name = match kind {
            _ if kind.is_dir() => "a folder",
            _ if kind.is_fifo() => "a pipe (FIFO)",
            _ if kind.is_socket() => "a socket",
            _ if kind.is_char_device() || kind.is_block_device() => "a device",
            _ => "something else",
        };
        Unread::WrongKind(format!("It is {name}, not a regular file."))
    }
}

/// The reason why [`open`] did not open a file.
#[derive(Debug)]
pub enum OpenError {
    /// The path is a folder, a pipe, a socket or a device.
    NotRegular(FileType),
    /// The system returned an error.
    Io(io::Error),
}

/// Opens a regular file for reading; links are followed.
///
/// # Errors
/// Returns an error if the file does not exist, is not regular or cannot be opened.
pub fn open(path: &Path) -> Result<File, OpenError> {
    let require_regular = |found: Metadata| match found.file_type() {
        kind if kind.is_file() => Ok(()),
        kind => Err(OpenError::NotRegular(kind)),
    };
    // Checked before opening, since opening a pipe may block for ever, and opening a device may have side effects.
    require_regular(fs::metadata(path).map_err(OpenError::Io)?)?;
    // Another file may have replaced it since: with these flags a pipe does not block, and the second check finds it.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(OpenError::Io)?;
    require_regular(file.metadata().map_err(OpenError::Io)?)?;
    Ok(file)
}

/// Reads a regular file of at most `max` bytes; links are followed.
///
/// # Errors
/// Returns an error if the file does not exist, is longer or not regular (a pipe, a device, a folder), or reading fails.
pub fn bytes(path: &Path, max: u64) -> Result<Vec<u8>, Unread> {
    let file = open(path)?;
    let len = file.metadata()?.len();
    let too_long = || Unread::WrongKind(format!("It is longer than {} MiB.", max >> 20));
    if len > max {
        return Err(too_long());
    }
    // Files in /proc are longer than their metadata says.
    let mut bytes = Vec::with_capacity(len as usize + 1);
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(too_long()) } else { Ok(bytes) }
}

/// Reads a file like [`bytes`], as UTF-8 text.
///
/// # Errors
/// Returns an error if the file does not exist, is longer than `max` bytes, is not regular or not UTF-8, or reading fails.
pub fn text(path: &Path, max: u64) -> Result<String, Unread> {
    String::from_utf8(bytes(path, max)?).map_err(Unread::damaged)
}

/// Reads a file like [`bytes`], as a program's text in any encoding that contains ASCII, such as UTF-8 and Latin-1. The text has
/// all bytes of the file: see [`text::from_bytes`](crate::text::from_bytes).
///
/// # Errors
/// Returns an error if the file does not exist, is longer than `max` bytes, is not regular or in UTF-16, or reading fails.
pub fn source(path: &Path, max: u64) -> Result<String, Unread> {
    let bytes = bytes(path, max)?;
    without_mark(&bytes)?;
    Ok(crate::text::from_bytes(&bytes))
}

/// Parses JSON, with or without a byte-order mark at its beginning.
///
/// # Errors
/// Returns an error if the bytes are in UTF-16 or not valid JSON.
pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unread> {
    serde_json::from_slice(without_mark(bytes)?).map_err(Unread::damaged)
}

/// Returns the bytes of a text without UTF-8's byte-order mark.
///
/// # Errors
/// Returns an error if the text is in UTF-16 or UTF-32: it begins with their byte-order marks, or one of its first two bytes is
/// zero.
fn without_mark(bytes: &[u8]) -> Result<&[u8], Unread> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..] => {
            Err(Unread::damaged("it is in UTF-16 or UTF-32; save it in UTF-8"))
        }
        _ => Ok(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
    }
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
            assert!(
                matches!(bytes(&at(name), 8), Err(Unread::WrongKind(why)) if why.contains(expected)),
                "{name}"
            );
        }
        assert!(matches!(bytes(&at("none"), 8), Err(Unread::Missing)));
        assert!(matches!(bytes(&at("eight/none"), 8), Err(Unread::Refused(_))));
        for utf16 in [&b"\xff\xfea\0"[..], b"\xfe\xff\0a", b"a\0", b"\0a"] {
            fs::write(at("nine"), utf16).unwrap();
            let error = source(&at("nine"), 8).unwrap_err().to_string();
            assert!(error.contains("UTF-16"), "{error}");
        }
        fs::write(at("nine"), b"caf\xe9").unwrap();
        assert!(matches!(text(&at("nine"), 8), Err(Unread::Damaged(_))));
        assert_eq!(&*crate::text::to_bytes(&source(&at("nine"), 8).unwrap()), b"caf\xe9");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_byte_order_mark_of_json_is_skipped_and_utf16_is_named() {
        assert_eq!(json::<Vec<u32>>(b"\xef\xbb\xbf[1, 2]").unwrap(), [1, 2]);
        assert_eq!(json::<u32>(b"7").unwrap(), 7);
        let why = |bytes: &[u8]| json::<Vec<u32>>(bytes).unwrap_err().to_string();
        let utf16: Vec<u8> = "[1, 2]".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [&utf16[..], &[&b"\xff\xfe"[..], &utf16].concat(), b"\xfe\xff\0["] {
            assert_eq!(why(bytes), "It is invalid: it is in UTF-16 or UTF-32; save it in UTF-8.");
        }
        assert!(why(b"").contains("EOF"), "{}", why(b""));
        assert!(why(b"[").contains("line 1"));
    }
}
