//! The state of rest: the way to it from any state of the window, and the counts in it.

use std::time::{Duration, Instant};

use super::counts::{Counts, SLOTS};
use super::walk::{Action, Edit, KERNELS, SIZES, Walk};
use crate::common::*;

/// The state of rest, as the window's title begins. Its variant is never edited: versions of the same variant are compared in a
/// pause, by a job of low priority.
pub const AT_REST: &str = "rest.mkv - vectorized, r=7";
/// The message of the key that swaps the sides of a wipe, if there is no wipe.
const ONE_FILTER: &str = "There is one filter";
/// The kernel objects that `vectorized` has for each slot: one for the rows, one for the columns.
const KERNELS_PER_SLOT: i64 = 2;
/// How long the movie plays at four times its speed at a rest, at least.
const FAST: Duration = Duration::from_secs(2);
/// How long it may take until all slots exist. Later rests may have no more of them than the first one.
const FILLING: Duration = Duration::from_secs(60);
/// How long a button must stay in its place before a click.
const STEADY: Duration = Duration::from_millis(300);
/// How long a child process of the program lives without work, and some seconds more.
const IDLE: Duration = Duration::from_secs(35);

impl Walk<'_> {
    /// Opens, shows and builds everything once, so that what is kept for good exists at the first rest.
    pub fn visit_everything(&mut self) {
        // Scenes are kept once they were drawn: a vertex array each for cube and floor, and two for the figure, which comes later.
        let before = self.counts().vertex_arrays();
        for (title, more) in [("test card - ", 1), ("rest.mkv on shirts - ", 4), ("rest.mkv - ", 4)] {
            self.perform(&Action::Key("v"));
            self.session.wait_for_title(title);
            let began = Instant::now();
            while self.counts().vertex_arrays() < before + more {
                assert!(began.elapsed() < PATIENCE, "no picture of {title}");
                self.wait_in_pause();
            }
        }
        for number in 0..self.movies.len() {
            self.perform(&Action::Drop(vec![number]));
            if self.movies[number] == clip() {
                let began = Instant::now();
                while !self.counts().has_audio_device() {
                    assert!(began.elapsed() < PATIENCE, "the clip has no sound");
                    self.wait_in_pause();
                }
            }
        }
        for (width, height) in SIZES.into_iter().rev() {
            self.perform(&Action::Resize(width, height));
            self.perform(&Action::Key("question"));
            self.perform(&Action::Key("question"));
        }
        for edit in [Edit::Exact, Edit::Wrong, Edit::Broken] {
            self.perform(&Action::Save(edit));
        }
        // Twice: switches off what it has switched on, and shows the rest of the scenes.
        for key in [self.keys.clone(), self.keys.clone()].concat() {
            self.perform(&Action::Key(key));
        }
        self.rest(Duration::ZERO);
        // The Rust filter has a thread of its own once it has filtered a picture.
        for (key, name) in [("7", "native"), ("6", "glsl"), ("8", "fused"), ("4", "vectorized")] {
            self.perform(&Action::Key(key));
            self.session.wait_for_title(name);
        }
        for key in ["w", "D", "x", "D", "w"] {
            self.perform(&Action::Key(key));
        }
        // Scopes and heat map keep a texture each.
        self.perform(&Action::Key("h"));
        self.session.wait_for_text("minimum ");
        for key in ["H", "h", "g", "g", "H"] {
            self.perform(&Action::Key(key));
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Brings the window to the state of rest, lets the movie play for a while, and pauses it.
    pub fn rest(&mut self, playing: Duration) {
        self.trail.push_back(format!("rest after {}", self.done));
        for file in KERNELS.into_iter().chain(["box_filter/own.cl"]) {
            let _ = std::fs::remove_file(self.folder.file("kernels").join(file));
        }
        // The table of keys, the talk, a menu, a frozen frame, fullscreen.
        for key in ["Escape"; 5] {
            self.perform(&Action::Key(key));
        }
        self.perform(&Action::Resize(SIZES[0].0, SIZES[0].1));
        for key in ["ctrl+0", "BackSpace"] {
            self.perform(&Action::Key(key));
        }
        // A hidden overlay may hide a talk.
        self.repeat("the overlay", &["Escape", "i"], |session| session.shows("Panels"));
        self.close_panels();
        self.switch_off("H", "Heat map off");
        self.switch_off("a", "Auto-levels off");
        self.repeat("the movie's scene", &["v"], |session| {
            !session.title().contains("test card") && !session.title().contains("on shirts")
        });
        // The left side of a wipe.
        self.move_to((1, 100));
        self.end_wipe();
        // A dropped movie also ends loops.
        self.perform(&Action::Drop(vec![0]));
        self.session.wait_for_title("rest.mkv - ");
        self.perform(&Action::Key("4"));
        self.session.wait_for_title("vectorized");
        self.set_radius();
        if self.session.title().contains("paused") {
            self.perform(&Action::Key("space"));
        }
        self.change_devices();
        self.close_panels();
        self.fill_slots();
        let began = Instant::now();
        while began.elapsed() < playing {
            self.session.wait_for_frames();
            std::thread::sleep(Duration::from_secs(1).min(playing));
        }
        self.session.wait_for_title(AT_REST);
        self.session.wait_for_frames();
        self.perform(&Action::Key("space"));
        self.session.wait_for_title(&format!("{AT_REST}, paused"));
        let saved = std::fs::read_dir(self.folder.file("saved")).unwrap();
        saved.flatten().for_each(|file| _ = std::fs::remove_file(file.path()));
    }

    /// Plays the movie faster than the window draws until all slots for frames in flight exist. If the filter is fast, the third one
    /// may take more than [`FAST`].
    fn fill_slots(&mut self) {
        self.perform(&Action::Keys("bracketright", 4));
        let began = Instant::now();
        let are_full = |counts: &Counts| counts.kernels() >= SLOTS * KERNELS_PER_SLOT;
        while began.elapsed() < FAST || began.elapsed() < FILLING && !are_full(&self.counts()) {
            self.session.wait_for_frames();
        }
        self.perform(&Action::Key("BackSpace"));
    }

    /// Presses these keys in turn until the window is in a state. Each press has some seconds to take effect.
    fn repeat(&mut self, what: &str, keys: &[&'static str], is_done: impl Fn(&Session) -> bool) {
        for n in 0..12 {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(3) {
                if is_done(&self.session) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            self.perform(&Action::Key(keys[n % keys.len()]));
        }
        panic!("{keys:?} do not lead to {what}: {:?}", self.session.texts());
    }

    /// Returns the place that `find` finds in the window's texts, once it has stayed the same for [`STEADY`]; `None` if there is none.
    /// Banners come and go by themselves and move what is below them, so that a click could hit another button.
    fn steady_place(&self, find: impl Fn(&[Text]) -> Option<(i32, i32)>) -> Option<(i32, i32)> {
        let (began, mut before) = (Instant::now(), None);
        loop {
            let place = find(&self.session.texts());
            if place.is_none() || place == before {
                return place;
            }
            assert!(began.elapsed() < PATIENCE, "moves: {place:?}, {before:?}");
            before = place;
            std::thread::sleep(STEADY);
        }
    }

    /// Stops all jobs, and closes all panels and banners.
    fn close_panels(&mut self) {
        let began = Instant::now();
        let button = |texts: &[Text]| {
            let find = |text: &str| texts.iter().find(|t| t.text == text).map(Text::center);
            find("Stop").or_else(|| find("\u{d7}"))
        };
        while let Some(at) = self.steady_place(button) {
            let texts = self.session.texts();
            assert!(began.elapsed() < PATIENCE, "panels stay open: {texts:?}");
            // A banner has the reason, should the walk fail later on.
            let sentences: Vec<&String> =
                texts.iter().map(|text| &text.text).filter(|text| text.ends_with('.')).collect();
            self.trail.push_back(format!("closes {sentences:?}"));
            self.session.click_at(at);
            self.expect_life();
        }
    }

    /// Presses a key that switches something on or off, once or twice, until the window shows the message that it is off.
    fn switch_off(&mut self, key: &'static str, off: &str) {
        let on = off.replace(" off", " on");
        self.perform(&Action::Key(key));
        self.session.wait(off, |session| session.shows(&on) || session.shows(off));
        if self.session.shows(&on) {
            self.perform(&Action::Key(key));
            self.session.wait_for_text(off);
        }
    }

    fn end_wipe(&mut self) {
        // An older message would be misread.
        self.session.wait("no message", |session| !session.shows(ONE_FILTER));
        self.repeat("one filter", &["w"], |session| {
            session.display.key("x");
            std::thread::sleep(Duration::from_millis(300));
            session.shows(ONE_FILTER)
        });
    }

    /// Presses the keys of the radius until the overlay has the one at rest. The title has that of the picture on the screen, which
    /// may be an older one.
    fn set_radius(&mut self) {
        let began = Instant::now();
        loop {
            let texts = self.session.texts();
            let shown = texts.iter().find_map(|t| t.text.strip_suffix(" px")?.parse::<i32>().ok());
            match shown {
                Some(7) => return,
                Some(radius) => {
                    let key = if radius > 7 { "minus" } else { "equal" };
                    self.perform(&Action::Keys(key, radius.abs_diff(7)));
                }
                None => {}
            }
            assert!(began.elapsed() < PATIENCE, "the radius stays: {shown:?}");
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Changes to the other device and back, so that all that was built on demand is gone.
    fn change_devices(&mut self) {
        self.session.choose("Devices");
        for device in ["1: ", "0: "] {
            let row = |texts: &[Text]| texts.iter().find(|text| text.text.starts_with(device)).cloned();
            self.session.wait("the list of devices", |s| row(&s.texts()).is_some());
            let at = self.steady_place(|texts| row(texts).as_ref().map(Text::center));
            self.session.click_at(at.unwrap_or_else(|| panic!("no row of device {device}")));
            self.session.wait("the other device", |s| {
                let texts = s.texts();
                let is_beside =
                    |text: &Text, row: &Text| text.text == "in use" && (row.y - text.y).abs() < 8.0;
                row(&texts).is_some_and(|row| texts.iter().any(|text| is_beside(text, &row)))
            });
        }
    }

    /// Returns the counts once they have not changed for [`IDLE`] and no job of low priority is left.
    pub fn settled_counts(&mut self, settling: Duration) -> Counts {
        let (mut last, began, mut since) = (self.counts(), Instant::now(), Instant::now());
        while since.elapsed() < IDLE {
            self.wait_in_pause();
            let now = self.counts();
            assert!(began.elapsed() < settling + IDLE, "the window does not come to rest: {}", now.row(0));
            if now.jobs > 0 || !(now.excess(&last).is_empty() && last.excess(&now).is_empty()) {
                (last, since) = (now, Instant::now());
            }
        }
        self.counts()
    }

    /// Waits until no count exceeds that of the first rest, and returns them: jobs may end a while after they were stopped. Fewer
    /// are possible: if the device changes while its thread is in a driver's call, the engine is replaced, and the new one makes the
    /// thread of the Rust filter and some textures on demand.
    pub fn counts_like(&mut self, first: &Counts, settling: Duration) -> Counts {
        let (began, mut reported) = (Instant::now(), Instant::now());
        loop {
            let counts = self.counts();
            let excess = counts.excess(first);
            if excess.is_empty() {
                return counts;
            }
            if reported.elapsed() > Duration::from_secs(60) {
                println!("not at rest after {} s:\n{excess}", began.elapsed().as_secs());
                reported = Instant::now();
            }
            assert!(began.elapsed() < settling, "more than at the first rest:\n{excess}");
            self.wait_in_pause();
        }
    }

    /// Waits for a moment in which the window works on.
    fn wait_in_pause(&mut self) {
        std::thread::sleep(Duration::from_millis(200));
        self.expect_life();
    }
}
