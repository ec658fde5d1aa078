//! The real window on a virtual display (Xvfb), driven with real key presses (xdotool): what it shows is read
//! from its screenshot and title, what it counted from its statistics. No time is asserted.

#[path = "common/window.rs"]
mod common;
#[path = "common/movie.rs"]
mod movie;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use common::{Display, Session, clip, clreel, finish, json, png, snapshot};
use movie::{Folder, Movie, on_a_full_disk, steady, turned};
use serde_json::Value;

#[test]
fn plays_the_bundled_clip_and_counts() {
    let (display, folder) = (Display::start(&[]), Folder::new("plays"));
    let (stats, shot, rows) = (folder.file("s.json"), folder.file("s.png"), folder.file("s.csv"));
    let mut command = clreel(Some(&display));
    command.args(["--frames", "60", "--stats"]).arg(&stats).arg("--screenshot").arg(&shot);
    let (code, stderr) = finish(command.stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    let stats = json(&stats);
    assert_eq!(stats["presented"], 60);
    let frames = stats["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 60);
    assert!(frames.iter().any(|f| f["variant"] == "running-sum" && f["filter"].as_f64().unwrap() > 0.0));
    // Time stamps go up, frame by frame.
    let stamps: Vec<f64> = frames.iter().map(|f| f["pts_s"].as_f64().unwrap()).collect();
    let turns = stamps.windows(2).filter(|w| w[1] <= w[0]).count();
    assert!(turns <= 1, "only a loop's end goes back: {stamps:?}");
    let (width, height, _) = png(&shot);
    assert_eq!((width, height), (1280, 720));

    let mut command = clreel(Some(&display));
    command.args(["--frames", "5", "--variant", "off", "--stats"]).arg(&rows);
    assert_eq!(finish(command.spawn().unwrap()).0, Some(0));
    let text = std::fs::read_to_string(&rows).unwrap();
    assert_eq!(text.lines().count(), 6, "a heading and a row for each frame:\n{text}");
}

#[test]
fn keys_change_variant_radius_pause_and_overlay() {
    let (display, folder) = (Display::start(&[]), Folder::new("keys"));
    let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--stats"]).arg(&stats).arg("--screenshot").arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.press_until_title("5", "running-sum, r=7");
    session.press_until_title("4", "vectorized, r=7");
    session.press_until_title("3", "flat, r=7");
    session.press_until_title("equal", "flat, r=8");
    session.press_until_title("minus", "flat, r=7");
    session.press_until_title("2", "separable, r=7");
    session.press_until_title("1", "naive, r=7");
    session.press_until_title("0", "- off");
    session.press_until_title("space", "paused");
    // The picture on the screen is filtered anew while paused.
    session.press_until_title("5", "running-sum, r=7, paused");
    session.press_until_title("minus", "running-sum, r=6, paused");
    session.display.key("i");
    let (code, stderr) = session.quit();
    assert_eq!(code, Some(0), "{stderr}");

    let stats = json(&stats);
    let frames = stats["frames"].as_array().unwrap();
    let mut order: Vec<String> = frames.iter().map(|f| format!("{}{}", f["variant"], f["radius"])).collect();
    order.dedup();
    let order: Vec<String> = order.into_iter().map(|s| s.replace('"', "")).collect();
    for pair in ["running-sum7", "vectorized7", "flat7", "flat8", "separable7", "naive7"].windows(2) {
        let at = |id: &str| order.iter().position(|o| o == id).unwrap_or_else(|| panic!("{id} in {order:?}"));
        assert!(at(pair[0]) < at(pair[1]), "{order:?}");
    }
    // While naive took its time, the window was repainted more often than it got frames.
    let repaints = stats["repaint_ms"]["n"].as_u64().unwrap();
    assert!(repaints > stats["presented"].as_u64().unwrap());

    // The overlay is hidden: the window shows the filtered frame, byte for byte as `snapshot` writes it.
    let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
    assert!(png(&shot) == snapshot(&folder, &clip(), at, "running-sum", "6"), "window and snapshot differ");
}

#[test]
fn the_overlay_covers_only_its_panels() {
    let (display, folder) = (Display::start(&[]), Folder::new("overlay"));
    let shot = folder.file("s.png");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--frames", "1", "--screenshot"]).arg(&shot);
    assert_eq!(finish(command.stderr(Stdio::piped()).spawn().unwrap()).0, Some(0));
    let ((width, height, window), (_, _, movie)) = (png(&shot), snapshot(&folder, &clip(), 0.0, "off", "7"));
    let differ = |x: usize, y: usize| {
        let at = (y * width + x) * 4;
        window[at..at + 4] != movie[at..at + 4]
    };
    let covered =
        (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).filter(|&(x, y)| differ(x, y)).count();
    assert!(covered > width * height / 20, "the overlay is there");
    assert!(covered < width * height / 2, "most of the picture stays free");
    let free = (0..height / 2).all(|y| (width / 2..width).all(|x| !differ(x, y)));
    assert!(free, "the upper right quarter shows the movie as it is");
}

#[test]
fn without_opencl_the_movie_plays_unfiltered() {
    let (display, folder) = (Display::start(&[]), Folder::new("nocl"));
    let stats = folder.file("s.json");
    let mut command = clreel(Some(&display));
    command.env("OCL_ICD_VENDORS", folder.file("none")).args(["--frames", "30", "--stats"]).arg(&stats);
    let (code, stderr) = finish(command.stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("pocl-opencl-icd"), "says what to install: {stderr}");
    let stats = json(&stats);
    assert!(stats["frames"].as_array().unwrap().iter().all(|f| f["variant"] == "off"));
    assert!(stats["device"].is_null());
}

#[test]
fn a_kernel_that_does_not_build_leaves_the_others() {
    let (display, folder) = (Display::start(&[]), Folder::new("broken"));
    std::fs::create_dir_all(folder.file("box_filter")).unwrap();
    std::fs::write(folder.file("box_filter/05_running_sum.cl"), "__kernel void nonsense( { }\n").unwrap();
    let broken = |more: &[&str]| {
        let mut command = clreel(Some(&display));
        command.env("CLREEL_KERNELS", folder.file("")).args(["--variant", "running-sum"]).args(more);
        command
    };
    let mut command = broken(&[]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.press_until_title("4", "vectorized, r=7");
    let (code, stderr) = session.quit();
    assert_eq!(code, Some(0), "{stderr}");
    // Who counts frames waits for the filter, and so for its failure.
    let (code, stderr) = finish(broken(&["--frames", "3"]).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("05_running_sum.cl") && stderr.contains("error"), "the build log: {stderr}");
}

#[test]
fn no_display_and_no_opengl_are_sentences() {
    let (code, stderr) = finish(clreel(None).stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(1));
    assert!(stderr.contains("neither WAYLAND_DISPLAY nor DISPLAY is set"), "{stderr}");

    let mut command = clreel(None);
    command.env("DISPLAY", ":4095");
    let (code, stderr) = finish(command.stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(1));
    assert!(stderr.contains(":4095"), "{stderr}");

    let display = Display::start(&["-extension", "GLX"]);
    let mut command = clreel(Some(&display));
    let nowhere = std::env::temp_dir().join("clreel-no-such-vendor.json");
    command.env("__EGL_VENDOR_LIBRARY_FILENAMES", nowhere);
    let (code, stderr) = finish(command.stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("OpenGL could not be started"), "{stderr}");
}

#[test]
fn a_signal_quits_and_still_writes_the_statistics() {
    let (display, folder) = (Display::start(&[]), Folder::new("signal"));
    let stats = folder.file("s.json");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--stats"]).arg(&stats);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    let child = session.child.take().unwrap();
    let id = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: the child was not waited for yet, so the number is still its own.
    assert_eq!(unsafe { libc::kill(id, libc::SIGTERM) }, 0);
    assert_eq!(finish(child).0, Some(0));
    assert!(json(&stats)["presented"].as_u64().unwrap() >= 1);
}

#[test]
fn a_display_that_disappears_is_a_sentence_and_the_statistics_are_kept() {
    // While it plays, in a pause, and while the filter is at work.
    for (keys, title) in [(&[][..], "- off"), (&["space"], "paused"), (&["4", "equal"], "vectorized, r=8")] {
        let (mut display, folder) = (Display::start(&[]), Folder::new("window-gone"));
        let (stats, settings) = (folder.file("s.json"), folder.file("settings.json"));
        let mut command = clreel(Some(&display));
        command.args(["--variant", "off", "--stats"]).arg(&stats).env("CLREEL_SETTINGS", &settings);
        let mut session = Session::start(&display, &mut command);
        session.wait_for_title("- off");
        keys.iter().for_each(|key| session.display.key(key));
        session.wait_for_title(title);
        let child = session.child.take().unwrap();
        drop(session);
        display.server.kill().unwrap();
        display.server.wait().unwrap();
        let (code, stderr) = finish(child);
        assert_eq!(code, Some(1), "{title}: {stderr}");
        assert!(stderr.contains("The display is gone"), "{title}: {stderr}");
        assert!(!stderr.contains("XIO"), "Xlib's own words are not needed: {stderr}");
        assert!(json(&stats)["presented"].as_u64().unwrap() >= 1, "{title}");
        assert_eq!(settings.exists(), !keys.is_empty(), "{title}: who pressed keys has changed the settings");
    }
}

/// Runs to its end and returns the statistics and stderr; the exit code must be 0.
fn played(display: &Display, folder: &Folder, movie: &Path, arguments: &[&str]) -> (Value, String) {
    let stats = folder.file("stats.json");
    let mut command = clreel(Some(display));
    command.arg(movie).args(arguments).arg("--stats").arg(&stats);
    let (code, stderr) = finish(command.stderr(Stdio::piped()).spawn().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    (json(&stats), stderr)
}

fn stamps(stats: &Value) -> Vec<i64> {
    let frames = stats["frames"].as_array().unwrap();
    frames.iter().map(|f| (f["pts_s"].as_f64().unwrap() * 1e3).round() as i64).collect()
}

#[test]
fn start_unpaced_and_preload_play_what_was_asked_for() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-order"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(10), ..Movie::default() });
    let (stats, _) = played(&display, &folder, &movie, &["--unpaced", "--frames", "15"]);
    // Every frame in its order, and round again.
    let round: Vec<i64> = (0..10).chain(0..5).map(|i| i * 40).collect();
    assert_eq!(stamps(&stats), round);
    assert_eq!((stats["late"].as_u64(), stats["dropped"].as_u64()), (Some(0), Some(0)));

    let (stats, _) = played(&display, &folder, &movie, &["--unpaced", "--frames", "6", "--start", "0.2"]);
    assert_eq!(stamps(&stats), [200, 240, 280, 320, 360, 0]);

    let (stats, _) = played(&display, &folder, &movie, &["--unpaced", "--frames", "7", "--preload", "3"]);
    assert_eq!(stamps(&stats), [0, 40, 80, 0, 40, 80, 0]);
}

#[test]
fn frames_come_at_their_time_stamps_also_at_a_variable_rate() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-vfr"));
    // Long enough that a machine that stalls for a second does not come to the loop's end.
    let pattern = [0, 100, 150, 400, 420, 700, 1000];
    let stamps_ms: Vec<i64> = (0..8).flat_map(|i| pattern.map(|t| t + i * 1200)).collect();
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: stamps_ms.clone(), ..Movie::default() });
    let (stats, _) = played(&display, &folder, &movie, &["--variant", "off", "--frames", "4"]);
    let shown = stamps(&stats);
    // On a loaded machine frames may be left out, but none comes twice, early or out of order.
    assert!(
        shown.windows(2).all(|w| w[0] < w[1]) && shown.iter().all(|t| stamps_ms.contains(t)),
        "{shown:?}"
    );
    let frames = stats["frames"].as_array().unwrap();
    let lead = |f: &Value| f["pts_s"].as_f64().unwrap() - f["presented_at_s"].as_f64().unwrap();
    let first = lead(&frames[0]);
    assert!(
        frames.iter().all(|f| lead(f) - first < 0.1),
        "no frame is shown long before its time: {shown:?}"
    );
}

