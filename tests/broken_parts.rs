//! Drivers that are wrong where kernels are right. The project's layer does to PoCL what such drivers do: parts of buffers
//! lose their offset, what is mapped to be read has a wrong bit.

use std::process::Command;

use serde_json::Value;
use testkit::layer;

/// The rows of a small bench.
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
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let rows = report["devices"][0]["runs"][0]["variants"].as_array().unwrap().clone();
    (output.status.code(), rows)
}

#[test]
fn the_driver_is_blamed_and_not_the_kernels() {
    let (code, rows) = bench("flat,fused,planar,native", &layer::environment(&[("BROKEN_PARTS", "1")]));
    assert_eq!(code, Some(1), "not 3: no kernel differs");
    for row in &rows[..3] {
        let reason = row["reason"].as_str().unwrap();
        assert!(row["outcome"] == "failed" && reason.contains("clCreateSubBuffer"), "{row}");
    }
    assert_eq!(rows[3]["outcome"], "ok", "{}", rows[3]);
    // Through the layer as it is nothing is wrong.
    let (code, rows) = bench("flat,fused,planar", &layer::environment(&[]));
    assert!(code == Some(0) && rows.iter().all(|row| row["outcome"] == "ok"), "{rows:?}");
}

/// The kernels are right, and the picture that the window would show is not.
#[test]
fn a_fault_on_a_frames_way_is_a_mismatch() {
    let (code, rows) = bench("flat,fused,native", &layer::environment(&[("WRONG_MAP", "1")]));
    assert_eq!(code, Some(3), "{rows:?}");
    for row in &rows[..2] {
        let reason = row["reason"].as_str().unwrap();
        assert!(row["outcome"] == "mismatch" && reason.contains("through the engine"), "{row}");
        assert!(row["device_ms"].is_null() && row["max_abs_diff"] == 1, "{row}");
    }
    assert_eq!(rows[2]["outcome"], "ok", "{}", rows[2]);
}
