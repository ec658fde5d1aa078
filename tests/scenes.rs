//! What fills the window beside the movie, on a virtual display (Xvfb). No time is asserted.

use std::path::{Path, PathBuf};

use crate::common::window::{Display, Session, clip, clreel, json, png, succeed};
use testkit::movie::Folder;

/// Plays the card, without the overlay, to its end; returns the last picture as the filter made it, the window, and the
/// statistics' file.
fn card(display: &Display, folder: &Folder, arguments: &[&str]) -> ((usize, Vec<u8>), Vec<u8>, PathBuf) {
    let (picture, window, stats) = (folder.file("f.png"), folder.file("w.png"), folder.file("s.json"));
    let settings = folder.file("settings.json");
    std::fs::write(&settings, r#"{"overlay_visible": false, "hint_seen": true}"#).unwrap();
    let mut command = clreel(Some(display));
    command.env("CLREEL_SETTINGS", settings).args(["--scene", "card", "--frames", "12"]).args(arguments);
    command.arg("--save-frame").arg(&picture).arg("--screenshot").arg(&window).arg("--stats").arg(&stats);
    succeed(command);
    let (width, _, bytes) = png(&picture);
    ((width, bytes), png(&window).2, stats)
}

fn at((width, bytes): &(usize, Vec<u8>), x: usize, y: usize) -> [i32; 3] {
    std::array::from_fn(|n| bytes[(y * width + x) * 4 + n].into())
}

/// The title of the field for a path.
const FIELD: &str = "Open a movie";

#[test]
fn the_test_card_is_filtered_like_a_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("card"));
    let (plain, window, _) = card(&display, &folder, &["--variant", "off"]);
    let near = |a: [i32; 3], b: [i32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 2);
    // White, yellow, cyan, green, magenta, red, blue, black, at three quarters.
    let bars: [[i32; 3]; 8] =
        [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]];
    for (n, bar) in bars.into_iter().enumerate() {
        let (is, expected) = (at(&plain, n * 160 + 80, 100), bar.map(|on| on * 191));
        assert!(near(is, expected), "bar {n}: {is:?}, not {expected:?}");
    }
    let ramp: Vec<_> = (300..1280).step_by(49).map(|x| at(&plain, x, 310)[1]).collect();
    assert!(ramp.is_sorted() && ramp[ramp.len() - 1] - ramp[0] > 150, "{ramp:?}");
    // The window has a cube where the picture is all of one grey.
    let field = |rgba: &[u8]| {
        let places = (450..700).flat_map(|y| (990..1270).map(move |x| (y * 1280 + x) * 4));
        let ground = plain.1[(440 * 1280 + 980) * 4];
        places.filter(|at| rgba[*at].abs_diff(ground) > 8).count()
    };
    assert_eq!(field(&plain.1), 0);
    assert!(field(&window) > 10_000, "{} pixels of a cube", field(&window));

    let (blurred, _, stats) = card(&display, &folder, &["--variant", "flat", "--radius", "7"]);
    for (n, bar) in bars.into_iter().enumerate() {
        assert!(near(at(&blurred, n * 160 + 80, 100), bar.map(|on| on * 191)), "bar {n} is even inside");
    }
    let across: Vec<_> = (790..812).rev().map(|x| at(&blurred, x, 100)[2]).collect();
    assert!(across.is_sorted() && across[11] > 60 && across[11] < 130, "from red to magenta: {across:?}");
    let sharp: Vec<_> = (790..812).map(|x| at(&plain, x, 100)).collect();
    assert_ne!(sharp[8], at(&blurred, 798, 100), "the edge is soft");
    let stats = json(&stats);
    assert_eq!((stats["movie"]["file"].as_str(), stats["presented"].as_u64()), (Some("test card"), Some(12)));
    let frames = stats["frames"].as_array().unwrap();
    assert!(frames.iter().all(|f| f["variant"] == "flat" && f["filter"].as_f64().unwrap() > 0.0));
}

