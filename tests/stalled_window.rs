//! Drivers whose calls never return while the window is open, by the tests' layer (`tests/gl_sharing`): the overlay
//! names the device, another one takes over, and the window can be closed.

use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use crate::common::*;

/// The action that makes clreel call the function that hangs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trigger {
    /// Each frame.
    Frames,
    /// Another radius.
    Radius,
    /// Another device.
    Device,
}

/// The layer's options for a device that computes in host memory, for one with memory of its own, and for that one without
/// shared textures.
const CPU: &[(&str, &str)] = &[];
const SHARED: &[(&str, &str)] = &[("FAKE_GPU", "1"), ("POISON", "1")];
const COPIED: &[(&str, &str)] = &[("FAKE_GPU", "1"), ("NO_IMAGES", "0")];

/// A function, the action that calls it, and options of the layer.
type Row = (&'static str, Trigger, &'static [(&'static str, &'static str)]);

/// Every kind of call.
const CALLS: [Row; 16] = [
    ("clEnqueueNDRangeKernel", Trigger::Frames, CPU),
    ("clFlush", Trigger::Frames, CPU),
    ("clGetEventInfo", Trigger::Frames, CPU),
    ("clEnqueueMapBuffer", Trigger::Frames, CPU),
    ("clSetEventCallback", Trigger::Frames, CPU),
    ("clGetEventProfilingInfo", Trigger::Frames, CPU),
    ("clReleaseEvent", Trigger::Frames, CPU),
    ("clEnqueueAcquireGLObjects", Trigger::Frames, SHARED),
    ("clEnqueueReleaseGLObjects", Trigger::Frames, SHARED),
    ("clEnqueueWriteBuffer", Trigger::Frames, SHARED),
    ("clEnqueueReadBuffer", Trigger::Frames, COPIED),
    ("clCreateKernel", Trigger::Radius, CPU),
    ("clSetKernelArg", Trigger::Radius, CPU),
    ("clCreateContext", Trigger::Device, CPU),
    ("clBuildProgram", Trigger::Device, CPU),
    ("clFinish", Trigger::Device, CPU),
];

/// The names of the two devices.
static NAMES: LazyLock<[String; 2]> = LazyLock::new(|| pair::names(clreel(None)));

/// Returns the command of a window on the first of two devices, under the layer.
fn window(display: &Display, folder: &Folder, options: &[(&str, &str)]) -> Command {
    let mut command = clreel(Some(display));
    command.envs(layer::environment(options));
    command.envs(pair::environment());
    let movie = Movie { size: (64, 48), stamps_ms: steady(100), ..Movie::default() };
    command.arg(folder.movie("small.mkv", &movie)).args(["--variant", "flat", "--device", "0"]);
    command
}

/// Starts a window that plays filtered frames, and waits until a call hangs.
fn start_with_hang<'a>(
    display: &'a Display,
    folder: &Folder,
    (function, by, options): (&str, Trigger, &[(&str, &str)]),
    arguments: &[&str],
) -> Session<'a> {
    let (log, now) = (folder.file("log"), folder.file("now"));
    let _ = (std::fs::remove_file(&log), std::fs::remove_file(&now));
    let plan = format!("{function}:1:hang");
    let mut planned =
        vec![("FAIL", plan.as_str()), ("FAIL_WHILE", now.to_str().unwrap()), ("LOG", log.to_str().unwrap())];
    // Background jobs may still call the device that runs, and no call of theirs must be the one that hangs.
    planned.push(match by {
        Trigger::Device => ("FAIL_DEVICE", NAMES[1].as_str()),
        Trigger::Frames | Trigger::Radius => ("SPARE_THREAD", "peaks,builder"),
    });
    let mut command = window(display, folder, &[options, &planned].concat());
    command.args(arguments).args((options == COPIED).then_some("--no-sharing"));
    let mut session = Session::with_stats(display, command);
    session.wait_for_title("flat");
    session.wait_for_frames();
    if by != Trigger::Device {
        // A call of a frame is to hang, not one of a build or trial.
        session.wait_for_end_of("compiling");
    }
    std::fs::write(&now, "").unwrap();
    match by {
        Trigger::Frames => {}
        Trigger::Radius => session.display.key("equal"),
        Trigger::Device => session.display.key("ctrl+d"),
    }
    let hung = format!("planned-hang {function}");
    session
        .wait("the call that hangs", |_| std::fs::read_to_string(&log).unwrap_or_default().contains(&hung));
    // Only one call hangs, and none of the next device.
    std::fs::remove_file(now).unwrap();
    session
}

