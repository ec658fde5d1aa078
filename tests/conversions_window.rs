//! Changed kernels of the conversion in the window, which does not show what they make. The layer makes a GPU of PoCL's device,
//! for what only graphics cards are asked for. Needs an OpenCL device, Xvfb and xdotool.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::changed_conversions::{
    CORRECT, FOR_EVER, LIMIT, Mutant, PLANES, SIZE, as_gpu, endless, kernels, mutant, shot, small,
};
use crate::common::window::{Display, Session, clreel, png, succeed};
use ffmpeg_next::format::Pixel;
use testkit::layer;
use testkit::movie;
use testkit::movie::{Folder, Movie};

/// Counts frames in a window, saves the last one, and returns it with what was said.
fn counted(
    folder: &Folder,
    changed: Option<&Folder>,
    gpu: bool,
    variant: &str,
) -> ((usize, usize, Vec<u8>), String) {
    let (display, saved) = (Display::start(&[]), folder.file("window.png"));
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(folder.file("m.mkv")).args([
        "--frames",
        "2",
        "--variant",
        variant,
    ]);
    command.args(["--radius", "2", "--no-sharing", "--unpaced", "--kernel-timeout", LIMIT]);
    command.arg("--save-frame").arg(&saved);
    if gpu {
        command.envs(as_gpu()).args(["--device", "gpu"]);
    }
    if let Some(changed) = changed {
        command.env("CLREEL_KERNELS", changed.file(""));
    }
    let stderr = succeed(command);
    (png(&saved), stderr)
}

