//! Finds code in a kernel file by its tokens, regardless of blanks, line ends and comments between them, so that rules
//! still match after reformatting.

use std::ops::Range;

/// Returns the ranges of the tokens of a text: names, numbers and operators. Comments, blanks and the backslash that joins
/// two lines of a macro are not tokens.
fn tokens(text: &str) -> Vec<Range<usize>> {
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
            // A number includes its point, and a vector its component, so that `c` is not found in `c.s0`.
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

/// Returns the ranges of `code` in `text`, in order and without overlaps.
pub fn find(text: &str, code: &str) -> Vec<Range<usize>> {
    let wanted: Vec<&str> = tokens(code).into_iter().map(|word| &code[word]).collect();
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut first = 0;
    while !wanted.is_empty() && first + wanted.len() <= tokens.len() {
        let here = &tokens[first..first + wanted.len()];
        if here.iter().zip(&wanted).all(|(word, wanted)| text[word.clone()] == **wanted) {
            found.push(here[0].start..here[wanted.len() - 1].end);
            first += wanted.len();
        } else {
            first += 1;
        }
    }
    found
}

/// Returns the number of the line that contains a position, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_regardless_of_blanks_and_comments() {
        let text = "// sum += a;\nsum+=a [ i ] ; sum += b;\nsum\n  += \\\n a[i];";
        let found: Vec<_> = find(text, "sum += a[i]").into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["sum+=a [ i ]", "sum\n  += \\\n a[i]"]);
        assert_eq!(line_of(text, text.len()), 5);
    }

    #[test]
    fn tokens_match_as_a_whole() {
        assert!(find("xi <= radius", "i <= radius").is_empty());
        assert!(find("c.s0 * 2", "c * 2").is_empty());
        assert!(find("a <= b", "a < b").is_empty());
        assert!(find("a", "").is_empty());
        assert_eq!(find("i i i i", "i i").len(), 2);
    }
}
