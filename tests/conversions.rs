//! Changed kernels of the conversion: `bench` names each, and neither `snapshot` nor the window shows what they make.
//! The layer makes a GPU of PoCL's device, for what only graphics cards are asked for. Needs an OpenCL device, Xvfb and
//! xdotool.

#[path = "common/layer.rs"]
mod layer;
#[path = "common/movie.rs"]
mod movie;
#[path = "common/native.rs"]
mod native;
#[path = "common/window.rs"]
mod window;

use std::path::{Path, PathBuf};
use std::process::Command;

use ffmpeg_next::format::Pixel;
use movie::{Folder, Movie};
use serde_json::Value;
use window::{Display, Session, clip, clreel, png, succeed};

const PLANES: &str = "convert/01_planes.cl";
const CORRECT: &str = "convert/02_correct.cl";
const ROWS: &str = "convert/03_rows.cl";
const COMMON: &str = "common/convert.clh";

/// A change: its name, the file, the text, what stands there instead, and the conversions that must be named: a part of
/// their id, and the kernel. Whether other formats than the movie's are needed to see it.
struct Mutant(&'static str, &'static str, &'static str, &'static str, (&'static str, &'static str), bool);

const MUTANTS: [Mutant; 13] = [
    Mutant("constant", COMMON, "(1 << 20)) >> 21", "(1 << 19)) >> 21", ("yuv420p", PLANES), false),
    Mutant("clamp", COMMON, ">> 21, 0, 255)", ">> 21, 1, 255)", ("yuv420p", PLANES), false),
    Mutant("siting", PLANES, "2 * y - phase.s1", "2 * y - phase.s0", ("yuv420p", PLANES), false),
    Mutant("range", PLANES, "first - matrix.s1", "first - 256", ("yuv420p", PLANES), false),
    Mutant("alpha", PLANES, "a = 255;", "a = 254;", ("yuv420p", PLANES), false),
    Mutant(
        "pixel",
        PLANES,
        "corrected ? correct(pixels[i], curve, luma) : pixels[i];",
        "x + i == 61 && y == 33 ? (uchar4)(1, 2, 3, 255) : corrected ? correct(pixels[i], curve, luma) : pixels[i];",
        ("yuv420p", PLANES),
        false,
    ),
    Mutant("shift", PLANES, "(stored >> bits.s0)", "(stored >> (bits.s0 & 1))", ("p010le", PLANES), true),
    Mutant(
        "layout",
        PLANES,
        "const int row0 = y, row1 = y,",
        "const int row0 = HALF_X ? max(y - 1, 0) : y, row1 = y,",
        ("yuv422p", PLANES),
        true,
    ),
    Mutant(
        "weights",
        ROWS,
        "(2 + phase) * middle",
        "(3 + phase) * middle",
        ("yuv420p-filtered", ROWS),
        false,
    ),
    Mutant(
        "last",
        ROWS,
        "min(16, width - x)",
        "min(16, width - x) - (width > 60)",
        ("yuv420p-filtered", ROWS),
        false,
    ),
    Mutant("saturation", COMMON, "(1 << 11)) >> 12", "(1 << 10)) >> 12", ("rgba", CORRECT), false),
    Mutant("column", CORRECT, "x >= width", "x >= width - (width > 60)", ("rgba", CORRECT), false),
    Mutant("this size", CORRECT, "x >= width", "x >= width - (width == 70)", ("rgba", CORRECT), false),
];

fn mutant(name: &str) -> &'static Mutant {
    MUTANTS.iter().find(|mutant| mutant.0 == name).unwrap()
}

/// A folder with the changed file in it.
fn kernels(mutant: &Mutant, test: &str) -> Folder {
    let &Mutant(name, file, from, to, ..) = mutant;
    let folder = Folder::new(&format!("conversions-{test}-{name}"));
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(file)).unwrap();
    assert!(text.contains(from), "{name}: '{from}' is not in {file}");
    let path = folder.file(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    folder
}

const SIZE: (u32, u32) = (70, 46);

/// A movie of 4:2:0.
fn small(folder: &Folder) -> PathBuf {
    folder.movie("m.mkv", &Movie { format: Pixel::YUV420P, size: SIZE, ..Movie::default() })
}

/// What a kernel does first of all, for all work-items.
const FOR_EVER: &str = "for (volatile int forever = 1; forever;) forever = 1;";
/// Seconds after which a kernel counts as endless: enough for a machine that is busy.
const LIMIT: &str = "12";

