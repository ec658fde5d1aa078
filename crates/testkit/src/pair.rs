//! Two OpenCL devices on any machine with PoCL, for tests that switch devices.

use std::process::{Command, Stdio};

/// Returns the environment that makes PoCL offer two devices and hides all other drivers.
pub fn environment() -> Vec<(&'static str, &'static str)> {
    vec![("OCL_ICD_VENDORS", "pocl.icd"), ("POCL_DEVICES", "pthread basic")]
}

/// Returns the full names of the two devices, in their order. Drivers may give both the same first word, or different
/// ones only in the middle, so that only the full names are always distinct.
pub fn names(mut command: Command) -> [String; 2] {
    command.args(["devices", "--json"]).envs(environment());
    let output = command.stderr(Stdio::null()).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let devices = list["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2, "PoCL does not offer two devices: {list}");
    let names = [0, 1].map(|i: usize| devices[i]["name"].as_str().unwrap().to_owned());
    assert!(!names[0].contains(&names[1]) && !names[1].contains(&names[0]), "{list}");
    names
}
