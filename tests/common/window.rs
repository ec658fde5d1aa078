//! Drives clreel's window on a virtual display: keys, mouse, and the texts of the overlay.

use std::borrow::BorrowMut;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::{COMPILED, send_signal};
use serde_json::Value;
pub use testkit::display::Display;
use testkit::movie::{Folder, Movie, steady};
use testkit::sway::Sway;

/// The timeout of a wait for a state of the window. The state must be one that stays: a text that vanishes may come and go
/// while a busy machine does not run the test.
pub const PATIENCE: Duration = Duration::from_secs(match option_env!("CI") {
    // Its machines are shared.
    Some(_) => 120,
    None => 60,
});

/// The title of the input field for a path.
pub const PATH_FIELD: &str = "Open a movie";

/// The timeout of a process or a measurement that works until it ends.
const RUN_LIMIT: Duration = Duration::from_secs(300);

pub fn clip() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/clip.mp4")
}

/// Returns the command of a window without the desktop's services, such as its file dialog.
pub fn without_desktop(display: &Display) -> Command {
    let mut command = clreel(Some(display));
    command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("XDG_RUNTIME_DIR");
    command
}

/// Returns the command of a window without the desktop's file dialog that shows movies unfiltered.
pub fn unfiltered(display: &Display) -> Command {
    let mut command = without_desktop(display);
    command.args(["--variant", "off"]);
    command
}

/// Returns a command that runs clreel without settings and caches of the user, on this display or on none.
pub fn clreel(display: Option<&Display>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("DISPLAY")
        .env_remove("CLREEL_KERNELS")
        .env("CLREEL_SETTINGS", "")
        // A test must not depend on programs that an earlier run has cached: the layer counts and fails calls of a
        // first start.
        .env("CLREEL_BINARIES", "0")
        // Tests are silent; those of the sound say so.
        .env("CLREEL_NO_AUDIO", "1")
        // The user's tuning cache must not matter.
        .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
        .env("POCL_CACHE_DIR", COMPILED)
        .stdin(Stdio::null());
    if let Some(display) = display {
        command.env("DISPLAY", &display.name);
    }
    command
}

/// Waits for a child process and returns its exit code and stderr, without messages of compilers. Kills it after
/// [`RUN_LIMIT`].
pub fn wait_for_exit(mut child: Child) -> (Option<i32>, String) {
    let mut stderr = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(stderr) = &mut stderr {
            let _ = std::io::Read::read_to_string(stderr, &mut text);
        }
        text
    });
    let began = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if began.elapsed() > RUN_LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            panic!("clreel did not end; stderr: {}", reader.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = reader.join().unwrap();
    assert!(!text.contains("panicked"), "{text}");
    (code, without_compiler_messages(&text))
}

/// Returns stderr without the lines that OpenCL compilers print themselves, such as PoCL's "4 warnings generated." on
/// CPUs with short vectors.
pub fn without_compiler_messages(stderr: &str) -> String {
    let is_compiler_message = |line: &&str| {
        let count = line.trim_end().strip_suffix(" generated.").and_then(|line| line.split_once(" warning"));
        count.is_some_and(|(count, s)| count.parse::<u32>().is_ok() && ["", "s"].contains(&s))
    };
    stderr.split_inclusive('\n').filter(|line| !is_compiler_message(line)).collect()
}

/// Runs clreel to its end; returns its exit code and stderr.
pub fn run(mut command: impl BorrowMut<Command>) -> (Option<i32>, String) {
    wait_for_exit(command.borrow_mut().stderr(Stdio::piped()).spawn().unwrap())
}

/// Runs clreel to its end; returns its exit code, stdout, which goes through a file of the folder, and stderr.
pub fn output(folder: &Folder, mut command: impl BorrowMut<Command>) -> (Option<i32>, String, String) {
    let stdout = folder.file("stdout");
    let (code, stderr) = run(command.borrow_mut().stdout(std::fs::File::create(&stdout).unwrap()));
    (code, std::fs::read_to_string(stdout).unwrap(), stderr)
}

/// Runs clreel to its end and returns stderr; the exit code must be 0.
pub fn succeed(command: impl BorrowMut<Command>) -> String {
    expect_success(run(command))
}

