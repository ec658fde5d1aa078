//! `clreel bench --save`, `clreel compare`, and `bench` with two folders of kernels. Needs an OpenCL device.

use std::path::Path;
use std::process::Command;

use crate::common::reports::{clreel, rows};
use crate::common::*;
use base::random::Xorshift;
use ladder::results::Report;
use serde_json::json;

const BENCH: [&str; 8] =
    ["bench", "--ladder", "vector-add", "--count", "5000", "--frames", "40", "--variant"];

/// Runs a small benchmark, saves the result as `name`, and returns it with the path.
fn save(folder: &Folder, name: &str) -> (Value, String) {
    let file = folder.file(name);
    finish(clreel(&BENCH).arg("serial,scalar").arg("--save").arg(&file), 0);
    let result = with_made_up_times(read_json(&file), &mut Xorshift::new(1));
    (result.clone(), write(folder, name, &result))
}

/// Replaces the samples of all rows by as many independent ones, and the load of other processes by none. Real samples may be
/// periodic by chance or explained by a busy machine, and have no verdict then.
fn with_made_up_times(value: Value, random: &mut Xorshift) -> Value {
    match value {
        Value::Array(list) => list.into_iter().map(|one| with_made_up_times(one, random)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| match value {
                Value::Array(times) if key.ends_with("_ms") => {
                    (key, times.iter().map(|_| json!(1.0 + f64::from(random.draw() % 1000) / 1e4)).collect())
                }
                Value::Number(_) if key == "others" => (key, json!(0.0)),
                other => (key, with_made_up_times(other, random)),
            })
            .collect(),
        other => other,
    }
}

/// Writes a result to a file, and returns its path.
fn write(folder: &Folder, name: &str, value: &Value) -> String {
    folder.with(name, value.to_string()).to_str().unwrap().to_owned()
}

/// Compares results; requires this exit code, and returns stdout and stderr.
fn compare(args: &[&str], code: i32) -> (String, String) {
    let output = finish(clreel(&["compare"]).args(args), code);
    (text(&output.stdout), text(&output.stderr))
}

/// Compares results like [`compare`], and returns the JSON.
fn compare_json(args: &[&str], code: i32) -> Value {
    finish_json(clreel(&["compare", "--json"]).args(args), code)
}

/// Returns the row of a variant.
fn row<'a>(result: &'a mut Value, id: &str) -> &'a mut Value {
    let rows = result["devices"][0]["runs"][0]["variants"].as_array_mut().unwrap();
    rows.iter_mut().find(|row| row["id"] == id).unwrap()
}

/// Multiplies all samples of a row.
fn scale_row(row: &mut Value, factor: f64) {
    for times in row["samples"].as_object_mut().unwrap().values_mut() {
        for ms in times.as_array_mut().into_iter().flatten() {
            *ms = json!(ms.as_f64().unwrap() * factor);
        }
    }
}

/// Multiplies all samples of the variant `id`.
fn scale(result: &Value, id: &str, factor: f64) -> Value {
    let mut result = result.clone();
    scale_row(row(&mut result, id), factor);
    result
}

