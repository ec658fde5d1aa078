//! The view of the lines in which a version of the kernels (their text at one save) differs from the files in the folder, with
//! the buttons that restore the version.

use std::sync::Arc;

use similar::{ChangeTag, TextDiff};

use crate::action::VersionId;
use crate::code;
use crate::panel::line;
use crate::prelude::*;

/// The lines in which a version of the kernels differs from the files in the folder: those that restoring the version would add
/// and remove.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionDiff {
    /// The version that is compared with the files.
    pub version: VersionId,
    /// The version's name for use in a sentence, such as "version 5".
    pub name: String,
    /// The lines of all files in the unified format, with their colours.
    lines: Arc<[(String, Color32)]>,
    added: usize,
    removed: usize,
}

impl VersionDiff {
    /// Creates the comparison of a version with the files in the folder. `files` has the name of each file that differs, its
    /// text in the folder, and its text in the version.
    pub fn new(version: VersionId, name: String, files: &[(String, String, String)]) -> Self {
        let (mut lines, mut added, mut removed) = (Vec::new(), 0, 0);
        for (file, now, then) in files {
            lines.push((file.clone(), theme::STRONG));
            let diff =
                TextDiff::configure().timeout(code::MAX_COMPARE_TIME).diff_lines(now.as_str(), then.as_str());
            // The number of unchanged lines that are shown around a change.
            for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
                lines.push((hunk.header().to_string(), theme::WEAK));
                for change in hunk.iter_changes() {
                    let (sign, color) = match change.tag() {
                        ChangeTag::Insert => ('+', theme::GOOD),
                        ChangeTag::Delete => ('-', theme::ERROR),
                        ChangeTag::Equal => (' ', theme::TEXT),
                    };
                    added += usize::from(sign == '+');
                    removed += usize::from(sign == '-');
                    lines.push((format!("{sign}{}", change.value().trim_end_matches(['\n', '\r'])), color));
                }
            }
        }
        Self { version, name, lines: lines.into(), added, removed }
    }

    /// Returns a sentence that says what restoring the version would change.
    fn summary(&self) -> String {
        if self.lines.is_empty() {
            return format!("The files are as in {}.", self.name);
        }
        let Self { name, added, removed, .. } = self;
        let lines = if *added == 1 { "line" } else { "lines" };
        format!("Restoring {name} adds {added} {lines} (+) and removes {removed} (\u{2212}).")
    }
}

/// Lays the comparison out in the available space, in which its lines scroll.
pub(super) fn show(ui: &mut Ui, diff: &VersionDiff, actions: &mut Vec<Action>) {
    line(ui, &diff.summary(), theme::STRONG);
    ui.horizontal_wrapped(|ui| {
        let restore = Button::new("Restore to file");
        let hover = "Write these texts to the files. The present texts are kept as a version first";
        ui.add_enabled(!diff.lines.is_empty(), restore).explain(hover).on_click(Action::RestoreKernels(diff.version), actions);
        let hover = "Write this version of the selected variant's file as box_filter/own.cl, a variant of its own (u). \
                     The present texts are kept as a version first";
        ui.button("Save as own.cl").explain(hover).on_click(Action::SaveAsOwnKernel(diff.version), actions);
        ui.button("Close").explain("Show the source again").on_click(Action::DiffKernels(None), actions);
    });
    let lines: Vec<(&str, Color32)> =
        diff.lines.iter().map(|(text, color)| (text.as_str(), *color)).collect();
    code::show_plain_lines(ui, "diff", &lines);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_lines_that_restoring_adds_and_removes() {
        let file = |now: &str, then: &str| ("a/b.cl".to_owned(), now.to_owned(), then.to_owned());
        let diff = |files: &[_]| VersionDiff::new(VersionId::Session(5), "version 5".to_owned(), files);
        let one = diff(&[file("a\nb\nc\n", "a\nB\nc\nd")]);
        let lines: Vec<&str> = one.lines.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(lines, ["a/b.cl", "@@ -1,3 +1,4 @@", " a", "-b", "+B", " c", "+d"]);
        assert_eq!(one.summary(), "Restoring version 5 adds 2 lines (+) and removes 1 (\u{2212}).");
        assert_eq!(diff(&[]).summary(), "The files are as in version 5.");
        // Texts that have nothing in common take no longer than others.
        let long = |word: &str| (0..20_000).map(|n| format!("{word} {n}\n")).collect::<String>();
        assert_eq!(diff(&[file(&long("x"), &long("y"))]).added, 20_000);
    }
}
