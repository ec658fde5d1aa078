//! Modified conversion kernels: `bench` names each of them, and `snapshot` does not use them. The tests' layer presents
//! PoCL's device as a GPU, for code that runs on GPUs only. Needs an OpenCL device.

use std::path::Path;

use crate::common::changed_conversions::{
    CORRECT, ENDLESS_LOOP, MUTANTS, Mutant, PLANES, ROWS, SIZE, TIMEOUT_S, endless_kernel, kernels, mutant,
    plant, small_movie, take_snapshot, with_first_statement,
};
use crate::common::*;

/// Runs `bench` for conversions with a variant that needs no kernel; requires this exit code, and returns the conversions.
fn bench(movie: &Path, which: &str, changed: Option<&Folder>, more: &[&str], code: i32) -> Vec<Value> {
    let mut command = clreel(None);
    command.arg("bench").arg(movie).args(["--variant", "native", "--radius", "0", "--frames", "2", "--json"]);
    command.args(["--conversions", which]).args(more);
    let report = finish_json(command.envs(changed.map(|folder| ("CLREEL_KERNELS", folder))), code);
    // With the keys that name the conversion.
    let named = |mut row: Value| {
        let implementation = row["implementation"].take();
        row.as_object_mut().unwrap().extend(implementation.as_object().unwrap().clone());
        row
    };
    reports::conversions(&report["devices"][0]).into_iter().map(named).collect()
}

#[test]
fn bench_checks_all_conversions_and_times_those_of_the_movie() {
    let folder = Folder::new("conversions-bench");
    let movie = small_movie(&folder);
    let all = bench(&movie, "all", None, &[], 0);
    let timed = |row: &&Value| !row["device_ms"].is_null();
    for row in &all {
        assert_eq!((&row["outcome"], &row["reason"]), (&"ok".into(), &Value::Null), "{row}");
        assert_eq!(row["max_error"], 0.0, "{row}");
        let sizes = row["checked"][0]["sizes"].as_array().unwrap();
        assert!(sizes.contains(&Value::from("1x1")) && sizes.len() > 5, "{row}");
        assert!(row["pictures"].as_u64() >= Some(sizes.len() as u64), "{row}");
        let own = ["yuv420p", "yuv420p-filtered", "rgba"].map(Value::from).contains(&row["conversion"]);
        assert_eq!(timed(&row), own, "{row}");
        let whole = Value::from(format!("{}x{}", SIZE.0, SIZE.1));
        assert_eq!(sizes.contains(&whole), own, "its whole size: {row}");
    }
    for (id, kernel) in [("nv12", PLANES), ("p010le", PLANES), ("yuyv422", PLANES), ("gray-filtered", PLANES)]
    {
        for to in ["buffer", "image"] {
            for corrected in [false, true] {
                let keys = [("conversion", id.into()), ("to", to.into()), ("corrected", corrected.into())];
                let is = |row: &&Value| {
                    keys.iter().all(|(key, value): &(_, Value)| row[key] == *value) && row["kernel"] == kernel
                };
                assert_eq!(all.iter().filter(is).count(), 1, "{id} to {to}, {corrected}");
            }
        }
    }
    assert!(all.iter().any(|row| row["kernel"] == ROWS && row["conversion"] == "yuv420p-filtered"));
    for row in all.iter().filter(timed) {
        assert_eq!(row["device_ms"]["n"], 2, "{row}");
    }
    let own = bench(&movie, "input", None, &[], 0);
    assert_eq!(own.len(), all.iter().filter(timed).count());
    assert!(bench(&movie, "none", None, &[], 0).is_empty());
}

#[test]
fn bench_reports_each_faulty_conversion() {
    let folder = Folder::new("conversions-named");
    let movie = small_movie(&folder);
    // Faults of several files in one run: each has rows of its own.
    let runs = [
        "constant",
        "clamp",
        "saturation",
        "siting, weights, column",
        "range, last, this size",
        "alpha",
        "pixel",
        "shift",
        "layout",
    ];
    let is_planted = |fault: &Mutant| runs.iter().any(|run| run.split(", ").any(|name| name == fault.0));
    assert!(MUTANTS.iter().all(is_planted));
    for run in runs {
        let faults: Vec<&Mutant> = run.split(", ").map(mutant).collect();
        let changed = kernels(faults[0], "bench");
        faults[1..].iter().for_each(|fault| plant(fault, &changed));
        let rows = bench(&movie, if faults[0].5 { "all" } else { "input" }, Some(&changed), &[], 3);
        let wrong: Vec<&Value> = rows.iter().filter(|row| row["outcome"] == "mismatch").collect();
        for Mutant(name, .., (id, kernel), _) in faults {
            let named = wrong.iter().filter(|row| row["conversion"] == *id && row["kernel"] == *kernel);
            assert!(named.count() > 0, "{name}: {wrong:#?}");
        }
        for row in wrong {
            assert!(row["device_ms"].is_null() && row["max_error"].as_f64() > Some(0.0), "{run}: {row}");
            assert!(row["reason"].as_str().unwrap().contains("differ"), "{run}: {row}");
        }
    }
}

