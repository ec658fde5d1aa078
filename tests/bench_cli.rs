//! The output, JSON and exit codes of `clreel bench` and `clreel devices`. Needs an OpenCL device, and fails
//! without one.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use crate::common::reports::{clreel, has_status, rows, trials};
use crate::common::*;
use box_filter::VariantId;

/// Returns the command of a benchmark without checks of conversions, which have tests of their own: `tests/conversions.rs`.
fn bench(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--conversions=none"]);
    command.args(args);
    command
}

const SMALL: [&str; 7] = ["--size", "70x50", "--frames", "2", "--radius", "3", "--json"];

/// The start of the first kernel of `flat`.
const BEGINS: &str = "int rows)\n{";

/// Runs `bench` with a modified kernel file of `flat`; requires this exit code, and returns the rows and stderr.
fn bench_flat(variants: &str, edits: &[(&str, &str)], code: i32) -> (Vec<Value>, String) {
    let kernels = edited_kernels("bench", "box_filter/03_flat.cl", edits);
    let output = finish(bench(&SMALL).args(["--variant", variants]).env("CLREEL_KERNELS", &kernels), code);
    (rows(&json(&output)), text(&output.stderr))
}

fn assert_series(series: &Value, n: u64) {
    for fields in [&["min", "p50", "p95", "p99", "max"][..], &["min", "p50_low", "p50", "p50_high", "max"]] {
        let values: Vec<f64> = fields.iter().map(|f| series[f].as_f64().unwrap()).collect();
        assert!(values.is_sorted() && values[0] >= 0.0, "{series}");
    }
    assert_eq!(series["n"].as_u64(), Some(n), "{series}");
    assert_eq!(series.as_object().unwrap().len(), 8, "{series}");
}

