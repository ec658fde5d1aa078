//! Goldens: files in `tests/goldens` with the output that users and scripts rely on. A test produces the text again, and
//! [`check`] compares both. `UPDATE_GOLDENS=1 ./dev test goldens` rewrites them; read the diff before you commit.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

thread_local! {
    /// The names of the goldens that this thread has compared.
    static COMPARED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Adds a golden to those that this thread has compared. [`check_by`] calls this.
pub fn note_compared(name: &str) {
    COMPARED.with_borrow_mut(|names| names.insert(name.to_owned()));
}

/// Asserts that the calling test has compared every golden with this extension in the folder `below`, on this thread.
///
/// # Panics
/// Panics if there is a golden that the test has not compared.
pub fn assert_all_compared(below: &str, extension: &str) {
    let files = std::fs::read_dir(folder().join(below)).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == extension));
    let names: BTreeSet<String> =
        files.map(|path| format!("{below}/{}", path.file_name().unwrap().to_string_lossy())).collect();
    let compared = COMPARED.with_borrow(BTreeSet::clone);
    let left: Vec<_> = names.difference(&compared).collect();
    assert!(left.is_empty(), "no test compares {left:?} any more");
}

/// A line of a diff of two texts, and its mark: a blank if both have it, as the golden has it; `-` for the golden only, `+` for the
/// new text only.
type Line<'a> = (char, &'a str);

/// Returns true if goldens are to be rewritten: `UPDATE_GOLDENS` is set.
pub fn is_update() -> bool {
    std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Compares `now` with the golden `name`, and panics with a diff if they differ.
pub fn check(name: &str, now: &str) {
    check_by(name, now, |golden, now| golden == now);
}

/// Compares `now` with the golden `name`, where `same` decides if two lines (the golden's, then the new one) are equal.
///
/// # Panics
/// Panics if they differ, unless `UPDATE_GOLDENS` is set: then the golden is rewritten. Equal lines stay as the
/// golden has them.
pub fn check_by(name: &str, now: &str, same: impl Fn(&str, &str) -> bool) {
    note_compared(name);
    let path = folder().join(name);
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = diff(&golden, now, same);
    if lines.iter().all(|(mark, _)| *mark == ' ') && path.exists() {
        return;
    }
    if is_update() {
        let new_text = lines.iter().filter(|(mark, _)| *mark != '-').map(|(_, text)| format!("{text}\n"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, new_text.collect::<String>()).unwrap();
        return;
    }
    panic!(
        "tests/goldens/{name} is not what clreel does now (- the golden, + now):\n{}\
         If that is meant, renew it with UPDATE_GOLDENS=1 and say so in CHANGELOG.md.",
        format_diff(&lines)
    );
}

/// Returns the folder of the goldens.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/goldens")
}

/// Returns a shortest edit from `golden` to `now` by lines (longest common subsequence).
fn diff<'a>(golden: &'a str, now: &'a str, same: impl Fn(&str, &str) -> bool) -> Vec<Line<'a>> {
    let (old, new): (Vec<_>, Vec<_>) = (golden.lines().collect(), now.lines().collect());
    // common[i][j]: the number of lines that old[i..] and new[j..] have in common.
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
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    lines
}

/// Returns a readable diff of two texts, or `None` if they are equal by `same`.
pub fn difference(golden: &str, now: &str, same: impl Fn(&str, &str) -> bool) -> Option<String> {
    let lines = diff(golden, now, same);
    lines.iter().any(|(mark, _)| *mark != ' ').then(|| format_diff(&lines))
}

/// Formats the lines that differ, with two lines of context.
fn format_diff(lines: &[Line]) -> String {
    let differs = |n: usize| lines.get(n).is_some_and(|(mark, _)| *mark != ' ');
    let near = |n: usize| (n.saturating_sub(2)..=n + 2).any(differs);
    let mut text = String::new();
    for (n, (mark, line)) in lines.iter().enumerate().filter(|(n, _)| near(*n)) {
        if n > 0 && !near(n - 1) {
            text.push_str("  …\n");
        }
        writeln!(text, "{mark} {line}").unwrap();
    }
    text
}

/// Replaces each number, with its mark of noise, by `#`: "~1,200.5 ms" becomes "# ms".
pub fn without_numbers(text: &str) -> String {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("~?[0-9]+([.,:][0-9]+)*").expect("a pattern"));
    NUMBER.replace_all(text, "#").into_owned()
}

/// Returns the lines of all texts with numbers replaced as in [`without_numbers`], sorted and without duplicates.
pub fn distinct_lines<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let lines: BTreeSet<String> = texts.flat_map(str::lines).map(without_numbers).collect();
    lines.into_iter().map(|line| line + "\n").collect()
}
