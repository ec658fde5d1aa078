//! The window with textures shared between OpenGL and OpenCL, by the tests' layer over a driver that cannot share
//! (`tests/gl_sharing`): the real code path, without a GPU. The layer overwrites memory that must not be used at the
//! time, so that a missing acquire or release gives wrong pixels; `tests/gl_sharing.rs` tests that.

use std::path::PathBuf;
use std::process::Command;

use crate::common::*;
use box_filter::VariantId;
use testkit::native;

/// Options of the layer.
type Options<'a> = &'a [(&'a str, &'a str)];

/// The window's picture, the picture by `clreel snapshot` for the same frame, the statistics, and stderr.
struct Pictures {
    window: Vec<u8>,
    snapshot: Vec<u8>,
    stats: Value,
    stderr: String,
}

/// A display, a movie, and a folder for output.
struct Setup {
    display: Display,
    folder: Folder,
    movie: PathBuf,
    frames: usize,
}

impl Setup {
    fn new(name: &str) -> Self {
        let (display, folder) = (Display::start(&[]), Folder::new(name));
        let movie = odd_movie(&folder);
        Self { display, folder, movie, frames: 3 }
    }

    /// Plays some frames; returns the window's picture, its time stamp, the statistics, and stderr.
    fn play(&self, filter: (&str, &str), options: Options, more: &[&str]) -> (Vec<u8>, f64, Value, String) {
        let picture = self.folder.file("w.png");
        let mut command = clreel(Some(&self.display));
        command.envs(layer::environment(options)).arg(&self.movie).args(filter_arguments(filter)).args(more);
        command.args(["--start", "0.4", "--frames", &self.frames.to_string()]);
        let (stats, stderr) = play(command.arg("--save-frame").arg(&picture));
        // The frame on the screen at the end.
        let at = presented_frames(&stats).last().unwrap()["pts_s"].as_f64().unwrap();
        (png(&picture).2, at, stats, stderr)
    }

    /// Returns the picture by `clreel snapshot` for the frame at this time.
    fn snapshot(&self, filter: (&str, &str), options: &[(&str, &str)], at: f64) -> Vec<u8> {
        let snapshot = self.folder.file("s.png");
        let mut command = clreel(None);
        command.envs(layer::environment(options)).arg("snapshot").arg(&self.movie);
        command.args(filter_arguments(filter)).args(["--at", &(at + 1e-4).to_string()]);
        succeed(command.arg("--out").arg(&snapshot));
        png(&snapshot).2
    }

    fn play_and_snapshot(&self, filter: (&str, &str), options: &[(&str, &str)], more: &[&str]) -> Pictures {
        let (window, at, stats, stderr) = self.play(filter, options, more);
        Pictures { window, snapshot: self.snapshot(filter, options, at), stats, stderr }
    }
}

fn filter_arguments<'a>((variant, radius): (&'a str, &'a str)) -> [&'a str; 6] {
    ["--variant", variant, "--radius", radius, "--device", "0"]
}

/// Half of the variants, with radii up to one larger than a third of the picture's height, under GLX, and with two of them under EGL,
/// which makes another context and no other picture.
fn compare_with_snapshot(half: usize) {
    let setup = Setup::new(&format!("sharing-bytes-{half}"));
    let options = [("POISON", "1"), ("FAKE_GPU", "1")];
    for id in VariantId::all().skip(half).step_by(2) {
        let variant = id.name;
        let radii: &[&str] = if variant == "off" { &["0"] } else { &["0", "1", "9", "31"] };
        for radius in radii {
            let mut right: Option<(f64, Vec<u8>)> = None;
            let apis = if ["0", "9"].contains(radius) { &["glx", "egl"][..] } else { &["glx"] };
            for &gl in apis {
                let (filter, more) = ((variant, *radius), ["--gl", gl]);
                let (window, at, stats, stderr) = setup.play(filter, &options, &more);
                let case = format!("{variant}, r={radius}, {gl}");
                // Variants without OpenCL may finish before a device is ready.
                let needs_device = !id.back_end().does_without_opencl();
                let shares = stats["sharing"] == "zero-copy";
                assert!(shares || !needs_device, "{case}: {}; {stderr}", stats["sharing_reason"]);
                // Both runs show the same frame, unless one of them dropped some.
                let known = right.take().filter(|(before, _)| *before == at);
                let wanted = known.map_or_else(|| setup.snapshot(filter, &options, at), |(_, right)| right);
                assert_eq!(window.len(), wanted.len());
                let differ = window.iter().zip(&wanted).filter(|(a, b)| a != b).count();
                assert_eq!(differ, 0, "{case}: other bytes than snapshot's; {}", stats["frames"]);
                right = Some((at, wanted));
            }
        }
    }
}

