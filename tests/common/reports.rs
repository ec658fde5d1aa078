//! Running clreel without a window, and the rows of its JSON.

use std::process::Command;

use super::*;

/// Returns a command that runs clreel with an empty tuning cache.
pub fn clreel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.args(args).env_remove("CLREEL_KERNELS").env("POCL_CACHE_DIR", COMPILED);
    // The user's tuning cache must not matter.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

/// Requires that clreel refuses arguments with the exit code of a usage error and a message that contains `word`.
pub fn assert_usage_error(args: &[&str], word: &str) {
    let output = finish(clreel(args), 2);
    assert!(text(&output.stderr).contains(word) && output.stdout.is_empty(), "{args:?}");
}

/// A fault in a kernel of a ladder: the file, the text that is replaced, its replacement, the variant whose output is wrong, and
/// parts of the reason, which are separated by "|".
pub type Fault<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// Requires that `bench` reports each fault as a mismatch of its own variant only: not of the variant `beside`. Kernel files of
/// several variants are faulty in one run, except for files that others include, and beside `auto`, which needs a right variant.
pub fn assert_mismatches(ladder: &str, args: &[&str], beside: &str, faults: &[Fault]) {
    let is_alone = |fault: &Fault| beside == "auto" || fault.0.ends_with(".clh");
    let mut left: Vec<&Fault> = faults.iter().collect();
    while !left.is_empty() {
        let mut run: Vec<&Fault> = Vec::new();
        left.retain(|fault| {
            let is_apart = |other: &&Fault| !is_alone(other) && other.0 != fault.0 && other.3 != fault.3;
            let fits = run.is_empty() || !is_alone(fault) && run.iter().all(is_apart);
            run.extend(fits.then_some(*fault));
            !fits
        });
        let kernels = Folder::new(&format!("kernels-{ladder}-{}-{}", args[1], left.len()));
        for (file, from, to, ..) in &run {
            let file = format!("{}/{file}", ladder.replace('-', "_"));
            kernels.with(&file, edited_kernel(&file, &[(from, to)]));
        }
        let ids: Vec<&str> = run.iter().map(|fault| fault.3).chain([beside]).collect();
        let mut command = clreel(&["bench", "--ladder", ladder, "--frames", "2", "--json", "--variant"]);
        command.arg(ids.join(",")).args(args).env("CLREEL_KERNELS", &kernels);
        let rows = rows(&finish_json(command, 3));
        let row =
            |id: &str| rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id}: {rows:?}"));
        for (_, _, to, id, words) in &run {
            let reason = row(id)["reason"].as_str().unwrap_or_default();
            let is_told =
                row(id)["outcome"] == "mismatch" && words.split('|').all(|word| reason.contains(word));
            assert!(is_told && row(id)["device_ms"].is_null(), "{to}: {}", row(id));
            let right = row(beside);
            let avoids = right["chosen"].as_str().map_or(beside != "auto", |chosen| !chosen.starts_with(id));
            assert!(right["outcome"] == "ok" && avoids, "{to}: {right}");
        }
    }
}

/// Returns the ids of the rows of a run, and asserts that each row has this outcome.
pub fn ids_with_outcome<'a>(run: &'a Value, outcome: &str) -> Vec<&'a str> {
    let rows = run["variants"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["outcome"] == outcome), "{run}");
    rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
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
