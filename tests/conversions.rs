//! Changed kernels of the conversion: `bench` names each, and `snapshot` does not show what they make. The layer makes a GPU of
//! PoCL's device, for what only graphics cards are asked for. Needs an OpenCL device.

use std::path::Path;
use std::process::Command;

use crate::common::changed_conversions::{
    CORRECT, LIMIT, MUTANTS, Mutant, PLANES, ROWS, SIZE, endless, kernels, mutant, shot, small,
};
use crate::common::window::{clip, clreel};
use serde_json::Value;
use testkit::movie::Folder;

/// `bench` of the conversions; the variant is one that needs no kernel.
fn bench(movie: &Path, which: &str) -> Command {
    let mut command = clreel(None);
    command.env_remove("CLREEL_KERNELS").arg("bench").arg(movie).args([
        "--variant",
        "native",
        "--radius",
        "0",
    ]);
    command.args(["--frames", "2", "--json", "--conversions", which]);
    command
}

fn conversions(mut command: Command, code: i32) -> Vec<Value> {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    assert_eq!(output.status.code(), Some(code), "{stderr} {report:#}");
    report["devices"][0]["conversions"].as_array().unwrap().clone()
}

#[test]
fn bench_checks_all_conversions_and_times_the_movies_own() {
    let folder = Folder::new("conversions-bench");
    let movie = small(&folder);
    let all = conversions(bench(&movie, "all"), 0);
    let timed = |row: &&Value| !row["device_ms"].is_null();
    for row in &all {
        assert_eq!((&row["outcome"], &row["reason"]), (&"ok".into(), &Value::Null), "{row}");
        assert_eq!(row["max_abs_diff"], 0, "{row}");
        let sizes = row["checked"]["sizes"].as_array().unwrap();
        assert!(sizes.contains(&serde_json::json!([1, 1])) && sizes.len() > 5, "{row}");
        assert!(row["checked"]["pictures"].as_u64() >= Some(sizes.len() as u64), "{row}");
        let own = ["yuv420p", "yuv420p-filtered", "rgba"].map(Value::from).contains(&row["id"]);
        assert_eq!(timed(&row), own, "{row}");
        assert_eq!(sizes.contains(&serde_json::json!([SIZE.0, SIZE.1])), own, "its whole size: {row}");
    }
    for (id, kernel) in [("nv12", PLANES), ("p010le", PLANES), ("yuyv422", PLANES), ("gray-filtered", PLANES)]
    {
        for to in ["buffer", "image"] {
            for corrected in [false, true] {
                let is = |row: &&Value| {
                    row["id"] == id
                        && row["to"] == to
                        && row["corrected"] == corrected
                        && row["kernel"] == kernel
                };
                assert_eq!(all.iter().filter(is).count(), 1, "{id} to {to}, {corrected}");
            }
        }
    }
    assert!(all.iter().any(|row| row["kernel"] == ROWS && row["id"] == "yuv420p-filtered"));
    for row in all.iter().filter(timed) {
        assert_eq!(row["device_ms"]["n"], 2, "{row}");
    }
    let own = conversions(bench(&movie, "input"), 0);
    assert_eq!(own.len(), all.iter().filter(timed).count());
    assert!(conversions(bench(&movie, "none"), 0).is_empty());
}

#[test]
fn bench_names_each_changed_conversion() {
    let folder = Folder::new("conversions-named");
    let movie = small(&folder);
    for mutant in &MUTANTS {
        let &Mutant(name, .., (id, kernel), others) = mutant;
        let changed = kernels(mutant, "bench");
        let mut command = bench(&movie, if others { "all" } else { "input" });
        command.env("CLREEL_KERNELS", changed.file(""));
        let rows = conversions(command, 3);
        let wrong: Vec<&Value> = rows.iter().filter(|row| row["outcome"] == "mismatch").collect();
        let named = wrong.iter().filter(|row| row["id"] == id && row["kernel"] == kernel);
        assert!(named.count() > 0, "{name}: {wrong:#?}");
        for row in wrong {
            assert!(row["device_ms"].is_null() && row["max_abs_diff"].as_u64() > Some(0), "{name}: {row}");
            assert!(row["reason"].as_str().unwrap().contains("differ"), "{name}: {row}");
        }
    }
}

#[test]
fn bench_ends_fast_when_it_is_asked_to() {
    let folder = Folder::new("conversions-fast");
    let movie = small(&folder);
    let changed = kernels(mutant("alpha"), "fast");
    let mut command = bench(&movie, "all");
    command.arg("--fail-fast").env("CLREEL_KERNELS", changed.file(""));
    let rows = conversions(command, 3);
    assert!(rows.iter().all(|row| row["id"] == "yuv420p" && row["device_ms"].is_null()), "{rows:#?}");
    assert!(rows.iter().any(|row| row["outcome"] == "mismatch"), "{rows:#?}");
}

#[test]
fn bench_goes_on_without_endless_conversions() {
    let folder = Folder::new("conversions-stuck");
    let movie = small(&folder);
    // Of each file the rows that fail, and one that must not.
    for (file, fails, goes_on) in
        [(PLANES, "yuv420p", "rgba"), (CORRECT, "rgba", "yuv420p"), (ROWS, "yuv420p-filtered", "nv12")]
    {
        let changed = endless(file, "bench");
        let mut command = bench(&movie, "all");
        command.args(["--kernel-timeout", LIMIT]).env("CLREEL_KERNELS", changed.file(""));
        let rows = conversions(command, 1);
        let of = |id| rows.iter().filter(move |row| row["id"] == id);
        for row in of(fails) {
            let why = row["reason"].as_str().unwrap_or_default();
            assert!(row["outcome"] == "failed" && why.contains("did not end within"), "{file}: {row}");
        }
        assert!(of(fails).count() > 0, "{file}");
        assert!(
            of(goes_on).count() > 0 && of(goes_on).all(|row| row["outcome"] == "ok"),
            "{file}: {rows:#?}"
        );
    }
}

#[test]
fn a_snapshot_is_right_whatever_the_kernels_are() {
    let folder = Folder::new("conversions-shot");
    let (small, clip) = (small(&folder), clip());
    for (name, gpu, variant) in [
        ("constant", true, "off"),
        ("siting", true, "off"),
        ("alpha", true, "fused"),
        ("pixel", true, "off"),
        ("constant", true, "planar"),
        ("weights", false, "planar"),
        ("last", false, "planar"),
    ] {
        let mutant = mutant(name);
        // The clip's rows are whole vectors.
        let movie = if name == "last" { &small } else { &clip };
        let (right, said) = shot((&folder, movie), None, gpu, variant);
        assert!(!said.contains("wrongly"), "{name}: {said}");
        let changed = kernels(mutant, "shot");
        let (got, said) = shot((&folder, movie), Some(&changed), gpu, variant);
        assert!(got == right, "{name}: the picture is wrong");
        let file = if gpu { PLANES } else { ROWS };
        for part in ["converts pictures (4:2:0, 8 bits) wrongly", file, "The processor converts this one"] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
}

#[test]
fn a_snapshot_does_without_an_endless_conversion() {
    let folder = Folder::new("conversions-stuck-shot");
    let movie = small(&folder);
    let changed = endless(PLANES, "shot");
    for variant in ["off", "fused"] {
        let (right, _) = shot((&folder, &movie), None, true, variant);
        let (got, said) = shot((&folder, &movie), Some(&changed), true, variant);
        assert!(got == right, "{variant}: the picture is wrong");
        assert_eq!(said.matches("The kernels of the conversion did not end within").count(), 1, "{said}");
    }
}
