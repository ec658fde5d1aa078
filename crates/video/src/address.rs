//! Addresses of files. In: how a user, another program or a list names a movie. Out: its path.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Returns the path of the movie that `name` names.
///
/// The address of a file, as file managers and browsers hand it over (`file:///a%20b.mkv`, RFC 8089), is decoded to the
/// bytes of its path, of any encoding; an address without a host may be written with one stroke. A percent sign that no two
/// hexadecimal digits follow is one. Everything else is a path already; so is an address that names no file of this machine,
/// which [`refusal`] tells once it is found that no file has that name.
pub fn path_of(name: &OsStr) -> PathBuf {
    match parsed(name.as_bytes()) {
        Address::File(path) => OsString::from_vec(path).into(),
        _ => name.into(),
    }
}

/// What a name is.
enum Address {
    /// The address of this file.
    File(Vec<u8>),
    /// The address of a file of that machine.
    Elsewhere(String),
    /// The address of a file, without the file.
    Empty,
    /// Of something else than a file, such as `https://…`.
    Network,
    /// A path.
    None,
}

fn parsed(name: &[u8]) -> Address {
    let Some(colon) = name.iter().position(|byte| *byte == b':') else { return Address::None };
    let (scheme, rest) = (&name[..colon], &name[colon + 1..]);
    if !scheme.eq_ignore_ascii_case(b"file") {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let is_address = rest.starts_with(b"//") && !scheme.is_empty() && scheme.iter().all(is_letter);
        return if is_address { Address::Network } else { Address::None };
    }
    match rest.strip_prefix(b"//") {
        Some(rest) => {
            let host = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(host);
            if !host.is_empty() && !host.eq_ignore_ascii_case(b"localhost") {
                Address::Elsewhere(String::from_utf8_lossy(host).into_owned())
            } else if path.len() < 2 {
                Address::Empty
            } else {
                Address::File(decoded(path))
            }
        }
        // `file:a.mkv` is a name as any other.
        None if rest.starts_with(b"/") => Address::File(decoded(rest)),
        None => Address::None,
    }
}

/// The bytes that an address means: `%20` is a space.
fn decoded(address: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|b| char::from(*b).to_digit(16));
    let (mut bytes, mut at) = (Vec::with_capacity(address.len()), 0);
    while let Some(byte) = address.get(at) {
        match (byte, digit(address.get(at + 1)), digit(address.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    bytes
}

/// Returns why `path`, which is no file's, is none, and what to try instead, where it is an address.
pub(super) fn refusal(path: &Path) -> Option<(String, &'static str)> {
    const FILES: &str = "The address of a file of this machine begins with file:///; its path alone will do.";
    match parsed(path.as_os_str().as_bytes()) {
        Address::Network => Some((
            "It is an address on the network, and clreel plays only files of this machine.".to_owned(),
            "Save the movie to a file and open that.",
        )),
        Address::Elsewhere(host) => {
            Some((format!("It is the address of a file of another machine, '{host}'."), FILES))
        }
        Address::Empty => Some(("It is the address of a file without the file's name.".to_owned(), FILES)),
        Address::File(_) | Address::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_paths() {
        for (name, path) in [
            ("file:///a/sp%20ace.mov", "/a/sp ace.mov"),
            ("file://localhost/a/b.mov", "/a/b.mov"),
            ("FILE://LocalHost/a%2Fb.mov", "/a/b.mov"),
            ("file:/a/b%25.mov", "/a/b%.mov"),
            ("file:///a%20%C3%A4%2.mp4", "/a \u{e4}%2.mp4"),
            ("file:///100%.mp4", "/100%.mp4"),
            ("file:///a?b#c.mp4", "/a?b#c.mp4"),
            // Paths, and addresses of something else.
            ("/a%20b.mov", "/a%20b.mov"),
            ("50%20.mov", "50%20.mov"),
            ("file:a.mov", "file:a.mov"),
            ("a:b.mov", "a:b.mov"),
            ("file", "file"),
            ("", ""),
            ("file://", "file://"),
            ("file:///", "file:///"),
            ("file://host/a.mov", "file://host/a.mov"),
            ("https://host/a%20b.mov", "https://host/a%20b.mov"),
        ] {
            assert_eq!(path_of(OsStr::new(name)), Path::new(path), "{name}");
        }
        // Bytes that are no UTF-8, written out or as they are.
        let odd = OsStr::from_bytes(b"/\xff\xfe.mov");
        assert_eq!(path_of(OsStr::new("file:///%ff%FE.mov")), odd);
        assert_eq!(path_of(OsStr::from_bytes(b"file:///\xff%fe.mov")), odd);
        assert_eq!(path_of(odd), odd);
    }

    #[test]
    fn what_is_no_file_of_this_machine_is_told() {
        let why = |name: &str| refusal(Path::new(name)).map(|(why, _)| why).unwrap_or_default();
        assert!(why("https://host/a.mov").contains("network"));
        assert!(why("rtsp://host").contains("network"));
        assert!(why("file://host/a.mov").contains("another machine, 'host'"));
        for name in ["file://", "file:///", "file://localhost", "file://localhost/"] {
            assert!(why(name).contains("without the file's name"), "{name}");
        }
        for name in ["/a.mov", "a:b.mov", "://a.mov", "file:a.mov", "file:///a.mov", "a b://c"] {
            assert_eq!(why(name), "", "{name}");
        }
    }
}
