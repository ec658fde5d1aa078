//! The talk in the window on a virtual display: keys, what it says of each variant, and the heart of an edited kernel.

use crate::common::*;

#[test]
fn the_talk_goes_along_the_ladder_by_keys_and_ends() {
    let (display, folder) = (Display::start(&[]), Folder::new("talk"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(500), ..Movie::default() });
    let mut session = Session::start(&display, clreel(Some(&display)).arg(movie).args(["--variant", "off"]));
    session.wait_for_title("- off");
    session.wait("all programs built", |s| s.shows("Panels") && !s.shows("compiling"));
    session.display.key("F6");
    session.wait_for_text("No filter: the frame passes through.");
    session.press_until_title("Right", "naive");
    session.wait_for_text("the baseline");
    assert!(session.shows("read_imagef(src, nearest, (int2)(x + i, y + j))"), "{:?}", session.texts());
    session.press_until_title("Down", "separable");
    session.wait_for_text("as fast as naive");
    // Remote controls send these.
    session.press_until_title("Next", "flat");
    session.press_until_title("Prior", "separable");
    session.press_until_title("End", "fused");
    session.wait_for_text("for (; x + 4 <= width; x += 4) {");
    session.press_until_title("Left", "running-sum");
    session.press_until_title("Home", "naive");
    assert!(!session.shows("Panels"), "{:?}", session.texts());
    for (key, begins) in [("Escape", false), ("F6", true), ("F6", false)] {
        session.display.key(key);
        let is_shown = |s: &mut Session| s.shows("the baseline") == begins && s.shows("Panels") != begins;
        session.wait("the talk or its end", is_shown);
    }
    // The arrows seek again.
    session.press_until_title("space", "paused");
    session.display.key("Home");
    session.wait_for_text("0:00.0 / 0:20.0");
    session.display.key("Right");
    session.wait_for_text("0:05.0 / 0:20.0");
    assert!(session.title().contains("naive"), "{}", session.title());
    session.quit();
}

#[test]
fn the_heart_of_an_edited_kernel_is_that_of_the_version_that_runs() {
    let (display, folder) = (Display::start(&[]), Folder::new("talk-edited"));
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(500), ..Movie::default() });
    const FLAT: &str = "box_filter/03_flat.cl";
    let kernels = folder.folder("kernels/box_filter").with_file_name("");
    let edit = |to: &str| {
        let edited = edited_kernel(FLAT, &[("i <= radius; i++) // heart", to)]);
        std::fs::write(kernels.join(FLAT), edited).unwrap();
    };
    let mut command = clreel(Some(&display));
    command.args(["--talk", "--variant", "flat", "--kernels"]).arg(&kernels);
    let mut session = Session::start(&display, command.arg(movie));
    session.wait_for_text("i <= radius; i++)");
    edit("i <= radius; i += 1) // heart");
    session.wait_for_text("i <= radius; i += 1)");
    // A kernel that does not build never runs.
    edit("i <= radius; nonsense) // heart");
    session.wait_for_text("does not build");
    let texts = session.texts();
    // The log has the line, too.
    let heart = texts.iter().find(|text| text.text.starts_with("for (")).expect("a heart");
    assert!(heart.text.contains("i <= radius; i += 1)"), "{texts:?}");
    session.quit();
}
