//! The movie's sound in the window, on an audio server whose sink is recorded: keys, pauses, sinks that come and go.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::*;
use testkit::audio::{AudioServer, Recording};
use testkit::movie::{TONE_BASE, TONE_RISE};

/// A second, in which the clip ticks once.
const SECOND: Duration = Duration::from_millis(1200);
/// Louder than the noise of a resampler, more silent than the clip.
const AUDIBLE: f64 = 0.02;

/// A display, and an audio server whose sink is named `null`.
struct Setup {
    display: Display,
    folder: Folder,
    server: AudioServer,
}

impl Setup {
    fn new() -> Self {
        let (display, folder) = (Display::start(&[]), Folder::new("sound"));
        let server = AudioServer::start(&folder.file("pulse"));
        Self { display, folder, server }
    }

    /// Returns a window's command with sound, for a user who has never run a client of PulseAudio.
    fn command(&self) -> Command {
        let mut command = clreel(Some(&self.display));
        command.env_remove("CLREEL_NO_AUDIO").env_remove("PULSE_COOKIE");
        command.env("PULSE_SERVER", &self.server.name).env("HOME", self.folder.file("home"));
        command.args(["--variant", "off"]);
        command
    }

    fn start(&self, movies: &[&Path]) -> Session<'_> {
        Session::start(&self.display, self.command().args(movies))
    }
}

/// Waits until a second of the sink is audible or silent.
fn wait_for_sound(session: &mut Session, recording: &Recording, what: &str, is_audible: bool) {
    session.wait(what, |_| (recording.loudness(SECOND) > AUDIBLE) == is_audible);
}

#[test]
fn the_clip_is_heard_until_it_is_muted_or_paused() {
    let setup = Setup::new();
    let recording = setup.server.record("null");
    let mut session = Session::with_stats(&setup.display, setup.command().arg(clip()));
    wait_for_sound(&mut session, &recording, "sound", true);
    session.press_until_message("m", "Muted");
    wait_for_sound(&mut session, &recording, "silence while muted", false);
    session.display.key("slash");
    session.wait_for_text("Volume 95 %");
    wait_for_sound(&mut session, &recording, "sound after a change of the volume", true);
    session.press_until_title("space", "paused");
    wait_for_sound(&mut session, &recording, "silence in a pause", false);
    session.display.key("space");
    wait_for_sound(&mut session, &recording, "sound after the pause", true);
    for key in ["Right", "bracketleft", "bracketright", "BackSpace"] {
        session.display.key(key);
        wait_for_sound(&mut session, &recording, "sound after a seek and at another speed", true);
    }
    session.press_until_message("numbersign", "The movie has one track of sound");
    let stats = session.stats();
    let lags: Vec<f64> = presented_frames(&stats).iter().filter_map(|f| f["sound_lag"].as_f64()).collect();
    assert!(lags.len() > 10, "frames have their distance from the sound");
}

#[test]
fn the_sound_survives_the_loss_of_its_sink_and_of_the_server() {
    let mut setup = Setup::new();
    let mut session = Session::start(&setup.display, setup.command().arg(clip()));
    let server = &mut setup.server;
    let recording = server.record("null");
    wait_for_sound(&mut session, &recording, "sound", true);
    server.pactl(&["unload-module", "module-null-sink"]);
    session.wait_for_frames();
    server.pactl(&["load-module", "module-null-sink", "sink_name=other", "rate=44100"]);
    let recording = server.record("other");
    wait_for_sound(&mut session, &recording, "sound on the sink that came", true);
    drop(recording);
    server.stop();
    session.wait_for_frames();
    session.wait_for_frames();
    let server = AudioServer::start(&setup.folder.file("pulse"));
    let recording = server.record("null");
    wait_for_sound(&mut session, &recording, "sound on the server that came", true);
    assert!(!session.quit().contains("audio"), "a lost device is no error");
}

#[test]
fn movies_with_and_without_sound_share_a_connection_and_survive_a_suspended_sink() {
    let setup = Setup::new();
    let silent = setup.folder.movie("silent.mkv", &Movie { stamps_ms: steady(250), ..Movie::default() });
    let mut session = setup.start(&[&clip(), &silent]);
    let connections = || setup.server.pactl(&["list", "short", "clients"]).lines().count() - 1;
    session.wait("a connection", |_| connections() == 1);
    for _ in 0..30 {
        session.display.xdotool(&["key", "--delay", "80", "greater", "greater", "greater"]);
    }
    session.press_until_title("greater", "silent.mkv");
    session.wait_for_frames();
    assert_eq!(connections(), 1);
    session.press_until_title("greater", "clip.mp4");
    let recording = setup.server.record("null");
    wait_for_sound(&mut session, &recording, "sound after a movie without it", true);
    // A suspended sink is reported, and plays once it is resumed.
    setup.server.pactl(&["suspend-sink", "null", "1"]);
    session.wait_for_text("stopped playing.");
    session.wait_for_text("It asked for no sound for 6 s.");
    setup.server.pactl(&["suspend-sink", "null", "0"]);
    let recording = setup.server.record("null");
    wait_for_sound(&mut session, &recording, "sound once the sink is resumed", true);
    session.quit();
}

