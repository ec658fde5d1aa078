//! The filter on planes in the real window on a virtual display: a key chooses it, what it shows is what `snapshot`
//! writes, and where it cannot be had a sentence says why. No time is asserted.

use crate::common::window::{Display, Session, clip, clreel, json, png, snapshot, succeed};
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use testkit::movie::{Folder, Movie};

#[test]
fn a_key_chooses_it_among_filters_on_rgba() {
    let (display, folder) = (Display::start(&[]), Folder::new("planar-key"));
    let (stats, shot) = (folder.file("s.json"), folder.file("s.png"));
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--stats"]).arg(&stats).arg("--save-frame").arg(&shot);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("- off");
    session.press_until_title("y", "planar, r=7");
    session.press_until_title("equal", "planar, r=8");
    session.press_until_title("space", "planar, r=8, paused");
    // The picture on the screen is filtered anew while paused; its memory changes hands.
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
    let frames = stats["frames"].as_array().unwrap();
    let filtered: Vec<_> = frames.iter().filter(|f| f["variant"] == "planar").collect();
    assert!(!filtered.is_empty());
    for stage in ["filter", "convert"] {
        assert!(filtered.iter().all(|f| f[stage].as_f64().unwrap() > 0.0), "each has its time for {stage}");
    }
    let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
    assert!(png(&shot) == snapshot(&folder, &clip(), at, "planar", "7"), "window and snapshot differ");
    assert!(png(&shot) != snapshot(&folder, &clip(), at, "planar", "8"));
}

/// Plays a movie of this format with the variant; returns its name in each frame, and what was said.
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
    let frames = stats["frames"].as_array().unwrap();
    let names: Vec<_> = frames.iter().map(|f| f["variant"].as_str().unwrap().to_owned()).collect();
    if names.iter().all(|name| name == "planar") {
        let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
        assert!(png(&shot) == snapshot(&folder, &movie, at, "planar", "3"), "window and snapshot differ");
    }
    (names, stderr)
}

/// The program for this conversion is not built beforehand: the movie waits for it.
#[test]
fn scripts_get_it_from_the_first_frame_on() {
    for format in [Pixel::YUV420P, Pixel::YUV422P10LE, Pixel::GRAY8] {
        let (names, stderr) = play(format, Id::FFV1);
        assert_eq!(names, ["planar"; 4], "{format:?}: {stderr}");
    }
}

#[test]
fn what_the_device_cannot_read_is_shown_unfiltered_with_a_sentence() {
    let (names, stderr) = play(Pixel::YUVA420P, Id::FFV1);
    assert_eq!(names, ["off"; 4]);
    for part in ["'planar' cannot filter this movie.", "does not read the planes", "fused"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}
