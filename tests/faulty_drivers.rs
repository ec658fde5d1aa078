//! Drivers that are faulty while the kernels are right. The tests' OpenCL layer imitates them: sub-buffers lose their
//! offset, buffers mapped for reading have a wrong bit.

use crate::common::reports::clreel;
use crate::common::*;

/// Runs a small bench under the layer; requires this exit code, and returns the rows.
fn bench(variants: &str, options: &[(&str, &str)], code: i32) -> Vec<Value> {
    let mut command = clreel(&["bench", "--json", "--frames", "1", "--size", "70x50", "--radius", "2"]);
    command.args(["--variant", variants]).envs(layer::environment(options));
    json(&finish(command, code))["devices"][0]["runs"][0]["variants"].as_array().unwrap().clone()
}

#[test]
fn a_faulty_sub_buffer_is_a_failure_of_the_driver_not_a_mismatch() {
    // Not 3: no kernel differs.
    let rows = bench("flat,fused,planar,native", &[("BROKEN_PARTS", "1")], 1);
    for row in &rows[..3] {
        let reason = row["reason"].as_str().unwrap();
        assert!(row["outcome"] == "failed" && reason.contains("clCreateSubBuffer"), "{row}");
    }
    assert_eq!(rows[3]["outcome"], "ok", "{}", rows[3]);
    // Without faults in the layer all rows are right.
    let rows = bench("flat,fused,planar", &[], 0);
    assert!(rows.iter().all(|row| row["outcome"] == "ok"), "{rows:?}");
}

/// The kernels are right, but the frame that the window would show is not.
#[test]
fn a_wrong_frame_from_the_engine_is_a_mismatch() {
    let rows = bench("flat,fused,native", &[("WRONG_MAP", "1")], 3);
    for row in &rows[..2] {
        let reason = row["reason"].as_str().unwrap();
        assert!(row["outcome"] == "mismatch" && reason.contains("through the engine"), "{row}");
        assert!(row["device_ms"].is_null() && row["max_error"] == 1.0, "{row}");
    }
    assert_eq!(rows[2]["outcome"], "ok", "{}", rows[2]);
}
