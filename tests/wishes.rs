//! Plays the wishes of users of the workbench: each wish takes at most five keys or clicks, typing apart, and its result is read
//! from the overlay's texts, the window's title or the file that was written. Needs PoCL, Xvfb, xdotool and rsvg-convert.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use box_filter::{Group, VariantId};
use testkit::programs;

use crate::common::*;
use Do::{Click, Key, Type};
use Sees::{File, Text, Times, Title};

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
    /// This many times of the variant `flat` side by side in the ladder.
    Times(usize),
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
                Times(count) => session.wait("times side by side", |s| times_of_flat(s) == *count),
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
            Type(text) => {
                // Before the field has the keyboard, keys control the player.
                session.wait_for_text("Cancel");
                assert!(session.display.xdotool(&["type", "--delay", "5", text]).status.success());
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Returns how many times the row of `flat` in the ladder has.
fn times_of_flat(session: &Session) -> usize {
    let texts = session.texts();
    let beside = |name: &crate::common::Text| {
        let is_time =
            |t: &&crate::common::Text| t.text.ends_with(" ms") && (0.0..344.0).contains(&(t.x - name.x));
        texts.iter().filter(|t| is_time(t) && (t.center().1 - name.center().1).abs() < 6).count()
    };
    texts.iter().filter(|t| t.text == "flat").map(beside).max().unwrap_or(0)
}

/// Asserts that rsvg draws an SVG like `chart`: as large, with the same bars on white, and with text.
fn assert_drawn(folder: &Folder, svg: &Path, chart: &Picture) {
    if !programs::has(&["rsvg-convert"]) {
        return;
    }
    let out = folder.file("drawn.png");
    assert!(Command::new("rsvg-convert").arg(svg).arg("-o").arg(&out).status().unwrap().success());
    let drawn = png(&out);
    assert_eq!((drawn.0, drawn.1), (chart.0, chart.1));
    let is_bar = |p: &[u8]| p[0].abs_diff(p[2]) > 60;
    let is_ink = |p: &[u8]| p[..3].iter().all(|channel| *channel < 100);
    let pixels = || chart.2.chunks_exact(4).zip(drawn.2.chunks_exact(4));
    let bars = pixels().filter(|(a, _)| is_bar(a)).count();
    let differing = pixels().filter(|(a, b)| is_bar(a) != is_bar(b)).count();
    assert!(bars > 10_000 && differing * 10 < bars, "{differing} of {bars}");
    let [ink, drawn_ink] =
        [&chart.2, &drawn.2].map(|rgba| rgba.chunks_exact(4).filter(|p| is_ink(p)).count());
    // Fonts differ.
    assert!(drawn_ink * 2 > ink && drawn_ink < ink * 2, "{drawn_ink} of {ink}");
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
    // The movie that plays comes first in the list.
    let recent = [Key("O"), Key("Down"), Key("Down"), Key("Return")];
    let chart = [Key("b"), Click("box filter"), Click("r = 7"), Click("Measure")];
    let files = [".csv", ".json", ".trace.json", ".bench.json"].map(|end| File("clreel-stats-", end));
    let mut user = start(&display, &folder, &[]);
    for (n, step) in VariantId::all().filter(|id| id.group == Group::Steps).enumerate() {
        let keys: &[Do] = if n == 0 { &[Key("F6"), Key("Home")] } else { &[Key("Right")] };
        let than = if n == 0 { "the baseline" } else { "as fast as naive" };
        let sees = [Title(step.name), Text(step.idea), Text(than)];
        user.wishes("walk the ladder and say why each step is faster", keys, &sees, &[]);
    }
    user.wishes("end the talk with a variant", &[Key("Escape"), Key("3")], &[Title("flat")], &[]);
    type Wish<'a> = (&'a str, &'a [Do], &'a [Sees], &'a [Do]);
    let wishes: [Wish; 14] = [
        ("fill a projector", &[Key("F6"), Key("f")], &[Text("as fast as naive")], &[Key("Escape"), Key("f")]),
        ("open a movie", &open, &[Title("second.mkv")], &[]),
        ("choose a movie from a list", &[Key("O"), Click("first.mkv")], &[Title("first.mkv")], &[]),
        ("go back to a recent movie", &recent, &[Title("second.mkv"), Times(1)], &[Key("space")]),
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
        ("keep a run for tomorrow", &[Key("ctrl+r")], &[File("clreel-run-", ".json")], &[]),
    ];
    for (name, steps, sees, after) in wishes {
        user.wishes(name, steps, sees, after);
    }
    let run = saved_files(&user.here, "clreel-run-", ".json").remove(0);
    let mut report = read_json(&run);
    *report.pointer_mut("/host/name").unwrap() = "hall-7".into();
    let other = folder.with("other.json", report.to_string());
    let path = |path: &Path| Type(path.to_str().unwrap().to_owned());
    let yesterday = [Key("C"), path(&run), Key("Return")];
    user.wishes("compare with yesterday", &yesterday, &[Times(2)], &[]);
    let machine = [Key("C"), path(&other), Key("Return")];
    user.wishes("compare with another machine", &machine, &[Times(2), Text("hall-7")], &[]);
    let ladder = [".csv", ".svg", ".png"].map(|end| File("clreel-ladder-", end));
    user.wishes("make a table and a chart of the ladder for slides", &[Key("ctrl+l")], &ladder, &[]);
    let [csv, svg, chart] =
        [".csv", ".svg", ".png"].map(|end| saved_files(&user.here, "clreel-ladder-", end).remove(0));
    let table = std::fs::read_to_string(csv).unwrap();
    assert_eq!(table.matches("\nflat,").count(), 2, "{table}");
    assert!(table.starts_with("variant,ms,") && table.contains("hall-7"), "{table}");
    assert_drawn(&folder, &svg, &png(&chart));
    user.wishes("end the comparison", &[Key("C"), Key("Down"), Key("Return")], &[Times(1)], &[]);
    user.session.quit();
}

#[test]
fn each_wish_about_kernels_takes_five_steps() {
    let (display, folder) = (Display::start(&[]), Folder::new("wishes-kernels"));
    // An editor that records its arguments.
    let editor = folder.with("editor", "#!/bin/sh\nprintf %s \"$*\" > edited\n");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut user = start(&display, &folder, &[("VISUAL", editor.to_str().unwrap())]);
    let edit = [Key("e"), Click("Make an editable copy")];
    user.wishes("edit a kernel", &edit, &[Text("Edit the files in")], &[]);
    let kernels = saved_files(&user.here, "clreel-kernels", "").remove(0).join("box_filter");
    user.wishes("open it in an editor", &[Key("E")], &[File("edited", "")], &[]);
    let edited = std::fs::read_to_string(user.here.join("edited")).unwrap();
    assert_eq!(Path::new(&edited), kernels.join("03_flat.cl"));
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
    // The message of the restored version may make room for that of its validation.
    let restored = [Text("Restored version 1: box_filter/03_flat.cl written|changed since version 3")];
    user.wishes("restore a version", &[Click("diff"), Click("Restore to file")], &restored, &[]);
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
    user.wishes("see two devices side by side", &[Key("ctrl+d")], &[Times(2)], &[]);
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
