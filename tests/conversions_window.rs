//! Modified conversion kernels in the window, which does not use faulty ones. The tests' layer presents PoCL's device
//! as a GPU, for code that runs on GPUs only. Needs an OpenCL device, Xvfb and xdotool.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::changed_kernels::open_kernel_panel;
use crate::common::changed_conversions::{
    CORRECT, ENDLESS_LOOP, Mutant, PLANES, SIZE, TIMEOUT_S, as_gpu, endless_kernel, kernels, mutant,
    small_movie, take_snapshot, with_first_statement,
};
use crate::common::*;
use ffmpeg_next::format::Pixel;

/// Plays two frames in a window; returns the second one, saved, and stderr.
fn play_two_frames(folder: &Folder, changed: Option<&Folder>, gpu: bool, variant: &str) -> (Picture, String) {
    let (display, saved) = (Display::start(&[]), folder.file("window.png"));
    let mut command = clreel(Some(&display));
    command.arg(small_movie(folder)).args(["--frames", "2", "--variant", variant, "--radius", "2"]);
    command.args(["--no-sharing", "--unpaced", "--kernel-timeout", TIMEOUT_S]);
    if gpu {
        command.envs(as_gpu()).args(["--device", "gpu"]);
    }
    command.envs(changed.map(|changed| ("CLREEL_KERNELS", changed)));
    let stderr = succeed(command.arg("--save-frame").arg(&saved));
    (png(&saved), stderr)
}

/// Presses the key that saves the picture on the screen until a saved one, which is whole, is what `is_expected` takes.
fn wait_for_picture(
    session: &mut Session,
    here: &Path,
    what: &str,
    mut is_expected: impl FnMut(&mut Session, &Picture) -> bool,
) {
    let began = SystemTime::now();
    session.wait(what, |session| {
        session.display.key("s");
        std::thread::sleep(Duration::from_millis(200));
        // The newest files may still be incomplete.
        let is_whole = |path: &PathBuf| {
            let at = path.metadata().and_then(|meta| meta.modified()).unwrap();
            at > began && at.elapsed().is_ok_and(|age| age > Duration::from_secs(1))
        };
        let files = saved_files(here, "clreel-frame-", ".png").into_iter().filter(is_whole);
        let newest = files.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
        newest.is_some_and(|path| is_expected(session, &png(&path)))
    });
}

#[test]
fn a_counted_frame_does_not_use_a_faulty_conversion() {
    let folder = Folder::new("conversions-counted");
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
    // One that never ends is not used, either.
    let changed = endless_kernel(PLANES, "stuck");
    let (right, _) = play_two_frames(&folder, None, true, "fused");
    let (got, said) = play_two_frames(&folder, Some(&changed), true, "fused");
    assert!(got == right, "the picture is wrong");
    assert_eq!(said.matches("The kernels of the conversion timed out after").count(), 1, "{said}");
}

/// At the start the correction is checked at odd sizes, and later, in spare time, on a picture of the movie's size.
#[test]
fn colours_are_corrected_by_the_processor_if_the_device_is_wrong() {
    const WRONGLY: &str = "corrects colours wrongly";
    let endless = "The kernels of the correction timed out after";
    let wrongly = [WRONGLY, CORRECT, "The CPU corrects them instead"];
    let mut right: Option<Picture> = None;
    for (changed, first, words) in [
        (None, "", [""; 3]),
        (Some(kernels(mutant("column"), "colours")), WRONGLY, wrongly),
        (Some(kernels(mutant("this size"), "colours")), "", wrongly),
        (Some(endless_kernel(CORRECT, "colours")), endless, [endless, "", ""]),
    ] {
        let (display, folder) = (Display::start(&[]), Folder::new("conversions-colours"));
        let here = folder.folder("here");
        let mut command = clreel(Some(&display));
        command.arg(small_movie(&folder)).current_dir(&here).args(["--variant", "fused", "--radius", "2"]);
        command.args(["--no-sharing", "--device", "cpu", "--kernel-timeout", TIMEOUT_S]);
        command.envs(changed.as_ref().map(|changed| ("CLREEL_KERNELS", changed)));
        let mut session = Session::start(&display, command);
        session.wait_for_title("fused, r=2");
        session.wait_for_text(first);
        session.display.key("c");
        session.minimize_contrast();
        let (mut told, mut found) = (words[0] != WRONGLY || !first.is_empty(), None);
        wait_for_picture(&mut session, &here, "the picture", |session, picture| {
            told |= session.shows(WRONGLY);
            let is_grey = || picture.2.iter().all(|byte| *byte == 255 || (60..200).contains(byte));
            let is_right = right.as_ref().map_or_else(is_grey, |right| picture == right);
            found = is_right.then(|| picture.clone());
            told && is_right
        });
        right = right.or(found);
        let said = session.quit();
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        assert!(changed.is_some() || !said.contains("wrongly"), "{said}");
        assert!(first != endless || said.matches(endless).count() == 1, "{said}");
    }
}

