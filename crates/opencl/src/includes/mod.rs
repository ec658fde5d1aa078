//! Resolves the `#include` directives of kernel files, so that a compiler reads nothing but the kernel files that it is given.
//!
//! The conditions around a directive are left to the compiler, since only the compiler knows its predefined macros. Each
//! include is replaced by the text of its file. An include of a missing file is replaced by an `#error`, which the compiler
//! ignores wherever it would have ignored the include. The text of a file that includes itself is repeated, since the compiler
//! ends that by its conditions. No name that a kernel file has written reaches the compiler, since drivers look such names up on
//! the disk.

mod macros;
mod pieces;
mod scan;
mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use base::error::{Error, ErrorKind, Result, SourceLine};
use base::load::MAX_KERNEL_BYTES;
use macros::{Condition, HeaderName, Macros};
use pieces::{Piece, PieceWriter, definition_marker, error_line, line_name, once_marker};
use scan::{Directive, scan};
use shape::{fault, guard, has_once, is_include, is_once};

/// The maximum depth of nested includes, as in clang.
const MAX_DEPTH: usize = 200;
/// The maximum number of rounds of reading files. Each round may read macros whose expansions name further files.
const MAX_ROUNDS: usize = 8;
/// The maximum length of a text with its includes, in bytes.
const MAX_BYTES: usize = 4 * MAX_KERNEL_BYTES as usize;

/// The depths to which the text of a file that includes itself is repeated: the greatest one that fits into the maximum length.
const RECURSION_DEPTHS: [usize; 7] = [MAX_DEPTH, 100, 50, 20, 10, 5, 2];

/// Returns `text`, the text of the kernel file `name`, with the texts of the files that it includes. `load` returns the text of
/// another kernel file by its path.
///
/// # Errors
/// Returns an error if the includes are too long together.
pub(crate) fn resolve(name: &str, text: &str, load: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    let files = Files::read(name, text, load);
    let mut too_long_at = (0, 1);
    for max_recursion in RECURSION_DEPTHS {
        let mut expansion =
            Expansion { files: &files, max_recursion, out: String::new(), around: Vec::new() };
        match expansion.write(0) {
            Ok(()) => return Ok(expansion.out),
            Err(place) => too_long_at = place,
        }
    }
    let (file, line) = too_long_at;
    Err(build_error(&files.all[file].name, line, "Its includes are too long together"))
}

/// Returns the error that a kernel file does not build because of its line `number`. `why` is the start of the reason.
fn build_error(name: &str, number: usize, why: &str) -> Error {
    let what = format!("The kernel file '{name}' does not build.");
    let kind = ErrorKind::KernelDoesNotBuild(vec![SourceLine { file: name.to_owned(), number }]);
    Error { kind, ..Error::new(what, format!("{why}, at line {number}."), "") }
}

/// A kernel file that may be included.
struct File {
    name: String,
    text: String,
    directives: Vec<Directive>,
    /// The macro definitions by the index of their directive: the numbers of the macro and of the definition.
    definitions: BTreeMap<usize, (usize, usize)>,
    pieces: Vec<Piece>,
    /// A sentence about a fault that would affect the files that include this one; `None` if there is none.
    fault: Option<&'static str>,
    /// The macro that guards the whole text of the file; `None` if there is none.
    guard: Option<String>,
    /// True if the file adds no text when it includes itself, because of a `#pragma once` or a guard.
    ends_recursion: bool,
    has_once: bool,
    /// True if the file is included by `#import`, and so once at most.
    is_imported: bool,
}

/// Kernel files, beginning with the one that is compiled.
struct Files<'a> {
    all: Vec<File>,
    macros: Macros,
    load: &'a dyn Fn(&str) -> Result<String>,
    /// The errors of files that cannot be included, by path.
    refused: BTreeMap<String, Error>,
}

impl<'a> Files<'a> {
    /// Reads a file and all files that it may include.
    fn read(name: &str, text: &str, load: &'a dyn Fn(&str) -> Result<String>) -> Self {
        let mut files = Self { all: Vec::new(), macros: Macros::default(), load, refused: BTreeMap::new() };
        files.add(name, text);
        // Each round may read further files, with further definitions of macros that includes name.
        for _ in 0..MAX_ROUNDS {
            let known = (files.all.len(), files.refused.len());
            let mut at = 0;
            while at < files.all.len() {
                for directive in files.all[at].directives.clone() {
                    if is_include(&directive) {
                        drop(files.targets(at, &directive));
                    } else if directive.operand.contains(HAS_INCLUDE) {
                        drop(files.with_known_files(at, &directive.operand));
                    }
                }
                at += 1;
            }
            if known == (files.all.len(), files.refused.len()) {
                break;
            }
        }
        let all = files.all.iter().flat_map(|file| &file.directives);
        let undefs = all.filter(|one| one.name == "undef");
        let undefined: BTreeSet<String> = undefs.map(|one| one.first_name().to_owned()).collect();
        for file in &mut files.all {
            file.ends_recursion |= file.guard.as_deref().is_some_and(|guard| !undefined.contains(guard));
        }
        let needed = files.macros_of_includes();
        let mut at = 0;
        while at < files.all.len() {
            files.all[at].pieces = files.pieces(at, &needed);
            at += 1;
        }
        files
    }

