//! The mutation rules and the mutants that they make of the kernel files, each with one place changed. A rule has the code,
//! the number of its occurrences in the file, and the replacement. Another number of occurrences is an error, so that an
//! edit of a kernel cannot disable a rule silently.

mod cloth;
mod convert;
mod fused;
mod ladder;
mod march;
mod matmul;
mod planes;
mod reduction;
mod transpose;
mod vector_add;

use std::fs;
use std::path::Path;

use super::cases::Runner;
use super::tokens;

/// A rule: code and its replacement.
#[derive(Debug, Clone, Copy)]
pub struct Edit {
    rule: &'static str,
    find: &'static str,
    /// The replacement, in which `$&` stands for the code that was found.
    with: &'static str,
    count: usize,
    equal: Option<&'static str>,
    by_device: bool,
    on: &'static [Runner],
}

/// Creates a rule: each of the `count` occurrences of `find` is replaced by `with`, one in each mutant.
const fn edit(rule: &'static str, find: &'static str, with: &'static str, count: usize) -> Edit {
    Edit { rule, find, with, count, equal: None, by_device: false, on: &[] }
}

impl Edit {
    /// Marks mutants that no case can distinguish from the original, with the reason.
    const fn equal(self, why: &'static str) -> Self {
        Self { equal: Some(why), ..self }
    }

    /// Marks mutants that only some devices or compilers distinguish, with the reason.
    const fn by_device(self, why: &'static str) -> Self {
        Self { equal: Some(why), by_device: true, ..self }
    }

    /// Sets the runners of this rule, if they are not those of the file.
    const fn on(self, runners: &'static [Runner]) -> Self {
        Self { on: runners, ..self }
    }
}

/// The rules for a kernel file.
struct Rules {
    file: &'static str,
    /// The code that runs the file.
    runners: &'static [Runner],
    edits: &'static [Edit],
}

/// A kernel file with one place changed.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The number of the mutant, from 1, ordered by file, rule and place.
    pub number: usize,
    /// The name of the rule, such as `window` or `clamp`.
    pub rule: &'static str,
    /// The path of the kernel file in `kernels/`.
    pub file: &'static str,
    /// The number of the changed line.
    pub line: usize,
    /// The original code.
    pub from: String,
    /// The replacement.
    pub to: String,
    /// The text of the whole file.
    pub text: String,
    /// The reason why no case can distinguish it; `None` if a case must.
    pub equal: Option<&'static str>,
    /// True if only some devices or compilers distinguish it.
    pub by_device: bool,
    /// The code that runs it.
    pub runners: &'static [Runner],
}

/// Returns all mutants of the kernels in a folder.
///
/// # Errors
/// Fails if a file cannot be read, or if a rule has another number of occurrences than it states.
pub fn mutants(kernels: &Path) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    let filters = ladder::RULES.iter().chain([&fused::RULES, &march::RULES]).chain(planes::RULES);
    let numbers =
        vector_add::RULES.iter().chain(reduction::RULES).chain(matmul::RULES).chain(transpose::RULES);
    for rules in filters.chain(convert::RULES).chain(numbers).chain(cloth::RULES) {
        let path = kernels.join(rules.file);
        let text =
            fs::read_to_string(&path).map_err(|e| format!("{} cannot be read: {e}.", path.display()))?;
        for edit in rules.edits {
            apply(rules, edit, &text, &mut mutants)?;
        }
    }
    Ok(mutants)
}

fn apply(rules: &Rules, edit: &Edit, text: &str, mutants: &mut Vec<Mutant>) -> Result<(), String> {
    let places = tokens::find(text, edit.find);
    if places.len() != edit.count {
        return Err(format!(
            "The rule '{}' for {} finds {} places of '{}', not {}. The kernel has changed: correct the rule in tests/mutants/rules.",
            edit.rule,
            rules.file,
            places.len(),
            edit.find,
            edit.count
        ));
    }
    for place in places {
        let from = &text[place.clone()];
        let to = edit.with.replace("$&", from);
        if to == from {
            return Err(format!("The rule '{}' for {} leaves '{from}' as it is.", edit.rule, rules.file));
        }
        let mut changed = text.to_owned();
        changed.replace_range(place.clone(), &to);
        mutants.push(Mutant {
            number: mutants.len() + 1,
            rule: edit.rule,
            file: rules.file,
            line: tokens::line_of(text, place.start),
            from: one_line(from),
            to: one_line(&to),
            text: changed,
            equal: edit.equal,
            by_device: edit.by_device,
            runners: if edit.on.is_empty() { rules.runners } else { edit.on },
        });
    }
    Ok(())
}

/// Removes blanks, for narrow tables.
fn one_line(code: &str) -> String {
    code.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { file: "a.cl", runners: &[], edits: &[] };

    fn apply_to(edit: &Edit, text: &str) -> Result<Vec<Mutant>, String> {
        let mut mutants = Vec::new();
        apply(&RULES, edit, text, &mut mutants).map(|()| mutants)
    }

    #[test]
    fn each_occurrence_makes_a_mutant() {
        let made = apply_to(&edit("window", "i <= r", "i < r", 2), "i <=  r;\ni <= r;").unwrap();
        let texts: Vec<_> = made.iter().map(|mutant| (mutant.line, mutant.text.as_str())).collect();
        assert_eq!(texts, [(1, "i < r;\ni <= r;"), (2, "i <=  r;\ni < r;")]);
        let made = apply_to(&edit("alpha", "mean", "$& | 255", 1), "x = mean;").unwrap();
        assert_eq!((made[0].text.as_str(), made[0].to.as_str()), ("x = mean | 255;", "mean | 255"));
    }

    #[test]
    fn a_rule_with_another_number_of_occurrences_is_an_error() {
        let rule = edit("window", "i <= r", "i < r", 1);
        assert!(apply_to(&rule, "i < r;").unwrap_err().contains("finds 0 places"));
        assert!(apply_to(&rule, "i <= r; i <= r;").unwrap_err().contains("finds 2 places"));
        assert!(apply_to(&edit("window", "i", "i", 1), "i").unwrap_err().contains("as it is"));
    }
}
