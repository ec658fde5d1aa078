//! The window on a virtual display, driven by key presses (xdotool): what it shows is read from its screenshot, title and
//! texts, what it counted from its statistics.

use std::path::PathBuf;
use std::process::Stdio;

use crate::common::*;
use testkit::movie::{on_small_disk, with_display_matrix, with_full_disk};

#[test]
fn a_press_and_its_release_count_once_on_a_busy_machine() {
    let display = Display::start(&[]);
    let mut session = Session::without_focus(&display, clreel(Some(&display)).args(["--variant", "off"]));
    session.wait_for_title("- off");
    // The window learns of its focus while the key is down: winit then synthesizes a press, and the real one follows.
    // Handling both would open the panel of keys and close it again.
    session.signal(libc::SIGSTOP);
    session.focus();
    assert!(display.xdotool(&["keydown", "question"]).status.success());
    session.signal(libc::SIGCONT);
    session.wait_for_text("Keys");
    assert!(display.xdotool(&["keyup", "question"]).status.success());
    session.press_until_title("space", "paused");
    session.wait_for_text("Paused");
    assert!(session.shows("Keys"), "{:?}", session.texts());
    display.key("question");
    display.key("c");
    let (title, contrast) = (session.find("Colour correction"), session.find("contrast"));
    // The button is pressed and released between two drawings.
    session.signal(libc::SIGSTOP);
    session.click_at((title.x as i32 - 10, contrast.center().1));
    session.signal(libc::SIGCONT);
    // The value of the slider's left end.
    session.wait("its value", |s| {
        let row = |t: &Text| (t.y - contrast.y).abs() < 8.0 && (title.x..contrast.x).contains(&t.x);
        s.texts().iter().any(|t| row(t) && t.text.parse::<f32>().is_ok_and(|value| value < 0.4))
    });
    session.quit();
}

#[test]
fn keys_change_variant_radius_pause_and_overlay() {
    let (display, folder) = (Display::start(&[]), Folder::new("keys"));
    let shot = folder.file("s.png");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--screenshot"]).arg(&shot);
    let mut session = Session::with_stats(&display, command);
    session.wait_for_title("- off");
    for (key, title) in [
        ("5", "running-sum, r=7"),
        ("4", "vectorized, r=7"),
        ("3", "flat, r=7"),
        ("equal", "flat, r=8"),
        ("minus", "flat, r=7"),
        ("2", "separable, r=7"),
        ("1", "naive, r=7"),
        ("0", "- off"),
        ("5", "running-sum, r=7"),
        ("space", "running-sum, r=7, paused"),
        // The picture on the screen is filtered again during a pause.
        ("minus", "running-sum, r=6, paused"),
        // A filter that was selected in a pause stays selected.
        ("0", "- off, paused"),
    ] {
        session.press_until_title(key, title);
    }
    session.display.key("space");
    session.wait_for_playing();
    session.wait_for_frames();
    session.press_until_title("space", "paused");
    session.press_until_title("5", "running-sum, r=6, paused");
    session.display.key("i");
    let stats = session.stats();
    let frames = presented_frames(&stats);
    let mut order: Vec<String> =
        frames.iter().map(|f| format!("{}{}", f["variant"].as_str().unwrap(), f["radius"])).collect();
    order.dedup();
    for pair in ["running-sum7", "vectorized7", "flat7", "flat8", "separable7", "naive7"].windows(2) {
        let at = |id: &str| order.iter().position(|o| o == id).unwrap_or_else(|| panic!("{id} in {order:?}"));
        assert!(at(pair[0]) < at(pair[1]), "{order:?}");
    }
    assert!(order.last().unwrap().starts_with("off"), "{order:?}");
    // While naive computed, the window was repainted more often than it got frames.
    let repaints = stats["repaint_ms"]["n"].as_u64().unwrap();
    assert!(repaints > stats["presented"].as_u64().unwrap());

    // The overlay is hidden: the window shows the filtered frame, byte for byte as `snapshot` writes it.
    let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
    assert!(png(&shot) == snapshot(&folder, &clip(), at, "running-sum", "6"), "window and snapshot differ");
}

