//! `clreel bench --save`, `clreel compare`, and `bench` with two folders of kernels. Needs an OpenCL device.

use std::path::Path;
use std::process::{Command, Output};

use ladder::results::Report;
use serde_json::{Value, json};
use testkit::movie::Folder;

use crate::common::ladder::{Kernels, clreel, rows};
use crate::common::process::text;

/// Runs a command, and requires this exit code.
fn run(mut command: Command, code: i32) -> Output {
    let output = command.env_remove("CLREEL_KERNELS").output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{command:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
    output
}

const BENCH: [&str; 8] =
    ["bench", "--ladder", "vector-add", "--count", "5000", "--frames", "40", "--variant"];

/// Runs a small benchmark, saves the result as `name`, and returns it.
fn save(folder: &Folder, name: &str) -> Value {
    let file = folder.file(name);
    let mut command = clreel(&BENCH);
    run(
        {
            command.arg("serial,scalar").arg("--save").arg(&file);
            command
        },
        0,
    );
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Writes a result to a file, and returns its path.
fn write(folder: &Folder, name: &str, value: &Value) -> String {
    folder.with(name, value.to_string().as_bytes()).to_str().unwrap().to_owned()
}

/// Multiplies all samples of the variant `id`.
fn scale(result: &Value, id: &str, factor: f64) -> Value {
    let mut result = result.clone();
    for row in result["devices"][0]["runs"][0]["variants"].as_array_mut().unwrap() {
        if row["id"] == id {
            for times in row["samples"].as_object_mut().unwrap().values_mut() {
                for ms in times.as_array_mut().into_iter().flatten() {
                    *ms = json!(ms.as_f64().unwrap() * factor);
                }
            }
        }
    }
    result
}

#[test]
fn saved_results_have_their_samples_and_are_compared() {
    let folder = Folder::new("compare-saved");
    let result = save(&folder, "a.json");
    for key in ["program", "date", "kind", "schema"] {
        assert!(!result[key].is_null(), "{key}");
    }
    assert!(result["host"]["processors"].as_u64().is_some_and(|count| count > 0));
    for row in rows(&result) {
        assert_eq!(row["samples"]["wall_ms"].as_array().unwrap().len(), 40, "{row}");
        let is_kernel = row["kind"] == "opencl";
        assert_eq!(row["kernel"]["hash"].as_str().is_some_and(|hash| hash.len() == 16), is_kernel, "{row}");
    }
    assert_eq!(
        result["devices"][0]["runs"][0]["peaks"][0]["samples"]["wall_ms"].as_array().unwrap().len(),
        40
    );
    let a = write(&folder, "a.json", &result);
    let slow = write(&folder, "slow.json", &scale(&result, "scalar", 1000.0));
    let output = run(clreel(&["compare", &a, &a]), 0);
    let told = text(&output.stdout);
    assert_eq!(told.matches("no difference shown (below").count(), 3, "{told}");
    // Slower, and faster in the other direction.
    let told = text(&run(clreel(&["compare", &a, &slow]), 4).stdout);
    assert!(told.contains("× slower, "), "{told}");
    assert!(told.contains("1 slower, 2 no difference shown."), "{told}");
    run(clreel(&["compare", &a, &slow, "--threshold", "1000000"]), 0);
    let told = text(&run(clreel(&["compare", &slow, &a, "--markdown"]), 0).stdout);
    assert!(told.contains("| scalar |") && told.contains("× faster, "), "{told}");
    let told = text(&run(clreel(&["compare", &slow, &a, "--csv"]), 0).stdout);
    let line = told.lines().find(|line| line.contains(",\"scalar\",")).unwrap();
    assert!(told.lines().count() == 4 && line.contains(",faster,"), "{told}");
    // Each result is compared with the first one.
    let chart = folder.file("chart.svg");
    let chart = chart.to_str().unwrap();
    let output = run(clreel(&["compare", &a, &a, &slow, "--json", "--chart", chart]), 4);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts = report["comparisons"].as_array().unwrap().iter().map(|one| {
        let rows = one["rows"].as_array().unwrap().iter();
        rows.filter(|row| row["verdict"] == "slower")
            .map(|row| row["row"].as_str().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(verdicts.collect::<Vec<_>>(), [vec![], vec!["scalar"]]);
    let svg = std::fs::read_to_string(chart).unwrap();
    assert_eq!(svg.matches("<circle").count(), 6, "an interval for each row");
    assert_eq!(svg.matches("class=\"interval slower\"").count(), 1);
}

#[test]
fn wrong_output_outranks_slower_rows() {
    let folder = Folder::new("compare-wrong");
    let result = save(&folder, "a.json");
    let a = write(&folder, "a.json", &result);
    let mut wrong = scale(&result, "serial", 1000.0);
    for row in wrong["devices"][0]["runs"][0]["variants"].as_array_mut().unwrap() {
        if row["id"] == "scalar" {
            row["outcome"] = json!("mismatch");
        }
    }
    let wrong = write(&folder, "wrong.json", &wrong);
    let told = text(&run(clreel(&["compare", &a, &wrong]), 3).stdout);
    assert!(told.contains("not comparable: wrong output in the later result"), "{told}");
    run(clreel(&["compare", &wrong, &a]), 0);
    let other = write(&folder, "other.json", &{
        let mut other = result.clone();
        other["ladder"] = json!("matmul");
        other
    });
    let output = run(clreel(&["compare", &a, &other]), 1);
    assert!(text(&output.stderr).contains("No row has a verdict."), "{}", text(&output.stderr));
}

/// Returns the result without the rows of the variant `id`.
fn without(result: &Value, id: &str) -> Value {
    let mut result = result.clone();
    result["devices"][0]["runs"][0]["variants"].as_array_mut().unwrap().retain(|row| row["id"] != id);
    result
}

#[test]
fn rows_that_are_gone_are_named_and_can_be_required() {
    let folder = Folder::new("compare-gone");
    let result = save(&folder, "a.json");
    let a = write(&folder, "a.json", &result);
    let gone = write(&folder, "gone.json", &without(&result, "scalar"));
    let output = run(clreel(&["compare", &a, &gone]), 0);
    let told = text(&output.stdout);
    assert!(told.contains("gone: the later result does not have this row"), "{told}");
    assert!(told.contains("2 no difference shown, 1 gone."), "{told}");
    let output = run(clreel(&["compare", &a, &gone, "--require-all"]), 1);
    let told = text(&output.stderr);
    assert!(told.contains("No times of these rows of the first result: scalar ("), "{told}");
    run(clreel(&["compare", &a, &a, "--require-all"]), 0);
    // A row that only the later result has is not required.
    run(clreel(&["compare", &gone, &a, "--require-all"]), 0);
    // A row that was left out is there, and has no times.
    let mut skipped = result.clone();
    for row in skipped["devices"][0]["runs"][0]["variants"].as_array_mut().unwrap() {
        if row["id"] == "scalar" {
            row["outcome"] = json!("skipped");
        }
    }
    let skipped = write(&folder, "skipped.json", &skipped);
    run(clreel(&["compare", &a, &skipped]), 0);
    run(clreel(&["compare", &a, &skipped, "--require-all"]), 1);
    // In each of several results; what became slower comes first.
    run(clreel(&["compare", &a, &a, &gone, "--require-all"]), 1);
    let slow = write(&folder, "slow.json", &scale(&without(&result, "scalar"), "serial", 1e6));
    run(clreel(&["compare", &a, &slow, "--require-all"]), 4);
    let csv = text(&run(clreel(&["compare", &a, &gone, "--csv"]), 0).stdout);
    let line = csv.lines().find(|line| line.contains(",\"scalar\",")).unwrap();
    assert!(line.contains(",gone,") && line.ends_with(",,,,,"), "{line}");
    let report: Value =
        serde_json::from_slice(&run(clreel(&["compare", &a, &gone, "--json"]), 0).stdout).unwrap();
    let rows = report["comparisons"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["row"] == "scalar").unwrap();
    assert_eq!(
        (&row["verdict"], row["before_ms"].is_number(), &row["after_ms"]),
        (&json!("gone"), true, &Value::Null)
    );
}

#[test]
fn results_of_two_devices_stand_side_by_side() {
    let folder = Folder::new("compare-devices");
    let result = save(&folder, "a.json");
    let a = write(&folder, "a.json", &result);
    let mut other = scale(&result, "scalar", 3.0);
    other["devices"][0]["name"] = json!("Another");
    let device = write(&folder, "device.json", &other);
    let mut other = scale(&result, "scalar", 3.0);
    other["host"]["processor"] = json!("Another");
    let machine = write(&folder, "machine.json", &other);
    for other in [&device, &machine] {
        let output = run(clreel(&["compare", &a, other]), 1);
        assert!(text(&output.stderr).contains("No row has a verdict."), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        let line = told.lines().find(|line| line.contains(" scalar ")).unwrap();
        assert!(line.contains("other device: ") && !line.contains('–'), "{told}");
        assert!(told.contains("3 other device."), "{told}");
        let output = run(clreel(&["compare", &a, other, "--json"]), 1);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        for row in report["comparisons"][0]["rows"].as_array().unwrap() {
            assert!(row["before_ms"].is_number() && row["after_ms"].is_number(), "{row}");
            assert_eq!((&row["verdict"], &row["ratio"]), (&json!("other device"), &Value::Null));
        }
        // The rows are there.
        let output = run(clreel(&["compare", &a, other, "--require-all"]), 1);
        assert!(!text(&output.stderr).contains("No times"), "{}", text(&output.stderr));
    }
}

#[test]
fn damaged_and_hostile_files_are_reported_in_a_sentence() {
    let folder = Folder::new("compare-hostile");
    let result = save(&folder, "a.json");
    let a = write(&folder, "a.json", &result);
    let whole = result.to_string();
    // After the bracket no number is cut into an invalid one.
    let samples = whole.find("\"wall_ms\":[").unwrap() + "\"wall_ms\":[".len();
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
        (
            with(
                "devices",
                json!([{ "runs": [{ "variants": vec![json!({ "id": "a", "outcome": "" }); 6000] }] }]),
            ),
            "rows",
        ),
        (whole.replacen("\"wall_ms\":[", "\"wall_ms\":[1e999,", 1), "out of range"),
    ] {
        let b = folder.with("b.json", text_of.as_bytes());
        let b = b.to_str().unwrap();
        let told = text(&run(clreel(&["compare", &a, b]), 1).stderr);
        assert!(told.contains("b.json' cannot be read.") && told.contains(why), "{why}: {told}");
    }
    let none = folder.file("none.json");
    run(clreel(&["compare", &a, none.to_str().unwrap()]), 1);
    run(clreel(&["compare", &a, folder.file("").to_str().unwrap()]), 1);
    run(clreel(&["compare", &a]), 2);
    // Names are escaped, wherever they are printed.
    let mut named = result.clone();
    for (at, name) in [("id", "\u{1b}[2J|<b>\"=1+1"), ("outcome", "ok")] {
        named["devices"][0]["runs"][0]["variants"][0][at] = json!(name);
    }
    named["devices"][0]["name"] = json!("\u{1b}]0;title\u{7}");
    let named = write(&folder, "named.json", &named);
    let chart = folder.file("chart.svg");
    let chart = chart.to_str().unwrap();
    for format in [vec![], vec!["--markdown"], vec!["--csv"], vec!["--json"], vec!["--chart", chart]] {
        let output = run(clreel(&[&["compare", &named, &named], &format[..]].concat()), 0);
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{format:?}");
    }
    let svg = std::fs::read_to_string(chart).unwrap();
    assert!(!svg.contains('\u{1b}') && !svg.contains("<b>"), "{svg}");
}

#[test]
fn the_kernels_of_two_folders_are_timed_in_turns() {
    let same = Folder::new("compare-folder-a");
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/vector_add/01_scalar.cl");
    same.with("vector_add/01_scalar.cl", &std::fs::read(original).unwrap());
    let slow = Kernels::with(
        "compare-slow",
        "vector_add",
        "01_scalar.cl",
        "sum[i] = a[i] + b[i];",
        "{ float x = a[i]; for (int n = 0; n < 20; n++) x = native_sin(x) + a[i]; \
         sum[i] = x == 123.25f ? x : a[i] + b[i]; }",
    );
    let (a, b) = (same.file(""), slow.0.file(""));
    let folders = ["--kernels", a.to_str().unwrap(), "--kernels", b.to_str().unwrap()];
    let args = [&BENCH[..], &["serial,scalar"], &folders].concat();
    let told = text(&run(clreel(&args), 4).stdout);
    assert!(told.contains("scalar (B) compared with A: ") && told.contains("× slower, "), "{told}");
    assert!(told.contains("A: ") && told.contains("B: "), "{told}");
    let report: Value =
        serde_json::from_slice(&run(clreel(&[&args[..], &["--json"]].concat()), 4).stdout).unwrap();
    // A slowdown that is accepted, and the other direction.
    run(clreel(&[&args[..], &["--threshold", "1000000"]].concat()), 0);
    let reverse = ["--kernels", b.to_str().unwrap(), "--kernels", a.to_str().unwrap()];
    run(clreel(&[&BENCH[..], &["serial,scalar"], &reverse].concat()), 0);
    let once = [&BENCH[..], &["scalar", "--threshold", "5"], &folders[..2]].concat();
    assert!(text(&run(clreel(&once), 2).stderr).contains("--threshold applies to two folders"));
    let folders_of: Vec<_> = rows(&report).iter().map(|row| row["folder"].clone()).collect();
    assert_eq!(folders_of, [Value::Null, json!(0), json!(1)], "threads have no kernels");
    let rows = rows(&report);
    assert_ne!(rows[1]["kernel"]["hash"], rows[2]["kernel"]["hash"]);
    assert!(rows[2]["compared"]["high"].as_f64().unwrap() < 1.0, "{}", rows[2]["compared"]);
    assert!(rows[1]["compared"].is_null());
    // A wrong kernel of the second folder is a mismatch.
    let wrong = Kernels::with("compare-wrong", "vector_add", "01_scalar.cl", "a[i] + b[i];", "a[i] - b[i];");
    let wrong = wrong.0.file("");
    let folders = ["--kernels", a.to_str().unwrap(), "--kernels", wrong.to_str().unwrap()];
    run(clreel(&[&BENCH[..], &["scalar"], &folders].concat()), 3);
    let thrice = [&BENCH[..], &["scalar"], &folders, &folders[..2]].concat();
    run(clreel(&thrice), 2);
    let missing = ["--kernels", a.to_str().unwrap(), "--kernels", "/nowhere"];
    run(clreel(&[&BENCH[..], &["scalar"], &missing].concat()), 1);
}

/// Rows of the filters in Rust, of conversions and of whole frames are compared, too, and those of `tune`.
#[test]
fn all_rows_of_a_result_are_compared() {
    let folder = Folder::new("compare-rows");
    let file = folder.file("a.json");
    let mut command =
        clreel(&["bench", "--size", "64x48", "--frames", "10", "--variant", "flat", "--radius", "2"]);
    command.args(["--native", "--whole-frames", "--conversions", "input", "--save"]).arg(&file);
    run(command, 0);
    let file = file.to_str().unwrap();
    let mut command = clreel(&["compare", "--json", file]);
    command.arg(file);
    let compared: Value = serde_json::from_slice(&run(command, 0).stdout).unwrap();
    let rows = compared["comparisons"][0]["rows"].as_array().unwrap();
    let verdict_of = |case: &str, row: &str| {
        let is_it = |one: &&Value| {
            one["case"].as_str().unwrap().contains(case) && one["row"].as_str().unwrap().starts_with(row)
        };
        let found = rows.iter().find(is_it).unwrap_or_else(|| panic!("no {row} of {case}: {rows:?}"));
        found["verdict"].as_str().unwrap().to_owned()
    };
    for (case, row) in [
        ("radius 2", "flat"),
        ("radius 2", "native, 1 × plain"),
        ("whole frames · radius 2", "flat"),
        ("conversions", "yuv420p to buffer"),
    ] {
        assert_eq!(verdict_of(case, row), "no difference shown", "{case}, {row}");
    }
    // A conversion that became slower is found.
    let mut slower: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let runs = slower["devices"][0]["runs"].as_array_mut().unwrap();
    let conversions = runs.iter_mut().find(|run| run["title"] == "conversions").unwrap();
    for times in conversions["variants"][0]["samples"].as_object_mut().unwrap().values_mut() {
        for ms in times.as_array_mut().into_iter().flatten() {
            // More than a busy machine explains.
            *ms = json!(ms.as_f64().unwrap() * 1e6);
        }
    }
    let slower = write(&folder, "b.json", &slower);
    run(clreel(&["compare", file, &slower]), 4);
    let tuned = folder.file("t.json");
    let mut command = clreel(&["tune", "--ladder", "vector-add", "--count", "5000", "--save"]);
    run(
        {
            command.arg(&tuned).env("XDG_CACHE_HOME", folder.file("cache"));
            command
        },
        0,
    );
    let mut command = clreel(&["compare"]);
    command.arg(&tuned).arg(&tuned);
    let table = text(&run(command, 0).stdout);
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
        let told = text(&run(clreel(&["compare", before, after, "--csv"]), code).stdout);
        assert_eq!(told, std::fs::read_to_string(file(&format!("{kind}.csv"))).unwrap(), "{kind}");
        // Saved in today's format it is the same result, and is compared with one of schema 1.
        let read = Report::read(Path::new(after)).unwrap();
        let path = folder.file(&format!("{kind}.json"));
        read.save(&path).unwrap();
        assert_eq!(Report::read(&path).unwrap(), read, "{kind}");
        let saved: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((&saved["schema"], saved["ladder"].is_string()), (&json!(2), true), "{kind}");
        let path = path.to_str().unwrap();
        assert_eq!(text(&run(clreel(&["compare", before, path, "--csv"]), code).stdout), told, "{kind}");
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
        let mut permissions = std::fs::metadata(&program).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&program, permissions).unwrap();
        let mut command = Command::new("python3");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts")).args(arguments);
        let output =
            command.env("CLREEL", &program).output().expect("python3 (package python3) is installed");
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    };
    let [turns, two] = [&["--runs", "2", "--rounds", "40"][..], &["--pairs", "2", "--bench"][..]];
    let equal = "no difference shown (below 0.1 %)";
    for arguments in [turns, two] {
        let (is_right, told) = run_script(equal, 1.0, arguments);
        assert!(is_right && told.contains("| 2 | 0 |"), "{told}");
        let (is_right, told) = run_script("9.0× faster, 8.9 to 9.1", 1.0, arguments);
        assert!(!is_right && told.contains("the program says 'faster'"), "{told}");
    }
    // An interval that is not that of the samples; two runs are not computed again, and each false claim counts.
    let (is_right, told) = run_script("1.1× faster, 1.1 to 1.1", 1.1, turns);
    assert!(!is_right && told.contains("is not"), "{told}");
    let (is_right, told) = run_script("1.1× faster, 1.1 to 1.1", 1.1, two);
    assert!(!is_right && told.contains("2 of 2 pairs claim a difference"), "{told}");
    let (is_right, told) = run_script("nothing", 1.0, turns);
    assert!(!is_right && told.contains("no verdict: 'nothing'"), "{told}");
    let (is_right, told) = run_script(equal, 1.0, &["--runs", "0"]);
    assert!(!is_right && told.contains("no rows were compared"), "{told}");
}