#[test]
fn pictures_of_another_shape_are_letterboxed() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-letterbox"));
    let shot = folder.file("s.png");
    let grey = Movie { size: (175, 99), stamps_ms: steady(1), ..Movie::default() };
    let movie = folder.movie("m.mkv", &grey);
    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--variant", "off", "--screenshot"]).arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.display.key("i");
    session.resize(1200, 400);
    let (code, stderr) = session.quit();
    assert_eq!(code, Some(0), "{stderr}");
    let (width, height, window) = png(&shot);
    assert_eq!((width, height), (1200, 400));
    let (_, _, picture) = snapshot(&folder, &movie, 0.0, "off", "0");
    // 175:99 at a height of 400 is 707 wide, from 246 to 953.
    let pixel = |x: usize, y: usize| &window[(y * width + x) * 4..][..4];
    for y in [0, 200, 399] {
        for x in [0, 120, 245, 954, 1199] {
            assert_eq!(pixel(x, y), [0, 0, 0, 255], "{x} {y} is beside the picture");
        }
        for x in [247, 600, 951] {
            assert_eq!(pixel(x, y), &picture[..4], "{x} {y} is in the picture");
        }
    }
}

#[test]
fn a_still_picture_stays_and_can_be_filtered() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-still"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(1), ..Movie::default() });
    // It cannot give ten frames, and says so by ending.
    let (stats, _) = played(&display, &folder, &movie, &["--frames", "10"]);
    assert_eq!(stats["presented"], 1);

    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--variant", "off"]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.press_until_title("5", "running-sum, r=7");
    session.press_until_title("equal", "running-sum, r=8");
    session.press_until_title("0", "- off");
    assert_eq!(session.quit().0, Some(0));
}