/// Drags a wipe's line from the middle to about column 560; `right` is the label of the right side.
fn drag_line_to_560(session: &mut Session, right: &str) {
    let drag = [
        &["mousemove", "645", "400"][..],
        &["mousedown", "1"],
        &["mousemove", "600", "390"],
        &["mousemove", "560", "380"],
        &["mouseup", "1"],
    ];
    for step in drag {
        session.display.xdotool(step);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let is_left = |t: &Text| t.text.starts_with(right) && t.x < 620.0;
    session.wait("the line where it was dragged to", |s| s.texts().iter().any(is_left));
}

/// Asserts that columns of a window's picture equal those of another picture, in these rows.
fn assert_columns(
    what: &str,
    (window, other): (&Picture, &Picture),
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
) {
    let row = |y: &usize| 4 * (y * window.0 + columns.start)..4 * (y * window.0 + columns.end);
    let wrong: Vec<usize> = rows.filter(|y| window.2[row(y)] != other.2[row(y)]).collect();
    assert!(wrong.is_empty(), "{what}: columns {columns:?} of rows {wrong:?}");
}

/// Before, the textures of the sides have only the visible part of the frame, and parts of earlier frames.
#[test]
fn dragging_the_line_uncovers_the_current_frame() {
    // Also after the whole picture of the first side was saved, which fills its texture.
    for (first, saves) in [("fused", false), ("glsl", false), ("fused", true)] {
        let (display, folder) = (Display::start(&[]), Folder::new("wipe-line"));
        let (shot, here) = (folder.file("s.png"), folder.folder("here"));
        let mut command = clreel(Some(&display));
        command.current_dir(&here).args(["--wipe", &format!("{first}:9,flat:8"), "--screenshot"]).arg(&shot);
        let mut session = Session::with_stats(&display, command);
        session.wait_for_text("flat r=8   p50 ");
        session.wait_for_frames();
        session.wait_for_frames();
        session.press_until_title("space", &format!("{first}, r=9, paused"));
        let line = if saves {
            display.key("s");
            session.wait_for_files(&here, "clreel-frame-", ".png", 1);
            640
        } else {
            drag_line_to_560(&mut session, "flat r=8");
            560
        };
        session.display.key("i");
        let is_hint = |t: &Text| ["Panels", "shows the keys", "Saved"].iter().any(|w| t.text.contains(w));
        session.wait("the overlay's end", |s| !s.texts().iter().any(is_hint));
        let at = presented_frames(&session.stats()).last().unwrap()["pts_s"].as_f64().unwrap();
        let seen = png(&shot);
        // Except the line itself, and its handle.
        for (id, radius, columns) in [(first, "9", 0..line - 6), ("flat", "8", line + 6..seen.0)] {
            let side = snapshot(&folder, &clip(), at, id, radius);
            assert_columns(&format!("{first}, saved {saves}"), (&seen, &side), columns, 100..seen.1);
        }
    }
}

#[test]
fn both_sides_of_an_unpaced_wipe_are_right() {
    let (display, folder) = (Display::start(&[]), Folder::new("wipe-unpaced"));
    let shot = folder.file("s.png");
    for sides in
        [[("fused", "9"), ("fused", "2")], [("fused", "9"), ("off", "0")], [("off", "0"), ("fused", "9")]]
    {
        let wipe = sides.map(|(id, radius)| format!("{id}:{radius}")).join(",");
        let mut command = clreel(Some(&display));
        command.args(["--wipe", &wipe, "--unpaced", "--frames", "40", "--screenshot"]).arg(&shot);
        let at = presented_frames(&play(command).0).last().unwrap()["pts_s"].as_f64().unwrap();
        // Areas without panels, left and right of the line and below the names of the sides.
        for ((id, radius), columns) in sides.into_iter().zip([400..634, 646..880]) {
            let side = snapshot(&folder, &clip(), at, id, radius);
            assert_columns(&wipe, (&png(&shot), &side), columns, 100..480);
        }
    }
}

#[test]
fn every_frame_of_a_wipe_has_both_sides() {
    let (display, folder) = (Display::start(&[]), Folder::new("wipe-order"));
    let saved = folder.file("f.png");
    for (sides, compared) in [("flat:15,off", false), ("flat:15,off", true), ("off,flat:15", false)] {
        let mut command = clreel(Some(&display));
        // The unfiltered side is finished long before the other.
        command.args(["--wipe", sides, "--frames", "12"]).args(compared.then_some("--difference"));
        let (stats, _) = play(command.arg("--save-frame").arg(&saved));
        let frames = presented_frames(&stats);
        let has_both = |f: &Value| f["variant"] == "off" || f["beside"] == "off";
        assert!(frames.len() == 12 && frames.iter().all(has_both), "{frames:#?}");
        let is_filtered = |f: &Value| f["variant"] == "flat" || f["beside"] == "flat r=15";
        assert!(frames.iter().any(is_filtered), "{frames:#?}");
        assert!(frames.iter().all(|f| f["beside"].is_null() || f["compared"] == compared), "{frames:#?}");
        // The whole picture of the first side is saved, with the part behind the second.
        let last = frames.last().unwrap();
        let (at, variant) = (last["pts_s"].as_f64().unwrap(), last["variant"].as_str().unwrap());
        assert!(png(&saved) == snapshot(&folder, &clip(), at, variant, "15"), "{last}");
        // A side without a filter has no time, whichever side that is.
        for frame in frames {
            let takes = |stage: &str| frame[stage].as_f64().unwrap_or_default() > 0.0;
            let filters = |side: &str| !frame[side].is_null() && frame[side] != "off";
            assert_eq!(takes("filter"), filters("variant"), "{frame}");
            assert_eq!(takes("beside_filter"), filters("beside"), "{frame}");
            assert_eq!(takes("difference"), compared && !frame["beside"].is_null(), "{frame}");
        }
    }
}

#[test]
fn a_wipe_shows_two_filters_and_their_differences() {
    let (display, folder) = (Display::start(&[]), Folder::new("wipe"));
    let shot = folder.file("s.png");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "fused", "--radius", "9", "--screenshot"]).arg(&shot);
    let mut session = Session::with_stats(&display, command);
    session.wait_for_title("fused, r=9");
    session.wait_for_frames();
    session.press_until_message("x", "There is one filter");
    display.key("w");
    session.wait("both sides", |s| s.shows("fused r=9   p50 ") && s.texts().iter().any(|t| t.text == "off"));
    session.wait_for_frames();
    // The keys of the filters change the side under the mouse.
    let point = |x: &str| assert!(display.xdotool(&["mousemove", x, "330"]).status.success());
    point("1000");
    display.key("3");
    session.wait_for_text("flat r=9   p50 ");
    session.press_until_title("space", "fused, r=9, paused");
    display.key("equal");
    session.wait_for_text("flat r=10");
    assert!(session.title().contains("fused, r=9"), "the other side is as it was: {}", session.title());
    session.press_until_title("x", "flat, r=10, paused");
    session.wait_for_text("fused r=9");
    point("200");
    session.press_until_title("minus", "flat, r=9, paused");
    session.press_until_title("minus", "flat, r=8, paused");
    // Two programs, and then one for both sides.
    display.key("D");
    session.wait_for_text("by at most");
    let difference_text = session.texts().into_iter().find(|t| t.text.contains("by at most")).unwrap().text;
    session.press_until_title("equal", "flat, r=9, paused");
    session.wait_for_text("identical: 921,600 pixels compared");
    session.press_until_title("minus", "flat, r=8, paused");
    session.wait("the difference again", |s| s.shows(&difference_text));
    display.key("D");
    session.wait("the line again", |s| !s.shows(&difference_text) && s.shows("fused r=9"));
    drag_line_to_560(&mut session, "fused r=9");
    display.key("i");
    let is_bare =
        |s: &mut Session| !s.shows("Panels") && !s.shows("There is one filter") && s.shows("fused r=9");
    session.wait("the overlay's end, and that of its words", is_bare);
    let stats = session.stats();
    let frames = presented_frames(&stats);
    let is_wiped = |frame: &&Value| !frame["beside"].is_null();
    let wiped: Vec<_> = frames.iter().filter(is_wiped).collect();
    assert!(!wiped.is_empty() && wiped.len() < frames.len(), "{} of {}", wiped.len(), frames.len());
    let ms = |frame: &Value, stage: &str| frame[stage].as_f64().unwrap();
    for frame in frames {
        // The time of the second side is in no other stage, and its intervals belong to a setting of their own.
        assert_eq!(ms(frame, "wipe") > 0.0, is_wiped(&frame), "{frame}");
        let is_first = frame["variant"] == "fused" || !is_wiped(&frame);
        assert!(is_first && frame["difference"] == 0.0, "{frame}");
    }
    let beside = |of: &Value| (of["variant"].clone(), of["radius"].clone(), of["beside"].clone());
    let settings = stats["settings"].as_array().unwrap();
    for setting in settings {
        // A device that becomes ready later starts a setting of its own.
        let alike = settings.iter().filter(|other| beside(other) == beside(setting));
        let presented: u64 = alike.map(|alike| alike["presented"].as_u64().unwrap()).sum();
        let of_it = frames.iter().filter(|frame| beside(frame) == beside(setting)).count() as u64;
        assert_eq!(presented, of_it, "{setting}");
    }
    assert!(settings.len() >= 3, "alone, beside off, beside flat");
    assert!(wiped.iter().all(|f| f["beside"] == "off" || f["beside_filter"].as_f64() > Some(0.0)));

    let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
    let seen = png(&shot);
    // Except the line itself, and its handle.
    for (id, radius, columns) in [("flat", "8", 0..554), ("fused", "9", 566..seen.0)] {
        let side = snapshot(&folder, &clip(), at, id, radius);
        assert_columns(id, (&seen, &side), columns, 100..seen.1);
    }
    // The same words as `snapshot` prints.
    let (_, told) = snapshot_of_differences(&folder, at);
    assert_eq!(told, format!("flat r=8 and fused r=9: {difference_text}\n"));
}

