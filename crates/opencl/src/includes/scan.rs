//! Finds the directives of a kernel file as a preprocessor does: after continuation lines are joined, and outside comments and
//! literals (C99, 5.1.1.2, translation phases 1 to 4).

/// A preprocessing directive.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Directive {
    /// The name, such as `include`; empty for a `#` alone on its line.
    pub(super) name: String,
    /// The rest of the line, with a space in the place of each comment.
    pub(super) operand: String,
    /// The position of the `#` in the text, in bytes.
    pub(super) start: usize,
    /// The position of the end of the directive's last line, before its newline.
    pub(super) end: usize,
    /// The number of the line after the directive.
    pub(super) next_line: usize,
    /// True if there is code between the previous directive, or the beginning of the text, and this one.
    pub(super) follows_code: bool,
}

impl Directive {
    /// Returns the first identifier of the operand, such as the name of the macro that the directive defines.
    pub(super) fn first_name(&self) -> &str {
        let operand = self.operand.trim_start();
        &operand[..operand.bytes().take_while(|byte| is_identifier(*byte)).count()]
    }

    /// Returns the change of the depth of conditionals: 1 for `#if`, −1 for `#endif`.
    pub(super) fn depth_change(&self) -> isize {
        match self.name.as_str() {
            "if" | "ifdef" | "ifndef" => 1,
            "endif" => -1,
            _ => 0,
        }
    }

    /// Returns true for `#else` and `#elif`.
    pub(super) fn is_alternative(&self) -> bool {
        self.name.starts_with("el")
    }
}

/// The directives of a text.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) directives: Vec<Directive>,
    /// True if there is code after the last directive.
    pub(super) ends_with_code: bool,
    /// True if a comment does not end.
    pub(super) has_open_comment: bool,
}

/// Returns true if an identifier may contain this byte.
pub(super) fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// The characters of a text after translation phases 1 and 2: trigraphs are replaced, and continuation lines joined.
struct Characters {
    bytes: Vec<u8>,
    /// The position of each character in the text, and then the position of the text's end.
    positions: Vec<usize>,
}

impl Characters {
    fn new(text: &str) -> Self {
        let text = text.as_bytes();
        let (mut bytes, mut positions) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let (byte, length) = match text.get(at..at + 3) {
                Some(b"??=") => (b'#', 3),
                Some(b"??/") => (b'\\', 3),
                _ => (byte, 1),
            };
            if byte == b'\\'
                && let Some(length) = line_end_after(&text[at + length..]).map(|end| length + end)
            {
                at += length;
                continue;
            }
            let (byte, length) = match newline_length(&text[at..]) {
                0 => (byte, length),
                length => (b'\n', length),
            };
            bytes.push(byte);
            positions.push(at);
            at += length;
        }
        positions.push(text.len());
        Self { bytes, positions }
    }
}

/// Returns the length of the newline with which the text begins; 0 if it begins with none.
fn newline_length(text: &[u8]) -> usize {
    match text {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// Returns the length of the line end that the text begins with, with the spaces before it, which compilers permit between a
/// backslash and the end of its line.
fn line_end_after(text: &[u8]) -> Option<usize> {
    let spaces = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)).count();
    let newline = newline_length(&text[spaces..]);
    (newline > 0).then_some(spaces + newline)
}

/// A scanner at a position in the characters of a text.
struct Scanner<'a> {
    characters: &'a [u8],
    at: usize,
    has_open_comment: bool,
}