#[test]
fn a_file_that_is_cut_off_plays_what_it_has() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-cut"));
    let whole =
        folder.movie("whole.mkv", &Movie { size: (320, 240), stamps_ms: steady(50), ..Movie::default() });
    let bytes = std::fs::read(&whole).unwrap();
    let cut = folder.with("cut.mkv", &bytes[..bytes.len() * 6 / 10]);
    let (stats, stderr) = played(&display, &folder, &cut, &["--unpaced", "--frames", "60"]);
    assert_eq!(stats["presented"], 60);
    assert!(stamps(&stats).iter().all(|t| *t < 2000) && stderr.contains("cut off"), "{stderr}");
}

#[test]
fn a_filter_chosen_in_a_pause_is_the_one_after_it() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-pause"));
    let stats = folder.file("s.json");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "running-sum", "--stats"]).arg(&stats);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("running-sum");
    session.press_until_title("space", "paused");
    session.press_until_title("0", "- off, paused");
    session.display.key("space");
    session.wait("playing", |s| !s.title().contains("paused"));
    // Some more frames.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(session.quit().0, Some(0));
    let stats = json(&stats);
    let mut order: Vec<&str> =
        stats["frames"].as_array().unwrap().iter().map(|f| f["variant"].as_str().unwrap()).collect();
    order.dedup();
    // Unfiltered until the filter is built, filtered, and unfiltered for good.
    let expected = ["off", "running-sum", "off"];
    assert!(expected.ends_with(&order), "{order:?}");
}

