//! The walk: what a user may do, and the signs of life that must follow.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{ChildStderr, Command};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::*;
use base::random::Xorshift;
use ffmpeg_next::format::Pixel;
use testkit::audio::AudioServer;
use testkit::native;

use super::counts::{Counts, pictures};
use super::pings::Pings;
use super::rest::AT_REST;
use crate::window_open::drop_files;

/// The keys of docs/keys.md, as xdotool names them, except those that quit. `o` is [`Action::Open`]. `d` is left out: its
/// panel starts a job of low priority, which takes minutes on a busy machine; `E` starts an editor, and `O` and `C` open a field
/// that takes all keys.
const KEYS: &str = "0 1 2 3 4 5 6 7 8 9 minus equal space p Left Right Up Down shift+Left shift+Right shift+Up shift+Down w x D f \
    i question F1 period comma Home End Prior Next bracketleft bracketright BackSpace l L less greater y u c e F5 v H a F6 Escape \
    ctrl+plus ctrl+minus ctrl+0 g t b k h s S ctrl+e ctrl+r ctrl+l ctrl+f ctrl+d m slash asterisk \
    numbersign";
/// The sizes of the window. Few, since the overlay keeps glyphs for each.
pub const SIZES: [(u32, u32); 6] = [(1280, 720), (640, 360), (900, 611), (320, 200), (1000, 300), (400, 700)];
/// Texts that are not clicked: they end the program, ask for a file, choose another folder of kernels, or open the panel of the
/// key `d`.
const SPARED: [&str; 6] = ["Quit", "Open", "Make an editable copy", "Stages", "Recent files", "Compare with"];
/// Makes PoCL offer two devices of its usual kind; `basic` sometimes stops responding (docs/drivers.md).
const TWO_DEVICES: [(&str, &str); 2] = [("OCL_ICD_VENDORS", "pocl.icd"), ("POCL_DEVICES", "pthread pthread")];
/// How many actions are printed after a failure.
const TRAIL: usize = 30;

