//! The reduction and the histogram, by `bench --ladder`: every variant is right for every block size, injected faults are
//! detected, and sums exceed 32 bits. Needs an OpenCL device, and fails without one.

use std::process::Command;

use crate::common::reports::{assert_mismatches, clreel, ids_with_outcome, rows};
use crate::common::*;
use ladder::runner::Ladder;
use ladders::histogram::HISTOGRAM;
use ladders::reduction::REDUCTION;
use opencl::cl::{list_devices, select_device};

fn reduction(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--ladder", "reduction", "--frames", "2", "--json"]);
    command.args(args);
    command
}

#[test]
fn every_variant_of_the_reduction_is_right_and_timed() {
    // Without `auto`, which takes long; another test covers it.
    let ids: Vec<&str> =
        REDUCTION.variants().iter().map(|variant| variant.id).filter(|id| *id != "auto").collect();
    let args = ["--size", "333x217", "--block", "16,32,64", "--variant", &ids.join(",")];
    let report = finish_json(reduction(&args), 0);
    assert_eq!(report["ladder"], "reduction");
    let device = select_device(&list_devices(), None).unwrap().info;
    let is_listed = device.extensions.iter().any(|extension| extension == "cl_khr_subgroups");
    let has_sub_groups = is_listed || device.platform.contains("NVIDIA");
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for (run, block) in runs.iter().zip([16, 32, 64]) {
        let case = serde_json::json!({ "width": 333, "height": 217, "block": block });
        assert_eq!(run["case"], case);
        let peak = &run["peaks"][0];
        assert_eq!((&peak["id"], &peak["device_ms"]["n"]), (&"plain read".into(), &2.into()));
        let rows = run["variants"].as_array().unwrap();
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
    let args = ["bench", "--ladder", "histogram", "--frames", "2", "--json", "--size", "333x217"];
    let report = finish_json(clreel(&args), 0);
    assert_eq!(report["ladder"], "histogram");
    let run = &report["devices"][0]["runs"][0];
    assert_eq!(run["case"], serde_json::json!({ "width": 333, "height": 217 }));
    let ids: Vec<&str> = HISTOGRAM.variants().iter().map(|variant| variant.id).collect();
    assert_eq!(ids_with_outcome(run, "ok"), ids);
    let chosen = run["variants"][7]["chosen"].as_str().unwrap();
    assert!(ids.iter().any(|id| chosen.starts_with(&format!("{id} "))));
}

/// A white frame, and one of noise, has sums that exceed 32 bits.
#[test]
fn sums_may_exceed_32_bits() {
    let variants = "threads,threads-vectors,wide-64,two-stage,one-pass,strips";
    let args = ["--size", "8300x4200", "--variant", variants, "--fail-fast"];
    assert!(rows(&finish_json(reduction(&args), 0)).iter().all(|row| row["outcome"] == "ok"));
}

#[test]
fn each_injected_fault_of_the_reduction_is_a_mismatch_with_its_reason() {
    let (block, next_block) = ("r * blocks_across + c]", "r * blocks_across + c + 1]");
    let faults = [
        ("01_interleaved.cl", "stride < GROUP;", "stride < GROUP / 2;", "interleaved", "numbers differ"),
        ("02_sequential.cl", "stride > 0", "stride > 1", "sequential", "numbers differ"),
        ("03_unrolled.cl", "p.within == 0 && p.number >= 0", "p.within == 0", "wide-64", "of the source"),
        ("tiles.clh", "out[MEANS + b] =", "if (b > 0) out[MEANS + b] =", "prefetch-4", "never written"),
        ("04_two_stage.cl", "joined(own, part)", "part", "two-stage", "the minimum"),
        ("05_one_pass.cl", block, next_block, "one-pass", "outside the output"),
        // Only the second run shows this fault.
        ("frames.clh", "*counter = 0;", "*counter = 1;", "strips", "numbers differ"),
        ("06_strips.cl", "least = UINT_MAX", "least = 0", "strips", "the minimum"),
    ];
    assert_mismatches("reduction", &["--size", "132x65", "--block", "16"], "threads", &faults);
}
