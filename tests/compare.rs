//! `clreel bench --save`, `clreel compare`, and `bench` with two folders of kernels. Needs an OpenCL device.

use std::path::Path;
use std::process::{Command, Output};

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
    assert_eq!(result["devices"][0]["runs"][0]["limit_samples"]["wall_ms"].as_array().unwrap().len(), 40);
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
    assert!(text(&output.stderr).contains("Nothing could be compared"), "{}", text(&output.stderr));
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
        ("\u{0}\u{1}".to_owned(), "expected value"),
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
        "{ float x = a[i]; for (int n = 0; n < 1000; n++) x = native_sin(x) + a[i]; \
         sum[i] = x == 123.25f ? x : a[i] + b[i]; }",
    );
    let (a, b) = (same.file(""), slow.0.file(""));
    let folders = ["--kernels", a.to_str().unwrap(), "--kernels", b.to_str().unwrap()];
    let args = [&BENCH[..], &["serial,scalar"], &folders].concat();
    let told = text(&run(clreel(&args), 0).stdout);
    assert!(told.contains("scalar (B) compared with A: ") && told.contains("× slower, "), "{told}");
    assert!(told.contains("A: ") && told.contains("B: "), "{told}");
    let report: Value =
        serde_json::from_slice(&run(clreel(&[&args[..], &["--json"]].concat()), 0).stdout).unwrap();
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
    for times in slower["devices"][0]["conversions"][0]["samples"].as_object_mut().unwrap().values_mut() {
        for ms in times.as_array_mut().into_iter().flatten() {
            *ms = json!(ms.as_f64().unwrap() * 100.0);
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
