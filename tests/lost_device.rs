//! Devices that are lost while they are in use: every command and every release fails from some moment on, injected by the
//! tests' layer (`tests/gl_sharing`). clreel reports that and continues, or exits with a message: never with a panic, by a
//! signal, or by hanging.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::process::Command;

use crate::common::reports::rows;
use crate::common::*;

/// Types of objects that are created and released.
const OBJECTS: [&str; 6] = ["Context", "CommandQueue", "MemObject", "Program", "Kernel", "Event"];

/// The layer's options for a device that computes in host memory, and for one with memory of its own.
const CPU: [(&str, &str); 1] = [("POISON", "1")];
const GPU: [(&str, &str); 2] = [("POISON", "1"), ("FAKE_GPU", "1")];

/// Returns a plan in which every release fails.
fn every_release() -> String {
    OBJECTS.map(|object| format!("clRelease{object}:1+:-36")).join(",")
}

/// Returns a plan in which every call fails.
fn every_call() -> String {
    format!("clEnqueueNDRangeKernel:1+:-36,clFinish:1+:-36,{}", every_release())
}

/// Plays a movie, starts the planned failures while frames are filtered, changes the variant twice if the movie is still
/// filtered then, and waits for the end that `--frames` sets. Requires the filter of the last frame, and a part of stderr.
fn play_with_failures(plan: &str, options: &[(&str, &str)], arguments: &[&str], last: &str, said: &str) {
    let (display, folder) = (Display::start(&[]), Folder::new("lost-window"));
    let what = format!("{plan} {options:?} {arguments:?}");
    let (log, stats, while_there) = (folder.file("log"), folder.file("s.json"), folder.file("failing"));
    let planned =
        [("LOG", log.to_str().unwrap()), ("FAIL", plan), ("FAIL_WHILE", while_there.to_str().unwrap())];
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(&[options, &planned].concat())).arg(odd_movie(&folder));
    command.args(["--variant", "running-sum", "--frames", "120", "--stats"]).arg(&stats);
    let mut session = Session::start(&display, command.args(arguments));
    // The log has each frame's transfers to the device and back.
    let transfers = || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("clEnqueue")).count()
    };
    let before = transfers();
    session.wait("filtered frames", |_| transfers() > before + 20);
    std::fs::write(&while_there, "").unwrap();
    if last != "off" {
        session.press_until_title("4", "vectorized");
        session.press_until_title("5", "running-sum");
    }
    let (code, stderr) = session.end();
    assert_eq!(code, Some(0), "{what}: {stderr}");
    assert!(!layer::calls(&log, "planned-failure").is_empty(), "nothing failed: {what}: {stderr}");
    assert!(stderr.contains(said), "{what}: {stderr}");
    layer::assert_no_misuse(&log, &what);
    let stats = read_json(&stats);
    assert_eq!(presented_frames(&stats).last().unwrap()["variant"], last, "{what}: {stderr}");
}

#[test]
fn failing_releases_change_nothing() {
    for plan in ["clReleaseMemObject:1:-5", "clReleaseEvent:1:-5", &every_release()] {
        for options in [&GPU[..], &CPU] {
            play_with_failures(plan, options, &[], "running-sum", "");
        }
    }
}

#[test]
fn a_lost_device_leaves_the_movie_unfiltered() {
    let ways: [(&[_], &[_]); 3] = [(&GPU, &[]), (&GPU, &["--no-sharing"]), (&CPU, &[])];
    for (options, arguments) in ways {
        play_with_failures(&every_call(), options, arguments, "off", "failed in the middle of a frame");
    }
    // An unknown status is shown as a number.
    play_with_failures("clEnqueueNDRangeKernel:1+:-1092", &GPU, &[], "off", "error -1092");
}

fn snapshot_with(movie: &Path, out: &Path, plan: &str) -> (Option<i32>, String) {
    let mut command = clreel(None);
    command.envs(layer::environment(&[("FAIL", plan)])).arg("snapshot").arg(movie);
    run(with_filter(&mut command, "flat").arg("--out").arg(out))
}

fn with_filter<'a>(command: &'a mut Command, variants: &str) -> &'a mut Command {
    command.args(["--variant", variants, "--radius", "3", "--device", "0"])
}