/// Takes a snapshot of the differences of two filters; returns it, and what it prints.
fn snapshot_of_differences(folder: &Folder, at: f64) -> (Picture, String) {
    let (map, at) = (folder.file("map.png"), (at + 1e-4).to_string());
    let mut command = clreel(None);
    command.args(["snapshot", "--wipe", "flat:8,fused:9", "--difference", "--at", &at, "--out"]).arg(&map);
    let told = text(&finish(command, 0).stdout);
    (png(&map), told)
}

#[test]
fn the_difference_map_and_its_labels_belong_to_the_frame_on_the_screen() {
    let (display, folder) = (Display::start(&[]), Folder::new("wipe-map"));
    let shot = folder.file("s.png");
    let mut command = clreel(Some(&display));
    command.args(["--wipe", "flat:8,fused:9", "--difference", "--screenshot"]).arg(&shot);
    let mut session = Session::with_stats(&display, command);
    let difference_text =
        |s: &mut Session| s.texts().into_iter().find(|t| t.text.contains("by at most")).map(|t| t.text);
    session.wait("the difference", |s| difference_text(s).is_some());
    session.press_until_title("space", "flat, r=8, paused");
    let mut difference = difference_text(&mut session);
    for _ in 0..2 {
        display.key("period");
        session.wait("the next frame's difference", |s| {
            difference_text(s).is_some_and(|now| Some(&now) != difference.as_ref())
        });
        difference = difference_text(&mut session);
    }
    let lies = |s: &mut Session, sides: [&str; 2]| {
        let texts = s.texts();
        let [left, right] = sides.map(|side| texts.iter().find(|t| t.text.starts_with(side)).map(|t| t.x));
        left < right
    };
    session.wait("the labels", |s| lies(s, ["flat r=8", "fused r=9"]));
    session.press_until_title("x", "fused, r=9, paused");
    session.wait("the labels of swapped sides", |s| lies(s, ["fused r=9", "flat r=8"]));
    session.press_until_title("x", "flat, r=8, paused");
    session.wait("the labels as before", |s| {
        lies(s, ["flat r=8", "fused r=9"]) && difference_text(s) == difference
    });
    display.key("i");
    session.wait("the overlay's end", |s| !s.shows("Panels") && s.shows("fused r=9"));
    let at = presented_frames(&session.stats()).last().unwrap()["pts_s"].as_f64().unwrap();
    let ((_, _, right), told) = snapshot_of_differences(&folder, at);
    let difference = difference.unwrap();
    assert_eq!(told, format!("flat r=8 and fused r=9: {difference}\n"));
    let (width, height, seen) = png(&shot);
    // Except the words above, and the circle around the largest difference.
    let place: Vec<usize> = difference.split(['(', ',', ')']).filter_map(|n| n.trim().parse().ok()).collect();
    let [.., x, y] = place[..] else { panic!("{difference}") };
    let is_free = |i: &usize| i / width >= 100 && (i % width).abs_diff(x).max((i / width).abs_diff(y)) > 14;
    let differs = |i: &usize| seen[4 * i..4 * i + 3] != right[4 * i..4 * i + 3];
    let wrong = (0..width * height).filter(is_free).filter(differs).count();
    assert_eq!(wrong, 0, "pixels of the map");
}