#[test]
fn shared_textures_equal_snapshot_for_every_second_variant() {
    compare_with_snapshot(0);
}

#[test]
fn shared_textures_equal_snapshot_for_the_other_variants() {
    compare_with_snapshot(1);
}

#[test]
fn textures_are_shared_under_egl_and_without_the_listed_extension() {
    let setup = Setup::new("sharing-ways");
    let log = setup.folder.file("log");
    for (mut options, egl) in [
        (vec![("POISON", "1"), ("FAKE_GPU", "1")], true),
        (vec![("POISON", "1"), ("FAKE_GPU", "1"), ("HIDE_EXTENSION", "1")], false),
        (vec![("POISON", "1"), ("FAKE_GPU", "1"), ("GL_EVENT", "1")], false),
        // The window's thread makes all calls.
        (vec![("POISON", "1"), ("FAKE_GPU", "1"), ("NEEDS_CONTEXT", "1")], false),
        // The window's thread creates the context, the device's thread makes all other calls.
        (vec![("POISON", "1"), ("FAKE_GPU", "1"), ("CONTEXT_ON_GL", "1")], false),
        // A CPU device that shares: its frames are converted on the window's thread.
        (vec![("POISON", "1")], false),
    ] {
        let more: &[&str] = if egl { &["--gl", "egl"] } else { &["--gl", "glx"] };
        let is_here = options.contains(&("NEEDS_CONTEXT", "1"));
        options.push(("LOG", log.to_str().unwrap()));
        for variant in ["separable", "running-sum"] {
            let _ = std::fs::remove_file(&log);
            let seen = setup.play_and_snapshot((variant, "2"), &options, more);
            assert_eq!(seen.stats["sharing"], "zero-copy", "{options:?}: {}", seen.stats["sharing_reason"]);
            assert!(seen.window == seen.snapshot, "{variant}, {options:?}: other bytes than snapshot's");
            let frames = layer::calls(&log, "clEnqueueReleaseGLObjects");
            let last = frames.last().unwrap();
            assert_eq!(!last.contains("thread=without-gl"), is_here, "{options:?}: {last}");
        }
    }
}

