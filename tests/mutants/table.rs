//! The page docs/mutants.md: how many mutants of each operator `clreel bench` catches, and why some cannot be caught.

use std::fmt::Write;

use super::files::Mutant;
use super::trial::{Verdict, WitnessResult};
use super::{TrialResult, summary};

const INTRODUCTION: &str = "# Mutants of the kernels

A mutant is a kernel file with one place changed, such as `<=` to `<`. The operators of
`tests/mutants/operators.rs` make them, ten in each file. `./dev mutants` runs `clreel bench` with each and expects bench to report
a wrong result (*caught*). A mutant that
computes the same bytes in every case is *equal*. One that changes a byte and passes bench *survives*: a gap in the checks.

    ./dev mutants --publish      # tries them (an hour and more) and writes this page
    ./dev mutants --all          # changes every place, not ten in each file
    ./dev mutants --list         # each mutant with its number, file, line and change
    ./dev mutants --number 12,40 # tries two and prints the message of bench

";

/// Returns the page: the counts of each operator, the reasons of equal mutants, and the mutants that nothing caught.
pub fn markdown(tried: &[TrialResult]) -> String {
    let mut out = String::from(INTRODUCTION);
    let minutes = tried.iter().map(|tried| tried.spent_s).sum::<f64>() / 60.0;
    let _ = writeln!(out, "{}. {}: {minutes:.0} minutes of processor time.\n", summary(tried), machine());
    let mut operators: Vec<&str> = tried.iter().map(|tried| tried.mutant.operator).collect();
    operators.sort_unstable();
    operators.dedup();
    out.push_str("| operator | mutants | caught | equal | survive |\n|---|---:|---:|---:|---:|\n");
    for operator in operators {
        let of: Vec<&TrialResult> = tried.iter().filter(|tried| tried.mutant.operator == operator).collect();
        let caught = of.iter().filter(|tried| matches!(tried.verdict, Verdict::Caught(_))).count();
        let equal = of.iter().filter(|tried| matches!(tried.verdict, Verdict::Equal(_))).count();
        let (all, survive) = (of.len(), of.len() - caught - equal);
        let _ = writeln!(out, "| {operator} | {all} | {caught} | {equal} | {survive} |");
    }
    out.push_str(&equal_mutants(tried));
    out.push_str(&open_mutants(tried));
    out
}

/// Returns a row for each reason why mutants are equal, with their files and lines.
fn equal_mutants(tried: &[TrialResult]) -> String {
    let mut reasons: Vec<(&str, Vec<&Mutant>)> = Vec::new();
    for tried in tried {
        let Verdict::Equal(why) = tried.verdict else { continue };
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, mutants)) => mutants.push(&tried.mutant),
            None => reasons.push((why, vec![&tried.mutant])),
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n## Equal, and why\n\n| reason | mutants | file:line |\n|---|---:|---|\n");
    for (reason, mutants) in reasons {
        let mut places = String::new();
        let mut last = "";
        for Mutant { file, line, .. } in &mutants {
            let _ = match *file == last {
                true => write!(places, ", {line}"),
                false if last.is_empty() => write!(places, "{file}:{line}"),
                false => write!(places, "; {file}:{line}"),
            };
            last = file;
        }
        let _ = writeln!(out, "| {} | {} | {places} |", cell(reason), mutants.len());
    }
    out
}

/// Returns a row for each mutant that is neither caught nor equal.
fn open_mutants(tried: &[TrialResult]) -> String {
    let mut rows = String::new();
    for TrialResult { mutant, seen, verdict, .. } in tried {
        let said = match verdict {
            Verdict::Caught(_) | Verdict::Equal(_) => continue,
            Verdict::Survives | Verdict::Unseen => "passes".to_owned(),
            Verdict::Broken(why) => cell(why),
        };
        let Mutant { number, operator, file, line, from, to, .. } = mutant;
        let case = match seen {
            WitnessResult::Case(_, what) => cell(what),
            WitnessResult::Nowhere => "no case".to_owned(),
            WitnessResult::Broken(why) => cell(why),
        };
        let (from, to) = (code(from), code(to));
        let _ = writeln!(rows, "| {number} | {operator} | {file}:{line} | {from} → {to} | {case} | {said} |");
    }
    if rows.is_empty() {
        return rows;
    }
    let head = "| | operator | file:line | change | shows itself in | bench |\n|---:|---|---|---|---|---|\n";
    format!("\n## Not caught\n\n{head}{rows}")
}

/// Returns the processor's name and its number of cores.
fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let name = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let name = name.trim_start_matches(['\t', ' ', ':']);
    format!("{name}, {cores} cores")
}

/// Returns a text that is shortened for a table cell, without the column separator.
fn cell(text: &str) -> String {
    const MOST: usize = 160;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn code(text: &str) -> String {
    match text {
        "" => "nothing".to_owned(),
        text => format!("`{}`", text.replace('|', "\\|")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial_result(number: usize, verdict: Verdict) -> TrialResult {
        let mutant = Mutant {
            number,
            operator: "bound",
            file: "box_filter/03_flat.cl",
            line: 10 + number,
            from: "<=".into(),
            to: "<".into(),
            changed: String::new(),
            text: String::new(),
            equal: None,
            by_device: false,
            is_selected: true,
            runners: &[],
        };
        TrialResult { mutant, seen: WitnessResult::Nowhere, verdict, spent_s: 60.0 }
    }

    #[test]
    fn equal_mutants_are_grouped_by_reason_and_caught_ones_counted() {
        let (equal, caught) = (|| Verdict::Equal("Rows twice."), || Verdict::Caught("noise".into()));
        let page = markdown(&[trial_result(1, equal()), trial_result(2, caught()), trial_result(3, equal())]);
        assert!(page.contains("| bound | 3 | 1 | 2 | 0 |"), "{page}");
        assert!(page.contains("| Rows twice. | 2 | box_filter/03_flat.cl:11, 13 |"), "{page}");
        assert!(!page.contains("noise") && !page.contains("Not caught"), "{page}");
        let page = markdown(&[trial_result(1, caught()), trial_result(2, Verdict::Survives)]);
        let row = "| 2 | bound | box_filter/03_flat.cl:12 | `<=` → `<` | no case | passes |";
        assert!(page.contains(row), "{page}");
        assert!(!page.contains("Equal, and why"), "{page}");
    }

    #[test]
    fn cells_escape_the_column_separator() {
        assert_eq!(cell("a | b\n c"), "a \\| b c");
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(cell(&"ä".repeat(200)).chars().count(), 161);
    }
}