/// A folder with a kernel file in it that loops for ever.
fn endless(file: &str, test: &str) -> Folder {
    let folder = Folder::new(&format!("conversions-endless-{test}"));
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(file)).unwrap();
    let kernel = text.find("__kernel").unwrap();
    let body = kernel + text[kernel..].find('{').unwrap() + 1;
    let path = folder.file(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("{} {FOR_EVER} {}", &text[..body], &text[body..])).unwrap();
    folder
}

/// `bench` of the conversions; the variant is one that needs no kernel.
fn bench(movie: &Path, which: &str) -> Command {
    let mut command = clreel(None);
    command.env_remove("CLREEL_KERNELS").arg("bench").arg(movie).args([
        "--variant",
        "native",
        "--radius",
        "0",
    ]);
    command.args(["--frames", "2", "--json", "--conversions", which]);
    command
}

fn conversions(mut command: Command, code: i32) -> Vec<Value> {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    assert_eq!(output.status.code(), Some(code), "{stderr} {report:#}");
    report["devices"][0]["conversions"].as_array().unwrap().clone()
}

#[test]
fn bench_checks_all_conversions_and_times_the_movies_own() {
    let folder = Folder::new("conversions-bench");
    let movie = small(&folder);
    let all = conversions(bench(&movie, "all"), 0);
    let timed = |row: &&Value| !row["device_ms"].is_null();
    for row in &all {
        assert_eq!((&row["outcome"], &row["reason"]), (&"ok".into(), &Value::Null), "{row}");
        assert_eq!(row["max_abs_diff"], 0, "{row}");
        let sizes = row["checked"]["sizes"].as_array().unwrap();
        assert!(sizes.contains(&serde_json::json!([1, 1])) && sizes.len() > 5, "{row}");
        assert!(row["checked"]["pictures"].as_u64() >= Some(sizes.len() as u64), "{row}");
        let own = ["yuv420p", "yuv420p-filtered", "rgba"].map(Value::from).contains(&row["id"]);
        assert_eq!(timed(&row), own, "{row}");
        assert_eq!(sizes.contains(&serde_json::json!([SIZE.0, SIZE.1])), own, "its whole size: {row}");
    }
    for (id, kernel) in [("nv12", PLANES), ("p010le", PLANES), ("yuyv422", PLANES), ("gray-filtered", PLANES)]
    {
        for to in ["buffer", "image"] {
            for corrected in [false, true] {
                let is = |row: &&Value| {
                    row["id"] == id
                        && row["to"] == to
                        && row["corrected"] == corrected
                        && row["kernel"] == kernel
                };
                assert_eq!(all.iter().filter(is).count(), 1, "{id} to {to}, {corrected}");
            }
        }
    }
    assert!(all.iter().any(|row| row["kernel"] == ROWS && row["id"] == "yuv420p-filtered"));
    for row in all.iter().filter(timed) {
        assert_eq!(row["device_ms"]["n"], 2, "{row}");
    }
    let own = conversions(bench(&movie, "input"), 0);
    assert_eq!(own.len(), all.iter().filter(timed).count());
    assert!(conversions(bench(&movie, "none"), 0).is_empty());
}

#[test]
fn bench_names_each_changed_conversion() {
    let folder = Folder::new("conversions-named");
    let movie = small(&folder);
    for mutant in &MUTANTS {
        let &Mutant(name, .., (id, kernel), others) = mutant;
        let changed = kernels(mutant, "bench");
        let mut command = bench(&movie, if others { "all" } else { "input" });
        command.env("CLREEL_KERNELS", changed.file(""));
        let rows = conversions(command, 3);
        let wrong: Vec<&Value> = rows.iter().filter(|row| row["outcome"] == "mismatch").collect();
        let named = wrong.iter().filter(|row| row["id"] == id && row["kernel"] == kernel);
        assert!(named.count() > 0, "{name}: {wrong:#?}");
        for row in wrong {
            assert!(row["device_ms"].is_null() && row["max_abs_diff"].as_u64() > Some(0), "{name}: {row}");
            assert!(row["reason"].as_str().unwrap().contains("differ"), "{name}: {row}");
        }
    }
}

