//! Finds a piece of code in a kernel file. In: the file's text, and code. Out: where it stands, whatever blanks, line
//! ends and comments lie between its words, so that a rule outlives a new formatting.

use std::ops::Range;

/// Where the words of some code stand: names, numbers, operators. Comments and blanks are none, nor is the backslash
/// that joins two lines of a macro.
fn words(text: &str) -> Vec<Range<usize>> {
    const LONG: [&str; 22] = [
        "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=",
        "%=", "&=", "|=", "^=", "->", "##",
    ];
    let bytes = text.as_bytes();
    let in_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if bytes[at].is_ascii_whitespace() || bytes[at] == b'\\' {
            at += 1;
            continue;
        } else if bytes[at] == b'"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else if bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' {
            // A number has its point and a vector its component in the same word, so that `c` is not found in `c.s0`.
            rest.bytes().position(|b| !in_name(b)).unwrap_or(rest.len())
        } else if let Some(long) = LONG.iter().find(|long| rest.starts_with(**long)) {
            long.len()
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        found.push(at..at + length);
        at += length;
    }
    found
}

/// The places of `code` in `text`, in order. They do not overlap.
pub fn find(text: &str, code: &str) -> Vec<Range<usize>> {
    let wanted: Vec<&str> = words(code).into_iter().map(|word| &code[word]).collect();
    let words = words(text);
    let mut found = Vec::new();
    let mut first = 0;
    while !wanted.is_empty() && first + wanted.len() <= words.len() {
        let here = &words[first..first + wanted.len()];
        if here.iter().zip(&wanted).all(|(word, wanted)| text[word.clone()] == **wanted) {
            found.push(here[0].start..here[wanted.len() - 1].end);
            first += wanted.len();
        } else {
            first += 1;
        }
    }
    found
}

/// The number of the line in which a place lies, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_whatever_lies_between_its_words() {
        let text = "// sum += a;\nsum+=a [ i ] ; sum += b;\nsum\n  += \\\n a[i];";
        let found: Vec<_> = find(text, "sum += a[i]").into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["sum+=a [ i ]", "sum\n  += \\\n a[i]"]);
        assert_eq!(line_of(text, text.len()), 5);
    }

    #[test]
    fn words_are_whole() {
        assert!(find("xi <= radius", "i <= radius").is_empty());
        assert!(find("c.s0 * 2", "c * 2").is_empty());
        assert!(find("a <= b", "a < b").is_empty());
        assert!(find("a", "").is_empty());
        assert_eq!(find("i i i i", "i i").len(), 2);
    }
}
