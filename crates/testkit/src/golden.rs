//! Goldens: files in `tests/goldens` with what users and scripts rely on. A test makes the same text anew, and [`holds`]
//! compares both. `UPDATE_GOLDENS=1 ./dev test goldens` writes them anew; read the diff before you commit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Lines that two lists have in common, or only one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    /// In both: as the golden has it.
    Same(&'a str),
    /// In the golden alone.
    Missing(&'a str),
    /// In what is there now alone.
    New(&'a str),
}

/// Whether goldens are written anew: `UPDATE_GOLDENS` is set.
pub fn are_renewed() -> bool {
    std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Fails with a diff where `now` is not what the golden `name` says.
pub fn holds(name: &str, now: &str) {
    holds_by(name, now, |golden, now| golden == now);
}

/// The same, where `same` says which lines (the golden's, then the new one) mean the same.
///
/// # Panics
/// When they differ, unless `UPDATE_GOLDENS` is set: then the golden is written anew. Lines that mean the same stay as
/// the golden has them.
pub fn holds_by(name: &str, now: &str, same: impl Fn(&str, &str) -> bool) {
    let path = folder().join(name);
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = diff(&golden, now, same);
    if lines.iter().all(|line| matches!(line, Line::Same(_))) && path.exists() {
        return;
    }
    if are_renewed() {
        let kept = lines.iter().filter_map(|line| match line {
            Line::Same(text) | Line::New(text) => Some(format!("{text}\n")),
            Line::Missing(_) => None,
        });
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, kept.collect::<String>()).unwrap();
        return;
    }
    panic!(
        "tests/goldens/{name} is not what clreel does now (- the golden, + now):\n{}\
         If that is meant, renew it with UPDATE_GOLDENS=1 and say so in CHANGELOG.md.",
        readable(&lines)
    );
}

/// Where they are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/goldens")
}

/// A shortest list of lines that makes the one text of the other (by the longest common subsequence).
fn diff<'a>(golden: &'a str, now: &'a str, same: impl Fn(&str, &str) -> bool) -> Vec<Line<'a>> {
    let (old, new): (Vec<_>, Vec<_>) = (golden.lines().collect(), now.lines().collect());
    // common[i][j]: how many lines old[i..] and new[j..] have in common.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match same(old[i], new[j]) {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && same(old[i], new[j]) {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            lines.push(Line::Missing(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

/// What differs, for people; `None` where nothing does.
pub fn difference(golden: &str, now: &str, same: impl Fn(&str, &str) -> bool) -> Option<String> {
    let lines = diff(golden, now, same);
    lines.iter().any(|line| !matches!(line, Line::Same(_))).then(|| readable(&lines))
}

/// What differs, with two lines before and behind it.
fn readable(lines: &[Line]) -> String {
    let differs = |n: usize| lines.get(n).is_some_and(|line| !matches!(line, Line::Same(_)));
    let near = |n: usize| (n.saturating_sub(2)..=n + 2).any(differs);
    let mut text = String::new();
    for (n, line) in lines.iter().enumerate().filter(|(n, _)| near(*n)) {
        if n > 0 && !near(n - 1) {
            text.push_str("  …\n");
        }
        let (mark, line) = match line {
            Line::Same(line) => (' ', line),
            Line::Missing(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        writeln!(text, "{mark} {line}").unwrap();
    }
    text
}

/// Every number, with its mark of noise, becomes `#`: "~1,200.5 ms" is "# ms".
pub fn without_numbers(text: &str) -> String {
    let mut masked = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let number = c.is_ascii_digit() || c == '~' && chars.peek().is_some_and(char::is_ascii_digit);
        if !number {
            masked.push(c);
            continue;
        }
        masked.push('#');
        // A separator belongs to it where a digit follows.
        while let Some(&next) = chars.peek() {
            let mut ahead = chars.clone();
            ahead.next();
            let joins = matches!(next, '.' | ',' | ':') && ahead.peek().is_some_and(char::is_ascii_digit);
            if !next.is_ascii_digit() && !joins {
                break;
            }
            chars.next();
        }
    }
    masked
}

/// The texts, without numbers, each once, by the alphabet.
pub fn told<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let lines: std::collections::BTreeSet<String> = texts.flat_map(str::lines).map(without_numbers).collect();
    lines.into_iter().map(|line| line + "\n").collect()
}
