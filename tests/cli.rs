//! The command line: help, usage errors, exit codes and messages. No display is needed.

use std::borrow::BorrowMut;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::*;
use box_filter::VariantId;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use testkit::movie::with_full_disk;

/// Runs clreel; returns its exit code, stdout and stderr.
fn run(mut command: impl BorrowMut<Command>) -> (i32, String, String) {
    let output = command.borrow_mut().output().unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code().expect("ended by itself"), stdout, stderr)
}

fn clreel() -> Command {
    crate::common::clreel(None)
}

/// Returns `clreel snapshot` with these arguments.
fn snapshot(arguments: &[&str]) -> Command {
    let mut command = clreel();
    command.arg("snapshot").args(arguments);
    command
}

/// Takes a snapshot, which must succeed without a message; returns the bytes of the file, and stdout.
fn picture(mut command: Command) -> (Picture, String) {
    let folder = Folder::new("cli-picture");
    let out = folder.file("out.png");
    let (code, stdout, stderr) = run(command.arg("--out").arg(&out));
    assert_eq!((code, stderr.as_str()), (0, ""), "{command:?}");
    (png(&out), stdout)
}

/// Returns red, green and blue of a pixel.
fn pixel(picture: &Picture, x: usize, y: usize) -> [u8; 3] {
    std::array::from_fn(|channel| picture.2[(y * picture.0 + x) * 4 + channel])
}

/// Returns the text of a file of the repository.
fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// Points the loader to a folder without registered OpenCL drivers.
fn without_opencl(command: &mut Command) -> &mut Command {
    command.env("OCL_ICD_VENDORS", "/nowhere")
}

/// The goldens of the help have all its words, whatever variants there are.
#[test]
fn help_names_every_variant_and_variable() {
    let (code, stdout, _) = run(clreel().arg("--help"));
    assert_eq!(code, 0);
    // In the option's own text, and among the keys.
    let (options, keys) = stdout.split_once("In the window:").expect("the keys");
    let words = |text: &str| text.split([' ', ',', '\n']).map(str::to_owned).collect::<Vec<_>>();
    let (_, about) = options.split_once("The filter: ").expect("what --variant takes");
    let about = about.split_once("\n\n").map_or(about, |(about, _)| about);
    for id in VariantId::all() {
        assert!(words(about).contains(&id.name.to_owned()), "{id} in {about}");
        assert!(words(keys).contains(&id.name.to_owned()), "{id} in {keys}");
    }
    let (code, stdout, _) = run(clreel().arg("--version"));
    assert_eq!((code, stdout.trim()), (0, concat!("clreel ", env!("CARGO_PKG_VERSION"))));
    let (code, listed, _) = run(clreel().arg("environment"));
    let (help_code, help, _) = run(clreel().args(["help", "environment"]));
    assert_eq!((code, help_code), (0, 0));
    for name in ["CLREEL_KERNELS", "CLREEL_TEXTS", "DISPLAY", "[default: 30]"] {
        assert!(listed.contains(name) && help.contains(name), "{name}: {listed} {help}");
    }
}