#[test]
fn seeks_and_steps_show_the_requested_frame() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-seek"));
    // 40 frames in 4 s, a key frame every 10; each frame has its own grey.
    let stamps_ms = (0..40).map(|i| i * 100).collect();
    let movie = folder.movie("m.mkv", &Movie { stamps_ms, gop: 10, ..Movie::default() });
    let mut session = Session::with_stats(&display, unfiltered(&display).arg(&movie).args(["--start", "1"]));
    session.wait_for_title("- off");
    session.press_until_title("space", "paused");
    // Each key requests a frame, and the next key follows when that is on the screen. Beyond the end is the last frame.
    let keys =
        [("Home", 0), ("period", 100), ("period", 200), ("comma", 100), ("Right", 3900), ("comma", 3800)];
    for (key, ms) in keys {
        session.display.key(key);
        session.wait_for_text(&format!("0:0{}.{} / ", ms / 1000, ms / 100 % 10));
    }
    let shown = stamps(&session.stats());
    let asked = keys.map(|(_, ms)| ms);
    assert!(shown.ends_with(&asked), "{asked:?} in {shown:?}");
}

#[test]
fn colours_are_corrected_with_and_without_a_filter() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-colour"));
    let shot = folder.file("s.png");
    let mut session = Session::with_stats(&display, unfiltered(&display).arg("--screenshot").arg(&shot));
    session.wait_for_title("- off");
    session.display.key("c");
    // Everything becomes nearly middle grey.
    session.minimize_contrast();
    session.press_until_title("5", "running-sum, r=7");
    session.press_until_title("2", "separable, r=7");
    session.press_until_title("0", "- off");
    session.display.key("i");
    session.wait("the overlay's end", |s| s.texts().is_empty());
    let stats = session.stats();
    let frames = presented_frames(&stats);
    for variant in ["off", "running-sum", "separable"] {
        let last = frames.iter().rev().find(|f| f["variant"] == variant).unwrap();
        assert!(last["correct"].as_f64().unwrap() > 0.0, "{variant}: {last}");
    }
    let (_, _, window) = png(&shot);
    let (least, most) = (window.iter().min().unwrap(), window.chunks(4).map(|p| p[0]).max().unwrap());
    assert!(*least > 60 && most < 200, "contrast is nearly gone: {least} to {most}");
}

