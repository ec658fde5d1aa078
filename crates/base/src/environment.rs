//! The only place that reads environment variables. Each has a row in `environment.txt`, which `clreel help environment`
//! prints.

use std::ffi::OsString;

/// The text of `clreel help environment`: the variables that clreel defines for its users and for its tests, and the variables
/// of other programs that it reads.
pub const HELP: &str = include_str!("environment.txt").trim_ascii_end();

/// Returns the value of an environment variable; `None` if it is not set.
pub fn get(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the value of an environment variable; `None` if it is not set or not Unicode.
pub fn text(name: &str) -> Option<String> {
    get(name)?.into_string().ok()
}

/// Returns the value of an environment variable in seconds; `None` if it is not set or not a number.
pub fn seconds(name: &str) -> Option<f64> {
    text(name)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Adds the path and the text of each Rust source file below `folder` to `found`.
    fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }

    /// Returns the part of a Rust source file's text before its unit tests.
    fn without_tests(text: &str) -> &str {
        let end =
            ["#[cfg(test)]", "#[cfg(all(test,"].iter().filter_map(|attribute| text.find(attribute)).min();
        &text[..end.unwrap_or(text.len())]
    }

    /// Returns the string literals in a source file's text that look like names of environment variables: in a file that uses
    /// [`environment`](super) all such literals, in other files only those that begin with `CLREEL_`.
    fn names(text: &str) -> BTreeSet<String> {
        let code = without_tests(text);
        let uses_environment = code.contains("environment::");
        let is_name = |name: &str| {
            let letters = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            // `USLEEP` is the value of a variable.
            letters && name.len() > 3 && name != "USLEEP"
        };
        let mut parts = code.split('"');
        let mut names = BTreeSet::new();
        while let (Some(before), Some(name)) = (parts.next(), parts.next()) {
            // Literals after these texts are variables of the compiler, value names in the help, and parts of names.
            let other = ["env!(", "value_name = ", "contains("].iter().any(|way| before.ends_with(way));
            if is_name(name) && !other && (uses_environment || name.starts_with("CLREEL_")) {
                names.insert(name.to_owned());
            }
        }
        names
    }

    #[test]
    fn the_environment_is_read_here_and_every_variable_is_listed() {
        let listed: BTreeSet<String> = HELP
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|name| !name.starts_with(' '))
            .map(str::to_owned)
            .collect();
        let mut files = Vec::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        sources(&root.join("src"), &mut files);
        for entry in std::fs::read_dir(root.join("crates")).unwrap() {
            let path = entry.unwrap().path();
            // testkit reads variables for tests.
            if !path.ends_with("testkit") {
                sources(&path.join("src"), &mut files);
            }
        }
        let mut read = BTreeSet::new();
        for (path, text) in files.iter().filter(|(path, _)| !path.ends_with("base/src/environment.rs")) {
            let code = without_tests(text);
            for way in ["env::var(", "env::var_os(", "env::vars(", "env::vars_os(", "env::home_dir("] {
                assert!(
                    !code.contains(way),
                    "{path}: {way}…): the environment is read in crates/base/src/environment.rs"
                );
            }
            read.extend(names(text));
        }
        let unlisted: Vec<_> = read.difference(&listed).collect();
        assert!(unlisted.is_empty(), "not listed: {unlisted:?}");
        let own = listed.iter().filter(|name| name.starts_with("CLREEL_"));
        assert!(own.clone().all(|name| read.contains(name)), "listed, but not read: {own:?} {read:?}");
        assert_eq!(
            names("get(\"CLREEL_A\"); environment::text(\"HOME\"); \"XDG\""),
            names("\"CLREEL_A\" environment::get(\"HOME\")")
        );
        let constant = "use crate::environment::get; const V: &str = \"TERM_X\"; env!(\"OUT_DIR\"); get(V)";
        assert_eq!(names(constant), ["TERM_X".to_owned()].into());
    }
}
