//! Completion of a path that the user is typing, as in shells: by the longest common prefix of all files whose names begin with
//! the typed text. A job does this, since a folder may take long to read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::playlist::typed_path;
use base::jobs::{Job, Reporter, Waker};
use ladder::results::begins_like_results;
use overlay::PathPurpose;
use video::address::path_of;

/// The completion of a path that the user is typing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletedPath {
    /// The path as the user has typed it.
    pub typed: String,
    /// The typed path, extended by the characters that all matching names have in common; a folder's ends with a slash.
    pub text: String,
    /// The folder of the matching files, as a prefix of paths.
    pub folder: String,
    /// The sorted names of the matching files; those of folders end with a slash.
    pub names: Vec<String>,
}

/// Starts a job that completes the path `typed` of a file for this purpose; `waker` is called when it is done.
pub(crate) fn start(typed: String, purpose: PathPurpose, waker: &Waker) -> Job<CompletedPath> {
    let complete = move |reporter: &Reporter<_>| {
        let home = base::environment::get("HOME").map(PathBuf::from);
        Ok(complete(typed, purpose, home.as_deref(), || reporter.is_cancelled()))
    };
    Job::spawn("completion", "The path could not be completed.", waker, complete)
}

/// Completes a path by the files that the list shows for this purpose. If `is_cancelled` returns true, uses only the files that were found until then.
fn complete(
    typed: String,
    purpose: PathPurpose,
    home: Option<&Path>,
    is_cancelled: impl Fn() -> bool,
) -> CompletedPath {
    if typed == "~" && home.is_some() {
        return CompletedPath { text: "~/".to_owned(), typed, folder: String::new(), names: Vec::new() };
    }
    // A `file://` URL is completed as its path.
    let meant = path_of(OsStr::new(&typed)).into_os_string().into_string().unwrap_or_else(|_| typed.clone());
    let (folder, begin) = meant.split_at(meant.rfind('/').map_or(0, |slash| slash + 1));
    let path = if folder.is_empty() { PathBuf::from(".") } else { typed_path(folder, home) };
    let mut names: Vec<String> = std::fs::read_dir(&path)
        .into_iter()
        .flatten()
        .flatten()
        .take_while(|_| !is_cancelled())
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
        .filter(|(name, _)| name.starts_with(begin) && (begin.starts_with('.') || !name.starts_with('.')))
        .map(|(name, entry)| if entry.path().is_dir() { name + "/" } else { name })
        .collect();
    names.retain(|name| purpose.lists(name) && (purpose != PathPurpose::Run || is_run(&path, name)));
    names.sort();
    let mut text = meant.clone();
    if let (Some(first), Some(last)) = (names.first(), names.last()) {
        // In a sorted list all names share the common prefix of the first and the last.
        let both = first.chars().zip(last.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a);
        let common: String = both.collect();
        text.truncate(meant.len() - begin.len());
        text.push_str(&common);
    }
    CompletedPath { folder: folder.to_owned(), typed, text, names }
}

/// Returns true if the ladder can be compared with a file of this folder, or if it is a folder.
fn is_run(folder: &Path, name: &str) -> bool {
    name.ends_with('/') || begins_like_results(&folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::test_folder;

    #[test]
    fn paths_are_completed_as_far_as_there_is_no_choice() {
        let folder = test_folder("completion");
        let folder = &folder.0;
        std::fs::create_dir_all(folder.join("movies")).unwrap();
        for name in ["first.mkv", "first-half.mkv", "zoë one.mkv", "zoé two.mkv", ".hidden.mkv"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let of = |typed: String| {
            let completed = complete(typed, PathPurpose::Movie, Some(folder), || false);
            (completed.text, completed.names.len())
        };
        // A file that is not in the list does not end the completion.
        std::fs::write(folder.join("first.png"), "").unwrap();
        let home = folder.display();
        assert_eq!(of(format!("{home}/fi")), (format!("{home}/first"), 2));
        assert_eq!(of(format!("{home}/first.")), (format!("{home}/first.mkv"), 1));
        assert_eq!(of(format!("{home}/m")), (format!("{home}/movies/"), 1));
        assert_eq!(of(format!("{home}/movies/")), (format!("{home}/movies/"), 0));
        assert_eq!(of(format!("{home}/")), (format!("{home}/"), 5), "hidden files only where they are named");
        assert_eq!(of("~/.h".to_owned()), ("~/.hidden.mkv".to_owned(), 1));
        assert_eq!(of("~".to_owned()), ("~/".to_owned(), 0));
        // Two characters whose first bytes are equal have no common prefix.
        assert_eq!(of("~/z".to_owned()), ("~/zo".to_owned(), 2));
        assert_eq!(of("/nowhere/at/all".to_owned()), ("/nowhere/at/all".to_owned(), 0));
        assert_eq!(of(format!("file://{home}/mov")), (format!("{home}/movies/"), 1));
        // Runs are known by their heads, since statistics and traces are JSON, too.
        let texts =
            ["{\"schema\":2,\"kind\":\"bench\",", "{ \"kind\" : \"bench\"}", "{\"kind\":\"stats\"}", "[]"];
        for (n, text) in texts.into_iter().enumerate() {
            std::fs::write(folder.join(format!("{n}.json")), text).unwrap();
        }
        let runs = complete(format!("{home}/"), PathPurpose::Run, Some(folder), || false);
        assert_eq!(runs.names, ["0.json", "1.json", "movies/"]);
        let root = of("/tm".to_owned());
        assert!(root.0.starts_with("/tm"), "{root:?}");
    }
}
