//! The window on a headless Wayland compositor: keys, sizes, scale 2, and its end while it is hidden. No time is asserted.
//! Without sway and wtype the tests are skipped, and `./dev test` counts them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::process::send_signal;
use crate::common::window::{Display, PATIENCE, Text, clreel, json, png, run, wait_for_exit};
use testkit::movie::{Folder, Movie, steady};
use testkit::sway::Sway;

/// Returns the command of a window on this compositor, without the desktop's services, that shows movies unfiltered.
fn on(sway: &Sway) -> Command {
    let mut command = clreel(None);
    command.env("WAYLAND_DISPLAY", sway.display()).args(["--variant", "off"]);
    command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("XDG_RUNTIME_DIR");
    command
}

/// A running clreel on a Wayland compositor.
struct Window<'a> {
    sway: &'a Sway,
    child: Option<Child>,
    /// The file to which clreel writes the texts of its overlay.
    texts: PathBuf,
}

impl<'a> Window<'a> {
    /// Starts clreel and waits until its window shows a movie and has the keyboard.
    fn start(sway: &'a Sway, folder: &Folder, command: &mut Command) -> Self {
        let texts = folder.file("texts.json");
        let child = command.env("CLREEL_TEXTS", &texts).stderr(Stdio::piped()).spawn().unwrap();
        let mut window = Self { sway, child: Some(child), texts };
        window.wait("its movie and the keyboard", |w| {
            let found = w.sway.window();
            found.is_some_and(|node| node["focused"] == true) && w.title().contains(" - off")
        });
        window
    }

    fn wait(&mut self, what: &str, mut is_done: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        while !is_done(self) {
            if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().unwrap()) {
                panic!("clreel ended ({status}) before {what}: {}", self.end().1);
            }
            assert!(began.elapsed() < PATIENCE, "no {what}: {:?}, {:?}", self.sway.window(), self.texts());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn title(&self) -> String {
        self.sway.window().map_or_else(String::new, |node| node["name"].as_str().unwrap_or("").to_owned())
    }

    /// Returns the width and height of the window, without its frame, in the compositor's units.
    fn size(&self) -> Option<(u64, u64)> {
        let rect = self.sway.window()?["window_rect"].clone();
        Some((rect["width"].as_u64()?, rect["height"].as_u64()?))
    }

    fn texts(&self) -> Vec<Text> {
        std::fs::read(&self.texts).map_or_else(|_| Vec::new(), |json| serde_json::from_slice(&json).unwrap())
    }

    fn wait_for_text(&mut self, part: &str) {
        self.wait(part, |w| w.texts().iter().any(|t| t.text.contains(part)));
    }

    /// Presses a key and waits until the title contains `part`.
    fn press(&mut self, key: &str, part: &str) {
        self.sway.key(&[], key);
        self.wait(part, |w| w.title().contains(part));
    }

    /// Saves the window by the key S and returns the picture's width and height. `here` is clreel's home folder.
    fn saved_size(&mut self, here: &Path) -> (usize, usize) {
        let pictures = || {
            let entries = std::fs::read_dir(here).unwrap().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.extension().is_some_and(|end| end == "png")).collect::<Vec<_>>()
        };
        self.sway.key(&["shift"], "S");
        self.wait("the picture", |_| {
            pictures().first().is_some_and(|path| path.metadata().is_ok_and(|file| file.len() > 0))
        });
        let [picture] = &pictures()[..] else { panic!("{:?}", pictures()) };
        let (width, height, _) = png(picture);
        std::fs::remove_file(picture).unwrap();
        (width, height)
    }

