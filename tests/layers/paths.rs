//! The paths in a file of Rust. In: its text, and which module it is. Out: the modules that it declares, and every path
//! that begins with `crate`, `super` or `self`, from the crate's root. Comments, strings and what is for tests only
//! (`#[cfg(test)]`) are left out. [`code`] keeps the strings.

/// What a file declares and uses.
pub struct Source {
    /// Modules in files of their own.
    pub modules: Vec<String>,
    /// The line, counted from 1, and the path without `crate`.
    pub paths: Vec<(usize, Vec<String>)>,
}

/// A word, a sign, or a string in its quotes; and its line. `::` is one sign.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub text: String,
    pub line: usize,
}

/// What a file consists of, without comments and what is for tests only.
pub fn code(text: &str) -> Vec<Token> {
    without_tests(&tokens(text))
}

/// Reads a file of this module.
pub fn read(text: &str, module: &[String]) -> Source {
    let tokens = code(text);
    let mut source = Source { modules: Vec::new(), paths: Vec::new() };
    // The modules that are written out around the present place: their names, and at which depth of braces they end.
    let mut inner: Vec<(String, usize)> = Vec::new();
    let (mut at, mut depth) = (0, 0);
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    while at < tokens.len() {
        let here: Vec<String> =
            module.iter().cloned().chain(inner.iter().map(|(name, _)| name.clone())).collect();
        match tokens[at].text.as_str() {
            "mod" if is(at + 2, ";") => {
                if inner.is_empty() {
                    source.modules.push(tokens[at + 1].text.clone());
                }
                at += 3;
            }
            "mod" if is(at + 2, "{") => {
                inner.push((tokens[at + 1].text.clone(), depth));
                depth += 1;
                at += 3;
            }
            "{" => {
                depth += 1;
                at += 1;
            }
            "}" => {
                depth -= 1;
                inner.pop_if(|(_, end)| *end == depth);
                at += 1;
            }
            // After `::` it would be the last part of a path, as in `use {crate::a, b::self}`.
            "crate" | "super" | "self" if is(at + 1, "::") && !(at > 0 && is(at - 1, "::")) => {
                at = tree(&tokens, at, &here, &[], &mut source.paths);
            }
            _ => at += 1,
        }
    }
    source
}

/// Reads a path or a list of paths in braces behind `before`; returns where it ends.
fn tree(
    tokens: &[Token],
    mut at: usize,
    here: &[String],
    before: &[String],
    paths: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut path = before.to_vec();
    // Whether anything was read that can be gone up from: at first `super` is the module above this one.
    let mut begun = !before.is_empty();
    let line = tokens.get(at).map_or(0, |token| token.line);
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while !matches!(text(at), "}" | "") {
                    at = tree(tokens, at, here, &path, paths);
                    if text(at) == "as" {
                        at += 2;
                    }
                    if text(at) == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "crate" => path.clear(),
            "self" if !begun => path = here.to_vec(),
            "self" | "*" => {}
            "super" => {
                if !begun {
                    path = here.to_vec();
                }
                path.pop();
            }
            word if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => path.push(word.to_owned()),
            // Generic arguments, as in `crate::a::f::<T>()`: they are read as what follows.
            _ => {
                paths.push((line, path));
                return at.max(1);
            }
        }
        begun = true;
        at += 1;
        if text(at) != "::" {
            paths.push((line, path));
            return at;
        }
        at += 1;
    }
}

/// Leaves out each item that `#[cfg(test)]` stands before.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let test = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let begins = tokens[at..].iter().map(|token| token.text.as_str()).take(test.len()).eq(test);
        if !begins {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += test.len();
        // An item ends with its braces or a semicolon, an import always with that, a field with a comma or what it is in.
        let words = ["fn", "mod", "impl", "struct", "enum", "trait", "const", "static", "type", "use"];
        let mut head = tokens[at..]
            .iter()
            .map(|token| token.text.as_str())
            .take_while(|text| !matches!(*text, "{" | "," | ":"));
        let found = head.find(|text| words.contains(text));
        let mut depth = 0_usize;
        while let Some(token) = tokens.get(at) {
            match token.text.as_str() {
                "}" if depth == 0 => break,
                "," if depth == 0 && found.is_none() => break,
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => {
                    depth -= 1;
                    if depth == 0 && token.text == "}" && found != Some("use") {
                        at += 1;
                        break;
                    }
                }
                ";" if depth == 0 => {
                    at += 1;
                    break;
                }
                _ => {}
            }
            at += 1;
        }
    }
    kept
}

/// Words, signs and strings, without comments and characters in quotes.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let (mut at, mut line, mut tokens) = (0, 1, Vec::new());
    let starts = |at: usize, what: &str| what.chars().enumerate().all(|(n, c)| chars.get(at + n) == Some(&c));
    while at < chars.len() {
        let from = at;
        let c = chars[at];
        if starts(at, "//") {
            at += chars[at..].iter().take_while(|c| **c != '\n').count();
        } else if starts(at, "/*") {
            let mut depth = 0;
            loop {
                if starts(at, "/*") {
                    (depth, at) = (depth + 1, at + 2);
                } else if starts(at, "*/") {
                    (depth, at) = (depth - 1, at + 2);
                } else {
                    at += 1;
                }
                if depth == 0 || at >= chars.len() {
                    break;
                }
            }
        } else if let Some(end) = raw_string(&chars, at) {
            at = end;
        } else if c == '"' {
            at = quoted(&chars, at, '"').min(chars.len());
            tokens.push(Token { text: chars[from..at].iter().collect(), line });
        } else if c == '\'' {
            // A character, or a lifetime: that has no quote behind its name.
            let is_char = chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'');
            at = if is_char { quoted(&chars, at, '\'') } else { at + 1 };
        } else if c.is_alphanumeric() || c == '_' {
            at += chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
            tokens.push(Token { text: chars[from..at].iter().collect(), line });
        } else if starts(at, "::") {
            at += 2;
            tokens.push(Token { text: "::".to_owned(), line });
        } else {
            at += 1;
            if !c.is_whitespace() {
                tokens.push(Token { text: c.to_string(), line });
            }
        }
        at = at.min(chars.len());
        line += chars[from..at].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

/// Where the quotes that begin at `at` end.
fn quoted(chars: &[char], at: usize, quote: char) -> usize {
    let mut end = at + 1;
    while end < chars.len() && chars[end] != quote {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    end + 1
}

/// Where a raw string that begins at `at` ends; `None` where none begins.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
    // Not the end of a word.
    if at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_') {
        return None;
    }
    let mut begin = at;
    if matches!(chars[begin], 'b' | 'c') {
        begin += 1;
    }
    if chars.get(begin) != Some(&'r') {
        return None;
    }
    let hashes = chars[begin + 1..].iter().take_while(|c| **c == '#').count();
    begin += 1 + hashes;
    if chars.get(begin) != Some(&'"') {
        return None;
    }
    let ends = |at: usize| chars[at] == '"' && (1..=hashes).all(|n| chars.get(at + n) == Some(&'#'));
    let end = (begin + 1..chars.len()).find(|at| ends(*at)).unwrap_or(chars.len());
    Some(end + 1 + hashes)
}