#[test]
fn keys_save_pictures_and_statistics_and_show_the_keys() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-save"));
    let here = folder.folder("here");
    let mut session = Session::start(&display, clreel(Some(&display)).current_dir(&here));
    session.press_until_title("5", "running-sum, r=7");
    session.wait_for_frames();
    session.press_until_title("space", "paused");
    // A frame that was on its way may still be presented after the pause: the first frame of the movie stays.
    display.key("Right");
    session.wait("a later frame", |s| s.position().is_some_and(|at| !at.starts_with("0:00.")));
    display.key("Home");
    session.wait_for_text("0:00.0 / ");

    display.key("ctrl+e");
    let trace = read_json(&session.wait_for_files(&here, "clreel-stats-", ".trace.json", 1)[0]);
    let names = session.wait_for_files(&here, "clreel-stats-", ".json", 2);
    let is_trace = |path: &PathBuf| path.to_string_lossy().ends_with(".trace.json");
    let stats = read_json(names.iter().find(|path| !is_trace(path)).unwrap());
    let whole = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["name"] == "frame");
    assert!(whole.count() as u64 == trace["otherData"]["frames"], "without --trace");
    let csv = session.wait_for_files(&here, "clreel-stats-", ".csv", 1);
    let rows = std::fs::read_to_string(&csv[0]).unwrap();
    let frames = presented_frames(&stats);
    assert_eq!(rows.lines().filter(|line| !line.starts_with('#')).count(), frames.len() + 1);
    // A saved run is a result of `bench` for `clreel compare`; a second one replaces nothing.
    display.key("ctrl+r");
    let first = session.wait_for_files(&here, "clreel-run-", ".json", 1);
    display.key("ctrl+r");
    let runs = session.wait_for_files(&here, "clreel-run-", ".json", 2);
    assert!(runs.contains(&first[0]) && read_json(&first[0])["kind"] == "bench");
    let compared = clreel(None).arg("compare").args(&runs).output().unwrap();
    let (table, stderr) = (text(&compared.stdout), text(&compared.stderr));
    assert!(table.contains("radius 7, in the window") && table.contains("running-sum"), "{table}{stderr}");
    assert_eq!(stats["presented"].as_u64(), Some(frames.len() as u64), "all frames without --stats");

    // The frame as `snapshot` writes it, without the overlay above it.
    let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
    display.key("s");
    let frame = session.wait_for_files(&here, "clreel-frame-", ".png", 1);
    let right = snapshot(&folder, &clip(), at, "running-sum", "7");
    assert!(png(&frame[0]) == right, "frame and snapshot differ");

    display.key("S");
    let before = session.wait_for_files(&here, "clreel-window-", ".png", 1);
    display.key("question");
    display.key("S");
    let both = session.wait_for_files(&here, "clreel-window-", ".png", 2);
    let after = both.iter().find(|p| !before.contains(p)).unwrap();
    let ((width, height, before), (_, _, after)) = (png(&before[0]), png(after));
    assert_eq!((width, height), (1280, 720));
    let differ = before.chunks_exact(4).zip(after.chunks_exact(4)).filter(|(a, b)| a != b).count();
    assert!(differ > 50_000, "the table of keys covers a part of the window: {differ} pixels");
    // Keys with Alt are ignored.
    display.key("alt+q");
    display.key("alt+0");
    session.press_until_title("equal", "running-sum, r=8, paused");
    let stderr = session.quit();
    assert!(stderr.contains("Saved"), "{stderr}");
}