#[test]
fn a_hanging_device_is_named_and_can_be_replaced() {
    replace_hanging_device("stalled-window", &[CALLS[0], CALLS[7], CALLS[10], CALLS[11], CALLS[14]]);
}

#[test]
#[ignore = "lets each call hang in turn, which takes minutes: ./dev test --all"]
fn a_device_that_hangs_in_any_call_can_be_replaced() {
    replace_hanging_device("stalled-window-all", &CALLS);
}

/// Lets each of these calls hang in a window of its own; asserts that the device is named and can be replaced.
fn replace_hanging_device(name: &str, calls: &[Row]) {
    let (display, folder) = (Display::start(&[]), Folder::new(name));
    for &case in calls {
        println!("{case:?}");
        let mut session = start_with_hang(&display, &folder, case, &["--device-timeout", "80000"]);
        let silent = if case.1 == Trigger::Device { 1 } else { 0 };
        session.wait_for_text(&format!("The OpenCL device '{}' does not respond.", NAMES[silent]));
        // The window still handles keys and draws.
        session.display.key("F1");
        session.wait_for_text("Everyday");
        session.display.key("F1");
        session.wait_for_end_of("Everyday");
        session.display.key("ctrl+d");
        session.wait_for_end_of("does not respond");
        session.wait_for_title("flat");
        session.wait_for_frames();
        let stats = session.stats();
        assert_eq!(stats["device"]["index"], 1 - silent, "{case:?}");
        assert_eq!(presented_frames(&stats).last().unwrap()["variant"], "flat", "{case:?}");
    }
}

#[test]
fn the_window_can_be_closed_while_a_device_hangs() {
    let (display, folder) = (Display::start(&[]), Folder::new("stalled-quit"));
    for case in [CALLS[0], CALLS[2], CALLS[11], CALLS[13]] {
        let session = start_with_hang(&display, &folder, case, &[]);
        let stderr = session.quit();
        assert!(!stderr.contains("panicked"), "{case:?}: {stderr}");
        let session = start_with_hang(&display, &folder, case, &[]);
        session.signal(libc::SIGTERM);
        let (code, stderr) = session.end();
        assert_eq!(code, Some(0), "{case:?}: {stderr}");
    }
}

#[test]
fn a_device_that_times_out_is_replaced_by_another() {
    let (display, folder) = (Display::start(&[]), Folder::new("stalled-given-up"));
    for case in [CALLS[1], CALLS[7]] {
        let mut session = start_with_hang(&display, &folder, case, &["--device-timeout", "15"]);
        session.wait_for_text("clreel goes on with '");
        session.wait_for_title("flat");
        session.wait_for_frames();
        let (stats, stderr) = session.stats_and_stderr();
        assert!(stderr.contains("does not respond.\n  A driver call timed out after"), "{stderr}");
        assert_eq!(stats["device"]["index"], 1, "{stderr}");
    }
}

#[test]
fn a_device_in_use_that_times_out_is_named_while_another_one_is_opened() {
    let (display, folder) = (Display::start(&[]), Folder::new("stalled-both"));
    let (log, now) = (folder.file("log"), folder.file("now"));
    let plan = [
        ("FAIL", "clFlush:1:hang,clCreateContext:1:stall"),
        ("FAIL_WHILE", now.to_str().unwrap()),
        ("LOG", log.to_str().unwrap()),
        ("SPARE_THREAD", "peaks"),
    ];
    let mut command = window(&display, &folder, &plan);
    let mut session = Session::with_stats(&display, command.args(["--device-timeout", "15"]));
    session.wait_for_title("flat");
    session.wait_for_end_of("compiling");
    std::fs::write(&now, "").unwrap();
    let has_hung = |function: &str| {
        std::fs::read_to_string(&log).unwrap_or_default().contains(&format!("planned-hang {function}"))
    };
    session.wait("a frame that hangs", |_| has_hung("clFlush"));
    // The device in use reaches its timeout first.
    std::thread::sleep(Duration::from_secs(3));
    session.display.key("ctrl+d");
    session.wait("a context that hangs", |_| has_hung("clCreateContext"));
    // A second context is made for the other device.
    session.wait_for_frames();
    std::fs::remove_file(&now).unwrap();
    session.wait_for_text(&format!("clreel goes on with '{}'.", NAMES[1]));
    session.wait_for_title("flat");
    let (stats, stderr) = session.stats_and_stderr();
    let is_named =
        |name: &str| stderr.contains(&format!("'{name}' does not respond.\n  A driver call timed out"));
    assert!(is_named(&NAMES[0]) && !is_named(&NAMES[1]), "{stderr}");
    assert_eq!(stats["device"]["index"], 1, "{stderr}");
}
