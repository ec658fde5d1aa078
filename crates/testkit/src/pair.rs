//! Two OpenCL devices on any machine with PoCL, for tests that need another one to go to.

use std::process::{Command, Stdio};

/// PoCL with two of its devices; no other driver is asked.
pub fn environment() -> Vec<(&'static str, &'static str)> {
    vec![("OCL_ICD_VENDORS", "pocl.icd"), ("POCL_DEVICES", "pthread basic")]
}

/// Their names, whole, in their order. Drivers begin both with the same word, or share all but a middle one, so
/// nothing less tells them apart everywhere.
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