#[test]
fn bench_ends_fast_when_it_is_asked_to() {
    let folder = Folder::new("conversions-fast");
    let movie = small(&folder);
    let changed = kernels(mutant("alpha"), "fast");
    let mut command = bench(&movie, "all");
    command.arg("--fail-fast").env("CLREEL_KERNELS", changed.file(""));
    let rows = conversions(command, 3);
    assert!(rows.iter().all(|row| row["id"] == "yuv420p" && row["device_ms"].is_null()), "{rows:#?}");
    assert!(rows.iter().any(|row| row["outcome"] == "mismatch"), "{rows:#?}");
}

#[test]
fn bench_goes_on_without_endless_conversions() {
    let folder = Folder::new("conversions-stuck");
    let movie = small(&folder);
    // Of each file the rows that fail, and one that must not.
    for (file, fails, goes_on) in
        [(PLANES, "yuv420p", "rgba"), (CORRECT, "rgba", "yuv420p"), (ROWS, "yuv420p-filtered", "nv12")]
    {
        let changed = endless(file, "bench");
        let mut command = bench(&movie, "all");
        command.args(["--kernel-timeout", LIMIT]).env("CLREEL_KERNELS", changed.file(""));
        let rows = conversions(command, 1);
        let of = |id| rows.iter().filter(move |row| row["id"] == id);
        for row in of(fails) {
            let why = row["reason"].as_str().unwrap_or_default();
            assert!(row["outcome"] == "failed" && why.contains("did not end within"), "{file}: {row}");
        }
        assert!(of(fails).count() > 0, "{file}");
        assert!(
            of(goes_on).count() > 0 && of(goes_on).all(|row| row["outcome"] == "ok"),
            "{file}: {rows:#?}"
        );
    }
}

fn as_gpu() -> Vec<(String, std::ffi::OsString)> {
    layer::environment(&[("FAKE_GPU", "1")])
}

/// A snapshot of a movie, and what was said.
fn shot(
    (folder, movie): (&Folder, &Path),
    changed: Option<&Folder>,
    gpu: bool,
    variant: &str,
) -> ((usize, usize, Vec<u8>), String) {
    let out = folder.file("shot.png");
    let mut command = clreel(None);
    command.env_remove("CLREEL_KERNELS").arg("snapshot").arg(movie).args(["--at", "0.04"]);
    command.args(["--variant", variant, "--radius", "2", "--device"]).arg(if gpu { "gpu" } else { "cpu" });
    command.args(["--kernel-timeout", LIMIT]).arg("--out").arg(&out);
    if gpu {
        command.envs(as_gpu());
    }
    if let Some(changed) = changed {
        command.env("CLREEL_KERNELS", changed.file(""));
    }
    let stderr = succeed(command);
    (png(&out), stderr)
}

#[test]
fn a_snapshot_is_right_whatever_the_kernels_are() {
    let folder = Folder::new("conversions-shot");
    let (small, clip) = (small(&folder), clip());
    for (name, gpu, variant) in [
        ("constant", true, "off"),
        ("siting", true, "off"),
        ("alpha", true, "fused"),
        ("pixel", true, "off"),
        ("constant", true, "planar"),
        ("weights", false, "planar"),
        ("last", false, "planar"),
    ] {
        let mutant = mutant(name);
        // The clip's rows are whole vectors.
        let movie = if name == "last" { &small } else { &clip };
        let (right, said) = shot((&folder, movie), None, gpu, variant);
        assert!(!said.contains("wrongly"), "{name}: {said}");
        let changed = kernels(mutant, "shot");
        let (got, said) = shot((&folder, movie), Some(&changed), gpu, variant);
        assert!(got == right, "{name}: the picture is wrong");
        let file = if gpu { PLANES } else { ROWS };
        for part in ["converts pictures (4:2:0, 8 bits) wrongly", file, "The processor converts this one"] {
            assert!(said.contains(part), "{name}: {part}: {said}");
        }
    }
}

#[test]
fn a_snapshot_does_without_an_endless_conversion() {
    let folder = Folder::new("conversions-stuck-shot");
    let movie = small(&folder);
    let changed = endless(PLANES, "shot");
    for variant in ["off", "fused"] {
        let (right, _) = shot((&folder, &movie), None, true, variant);
        let (got, said) = shot((&folder, &movie), Some(&changed), true, variant);
        assert!(got == right, "{variant}: the picture is wrong");
        assert_eq!(said.matches("The kernels of the conversion did not end within").count(), 1, "{said}");
    }
}

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
    let changed = endless(PLANES, "window");
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
    let changed = endless(CORRECT, "window");
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
    session.wait_for_text("wrongly");
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
