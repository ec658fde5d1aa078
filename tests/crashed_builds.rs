//! Drivers that crash, or end the process, while they compile a kernel file. What it was is said on stderr, what was measured
//! before is on stdout, and the process ends as the driver ended it. The tests' layer does that (`tests/gl_sharing`, `FAIL`).

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

use serde_json::Value;
use testkit::{layer, pair};

/// Runs clreel with two devices, of which the second one's driver ends the process like this at its first build.
fn run(end: &str, names: &[String; 2], args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.env_remove("CLREEL_KERNELS").envs(pair::environment());
    if !end.is_empty() {
        let plan = format!("clBuildProgram:1:{end}");
        command.envs(layer::environment(&[("FAIL", &plan), ("FAIL_DEVICE", &names[1])]));
    }
    command.args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const ENDS: [(&str, &str, Option<i32>, Option<i32>); 3] = [
    ("crash", "crashed (SIGABRT)", Some(libc::SIGABRT), None),
    ("fault", "crashed (SIGSEGV)", Some(libc::SIGSEGV), None),
    ("exit", "called exit()", None, Some(1)),
];

/// The line that names what was being built.
fn line(output: &Output, what: &str) -> String {
    let stderr = text(&output.stderr);
    let start = format!("clreel: The OpenCL driver {what} while it built '");
    let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with(&start)).collect();
    assert_eq!(lines.len(), 1, "{what}: {stderr}");
    lines[0].to_owned()
}

#[test]
fn rows_are_kept_and_what_was_built_is_named() {
    let names = pair::names(Command::new(env!("CARGO_BIN_EXE_clreel")));
    let bench = ["bench", "--device", "all", "--size", "64x48", "--radius", "1", "--frames", "2"];
    let bench = [&bench[..], &["--conversions", "none", "--variant", "flat"]].concat();
    for (end, what, signal, code) in ENDS {
        let output = run(end, &names, &[&bench[..], &["--json"]].concat());
        assert_eq!((output.status.signal(), output.status.code()), (signal, code), "{end}");
        let line = line(&output, what);
        assert!(line.contains(".cl' for '") && line.contains(&names[1]), "{line}");
        assert!(line.contains("--variant") && line.contains("--device"), "{line}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let row = &report["devices"][0]["runs"][0]["variants"][0];
        assert!(row["outcome"] == "ok" && row["device_ms"]["n"] == 2, "{end}: {row}");
        assert!(report["interrupted"].as_str().unwrap().contains(&names[1]), "{end}: {report}");
    }
    let output = run("crash", &names, &bench);
    assert!(text(&output.stdout).lines().any(|line| line.contains(" flat ")), "{}", text(&output.stdout));
    // A process that ends by itself says nothing of the kind.
    let output = run("", &names, &bench);
    let stderr = text(&output.stderr);
    assert!(output.status.success() && !stderr.contains("exit()") && !stderr.contains("crashed"), "{stderr}");
}

#[test]
fn commands_without_rows_name_it_too() {
    let names = pair::names(Command::new(env!("CARGO_BIN_EXE_clreel")));
    let png = concat!(env!("CARGO_TARGET_TMPDIR"), "/crashed-builds.png");
    let args = ["snapshot", "--out", png, "--variant", "flat", "--device", &names[1]];
    for (end, what, signal, code) in ENDS {
        let output = run(end, &names, &args);
        assert_eq!((output.status.signal(), output.status.code()), (signal, code), "{end}");
        assert!(line(&output, what).contains(&names[1]), "{end}");
    }
}

#[test]
fn other_ladders_keep_their_rows() {
    let names = pair::names(Command::new(env!("CARGO_BIN_EXE_clreel")));
    let args = ["bench", "--ladder", "vector-add", "--count", "1000", "--frames", "2", "--device", "all"];
    let output = run("exit", &names, &args);
    assert_eq!(output.status.code(), Some(1));
    assert!(line(&output, ENDS[2].1).contains("vector_add/"));
    assert!(text(&output.stdout).contains(&names[0]), "{}", text(&output.stdout));
}
