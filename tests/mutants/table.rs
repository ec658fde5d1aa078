//! The table of mutants, as docs/mutants.md shows it.

use std::fmt::Write;

use super::rules::Mutant;
use super::trial::{Seen, Verdict};
use super::{Tried, summary};

/// The page: what was run, how many of each, and a row for each mutant.
pub fn markdown(tried: &[Tried]) -> String {
    let mut out = String::from(
        "# Mutants of the kernels\n\n\
         Each row is a kernel file with one place changed, a case in which that changes a byte, and what `clreel bench` said\n\
         when it was run with the changed file. A row whose last column is empty is a hole in the verifier.\n\n\
         `./dev mutants --publish` writes this page; `tests/mutants/rules` has the rules.\n\
         [What stood here before the modules stood in layers](mutants_before.md).\n\n",
    );
    let minutes = tried.iter().map(|tried| tried.spent_s).sum::<f64>() / 60.0;
    let _ = writeln!(out, "{}. {}: {minutes:.0} minutes of processor time.\n", summary(tried), machine());
    let mut rules: Vec<&str> = tried.iter().map(|tried| tried.mutant.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    out.push_str("| rule | mutants | caught | equal | survive |\n|---|---:|---:|---:|---:|\n");
    for rule in rules {
        let of: Vec<&Tried> = tried.iter().filter(|tried| tried.mutant.rule == rule).collect();
        let caught = of.iter().filter(|tried| matches!(tried.verdict, Verdict::Caught(_))).count();
        let equal = of.iter().filter(|tried| matches!(tried.verdict, Verdict::Equal(_))).count();
        let _ =
            writeln!(out, "| {rule} | {} | {caught} | {equal} | {} |", of.len(), of.len() - caught - equal);
    }
    out.push_str(
        "\n| | rule | file:line | change | shows itself in | what bench says |\n|---:|---|---|---|---|---|\n",
    );
    for Tried { mutant, seen, verdict, .. } in tried {
        let Mutant { number, rule, file, line, from, to, .. } = mutant;
        let case = match seen {
            Seen::Case(_, what) => cell(what),
            Seen::Nowhere => "no case".to_owned(),
            Seen::Broken(why) => cell(why),
        };
        let said = match verdict {
            Verdict::Caught(how) => cell(how),
            Verdict::Equal(why) => format!("equal: {}", cell(why)),
            Verdict::Survives | Verdict::Unseen => String::new(),
            Verdict::Broken(why) => cell(why),
        };
        let _ = writeln!(
            out,
            "| {number} | {rule} | {file}:{line} | {} → {} | {case} | {said} |",
            code(from),
            code(to)
        );
    }
    out
}

/// The machine, and how busy it is: other programs make the time longer.
fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let name = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let name = name.trim_start_matches(['\t', ' ', ':']);
    format!("{name}, {cores} cores")
}

/// Short enough for a column, and without what ends it.
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

    #[test]
    fn cells_do_not_end_the_column() {
        assert_eq!(cell("a | b\n c"), "a \\| b c");
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(cell(&"ä".repeat(200)).chars().count(), 161);
    }
}
