//! Movies that take their time to open, or never do, in the real window on a virtual display: it appears, answers and ends.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use crate::common::window::{Display, Session, clreel, finish, run};
use testkit::movie::{Folder, Movie, steady};

fn pipe(path: &Path) {
    let pipe = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name is a valid C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
}

/// A list whose file is a pipe that nobody writes to: FFmpeg opens it without a way to stop that.
fn never_opens(folder: &Folder) -> PathBuf {
    pipe(&folder.file("pipe.ts"));
    folder.with("never.ffconcat", b"ffconcat version 1.0\nfile pipe.ts\n")
}

#[test]
fn the_window_answers_while_a_movie_opens() {
    let (display, folder) = (Display::start(&[]), Folder::new("slow"));
    let path = never_opens(&folder);
    let mut command = clreel(Some(&display));
    command.env("CLREEL_MOVIE_TIMEOUT", "600");
    let mut session = Session::start(&display, command.arg("--allow-references").arg(&path));
    session.wait_for_title("never.ffconcat - opening");
    session.wait_for_text("Opening the movie");
    // Its keys work.
    session.display.key("question");
    session.wait_for_text("Keys");
    session.quit();

    let mut command = clreel(Some(&display));
    command.env("CLREEL_MOVIE_TIMEOUT", "600");
    let mut session = Session::start(&display, command.arg("--allow-references").arg(&path));
    session.wait_for_text("Opening the movie");
    let child = session.child.take().unwrap();
    // SAFETY: the process is this one's child and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    let (code, stderr) = finish(child);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn what_never_opens_is_told_and_the_next_movie_plays() {
    let (display, folder) = (Display::start(&[]), Folder::new("never"));
    let path = never_opens(&folder);
    let next = folder.movie("next.mkv", &Movie { stamps_ms: steady(10), ..Movie::default() });
    let mut command = clreel(Some(&display));
    command.arg("--allow-references").args([&path, &next]).args(["--variant", "off"]);
    let mut session = Session::start(&display, command.env("CLREEL_MOVIE_TIMEOUT", "1"));
    session.wait_for_title("next.mkv - off");
    let stderr = session.quit();
    assert!(stderr.contains("takes too long"), "{stderr}");

    let mut command = clreel(None);
    command.arg("snapshot").arg("--allow-references").arg(&path).env("CLREEL_MOVIE_TIMEOUT", "0.2");
    let (code, stderr) = run({
        command.arg("--out").arg(folder.file("out.png"));
        command
    });
    assert!(code == Some(1) && stderr.contains("takes too long"), "{stderr}");
}

#[test]
fn a_list_that_names_itself_is_told_and_the_next_movie_plays() {
    let (display, folder) = (Display::start(&[]), Folder::new("itself"));
    let path = folder.with("master.m3u8", b"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nmaster.m3u8\n");
    let next = folder.movie("next.mkv", &Movie { stamps_ms: steady(10), ..Movie::default() });
    let mut command = clreel(Some(&display));
    let mut session = Session::start(&display, command.args([&path, &next]).args(["--variant", "off"]));
    session.wait_for_title("next.mkv - off");
    let stderr = session.quit();
    assert!(stderr.contains("HLS playlist") && stderr.contains("--allow-references"), "{stderr}");

    let mut command = clreel(Some(&display));
    command.arg(&path);
    let (code, stderr) = run(command);
    assert!(code == Some(1) && stderr.contains("HLS playlist"), "{stderr}");
}

#[test]
fn the_window_answers_while_the_files_of_the_end_are_written() {
    let (display, folder) = (Display::start(&[]), Folder::new("slow-end"));
    let movie = folder.movie("small.mkv", &Movie { stamps_ms: steady(10), ..Movie::default() });
    // A disk that is slow: nothing is taken until somebody reads.
    let (stats, shot) = (folder.file("stats.json"), folder.file("shot.png"));
    pipe(&stats);
    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--variant", "off", "--stats"]).arg(&stats).arg("--screenshot").arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_frames();
    session.display.key("q");
    session.wait_for_text("Writing the files that were asked for");
    let place = session.find("Quit");
    session.resize(1000, 600);
    session.wait("another place of its buttons", |s| {
        s.texts().iter().any(|text| text.text == "Quit" && (text.x, text.y) != (place.x, place.y))
    });
    // Another key, or the same, changes nothing.
    session.display.key("q");
    let text = std::fs::read_to_string(&stats).unwrap();
    let (code, stderr) = finish(session.child.take().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(!written["frames"].as_array().unwrap().is_empty());
    assert!(shot.exists(), "the others were written, too");
}