    /// Adds a file; returns its index.
    fn add(&mut self, name: &str, text: &str) -> usize {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
        let scan = scan(&text);
        let mut definitions = BTreeMap::new();
        for (index, directive) in scan.directives.iter().enumerate() {
            if directive.name == "define" {
                definitions.extend(self.macros.add(directive).map(|numbers| (index, numbers)));
            }
        }
        let is_main = self.all.is_empty();
        self.all.push(File {
            name: name.to_owned(),
            fault: fault(&scan).filter(|_| !is_main),
            guard: guard(&scan),
            ends_recursion: !is_main && is_once(&scan),
            has_once: !is_main && has_once(&scan),
            is_imported: false,
            text,
            directives: scan.directives,
            definitions,
            pieces: Vec::new(),
        });
        self.all.len() - 1
    }

    /// Returns the index of the file with this path, and reads it if necessary.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    fn find(&mut self, path: &str) -> Result<usize> {
        if let Some(at) = self.all.iter().position(|file| file.name == path) {
            return Ok(at);
        }
        if let Some(error) = self.refused.get(path) {
            return Err(error.clone());
        }
        let read = (self.load)(path).map(|text| self.add(path, &text));
        read.inspect_err(|error| drop(self.refused.insert(path.to_owned(), error.clone())))
    }

    /// Returns the index of the file that a file includes by this name.
    ///
    /// # Errors
    /// Returns a message if there is no such file.
    fn included(&mut self, from: usize, name: &HeaderName) -> Result<usize, String> {
        let (name, is_quoted) = match name {
            HeaderName::Quoted(name) => (name, true),
            HeaderName::Angled(name) => (name, false),
        };
        let folder = self.all[from].name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (beside, below) = (joined(folder, name), joined("", name));
        // As in C, a name in quotes is looked for beside its file first.
        let places = [beside.filter(|_| is_quoted), below];
        let mut failed = None;
        for path in places.into_iter().flatten() {
            match self.find(&path) {
                Ok(at) => return Ok(at),
                Err(error) => {
                    let is_missing = error.kind == ErrorKind::NoKernelFile;
                    failed.get_or_insert(format!("{} {}", error.what, error.why));
                    if !is_missing {
                        break;
                    }
                }
            }
        }
        Err(failed.unwrap_or_else(|| format!("'{name}' is outside the folder of kernels.")))
    }

    /// Returns the files that an include may name, each with the macro definitions that must be in force for it. For a file
    /// that cannot be included, there is an error message instead of its index.
    fn targets(&mut self, from: usize, directive: &Directive) -> Vec<(Condition, Result<usize, String>)> {
        let names = match HeaderName::parse(&directive.operand) {
            Some(name) => vec![(Condition::new(), name)],
            None => {
                let file = self.all[from].name.clone();
                self.macros.header_names(&directive.operand, &file).unwrap_or_default()
            }
        };
        names.into_iter().map(|(condition, name)| (condition, self.included(from, &name))).collect()
    }
}