/// Values of options that are mistyped are errors that name the allowed values or the likely meaning.
#[test]
fn invalid_arguments_are_usage_errors() {
    let integer = "expected an integer from 0 to 128";
    for (arguments, sentence) in [
        ("--radius -1", &*format!("'-1' for '--radius <N>': {integer}")),
        ("--radius seven", ""),
        ("--radius 3,x", &format!("'3,x' for '--radius <N>': {integer}; only `clreel bench` and")),
        ("--variant fastest", ""),
        ("--start -3", "'-3' for '--start <TIME>': expected a time such as"),
        ("--start nan", ""),
        ("--frames 0", ""),
        ("--preload 0", ""),
        ("--stats numbers.txt", ""),
        ("--start 1:60", ""),
        ("--screenshot x.jpg", ""),
        ("snapshot", ""),
        ("snapshot --out x.jpg", "'x.jpg' for '--out <PNG>': pictures are written as PNG"),
        ("snapshot --out x.png --at 0:-1", ""),
        ("snapshot movie.mp4 --out x.png --scene card", ""),
        ("bench --size 0x10", ""),
        ("bench --size wide", ""),
        ("bench --variant flat,fastest", ""),
        ("bench --variant naive,off", ""),
        ("bench --variant ", ""),
        ("bench --radius 7,200", ""),
        ("bench --radius 3,x", &format!("'x' for '--radius <N,…>': {integer}")),
        ("bench --frames 0", ""),
        ("bench --frames some", "'some' for '--frames <N>': expected an integer from 1"),
        ("devices --frames 1", ""),
        ("bnech", "there is no file 'bnech'; did you mean the command `clreel bench`?"),
        ("bnech --json --radius 3,7", "did you mean the command `clreel bench`?"),
    ] {
        let (code, stdout, stderr) = run(clreel().args(arguments.split(' ')));
        assert!(code == 2 && stderr.contains(sentence), "{arguments}: {code} {stderr}");
        assert!(stdout.is_empty() && !stderr.is_empty(), "{arguments}");
    }
    for (address, sentence) in [
        ("http://example.org/a.mp4", "an address on the network"),
        ("rtsp://example.org/a", "an address on the network"),
        ("/nowhere://a.mp4", "no such file"),
    ] {
        let (code, _, stderr) = run(clreel().arg(address));
        assert!(code == 1 && stderr.contains(sentence), "{stderr}");
    }
}

#[test]
fn snapshot_filters_one_frame_of_the_bundled_clip() {
    let named = picture(snapshot(&["--variant", "off", "--at", "2.5", clip().to_str().unwrap()]));
    assert!(named == picture(snapshot(&["--variant", "off", "--at", "0:02.5"])));
    assert!(named != picture(snapshot(&["--variant", "off"])), "another time is another picture");
    let filtered = |variant: &str, radius: &str| {
        picture(snapshot(&["--variant", variant, "--radius", radius, "--at", "2.5"]))
    };
    let blurred = filtered("running-sum", "7");
    assert!(named != blurred);
    assert!(blurred == filtered("flat", "7"), "every variant gives the same bytes");
    assert!(named == filtered("vectorized", "0"), "radius 0 changes nothing");
}

#[test]
fn unplayable_files_exit_with_1_and_a_message() {
    let folder = Folder::new("cli-unplayable");
    let (text, empty) = (folder.with("text.mp4", "This is no movie.\n"), folder.with("empty.mp4", ""));
    let (missing, out) = (folder.file("missing.mp4"), folder.file("never.png"));
    for file in [text, empty, missing, std::env::temp_dir()] {
        let name = file.display().to_string();
        let (mut snapshot, mut bench, mut window) = (snapshot(&["--out"]), clreel(), clreel());
        for command in [snapshot.arg(&out).arg(&file), bench.arg("bench").arg(&file), window.arg(&file)] {
            let (code, stdout, stderr) = run(command);
            assert!(code == 1 && stdout.is_empty(), "{name}: {stdout}{stderr}");
            assert!(stderr.starts_with("clreel: ") && stderr.contains(&name), "{stderr}");
            // The message has three parts: what happened, why, what to try.
            assert!(stderr.trim_end().lines().count() >= 2, "{stderr}");
        }
        assert!(!out.exists());
    }
}

/// The bars of 75 %, the moving line, the options in the card's font; and the filter on all of it.
#[test]
fn snapshot_shows_the_test_card() {
    let card = |arguments: &[&str]| {
        let (card, _) = picture(snapshot(&[&["--scene", "card"], arguments].concat()));
        assert_eq!((card.0, card.1), (1280, 720));
        card
    };
    let plain = card(&["--variant", "off"]);
    assert_eq!([pixel(&plain, 80, 100), pixel(&plain, 80 + 7 * 160, 100)], [[191; 3], [0; 3]]);
    let text = (432..720).flat_map(|y| (384..960).map(move |x| (x, y)));
    assert!(text.filter(|(x, y)| pixel(&plain, *x, *y) == [255; 3]).count() > 100, "its text");
    // The line crosses the ramps in four seconds.
    let later = card(&["--variant", "off", "--at", "2"]);
    assert_eq!((pixel(&plain, 2, 300), pixel(&later, 642, 300)), ([255; 3], [255; 3]));
    assert!(pixel(&plain, 642, 300) != [255; 3] && pixel(&later, 2, 300) != [255; 3]);
    let (both, sharp) = (card(&["--wipe", "native:15,off"]), card(&["--wipe", "off,off"]));
    for side in [&both, &sharp] {
        assert_eq!(pixel(side, 1120, 100), pixel(&plain, 1120, 100));
    }
    // Between two bars.
    assert_ne!(pixel(&both, 159, 100), pixel(&sharp, 159, 100));
    assert_eq!(pixel(&sharp, 159, 100), pixel(&plain, 159, 100));
}