#[test]
fn frames_that_are_counted_are_filtered() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-counted"));
    let still = folder.movie("m.mkv", &Movie { stamps_ms: steady(1), ..Movie::default() });
    let (stats, _) = played(&display, &folder, &still, &["--variant", "separable", "--frames", "1"]);
    assert_eq!(stats["frames"][0]["variant"], "separable");
    let (stats, _) = played(&display, &folder, &clip(), &["--variant", "flat", "--frames", "3"]);
    assert!(stats["frames"].as_array().unwrap().iter().all(|f| f["variant"] == "flat"));
}

#[test]
fn a_picture_that_no_texture_holds_is_a_sentence() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-wide"));
    let wide = Movie {
        codec: ffmpeg_next::codec::Id::FFV1,
        size: (16400, 16),
        stamps_ms: steady(2),
        ..Movie::default()
    };
    let movie = folder.movie("m.mkv", &wide);
    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--variant", "off", "--frames", "1"]);
    let (code, stderr) = finish(command.stderr(Stdio::piped()).spawn().unwrap());
    // A driver with larger textures than Mesa's shows it.
    let sentence = code == Some(1) && stderr.contains("too large");
    assert!(sentence || code == Some(0), "{code:?} {stderr}");
}

#[test]
fn several_movies_play_one_after_the_other_and_round_again() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-list"));
    let first = folder.movie("first.mkv", &Movie { stamps_ms: steady(4), ..Movie::default() });
    let second =
        folder.movie("second.mkv", &Movie { size: (80, 60), stamps_ms: steady(3), ..Movie::default() });
    let second = second.to_str().unwrap();
    let missing = folder.file("missing.mkv");
    let missing = missing.to_str().unwrap();
    let order = [second, missing, "--variant", "off", "--unpaced", "--frames", "9"];
    let (stats, stderr) = played(&display, &folder, &first, &order);
    assert_eq!(stamps(&stats), [0, 40, 80, 120, 0, 40, 80, 0, 40]);
    assert!(stderr.contains("missing.mkv"), "{stderr}");
    // The one that is missing is left out at the start, too.
    let (stats, stderr) =
        played(&display, &folder, Path::new(missing), &[second, "--unpaced", "--frames", "2"]);
    assert_eq!(stamps(&stats), [0, 40]);
    assert!(stderr.contains("missing.mkv"), "{stderr}");

    let mut command = clreel(Some(&display));
    command.arg(&first).arg(second).arg(clip()).args(["--variant", "off"]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("first.mkv - off");
    session.press_until_title("space", "paused");
    // Also in a pause the other movie's first picture is shown.
    session.press_until_title("greater", "second.mkv - off, paused");
    session.press_until_title("less", "first.mkv - off, paused");
    session.press_until_title("less", "clip.mp4 - off, paused");
    session.display.key("space");
    session.wait("playing", |s| !s.title().contains("paused"));
    assert_eq!(session.quit().0, Some(0));
}