#[test]
fn json_has_every_variant_checked_and_timed() {
    let args = ["--size", "101x67", "--frames", "3", "--radius", "0,5", "--whole-frames", "--json"];
    let report = finish_json(bench(&args), 0);
    let all = report["devices"][0]["runs"].as_array().unwrap();
    let of = |key: &'static str| all.iter().filter(move |run| !run["case"][key].is_null());
    let whole: Vec<&Value> = of("whole_frames").flat_map(|run| run["variants"].as_array().unwrap()).collect();
    assert_eq!(whole.len(), 2 * (VariantId::all().count() - 1), "each variant at each radius");
    for row in whole {
        assert!(row["outcome"] == "ok" && row["reason"].is_null(), "{row}");
        assert_series(&row["wall_ms"], 3);
        let median = |stage: &str| row["stages_ms"][stage]["p50"].as_f64();
        // Not every OpenGL driver has timer queries.
        assert!(row["id"] == "glsl" || median("filter") > Some(0.0), "{row}");
        assert!(median("filter").unwrap_or(0.0) <= row["wall_ms"]["max"].as_f64().unwrap(), "{row}");
        assert!(median("convert") > Some(0.0), "{row}");
    }
    assert_eq!((&report["schema"], &report["ladder"]), (&2.into(), &"box_filter".into()));
    for (key, value) in [("width", 101), ("height", 67), ("frames", 3)] {
        assert_eq!(report["input"][key], value, "{key}");
    }
    let device = &report["devices"][0];
    for field in ["name", "platform", "version", "driver", "sharing", "sharing_reason"] {
        assert!(device[field].as_str().is_some_and(|s| !s.is_empty()), "{field} in {device}");
    }
    assert!(["cpu", "gpu", "accelerator"].contains(&device["type"].as_str().unwrap()));
    let runs: Vec<&Value> = of("radius").filter(|run| run["case"]["whole_frames"].is_null()).collect();
    assert_eq!(runs.iter().map(|r| r["case"]["radius"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 5]);
    for run in runs {
        let peaks = run["peaks"].as_array().unwrap();
        assert_eq!(peaks.iter().map(|peak| &peak["id"]).collect::<Vec<_>>(), ["copy", "copy of planes"]);
        for peak in peaks {
            assert_series(&peak["device_ms"], 3);
            assert!(peak["noisy"].as_str().is_some_and(|why| why.starts_with("Only 3 runs")), "{peak}");
        }
        let variants = run["variants"].as_array().unwrap();
        let ids: Vec<_> = variants.iter().map(|v| v["id"].as_str().unwrap()).collect();
        let filters = VariantId::all().filter(|id| *id != VariantId::OFF);
        assert_eq!(ids, filters.map(|id| id.name).collect::<Vec<_>>());
        for variant in variants {
            let id = variant["id"].as_str().unwrap();
            let kind = if matches!(id, "glsl" | "native") { id } else { "opencl" };
            assert_eq!((&variant["outcome"], &variant["kind"]), (&"ok".into(), &kind.into()), "{variant}");
            assert_eq!((&variant["reason"], &variant["max_error"]), (&Value::Null, &0.0.into()), "{variant}");
            let checked = &variant["checked"];
            let through = checked.as_array().unwrap().last().unwrap();
            assert_eq!(through["ways"][0], "through the engine", "{checked}");
            assert!(checked[0]["timed"] == true && checked[0]["sizes"][0] == "101x67", "{checked}");
            assert!(checked.as_array().is_some_and(|all| all.len() > 1), "{checked}");
            assert_series(&variant["wall_ms"], 3);
            assert!(variant["noisy"].as_str().is_some_and(|why| why.starts_with("Only 3 runs")), "{variant}");
            for clock in ["device_ms", "dispatch_ms"] {
                match (kind, clock) {
                    ("native", _) | ("glsl", "dispatch_ms") => assert!(variant[clock].is_null(), "{variant}"),
                    // Not every OpenGL driver has timer queries, nor do these always give a result.
                    ("glsl", _) if variant[clock].is_null() => {}
                    _ => assert_series(&variant[clock], 3),
                }
            }
        }
    }
}

#[test]
fn only_the_table_goes_to_stdout() {
    let args = ["--size", "64x48", "--frames", "1", "--radius", "2", "--variant", "naive,flat"];
    let output = finish(bench(&args), 0);
    let table = text(&output.stdout);
    let checked = "timed output: the movie at 64x48";
    let through = "the movie at 64x48 (through the engine)";
    let words = ["naive", "flat", "(copy)", "p50", "fps", "64×48", "radius 2", "checked, every byte: naive"];
    for word in words.into_iter().chain([checked, through]) {
        assert!(table.contains(word), "{word} in {table}");
    }
    assert!(!table.contains("vectorized"), "{table}");
    // No progress if stderr is no terminal; one sentence on the noise of a single round.
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("clreel: 3 of 3 rows are noisy: ") && stderr.lines().count() == 1, "{stderr}");
    assert!(stderr.contains(" ran only 1 time."), "{stderr}");
    assert!(table.contains(" ~") && table.contains("~ noisy: (copy), naive, flat: Only 1 run"), "{table}");
}

/// Keeps some processors busy, by threads of this process, until the result is dropped.
fn load_processors() -> Arc<()> {
    let busy = Arc::new(());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    for _ in 0..3.max(cores / 2) {
        let busy = Arc::downgrade(&busy);
        std::thread::spawn(move || while busy.strong_count() > 0 {});
    }
    busy
}

