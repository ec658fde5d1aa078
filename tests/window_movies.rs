//! Movies of all kinds in the window on a virtual display: the frames it presents, their times and shapes, by its
//! statistics and screenshots. No time is asserted.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::*;
use testkit::movie::with_display_matrix;

#[test]
fn start_unpaced_and_preload_play_the_requested_frames() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-order"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(10), ..Movie::default() });
    let (stats, _) = play_movie(&display, &movie, &["--unpaced", "--frames", "15"]);
    // Every frame in order, then from the start again.
    let round: Vec<i64> = (0..10).chain(0..5).map(|i| i * 40).collect();
    assert_eq!(stamps(&stats), round);
    assert_eq!((stats["late"].as_u64(), stats["dropped"].as_u64()), (Some(0), Some(0)));

    let (stats, _) = play_movie(&display, &movie, &["--unpaced", "--frames", "6", "--start", "0.2"]);
    assert_eq!(stamps(&stats), [200, 240, 280, 320, 360, 0]);

    let (stats, _) = play_movie(&display, &movie, &["--unpaced", "--frames", "7", "--preload", "3"]);
    assert_eq!(stamps(&stats), [0, 40, 80, 0, 40, 80, 0]);
}

#[test]
fn frames_are_presented_at_their_time_stamps() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-vfr"));
    // Long enough that a machine that stalls for a second does not reach the loop's end.
    let pattern = [0, 100, 150, 400, 420, 700, 1000];
    let stamps_ms: Vec<i64> = (0..8).flat_map(|i| pattern.map(|t| t + i * 1200)).collect();
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: stamps_ms.clone(), ..Movie::default() });
    let (stats, _) = play_movie(&display, &movie, &["--variant", "off", "--frames", "4"]);
    let shown = stamps(&stats);
    // On a loaded machine frames may be dropped, but none comes twice, early or out of order.
    let is_in_order = shown.windows(2).all(|w| w[0] < w[1]);
    assert!(is_in_order && shown.iter().all(|t| stamps_ms.contains(t)), "{shown:?}");
    let frames = presented_frames(&stats);
    let lead = |f: &Value| f["pts_s"].as_f64().unwrap() - f["presented_at_s"].as_f64().unwrap();
    let first = lead(&frames[0]);
    assert!(frames.iter().all(|f| lead(f) - first < 0.1), "a frame is shown long before its time: {shown:?}");
}

#[test]
fn pictures_of_another_aspect_ratio_are_letterboxed() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-letterbox"));
    let shot = folder.file("s.png");
    let grey = Movie { size: (175, 99), stamps_ms: steady(1), ..Movie::default() };
    let movie = folder.movie("m.mkv", &grey);
    // A still picture is one frame: with one instead of ten it ends.
    assert_eq!(play_movie(&display, &movie, &["--frames", "10"]).0["presented"], 1);
    let mut session =
        Session::start(&display, unfiltered(&display).arg(&movie).arg("--screenshot").arg(&shot));
    session.wait_for_title("- off");
    session.display.key("i");
    session.resize(1200, 400);
    session.quit();
    let (width, height, window) = png(&shot);
    assert_eq!((width, height), (1200, 400));
    let (_, _, picture) = snapshot(&folder, &movie, 0.0, "off", "0");
    // 175:99 at a height of 400 is 707 wide, from 246 to 953.
    let pixel = |x: usize, y: usize| &window[(y * width + x) * 4..][..4];
    for y in [0, 200, 399] {
        for x in [0, 120, 245, 954, 1199] {
            assert_eq!(pixel(x, y), [0, 0, 0, 255], "{x} {y} is beside the picture");
        }
        for x in [247, 600, 951] {
            assert_eq!(pixel(x, y), &picture[..4], "{x} {y} is in the picture");
        }
    }
}

/// The side of an area of one colour in pixels, in pictures of [`COLORED`] pixels.
const AREA: usize = 80;
const COLORED: (usize, usize) = (320, 240);
const COLORS: [[u8; 3]; 3] = [[255, 0, 0], [0, 255, 0], [0, 0, 255]];