    /// Waits until the process ends; returns its exit code and stderr.
    fn end(&mut self) -> (Option<i32>, String) {
        wait_for_exit(self.child.take().unwrap())
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn keys_control_the_window_and_the_lack_of_drops_is_named() {
    let Some(sway) = Sway::start() else { return };
    let folder = Folder::new("wayland-keys");
    let film = |name: &str| folder.movie(name, &Movie { stamps_ms: steady(250), ..Movie::default() });
    let (first, second) = (film("first.mkv"), film("second.mkv"));
    let mut window = Window::start(&sway, &folder, on(&sway).arg(&first));
    window.press("3", "first.mkv - flat, r=7");
    window.press("equal", "flat, r=8");
    window.press("space", "flat, r=8, paused");
    window.press("0", "first.mkv - off, paused");
    sway.key(&[], "question");
    window.wait_for_text("not on Wayland: o opens a file");
    sway.key(&[], "Escape");
    window.wait("the table's end", |w| !w.texts().iter().any(|t| t.text.contains("not on Wayland")));
    sway.key(&[], "o");
    window.wait_for_text("Files cannot be dropped on the window on Wayland");
    sway.type_text(second.to_str().unwrap());
    window.wait_for_text(second.to_str().unwrap());
    window.press("Return", "second.mkv - off, paused");
    sway.key(&[], "q");
    assert_eq!(window.end(), (Some(0), String::new()));
}

#[test]
fn a_window_has_the_size_of_the_picture_and_follows_the_compositor() {
    let Some(sway) = Sway::start() else { return };
    let folder = Folder::new("wayland-size");
    let film = Movie { size: (1000, 562), stamps_ms: steady(250), ..Movie::default() };
    let movie = folder.movie("m.mkv", &film);
    let here = folder.file("here");
    std::fs::create_dir(&here).unwrap();
    let mut window =
        Window::start(&sway, &folder, on(&sway).arg(&movie).env("HOME", &here).current_dir(&here));
    window.wait("its size", |w| w.size() == Some((1000, 562)));
    assert_eq!(window.saved_size(&here), (1000, 562));
    sway.command("[app_id=clreel] resize set 700 500");
    window.wait("a smaller size", |w| w.size().is_some_and(|(width, _)| width < 800));
    let (width, height) = window.size().unwrap();
    assert_eq!(window.saved_size(&here), (width as usize, height as usize));
    // The picture becomes finer, and the window stays as large.
    sway.command("output HEADLESS-1 scale 2");
    sway.command("[app_id=clreel] resize set 500 300");
    window.wait("the size at scale 2", |w| w.size().is_some_and(|(width, _)| width < 600));
    let (width, height) = window.size().unwrap();
    assert_eq!(window.saved_size(&here), (2 * width as usize, 2 * height as usize));
    sway.key(&[], "f");
    window.wait("fullscreen", |w| w.size() == Some((640, 360)));
    assert_eq!(window.saved_size(&here), (1280, 720));
    sway.key(&[], "q");
    assert_eq!(window.end().0, Some(0));
}

/// A compositor requests no pictures of a hidden window, and a swap must not wait for that.
#[test]
fn a_hidden_window_ends_by_the_key_and_by_a_signal() {
    let Some(sway) = Sway::start() else { return };
    let folder = Folder::new("wayland-hidden");
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(250), ..Movie::default() });
    let (shot, stats) = (folder.file("s.png"), folder.file("s.json"));
    for by_key in [true, false] {
        let mut command = on(&sway);
        command.arg(&movie).arg("--screenshot").arg(&shot).arg("--stats").arg(&stats);
        let mut window = Window::start(&sway, &folder, &mut command);
        let child = window.child.as_ref().unwrap();
        if by_key {
            // The key arrives before the window is hidden, and is handled after that.
            send_signal(child, libc::SIGSTOP);
            sway.key(&[], "q");
        }
        sway.command("workspace 2");
        let child = window.child.as_ref().unwrap();
        if by_key {
            send_signal(child, libc::SIGCONT);
        } else {
            window.wait("a hidden window", |w| w.sway.window().is_some_and(|node| node["visible"] == false));
            send_signal(window.child.as_ref().unwrap(), libc::SIGTERM);
        }
        let (code, stderr) = window.end();
        assert_eq!(code, Some(0), "by key: {by_key}: {stderr}");
        assert!(json(&stats)["presented"].as_u64().unwrap() >= 1);
        png(&shot);
        std::fs::remove_file(&shot).unwrap();
        sway.command("workspace 1");
    }
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
    let mut window = Window::start(&sway, &folder, both().args(["--window-system", "wayland"]));
    sway.key(&[], "q");
    assert_eq!(window.end().0, Some(0));

    for x11 in [&["--window-system", "x11"][..], &[]] {
        let mut command = both();
        command.args(x11).env("CLREEL_TEXTS", folder.file("texts.json")).stderr(Stdio::piped());
        if x11.is_empty() {
            command.env("CLREEL_WINDOW_SYSTEM", "x11");
        }
        let mut window =
            Window { sway: &sway, child: Some(command.spawn().unwrap()), texts: folder.file("texts.json") };
        let search = ["search", "--onlyvisible", "--class", "clreel"];
        window.wait("a window of X11", |_| !display.xdotool(&search).stdout.is_empty());
        assert!(sway.window().is_none());
        send_signal(window.child.as_ref().unwrap(), libc::SIGTERM);
        assert_eq!(window.end().0, Some(0));
    }

    let mut command = both();
    command.args(["--window-system", "x11"]).env_remove("DISPLAY");
    let (code, stderr) = run(command);
    assert!(code == Some(1) && stderr.contains("window system: DISPLAY is not set"), "{stderr}");
}

#[test]
fn if_the_compositor_disappears_the_statistics_are_written() {
    let Some(mut sway) = Sway::start() else { return };
    let folder = Folder::new("wayland-gone");
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(250), ..Movie::default() });
    let stats = folder.file("s.json");
    let child = {
        let mut window = Window::start(&sway, &folder, on(&sway).arg(&movie).arg("--stats").arg(&stats));
        window.child.take().unwrap()
    };
    sway.server.kill().unwrap();
    let (code, stderr) = wait_for_exit(child);
    assert!(code == Some(1) && stderr.contains("The display is gone"), "{stderr}");
    assert!(json(&stats)["presented"].as_u64().unwrap() >= 1);
}