/// The left half of one picture and the right half of the other; their differences as a map and in words.
#[test]
fn snapshot_wipe_shows_two_filters_and_prints_their_differences() {
    let shot = |arguments: &[&str]| picture(snapshot(&[&["--at", "2.5"], arguments].concat()));
    let wipe = "flat:7,native:15";
    let (left, _) = shot(&["--variant", "flat", "--radius", "7"]);
    let (right, _) = shot(&["--variant", "flat", "--radius", "15"]);
    let (both, stdout) = shot(&["--wipe", wipe]);
    let (width, height) = (left.0, left.1);
    assert_eq!((both.0, both.1, stdout.as_str()), (width, height, ""));
    let (map, stdout) = shot(&["--wipe", wipe, "--difference"]);
    let (mut differing, mut largest) = (0, (0, (0, 0)));
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let (a, b) = (pixel(&left, x, y), pixel(&right, x, y));
        assert_eq!(pixel(&both, x, y), if x < width / 2 { a } else { b }, "({x}, {y})");
        let levels = (0..3).map(|c| a[c].abs_diff(b[c])).max().unwrap();
        assert_eq!(pixel(&map, x, y) == [0; 3], levels == 0, "({x}, {y})");
        differing += usize::from(levels > 0);
        if levels > largest.0 {
            largest = (levels, (x, y));
        }
    }
    let (levels, (x, y)) = largest;
    assert!(levels > 1, "they differ");
    let grouped = |count: usize| match count {
        ..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    };
    let [differing, all] = [differing, width * height].map(grouped);
    let said = format!(
        "flat r=7 and native r=15: {differing} of {all} pixels differ, by at most {levels} levels, first so at ({x}, {y})\n"
    );
    assert_eq!(stdout, said);
    let (map, stdout) = shot(&["--wipe", "running-sum,native", "--radius", "3", "--difference"]);
    assert_eq!(stdout, format!("running-sum r=3 and native r=3: identical: {all} pixels compared\n"));
    assert_eq!(pixel(&map, width / 2, height / 2), [0; 3]);
}

/// Variants without OpenCL ignore --device: the same picture with a device that does not exist, and without OpenCL.
#[test]
fn variants_without_opencl_ignore_the_device_option() {
    let shot = |variant: &str, device: Option<&str>, opencl: bool| {
        let mut command = snapshot(&["--variant", variant, "--radius", "4", "--at", "1.5"]);
        command.args(device.iter().flat_map(|name| ["--device", name]));
        if !opencl {
            without_opencl(&mut command);
        }
        picture(command)
    };
    let native = shot("native", None, true);
    for variant in ["native", "glsl"] {
        for (device, opencl) in [(Some("no such device"), true), (Some("gpu"), false), (None, false)] {
            assert!(native == shot(variant, device, opencl), "{variant} {device:?} {opencl}");
        }
    }
}