#[test]
fn if_the_sharing_test_fails_frames_are_copied_with_the_reason() {
    let setup = Setup::new("sharing-not");
    let log = setup.folder.file("log");
    let cases: [(Options, &[&str], &str, &str); 6] = [
        (&[("NO_INTEROP_EGL", "1")], &["--gl", "egl"], "flat", "no OpenCL context"),
        (&[("FAIL", "clCreateFromGLTexture:1+:-59")], &[], "flat", "does not share"),
        (&[("FAIL", "clEnqueueAcquireGLObjects:1+:-5")], &[], "flat", "handing a texture to OpenCL"),
        (&[("NO_IMAGES", "1")], &[], "flat", ""),
        (&[], &["--no-sharing"], "flat", "--no-sharing"),
        // The device converts the unfiltered movie.
        (&[], &["--no-sharing"], "off", "--no-sharing"),
    ];
    for (options, more, variant, reason) in cases {
        let _ = std::fs::remove_file(&log);
        let options = [options, &[("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())]].concat();
        let seen = setup.play_and_snapshot((variant, "2"), &options, more);
        assert_eq!(seen.stats["sharing"], "copy");
        let said = seen.stats["sharing_reason"].as_str().unwrap();
        assert!(said.contains(reason), "{options:?}: {said}");
        assert!(seen.window == seen.snapshot, "{options:?}: other bytes than snapshot's");
        assert!(layer::calls(&log, "clEnqueueReadBuffer").len() >= 3, "{options:?}: {}", seen.stderr);
    }
}

#[test]
fn a_cpu_device_with_memory_of_its_own_gets_copies() {
    // More frames than slots: the driver's own memory is mapped once for each slot.
    let setup = Setup { frames: 12, ..Setup::new("sharing-own-memory") };
    for (own, variant) in [("1", "running-sum"), ("1", "planar"), ("0", "running-sum"), ("0", "planar")] {
        let log = setup.folder.file("log");
        let _ = std::fs::remove_file(&log);
        let options = [("OWN_MEMORY", own), ("LOG", log.to_str().unwrap())];
        let seen = setup.play_and_snapshot((variant, "3"), &options, &["--no-sharing"]);
        assert!(seen.window == seen.snapshot, "{variant}: other bytes than snapshot's");
        // A frame is copied to the host, or mapped in place.
        let bytes = format!("bytes={}", 175 * 99 * 4);
        let has_size = |line: &&String| line.split(' ').any(|word| word == bytes);
        let [read, mapped] = ["clEnqueueReadBuffer", "clEnqueueMapBuffer"]
            .map(|function| layer::calls(&log, function).iter().filter(has_size).count());
        let (more, less) = if own == "1" { (read, mapped) } else { (mapped, read) };
        let case = format!("{variant}, {own}: {read} read, {mapped} mapped; {}", seen.stderr);
        assert!(more >= setup.frames && more > 2 * less, "{case}");
    }
}

#[test]
fn shared_frames_are_not_read_back_to_the_host() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-log"));
    let movie = odd_movie(&folder);
    let log = folder.file("log");
    // Returns the number of reads of a frame's size: the sharing test and most checks of conversions read other sizes.
    let count_reads = |more: &[&str]| {
        let _ = std::fs::remove_file(&log);
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&[("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())]));
        succeed(command.arg(&movie).args(["--variant", "running-sum", "--frames", "45"]).args(more));
        let calls = ["clEnqueueReadBuffer", "clEnqueueReadImage", "clEnqueueMapImage"]
            .map(|function| layer::calls(&log, function));
        calls.concat().iter().filter(|line| line.split(' ').any(|word| word == "bytes=69300")).count()
    };
    // In spare time each conversion is checked once on a whole picture; that count does not depend on the number of frames.
    assert!(count_reads(&[]) <= 4, "{}", std::fs::read_to_string(&log).unwrap());
    let [acquired, released] = ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"]
        .map(|function| layer::calls(&log, function).len());
    assert!(acquired >= 45 && acquired == released, "{acquired} acquired, {released} released");
    layer::assert_no_misuse(&log, "");
    // The same count finds the copies of the path without sharing.
    assert!(count_reads(&["--no-sharing"]) >= 45);
}

#[test]
fn the_shared_window_resizes_changes_variants_and_devices() {
    for gl in ["glx", "egl"] {
        let (display, folder) = (Display::start(&[]), Folder::new("sharing-live"));
        let log = folder.file("log");
        let options = [("FAKE_GPU", "1"), ("POISON", "1"), ("LOG", log.to_str().unwrap())];
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&options)).arg(clip()).args(["--gl", gl]);
        let mut session = Session::with_stats(&display, command);
        session.wait_for_title("running-sum");
        session.resize(700, 500);
        session.press_until_title("4", "vectorized");
        // With one device, Ctrl+D restarts it.
        let acquired = || layer::calls(&log, "clEnqueueAcquireGLObjects").len();
        let before = acquired();
        session.display.key("ctrl+d");
        session.wait("frames of the new context", |_| acquired() > before + 20);
        session.wait_for_title("vectorized");
        session.resize(900, 400);
        session.press_until_title("3", "flat");
        session.press_until_title("0", "off");
        let stats = session.stats();
        assert_eq!(stats["sharing"], "zero-copy", "{}", stats["sharing_reason"]);
        layer::assert_no_misuse(&log, "");
    }
}

#[test]
fn opengl_is_waited_for_before_each_handover() {
    const FRAMES: usize = 15;
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-waits"));
    let movie = odd_movie(&folder);
    let watch = native::shared_library("clreel_gl_watch", "gl_watch", &["watch.c"], &["-ldl"]);
    for (gl, expire) in [("glx", false), ("egl", true)] {
        let log = folder.file("log");
        let _ = std::fs::remove_file(&log);
        // cl_khr_gl_event synchronises on a thread with a current context only, which the device's thread does not have.
        let options = [("FAKE_GPU", "1"), ("POISON", "1"), ("GL_EVENT", "1")];
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&[&options[..], &[("LOG", log.to_str().unwrap())]].concat()));
        command.env("LD_PRELOAD", &watch).env("WATCH_LOG", &log);
        command.envs(expire.then_some(("WATCH_EXPIRE", "1")));
        command.arg(&movie).args(["--variant", "flat", "--radius", "2", "--gl", gl, "--unpaced"]);
        succeed(command.args(["--frames", &FRAMES.to_string()]));
        let log = std::fs::read_to_string(&log).unwrap();
        // For each handover to OpenCL: true if clreel has waited for OpenGL since the one before.
        let (mut waited, mut handovers, mut fences) = (false, Vec::new(), 0);
        for line in log.lines() {
            match line {
                "glFinish" => waited = true,
                "glClientWaitSync passed" => (waited, fences) = (true, fences + 1),
                _ if line.starts_with("clEnqueueAcquireGLObjects") => {
                    handovers.push(std::mem::take(&mut waited));
                }
                _ => (),
            }
        }
        let unwaited = handovers.iter().filter(|waited| !**waited).count();
        let case = format!("{gl}, expire={expire}: {unwaited} of {}", handovers.len());
        assert!(handovers.len() >= FRAMES, "{case}");
        assert_eq!(unwaited, 0, "{case} not waited for");
        if expire {
            assert!(log.contains("glClientWaitSync expired"), "{case}: nothing was watched");
        } else {
            assert!(fences >= FRAMES / 2, "{case}: {fences} waits for no more than the picture before");
        }
    }
}

