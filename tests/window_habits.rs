//! Common conventions of players, in the window on a virtual display.

use crate::common::*;
use testkit::movie::with_display_matrix;

/// Returns the width and height of the window in pixels.
fn size(session: &Session) -> (u32, u32) {
    let geometry = session.display.xdotool(&["getwindowgeometry", "--shell", &session.window]);
    let geometry = text(&geometry.stdout);
    let number = |name: &str| geometry.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    (number("WIDTH=").unwrap_or(0), number("HEIGHT=").unwrap_or(0))
}

#[test]
fn a_window_has_the_shape_of_the_picture_and_fits_the_screen() {
    let (display, folder) = (Display::start(&[]), Folder::new("habits-size"));
    let one = || Movie { stamps_ms: steady(2), ..Movie::default() };
    let plain = Movie { size: (1000, 562), ..one() };
    let wide = Movie { size: (720, 576), pixel_aspect: (64, 45), ..one() };
    let large = Movie { size: (1920, 1080), ..one() };
    let upright = Movie { size: (640, 480), ..one() };
    let upright = std::fs::read(folder.movie("plain.mp4", &upright)).unwrap();
    let upright = folder.with("upright.mp4", with_display_matrix(upright, [0, 1 << 16, -(1 << 16), 0]));
    for (movie, expected) in [
        (folder.movie("plain.mkv", &plain), (1000, 562)),
        (folder.movie("wide.mkv", &wide), (1024, 576)),
        (folder.movie("large.mkv", &large), (1280, 720)),
        (upright, (480, 640)),
    ] {
        let mut session = Session::start(&display, unfiltered(&display).arg(&movie));
        session.wait_for_title("- off");
        session.wait(&format!("{expected:?}"), |s| size(s) == expected);
        session.quit();
    }
}

#[test]
fn the_mouse_pauses_seeks_and_changes_the_radius_and_keys_reach_chapters() {
    let (display, folder) = (Display::start(&[]), Folder::new("habits-mouse"));
    let chapters = vec![(0, "Begin"), (8000, "Middle"), (16_000, "")];
    let film = Movie { size: (1280, 720), stamps_ms: steady(500), gop: 25, chapters, ..Movie::default() };
    let movie = folder.movie("m.mkv", &film);
    let mut session = Session::start(&display, unfiltered(&display).arg(&movie));
    session.wait_for_title("- off");
    let middle = (640, 300);
    session.move_to(middle);
    display.xdotool(&["click", "3"]);
    session.wait_for_title("paused");
    session.display.key("Home");
    session.wait_for_text("0:00.0 / 0:20.0");
    // The wheel over the time, then over the radius.
    let (time, radius) = (session.find("0:00.0 / 0:20.0").center(), session.find("7 px").center());
    session.move_to(time);
    // xdotool sends the wheel as a button, whose release winit counts as another step.
    display.xdotool(&["mousedown", "4"]);
    session.wait_for_text("0:05.0 / 0:20.0");
    display.xdotool(&["mouseup", "4"]);
    session.wait_for_text("0:10.0 / 0:20.0");
    display.xdotool(&["click", "5"]);
    session.wait_for_text("0:00.0 / 0:20.0");
    session.move_to(radius);
    display.xdotool(&["mousedown", "4"]);
    session.wait_for_text("8 px");
    display.xdotool(&["mouseup", "4"]);
    session.wait_for_text("9 px");
    // Small steps.
    for (key, place) in [("shift+Up", "0:05.0"), ("shift+Right", "0:06.0"), ("shift+Left", "0:05.0")] {
        session.display.key(key);
        session.wait_for_text(&format!("{place} / 0:20.0"));
    }
    for (key, said, place) in [
        ("Prior", "Chapter 2 of 3: Middle", "0:08.0"),
        ("Prior", "Chapter 3 of 3", "0:16.0"),
        ("Next", "Chapter 2 of 3: Middle", "0:08.0"),
        ("Next", "Chapter 1 of 3: Begin", "0:00.0"),
    ] {
        session.display.key(key);
        session.wait_for_text(said);
        session.wait_for_text(&format!("{place} / "));
    }
    session.display.key("d");
    session.wait_for_text("mpeg4, yuv420p, BT.709, limited");
    session.display.key("d");
    session.move_to(middle);
    display.xdotool(&["click", "3"]);
    session.wait_for_playing();
    session.quit();
}

