//! The reduction and the histogram, by `bench --ladder`: every variant is right for every block size, injected faults are
//! detected, sums exceed 32 bits, and wrong usage is refused. Needs an OpenCL device, and fails without one.

use std::process::Command;

use ladder::runner::Ladder;
use ladders::histogram::HISTOGRAM;
use ladders::reduction::REDUCTION;
use opencl::cl::{list_devices, select_device};
use serde_json::Value;

use crate::common::ladder::{Kernels, clreel};
use crate::common::process::json;

fn reduction(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--ladder", "reduction", "--frames", "2", "--json"]);
    command.args(args);
    command
}

fn runs(report: &Value) -> Vec<Value> {
    report["devices"][0]["runs"].as_array().unwrap().clone()
}

fn rows(run: &Value) -> Vec<Value> {
    run["variants"].as_array().unwrap().clone()
}

#[test]
fn every_variant_of_the_reduction_is_right_and_timed() {
    // Without `auto`, which takes long; another test covers it.
    let ids: Vec<&str> =
        REDUCTION.variants().iter().map(|variant| variant.id).filter(|id| *id != "auto").collect();
    let output =
        reduction(&["--size", "333x217", "--block", "16,32,64", "--variant", &ids.join(",")]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!(report["ladder"], "reduction");
    let device = select_device(&list_devices(), None).unwrap().info;
    let is_listed = device.extensions.iter().any(|extension| extension == "cl_khr_subgroups");
    let has_sub_groups = is_listed || device.platform.contains("NVIDIA");
    let blocks: Vec<u64> = runs(&report).iter().map(|run| run["case"]["block"].as_u64().unwrap()).collect();
    assert_eq!(blocks, [16, 32, 64]);
    for run in runs(&report) {
        assert_eq!((&run["case"]["width"], &run["case"]["height"]), (&333.into(), &217.into()));
        let peak = &run["peaks"][0];
        assert_eq!((&peak["id"], &peak["device_ms"]["n"]), (&"plain read".into(), &2.into()));
        let rows = rows(&run);
        assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
        for row in rows {
            if row["outcome"] == "unsupported" {
                let why = row["reason"].as_str().unwrap();
                assert!(!has_sub_groups && row["id"] == "sub-groups", "{row}");
                assert!(why.contains("cl_khr_subgroups") && row["wall_ms"].is_null(), "{row}");
                continue;
            }
            assert_eq!((&row["outcome"], &row["max_error"]), (&"ok".into(), &0.0.into()), "{row}");
            assert!(row["gb_s"].as_f64() > Some(0.0) && row["gflop_s"].is_null(), "{row}");
            let beside = row["checked"].as_array().unwrap().iter().find(|entry| entry["timed"] == false);
            assert_eq!(beside.unwrap()["pictures"].as_array().map(Vec::len), Some(5), "{row}");
        }
    }
}

#[test]
fn histograms_are_right_and_auto_chooses() {
    let output =
        clreel(&["bench", "--ladder", "histogram", "--frames", "2", "--json", "--size", "333x217"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!(report["ladder"], "histogram");
    let run = &runs(&report)[0];
    assert_eq!(run["case"], serde_json::json!({ "width": 333, "height": 217 }));
    let rows = rows(run);
    let ids: Vec<&str> = HISTOGRAM.variants().iter().map(|variant| variant.id).collect();
    assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    assert!(rows.iter().all(|row| row["outcome"] == "ok"), "{report}");
    assert!(ids.iter().any(|id| rows[7]["chosen"].as_str().unwrap().starts_with(&format!("{id} "))));
}

/// A white frame, and one of noise, has sums that exceed 32 bits.
#[test]
fn sums_may_exceed_32_bits() {
    let variants = "threads,threads-vectors,wide-64,two-stage,one-pass,strips";
    let output = reduction(&["--size", "8300x4200", "--variant", variants, "--fail-fast"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(rows(&runs(&json(&output))[0]).iter().all(|row| row["outcome"] == "ok"));
}

#[test]
fn invalid_sizes_and_blocks_are_usage_errors() {
    for (args, word) in [
        (&["bench", "--ladder", "reduction", "--block", "48"][..], "48 is no --block"),
        (&["bench", "--ladder", "reduction", "--count", "5"], "--count"),
        (&["bench", "--ladder", "reduction", "--radius", "5"], "--radius"),
        (&["bench", "--ladder", "reduction", "movie.mp4"], "FILE"),
        (&["bench", "--ladder", "reduction", "--variant", "scalar"], "'scalar'"),
        (&["bench", "--ladder", "histogram", "--block", "16"], "--block"),
        (&["bench", "--ladder", "vector-add", "--block", "16"], "--block"),
        (&["bench", "--block", "16"], "--block"),
        (&["tune", "--block", "16"], "--block"),
        (&["tune", "--ladder", "reduction", "--block", "0"], "--block"),
    ] {
        let output = clreel(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn each_injected_fault_of_the_reduction_is_a_mismatch_with_its_reason() {
    for (n, (file, from, to, id, words)) in [
        ("01_interleaved.cl", "stride < GROUP;", "stride < GROUP / 2;", "interleaved", "numbers differ"),
        ("02_sequential.cl", "stride > 0", "stride > 1", "sequential", "numbers differ"),
        ("03_unrolled.cl", "p.within == 0 && p.number >= 0", "p.within == 0", "wide-64", "of the source"),
        ("tiles.clh", "out[MEANS + b] =", "if (b > 0) out[MEANS + b] =", "prefetch-4", "never written"),
        ("04_two_stage.cl", "joined(own, part)", "part", "two-stage", "the minimum"),
        (
            "05_one_pass.cl",
            "r * blocks_across + c]",
            "r * blocks_across + c + 1]",
            "one-pass",
            "outside the output",
        ),
        // Only the second run shows this fault.
        ("frames.clh", "*counter = 0;", "*counter = 1;", "strips", "numbers differ"),
        ("06_strips.cl", "least = UINT_MAX", "least = 0", "strips", "the minimum"),
    ]
    .into_iter()
    .enumerate()
    {
        let kernels = Kernels::with(&n.to_string(), "reduction", file, from, to);
        let output = reduction(&["--variant", id, "--size", "132x65", "--block", "16"])
            .env("CLREEL_KERNELS", &kernels.0)
            .output()
            .unwrap();
        let report = json(&output);
        let rows = rows(&runs(&report)[0]);
        assert_eq!(
            (output.status.code(), &rows[0]["outcome"]),
            (Some(3), &"mismatch".into()),
            "{to}: {report}"
        );
        let reason = rows[0]["reason"].as_str().unwrap();
        assert!(reason.contains(words) && rows[0]["device_ms"].is_null(), "{to}: {reason}");
    }
}
