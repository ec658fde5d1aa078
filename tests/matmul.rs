//! Matrix multiplication, by `bench --ladder matmul`: every variant is right at thin, odd and empty cases, injected
//! faults are detected, and unsupported or wrong usage is refused. Needs an OpenCL device, and fails without one.

use std::process::Command;

use ladder::runner::Ladder;
use ladders::matmul::MATMUL;
use serde_json::Value;

use crate::common::ladder::{Kernels, clreel, rows};
use crate::common::process::json;

/// Returns all variants but `auto`, which tries every kernel with many parameters.
fn all_but_auto() -> String {
    let ids: Vec<&str> =
        MATMUL.variants().iter().map(|variant| variant.id).filter(|id| *id != "auto").collect();
    ids.join(",")
}

fn matmul(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--ladder", "matmul", "--frames", "2", "--json"]);
    command.args(args);
    command
}

#[test]
fn every_variant_of_matmul_is_right_and_timed() {
    let cases = ["--mnk", "65,47,129", "--mnk", "3,70,0", "--mnk", "1,1000,31"];
    let output = matmul(&["--variant", &all_but_auto()]).args(cases).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!((&report["schema"], &report["ladder"]), (&Value::from(2), &Value::from("matmul")));
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    let sizes = runs.iter().map(|run| ["m", "n", "k"].map(|size| run["case"][size].as_u64().unwrap()));
    assert_eq!(sizes.collect::<Vec<_>>(), [[65, 47, 129], [3, 70, 0], [1, 1000, 31]]);
    for run in runs {
        let peak = &run["peaks"][0];
        assert_eq!((&peak["id"], &peak["device_ms"]["n"]), (&"multiply-adds alone".into(), &2.into()));
        let variants = run["variants"].as_array().unwrap();
        let ids: Vec<&str> = variants.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(ids.join(","), all_but_auto());
        for row in variants {
            assert_eq!(row["outcome"], "ok", "{row}");
            let (error, bound) = (row["max_error"].as_f64().unwrap(), row["bound"].as_f64().unwrap());
            let empty = run["case"]["k"] == 0;
            assert!((0.0..=bound).contains(&error) && (error > 0.0) != empty && bound < 1e-5, "{row}");
            let checked = row["checked"].as_array().unwrap();
            assert!(checked.iter().any(|entry| entry["timed"] == false && entry["pictures"][4] == "special"));
            let sizes = checked.iter().flat_map(|entry| entry["sizes"].as_array().unwrap());
            assert!(sizes.clone().any(|size| size == "3×0 by 0×5") && sizes.count() > 10, "{row}");
        }
    }
}

