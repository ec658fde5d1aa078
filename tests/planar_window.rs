//! The filter on planes in the window on a virtual display: it shows the picture that `snapshot` writes, and a message has the
//! reason if the device cannot run it. `without_opencl.rs` selects it by its key. No time is asserted.

use crate::common::*;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;

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