#[test]
fn saved_pictures_are_rotated_like_the_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-turned"));
    let turned = with_display_matrix(std::fs::read(clip()).unwrap(), [0, 1 << 16, -(1 << 16), 0]);
    let movie = folder.with("turned.mp4", turned);
    let mut session =
        Session::start(&display, clreel(Some(&display)).arg(&movie).current_dir(folder.file("")));
    session.press_until_title("4", "vectorized, r=7");
    session.press_until_title("space", "paused");
    // Seek to the first frame from another one, so that the display changes.
    session.display.key("Right");
    session.wait_for_frames();
    session.display.key("Home");
    session.wait_for_text("0:00.0 / ");
    session.display.key("s");
    let files = session.wait_for_files(&folder.file(""), "clreel-frame-", ".png", 1);
    let (width, height, saved) = png(&files[0]);
    session.quit();
    let (across, down, stored) = snapshot(&folder, &clip(), 0.0, "vectorized", "7");
    assert_eq!((width, height), (down, across), "a quarter turn");
    let pixel = |bytes: &[u8], at: usize| bytes[at * 4..][..4].to_vec();
    // Clockwise: the stored left column, from below, is the top row.
    for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width / 3, height / 5)] {
        assert_eq!(pixel(&saved, y * width + x), pixel(&stored, (down - 1 - x) * across + y), "{x} {y}");
    }
    let as_snapshot = snapshot(&folder, &movie, 0.0, "vectorized", "7");
    assert!((width, height, saved) == as_snapshot, "as snapshot saves it");
}

#[test]
fn a_full_disk_is_a_message_and_playback_continues() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-full"));
    let here = folder.folder("here");
    let mut command = with_full_disk(env!("CARGO_BIN_EXE_clreel"));
    command.env_remove("WAYLAND_DISPLAY").env("DISPLAY", &display.name).env("CLREEL_SETTINGS", "");
    command.env("HOME", &here).current_dir(&here).stdin(Stdio::null());
    command.args(["--variant", "off", "--unpaced"]);
    // No OpenCL: a driver's compiler writes files, too.
    command.env("OCL_ICD_VENDORS", folder.file("none"));
    // Mesa 25 caches shaders below HOME, whose folder must stay empty.
    command.env("MESA_SHADER_CACHE_DISABLE", "true");
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    // The table of stages counts frames; enough of them for a file above the limit.
    session.display.key("d");
    let presented =
        |t: &Text| t.text.split_once(" presented").and_then(|(n, _)| n.replace(",", "").parse::<u32>().ok());
    session.wait("700 frames", |s| s.texts().iter().filter_map(presented).any(|n| n > 700));
    for (key, file) in [("ctrl+e", "clreel-stats-"), ("s", "clreel-frame-")] {
        session.display.key(key);
        session.wait_for_text(file);
    }
    session.press_until_title("space", "paused");
    let stderr = session.quit();
    assert!(stderr.contains("clreel-stats-") && stderr.contains("clreel-frame-"), "{stderr}");
    assert_eq!(stderr.matches("could not be written").count(), 2, "{stderr}");
    assert!(!stderr.contains("Saved"), "{stderr}");
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0, "no part of a file is left");
}