#[test]
fn fail_fast_stops_at_the_first_faulty_conversion() {
    let folder = Folder::new("conversions-fast");
    let movie = small_movie(&folder);
    let changed = kernels(mutant("alpha"), "fast");
    let rows = bench(&movie, "all", Some(&changed), &["--fail-fast"], 3);
    assert!(rows.iter().all(|row| row["conversion"] == "yuv420p" && row["device_ms"].is_null()), "{rows:#?}");
    assert!(rows.iter().any(|row| row["outcome"] == "mismatch"), "{rows:#?}");
}

#[test]
fn bench_continues_without_conversions_that_never_end() {
    let folder = Folder::new("conversions-stuck");
    let movie = small_movie(&folder);
    // For each file the rows that fail, and one that must not. The kernels of the last two files take no part in each other's rows.
    for files in [
        &[(PLANES, "yuv420p", "rgba")][..],
        &[(CORRECT, "rgba", "yuv420p"), (ROWS, "yuv420p-filtered", "nv12")],
    ] {
        let changed = Folder::new("conversions-endless-bench");
        for (file, ..) in files {
            changed.with(file, with_first_statement(&kernel(file), ENDLESS_LOOP));
        }
        let rows = bench(&movie, "all", Some(&changed), &["--kernel-timeout", TIMEOUT_S], 1);
        let of = |id| rows.iter().filter(move |row| row["conversion"] == id);
        for &(file, fails, goes_on) in files {
            for row in of(fails) {
                let why = row["reason"].as_str().unwrap_or_default();
                assert!(row["outcome"] == "failed" && why.contains("timed out after"), "{file}: {row}");
            }
            assert!(of(fails).count() > 0, "{file}");
            assert!(of(goes_on).count() > 0, "{file}: {rows:#?}");
            assert!(of(goes_on).all(|row| row["outcome"] == "ok"), "{file}: {rows:#?}");
        }
    }
}

#[test]
fn a_snapshot_does_not_use_a_faulty_conversion() {
    let folder = Folder::new("conversions-shot");
    let (small, clip) = (small_movie(&folder), clip());
    for (name, as_gpu, variant) in [
        ("constant", true, "off"),
        ("siting", true, "off"),
        ("alpha", true, "fused"),
        ("pixel", true, "off"),
        ("constant", true, "planar"),
        ("weights", false, "planar"),
        ("last", false, "planar"),
    ] {
        let mutant = mutant(name);
        // All rows of the clip are whole vectors; the other movie's are not.
        let movie = if name == "last" { &small } else { &clip };
        let (right, stderr) = take_snapshot((&folder, movie), None, as_gpu, variant);
        assert!(!stderr.contains("wrongly"), "{name}: {stderr}");
        let changed = kernels(mutant, "shot");
        let (got, stderr) = take_snapshot((&folder, movie), Some(&changed), as_gpu, variant);
        assert!(got == right, "{name}: the picture is wrong");
        let file = if as_gpu { PLANES } else { ROWS };
        for part in ["converts pictures (4:2:0, 8 bits) wrongly", file, "The CPU converts this one"] {
            assert!(stderr.contains(part), "{name}: {part}: {stderr}");
        }
    }
}

#[test]
fn a_snapshot_does_not_use_a_conversion_that_never_ends() {
    let folder = Folder::new("conversions-stuck-shot");
    let movie = small_movie(&folder);
    let changed = endless_kernel(PLANES, "shot");
    for variant in ["off", "fused"] {
        let (right, _) = take_snapshot((&folder, &movie), None, true, variant);
        let (got, stderr) = take_snapshot((&folder, &movie), Some(&changed), true, variant);
        assert!(got == right, "{variant}: the picture is wrong");
        assert_eq!(stderr.matches("The kernels of the conversion timed out after").count(), 1, "{stderr}");
    }
}
