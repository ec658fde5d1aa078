//! Text that others have written: names of files, titles in movies, what drivers say of themselves. In: any text. Out: text
//! that a terminal does not obey, that stays where it was put, and that shows all that was in it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

/// Returns true for what is no letter or sign of a text: what controls a terminal, ends a line, or turns the direction of what
/// follows, so that it is read as something else (U+202E and its like; Unicode Technical Report 36, 2.5).
pub fn is_control(c: char) -> bool {
    let turns_around =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    c.is_control()
        || turns_around
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Returns the text in one line: what [controls](is_control) is written as in Rust, such as `\n`, `\x1b` or `\u{202e}`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    with_escapes(text, is_control)
}

/// Returns text of several lines, with tabs, as [`escaped`] does.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    with_escapes(text, |c| is_control(c) && c != '\n' && c != '\t')
}

fn with_escapes(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !is_escaped(c) => escaped.push(c),
            '\n' | '\r' | '\t' => escaped.extend(c.escape_default()),
            c if c.is_ascii() => push_byte(&mut escaped, c as u8),
            c => escaped.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(escaped)
}

/// Returns the name of a file or folder in one line; its bytes that are no UTF-8 are written as `\xff`.
pub fn name(name: impl AsRef<OsStr>) -> String {
    escaped(&unicode(name)).into_owned()
}

/// Returns a name as it is, for formats with escapes of their own such as JSON. They have no bytes: those that are no UTF-8
/// are written as `\xff`.
pub fn unicode(name: impl AsRef<OsStr>) -> String {
    let mut text = String::new();
    for chunk in name.as_ref().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| push_byte(&mut text, *byte));
    }
    text
}

fn push_byte(text: &mut String, byte: u8) {
    // Writing to a string does not fail.
    let _ = write!(text, "\\x{byte:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_is_written_out() {
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
    fn names_are_shown_byte_by_byte_where_they_are_no_text() {
        let of = |bytes: &[u8]| name(OsStr::from_bytes(bytes));
        assert_eq!(of(b"\xff\xfe odd\n.mkv"), "\\xff\\xfe odd\\n.mkv");
        assert_eq!(of(b"caf\xe9.mkv"), "caf\\xe9.mkv", "Latin-1");
        assert_eq!(of(b"\xc3"), "\\xc3", "half a letter");
        assert_eq!(unicode(OsStr::from_bytes(b"a\n\xff\x1b")), "a\n\\xff\x1b");
    }
}
