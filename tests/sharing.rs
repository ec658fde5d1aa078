//! The window with textures shared between OpenGL and OpenCL, by the tests' own layer over a driver that cannot share
//! (`tests/gl_sharing`): the real code path, without a GPU. The layer fills what must not be touched with rubbish, so a
//! forgotten acquire or release would be wrong pixels; `tests/gl_sharing.rs` proves that it is.

#[path = "common/window.rs"]
mod common;
#[path = "common/layer.rs"]
mod layer;
#[path = "common/movie.rs"]
mod movie;
#[path = "common/native.rs"]
mod native;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Display, Session, clip, clreel, json, png, succeed};
use movie::{Folder, Movie, steady};
use serde_json::Value;

const VARIANTS: [&str; 11] = [
    "off",
    "naive",
    "separable",
    "flat",
    "vectorized",
    "running-sum",
    "glsl",
    "native",
    "fused",
    "planar",
    "auto",
];

/// A small movie with odd sizes whose frames differ: its planes have other strides than its pictures.
fn movie(folder: &Folder) -> PathBuf {
    folder.movie("odd.mkv", &Movie { size: (175, 99), stamps_ms: steady(50), ..Movie::default() })
}

fn under_layer(command: &mut Command, options: &[(&str, &str)]) {
    command.envs(layer::environment(options));
}

/// The picture that the window has in its texture, what `clreel snapshot` makes of the same frame, and the statistics.
struct Seen {
    window: Vec<u8>,
    snapshot: Vec<u8>,
    stats: Value,
    stderr: String,
}

fn look(
    folder: &Folder,
    movie: &Path,
    display: &Display,
    filter: (&str, &str),
    options: &[(&str, &str)],
    more: &[&str],
) -> Seen {
    let (picture, stats, snapshot) = (folder.file("w.png"), folder.file("w.json"), folder.file("s.png"));
    let filter = ["--variant", filter.0, "--radius", filter.1, "--device", "0"];
    let mut command = clreel(Some(display));
    under_layer(&mut command, options);
    command.arg(movie).args(filter).args(more).args(["--start", "0.4", "--frames", "3"]);
    command.arg("--save-frame").arg(&picture).arg("--stats").arg(&stats);
    let stderr = succeed(command);
    let stats = json(&stats);
    // The frame that was on the screen at the end.
    let at = stats["frames"].as_array().unwrap().last().unwrap()["pts_s"].as_f64().unwrap();
    let mut command = clreel(None);
    under_layer(&mut command, options);
    command.arg("snapshot").arg(movie).args(filter).args(["--at", &(at + 1e-4).to_string()]);
    command.arg("--out").arg(&snapshot);
    succeed(command);
    Seen { window: png(&picture).2, snapshot: png(&snapshot).2, stats, stderr }
}

#[test]
fn the_texture_holds_the_bytes_of_snapshot_for_every_variant() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-bytes"));
    let movie = movie(&folder);
    for variant in VARIANTS {
        let radii: &[&str] = if variant == "off" { &["0"] } else { &["0", "1", "9"] };
        for radius in radii {
            let options = [("POISON", "1"), ("FAKE_GPU", "1")];
            let seen = look(&folder, &movie, &display, (variant, radius), &options, &[]);
            assert_eq!(seen.stats["sharing"], "zero-copy", "{}", seen.stderr);
            let differ = seen.window.iter().zip(&seen.snapshot).filter(|(a, b)| a != b).count();
            let rows = &seen.stats["frames"];
            assert_eq!(differ, 0, "{variant}, r={radius}: other bytes than snapshot's; {rows}");
        }
    }
}