#[test]
fn saved_results_have_their_samples_and_are_compared_unless_output_is_wrong() {
    let folder = Folder::new("compare-saved");
    let (result, a) = save(&folder, "a.json");
    for key in ["program", "date", "kind", "schema"] {
        assert!(!result[key].is_null(), "{key}");
    }
    assert!(result["host"]["processors"].as_u64().is_some_and(|count| count > 0));
    let peak = &result["devices"][0]["runs"][0]["peaks"][0];
    for row in rows(&result).iter().chain([peak]) {
        assert_eq!(row["samples"]["wall_ms"].as_array().unwrap().len(), 40, "{row}");
    }
    for row in rows(&result) {
        let is_kernel = row["kind"] == "opencl";
        assert_eq!(row["kernel"]["hash"].as_str().is_some_and(|hash| hash.len() == 16), is_kernel, "{row}");
    }
    let slow = write(&folder, "slow.json", &scale(&result, "scalar", 2.0));
    let told = compare(&[&a, &a], 0).0;
    assert_eq!(told.matches("no difference shown (below").count(), 3, "{told}");
    // Slower, and faster in the other direction.
    let told = compare(&[&a, &slow], 4).0;
    assert!(told.contains("× slower, ") && told.contains("1 slower, 2 no difference shown."), "{told}");
    compare(&[&a, &slow, "--threshold", "1000000"], 0);
    let told = compare(&[&slow, &a, "--markdown"], 0).0;
    assert!(told.contains("| scalar |") && told.contains("× faster, "), "{told}");
    let told = compare(&[&slow, &a, "--csv"], 0).0;
    let line = told.lines().find(|line| line.contains(",\"scalar\",")).unwrap();
    assert!(told.lines().count() == 4 && line.contains(",faster,"), "{told}");
    // Each result is compared with the first one.
    let chart = folder.file("chart.svg");
    let report = compare_json(&[&a, &a, &slow, "--chart", chart.to_str().unwrap()], 4);
    let verdicts = report["comparisons"].as_array().unwrap().iter().map(|one| {
        let slower = one["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] == "slower");
        slower.map(|row| row["row"].as_str().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(verdicts.collect::<Vec<_>>(), [vec![], vec!["scalar"]]);
    let svg = std::fs::read_to_string(chart).unwrap();
    assert_eq!(svg.matches("<circle").count(), 6, "an interval for each row");
    assert_eq!(svg.matches("class=\"interval slower\"").count(), 1);
    // Wrong output outranks slower rows.
    let mut wrong = scale(&result, "serial", 1000.0);
    row(&mut wrong, "scalar")["outcome"] = json!("mismatch");
    let wrong = write(&folder, "wrong.json", &wrong);
    let told = compare(&[&a, &wrong], 3).0;
    assert!(told.contains("not comparable: wrong output in the later result"), "{told}");
    compare(&[&wrong, &a], 0);
    let mut other = result;
    other["ladder"] = json!("matmul");
    let told = compare(&[&a, &write(&folder, "other.json", &other)], 1).1;
    assert!(told.contains("No row has a verdict."), "{told}");
}

/// Returns the result without the rows of the variant `id`.
fn without(result: &Value, id: &str) -> Value {
    let mut result = result.clone();
    result["devices"][0]["runs"][0]["variants"].as_array_mut().unwrap().retain(|row| row["id"] != id);
    result
}

#[test]
fn rows_that_are_gone_are_named_and_can_be_required_and_those_of_two_devices_stand_side_by_side() {
    let folder = Folder::new("compare-gone");
    let (result, a) = save(&folder, "a.json");
    let gone = write(&folder, "gone.json", &without(&result, "scalar"));
    let told = compare(&[&a, &gone], 0).0;
    assert!(told.contains("gone: the later result does not have this row"), "{told}");
    assert!(told.contains("2 no difference shown, 1 gone."), "{told}");
    let told = compare(&[&a, &gone, "--require-all"], 1).1;
    assert!(told.contains("No times of these rows of the first result: scalar ("), "{told}");
    compare(&[&a, &a, "--require-all"], 0);
    // A row that only the later result has is not required.
    compare(&[&gone, &a, "--require-all"], 0);
    // A row that was left out is there, and has no times.
    let mut skipped = result.clone();
    row(&mut skipped, "scalar")["outcome"] = json!("skipped");
    let skipped = write(&folder, "skipped.json", &skipped);
    compare(&[&a, &skipped], 0);
    compare(&[&a, &skipped, "--require-all"], 1);
    // In each of several results; what became slower comes first.
    compare(&[&a, &a, &gone, "--require-all"], 1);
    let slow = write(&folder, "slow.json", &scale(&without(&result, "scalar"), "serial", 1e6));
    compare(&[&a, &slow, "--require-all"], 4);
    let csv = compare(&[&a, &gone, "--csv"], 0).0;
    let line = csv.lines().find(|line| line.contains(",\"scalar\",")).unwrap();
    assert!(line.contains(",gone,") && line.ends_with(",,,,,"), "{line}");
    let report = compare_json(&[&a, &gone], 0);
    let rows = report["comparisons"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["row"] == "scalar").unwrap();
    assert!(row["verdict"] == "gone" && row["before_ms"].is_number() && row["after_ms"].is_null(), "{row}");
    // Another device, and another machine.
    let mut device = scale(&result, "scalar", 3.0);
    let mut machine = device.clone();
    device["devices"][0]["name"] = json!("Another");
    machine["host"]["processor"] = json!("Another");
    for other in [device, machine] {
        let other = &*write(&folder, "other.json", &other);
        let (told, stderr) = compare(&[&a, other], 1);
        assert!(stderr.contains("No row has a verdict."), "{stderr}");
        let line = told.lines().find(|line| line.contains(" scalar ")).unwrap();
        assert!(line.contains("other device: ") && !line.contains('–'), "{told}");
        assert!(told.contains("3 other device."), "{told}");
        for row in compare_json(&[&a, other], 1)["comparisons"][0]["rows"].as_array().unwrap() {
            assert!(row["before_ms"].is_number() && row["after_ms"].is_number(), "{row}");
            assert_eq!((&row["verdict"], &row["ratio"]), (&json!("other device"), &Value::Null));
        }
        // The rows are there.
        let stderr = compare(&[&a, other, "--require-all"], 1).1;
        assert!(!stderr.contains("No times"), "{stderr}");
    }
}

#[test]
fn damaged_and_hostile_files_are_reported_in_a_sentence() {
    let folder = Folder::new("compare-hostile");
    let (result, a) = save(&folder, "a.json");
    let whole = result.to_string();
    // After the bracket no number is cut into an invalid one.
    let samples = whole.find("\"wall_ms\":[").unwrap() + "\"wall_ms\":[".len();
    let many = vec![json!({ "id": "a", "outcome": "" }); 6000];
    let with = |key: &str, value: Value| {
        let mut other = result.clone();
        other[key] = value;
        other.to_string()
    };
    for (text_of, why) in [
        (String::new(), "EOF"),
        (whole[..samples].to_owned(), "EOF"),
        ("[".repeat(1 << 20), "invalid type"),
        ("{}".to_owned(), "no saved result"),
        ("\u{1}".to_owned(), "expected value"),
        ("\u{0}\u{1}".to_owned(), "UTF-16 or UTF-32"),
        (with("schema", json!(99)), "another version"),
        (with("kind", json!("conformance")), "no saved result of a benchmark"),
        (with("devices", json!("none")), "invalid type"),
        (with("devices", json!([{ "runs": [{ "variants": [{ "id": 1 }] }] }])), "invalid type"),
        (with("devices", json!([{ "runs": [{ "variants": many }] }])), "rows"),
        (whole.replacen("\"wall_ms\":[", "\"wall_ms\":[1e999,", 1), "out of range"),
    ] {
        let told = compare(&[&a, folder.with("b.json", text_of).to_str().unwrap()], 1).1;
        assert!(told.contains("b.json' cannot be read.") && told.contains(why), "{why}: {told}");
    }
    let utf16 = whole.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let refused = "It is invalid: it is in UTF-16 or UTF-32; save it in UTF-8.";
    for (mark, rest, code, said) in
        [(&b"\xef\xbb\xbf"[..], whole.as_bytes(), 0, ""), (b"\xff\xfe", &utf16, 1, refused)]
    {
        let marked = folder.with("b.json", [mark, rest].concat());
        let told = compare(&[&a, marked.to_str().unwrap()], code).1;
        assert!(told.contains(said), "{told}");
    }
    compare(&[&a, folder.file("none.json").to_str().unwrap()], 1);
    compare(&[&a, folder.file("").to_str().unwrap()], 1);
    compare(&[&a], 2);
    // Names are escaped, wherever they are printed.
    let mut named = result.clone();
    for (at, name) in [("id", "\u{1b}[2J|<b>\"=1+1"), ("outcome", "ok")] {
        named["devices"][0]["runs"][0]["variants"][0][at] = json!(name);
    }
    named["devices"][0]["name"] = json!("\u{1b}]0;title\u{7}");
    let named = write(&folder, "named.json", &named);
    let chart = folder.file("chart.svg");
    for format in ["--markdown", "--csv", "--json", "--threshold=1", &format!("--chart={}", chart.display())]
    {
        let (stdout, stderr) = compare(&[&named, &named, format], 0);
        assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "{format}");
    }
    let svg = std::fs::read_to_string(chart).unwrap();
    assert!(!svg.contains('\u{1b}') && !svg.contains("<b>"), "{svg}");
}

#[test]
fn the_kernels_of_two_folders_are_timed_in_turns() {
    const SCALAR: &str = "vector_add/01_scalar.cl";
    let slowly = "{ float x = a[i]; for (int n = 0; n < 20; n++) x = native_sin(x) + a[i]; \
                  sum[i] = x == 123.25f ? x : a[i] + b[i]; }";
    let same = edited_kernels("compare-same", SCALAR, &[]);
    let slow = edited_kernels("compare-slow", SCALAR, &[("sum[i] = a[i] + b[i];", slowly)]);
    let wrong = edited_kernels("compare-wrong", SCALAR, &[("a[i] + b[i];", "a[i] - b[i];")]);
    let run = |variants: &str, folders: &[&dyn AsRef<std::ffi::OsStr>], more: &[&str], code: i32| {
        let mut command = clreel(&BENCH);
        command.arg(variants).args(more);
        for folder in folders {
            command.arg("--kernels").arg(folder.as_ref());
        }
        finish(command, code)
    };
    let both = "serial,scalar";
    let told = text(&run(both, &[&same, &slow], &[], 4).stdout);
    for part in ["scalar (B) compared with A: ", "× slower, ", "A: ", "B: "] {
        assert!(told.contains(part), "{told}");
    }
    let report = json(&run(both, &[&same, &slow], &["--json"], 4));
    // A slowdown that is accepted, and the other direction.
    run(both, &[&same, &slow], &["--threshold", "1000000"], 0);
    run(both, &[&slow, &same], &[], 0);
    let told = text(&run("scalar", &[&same], &["--threshold", "5"], 2).stderr);
    assert!(told.contains("--threshold applies to two folders"), "{told}");
    let folders_of: Vec<_> = rows(&report).iter().map(|row| row["folder"].clone()).collect();
    assert_eq!(folders_of, [Value::Null, json!(0), json!(1)], "threads have no kernels");
    let rows = rows(&report);
    assert_ne!(rows[1]["kernel"]["hash"], rows[2]["kernel"]["hash"]);
    assert!(rows[2]["compared"]["high"].as_f64().unwrap() < 1.0, "{}", rows[2]["compared"]);
    assert!(rows[1]["compared"].is_null());
    // A wrong kernel of the second folder is a mismatch.
    run("scalar", &[&same, &wrong], &[], 3);
    run("scalar", &[&same, &wrong, &same], &[], 2);
    run("scalar", &[&same, &"/nowhere"], &[], 1);
}

/// Rows of the filters in Rust, of conversions and of whole frames are compared, too, and those of `tune`.
#[test]
fn all_rows_of_a_result_are_compared() {
    let folder = Folder::new("compare-rows");
    let path = folder.file("a.json");
    let args =
        ["bench", "--size", "64x48", "--frames", "10", "--variant", "flat", "--radius", "2", "--native"];
    finish(clreel(&args).args(["--whole-frames", "--conversions", "input", "--save"]).arg(&path), 0);
    // Nothing is lost when a result is read and saved again, as the Lab does.
    let (saved, again) = (read_json(&path), folder.file("again.json"));
    let launches = saved["devices"][0]["runs"][0]["variants"][0]["work"]["kernels"].as_array();
    assert!(launches.is_some_and(|launches| !launches.is_empty()), "{saved}");
    Report::read(&path).unwrap().save(&again).unwrap();
    assert_eq!(read_json(&again), saved);
    let saved = with_made_up_times(saved, &mut Xorshift::new(1));
    let file = &*write(&folder, "a.json", &saved);
    let compared = compare_json(&[file, file], 0);
    let rows = compared["comparisons"][0]["rows"].as_array().unwrap();
    for (case, row) in [
        ("radius 2", "flat"),
        ("radius 2", "native, 1 × plain"),
        ("whole frames · radius 2", "flat"),
        ("conversions", "yuv420p to buffer"),
    ] {
        let is_it = |one: &&Value| {
            one["case"].as_str().unwrap().contains(case) && one["row"].as_str().unwrap().starts_with(row)
        };
        let found = rows.iter().find(is_it).unwrap_or_else(|| panic!("no {row} of {case}: {rows:?}"));
        assert_eq!(found["verdict"], "no difference shown", "{case}, {row}");
    }
    // A conversion that became slower is found.
    let mut slower = saved;
    let runs = slower["devices"][0]["runs"].as_array_mut().unwrap();
    let conversions = runs.iter_mut().find(|run| run["title"] == "conversions").unwrap();
    scale_row(&mut conversions["variants"][0], 2.0);
    compare(&[file, &write(&folder, "b.json", &slower)], 4);
    let tuned = folder.file("t.json");
    let mut command = clreel(&["tune", "--ladder", "vector-add", "--count", "5000", "--save"]);
    finish(command.arg(&tuned).env("XDG_CACHE_HOME", folder.file("cache")), 0);
    let tuned = write(&folder, "t.json", &with_made_up_times(read_json(&tuned), &mut Xorshift::new(1)));
    let table = compare(&[&*tuned; 2], 0).0;
    assert!(table.contains("no difference shown") && table.contains("scalar"), "{table}");
}

/// The verdicts are those of the version that has written these files; only peak kernels had other names. `tests/schema-1` has for each
/// kind of result two files, and the CSV of their comparison.
#[test]
fn results_of_schema_1_have_the_verdicts_of_before() {
    let folder = Folder::new("compare-schema-1");
    for (kind, code) in [("box", 3), ("ladder", 4), ("tune", 0), ("window", 0)] {
        let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema-1").join(name);
        let files = ["a", "b"].map(|end| file(&format!("{kind}-{end}.json")).to_str().unwrap().to_owned());
        let [before, after] = &files;
        let told = compare(&[before, after, "--csv"], code).0;
        assert_eq!(told, std::fs::read_to_string(file(&format!("{kind}.csv"))).unwrap(), "{kind}");
        // Saved in today's format it is the same result, and is compared with one of schema 1.
        let read = Report::read(Path::new(after)).unwrap();
        let path = folder.file(&format!("{kind}.json"));
        read.save(&path).unwrap();
        assert_eq!(Report::read(&path).unwrap(), read, "{kind}");
        let saved = read_json(&path);
        assert_eq!((&saved["schema"], saved["ladder"].is_string()), (&json!(2), true), "{kind}");
        let path = path.to_str().unwrap();
        assert_eq!(compare(&[before, path, "--csv"], code).0, told, "{kind}");
    }
}

/// `tests/verdicts` reads the verdicts that the program prints. Here the program is a script that prints a result with equal times.
#[test]
fn the_script_of_verdicts_notices_a_verdict_that_is_wrong() {
    let folder = Folder::new("compare-script");
    let times: Vec<f64> = (0..40).map(|at| 1.0 + 0.01 * f64::from(at % 7)).collect();
    let run_script = |verdict: &str, low: f64, arguments: &[&str]| {
        let row = |folder: u32, compared: Value| {
            json!({ "id": "flat", "folder": folder, "outcome": "ok", "compared": compared,
                    "samples": { "device_ms": null, "wall_ms": times } })
        };
        let told = json!({ "ratio": 1.0, "low": low, "high": 1.0, "verdict": verdict });
        let rows = [row(0, Value::Null), row(1, told)];
        let saved = json!({ "devices": [{ "runs": [{ "title": "n=7", "variants": rows }] }] });
        let result = write(&folder, "result.json", &saved);
        let word = if verdict.contains("faster") { "faster" } else { "no difference shown" };
        let row =
            json!({ "row": "flat", "verdict": word, "ratio": 1.0, "ratio_low": low, "ratio_high": 1.0 });
        let compared = write(&folder, "compared.json", &json!({ "comparisons": [{ "rows": [row] }] }));
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = compare ]; then exec cat '{compared}'; fi\n\
             while [ \"$1\" != --save ]; do shift; done\nexec cp '{result}' \"$2\"\n"
        );
        let program = folder.with("clreel", script.as_bytes());
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = Command::new("python3");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts")).args(arguments);
        let output = command.env("CLREEL", &program).output().expect("python3 (package python3) is there");
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    };
    let [turns, two] = [&["--runs", "2", "--rounds", "40"][..], &["--pairs", "2", "--bench"][..]];
    let equal = "no difference shown (below 0.1 %)";
    let [faster, slightly] = ["9.0× faster, 8.9 to 9.1", "1.1× faster, 1.1 to 1.1"];
    for (verdict, low, arguments, passes, word) in [
        (equal, 1.0, turns, true, "| 2 | 0 |"),
        (equal, 1.0, two, true, "| 2 | 0 |"),
        (faster, 1.0, turns, false, "the program says 'faster'"),
        (faster, 1.0, two, false, "the program says 'faster'"),
        // An interval that is not that of the samples; two runs are not computed again, and each false claim counts.
        (slightly, 1.1, turns, false, "is not"),
        (slightly, 1.1, two, false, "2 of 2 pairs claim a difference"),
        ("nothing", 1.0, turns, false, "no verdict: 'nothing'"),
        (equal, 1.0, &["--runs", "0"], false, "no rows were compared"),
    ] {
        let (is_right, told) = run_script(verdict, low, arguments);
        assert!(is_right == passes && told.contains(word), "{told}");
    }
}

/// Folders of one name are told apart by a hash of their files.
#[test]
fn two_folders_of_one_name_are_named_as_different_filters() {
    let folder = Folder::new("compare-folders");
    let one = crate::filters::sobel(&folder, "a/sobel", &[]);
    let other = crate::filters::sobel(&folder, "b/sobel", &[("Shows edges", "Shows all edges")]);
    let save = |filter: &Path, name: &str| {
        let file = folder.file(name);
        let args = ["bench", "--size", "64x48", "--frames", "10", "--filter"];
        finish(clreel(&args).arg(filter).arg("--save").arg(&file), 0);
        file.to_str().unwrap().to_owned()
    };
    let [first, again, second] =
        [(&one, "1.json"), (&one, "2.json"), (&other, "3.json")].map(|(f, n)| save(f, n));
    let hash = |file: &str| {
        let saved = read_json(Path::new(file));
        let kernel = saved["devices"][0]["runs"][0]["variants"][0]["kernel"].clone();
        kernel["filter"].as_str().unwrap()[..8].to_owned()
    };
    assert_eq!(hash(&first), hash(&again));
    let output = clreel(&["compare", &first, &second]).output().unwrap();
    let printed = text(&output.stdout);
    let sentence = format!(
        "'sobel' in A ({}) and in B ({}) are different filters of one name, or different texts of one.",
        hash(&first),
        hash(&second)
    );
    assert!(printed.contains(&sentence), "{printed}");
    let output = clreel(&["compare", &first, &again]).output().unwrap();
    assert!(!text(&output.stdout).contains("different filters"), "{output:?}");
}
