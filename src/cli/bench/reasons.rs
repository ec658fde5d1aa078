//! Why rows have no times, for people: each reason once. In: names with an outcome. Out: lines of text.

use ladder::Outcome;

/// So many names stand in a line; of more the first ones and how many there are.
const MOST_NAMES: usize = 12;
const FIRST_NAMES: usize = 2;

/// What has been told of a device.
#[derive(Default)]
pub(super) struct Reasons {
    told: Vec<String>,
}

impl Reasons {
    /// Returns a line for each reason, with the names of what it is true of. One that an earlier call has told is not told
    /// again. `case` is what a row was tried with, of which the first row's is told.
    pub(super) fn lines<'a>(
        &mut self,
        rows: impl Iterator<Item = (String, &'a Outcome, &'a str)>,
    ) -> Vec<String> {
        let mut groups: Vec<(Vec<String>, &'static str, String, &str)> = Vec::new();
        for (name, outcome, case) in rows {
            let Some(reason) = outcome.reason() else { continue };
            let word = outcome.word();
            let is_same =
                |group: &&mut (Vec<String>, &str, String, &str)| (group.1, &group.2) == (word, &reason);
            match groups.iter_mut().find(is_same) {
                Some((names, ..)) => names.push(name),
                None => groups.push((vec![name], word, reason, case)),
            }
        }
        let mut lines = Vec::new();
        for (names, word, reason, case) in groups {
            let names = listed(&names);
            if self.told.contains(&reason) {
                lines.push(format!("{names}: {word}, as above."));
                continue;
            }
            let case = if case.is_empty() { String::new() } else { format!("{case}: ") };
            lines.push(format!("{names}: {word}. {case}{reason}"));
            self.told.push(reason);
        }
        lines
    }
}

fn listed(names: &[String]) -> String {
    match names.len() {
        ..=MOST_NAMES => names.join(", "),
        all => format!("{} and {} more", names[..FIRST_NAMES].join(", "), all - FIRST_NAMES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;

    #[test]
    fn each_reason_is_told_once() {
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
        let many = (0..110).map(|n| (format!("c{n}"), &no, "1×1"));
        assert_eq!(Reasons::default().lines(many), ["c0, c1 and 108 more: unsupported. 1×1: No images."]);
    }
}
