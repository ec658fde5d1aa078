//! Devices that are lost while they are in use: every command and every release fails from some moment on, injected by the
//! tests' layer (`tests/gl_sharing`). clreel reports that and continues, or exits with a message: never with a panic, by a
//! signal, or by hanging.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::window::{Display, Session, clreel, json, png, presented_frames, run, wait_for_exit};
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

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

fn movie(folder: &Folder) -> PathBuf {
    folder.movie("odd.mkv", &Movie { size: (175, 99), stamps_ms: steady(50), ..Movie::default() })
}

/// Planned failures in a window, and the expected result.
struct Case<'a> {
    plan: &'a str,
    options: &'a [(&'a str, &'a str)],
    arguments: &'a [&'a str],
    /// The filter of the last frame.
    last: &'a str,
    /// A part of stderr.
    said: &'a str,
}

/// Plays a movie, starts the planned failures while frames are filtered, changes the variant twice if the movie is still
/// filtered then, and waits for the end that `--frames` sets.
fn play(display: &Display, folder: &Folder, movie: &Path, case: &Case) {
    let Case { plan, options, arguments, last, said } = *case;
    let what = format!("{plan} {options:?} {arguments:?}");
    let (log, stats, while_there) = (folder.file("log"), folder.file("s.json"), folder.file("failing"));
    for left in [&log, &while_there] {
        let _ = std::fs::remove_file(left);
    }
    let mut command = clreel(Some(display));
    let planned =
        [("LOG", log.to_str().unwrap()), ("FAIL", plan), ("FAIL_WHILE", while_there.to_str().unwrap())];
    command.envs(layer::environment(&[options, &planned].concat()));
    command.arg(movie).args(["--variant", "running-sum", "--frames", "120", "--stats"]).arg(&stats);
    let mut session = Session::start(display, command.args(arguments));
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
    let (code, stderr) = wait_for_exit(session.child.take().unwrap());
    assert_eq!(code, Some(0), "{what}: {stderr}");
    assert!(!layer::calls(&log, "planned-failure").is_empty(), "nothing failed: {what}: {stderr}");
    assert!(stderr.contains(said), "{what}: {stderr}");
    let misused = layer::calls(&log, "misuse");
    assert!(misused.is_empty(), "{what}: {misused:?}");
    let stats = json(&stats);
    let frames = presented_frames(&stats);
    assert_eq!(frames.last().unwrap()["variant"], last, "{what}: {stderr}");
}

#[test]
fn failing_releases_change_nothing() {
    let (display, folder) = (Display::start(&[]), Folder::new("lost-releases"));
    let movie = movie(&folder);
    let all = every_release();
    let plans = ["clReleaseMemObject:1:-5", "clReleaseEvent:1:-5", &all];
    for plan in plans {
        for options in [&GPU[..], &CPU] {
            let case = Case { plan, options, arguments: &[], last: "running-sum", said: "" };
            play(&display, &folder, &movie, &case);
        }
    }
}

#[test]
fn a_lost_device_leaves_the_movie_unfiltered() {
    let (display, folder) = (Display::start(&[]), Folder::new("lost-device"));
    let movie = movie(&folder);
    let plan = every_call();
    let ways: [(&[_], &[_]); 3] = [(&GPU, &[]), (&GPU, &["--no-sharing"]), (&CPU, &[])];
    for (options, arguments) in ways {
        let said = "failed in the middle of a frame";
        play(&display, &folder, &movie, &Case { plan: &plan, options, arguments, last: "off", said });
    }
}

#[test]
fn an_unknown_status_is_shown_as_a_number() {
    let (display, folder) = (Display::start(&[]), Folder::new("lost-nameless"));
    let plan = "clEnqueueNDRangeKernel:1+:-1092";
    let case = Case { plan, options: &GPU, arguments: &[], last: "off", said: "error -1092" };
    play(&display, &folder, &movie(&folder), &case);
}

fn snapshot(movie: &Path, out: &Path, plan: &str) -> (Option<i32>, String) {
    let mut command = clreel(None);
    command.envs(layer::environment(&[("FAIL", plan)])).arg("snapshot").arg(movie);
    with_filter(&mut command, "flat").arg("--out").arg(out);
    run(command)
}

fn with_filter<'a>(command: &'a mut Command, variants: &str) -> &'a mut Command {
    command.args(["--variant", variants, "--radius", "3", "--device", "0"])
}