#[test]
fn it_is_shared_under_egl_and_with_drivers_that_do_not_say_so() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-ways"));
    let movie = movie(&folder);
    for (options, egl) in [
        (vec![("POISON", "1"), ("FAKE_GPU", "1")], true),
        (vec![("POISON", "1"), ("FAKE_GPU", "1"), ("HIDE_EXTENSION", "1")], false),
        (vec![("POISON", "1"), ("FAKE_GPU", "1"), ("GL_EVENT", "1")], false),
        // A CPU device that shares: its frames are converted on the window's thread.
        (vec![("POISON", "1")], false),
    ] {
        let more: &[&str] = if egl { &["--gl", "egl"] } else { &["--gl", "glx"] };
        for variant in ["separable", "running-sum"] {
            let seen = look(&folder, &movie, &display, (variant, "2"), &options, more);
            assert_eq!(seen.stats["sharing"], "zero-copy", "{options:?}: {}", seen.stats["sharing_reason"]);
            assert!(seen.window == seen.snapshot, "{variant}, {options:?}: other bytes than snapshot's");
        }
    }
}

#[test]
fn where_the_self_test_fails_frames_are_copied_and_the_reason_is_said() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-not"));
    let movie = movie(&folder);
    type Options<'a> = Vec<(&'a str, &'a str)>;
    let cases: [(Options, &[&str], &str); 4] = [
        (vec![("NO_INTEROP_EGL", "1")], &["--gl", "egl"], "no OpenCL context"),
        (vec![("FAIL", "clCreateFromGLTexture:1+:-59")], &[], "does not share"),
        (vec![("FAIL", "clEnqueueAcquireGLObjects:1:-5")], &[], "handing a texture to OpenCL"),
        (vec![], &["--no-sharing"], "--no-sharing"),
    ];
    for (options, more, reason) in cases {
        let options = [options, vec![("FAKE_GPU", "1")]].concat();
        let seen = look(&folder, &movie, &display, ("flat", "2"), &options, more);
        assert_eq!(seen.stats["sharing"], "copy");
        let said = seen.stats["sharing_reason"].as_str().unwrap();
        assert!(said.contains(reason), "{options:?}: {said}");
        assert!(seen.window == seen.snapshot, "{options:?}: other bytes than snapshot's");
    }
}

