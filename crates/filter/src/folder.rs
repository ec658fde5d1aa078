//! The files of a filter's folder.

use std::path::{Component, Path};

use crate::Description;
use crate::place::{Mistake, instead};

/// The name of the file that describes a filter.
pub const FILE: &str = "filter.toml";

/// Checks that the kernels of a description are in its files. `text_of` returns the text of a file of the folder, or the reason why
/// it cannot be read.
///
/// # Errors
/// Returns the mistakes, at least one.
pub fn check_kernels(
    description: &Description,
    text_of: impl Fn(&str) -> Result<String, String>,
) -> Result<(), Vec<Mistake>> {
    let codes = description.variants.iter().flat_map(|variant| &variant.codes);
    let mut mistakes: Vec<Mistake> = Vec::new();
    for pass in codes.flat_map(|code| &code.passes) {
        let mistake = match text_of(&pass.file) {
            Ok(text) => missing_kernel(&text, &pass.kernel).map(|(why, hint)| {
                let what = format!("{} has no kernel '{}'.", pass.file, pass.kernel);
                pass.kernel_place.mistake(&what, why, hint)
            }),
            Err(why) => {
                let (what, hint) = (
                    format!("'{}' cannot be read.", pass.file),
                    format!("Put {} into the folder.", pass.file),
                );
                Some(pass.file_place.mistake(&what, why, hint))
            }
        };
        mistakes.extend(mistake);
    }
    mistakes.sort_by(|a, b| a.place.cmp(&b.place));
    mistakes.dedup();
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
}

/// Returns the reason why a name is not one of a kernel file inside the folder.
pub(crate) fn check_name(file: &str) -> Result<(), &'static str> {
    let path = Path::new(file);
    if path.is_absolute() {
        return Err("It is an absolute path.");
    }
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err("Its path has '.' or '..'.");
    }
    if path.extension().is_none_or(|end| end != "cl") {
        return Err("Its name does not end in '.cl'.");
    }
    Ok(())
}

/// Returns the names of a kernel's arguments, in order, from the text of its file, for drivers that do not report them; `None` if the
/// text does not tell them for certain, as where macros make the kernel.
pub fn argument_names(text: &str, kernel: &str) -> Option<Vec<String>> {
    let text = without_comments(text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = text.match_indices(kernel).filter_map(|(at, _)| {
        let before = text[..at].trim_end().strip_suffix("void")?;
        let rest = text[at + kernel.len()..].trim_start().strip_prefix('(')?;
        // Attributes stand between the qualifier and the type.
        let head = before.rsplit([';', '}']).next()?;
        head.split(|c| !is_word(c)).any(|word| matches!(word, "kernel" | "__kernel")).then_some(rest)
    });
    let (rest, None) = (found.next()?, found.next()) else { return None };
    let (mut depth, mut list) = (0, rest);
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => {
                list = &rest[..at];
                break;
            }
            '#' => return None,
            _ => {}
        }
    }
    let name = |argument: &str| {
        let argument = argument.split('[').next()?.trim_end();
        let name = argument.rsplit(|c| !is_word(c)).next()?;
        (argument.len() > name.len() && name.starts_with(|c: char| !c.is_ascii_digit()))
            .then(|| name.to_owned())
    };
    list.split(',').map(name).collect()
}

/// Returns a text with a space in place of each comment.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::new();
    while let Some(at) = ["//", "/*"].iter().filter_map(|mark| rest.find(mark)).min() {
        let (before, comment) = rest.split_at(at);
        code += before;
        code.push(' ');
        let end =
            if comment.starts_with("//") { comment.find('\n') } else { comment.find("*/").map(|at| at + 2) };
        rest = end.map_or("", |end| &comment[end..]);
    }
    code + rest
}

/// Returns the kernels that a text has instead, and a remedy, if it surely has no kernel of this name: included files and pasted
/// names are left to the compiler.
fn missing_kernel(text: &str, kernel: &str) -> Option<(String, String)> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    if words.contains(&kernel) || text.contains("include") || text.contains("##") {
        return None;
    }
    let after =
        words.iter().zip(words.iter().skip(2)).filter(|(word, _)| matches!(**word, "kernel" | "__kernel"));
    let kernels: Vec<&str> = after.map(|(_, name)| *name).collect();
    let none = || ("It has no kernels.".to_owned(), format!("Write '__kernel void {kernel}(…)' there."));
    Some(if kernels.is_empty() { none() } else { instead(kernel, &kernels) })
}