#[test]
fn load_from_other_processes_marks_rows_noisy_and_rounds_times() {
    let busy = load_processors();
    let args = ["--size", "320x180", "--frames", "9", "--radius", "2", "--variant", "flat,fused"];
    let output = finish(bench(&args).arg("--json"), 0);
    let run = &json(&output)["devices"][0]["runs"][0];
    for noisy in [&run["peaks"][0]["noisy"], &run["variants"][0]["noisy"], &run["variants"][1]["noisy"]] {
        let why = noisy.as_str().unwrap_or_default().to_lowercase();
        assert!(why.contains("other processes used"), "{run}");
    }
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("rows are noisy").count(), 1, "{stderr}");
    assert!(stderr.contains("other processes used up to "), "{stderr}");
    let table = text(&finish(bench(&args), 0).stdout);
    drop(busy);
    // No number except the count has more than two significant digits.
    for row in table.lines().filter(|line| line.contains(" flat ") || line.contains(" fused ")) {
        let numbers: Vec<&str> = row.split_whitespace().filter(|word| word.starts_with('~')).collect();
        assert_eq!(numbers.len(), 6, "{row}");
        for number in numbers {
            let digits = number.chars().filter(char::is_ascii_digit).collect::<String>();
            let digits = digits.trim_start_matches('0').trim_end_matches('0');
            assert!(digits.len() <= 2, "{number} in {row}");
        }
    }
    assert!(table.contains("~ noisy: "), "{table}");
}

#[test]
fn ctrl_c_prints_the_finished_rows() {
    let args = ["--size", "64x48", "--frames", "4000000000", "--radius", "1,2", "--variant", "flat,fused"];
    let endless = |more: &[&str]| {
        let mut command = bench(&args);
        command.args(more);
        command
    };
    let has = |output: &Output, word: &str| text(&output.stdout).contains(word);
    let output = interrupt(|| endless(&["--json"]), libc::SIGINT, |output| has(output, "wall_ms"));
    let report = json(&output);
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "the other radius has not begun");
    for variant in runs[0]["variants"].as_array().unwrap() {
        assert_eq!(variant["outcome"], "ok");
        assert!(variant["device_ms"]["n"].as_u64().is_some_and(|n| n > 0), "{variant}");
    }
    let sentence = report["interrupted"].as_str().unwrap();
    for part in ["interrupted", "Missing: all variants at r=2.", " of 4000000000 rounds at r=1."] {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert!(text(&output.stderr).contains(sentence), "{}", text(&output.stderr));

    let output = interrupt(|| endless(&[]), libc::SIGTERM, |output| has(output, "fused"));
    assert!(text(&output.stderr).contains("Missing: all variants at r=2."), "{}", text(&output.stderr));
}

#[test]
fn ctrl_c_during_tune_prints_finished_trials_and_keeps_finished_searches() {
    let home = Folder::new("cache-interrupted");
    let mut command = clreel(&["tune", "--size", "160x90,320x180", "--json"]);
    command.env("XDG_CACHE_HOME", &home);
    let mut child = spawn_interruptible(command, libc::SIGINT);
    // The result of the first search is stored when it ends, and the second search takes longer than that.
    while !home.file("clreel/tuning.json").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended without anything that is kept");
        std::thread::sleep(Duration::from_millis(10));
    }
    send_signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGINT), "{}", text(&output.stderr));
    let report = json(&output);
    assert!(trials(&report).iter().any(|trial| has_status(trial, "kept")), "{report}");
    assert!(report["interrupted"].as_str().unwrap().contains("searches are complete and saved."));
    assert!(home.file("clreel/tuning.json").exists(), "the finished search is in the cache");
}

