//! A driver that loses the offset of parts of buffers is told from kernels that differ. The project's layer does to PoCL's
//! parts what such a driver does.

#[path = "common/layer.rs"]
mod layer;
#[path = "common/native.rs"]
mod native;

use std::process::Command;

use serde_json::Value;

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