#[test]
fn a_hidden_window_waits_and_goes_on() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-hidden"));
    let stats = folder.file("s.json");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--stats"]).arg(&stats);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    let window = session.window.clone();
    std::thread::sleep(Duration::from_secs(1));
    // As a window manager minimises a window.
    display.xdotool(&["windowunmap", "--sync", &window]);
    std::thread::sleep(Duration::from_secs(3));
    display.xdotool(&["windowmap", "--sync", &window]);
    display.xdotool(&["windowfocus", "--sync", &window]);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(session.quit().0, Some(0));
    let stats = json(&stats);
    let frames = stats["frames"].as_array().unwrap();
    let number = |f: &Value, name: &str| f[name].as_f64().unwrap();
    let shown = |f: &Value| number(f, "presented_at_s");
    let rest =
        frames.windows(2).position(|w| shown(&w[1]) - shown(&w[0]) > 1.5).expect("no frame while hidden");
    let (before, after) = (&frames[rest], &frames[rest + 1]);
    assert!(number(after, "pts_s") - number(before, "pts_s") < 0.5, "the movie waits: {before} {after}");
    assert!(after["interval_ms"].is_null(), "the rest is not in the statistics: {after}");
    assert!(frames.len() > rest + 2, "it goes on");
}

#[test]
fn movies_out_of_the_ordinary_play() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-odd"));
    let ffv1 = ffmpeg_next::codec::Id::FFV1;
    let three = || Movie { stamps_ms: steady(3), ..Movie::default() };
    for (name, movie, variant) in [
        ("pixel.nut", Movie { codec: ffv1, size: (1, 1), ..three() }, "running-sum"),
        ("column.nut", Movie { codec: ffv1, size: (1, 300), ..three() }, "vectorized"),
        ("negative.nut", Movie { offset_ms: -5000, ..three() }, "off"),
        ("ten-hours.mkv", Movie { offset_ms: 36_000_000, ..three() }, "off"),
        ("slow.mkv", Movie { stamps_ms: vec![0, 1000, 2000], ..Movie::default() }, "off"),
        ("fast.mkv", Movie { stamps_ms: vec![0, 8, 17], ..Movie::default() }, "off"),
    ] {
        let path = folder.movie(name, &movie);
        let asked = ["--variant", variant, "--frames", "3", "--unpaced"];
        let (stats, stderr) = played(&display, &folder, &path, &asked);
        assert_eq!(stamps(&stats), movie.stamps_ms, "{name}: {stderr}");
        // By the clock a loaded machine may leave frames out and go round again.
        let (stats, stderr) = played(&display, &folder, &path, &asked[..4]);
        let shown = stamps(&stats);
        assert!(
            shown[0] == 0 && shown.iter().all(|t| movie.stamps_ms.contains(t)),
            "{name}: {shown:?} {stderr}"
        );
        assert!(stats["frames"].as_array().unwrap().iter().all(|f| f["variant"] == variant), "{name}");
    }
}

/// The files in `folder` whose names begin and end so, once there are `count` that are not empty.
fn saved(session: &mut Session, folder: &Path, begin: &str, end: &str, count: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    session.wait(&format!("{count} {begin}*{end}"), |_| {
        found = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                name.starts_with(begin) && name.ends_with(end) && std::fs::metadata(path).unwrap().len() > 0
            })
            .collect();
        found.len() >= count
    });
    found
}