#[test]
fn the_graphics_card_that_drives_the_window_is_selected() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-driving"));
    let movie = odd_movie(&folder);
    let names = pair::names(clreel(None));
    let taken = |options: &[(&str, &str)], more: &[&str]| {
        let mut command = clreel(Some(&display));
        command.envs(pair::environment()).envs(layer::environment(options)).arg(&movie);
        let (stats, _) = play(command.args(["--variant", "flat", "--frames", "2"]).args(more));
        stats["device"]["name"].as_str().unwrap().to_owned()
    };
    // A driver that cannot tell: the best device.
    let best = taken(&[("FAKE_GPU", "1"), ("DRIVING_DEVICE", "none of them")], &[]);
    for name in &names {
        let options = [("FAKE_GPU", "1"), ("DRIVING_DEVICE", name)];
        for gl in ["glx", "egl"] {
            assert_eq!(taken(&options, &["--gl", gl]), *name, "{gl}");
        }
        // A CPU that claims to drive the window.
        assert_eq!(taken(&[("DRIVING_DEVICE", name)], &[]), best);
    }
    // An explicit device is taken, whichever drives the window.
    let options = [("FAKE_GPU", "1"), ("DRIVING_DEVICE", names[0].as_str())];
    assert_eq!(taken(&options, &["--device", "1"]), names[1]);
}

/// Only a child process asks for the device that drives OpenGL, since not every loader and driver survives the query.
#[test]
fn a_crash_in_the_query_for_the_opengl_device_does_not_prevent_sharing() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-question"));
    let movie = odd_movie(&folder);
    let dies = "clGetGLContextInfoKHR:1+:crash";
    let refused = format!("{dies},clEnqueueAcquireGLObjects:1+:-59");
    for (plan, hidden, reason) in [
        (dies, "0", ""),
        (dies, "1", ""),
        (refused.as_str(), "0", "-59"),
        (&refused, "1", "the driver does not offer cl_khr_gl_sharing"),
    ] {
        // Twice: the second window reads the cache of the first one.
        for start in 0..2 {
            let mut command = clreel(Some(&display));
            let options = [("FAKE_GPU", "1"), ("FAIL", plan), ("HIDE_EXTENSION", hidden)];
            command.envs(pair::environment()).envs(layer::environment(&options));
            command.env("XDG_CACHE_HOME", folder.file(&format!("cache-{}-{hidden}", plan.len())));
            let (stats, _) = play(command.arg(&movie).args(["--variant", "flat", "--frames", "2"]));
            let said = stats["sharing_reason"].as_str().unwrap_or_default();
            assert_eq!(stats["sharing"] == "zero-copy", reason.is_empty(), "{plan} {hidden} {start}: {said}");
            assert!(said.contains(reason), "{plan} {hidden} {start}: {said}");
        }
    }
}

/// Returns true if a text with this part lies inside a window of 1280 by 720 pixels.
fn is_on_screen(texts: &[Text], part: &str) -> bool {
    let inside = |t: &Text| t.x >= 0.0 && t.y >= 0.0 && t.x + t.width <= 1280.0 && t.y + t.height <= 720.0;
    texts.iter().any(|t| t.text.contains(part) && t.width > 0.0 && inside(t))
}