impl Scanner<'_> {
    /// Returns true if the rest of the text begins with `text`.
    fn is_at(&self, text: &[u8]) -> bool {
        self.characters[self.at..].starts_with(text)
    }

    /// Returns the next character; a newline at the end of the text.
    fn peek(&self) -> u8 {
        self.characters.get(self.at).copied().unwrap_or(b'\n')
    }

    /// Skips a comment if one begins here; returns false otherwise.
    fn skip_comment(&mut self) -> bool {
        let rest = &self.characters[self.at..];
        if self.is_at(b"//") {
            self.at += rest.iter().take_while(|byte| **byte != b'\n').count();
        } else if self.is_at(b"/*") {
            let end = rest[2..].windows(2).position(|two| two == b"*/");
            self.has_open_comment |= end.is_none();
            self.at += end.map_or(rest.len(), |end| end + 4);
        } else {
            return false;
        }
        true
    }

    /// Skips spaces and comments up to the end of the line.
    fn skip_space(&mut self) {
        while self.skip_comment() || matches!(self.peek(), b' ' | b'\t' | 0x0b | 0x0c) && self.skip(1) {}
    }

    /// Skips `count` characters; returns true.
    fn skip(&mut self, count: usize) -> bool {
        self.at += count;
        true
    }

    /// Takes a literal that begins with the quote here and ends with `end`, or before the end of its line.
    fn literal(&mut self, end: u8, has_escapes: bool) -> &[u8] {
        let start = self.at;
        self.at += 1;
        while self.peek() != b'\n' {
            let byte = self.peek();
            self.at += 1;
            if byte == end {
                break;
            }
            if has_escapes && byte == b'\\' && self.peek() != b'\n' {
                self.at += 1;
            }
        }
        &self.characters[start..self.at]
    }

    /// Takes the rest of a directive named `name` up to the end of its line.
    fn operand(&mut self, name: &str) -> Vec<u8> {
        let mut operand = Vec::new();
        self.skip_space();
        if matches!(name, "include" | "import" | "include_next" | "embed")
            && matches!(self.peek(), b'<' | b'"')
        {
            let end = if self.peek() == b'<' { b'>' } else { b'"' };
            operand.extend(self.literal(end, false));
        }
        // Such a line need not consist of tokens: an apostrophe begins no literal, and a slash with a star no comment.
        let is_raw = matches!(name, "error" | "warning");
        while self.peek() != b'\n' {
            if !is_raw && self.skip_comment() {
                operand.push(b' ');
            } else if !is_raw && matches!(self.peek(), b'"' | b'\'') {
                operand.extend(self.literal(self.peek(), true));
            } else {
                operand.push(self.peek());
                self.at += 1;
            }
        }
        operand
    }
}

/// Finds the directives of a text.
pub(super) fn scan(text: &str) -> Scan {
    let Characters { bytes, positions } = Characters::new(text);
    let mut scanner = Scanner { characters: &bytes, at: 0, has_open_comment: false };
    let (mut directives, mut is_line_start, mut follows_code) = (Vec::new(), true, false);
    let (mut line, mut counted) = (1, 0);
    while scanner.at < bytes.len() {
        scanner.skip_space();
        let length = if scanner.is_at(b"%:") { 2 } else { 1 };
        match scanner.peek() {
            b'\n' => {
                is_line_start = true;
                scanner.at += 1;
            }
            b'#' | b'%' if is_line_start && (length == 2 || scanner.is_at(b"#")) => {
                let start = positions[scanner.at];
                scanner.at += length;
                scanner.skip_space();
                let from = scanner.at;
                while is_identifier(scanner.peek()) {
                    scanner.at += 1;
                }
                let name = String::from_utf8_lossy(&bytes[from..scanner.at]).into_owned();
                let operand = String::from_utf8_lossy(&scanner.operand(&name)).into_owned();
                // A comment without an end reaches to the end of the text.
                let end = positions[scanner.at.min(bytes.len())];
                line += newlines(&text.as_bytes()[counted..end]);
                counted = end;
                directives.push(Directive { name, operand, start, end, next_line: line + 1, follows_code });
                follows_code = false;
            }
            quote @ (b'"' | b'\'') => {
                (is_line_start, follows_code) = (false, true);
                scanner.literal(quote, true);
            }
            _ => {
                (is_line_start, follows_code) = (false, true);
                scanner.at += 1;
            }
        }
    }
    Scan { directives, ends_with_code: follows_code, has_open_comment: scanner.has_open_comment }
}

/// Returns the number of line ends in a text; `\r\n` counts once.
fn newlines(text: &[u8]) -> usize {
    let returns = text.windows(2).filter(|two| two == b"\r\n").count();
    text.iter().filter(|byte| matches!(byte, b'\r' | b'\n')).count() - returns
}
