//! Output that must not change unnoticed: help, keys of JSON, headers of CSV and tables, ids, keys, exit codes. The
//! files lie in `tests/goldens`; `crates/overlay/src/tests/goldens.rs` has the texts of the overlay. Needs an OpenCL
//! device, Xvfb, xdotool.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::*;
use box_filter::VariantId;
use clap::CommandFactory as _;
use compute::BackEnd;
use overlay::BINDINGS;
use serde_json::json;
use testkit::golden;
use testkit::golden::{check, check_by, without_numbers};
use testkit::shape::{same, shape};

/// A movie whose frames are converted by a kernel, so that all stages take time.
fn small_movie(folder: &Folder) -> std::path::PathBuf {
    folder.movie("small.mkv", &Movie::default())
}

const FLAT: &str = "box_filter/03_flat.cl";

/// Runs clreel with a cache of its own and a terminal of 100 columns; returns stdout.
fn printed(folder: &Folder, arguments: &[&str]) -> String {
    let mut command = clreel(None);
    command.args(arguments).env("XDG_CACHE_HOME", folder.file("cache")).env("COLUMNS", "100");
    String::from_utf8(finish(command, 0).stdout).unwrap()
}

/// Runs clreel like [`printed`], and parses stdout as JSON.
fn value(folder: &Folder, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(folder, arguments)).unwrap()
}

#[test]
fn help_of_every_command() {
    let folder = Folder::new("goldens-help");
    check("help/clreel.txt", &printed(&folder, &["--help"]));
    let clreel = clreel::cli::Cli::command();
    let mut names = Vec::new();
    for command in clreel.get_subcommands().filter(|c| !c.is_hide_set()) {
        let name = command.get_name();
        check(&format!("help/{name}.txt"), &printed(&folder, &[name, "--help"]));
        names.push(name.to_owned());
    }
    // A command that was removed leaves a golden.
    for file in std::fs::read_dir(golden::folder().join("help")).unwrap() {
        let name = file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        assert!(name == "clreel" || names.contains(&name), "there is no command {name} any more");
    }
}

#[test]
fn ids_and_keys() {
    let mut ids = String::new();
    for id in VariantId::all() {
        let (title, idea) = (id.title, id.idea);
        writeln!(ids, "{id}: key {}, {}, {title}. {idea}", id.key, id.back_end().as_str()).unwrap();
    }
    check("ids.txt", &ids);
    let mut variants = String::new();
    for ladder in ladders::all() {
        for variant in (ladder.variants)() {
            let (name, back_end) = (ladder.name, variant.back_end.as_str());
            writeln!(variants, "{name}/{}: {back_end}, {}. {}", variant.id, variant.title, variant.idea)
                .unwrap();
        }
    }
    check("variants.txt", &variants);
    let line = |key: &overlay::Binding| {
        format!(
            "{} [{}]: {}\n",
            key.keys,
            key.presses.iter().map(|(press, _)| press.as_str()).collect::<Vec<_>>().join(" "),
            key.effect
        )
    };
    check("keys.txt", &BINDINGS.iter().map(line).collect::<String>());
}

