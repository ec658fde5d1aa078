//! Movies that open slowly or never, in the window on a virtual display: it appears, handles keys and ends.

use std::path::PathBuf;

use crate::common::*;
use testkit::movie::make_pipe;

/// Returns a list whose file is a pipe without a writer: FFmpeg's open cannot be interrupted there.
fn blocking_list(folder: &Folder) -> PathBuf {
    make_pipe(&folder.file("pipe.ts"));
    folder.with("never.ffconcat", b"ffconcat version 1.0\nfile pipe.ts\n")
}

#[test]
fn the_window_handles_keys_while_a_movie_opens() {
    let (display, folder) = (Display::start(&[]), Folder::new("slow"));
    let path = blocking_list(&folder);
    for by_key in [true, false] {
        let mut command = clreel(Some(&display));
        command.env("CLREEL_MOVIE_TIMEOUT", "600").arg("--allow-references").arg(&path);
        let mut session = Session::start(&display, command);
        session.wait_for_title("never.ffconcat - opening");
        session.wait_for_text("Opening the movie");
        if by_key {
            session.display.key("question");
            session.wait_for_text("Keys");
            session.quit();
        } else {
            session.signal(libc::SIGTERM);
            let (code, stderr) = session.end();
            assert_eq!(code, Some(0), "{stderr}");
        }
    }
}

#[test]
fn a_movie_that_never_opens_is_reported_and_the_next_one_plays() {
    let (display, folder) = (Display::start(&[]), Folder::new("never"));
    let path = blocking_list(&folder);
    let itself = folder.with("master.m3u8", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nmaster.m3u8\n");
    let next = folder.movie("next.mkv", &Movie { stamps_ms: steady(10), ..Movie::default() });
    // A list that names itself is refused without --allow-references.
    for (first, option, parts) in [
        (&path, Some("--allow-references"), ["takes too long", ""]),
        (&itself, None, ["HLS playlist", "--allow-references"]),
    ] {
        let mut command = clreel(Some(&display));
        command.args(option).args([first, &next]).args(["--variant", "off"]);
        let mut session = Session::start(&display, command.env("CLREEL_MOVIE_TIMEOUT", "1"));
        session.wait_for_title("next.mkv - off");
        let stderr = session.quit();
        assert!(parts.iter().all(|part| stderr.contains(part)), "{stderr}");
    }
    let mut command = clreel(None);
    command.arg("snapshot").arg("--allow-references").arg(&path).env("CLREEL_MOVIE_TIMEOUT", "0.2");
    let (code, stderr) = run(command.arg("--out").arg(folder.file("out.png")));
    assert!(code == Some(1) && stderr.contains("takes too long"), "{stderr}");
    let (code, stderr) = run(clreel(Some(&display)).arg(&itself));
    assert!(code == Some(1) && stderr.contains("HLS playlist"), "{stderr}");
}

#[test]
fn the_window_handles_keys_while_final_files_are_written() {
    let (display, folder) = (Display::start(&[]), Folder::new("slow-end"));
    let movie = folder.movie("small.mkv", &Movie { stamps_ms: steady(10), ..Movie::default() });
    // A slow disk: a pipe that nobody reads yet.
    let (stats, shot) = (folder.file("stats.json"), folder.file("shot.png"));
    make_pipe(&stats);
    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--variant", "off", "--stats"]).arg(&stats).arg("--screenshot").arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_frames();
    session.display.key("q");
    session.wait_for_text("Writing the files that were asked for");
    let place = session.find("Hide");
    session.resize(1000, 600);
    let has_moved = |text: &Text| text.text == "Hide" && (text.x, text.y) != (place.x, place.y);
    session.wait("another place of its buttons", |s| s.texts().iter().any(has_moved));
    // Further keys change nothing.
    session.display.key("q");
    let text = std::fs::read_to_string(&stats).unwrap();
    let (code, stderr) = session.end();
    assert_eq!(code, Some(0), "{stderr}");
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(!presented_frames(&written).is_empty());
    assert!(shot.exists(), "the others were written, too");
}