/// One wrong pixel far down is found only when a whole picture is checked, in spare time. The picture on the screen is then
/// converted again.
#[test]
fn one_wrong_pixel_is_reported_and_the_picture_converted_again() {
    let (display, folder) = (Display::start(&[]), Folder::new("conversions-pixel"));
    let changed = kernels(mutant("pixel"), "window");
    let one = Movie { stamps_ms: steady(1), format: Pixel::YUV420P, size: SIZE, ..Movie::default() };
    let still = folder.movie("m.mkv", &one);
    let (right, _) = take_snapshot((&folder, &still), None, false, "off");
    let here = folder.folder("here");
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", &changed).envs(as_gpu()).arg(&still).current_dir(&here);
    command.args(["--variant", "off", "--no-sharing", "--device", "gpu"]);
    let mut session = Session::start(&display, command);
    // The first picture may have been converted without the device.
    session.display.key("1");
    session.wait_for_text("wrongly");
    session.display.key("0");
    wait_for_picture(&mut session, &here, "the right picture", |_, picture| *picture == right);
    let said = session.quit();
    assert!(said.contains("converts pictures (4:2:0, 8 bits) wrongly"), "{said}");
    assert!(said.contains("The CPU converts them instead"), "{said}");
}

/// Starts a window with a small movie and starts a check, which runs while the movie plays.
fn start_check<'a>(display: &'a Display, folder: &Folder, command: &mut Command) -> Session<'a> {
    command.arg(small_movie(folder)).args(["--variant", "flat", "--device", "cpu"]);
    let mut session = Session::start(display, command);
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.display.key("k");
    session.wait_for_text("not tested.");
    // The panel grows with the results, so that a button may move between finding and clicking it.
    session.click_until("Check now", "Stop");
    session
}

