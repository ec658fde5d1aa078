//! The tokens of a kernel file: names, numbers, operators.

use std::ops::Range;

/// The tokens that an operator may change: those of functions, of macros with arguments, and of
/// constants in files without functions. Comments, other directives and
/// attributes are left out, and so is code for NVIDIA's compiler, which no other device compiles.
pub struct Tokens<'a> {
    text: &'a str,
    ranges: Vec<Range<usize>>,
    /// For each token inside a function the token that opens its body.
    bodies: Vec<Option<usize>>,
}

impl<'a> Tokens<'a> {
    /// Splits a kernel file.
    pub fn of(text: &'a str) -> Self {
        let mut tokens = Self { text, ranges: split(&without_directives(text)), bodies: Vec::new() };
        tokens.drop_attributes();
        let (mut depth, mut body) = (0usize, None);
        for at in 0..tokens.len() {
            if tokens.word(at) == "{" {
                if depth == 0 {
                    body = Some(at);
                }
                depth += 1;
            }
            tokens.bodies.push(body);
            if tokens.word(at) == "}" {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    body = None;
                }
            }
        }
        tokens
    }

    fn drop_attributes(&mut self) {
        while let Some(at) = (0..self.len()).find(|&at| self.word(at) == "__attribute__") {
            let end = self.closing(at + 1).map_or(at, |close| close);
            self.ranges.drain(at..=end);
        }
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns a token; an empty text behind the last one.
    pub fn word(&self, at: usize) -> &'a str {
        self.ranges.get(at).map_or("", |range| &self.text[range.clone()])
    }

    /// Returns the bytes of a token.
    pub fn range(&self, at: usize) -> Range<usize> {
        self.ranges[at].clone()
    }

    /// Returns the token that opens the body of the function around a token.
    pub fn depth(&self, at: usize) -> Option<usize> {
        self.bodies.get(at).copied().flatten()
    }

    /// Returns the token that closes the bracket at this token, if it is one.
    pub fn closing(&self, at: usize) -> Option<usize> {
        let (open, close) = match self.word(at) {
            "(" => ("(", ")"),
            "[" => ("[", "]"),
            _ => return None,
        };
        let mut depth = 0;
        (at..self.len()).find(|&at| {
            depth += i32::from(self.word(at) == open) - i32::from(self.word(at) == close);
            depth == 0
        })
    }

    /// Returns the bytes of each argument of the call whose bracket this token opens.
    pub fn arguments(&self, at: usize) -> Vec<Range<usize>> {
        let Some(close) = self.closing(at) else { return Vec::new() };
        let (mut arguments, mut depth, mut first) = (Vec::new(), 0, at + 1);
        for end in at + 1..=close {
            let word = self.word(end);
            if depth == 0 && (word == "," || end == close) && first < end {
                arguments.push(self.ranges[first].start..self.ranges[end - 1].end);
                first = end + 1;
            }
            depth += i32::from(["(", "["].contains(&word)) - i32::from([")", "]"].contains(&word));
        }
        arguments
    }

    /// Returns the words of the parameter list of the function around a token.
    pub fn parameters(&self, at: usize) -> impl Iterator<Item = &'a str> {
        let body = self.depth(at).unwrap_or(0);
        let first = (0..body).rev().find(|&at| self.word(at) == "(").unwrap_or(body);
        (first..body).map(|at| self.word(at))
    }
}

/// Returns the text of the same length with blanks in the place of comments, directives and NVIDIA's code.
fn without_directives(text: &str) -> String {
    let (mut out, mut skipped, mut depth, mut continues) = (String::new(), None, 0usize, false);
    let mut before = "";
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        let is_directive = code.starts_with('#') && !continues;
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let macro_rest = code.strip_prefix("#define ").filter(|_| is_directive);
        let macro_rest = macro_rest.map(|rest| rest.trim_start_matches(name));
        // A file without functions has constants; those with a default value get another one from the program.
        let is_constant = !text.contains('{') && !before.starts_with("#ifndef");
        before = code;
        let is_macro = macro_rest.is_some_and(|rest| rest.starts_with('(') || is_constant);
        if code.starts_with("#if") {
            if skipped.is_none() && (code.starts_with("#if NVIDIA") || code.contains("__NV")) {
                skipped = Some(depth);
            }
            depth += 1;
        } else if code.starts_with("#endif") {
            depth = depth.saturating_sub(1);
        }
        let ends = (code.starts_with("#endif") || code.starts_with("#el"))
            && skipped == Some(depth - usize::from(code.starts_with("#el")));
        let hides = skipped.is_some() || is_directive && !is_macro;
        if ends {
            skipped = None;
        }
        let comment = if hides { 0 } else { line.find("//").unwrap_or(line.len()) };
        // The name and the parameters of a macro are no code.
        let head = match macro_rest.filter(|_| is_macro && !hides) {
            Some(rest) if rest.starts_with('(') => line.find(')').map_or(0, |end| end + 1).min(comment),
            Some(rest) => line.len() - rest.len(),
            None => 0,
        };
        let blank =
            |text: &str| text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect::<String>();
        out += &blank(&line[..head]);
        out += &line[head..comment].replace('\\', " ");
        out += &blank(&line[comment..]);
        continues = line.trim_end().ends_with('\\');
    }
    out
}

fn split(text: &str) -> Vec<Range<usize>> {
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
        let length = if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        } else if bytes[at] == b'"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else if bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' {
            // A number includes its point, and a vector its component.
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

/// Returns the number of the line that contains a position, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}
