//! The filter on planes in the window on a virtual display: a key selects it, it shows the picture that `snapshot` writes,
//! and a message has the reason if the device cannot run it. No time is asserted.

use crate::common::*;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;

#[test]
fn a_key_selects_planar_among_filters_on_rgba() {
    let (display, folder) = (Display::start(&[]), Folder::new("planar-key"));
    let shot = folder.file("s.png");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "off", "--save-frame"]).arg(&shot);
    let mut session = Session::with_stats(&display, command);
    session.wait_for_title("- off");
    for (key, title) in [
        ("y", "planar, r=7"),
        ("equal", "planar, r=8"),
        ("space", "planar, r=8, paused"),
        // The picture on the screen is filtered again during a pause; its memory moves between device and host.
        ("8", "fused, r=8, paused"),
        ("y", "planar, r=8, paused"),
        ("0", "- off, paused"),
        ("y", "planar, r=8, paused"),
    ] {
        session.press_until_title(key, title);
    }
    session.display.key("Home");
    session.press_until_title("space", "planar, r=8 - clreel");
    session.press_until_title("space", "paused");
    session.press_until_title("minus", "planar, r=7, paused");
    let stats = session.stats();
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

/// The program for a conversion is not built in advance: the movie waits for it. Planes that the filter does not support are
/// shown unfiltered, with a message.
#[test]
fn counted_frames_are_filtered_by_planar_from_the_first_one() {
    let (display, folder) = (Display::start(&[]), Folder::new("planar-formats"));
    let shot = folder.file("s.png");
    for format in [Pixel::YUV420P, Pixel::YUV422P10LE, Pixel::GRAY8, Pixel::YUVA420P] {
        let movie = Movie { format, codec: Id::FFV1, size: (62, 46), ..Movie::default() };
        let movie = folder.movie("m.mkv", &movie);
        let mut command = clreel(Some(&display));
        command.arg(&movie).args(["--frames", "4", "--variant", "planar", "--radius", "3", "--save-frame"]);
        let (stats, stderr) = play(command.arg(&shot));
        let frames = presented_frames(&stats);
        let is_supported = format != Pixel::YUVA420P;
        let expected = if is_supported { "planar" } else { "off" };
        assert!(frames.len() == 4 && frames.iter().all(|f| f["variant"] == expected), "{format:?}: {stderr}");
        if is_supported {
            let at = frames.last().unwrap()["pts_s"].as_f64().unwrap();
            let right = snapshot(&folder, &movie, at, "planar", "3");
            assert!(png(&shot) == right, "{format:?}: window and snapshot differ");
            continue;
        }
        for part in ["'planar' cannot filter this movie.", "does not read the planes", "fused"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
    }
}