#[test]
fn snapshot_exits_with_1_if_the_device_is_lost() {
    let folder = Folder::new("lost-snapshot");
    let (movie, good, out) = (odd_movie(&folder), folder.file("good.png"), folder.file("out.png"));
    assert_eq!(snapshot_with(&movie, &good, ""), (Some(0), String::new()));
    assert_eq!(snapshot_with(&movie, &out, &every_release()), (Some(0), String::new()));
    assert!(png(&out) == png(&good));
    let finish = format!("clFinish:1+:-5,{}", every_release());
    for plan in [every_call(), finish] {
        let (code, stderr) = snapshot_with(&movie, &out, &plan);
        assert_eq!(code, Some(1), "{plan}: {stderr}");
        assert!(stderr.starts_with("clreel: ") && stderr.contains("OpenCL returned"), "{plan}: {stderr}");
    }
}

/// Functions without which nothing can be filtered.
const NEEDED: [&str; 9] = [
    "clCreateContext",
    "clCreateCommandQueue",
    "clCreateBuffer",
    "clCreateImage",
    "clCreateProgramWithSource",
    "clBuildProgram",
    "clCreateKernel",
    "clSetKernelArg",
    "clEnqueueNDRangeKernel",
];

#[test]
fn every_failing_function_is_reported_with_its_status_or_not_needed() {
    let folder = Folder::new("lost-each");
    let (movie, log, out) = (odd_movie(&folder), folder.file("calls"), folder.file("out.png"));
    let run = |variant: &str, options: &[(&str, &str)]| {
        let mut command = clreel(None);
        // A cached program would save some of the calls.
        command.envs(layer::environment(options)).env("CLREEL_BINARIES", "0").arg("snapshot").arg(&movie);
        with_filter(&mut command, variant).arg("--out").arg(&out);
        run(command)
    };
    let mut needed = NEEDED.to_vec();
    // On buffers, and on images.
    for variant in ["flat", "naive"] {
        let _ = std::fs::remove_file(&log);
        assert_eq!(run(variant, &[("CALLS", log.to_str().unwrap())]), (Some(0), String::new()));
        let text = std::fs::read_to_string(&log).unwrap();
        let called: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        needed.retain(|function| !called.contains(function));
        // clreel retains no object: a retain could fail too.
        assert!(!called.iter().any(|function| function.starts_with("clRetain")), "{called:?}");
        for function in called {
            // A status without a name.
            let (code, stderr) = run(variant, &[("FAIL", &format!("{function}:1+:-1092"))]);
            assert!(!stderr.contains("panicked"), "{function}: {stderr}");
            match code {
                Some(0) => assert!(!NEEDED.contains(&function), "{function}: {stderr}"),
                Some(1) if ["clGetDeviceIDs", "clGetDeviceInfo"].contains(&function) => {
                    assert!(stderr.contains("no OpenCL device"), "{stderr}");
                }
                _ => {
                    assert_eq!(code, Some(1), "{function}: {stderr}");
                    let told = stderr.starts_with("clreel: ") && stderr.contains("error -1092");
                    assert!(told, "{function}: {stderr}");
                }
            }
        }
    }
    assert!(needed.is_empty(), "never called: {needed:?}");
}

#[test]
fn bench_exits_with_1_if_the_device_is_lost() {
    let folder = Folder::new("lost-bench");
    let movie = odd_movie(&folder);
    let bench = |plan: &str, code: i32| {
        let mut command = clreel(None);
        command.envs(layer::environment(&[("FAIL", plan)])).arg("bench").arg(&movie);
        command.args(["--conversions=none", "--frames", "3"]);
        let output = finish(with_filter(&mut command, "flat,running-sum"), code);
        text(&output.stdout) + &text(&output.stderr)
    };
    let told = bench(&every_release(), 0);
    assert!(!told.contains("failed"), "{told}");
    // While the variants are checked, and while they are timed.
    let while_timed = format!("clFinish:3+:-36,clWaitForEvents:1+:-36,{}", every_release());
    for plan in [every_call(), while_timed] {
        let told = bench(&plan, 1);
        let fails = |line: &str| line.contains("flat") && line.contains(": failed. ");
        assert!(told.lines().any(fails) && told.contains("OpenCL returned"), "{plan}: {told}");
    }
    // A driver without times of commands is no lost device.
    let told = bench("clGetEventProfilingInfo:1+:-1092", 0);
    assert!(told.contains("wall time in ms") && told.contains("the driver reports no times"), "{told}");
}

