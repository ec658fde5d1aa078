//! What a path that is being typed can become, as shells complete it. In: what stands in the field. Out: the longest text
//! that all files have in common whose names begin so. A folder may take long to read, so a thread does it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::jobs::{Job, Teller, Waker};
use video::address::path_of;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completed {
    /// What was typed.
    pub typed: String,
    /// What can be added to it without a choice.
    pub text: String,
    /// The names to choose from, in order; fewer than two are no choice.
    pub names: Vec<String>,
}

/// A completion that is under way.
#[derive(Debug)]
pub(crate) struct Completion {
    job: Job<Completed>,
}

impl Completion {
    /// Begins to complete `typed`; `waker` is called when it is done. `None` where there is no thread for it.
    pub(crate) fn begin(typed: String, waker: &Waker) -> Option<Self> {
        let complete = move |teller: &Teller<_>| {
            let home = base::environment::get("HOME").map(PathBuf::from);
            Ok(complete(typed, home.as_deref(), || teller.is_cancelled()))
        };
        let job = Job::spawn("completion", "The path could not be completed.", waker, complete).ok()?;
        Some(Self { job })
    }

    /// What came of it, once it is done.
    pub(crate) fn poll(&self) -> Option<Completed> {
        self.job.wait(Duration::ZERO)?.ok()
    }
}

/// Gives up, with what it has, where that is not wanted any more.
fn complete(typed: String, home: Option<&Path>, is_cancelled: impl Fn() -> bool) -> Completed {
    if typed == "~" && home.is_some() {
        return Completed { text: "~/".to_owned(), typed, names: Vec::new() };
    }
    // The address of a file is completed as its path.
    let meant = path_of(OsStr::new(&typed)).into_os_string().into_string().unwrap_or_else(|_| typed.clone());
    let (folder, begin) = meant.rsplit_once('/').map_or(("", meant.as_str()), |(folder, begin)| {
        // The root's own name is its stroke.
        (if folder.is_empty() { "/" } else { folder }, begin)
    });
    let path = match (folder.trim_start(), home) {
        ("", _) => PathBuf::from("."),
        ("~", Some(home)) => home.to_owned(),
        (folder, home) => match (folder.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.into(),
        },
    };
    let mut names: Vec<String> = std::fs::read_dir(&path)
        .into_iter()
        .flatten()
        .flatten()
        .take_while(|_| !is_cancelled())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(begin) && (begin.starts_with('.') || !name.starts_with('.')))
        .collect();
    names.sort();
    let mut text = meant.clone();
    if let (Some(first), Some(last)) = (names.first(), names.last()) {
        // In order, what the first and the last have in common all have.
        let both = first.chars().zip(last.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a);
        let common: String = both.collect();
        text.truncate(meant.len() - begin.len());
        text.push_str(&common);
        if names.len() == 1 && path.join(first).is_dir() {
            text.push('/');
        }
    }
    Completed { typed, text, names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed_as_far_as_there_is_no_choice() {
        let folder = std::env::temp_dir().join(format!("clreel-completion-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("movies")).unwrap();
        for name in ["first.mkv", "first-half.mkv", "zoë one.mkv", "zoé two.mkv", ".hidden.mkv"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let of = |typed: String| {
            let completed = complete(typed, Some(&folder), || false);
            (completed.text, completed.names.len())
        };
        let home = folder.display();
        assert_eq!(of(format!("{home}/fi")), (format!("{home}/first"), 2));
        assert_eq!(of(format!("{home}/first.")), (format!("{home}/first.mkv"), 1));
        assert_eq!(of(format!("{home}/m")), (format!("{home}/movies/"), 1));
        assert_eq!(of(format!("{home}/movies/")), (format!("{home}/movies/"), 0));
        assert_eq!(of(format!("{home}/")), (format!("{home}/"), 5), "hidden files only where they are named");
        assert_eq!(of("~/.h".to_owned()), ("~/.hidden.mkv".to_owned(), 1));
        assert_eq!(of("~".to_owned()), ("~/".to_owned(), 0));
        // Two bytes of which only the first is the same are no common letter.
        assert_eq!(of("~/z".to_owned()), ("~/zo".to_owned(), 2));
        assert_eq!(of("/nowhere/at/all".to_owned()), ("/nowhere/at/all".to_owned(), 0));
        assert_eq!(of(format!("file://{home}/mov")), (format!("{home}/movies/"), 1));
        let root = of("/tm".to_owned());
        assert!(root.0.starts_with("/tm"), "{root:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
