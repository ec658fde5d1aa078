//! Whether a device shares textures is asked in a child process before a window tries it: a driver that crashes or hangs
//! there does not take the window down, and the panel of devices says why. What came through is remembered, until a window
//! does not come through. The tests' layer plays the drivers (`tests/gl_sharing`).

use std::path::Path;
use std::process::Command;

use crate::common::window::{Display, Session, clip, clreel, json, run, succeed};
use serde_json::Value;
use testkit::layer;
use testkit::movie::Folder;
use testkit::pair;

const CRASH: &str = "clEnqueueAcquireGLObjects:1:crash";

/// A window that keeps its answers in `cache`.
fn window(display: &Display, cache: &Path, options: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = clreel(Some(display));
    command.envs(layer::environment(options)).env("XDG_CACHE_HOME", cache);
    // PoCL's own cache lies there too by default.
    command.env("POCL_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/asking-pocl"));
    command.arg(clip()).args(["--variant", "flat"]).args(arguments);
    command
}

/// What some filtered frames say of sharing: the path, the reason, and stderr.
fn played(folder: &Folder, mut command: Command) -> (String, String, String) {
    let stats = folder.file("s.json");
    let stderr = succeed({
        command.args(["--frames", "20", "--stats"]).arg(&stats);
        command
    });
    let stats: Value = json(&stats);
    let last = stats["frames"].as_array().unwrap().last().unwrap();
    assert_eq!(last["variant"], "flat", "{stderr}");
    let text = |key: &str| stats[key].as_str().unwrap().to_owned();
    (text("sharing"), text("sharing_reason"), stderr)
}

#[test]
fn a_driver_that_crashes_or_hangs_in_the_test_of_sharing_is_used_with_copies() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-crash"));
    // What hangs has the time that there is without an option: on a busy machine more.
    for (plan, why) in [
        (CRASH, "an abort"),
        ("clCreateFromGLTexture:1:crash", "an abort"),
        ("clEnqueueAcquireGLObjects:1:hang", "did not answer within "),
    ] {
        let cache = folder.file(plan);
        let options = [("FAKE_GPU", "1"), ("FAIL", plan)];
        let (sharing, reason, stderr) = played(&folder, window(&display, &cache, &options, &[]));
        assert_eq!(sharing, "copy", "{plan}: {stderr}");
        assert!(reason.contains("the driver failed") && reason.contains(why), "{plan}: {reason}");
        // Such an answer is not kept: the driver may be mended by the next start.
        let mended = window(&display, &cache, &[("FAKE_GPU", "1")], &[]);
        let (sharing, reason, stderr) = played(&folder, mended);
        assert_eq!(sharing, "zero-copy", "{plan}: {reason} {stderr}");
    }
}

#[test]
fn the_panel_says_of_every_device_whether_it_shares_and_why_not() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-panel"));
    let names = pair::names(clreel(None));
    // Both are graphics cards: which one drives the window is asked, but not of the driver that crashes.
    let options = [("FAKE_GPU", "1"), ("FAIL", CRASH), ("FAIL_DEVICE", names[1].as_str())];
    let mut command = window(&display, &folder.file("cache"), &options, &["--device", &names[0]]);
    command.envs(pair::environment());
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("flat");
    session.choose("Devices");
    session.wait_for_text("Shares textures with OpenGL");
    session
        .wait_for_text("Frames are copied to OpenGL: the driver failed in the test of sharing: It crashed");
    assert!(!session.shows("being tried"), "{:?}", session.texts());
    session.quit();
    // Without sharing there is nothing to ask.
    let mut command = window(&display, &folder.file("cache"), &[("FAKE_GPU", "1")], &["--no-sharing"]);
    command.envs(pair::environment());
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("flat");
    session.choose("Devices");
    session.wait("both lines", |s| {
        s.texts().iter().filter(|t| t.text.ends_with("OpenGL: --no-sharing was given")).count() == 2
    });
    session.quit();
}

#[test]
fn answers_are_remembered_until_a_window_does_not_come_through() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-remembered"));
    let (cache, log) = (folder.file("cache"), folder.file("log"));
    // Each test of sharing reads one image, of 67×35 pixels; frames do not, and what checks conversions reads others.
    let tests = || {
        let reads = layer::calls(&log, "clEnqueueReadImage");
        let count = reads.iter().filter(|line| line.ends_with("bytes=9380")).count();
        let _ = std::fs::remove_file(&log);
        count
    };
    let options = |plan| [("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap()), ("FAIL", plan)];
    let frames = |plan| window(&display, &cache, &options(plan), &[]);
    assert_eq!(played(&folder, frames("")).0, "zero-copy");
    assert!(cache.join("clreel/sharing.json").exists());
    assert_eq!(tests(), 2, "in a child, then in the window");
    assert_eq!(played(&folder, frames("")).0, "zero-copy");
    assert_eq!(tests(), 1, "asked again");
    // The driver came through before, and now it crashes in the window. The next start asks first.
    let (code, stderr) = run({
        let mut command = frames(CRASH);
        command.args(["--frames", "20"]);
        command
    });
    assert_eq!(code, None, "{stderr}");
    let (sharing, reason, stderr) = played(&folder, frames(CRASH));
    assert!(sharing == "copy" && reason.contains("an abort"), "{reason} {stderr}");
}

#[test]
fn a_cache_that_cannot_be_used_is_no_error() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-cache"));
    let options = [("FAKE_GPU", "1"), ("POISON", "1")];
    let file = folder.with("file", b"");
    // Others that keep something there may complain.
    let (sharing, _, stderr) = played(&folder, window(&display, &file, &options, &[]));
    assert!(sharing == "zero-copy" && !stderr.contains("sharing.json"), "{stderr}");
    let damaged = folder.file("damaged");
    std::fs::create_dir_all(damaged.join("clreel")).unwrap();
    std::fs::write(damaged.join("clreel/sharing.json"), "{\"schema\":1,\"devices\":[{").unwrap();
    let (sharing, _, stderr) = played(&folder, window(&display, &damaged, &options, &[]));
    assert_eq!((sharing.as_str(), stderr.as_str()), ("zero-copy", ""));
}

#[test]
fn without_sharing_nothing_is_asked() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-not"));
    let log = folder.file("log");
    let options = [("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())];
    let command = window(&display, &folder.file("cache"), &options, &["--no-sharing"]);
    let (sharing, reason, _) = played(&folder, command);
    assert_eq!((sharing.as_str(), reason.as_str()), ("copy", "--no-sharing was given"));
    assert_eq!(layer::calls(&log, "clEnqueueAcquireGLObjects").len(), 0);
    assert!(!folder.file("cache").join("clreel/sharing.json").exists());
}

#[test]
fn a_window_that_is_closed_while_a_driver_hangs_leaves_nothing_behind() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-quit"));
    let runtime = folder.file("runtime");
    std::fs::create_dir_all(&runtime).unwrap();
    let options = [("FAKE_GPU", "1"), ("FAIL", "clEnqueueAcquireGLObjects:1:hang")];
    let mut command = window(&display, &folder.file("cache"), &options, &[]);
    // Longer than this test may take.
    command.env("CLREEL_DRIVER_TIMEOUT", "3600").env("XDG_RUNTIME_DIR", &runtime);
    let mut session = Session::start(&display, &mut command);
    // The movie plays meanwhile, and the panel says what is waited for.
    session.wait_for_title("off");
    session.choose("Devices");
    session.wait_for_text("Sharing: being tried in a process of its own");
    session.wait_for_frames();
    session.quit();
    let left: Vec<_> = std::fs::read_dir(&runtime).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