#[test]
fn pictures_statistics_and_keys_are_a_key_away() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-save"));
    let here = folder.file("here");
    std::fs::create_dir_all(&here).unwrap();
    let mut session = Session::start(&display, clreel(Some(&display)).current_dir(&here));
    session.press_until_title("5", "running-sum, r=7");
    session.press_until_title("space", "paused");

    display.key("ctrl+e");
    let stats = json(&saved(&mut session, &here, "clreel-stats-", ".json", 1)[0]);
    let rows = std::fs::read_to_string(&saved(&mut session, &here, "clreel-stats-", ".csv", 1)[0]).unwrap();
    let frames = stats["frames"].as_array().unwrap();
    assert_eq!(rows.lines().count(), frames.len() + 1);
    assert_eq!(stats["presented"].as_u64(), Some(frames.len() as u64), "all frames without --stats");

    // The frame as `snapshot` writes it, without the overlay that lies over it.
    let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
    display.key("s");
    let frame = saved(&mut session, &here, "clreel-frame-", ".png", 1);
    assert!(
        png(&frame[0]) == snapshot(&folder, &clip(), at, "running-sum", "7"),
        "frame and snapshot differ"
    );

    display.key("S");
    let before = saved(&mut session, &here, "clreel-window-", ".png", 1);
    display.key("question");
    display.key("S");
    let both = saved(&mut session, &here, "clreel-window-", ".png", 2);
    let after = both.iter().find(|p| !before.contains(p)).unwrap();
    let ((width, height, before), (_, _, after)) = (png(&before[0]), png(after));
    assert_eq!((width, height), (1280, 720));
    let differ = before.chunks_exact(4).zip(after.chunks_exact(4)).filter(|(a, b)| a != b).count();
    assert!(differ > 50_000, "the table of keys covers a part of the window: {differ} pixels");
    // Keys with Alt are not ours.
    display.key("alt+q");
    display.key("alt+0");
    session.press_until_title("equal", "running-sum, r=8, paused");
    let (code, stderr) = session.quit();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("Saved"), "{stderr}");
}

#[test]
fn saved_pictures_are_turned_as_they_are_shown() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-turned"));
    let one = 1 << 16;
    let movie = folder.with("turned.mp4", &turned(std::fs::read(clip()).unwrap(), [0, one, -one, 0]));
    let mut session =
        Session::start(&display, clreel(Some(&display)).arg(&movie).current_dir(folder.file("")));
    session.press_until_title("4", "vectorized, r=7");
    session.press_until_title("space", "paused");
    session.press_until_title("Home", "vectorized, r=7, paused");
    std::thread::sleep(Duration::from_millis(700));
    session.display.key("s");
    let (width, height, saved) = png(&saved(&mut session, &folder.file(""), "clreel-frame-", ".png", 1)[0]);
    assert_eq!(session.quit().0, Some(0));
    let (across, down, stored) = snapshot(&folder, &clip(), 0.0, "vectorized", "7");
    assert_eq!((width, height), (down, across), "a quarter turn");
    let pixel = |bytes: &[u8], at: usize| bytes[at * 4..][..4].to_vec();
    // Clockwise: the stored left column, from below, is the top row.
    for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width / 3, height / 5)] {
        assert_eq!(pixel(&saved, y * width + x), pixel(&stored, (down - 1 - x) * across + y), "{x} {y}");
    }
    assert!(
        (width, height, saved) == snapshot(&folder, &movie, 0.0, "vectorized", "7"),
        "as snapshot saves it"
    );
}

#[test]
fn a_full_disk_is_a_sentence_and_playing_goes_on() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-full"));
    let here = folder.file("here");
    std::fs::create_dir_all(&here).unwrap();
    let mut command = on_a_full_disk(env!("CARGO_BIN_EXE_clreel"));
    command.env_remove("WAYLAND_DISPLAY").env("DISPLAY", &display.name).env("CLREEL_SETTINGS", "");
    command.env("HOME", &here).stdin(Stdio::null()).args(["--variant", "off"]).current_dir(&here);
    // PoCL ends the process when its compiler cannot write.
    command.env("OCL_ICD_VENDORS", folder.file("none"));
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    // Enough frames for more than these kilobytes.
    std::thread::sleep(Duration::from_secs(5));
    for key in ["ctrl+e", "s"] {
        session.display.key(key);
        std::thread::sleep(Duration::from_millis(700));
    }
    session.press_until_title("space", "paused");
    let (code, stderr) = session.quit();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("clreel-stats-") && stderr.contains("clreel-frame-"), "{stderr}");
    assert_eq!(stderr.matches("could not be written").count(), 2, "{stderr}");
    assert!(!stderr.contains("Saved"), "{stderr}");
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0, "no part of a file is left");
}