impl Files<'_> {
    /// Splits a file at its includes, and adapts the directives that depend on files. `needed` has the macros whose definitions get a
    /// marker.
    fn pieces(&mut self, at: usize, needed: &BTreeSet<usize>) -> Vec<Piece> {
        let text = self.all[at].text.clone();
        let directives = self.all[at].directives.clone();
        let mut writer = PieceWriter::new(&self.all[at].name, &text);
        // For each conditional around the current line: whether it has lines that are not in the file. If the compiler skips them,
        // it skips their `#line` directives, too.
        let mut has_added_lines: Vec<bool> = Vec::new();
        for (index, directive) in directives.iter().enumerate() {
            let mut adds_lines = true;
            match directive.name.as_str() {
                _ if is_include(directive) => {
                    let targets = self.targets(at, directive);
                    if directive.name == "import" {
                        targets
                            .iter()
                            .filter_map(|(_, target)| target.as_ref().ok())
                            .for_each(|file| self.all[*file].is_imported = true);
                    }
                    writer.replace_include(directive, targets);
                }
                "embed" => writer.replace(directive, &error_line("Kernel files cannot embed other files.")),
                "pragma" if directive.first_name() == "once" => {
                    let defines =
                        if at == 0 { String::new() } else { format!("#define {}\n", once_marker(at)) };
                    writer.replace(directive, &defines);
                }
                "if" | "elif" if directive.operand.contains(HAS_INCLUDE) => {
                    let operand = self.with_known_files(at, &directive.operand);
                    writer.replace(directive, &format!("#{} {operand}\n", directive.name));
                }
                "define" | "undef"
                    if self
                        .macros
                        .number(directive.first_name())
                        .is_some_and(|number| needed.contains(&number)) =>
                {
                    let number = self.macros.number(directive.first_name()).unwrap_or_default();
                    let chosen = self.all[at].definitions.get(&index).map_or(0, |(_, chosen)| *chosen);
                    let marker = definition_marker(number);
                    writer.insert(directive, &format!("#undef {marker}\n#define {marker} {chosen}\n"));
                }
                _ => {
                    adds_lines = false;
                    let closes = directive.is_alternative() || directive.name == "endif";
                    if closes && has_added_lines.last() == Some(&true) {
                        writer.insert(directive, "");
                    }
                }
            }
            match directive.depth_change() {
                1 => has_added_lines.push(false),
                -1 => drop(has_added_lines.pop()),
                _ => {}
            }
            if adds_lines {
                has_added_lines.fill(true);
            }
        }
        writer.into_pieces()
    }

    /// Returns the macros on which the name in an include of any file may depend.
    fn macros_of_includes(&self) -> BTreeSet<usize> {
        let mut needed = BTreeSet::new();
        for file in &self.all {
            let all = file.directives.iter();
            let all = all.filter(|one| is_include(one) && HeaderName::parse(&one.operand).is_none());
            let names = all.filter_map(|one| self.macros.header_names(&one.operand, &file.name)).flatten();
            needed.extend(names.flat_map(|(condition, _)| condition.into_keys()));
        }
        needed
    }

    /// Returns the operand of an `#if` with each `__has_include` replaced by its value.
    fn with_known_files(&mut self, from: usize, operand: &str) -> String {
        let (mut out, mut rest) = (String::new(), operand);
        while let Some(start) = rest.find(HAS_INCLUDE) {
            let (before, after) = rest.split_at(start);
            out += before;
            let after = &after[HAS_INCLUDE.len()..];
            match after.trim_start().strip_prefix('(') {
                Some(argument) => {
                    let known =
                        HeaderName::parse(argument).is_some_and(|name| self.included(from, &name).is_ok());
                    out += if known { "1" } else { "0" };
                    rest = argument.split_once(')').map_or("", |(_, rest)| rest);
                }
                // As in `defined(__has_include)`.
                None => {
                    out += HAS_INCLUDE;
                    rest = after;
                }
            }
        }
        out + rest
    }
}

/// A text that is being written with its includes.
struct Expansion<'a> {
    files: &'a Files<'a>,
    /// The depth of nested includes up to which a file may include itself.
    max_recursion: usize,
    out: String,
    /// The files around the current position, from the outermost one.
    around: Vec<usize>,
}

impl Expansion<'_> {
    /// Appends a file with its includes. If the text becomes too long, returns the index of a file, and the line of its include.
    fn write(&mut self, at: usize) -> Result<(), (usize, usize)> {
        let files = self.files;
        let file = &files.all[at];
        let is_limited = file.has_once || file.is_imported;
        if is_limited {
            let _ = writeln!(self.out, "#ifndef {}", once_marker(at));
        }
        if file.is_imported {
            let _ = writeln!(self.out, "#define {}", once_marker(at));
        }
        let _ = writeln!(self.out, "#line 1 \"{}\"", line_name(&file.name));
        self.around.push(at);
        match file.fault {
            Some(fault) => self.out += &error_line(fault),
            None => {
                for piece in &file.pieces {
                    match piece {
                        Piece::Text(text) => self.out += text,
                        Piece::Include { file, line } => self.write_include(*file, *line)?,
                    }
                }
            }
        }
        self.around.pop();
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        // The next line does not continue the last one of the file.
        let last = file.text.trim_end();
        if last.ends_with('\\') || last.ends_with("??/") {
            self.out.push('\n');
        }
        if is_limited {
            self.out += "#endif\n";
        }
        Ok(())
    }

    /// Appends an include of the file with this index, which stands at this line of the innermost file.
    fn write_include(&mut self, file: usize, line: usize) -> Result<(), (usize, usize)> {
        let includes_itself = self.around.contains(&file);
        if includes_itself && self.files.all[file].ends_recursion {
            return Ok(());
        }
        if self.around.len() > if includes_itself { self.max_recursion } else { MAX_DEPTH } {
            self.out += &error_line("The includes nest too deeply.");
            return Ok(());
        }
        let from = self.around.last().copied().unwrap_or_default();
        self.write(file)?;
        if self.out.len() > MAX_BYTES { Err((from, line)) } else { Ok(()) }
    }
}

/// The operator in `#if` that tests whether a file exists.
const HAS_INCLUDE: &str = "__has_include";

/// Returns the path of the file `name` in `folder`, both relative to `kernels/`; `None` if the path leaves `kernels/`.
fn joined(folder: &str, name: &str) -> Option<String> {
    if name.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
