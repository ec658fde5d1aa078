//! Devices that are lost while they are in use: every command fails from some moment on, and so does every release, by the
//! tests' own layer (`tests/gl_sharing`). clreel must say so and go on, or end with a sentence: never
//! with a panic, never by a signal, never hang.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::window::{Display, Session, clreel, finish, json, png, run};
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

/// What is made and released.
const OBJECTS: [&str; 6] = ["Context", "CommandQueue", "MemObject", "Program", "Kernel", "Event"];

/// The layer's options for a device that computes in the host's memory, and for one with memory of its own.
const CPU: [(&str, &str); 1] = [("POISON", "1")];
const GPU: [(&str, &str); 2] = [("POISON", "1"), ("FAKE_GPU", "1")];

/// Every release fails, from the first on.
fn every_release() -> String {
    OBJECTS.map(|object| format!("clRelease{object}:1+:-36")).join(",")
}

/// Nothing works any more.
fn lost() -> String {
    format!("clEnqueueNDRangeKernel:1+:-36,clFinish:1+:-36,{}", every_release())
}

fn movie(folder: &Folder) -> PathBuf {
    folder.movie("odd.mkv", &Movie { size: (175, 99), stamps_ms: steady(50), ..Movie::default() })
}

/// What is to go wrong in a window, and what must come of it.
struct Case<'a> {
    plan: &'a str,
    options: &'a [(&'a str, &'a str)],
    arguments: &'a [&'a str],
    /// What the last frame must have been filtered with.
    last: &'a str,
    /// A part of what is said.
    said: &'a str,
}

/// Plays a movie, lets the plan come true while its frames are filtered, changes the variant there and back where that is
/// to go on, and waits for the end that `--frames` sets.
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
    // Each frame's way to the device and back is in the log.
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
    let (code, stderr) = finish(session.child.take().unwrap());
    assert_eq!(code, Some(0), "{what}: {stderr}");
    assert!(!layer::calls(&log, "planned-failure").is_empty(), "nothing failed: {what}: {stderr}");
    assert!(stderr.contains(said), "{what}: {stderr}");
    let misused = layer::calls(&log, "misuse");
    assert!(misused.is_empty(), "{what}: {misused:?}");
    let stats = json(&stats);
    let frames = stats["frames"].as_array().unwrap();
    assert_eq!(frames.last().unwrap()["variant"], last, "{what}: {stderr}");
}

#[test]
fn a_release_that_is_refused_changes_nothing() {
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
    let plan = lost();
    let ways: [(&[_], &[_]); 3] = [(&GPU, &[]), (&GPU, &["--no-sharing"]), (&CPU, &[])];
    for (options, arguments) in ways {
        let said = "failed in the middle of a frame";
        play(&display, &folder, &movie, &Case { plan: &plan, options, arguments, last: "off", said });
    }
}

#[test]
fn a_status_that_nobody_knows_is_told_as_it_is() {
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
fn snapshot_ends_with_a_sentence() {
    let folder = Folder::new("lost-snapshot");
    let (movie, good, out) = (movie(&folder), folder.file("good.png"), folder.file("out.png"));
    assert_eq!(snapshot(&movie, &good, ""), (Some(0), String::new()));
    assert_eq!(snapshot(&movie, &out, &every_release()), (Some(0), String::new()));
    assert!(png(&out) == png(&good));
    let finish = format!("clFinish:1+:-5,{}", every_release());
    for plan in [lost(), finish] {
        let (code, stderr) = snapshot(&movie, &out, &plan);
        assert_eq!(code, Some(1), "{plan}: {stderr}");
        assert!(stderr.starts_with("clreel: ") && stderr.contains("OpenCL returned"), "{plan}: {stderr}");
    }
}

/// What nothing can be filtered without.
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
fn whatever_fails_is_told_with_its_own_status_or_done_without() {
    let folder = Folder::new("lost-each");
    let (movie, log, out) = (movie(&folder), folder.file("calls"), folder.file("out.png"));
    let run = |variant: &str, options: &[(&str, &str)]| {
        let mut command = clreel(None);
        // A binary of an earlier start would do without some of the calls.
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
        // No object is counted twice: that, too, can be refused.
        assert!(!called.iter().any(|function| function.starts_with("clRetain")), "{called:?}");
        for function in called {
            // A status that nobody knows.
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
fn bench_ends_with_a_sentence() {
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
    for plan in [lost(), while_timed, "clGetEventProfilingInfo:1+:-1092".to_owned()] {
        let (code, text) = bench(&plan);
        assert_eq!(code, Some(1), "{plan}: {text}");
        let fails = |line: &str| line.contains("flat") && line.contains(": failed. ");
        assert!(text.lines().any(fails) && text.contains("OpenCL returned"), "{plan}: {text}");
    }
}

/// A device that gives no context, no queue, no memory, or compiles nothing: said once, whatever needs it, and what does without
/// runs.
#[test]
fn bench_runs_what_needs_no_opencl_and_says_once_why_the_rest_does_not() {
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
    // The test's figure is moved by plain Rust then.
    let out = folder.file("cloth.png");
    let mut command = clreel(None);
    command.envs(layer::environment(&[("FAIL", "clCreateContext:1+:-6")])).arg("snapshot").arg(&movie);
    let (code, stderr) = run({
        command.args(["--scene", "cloth", "--variant", "native", "--out"]).arg(&out);
        command
    });
    assert!(code == Some(0) && stderr.contains("cannot be used") && out.exists(), "{stderr}");
}

/// In the window, too: one banner, and the filters that need no OpenCL.
#[test]
fn a_window_says_once_that_the_device_compiles_nothing_or_gives_no_context() {
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
            let frames = json(&stats)["frames"].as_array().unwrap().clone();
            assert!(frames.iter().any(|frame| frame["variant"] == id), "{plan}, {id}");
        }
    }
}

#[test]
fn opencl_s_functions_are_the_library_s_own() {
    // Of this program, which has what clreel has.
    opencl::process::prepare();
    let objects =
        OBJECTS.iter().flat_map(|object| [format!("clRelease{object}"), format!("clRetain{object}")]);
    for function in objects.chain(NEEDED.map(str::to_owned)) {
        let name = CString::new(function.clone()).unwrap();
        // SAFETY: the name ends with a zero; what is found tells where it is from, in a text that ends with a zero.
        let from = unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            let mut told = std::mem::zeroed::<libc::Dl_info>();
            assert!(!found.is_null() && libc::dladdr(found, &mut told) != 0, "{function}");
            CStr::from_ptr(told.dli_fname).to_string_lossy().into_owned()
        };
        assert!(from.contains("libOpenCL"), "{function} is from {from}");
    }
}