#[test]
fn settings_are_remembered_and_a_damaged_file_is_kept() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-settings"));
    let (settings, shot) = (folder.file("new/settings.json"), folder.file("s.png"));
    let mut command = clreel(Some(&display));
    let mut session =
        Session::start(&display, command.args(["--variant", "off"]).env("CLREEL_SETTINGS", &settings));
    session.wait_for_title("- off");
    display.key("i");
    assert_eq!(session.quit().0, Some(0));
    assert_eq!(json(&settings)["overlay_visible"], false);
    assert_eq!(json(&settings)["hint_seen"], true);

    let run = || {
        let mut command = clreel(Some(&display));
        command.args(["--variant", "off", "--frames", "1", "--screenshot"]).arg(&shot);
        let child = command.env("CLREEL_SETTINGS", &settings).stderr(Stdio::piped()).spawn().unwrap();
        let (code, stderr) = finish(child);
        assert_eq!(code, Some(0), "{stderr}");
        stderr
    };
    run();
    let bare = snapshot(&folder, &clip(), 0.0, "off", "7");
    assert!(png(&shot) == bare, "the overlay is still hidden");

    std::fs::write(&settings, "{ nonsense").unwrap();
    let stderr = run();
    assert!(stderr.contains("settings.json.bad"), "{stderr}");
    assert!(png(&shot) != bare, "the overlay is back");
    assert_eq!(std::fs::read_to_string(folder.file("new/settings.json.bad")).unwrap(), "{ nonsense");
}

#[test]
fn seeks_and_steps_show_the_frame_that_was_asked_for() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-seek"));
    // 100 frames in 4 s, a key frame every 25; each frame has a grey of its own.
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(100), gop: 25, ..Movie::default() });
    let stats = folder.file("s.json");
    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--variant", "off", "--start", "1", "--stats"]).arg(&stats);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.press_until_title("space", "paused");
    // Each press asks for a frame; a moment lets it come to the screen, where the statistics see it.
    for key in ["Home", "period", "period", "comma", "Right", "comma"] {
        session.display.key(key);
        std::thread::sleep(Duration::from_millis(700));
    }
    let (code, stderr) = session.quit();
    assert_eq!(code, Some(0), "{stderr}");
    let shown = stamps(&json(&stats));
    // Beyond the end is the last frame.
    let asked = [0, 40, 80, 40, 3960, 3920];
    assert!(shown.ends_with(&asked), "{asked:?} in {shown:?}");
}

#[test]
fn colours_are_corrected_with_and_without_a_filter() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-colour"));
    let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--stats"]).arg(&stats).arg("--screenshot").arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.display.key("c");
    // The left end of the slider for contrast, once it is there: everything becomes nearly the middle grey.
    std::thread::sleep(Duration::from_millis(500));
    session.display.xdotool(&["mousemove", "986", "417"]);
    for button in ["mousedown", "mouseup"] {
        // As long as a finger takes.
        std::thread::sleep(Duration::from_millis(200));
        session.display.xdotool(&[button, "1"]);
    }
    std::thread::sleep(Duration::from_millis(200));
    session.press_until_title("5", "running-sum, r=7");
    session.press_until_title("2", "separable, r=7");
    session.press_until_title("0", "- off");
    session.display.key("i");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(session.quit().0, Some(0));
    let stats = json(&stats);
    let frames = stats["frames"].as_array().unwrap();
    for variant in ["off", "running-sum", "separable"] {
        let last = frames.iter().rev().find(|f| f["variant"] == variant).unwrap();
        assert!(last["correct"].as_f64().unwrap() > 0.0, "{variant}: {last}");
    }
    let (_, _, window) = png(&shot);
    let (least, most) = (window.iter().min().unwrap(), window.chunks(4).map(|p| p[0]).max().unwrap());
    assert!(*least > 60 && most < 200, "contrast is nearly gone: {least} to {most}");
}