#[test]
fn keys_of_json_and_tables_of_devices_and_bench() {
    let folder = Folder::new("goldens-bench");
    let movie = small_movie(&folder);
    let devices = value(&folder, &["devices", "--json"]);
    check_by("json/devices.txt", &shape(&devices), same);
    let options = "--radius 3 --frames 2 --conversions input --native";
    let mut bench: Vec<_> =
        ["bench", movie.to_str().unwrap()].into_iter().chain(options.split(' ')).collect();
    check("tables/bench.txt", &masked_table(&printed(&folder, &bench), &devices, &movie));
    bench.extend(["--whole-frames", "--json"]);
    check_by("json/bench.txt", &shape(&value(&folder, &bench)), same);
    // `mismatch` and `failed` rows have keys that other rows lack.
    let wrong = edited_kernel(FLAT, &[("i <= radius", "i < radius")]);
    folder.with(&format!("kernels/{FLAT}"), wrong);
    folder.with("kernels/box_filter/02_separable.cl", "__kernel void nonsense( { }\n");
    let mut command = clreel(None);
    command.args(&bench).args(["--variant", "flat,separable,fused"]);
    let report = finish_json(command.env("CLREEL_KERNELS", folder.file("kernels")), 3);
    let rows = report["devices"][0]["runs"][0]["variants"].as_array().unwrap();
    let mut shapes = String::new();
    for (row, outcome) in rows.iter().zip(["mismatch", "failed", "ok"]) {
        assert_eq!(row["outcome"], outcome);
        writeln!(shapes, "# {outcome}\n{}", shape(row)).unwrap();
    }
    check_by("json/bench-outcomes.txt", &shapes, same);
}

