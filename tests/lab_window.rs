//! The Lab in the window with faults: modified kernels of a ladder, and a device whose calls hang, by the tests' layer
//! (`tests/gl_sharing`). Each fault gives a message and affects only its own numbers; the movie, other ladders and other
//! devices continue. Needs PoCL, Xvfb and xdotool.

use std::process::Command;

use crate::common::*;

/// Shown instead of a number that was not measured.
const UNKNOWN: &str = "\u{2013}";

/// Starts a window with a small movie, paused, and opens the Lab at a ladder.
fn lab<'a>(
    display: &'a Display,
    folder: &Folder,
    command: &mut Command,
    ladder: &str,
    size: &str,
) -> Session<'a> {
    let movie = Movie { size: (64, 48), stamps_ms: steady(100), ..Movie::default() };
    command.arg(folder.movie("small.mkv", &movie)).args(["--variant", "flat", "--device", "0"]);
    let mut session = Session::start(display, command);
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait_for_frames();
    session.wait_for_end_of("compiling");
    session.press_until_title("space", "paused");
    session.display.key("b");
    session.click_until(ladder, size);
    session
}

/// Returns the numbers and words in a variant's row.
fn row(session: &Session, variant: &str) -> Vec<String> {
    let texts = session.texts();
    let Some(name) = texts.iter().find(|t| t.text == variant) else { return Vec::new() };
    let middle = name.center().1;
    let beside = texts.iter().filter(|t| t.x > name.x && (t.center().1 - middle).abs() < 6);
    beside.map(|t| t.text.clone()).filter(|text| !text.is_empty()).collect()
}

/// Continues the movie and pauses it again.
fn play_and_pause(session: &mut Session) {
    session.press_until_title("space", "flat");
    session.wait_for_playing();
    session.wait_for_frames();
    session.press_until_title("space", "paused");
}

#[test]
fn the_lab_reports_each_faulty_kernel_and_measures_the_rest() {
    let (display, folder) = (Display::start(&[]), Folder::new("lab-changed"));
    for (file, from, to) in [
        ("01_row_linear.cl", "= a[row * n + column];", "= a[row * n + column] + 1.0f;"),
        ("02_column_linear.cl", "__kernel", "this does not build;\n__kernel"),
        ("03_group_linear.cl", "{\n", "{\n    for (volatile int forever = 1; forever;) forever = 1;\n"),
        ("limit.cl", "{\n", "{\n    *(volatile __global uchar *)((ulong)1 << 46) = 1;\n"),
    ] {
        let file = format!("transpose/{file}");
        let text = kernel(&file);
        assert!(text.contains(from), "{file}");
        folder.with(&format!("kernels/{file}"), text.replacen(from, to, 1));
    }
    let mut command = clreel(Some(&display));
    command.envs(pair::environment()).args(["--kernel-timeout", "3"]);
    command.arg("--kernels").arg(folder.file("kernels"));
    let mut session = lab(&display, &folder, &mut command, "transpose", "256\u{b2}");
    session.click_until("Measure", "Stop");
    for said in [
        "row-linear: ",
        "column-linear: The kernel file 'transpose/02_column_linear.cl' does not build",
        "group-linear: The kernels of 'group-linear' timed out after 3 s.",
        "copy: The kernels of",
    ] {
        session.wait_for_text(said);
    }
    session.wait_for_result("Done.");
    assert!(session.shows("differ by up to"), "{:?}", session.texts());
    for (variant, word) in
        [("row-linear", "mismatch"), ("column-linear", "failed"), ("group-linear", "failed")]
    {
        assert_eq!(row(&session, variant), [UNKNOWN, word], "{variant}");
    }
    // A variant with unmodified kernels has its numbers.
    let serial = row(&session, "serial");
    assert!(serial.len() == 3 && serial[0] != UNKNOWN, "{serial:?}");
    play_and_pause(&mut session);
    session.click_until("vector add", "65,536");
    session.click_until("Measure", "Stop");
    session.wait_for_result("Done.");
    assert_ne!(row(&session, "scalar")[0], UNKNOWN);
    session.quit();
}

#[test]
fn the_lab_benchmarks_the_frame_on_the_screen_and_the_panel_of_stages_says_why() {
    let (display, folder) = (Display::start(&[]), Folder::new("lab-frame"));
    let here = folder.file(".");
    let mut command = clreel(Some(&display));
    let mut session = lab(&display, &folder, command.current_dir(&here), "box filter", "r = 1 to 31");
    session.click_until("Measure", "Stop");
    session.wait_for_result("Done.");
    assert!(session.shows("small.mkv at ") && session.shows("64 \u{d7} 48"), "{:?}", session.texts());
    let naive = row(&session, "naive");
    assert!(naive.len() >= 2 && naive[0] != UNKNOWN, "{naive:?}");
    session.click("Save run");
    let path = session.wait_for_files(&folder.file(""), "clreel-lab-", ".json", 1).remove(0);
    // The file is one of `bench --save`: each row is comparable with itself.
    let table = text(&finish(clreel(None).arg("compare").args([&path, &path]), 0).stdout);
    assert!(table.contains("no difference shown"), "{table}");
    // Another device would have a column of its own: the results stay when the panel is left and entered again.
    session.click_until("vector add", "65,536");
    session.click_until("box filter", "r = 1 to 31");
    assert_eq!(row(&session, "naive"), naive);
    session.display.key("b");
    session.display.key("d");
    // The movie is paused, so the device's peaks are measured at once.
    session.wait_for_text("GFLOP/s, ");
    session.wait_for_text("of the copy");
    session.wait_for_text("multiply-adds: ");
    assert!(session.shows("flat_rows") && session.shows("op/byte"), "{:?}", session.texts());
    session.quit();
}

#[test]
#[ignore = "waits for a stalled driver for a minute: ./dev test --all"]
fn the_lab_reports_a_hanging_device_and_can_measure_another() {
    let (display, folder) = (Display::start(&[]), Folder::new("lab-stalled"));
    let names = pair::names(clreel(None));
    let (log, now) = (folder.file("log"), folder.file("now"));
    // The checks of the ladder make hundreds of these calls; the window makes a few.
    let planned = [
        ("FAIL", "clCreateSubBuffer:60:hang"),
        ("FAIL_WHILE", now.to_str().unwrap()),
        ("LOG", log.to_str().unwrap()),
    ];
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(&planned)).envs(pair::environment()).args(["--device-timeout", "30"]);
    let mut session = lab(&display, &folder, &mut command, "vector add", "65,536");
    std::fs::write(&now, "").unwrap();
    session.click_until("Measure", "Stop");
    let hung = "planned-hang clCreateSubBuffer";
    session.wait("the call that hangs", |_| std::fs::read_to_string(&log).unwrap_or_default().contains(hung));
    session.wait_for_text(&format!(
        "The ladder could not be measured. The OpenCL device '{}' does not respond.",
        names[0]
    ));
    std::fs::remove_file(now).unwrap();
    // No variant was measured, so none has a number.
    assert_eq!(row(&session, "scalar"), [UNKNOWN, UNKNOWN]);
    play_and_pause(&mut session);
    session.choose("Devices");
    let second = format!("1: {}", names[1]);
    session.wait_for_text(&second);
    session.display.key("ctrl+d");
    session.wait("the other device", |session| row(session, &second).contains(&"in use".to_owned()));
    session.click_until("Measure", &format!("vector add, 65,536, on {}", names[1]));
    session.wait_for_result("Done.");
    assert_ne!(row(&session, "scalar")[0], UNKNOWN);
    session.quit();
}
