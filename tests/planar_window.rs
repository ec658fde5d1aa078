//! The filter on planes in the window on a virtual display: a key selects it, it shows the picture that `snapshot` writes,
//! and a message has the reason if the device cannot run it. No time is asserted.

use crate::common::window::{Display, Session, clip, clreel, json, png, presented_frames, snapshot, succeed};
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use testkit::movie::{Folder, Movie};

#[test]
fn a_key_selects_planar_among_filters_on_rgba() {
    let (display, folder) = (Display::start(&[]), Folder::new("planar-key"));
    let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--stats"]).arg(&stats).arg("--save-frame").arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.press_until_title("y", "planar, r=7");
    session.press_until_title("equal", "planar, r=8");
    session.press_until_title("space", "planar, r=8, paused");
    // The picture on the screen is filtered again during a pause; its memory moves between device and host.
    session.press_until_title("8", "fused, r=8, paused");
    session.press_until_title("y", "planar, r=8, paused");
    session.press_until_title("0", "- off, paused");
    session.press_until_title("y", "planar, r=8, paused");
    session.display.key("Home");
    session.press_until_title("space", "planar, r=8 - clreel");
    session.press_until_title("space", "paused");
    session.press_until_title("minus", "planar, r=7, paused");
    session.quit();

    let stats = json(&stats);
    let frames = presented_frames(&stats);
    let filtered: Vec<_> = frames.iter().filter(|f| f["variant"] == "planar").collect();
    assert!(!filtered.is_empty());
    for stage in ["filter", "convert"] {
        assert!(filtered.iter().all(|f| f[stage].as_f64().unwrap() > 0.0), "each has its time for {stage}");
    }
    let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
    assert!(png(&shot) == snapshot(&folder, &clip(), at, "planar", "7"), "window and snapshot differ");
    assert!(png(&shot) != snapshot(&folder, &clip(), at, "planar", "8"));
}

/// Plays a movie of this format with the variant; returns the variant of each frame, and stderr.
fn play(format: Pixel, codec: Id) -> (Vec<String>, String) {
    let (display, folder) = (Display::start(&[]), Folder::new(&format!("planar-{format:?}")));
    let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
    let movie = Movie { format, codec, size: (62, 46), ..Movie::default() };
    let movie = folder.movie("m.mkv", &movie);
    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--frames", "4", "--variant", "planar", "--radius", "3"]);
    command.arg("--stats").arg(&stats).arg("--save-frame").arg(&shot);
    let stderr = succeed(command);
    let stats = json(&stats);
    let frames = presented_frames(&stats);
    let names: Vec<_> = frames.iter().map(|f| f["variant"].as_str().unwrap().to_owned()).collect();
    if names.iter().all(|name| name == "planar") {
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        assert!(png(&shot) == snapshot(&folder, &movie, at, "planar", "3"), "window and snapshot differ");
    }
    (names, stderr)
}

/// The program for this conversion is not built in advance: the movie waits for it.
#[test]
fn counted_frames_are_filtered_by_planar_from_the_first_one() {
    for format in [Pixel::YUV420P, Pixel::YUV422P10LE, Pixel::GRAY8] {
        let (names, stderr) = play(format, Id::FFV1);
        assert_eq!(names, ["planar"; 4], "{format:?}: {stderr}");
    }
}

#[test]
fn unsupported_planes_are_shown_unfiltered_with_a_message() {
    let (names, stderr) = play(Pixel::YUVA420P, Id::FFV1);
    assert_eq!(names, ["off"; 4]);
    for part in ["'planar' cannot filter this movie.", "does not read the planes", "fused"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}
