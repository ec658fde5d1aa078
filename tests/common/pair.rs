//! Two OpenCL devices on any machine with PoCL, for tests that need another one to go to.

use std::process::{Command, Stdio};

/// PoCL with two of its devices; no other driver is asked.
pub fn environment() -> Vec<(&'static str, &'static str)> {
    vec![("OCL_ICD_VENDORS", "pocl.icd"), ("POCL_DEVICES", "pthread basic")]
}

/// A part of each device's name that the other one's does not have, in their order.
pub fn names(mut command: Command) -> [String; 2] {
    command.args(["devices", "--json"]).envs(environment());
    let output = command.stderr(Stdio::null()).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let devices = list["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2, "PoCL does not offer two devices: {list}");
    let part = |i: usize| devices[i]["name"].as_str().unwrap().split('-').next().unwrap().to_owned();
    let names = [part(0), part(1)];
    assert_ne!(names[0], names[1], "{list}");
    names
}
