//! Plays the wishes of users of the workbench: each wish takes at most five keys or clicks, typing apart, and its result is read
//! from the overlay's texts, the window's title or the file that was written. Needs PoCL, Xvfb and xdotool.

use std::path::PathBuf;

use crate::common::*;
use Do::{Click, Key, Type};
use Sees::{File, Text, Title};

/// The greatest number of keys and clicks of a wish.
const MAX_STEPS: usize = 5;

/// A step of a user.
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

/// A user at a window, whose files are saved to a folder.
struct User<'a> {
    session: Session<'a>,
    here: PathBuf,
}

impl User<'_> {
    /// Fulfils a wish: does the steps, requires what the user sees then, and closes with `after` what it has opened.
    fn wishes(&mut self, name: &str, steps: &[Do], sees: &[Sees], after: &[Do]) {
        let count = steps.iter().filter(|step| !matches!(step, Type(_))).count();
        assert!(count <= MAX_STEPS, "'{name}' takes {count} steps");
        steps.iter().for_each(|step| self.take(step));
        let session = &mut self.session;
        for seen in sees {
            match seen {
                Text(any) => session.wait_for_result(any),
                Title(part) => session.wait_for_title(part),
                File(begin, end) => drop(session.wait_for_files(&self.here, begin, end, 1)),
            }
        }
        after.iter().for_each(|step| self.take(step));
    }

    /// Does what a user does.
    fn take(&mut self, step: &Do) {
        let session = &mut self.session;
        match step {
            Key(key) => session.display.key(key),
            Click(text) => session.click(text),
            Type(text) => assert!(session.display.xdotool(&["type", "--delay", "5", text]).status.success()),
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Starts a window with a small paused movie in a folder of its own, to which files are saved.
fn start<'a>(display: &'a Display, folder: &Folder, environment: &[(&str, &str)]) -> User<'a> {
    let here = folder.folder("here");
    let movie = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let mut command = without_desktop(display);
    // Documents are saved to the working directory where there is no home.
    command.current_dir(&here).env("HOME", &here).env_remove("XDG_CONFIG_HOME");
    command.arg(folder.movie("first.mkv", &movie)).args(["--variant", "flat", "--device", "0"]);
    let mut session = Session::start(display, command.envs(environment.iter().copied()));
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait_for_frames();
    session.wait_for_end_of("compiling");
    User { session, here }
}

#[test]
fn each_wish_about_the_ladder_takes_five_steps() {
    let (display, folder) = (Display::start(&[]), Folder::new("wishes"));
    let second = Movie { size: (64, 48), stamps_ms: steady(500), ..Movie::default() };
    let second = folder.movie("second.mkv", &second).to_str().unwrap().to_owned();
    let open = [Key("o"), Type(second), Key("Return")];
    let chart = [Key("b"), Click("box filter"), Click("r = 1 to 31"), Click("Measure")];
    let files = [".csv", ".json", ".trace.json", ".bench.json"].map(|end| File("clreel-stats-", end));
    let mut user = start(&display, &folder, &[]);
    let walked = [Title("flat"), Text("as fast as naive")];
    // The first variant must have filtered a frame before the next one is compared with it.
    type Wish<'a> = (&'a str, &'a [Do], &'a [Sees], &'a [Do]);
    let wishes: [Wish; 14] = [
        ("begin the ladder", &[Key("F6"), Key("Home")], &[Title("naive")], &[]),
        ("walk the ladder", &[Key("Right"), Key("Right")], &walked, &[Key("Escape")]),
        ("fill a projector", &[Key("F6"), Key("f")], &[Text("as fast as naive")], &[Key("Escape"), Key("f")]),
        ("open a movie", &open, &[Title("second.mkv")], &[Key("space")]),
        ("say why a variant is faster", &[Key("d")], &[Text("of the copy"), Text("multiply-adds: ")], &[]),
        ("see bytes and roofline", &[], &[Text("MB to move"), Text("op/byte")], &[Key("d")]),
        ("show its source", &[Key("e")], &[Text("box_flat_rows")], &[]),
        (
            "see machine code",
            &[Click("Machine code")],
            &[Text("instructions|disassembl|objdump")],
            &[Click("Machine code")],
        ),
        ("find races", &[Click("Races")], &[Text("Oclgrind")], &[Key("e")]),
        ("make a picture for a slide", &[Key("s")], &[File("clreel-frame-", ".png")], &[]),
        ("make a chart for a slide", &chart, &[Text("Done."), Text("10 ms|1 ms|0.1 ms")], &[]),
        ("save the chart", &[Key("S")], &[File("clreel-window-", ".png")], &[Key("b")]),
        ("export", &[Key("ctrl+e")], &files, &[]),
        ("compare with yesterday", &[Key("ctrl+r")], &[File("clreel-run-", ".json")], &[]),
    ];
    for (name, steps, sees, after) in wishes {
        user.wishes(name, steps, sees, after);
    }
    // Yesterday's run, or one of another machine, is a file as this one.
    let run = saved_files(&user.here, "clreel-run-", ".json").remove(0);
    // Some dozen frames of a busy machine may be too few for a verdict (exit code 1), but the table has their times.
    let compared = text(&clreel(None).arg("compare").args([&run, &run]).output().unwrap().stdout);
    assert!(compared.contains("B compared with A") && compared.contains("│ flat "), "{compared}");
    user.session.quit();
}

