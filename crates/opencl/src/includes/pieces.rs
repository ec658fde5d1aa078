//! The text of a kernel file in pieces: text that is written as it is, and includes of other files between.

use super::macros::Condition;
use super::scan::Directive;

/// A part of a file's text.
pub(super) enum Piece {
    /// Text, written as it is.
    Text(String),
    /// An include of the file with this index, at this line.
    Include { file: usize, line: usize },
}

/// Splits the text of a file into pieces.
pub(super) struct PieceWriter<'a> {
    /// The file's name as it stands in `#line` directives.
    name: String,
    text: &'a str,
    /// The length of the part of the text that has been written.
    copied: usize,
    pieces: Vec<Piece>,
}

impl<'a> PieceWriter<'a> {
    pub(super) fn new(name: &str, text: &'a str) -> Self {
        Self { name: line_name(name), text, copied: 0, pieces: Vec::new() }
    }

    /// Writes the rest of the text, and returns all pieces.
    pub(super) fn into_pieces(mut self) -> Vec<Piece> {
        self.pieces.push(Piece::Text(self.text[self.copied..].to_owned()));
        self.pieces
    }

    /// Writes the text up to `end`, and then `new` in the place of the text up to `next`.
    fn advance(&mut self, end: usize, next: usize, new: &str) {
        let text = format!("{}{new}", &self.text[self.copied..end]);
        self.pieces.push(Piece::Text(text));
        self.copied = next;
    }

    /// Replaces a directive by these lines.
    pub(super) fn replace(&mut self, directive: &Directive, lines: &str) {
        self.advance(directive.start, directive.start, lines);
        self.finish(directive);
    }

    /// Writes a directive, and these lines after it.
    pub(super) fn insert(&mut self, directive: &Directive, lines: &str) {
        self.advance(directive.end, directive.end, &format!("\n{lines}"));
        self.finish(directive);
    }

    /// Continues after the line of a directive, with a `#line` directive that has the number of the next line.
    fn finish(&mut self, directive: &Directive) {
        let line = format!("#line {} \"{}\"", directive.next_line, self.name);
        self.advance(self.copied, directive.end, &line);
    }

    /// Replaces an include by the first of these files whose condition holds.
    pub(super) fn replace_include(
        &mut self,
        directive: &Directive,
        targets: Vec<(Condition, Result<usize, String>)>,
    ) {
        let line = directive.next_line - 1;
        self.advance(directive.start, directive.start, "");
        let is_conditional = targets.iter().all(|(condition, _)| !condition.is_empty());
        let mut word = "#if";
        for (condition, target) in targets {
            if is_conditional {
                let terms = condition
                    .into_iter()
                    .map(|(number, chosen)| format!("{} == {chosen}", definition_marker(number)));
                let terms: Vec<String> = terms.collect();
                self.advance(self.copied, self.copied, &format!("{word} {}\n", terms.join(" && ")));
                word = "#elif";
            }
            match target {
                Ok(file) => self.pieces.push(Piece::Include { file, line }),
                Err(message) => self.error(line, &message),
            }
        }
        if is_conditional {
            if word == "#elif" {
                self.advance(self.copied, self.copied, "#else\n");
            }
            self.error(line, "The name of the included file is not known. Name it in quotes.");
            if word == "#elif" {
                self.advance(self.copied, self.copied, "#endif\n");
            }
        }
        self.finish(directive);
    }

    /// Writes an `#error` with this message at this line.
    fn error(&mut self, line: usize, message: &str) {
        let lines = format!("#line {line} \"{}\"\n{}", self.name, error_line(message));
        self.advance(self.copied, self.copied, &lines);
    }
}

/// Returns an `#error` line, with which a compiler reports a message if it compiles that line.
pub(super) fn error_line(message: &str) -> String {
    let message = base::text::escaped(message);
    format!("#error {}\n", message.trim_end_matches('\\'))
}

/// Returns the name of the macro that is defined after the first include of a file that may be included only once.
pub(super) fn once_marker(file: usize) -> String {
    format!("CLREEL_ONCE_{file}")
}

/// Returns the name of the macro whose value is the number of the definition that is in force for macro `number`.
pub(super) fn definition_marker(number: usize) -> String {
    format!("CLREEL_DEFINITION_{number}")
}

/// Returns a file's name as it stands in `#line` directives.
pub(super) fn line_name(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"")
}
