//! The window on a virtual display (Xvfb): its start, its statistics, its behaviour without a display, OpenGL or
//! OpenCL, and its end. No time is asserted. Movies and keys are in `window_movies.rs` and `window_keys.rs`.

use crate::common::*;

#[test]
fn plays_the_bundled_clip_and_writes_statistics() {
    let (display, folder) = (Display::start(&[]), Folder::new("plays"));
    let (shot, rows) = (folder.file("s.png"), folder.file("s.csv"));
    let (stats, _) = play(clreel(Some(&display)).args(["--frames", "60", "--screenshot"]).arg(&shot));
    assert_eq!(stats["presented"], 60);
    let frames = presented_frames(&stats);
    assert_eq!(frames.len(), 60);
    assert!(frames.iter().any(|f| f["variant"] == "running-sum" && f["filter"].as_f64().unwrap() > 0.0));
    // The CPU renders here, and its OpenGL has no timer queries.
    let gl_times = ["gl_texture", "gl_present", "gl_overlay"];
    assert!(frames.iter().all(|f| gl_times.iter().all(|time| f[time].is_null())), "{}", frames[30]);
    // Time stamps increase, frame by frame.
    let stamps: Vec<f64> = frames.iter().map(|f| f["pts_s"].as_f64().unwrap()).collect();
    let turns = stamps.windows(2).filter(|w| w[1] <= w[0]).count();
    assert!(turns <= 1, "only a loop's end goes back: {stamps:?}");
    let (width, height, _) = png(&shot);
    assert_eq!((width, height), (1280, 720));

    // One unfiltered frame, with its row below the heading, and the overlay.
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--frames", "1", "--stats"]).arg(&rows).arg("--screenshot").arg(&shot);
    succeed(command);
    let text = std::fs::read_to_string(&rows).unwrap();
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 2, "{text}");
    let ((_, _, window), (_, _, movie)) = (png(&shot), snapshot(&folder, &clip(), 0.0, "off", "7"));
    let differ = |x: usize, y: usize| {
        let at = (y * width + x) * 4;
        window[at..at + 4] != movie[at..at + 4]
    };
    let covered =
        (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).filter(|&(x, y)| differ(x, y)).count();
    assert!(covered > width * height / 20, "the overlay is there");
    assert!(covered < width * height * 11 / 20, "most of the picture stays free");
    // Between the headline and the scoreboard, above the hint.
    let free = (0..height * 6 / 10).all(|y| (width * 2 / 5..width * 7 / 10).all(|x| !differ(x, y)));
    assert!(free, "the middle shows the movie as it is");
}

#[test]
fn other_variants_work_if_a_kernel_does_not_build() {
    let (display, folder) = (Display::start(&[]), Folder::new("broken"));
    folder.with("box_filter/05_running_sum.cl", "__kernel void nonsense( { }\n");
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", &folder).args(["--variant", "running-sum"]);
    let mut session = Session::start(&display, command);
    session.wait_for_title("- off");
    session.press_until_title("4", "vectorized, r=7");
    session.quit();
}

#[test]
fn counted_frames_are_filtered() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-counted"));
    let still = folder.movie("m.mkv", &Movie { stamps_ms: steady(1), ..Movie::default() });
    let (stats, _) = play_movie(&display, &still, &["--variant", "separable", "--frames", "1"]);
    assert_eq!(stats["frames"][0]["variant"], "separable");
    let (stats, _) = play_movie(&display, &clip(), &["--variant", "flat", "--frames", "3"]);
    assert!(presented_frames(&stats).iter().all(|f| f["variant"] == "flat"));
}

#[test]
fn a_missing_display_or_opengl_is_a_message() {
    let display = Display::start(&["-extension", "GLX"]);
    let no_egl = [("DISPLAY", &*display.name), ("__EGL_VENDOR_LIBRARY_FILENAMES", "/nowhere/vendor.json")];
    for (variables, said) in [
        (&[][..], "neither WAYLAND_DISPLAY nor DISPLAY is set"),
        (&[("DISPLAY", ":4095")], ":4095"),
        (&no_egl, "OpenGL could not be started"),
    ] {
        let (code, stderr) = run(clreel(None).envs(variables.iter().copied()));
        assert!(code == Some(1) && stderr.contains(said), "{stderr}");
    }
}

#[test]
fn a_signal_quits_and_writes_the_statistics() {
    let (display, folder) = (Display::start(&[]), Folder::new("signal"));
    let stats = folder.file("s.json");
    let mut command = clreel(Some(&display));
    let mut session = Session::start(&display, command.args(["--variant", "off", "--stats"]).arg(&stats));
    session.wait_for_title("- off");
    session.signal(libc::SIGTERM);
    assert_eq!(session.end().0, Some(0));
    assert!(read_json(&stats)["presented"].as_u64().unwrap() >= 1);
}

#[test]
fn if_the_display_disappears_the_statistics_are_written() {
    // During playback, during a pause, and while a filter runs.
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
        let (code, stderr) = wait_for_exit(child);
        assert_eq!(code, Some(1), "{title}: {stderr}");
        assert!(stderr.contains("The display is gone"), "{title}: {stderr}");
        assert!(!stderr.contains("XIO"), "Xlib's own words are not needed: {stderr}");
        assert!(read_json(&stats)["presented"].as_u64().unwrap() >= 1, "{title}");
        assert_eq!(settings.exists(), !keys.is_empty(), "{title}: who pressed keys has changed the settings");
    }
}

#[test]
fn settings_are_stored_and_a_damaged_file_is_renamed() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-settings"));
    let (settings, shot) = (folder.file("new/settings.json"), folder.file("s.png"));
    let mut command = clreel(Some(&display));
    let mut session =
        Session::start(&display, command.args(["--variant", "off"]).env("CLREEL_SETTINGS", &settings));
    session.wait_for_title("- off");
    display.key("i");
    session.quit();
    assert_eq!(read_json(&settings)["overlay_visible"], false);
    assert_eq!(read_json(&settings)["hint_seen"], true);

    let run = || {
        let mut command = clreel(Some(&display));
        command.env("CLREEL_SETTINGS", &settings).args(["--variant", "off", "--frames", "1", "--screenshot"]);
        succeed(command.arg(&shot))
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