#[test]
fn too_much_constant_memory_is_unsupported_and_wrong_usage_an_error() {
    for (mnk, words) in [
        ("2,2", "expected three integers"),
        ("2,2,x", "expected three integers"),
        ("0,2,2", "no --mnk of matmul"),
        ("2,65536,2", "no --mnk of matmul"),
        ("40000,40000,1", "no --mnk of matmul"),
    ] {
        let output = matmul(&["--mnk", mnk]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{mnk}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(words), "{mnk}");
    }
    for (args, word) in [
        (&["bench", "--ladder", "matmul", "--count", "7"][..], "--count"),
        (&["bench", "--ladder", "vector-add", "--mnk", "1,1,1"], "--mnk"),
        (&["bench", "--mnk", "1,1,1"], "--mnk"),
        (&["tune", "--mnk", "1,1,1"], "--mnk"),
        (&["tune", "--ladder", "vector-add", "--mnk", "1,1,1"], "--mnk"),
        (&["tune", "--ladder", "matmul", "--count", "7"], "--count"),
        (&["tune", "--ladder", "matmul", "--mnk", "1,1"], "expected three integers"),
    ] {
        let output = clreel(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{args:?}");
    }
    // Devices usually have 64 KiB of constant memory, and none has more than some MiB.
    let output = matmul(&["--variant", "serial,constant", "--mnk", "2,4096,4096"]).output().unwrap();
    let rows = rows(&json(&output));
    let reason = rows[1]["reason"].as_str().unwrap_or_default();
    let refused = rows[1]["outcome"] == "unsupported" && reason.contains("67108864 bytes");
    assert!(refused && rows[1]["device_ms"].is_null(), "{}", rows[1]);
}

/// Each fault fails its own variant only.
#[test]
fn each_injected_fault_of_matmul_is_a_mismatch_with_its_reason() {
    for (n, (file, from, to, id, words)) in [
        ("02_private.cl", "column < n", "column <= n", "private", "outside the output"),
        ("02_private.cl", "column < n", "column + 1 < n", "private", "never written"),
        ("02_private.cl", "sum = 0.0f", "sum = -0.0f", "private", "-0, expected 0"),
        ("02_private.cl", "i < k; i++", "i + 1 < k; i++", "private", "floats differ"),
        ("04_work_group.cl", "= sum;", "= sum * 1.00002f;", "work-group", "floats differ"),
        (
            "02_private.cl",
            "float sum",
            "((__global float *)b)[0] = 1.0f; float sum",
            "private",
            "of the source",
        ),
        ("05_local_tiles.cl", "row < m && first + x < k", "row < m", "local-tiles", "NaN, expected"),
        ("09_vector_loads.cl", "first < k", "first + TILE_K <= k", "vector-loads", "floats differ"),
        // A number of the next row, times zero.
        (
            "quads.clh",
            "column + 3 < columns)\n            quad.w",
            "column + 2 < columns)\n            quad.w",
            "vector-loads",
            "NaN, expected",
        ),
        (
            "10_double_buffered.cl",
            "from_a = tile_a[(tile + 1) % 2]",
            "from_a = tile_a[0]",
            "double-buffered",
            "differ",
        ),
        ("11_panels.cl", "from_a += ROWS", "from_a += ROWS - 1", "panels", "differ"),
    ]
    .into_iter()
    .enumerate()
    {
        let kernels = Kernels::with(&n.to_string(), "matmul", file, from, to);
        let output = matmul(&["--variant", &format!("{id},threads"), "--mnk", "64,64,64"])
            .env("CLREEL_KERNELS", &kernels.0)
            .output()
            .unwrap();
        let report = json(&output);
        let rows = rows(&report);
        let outcomes = (&rows[0]["outcome"], &rows[1]["outcome"]);
        assert_eq!(outcomes, (&"mismatch".into(), &"ok".into()), "{to}: {report}");
        assert_eq!(output.status.code(), Some(3), "{to}");
        let reason = rows[0]["reason"].as_str().unwrap();
        assert!(reason.contains(words) && rows[0]["device_ms"].is_null(), "{to}: {reason}");
    }
}

#[test]
fn the_table_does_not_claim_exactness_for_results_with_a_bound() {
    let args = ["bench", "--ladder", "matmul", "--frames", "1", "--mnk", "5,6,7", "--variant", "naive"];
    let table = String::from_utf8(clreel(&args).output().unwrap().stdout).unwrap();
    assert!(table.contains("checked, every number within its bound: naive"), "{table}");
    assert!(!table.contains("every byte"), "{table}");
}

/// The timed case is compared within its bound too: a fault that occurs only there is detected.
#[test]
fn a_fault_at_the_timed_size_only_is_a_mismatch() {
    let fault = "= sum + (k == 301 && row == 6 && column == 4 ? 0.01f : 0.0f);";
    let kernels = Kernels::with("timed", "matmul", "02_private.cl", "= sum;", fault);
    let output = matmul(&["--variant", "private", "--mnk", "9,8,301"])
        .env("CLREEL_KERNELS", &kernels.0)
        .output()
        .unwrap();
    let rows = rows(&json(&output));
    let reason = rows[0]["reason"].as_str().unwrap();
    assert!(reason.contains("as it is timed") && reason.contains("row 6, column 4"), "{reason}");
}
