//! The Lab in the window where something is wrong: changed kernels of a ladder, and a device whose calls do not come back, by the
//! tests' own layer (`tests/gl_sharing`). Each costs a sentence and its own numbers; the movie goes on, and so do other ladders
//! and another device. Needs PoCL, Xvfb and xdotool.

use std::path::Path;
use std::process::Command;

use crate::common::window::{Display, Session, clreel};
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};
use testkit::pair;

/// What stands in the place of a number that nobody has measured.
const UNKNOWN: &str = "\u{2013}";

/// A window in which a small movie stands still, with the Lab at a ladder.
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
    session.wait("all programs built", |session| !session.shows("being compiled"));
    session.press_until_title("space", "paused");
    session.display.key("b");
    session.click_until(ladder, size);
    session
}

/// The figures and the word that stand in a rung's row.
fn row(session: &Session, rung: &str) -> Vec<String> {
    let texts = session.texts();
    let Some(name) = texts.iter().find(|t| t.text == rung) else { return Vec::new() };
    let middle = name.center().1;
    let beside = texts.iter().filter(|t| t.x > name.x && (t.center().1 - middle).abs() < 6);
    beside.map(|t| t.text.clone()).filter(|text| !text.is_empty()).collect()
}

/// The movie goes on, and stands still again.
fn plays(session: &mut Session) {
    session.press_until_title("space", "flat");
    session.wait("no pause", |session| !session.title().contains("paused"));
    session.wait_for_frames();
    session.press_until_title("space", "paused");
}

#[test]
fn changed_kernels_cost_the_lab_a_sentence_each() {
    let (display, folder) = (Display::start(&[]), Folder::new("lab-changed"));
    let kernels = folder.file("kernels/transpose");
    std::fs::create_dir_all(&kernels).unwrap();
    for (file, from, to) in [
        ("01_row_linear.cl", "= a[row * n + column];", "= a[row * n + column] + 1.0f;"),
        ("02_column_linear.cl", "__kernel", "this does not build;\n__kernel"),
        ("03_group_linear.cl", "{\n", "{\n    for (volatile int forever = 1; forever;) forever = 1;\n"),
        ("limit.cl", "{\n", "{\n    *(volatile __global uchar *)((ulong)1 << 46) = 1;\n"),
    ] {
        let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/transpose").join(file);
        let text = std::fs::read_to_string(built_in).unwrap();
        assert!(text.contains(from), "{file}");
        std::fs::write(kernels.join(file), text.replacen(from, to, 1)).unwrap();
    }
    let mut command = clreel(Some(&display));
    command
        .envs(pair::environment())
        .arg("--kernels")
        .arg(folder.file("kernels"))
        .args(["--kernel-timeout", "3"]);
    let mut session = lab(&display, &folder, &mut command, "transpose", "256\u{b2}");
    session.click_until("Measure", "Stop");
    for said in [
        "row-linear: ",
        "column-linear: The kernel file 'transpose/02_column_linear.cl' does not build",
        "group-linear: The kernels of 'group-linear' did not end within 3 s.",
        "copy: The kernels of",
    ] {
        session.wait_for_text(said);
    }
    session.wait_for_text("Done.");
    assert!(session.shows("differ by up to"), "{:?}", session.texts());
    for (rung, word) in [("row-linear", "mismatch"), ("column-linear", "failed"), ("group-linear", "failed")]
    {
        assert_eq!(row(&session, rung), [UNKNOWN, word], "{rung}");
    }
    // Whose kernels are not changed has its numbers.
    let serial = row(&session, "serial");
    assert!(serial.len() == 3 && serial[0] != UNKNOWN, "{serial:?}");
    plays(&mut session);
    session.click_until("vector add", "65,536");
    session.click_until("Measure", "Stop");
    session.wait_for_text("Done.");
    assert_ne!(row(&session, "scalar")[0], UNKNOWN);
    session.quit();
}

#[test]
fn a_device_that_does_not_answer_costs_the_lab_a_sentence_and_another_one_is_measured() {
    let (display, folder) = (Display::start(&[]), Folder::new("lab-stalled"));
    let mut command = clreel(None);
    command.envs(layer::environment(&[]));
    let names = pair::names(command);
    let (log, now) = (folder.file("log"), folder.file("now"));
    // Of those that the ladder's checks make by the hundred; the window makes a few.
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
        "The ladder could not be measured. The OpenCL device '{}' does not answer.",
        names[0]
    ));
    std::fs::remove_file(now).unwrap();
    // What nobody has measured has no number.
    assert_eq!(row(&session, "scalar"), [UNKNOWN, UNKNOWN]);
    plays(&mut session);
    session.choose("Devices");
    let second = format!("1: {}", names[1]);
    session.wait_for_text(&second);
    session.display.key("ctrl+d");
    session.wait("the other device", |session| row(session, &second).contains(&"in use".to_owned()));
    session.click_until("Measure", &format!("vector add, 65,536, on {}", names[1]));
    session.wait_for_text("Done.");
    assert_ne!(row(&session, "scalar")[0], UNKNOWN);
    session.quit();
}
