//! Plays the wishes of users of the workbench: each wish takes at most five keys or clicks, typing apart, and its result is read
//! from the overlay's texts, the window's title or the file that was written. Needs PoCL, Xvfb and xdotool.

use std::path::{Path, PathBuf};

use crate::common::window::{Display, Session, clreel, without_desktop};
use Do::{Click, Key, Type};
use Sees::{File, Text, Title};
use testkit::movie::{Folder, Movie, steady};
use testkit::pair;

/// The greatest number of keys and clicks of a wish.
const MAX_STEPS: usize = 5;

/// A step of a user.
#[derive(Clone)]
enum Do {
    /// Presses a key.
    Key(&'static str),
    /// Clicks on a text of the overlay.
    Click(&'static str),
    /// Types a text, which is no step.
    Type(String),
}

/// A result that a user sees.
enum Sees {
    /// One of these texts, which are separated by "|".
    Text(&'static str),
    /// This part of the window's title.
    Title(&'static str),
    /// A file in the folder of the session, whose name begins and ends so.
    File(&'static str, &'static str),
}

/// A wish: its name, what the user does, and what the user sees then, in this order.
struct Wish(&'static str, Vec<Do>, Vec<Sees>);

/// Returns the files in a folder whose names begin and end so, and which are not empty.
fn files(folder: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(begin) && name.ends_with(end) && std::fs::metadata(path).unwrap().len() > 0
    };
    all.filter(is_named).collect()
}

/// Fulfils a wish in the window, and closes with `after` what it has opened.
fn fulfil(session: &mut Session, here: &Path, Wish(name, does, sees): Wish, after: &[Do]) {
    let steps = does.iter().filter(|step| !matches!(step, Type(_))).count();
    assert!(steps <= MAX_STEPS, "'{name}' takes {steps} steps");
    for step in &does {
        take(session, step);
    }
    for seen in sees {
        match seen {
            Text(any) => {
                session.wait(&format!("{any}: {name}"), |s| any.split('|').any(|text| s.shows(text)))
            }
            Title(part) => session.wait_for_title(part),
            File(begin, end) => {
                session.wait(&format!("{begin}*{end}: {name}"), |_| !files(here, begin, end).is_empty())
            }
        }
    }
    after.iter().for_each(|step| take(session, step));
}

/// Does what a user does.
fn take(session: &mut Session, step: &Do) {
    match step {
        Key(key) => session.display.key(key),
        Click(text) => session.click(text),
        Type(text) => assert!(session.display.xdotool(&["type", "--delay", "5", text]).status.success()),
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
}

/// Starts a window with a small paused movie in a folder of its own, to which files are saved.
fn start<'a>(
    display: &'a Display,
    folder: &Folder,
    environment: &[(&'static str, &'static str)],
) -> (Session<'a>, PathBuf) {
    let here = folder.file("here");
    std::fs::create_dir_all(&here).unwrap();
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = without_desktop(display);
    // Documents are saved to the working directory where there is no home.
    command.current_dir(&here).env("HOME", &here).env_remove("XDG_CONFIG_HOME");
    command.arg(folder.movie("first.mkv", &movie)).args(["--variant", "flat", "--device", "0"]);
    command.envs(environment.iter().copied());
    let mut session = Session::start(display, &mut command);
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait_for_frames();
    session.wait("all programs built", |session| !session.shows("compiling"));
    (session, here)
}

#[test]
fn each_wish_about_the_ladder_takes_five_steps() {
    let (display, folder) = (Display::start(&[]), Folder::new("wishes"));
    let second = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let second = folder.movie("second.mkv", &second).to_str().unwrap().to_owned();
    let (mut session, here) = start(&display, &folder, &[]);
    let mut play = |name, does: &[Do], sees: Vec<Sees>, after: &[Do]| {
        fulfil(&mut session, &here, Wish(name, does.to_vec(), sees), after);
    };
    // The first variant must have filtered a frame before the next one is compared with it.
    play("begin the ladder", &[Key("F6"), Key("Home")], vec![Title("naive")], &[]);
    let walk = [Key("Right"), Key("Right")];
    play("walk the ladder", &walk, vec![Title("flat"), Text("as fast as naive")], &[Key("Escape")]);
    play(
        "fill a projector",
        &[Key("F6"), Key("f")],
        vec![Text("as fast as naive")],
        &[Key("Escape"), Key("f")],
    );
    play(
        "open a movie",
        &[Key("o"), Type(second), Key("Return")],
        vec![Title("second.mkv")],
        &[Key("space")],
    );
    play("say why a variant is faster", &[Key("d")], vec![Text("of the copy"), Text("multiply-adds: ")], &[]);
    play("see bytes and roofline", &[], vec![Text("MB to move"), Text("op/byte")], &[Key("d")]);
    play("show its source", &[Key("e")], vec![Text("box_flat_rows")], &[]);
    let code = vec![Text("instructions|disassembl|objdump")];
    play("see machine code", &[Click("Machine code")], code, &[Click("Machine code")]);
    play("find races", &[Click("Races")], vec![Text("Oclgrind")], &[Key("e")]);
    play("make a picture for a slide", &[Key("s")], vec![File("clreel-frame-", ".png")], &[]);
    let chart = [Key("b"), Click("box filter"), Click("r = 1 to 31"), Click("Measure")];
    play("make a chart for a slide", &chart, vec![Text("Done."), Text("10 ms|1 ms|0.1 ms")], &[]);
    play("save the chart", &[Key("S")], vec![File("clreel-window-", ".png")], &[Key("b")]);
    let saved = vec![
        File("clreel-stats-", ".csv"),
        File("clreel-stats-", ".json"),
        File("clreel-stats-", ".trace.json"),
        File("clreel-stats-", ".bench.json"),
    ];
    play("export", &[Key("ctrl+e")], saved, &[]);
    play("compare with yesterday", &[Key("ctrl+r")], vec![File("clreel-run-", ".json")], &[]);
    // Yesterday's run, or one of another machine, is a file as this one.
    let run = files(&here, "clreel-run-", ".json").remove(0);
    let compared = clreel(None).arg("compare").args([&run, &run]).output().unwrap();
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    session.quit();
}

#[test]
fn each_wish_about_kernels_takes_five_steps() {
    let (display, folder) = (Display::start(&[]), Folder::new("wishes-kernels"));
    let (mut session, here) = start(&display, &folder, &[]);
    let edit = [Key("e"), Click("Make an editable copy")];
    fulfil(&mut session, &here, Wish("edit a kernel", edit.to_vec(), vec![Text("Edit the files in")]), &[]);
    let kernels = files(&here, "clreel-kernels", "").remove(0).join("box_filter");
    let flat = std::fs::read_to_string(kernels.join("03_flat.cl")).unwrap();
    std::fs::write(kernels.join("03_flat.cl"), flat.replacen("i++)", "i += 1)", 1)).unwrap();
    // Of its own accord.
    let verdict = vec![Text("exact"), Text("no difference shown|faster|slower")];
    fulfil(&mut session, &here, Wish("know whether it is really faster", vec![Key("space")], verdict), &[]);
    let student = "__kernel void own(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius,\n\
                   int row0, int rows, float scale)\n{\n    const int x = get_global_id(0), y = row0 + get_global_id(1);\n\
                   if (x < width && y < row0 + rows) dst[y * width + x] = src[y * width + x];\n}\n";
    std::fs::write(kernels.join("own.cl"), student).unwrap();
    let judged = vec![Text("own output differs")];
    fulfil(&mut session, &here, Wish("have a student's kernel judged", vec![Key("u")], judged), &[Key("3")]);
    // Versions are kept of their own accord. The oldest is the lowest in the list.
    let restore = [Click("diff"), Click("Restore to file")];
    fulfil(&mut session, &here, Wish("restore a version", restore.to_vec(), vec![]), &[]);
    let is_restored =
        |_: &mut Session| std::fs::read_to_string(kernels.join("03_flat.cl")).is_ok_and(|now| now == flat);
    session.wait("the original text", is_restored);
    session.quit();
}

#[test]
fn two_devices_are_compared_in_five_steps() {
    let (display, folder) = (Display::start(&[]), Folder::new("wishes-devices"));
    let (mut session, here) = start(&display, &folder, &pair::environment());
    let names = pair::names(clreel(None));
    let first = vec![Key("b"), Click("box filter"), Click("Pause and measure")];
    fulfil(&mut session, &here, Wish("measure a device", first, vec![Text("Done.")]), &[]);
    fulfil(
        &mut session,
        &here,
        Wish("another device", vec![Key("ctrl+d")], vec![Text("OpenCL devices")]),
        &[],
    );
    // The list of devices moves the Lab for some seconds.
    session.wait("the end of the list", |s| !s.shows("OpenCL devices"));
    fulfil(&mut session, &here, Wish("measure it, too", vec![Click("Measure")], vec![]), &[]);
    session.wait("a column of each device", |s| names.iter().all(|name| s.shows(name)) && s.shows("Done."));
    session.quit();
}
