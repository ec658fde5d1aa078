//! A tokenizer for Rust source files: words, punctuation and strings, and the modules that a file declares. Comments
//! and code for tests only (`#[cfg(test)]`) are left out.

/// A word, a punctuation character or a string in its quotes, and its line. `::` is one token.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub text: String,
    pub line: usize,
}

/// Returns the tokens of a file without comments and code for tests.
pub fn code(text: &str) -> Vec<Token> {
    without_tests(&tokens(text))
}

/// Returns the modules with files of their own that a file declares.
pub fn modules(text: &str) -> Vec<String> {
    let (tokens, mut depth, mut found) = (code(text), 0, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "mod" if depth == 0 && tokens.get(at + 2).is_some_and(|token| token.text == ";") => {
                found.push(tokens[at + 1].text.clone());
            }
            _ => {}
        }
    }
    found
}

/// Removes each item with the attribute `#[cfg(test)]`.
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
        // An item ends with its braces or a semicolon, an import with a semicolon, a field with a comma or the end of
        // its struct.
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

/// Returns words, punctuation and strings, without comments and character literals.
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
            // A character literal, or a lifetime, which has no quote behind its name.
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

/// Returns the end of the quotes that begin at `at`.
fn quoted(chars: &[char], at: usize, quote: char) -> usize {
    let mut end = at + 1;
    while end < chars.len() && chars[end] != quote {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    end + 1
}

/// Returns the end of a raw string that begins at `at`, or `None` if none does.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
    // `r` at the end of a word starts no string.
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