/// Runs a window in which calls fail as planned, with the filter again at the end; requires these words on stderr and on the
/// screen, and returns the statistics.
fn play_with_failures(mut command: Command, folder: &Folder, options: Options, words: &[&str]) -> Value {
    let shown = folder.file("texts.json");
    let _ = std::fs::remove_file(&shown);
    command.envs(layer::environment(&[&[("FAKE_GPU", "1"), ("POISON", "1")], options].concat()));
    let arguments = ["--variant", "running-sum", "--unpaced"];
    let (stats, stderr) = play(command.env("CLREEL_TEXTS", &shown).arg(odd_movie(folder)).args(arguments));
    let shown: Vec<Text> = serde_json::from_value(read_json(&shown)).unwrap();
    for word in words {
        assert!(stderr.contains(word), "{options:?}, '{word}': {stderr}");
        assert!(is_on_screen(&shown, word), "{options:?}: '{word}' is not on the screen: {shown:?}");
    }
    let last = presented_frames(&stats).last().unwrap();
    assert_eq!(last["variant"], "running-sum", "{options:?}: {stderr}");
    stats
}

#[test]
fn failures_during_a_frame_are_recovered_from() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-failures"));
    // Each code by one of the calls, since all of them are recovered from in one way.
    for (plan, name) in [
        ("clEnqueueNDRangeKernel:200:-4", "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
        ("clEnqueueAcquireGLObjects:100:-5", "CL_OUT_OF_RESOURCES"),
        ("clEnqueueReleaseGLObjects:100:-36", "CL_INVALID_COMMAND_QUEUE"),
        ("clEnqueueNDRangeKernel:200:-59", "CL_INVALID_OPERATION"),
        ("clEnqueueAcquireGLObjects:100:-1000", "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR"),
        ("clEnqueueWriteBuffer:100:-36", "CL_INVALID_COMMAND_QUEUE"),
        ("clEnqueueWriteBuffer:100:-4", "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
        ("clFlush:100:-36", "CL_INVALID_COMMAND_QUEUE"),
        ("clEnqueueBarrierWithWaitList:100:-5", "CL_OUT_OF_RESOURCES"),
        ("clEnqueueAcquireGLObjects:100+:-59", "CL_INVALID_OPERATION"),
    ] {
        let (said, sharing) =
            if plan.contains('+') { ("copies each frame", "copy") } else { ("started it anew", "zero-copy") };
        let mut command = clreel(Some(&display));
        command.args(["--device", "0", "--frames", "200"]);
        // How many calls check programs before and during the first frames depends on the machine's speed.
        let options = [("FAIL", plan), ("SPARE_THREAD", "builder")];
        let words = ["failed in the middle of a frame", name, said];
        let stats = play_with_failures(command, &folder, &options, &words);
        assert_eq!((&stats["sharing"], &stats["device"]["index"]), (&sharing.into(), &0.into()), "{plan}");
    }
}

#[test]
fn a_device_that_keeps_failing_is_replaced_by_another() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-other"));
    let names = pair::names(clreel(None));
    for (failing, plan) in [(0, "clFlush:100+:-36"), (1, "clFlush:300+:-5")] {
        let other = &names[1 - failing];
        let mut command = clreel(Some(&display));
        command.envs(pair::environment()).args(["--device", &failing.to_string(), "--frames", "300"]);
        let options = [("FAIL", plan), ("FAIL_DEVICE", names[failing].as_str())];
        let words = format!("clreel goes on with '{other}'");
        let stats = play_with_failures(command, &folder, &options, &[&words]);
        assert_eq!(stats["device"]["name"], other.as_str(), "{plan}");
        assert_eq!(stats["sharing"], "zero-copy", "{plan}");
    }
}

#[test]
fn without_device_memory_the_movie_plays_unfiltered() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-memory"));
    let movie = odd_movie(&folder);
    // From the first buffer on, and from the buffers of frames on, which follow those of trials.
    for plan in ["clCreateBuffer:1+:-4", "clCreateBuffer:8+:-4"] {
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&[("FAKE_GPU", "1"), ("FAIL", plan)])).arg(&movie);
        let (stats, stderr) = play(command.args(["--variant", "running-sum", "--frames", "45"]));
        assert!(stderr.contains("CL_MEM_OBJECT_ALLOCATION_FAILURE"), "{plan}: {stderr}");
        assert_eq!(presented_frames(&stats).last().unwrap()["variant"], "off", "{plan}: {stderr}");
    }
}