/// Draws areas of pure red, green and blue in BT.601, limited range.
fn paint_colors(_: usize, frame: &mut ffmpeg_next::frame::Video) {
    for (plane, samples) in [[81, 145, 41], [90, 54, 240], [240, 34, 110]].into_iter().enumerate() {
        let area = AREA * frame.plane_width(plane) as usize / COLORED.0;
        let row = frame.stride(plane);
        for (y, row) in frame.data_mut(plane).chunks_exact_mut(row).enumerate() {
            let samples = (0..row.len()).map(|x| samples[(x / area + y / area) % 3]);
            row.iter_mut().zip(samples).for_each(|(sample, color)| *sample = color);
        }
    }
}

/// Returns the colour of a pixel in a window of this size, black beside the picture; `None` near an edge, where the
/// colour may be mixed of two.
fn color_at((x, y): (usize, usize), window: (usize, usize), is_turned: bool) -> Option<[u8; 3]> {
    let [window, at] = [window, (x, y)].map(|(x, y)| [x as f64, y as f64]);
    let (width, height) = (COLORED.0 as f64, COLORED.1 as f64);
    let shown = if is_turned { [height, width] } else { [width, height] };
    let scale = (window[0] / shown[0]).min(window[1] / shown[1]);
    let [x, y] = [0, 1].map(|i| (at[i] + 0.5 - window[i] / 2.0) / scale + shown[i] / 2.0);
    // The filter's radius, the neighbouring pixel of the interpolation, and the rounding of the picture's edge.
    let margin = 3.0 + 2.0 / scale;
    let is_beside = |at: f64, size: f64| at < -margin || at > size + margin;
    if is_beside(x, shown[0]) || is_beside(y, shown[1]) {
        return Some([0; 3]);
    }
    let (x, y) = if is_turned { (y, height - x) } else { (x, y) };
    let is_within = |at: f64| (margin..AREA as f64 - margin).contains(&at.rem_euclid(AREA as f64));
    let area = |at: f64| (at / AREA as f64) as usize;
    let is_inside = (0.0..width).contains(&x) && (0.0..height).contains(&y) && is_within(x) && is_within(y);
    is_inside.then(|| COLORS[(area(x) + area(y)) % 3])
}