/// An action of a user.
#[derive(Debug)]
pub enum Action {
    Key(&'static str),
    /// Presses a key this many times without a pause.
    Keys(&'static str, u32),
    Click {
        at: (i32, i32),
        button: u32,
        times: u32,
    },
    ClickText(String),
    Drag([(i32, i32); 3]),
    Wheel {
        at: (i32, i32),
        steps: u32,
        up: bool,
    },
    Resize(u32, u32),
    /// Drops the movies with these numbers.
    Drop(Vec<usize>),
    /// Types the path of the movie with this number.
    Open(usize),
    Save(Edit),
}

/// How a kernel file is saved.
#[derive(Debug, Clone, Copy)]
pub enum Edit {
    /// With the same results.
    Exact,
    Wrong,
    /// With an error that the compiler reports.
    Broken,
    /// Removed, so that the built-in file is used again.
    Removed,
}

/// The kernel files that are edited, below `kernels/`.
pub const KERNELS: [&str; 2] = ["box_filter/02_separable.cl", "box_filter/03_flat.cl"];
/// A part of both files, and its replacement that gives wrong results.
const WRONG: (&str, &str) = ("mean4(sum, side * side, scale)", "(mean4(sum, side * side, scale) ^ 1)");

/// A walk through a window.
pub struct Walk<'a> {
    pub session: Session<'a>,
    pings: Pings,
    random: Xorshift,
    seed: u32,
    pub folder: Folder,
    pub movies: Vec<PathBuf>,
    /// The keys that may be pressed.
    pub keys: Vec<&'static str>,
    size: (u32, u32),
    pub trail: VecDeque<String>,
    /// The number of random actions so far.
    pub done: usize,
    pub patience: Duration,
    pub longest_answer: Duration,
    /// Reads the program's messages, and returns them once it has ended.
    messages: Option<JoinHandle<String>>,
}

/// Prints the lines of a process on stderr, and returns them. They must be read while it runs: a full pipe (64 KiB) would block it.
fn print_messages(stderr: ChildStderr) -> String {
    let lines = BufReader::new(stderr).split(b'\n').map_while(Result::ok);
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.inspect(|line| eprintln!("{line}")).collect::<Vec<_>>().join("\n")
}

impl<'a> Walk<'a> {
    /// Starts the window with sound on this server, two OpenCL devices, a folder of edited kernels and the libraries that count.
    pub fn start(
        display: &'a Display,
        server: &AudioServer,
        folder: Folder,
        seed: u32,
        patience: Duration,
    ) -> Self {
        let keys = KEYS.split_whitespace().collect();
        let chapters = vec![(0, "one"), (2000, "two"), (5000, "three")];
        let (format, codec) = (Pixel::YUV422P, ffmpeg_next::codec::Id::FFV1);
        let rest = Movie { size: (320, 180), stamps_ms: steady(250), ..Movie::default() };
        let odd = Movie { size: (198, 106), stamps_ms: steady(200), chapters, ..Movie::default() };
        let movies = vec![
            folder.movie("rest.mkv", &rest),
            folder.movie("small.mkv", &Movie { stamps_ms: steady(60), ..Movie::default() }),
            folder.movie("odd.mkv", &odd),
            folder.movie("wide.mkv", &Movie { size: (640, 64), format, codec, ..Movie::default() }),
            clip(),
            folder.with("notes.txt", b"no movie"),
        ];
        for below in ["kernels/box_filter", "saved", "counts"] {
            std::fs::create_dir_all(folder.file(below)).unwrap();
        }
        let counts = folder.file("counts");
        let mut command = without_desktop(display);
        command.envs(layer::environment(&[("COUNTS", counts.to_str().unwrap())])).envs(TWO_DEVICES);
        let watch = native::shared_library("clreel_gl_watch", "gl_watch", &["watch.c"], &["-ldl"]);
        command.env("LD_PRELOAD", watch).env("WATCH_COUNTS", &counts);
        command.env_remove("CLREEL_NO_AUDIO").env("PULSE_SERVER", &server.name);
        // Programs are cached, as for a user.
        command.env_remove("CLREEL_BINARIES").env("XDG_CACHE_HOME", folder.file("cache"));
        command.env_remove("POCL_CACHE_DIR");
        let saved = folder.file("saved");
        command.env("HOME", &saved).env_remove("XDG_CONFIG_HOME").current_dir(saved);
        command.arg("--kernels").arg(folder.file("kernels")).args(["--kernel-timeout", "5"]);
        command.arg(&movies[0]).args(["--variant", "vectorized", "--device", "0"]);
        let mut session = Session::start(display, &mut command);
        let stderr = session.child.as_mut().unwrap().stderr.take().unwrap();
        let messages = std::thread::spawn(move || print_messages(stderr));
        let size = SIZES[0];
        session.resize(size.0, size.1);
        session.wait_for_title(AT_REST);
        session.wait_for_frames();
        let pings = Pings::new(display, session.window.parse().unwrap());
        Self {
            session,
            pings,
            random: Xorshift::new(seed),
            seed,
            folder,
            movies,
            keys,
            size,
            trail: VecDeque::new(),
            done: 0,
            patience,
            longest_answer: Duration::ZERO,
            messages: Some(messages),
        }
    }

    pub fn quit(mut self) {
        self.session.display.key("q");
        let child = self.session.child.take().unwrap();
        let (code, _) = wait_for_exit(child);
        let messages = self.messages.take().unwrap().join().unwrap();
        assert!(code == Some(0) && !messages.contains("panicked"), "exit code {code:?}: {messages}");
    }

    // ------------------------------------------------------------------------------------------------------ actions

    /// Returns a random number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.random.draw() as usize % limit
    }

    /// Returns a random place in the window.
    fn place(&mut self) -> (i32, i32) {
        let (width, height) = self.size;
        (self.below(width as usize) as i32, self.below(height as usize) as i32)
    }

