//! Modified conversion kernels in the window, which does not use faulty ones. The tests' layer presents PoCL's device
//! as a GPU, for code that runs on GPUs only. Needs an OpenCL device, Xvfb and xdotool.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::changed_conversions::{
    CORRECT, ENDLESS_LOOP, Mutant, PLANES, SIZE, TIMEOUT_S, as_gpu, endless_kernel, kernels, mutant,
    small_movie, take_snapshot,
};
use crate::common::window::{Display, Session, clreel, png, succeed};
use ffmpeg_next::format::Pixel;
use testkit::layer;
use testkit::movie;
use testkit::movie::{Folder, Movie};

/// Plays two frames in a window; returns the second one, saved, and stderr.
fn play_two_frames(
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
    command.args(["--radius", "2", "--no-sharing", "--unpaced", "--kernel-timeout", TIMEOUT_S]);
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
fn a_counted_frame_does_not_use_a_faulty_conversion() {
    let folder = Folder::new("conversions-counted");
    let _ = small_movie(&folder);
    for (name, gpu, variant) in [("alpha", true, "fused"), ("weights", false, "planar")] {
        let (right, said) = play_two_frames(&folder, None, gpu, variant);
        assert!(!said.contains("wrongly"), "{name}: {said}");
        let changed = kernels(mutant(name), "counted");
        let (got, said) = play_two_frames(&folder, Some(&changed), gpu, variant);
        assert!(got == right, "{name}: the picture is wrong");
        let instead = if gpu { "The CPU converts them" } else { "Another kernel converts them" };
        for part in ["converts pictures (4:2:0, 8 bits) wrongly", instead] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
}

#[test]
fn the_window_does_not_use_a_conversion_that_never_ends() {
    let folder = Folder::new("conversions-stuck-window");
    let _ = small_movie(&folder);
    let changed = endless_kernel(PLANES, "stuck");
    let (right, _) = play_two_frames(&folder, None, true, "fused");
    let (got, said) = play_two_frames(&folder, Some(&changed), true, "fused");
    assert!(got == right, "the picture is wrong");
    assert_eq!(said.matches("The kernels of the conversion timed out after").count(), 1, "{said}");
}

/// Plays a movie, waits for the text `first`, and sets the contrast to its minimum. Saves pictures until one `is_expected`;
/// returns that one, and stderr.
fn play_with_minimum_contrast(
    folder: &Folder,
    changed: Option<&Folder>,
    first: &str,
    mut is_expected: impl FnMut(&Session, &(usize, usize, Vec<u8>)) -> bool,
) -> ((usize, usize, Vec<u8>), String) {
    let display = Display::start(&[]);
    let movie = small_movie(folder);
    let here = folder.file("here");
    let _ = std::fs::remove_dir_all(&here);
    std::fs::create_dir(&here).unwrap();
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(&movie).current_dir(&here);
    command.args(["--variant", "fused", "--radius", "2", "--no-sharing", "--device", "cpu"]);
    command.args(["--kernel-timeout", TIMEOUT_S]);
    if let Some(changed) = changed {
        command.env("CLREEL_KERNELS", changed.file(""));
    }
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("fused, r=2");
    if !first.is_empty() {
        session.wait_for_text(first);
    }
    session.display.key("c");
    session.minimize_contrast();
    let mut found = None;
    session.wait("the picture", |session| {
        session.display.key("s");
        let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
        // The newest files may still be incomplete.
        let age = |path: &PathBuf| path.metadata().ok()?.modified().ok()?.elapsed().ok();
        let old = files.filter(|path| age(path).is_some_and(|age| age.as_secs() > 0));
        let newest = old.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
        found = newest.map(|path| png(&path)).filter(|picture| is_expected(session, picture));
        found.is_some()
    });
    (found.unwrap(), session.quit())
}

/// At the start the correction is checked at odd sizes, and later, in spare time, on a picture of the movie's size.
#[test]
fn colours_are_corrected_by_the_processor_if_the_device_is_wrong() {
    let folder = Folder::new("conversions-colours");
    let grey = |picture: &(usize, usize, Vec<u8>)| {
        picture.2.iter().all(|byte| *byte == 255 || (60..200).contains(byte))
    };
    let (right, said) = play_with_minimum_contrast(&folder, None, "", |_, picture| grey(picture));
    assert!(!said.contains("wrongly"), "{said}");
    const WRONGLY: &str = "corrects colours wrongly";
    for (name, first) in [("column", WRONGLY), ("this size", "")] {
        let changed = kernels(mutant(name), "colours");
        let mut told = !first.is_empty();
        let (_, said) = play_with_minimum_contrast(&folder, Some(&changed), first, |session, picture| {
            told |= session.shows(WRONGLY);
            told && *picture == right
        });
        for part in [WRONGLY, CORRECT, "The CPU corrects them instead"] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
    let changed = endless_kernel(CORRECT, "colours");
    let endless = "The kernels of the correction timed out after";
    let (_, said) =
        play_with_minimum_contrast(&folder, Some(&changed), endless, |_, picture| *picture == right);
    assert_eq!(said.matches(endless).count(), 1, "{said}");
}

/// One wrong pixel far down is found only when a whole picture is checked, in spare time. The picture on the screen is then
/// converted again.
#[test]
fn one_wrong_pixel_is_reported_and_the_picture_converted_again() {
    let folder = Folder::new("conversions-pixel");
    let display = Display::start(&[]);
    let changed = kernels(mutant("pixel"), "window");
    let one = Movie { stamps_ms: movie::steady(1), format: Pixel::YUV420P, size: SIZE, ..Movie::default() };
    let still = folder.movie("m.mkv", &one);
    let (right, _) = take_snapshot((&folder, &still), None, false, "off");
    let here = folder.file("here");
    std::fs::create_dir(&here).unwrap();
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", changed.file("")).envs(as_gpu()).arg(&still).current_dir(&here);
    command.args(["--variant", "off", "--no-sharing", "--device", "gpu"]);
    let mut session = Session::start(&display, &mut command);
    // The first picture may have been converted without the device.
    session.display.key("1");
    session.wait_for_text("wrongly");
    session.display.key("0");
    session.wait("the right picture", |session| {
        session.display.key("s");
        let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
        // The newest files may still be incomplete.
        let age = |path: &PathBuf| path.metadata().ok()?.modified().ok()?.elapsed().ok();
        files.filter(|path| age(path).is_some_and(|age| age.as_secs() > 0)).any(|path| png(&path) == right)
    });
    let said = session.quit();
    assert!(said.contains("converts pictures (4:2:0, 8 bits) wrongly"), "{said}");
    assert!(said.contains("The CPU converts them instead"), "{said}");
}

/// The check of the panel runs while the movie plays, and ends with its button or with the window.
#[test]
fn the_conversion_check_runs_beside_the_movie() {
    let folder = Folder::new("conversions-panel");
    let movie = small_movie(&folder);
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").arg(&movie).args(["--variant", "flat", "--device", "cpu"]);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("flat");
    session.display.key("k");
    session.wait_for_text("not tested.");
    // The panel grows with the results, so that a button may move between finding and clicking it.
    session.click_until("Check now", "Stop");
    // The check runs at low priority: its first results take longer on a busy machine.
    session.wait_for_text("seed 1");
    session.click_until("Stop", "Stopped at ");
    // A second check, which ends with the window.
    session.click_until("Check now", "Stop");
    let said = session.quit();
    assert!(!said.contains("cannot"), "{said}");
}

/// A complete check finds what `clreel conformance` finds, with a wrong conversion and one that crashes.
#[test]
fn the_panel_finds_the_same_faults_as_conformance() {
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
    let movie = small_movie(&folder);
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", folder.file("kernels")).env("CLREEL_CHECK_CASES", cases.join(","));
    let mut session = start_check(&display, &mut command, &movie);
    let [right, wrong, failed] = counts;
    session.wait_for_text(&format!("5 conversions tested: {right} correct, {wrong} wrong, {failed} failed."));
    for fault in
        ["uchar_sat_rte_float, width 3", "int_sat_rtp_uchar, int_sat_rtp_uchar crashed in the sandbox"]
    {
        assert!(session.shows(fault), "{fault}: {:?}", session.texts());
    }
    session.wait_for_frames();
    session.quit();
}

/// Starts a window with this movie and starts a check.
fn start_check<'a>(display: &'a Display, command: &mut Command, movie: &Path) -> Session<'a> {
    command.arg(movie).args(["--variant", "flat", "--device", "cpu"]);
    let mut session = Session::start(display, command);
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.display.key("k");
    session.click_until("Check now", "Stop");
    session
}

/// If the device is lost, finished results stay, and all others are unknown, with the reason.
#[test]
fn a_check_on_a_lost_device_keeps_finished_results_and_shows_the_reason() {
    let folder = Folder::new("conversions-lost");
    let (movie, lost) = (small_movie(&folder), folder.file("lost"));
    let types = ["char", "uchar", "short", "ushort", "int", "uint"];
    let names = types.iter().flat_map(|to| types.iter().map(move |from| format!("{to}_rte_{from}")));
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    let plan = "clEnqueueNDRangeKernel:1+:-36,clCreateContext:1+:-36";
    command.envs(layer::environment(&[("FAIL", plan), ("FAIL_WHILE", lost.to_str().unwrap())]));
    command.env_remove("CLREEL_KERNELS").env("CLREEL_CHECK_CASES", names.collect::<Vec<_>>().join(","));
    let mut session = start_check(&display, &mut command, &movie);
    session.wait_for_text(" correct");
    std::fs::write(&lost, "").unwrap();
    // The panel's own text, right above its button: the window may show the same words.
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
    assert!(!session.shows("36 conversions tested"), "{:?}", session.texts());
    // The movie continues without the device.
    session.wait_for_title("off");
    session.wait_for_frames();
    session.quit();
}

/// Returns the built-in kernel file for planes.
fn planes() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(PLANES);
    std::fs::read_to_string(path).unwrap()
}