#[test]
fn without_opencl_the_message_names_packages_to_install() {
    let folder = Folder::new("cli-nocl");
    let out = folder.file("nocl.png");
    for (variant, expected, said) in [("naive", 1, "pocl-opencl-icd"), ("off", 0, "")] {
        let (code, _, stderr) =
            run(without_opencl(&mut snapshot(&["--variant", variant, "--out"])).arg(&out));
        assert!(code == expected && stderr.contains(said), "{stderr}");
        assert_eq!(out.exists(), expected == 0);
    }
    let devices = finish_json(without_opencl(clreel().args(["devices", "--json"])), 0);
    assert_eq!(devices["devices"], serde_json::json!([]));
    // The table has the place that was searched.
    let (code, stdout, stderr) = run(without_opencl(clreel().arg("devices")));
    assert!(code == 0 && stderr.contains("pocl-opencl-icd"), "{stderr}");
    assert!(stdout.starts_with("OCL_ICD_VENDORS=/") && stdout.contains(": no device."), "{stdout}");

    let (code, stdout, stderr) = run(without_opencl(clreel().arg("bench")));
    assert!(code == 1 && stdout.is_empty() && stderr.contains("pocl-opencl-icd"), "{stderr}");
}

#[test]
fn a_kernel_that_does_not_build_prints_its_log() {
    let folder = Folder::new("cli-broken");
    folder.with("box_filter/03_flat.cl", "__kernel void nonsense( { }\n");
    let out = folder.file("broken.png");
    let mut command = snapshot(&["--variant", "flat", "--out"]);
    let (code, _, stderr) = run(command.arg(&out).env("CLREEL_KERNELS", &folder));
    assert_eq!(code, 1);
    assert!(stderr.contains("03_flat.cl:1") && stderr.contains("nonsense"), "{stderr}");
    assert!(!out.exists());
    // An empty variable counts as unset.
    let (code, _, stderr) = run(command.env("CLREEL_KERNELS", ""));
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn a_closed_error_output_keeps_the_exit_code() {
    let outputs =
        [&["wrong"][..], &["/no/such/movie"], &["bench", "--device", "no such device"]].map(|arguments| {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let closed = clreel().args(arguments).stdout(Stdio::null()).stderr(writer).status().unwrap();
            (arguments, closed.code(), run(clreel().args(arguments)).0)
        });
    for (arguments, closed, read) in outputs {
        assert_eq!(closed, Some(read), "{arguments:?}");
        assert_ne!(read, 0, "{arguments:?}");
    }
}

#[test]
fn an_unknown_device_is_named() {
    for arguments in [&["snapshot", "--out", "/nowhere/device.png"][..], &["bench"], &[]] {
        let (code, stdout, stderr) = run(clreel().args(arguments).args(["--device", "no such device"]));
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.contains("no such device"), "{stderr}");
    }
}

/// Stands for the exit code of a process that ended by a signal.
const CRASHED: i32 = -1;

/// Runs clreel with an address space of this many MiB.
fn run_in(mib: u32, arguments: &[&std::ffi::OsStr]) -> (i32, String, String) {
    let mut command = Command::new("sh");
    command.arg("-c").arg("ulimit -v $1; shift; exec \"$@\"").arg("sh").arg((mib * 1024).to_string());
    command.arg(env!("CARGO_BIN_EXE_clreel")).args(arguments).stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    assert!(!["panicked", "memory allocation of"].iter().any(|own| stderr.contains(own)), "{stderr}");
    (status.code().unwrap_or(CRASHED), stdout, stderr)
}

#[test]
fn too_little_memory_for_a_frame_is_a_message_not_a_crash() {
    let folder = Folder::new("cli-memory");
    let size = (7680, 4320);
    let large =
        Movie { codec: Id::MJPEG, format: Pixel::YUVJ420P, size, stamps_ms: steady(2), ..Movie::default() };
    let (movie, out) = (folder.movie("8k.mkv", &large), folder.file("frame.png"));
    let mut sentences = 0;
    for (mib, variant) in [(300, "off"), (500, "flat"), (700, "flat"), (900, "flat"), (1150, "separable")] {
        let mut arguments = ["snapshot", "--variant", variant, "--out"].map(std::ffi::OsStr::new).to_vec();
        arguments.extend([out.as_os_str(), movie.as_os_str()]);
        let (code, _, stderr) = run_in(mib, &arguments);
        // With less memory the libraries cannot be loaded, or the driver ends the process (PoCL 3.1, 6.0); clreel cannot
        // prevent that.
        let driver_fails = code == CRASHED && variant != "off";
        let loads = !stderr.contains("error while loading shared libraries");
        let is_told = code == 0 || code == 1 && stderr.contains("clreel: ");
        assert!(driver_fails || !loads || is_told, "{mib} MiB: {code} {stderr}");
        sentences += u32::from(code == 1 && stderr.contains("emory"));
    }
    assert!(sentences > 1, "{sentences} runs had too little memory");
}

