//! A search for the best parameters in the window's spare time, from its beginning to its end, on a virtual display: it
//! finishes and `auto` uses what it found, it gives way to the movie and to the user, and a device that fails half way
//! leaves the window as it was.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::window::{Display, Session, clreel, json};
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

/// A window with a small movie and `auto`, for which nothing is known. Only `variants` are searched.
fn untuned(display: &Display, folder: &Folder, variants: &str) -> Command {
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    let mut command = clreel(Some(display));
    command.env("XDG_CACHE_HOME", folder.file("cache")).env("CLREEL_TUNE_VARIANTS", variants);
    // What the compiler has made before may be used again.
    command.env("POCL_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/pocl"));
    command.arg(movie).args(["--variant", "auto"]);
    command
}

/// Starts it, in a window that has room for all the numbers.
fn start<'a>(display: &'a Display, command: &mut Command) -> Session<'a> {
    let mut session = Session::start(display, command);
    session.resize(1280, 720);
    session
}

/// Waits until the picture on the screen is of what `auto` is then.
fn wait_for_auto(session: &mut Session, variant: &str, radius: u32) {
    let (name, about) = (format!("auto ({variant})"), format!("r = {radius} \u{b7} "));
    session.wait(&name, |s| s.shows(&name) && s.texts().iter().any(|t| t.text.starts_with(&about)));
}

/// What a search leaves for the next start.
fn cache(folder: &Folder) -> PathBuf {
    folder.file("cache/clreel/tuning.json")
}

/// The variants that the cache has an entry for.
fn tuned(cache: &Path) -> Vec<String> {
    let entries = json(cache)["entries"].as_array().unwrap().clone();
    entries.iter().map(|entry| entry["variant"].as_str().unwrap().to_owned()).collect()
}

const WAITS: &str = "waits: the movie needs the CPU. A pause lets it go on: Space.";

#[test]
fn a_search_in_a_pause_waits_for_the_movie_ends_and_is_used() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-whole"));
    let mut command = untuned(&display, &folder, "flat");
    // Nothing is compiled yet, so that it is not over before the movie goes on.
    command.env_remove("POCL_CACHE_DIR");
    let mut session = start(&display, &mut command);
    session.wait_for_title("auto, r=7");
    wait_for_auto(&mut session, "fused", 7);
    assert!(!session.shows("Tuning"), "a CPU device is the movie's own processor");
    session.press_until_title("space", "paused");
    // It has begun: something has been tried.
    session.wait("a trial", |s| s.shows(" of at most ") && !s.shows("0 of at most "));
    // Playing holds it, and the next pause lets it go on.
    session.display.key("space");
    session.wait_for_text(WAITS);
    assert!(!cache(&folder).exists(), "nothing is kept before its end");
    session.press_until_title("space", "paused");
    session.wait_for_text("Done: ");
    // What it found is kept, and auto is built anew with it.
    assert_eq!(tuned(&cache(&folder)), ["flat"]);
    wait_for_auto(&mut session, "flat", 7);
    session.wait_for_text("Here auto is flat GROUP_X=");
    session.display.key("space");
    session.wait("playing", |s| s.title().contains("auto, r=7") && !s.title().contains("paused"));
    // Another class of radii is not tuned yet.
    for _ in 0..4 {
        session.display.key("minus");
    }
    wait_for_auto(&mut session, "fused", 3);
    session.quit();

    // The next start uses it from the first frame, and searches nothing.
    let mut command = untuned(&display, &folder, "flat");
    let mut session = start(&display, &mut command);
    wait_for_auto(&mut session, "flat", 7);
    session.press_until_title("space", "paused");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(!session.shows("Tuning"), "it is known");
    // Who asks gets a search all the same.
    session.display.key("t");
    session.wait_for_text("Tune now");
    session.click("Tune now");
    session.wait_for_text("Done: ");
    session.quit();
    assert_eq!(tuned(&cache(&folder)), ["flat"], "the new search takes the old one's place");
}

