//! Drivers that crash, or exit, while they compile a kernel file. Programs are built in the sandbox first, so that this
//! fails only what needs the file. A file that has passed before is built without the sandbox: a crash then ends the
//! process, which prints the program and the finished rows. The tests' layer injects the faults (`tests/gl_sharing`,
//! `FAIL`).

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

use crate::common::reports::clreel;
use crate::common::*;

/// Returns clreel with two devices, under the layer. Caches lie in the folder.
fn command(folder: &Folder, options: &[(&str, &str)], args: &[&str]) -> Command {
    let mut command = clreel(args);
    command.env("XDG_CACHE_HOME", folder.file("cache")).envs(pair::environment());
    command.envs(layer::environment(options));
    command
}

/// Runs clreel; the driver of the second device ends the process in this way at its first build.
fn run_with_end(folder: &Folder, end: &str, names: &[String; 2], args: &[&str]) -> Output {
    let plan = format!("clBuildProgram:1:{end}");
    let fails = [("FAIL", plan.as_str()), ("FAIL_DEVICE", names[1].as_str())];
    command(folder, if end.is_empty() { &[] } else { &fails }, args).output().unwrap()
}

fn names() -> [String; 2] {
    pair::names(clreel(&[]))
}

const ENDS: [(&str, &str); 3] = [
    ("crash", "crashed in the sandbox (SIGABRT)"),
    ("fault", "crashed in the sandbox (SIGSEGV)"),
    ("exit", "ended the sandbox with exit code 1"),
];

/// A benchmark of both devices, at one small size.
const BENCH: &str =
    "bench --device all --size 64x48 --radius 1 --frames 2 --conversions none --json --variant";

fn bench(variants: &str) -> Vec<&str> {
    BENCH.split(' ').chain([variants]).collect()
}

#[test]
fn a_crashing_compiler_fails_its_variant_only() {
    let names = names();
    for (end, how) in ENDS {
        let folder = Folder::new(&format!("crashed-{end}"));
        let output = run_with_end(&folder, end, &names, &bench("flat,native"));
        assert_eq!(output.status.code(), Some(1), "{end}: {}", text(&output.stderr));
        let report = json(&output);
        let row = |device: usize, at: usize| &report["devices"][device]["runs"][0]["variants"][at];
        for ok in [row(0, 0), row(0, 1), row(1, 1)] {
            assert_eq!(ok["outcome"], "ok", "{end}: {report}");
        }
        let reason = row(1, 0)["reason"].as_str().unwrap_or_default();
        assert!(row(1, 0)["outcome"] == "failed" && reason.contains(how), "{end}: {}", row(1, 0));
        assert!(reason.contains(".cl'") && reason.contains(&names[1]), "{reason}");
        assert!(report["interrupted"].is_null(), "{report}");
    }
}

#[test]
fn snapshot_reports_a_crashing_compiler() {
    let names = names();
    let folder = Folder::new("crashed-snapshot");
    let png = folder.file("crashed.png");
    let args = ["snapshot", "--out", png.to_str().unwrap(), "--variant", "flat", "--device", &names[1]];
    for (end, how) in ENDS {
        let output = run_with_end(&folder, end, &names, &args);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{end}: {stderr}");
        assert!(stderr.starts_with("clreel: ") && stderr.contains(how), "{end}: {stderr}");
        assert!(stderr.contains("--variant") && stderr.contains("--device"), "{stderr}");
    }
}

#[test]
fn other_ladders_report_a_crashing_compiler_and_keep_their_rows() {
    let (names, folder) = (names(), Folder::new("crashed-ladder"));
    let args = ["bench", "--ladder", "vector-add", "--count", "1000", "--frames", "2", "--device", "all"];
    let output = run_with_end(&folder, "exit", &names, &args);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(names.iter().all(|name| stdout.contains(name)), "{stdout}");
}

#[test]
fn a_program_is_built_in_the_sandbox_once() {
    let (names, folder) = (names(), Folder::new("crashed-once"));
    let builds = || {
        let log = folder.file("calls");
        let _ = std::fs::remove_file(&log);
        let args = ["bench", "--ladder", "vector-add", "--count", "1000", "--frames", "2"];
        let mut command = command(&folder, &[("CALLS", log.to_str().unwrap())], &args);
        finish(command.args(["--variant", "scalar", "--device", &names[0]]), 0);
        layer::calls(&log, "clBuildProgram").len()
    };
    let (first, second, third) = (builds(), builds(), builds());
    assert!(first == 2 * second && second == third && second > 0, "{first} {second} {third}");
}

#[test]
fn a_crash_outside_the_sandbox_prints_the_program_and_finished_rows() {
    let (names, folder) = (names(), Folder::new("crashed-later"));
    let args = bench("flat");
    let output = run_with_end(&folder, "", &names, &args);
    let stderr = text(&output.stderr);
    assert!(output.status.success() && !stderr.contains("exit()") && !stderr.contains("crashed"), "{stderr}");
    for (end, what, signal, code) in [
        ("crash", "crashed (SIGABRT)", Some(libc::SIGABRT), None),
        ("fault", "crashed (SIGSEGV)", Some(libc::SIGSEGV), None),
        ("exit", "called exit()", None, Some(1)),
    ] {
        let output = run_with_end(&folder, end, &names, &args);
        assert_eq!((output.status.signal(), output.status.code()), (signal, code), "{end}");
        let stderr = text(&output.stderr);
        let start = format!("clreel: The OpenCL driver {what} while it built '");
        let lines: Vec<&str> = stderr.lines().filter(|line| line.starts_with(&start)).collect();
        let [line] = lines.as_slice() else { panic!("{what}: {stderr}") };
        assert!(line.contains(".cl' for '") && line.contains(&names[1]), "{line}");
        assert!(line.contains("--variant") && line.contains("--device"), "{line}");
        let report = json(&output);
        let row = &report["devices"][0]["runs"][0]["variants"][0];
        assert!(row["outcome"] == "ok" && row["device_ms"]["n"] == 2, "{end}: {row}");
        assert!(report["interrupted"].as_str().unwrap().contains(&names[1]), "{end}: {report}");
    }
}