#[test]
fn without_sharing_the_device_converts_the_unfiltered_movie_too() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-off"));
    let movie = movie(&folder);
    let log = folder.file("log");
    let options = [("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())];
    let seen = look(&folder, &movie, &display, ("off", "0"), &options, &["--no-sharing"]);
    assert_eq!(seen.stats["sharing"], "copy");
    assert!(seen.window == seen.snapshot, "other bytes than snapshot's");
    assert!(layer::calls(&log, "clEnqueueReadBuffer").len() >= 3, "{}", seen.stderr);
}

#[test]
fn no_pixels_return_to_the_host_on_the_shared_path() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-log"));
    let movie = movie(&folder);
    let run = |more: &[&str]| {
        let log = folder.file("log");
        let _ = std::fs::remove_file(&log);
        let mut command = clreel(Some(&display));
        under_layer(&mut command, &[("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())]);
        command.arg(&movie).args(["--variant", "running-sum", "--frames", "12"]).args(more);
        succeed(command);
        log
    };
    let reads = |log: &Path| {
        let all = ["clEnqueueReadBuffer", "clEnqueueReadImage", "clEnqueueMapImage"];
        all.iter().map(|function| layer::calls(log, function).len()).sum::<usize>()
    };
    let log = run(&[]);
    // The self-test reads its pattern once; frames would come on top.
    assert!(reads(&log) <= 1, "{}", std::fs::read_to_string(&log).unwrap());
    let (acquired, released) = (
        layer::calls(&log, "clEnqueueAcquireGLObjects").len(),
        layer::calls(&log, "clEnqueueReleaseGLObjects").len(),
    );
    assert!(acquired >= 12 && acquired == released, "{acquired} acquired, {released} released");
    assert!(layer::calls(&log, "misuse").is_empty());
    // The same count finds the copies where frames are copied.
    assert!(reads(&run(&["--no-sharing"])) >= 12);
}

#[test]
fn the_shared_window_resizes_changes_variants_and_devices() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-live"));
    let log = folder.file("log");
    let mut command = clreel(Some(&display));
    under_layer(&mut command, &[("FAKE_GPU", "1"), ("POISON", "1"), ("LOG", log.to_str().unwrap())]);
    let stats = folder.file("s.json");
    let mut session = Session::start(&display, command.arg(clip()).arg("--stats").arg(&stats));
    session.wait_for_title("running-sum");
    session.resize(700, 500);
    session.press_until_title("4", "vectorized");
    // With one device, Ctrl+D starts that one anew.
    let contexts =
        || std::fs::read_to_string(&log).unwrap_or_default().matches("clEnqueueAcquireGLObjects").count();
    let before = contexts();
    session.display.key("ctrl+d");
    session.wait("frames of the new context", |_| contexts() > before + 20);
    session.wait_for_title("vectorized");
    session.press_until_title("3", "flat");
    session.press_until_title("0", "off");
    session.quit();
    assert_eq!(json(&stats)["sharing"], "zero-copy");
    assert!(layer::calls(&log, "misuse").is_empty());
}

#[test]
fn failures_in_the_middle_of_a_frame_are_recovered_from() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-failures"));
    let movie = movie(&folder);
    let cases = [
        // The first calls are also those of programs that are tried when they are built.
        ("clEnqueueNDRangeKernel:900:-5", "started it anew", "zero-copy"),
        ("clEnqueueAcquireGLObjects:300:-59", "started it anew", "zero-copy"),
        ("clEnqueueReleaseGLObjects:300:-5", "started it anew", "zero-copy"),
        ("clEnqueueWriteBuffer:300:-36", "started it anew", "zero-copy"),
        ("clFlush:300:-36", "started it anew", "zero-copy"),
        ("clEnqueueAcquireGLObjects:300+:-59", "copies each frame", "copy"),
    ];
    for (plan, said, sharing) in cases {
        let stats = folder.file("s.json");
        let log = folder.file("log");
        let _ = std::fs::remove_file(&log);
        let mut command = clreel(Some(&display));
        let options = [("FAKE_GPU", "1"), ("POISON", "1"), ("FAIL", plan), ("LOG", log.to_str().unwrap())];
        under_layer(&mut command, &options);
        command
            .arg(&movie)
            .args(["--variant", "running-sum", "--unpaced", "--frames", "450", "--stats"])
            .arg(&stats);
        let stderr = succeed(command);
        assert!(stderr.contains("failed in the middle of a frame"), "{plan}: {stderr}");
        assert!(stderr.contains(said), "{plan}: {stderr}");
        let stats = json(&stats);
        assert_eq!(stats["sharing"], sharing, "{plan}: {stderr}");
        // The filter runs again at the end.
        let last = stats["frames"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["variant"], "running-sum", "{plan}: {stderr}");
    }
}

#[test]
fn a_device_without_memory_ends_in_the_unfiltered_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-memory"));
    let movie = movie(&folder);
    // From the first buffer of all on, and from those of the frames on: the builder's trials come first.
    for plan in ["clCreateBuffer:1+:-4", "clCreateBuffer:8+:-4"] {
        let stats = folder.file("s.json");
        let mut command = clreel(Some(&display));
        under_layer(&mut command, &[("FAKE_GPU", "1"), ("FAIL", plan)]);
        command.arg(&movie).args(["--variant", "running-sum", "--frames", "45", "--stats"]).arg(&stats);
        let stderr = succeed(command);
        assert!(stderr.contains("CL_MEM_OBJECT_ALLOCATION_FAILURE"), "{plan}: {stderr}");
        let last = json(&stats)["frames"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["variant"], "off", "{plan}: {stderr}");
    }
}

#[test]
fn a_device_without_images_filters_with_buffers_and_copies() {
    let (display, folder) = (Display::start(&[]), Folder::new("sharing-images"));
    let movie = movie(&folder);
    let seen = look(&folder, &movie, &display, ("flat", "2"), &[("FAKE_GPU", "1"), ("NO_IMAGES", "1")], &[]);
    assert_eq!(seen.stats["sharing"], "copy");
    assert!(seen.window == seen.snapshot);
}