/// Runs clreel to its end and returns its statistics and stderr; the exit code must be 0.
pub fn play(mut command: impl BorrowMut<Command>) -> (Value, String) {
    let stats = unused_file();
    let stderr = succeed(command.borrow_mut().arg("--stats").arg(&stats));
    (take_json(&stats), stderr)
}

fn expect_success((code, stderr): (Option<i32>, String)) -> String {
    assert_eq!(code, Some(0), "{stderr}");
    stderr
}

/// A text of the overlay and its rectangle, in pixels of the window.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub struct Text {
    pub text: String,
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

impl Text {
    pub fn center(&self) -> (i32, i32) {
        ((self.x + self.width / 2.0) as i32, (self.y + self.height / 2.0) as i32)
    }
}

/// A system that shows windows.
pub trait WindowSystem {
    /// Returns the title of a window; empty if there is none.
    fn title(&self, window: &str) -> String;
}

impl WindowSystem for Display {
    fn title(&self, window: &str) -> String {
        super::text(&self.xdotool(&["getwindowname", window]).stdout).trim().to_owned()
    }
}

impl WindowSystem for Sway {
    fn title(&self, _: &str) -> String {
        self.window().and_then(|node| Some(node["name"].as_str()?.to_owned())).unwrap_or_default()
    }
}

/// A running clreel and its window.
pub struct Session<'a, S = Display> {
    pub display: &'a S,
    pub child: Option<Child>,
    pub window: String,
    /// The file to which clreel writes the texts of its overlay.
    texts: PathBuf,
    /// The file to which clreel writes its statistics, if it was started with [`Session::with_stats`].
    stats: Option<PathBuf>,
}

