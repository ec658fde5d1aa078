//! Rungs that code names one by one. In: a file's text. Out: each of them, with its line.

use std::collections::BTreeSet;

use super::paths::code;

/// The names in the code of those rungs of the box filter that stand for nothing but themselves, and the ids of all
/// ladders' rungs.
pub struct Rungs {
    pub variants: BTreeSet<String>,
    pub ids: BTreeSet<&'static str>,
}

/// Every `VariantId::Name` of a single rung, every import that would hide one, and every string that is a rung's id and
/// nothing else; what is for tests only is left out.
pub fn single(text: &str, rungs: &Rungs) -> Vec<(usize, String)> {
    let tokens = code(text);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = match (token.text.as_str(), word(at + 1), word(at + 2)) {
            ("VariantId", "::", hidden @ ("{" | "*")) => hidden,
            ("VariantId", hidden @ "as", _) => hidden,
            ("VariantId", "::", name) if rungs.variants.contains(name) => name,
            (text, ..) => match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(id) if rungs.ids.contains(id) => id,
                _ => continue,
            },
        };
        found.push((token.line, name.to_owned()));
    }
    found
}