#[test]
fn a_counted_frame_in_the_window_is_right_whatever_the_kernels_are() {
    let folder = Folder::new("conversions-counted");
    let _ = small(&folder);
    for (name, gpu, variant) in [("alpha", true, "fused"), ("weights", false, "planar")] {
        let (right, said) = counted(&folder, None, gpu, variant);
        assert!(!said.contains("wrongly"), "{name}: {said}");
        let changed = kernels(mutant(name), "counted");
        let (got, said) = counted(&folder, Some(&changed), gpu, variant);
        assert!(got == right, "{name}: the picture is wrong");
        let instead = if gpu { "The processor converts them" } else { "Another kernel converts them" };
        for part in ["converts pictures (4:2:0, 8 bits) wrongly", instead] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
}

#[test]
fn the_window_does_without_an_endless_conversion() {
    let folder = Folder::new("conversions-stuck-window");
    let _ = small(&folder);
    let changed = endless(PLANES, "stuck");
    let (right, _) = counted(&folder, None, true, "fused");
    let (got, said) = counted(&folder, Some(&changed), true, "fused");
    assert!(got == right, "the picture is wrong");
    assert_eq!(said.matches("The kernels of the conversion did not end within").count(), 1, "{said}");
}

/// Plays a movie, waits for `first` to be told, and corrects its colours by the slider's left end for contrast,
/// until a saved picture `is_it`; returns that one, and what was said.
fn corrected(
    folder: &Folder,
    changed: Option<&Folder>,
    first: &str,
    mut is_it: impl FnMut(&Session, &(usize, usize, Vec<u8>)) -> bool,
) -> ((usize, usize, Vec<u8>), String) {
    let display = Display::start(&[]);
    let movie = small(folder);
    let here = folder.file("here");
    let _ = std::fs::remove_dir_all(&here);
    std::fs::create_dir(&here).unwrap();
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(&movie).current_dir(&here);
    command.args(["--variant", "fused", "--radius", "2", "--no-sharing", "--device", "cpu"]);
    command.args(["--kernel-timeout", LIMIT]);
    if let Some(changed) = changed {
        command.env("CLREEL_KERNELS", changed.file(""));
    }
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("fused, r=2");
    if !first.is_empty() {
        session.wait_for_text(first);
    }
    session.display.key("c");
    let (title, contrast) = (session.find("Colour correction"), session.find("contrast"));
    session.click_at((title.x as i32 + 6, contrast.center().1));
    let mut found = None;
    session.wait("the picture", |session| {
        session.display.key("s");
        let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
        // The newest ones may still be written.
        let age = |path: &PathBuf| path.metadata().ok()?.modified().ok()?.elapsed().ok();
        let old = files.filter(|path| age(path).is_some_and(|age| age.as_secs() > 0));
        let newest = old.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
        found = newest.map(|path| png(&path)).filter(|picture| is_it(session, picture));
        found.is_some()
    });
    (found.unwrap(), session.quit())
}

/// At the start odd sizes are corrected to see whether it is right, and later, in spare time, a picture of the movie's.
#[test]
fn the_window_corrects_colours_itself_where_the_device_does_it_wrongly() {
    let folder = Folder::new("conversions-colours");
    let grey = |picture: &(usize, usize, Vec<u8>)| {
        picture.2.iter().all(|byte| *byte == 255 || (60..200).contains(byte))
    };
    let (right, said) = corrected(&folder, None, "", |_, picture| grey(picture));
    assert!(!said.contains("wrongly"), "{said}");
    const WRONGLY: &str = "corrects colours wrongly";
    for (name, first) in [("column", WRONGLY), ("this size", "")] {
        let changed = kernels(mutant(name), "colours");
        let mut told = !first.is_empty();
        let (_, said) = corrected(&folder, Some(&changed), first, |session, picture| {
            told |= session.shows(WRONGLY);
            told && *picture == right
        });
        for part in [WRONGLY, CORRECT, "The processor corrects them instead"] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
    let changed = endless(CORRECT, "colours");
    let endless = "The kernels of the correction did not end within";
    let (_, said) = corrected(&folder, Some(&changed), endless, |_, picture| *picture == right);
    assert_eq!(said.matches(endless).count(), 1, "{said}");
}

/// One pixel far down is seen only when the whole picture is checked, which is done when there is time. The picture that
/// stands on the screen is then made anew.
#[test]
fn the_window_tells_of_one_wrong_pixel_and_mends_the_picture() {
    let folder = Folder::new("conversions-pixel");
    let display = Display::start(&[]);
    let changed = kernels(mutant("pixel"), "window");
    let one = Movie { stamps_ms: movie::steady(1), format: Pixel::YUV420P, size: SIZE, ..Movie::default() };
    let still = folder.movie("m.mkv", &one);
    let (right, _) = shot((&folder, &still), None, false, "off");
    let here = folder.file("here");
    std::fs::create_dir(&here).unwrap();
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", changed.file("")).envs(as_gpu()).arg(&still).current_dir(&here);
    command.args(["--variant", "off", "--no-sharing", "--device", "gpu"]);
    let mut session = Session::start(&display, &mut command);
    // A picture that was there before the device was converted without it.
    session.display.key("1");
    session.wait_for_text("wrongly");
    session.display.key("0");
    session.wait("the right picture", |session| {
        session.display.key("s");
        let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
        // The newest ones may still be written.
        let age = |path: &PathBuf| path.metadata().ok()?.modified().ok()?.elapsed().ok();
        files.filter(|path| age(path).is_some_and(|age| age.as_secs() > 0)).any(|path| png(&path) == right)
    });
    let said = session.quit();
    assert!(said.contains("converts pictures (4:2:0, 8 bits) wrongly"), "{said}");
    assert!(said.contains("The processor converts them instead"), "{said}");
}

/// The panel's check runs while the movie plays, ends when it is asked to, and with the window.
#[test]
fn the_devices_conversions_are_checked_while_the_movie_plays() {
    let folder = Folder::new("conversions-panel");
    let movie = small(&folder);
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(&movie).args(["--variant", "flat", "--device", "cpu"]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("flat");
    session.display.key("k");
    session.wait_for_text("nothing is known yet");
    // The panel grows with what is known, so that a button may move away from under a click.
    session.click_until("Check now", "Stop");
    // How soon something is known depends on who else uses the machine: it runs at low priority.
    session.wait_for_text("seed 1");
    session.click_until("Stop", "Ended at ");
    // Again, and this time the window ends it.
    session.click_until("Check now", "Stop");
    let said = session.quit();
    assert!(!said.contains("cannot"), "{said}");
}

/// The check to its end: it finds what `clreel conformance` finds, a wrong conversion and one that ends its process among them.
#[test]
fn the_check_finds_what_the_tool_finds() {
    const FILE: &str = "conversions/01_all_forms.cl";
    const TOP: &str = "#define PASTED(";
    let planted = "#define convert_uchar3_sat_rte(x) convert_uchar3_sat_rtz(x)\n\
                   int right(uchar x) { return convert_int_sat_rtp(x); }\n\
                   #define convert_int_sat_rtp(x) (*(volatile __global int *)16 = 1, right(x))\n";
    let folder = Folder::new("conversions-end");
    let built_in = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(FILE);
    let text = std::fs::read_to_string(built_in).unwrap();
    assert_eq!(text.matches(TOP).count(), 1);
    std::fs::create_dir_all(folder.file("kernels/conversions")).unwrap();
    std::fs::write(folder.file("kernels").join(FILE), text.replace(TOP, &format!("{planted}{TOP}"))).unwrap();
    let cases = ["uchar_sat_rte_float", "uchar_rte_float", "ushort_char", "char_short", "int_sat_rtp_uchar"];
    let mut tool = clreel(None);
    tool.args(["conformance", "--device", "cpu", "--seed", "1", "--json", "--type", &cases.join(" ")]);
    let output = tool.env("CLREEL_KERNELS", folder.file("kernels")).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = report["devices"][0]["cases"].as_array().unwrap();
    let count = |outcome: &str| found.iter().filter(|case| case["outcome"] == outcome).count();
    let counts = ["ok", "wrong", "failed"].map(count);
    assert_eq!(counts, [3, 1, 1], "{report}");
    let movie = small(&folder);
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", folder.file("kernels")).env("CLREEL_CHECK_CASES", cases.join(","));
    let mut session = begin(&display, &mut command, &movie);
    let [right, wrong, failed] = counts;
    session.wait_for_text(&format!("All 5 conversions: {right} right, {wrong} wrong, {failed} failed."));
    for fault in
        ["uchar_sat_rte_float, width 3", "int_sat_rtp_uchar, int_sat_rtp_uchar ends the process that runs it"]
    {
        assert!(session.shows(fault), "{fault}: {:?}", session.texts());
    }
    session.wait_for_frames();
    session.quit();
}

/// A window with this movie, in which a check has begun.
fn begin<'a>(display: &'a Display, command: &mut Command, movie: &Path) -> Session<'a> {
    command.arg(movie).args(["--variant", "flat", "--device", "cpu"]);
    let mut session = Session::start(display, command);
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.display.key("k");
    session.click_until("Check now", "Stop");
    session
}

/// A device that is lost in the middle: what was found before stays, of the others nothing is said to be known, and why.
#[test]
fn a_check_whose_device_is_lost_says_so_and_keeps_what_it_has_found() {
    let folder = Folder::new("conversions-lost");
    let (movie, lost) = (small(&folder), folder.file("lost"));
    let types = ["char", "uchar", "short", "ushort", "int", "uint"];
    let names = types.iter().flat_map(|to| types.iter().map(move |from| format!("{to}_rte_{from}")));
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    let plan = "clEnqueueNDRangeKernel:1+:-36,clCreateContext:1+:-36";
    command.envs(layer::environment(&[("FAIL", plan), ("FAIL_WHILE", lost.to_str().unwrap())]));
    command.env_remove("CLREEL_KERNELS").env("CLREEL_CHECK_CASES", names.collect::<Vec<_>>().join(","));
    let mut session = begin(&display, &mut command, &movie);
    session.wait_for_text(" right");
    std::fs::write(&lost, "").unwrap();
    // The panel's own words, right above its button: the window's may say the same.
    session.wait("why the check has ended", |session| {
        let texts = session.texts();
        let Some(button) = texts.iter().find(|text| text.text == "Check now") else { return false };
        texts.iter().any(|text| {
            let below = button.y - (text.y + text.height);
            text.text.contains("OpenCL returned")
                && (0.0..24.0).contains(&below)
                && (text.x - button.x).abs() < 24.0
        })
    });
    assert!(!session.shows("All 36 conversions"), "{:?}", session.texts());
    // The movie goes on without it.
    session.wait_for_title("off");
    session.wait_for_frames();
    session.quit();
}

/// The built-in kernel file of the planes.
fn planes() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(PLANES);
    std::fs::read_to_string(path).unwrap()
}

