//! Background tuning in the window, on a virtual display: `auto` uses the result, tuning gives way to the movie and to
//! the user, and a device failure during tuning leaves the rest of the window unaffected.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::*;

/// Returns the command of a window with a small movie, `auto` and an empty cache. Only `variants` are tuned.
fn untuned_window(display: &Display, folder: &Folder, variants: &str) -> Command {
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    let mut command = clreel(Some(display));
    command.env("XDG_CACHE_HOME", folder.file("cache")).env("CLREEL_TUNE_VARIANTS", variants);
    command.arg(movie).args(["--variant", "auto"]);
    command
}

/// Starts a window without compiled programs, large enough for all numbers: tuning takes some seconds.
fn start<'a>(display: &'a Display, command: &mut Command) -> Session<'a> {
    let mut session = Session::start(display, command.env_remove("POCL_CACHE_DIR"));
    session.resize(1280, 720);
    wait_for_auto(&mut session, "fused", 7);
    session
}

/// Waits until the picture on the screen is by this variant, chosen by `auto`.
fn wait_for_auto(session: &mut Session, variant: &str, radius: u32) {
    let (name, about) = (format!("auto ({variant})"), format!("r = {radius} \u{b7} "));
    session.wait(&name, |s| s.shows(&name) && s.texts().iter().any(|t| t.text.starts_with(&about)));
}

/// Returns the path of the tuning cache.
fn cache_path(folder: &Folder) -> PathBuf {
    folder.file("cache/clreel/tuning.json")
}

/// Returns the variants with entries in the cache.
fn tuned_variants(cache: &Path) -> Vec<String> {
    let entries = read_json(cache)["entries"].as_array().unwrap().clone();
    entries.iter().map(|entry| entry["variant"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tuning_in_a_pause_is_suspended_by_playback_and_its_result_used() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-whole"));
    let mut session = start(&display, &mut untuned_window(&display, &folder, "flat"));
    session.wait_for_title("auto, r=7");
    assert!(!session.shows("Tuning"), "a CPU device is the movie's own processor");
    session.press_until_title("space", "paused");
    // Tuning has started: a configuration was tried.
    session.wait("a trial", |s| s.shows(" of at most ") && !s.shows("0 of at most "));
    // Playback suspends tuning, and the next pause resumes it.
    session.display.key("space");
    session.wait_for_text("waiting: the movie needs the CPU. Pause to continue (Space).");
    assert!(!cache_path(&folder).exists(), "nothing is kept before its end");
    session.press_until_title("space", "paused");
    session.wait_for_result("Done: ");
    // The result is stored, and `auto` is built again with it.
    assert_eq!(tuned_variants(&cache_path(&folder)), ["flat"]);
    wait_for_auto(&mut session, "flat", 7);
    session.wait_for_text("auto uses flat (GROUP_X=");
    session.display.key("space");
    session.wait("playing", |s| s.title().contains("auto, r=7") && !s.title().contains("paused"));
    // Another class of radii is not tuned yet.
    for _ in 0..4 {
        session.display.key("minus");
    }
    wait_for_auto(&mut session, "fused", 3);
    session.quit();

    // The next start uses the result from the first frame on, and does not tune.
    let mut session = Session::start(&display, &mut untuned_window(&display, &folder, "flat"));
    session.resize(1280, 720);
    wait_for_auto(&mut session, "flat", 7);
    session.press_until_title("space", "paused");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(!session.shows("Tuning"), "it is known");
    // The button starts tuning all the same.
    session.display.key("t");
    session.wait_for_text("Tune now");
    session.click("Tune now");
    session.wait_for_result("Done: ");
    session.quit();
    assert_eq!(tuned_variants(&cache_path(&folder)), ["flat"], "the new search takes the old one's place");
}

#[test]
fn selecting_another_variant_stops_background_tuning() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-other"));
    let mut session = start(&display, &mut untuned_window(&display, &folder, ""));
    session.press_until_title("space", "paused");
    session.wait("a search", |s| s.shows(" of at most "));
    session.press_until_title("5", "running-sum, r=7, paused");
    session.wait_for_text("Stopped.");
    assert!(!cache_path(&folder).exists(), "a search that was ended is not kept");
    // With `auto` it starts again by itself.
    session.press_until_title("9", "auto, r=7, paused");
    session.wait("a search", |s| s.shows(" of at most "));
    session.quit();
}

#[test]
fn requested_tuning_stops_with_its_button_another_class_or_the_window() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-ended"));
    // An unpaced movie suspends all tuning.
    let waits = "waiting: the movie is playing as fast as possible";
    let mut session = start(&display, untuned_window(&display, &folder, "").arg("--unpaced"));
    session.display.key("t");
    session.click_until("Tune now", waits);
    // Another variant does not stop it, another class of radii does.
    session.press_until_title("5", "running-sum, r=7");
    session.wait_for_frames();
    assert!(session.shows(waits));
    for _ in 0..4 {
        session.display.key("minus");
    }
    session.wait_for_text("Stopped.");
    session.click_until("Tune now", waits);
    session.click_until("Stop", "Stopped.");
    // It continues without its panel.
    session.click_until("Tune now", waits);
    session.display.key("t");
    session.wait_for_end_of("Tuning");
    session.display.key("t");
    session.wait_for_text(waits);
    // The window closes without waiting for it.
    session.quit();
    assert!(!cache_path(&folder).exists(), "a search that was ended is not kept");
}

