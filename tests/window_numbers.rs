//! The numbers in the window on a virtual display: every number belongs to the picture on the screen, or is "–". They
//! are read from the overlay's texts, folded to one line, `fused r=7 · 0.37 ms · 25 fps · …`, where name and number are
//! adjacent; counts come from the statistics. No time is asserted, only which numbers belong together.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::*;

const DOT: &str = " \u{b7} ";
const UNKNOWN: &str = "\u{2013}";

/// Returns the parts of the folded line of numbers: the first is the variant and radius.
fn line(session: &Session) -> Option<Vec<String>> {
    let texts = session.texts();
    let found = texts.iter().find(|t| t.text.contains(DOT) && t.text.contains("CPU "))?;
    Some(found.text.split(DOT).map(str::to_owned).collect())
}

/// Waits until the time follows a name that begins with `name`; returns the time and the line.
fn wait_for_measured(session: &mut Session, name: &str) -> (String, Vec<String>) {
    let mut found = None;
    session.wait(&format!("a measured time of {name}"), |s| {
        found = line(s).filter(|l| l[0] == name && l[1].ends_with(" ms") && !l[1].contains(UNKNOWN));
        found.is_some()
    });
    let line = found.unwrap();
    (line[1].clone(), line)
}

/// Starts a window so small that the numbers are one line.
fn start<'a>(display: &'a Display, movie: &Path, arguments: &[&str]) -> Session<'a> {
    let mut session = Session::with_stats(display, clreel(Some(display)).arg(movie).args(arguments));
    session.resize(640, 360);
    session
}

/// Parses elapsed seconds and the estimate, as in "1.3 of about 12 s" or "1.3 s".
fn parse_wait(part: &str) -> Option<(f64, Option<f64>)> {
    let text = part.strip_suffix(" s")?;
    match text.split_once(" of about ") {
        Some((elapsed, all)) => Some((elapsed.parse().ok()?, Some(all.parse().ok()?))),
        None => Some((text.parse().ok()?, None)),
    }
}

fn rows<'a>(stats: &'a Value, variant: &str) -> Vec<&'a Value> {
    let frames = presented_frames(stats);
    frames.iter().filter(|f| f["variant"] == variant).collect()
}

#[test]
fn a_filter_selected_in_a_pause_is_shown_with_its_own_numbers() {
    let display = Display::start(&[]);
    let mut session = start(&display, &clip(), &["--variant", "fused"]);
    wait_for_measured(&mut session, "fused r=7");
    session.press_until_title("space", "paused");
    session.wait_for_text("paused");
    // Nothing changes until another variant is selected.
    let (fused, _) = wait_for_measured(&mut session, "fused r=7");
    session.display.key("2");
    let mut seen = BTreeSet::from([format!("fused r=7{DOT}{fused}")]);
    session.wait("a measured time of separable", |s| {
        let Some(line) = line(s) else { return false };
        seen.insert(line[..2].join(DOT));
        line[0] == "separable r=7" && line[1].ends_with(" ms")
    });
    let (separable, shown) = wait_for_measured(&mut session, "separable r=7");
    seen.insert(format!("separable r=7{DOT}{separable}"));
    let fused = seen.iter().filter_map(|line| line.strip_prefix("fused r=7"));
    let beside_another: Vec<_> = fused.filter(|ms| seen.contains(&format!("separable r=7{ms}"))).collect();
    assert!(beside_another.is_empty(), "fused's time beside another name: {seen:?}");
    // One picture that was filtered again has no rate.
    assert!(shown[2].starts_with(UNKNOWN) && shown[2].ends_with(" fps"), "{shown:?}");
    session.press_until_title("8", "fused, r=7, paused");
    wait_for_measured(&mut session, "fused r=7");
    let stats = session.stats();
    // A picture that was filtered anew is no frame of the movie.
    assert!(rows(&stats, "separable").is_empty(), "{stats}");
    assert_eq!(stats["presented"].as_u64().unwrap() as usize, presented_frames(&stats).len());
}

