//! Matrix multiplication, by `bench --ladder matmul`: every variant is right at thin, odd and empty cases, injected
//! faults are detected, and unsupported or wrong usage is refused. Needs an OpenCL device, and fails without one.

use std::process::Command;

use crate::common::reports::{assert_mismatches, clreel, rows};
use crate::common::*;
use ladder::runner::Ladder;
use ladders::matmul::MATMUL;

/// Returns all variants but `auto`, which tries every kernel with many parameters.
fn all_but_auto() -> String {
    let ids: Vec<_> = MATMUL.variants().iter().map(|variant| variant.id).filter(|id| *id != "auto").collect();
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
    let report = finish_json(matmul(&["--variant", &all_but_auto()]).args(cases), 0);
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

/// Devices usually have 64 KiB of constant memory, and none has more than some MiB.
#[test]
fn too_much_constant_memory_is_unsupported() {
    let output = matmul(&["--variant", "serial,constant", "--mnk", "2,4096,4096"]).output().unwrap();
    let rows = rows(&json(&output));
    let reason = rows[1]["reason"].as_str().unwrap_or_default();
    let refused = rows[1]["outcome"] == "unsupported" && reason.contains("67108864 bytes");
    assert!(refused && rows[1]["device_ms"].is_null(), "{}", rows[1]);
}

/// Each fault fails its own variant only.
#[test]
fn each_injected_fault_of_matmul_is_a_mismatch_with_its_reason() {
    let next_row = "column + 3 < columns)\n            quad.w";
    let wrong_row = "column + 2 < columns)\n            quad.w";
    let faults = [
        ("02_private.cl", "column < n", "column <= n", "private", "outside the output"),
        ("02_private.cl", "column < n", "column + 1 < n", "private", "never written"),
        ("02_private.cl", "sum = 0.0f", "sum = -0.0f", "private", "-0, expected 0"),
        ("02_private.cl", "i < k; i++", "i + 1 < k; i++", "private", "floats differ"),
        ("04_work_group.cl", "= sum;", "= sum * 1.00002f;", "work-group", "floats differ"),
        ("02_private.cl", "float sum", "((__global float *)b)[0] = 1; float sum", "private", "of the source"),
        ("05_local_tiles.cl", "row < m && first + x < k", "row < m", "local-tiles", "NaN, expected"),
        ("09_vector_loads.cl", "first < k", "first + TILE_K <= k", "vector-loads", "floats differ"),
        // A number of the next row, times zero.
        ("quads.clh", next_row, wrong_row, "vector-loads", "NaN, expected"),
        ("10_double_buffered.cl", "tile_a[(tile + 1) % 2]", "tile_a[0]", "double-buffered", "differ"),
        ("11_panels.cl", "from_a += ROWS", "from_a += ROWS - 1", "panels", "differ"),
    ];
    assert_mismatches("matmul", &["--mnk", "64,64,64"], "threads", &faults);
    // The timed case is compared within its bound too.
    let timed = "= sum + (k == 301 && row == 6 && column == 4 ? 0.01f : 0.0f);";
    let fault = ("02_private.cl", "= sum;", timed, "private", "as it is timed|row 6, column 4");
    assert_mismatches("matmul", &["--mnk", "9,8,301"], "serial", &[fault]);
}

#[test]
fn the_table_does_not_claim_exactness_for_results_with_a_bound() {
    let args = ["bench", "--ladder", "matmul", "--frames", "1", "--mnk", "5,6,7", "--variant", "naive"];
    let table = text(&finish(clreel(&args), 0).stdout);
    assert!(table.contains("checked, every number within its bound: naive"), "{table}");
    assert!(!table.contains("every byte"), "{table}");
}