/// Each save is judged, and what may be shown converts the next frame: alpha tells which kernel that was.
#[test]
fn a_conversion_that_is_edited_is_judged_and_converts_the_next_frame() {
    let folder = Folder::new("conversions-live");
    let fifty =
        Movie { stamps_ms: movie::steady(50), format: Pixel::YUV420P, size: SIZE, ..Movie::default() };
    let movie = folder.movie("m.mkv", &fifty);
    let (edited, here) = (folder.file("kernels"), folder.file("here"));
    std::fs::create_dir_all(edited.join("convert")).unwrap();
    std::fs::create_dir(&here).unwrap();
    let save = |text: &str| {
        std::fs::write(edited.join("new~"), text).unwrap();
        std::fs::rename(edited.join("new~"), edited.join(PLANES)).unwrap();
    };
    let first = |line: &str| {
        let text = planes();
        let at = text.find("__kernel").unwrap();
        let body = at + text[at..].find('{').unwrap() + 1;
        format!("{} {line} {}", &text[..body], &text[body..])
    };
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").envs(as_gpu()).arg("--kernels").arg(&edited).arg(&movie);
    command.args(["--variant", "flat", "--radius", "2", "--device", "gpu", "--kernel-timeout", LIMIT]);
    let mut session = Session::start(&display, command.current_dir(&here));
    session.resize(1280, 720);
    session.wait_for_title("flat, r=2");
    session.wait_for_frames();
    session.display.key("e");
    session.wait_for_text("Edit the files in");
    session.display.key("d");
    session.wait_for_text("Repaint");
    // The picture that is shown has this alpha.
    let shown = |session: &mut Session, alpha: u8| {
        let began = std::time::SystemTime::now();
        session.wait(&format!("a picture with alpha {alpha}"), |session| {
            session.display.key("s");
            std::thread::sleep(std::time::Duration::from_millis(300));
            let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
            let time = |path: &PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
            // The newest ones may still be written.
            let is_whole = |path: &PathBuf| {
                time(path).is_some_and(|at| at > began && at.elapsed().is_ok_and(|age| age.as_secs() > 0))
            };
            files.filter(is_whole).any(|path| png(&path).2.chunks_exact(4).all(|pixel| pixel[3] == alpha))
        });
    };
    let &Mutant(_, _, from, to, ..) = mutant("alpha");
    save(&(planes() + "// edited\n"));
    session.wait_for_text("01_planes.cl: conversion exact");
    shown(&mut session, 255);
    assert!(!session.shows("convert, differs"));
    save(&planes().replacen(from, to, 1));
    session.wait_for_text("01_planes.cl: conversion differs in 3,220 bytes, first alpha at (0, 0)");
    session.wait_for_text("The conversion differs: ");
    session.wait_for_text("convert, differs");
    shown(&mut session, 254);
    for (text, words) in [
        (planes().replacen(from, "a = 255", 1), "does not build"),
        (first(FOR_EVER), "did not end within"),
        (first("*(volatile __global uchar *)((ulong)1 << 46) = 1;"), "(signal 11)"),
    ] {
        save(&text);
        session.wait(words, |s| {
            s.shows("01_planes.cl: conversion: ")
                && s.shows(words)
                && s.shows("The conversion goes on with version 3.")
        });
        shown(&mut session, 254);
    }
    // A click goes back.
    session.click("2");
    session.wait("the exact one", |s| !s.shows("convert, differs"));
    shown(&mut session, 255);
    session.click("3");
    session.wait_for_text("convert, differs");
    shown(&mut session, 254);
    // What is built in again.
    std::fs::remove_file(edited.join(PLANES)).unwrap();
    session.wait("what is built in", |s| !s.shows("convert, differs"));
    shown(&mut session, 255);
    // All else stood in the panel.
    let said = session.quit();
    let told: Vec<&str> = said.lines().filter(|line| line.starts_with("clreel: ")).collect();
    assert!(told.iter().all(|line| line.starts_with("clreel: Saved ")), "{said}");
}