/// Each save is judged, and a version that may be shown converts the next frame: alpha identifies the kernel.
#[test]
fn an_edited_conversion_is_judged_and_converts_the_next_frame() {
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
    command.args(["--variant", "flat", "--radius", "2", "--device", "gpu", "--kernel-timeout", TIMEOUT_S]);
    let mut session = Session::start(&display, command.current_dir(&here));
    session.resize(1280, 720);
    session.wait_for_title("flat, r=2");
    session.wait_for_frames();
    session.display.key("e");
    session.wait_for_text("Edit the files in");
    session.display.key("d");
    // Room for both panels.
    for _ in 0..6 {
        session.display.key("ctrl+minus");
    }
    session.wait_for_text("Repaint");
    // The picture on the screen has this alpha.
    let shown = |session: &mut Session, alpha: u8| {
        let began = std::time::SystemTime::now();
        session.wait(&format!("a picture with alpha {alpha}"), |session| {
            session.display.key("s");
            std::thread::sleep(std::time::Duration::from_millis(300));
            let files = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
            let time = |path: &PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
            // The newest files may still be incomplete.
            let is_whole = |path: &PathBuf| {
                time(path).is_some_and(|at| at > began && at.elapsed().is_ok_and(|age| age.as_secs() > 0))
            };
            files.filter(is_whole).any(|path| png(&path).2.chunks_exact(4).all(|pixel| pixel[3] == alpha))
        });
    };
    let &Mutant(_, _, from, to, ..) = mutant("alpha");
    save(&(planes() + "// edited\n"));
    session.wait_for_text("01_planes.cl: YUV to RGBA exact");
    shown(&mut session, 255);
    assert!(!session.shows("convert, differs"));
    save(&planes().replacen(from, to, 1));
    session
        .wait_for_text("01_planes.cl: YUV to RGBA differs in 3,220 bytes, first mismatch: alpha at (0, 0)");
    session.wait_for_text("YUV to RGBA output differs: ");
    session.wait_for_text("convert, differs");
    shown(&mut session, 254);
    for (text, words) in [
        (planes().replacen(from, "a = 255", 1), "does not build"),
        (first(ENDLESS_LOOP), "timed out after"),
        (first("*(volatile __global uchar *)((ulong)1 << 46) = 1;"), "(SIGSEGV)"),
    ] {
        save(&text);
        session.wait(words, |s| {
            s.shows("01_planes.cl: YUV to RGBA: ")
                && s.shows(words)
                && s.shows("YUV to RGBA: still running version 3")
        });
        shown(&mut session, 254);
    }
    // A click returns to an earlier version.
    session.click("2");
    session.wait("the exact one", |s| !s.shows("convert, differs"));
    shown(&mut session, 255);
    session.click("3");
    session.wait_for_text("convert, differs");
    shown(&mut session, 254);
    // The built-in kernel again.
    std::fs::remove_file(edited.join(PLANES)).unwrap();
    session.wait("what is built in", |s| !s.shows("convert, differs"));
    shown(&mut session, 255);
    // All other messages were in the panel only.
    let said = session.quit();
    let told: Vec<&str> = said.lines().filter(|line| line.starts_with("clreel: ")).collect();
    assert!(told.iter().all(|line| line.starts_with("clreel: Saved ")), "{said}");
}

/// A conversion is refused while other variants wait for the compiler: they are built all the same.
#[test]
fn a_refused_conversion_does_not_stop_builds_of_variants() {
    let folder = Folder::new("conversions-meanwhile");
    let (edited, log, stalled) = (folder.file("kernels"), folder.file("log"), folder.file("stalled"));
    std::fs::create_dir_all(edited.join("convert")).unwrap();
    std::fs::write(&stalled, "").unwrap();
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.env_remove("CLREEL_KERNELS").args(["--variant", "flat", "--device", "gpu", "--kernels"]);
    command.arg(&edited).arg(small_movie(&folder)).args(["--device-timeout", "80000"]);
    // Some program queued after the wanted one, and before that of 'planar'.
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
    session.wait_for_text("01_planes.cl: validating");
    assert!(session.shows("compiling"));
    std::fs::remove_file(&stalled).unwrap();
    session.wait("what came of it", |s| s.shows("01_planes.cl: YUV to RGBA: ") && s.shows("does not build"));
    session.display.key("y");
    session.wait_for_title("planar");
    // The message was in the panel only.
    let said = session.quit();
    assert!(!said.contains("does not build"), "{said}");
}