/// The check of the panel ends with its button or with the window. A complete one finds what `clreel conformance` finds, with a
/// wrong conversion and one that crashes.
#[test]
fn the_conversion_check_runs_beside_the_movie_and_finds_the_faults_of_conformance() {
    const FILE: &str = "conversions/01_all_forms.cl";
    const TOP: &str = "#define PASTED(";
    let (display, folder) = (Display::start(&[]), Folder::new("conversions-panel"));
    let mut session = start_check(&display, &folder, &mut clreel(Some(&display)));
    // The check runs at low priority: its first results take longer on a busy machine.
    session.wait_for_text("seed 1");
    session.click_until("Stop", "Stopped at ");
    // A second check, which ends with the window.
    session.click_until("Check now", "Stop");
    let said = session.quit();
    assert!(!said.contains("cannot"), "{said}");

    let planted = "#define convert_uchar3_sat_rte(x) convert_uchar3_sat_rtz(x)\n\
                   int right(uchar x) { return convert_int_sat_rtp(x); }\n\
                   #define convert_int_sat_rtp(x) (*(volatile __global int *)16 = 1, right(x))\n";
    let kernels = edited_kernels("conversions-end", FILE, &[(TOP, &format!("{planted}{TOP}"))]);
    let cases = ["uchar_sat_rte_float", "uchar_rte_float", "ushort_char", "char_short", "int_sat_rtp_uchar"];
    let mut tool = clreel(None);
    tool.args(["conformance", "--device", "cpu", "--seed", "1", "--json", "--type", &cases.join(" ")]);
    let report = json(&tool.env("CLREEL_KERNELS", &kernels).output().unwrap());
    let found = report["devices"][0]["cases"].as_array().unwrap();
    let count = |outcome: &str| found.iter().filter(|case| case["outcome"] == outcome).count();
    assert_eq!(["ok", "wrong", "failed"].map(count), [3, 1, 1], "{report}");
    let mut command = clreel(Some(&display));
    command.env("CLREEL_KERNELS", &kernels).env("CLREEL_CHECK_CASES", cases.join(","));
    let mut session = start_check(&display, &folder, &mut command);
    session.wait_for_text("5 conversions tested: 3 correct, 1 wrong, 1 failed.");
    for fault in
        ["uchar_sat_rte_float, width 3", "int_sat_rtp_uchar, int_sat_rtp_uchar crashed in the sandbox"]
    {
        assert!(session.shows(fault), "{fault}: {:?}", session.texts());
    }
    session.wait_for_frames();
    session.quit();
}

/// If the device is lost, finished results stay, and all others are unknown, with the reason.
#[test]
fn a_check_on_a_lost_device_keeps_finished_results_and_shows_the_reason() {
    let (display, folder) = (Display::start(&[]), Folder::new("conversions-lost"));
    let lost = folder.file("lost");
    let types = ["char", "uchar", "short", "ushort", "int", "uint"];
    let names = types.iter().flat_map(|to| types.iter().map(move |from| format!("{to}_rte_{from}")));
    let mut command = clreel(Some(&display));
    let plan = "clEnqueueNDRangeKernel:1+:-36,clCreateContext:1+:-36";
    command.envs(layer::environment(&[("FAIL", plan), ("FAIL_WHILE", lost.to_str().unwrap())]));
    command.env("CLREEL_CHECK_CASES", names.collect::<Vec<_>>().join(","));
    let mut session = start_check(&display, &folder, &mut command);
    session.wait_for_text(" correct");
    std::fs::write(&lost, "").unwrap();
    // The panel's own text, right above its button: the window may show the same words.
    session.wait("why the check has ended", |session| {
        let texts = session.texts();
        let Some(button) = texts.iter().find(|text| text.text == "Check now") else { return false };
        texts.iter().filter(|text| text.text.contains("OpenCL returned")).any(|text| {
            let below = button.y - (text.y + text.height);
            (0.0..24.0).contains(&below) && (text.x - button.x).abs() < 24.0
        })
    });
    assert!(!session.shows("36 conversions tested"), "{:?}", session.texts());
    // The movie continues without the device.
    session.wait_for_title("off");
    session.wait_for_frames();
    session.quit();
}

