//! Drivers whose calls do not come back: `bench`, `snapshot` and `tune` end with a sentence. The tests' own layer makes the
//! calls hang (`tests/gl_sharing`).

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::window;
use crate::common::window::clreel;
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

/// The layer's options for a device that computes in the host's memory, and for one with memory of its own.
const CPU: &[(&str, &str)] = &[];
const GPU: &[(&str, &str)] = &[("FAKE_GPU", "1")];

/// Runs a subcommand in which a call never returns; what it has said on stderr.
fn hangs(folder: &Folder, function: &str, options: &[(&str, &str)], arguments: &[&str]) -> String {
    let (log, plan) = (folder.file(&format!("log-{function}")), format!("{function}:hang"));
    let _ = std::fs::remove_file(&log);
    let planned = [("FAIL", plan.as_str()), ("LOG", log.to_str().unwrap())];
    let mut command = clreel(None);
    command.envs(layer::environment(&[options, &planned].concat()));
    command.args(arguments).args(["--device", "0", "--device-timeout", "10"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), window::without_compilers(&text(&output.stderr)));
    let what = format!("{function} {arguments:?}: {stdout}{stderr}");
    let hung = format!("planned-hang {}", function.split(':').next().unwrap());
    assert!(std::fs::read_to_string(&log).unwrap().contains(&hung), "no call hung: {what}");
    assert_eq!(output.status.code(), Some(1), "{what}");
    assert!(
        stderr.contains("does not answer.\n  A call of its driver has not come back within 10 s"),
        "{what}"
    );
    assert!(stderr.contains("--device-timeout gives it more time"), "{what}");
    stderr
}

/// Checks a few rows at a time: nearly all of it is waiting.
fn together<T: Sync>(rows: &[T], check: impl Fn(&T) + Sync) {
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
fn snapshot_ends_with_a_sentence() {
    let folder = Folder::new("stalled-snapshot");
    let (movie, out) = (movie(&folder), folder.file("out.png"));
    let arguments =
        ["snapshot", &movie, "--variant", "flat", "--radius", "2", "--out", out.to_str().unwrap()];
    let rows = [
        ("clCreateContext:1", CPU),
        ("clBuildProgram:1", CPU),
        ("clCreateKernel:1", CPU),
        ("clEnqueueNDRangeKernel:2", CPU),
        ("clEnqueueMapBuffer:1", CPU),
        ("clGetEventInfo:1", CPU),
        ("clEnqueueReadBuffer:1", GPU),
        ("clReleaseMemObject:1", CPU),
        ("clReleaseContext:1", CPU),
    ];
    together(&rows, |(function, options)| {
        let stderr = hangs(&folder, function, options, &arguments);
        assert!(stderr.starts_with("clreel: The OpenCL device '"), "{function}: {stderr}");
        assert!(!Path::new(&out).exists(), "{function}");
    });
}

/// A filter that honestly computes for longer than a call of the driver may take: it comes in bands.
#[test]
fn a_snapshot_of_a_slow_filter_blames_no_device() {
    let folder = Folder::new("stalled-slow");
    let movie = Movie { size: (128, 96), stamps_ms: steady(1), ..Movie::default() };
    let (movie, out) = (folder.movie("m.mkv", &movie), folder.file("out.png"));
    let mut command = clreel(None);
    command.arg("snapshot").arg(&movie).args(["--variant", "naive", "--radius", "128", "--device", "0"]);
    command.args(["--device-timeout", "3", "--out"]).arg(&out);
    let (code, stderr) = window::run(command);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(window::png(&out).0, 128);
}

#[test]
fn bench_says_what_is_missing_and_ends_with_a_sentence() {
    let folder = Folder::new("stalled-bench");
    let movie = movie(&folder);
    let bench = |variants: &str, conversions: &str| {
        let options = ["--radius", "2", "--frames", "5", "--conversions", conversions];
        ["bench", &movie, "--variant", variants]
            .iter()
            .chain(&options)
            .map(|a| (*a).to_owned())
            .collect::<Vec<_>>()
    };
    let rows = [
        ("clCreateContext:1", "flat", "none"),
        ("clBuildProgram:1", "flat", "none"),
        ("clFinish:3", "flat", "none"),
        ("clEnqueueWriteBuffer:2", "planar", "none"),
        ("clGetEventProfilingInfo:1", "flat", "none"),
        ("clEnqueueNDRangeKernel:5", "native", "input"),
        ("clReleaseMemObject:1", "flat", "none"),
    ];
    together(&rows, |(function, variants, conversions)| {
        let arguments = bench(variants, conversions);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let stderr = hangs(&folder, function, CPU, &arguments);
        assert!(stderr.contains("The benchmark was interrupted."), "{function}: {stderr}");
    });
    let numbers =
        ["bench", "--ladder", "vector-add", "--count", "1000", "--variant", "scalar", "--frames", "5"];
    hangs(&folder, "clFinish:2", CPU, &numbers);
}

/// A process that seldom gets a core is late, and its device is not silent. Here it is stopped most of the time.
#[test]
fn bench_that_waits_for_a_core_does_not_blame_the_device() {
    let mut command = clreel(None);
    command.args([
        "bench",
        "--ladder",
        "vector-add",
        "--count",
        "1000",
        "--variant",
        "scalar",
        "--frames",
        "3",
    ]);
    command.args(["--device", "0", "--device-timeout", "2", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let signal = |signal| {
        // SAFETY: the process was not waited for, so the number is its own.
        assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
        std::thread::sleep(Duration::from_millis(if signal == libc::SIGSTOP { 700 } else { 25 }));
    };
    // Drivers and compilers need more of the processor than it gets within the limit.
    for _ in 0..40 {
        signal(libc::SIGSTOP);
        signal(libc::SIGCONT);
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
}

#[test]
fn tune_ends_with_a_sentence() {
    let folder = Folder::new("stalled-tune");
    let arguments = ["tune", "--size", "64x48", "--radius", "2"];
    together(&["clCreateKernel:4", "clFinish:30", "clGetEventProfilingInfo:20"], |function| {
        hangs(&folder, function, CPU, &arguments);
    });
}