#[test]
fn the_test_card_ticks_once_a_second() {
    let setup = Setup::new();
    let recording = setup.server.record("null");
    let mut session = Session::start(&setup.display, setup.command().args(["--scene", "card"]));
    session.wait("six ticks", |_| ticks(&recording.samples()).len() >= 6);
    session.quit();
    // A machine that is busy may have delayed some of them, but not the most.
    let ticks = ticks(&recording.samples());
    let steady = ticks.windows(2).filter(|pair| (pair[1] - pair[0]).abs_diff(48_000) < 480).count();
    assert!(2 * steady > ticks.len(), "{ticks:?}");
}

/// Returns the index of the first sample of each tick.
fn ticks(samples: &[i16]) -> Vec<i64> {
    let loud = samples.iter().enumerate().filter(|(_, sample)| sample.unsigned_abs() > 3_000);
    let mut ticks: Vec<i64> = Vec::new();
    let mut last = i64::MIN / 2;
    for (index, _) in loud {
        let index = index as i64;
        if index - last > 4_800 {
            ticks.push(index);
        }
        last = index;
    }
    ticks
}

/// Returns the time of the movie, in seconds, that is heard at each beginning of sound after silence. The sound is that of test
/// movies, whose frequency tells the time.
fn beginnings(samples: &[i16]) -> Vec<f64> {
    const RATE: f64 = testkit::audio::RATE as f64;
    let mut found = Vec::new();
    let mut silent_from = 0;
    for (index, sample) in samples.iter().enumerate() {
        if sample.unsigned_abs() < 700 {
            continue;
        }
        // Twelve milliseconds, so that neither a crossing of zero nor a fade counts.
        if index - std::mem::replace(&mut silent_from, index + 1) < 576 {
            continue;
        }
        let Some(piece) = samples.get(index + 480..index + 480 + 9_600) else { break };
        let crossings: Vec<f64> = (1..piece.len())
            .filter(|at| piece[at - 1] < 0 && piece[*at] >= 0)
            .map(|at| {
                let (before, after) = (f64::from(piece[at - 1]), f64::from(piece[at]));
                (480.0 + at as f64 - 1.0 + before / (before - after)) / RATE
            })
            .collect();
        // The slope of a line through the crossings is the frequency in their middle.
        let middle = crossings.iter().sum::<f64>() / crossings.len() as f64;
        let middle_count = (crossings.len() as f64 - 1.0) / 2.0;
        let (mut above, mut below) = (0.0, 0.0);
        for (count, at) in crossings.iter().enumerate() {
            above += (at - middle) * (count as f64 - middle_count);
            below += (at - middle).powi(2);
        }
        found.push((above / below - TONE_BASE) / TONE_RISE - middle);
    }
    found
}

/// Waits until sound has begun `count` times, and requires that it begins with the movie each time: at most 10 ms of the decoded samples
/// may be missing.
fn require_beginnings(session: &mut Session, recording: &Recording, count: usize, what: &str) {
    session.wait(what, |_| beginnings(&recording.samples()).len() >= count);
    let begins = beginnings(&recording.samples());
    assert!(begins.iter().all(|at| at.abs() <= 0.010), "{what}: begins at {begins:?} s");
}

#[test]
fn sound_is_heard_from_the_first_sample() {
    let setup = Setup::new();
    // The sound ends before the pictures, as that of many movies does.
    let movie = Movie { stamps_ms: steady(80), sound_ms: Some(2700), ..Movie::default() };
    let [one, two] = ["one.mkv", "two.mkv"].map(|name| setup.folder.movie(name, &movie));
    let recording = setup.server.record("null");
    let mut session = setup.start(&[&one]);
    require_beginnings(&mut session, &recording, 3, "a start and two loops");
    session.display.key("Home");
    require_beginnings(&mut session, &recording, 4, "a seek");
    session.quit();
    let recording = setup.server.record("null");
    let mut session = setup.start(&[&one, &two]);
    require_beginnings(&mut session, &recording, 2, "the next movie after the end of one");
    for count in 3..6 {
        session.display.key("greater");
        require_beginnings(&mut session, &recording, count, "a change of the movie by a key");
    }
    session.quit();
    // A sink that wakes slowly.
    let long = Movie { stamps_ms: steady(200), sound_ms: Some(8000), ..Movie::default() };
    let long = setup.folder.movie("movie.mkv", &long);
    let recording = setup.server.record("null");
    setup.server.pactl(&["suspend-sink", "null", "1"]);
    let mut session = setup.start(&[&long]);
    std::thread::sleep(Duration::from_millis(500));
    setup.server.pactl(&["suspend-sink", "null", "0"]);
    require_beginnings(&mut session, &recording, 1, "a start");
    setup.server.pactl(&["suspend-sink", "null", "1"]);
    session.display.key("Home");
    session.wait_for_text("The sound begins later than the picture.");
    session.quit();
}

#[test]
fn without_audio_the_keys_say_so() {
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    let mut session = Session::start(&display, command.arg(clip()).args(["--variant", "off", "--no-audio"]));
    session.wait_for_frames();
    session.press_until_message("m", "The sound is off: clreel was started with --no-audio or --unpaced");
    session.quit();
}