#[test]
fn nothing_that_is_saved_on_a_full_disk_leaves_a_part_and_there_is_a_message_for_each() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-small-disk"));
    let home = folder.folder("here");
    let Some(mut command) = on_small_disk(env!("CARGO_BIN_EXE_clreel"), &home) else { return };
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    command.arg(folder.movie("m.mkv", &movie)).args(["--variant", "flat", "--device", "0"]);
    let of_test = clreel(Some(&display));
    let (removed, set): (Vec<_>, Vec<_>) = of_test.get_envs().partition(|(_, value)| value.is_none());
    removed.into_iter().for_each(|(name, _)| _ = command.env_remove(name));
    command.envs(set.into_iter().filter_map(|(name, value)| Some((name, value?))));
    // Files are saved to the home folder if the current one cannot be used.
    command.env("HOME", &home).env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
    let mut session = Session::start(&display, command);
    session.wait_for_title("flat");
    session.wait_for_frames();
    // The folder as the window sees it.
    let here = PathBuf::from(format!("/proc/{}/cwd", session.child.as_ref().unwrap().id()));
    let fill = here.join("fill");
    let filled = std::fs::write(&fill, vec![1; 1 << 20]).unwrap_err();
    assert_eq!(filled.kind(), std::io::ErrorKind::StorageFull);
    let kinds =
        [("s", "frame"), ("S", "window"), ("ctrl+l", "ladder"), ("ctrl+r", "run"), ("ctrl+e", "stats")];
    for (key, kind) in kinds {
        display.key(key);
        session.wait_for_text(&format!("clreel-{kind}-"));
        session.wait_for_text("could not be written.");
        session.wait_for_text("No space left on device.");
        session.wait_for_text("Free some space, or choose another disk.");
        let left: Vec<_> = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, std::slice::from_ref(&fill), "after {kind}");
        // The message is dismissed.
        session.click("\u{d7}");
        session.wait_for_end_of("could not be written.");
    }
    // The window picture alone needs more than the disk has: the others are saved now, it is not.
    std::fs::remove_file(&fill).unwrap();
    display.key("s");
    session.wait_for_files(&here, "clreel-frame-", ".png", 1);
    display.key("S");
    session.wait_for_text("clreel-window-");
    session.wait_for_text("could not be written.");
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 1, "only the frame");
    session.wait_for_frames();
    let stderr = session.quit();
    assert_eq!(stderr.matches("could not be written").count(), kinds.len() + 1, "{stderr}");
}

#[test]
fn scopes_heat_map_and_levels_have_keys_buttons_and_stages() {
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    let mut session =
        Session::with_stats(&display, command.arg(clip()).args(["--variant", "flat", "--radius", "2"]));
    session.wait_for_title("clip.mp4 - flat");
    session.wait_for_frames();
    session.display.key("h");
    session.wait_for_text("minimum ");
    session.wait_for_text("auto-levels (off): ");
    // During a pause the picture on the screen is drawn again.
    session.press_until_title("space", "paused");
    session.display.key("a");
    session.wait_for_text("auto-levels: ");
    session.press_until_title("space", "flat, r=2");
    session.wait_for_frames();
    session.click("Auto-levels");
    session.wait_for_text("auto-levels (off): ");
    session.display.key("shift+h");
    session.wait_for_frames();
    // Pictures by the filters in Rust and in OpenGL are measured on the processor.
    session.press_until_title("7", "native");
    session.wait_for_frames();
    session.press_until_title("6", "glsl");
    session.wait_for_frames();
    session.wait_for_text("minimum ");
    session.display.key("a");
    session.wait_for_text("auto-levels: ");
    session.wait_for_frames();
    let stats = session.stats();
    let frames = presented_frames(&stats);
    let took = |stage: &str| frames.iter().filter(|f| f[stage].as_f64().unwrap() > 0.0).count();
    assert!(frames[0]["reduce"] == 0.0 && frames[0]["levels"] == 0.0, "{}", frames[0]);
    assert!(took("reduce") > took("levels") && took("levels") > 0, "{} {}", took("reduce"), took("levels"));
    for variant in ["native", "glsl"] {
        let measured = |f: &Value| f["variant"] == variant && f["reduce"].as_f64().unwrap() > 0.0;
        assert!(frames.iter().any(measured), "{variant} {}", frames[frames.len() - 1]);
    }
}