/// For each ladder other than the box filter: its smallest case for background tuning, with the first variant on the
/// host and the first on the device; with all but the fastest if the ladder has a remark about them.
#[test]
fn keys_of_json_of_every_ladder() {
    let begun = ladders::all().into_iter().map(|ladder| {
        let variants = (ladder.variants)();
        let first = |back_end| variants.iter().find(|variant| variant.back_end == back_end).unwrap().id;
        let all: Vec<_> =
            variants.iter().map(|variant| variant.id).filter(|id| *id != VariantId::auto().name).collect();
        let variants = match all.len() {
            ..=4 => all.join(","),
            _ => [first(BackEnd::Native), first(BackEnd::OpenCl)].join(","),
        };
        let (name, option) = (ladder.name.replace('_', "-"), format!("--{}", ladder.option));
        // A cache of its own would compile all programs again.
        let mut command = clreel(None);
        command.args(["bench", "--ladder", &name, &option, ladder.sizes[0], "--variant", &variants]);
        command.args(["--frames", "2", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        (format!("json/bench-{name}.txt"), command.spawn().unwrap())
    });
    // Concurrently: most of their time is waiting.
    let begun: Vec<_> = begun.collect();
    let mut known = Vec::new();
    for (file, child) in begun {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        check_by(&file, &shape(&json(&output)), same);
        known.push(file);
    }
    // A ladder that was removed leaves a golden.
    for file in std::fs::read_dir(golden::folder().join("json")).unwrap() {
        let name = format!("json/{}", file.unwrap().file_name().to_string_lossy());
        let is_ladder = name.starts_with("json/bench-") && name != "json/bench-outcomes.txt";
        assert!(!is_ladder || known.contains(&name), "{name}: there is no such ladder any more");
    }
}

#[test]
fn keys_of_json_of_conformance() {
    let folder = Folder::new("goldens-conformance");
    let saved = folder.file("saved.json");
    let mut command = clreel(None);
    command.args(["conformance", "--type", "uchar_char", "--width", "1", "--json", "--save"]).arg(&saved);
    check_by("json/conformance.txt", &shape(&finish_json(command, 0)), same);
    check_by("json/conformance-saved.txt", &shape(&read_json(&saved)), same);
    // With wrong bytes, so that every key has a value.
    let display = Display::start(&[]);
    let mut command = clreel(Some(&display));
    command.args(["conformance", "--sharing", "--json"]);
    command.envs(layer::environment(&[("FAULTY_HANDOVER", "acquire")]));
    let told: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    check_by("json/conformance-sharing.txt", &shape(&told), same);
}

/// Returns a table without numbers, names and column widths. Only the first words stay of the lines about noise, checks and
/// cores, which depend on machine and moment.
fn masked_table(table: &str, devices: &Value, movie: &Path) -> String {
    let mut names = vec![(movie.display().to_string(), "MOVIE".to_owned())];
    // Not every OpenGL driver has timer queries, nor do these always give a result.
    names.push(("(glsl, native: wall time)".to_owned(), "(native: wall time)".to_owned()));
    for device in devices["devices"].as_array().unwrap() {
        names.push((device["name"].as_str().unwrap().to_owned(), "DEVICE".to_owned()));
    }
    let mut lines: Vec<String> = Vec::new();
    for line in table.lines() {
        // Not every machine shows its clocks.
        let clock = ["clock ", "The clock changed", "The speed of this device's clock"];
        if clock.iter().any(|begin| line.starts_with(begin)) {
            continue;
        }
        let line = names.iter().fold(line.to_owned(), |line, (name, word)| line.replace(name, word));
        let words: Vec<_> = line.split_whitespace().map(without_numbers).collect();
        let is_border = |word: &String| word.chars().all(|c| ('\u{2500}'..='\u{257f}').contains(&c));
        let mut line = if words.iter().all(is_border) { "──".to_owned() } else { words.join(" ") };
        for begin in ["~ noisy: ", "checked, every byte: ", "│ auto: "] {
            if line.starts_with(begin) {
                line = begin.to_owned() + "…";
            }
        }
        let goes_on = line.starts_with("timed output") || line.contains(" at #x#");
        // A line for one thread, and one for all threads if there are several.
        let again = line.starts_with("│ native, ") && lines.contains(&line);
        if lines.last() != Some(&line) && !goes_on && !again {
            lines.push(line);
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Leaves the timed rows only: on a loaded machine a configuration may be predicted to be too slow.
fn timed_rows(mut results: Value) -> Value {
    for device in results["devices"].as_array_mut().unwrap() {
        for run in device["runs"].as_array_mut().unwrap() {
            let rows = run["variants"].as_array_mut().unwrap();
            rows.retain(|row| row["outcome"] == "ok");
            assert!(!rows.is_empty());
        }
    }
    results
}

#[test]
fn keys_of_json_of_tune_and_of_its_cache() {
    let folder = Folder::new("goldens-tune");
    let tuned = value(&folder, &["tune", "--size", "64x48", "--radius", "3", "--json"]);
    check_by("json/tune.txt", &shape(&timed_rows(tuned)), same);
    let cache = read_json(&folder.file("cache/clreel/tuning.json"));
    check_by("json/tuning-cache.txt", &shape(&cache), same);
    // A ladder other than the box filter.
    let folder = Folder::new("goldens-tune-ladder");
    let tuned = value(&folder, &["tune", "--ladder", "vector-add", "--count", "1000", "--json"]);
    check_by("json/tune-ladder.txt", &shape(&timed_rows(tuned)), same);
    let cache = read_json(&folder.file("cache/clreel/tuning.json"));
    check_by("json/tuning-cache-ladder.txt", &shape(&cache), same);
}

#[test]
fn statistics_and_settings_of_the_window() {
    let (display, folder) = (Display::start(&[]), Folder::new("goldens-window"));
    let movie = small_movie(&folder);
    let play = |stats: &Path| {
        let mut command = clreel(Some(&display));
        command.arg(&movie).args(["--variant", "flat", "--radius", "3", "--frames", "12"]);
        command.arg("--stats").arg(stats);
        succeed(command);
    };
    let (csv, json) = (folder.file("stats.csv"), folder.file("stats.json"));
    play(&csv);
    play(&json);
    let text = std::fs::read_to_string(csv).unwrap();
    let (facts, rows): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let names: Vec<_> = facts.iter().filter_map(|fact| fact.split(':').next()).collect();
    let wanted = ["# program", "# date", "# host", "# movie", "# device", "# clock", "# opengl", "# kernel"];
    assert_eq!(names, wanted, "{text}");
    let header = rows[0];
    check("csv/stats.txt", &header.split(',').map(|name| format!("{name}\n")).collect::<String>());
    assert!(rows.iter().all(|row| row.split(',').count() == header.split(',').count()), "{text}");
    check_by("json/stats.txt", &shape(&read_json(&json)), same);

    let settings = folder.file("settings.json");
    let mut command = clreel(Some(&display));
    let mut session = Session::start(&display, command.arg(&movie).env("CLREEL_SETTINGS", &settings));
    session.wait_for_frames();
    session.display.key("d");
    session.quit();
    check_by("json/settings.txt", &shape(&read_json(&settings)), same);
}

/// The description, the arguments, and the environment variables of a case.
type Case<'a> = (&'a str, String, &'a [(&'a str, &'a str)]);

#[test]
fn exit_codes() {
    let folder = Folder::new("goldens-exit");
    let movie = small_movie(&folder);
    let out = folder.file("frame.png");
    let (movie, out) = (movie.to_str().unwrap(), out.to_str().unwrap());
    let cut = std::fs::read(movie).unwrap();
    let damaged = folder.with("damaged.mkv", &cut[..cut.len() * 2 / 3]);
    let text = folder.with("text.mp4", b"This is no movie.\n");
    for (file, edit) in
        [(FLAT, ("i <= radius", "i < radius")), ("vector_add/01_scalar.cl", ("a[i] + b[i];", "a[i] - b[i];"))]
    {
        folder.with(&format!("kernels/{file}"), edited_kernel(file, &[edit]));
    }
    let small = "--size 32x32 --frames 1 --radius 1 --variant flat --conversions none";
    let snapshot = "--out OUT --variant flat";
    let ladder = "bench --ladder vector-add";
    let changed = [("CLREEL_KERNELS", "KERNELS")];
    let cases: Vec<Case> = vec![
        ("done", "--version".into(), &[]),
        ("done", "devices".into(), &[]),
        ("done", format!("bench MOVIE {small}"), &[]),
        ("done", format!("snapshot MOVIE {snapshot}"), &[]),
        ("a damaged file with at least one frame", format!("snapshot DAMAGED {snapshot}"), &[]),
        ("no device is no failure of the list", "devices".into(), &[("OCL_ICD_VENDORS", "/nowhere")]),
        ("no device", format!("bench MOVIE {small}"), &[("OCL_ICD_VENDORS", "/nowhere")]),
        ("no device", "tune".into(), &[("OCL_ICD_VENDORS", "/nowhere")]),
        ("no such device", format!("bench MOVIE {small} --device nonsense"), &[]),
        ("no such file", "/nowhere.mp4".into(), &[]),
        ("no such file", "bench /nowhere.mp4".into(), &[]),
        ("no movie", format!("snapshot TEXT {snapshot}"), &[]),
        ("no such folder", "snapshot MOVIE --variant off --out /nowhere/frame.png".into(), &[]),
        ("no display", "MOVIE".into(), &[]),
        ("no such option", "--nonsense".into(), &[]),
        ("no such command's argument", "devices extra".into(), &[]),
        ("a value out of range", "--radius 129".into(), &[]),
        ("no such variant", "bench --variant fastest".into(), &[]),
        ("an argument is missing", "snapshot MOVIE".into(), &[]),
        ("a wrong kernel", format!("bench MOVIE {small}"), &changed),
        ("done", format!("{ladder} --count 1000 --frames 1 --variant serial,scalar"), &[]),
        ("no device", format!("{ladder} --count 1000"), &[("OCL_ICD_VENDORS", "/nowhere")]),
        ("no such ladder", "bench --ladder nonsense".into(), &[]),
        ("a variant of another ladder", format!("{ladder} --variant flat"), &[]),
        ("an option of another ladder", format!("{ladder} --mnk 64,64,64"), &[]),
        ("a count that is too large", format!("{ladder} --count 99999999999"), &[]),
        ("a wrong kernel", format!("{ladder} --count 1000 --frames 1 --variant scalar"), &changed),
        ("done", "conformance --type uchar_char --width 1".into(), &[]),
        ("no device", "conformance --type uchar_char".into(), &[("OCL_ICD_VENDORS", "/nowhere")]),
        ("no such conversion", "conformance --type nonsense".into(), &[]),
        ("no such width", "conformance --width 5".into(), &[]),
        ("conversions and sharing", "conformance --sharing --width 1".into(), &[]),
        ("no result to compare", "compare /nowhere/a.json /nowhere/b.json".into(), &[]),
        ("no Oclgrind", "check-kernels --variant flat".into(), &[("PATH", "/nowhere")]),
        ("no such variant", "check-kernels --variant nonsense".into(), &[]),
        ("nothing to check", "check-kernels --variant off,auto".into(), &[]),
        ("no machine code", "check-kernels --machine-code --variant native".into(), &[]),
    ];
    let kernels = folder.file("kernels");
    let stand_in = |word: &str| match word {
        "MOVIE" => movie.to_owned(),
        "OUT" => out.to_owned(),
        "DAMAGED" => damaged.display().to_string(),
        "TEXT" => text.display().to_string(),
        "KERNELS" => kernels.display().to_string(),
        word => word.to_owned(),
    };
    let mut table = String::new();
    for (about, arguments, variables) in cases {
        let mut command: Command = clreel(None);
        command.args(arguments.split(' ').map(stand_in));
        command.envs(variables.iter().map(|(name, value)| (*name, stand_in(value))));
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked"), "{arguments}: {stderr}");
        let code = output.status.code().unwrap_or_else(|| panic!("{arguments}: {}: {stderr}", output.status));
        let set: String = variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        writeln!(table, "{code} {about}: {set}clreel {arguments}").unwrap();
        // Errors are printed on stderr only, by clreel or by clap.
        let told = stderr.lines().any(|line| line.starts_with("clreel: ") || line.starts_with("error: "));
        assert!(code == 0 || told, "{arguments}: {stderr}");
        assert!(!matches!(code, 1 | 2) || output.stdout.is_empty(), "{arguments}");
    }
    check("exit-codes.txt", &table);
}

#[test]
fn a_shape_has_keys_types_and_optional_keys() {
    let value = json!({
        "a": 1, "rows": [{"ms": 1.5, "noisy": false, "chosen": "x"}, {"ms": null, "noisy": "Only 1 run."}], "none": [],
        "in": {"why": null},
    });
    let expected = "a: number\nin: object\nin.why: null\nnone: list\nrows: list\nrows[]: object\n\
        rows[].chosen (not always): string\nrows[].ms: number?\nrows[].noisy: false or string\n";
    assert_eq!(shape(&value), expected);
    // Null is equal to a type that may be null; another type or key is a difference.
    for (old, new, equal) in [
        ("a: number", "a: number?", true),
        ("a: number?", "a: null", true),
        ("a: number", "a: null", false),
        ("a: number?", "a: string", false),
        ("a: number", "b: number", false),
        ("a (not always): number", "a: number", false),
    ] {
        assert_eq!((same(old, new), same(new, old)), (equal, equal), "{old} / {new}");
    }
}

#[test]
fn numbers_are_masked_and_words_are_not() {
    let masked = without_numbers("flat r=7 · ~1,200.5 ms, 0:01.0 / 0:10, x2. ~ noisy: 3, 4");
    assert_eq!(masked, "flat r=# · # ms, # / #, x#. ~ noisy: #, #");
}

#[test]
fn a_difference_is_shown_with_its_context() {
    let golden = "a\nb\nc\nd\ne\nf\n";
    let difference = |now: &str| golden::difference(golden, now, |a, b| a == b);
    assert_eq!(difference(golden), None);
    assert_eq!(difference("a\nb\nc\nd\nf\n").unwrap(), "  …\n  c\n  d\n- e\n  f\n");
    assert_eq!(difference("a\nx\nb\nc\nd\ne\nf\n").unwrap(), "  a\n+ x\n  b\n  c\n");
    assert_eq!(difference("").unwrap().lines().count(), 6);
}