#[test]
fn a_slow_picture_shows_its_name_elapsed_time_and_estimate() {
    let (display, folder) = (Display::start(&[]), Folder::new("numbers-awaited"));
    // Naive takes some seconds for a frame.
    let movie = Movie { size: (320, 180), stamps_ms: steady(50), ..Movie::default() };
    let movie = folder.movie("small.mkv", &movie);
    let mut session = start(&display, &movie, &["--variant", "fused", "--radius", "31"]);
    wait_for_measured(&mut session, "fused r=31");
    session.display.key("1");
    let (mut waits, mut wrong) = (Vec::new(), BTreeSet::new());
    session.wait("the first picture of naive", |s| {
        let there = s.title().contains("naive");
        let Some(line) = line(s).filter(|_| !there) else { return there };
        match (line[0].as_str(), parse_wait(&line[1])) {
            ("fused r=31", None) => {}
            // Until naive is built the movie is shown unfiltered, without a filter's time.
            ("off", None) if !line.iter().any(|p| p.ends_with("ms")) => {}
            // The time of the build is no time of the frame.
            ("naive r=31", None) if line[1].starts_with("compiling, ") => {}
            // Neither a time nor a rate of the variant before.
            ("naive r=31", Some(wait)) if !line.iter().any(|p| p.ends_with("ms") || p.ends_with("fps")) => {
                waits.push(wait);
            }
            _ => {
                wrong.insert(line.join(DOT));
            }
        }
        there
    });
    // The first frame may have come between reading title and texts.
    wrong.retain(|line| !line.starts_with("naive r=31"));
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(waits.len() > 3, "naive was too quick for this test: {waits:?}");
    assert!(waits.windows(2).all(|w| w[0].0 <= w[1].0), "time counts up: {waits:?}");
    let total = waits.last().unwrap().0;
    assert!(waits[0].0 < total, "{waits:?}");
    let estimates: Vec<f64> = waits.iter().filter_map(|w| w.1).collect();
    let near = estimates.iter().filter(|e| **e / total > 0.5 && **e / total < 2.0).count();
    // Load that starts during the wait may spoil some estimates.
    assert!(!estimates.is_empty() && 4 * near >= 3 * estimates.len(), "{total} s: {waits:?}");

    // The wait is not counted for the next variant.
    wait_for_measured(&mut session, "naive r=31");
    session.press_until_title("8", "fused, r=31");
    wait_for_measured(&mut session, "fused r=31");
    session.wait("frames of fused", |s| {
        line(s).is_some_and(|l| l[0] == "fused r=31" && !l[2].starts_with(UNKNOWN))
    });
    let stats = session.stats();
    assert!(!rows(&stats, "naive").is_empty());
    let frames = presented_frames(&stats);
    let back = frames.windows(2).find(|f| f[0]["variant"] == "naive" && f[1]["variant"] == "fused").unwrap();
    assert_eq!(back[1]["switched"], true, "{}", back[1]);
    let of = |variant: &str| {
        let settings = stats["settings"].as_array().unwrap();
        settings.iter().find(|s| s["variant"] == variant).unwrap().clone()
    };
    let fused = rows(&stats, "fused");
    let own: Vec<f64> =
        fused.iter().filter(|f| f["switched"] == false).filter_map(|f| f["interval_ms"].as_f64()).collect();
    assert_eq!(of("fused")["interval_ms"]["n"].as_u64(), Some(own.len() as u64));
    let longest = own.iter().copied().fold(0.0, f64::max);
    assert!((of("fused")["interval_ms"]["max"].as_f64().unwrap() - longest).abs() < 1e-3);
    assert_eq!(of("naive")["presented"].as_u64(), Some(rows(&stats, "naive").len() as u64));
    assert!(frames.windows(2).all(|f| f[1]["switched"] == true || f[0]["variant"] == f[1]["variant"]));
}