#[test]
fn snapshot_exits_with_1_if_the_device_is_lost() {
    let folder = Folder::new("lost-snapshot");
    let (movie, good, out) = (movie(&folder), folder.file("good.png"), folder.file("out.png"));
    assert_eq!(snapshot(&movie, &good, ""), (Some(0), String::new()));
    assert_eq!(snapshot(&movie, &out, &every_release()), (Some(0), String::new()));
    assert!(png(&out) == png(&good));
    let finish = format!("clFinish:1+:-5,{}", every_release());
    for plan in [every_call(), finish] {
        let (code, stderr) = snapshot(&movie, &out, &plan);
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
    let (movie, log, out) = (movie(&folder), folder.file("calls"), folder.file("out.png"));
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
    let movie = movie(&folder);
    let bench = |plan: &str| {
        let mut command = clreel(None);
        command.envs(layer::environment(&[("FAIL", plan)])).arg("bench").arg(&movie).args([
            "--conversions=none",
            "--frames",
            "3",
        ]);
        let child =
            with_filter(&mut command, "flat,running-sum").stderr(Stdio::piped()).stdout(Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{plan}: {stderr}");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned() + &stderr)
    };
    let (code, text) = bench(&every_release());
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("failed"), "{text}");
    // While the variants are checked, and while they are timed.
    let while_timed = format!("clFinish:3+:-36,clWaitForEvents:1+:-36,{}", every_release());
    for plan in [every_call(), while_timed] {
        let (code, text) = bench(&plan);
        assert_eq!(code, Some(1), "{plan}: {text}");
        let fails = |line: &str| line.contains("flat") && line.contains(": failed. ");
        assert!(text.lines().any(fails) && text.contains("OpenCL returned"), "{plan}: {text}");
    }
    // A driver without times of commands is no lost device.
    let (code, text) = bench("clGetEventProfilingInfo:1+:-1092");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("wall time in ms") && text.contains("the driver reports no times"), "{text}");
}

/// A device that gives no context, no queue or no memory, or that cannot compile: one message for all variants that need it,
/// while variants without OpenCL run.
#[test]
fn bench_runs_host_variants_and_reports_an_unusable_device_once() {
    let folder = Folder::new("lost-once");
    let movie = movie(&folder);
    let bench = |plan: &str, arguments: &[&str]| {
        let mut command = clreel(None);
        command
            .envs(layer::environment(&[("FAIL", plan)]))
            .arg("bench")
            .args(arguments)
            .args(["--frames", "2"]);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{plan}: {stderr}");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
    };
    let (file, radius) = (movie.to_str().unwrap(), "1,3");
    let filters = [file, "--radius", radius, "--variant", "naive,flat,planar,glsl,native"];
    let numbers = ["--ladder", "vector-add", "--count", "1000"];
    for plan in [
        "clCreateContext:1+:-6",
        "clCreateCommandQueue:1+:-5",
        "clCreateBuffer:1+:-4",
        "clBuildProgram:1+:-3",
    ] {
        for (arguments, runs) in [(&filters[..], &["glsl", "native"][..]), (&numbers, &["serial", "threads"])]
        {
            let (code, stdout, stderr) = bench(plan, arguments);
            assert_eq!(code, Some(1), "{plan}: {stdout}{stderr}");
            let told = (stdout.clone() + &stderr).matches("OpenCL returned").count();
            assert_eq!(told, 1, "{plan}: {stdout}{stderr}");
            let (_, json, _) = bench(plan, &[arguments, &["--json"]].concat());
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            for run in json["devices"][0]["runs"].as_array().unwrap() {
                for variant in run["variants"].as_array().unwrap() {
                    let id = variant["id"].as_str().unwrap();
                    let is_without = runs.contains(&id) || id == "threads-vectors";
                    assert_eq!(
                        variant["outcome"],
                        if is_without { "ok" } else { "failed" },
                        "{plan}: {variant}"
                    );
                }
            }
        }
        let native = [file, "--conversions=none", "--radius", radius, "--variant", "native"];
        let (code, stdout, stderr) = bench(plan, &native);
        assert_eq!(code, Some(0), "{plan}: {stdout}{stderr}");
    }
    // The figure is then simulated in plain Rust.
    let out = folder.file("cloth.png");
    let mut command = clreel(None);
    command.envs(layer::environment(&[("FAIL", "clCreateContext:1+:-6")])).arg("snapshot").arg(&movie);
    let (code, stderr) = run({
        command.args(["--scene", "cloth", "--variant", "native", "--out"]).arg(&out);
        command
    });
    assert!(code == Some(0) && stderr.contains("cannot be used") && out.exists(), "{stderr}");
}

/// In the window: one banner, and the filters without OpenCL work.
#[test]
fn the_window_reports_an_unusable_device_once() {
    let (display, folder) = (Display::start(&[]), Folder::new("lost-window"));
    let movie = movie(&folder);
    for (plan, words) in [
        ("clCreateContext:1+:-6", "cannot be used"),
        ("clCreateCommandQueue:1+:-5", "cannot be used"),
        ("clBuildProgram:1+:-3", "compiles no kernels"),
    ] {
        for id in ["native", "glsl"] {
            let stats = folder.file("s.json");
            let mut command = clreel(Some(&display));
            command.envs(layer::environment(&[("FAIL", plan)])).arg(&movie).args([
                "--variant",
                id,
                "--stats",
            ]);
            command.arg(&stats).stderr(Stdio::piped());
            let mut session = Session::start(&display, &mut command);
            session.wait_for_text(words);
            session.wait_for_title(&format!("- {id}"));
            session.wait_for_frames();
            let stderr = session.quit();
            assert_eq!(stderr.matches("OpenCL returned").count(), 1, "{plan}: {stderr}");
            let frames = presented_frames(&json(&stats)).to_vec();
            assert!(frames.iter().any(|frame| frame["variant"] == id), "{plan}, {id}");
        }
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