/// Waits until a window at the screen's upper left corner has the movie's colours where `is_looked_at`.
fn wait_for_colors(
    session: &mut Session,
    size: (usize, usize),
    is_turned: bool,
    what: &str,
    is_looked_at: impl Fn(usize, usize) -> bool,
) {
    let began = Instant::now();
    loop {
        let (row, pixels) = session.display.pixels();
        let mut wrong = Vec::new();
        for (x, y) in (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y))) {
            let seen = pixels[y * row + x];
            let is_right = |color: &[u8; 3]| seen.iter().zip(color).all(|(a, b)| a.abs_diff(*b) <= 24);
            if is_looked_at(x, y) && color_at((x, y), size, is_turned).is_some_and(|color| !is_right(&color))
            {
                wrong.push((x, y, seen));
            }
        }
        let Some(first) = wrong.first() else { return };
        let tiles: BTreeSet<_> = wrong.iter().map(|(x, y, _)| (x / 64, y / 64)).collect();
        assert!(
            began.elapsed() < PATIENCE,
            "{what}, {size:?}, turned {is_turned}: {} wrong pixels in {} tiles; the first is {first:?}",
            wrong.len(),
            tiles.len()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Reads the screen itself: OpenGL may read back other pixels than it shows.
#[test]
fn a_window_of_any_size_has_the_colors_of_the_movie() {
    let folder = Folder::new("window-colors");
    let colored = Movie { size: (320, 240), paint: paint_colors, ..Movie::default() };
    let upright = folder.movie("m.mp4", &colored);
    let turned = with_display_matrix(std::fs::read(&upright).unwrap(), [0, 1 << 16, -(1 << 16), 0]);
    let turned = folder.with("turned.mp4", turned);
    for (movie, is_turned) in [(upright, false), (turned, true)] {
        let (display, shot) = (Display::start(&[]), folder.file("s.png"));
        let mut command = clreel(Some(&display));
        command.arg(&movie).args(["--variant", "off", "--radius", "2", "--screenshot"]).arg(&shot);
        let mut session = Session::start(&display, &mut command);
        session.wait_for_title("- off");
        // The picture's size, twice that, larger, letterboxed at its own height, smaller in one direction, and odd.
        let (width, height) = if is_turned { (240, 320) } else { COLORED };
        let exact = [(width, height), (2 * width, 2 * height), (700, height)];
        let scaled = [(1280, 720), (960, 540), (333, 217), (701, 533), (320, 180), (320, 719)];
        let sizes: Vec<(usize, usize)> = exact.into_iter().chain(scaled).collect();
        let each = |session: &mut Session, what: &str, is_wiped: bool| {
            for &size in &sizes {
                session.resize(size.0 as u32, size.1 as u32);
                let top = size.1.saturating_sub(size.0 * height / width) / 2;
                // Beside the line, its handle and the labels.
                let is_free =
                    |x: usize, y| y >= top + 160 && !(size.0 / 2 - 10..size.0 / 2 + 10).contains(&x);
                wait_for_colors(session, size, is_turned, what, |x, y| !is_wiped || is_free(x, y));
            }
        };
        // Between the panels.
        for (width, height) in [(1280, 720), (720, 540)] {
            session.resize(width as u32, height as u32);
            let is_free = |x, y| (width * 6 / 10..width * 7 / 10).contains(&x) && y < height * 3 / 10;
            wait_for_colors(&mut session, (width, height), is_turned, "with the overlay", is_free);
        }
        display.key("i");
        each(&mut session, "off", false);
        session.press_until_title("8", "fused, r=2");
        each(&mut session, "fused", false);
        display.key("w");
        let is_timed = |t: &Text| t.text.starts_with("fused r=2") && t.text.contains("p50 ");
        session.wait("the time of the first side", |s| s.texts().iter().any(is_timed));
        each(&mut session, "fused and off, wiped", true);
        display.key("w");
        session.resize(701, 533);
        wait_for_colors(&mut session, (701, 533), is_turned, "fused again", |_, _| true);
        session.quit();
        let (width, height, saved) = png(&shot);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let pixel = &saved[4 * (y * width + x)..][..3];
            let color = color_at((x, y), (width, height), is_turned);
            let is_right = |color: [u8; 3]| pixel.iter().zip(color).all(|(a, b)| a.abs_diff(b) <= 24);
            assert!(color.is_none_or(is_right), "saved, turned {is_turned}: {pixel:?} at {x}, {y}");
        }
    }
}