#[test]
fn a_still_picture_shows_the_time_of_its_filter() {
    let (display, folder) = (Display::start(&[]), Folder::new("numbers-still"));
    let picture = folder.file("still.png");
    snapshot(&folder, &clip(), 0.0, "off", "0");
    std::fs::rename(folder.file("snapshot.png"), &picture).unwrap();
    let mut session = start(&display, &picture, &["--variant", "running-sum"]);
    let (first, line) = wait_for_measured(&mut session, "running-sum r=7");
    assert!(line[2].starts_with(UNKNOWN), "one picture has no rate: {line:?}");
    session.press_until_title("2", "separable, r=7");
    let (second, _) = wait_for_measured(&mut session, "separable r=7");
    assert_ne!(first, second);
    assert_eq!(session.stats()["presented"], 1);
}

#[test]
fn a_long_lasting_picture_is_filtered_at_once() {
    let (display, folder) = (Display::start(&[]), Folder::new("numbers-slides"));
    let stamps_ms = (0..3).map(|n| n * 120_000).collect();
    let movie = folder.movie("slides.mkv", &Movie { stamps_ms, ..Movie::default() });
    let mut session = start(&display, &movie, &["--variant", "fused"]);
    // The first filter, built after the first picture was shown, another one, another radius, and a second one beside it.
    wait_for_measured(&mut session, "fused r=7");
    session.press_until_title("3", "flat, r=7");
    wait_for_measured(&mut session, "flat r=7");
    session.press_until_title("equal", "flat, r=8");
    wait_for_measured(&mut session, "flat r=8");
    session.display.key("D");
    session.wait("how both differ", |s| s.shows("pixels compared") || s.shows("by at most"));
    // A pause that ends during the same picture.
    session.press_until_title("space", "paused");
    session.press_until_title("2", "separable, r=8, paused");
    session.display.key("space");
    session.wait_for_playing();
    session.press_until_title("8", "fused, r=8");
    assert_eq!(session.stats()["presented"], 1, "all of it was the first picture");
}

#[test]
fn a_late_frame_is_shown_as_late_not_dropped() {
    let (display, folder) = (Display::start(&[]), Folder::new("numbers-late"));
    let stamps_ms = (0..6).map(|n| n * 4000).collect();
    let movie = folder.movie("slow.mkv", &Movie { stamps_ms, ..Movie::default() });
    let stalls = folder.file("stalls");
    let plan = [("FAIL", "clEnqueueNDRangeKernel:1:stall"), ("FAIL_WHILE", stalls.to_str().unwrap())];
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(&plan)).arg(&movie).args(["--variant", "flat"]);
    let mut session = Session::with_stats(&display, command);
    session.wait_for_title("flat");
    session.wait("the second frame", |s| position(s) > 3.9);
    // The driver stalls in the third frame, which is due at 4 s and late from 6 s on; the fourth one is due at 8 s.
    std::fs::write(&stalls, "").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(6_800));
    std::fs::remove_file(&stalls).unwrap();
    session.wait_for_text("1 frame late");
    assert!(!session.shows("dropp"), "{:?}", session.texts());
    let stats = session.stats();
    // Others may have been late on a busy machine.
    let [late, dropped] = ["late", "dropped"].map(|count| stats[count].as_u64().unwrap());
    assert!(late >= 1 && dropped == 0, "{late}, {dropped}");
}

