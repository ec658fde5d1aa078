//! Drivers whose calls do not come back while the window is open, by the tests' own layer (`tests/gl_sharing`): the overlay
//! says which device does not answer, another one takes over, and the window ends when it is asked to.

use std::sync::OnceLock;

use crate::common::window::{Display, Session, clreel, finish, json};
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};
use testkit::pair;

/// What makes clreel call what hangs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    /// Each frame.
    Frames,
    /// A plan of the kernels for another radius.
    Radius,
    /// Another device.
    Device,
}

/// The layer's options for a device that computes in the host's memory, for one with memory of its own, and for that without
/// shared textures.
const CPU: &[(&str, &str)] = &[];
const SHARED: &[(&str, &str)] = &[("FAKE_GPU", "1"), ("POISON", "1")];
const COPIED: &[(&str, &str)] = &[("FAKE_GPU", "1"), ("NO_IMAGES", "0")];

/// A function, how it is made to hang, and what else is set.
type Row = (&'static str, By, &'static [(&'static str, &'static str)]);

/// A call, how it comes to be made, and where.
const CALLS: [Row; 16] = [
    ("clEnqueueNDRangeKernel", By::Frames, CPU),
    ("clFlush", By::Frames, CPU),
    ("clGetEventInfo", By::Frames, CPU),
    ("clEnqueueMapBuffer", By::Frames, CPU),
    ("clSetEventCallback", By::Frames, CPU),
    ("clGetEventProfilingInfo", By::Frames, CPU),
    ("clReleaseEvent", By::Frames, CPU),
    ("clEnqueueAcquireGLObjects", By::Frames, SHARED),
    ("clEnqueueReleaseGLObjects", By::Frames, SHARED),
    ("clEnqueueWriteBuffer", By::Frames, SHARED),
    ("clEnqueueReadBuffer", By::Frames, COPIED),
    ("clCreateKernel", By::Radius, CPU),
    ("clSetKernelArg", By::Radius, CPU),
    ("clCreateContext", By::Device, CPU),
    ("clBuildProgram", By::Device, CPU),
    ("clFinish", By::Device, CPU),
];

/// The names of the two devices.
fn names() -> &'static [String; 2] {
    static NAMES: OnceLock<[String; 2]> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut command = clreel(None);
        command.envs(layer::environment(&[]));
        pair::names(command)
    })
}

/// A window that plays filtered frames, in which a call has begun to hang.
fn hanging<'a>(
    display: &'a Display,
    folder: &Folder,
    (function, by, options): (&str, By, &[(&str, &str)]),
    arguments: &[&str],
) -> Session<'a> {
    let (log, now) = (folder.file("log"), folder.file("now"));
    let _ = (std::fs::remove_file(&log), std::fs::remove_file(&now));
    let plan = format!("{function}:1:hang");
    let mut planned =
        vec![("FAIL", plan.as_str()), ("FAIL_WHILE", now.to_str().unwrap()), ("LOG", log.to_str().unwrap())];
    if by == By::Device {
        // The one that runs may still be asked in spare time.
        planned.push(("FAIL_DEVICE", names()[1].as_str()));
    }
    let mut command = clreel(Some(display));
    command.envs(layer::environment(&[options, &planned].concat())).envs(pair::environment());
    let movie = Movie { size: (64, 48), stamps_ms: steady(100), ..Movie::default() };
    command
        .arg(folder.movie("small.mkv", &movie))
        .args(["--variant", "flat", "--device", "0"])
        .args(arguments);
    if options == COPIED {
        command.arg("--no-sharing");
    }
    command.arg("--stats").arg(folder.file("s.json"));
    let mut session = Session::start(display, &mut command);
    session.wait_for_title("flat");
    session.wait_for_frames();
    if by != By::Device {
        // A frame's call is to hang, not one that is still made for a program that is tried.
        session.wait("all programs built", |session| !session.shows("being compiled"));
    }
    std::fs::write(&now, "").unwrap();
    match by {
        By::Frames => {}
        By::Radius => session.display.key("equal"),
        By::Device => session.display.key("ctrl+d"),
    }
    let hung = format!("planned-hang {function}");
    session
        .wait("the call that hangs", |_| std::fs::read_to_string(&log).unwrap_or_default().contains(&hung));
    // One call hangs, and those of the next device do not.
    std::fs::remove_file(now).unwrap();
    session
}

#[test]
fn it_is_said_which_device_does_not_answer_and_another_one_takes_over() {
    let (display, folder) = (Display::start(&[]), Folder::new("stalled-window"));
    for case in CALLS {
        println!("{case:?}");
        let mut session = hanging(&display, &folder, case, &["--device-timeout", "80000"]);
        let silent = if case.1 == By::Device { 1 } else { 0 };
        session.wait_for_text(&format!("The OpenCL device '{}' does not answer.", names()[silent]));
        // The window goes on: its keys are heeded, and what they do is drawn.
        session.display.key("F1");
        session.wait_for_text("a minute back, on");
        session.display.key("F1");
        session.wait("the keys gone", |s| !s.shows("a minute back, on"));
        session.display.key("ctrl+d");
        session.wait("no word of the device", |s| !s.shows("does not answer"));
        session.wait_for_title("flat");
        session.wait_for_frames();
        let stderr = session.quit();
        let stats = json(&folder.file("s.json"));
        assert_eq!(stats["device"]["index"], 1 - silent, "{case:?}: {stderr}");
        assert_eq!(
            stats["frames"].as_array().unwrap().last().unwrap()["variant"],
            "flat",
            "{case:?}: {stderr}"
        );
    }
}

#[test]
fn a_window_whose_device_does_not_answer_ends_when_it_is_asked_to() {
    let (display, folder) = (Display::start(&[]), Folder::new("stalled-quit"));
    for case in [CALLS[0], CALLS[2], CALLS[11], CALLS[13]] {
        let session = hanging(&display, &folder, case, &[]);
        let stderr = session.quit();
        assert!(!stderr.contains("panicked"), "{case:?}: {stderr}");
        let mut session = hanging(&display, &folder, case, &[]);
        session.signal(libc::SIGTERM);
        let (code, stderr) = finish(session.child.take().unwrap());
        assert_eq!(code, Some(0), "{case:?}: {stderr}");
    }
}

#[test]
fn a_device_that_does_not_answer_is_given_up_for_another_one() {
    let (display, folder) = (Display::start(&[]), Folder::new("stalled-given-up"));
    for case in [CALLS[1], CALLS[7]] {
        let mut session = hanging(&display, &folder, case, &["--device-timeout", "15"]);
        session.wait_for_text("clreel goes on with '");
        session.wait_for_title("flat");
        session.wait_for_frames();
        let stderr = session.quit();
        assert!(stderr.contains("does not answer.\n  A call of its driver has not come back"), "{stderr}");
        assert_eq!(json(&folder.file("s.json"))["device"]["index"], 1, "{stderr}");
    }
}