/// Returns the path of a JSON file that no other test uses.
fn unused_file() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("clreel-{}-{}.json", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Reads a JSON file and deletes it.
fn take_json(path: &Path) -> Value {
    let value = read_json(path);
    std::fs::remove_file(path).unwrap();
    value
}

impl<'a, S: WindowSystem> Session<'a, S> {
    /// Starts clreel, whose window the caller waits for.
    pub fn spawn(display: &'a S, mut command: impl BorrowMut<Command>) -> Self {
        let texts = unused_file();
        let command = command.borrow_mut().env("CLREEL_TEXTS", &texts).stderr(Stdio::piped());
        let child = Some(command.spawn().unwrap());
        Self { display, child, window: String::new(), texts, stats: None }
    }

    pub fn title(&self) -> String {
        self.display.title(&self.window)
    }

    /// Sends the process a signal, such as SIGSTOP.
    pub fn signal(&self, signal: libc::c_int) {
        send_signal(self.child.as_ref().unwrap(), signal);
    }

    pub fn wait(&mut self, what: &str, is_done: impl FnMut(&mut Self) -> bool) {
        self.wait_within(PATIENCE, what, is_done);
    }

    /// Waits for a text that a measurement shows when it has ended: one of those between `|`. The time limit starts again
    /// when the count of the measurement's steps, as in "28 of at most 42", changes.
    pub fn wait_for_result(&mut self, part: &str) {
        let is_count = |text: &&str| {
            text.split_once(" of ").is_some_and(|(done, _)| done.bytes().all(|b| b.is_ascii_digit()))
        };
        let (mut began, mut counts) = (Instant::now(), Vec::new());
        self.wait_within(Duration::MAX, part, |s| {
            let texts = s.texts();
            let now = texts.iter().map(|t| t.text.as_str()).filter(is_count);
            let now: Vec<_> = now.map(|t| t.split(';').next().map(str::to_owned)).collect();
            if now != counts {
                (began, counts) = (Instant::now(), now);
            }
            assert!(began.elapsed() < RUN_LIMIT, "no sign of {part} and no progress: {texts:?}");
            part.split('|').any(|text| s.shows(text))
        });
    }

    fn wait_within(&mut self, limit: Duration, what: &str, mut is_done: impl FnMut(&mut Self) -> bool) {
        let began = Instant::now();
        while !is_done(self) {
            let ended = self.child.as_mut().and_then(|c| c.try_wait().unwrap());
            if let Some(status) = ended {
                let (_, stderr) = wait_for_exit(self.child.take().unwrap());
                panic!("clreel ended ({status}) before {what}: {stderr}");
            }
            assert!(
                began.elapsed() < limit,
                "no sign of {what}; the title is '{}', the texts are {:?}",
                self.title(),
                self.texts().iter().map(|t| &t.text).collect::<Vec<_>>()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn wait_for_title(&mut self, part: &str) {
        self.wait(part, |s| s.title().contains(part));
    }

    /// Returns the texts of the overlay in the order of painting; none before the first picture.
    pub fn texts(&self) -> Vec<Text> {
        std::fs::read(&self.texts).map_or_else(|_| Vec::new(), |json| serde_json::from_slice(&json).unwrap())
    }

    /// Returns true if a text of the overlay contains `part`.
    pub fn shows(&self, part: &str) -> bool {
        self.texts().iter().any(|t| t.text.contains(part))
    }

    /// Waits for a text that contains `part`.
    pub fn wait_for_text(&mut self, part: &str) {
        self.wait(part, |s| s.shows(part));
    }

    /// Waits until no text contains `part`.
    pub fn wait_for_end_of(&mut self, part: &str) {
        self.wait(&format!("the end of '{part}'"), |s| !s.shows(part));
    }

    /// Waits for `count` files in a folder, as [`saved_files`] finds them, and returns their paths.
    pub fn wait_for_files(&mut self, folder: &Path, begin: &str, end: &str, count: usize) -> Vec<PathBuf> {
        self.wait(&format!("{count} {begin}*{end}"), |_| saved_files(folder, begin, end).len() >= count);
        saved_files(folder, begin, end)
    }

    /// Waits until the process ends; returns its exit code and stderr.
    pub fn end(mut self) -> (Option<i32>, String) {
        wait_for_exit(self.child.take().unwrap())
    }
}

impl<'a> Session<'a> {
    pub fn start(display: &'a Display, command: impl BorrowMut<Command>) -> Self {
        let session = Self::without_focus(display, command);
        session.focus();
        session
    }

    /// Starts clreel with a file for statistics, which [`Self::stats`] reads.
    pub fn with_stats(display: &'a Display, mut command: impl BorrowMut<Command>) -> Self {
        let stats = unused_file();
        let mut session = Self::start(display, command.borrow_mut().arg("--stats").arg(&stats));
        session.stats = Some(stats);
        session
    }

    /// Starts clreel and waits for its window, which does not get the keyboard focus.
    pub fn without_focus(display: &'a Display, command: impl BorrowMut<Command>) -> Self {
        let mut session = Self::spawn(display, command);
        session.wait("its window", |s| {
            let found = s.display.xdotool(&["search", "--onlyvisible", "--class", "clreel"]);
            s.window = String::from_utf8_lossy(&found.stdout).lines().next().unwrap_or("").to_owned();
            !s.window.is_empty()
        });
        session
    }

    /// Gives the window the keyboard focus; there is no window manager that does.
    pub fn focus(&self) {
        self.display.xdotool(&["windowfocus", "--sync", &self.window]);
    }

    pub fn press_until_title(&mut self, key: &str, part: &str) {
        self.display.key(key);
        self.wait_for_title(part);
    }

    /// Presses a key until the message `part` appears, which vanishes after some seconds. Repeating the key must lead to the
    /// message again.
    pub fn press_until_message(&mut self, key: &str, part: &str) {
        let mut pressed: Option<Instant> = None;
        self.wait(&format!("{part} after {key}"), |s| {
            if s.shows(part) {
                return true;
            }
            if pressed.is_none_or(|pressed| pressed.elapsed() > Duration::from_secs(10)) {
                s.display.key(key);
                pressed = Some(Instant::now());
            }
            false
        });
    }

    /// Moves the slider for contrast in the open panel of colours to its left end. A banner that appears moves the panel: a
    /// click that missed is undone and repeated.
    pub fn minimize_contrast(&mut self) {
        let mut clicked: Option<Instant> = None;
        self.wait("the least contrast", |s| {
            let texts = s.texts();
            let value = |name: &str| {
                let at = texts.iter().position(|t| t.text == name)?;
                texts[..at].last()?.text.parse::<f32>().ok()
            };
            let others = [("brightness", 0.0), ("saturation", 1.0), ("gamma", 1.0)];
            let has_missed = others.iter().any(|(name, neutral)| value(name).is_some_and(|v| v != *neutral));
            if !has_missed && value("contrast") == Some(0.0) {
                return true;
            }
            if clicked.is_none_or(|clicked| clicked.elapsed() > Duration::from_secs(5)) {
                if has_missed {
                    s.click("reset");
                }
                let (title, contrast) = (s.find("Colour correction"), s.find("contrast"));
                // The slider's rail begins below the triangle before the panel's title.
                s.click_at((title.x as i32 - 10, contrast.center().1));
                clicked = Some(Instant::now());
            }
            false
        });
    }

    /// Waits until the text that equals `text` stays at one position, and returns it; of several the last one painted.
    /// It stays if the next picture has it at the same position, or if half a second passes without a picture (on a
    /// busy machine).
    pub fn find(&mut self, text: &str) -> Text {
        let mut found: Option<(Text, Option<SystemTime>, Instant)> = None;
        self.wait(text, |s| {
            let painted = std::fs::metadata(&s.texts).and_then(|file| file.modified()).ok();
            let Some(now) = s.texts().into_iter().rev().find(|t| t.text == text) else {
                found = None;
                return false;
            };
            match &found {
                Some((before, then, since)) if *before == now => {
                    painted != *then || since.elapsed() > Duration::from_millis(500)
                }
                _ => {
                    found = Some((now, painted, Instant::now()));
                    false
                }
            }
        });
        found.unwrap().0
    }

    /// Clicks on the centre of a text.
    pub fn click(&mut self, text: &str) {
        let at = self.find(text).center();
        self.click_at(at);
    }

    /// Opens or closes a panel by the menu.
    pub fn choose(&mut self, panel: &str) {
        self.click("Panels");
        self.click(panel);
    }

    /// Clicks on `text` until `shown` appears. Each click waits until two readings have the text at the same position:
    /// on a busy machine the panel may change its layout between a reading and the click, which would then hit another
    /// button.
    pub fn click_until(&mut self, text: &str, shown: &str) {
        let (mut clicked, mut before): (Option<Instant>, Option<(i32, i32)>) = (None, None);
        self.wait(&format!("{shown} after a click at {text}"), |s| {
            let texts = s.texts();
            if texts.iter().any(|t| t.text.contains(shown)) {
                return true;
            }
            let place = texts.iter().rev().find(|t| t.text == text).map(|t| t.center());
            let waited = clicked.is_none_or(|c| c.elapsed() > Duration::from_secs(5));
            match place.filter(|_| waited) {
                Some(at) if before == Some(at) => {
                    s.click_at(at);
                    (clicked, before) = (Some(Instant::now()), None);
                }
                _ => {
                    before = place;
                    std::thread::sleep(Duration::from_millis(300));
                }
            }
            false
        });
    }

    /// Opens the field for a path by a key, and types the path. Before the field has the keyboard, keys control the player.
    pub fn type_path(&mut self, key: &str, path: &str) {
        self.display.key(key);
        self.wait_for_text(PATH_FIELD);
        assert!(self.display.xdotool(&["type", "--delay", "5", path]).status.success());
        self.wait_for_text(path);
    }

    /// Moves the mouse, and waits for about as long as a hand takes.
    pub fn move_to(&self, (x, y): (i32, i32)) {
        self.display.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
        std::thread::sleep(Duration::from_millis(100));
    }

    /// Waits until the movie plays after a pause.
    pub fn wait_for_playing(&mut self) {
        self.wait("playing", |s| !s.title().contains("paused"));
    }

    /// Presses and releases the mouse button, each for longer than a frame.
    pub fn click_at(&mut self, at: (i32, i32)) {
        self.move_to(at);
        self.display.xdotool(&["mousedown", "1"]);
        std::thread::sleep(Duration::from_millis(100));
        self.display.xdotool(&["mouseup", "1"]);
    }

    /// Returns the movie's position as the panel of numbers shows it; the panel must be visible.
    pub fn position(&self) -> Option<String> {
        self.texts().iter().find_map(|t| t.text.split_once(" / ").map(|(here, _)| here.to_owned()))
    }

    /// Waits until the movie's position changes.
    pub fn wait_for_frames(&mut self) {
        let before = self.position();
        self.wait("frames", |s| s.position().is_some_and(|now| Some(now) != before));
    }

    /// Resizes the window and moves it to the upper left corner.
    pub fn resize(&mut self, width: u32, height: u32) {
        let (w, h) = (width.to_string(), height.to_string());
        self.display.xdotool(&["windowsize", "--sync", &self.window, &w, &h]);
        self.display.xdotool(&["windowmove", "--sync", &self.window, "0", "0"]);
    }

    /// Waits until the line of this version in the panel of kernels contains `line`.
    pub fn wait_for_version(&mut self, number: u64, line: &str) {
        self.wait(&format!("version {number}: {line}"), |s| {
            s.version_line(number).is_some_and(|text| text.contains(line))
        });
    }

    /// Returns the text of this version's line in the panel of kernels.
    pub fn version_line(&self, number: u64) -> Option<String> {
        let (texts, number) = (self.texts(), number.to_string());
        // The number and two buttons come before the text.
        let line = texts.windows(4).find(|row| row[0].text == number && row[1].text == "wipe")?;
        Some(line[3].text.clone())
    }

    /// Quits with the key `q` and returns stderr; the exit code must be 0.
    pub fn quit(self) -> String {
        self.display.key("q");
        expect_success(self.end())
    }

    /// Quits like [`Self::quit`], and returns the statistics.
    pub fn stats(self) -> Value {
        self.stats_and_stderr().0
    }

    /// Quits like [`Self::quit`], and returns the statistics and stderr.
    pub fn stats_and_stderr(mut self) -> (Value, String) {
        let stats = self.stats.take().expect("started with statistics");
        let stderr = self.quit();
        (take_json(&stats), stderr)
    }
}

impl<S> Drop for Session<'_, S> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_file(&self.texts);
    }
}

/// Width, height and RGBA bytes.
pub type Picture = (usize, usize, Vec<u8>);

/// Writes RGBA bytes as a PNG.
pub fn write_png(path: &Path, (width, height): (u32, u32), rgba: &[u8]) {
    let mut encoder = png::Encoder::new(std::fs::File::create(path).unwrap(), width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.write_header().unwrap().write_image_data(rgba).unwrap();
}

/// Reads a PNG with or without alpha.
pub fn png(path: &Path) -> Picture {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut decoder = png::Decoder::new(std::io::BufReader::new(file));
    decoder.set_transformations(png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut rgba = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgba).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgba, png::BitDepth::Eight));
    (info.width as usize, info.height as usize, rgba)
}

pub fn read_json(path: &Path) -> Value {
    let json = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&json).unwrap()
}