#[test]
fn another_choice_ends_a_search_that_began_by_itself() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-other"));
    let mut command = untuned(&display, &folder, "");
    // Nothing is compiled yet, so that the search takes some seconds.
    command.env_remove("POCL_CACHE_DIR");
    let mut session = start(&display, &mut command);
    wait_for_auto(&mut session, "fused", 7);
    session.press_until_title("space", "paused");
    session.wait("a search", |s| s.shows(" of at most "));
    session.press_until_title("5", "running-sum, r=7, paused");
    session.wait_for_text("The search was ended.");
    assert!(!cache(&folder).exists(), "a search that was ended is not kept");
    // With auto it begins again by itself.
    session.press_until_title("9", "auto, r=7, paused");
    session.wait("a search", |s| s.shows(" of at most "));
    session.quit();
}

#[test]
fn a_search_that_was_asked_for_ends_with_the_button_another_radius_and_the_window() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-ended"));
    // A movie that takes all the time there is holds every search.
    let waits = "waits: the movie plays as fast as it can";
    let mut session = start(&display, untuned(&display, &folder, "").arg("--unpaced"));
    wait_for_auto(&mut session, "fused", 7);
    session.display.key("t");
    session.click_until("Tune now", waits);
    // Another variant has nothing to do with it, another class of radii has.
    session.press_until_title("5", "running-sum, r=7");
    session.wait_for_frames();
    assert!(session.shows(waits));
    for _ in 0..4 {
        session.display.key("minus");
    }
    session.wait_for_text("The search was ended.");
    session.click_until("Tune now", waits);
    session.click_until("Stop", "The search was ended.");
    // It goes on without its panel.
    session.click_until("Tune now", waits);
    session.display.key("t");
    session.wait("no panel", |s| !s.shows("Tuning"));
    session.display.key("t");
    session.wait_for_text(waits);
    // Closing the window does not wait for it.
    session.quit();
    assert!(!cache(&folder).exists(), "a search that was ended is not kept");
}

#[test]
fn a_device_that_fails_half_way_ends_the_search_and_nothing_else() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-failure"));
    let while_there = folder.file("failing");
    let mut command = untuned(&display, &folder, "flat");
    // Nothing is compiled yet, so that the search is not over before it is to fail.
    command.env_remove("POCL_CACHE_DIR");
    // After some trials no kernel runs any more, and nothing is copied.
    let plan = "clEnqueueNDRangeKernel:100+:-5,clEnqueueCopyBuffer:1+:-5";
    let options = [("FAIL", plan), ("FAIL_WHILE", while_there.to_str().unwrap())];
    command.envs(layer::environment(&options));
    let mut session = start(&display, &mut command);
    wait_for_auto(&mut session, "fused", 7);
    session.press_until_title("space", "paused");
    std::fs::write(&while_there, "").unwrap();
    // The sentence stands in the panel and in a banner.
    session.wait("the failure", |s| s.shows("Tune now") && s.shows("CL_OUT_OF_RESOURCES"));
    assert!(!cache(&folder).exists());
    // Nothing is tried again by itself, and the movie goes on.
    std::fs::remove_file(&while_there).unwrap();
    session.display.key("space");
    session.wait("playing", |s| s.title().contains("auto, r=7") && !s.title().contains("paused"));
    session.press_until_title("5", "running-sum, r=7");
    session.press_until_title("9", "auto, r=7");
    session.press_until_title("space", "paused");
    assert!(session.shows("Tune now"), "the failed search was not begun again");
    session.click("Tune now");
    session.wait_for_text("Done: ");
    wait_for_auto(&mut session, "flat", 7);
    let stderr = session.quit();
    assert!(stderr.contains("clreel: "), "the sentence: {stderr}");
}

#[test]
fn on_a_graphics_card_a_search_runs_beside_the_movie() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-beside"));
    let mut command = untuned(&display, &folder, "flat");
    // With shared textures `auto` keeps to variants that can write them.
    command.envs(layer::environment(&[("FAKE_GPU", "1")])).arg("--no-sharing");
    // A frame every two seconds leaves time to spare on any machine.
    let stamps_ms = (0..4).map(|i| i * 2000).collect();
    folder.movie("m.mkv", &Movie { stamps_ms, ..Movie::default() });
    let mut session = start(&display, &mut command);
    wait_for_auto(&mut session, "fused", 7);
    session.wait_for_text("Done: ");
    wait_for_auto(&mut session, "flat", 7);
    assert!(!session.title().contains("paused"), "{}", session.title());
    session.quit();
    assert_eq!(tuned(&cache(&folder)), ["flat"]);
}
