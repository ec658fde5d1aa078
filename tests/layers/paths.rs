//! The tokens of Rust source files, and the modules that a file declares. Comments and code for tests only (`#[cfg(test)]`)
//! are left out.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A word, a punctuation character or a literal, such as a string in its quotes, and its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub text: String,
    pub line: usize,
}

/// Returns the tokens of a file without comments and code for tests.
pub fn code(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    flatten(text.parse().expect("Rust"), &mut tokens);
    without_tests(&tokens)
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

/// Adds the tokens of a stream to a list.
fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let token = |text: &str, at: Span| Token { text: text.to_owned(), line: at.start().line };
        let TokenTree::Group(group) = &tree else {
            // The letter in front of a string of bytes is no part of what it says.
            let text = tree.to_string();
            let text: &str = if text.ends_with('"') { text.trim_start_matches(['b', 'c']) } else { &text };
            tokens.push(token(text, tree.span()));
            continue;
        };
        let [open, close] = match group.delimiter() {
            Delimiter::Brace => ["{", "}"],
            Delimiter::Bracket => ["[", "]"],
            Delimiter::Parenthesis => ["(", ")"],
            Delimiter::None => ["", ""],
        };
        tokens.push(token(open, group.span_open()));
        flatten(group.stream(), tokens);
        tokens.push(token(close, group.span_close()));
    }
}