/// Returns the files in a folder whose names begin and end so, and which are not empty.
pub fn saved_files(folder: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(begin) && name.ends_with(end) && std::fs::metadata(path).unwrap().len() > 0
    };
    all.filter(is_named).collect()
}

/// Writes a movie of odd size, whose planes have other strides than its pictures, and whose frames differ.
pub fn odd_movie(folder: &Folder) -> PathBuf {
    folder.movie("odd.mkv", &Movie { size: (175, 99), stamps_ms: steady(50), ..Movie::default() })
}

pub fn snapshot(folder: &Folder, movie: &Path, at: f64, variant: &str, radius: &str) -> Picture {
    let out = folder.file("snapshot.png");
    let mut command = clreel(None);
    command.arg("snapshot").arg(movie).args(["--variant", variant, "--radius", radius]);
    succeed(command.args(["--at", &at.to_string()]).arg("--out").arg(&out));
    png(&out)
}

/// Plays a movie to its end and returns the statistics and stderr; the exit code must be 0.
pub fn play_movie(display: &Display, movie: &Path, arguments: &[&str]) -> (Value, String) {
    play(clreel(Some(display)).arg(movie).args(arguments))
}

/// Returns the rows of the presented frames in statistics.
///
/// # Panics
/// Panics if there are none: what a test asserts of each frame would hold.
pub fn presented_frames(stats: &Value) -> &[Value] {
    let frames = stats["frames"].as_array().unwrap_or_else(|| panic!("no list of frames: {stats}"));
    assert!(!frames.is_empty(), "no frame was presented: {stats}");
    frames
}

/// Returns the time stamps of the presented frames in milliseconds.
pub fn stamps(stats: &Value) -> Vec<i64> {
    let frames = presented_frames(stats);
    frames.iter().map(|f| (f["pts_s"].as_f64().unwrap() * 1e3).round() as i64).collect()
}
