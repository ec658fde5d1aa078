//! The scenes of the window besides the player, on a virtual display. No time is asserted.

use crate::common::*;

/// Plays the test card to its end without the overlay; returns its last filtered picture, the screenshot of the window, and
/// the statistics.
fn play_card(display: &Display, folder: &Folder, arguments: &[&str]) -> ((usize, Vec<u8>), Vec<u8>, Value) {
    let (picture, window) = (folder.file("f.png"), folder.file("w.png"));
    let settings = folder.with("settings.json", r#"{"overlay_visible": false, "hint_seen": true}"#);
    let mut command = clreel(Some(display));
    command.env("CLREEL_SETTINGS", settings).args(["--scene", "card", "--frames", "12"]).args(arguments);
    let (stats, _) = play(command.arg("--save-frame").arg(&picture).arg("--screenshot").arg(&window));
    let (width, _, bytes) = png(&picture);
    ((width, bytes), png(&window).2, stats)
}

fn pixel_at((width, bytes): &(usize, Vec<u8>), x: usize, y: usize) -> [i32; 3] {
    std::array::from_fn(|n| bytes[(y * width + x) * 4 + n].into())
}

#[test]
fn the_test_card_is_filtered_like_a_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("card"));
    let (plain, window, _) = play_card(&display, &folder, &["--variant", "off"]);
    let near = |a: [i32; 3], b: [i32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 2);
    // White, yellow, cyan, green, magenta, red, blue and black at 75 %.
    let bars: [[i32; 3]; 8] =
        [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]];
    for (n, bar) in bars.into_iter().enumerate() {
        let (is, expected) = (pixel_at(&plain, n * 160 + 80, 100), bar.map(|on| on * 191));
        assert!(near(is, expected), "bar {n}: {is:?}, not {expected:?}");
    }
    let ramp: Vec<_> = (300..1280).step_by(49).map(|x| pixel_at(&plain, x, 310)[1]).collect();
    assert!(ramp.is_sorted() && ramp[ramp.len() - 1] - ramp[0] > 150, "{ramp:?}");
    // The window has a cube in front of the grey part of the picture.
    let field = |rgba: &[u8]| {
        let places = (450..700).flat_map(|y| (990..1270).map(move |x| (y * 1280 + x) * 4));
        let ground = plain.1[(440 * 1280 + 980) * 4];
        places.filter(|at| rgba[*at].abs_diff(ground) > 8).count()
    };
    assert_eq!(field(&plain.1), 0);
    assert!(field(&window) > 10_000, "{} pixels of a cube", field(&window));

    let (blurred, _, stats) = play_card(&display, &folder, &["--variant", "flat", "--radius", "7"]);
    for (n, bar) in bars.into_iter().enumerate() {
        let inside = pixel_at(&blurred, n * 160 + 80, 100);
        assert!(near(inside, bar.map(|on| on * 191)), "bar {n} is even inside");
    }
    let across: Vec<_> = (790..812).rev().map(|x| pixel_at(&blurred, x, 100)[2]).collect();
    assert!(across.is_sorted() && across[11] > 60 && across[11] < 130, "from red to magenta: {across:?}");
    let sharp: Vec<_> = (790..812).map(|x| pixel_at(&plain, x, 100)).collect();
    assert_ne!(sharp[8], pixel_at(&blurred, 798, 100), "the edge is soft");
    assert_eq!((stats["movie"]["file"].as_str(), stats["presented"].as_u64()), (Some("test card"), Some(12)));
    let frames = presented_frames(&stats);
    assert!(frames.iter().all(|f| f["variant"] == "flat" && f["filter"].as_f64().unwrap() > 0.0));
}

#[test]
fn v_cycles_through_the_scenes_and_keeps_the_movies_position() {
    let display = Display::start(&[]);
    let mut session = Session::start(&display, clreel(Some(&display)).arg(clip()).args(["--variant", "off"]));
    session.wait_for_title("clip.mp4 - off");
    session.press_until_title("space", "paused");
    let here = session.position().unwrap();
    session.press_until_title("v", "test card - off, paused");
    session.wait_for_text("1280 \u{d7} 720");
    // The card is drawn in a pause too.
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
    // Seeking works on its pictures as on those of a movie.
    session.display.key("Home");
    session.wait_for_frames();
    session.press_until_title("v", "clip.mp4 on shirts - flat, r=8");
    session.wait_for_frames();
    session.press_until_title("v", "clip.mp4 - flat, r=8");
    session.wait_for_frames();
    session.press_until_message("Prior", "This movie has no chapters");
    session.quit();
}

#[test]
fn the_test_card_needs_no_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("card-alone"));
    let (picture, ..) = play_card(&display, &folder, &["/nowhere/at/all.mp4", "--variant", "off"]);
    assert_eq!(picture.0, 1280);
    let mut command = clreel(Some(&display));
    command.env("CLREEL_CLIP", "/nowhere/missing.mp4").args(["--scene", "card"]);
    let mut session = Session::start(&display, command);
    session.wait_for_title("test card");
    session.wait_for_frames();
    // Opening a movie replaces the card.
    session.type_path("o", clip().to_str().unwrap());
    session.display.key("Return");
    session.wait_for_title("clip.mp4 - ");
    session.wait_for_frames();
    session.quit();
}

/// Counts the pixels that differ between two pictures in the middle of the window, where a figure stands.
fn count_differing(a: &[u8], b: &[u8]) -> usize {
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
    assert_eq!(count_differing(&plain, &again), 0, "the same figure each time");
    let later = shirt("c.png", &["--variant", "off", "--at", "2"]);
    let differing = count_differing(&plain, &later);
    assert!(differing > 500, "{differing} pixels of another frame");
    // Only the shirt changes: the floor and the background do not.
    for (x, y) in [(40, 40), (1240, 60), (200, 700)] {
        let at = (y * 1280 + x) * 4;
        assert_eq!(plain[at..at + 3], later[at..at + 3], "{x}, {y}");
    }
}

#[test]
fn the_number_of_figures_can_be_changed_while_the_movie_plays() {
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
    // The message covers the background while it is there.
    session.wait_for_end_of("An army of one figure");
    session.wait_for_frames();
    session.quit();
    // The figures stand on the floor: above, below the panel of the scene, is the background, below are the tiles.
    let (width, height, rgba) = png(&shot);
    assert_eq!((width, height), (640, 700));
    let contrast = |from: (usize, usize), to: (usize, usize)| {
        let places = (from.1..to.1).flat_map(|y| (from.0..to.0).map(move |x| (y * 640 + x) * 4 + 1));
        let levels = places.map(|at| rgba[at]);
        levels.clone().max().unwrap() - levels.min().unwrap()
    };
    let (above, below) = (contrast((420, 40), (640, 50)), contrast((0, 480), (300, 520)));
    assert!(above < 8 && below > 20, "the background differs by {above} levels, the floor by {below}");
}
