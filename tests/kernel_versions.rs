//! Versions of edited kernels in the window: folders and versions outlive it, a version is restored to the files, and the panel
//! makes a kernel of one's own.

use std::path::PathBuf;
use std::process::Command;

use crate::common::*;

const FLAT: &str = "box_filter/03_flat.cl";
const OWN: &str = "box_filter/own.cl";

/// Returns the folder to which the panel copies the kernels.
fn kernels(folder: &Folder) -> PathBuf {
    folder.file("clreel-kernels")
}

/// Returns the built-in file of `flat` with a comment at its end.
fn flat(comment: &str) -> String {
    format!("{}// {comment}\n", kernel(FLAT))
}

fn save(folder: &Folder, file: &str, text: &str) {
    save_kernel(&kernels(folder), file, text);
}

fn read(folder: &Folder, file: &str) -> String {
    std::fs::read_to_string(kernels(folder).join(file)).unwrap_or_default()
}

/// Returns the command of a window that saves its settings in the folder, and works there.
fn window(display: &Display, folder: &Folder) -> Command {
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    let mut command = clreel(Some(display));
    command.env("CLREEL_SETTINGS", folder.file("settings/settings.json")).current_dir(folder.file(""));
    command.arg(movie).args(["--variant", "flat", "--radius", "2"]);
    command
}

/// Returns true if the scoreboard has a time of this variant.
fn has_time(session: &Session, variant: &str) -> bool {
    session.texts().windows(2).any(|row| row[0].text == variant && row[1].text.ends_with(" ms"))
}

/// Waits until the window shows the movie filtered by `flat`, and until the panel of kernels shows `text`; opens the panel
/// if `opens` is true.
fn wait_for_panel(session: &mut Session, opens: bool, text: &str) {
    session.resize(1280, 720);
    session.wait_for_title("flat, r=2");
    session.wait_for_frames();
    if opens {
        session.display.key("e");
    }
    session.wait_for_text(text);
}

#[test]
fn folder_and_versions_outlive_the_window_and_a_version_is_restored() {
    let (display, folder) = (Display::start(&[]), Folder::new("versions-restart"));
    let mut session = Session::start(&display, &mut window(&display, &folder));
    wait_for_panel(&mut session, true, "Make an editable copy");
    session.click_until("Make an editable copy", "Edit the files in");
    session.wait("the copy", |_| !read(&folder, FLAT).is_empty());
    session.wait_for_text("original: flat");
    save(&folder, FLAT, &flat("first"));
    session.wait_for_version(2, "flat exact");
    for (number, broken) in [(3, "imt a;\n"), (4, "imt b;\n")] {
        save(&folder, FLAT, broken);
        session.wait_for_version(number, "does not build");
    }
    save(&folder, FLAT, &flat("second"));
    session.wait_for_version(5, "flat exact");
    session.wait_for_text("2 builds failed");
    assert_eq!(session.quit(), "");
    let folders = &read_json(&folder.file("settings/settings.json"))["kernel_folders"];
    assert_eq!(folders[0].as_str(), kernels(&folder).to_str(), "{folders}");
    // The next start runs the built-in kernels and offers the folder.
    let mut session = Session::start(&display, &mut window(&display, &folder));
    wait_for_panel(&mut session, false, "edits of 1 file, last change");
    session.click_until("Open clreel-kernels", "Edit the files in");
    session.wait_for_text("03_flat.cl: exact");
    session.wait_for_version(1, "flat exact");
    // The text of the older one is compared and restored; the present one stays a version.
    session.click("diff");
    session.wait_for_text("Restoring the version of ");
    session.wait("the lines", |s| s.shows("+// first") && s.shows("-// second"));
    session.click("Restore to file");
    session.wait("the restored file", |_| read(&folder, FLAT) == flat("first"));
    session.wait_for_version(2, "flat exact");
    session.wait_for_version(1, "flat exact");
    assert_eq!(session.quit(), "");
}

#[test]
fn the_panel_makes_a_kernel_of_ones_own_that_leaves_the_ladders_times() {
    let (display, folder) = (Display::start(&[]), Folder::new("versions-own"));
    folder.folder("clreel-kernels/box_filter");
    let mut command = window(&display, &folder);
    let mut session = Session::start(&display, command.arg("--kernels").arg(kernels(&folder)));
    wait_for_panel(&mut session, true, "Edit the files in");
    session.press_until_title("u", "flat");
    session.wait_for_text("There is no kernel of your own.");
    session.press_until_title("8", "fused");
    session.wait("a time of fused", |s| has_time(s, "fused"));
    session.press_until_title("3", "flat");
    session.wait_for_frames();
    session.click_until("Make own.cl", "own.cl: own exact");
    session.wait_for_end_of("There is no kernel of your own.");
    // It is selected, and its file is shown.
    session.wait_for_title("own, r=2");
    session.wait_for_text("box_filter/own.cl");
    session.wait_for_frames();
    // Another filter than the box filter: its error and its time are known, and the others keep their times.
    let other = read(&folder, OWN).replace("convert_uchar4(mean4", "(uchar4)(2) + convert_uchar4(mean4");
    save(&folder, OWN, &other);
    for said in ["own differs in", "differ by up to ", "ms (not comparable)", "not timed: output differs"] {
        session.wait_for_text(said);
    }
    assert!(has_time(&session, "fused") && has_time(&session, "flat"), "{:?}", session.texts());
    // One that takes other arguments than it gets.
    let text = read(&folder, OWN);
    let (head, kernel) = text.split_at(text.rfind("__kernel").unwrap());
    let kernel = kernel.replace("int rows, float scale", "int rows").replace(", scale)", ", 1.0f)");
    save(&folder, OWN, &format!("{head}{kernel}"));
    session.wait_for_text("It takes 7 arguments, but gets 8.");
    // Compilers report what is odd.
    let odd = flat("warns").replace("    ushort4 sum = 0;", "    radius + 1;\n    ushort4 sum = 0;");
    save(&folder, FLAT, &odd);
    session.press_until_title("3", "flat");
    session.wait_for_text("flat: the compiler warns:");
    let is_warning = |text: &Text| text.text.contains("03_flat.cl:") && text.text.contains("unused");
    session.wait("the warning", |s| s.texts().iter().any(is_warning));
    session.quit();
}

#[test]
fn a_folder_of_an_earlier_day_is_offered_without_settings_and_own_cl_makes_one() {
    let (display, folder) = (Display::start(&[]), Folder::new("versions-earlier"));
    let command = || {
        let mut command = window(&display, &folder);
        command.env("CLREEL_SETTINGS", "");
        command
    };
    let mut session = Session::start(&display, &mut command());
    wait_for_panel(&mut session, true, "Make own.cl");
    session.click_until("Make own.cl", "Edit the files in");
    session.wait_for_title("own, r=2");
    session.wait("the file", |_| !read(&folder, OWN).is_empty());
    assert_eq!(session.quit(), "");
    let mut session = Session::start(&display, &mut command());
    wait_for_panel(&mut session, true, "Open clreel-kernels");
    assert!(!session.shows("Make own.cl"), "the folder may have one");
    session.click_until("Open clreel-kernels", "Edit the files in");
    session.press_until_title("u", "own, r=2");
    assert_eq!(session.quit(), "");
    assert!(!folder.file("clreel-kernels-2").exists());
}
