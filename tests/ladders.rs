//! Ladders other than the box filter, by `bench --ladder NAME` and `tune`: every variant is right at odd and small cases,
//! injected faults are detected, `auto` uses tuned configurations, and wrong usage is refused. Needs an OpenCL device.

use std::process::Command;

use crate::common::reports::{assert_mismatches, assert_usage_error, clreel, has_status, rows, trials};
use crate::common::*;
use ladder::runner::Ladder;
use ladders::transpose::TRANSPOSE;
use ladders::vector_add::VECTOR_ADD;

fn vector_add(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--ladder", "vector-add", "--frames", "2", "--json"]);
    command.args(args);
    command
}

#[test]
fn every_variant_of_vector_add_is_right_and_timed() {
    let report = finish_json(vector_add(&["--count", "1,65537"]), 0);
    assert_eq!((&report["schema"], &report["ladder"]), (&Value::from(2), &Value::from("vector_add")));
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    let counts: Vec<u64> = runs.iter().map(|run| run["case"]["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 65_537]);
    let ids: Vec<&str> = VECTOR_ADD.variants().iter().map(|variant| variant.id).collect();
    for run in runs {
        let peak = &run["peaks"][0];
        assert_eq!((&peak["id"], &peak["device_ms"]["n"]), (&"three-stream copy".into(), &2.into()));
        let variants = run["variants"].as_array().unwrap();
        assert_eq!(variants.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
        for row in variants {
            assert_eq!((&row["outcome"], &row["max_error"]), (&"ok".into(), &0.0.into()), "{row}");
            assert_eq!(row["wall_ms"]["n"], 2, "{row}");
            assert_eq!(row["device_ms"].is_null(), row["kind"] == "native", "{row}");
            assert!(row["gb_s"].as_f64() > Some(0.0) && row["gflop_s"].as_f64() > Some(0.0), "{row}");
            assert!(row["noisy"].as_str().is_some_and(|why| why.contains("2 runs")), "{row}");
            assert_eq!(row["chosen"].is_string(), row["id"] == "auto", "{row}");
            let checked = row["checked"].as_array().unwrap();
            let timed = |entry: &&Value| entry["timed"] == true;
            let count = u32::try_from(run["case"]["count"].as_u64().unwrap()).unwrap();
            let wanted = VECTOR_ADD.describe(&count).title;
            assert_eq!(checked.iter().find(timed).unwrap()["sizes"][0], wanted.as_str(), "{row}");
            assert!(checked.iter().any(|entry| entry["timed"] == false && entry["pictures"][3] == "huge"));
        }
    }
}

/// Right results at odd and thin sizes, and a remark on the fastest mapping, which is missing if one of them is wrong.
#[test]
fn every_mapping_of_transpose_is_right_and_the_fastest_is_explained() {
    // All variants except `auto`.
    let variants = TRANSPOSE.variants().iter().map(|variant| variant.id).filter(|id| *id != "auto");
    let variants: Vec<&str> = variants.collect();
    let measured = variants.join(",");
    let args = ["bench", "--ladder", "transpose", "--frames", "2", "--json", "--variant", &measured];
    let report = finish_json(clreel(&args).args(["--mn", "257,300", "--mn", "1,64"]), 0);
    assert_eq!(report["ladder"], "transpose");
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    let sizes = runs.iter().map(|run| ["m", "n"].map(|size| run["case"][size].as_u64().unwrap()));
    assert_eq!(sizes.collect::<Vec<_>>(), [[257, 300], [1, 64]]);
    for run in runs {
        let peak = &run["peaks"][0];
        assert_eq!((&peak["id"], &peak["device_ms"]["n"]), (&"copy".into(), &2.into()));
        let rows = run["variants"].as_array().unwrap();
        assert_eq!(rows.len(), variants.len());
        assert!(rows.iter().all(|row| row["outcome"] == "ok" && row["max_error"] == 0.0), "{run}");
        let remark = run["remark"].as_str().unwrap_or_default();
        assert!(remark.starts_with("Which mapping: ") && remark.contains("Probable cause: "), "{run}");
    }
    let edit = ("transposed[column * m + row]", "transposed[row * n + column]");
    let wrong = edited_kernels("mapping", "transpose/02_column_linear.cl", &[edit]);
    let report = finish_json(clreel(&args).args(["--mn", "257,300"]).env("CLREEL_KERNELS", &wrong), 3);
    for row in rows(&report) {
        let outcome = if row["id"] == "column-linear" { "mismatch" } else { "ok" };
        assert_eq!(row["outcome"], outcome, "{row}");
    }
    assert!(report["devices"][0]["runs"][0]["remark"].is_null(), "{report}");
}

/// The protocol of the window's Lab: bench prints each step, starts none without a line on stdin, and ends with its parent.
#[test]
fn live_bench_starts_each_step_on_request_only() {
    use std::io::Write as _;
    use std::process::Stdio;
    let run_live = |leave: usize| {
        let mut command = clreel(&["bench", "--live", "--ladder", "vector-add", "--count", "1000"]);
        command.args(["--variant", "serial,threads", "--frames", "2"]).stderr(Stdio::piped());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all("\n".repeat(leave).as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let steps = text(&output.stdout).lines().map(|step| serde_json::from_str(step).unwrap()).collect();
        (output.status.code(), steps)
    };
    let (code, steps): (_, Vec<Value>) = run_live(1);
    let next: Vec<&str> = steps.iter().map(|step| step["next"].as_str().unwrap()).collect();
    assert_eq!((code, next.len()), (Some(1), 2), "{next:?}");
    assert!(next[0].starts_with("checking serial") && next[1].starts_with("checking threads"), "{next:?}");
    let (code, steps) = run_live(4);
    assert_eq!((code, steps.len()), (Some(0), 5));
    let last = &steps[4];
    assert_eq!((&last["next"], &last["done"], &last["steps"]), (&Value::Null, &4.into(), &4.into()));
    assert!(steps[..3].iter().all(|step| step["results"]["devices"][0]["runs"] == serde_json::json!([])));
    let known =
        |step: &Value| rows(&step["results"]).iter().filter(|row| row["wall_ms"]["n"].is_u64()).count();
    assert_eq!((known(&steps[3]), known(last)), (2, 2), "after the first round, and at the end");
}

#[test]
fn without_opencl_host_variants_are_timed() {
    let args = ["--variant", "serial,threads-vectors", "--count", "1000"];
    let report = finish_json(vector_add(&args).env("OCL_ICD_VENDORS", "/nowhere"), 0);
    assert!(report["devices"][0]["runs"][0]["peaks"][0]["wall_ms"].is_null());
    assert!(rows(&report).iter().all(|row| row["outcome"] == "ok"), "{report}");
    let output = finish(vector_add(&["--count", "1000"]).env("OCL_ICD_VENDORS", "/nowhere"), 1);
    assert!(text(&output.stderr).contains("There is no OpenCL device"));
}

#[test]
fn options_and_variants_of_another_ladder_are_usage_errors() {
    for (args, word) in [
        ("bench --ladder vector-add --radius 3", "--radius"),
        ("bench --ladder vector-add --size 64x64", "--size"),
        ("bench --ladder vector-add movie.mp4", "FILE"),
        ("bench --ladder vector-add --allow-references", "--allow-references"),
        // Options of the box filter are refused even with their default value.
        ("bench --ladder vector-add --radius 7", "--radius"),
        ("bench --ladder vector-add --conversions all", "--conversions"),
        ("bench --ladder vector-add --variant naive", "'naive'"),
        ("bench --ladder vector-add --count 0", "--count"),
        ("bench --ladder vector-add --mnk 1,1,1", "--mnk"),
        ("bench --ladder vector-add --block 16", "--block"),
        ("bench --ladder no-such", "no-such"),
        ("bench --count 7", "--count"),
        ("bench --mnk 1,1,1", "--mnk"),
        ("bench --block 16", "--block"),
        ("bench --variant scalar", "'scalar'"),
        ("tune --ladder vector-add --radius 3", "--radius"),
        ("tune --ladder vector-add --size 64x64", "--size"),
        ("tune --ladder vector-add --count 1073741825", "--count"),
        ("tune --ladder vector-add --mnk 1,1,1", "--mnk"),
        ("tune --count 7", "--count"),
        ("tune --mnk 1,1,1", "--mnk"),
        ("tune --block 16", "--block"),
        ("bench --ladder matmul --count 7", "--count"),
        ("bench --ladder matmul --mnk 2,2", "expected three integers"),
        ("bench --ladder matmul --mnk 2,2,x", "expected three integers"),
        ("bench --ladder matmul --mnk 0,2,2", "no --mnk of matmul"),
        ("bench --ladder matmul --mnk 2,65536,2", "no --mnk of matmul"),
        ("bench --ladder matmul --mnk 40000,40000,1", "no --mnk of matmul"),
        ("tune --ladder matmul --count 7", "--count"),
        ("tune --ladder matmul --mnk 1,1", "expected three integers"),
        ("bench --ladder reduction --block 48", "48 is no --block"),
        ("bench --ladder reduction --count 5", "--count"),
        ("bench --ladder reduction --radius 5", "--radius"),
        ("bench --ladder reduction movie.mp4", "FILE"),
        ("bench --ladder reduction --variant scalar", "'scalar'"),
        ("bench --ladder histogram --block 16", "--block"),
        ("tune --ladder reduction --block 0", "--block"),
        ("bench --ladder conversions --count 0", "--count"),
        // All numbers of the source type, and no more.
        ("bench --ladder conversions --count 4294967297", "--count"),
        ("bench --ladder conversions --count 18446744073709551616", "--count"),
    ] {
        assert_usage_error(&args.split(' ').collect::<Vec<_>>(), word);
    }
}

/// Returns a folder with a modified kernel file of vector addition.
fn changed(name: &str, file: &str, from: &str, to: &str) -> Folder {
    edited_kernels(&format!("vector-add-{name}"), &format!("vector_add/{file}"), &[(from, to)])
}

/// Each fault fails its own variant only; `auto` does not choose that one.
#[test]
fn each_injected_fault_of_vector_add_is_a_mismatch_with_its_reason() {
    let wrong = "a[i] + b[i]; ((__global float *)a)[i] = 0;";
    let faults = [
        ("01_scalar.cl", "if (i < count)", "if (i <= count)", "scalar", "outside the output"),
        ("01_scalar.cl", "if (i < count)", "if (i + 1 < count)", "scalar", "never written"),
        ("01_scalar.cl", "a[i] + b[i];", "a[i] - b[i];", "scalar", "floats differ"),
        ("01_scalar.cl", "a[i] + b[i];", wrong, "scalar", "of the source"),
        ("02_vector.cl", "i < count", "i + 1 < count", "vector", "never written"),
        ("02_vector.cl", "as[v] + bs[v]", "as[v] + bs[v] * (v == 7 ? 0 : 1)", "vector", "floats differ"),
        ("02_vector.cl", "v == whole", "v == whole && whole > 0", "vector", "never written"),
        ("02_vector.cl", "v < whole", "v < whole + 1", "vector", "outside the output"),
    ];
    assert_mismatches("vector-add", &["--count", "5000"], "auto", &faults);
    // The timed case is checked too.
    let timed = "a[i] + b[i] + (count == 70001 && i == 70000 ? 1.0f : 0.0f);";
    let fault = ("01_scalar.cl", "a[i] + b[i];", timed, "scalar", "as it is timed|number 70000");
    assert_mismatches("vector-add", &["--count", "70001"], "serial", &[fault]);
}

/// Kernels that hang or crash fail their own variant only, with a message.
#[test]
fn kernels_that_hang_or_crash_fail_their_own_variant_only() {
    let hangs = "while (count) { sum[0] += 1.0f; if (sum[0] < 0.0f) break; }\n    if (i < count)";
    for (to, words) in [
        (hangs, "timed out after"),
        ("sum[(size_t)1 << 40] = 1.0f;\n    if (i < count)", "crashed in the sandbox"),
        ("if (i <", "does not build"),
    ] {
        let kernels = changed("hang", "01_scalar.cl", "if (i < count)", to);
        let args = ["--count", "1000", "--variant", "scalar,vector,auto", "--kernel-timeout", "2"];
        let rows = rows(&finish_json(vector_add(&args).env("CLREEL_KERNELS", &kernels), 1));
        let outcomes: Vec<_> = rows.iter().map(|row| row["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, ["failed", "ok", "ok"], "{to}");
        assert!(rows[0]["reason"].as_str().unwrap().contains(words), "{to}: {}", rows[0]["reason"]);
        assert!(rows[2]["chosen"].as_str().unwrap().starts_with("vector"), "{to}");
    }
}

/// A peak kernel that hangs or does not build has no time, and a reason. The variants are timed all the same.
#[test]
fn a_peak_kernel_that_fails_does_not_affect_variants() {
    let name = "__kernel void three_streams(";
    let begins = "    const uint v = get_global_id(0);";
    for (from, to, words, code) in [
        (begins, &*format!("    while (count) out[0] = 1;\n{begins}"), "timed out after", 1),
        (name, "__kernel void streams(", "limit.cl has no kernel 'three_streams'", 1),
        ("if (v < whole)", "if (v < whole + 1)", "outside the output", 3),
    ] {
        let kernels = changed("limit", "limit.cl", from, to);
        let mut command =
            clreel(&["bench", "--ladder", "vector-add", "--frames", "2", "--count", "1000,2000"]);
        command.args(["--variant", "serial,scalar", "--kernel-timeout", "2"]).env("CLREEL_KERNELS", &kernels);
        let saved = kernels.file("saved.json");
        let table = text(&finish(command.arg("--save").arg(&saved), code).stdout);
        let report = read_json(&saved);
        for run in report["devices"][0]["runs"].as_array().unwrap() {
            let peak = &run["peaks"][0];
            assert!(peak["wall_ms"].is_null() && peak["noisy"] == false, "{run}");
            assert!(peak["reason"].as_str().unwrap().contains(words), "{run}");
        }
        let rows = rows(&report);
        assert!(rows.len() == 4 && rows.iter().all(|row| row["outcome"] == "ok"), "{report}");
        let line = table.lines().find(|line| line.starts_with("(three-stream copy): "));
        assert!(line.is_some_and(|line| line.contains(words)), "{table}");
    }
    // The built-in one has no reason.
    let report = json(&vector_add(&["--count", "1000", "--variant", "serial"]).output().unwrap());
    let peak = &report["devices"][0]["runs"][0]["peaks"][0];
    assert!(peak["reason"].is_null() && !peak["wall_ms"].is_null(), "{peak}");
}

/// If no kernel is right, `auto` reports how one differs.
#[test]
fn auto_without_a_right_kernel_is_a_mismatch() {
    let kernels = changed("none", "01_scalar.cl", "a[i] + b[i];", "a[i] - b[i];");
    let vector = "vector_add/02_vector.cl";
    kernels.with(vector, edited_kernel(vector, &[("i < count", "i + 1 < count")]));
    let mut command = vector_add(&["--variant", "auto", "--count", "5000"]);
    let row = &rows(&finish_json(command.env("CLREEL_KERNELS", &kernels), 3))[0];
    assert!(row["outcome"] == "mismatch" && row["wall_ms"].is_null(), "{row}");
    assert!(row["reason"].as_str().unwrap().contains("floats differ"), "{row}");
}

/// A folder for the cache; removed when dropped.
struct Home(Folder);

impl Home {
    fn new(name: &str) -> Self {
        Self(Folder::new(&format!("ladders-{name}")))
    }

    fn cache(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.0.file("clreel/tuning.json")).unwrap()).unwrap()
    }

    fn write_cache(&self, cache: &Value) {
        self.0.with("clreel/tuning.json", cache.to_string().as_bytes());
    }

    fn tune(&self, count: &str) -> Command {
        let mut command = clreel(&["tune", "--ladder", "vector-add", "--json", "--count", count]);
        command.env("XDG_CACHE_HOME", &self.0);
        command
    }

    /// Returns the choice of `auto` for these counts, and true if it came from the cache.
    fn chosen_by_auto(&self, count: &str, change: impl FnOnce(&mut Command)) -> Vec<(String, bool)> {
        let mut command = vector_add(&["--variant", "auto", "--count", count]);
        command.env("XDG_CACHE_HOME", &self.0);
        change(&mut command);
        let output = command.output().unwrap();
        let rows = rows(&json(&output));
        assert!(rows.iter().all(|row| row["outcome"] == "ok"), "{rows:?}");
        let chosen = |row: &Value| (row["chosen"].as_str().unwrap().to_owned(), row["tuned"] == true);
        rows.iter().map(chosen).collect()
    }
}

#[test]
fn auto_uses_the_configuration_that_tune_stored_for_the_class() {
    let home = Home::new("tuned");
    let report = finish_json(home.tune("5000"), 0);
    assert_eq!((&report["schema"], &report["ladder"]), (&2.into(), &"vector_add".into()));
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    let [run] = runs.as_slice() else { panic!("{report}") };
    assert_eq!((&run["case"]["count"], &run["class"]), (&5000.into(), &"small".into()));
    let peak = &run["peaks"][0];
    assert_eq!((&peak["id"], &peak["device_ms"]["n"]), (&"three-stream copy".into(), &40.into()));
    let trials = trials(&report);
    let ms = |trial: &Value| trial["trial"]["ms"].as_f64();
    for trial in &trials {
        let timed = ["ok", "finalist", "kept"].iter().any(|status| has_status(trial, status));
        let has_share = trial["trial"]["percent_of_peak"].is_number();
        assert_eq!((timed, timed), (ms(trial).is_some(), has_share), "{trial}");
    }
    let finalists: Vec<_> =
        trials.iter().filter(|t| ["finalist", "kept"].iter().any(|status| has_status(t, status))).collect();
    let has = |id: &str| finalists.iter().any(|trial| trial["id"] == id);
    assert!(has("scalar") && has("vector"), "one of each variant that has kernels: {finalists:?}");
    let kept: Vec<_> = trials.iter().filter(|trial| has_status(trial, "kept")).collect();
    let [best] = kept.as_slice() else { panic!("{kept:?}") };
    let choice = run["remark"].as_str().unwrap();
    assert!(choice.contains("is kept") && choice.starts_with(best["id"].as_str().unwrap()), "{choice}");
    let wanted = format!("{} {}", best["id"].as_str().unwrap(), best["configuration"].as_str().unwrap());
    for entry in home.cache()["entries"].as_array().unwrap() {
        assert_eq!((&entry["ladder"], &entry["class"]), (&"vector_add".into(), &"small".into()), "{entry}");
    }
    let auto = home.chosen_by_auto("4000,100000", |_| {});
    assert_eq!(auto[0], (wanted, true));
    assert!(!auto[1].1, "nothing was tuned for this class");
    // The table has it in words.
    let table = |count: &str| {
        let mut command = clreel(&["bench", "--ladder", "vector-add", "--frames", "1", "--variant", "auto"]);
        text(&finish(command.args(["--count", count]).env("XDG_CACHE_HOME", &home.0), 0).stdout)
    };
    let words = "auto: parameters found by `clreel tune`";
    assert!(table("4000").contains(words) && !table("100000").contains("found by `clreel tune`"));
}

/// Two cases of one class: the later one is stored, with a message.
#[test]
fn tune_reports_a_case_that_replaces_another_of_its_class() {
    let home = Home::new("twice");
    let replaced = |counts: &str| {
        let output = finish(home.tune(counts), 0);
        let stderr = String::from_utf8_lossy(&output.stderr);
        stderr.contains("result at 2000 floats replaces the one at 1000 floats")
    };
    assert!(replaced("1000,2000") && !replaced("2000") && !replaced("1000,70000"));
}

/// An entry that does not match is not used: `auto` tunes as if there were none.
#[test]
fn an_entry_for_another_kernel_driver_or_ladder_is_not_used() {
    let home = Home::new("planted");
    home.tune("1000").output().unwrap();
    let mut whole = home.cache();
    let entries = whole["entries"].as_array_mut().unwrap();
    entries.retain(|entry| entry["variant"] == "scalar");
    assert_eq!(entries.len(), 1);
    // No search would choose this one.
    entries[0]["params"] = serde_json::json!([["GROUP", 64]]);
    entries[0]["ms"] = 1e-4.into();
    home.write_cache(&whole);
    assert_eq!(home.chosen_by_auto("1000", |_| {}), [("scalar GROUP=64".to_owned(), true)]);
    // An impossible time.
    let mut impossible = whole.clone();
    impossible["entries"][0]["ms"] = 1e-6.into();
    home.write_cache(&impossible);
    assert!(!home.chosen_by_auto("1000", |_| {})[0].1, "it is not used");
    home.write_cache(&whole);
    // Another text of the kernel.
    let kernels = changed("commented", "01_scalar.cl", "if (i < count)", "/* anew */ if (i < count)");
    let changed = |command: &mut Command| {
        command.env("CLREEL_KERNELS", &kernels);
    };
    assert!(!home.chosen_by_auto("1000", changed)[0].1);
    // The unit tests in crates/ladder/src/cache.rs cover all other fields.
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 3] = [
        ("of another ladder", |entry| entry["ladder"] = "matmul".into()),
        ("of another driver", |entry| entry["driver"] = "another".into()),
        ("a group that no search tries", |entry| entry["params"][0][1] = 3.into()),
    ];
    for (what, change) in changes {
        let mut changed = whole.clone();
        change(&mut changed["entries"][0]);
        home.write_cache(&changed);
        assert!(!home.chosen_by_auto("1000", |_| {})[0].1, "{what}");
    }
    home.write_cache(&whole);
    assert!(home.chosen_by_auto("1000", |_| {})[0].1, "it was the changes");
}

#[test]
fn tune_neither_times_nor_stores_wrong_kernels() {
    let timed = "a[i] + b[i] + (count == 70001 && i == 70000 ? 1.0f : 0.0f);";
    for (count, from, to, words) in [
        ("1000", "a[i] + b[i];", "a[i] - b[i];", "floats differ"),
        ("1000", "if (i < count)", "if (i <= count)", "outside the output"),
        // A fault at the timed size only.
        ("70001", "a[i] + b[i];", timed, "as it is timed"),
    ] {
        let (home, kernels) = (Home::new("wrong"), changed("tune-wrong", "01_scalar.cl", from, to));
        // A slow run of some microseconds may be given up as hopeless, and results of runs that are not timed are not
        // compared.
        let mut tries = (0..5).map(|_| home.tune(count).env("CLREEL_KERNELS", &kernels).output().unwrap());
        let output = tries.find(|output| output.status.code() != Some(0)).expect("a mismatch");
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        let trials = trials(&json(&output));
        let scalar = trials.iter().filter(|trial| trial["id"] == "scalar");
        for trial in scalar.filter(|trial| words != "as it is timed" || !has_status(trial, "abandoned")) {
            assert!(has_status(trial, "mismatch") && trial["trial"]["ms"].is_null(), "{trial}");
            assert!(trial["reason"].as_str().unwrap().contains(words), "{trial}");
        }
        assert_eq!(trials.iter().filter(|trial| has_status(trial, "kept")).count(), 1);
        let cache = home.cache();
        let kept: Vec<_> = cache["entries"].as_array().unwrap().iter().map(|e| &e["variant"]).collect();
        assert_eq!(kept, ["vector"]);
    }
}

/// Kernels that crash are tried once, not with every configuration. A peak kernel that cannot run gives a message, and its own
/// numbers are missing.
#[test]
fn tune_skips_a_variant_that_crashes_and_continues_without_a_broken_peak_kernel() {
    let home = Home::new("crash");
    let (from, to) = ("if (i < count)", "sum[(size_t)1 << 40] = 1.0f;\n    if (i < count)");
    let kernels = changed("tune-crash", "01_scalar.cl", from, to);
    let limit = "vector_add/limit.cl";
    kernels.with(limit, edited_kernel(limit, &[("__kernel", "__kernel nonsense")]));
    let output = finish(home.tune("1000").env("CLREEL_KERNELS", &kernels), 0);
    let stderr = text(&output.stderr);
    assert!(stderr.contains(limit), "{stderr}");
    let report = json(&output);
    assert!(report["devices"][0]["runs"][0]["peaks"][0]["wall_ms"].is_null(), "{report}");
    let trials = trials(&report);
    let of = |id: &'static str| trials.iter().filter(move |trial| trial["id"] == id);
    let scalar: Vec<_> = of("scalar").collect();
    assert_eq!(scalar.len(), 1);
    assert!(has_status(scalar[0], "failed"), "{}", scalar[0]);
    assert!(scalar[0]["reason"].as_str().unwrap().contains("crashed in the sandbox"), "{}", scalar[0]);
    let kept = of("vector").find(|trial| has_status(trial, "kept")).expect("a kept one");
    let of_it = &kept["trial"];
    assert!(of_it["ms"].is_number() && of_it["percent_of_peak"].is_null(), "{kept}");
}