/// Each save is validated, and a version that may be shown converts the next frame: alpha identifies the kernel.
#[test]
fn an_edited_conversion_is_validated_and_converts_the_next_frame() {
    let (display, folder) = (Display::start(&[]), Folder::new("conversions-live"));
    let fifty = Movie { stamps_ms: steady(50), format: Pixel::YUV420P, size: SIZE, ..Movie::default() };
    let movie = folder.movie("m.mkv", &fifty);
    let (edited, here) = (folder.folder("kernels/convert").with_file_name(""), folder.folder("here"));
    let save = |text: &str| save_kernel(&edited, PLANES, text);
    let planes = kernel(PLANES);
    let mut command = clreel(Some(&display));
    command.envs(as_gpu()).arg("--kernels").arg(&edited).arg(&movie).current_dir(&here);
    command.args(["--variant", "flat", "--radius", "2", "--device", "gpu", "--kernel-timeout", TIMEOUT_S]);
    let mut session = Session::start(&display, command);
    open_kernel_panel(&mut session);
    session.display.key("d");
    // Room for both panels.
    for _ in 0..6 {
        session.display.key("ctrl+minus");
    }
    session.wait_for_text("Repaint");
    // The picture on the screen has this alpha.
    let shown = |session: &mut Session, alpha: u8| {
        wait_for_picture(session, &here, &format!("a picture with alpha {alpha}"), |_, picture| {
            picture.2.chunks_exact(4).all(|pixel| pixel[3] == alpha)
        });
    };
    let &Mutant(_, _, from, to, ..) = mutant("alpha");
    save(&format!("{planes}// edited\n"));
    session.wait_for_text("01_planes.cl: YUV to RGBA exact");
    shown(&mut session, 255);
    assert!(!session.shows("convert, differs"));
    save(&planes.replacen(from, to, 1));
    session
        .wait_for_text("01_planes.cl: YUV to RGBA differs in 3,220 bytes, first mismatch: alpha at (0, 0)");
    session.wait_for_text("YUV to RGBA output differs: ");
    session.wait_for_text("convert, differs");
    shown(&mut session, 254);
    for (text, words) in [
        (planes.replacen(from, "a = 255", 1), "does not build"),
        (with_first_statement(&planes, ENDLESS_LOOP), "timed out after"),
        (with_first_statement(&planes, "*(volatile __global uchar *)((ulong)1 << 46) = 1;"), "(SIGSEGV)"),
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
    session.wait_for_end_of("convert, differs");
    shown(&mut session, 255);
    session.click("3");
    session.wait_for_text("convert, differs");
    shown(&mut session, 254);
    // The built-in kernel again.
    std::fs::remove_file(edited.join(PLANES)).unwrap();
    session.wait_for_end_of("convert, differs");
    shown(&mut session, 255);
    // All other messages were in the panel only.
    let said = session.quit();
    let told: Vec<&str> = said.lines().filter(|line| line.starts_with("clreel: ")).collect();
    assert!(told.iter().all(|line| line.starts_with("clreel: Saved ")), "{said}");
}

/// A conversion is refused while other variants wait for the compiler: they are built all the same.
#[test]
fn a_refused_conversion_does_not_stop_builds_of_variants() {
    let (display, folder) = (Display::start(&[]), Folder::new("conversions-meanwhile"));
    let (log, stalled) = (folder.file("log"), folder.with("stalled", ""));
    let edited = folder.folder("kernels/convert").with_file_name("");
    let mut command = clreel(Some(&display));
    command.args(["--variant", "flat", "--device", "gpu", "--kernels"]);
    command.arg(&edited).arg(small_movie(&folder)).args(["--device-timeout", "80000"]);
    // Some program queued after the wanted one, and before that of 'planar'.
    let plan = [("FAIL", "clBuildProgram:4:stall"), ("FAIL_WHILE", stalled.to_str().unwrap())];
    let options = [&plan[..], &[("FAKE_GPU", "1"), ("LOG", log.to_str().unwrap())]].concat();
    let mut session = Session::start(&display, command.envs(layer::environment(&options)));
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait("a program that waits", |_| !layer::calls(&log, "planned-hang").is_empty());
    session.display.key("e");
    session.wait_for_text("Edit the files in");
    let &Mutant(_, _, from, ..) = mutant("alpha");
    std::fs::write(edited.join(PLANES), kernel(PLANES).replacen(from, "a = 255", 1)).unwrap();
    session.wait_for_text("01_planes.cl: validating");
    // The ladder's words need room that the panel takes.
    session.display.key("e");
    session.wait_for_text("compiling");
    session.display.key("e");
    std::fs::remove_file(&stalled).unwrap();
    session.wait("what came of it", |s| s.shows("01_planes.cl: YUV to RGBA: ") && s.shows("does not build"));
    session.display.key("y");
    session.wait_for_title("planar");
    // The message was in the panel only.
    let said = session.quit();
    assert!(!said.contains("does not build"), "{said}");
}