#[test]
fn an_output_that_cannot_be_written_leaves_no_partial_file() {
    let folder = Folder::new("cli-full");
    // A disk that is full after some kilobytes: the file that existed before does not change.
    let before = folder.with("frame.png", "precious");
    let mut full = with_full_disk(env!("CARGO_BIN_EXE_clreel"));
    full.args(["snapshot", "--variant", "off", "--out"]).arg(&before);
    for command in [snapshot(&["--variant", "off", "--out", "/nowhere/frame.png"]), full] {
        let (code, _, stderr) = run(command);
        assert!(code == 1 && stderr.contains("could not be written"), "{stderr}");
    }
    assert_eq!(std::fs::read_to_string(&before).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(folder.file("")).unwrap().count(), 1, "no part of a file is left");
}

#[test]
fn a_size_beyond_the_memory_is_refused_at_once() {
    for verb in ["tune", "bench"] {
        let arguments = [verb, "--size", "16384x16384", "--radius", "1"].map(std::ffi::OsStr::new);
        // Enough for the libraries and the driver, but not for several pictures of 1 GiB.
        let (code, _, stderr) = run_in(4000, &arguments);
        assert_eq!(code, 1, "{verb}: {stderr}");
        assert!(stderr.contains("not enough memory for frames of this size"), "{verb}: {stderr}");
    }
}