/// A faulty kernel fails its own variant only, with the reason. Kernels that only print or warn are timed.
#[test]
fn a_faulty_kernel_has_no_times_and_others_are_timed_all_the_same() {
    let (rows, _) = bench_flat("flat,vectorized", &[("i <= radius", "i < radius")], 3);
    assert_eq!((&rows[0]["outcome"], &rows[1]["outcome"]), (&"mismatch".into(), &"ok".into()));
    assert!(rows[0]["max_error"].as_f64() > Some(0.0), "{}", rows[0]);
    assert!(rows[0]["reason"].as_str().unwrap().contains("differ"), "{}", rows[0]);
    for clock in ["device_ms", "dispatch_ms", "wall_ms"] {
        assert_eq!(rows[0][clock], Value::Null);
    }
    let local = format!("{BEGINS} local volatile int huge[4000000]; huge[get_local_id(0)] = 1;");
    let bytes = "16000000 bytes for each work-group; the device has ";
    for (from, to, parts) in [
        ("int4 sum = 0;", "int4 sum = nought;", ["03_flat.cl", "nought"]),
        ("int rows)", "float rows)", ["float", ""]),
        (BEGINS, &local, ["needs more local memory than the device has", bytes]),
    ] {
        let (rows, _) = bench_flat("flat,running-sum", &[(from, to)], 1);
        assert_eq!((&rows[0]["outcome"], &rows[1]["outcome"]), (&"failed".into(), &"ok".into()));
        let reason = rows[0]["reason"].as_str().unwrap();
        assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
        assert!(!reason.contains("outside their memory"), "{reason}");
    }
    let (_, stderr) =
        bench_flat("flat,fused", &[("// Box filter", "#warning look at this\n// Box filter")], 0);
    assert_eq!(stderr.matches("The compiler warns").count(), 1, "{stderr}");
    assert!(stderr.contains("box_filter/03_flat.cl:1:2: look at this"), "{stderr}");
}

#[test]
fn a_missing_folder_of_kernels_is_an_error_before_anything_is_measured() {
    for command in ["bench", "tune"] {
        let output = finish(clreel(&[command, "--kernels", "/nonexistent"]), 1);
        let stderr = text(&output.stderr);
        assert!(output.stdout.is_empty(), "{command}");
        assert!(stderr.contains("The kernels in /nonexistent cannot be read."), "{stderr}");
    }
}

#[test]
fn devices_are_listed_and_can_be_selected_by_index() {
    let list = finish_json(clreel(&["devices", "--json"]), 0);
    let devices = list["devices"].as_array().unwrap();
    assert!(!devices.is_empty(), "these tests need an OpenCL device");
    for (index, device) in devices.iter().enumerate() {
        assert_eq!(device["index"].as_u64(), Some(index as u64));
        for field in ["units", "clock_mhz", "global_memory_bytes", "max_allocation_bytes", "image_support"] {
            assert!(!device[field].is_null(), "{field} in {device}");
        }
        assert!(device["extensions"].is_array() && device.get("runs").is_none());
    }
    let name = devices[0]["name"].as_str().unwrap();
    assert!(text(&finish(clreel(&["devices"]), 0).stdout).contains(name));
    let args = ["--device", "0", "--size", "32x32", "--frames", "1", "--variant", "flat", "--json"];
    assert_eq!(finish_json(bench(&args), 0)["devices"][0]["name"].as_str(), Some(name));
}

#[test]
fn variants_without_opencl_are_timed_without_a_driver() {
    let run = |variants: &str, more: &[&str], code: i32| {
        let mut command =
            bench(&["--size", "64x48", "--frames", "2", "--radius", "3", "--variant", variants]);
        finish(command.args(more).env("OCL_ICD_VENDORS", "/nowhere"), code)
    };
    let report = json(&run("native,glsl", &["--json", "--native"], 0));
    assert_eq!(report["devices"].as_array().map(Vec::len), Some(1));
    let (device, of_device) = (&report["devices"][0], &report["devices"][0]["runs"][0]);
    assert!(device["name"].is_null() && of_device["peaks"][0]["wall_ms"].is_null(), "{device}");
    for (variant, id) in of_device["variants"].as_array().unwrap().iter().zip(["native", "glsl"]) {
        assert_eq!((&variant["id"], &variant["outcome"]), (&id.into(), &"ok".into()), "{variant}");
        assert_series(&variant["wall_ms"], 2);
    }
    let is_native = |row: &&Value| row["implementation"]["threads"].is_u64();
    assert!(of_device["variants"].as_array().unwrap().iter().any(|row| is_native(&row)), "{of_device}");
    let table = text(&run("native", &[], 0).stdout);
    assert!(table.contains("without OpenCL") && !table.contains("(copy)"), "{table}");
    // A variant that needs a device, or an explicit device, is an error.
    for (variants, more) in
        [("native,flat", &[][..]), ("native", &["--device", "gpu"]), ("native", &["--device", "all"])]
    {
        let stderr = text(&run(variants, more, 1).stderr);
        assert!(stderr.contains("pocl-opencl-icd"), "{stderr}");
    }
}

