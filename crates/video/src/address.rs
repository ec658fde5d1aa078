//! Converts `file:` URLs, as file managers and playlists use them, to paths.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode;

/// Returns the path of the file that the user named by `name`, which is a path or a `file:` URL.
///
/// A URL of a file, as file managers and browsers pass it (`file:///a%20b.mkv`, RFC 8089), is decoded to the bytes of its path,
/// in any encoding; `file:/a` is accepted as well. A percent sign without two hexadecimal digits stands for itself. Everything
/// else is returned unchanged, including URLs of anything but a file on this machine. If no file with such a name is found,
/// [`explain_missing_file`] explains the URL to the user.
pub fn path_of(name: &OsStr) -> PathBuf {
    match parse(name.as_bytes()) {
        Address::File(path) => OsString::from_vec(path).into(),
        _ => name.into(),
    }
}

/// The hint to name a file by its path or by a `file:` URL.
const PATH_HINT: &str = "The address of a file of this machine begins with file:///; its path alone will do.";

/// The kinds of names that a user may give for a movie.
enum Address {
    /// The URL of a file on this machine, with the path of the file.
    File(Vec<u8>),
    /// The URL of anything else, with the reason why it is not played and a hint for the user.
    Elsewhere(String, &'static str),
    /// Any other name, which is taken as a path.
    Path,
}

/// Determines the kind of a name, and decodes the path of a `file:` URL.
fn parse(name: &[u8]) -> Address {
    let Some(colon) = name.iter().position(|byte| *byte == b':') else { return Address::Path };
    let (scheme, rest) = (&name[..colon], &name[colon + 1..]);
    if !scheme.eq_ignore_ascii_case(b"file") {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let is_address = rest.starts_with(b"//") && !scheme.is_empty() && scheme.iter().all(is_letter);
        let why = "It is an address on the network, and clreel plays only files of this machine.";
        let hint = "Save the movie to a file and open that.";
        return if is_address { Address::Elsewhere(why.to_owned(), hint) } else { Address::Path };
    }
    match rest.strip_prefix(b"//") {
        Some(rest) => {
            let host = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(host);
            if !host.is_empty() && !host.eq_ignore_ascii_case(b"localhost") {
                let host = String::from_utf8_lossy(host);
                let why = format!("It is the address of a file of another machine, '{host}'.");
                Address::Elsewhere(why, PATH_HINT)
            } else if path.len() < 2 {
                let why = "It is the address of a file without the file's name.";
                Address::Elsewhere(why.to_owned(), PATH_HINT)
            } else {
                Address::File(percent_decode(path).collect())
            }
        }
        // `file:a.mkv` is an ordinary name.
        None if rest.starts_with(b"/") => Address::File(percent_decode(rest).collect()),
        None => Address::Path,
    }
}

/// Returns the reason why no file was found at `path`, with a hint for the user, if `path` is a URL of something other than a
/// file on this machine; otherwise `None`.
pub(super) fn explain_missing_file(path: &Path) -> Option<(String, &'static str)> {
    match parse(path.as_os_str().as_bytes()) {
        Address::Elsewhere(why, hint) => Some((why, hint)),
        Address::File(_) | Address::Path => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_urls_are_converted_to_paths() {
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
    fn other_urls_are_explained() {
        let why = |name: &str| explain_missing_file(Path::new(name)).map(|(why, _)| why).unwrap_or_default();
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