#[test]
fn a_bad_file_of_a_list_is_skipped_in_both_directions() {
    let (display, folder) = (Display::start(&[]), Folder::new("habits-list"));
    let film = |name: &str| folder.movie(name, &Movie { stamps_ms: steady(250), ..Movie::default() });
    let (first, last) = (film("first.mkv"), film("last.mkv"));
    let bad = folder.with("bad.mkv", b"no movie");
    let mut session = Session::start(&display, unfiltered(&display).args([&first, &bad, &last]));
    session.wait_for_title("first.mkv - off");
    session.wait_for_text("1/3 \u{b7} first.mkv");
    session.press_until_title("greater", "last.mkv - off");
    session.wait_for_text("3/3 \u{b7} last.mkv");
    session.wait_for_text("bad.mkv' is not a movie");
    session.press_until_title("less", "first.mkv - off");
    session.wait_for_text("1/3 \u{b7} first.mkv");
    // The message stays until a later request succeeds.
    assert!(session.shows("bad.mkv' is not a movie"));
    session.press_until_title("less", "last.mkv - off");
    session.wait_for_end_of("bad.mkv' is not a movie");
    session.press_until_title("space", "paused");
    // In a pause the first picture of the other movie is shown.
    session.press_until_title("greater", "first.mkv - off, paused");
    session.press_until_title("less", "last.mkv - off, paused");
    session.display.key("space");
    session.wait_for_playing();
    let stderr = session.quit();
    assert!(stderr.contains("bad.mkv"), "{stderr}");
}

/// With one device, the key for the next one restarts it and shows a message. A start beyond the end is reported once.
#[test]
fn changing_the_only_device_restarts_it_and_a_start_beyond_the_end_is_reported() {
    let (display, folder) = (Display::start(&[]), Folder::new("habits-device"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    let listed = finish_json(clreel(None).args(["devices", "--json"]), 0);
    let is_alone = listed["devices"].as_array().unwrap().len() == 1;
    let said = if is_alone {
        "There is no other OpenCL device: this one is started anew"
    } else {
        "OpenCL device: "
    };
    let mut session = Session::start(&display, unfiltered(&display).arg(&movie).args(["--start", "1:39"]));
    session.wait_for_text("has no picture at 99.000 s");
    session.press_until_title("3", "flat");
    session.wait_for_frames();
    session.display.key("ctrl+d");
    session.wait_for_text(said);
    session.wait_for_frames();
    let stderr = session.quit();
    assert_eq!(stderr.matches("has no picture at").count(), 1, "{stderr}");
}

/// Keys are identified by position; X's codes are 10 for the first digit, 24 for Q, 66 for CapsLock.
#[test]
fn keys_work_on_every_keyboard_layout_and_with_caps_lock() {
    let (display, folder) = (Display::start(&[]), Folder::new("habits-keyboards"));
    let film = Movie { stamps_ms: steady(3000), gop: 25, ..Movie::default() };
    let movie = folder.movie("m.mkv", &film);
    let mut command = unfiltered(&display);
    // Without a locale dead keys are not composed.
    let mut session = Session::start(&display, command.arg(&movie).env("LC_ALL", "C.UTF-8"));
    session.wait_for_title("- off");
    let mut is_paused = false;
    for (layout, p, y) in [
        ("us dvorak", "27", "28"),
        ("ru", "33", "29"),
        ("gr", "33", "29"),
        ("il", "33", "29"),
        ("cz", "33", "52"),
        ("fr", "33", "29"),
    ] {
        display.keyboard(layout);
        for is_locked in [false, true] {
            let on = format!("on {layout}, CapsLock {is_locked}");
            // The first and the sixth digit, which are plus on a Czech and minus on a French keyboard.
            for (key, shown) in [(y, "planar, r=7"), ("10", "naive, r=7"), ("15", "glsl, r=7")] {
                display.key(key);
                session.wait(&format!("{shown} {on}"), |s| s.title().contains(shown));
            }
            display.key(p);
            session.wait(&format!("pause {on}"), |s| s.title().contains("paused") != is_paused);
            is_paused = !is_paused;
            display.key("66");
        }
    }
    session.press_until_title("33", "paused");
    // A dead key does not wait for a letter: the next key is handled itself.
    display.key("34");
    display.key("26");
    session.wait_for_text("Make an editable copy");
    display.keyboard("ru");
    display.key("26");
    session.wait_for_end_of("Make an editable copy");
    display.key("ctrl+40");
    session.wait_for_text("OpenCL device");
    // Whatever character is on the key that opens it.
    display.key("32");
    session.wait_for_text(PATH_FIELD);
    ["24", "25", "26"].iter().for_each(|key| display.key(key));
    session.wait("what is typed", |s| s.texts().iter().any(|t| t.text == "йцу"));
    display.key("Escape");
    session.wait_for_end_of(PATH_FIELD);
    // With Shift the movie is repeated, without it a part of it.
    display.key("shift+46");
    session.wait_for_text(", once");
    display.key("46");
    session.wait_for_text(", repeats from ");
    display.keyboard("gr");
    display.key("24");
    assert_eq!(session.end(), (Some(0), String::new()));
}