    /// Does something at random, and waits for signs of life.
    pub fn act(&mut self) {
        let action = match self.below(100) {
            0..56 => {
                let at = self.below(self.keys.len());
                Action::Key(self.keys[at])
            }
            56..62 => {
                let key = ["minus", "equal", "Right", "period", "bracketright"][self.below(5)];
                Action::Keys(key, 2 + self.below(9) as u32)
            }
            62..70 => Action::Click {
                at: self.place(),
                button: [1, 1, 1, 3][self.below(4)],
                times: 1 + self.below(2) as u32,
            },
            70..80 => {
                let texts = self.session.texts();
                let at = self.below(texts.len().max(1));
                Action::ClickText(texts.into_iter().nth(at).map_or_else(String::new, |text| text.text))
            }
            80..85 => Action::Drag([self.place(), self.place(), self.place()]),
            85..88 => {
                Action::Wheel { at: self.place(), steps: 1 + self.below(4) as u32, up: self.below(2) == 0 }
            }
            88..91 => {
                let (width, height) = SIZES[self.below(SIZES.len())];
                Action::Resize(width, height)
            }
            91..94 => Action::Drop((0..=self.below(3)).map(|_| self.below(self.movies.len())).collect()),
            94..95 => Action::Open(self.below(self.movies.len())),
            _ => Action::Save([Edit::Exact, Edit::Wrong, Edit::Broken, Edit::Removed][self.below(4)]),
        };
        self.done += 1;
        self.perform(&action);
    }

    /// Performs an action and waits for signs of life.
    pub fn perform(&mut self, action: &Action) {
        self.trail.push_back(format!("{}: {action:?}", self.done));
        while self.trail.len() > TRAIL {
            self.trail.pop_front();
        }
        let display = self.session.display;
        match action {
            Action::Key(key) => display.key(key),
            Action::Keys(key, times) => {
                let keys = vec![*key; *times as usize];
                display.xdotool(&[&["key", "--delay", "5"], &keys[..]].concat());
            }
            Action::Click { at, button, times } => self.click(*at, *button, *times),
            Action::ClickText(text) => {
                if let Some(found) = self.session.texts().iter().find(|t| t.text == *text) {
                    let at = found.center();
                    self.click(at, 1, 1);
                }
            }
            Action::Drag([from, rest @ ..]) => {
                if self.may_press(*from) {
                    let [over, to] = rest.map(|(x, y)| [x.to_string(), y.to_string()]);
                    let [over, to] = [over, to].map(|at| format!("sleep 0.03 mousemove {}", at.join(" ")));
                    let all = format!("mousedown 1 {over} {to} sleep 0.03 mouseup 1");
                    display.xdotool(&all.split(' ').collect::<Vec<_>>());
                }
            }
            Action::Wheel { at, steps, up } => {
                self.move_to(*at);
                let (steps, button) = (steps.to_string(), if *up { "4" } else { "5" });
                display.xdotool(&["click", "--repeat", &steps, "--delay", "10", button]);
            }
            Action::Resize(width, height) => {
                self.session.resize(*width, *height);
                self.size = (*width, *height);
                self.move_to((*width as i32 / 2, *height as i32 / 2));
            }
            Action::Drop(numbers) => {
                let uris: String =
                    numbers.iter().map(|n| format!("file://{}\r\n", self.movies[*n].display())).collect();
                drop_files(display, self.session.window.parse().unwrap(), &uris);
            }
            Action::Open(number) => {
                let path = self.movies[*number].to_str().unwrap().to_owned();
                display.key("o");
                self.expect_life();
                if self.session.shows("Open a movie") {
                    display.xdotool(&["type", "--delay", "2", &path]);
                    display.key("Return");
                }
            }
            Action::Save(edit) => self.save(*edit),
        }
        self.expect_life();
    }