/// A conversion is refused while other variants still wait for the compiler: they are not its business.
#[test]
fn a_conversion_that_is_refused_keeps_no_variant_from_being_built() {
    let folder = Folder::new("conversions-meanwhile");
    let (edited, log, stalled) = (folder.file("kernels"), folder.file("log"), folder.file("stalled"));
    std::fs::create_dir_all(edited.join("convert")).unwrap();
    std::fs::write(&stalled, "").unwrap();
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").args(["--variant", "flat", "--device", "gpu", "--kernels"]);
    command.arg(&edited).arg(small(&folder)).args(["--device-timeout", "80000"]);
    // Some program behind the wanted one's, and before that of 'planar'.
    let plan = [("FAIL", "clBuildProgram:4:stall"), ("FAIL_WHILE", stalled.to_str().unwrap())];
    let options = [&plan[..], &[("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())]].concat();
    let mut session = Session::start(&display, command.envs(layer::environment(&options)));
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait("a program that waits", |_| {
        std::fs::read_to_string(&log).unwrap_or_default().contains("planned-hang clBuildProgram")
    });
    session.display.key("e");
    session.wait_for_text("Edit the files in");
    let &Mutant(_, _, from, ..) = mutant("alpha");
    std::fs::write(edited.join(PLANES), planes().replacen(from, "a = 255", 1)).unwrap();
    session.wait_for_text("01_planes.cl: is being tried");
    assert!(session.shows("being compiled"));
    std::fs::remove_file(&stalled).unwrap();
    session.wait("what came of it", |s| s.shows("01_planes.cl: conversion: ") && s.shows("does not build"));
    session.display.key("y");
    session.wait_for_title("planar");
    // It stood in the panel.
    let said = session.quit();
    assert!(!said.contains("does not build"), "{said}");
}
