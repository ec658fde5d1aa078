//! The window on a headless Wayland compositor: keys, sizes, scale 2, and its end while it is hidden. No time is asserted.
//! Without sway and wtype the tests are skipped, and `./dev test` counts them.

use std::path::Path;
use std::process::Command;

use crate::common::*;
use testkit::sway::Sway;

/// Returns the command of a window on this compositor, without the desktop's services, that shows movies unfiltered.
fn on(sway: &Sway) -> Command {
    let mut command = clreel(None);
    command.env("WAYLAND_DISPLAY", sway.display()).args(["--variant", "off"]);
    command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("XDG_RUNTIME_DIR");
    command
}

/// Starts clreel and waits until its window shows a movie and has the keyboard.
fn start<'a>(sway: &'a Sway, command: &mut Command) -> Session<'a, Sway> {
    let mut session = Session::spawn(sway, command);
    session.wait("its movie and the keyboard", |s| {
        let found = sway.window();
        found.is_some_and(|node| node["focused"] == true) && s.title().contains(" - off")
    });
    session
}

/// Returns the width and height of the window, without its frame, in the compositor's units.
fn size(sway: &Sway) -> Option<(u64, u64)> {
    let rect = sway.window()?["window_rect"].clone();
    Some((rect["width"].as_u64()?, rect["height"].as_u64()?))
}

/// Saves the window by the key S and returns the picture's width and height. `here` is clreel's home folder.
fn saved_size(session: &mut Session<Sway>, here: &Path) -> (usize, usize) {
    session.display.key(&["shift"], "S");
    let files = session.wait_for_files(here, "", ".png", 1);
    let [picture] = &files[..] else { panic!("{files:?}") };
    let (width, height, _) = png(picture);
    std::fs::remove_file(picture).unwrap();
    (width, height)
}

/// Presses a key and waits until the title contains `part`.
fn press(session: &mut Session<Sway>, key: &str, part: &str) {
    session.display.key(&[], key);
    session.wait_for_title(part);
}

#[test]
fn keys_control_the_window_and_the_lack_of_drops_is_named() {
    let Some(sway) = Sway::start() else { return };
    let folder = Folder::new("wayland-keys");
    let film = |name: &str| folder.movie(name, &Movie { stamps_ms: steady(250), ..Movie::default() });
    let (first, second) = (film("first.mkv"), film("second.mkv"));
    let mut session = start(&sway, on(&sway).arg(&first));
    press(&mut session, "3", "first.mkv - flat, r=7");
    press(&mut session, "equal", "flat, r=8");
    press(&mut session, "space", "flat, r=8, paused");
    press(&mut session, "0", "first.mkv - off, paused");
    sway.key(&[], "question");
    session.wait_for_text("not on Wayland: o opens a file");
    sway.key(&[], "Escape");
    session.wait_for_end_of("not on Wayland");
    sway.key(&[], "o");
    session.wait_for_text("Files cannot be dropped on the window on Wayland");
    sway.type_text(second.to_str().unwrap());
    session.wait_for_text(second.to_str().unwrap());
    press(&mut session, "Return", "second.mkv - off, paused");
    sway.key(&[], "q");
    assert_eq!(session.end(), (Some(0), String::new()));
}

#[test]
fn a_window_has_the_size_of_the_picture_and_follows_the_compositor() {
    let Some(sway) = Sway::start() else { return };
    let folder = Folder::new("wayland-size");
    let film = Movie { size: (1000, 562), stamps_ms: steady(250), ..Movie::default() };
    let (movie, here) = (folder.movie("m.mkv", &film), folder.folder("here"));
    let mut session = start(&sway, on(&sway).arg(&movie).env("HOME", &here).current_dir(&here));
    session.wait("its size", |_| size(&sway) == Some((1000, 562)));
    assert_eq!(saved_size(&mut session, &here), (1000, 562));
    // The picture becomes finer, and the window stays as large.
    for (scale, resize, below) in [(1, "700 500", 800), (2, "500 300", 600)] {
        sway.command(&format!("output HEADLESS-1 scale {scale}"));
        sway.command(&format!("[app_id=clreel] resize set {resize}"));
        session.wait(resize, |_| size(&sway).is_some_and(|(width, _)| width < below));
        let (width, height) = size(&sway).unwrap();
        let expected = (scale * width as usize, scale * height as usize);
        assert_eq!(saved_size(&mut session, &here), expected);
    }
    sway.key(&[], "f");
    session.wait("fullscreen", |_| size(&sway) == Some((640, 360)));
    assert_eq!(saved_size(&mut session, &here), (1280, 720));
    sway.key(&[], "q");
    assert_eq!(session.end().0, Some(0));
}

/// A compositor requests no pictures of a hidden window, and a swap must not wait for that. One that disappears ends the window.
#[test]
fn a_hidden_window_ends_by_the_key_and_by_a_signal_and_one_without_compositor_too() {
    let Some(mut sway) = Sway::start() else { return };
    let folder = Folder::new("wayland-hidden");
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(250), ..Movie::default() });
    let (shot, stats) = (folder.file("s.png"), folder.file("s.json"));
    let window = |sway: &Sway| {
        let mut command = on(sway);
        command.arg(&movie).arg("--screenshot").arg(&shot).arg("--stats").arg(&stats);
        command
    };
    for by_key in [true, false] {
        let mut session = start(&sway, &mut window(&sway));
        if by_key {
            // The key arrives before the window is hidden, and is handled after that.
            session.signal(libc::SIGSTOP);
            sway.key(&[], "q");
            sway.command("workspace 2");
            session.signal(libc::SIGCONT);
        } else {
            sway.command("workspace 2");
            let is_hidden = || sway.window().is_some_and(|node| node["visible"] == false);
            session.wait("a hidden window", |_| is_hidden());
            session.signal(libc::SIGTERM);
        }
        let (code, stderr) = session.end();
        assert_eq!(code, Some(0), "by key: {by_key}: {stderr}");
        assert!(read_json(&stats)["presented"].as_u64().unwrap() >= 1);
        png(&shot);
        std::fs::remove_file(&shot).unwrap();
        sway.command("workspace 1");
    }
    std::fs::remove_file(&stats).unwrap();
    let child = start(&sway, &mut window(&sway)).child.take().unwrap();
    sway.server.kill().unwrap();
    let (code, stderr) = wait_for_exit(child);
    assert!(code == Some(1) && stderr.contains("The display is gone"), "{stderr}");
    assert!(read_json(&stats)["presented"].as_u64().unwrap() >= 1);
}

#[test]
fn the_window_system_can_be_chosen() {
    let Some(sway) = Sway::start() else { return };
    let (display, folder) = (Display::start(&[]), Folder::new("wayland-choice"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(250), ..Movie::default() });
    let both = || {
        let mut command = on(&sway);
        command.arg(&movie).env("DISPLAY", &display.name);
        command
    };
    let session = start(&sway, both().args(["--window-system", "wayland"]));
    sway.key(&[], "q");
    assert_eq!(session.end().0, Some(0));

    let (mut by_option, mut by_variable) = (both(), both());
    by_option.args(["--window-system", "x11"]);
    by_variable.env("CLREEL_WINDOW_SYSTEM", "x11");
    for x11 in [by_option, by_variable] {
        let session = Session::start(&display, x11);
        assert!(sway.window().is_none());
        session.signal(libc::SIGTERM);
        assert_eq!(session.end().0, Some(0));
    }

    let (code, stderr) = run(both().args(["--window-system", "x11"]).env_remove("DISPLAY"));
    assert!(code == Some(1) && stderr.contains("window system: DISPLAY is not set"), "{stderr}");
}
