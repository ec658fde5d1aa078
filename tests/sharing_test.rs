//! A child process tests if a device can share textures before a window uses it: a driver that crashes or hangs there
//! does not affect the window, and the panel of devices shows the reason. A success is cached until sharing fails in a
//! window. The tests' OpenCL layer injects the faults (`tests/gl_sharing`).

use std::path::Path;
use std::process::Command;

use crate::common::*;

const CRASH: &str = "clEnqueueAcquireGLObjects:1:crash";

/// Returns the command of a window whose caches lie in `cache`.
fn window(display: &Display, cache: &Path, options: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = clreel(Some(display));
    command.envs(layer::environment(options)).env("XDG_CACHE_HOME", cache);
    command.arg(clip()).args(["--variant", "flat"]).args(arguments);
    command
}

/// Plays 20 filtered frames and returns `sharing` and `sharing_reason` of the statistics, and stderr.
fn play_20_frames(mut command: Command) -> (String, String, String) {
    let (stats, stderr) = play(command.args(["--frames", "20"]));
    let last = presented_frames(&stats).last().unwrap();
    assert_eq!(last["variant"], "flat", "{stderr}");
    let text = |key: &str| stats[key].as_str().unwrap().to_owned();
    (text("sharing"), text("sharing_reason"), stderr)
}

#[test]
fn a_crash_or_hang_in_the_sharing_test_falls_back_to_copies() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-crash"));
    // The hang ends at the default timeout, which is longer on a busy machine.
    for (plan, why) in [
        (CRASH, "SIGABRT"),
        ("clCreateFromGLTexture:1:crash", "SIGABRT"),
        ("clEnqueueAcquireGLObjects:1:hang", "timed out after "),
    ] {
        let cache = folder.file(plan);
        let options = [("FAKE_GPU", "1"), ("FAIL", plan)];
        let (sharing, reason, stderr) = play_20_frames(window(&display, &cache, &options, &[]));
        assert_eq!(sharing, "copy", "{plan}: {stderr}");
        assert!(reason.contains("the driver ") && reason.contains(why), "{plan}: {reason}");
        // A failure is not cached: the driver may be fixed by the next start.
        let mended = window(&display, &cache, &[("FAKE_GPU", "1")], &[]);
        let (sharing, reason, stderr) = play_20_frames(mended);
        assert_eq!(sharing, "zero-copy", "{plan}: {reason} {stderr}");
    }
}

#[test]
fn the_panel_shows_for_each_device_if_it_shares_or_why_not() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-panel"));
    let names = pair::names(clreel(None));
    // Two graphics cards: clreel queries which one drives the window, but not from the driver that crashes.
    let options = [("FAKE_GPU", "1"), ("FAIL", CRASH), ("FAIL_DEVICE", names[1].as_str())];
    let start = |cache: &str, options: &[(&str, &str)], arguments: &[&str]| {
        let mut command = window(&display, &folder.file(cache), options, arguments);
        let mut session = Session::start(&display, command.envs(pair::environment()));
        session.wait_for_title("flat");
        session.choose("Devices");
        session
    };
    let mut session = start("cache", &options, &["--device", &names[0]]);
    session.wait_for_text("Shares textures with OpenGL");
    let crashed = "Frames are copied to OpenGL: the driver crashed in the sandbox (SIGABRT) in the test";
    session.wait_for_text(crashed);
    assert!(!session.shows("being tested in a child process"), "{:?}", session.texts());
    session.quit();
    // With --no-sharing nothing is tested.
    let log = folder.file("log");
    let options = [("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())];
    let mut session = start("untested", &options, &["--no-sharing"]);
    session.wait("both lines", |s| {
        s.texts().iter().filter(|t| t.text.ends_with("OpenGL: --no-sharing was given")).count() == 2
    });
    session.wait_for_frames();
    session.quit();
    layer::assert_written(&log);
    assert_eq!(layer::calls(&log, "clEnqueueAcquireGLObjects").len(), 0);
    assert!(!folder.file("untested/clreel/sharing.json").exists());
}

#[test]
fn a_passed_sharing_test_is_cached_until_sharing_crashes_in_a_window() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-remembered"));
    let (cache, log) = (folder.file("cache"), folder.file("log"));
    // Each test of sharing reads one image of 67×35 pixels; frames do not, and checks of conversions read other sizes.
    let tests = || {
        let reads = layer::calls(&log, "clEnqueueReadImage");
        let count = reads.iter().filter(|line| line.ends_with("bytes=9380")).count();
        let _ = std::fs::remove_file(&log);
        count
    };
    let options = |plan| [("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap()), ("FAIL", plan)];
    let frames = |plan| window(&display, &cache, &options(plan), &[]);
    assert_eq!(play_20_frames(frames("")).0, "zero-copy");
    assert!(cache.join("clreel/sharing.json").exists());
    assert_eq!(tests(), 2, "in a child, then in the window");
    assert_eq!(play_20_frames(frames("")).0, "zero-copy");
    assert_eq!(tests(), 1, "asked again");
    // The driver passed the test before, and now crashes in the window. The next start tests it again.
    let (code, stderr) = run(frames(CRASH).args(["--frames", "20"]));
    assert_eq!(code, None, "{stderr}");
    let (sharing, reason, stderr) = play_20_frames(frames(CRASH));
    assert!(sharing == "copy" && reason.contains("SIGABRT"), "{reason} {stderr}");
}

#[test]
fn an_unusable_cache_of_sharing_tests_is_ignored() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-cache"));
    let options = [("FAKE_GPU", "1"), ("POISON", "1")];
    let file = folder.with("file", b"");
    // Other libraries that have a cache there may print warnings.
    let (sharing, _, stderr) = play_20_frames(window(&display, &file, &options, &[]));
    assert!(sharing == "zero-copy" && !stderr.contains("sharing.json"), "{stderr}");
    let damaged = folder.file("damaged");
    folder.with("damaged/clreel/sharing.json", "{\"schema\":1,\"devices\":[{");
    let (sharing, _, stderr) = play_20_frames(window(&display, &damaged, &options, &[]));
    assert_eq!((sharing.as_str(), stderr.as_str()), ("zero-copy", ""));
}

#[test]
fn closing_the_window_during_a_hanging_test_leaves_no_process_or_file() {
    let (display, folder) = (Display::start(&[]), Folder::new("asking-quit"));
    let runtime = folder.folder("runtime");
    let options = [("FAKE_GPU", "1"), ("FAIL", "clEnqueueAcquireGLObjects:1:hang")];
    let mut command = window(&display, &folder.file("cache"), &options, &[]);
    // The timeout is longer than this test may take.
    command.env("CLREEL_DRIVER_TIMEOUT", "3600").env("XDG_RUNTIME_DIR", &runtime);
    let mut session = Session::start(&display, &mut command);
    // The movie plays meanwhile, and the panel shows the pending test.
    session.wait_for_title("off");
    session.choose("Devices");
    session.wait_for_text("Sharing: being tested in a child process");
    session.wait_for_frames();
    session.quit();
    let left: Vec<_> = std::fs::read_dir(&runtime).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