/// A device that gives no context, no queue or no memory, or that cannot compile: one message for all variants that need it,
/// while variants without OpenCL run.
#[test]
fn bench_runs_host_variants_and_reports_an_unusable_device_once() {
    let folder = Folder::new("lost-once");
    let (movie, saved) = (odd_movie(&folder), folder.file("saved.json"));
    let bench = |plan: &str, arguments: &[&str], code: i32| {
        let mut command = clreel(None);
        command.envs(layer::environment(&[("FAIL", plan)])).args(["bench", "--frames", "2"]);
        finish(command.args(arguments), code)
    };
    let (file, radius) = (movie.to_str().unwrap(), "1,3");
    let filters = [file, "--radius", radius, "--variant", "naive,flat,planar,glsl,native"];
    let numbers = ["--ladder", "vector-add", "--count", "1000"];
    let native = [file, "--conversions=none", "--radius", radius, "--variant", "native"];
    let failing = ["clCreateContext:1+:-6", "clCreateCommandQueue:1+:-5", "clCreateBuffer:1+:-4"];
    for plan in failing.into_iter().chain(["clBuildProgram:1+:-3"]) {
        for (arguments, runs) in
            [(&filters[..], &["glsl", "native"][..]), (&numbers, &["serial", "threads", "threads-vectors"])]
        {
            let output = bench(plan, &[arguments, &["--save", saved.to_str().unwrap()]].concat(), 1);
            let told = text(&output.stdout) + &text(&output.stderr);
            assert_eq!(told.matches("OpenCL returned").count(), 1, "{plan}: {told}");
            for variant in rows(&read_json(&saved)) {
                let outcome = if runs.contains(&variant["id"].as_str().unwrap()) { "ok" } else { "failed" };
                assert_eq!(variant["outcome"], outcome, "{plan}: {variant}");
            }
        }
        bench(plan, &native, 0);
    }
    // The figure is then simulated in plain Rust.
    let out = folder.file("cloth.png");
    let mut command = clreel(None);
    command.envs(layer::environment(&[("FAIL", "clCreateContext:1+:-6")])).arg("snapshot").arg(&movie);
    let stderr = succeed(command.args(["--scene", "cloth", "--variant", "native", "--out"]).arg(&out));
    assert!(stderr.contains("cannot be used") && out.exists(), "{stderr}");
}

/// In the window: one banner, and the filters without OpenCL work.
#[test]
fn the_window_reports_an_unusable_device_once() {
    let (display, folder) = (Display::start(&[]), Folder::new("lost-window"));
    let movie = odd_movie(&folder);
    for (plan, words, first, (key, other)) in [
        ("clCreateContext:1+:-6", "cannot be used", "native", ("6", "glsl")),
        ("clCreateContext:1+:-6", "cannot be used", "glsl", ("7", "native")),
        ("clCreateCommandQueue:1+:-5", "cannot be used", "glsl", ("7", "native")),
        ("clBuildProgram:1+:-3", "compiles no kernels", "native", ("6", "glsl")),
    ] {
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&[("FAIL", plan)])).arg(&movie).args(["--variant", first]);
        let mut session = Session::start(&display, command);
        session.wait_for_text(words);
        session.wait_for_title(&format!("- {first}"));
        session.wait_for_frames();
        session.press_until_title(key, &format!("- {other}"));
        session.wait_for_frames();
        let stderr = session.quit();
        assert_eq!(stderr.matches("OpenCL returned").count(), 1, "{plan}: {stderr}");
    }
}

#[test]
fn opencl_functions_are_those_of_the_loaded_library() {
    // In this process, which links the same libraries as clreel.
    opencl::process::prepare();
    let objects =
        OBJECTS.iter().flat_map(|object| [format!("clRelease{object}"), format!("clRetain{object}")]);
    for function in objects.chain(NEEDED.map(str::to_owned)) {
        let name = CString::new(function.clone()).unwrap();
        // SAFETY: the name ends with a zero; the result has the path of a library as a string that ends with a zero.
        let from = unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            let mut info = std::mem::zeroed::<libc::Dl_info>();
            assert!(!found.is_null() && libc::dladdr(found, &mut info) != 0, "{function}");
            CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()
        };
        assert!(from.contains("libOpenCL"), "{function} is from {from}");
    }
}
