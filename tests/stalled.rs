//! Drivers whose calls never return: `bench`, `snapshot` and `tune` end with a message. The tests' layer makes the
//! calls hang (`tests/gl_sharing`).

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::*;

/// The layer's options for a device that computes in host memory, and for one with memory of its own.
const CPU: &[(&str, &str)] = &[];
const GPU: &[(&str, &str)] = &[("FAKE_GPU", "1")];

/// Runs a subcommand in which a call never returns; returns stderr.
fn run_with_hang(folder: &Folder, function: &str, options: &[(&str, &str)], arguments: &[&str]) -> String {
    let (log, plan) = (folder.file(&format!("log-{function}")), format!("{function}:hang"));
    let _ = std::fs::remove_file(&log);
    let planned = [("FAIL", plan.as_str()), ("LOG", log.to_str().unwrap())];
    let mut command = clreel(None);
    command.envs(layer::environment(&[options, &planned].concat()));
    command.args(arguments).args(["--device", "0", "--device-timeout", "10"]);
    let output = finish(command, 1);
    let (stdout, stderr) = (text(&output.stdout), without_compiler_messages(&text(&output.stderr)));
    let what = format!("{function} {arguments:?}: {stdout}{stderr}");
    let hung = format!("planned-hang {}", function.split(':').next().unwrap());
    assert!(std::fs::read_to_string(&log).unwrap().contains(&hung), "no call hung: {what}");
    assert!(stderr.contains("does not respond.\n  A driver call timed out after 10 s"), "{what}");
    assert!(stderr.contains("or set a longer --device-timeout"), "{what}");
    stderr
}

/// Runs checks of three rows concurrently: most of their time is waiting.
fn check_concurrently<T: Sync>(rows: &[T], check: impl Fn(&T) + Sync) {
    for some in rows.chunks(3) {
        std::thread::scope(|scope| {
            for row in some {
                let check = &check;
                scope.spawn(move || check(row));
            }
        });
    }
}

fn movie(folder: &Folder) -> String {
    let movie = Movie { size: (64, 48), stamps_ms: steady(5), ..Movie::default() };
    folder.movie("small.mkv", &movie).to_str().unwrap().to_owned()
}

#[test]
fn snapshot_times_out_if_the_driver_hangs() {
    let folder = Folder::new("stalled-snapshot");
    let (movie, out) = (movie(&folder), folder.file("out.png"));
    let arguments =
        ["snapshot", &movie, "--variant", "flat", "--radius", "2", "--out", out.to_str().unwrap()];
    let rows = [
        ("clCreateContext:1", CPU),
        ("clCreateKernel:1", CPU),
        ("clEnqueueNDRangeKernel:2", CPU),
        ("clEnqueueMapBuffer:1", CPU),
        ("clGetEventInfo:1", CPU),
        ("clEnqueueReadBuffer:1", GPU),
        ("clReleaseMemObject:1", CPU),
        ("clReleaseContext:1", CPU),
    ];
    check_concurrently(&rows, |(function, options)| {
        let stderr = run_with_hang(&folder, function, options, &arguments);
        assert!(stderr.starts_with("clreel: The OpenCL device '"), "{function}: {stderr}");
        assert!(!Path::new(&out).exists(), "{function}");
    });
}

/// A filter that runs longer than the device timeout: each of its bands is shorter.
#[test]
fn a_slow_filter_is_no_device_timeout() {
    let folder = Folder::new("stalled-slow");
    let movie = Movie { size: (128, 96), stamps_ms: steady(1), ..Movie::default() };
    let (movie, out) = (folder.movie("m.mkv", &movie), folder.file("out.png"));
    let mut command = clreel(None);
    command.arg("snapshot").arg(&movie).args(["--variant", "naive", "--radius", "128", "--device", "0"]);
    let (code, stderr) = run(command.args(["--device-timeout", "3", "--out"]).arg(&out));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(png(&out).0, 128);
}

#[test]
fn bench_times_out_if_the_driver_hangs() {
    let folder = Folder::new("stalled-bench");
    let movie = movie(&folder);
    let rows = [
        ("clCreateContext:1", "flat", "none"),
        ("clFinish:3", "flat", "none"),
        ("clEnqueueWriteBuffer:2", "planar", "none"),
        ("clGetEventProfilingInfo:1", "flat", "none"),
        ("clEnqueueNDRangeKernel:5", "native", "input"),
        ("clReleaseMemObject:1", "flat", "none"),
    ];
    check_concurrently(&rows, |(function, variants, conversions)| {
        let arguments = ["bench", &movie, "--radius", "2", "--frames", "5", "--variant", variants];
        let arguments = [&arguments[..], &["--conversions", conversions]].concat();
        let stderr = run_with_hang(&folder, function, CPU, &arguments);
        assert!(stderr.contains("The benchmark was interrupted."), "{function}: {stderr}");
    });
    let numbers =
        ["bench", "--ladder", "vector-add", "--count", "1000", "--variant", "scalar", "--frames", "5"];
    run_with_hang(&folder, "clFinish:2", CPU, &numbers);
}

/// Programs are built in the sandbox first.
#[test]
fn a_hanging_compiler_times_out_once() {
    let folder = Folder::new("stalled-compiler");
    let mut command = clreel(None);
    command.env("XDG_CACHE_HOME", folder.file("cache")).env_remove("CLREEL_BINARIES");
    command.envs(layer::environment(&[("FAIL", "clBuildProgram:1:hang")]));
    command.args(["bench", "--ladder", "vector-add", "--count", "1000", "--variant", "serial,scalar,vector"]);
    command.args(["--frames", "3", "--device", "0", "--device-timeout", "10", "--json"]);
    let began = Instant::now();
    let output = command.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["devices"][0]["runs"][0]["variants"].as_array().unwrap();
    let outcomes: Vec<&str> = rows.iter().map(|row| row["outcome"].as_str().unwrap()).collect();
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert_eq!(outcomes, ["ok", "failed", "failed"], "{report}");
    let reasons = ["' timed out after 10 s", "' was not built: an earlier one timed out after 10 s"];
    for (row, said) in rows[1..].iter().zip(reasons) {
        assert!(row["reason"].as_str().unwrap().contains(said), "{row}");
    }
    assert!(began.elapsed() < Duration::from_secs(120), "the driver is not waited for again");
}

/// A process that was stopped for longer than the device timeout, as by Ctrl+Z, continues.
#[test]
fn a_stopped_process_is_no_device_timeout() {
    let mut command = clreel(None);
    command.args(["bench", "--ladder", "vector-add", "--count", "1000", "--variant", "scalar"]);
    command.args(["--frames", "3", "--device", "0", "--device-timeout", "8", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let signal = |signal| {
        send_signal(&child, signal);
        std::thread::sleep(Duration::from_millis(if signal == libc::SIGSTOP { 9000 } else { 100 }));
    };
    // While drivers are loaded or a program is compiled.
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..2 {
        signal(libc::SIGSTOP);
        signal(libc::SIGCONT);
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}

#[test]
fn tune_times_out_if_the_driver_hangs() {
    let folder = Folder::new("stalled-tune");
    let arguments = ["tune", "--size", "64x48", "--radius", "2"];
    check_concurrently(&["clCreateKernel:4", "clFinish:30", "clGetEventProfilingInfo:20"], |function| {
        run_with_hang(&folder, function, CPU, &arguments);
    });
}
