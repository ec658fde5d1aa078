//! The rules. In: the kernel files as they are. Out: mutants of them, each with one place changed. A rule names code,
//! says how often that stands in its file, and what stands there instead; a rule that finds another number of places is
//! an error, so that no change of a kernel silences one.

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

use super::cases::Subject;
use super::tokens;

/// Code and what stands in its place.
#[derive(Debug, Clone, Copy)]
pub struct Edit {
    rule: &'static str,
    find: &'static str,
    /// `$&` stands for what was found.
    with: &'static str,
    count: usize,
    equal: Option<&'static str>,
    by_device: bool,
    on: &'static [Subject],
}

/// A rule: each of the `count` places of `find` is replaced by `with`, one in each mutant.
const fn edit(rule: &'static str, find: &'static str, with: &'static str, count: usize) -> Edit {
    Edit { rule, find, with, count, equal: None, by_device: false, on: &[] }
}

impl Edit {
    /// No case can tell it apart, and why.
    const fn equal(self, why: &'static str) -> Self {
        Self { equal: Some(why), ..self }
    }

    /// Whether it shows is a matter of the device or its compiler: where no case tells it apart, this is why.
    const fn by_device(self, why: &'static str) -> Self {
        Self { equal: Some(why), by_device: true, ..self }
    }

    /// What runs it, where that is not what runs the rest of the file.
    const fn on(self, subjects: &'static [Subject]) -> Self {
        Self { on: subjects, ..self }
    }
}

/// The rules for a kernel file.
struct Rules {
    file: &'static str,
    /// What runs it.
    subjects: &'static [Subject],
    edits: &'static [Edit],
}

/// A kernel file with one place changed.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// Its number, from 1: by file, rule and place.
    pub number: usize,
    /// What is changed, as in `window` or `clamp`.
    pub rule: &'static str,
    /// The kernel file, by its path in `kernels/`.
    pub file: &'static str,
    /// The line that is changed.
    pub line: usize,
    /// What stood there.
    pub from: String,
    /// What stands there.
    pub to: String,
    /// The whole file.
    pub text: String,
    /// Why no case can tell it apart; `None` where one must.
    pub equal: Option<&'static str>,
    /// On other devices, or with other compilers, one may.
    pub by_device: bool,
    /// What runs it.
    pub subjects: &'static [Subject],
}

/// All mutants of the kernels in a folder.
///
/// # Errors
/// When a file cannot be read, or a rule finds another number of places than it says.
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
            subjects: if edit.on.is_empty() { rules.subjects } else { edit.on },
        });
    }
    Ok(())
}

/// Without the blanks that a table has no room for.
fn one_line(code: &str) -> String {
    code.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { file: "a.cl", subjects: &[], edits: &[] };

    fn applied(edit: &Edit, text: &str) -> Result<Vec<Mutant>, String> {
        let mut mutants = Vec::new();
        apply(&RULES, edit, text, &mut mutants).map(|()| mutants)
    }

    #[test]
    fn each_place_is_a_mutant() {
        let made = applied(&edit("window", "i <= r", "i < r", 2), "i <=  r;\ni <= r;").unwrap();
        let texts: Vec<_> = made.iter().map(|mutant| (mutant.line, mutant.text.as_str())).collect();
        assert_eq!(texts, [(1, "i < r;\ni <= r;"), (2, "i <=  r;\ni < r;")]);
        let made = applied(&edit("alpha", "mean", "$& | 255", 1), "x = mean;").unwrap();
        assert_eq!((made[0].text.as_str(), made[0].to.as_str()), ("x = mean | 255;", "mean | 255"));
    }

    #[test]
    fn a_rule_that_no_longer_matches_is_an_error() {
        let rule = edit("window", "i <= r", "i < r", 1);
        assert!(applied(&rule, "i < r;").unwrap_err().contains("finds 0 places"));
        assert!(applied(&rule, "i <= r; i <= r;").unwrap_err().contains("finds 2 places"));
        assert!(applied(&edit("window", "i", "i", 1), "i").unwrap_err().contains("as it is"));
    }
}
