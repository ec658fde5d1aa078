//! Reasons why variants have no times, each printed once for all variants that share it.

use ladder::Outcome;

/// The maximum number of names that are printed in full. A longer list is shortened to its first [`SHORTENED_NAMES`] names and the
/// number of the others.
const MAX_NAMES: usize = 12;
/// The number of names that a shortened list begins with.
const SHORTENED_NAMES: usize = 2;

/// The reasons that have been printed for a device so far, so that repetitions can be shortened.
#[derive(Default)]
pub(super) struct Reasons {
    printed: Vec<String>,
}

/// A group of rows of a table that have the same outcome for the same reason.
struct Group<'a> {
    names: Vec<String>,
    word: &'static str,
    /// The reason, with [`ANY_NAME`] in place of the row's own name.
    key: String,
    /// The reason with the name of the group's first row.
    reason: String,
    /// The case in which the group's first row failed; empty if there is only one case.
    case: &'a str,
}

/// The text that replaces the name of a row in a reason that several rows share.
const ANY_NAME: &str = "'…'";

impl Reasons {
    /// Returns a line for each reason, with the names of the rows that have it. `rows` contains the name of each row, its
    /// outcome, and the case in which it failed; a line names the case of its first row. Reasons count as equal if they differ
    /// only in the quoted name of the row. A reason that an earlier call returned is shortened to "as above".
    pub(super) fn lines<'a>(
        &mut self,
        rows: impl Iterator<Item = (String, &'a Outcome, &'a str)>,
    ) -> Vec<String> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (name, outcome, case) in rows {
            let Some(reason) = outcome.reason() else { continue };
            let (word, key) = (outcome.word(), reason.replace(&format!("'{name}'"), ANY_NAME));
            match groups.iter_mut().find(|group| (group.word, &group.key) == (word, &key)) {
                Some(group) => group.names.push(name),
                None => groups.push(Group { names: vec![name], word, key, reason, case }),
            }
        }
        let mut lines = Vec::new();
        for Group { names, word, key, reason, case } in groups {
            let reason = if names.len() > 1 { &key } else { &reason };
            let names = join_shortened(&names);
            if self.printed.contains(&key) {
                lines.push(format!("{names}: {word}, as above."));
                continue;
            }
            let case = if case.is_empty() { String::new() } else { format!("{case}: ") };
            lines.push(format!("{names}: {word}. {case}{reason}"));
            self.printed.push(key);
        }
        lines
    }
}

/// Joins names with commas, and shortens long lists.
fn join_shortened(names: &[String]) -> String {
    match names.len() {
        ..=MAX_NAMES => names.join(", "),
        all => format!("{} and {} more", names[..SHORTENED_NAMES].join(", "), all - SHORTENED_NAMES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;

    #[test]
    fn each_reason_is_printed_once() {
        let failed = |why: &str| Outcome::Failed(Error::new("It cannot be used.", why, ""));
        let (same, other, no) =
            (failed("Memory."), failed("Time."), Outcome::Unsupported("No images.".into()));
        let row = |name: &str, outcome| (name.to_owned(), outcome, "");
        let mut reasons = Reasons::default();
        let rows = [row("naive", &same), row("flat", &no), row("fused", &same), row("auto", &other)];
        let want = [
            "naive, fused: failed. It cannot be used.\n  Memory.",
            "flat: unsupported. No images.",
            "auto: failed. It cannot be used.\n  Time.",
        ];
        assert_eq!(reasons.lines(rows.into_iter()), want);
        assert_eq!(reasons.lines([row("naive", &same)].into_iter()), ["naive: failed, as above."]);
        let crashed = ["a", "b"]
            .map(|name| Outcome::Failed(Error::new(format!("The kernels of '{name}' crashed."), "", "")));
        let rows = ["a", "b"].into_iter().zip(&crashed).map(|(name, outcome)| row(name, outcome));
        assert_eq!(Reasons::default().lines(rows), ["a, b: failed. The kernels of '…' crashed."]);
        let many = (0..110).map(|n| (format!("c{n}"), &no, "1×1"));
        assert_eq!(Reasons::default().lines(many), ["c0, c1 and 108 more: unsupported. 1×1: No images."]);
    }
}
