//! Finds variants that Rust code names individually.

use std::collections::BTreeSet;

use super::paths::code;

/// The names of those variants of the box filter that have no role in the program, and the ids of all ladders'
/// variants.
pub struct VariantNames {
    pub variants: BTreeSet<String>,
    pub ids: BTreeSet<&'static str>,
}

/// Returns every `VariantId::Name` of a single variant, every import that would hide one, and every string that equals a
/// variant's id, with their lines. Code for tests only is left out.
pub fn single_variants(text: &str, names: &VariantNames) -> Vec<(usize, String)> {
    let tokens = code(text);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = match (token.text.as_str(), word(at + 1), word(at + 2)) {
            ("VariantId", "::", hidden @ ("{" | "*")) => hidden,
            ("VariantId", hidden @ "as", _) => hidden,
            ("VariantId", "::", name) if names.variants.contains(name) => name,
            (text, ..) => match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(id) if names.ids.contains(id) => id,
                _ => continue,
            },
        };
        found.push((token.line, name.to_owned()));
    }
    found
}
