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
    Some(instead(kernel, &after.map(|(_, name)| *name).collect::<Vec<_>>()))
}
