//! Prints results on stdout, as text, JSON or tables.

use std::io::{ErrorKind, Write as _};
use std::ops::Range;
use std::path::PathBuf;

use comfy_table::{CellAlignment, Row, Table, presets};
use serde::Serialize;

use base::error::{Error, Result};
use base::text::{escaped_lines, is_control};
use base::{save, stdout};

/// Prints one or more lines of the result on stdout, with control characters escaped. A closed pipe, as in `clreel devices |
/// head`, is no error.
pub(crate) fn print_line(text: impl std::fmt::Display) -> Result<()> {
    print(&escaped_lines(&text.to_string()))
}

/// Prints a text and a line end on stdout; a closed pipe is no error.
fn print(text: &str) -> Result<()> {
    match stdout::results().and_then(|mut out| out.write_all(format!("{text}\n").as_bytes())) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::new("The result could not be written to the standard output.", format!("{e}."), ""))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON on stdout.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Error::new("The result could not be written as JSON.", format!("{e}."), ""))?;
    // JSON need not escape all control characters; the terminal needs it.
    let is_raw = |c: char| is_control(c) && c != '\n';
    let escaped = text.chars().map(|c| if is_raw(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() });
    print(&if text.contains(is_raw) { escaped.collect() } else { text.clone() })
}

/// Creates a table with this header; the columns with indices in `numeric` are right-aligned.
pub(crate) fn table(header: impl Into<Row>, numeric: Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY);
    table.set_header(header);
    for column in table.column_iter_mut().take(numeric.end).skip(numeric.start) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Writes the SVG that `svg` returns to the file at `path`, if there is one.
pub(crate) fn write_svg(path: Option<&PathBuf>, svg: impl FnOnce() -> String) -> Result<()> {
    path.map_or(Ok(()), |path| save::atomically(path, |file| file.write_all(svg().as_bytes())))
}

/// Groups pairs of a key and a name by their keys; keys and names keep their order.
pub(crate) fn grouped<K: PartialEq, N>(pairs: impl Iterator<Item = (K, N)>) -> Vec<(K, Vec<N>)> {
    let mut groups: Vec<(K, Vec<N>)> = Vec::new();
    for (key, name) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, names)) => names.push(name),
            None => groups.push((key, vec![name])),
        }
    }
    groups
}

/// Joins counts with their words, as in "3 ok, 1 wrong"; counts of 0 are left out.
pub(crate) fn join_counts<'a>(counts: impl IntoIterator<Item = (usize, &'a str)>) -> String {
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}