#[test]
fn each_wish_about_kernels_takes_five_steps() {
    let (display, folder) = (Display::start(&[]), Folder::new("wishes-kernels"));
    let mut user = start(&display, &folder, &[]);
    let edit = [Key("e"), Click("Make an editable copy")];
    user.wishes("edit a kernel", &edit, &[Text("Edit the files in")], &[]);
    let kernels = saved_files(&user.here, "clreel-kernels", "").remove(0).join("box_filter");
    let flat = std::fs::read_to_string(kernels.join("03_flat.cl")).unwrap();
    std::fs::write(kernels.join("03_flat.cl"), flat.replacen("i++)", "i += 1)", 1)).unwrap();
    // Of its own accord.
    let verdict = [Text("exact"), Text("no difference shown|faster|slower")];
    user.wishes("know whether it is really faster", &[Key("space")], &verdict, &[]);
    let student = "__kernel void own(__global const uchar4 *src, __global uchar4 *dst, int width, int height, int radius,\n\
                   int row0, int rows, float scale)\n{\n    const int x = get_global_id(0), y = row0 + get_global_id(1);\n\
                   if (x < width && y < row0 + rows) dst[y * width + x] = src[y * width + x];\n}\n";
    std::fs::write(kernels.join("own.cl"), student).unwrap();
    user.wishes("have a student's kernel validated", &[Key("u")], &[Text("own output differs")], &[Key("3")]);
    // Versions are kept of their own accord. The oldest is the lowest in the list.
    user.wishes("restore a version", &[Click("diff"), Click("Restore to file")], &[], &[]);
    let is_restored =
        |_: &mut Session| std::fs::read_to_string(kernels.join("03_flat.cl")).is_ok_and(|now| now == flat);
    user.session.wait("the original text", is_restored);
    user.session.quit();
}

#[test]
fn two_devices_are_compared_in_five_steps() {
    let (display, folder) = (Display::start(&[]), Folder::new("wishes-devices"));
    let mut user = start(&display, &folder, &pair::environment());
    let names = pair::names(clreel(None));
    let first = [Key("b"), Click("box filter"), Click("Pause and measure")];
    user.wishes("measure a device", &first, &[Text("Done.")], &[]);
    user.wishes("another device", &[Key("ctrl+d")], &[Text("Devices")], &[]);
    // The list of devices moves the Lab for some seconds.
    user.session.wait_for_end_of("Devices");
    user.wishes("measure it, too", &[Click("Measure")], &[], &[]);
    let has_both = |s: &mut Session| names.iter().all(|name| s.shows(name)) && s.shows("Done.");
    user.session.wait("a column of each device", has_both);
    user.session.quit();
}
