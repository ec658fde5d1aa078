//! Ladders other than the box filter: running clreel, the rows of its JSON, and modified kernels.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::movie::Folder;

use super::process::COMPILED;

/// Returns a command that runs clreel with an empty tuning cache.
pub fn clreel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.args(args);
    // The user's tuning cache must not matter.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command.env("POCL_CACHE_DIR", COMPILED);
    command
}

/// Returns the rows of all cases on all devices.
pub fn rows(report: &Value) -> Vec<Value> {
    let runs = report["devices"].as_array().unwrap().iter().flat_map(|d| d["runs"].as_array().unwrap());
    runs.flat_map(|run| run["variants"].as_array().unwrap().clone()).collect()
}

/// Returns the rows of the conversions to RGBA on a device.
pub fn conversions(device: &Value) -> Vec<Value> {
    let runs = device["runs"].as_array().unwrap().iter().filter(|run| run["title"] == "conversions");
    runs.flat_map(|run| run["variants"].as_array().unwrap().clone()).collect()
}

/// Returns the trials of the first case that `tune` has searched.
pub fn trials(report: &Value) -> Vec<Value> {
    report["devices"][0]["runs"][0]["variants"].as_array().unwrap().clone()
}

/// Returns true if a trial has this status.
pub fn has_status(trial: &Value, status: &str) -> bool {
    trial["trial"]["status"] == status
}

/// A folder with a modified kernel file; removed when dropped.
pub struct Kernels(pub Folder);

impl Kernels {
    /// Replaces `from`, which must occur once in a file of a ladder, by `to`.
    pub fn with(name: &str, ladder: &str, file: &str, from: &str, to: &str) -> Self {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(ladder).join(file);
        let text = std::fs::read_to_string(original).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from}");
        let folder = Folder::new(&format!("ladders-{ladder}-{name}"));
        folder.with(&format!("{ladder}/{file}"), text.replace(from, to).as_bytes());
        Self(folder)
    }
}