#[test]
fn v_goes_round_the_scenes_and_the_movie_goes_on_where_it_was() {
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.arg(clip()).args(["--variant", "off"]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("clip.mp4 - off");
    session.press_until_title("space", "paused");
    let here = session.position().unwrap();
    session.press_until_title("v", "test card - off, paused");
    session.wait_for_text("1280 \u{d7} 720");
    // In a pause, too, the card is there.
    session.press_until_title("v", "clip.mp4 on shirts - off, paused");
    session.press_until_title("v", "clip.mp4 - off, paused");
    session.wait("the same place", |s| s.position().as_ref() == Some(&here));
    session.press_until_title("v", "test card");
    session.display.key("space");
    session.wait_for_frames();
    session.display.key("Prior");
    session.wait_for_text("The test card has 1920\u{d7}1080 pixels");
    session.press_until_title("3", "test card - flat, r=7");
    session.press_until_title("equal", "test card - flat, r=8");
    // Its pictures can be sought like a movie's.
    session.display.key("Home");
    session.wait_for_frames();
    session.press_until_title("v", "clip.mp4 on shirts - flat, r=8");
    session.wait_for_frames();
    session.press_until_title("v", "clip.mp4 - flat, r=8");
    session.wait_for_frames();
    session.display.key("Prior");
    session.wait_for_text("This movie has no chapters");
    session.quit();
}

#[test]
fn the_card_needs_no_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("card-alone"));
    let (picture, ..) = card(&display, &folder, &["/nowhere/at/all.mp4", "--variant", "off"]);
    assert_eq!(picture.0, 1280);
    let mut command = clreel(Some(&display));
    command.env("CLREEL_CLIP", folder.file("missing.mp4")).args(["--scene", "card"]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("test card");
    session.wait_for_frames();
    // A movie that is dropped, or opened, takes the window.
    session.display.key("o");
    session.wait_for_text(FIELD);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/clip.mp4");
    session.display.xdotool(&["type", "--delay", "1", path.to_str().unwrap()]);
    session.display.key("Return");
    session.wait_for_title("clip.mp4 - ");
    session.wait_for_frames();
    session.quit();
}

/// How many pixels of the window's middle, where a figure stands, differ between two pictures of it.
fn differing(a: &[u8], b: &[u8]) -> usize {
    let places = (150..650).flat_map(|y| (480..800).map(move |x| (y * 1280 + x) * 4));
    places.filter(|at| (0..3).any(|n| a[at + n].abs_diff(b[at + n]) > 24)).count()
}

#[test]
fn shirts_show_the_filtered_movie() {
    let folder = Folder::new("shirt");
    let shirt = |name: &str, arguments: &[&str]| {
        let out = folder.file(name);
        let mut command = clreel(None);
        command.arg("snapshot").arg(clip()).args(["--scene", "cloth", "--out"]).arg(&out).args(arguments);
        succeed(command);
        let (width, height, rgba) = png(&out);
        assert_eq!((width, height), (1280, 720));
        rgba
    };
    let (plain, again) = (shirt("a.png", &["--variant", "off"]), shirt("b.png", &["--variant", "off"]));
    assert_eq!(differing(&plain, &again), 0, "the same figure each time");
    let later = shirt("c.png", &["--variant", "off", "--at", "2"]);
    assert!(differing(&plain, &later) > 500, "{} pixels of another frame", differing(&plain, &later));
    // What is no shirt stays: the floor beside the feet, and the background.
    for (x, y) in [(40, 40), (1240, 60), (200, 700)] {
        let at = (y * 1280 + x) * 4;
        assert_eq!(plain[at..at + 3], later[at..at + 3], "{x}, {y}");
    }
}

#[test]
fn an_army_walks_in_the_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("army"));
    let shot = folder.file("army.png");
    let mut command = clreel(Some(&display));
    command.arg(clip()).args(["--scene", "cloth", "--variant", "off", "--screenshot"]).arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("clip.mp4 on shirts - off");
    session.wait_for_frames();
    for army in ["4", "9", "25"] {
        session.display.key("Prior");
        session.wait_for_text(&format!("An army of {army} figures"));
        session.wait_for_frames();
    }
    for _ in 0..3 {
        session.display.key("Next");
    }
    session.wait_for_text("An army of one figure");
    session.press_until_title("space", "paused");
    session.press_until_title("space", "clip.mp4 on shirts - off - clreel");
    session.wait_for_frames();
    session.resize(640, 700);
    session.wait_for_frames();
    session.quit();
    // It stands on its feet: above is the background, below are the floor's tiles.
    let (width, height, rgba) = png(&shot);
    assert_eq!((width, height), (640, 700));
    let contrast = |from: (usize, usize), to: (usize, usize)| {
        let places = (from.1..to.1).flat_map(|y| (from.0..to.0).map(move |x| (y * 640 + x) * 4 + 1));
        let levels = places.map(|at| rgba[at]);
        levels.clone().max().unwrap() - levels.min().unwrap()
    };
    let (above, below) = (contrast((420, 0), (640, 10)), contrast((0, 480), (300, 520)));
    assert!(above < 8 && below > 20, "the background differs by {above} levels, the floor by {below}");
}