#[test]
fn a_device_failure_stops_tuning_only() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-failure"));
    let while_there = folder.file("failing");
    let mut command = untuned_window(&display, &folder, "flat");
    // After some trials every launch and copy fails.
    let plan = "clEnqueueNDRangeKernel:100+:-5,clEnqueueCopyBuffer:1+:-5";
    let options = [("FAIL", plan), ("FAIL_WHILE", while_there.to_str().unwrap())];
    command.envs(layer::environment(&options));
    let mut session = start(&display, &mut command);
    session.press_until_title("space", "paused");
    std::fs::write(&while_there, "").unwrap();
    // The error is in the panel and in a banner.
    session.wait("the failure", |s| s.shows("Tune now") && s.shows("CL_OUT_OF_RESOURCES"));
    assert!(!cache_path(&folder).exists());
    // Tuning does not start again by itself, and the movie continues.
    std::fs::remove_file(&while_there).unwrap();
    session.display.key("space");
    session.wait("playing", |s| s.title().contains("auto, r=7") && !s.title().contains("paused"));
    session.press_until_title("5", "running-sum, r=7");
    session.press_until_title("9", "auto, r=7");
    session.press_until_title("space", "paused");
    assert!(session.shows("Tune now"), "the failed search was not begun again");
    session.click("Tune now");
    session.wait_for_result("Done: ");
    wait_for_auto(&mut session, "flat", 7);
    let stderr = session.quit();
    assert!(stderr.contains("clreel: "), "the sentence: {stderr}");
}

#[test]
fn on_a_gpu_tuning_runs_while_the_movie_plays() {
    let (display, folder) = (Display::start(&[]), Folder::new("tuning-beside"));
    let mut command = untuned_window(&display, &folder, "flat");
    // With shared textures `auto` would be limited to variants that can write them.
    command.envs(layer::environment(&[("FAKE_GPU", "1")])).arg("--no-sharing");
    // One frame every two seconds leaves spare time on any machine.
    let stamps_ms = (0..4).map(|i| i * 2000).collect();
    folder.movie("m.mkv", &Movie { stamps_ms, ..Movie::default() });
    let mut session = start(&display, &mut command);
    session.wait_for_result("Done: ");
    wait_for_auto(&mut session, "flat", 7);
    assert!(!session.title().contains("paused"), "{}", session.title());
    session.quit();
    assert_eq!(tuned_variants(&cache_path(&folder)), ["flat"]);
}