/// Returns true if a page has a row with this id.
fn has_row(text: &str, id: &str) -> bool {
    text.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{id}`")))
}

/// The pages have a row for every variant, of all ladders, and for every key.
#[test]
fn every_variant_and_key_is_in_the_documentation() {
    let (page, kernels) = (read("docs/box_filter.md"), read("kernels/box_filter/README.md"));
    for id in VariantId::all().filter(|id| *id != VariantId::OFF) {
        let row = format!("| {} | `{id}` |", id.key);
        assert!(page.lines().any(|line| line.starts_with(&row)), "docs/box_filter.md has no row for `{id}`");
        for code in id.codes() {
            let file = code.file.trim_start_matches("box_filter/");
            let row = format!("| [{file}]({file}) |");
            assert!(kernels.contains(&row), "kernels/box_filter/README.md: {file}");
        }
    }
    let keys = read("docs/keys.md");
    for id in VariantId::all() {
        assert!(has_row(&keys, id.name), "docs/keys.md does not name `{id}`");
    }
    // The page has the groups of the keys panel, each with its rows.
    let groups: Vec<(&str, &str)> = keys.split("\n## ").filter_map(|part| part.split_once('\n')).collect();
    for overlay::Binding { topic, keys, effect, .. } in overlay::BINDINGS.iter() {
        let topic = format!("{topic:?}");
        let group = groups.iter().find(|(title, _)| *title == topic);
        let (_, rows) = group.unwrap_or_else(|| panic!("docs/keys.md has no group {topic}"));
        let row = format!("| `{keys}` |");
        let line = rows.lines().find(|line| line.starts_with(&row));
        let line = line.unwrap_or_else(|| panic!("docs/keys.md, {topic}: {row}"));
        // The panels with several parts have all of them.
        let parts =
            effect.split_once(": ").filter(|_| ["d", "e"].contains(&keys.as_str())).map(|(_, parts)| parts);
        let missing: Vec<_> = parts
            .into_iter()
            .flat_map(|parts| parts.split(", "))
            .filter(|part| !line.contains(part))
            .collect();
        assert!(missing.is_empty(), "docs/keys.md, {topic}: {missing:?} in {line}");
    }
    for ladder in ladders::all() {
        let kernels = read(&format!("kernels/{}/README.md", ladder.name));
        for variant in (ladder.variants)() {
            assert!(has_row(&kernels, variant.id), "{}: {}", ladder.name, variant.id);
        }
    }
}

/// README is short, and its table has the everyday keys.
#[test]
fn readme_is_short() {
    let readme = read("README.md");
    let words = readme.split_whitespace().count();
    assert!(readme.lines().count() < 120 && words < 1100, "{} lines, {words} words", readme.lines().count());
    let everyday = overlay::BINDINGS.iter().filter(|key| key.topic == overlay::Topic::Everyday).count();
    let (_, keys) = readme.split_once("## Keys").unwrap();
    let (keys, _) = keys.split_once("## ").unwrap();
    let rows = keys.lines().filter(|line| line.starts_with("| ")).count() - 1;
    assert_eq!((rows, everyday), (12, 12));
}

/// Returns true if a line is the heading with this anchor: in lower case, without punctuation, with a dash for each
/// space.
fn is_heading(line: &str, anchor: &str) -> bool {
    let heading = line.trim_start_matches('#');
    let words = heading.trim().to_lowercase().replace(' ', "-");
    heading.len() < line.len()
        && words.replace(|c: char| !c.is_alphanumeric() && !"-_".contains(c), "") == anchor
}

/// Relative links of the pages lead to existing pages, pictures, folders and headings.
#[test]
fn links_of_the_pages_lead_to_existing_targets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages =
        ["README.md", "CONTRIBUTING.md", "kernels/README.md"].map(|page| root.join(page)).to_vec();
    pages.extend(std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let mut links = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (link, _) in ends.filter(|(link, _)| !link.contains("://") && !link.starts_with('#')) {
            links += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = page.parent().unwrap().join(file);
            assert!(target.exists(), "{}: {link}", page.display());
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                assert!(text.lines().any(|line| is_heading(line, anchor)), "{}: {link}", page.display());
            }
        }
    }
    assert!(links > 10, "only {links} links were found");
}

/// Returns the numbers of a version, such as 1.95 or 1.95.0.
fn version_numbers(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.split('.').map(|part| part.parse().expect(text)).collect();
    numbers.resize(3, 0);
    numbers
}

/// The Rust version that README and Cargo.toml state is new enough for every dependency: cargo refuses older ones.
#[test]
fn the_stated_rust_version_builds_every_dependency() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    let options = ["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", &host];
    let output = cargo.args(options).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "only {} packages were found", packages.len());

    let promised = env!("CARGO_PKG_RUST_VERSION");
    for package in packages {
        let Some(needed) = package["rust_version"].as_str() else { continue };
        let is_enough = version_numbers(needed) <= version_numbers(promised);
        assert!(is_enough, "{} needs Rust {needed}, and Cargo.toml promises {promised}", package["name"]);
    }
    let sentence = format!("(https://rustup.rs) {promised} or newer");
    assert!(read("README.md").contains(&sentence), "README.md: Rust {promised}");
}

/// File managers and browsers pass file:// URLs: they open like paths, whatever bytes the name has.
#[test]
fn a_file_url_opens_the_file() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new("address");
    let plain = folder.movie("sp ace %41.mkv", &Movie { stamps_ms: steady(2), ..Movie::default() });
    let odd = plain.with_file_name(std::ffi::OsStr::from_bytes(b"\xe9\xff.mkv"));
    let has_odd = std::fs::copy(&plain, odd).is_ok();
    let here = folder.file("").display().to_string();
    let out = folder.file("out.png");
    let snapshot = |address: &str| {
        let _ = std::fs::remove_file(&out);
        (run(clreel().args(["snapshot", address, "--variant", "off", "--out"]).arg(&out)), out.exists())
    };
    for address in [
        format!("file://{here}sp%20ace%20%2541.mkv"),
        format!("file://localhost{here}sp%20ace%20%2541.mkv"),
        format!("FILE:{here}sp ace %2541.mkv"),
        format!("file://{here}%e9%FF.mkv"),
        // A path is not decoded.
        format!("{here}sp ace %41.mkv"),
    ] {
        if !has_odd && address.contains("%FF") {
            continue;
        }
        let ((code, _, stderr), written) = snapshot(&address);
        assert!(code == 0 && written && stderr.is_empty(), "{address}: {stderr}");
    }
    for (address, why) in [
        (format!("file://{here}none%20.mkv"), format!("'{here}none .mkv'")),
        ("file://nas/share/a.mkv".to_owned(), "of another machine, 'nas'".to_owned()),
        ("file://".to_owned(), "without the file's name".to_owned()),
        ("file:///a%00b.mkv".to_owned(), "a\\x00b.mkv".to_owned()),
        ("https://nas/a.mkv".to_owned(), "on the network".to_owned()),
    ] {
        let ((code, _, stderr), _) = snapshot(&address);
        assert!(code == 1 && stderr.contains(&why) && stderr.lines().count() == 3, "{address}: {stderr}");
    }
    let (code, _, stderr) = run(clreel().args(["bench", "--frames", "1", "file:///nowhere/a%20b.mkv"]));
    assert!(code == 1 && stderr.contains("'/nowhere/a b.mkv'"), "{stderr}");
}

/// Terminals interpret control characters: a name must not move the cursor, set the title or reverse the text direction.
#[test]
fn names_with_control_characters_are_printed_escaped() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new("control");
    let movie = folder.movie("plain.mkv", &Movie { stamps_ms: steady(2), ..Movie::default() });
    let is_safe = |text: &str| {
        text.chars().all(|c| c == '\n' || !c.is_control() && !"\u{202e}\u{2066}\u{200f}\u{fffd}".contains(c))
    };
    for (name, shown) in [
        (b"new\nline.mkv".as_slice(), "new\\nline.mkv"),
        (b"\x1b]0;title\x07\x1b[2J.mkv", "\\x1b]0;title\\x07\\x1b[2J.mkv"),
        (b"\xc2\x9b31m\r\x7f\t.mkv", "\\u{9b}31m\\r\\x7f\\t.mkv"),
        (b"a\xe2\x80\xaevkm.exe\xe2\x81\xa6", "a\\u{202e}vkm.exe\\u{2066}"),
        (b"\xff\xfelatin\xe9.mkv", "\\xff\\xfelatin\\xe9.mkv"),
        ("Zo\u{eb} \u{65e5}\u{672c}.mkv".as_bytes(), "Zo\u{eb} \u{65e5}\u{672c}.mkv"),
    ] {
        let path = movie.with_file_name(std::ffi::OsStr::from_bytes(name));
        let open = |at: &str| {
            run(snapshot(&["--at", at, "--variant", "off", "--out"]).arg(folder.file("out.png")).arg(&path))
        };
        let (code, stdout, stderr) = open("0");
        assert!(code == 1 && stderr.contains(shown) && stderr.lines().count() == 3, "{stderr}");
        assert!(is_safe(&stderr) && stdout.is_empty(), "{stderr:?}");
        if std::fs::copy(&movie, &path).is_err() {
            // Some file systems accept only valid Unicode.
            continue;
        }
        let (code, _, stderr) = open("99");
        assert!(code == 0 && stderr.contains(shown) && is_safe(&stderr), "{stderr:?}");
        // A file that is no movie, an output that cannot be written, and a mistyped option.
        std::fs::write(&path, b"no movie").unwrap();
        let (code, _, stderr) = open("0");
        assert!(code == 1 && stderr.contains(shown) && is_safe(&stderr), "{stderr:?}");
        let mut command = snapshot(&["--variant", "off", "--out"]);
        let png = folder.file("none").join(path.file_name().unwrap()).with_extension("png");
        let (code, _, stderr) = run(command.arg(&png).arg(&movie));
        assert!(code != 0 && is_safe(&stderr), "{stderr:?}");
    }
    // JSON escapes them in its own way, so that the name is exact.
    let path = folder.file("new\nline \u{202e}.mkv");
    std::fs::copy(&movie, &path).unwrap();
    let mut command = clreel();
    command.arg("bench").arg(&path).args(["--frames", "1", "--radius", "1", "--variant", "native", "--json"]);
    let (code, stdout, stderr) = run(without_opencl(&mut command).args(["--size", "8x8"]));
    assert!(is_safe(&stdout) && is_safe(&stderr), "{code}: {stdout} {stderr}");
    let json: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{stderr}"));
    assert_eq!(json["input"]["file"], path.to_str().unwrap());
}
