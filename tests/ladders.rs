//! Ladders that filter no pictures, by `bench --ladder NAME`: every rung is right at odd and small cases, faults that are
//! planted in kernels are caught, what `tune` finds is kept and used, and what is asked wrongly is said. Needs an OpenCL device, and fails without one.

use std::path::PathBuf;
use std::process::Command;

use ladder::contest::Ladder;
use ladders::transpose::Transpose;
use ladders::vector_add::VectorAdd;
use serde_json::Value;

use crate::common::ladder::{Kernels as Changed, clreel, json, rows};

fn vector_add(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--ladder", "vector-add", "--frames", "2", "--json"]);
    command.args(args);
    command
}

#[test]
fn every_rung_is_right_and_timed() {
    let output = vector_add(&["--count", "1,65537"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!((&report["schema"], &report["ladder"]), (&Value::from(1), &Value::from("vector_add")));
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    let counts: Vec<u64> = runs.iter().map(|run| run["case"]["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 65_537]);
    let ids: Vec<&str> = VectorAdd.rungs().iter().map(|rung| rung.id).collect();
    for run in runs {
        assert_eq!((&run["limit"], &run["limit_ms"]["n"]), (&"three-stream copy".into(), &2.into()));
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
            let wanted = VectorAdd.title(&u32::try_from(run["case"]["count"].as_u64().unwrap()).unwrap());
            assert_eq!(checked.iter().find(timed).unwrap()["sizes"][0], wanted.as_str(), "{row}");
            assert!(checked.iter().any(|entry| entry["timed"] == false && entry["pictures"][3] == "huge"));
        }
    }
}

/// Numbers at odd and thin sizes, and the question that the three mappings answer; none where one of them is wrong.
#[test]
fn the_three_mappings_are_right_and_bench_says_which_and_why() {
    // All but the rung that takes the fastest of them.
    let rungs = Transpose.rungs().iter().map(|rung| rung.id).filter(|id| *id != "auto");
    let rungs: Vec<&str> = rungs.collect();
    let measured = rungs.join(",");
    let transpose = |kernels: Option<&Changed>, args: &[&str]| {
        let mut command = clreel(&["bench", "--ladder", "transpose", "--frames", "2", "--json"]);
        command.args(["--variant", &measured]).args(args);
        command.envs(kernels.map(|kernels| ("CLREEL_KERNELS", &kernels.0)));
        command.output().unwrap()
    };
    let output = transpose(None, &["--mn", "257,300", "--mn", "1,64"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!(report["ladder"], "transpose");
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    let sizes: Vec<_> =
        runs.iter().map(|run| (run["case"]["m"].as_u64(), run["case"]["n"].as_u64())).collect();
    assert_eq!(sizes, [(Some(257), Some(300)), (Some(1), Some(64))]);
    for run in runs {
        assert_eq!((&run["limit"], &run["limit_ms"]["n"]), (&"copy".into(), &2.into()));
        let rows = run["variants"].as_array().unwrap();
        assert_eq!(rows.len(), rungs.len());
        assert!(rows.iter().all(|row| row["outcome"] == "ok" && row["max_error"] == 0.0), "{run}");
        let remark = run["remark"].as_str().unwrap_or_default();
        assert!(remark.starts_with("Which mapping: ") && remark.contains("Probable cause: "), "{run}");
    }
    let at = "transposed[column * m + row]";
    let wrong =
        Changed::with("mapping", "transpose", "02_column_linear.cl", at, "transposed[row * n + column]");
    let output = transpose(Some(&wrong), &["--mn", "257,300"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    for row in rows(&report) {
        let outcome = if row["id"] == "column-linear" { "mismatch" } else { "ok" };
        assert_eq!(row["outcome"], outcome, "{row}");
    }
    assert!(report["devices"][0]["runs"][0]["remark"].is_null(), "{report}");
}

/// As the window's Lab starts it: it tells each step, begins none without leave, and ends with who started it.
#[test]
fn bench_begins_no_step_without_leave_where_the_window_has_started_it() {
    use std::io::Write as _;
    use std::process::Stdio;
    let told = |leave: usize| {
        let mut command = clreel(&["bench", "--live", "--ladder", "vector-add", "--count", "1000"]);
        command
            .args(["--variant", "serial,threads", "--frames", "2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all("\n".repeat(leave).as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let steps = text.lines().filter_map(|line| line.strip_prefix("clreel-driver-answer:"));
        let steps: Vec<Value> = steps.map(|step| serde_json::from_str(step).unwrap()).collect();
        (output.status.code(), steps)
    };
    let (code, steps) = told(1);
    let next: Vec<&str> = steps.iter().map(|step| step["next"].as_str().unwrap()).collect();
    assert_eq!((code, next.len()), (Some(1), 2), "{next:?}");
    assert!(next[0].starts_with("checking serial") && next[1].starts_with("checking threads"), "{next:?}");
    let (code, steps) = told(4);
    assert_eq!(code, Some(0));
    let last = steps.last().unwrap();
    assert_eq!(
        (steps.len(), &last["next"], &last["done"], &last["steps"]),
        (5, &Value::Null, &4.into(), &4.into())
    );
    let known =
        |step: &Value| rows(&step["results"]).iter().filter(|row| row["wall_ms"]["n"].is_u64()).count();
    assert!(
        steps[..3]
            .iter()
            .all(|step| step["results"]["devices"][0]["runs"] == Value::from(Vec::<Value>::new()))
    );
    assert_eq!((known(&steps[3]), known(last)), (2, 2), "after the first round, and at the end");
}

#[test]
fn without_opencl_the_threads_are_timed_and_the_rest_says_why() {
    let without = |args: &[&str]| vector_add(args).env("OCL_ICD_VENDORS", "/nowhere").output().unwrap();
    let output = without(&["--variant", "serial,threads-vectors", "--count", "1000"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert!(report["devices"][0]["runs"][0]["limit_ms"].is_null());
    assert!(rows(&report).iter().all(|row| row["outcome"] == "ok"), "{report}");
    let output = without(&["--count", "1000"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("There is no OpenCL device"));
}

#[test]
fn what_belongs_to_another_ladder_is_refused() {
    for (args, word) in [
        (&["bench", "--ladder", "vector-add", "--radius", "3"][..], "--radius"),
        (&["bench", "--ladder", "vector-add", "--size", "64x64"], "--size"),
        (&["bench", "--ladder", "vector-add", "movie.mp4"], "FILE"),
        (&["bench", "--ladder", "vector-add", "--allow-references"], "--allow-references"),
        // Also with the value that it has without being asked.
        (&["bench", "--ladder", "vector-add", "--radius", "7"], "--radius"),
        (&["bench", "--ladder", "vector-add", "--conversions", "all"], "--conversions"),
        (&["bench", "--ladder", "vector-add", "--variant", "naive"], "'naive'"),
        (&["bench", "--ladder", "vector-add", "--count", "0"], "--count"),
        (&["bench", "--ladder", "no-such"], "no-such"),
        (&["bench", "--count", "7"], "--count"),
        (&["bench", "--variant", "scalar"], "'scalar'"),
        (&["tune", "--ladder", "vector-add", "--radius", "3"], "--radius"),
        (&["tune", "--ladder", "vector-add", "--size", "64x64"], "--size"),
        (&["tune", "--ladder", "vector-add", "--count", "1073741825"], "--count"),
        (&["tune", "--count", "7"], "--count"),
    ] {
        let output = clreel(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

/// Kernels of vector addition, one of them changed.
struct Kernels;

impl Kernels {
    fn with(name: &str, file: &str, from: &str, to: &str) -> Changed {
        Changed::with(name, "vector_add", file, from, to)
    }
}

/// Each fault costs its own rung alone; `auto` does not choose it.
#[test]
fn a_planted_fault_is_caught_and_named() {
    for (n, (file, from, to, id, words)) in [
        ("01_scalar.cl", "if (i < count)", "if (i <= count)", "scalar", "outside the output"),
        ("01_scalar.cl", "if (i < count)", "if (i + 1 < count)", "scalar", "never written"),
        ("01_scalar.cl", "a[i] + b[i];", "a[i] - b[i];", "scalar", "floats differ"),
        (
            "01_scalar.cl",
            "a[i] + b[i];",
            "a[i] + b[i]; ((__global float *)a)[i] = 0;",
            "scalar",
            "of the source",
        ),
        ("02_vector.cl", "i < count", "i + 1 < count", "vector", "never written"),
        ("02_vector.cl", "as[v] + bs[v]", "as[v] + bs[v] * (v == 7 ? 0 : 1)", "vector", "floats differ"),
        ("02_vector.cl", "v == whole", "v == whole && whole > 0", "vector", "never written"),
        ("02_vector.cl", "v < whole", "v < whole + 1", "vector", "outside the output"),
    ]
    .into_iter()
    .enumerate()
    {
        let kernels = Kernels::with(&n.to_string(), file, from, to);
        let output = vector_add(&["--variant", &format!("{id},auto"), "--count", "5000"])
            .env("CLREEL_KERNELS", &kernels.0)
            .output()
            .unwrap();
        let report = json(&output);
        let rows = rows(&report);
        assert_eq!(
            (output.status.code(), &rows[0]["outcome"]),
            (Some(3), &"mismatch".into()),
            "{to}: {report}"
        );
        let reason = rows[0]["reason"].as_str().unwrap();
        assert!(reason.contains(words) && rows[0]["device_ms"].is_null(), "{to}: {reason}");
        let chosen = rows[1]["chosen"].as_str().unwrap();
        assert!(rows[1]["outcome"] == "ok" && !chosen.starts_with(id), "{to}: {chosen}");
    }
}

/// Kernels that never end, or that end the process, cost their own rung a sentence, and no other anything.
#[test]
fn kernels_that_hang_or_crash_cost_a_sentence() {
    for (n, (from, to, words)) in [
        (
            "if (i < count)",
            "while (count) { sum[0] += 1.0f; if (sum[0] < 0.0f) break; }\n    if (i < count)",
            "did not end within",
        ),
        (
            "if (i < count)",
            "sum[(size_t)1 << 40] = 1.0f;\n    if (i < count)",
            "end the program that runs them",
        ),
        ("if (i < count)", "if (i <", "does not build"),
    ]
    .into_iter()
    .enumerate()
    {
        let kernels = Kernels::with(&format!("hang-{n}"), "01_scalar.cl", from, to);
        let output =
            vector_add(&["--count", "1000", "--variant", "scalar,vector,auto", "--kernel-timeout", "2"])
                .env("CLREEL_KERNELS", &kernels.0)
                .output()
                .unwrap();
        assert_eq!(output.status.code(), Some(1), "{to}: {}", String::from_utf8_lossy(&output.stderr));
        let rows = rows(&json(&output));
        let outcomes: Vec<_> = rows.iter().map(|row| row["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, ["failed", "ok", "ok"], "{to}");
        assert!(rows[0]["reason"].as_str().unwrap().contains(words), "{to}: {}", rows[0]["reason"]);
        assert!(rows[2]["chosen"].as_str().unwrap().starts_with("vector"), "{to}");
    }
}

/// A limit that hangs or does not build has no time, and says why. The rungs are timed all the same.
#[test]
fn a_changed_limit_that_fails_costs_itself_alone() {
    let name = "__kernel void three_streams(";
    for (n, (from, to, words, code)) in [
        (
            "    const uint v = get_global_id(0);",
            "    while (count) out[0] = 1;\n    const uint v = get_global_id(0);",
            "did not end within",
            1,
        ),
        (name, "__kernel void streams(", "limit.cl has no kernel 'three_streams'", 1),
        ("if (v < whole)", "if (v < whole + 1)", "outside the output", 3),
    ]
    .into_iter()
    .enumerate()
    {
        let kernels = Kernels::with(&format!("limit-{n}"), "limit.cl", from, to);
        let args = ["--count", "1000,2000", "--variant", "serial,scalar", "--kernel-timeout", "2"];
        let output = vector_add(&args).env("CLREEL_KERNELS", &kernels.0).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{to}: {}", String::from_utf8_lossy(&output.stderr));
        let report = json(&output);
        for run in report["devices"][0]["runs"].as_array().unwrap() {
            assert!(run["limit_ms"].is_null() && run["limit_noisy"] == false, "{run}");
            assert!(run["limit_reason"].as_str().unwrap().contains(words), "{run}");
        }
        let rows = rows(&report);
        assert!(rows.len() == 4 && rows.iter().all(|row| row["outcome"] == "ok"), "{report}");
        let mut table = clreel(&["bench", "--ladder", "vector-add", "--frames", "2"]);
        let output = table.args(args).env("CLREEL_KERNELS", &kernels.0).output().unwrap();
        let table = String::from_utf8_lossy(&output.stdout);
        let line = table.lines().find(|line| line.starts_with("(three-stream copy): "));
        assert!(line.is_some_and(|line| line.contains(words)), "{table}");
    }
    // As it is, it says nothing.
    let report = json(&vector_add(&["--count", "1000", "--variant", "serial"]).output().unwrap());
    let run = &report["devices"][0]["runs"][0];
    assert!(run.get("limit_reason").is_none() && !run["limit_ms"].is_null(), "{run}");
}

/// Where no kernel is right, `auto` says how one differs.
#[test]
fn auto_without_a_right_kernel_is_a_mismatch() {
    let kernels = Kernels::with("none", "01_scalar.cl", "a[i] + b[i];", "a[i] - b[i];");
    let vector = Kernels::with("none-vector", "02_vector.cl", "i < count", "i + 1 < count");
    std::fs::copy(vector.0.join("vector_add/02_vector.cl"), kernels.0.join("vector_add/02_vector.cl"))
        .unwrap();
    let mut command = vector_add(&["--variant", "auto", "--count", "5000"]);
    let output = command.env("CLREEL_KERNELS", &kernels.0).output().unwrap();
    let report = json(&output);
    assert_eq!(output.status.code(), Some(3), "{report}");
    let row = &rows(&report)[0];
    assert!(row["outcome"] == "mismatch" && row["wall_ms"].is_null(), "{row}");
    assert!(row["reason"].as_str().unwrap().contains("floats differ"), "{row}");
}

#[test]
fn fail_fast_ends_at_the_first_that_is_wrong() {
    let kernels = Kernels::with("fast", "01_scalar.cl", "a[i] + b[i];", "a[i] - b[i];");
    let report = |more: &[&str]| {
        let mut command = vector_add(&["--variant", "serial,scalar,vector", "--count", "1000,2000"]);
        let output = command.args(more).env("CLREEL_KERNELS", &kernels.0).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        rows(&json(&output)).iter().map(|row| row["outcome"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(report(&[]), ["ok", "mismatch", "ok"].repeat(2));
    assert_eq!(report(&["--fail-fast"]), ["skipped", "mismatch", "skipped"]);
}

/// What is timed is checked too: a fault that shows only there is caught.
#[test]
fn a_fault_at_the_timed_size_alone_is_caught() {
    let (from, to) = ("a[i] + b[i];", "a[i] + b[i] + (count == 70001 && i == 70000 ? 1.0f : 0.0f);");
    let kernels = Kernels::with("timed", "01_scalar.cl", from, to);
    let output = vector_add(&["--variant", "scalar", "--count", "70001"])
        .env("CLREEL_KERNELS", &kernels.0)
        .output()
        .unwrap();
    let rows = rows(&json(&output));
    assert_eq!(rows[0]["outcome"], "mismatch");
    let reason = rows[0]["reason"].as_str().unwrap();
    assert!(reason.contains("as it is timed") && reason.contains("number 70000"), "{reason}");
}

/// A folder for the cache; removed when dropped.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("clreel-ladders-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("clreel")).unwrap();
        Self(folder)
    }

    fn cache(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.0.join("clreel/tuning.json")).unwrap()).unwrap()
    }

    fn keep(&self, cache: &Value) {
        std::fs::write(self.0.join("clreel/tuning.json"), cache.to_string()).unwrap();
    }

    fn tune(&self, count: &str) -> Command {
        let mut command = clreel(&["tune", "--ladder", "vector-add", "--json", "--count", count]);
        command.env("XDG_CACHE_HOME", &self.0);
        command
    }

    /// What `auto` is for these counts, and whether tuning had found it.
    fn auto(&self, count: &str, change: impl FnOnce(&mut Command)) -> Vec<(String, bool)> {
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

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The trials of the only search.
fn trials(report: &Value) -> Vec<Value> {
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(1));
    report["runs"][0]["trials"].as_array().unwrap().clone()
}

#[test]
fn what_tune_finds_is_kept_for_its_class_and_auto_uses_it() {
    let home = Home::new("tuned");
    let output = home.tune("5000").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!((&report["schema"], &report["ladder"]), (&1.into(), &"vector_add".into()));
    let run = &report["runs"][0];
    assert_eq!((&run["case"]["count"], &run["class"]), (&5000.into(), &"small".into()));
    assert_eq!((&run["limit"], &run["limit_ms"]["n"]), (&"three-stream copy".into(), &40.into()));
    let trials = trials(&report);
    let ms = |trial: &Value| trial["ms"].as_f64();
    for trial in &trials {
        let timed = ["ok", "best"].contains(&trial["status"].as_str().unwrap());
        assert_eq!((timed, timed), (ms(trial).is_some(), trial["percent_of_limit"].is_number()), "{trial}");
    }
    let best = trials.iter().filter(|trial| trial["status"] == "best");
    assert_eq!(best.clone().count(), 2, "one of each rung that has kernels");
    let best = best.min_by(|a, b| f64::total_cmp(&ms(a).unwrap(), &ms(b).unwrap())).unwrap();
    let wanted = format!("{} {}", best["variant"].as_str().unwrap(), best["configuration"].as_str().unwrap());
    for entry in home.cache()["entries"].as_array().unwrap() {
        assert_eq!((&entry["ladder"], &entry["class"]), (&"vector_add".into(), &"small".into()), "{entry}");
    }
    let auto = home.auto("4000,100000", |_| {});
    assert_eq!(auto[0], (wanted, true));
    assert!(!auto[1].1, "nothing was tuned for this class");
    // In words, too.
    let table = |count: &str| {
        let args =
            ["bench", "--ladder", "vector-add", "--frames", "1", "--variant", "auto", "--count", count];
        let output = clreel(&args).env("XDG_CACHE_HOME", &home.0).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let words = "auto: as `clreel tune` has found it";
    assert!(table("4000").contains(words) && !table("100000").contains("as `clreel tune`"));
}

/// Two cases of one class: the later one is kept, and that is said.
#[test]
fn tune_says_when_a_case_takes_the_place_of_another() {
    let home = Home::new("twice");
    let replaced = |counts: &str| {
        let output = home.tune(counts).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        stderr.contains("found at 2000 floats is kept in the place of what was found at 1000 floats")
    };
    assert!(replaced("1000,2000") && !replaced("2000") && !replaced("1000,70000"));
}

/// What has changed since, or what nobody has tuned, is not used: `auto` searches as if nothing were there.
#[test]
fn a_cache_that_does_not_fit_is_not_used() {
    let home = Home::new("planted");
    home.tune("1000").output().unwrap();
    let mut whole = home.cache();
    let entries = whole["entries"].as_array_mut().unwrap();
    entries.retain(|entry| entry["variant"] == "scalar");
    assert_eq!(entries.len(), 1);
    // No search of its own would find this one.
    entries[0]["params"] = serde_json::json!([["GROUP", 64]]);
    entries[0]["ms"] = 1e-4.into();
    home.keep(&whole);
    assert_eq!(home.auto("1000", |_| {}), [("scalar GROUP=64".to_owned(), true)]);
    // With a time that cannot be, of a driver that reports such.
    let mut impossible = whole.clone();
    impossible["entries"][0]["ms"] = 1e-6.into();
    home.keep(&impossible);
    assert!(!home.auto("1000", |_| {})[0].1, "it is not used");
    home.keep(&whole);
    // With another text of the kernel.
    let kernels = Kernels::with("commented", "01_scalar.cl", "if (i < count)", "/* anew */ if (i < count)");
    let changed = |command: &mut Command| {
        command.env("CLREEL_KERNELS", &kernels.0);
    };
    assert!(!home.auto("1000", changed)[0].1);
    // crates/ladder/src/cache.rs goes through the rest.
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 3] = [
        ("of another ladder", |entry| entry["ladder"] = "matmul".into()),
        ("of another driver", |entry| entry["driver"] = "another".into()),
        ("a group that no search tries", |entry| entry["params"][0][1] = 3.into()),
    ];
    for (what, change) in changes {
        let mut changed = whole.clone();
        change(&mut changed["entries"][0]);
        home.keep(&changed);
        assert!(!home.auto("1000", |_| {})[0].1, "{what}");
    }
    home.keep(&whole);
    assert!(home.auto("1000", |_| {})[0].1, "it was the changes");
}

#[test]
fn tune_times_no_kernel_that_is_wrong_and_keeps_none() {
    for (n, (count, from, to, words)) in [
        ("1000", "a[i] + b[i];", "a[i] - b[i];", "floats differ"),
        ("1000", "if (i < count)", "if (i <= count)", "outside the output"),
        // At the size that is timed alone.
        (
            "70001",
            "a[i] + b[i];",
            "a[i] + b[i] + (count == 70001 && i == 70000 ? 1.0f : 0.0f);",
            "as it is timed",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (home, name) = (Home::new(&format!("wrong-{n}")), format!("tune-wrong-{n}"));
        let kernels = Kernels::with(&name, "01_scalar.cl", from, to);
        // A run of some microseconds may be held up until it looks hopeless, and nobody compares what is not timed.
        let mut tries = (0..5).map(|_| home.tune(count).env("CLREEL_KERNELS", &kernels.0).output().unwrap());
        let output = tries.find(|output| output.status.code() != Some(0)).expect("a mismatch");
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        let trials = trials(&json(&output));
        let scalar = trials.iter().filter(|trial| trial["variant"] == "scalar");
        for trial in scalar.filter(|trial| words != "as it is timed" || trial["status"] != "abandoned") {
            assert!(trial["status"] == "mismatch" && trial["ms"].is_null(), "{trial}");
            assert!(trial["reason"].as_str().unwrap().contains(words), "{trial}");
        }
        assert_eq!(trials.iter().filter(|trial| trial["status"] == "best").count(), 1);
        let cache = home.cache();
        let kept: Vec<_> = cache["entries"].as_array().unwrap().iter().map(|e| &e["variant"]).collect();
        assert_eq!(kept, ["vector"]);
    }
}

/// Kernels that crash are asked once, not with every value.
#[test]
fn tune_leaves_a_rung_that_crashes() {
    let home = Home::new("crash");
    let (from, to) = ("if (i < count)", "sum[(size_t)1 << 40] = 1.0f;\n    if (i < count)");
    let kernels = Kernels::with("tune-crash", "01_scalar.cl", from, to);
    let output = home.tune("1000").env("CLREEL_KERNELS", &kernels.0).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let trials = trials(&json(&output));
    let scalar: Vec<_> = trials.iter().filter(|trial| trial["variant"] == "scalar").collect();
    assert_eq!(scalar.len(), 1);
    assert!(scalar[0]["status"] == "failed", "{}", scalar[0]);
    assert!(scalar[0]["reason"].as_str().unwrap().contains("end the program"), "{}", scalar[0]);
    assert!(trials.iter().any(|trial| trial["variant"] == "vector" && trial["status"] == "best"));
}

/// A limit that cannot run costs a sentence and its own numbers.
#[test]
fn tune_does_without_a_limit_that_is_broken() {
    let home = Home::new("limit");
    let kernels = Kernels::with("tune-limit", "limit.cl", "__kernel", "__kernel nonsense");
    let output = home.tune("1000").env("CLREEL_KERNELS", &kernels.0).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("vector_add/limit.cl"), "{stderr}");
    let report = json(&output);
    assert!(report["runs"][0]["limit_ms"].is_null(), "{report}");
    let best: Vec<_> = trials(&report).into_iter().filter(|trial| trial["status"] == "best").collect();
    assert_eq!(best.len(), 2);
    assert!(best.iter().all(|trial| trial["ms"].is_number() && trial["percent_of_limit"].is_null()));
}