#[test]
fn a_stopped_process_continues_and_no_number_includes_the_stop() {
    const STOP: f64 = 4.0;
    let (display, folder) = (Display::start(&[]), Folder::new("numbers-stopped"));
    // Ten frames a second, for two minutes.
    let stamps_ms = (0..1200).map(|n| n * 100).collect();
    let movie = folder.movie("m.mkv", &Movie { stamps_ms, ..Movie::default() });
    let mut session =
        Session::with_stats(&display, clreel(Some(&display)).arg(&movie).args(["--variant", "fused"]));
    session.wait_for_title("fused");
    for _ in 0..3 {
        session.wait_for_frames();
        session.signal(libc::SIGSTOP);
        std::thread::sleep(std::time::Duration::from_secs_f64(STOP));
        session.signal(libc::SIGCONT);
    }
    session.wait_for_frames();
    let stats = session.stats();
    let frames = presented_frames(&stats);
    // A busy machine may drop frames.
    let at = |frame: &Value| frame["pts_s"].as_f64().unwrap();
    let jump = frames.windows(2).map(|f| at(&f[1]) - at(&f[0])).fold(0.0, f64::max);
    assert!(jump < STOP / 2.0, "the movie went on by {jump} s at once");
    let names = ["interval_ms", "upload", "convert", "filter", "release", "present", "overlay", "swap"];
    for frame in frames {
        let longest = names.iter().filter_map(|name| frame[*name].as_f64()).fold(0.0, f64::max);
        assert!(longest < STOP * 500.0, "{longest} ms: {frame}");
    }
    // Two stops may lie between the same two frames.
    let presented = |frame: &Value| frame["presented_at_s"].as_f64().unwrap();
    let between = frames.windows(2).map(|f| presented(&f[1]) - presented(&f[0]));
    let stopped: f64 = between.filter(|s| *s > STOP * 0.9).sum();
    assert!(stopped > 3.0 * STOP * 0.9, "it was stopped for {stopped} s");
}

/// Returns the movie's position in seconds.
fn position(session: &Session) -> f64 {
    let here = session.position().unwrap_or_default();
    let (minutes, seconds) = here.split_once(':').unwrap_or(("0", "0"));
    minutes.parse::<f64>().unwrap_or(0.0) * 60.0 + seconds.parse::<f64>().unwrap_or(0.0)
}

/// Returns the range of numbers that are rounded to the digits of a text: "0.37", "~0.4", "2,700".
fn range(text: &str) -> Option<(f64, f64)> {
    let digits = text.trim_start_matches('~').replace(',', "");
    let value: f64 = digits.parse().ok()?;
    let place = match digits.split_once('.') {
        Some((_, decimals)) => -(decimals.len() as i32),
        // Trailing zeros may stand for any digits.
        None => (digits.len() - digits.trim_end_matches('0').len()) as i32,
    };
    // The larger number may also lack zeros behind its point.
    let half = 0.5 * 10f64.powi(place) * 1.001;
    Some((value - half, value + half))
}

#[test]
fn rate_and_time_of_a_line_agree() {
    assert_eq!(range("~0.4").map(|(low, high)| low > 0.349 && high < 0.451), Some(true));
    assert_eq!(range("2,700").map(|(low, high)| low > 2649.0 && high < 2751.0), Some(true));
    let (display, folder) = (Display::start(&[]), Folder::new("numbers-rate"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(100), ..Movie::default() });
    let mut session =
        Session::start(&display, clreel(Some(&display)).arg(&movie).args(["--variant", "fused"]));
    let mut compared = 0;
    session.wait("twenty looks at a rate above 1000", |s| {
        let texts: Vec<String> = s.texts().into_iter().map(|t| t.text).collect();
        assert!(!texts.iter().any(|t| t.contains("over 1000")), "{texts:?}");
        let Some(at) = texts.iter().position(|t| t == "filter alone") else { return false };
        let time = texts[..at].iter().rev().find_map(|t| range(t));
        let rate = texts[at..].iter().find_map(|t| range(t.strip_suffix(" fps")?));
        let (Some(time), Some(rate)) = (time, rate) else { return false };
        // Both numbers come from one value.
        let agree = 1000.0 / time.1 <= rate.1 && rate.0 * time.0 <= 1000.0;
        assert!(agree, "{rate:?} fps beside {time:?} ms: {texts:?}");
        compared += usize::from(rate.1 > 1000.0 && texts[at..].iter().any(|t| t.contains(',')));
        compared >= 20
    });
    session.quit();
}