    /// Clicks, unless the place is spared.
    fn click(&mut self, at: (i32, i32), button: u32, times: u32) {
        if self.may_press(at) {
            let (times, button) = (times.to_string(), button.to_string());
            self.session.display.xdotool(&["click", "--repeat", &times, "--delay", "60", &button]);
        }
    }

    /// Moves the mouse to a place; returns true if no text there is spared. The window's lower edge shows buttons while the mouse
    /// is there, so the texts are read afterwards.
    fn may_press(&mut self, at: (i32, i32)) -> bool {
        self.move_to(at);
        self.expect_life();
        let is_near = |text: &Text| {
            let (x, y) = (at.0 as f32 - text.x, at.1 as f32 - text.y);
            (-14.0..text.width + 14.0).contains(&x) && (-14.0..text.height + 14.0).contains(&y)
        };
        !self
            .session
            .texts()
            .iter()
            .any(|text| SPARED.iter().any(|s| text.text.starts_with(s)) && is_near(text))
    }

    pub fn move_to(&self, (x, y): (i32, i32)) {
        self.session.display.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
    }

    /// Saves a kernel file in the live folder.
    fn save(&mut self, edit: Edit) {
        let file = KERNELS[self.below(KERNELS.len())];
        let text = kernel(file);
        assert!(text.contains(WRONG.0), "{file}");
        let text = match edit {
            Edit::Exact => text,
            Edit::Wrong => text.replace(WRONG.0, WRONG.1),
            Edit::Broken => text.replacen("int", "imt", 1),
            Edit::Removed => {
                let _ = std::fs::remove_file(self.folder.file("kernels").join(file));
                return;
            }
        };
        // Each text is new to the caches.
        self.folder.with(&format!("kernels/{file}"), format!("{text}// save {}\n", self.done).as_bytes());
    }

    // -------------------------------------------------------------------------------------------------- signs of life

    /// Waits until the window has answered a ping, as window managers send it to see whether a program hangs, and has drawn a
    /// picture after that.
    pub fn expect_life(&mut self) {
        let began = Instant::now();
        self.pings.send();
        self.wait_for_life(began, "an answer", |walk| walk.pings.is_answered());
        let before = self.pictures();
        self.wait_for_life(began, "a picture", |walk| walk.pictures() > before);
        self.longest_answer = self.longest_answer.max(began.elapsed());
    }

    /// Returns the stacks of the program's threads, as gdb prints them.
    fn stacks(&self) -> String {
        let pid = self.session.child.as_ref().unwrap().id().to_string();
        let gdb =
            Command::new("gdb").args(["-p", &pid, "-batch", "-ex", "thread apply all backtrace 25"]).output();
        match gdb {
            Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Err(error) => format!("No stacks of its threads: gdb does not start ({error})."),
        }
    }

    fn wait_for_life(&mut self, began: Instant, what: &str, is_done: impl Fn(&mut Self) -> bool) {
        let mut nudged = began;
        while !is_done(self) {
            if self.session.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                // Prints why.
                self.session.wait("the walk's end", |_| false);
            }
            if began.elapsed() >= self.patience {
                let (title, stacks) = (self.session.title(), self.stacks());
                panic!("no {what} within {:?}: {title}\n{stacks}", self.patience);
            }
            // In a pause nothing changes by itself.
            if nudged.elapsed() > Duration::from_millis(40) {
                let by = |x| ["mousemove_relative", "--", x, "0"];
                self.session.display.xdotool(&[by("1"), by("-1")].concat());
                nudged = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn pid(&self) -> u32 {
        self.session.child.as_ref().unwrap().id()
    }

    fn pictures(&self) -> i64 {
        pictures(&self.folder.file("counts"), self.pid())
    }

    pub fn counts(&self) -> Counts {
        Counts::read(&self.folder.file("counts"), self.pid())
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, action {}; the last actions:", self.seed, self.done);
            self.trail.iter().for_each(|action| eprintln!("  {action}"));
        }
    }
}
