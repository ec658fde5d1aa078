//! Movies of all kinds in the real window on a virtual display: which frames it presents, when and in what shape is read
//! from its statistics and screenshots. No time is asserted.

#[path = "common/window.rs"]
mod common;
#[path = "common/movie.rs"]
mod movie;

use std::path::Path;
use std::time::Duration;

use common::{Display, Session, clip, clreel, json, played, png, run, snapshot, stamps};
use movie::{Folder, Movie, steady};
use serde_json::Value;

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
    session.quit();
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
    session.quit();
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
    let (code, stderr) = run(command);
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
    session.quit();
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
    session.wait_for_frames();
    // As a window manager minimises a window.
    display.xdotool(&["windowunmap", "--sync", &window]);
    std::thread::sleep(Duration::from_secs(3));
    display.xdotool(&["windowmap", "--sync", &window]);
    display.xdotool(&["windowfocus", "--sync", &window]);
    // More than one of them.
    session.wait_for_frames();
    session.wait_for_frames();
    session.quit();
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
