//! Places in a file, and mistakes at them.

use std::fmt;
use std::sync::Arc;

use base::error::Error;
use strsim::osa_distance;

/// A place in a description's file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's name for messages.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Place {
    /// Returns the mistake at this place with these three sentences: what is wrong, why or what is allowed, and the remedy.
    pub fn mistake(&self, what: &str, why: impl Into<String>, hint: impl Into<String>) -> Mistake {
        Mistake { place: self.clone(), error: Box::new(Error::new(format!("{self}: {what}"), why, hint)) }
    }
}

/// A mistake in a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The place of the mistake.
    pub place: Place,
    /// The mistake in three sentences, the first of which begins with the place.
    pub error: Box<Error>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// A text whose bytes have lines and columns.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub text: &'a str,
    file: Arc<str>,
    /// The offset at which each line begins.
    lines: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a str, file: &str) -> Self {
        let ends = text.match_indices('\n').map(|(end, _)| end + 1);
        Self { text, file: file.into(), lines: std::iter::once(0).chain(ends).collect() }
    }

    /// Returns the place of the character at this offset in bytes.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|begin| *begin <= offset).max(1);
        let before = self.text.get(self.lines[line - 1]..offset).unwrap_or_default();
        Place { file: self.file.clone(), line, column: before.chars().count() + 1 }
    }
}

/// Returns the option that a mistyped word most resembles; `None` if it resembles none.
pub fn nearest<'a>(word: &str, options: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |option: &str| osa_distance(&word, &option.to_lowercase());
    let near = options.into_iter().map(|option| (distance(option), option)).min()?;
    // At most two typing errors per five characters, one per four.
    (near.0 * 5 <= near.1.len().min(10) * 2).then_some(near.1)
}

/// Returns two sentences about a word that is none of the options: those that are allowed, and the remedy.
pub(crate) fn instead(word: &str, options: &[&str]) -> (String, String) {
    let allowed =
        format!("Allowed here: {}.", if options.is_empty() { "none".into() } else { options.join(", ") });
    let hint = match nearest(word, options.iter().copied()) {
        Some(near) => format!("Write '{near}'."),
        None if options.is_empty() => "Remove it.".to_owned(),
        None => "Use one of these, or remove it.".to_owned(),
    };
    (allowed, hint)
}
