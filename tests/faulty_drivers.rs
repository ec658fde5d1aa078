//! Drivers that are faulty while the kernels are right. The tests' OpenCL layer imitates them: sub-buffers lose their
//! offset, buffers mapped for reading have a wrong bit.

use std::process::Command;

use crate::common::process::json;
use serde_json::Value;
use testkit::layer;

/// Runs a small bench and returns its exit code and rows.
fn bench(variants: &str, environment: &[(String, std::ffi::OsString)]) -> (Option<i32>, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.env_remove("CLREEL_KERNELS").envs(environment.iter().cloned());
    command.args([
        "bench",
        "--json",
        "--frames",
        "1",
        "--size",
        "70x50",
        "--radius",
        "2",
        "--variant",
        variants,
    ]);
    let output = command.output().unwrap();
    let rows = json(&output)["devices"][0]["runs"][0]["variants"].as_array().unwrap().clone();
    (output.status.code(), rows)
}

#[test]
fn a_faulty_sub_buffer_is_a_failure_of_the_driver_not_a_mismatch() {
    let (code, rows) = bench("flat,fused,planar,native", &layer::environment(&[("BROKEN_PARTS", "1")]));
    assert_eq!(code, Some(1), "not 3: no kernel differs");
    for row in &rows[..3] {
        let reason = row["reason"].as_str().unwrap();
        assert!(row["outcome"] == "failed" && reason.contains("clCreateSubBuffer"), "{row}");
    }
    assert_eq!(rows[3]["outcome"], "ok", "{}", rows[3]);
    // Without faults in the layer all rows are right.
    let (code, rows) = bench("flat,fused,planar", &layer::environment(&[]));
    assert!(code == Some(0) && rows.iter().all(|row| row["outcome"] == "ok"), "{rows:?}");
}

/// The kernels are right, but the frame that the window would show is not.
#[test]
fn a_wrong_frame_from_the_engine_is_a_mismatch() {
    let (code, rows) = bench("flat,fused,native", &layer::environment(&[("WRONG_MAP", "1")]));
    assert_eq!(code, Some(3), "{rows:?}");
    for row in &rows[..2] {
        let reason = row["reason"].as_str().unwrap();
        assert!(row["outcome"] == "mismatch" && reason.contains("through the engine"), "{row}");
        assert!(row["device_ms"].is_null() && row["max_error"] == 1.0, "{row}");
    }
    assert_eq!(rows[2]["outcome"], "ok", "{}", rows[2]);
}
