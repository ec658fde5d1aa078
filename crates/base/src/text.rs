//! Escaping of foreign text, such as file names, titles in movies and names from drivers, so that it cannot control the
//! terminal or leave its line, and shows all of its characters.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

/// Returns true for characters that must be escaped: control characters, line separators, and characters that change the
/// writing direction, with which text can look like other text (such as U+202E; Unicode Technical Report 36, 2.5).
pub fn is_control(c: char) -> bool {
    let changes_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    c.is_control()
        || changes_direction
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Returns the text as one line, with [control characters](is_control) escaped as in Rust, such as `\n`, `\x1b` or `\u{202e}`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    with_escapes(text, is_control)
}

/// Returns the text escaped as by [`escaped`], except for newlines and tabs.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    with_escapes(text, |c| is_control(c) && c != '\n' && c != '\t')
}

/// Returns the text with escapes for the characters for which `is_escaped` returns true, and for the characters by which
/// [`from_bytes`] represents bytes that are not UTF-8.
fn with_escapes(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |c: char| is_escaped(c) || foreign_byte(c).is_some();
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !is_escaped(c) => escaped.push(c),
            '\n' | '\r' | '\t' => escaped.extend(c.escape_default()),
            c if c.is_ascii() => push_byte(&mut escaped, c as u8),
            c => match foreign_byte(c) {
                Some(byte) => push_byte(&mut escaped, byte),
                None => escaped.extend(c.escape_unicode()),
            },
        }
    }
    Cow::Owned(escaped)
}

/// Returns the name of a file or folder for messages, escaped as by [`escaped`], with bytes that are not UTF-8 as `\xff`.
pub fn name(name: impl AsRef<OsStr>) -> String {
    escaped(&unicode(name)).into_owned()
}

/// Returns a name without escapes for control characters, for formats that have escapes of their own, such as JSON. Bytes that
/// are not UTF-8 become `\xff`.
pub fn unicode(name: impl AsRef<OsStr>) -> String {
    let mut text = String::new();
    for chunk in name.as_ref().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| push_byte(&mut text, *byte));
    }
    text
}

/// The base of the code points that represent bytes that are not UTF-8: [`from_bytes`] represents such a byte by the code point
/// `FIRST_FOREIGN` + the byte. These are among the last code points of Unicode, which are unassigned and appear in no text.
const FIRST_FOREIGN: u32 = 0x10_ff00;

/// Returns the byte that this character represents in a text from [`from_bytes`]; `None` for ordinary characters.
fn foreign_byte(c: char) -> Option<u8> {
    u8::try_from(u32::from(c).checked_sub(FIRST_FOREIGN)?).ok().filter(|byte| *byte >= 0x80)
}

/// Converts bytes to text from which [`to_bytes`] restores the same bytes. Each byte that is not UTF-8, as in Latin-1 texts,
/// becomes a character that represents it, which messages show as, for example, `\xff`.
pub fn from_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let foreign = |byte: u8| char::from_u32(FIRST_FOREIGN + u32::from(byte));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match foreign_byte(c) {
                None => text.push(c),
                Some(_) => text.extend(c.encode_utf8(&mut [0; 4]).bytes().filter_map(foreign)),
            }
        }
        text.extend(chunk.invalid().iter().copied().filter_map(foreign));
    }
    text
}

/// Converts a text from [`from_bytes`] back to the original bytes.
pub fn to_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match foreign_byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

/// Appends the escape of a byte that is not UTF-8, such as `\xff`.
fn push_byte(text: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(text, "\\x{byte:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for plain in
            ["", "clip.mp4", "Zoë – 日本語 🎬.mkv", "a\\nb 'c' \"d\"", "👩\u{200d}👧.mkv", "e\u{301}"]
        {
            assert!(matches!(escaped(plain), Cow::Borrowed(same) if same == plain), "{plain}");
            assert_eq!(name(plain), plain);
        }
        assert_eq!(escaped("a\nb\r\tc"), "a\\nb\\r\\tc");
        assert_eq!(escaped("\x1b]0;title\x07\x7f\0"), "\\x1b]0;title\\x07\\x7f\\x00");
        assert_eq!(escaped("\u{9b}31m"), "\\u{9b}31m", "the same in one byte");
        assert_eq!(escaped("4pm.\u{202e}gpj"), "4pm.\\u{202e}gpj");
        assert_eq!(escaped("a\u{2028}b\u{feff}\u{2066}\u{200f}"), "a\\u{2028}b\\u{feff}\\u{2066}\\u{200f}");
        assert_eq!(escaped_lines("a\n\tb\x1bc"), "a\n\tb\\x1bc");
    }

    #[test]
    fn text_of_bytes_has_all_of_them_and_names_escape_what_is_not_utf8() {
        let foreign = "a\u{10ffe9}\u{10ff41}";
        for bytes in
            [&b"caf\xe9 // \xe2\x82"[..], "caf\u{e9}".as_bytes(), b"\xff\xfe", b"", foreign.as_bytes()]
        {
            assert_eq!(&*to_bytes(&from_bytes(bytes)), bytes, "{bytes:?}");
        }
        assert_eq!(from_bytes("caf\u{e9}".as_bytes()), "caf\u{e9}");
        assert_eq!(escaped(&from_bytes(b"caf\xe9\n")), "caf\\xe9\\n");
        assert_eq!(escaped_lines(&from_bytes(b"caf\xe9\n")), "caf\\xe9\n");
        let of = |bytes: &[u8]| name(OsStr::from_bytes(bytes));
        assert_eq!(of(b"\xff\xfe odd\n.mkv"), "\\xff\\xfe odd\\n.mkv");
        assert_eq!(of(b"caf\xe9.mkv"), "caf\\xe9.mkv", "Latin-1");
        assert_eq!(of(b"\xc3"), "\\xc3", "an incomplete character");
        assert_eq!(unicode(OsStr::from_bytes(b"a\n\xff\x1b")), "a\n\\xff\x1b");
    }
}