/// Runs a command whose cache is in this folder.
fn run_in(folder: &Folder, mut command: Command) -> Output {
    finish(command.env("XDG_CACHE_HOME", folder), 0)
}

/// A damaged cache is ignored with one warning, and replaced by the results of `tune`.
#[test]
fn auto_uses_the_tuned_configuration_also_after_a_damaged_cache() {
    let home = Folder::new("cache-tune");
    home.with("clreel/tuning.json", b"{\"schema\":1,\"entries\":[{");
    let args = ["--size", "170x80", "--frames", "1", "--variant", "auto", "--json", "--radius", "4,16"];
    let warning = text(&run_in(&home, bench(&args)).stderr);
    assert_eq!(warning.matches("is ignored").count(), 1, "{warning}");
    let tuned = json(&run_in(&home, clreel(&["tune", "--size", "160x90", "--radius", "5", "--json"])));
    let case = &tuned["devices"][0]["runs"][0]["case"];
    assert_eq!((case["width"].as_u64(), case["radius"].as_u64()), (Some(160), Some(5)));
    let trials = trials(&tuned);
    let best = trials.iter().find(|trial| has_status(trial, "kept")).expect("a kept one");
    let is_timed = |trial: &Value| ["ok", "finalist", "kept"].iter().any(|status| has_status(trial, status));
    assert!(trials.iter().all(|trial| trial["trial"]["ms"].is_null() != is_timed(trial)));
    let wanted = format!("{} {}", best["id"].as_str().unwrap(), best["configuration"].as_str().unwrap());

    let output = run_in(&home, bench(&args));
    let (report, stderr) = (json(&output), text(&output.stderr));
    assert!(stderr.lines().all(|line| line.contains("rows are noisy")), "{stderr}");
    let chosen = |n: usize| report["devices"][0]["runs"][n]["variants"][0]["chosen"].as_str().unwrap();
    assert_eq!(chosen(0), wanted, "a radius of the same range");
    assert!(chosen(1).starts_with("fused "), "nothing was tuned for this one: {}", chosen(1));
}

#[test]
fn what_kernels_print_is_on_stderr_and_stdout_has_results_only() {
    let print = "if (get_global_id(0) + get_global_id(1) == 0) printf(\"printed by a kernel\\n\");";
    let (rows, stderr) = bench_flat("flat", &[(BEGINS, &format!("{BEGINS} {print}"))], 0);
    assert_eq!(rows[0]["outcome"], "ok");
    assert!(stderr.contains("\nprinted by a kernel\n"), "{stderr}");
    // Files of results may be named by what was the standard output.
    let output = finish(bench(&SMALL[..6]).args(["--variant", "native", "--chart", "/dev/stdout"]), 0);
    assert!(text(&output.stdout).contains("<svg"), "{}", text(&output.stderr));
}

#[test]
fn kernels_with_a_byte_order_mark_or_in_latin1_compile() {
    let kernels = Folder::new("bench-latin1");
    kernels.with("box_filter/03_flat.cl", format!("\u{feff}{}", kernel("box_filter/03_flat.cl")));
    let mean = [&b"\xef\xbb\xbf// caf\xe9\n"[..], kernel("common/mean.clh").as_bytes()].concat();
    let utf16: Vec<u8> = "// two bytes".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let run = |code: i32| {
        finish_json(bench(&SMALL).args(["--variant", "flat"]).env("CLREEL_KERNELS", &kernels), code)
    };
    kernels.with("common/mean.clh", mean);
    run(0);
    kernels.with("common/mean.clh", utf16);
    let reason = rows(&run(1))[0]["reason"].to_string();
    assert!(reason.contains("03_flat.cl:") && reason.contains("it is in UTF-16"), "{reason}");
}