/// A picture of three columns: red with alpha 0, white with half alpha, and blue. A chequerboard of two greys lies
/// below it, in window pixels; the red is never visible, at any window size and with any filter.
#[test]
fn a_chequerboard_lies_below_a_picture_with_alpha() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-alpha"));
    const COLUMNS: [[u8; 4]; 3] = [[255, 0, 0, 0], [255, 255, 255, 128], [0, 0, 255, 255]];
    let row = (0..96).flat_map(|x| COLUMNS[x / 32]).collect::<Vec<u8>>();
    let picture = folder.file("alpha.png");
    write_png(&picture, (96, 64), &row.repeat(64));
    let saved = folder.file("saved.png");
    let mut session =
        Session::start(&display, unfiltered(&display).arg(&picture).arg("--save-frame").arg(&saved));
    session.wait_for_title("- off");
    display.key("i");
    let near = |seen: [u8; 3], want: [u8; 3]| seen.iter().zip(want).all(|(a, b)| a.abs_diff(b) <= 2);
    let greys = |seen: [u8; 3]| [102, 153].into_iter().find(|grey| near(seen, [*grey; 3]));
    for (width, height) in [(96, 64), (480, 320), (333, 222)] {
        session.resize(width as u32, height as u32);
        let column = width / 3;
        session.wait(&format!("{width}×{height}"), |session| {
            let (row, pixels) = session.display.pixels();
            // Some pixels beside the edges are mixed.
            let inside = |x: usize| (4..column - 4).contains(&(x % column));
            (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).filter(|at| inside(at.0)).all(
                |(x, y)| {
                    let seen = pixels[y * row + x];
                    // The squares have the same size in any window.
                    let square = (x / 8 + (height - 1 - y) / 8) % 2;
                    let grey = [102.0, 153.0][square];
                    let half = (128.0 + grey * 127.0 / 255.0) as u8;
                    near(seen, [[grey as u8; 3], [half; 3], [0, 0, 255]][x / column])
                },
            )
        });
    }
    // Filtered, there is as much white and blue, and no red.
    session.press_until_title("8", "fused, r=7");
    session.wait("the filter", |session| {
        let (row, pixels) = session.display.pixels();
        let at = |x: usize| pixels[100 * row + x];
        let no_red = (0..333).all(|x| at(x)[0].abs_diff(at(x)[1]) <= 2);
        no_red && greys(at(20)).is_some() && at(222)[2] > at(222)[0] + 40
    });
    session.press_until_title("0", "- off");
    session.quit();
    let (width, height, rgba) = png(&saved);
    assert_eq!((width, height), (96, 64));
    for (at, pixel) in rgba.chunks_exact(4).enumerate() {
        // Files have straight alpha, and zeros where that is 0.
        assert_eq!(pixel, [[0; 4], COLUMNS[1], COLUMNS[2]][at % 96 / 32], "pixel {at}");
    }
}

#[test]
fn a_truncated_file_plays_its_frames() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-cut"));
    let whole = Movie { size: (320, 240), stamps_ms: steady(50), ..Movie::default() };
    let bytes = std::fs::read(folder.movie("whole.mkv", &whole)).unwrap();
    let cut = folder.with("cut.mkv", &bytes[..bytes.len() * 6 / 10]);
    let (stats, stderr) = play_movie(&display, &cut, &["--unpaced", "--frames", "60"]);
    assert_eq!(stats["presented"], 60);
    assert!(stamps(&stats).iter().all(|t| *t < 2000) && stderr.contains("cut off"), "{stderr}");
}

#[test]
fn a_picture_larger_than_a_texture_is_a_message() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-wide"));
    let codec = ffmpeg_next::codec::Id::FFV1;
    let wide = Movie { codec, size: (16400, 16), stamps_ms: steady(2), ..Movie::default() };
    let movie = folder.movie("m.mkv", &wide);
    let (code, stderr) = run(clreel(Some(&display)).arg(&movie).args(["--variant", "off", "--frames", "1"]));
    // A driver with larger textures than Mesa's shows the picture.
    let sentence = code == Some(1) && stderr.contains("too large");
    assert!(sentence || code == Some(0), "{code:?} {stderr}");
}

#[test]
fn several_movies_play_in_turn_and_start_again() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-list"));
    let first = folder.movie("first.mkv", &Movie { stamps_ms: steady(4), ..Movie::default() });
    let second = Movie { size: (80, 60), stamps_ms: steady(3), ..Movie::default() };
    let second = folder.movie("second.mkv", &second);
    let missing = folder.file("missing.mkv");
    let unpaced = |movies: &[&Path], count: &str| {
        play(clreel(Some(&display)).args(movies).args(["--variant", "off", "--unpaced", "--frames", count]))
    };
    let (stats, stderr) = unpaced(&[&first, &second, &missing], "9");
    assert_eq!(stamps(&stats), [0, 40, 80, 120, 0, 40, 80, 0, 40]);
    assert!(stderr.contains("missing.mkv"), "{stderr}");
    // A missing first file is skipped too.
    let (stats, stderr) = unpaced(&[&missing, &second], "2");
    assert_eq!(stamps(&stats), [0, 40]);
    assert!(stderr.contains("missing.mkv"), "{stderr}");
}

