//! The files of a filter's folder. Nothing outside of it is read.

use std::path::{Component, Path};

use base::load::{self, Unread};

use crate::Description;
use crate::parse::MAX_BYTES;
use crate::place::{Mistake, Place, instead};

/// The name of the file that describes a filter.
pub const FILE: &str = "filter.toml";

/// Reads the description in a folder, and checks that its kernels are there.
///
/// # Errors
/// Returns the mistakes, at least one.
pub fn read(folder: &Path) -> Result<Description, Vec<Mistake>> {
    let text = text(folder).map_err(|mistake| vec![mistake])?;
    let description = Description::parse(&text, &file_name(folder))?;
    let mut mistakes: Vec<Mistake> = Vec::new();
    for pass in description.variants.iter().flat_map(|variant| &variant.codes).flat_map(|code| &code.passes) {
        mistakes.extend(
            match open(folder, &pass.file) {
                Ok(text) => missing_kernel(&text, &pass.kernel).map(|(why, hint)| {
                    (&pass.kernel_place, format!("{} has no kernel '{}'.", pass.file, pass.kernel), why, hint)
                }),
                Err(why) => {
                    let hint = format!("Put {} into the folder.", pass.file);
                    Some((
                        &pass.file_place,
                        format!("'{}' cannot be read.", pass.file),
                        why.to_string(),
                        hint,
                    ))
                }
            }
            .map(|(place, what, why, hint)| place.mistake(&what, why, hint)),
        );
    }
    mistakes.sort_by(|a, b| a.place.cmp(&b.place));
    mistakes.dedup();
    if mistakes.is_empty() { Ok(description) } else { Err(mistakes) }
}

/// Reads the text of the description in a folder.
///
/// # Errors
/// Returns the reason if it cannot be read.
pub fn text(folder: &Path) -> Result<String, Mistake> {
    read_inside(folder, FILE, MAX_BYTES as u64).map_err(|why| {
        let place = Place { file: file_name(folder).into(), line: 1, column: 1 };
        place.mistake(
            "The description cannot be read.",
            why.to_string(),
            "A filter is a folder with a filter.toml.",
        )
    })
}

/// Returns the name of the description in messages.
fn file_name(folder: &Path) -> String {
    folder.file_name().map_or(FILE.to_owned(), |name| format!("{}/{FILE}", base::text::name(name)))
}

/// Reads a kernel file of a folder.
///
/// # Errors
/// Returns the reason if the name or a link leads out of the folder, or the file is missing, no regular file or too long.
pub fn open(folder: &Path, file: &str) -> Result<String, Unread> {
    check_name(file).map_err(|why| Unread::WrongKind(why.to_owned()))?;
    read_inside(folder, file, load::MAX_KERNEL_BYTES)
}

fn read_inside(folder: &Path, file: &str, most: u64) -> Result<String, Unread> {
    let (root, path) = (folder.canonicalize()?, folder.join(file).canonicalize()?);
    if !path.starts_with(root) {
        return Err(Unread::WrongKind("It is a link that leads out of the folder.".to_owned()));
    }
    load::source(&path, most)
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
