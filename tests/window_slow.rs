//! Movies that take their time to open, or never do, in the real window on a virtual display: it appears, answers and ends.

#[path = "common/window.rs"]
mod common;
#[path = "common/movie.rs"]
mod movie;

use std::ffi::CString;
use std::path::PathBuf;

use common::{Display, Session, clreel, finish, run};
use movie::{Folder, Movie, steady};

/// A list whose file is a pipe that nobody writes to: FFmpeg opens it without a way to stop that.
fn never_opens(folder: &Folder) -> PathBuf {
    let pipe = CString::new(folder.file("pipe.ts").to_str().unwrap()).unwrap();
    // SAFETY: the name is a valid C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
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