#[test]
fn a_hidden_window_pauses_and_resumes() {
    let display = Display::start(&[]);
    let mut session = Session::with_stats(&display, clreel(Some(&display)).args(["--variant", "off"]));
    session.wait_for_title("- off");
    session.wait_for_frames();
    // Like a window manager that minimises a window.
    display.xdotool(&["windowunmap", "--sync", &session.window]);
    std::thread::sleep(Duration::from_secs(2));
    display.xdotool(&["windowmap", "--sync", &session.window]);
    session.focus();
    // Several frames.
    session.wait_for_frames();
    session.wait_for_frames();
    let stats = session.stats();
    let frames = presented_frames(&stats);
    let number = |f: &Value, name: &str| f[name].as_f64().unwrap();
    let shown = |f: &Value| number(f, "presented_at_s");
    let rest =
        frames.windows(2).position(|w| shown(&w[1]) - shown(&w[0]) > 1.5).expect("no frame while hidden");
    let (before, after) = (&frames[rest], &frames[rest + 1]);
    assert!(number(after, "pts_s") - number(before, "pts_s") < 0.5, "the movie waits: {before} {after}");
    assert!(after["interval_ms"].is_null(), "the rest is not in the statistics: {after}");
    assert!(frames.len() > rest + 2, "it goes on");
}

#[test]
fn unusual_sizes_and_time_stamps_play() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-odd"));
    let ffv1 = ffmpeg_next::codec::Id::FFV1;
    let three = || Movie { stamps_ms: steady(3), ..Movie::default() };
    for (name, movie, variant) in [
        ("pixel.nut", Movie { codec: ffv1, size: (1, 1), ..three() }, "running-sum"),
        ("column.nut", Movie { codec: ffv1, size: (1, 300), ..three() }, "vectorized"),
        ("negative.nut", Movie { offset_ms: -5000, ..three() }, "off"),
        ("ten-hours.mkv", Movie { offset_ms: 36_000_000, ..three() }, "off"),
        ("slow.mkv", Movie { stamps_ms: vec![0, 1000, 2000], ..Movie::default() }, "off"),
        ("fast.mkv", Movie { stamps_ms: vec![0, 8, 17], ..Movie::default() }, "off"),
    ] {
        let path = folder.movie(name, &movie);
        let asked = ["--variant", variant, "--frames", "3", "--unpaced"];
        let (stats, stderr) = play_movie(&display, &path, &asked);
        assert_eq!(stamps(&stats), movie.stamps_ms, "{name}: {stderr}");
        // With pacing a loaded machine may drop frames and start again.
        let (stats, stderr) = play_movie(&display, &path, &asked[..4]);
        let shown = stamps(&stats);
        let are_known = shown.iter().all(|t| movie.stamps_ms.contains(t));
        assert!(shown[0] == 0 && are_known, "{name}: {shown:?} {stderr}");
        assert!(presented_frames(&stats).iter().all(|f| f["variant"] == variant), "{name}");
    }
}

#[test]
fn the_end_and_a_read_error_are_shown_without_a_rate() {
    let (display, folder) = (Display::start(&[]), Folder::new("window-ended"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    let mut session = Session::start(&display, clreel(Some(&display)).arg(&movie).args(["--variant", "off"]));
    let is_rate = |t: &Text| t.text.strip_suffix(" fps").is_some_and(|rate| rate.ends_with(char::is_numeric));
    let has_rate = |s: &Session| s.texts().iter().any(is_rate);
    session.wait("a rate", |s| has_rate(s));
    session.press_until_title("space", "paused");
    session.wait("a pause without a rate", |s| s.shows("Paused") && !has_rate(s));
    session.display.key("space");
    session.wait("a rate again", |s| has_rate(s));
    session.display.key("L");
    session.wait("the end", |s| s.shows("Ended") && !has_rate(s));
    // Once more, then the file is deleted.
    session.display.key("L");
    session.wait("the movie again", |s| has_rate(s) && !s.shows("Ended"));
    std::fs::remove_file(&movie).unwrap();
    session.wait("its end", |s| s.shows("Stopped: the file could not be read") && !has_rate(s));
    session.quit();
}
