//! The output, JSON and exit codes of `clreel bench` and `clreel devices`. Needs an OpenCL device, and fails
//! without one.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use box_filter::VariantId;
use serde_json::Value;
use testkit::movie::Folder;

use crate::common::ladder::{has_status, trials};
use crate::common::process::{COMPILED, json, send_signal, text, with_default_action};

fn clreel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.args(args).env_remove("CLREEL_KERNELS").env("POCL_CACHE_DIR", COMPILED);
    if args.first() == Some(&"bench") {
        // The checks of conversions have tests of their own: tests/conversions.rs.
        command.arg("--conversions=none");
    }
    command
}

fn run(args: &[&str]) -> Output {
    clreel(args).output().unwrap()
}

/// A folder of kernels with one modified file; removed when dropped.
struct Kernels(Folder);

impl Kernels {
    fn with(test: &str, file: &str, edit: impl FnOnce(String) -> String) -> Self {
        let original = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kernels/box_filter").join(file);
        let original = std::fs::read_to_string(original).unwrap();
        let edited = edit(original.clone());
        assert_ne!(original, edited, "the edit changed nothing");
        let folder = Folder::new(&format!("bench-{test}"));
        folder.with(&format!("box_filter/{file}"), edited.as_bytes());
        Self(folder)
    }

    fn bench(&self, variants: &str) -> Output {
        let args =
            ["bench", "--size", "70x50", "--frames", "2", "--radius", "3", "--json", "--variant", variants];
        clreel(&args).env("CLREEL_KERNELS", &self.0).output().unwrap()
    }
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
    let args = ["bench", "--size", "101x67", "--frames", "3", "--radius", "0,5", "--whole-frames", "--json"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
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
    assert_eq!(
        (report["input"]["width"].as_u64(), report["input"]["height"].as_u64()),
        (Some(101), Some(67))
    );
    assert_eq!(report["input"]["frames"], 3);
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
            assert_eq!(
                (&checked[0]["timed"], &checked[0]["sizes"][0]),
                (&true.into(), &"101x67".into()),
                "{checked}"
            );
            assert!(checked.as_array().is_some_and(|all| all.len() > 1), "{checked}");
            assert_series(&variant["wall_ms"], 3);
            assert!(variant["noisy"].as_str().is_some_and(|why| why.starts_with("Only 3 runs")), "{variant}");
            for clock in ["device_ms", "dispatch_ms"] {
                match (kind, clock) {
                    ("native", _) | ("glsl", "dispatch_ms") => {
                        assert_eq!(variant[clock], Value::Null, "{variant}")
                    }
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
    let output =
        run(&["bench", "--size", "64x48", "--frames", "1", "--radius", "2", "--variant", "naive,flat"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
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

/// Processes that keep the processors busy, killed when dropped.
struct BusyProcesses(Vec<Child>);

impl BusyProcesses {
    fn start() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..3.max(cores / 2)).map(|_| spin()).collect())
    }
}

impl Drop for BusyProcesses {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn load_from_other_processes_marks_rows_noisy_and_rounds_times() {
    let busy = BusyProcesses::start();
    let args = ["bench", "--size", "320x180", "--frames", "9", "--radius", "2", "--variant", "flat,fused"];
    let output = clreel(&args).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = &json(&output)["devices"][0]["runs"][0];
    for noisy in [&run["peaks"][0]["noisy"], &run["variants"][0]["noisy"], &run["variants"][1]["noisy"]] {
        assert!(
            noisy.as_str().is_some_and(|why| why.to_lowercase().contains("other processes used")),
            "{run}"
        );
    }
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("rows are noisy").count(), 1, "{stderr}");
    assert!(stderr.contains("other processes used up to "), "{stderr}");
    let table = text(&run_table(&args).stdout);
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

fn run_table(args: &[&str]) -> Output {
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    output
}

/// Starts clreel and sends it a signal after a delay, with longer delays until its output is `enough`.
fn bench_with_signal(args: &[&str], signal: i32, enough: impl Fn(&Output) -> bool) -> Output {
    for turn in 0..16 {
        let child = interruptible(clreel(args), signal);
        std::thread::sleep(Duration::from_millis(200).mul_f64(1.6_f64.powi(turn)));
        let output = signal_and_wait(signal, child);
        if enough(&output) {
            return output;
        }
    }
    panic!("{args:?} never got so far");
}

/// Starts clreel so that this signal ends it.
fn interruptible(mut command: Command, signal: i32) -> Child {
    with_default_action(&mut command, signal).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends the process a signal and returns its output.
fn signal_and_wait(signal: i32, child: Child) -> Output {
    send_signal(&child, signal);
    child.wait_with_output().unwrap()
}

#[test]
fn ctrl_c_prints_the_finished_rows() {
    let endless =
        ["bench", "--size", "64x48", "--frames", "4000000000", "--radius", "1,2", "--variant", "flat,fused"];
    let has_rows = |output: &Output| text(&output.stdout).contains("wall_ms");
    let output = bench_with_signal(&[&endless[..], &["--json"]].concat(), libc::SIGINT, has_rows);
    assert_eq!(output.status.signal(), Some(libc::SIGINT), "{}", text(&output.stderr));
    let report = json(&output);
    let runs = report["devices"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "the other radius has not begun");
    for variant in runs[0]["variants"].as_array().unwrap() {
        assert_eq!(variant["outcome"], "ok");
        assert!(variant["device_ms"]["n"].as_u64().is_some_and(|n| n > 0), "{variant}");
    }
    let sentence = report["interrupted"].as_str().unwrap();
    assert!(
        sentence.contains("interrupted") && sentence.contains("Missing: all variants at r=2."),
        "{sentence}"
    );
    assert!(sentence.contains(" of 4000000000 rounds at r=1."), "{sentence}");
    assert!(text(&output.stderr).contains(sentence), "{}", text(&output.stderr));

    let output = bench_with_signal(&endless, libc::SIGTERM, |output| text(&output.stdout).contains("fused"));
    assert_eq!(output.status.signal(), Some(libc::SIGTERM), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("Missing: all variants at r=2."), "{}", text(&output.stderr));
}

#[test]
fn ctrl_c_during_tune_prints_finished_trials_and_keeps_finished_searches() {
    let home = CacheHome::new("interrupted");
    let mut command = clreel(&["tune", "--size", "160x90,320x180", "--json"]);
    command.env("XDG_CACHE_HOME", &home.0);
    let mut child = interruptible(command, libc::SIGINT);
    // The result of the first search is stored when it ends, and the second search takes longer than that.
    while !home.file().exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended without anything that is kept");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = signal_and_wait(libc::SIGINT, child);
    assert_eq!(output.status.signal(), Some(libc::SIGINT), "{}", text(&output.stderr));
    let report = json(&output);
    assert!(trials(&report).iter().any(|trial| has_status(trial, "kept")), "{report}");
    assert!(report["interrupted"].as_str().unwrap().contains("searches are complete and saved."));
    assert!(home.file().exists(), "the finished search is in the cache");
}

#[test]
fn a_kernel_with_wrong_output_is_a_mismatch_without_times() {
    let kernels = Kernels::with("wrong", "03_flat.cl", |text| text.replace("i <= radius", "i < radius"));
    let output = kernels.bench("flat,vectorized");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let report = json(&output);
    let variants = &report["devices"][0]["runs"][0]["variants"];
    let flat = &variants[0];
    assert_eq!(flat["outcome"], "mismatch");
    assert!(flat["max_error"].as_f64().is_some_and(|error| error > 0.0), "{flat}");
    assert!(flat["reason"].as_str().is_some_and(|r| r.contains("differ")), "{flat}");
    for clock in ["device_ms", "dispatch_ms", "wall_ms"] {
        assert_eq!(flat[clock], Value::Null);
    }
    assert_eq!(variants[1]["outcome"], "ok", "the others are timed all the same");
}

#[test]
fn a_kernel_that_does_not_compile_fails_with_its_log() {
    let kernels =
        Kernels::with("broken", "03_flat.cl", |text| text.replace("int4 sum = 0;", "int4 sum = nought;"));
    let output = kernels.bench("flat,running-sum");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = json(&output);
    let variants = &report["devices"][0]["runs"][0]["variants"];
    assert_eq!(variants[0]["outcome"], "failed");
    let reason = variants[0]["reason"].as_str().unwrap();
    assert!(reason.contains("03_flat.cl") && reason.contains("nought"), "{reason}");
    assert_eq!(variants[1]["outcome"], "ok");
}

#[test]
fn a_kernel_with_other_arguments_fails_before_it_runs() {
    let kernels = Kernels::with("arguments", "03_flat.cl", |text| text.replace("int rows)", "float rows)"));
    let output = kernels.bench("flat");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let flat = json(&output)["devices"][0]["runs"][0]["variants"][0].clone();
    assert!(flat["reason"].as_str().is_some_and(|r| r.contains("float")), "{flat}");
}

#[test]
fn a_missing_folder_of_kernels_is_an_error_before_anything_is_measured() {
    for command in ["bench", "tune"] {
        let output = run(&[command, "--kernels", "/nonexistent"]);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), &*stdout), (Some(1), ""), "{stderr}");
        assert!(stderr.contains("The kernels in /nonexistent cannot be read."), "{stderr}");
    }
}

#[test]
fn devices_are_listed_and_can_be_selected_by_index() {
    let output = run(&["devices", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let list = json(&output);
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
    assert!(text(&run(&["devices"]).stdout).contains(name));
    let args = ["bench", "--device", "0", "--size", "32x32", "--frames", "1", "--variant", "flat", "--json"];
    assert_eq!(json(&run(&args))["devices"][0]["name"].as_str(), Some(name));
}

#[test]
fn variants_without_opencl_are_timed_without_a_driver() {
    let nowhere = std::env::temp_dir().join("clreel-no-such-vendors");
    let bench = |variants: &str, more: &[&str]| {
        let args = ["bench", "--size", "64x48", "--frames", "2", "--radius", "3", "--variant", variants];
        clreel(&args).args(more).env("OCL_ICD_VENDORS", &nowhere).output().unwrap()
    };
    let output = bench("native,glsl", &["--json", "--native"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["devices"].as_array().map(Vec::len), Some(1));
    let (device, run) = (&report["devices"][0], &report["devices"][0]["runs"][0]);
    assert!(device["name"].is_null() && run["peaks"][0]["wall_ms"].is_null(), "{device}");
    for (variant, id) in run["variants"].as_array().unwrap().iter().zip(["native", "glsl"]) {
        assert_eq!((&variant["id"], &variant["outcome"]), (&id.into(), &"ok".into()), "{variant}");
        assert_series(&variant["wall_ms"], 2);
    }
    let is_native = |row: &&Value| row["implementation"]["threads"].is_u64();
    assert!(run["variants"].as_array().unwrap().iter().filter(is_native).count() > 0, "{run}");
    let table = text(&bench("native", &[]).stdout);
    assert!(table.contains("without OpenCL") && !table.contains("(copy)"), "{table}");
    // A variant that needs a device, or an explicit device, is an error.
    for (variants, more) in
        [("native,flat", &[][..]), ("native", &["--device", "gpu"]), ("native", &["--device", "all"])]
    {
        let output = bench(variants, more);
        assert_eq!(output.status.code(), Some(1), "{variants} {more:?}");
        assert!(text(&output.stderr).contains("pocl-opencl-icd"), "{}", text(&output.stderr));
    }
}

/// A folder for the cache; removed when dropped.
struct CacheHome(Folder);

impl CacheHome {
    fn new(test: &str) -> Self {
        Self(Folder::new(&format!("cache-{test}")))
    }

    fn file(&self) -> PathBuf {
        self.0.file("clreel/tuning.json")
    }

    fn run(&self, args: &[&str]) -> Output {
        let output = clreel(args).env("XDG_CACHE_HOME", &self.0).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        output
    }
}

#[test]
fn auto_uses_the_tuned_configuration() {
    let home = CacheHome::new("tune");
    let tuned = json(&home.run(&["tune", "--size", "160x90", "--radius", "5", "--json"]));
    let case = &tuned["devices"][0]["runs"][0]["case"];
    assert_eq!((case["width"].as_u64(), case["radius"].as_u64()), (Some(160), Some(5)));
    let trials = trials(&tuned);
    let best = trials.iter().find(|trial| has_status(trial, "kept")).expect("a kept one");
    let is_timed = |trial: &Value| ["ok", "finalist", "kept"].iter().any(|status| has_status(trial, status));
    assert!(trials.iter().all(|trial| trial["trial"]["ms"].is_null() != is_timed(trial)));
    let wanted = format!("{} {}", best["id"].as_str().unwrap(), best["configuration"].as_str().unwrap());

    let bench =
        ["bench", "--size", "170x80", "--frames", "1", "--variant", "auto", "--json", "--radius", "4,16"];
    let report = json(&home.run(&bench));
    let chosen = |n: usize| report["devices"][0]["runs"][n]["variants"][0]["chosen"].as_str().unwrap();
    assert_eq!(chosen(0), wanted, "a radius of the same range");
    assert!(chosen(1).starts_with("fused "), "nothing was tuned for this one: {}", chosen(1));
}

#[test]
fn a_damaged_tuning_cache_is_ignored_with_one_warning_and_rewritten() {
    let home = CacheHome::new("damaged");
    home.0.with("clreel/tuning.json", b"{\"schema\":1,\"entries\":[{");
    let small = ["bench", "--size", "64x48", "--frames", "1", "--variant", "auto", "--radius", "1,2"];
    let warning = text(&home.run(&small).stderr);
    assert_eq!(warning.matches("is ignored").count(), 1, "{warning}");
    home.run(&["tune", "--size", "64x48", "--radius", "1"]);
    let stderr = text(&home.run(&small).stderr);
    assert!(stderr.lines().all(|line| line.contains("rows are noisy")), "{stderr}");
}

/// Adds a statement at the beginning of the first kernel.
fn with_statement(text: &str, statement: &str) -> String {
    text.replacen("\n{", &format!("\n{{\n    {statement}"), 1)
}

#[test]
fn what_kernels_print_is_on_stderr_and_stdout_has_results_only() {
    let print = "if (get_global_id(0) + get_global_id(1) == 0) printf(\"printed by a kernel\\n\");";
    let kernels = Kernels::with("printf", "03_flat.cl", |text| with_statement(&text, print));
    let output = kernels.bench("flat");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with('{'), "{}", text(&output.stdout));
    assert_eq!(json(&output)["devices"][0]["runs"][0]["variants"][0]["outcome"], "ok");
    assert!(text(&output.stderr).contains("\nprinted by a kernel\n"), "{}", text(&output.stderr));
    // Files of results may be named by what was the standard output.
    let args = ["bench", "--size", "70x50", "--frames", "2", "--radius", "3,4", "--variant", "native"];
    let output = clreel(&args).args(["--chart", "/dev/stdout"]).output().unwrap();
    assert!(text(&output.stdout).contains("<svg"), "{}", text(&output.stderr));
}

#[test]
fn kernels_with_a_byte_order_mark_or_in_latin1_compile() {
    let kernels = Kernels::with("latin1", "03_flat.cl", |text| format!("\u{feff}{text}"));
    let mut mean = b"\xef\xbb\xbf// caf\xe9\n".to_vec();
    mean.extend(
        std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kernels/common/mean.clh")).unwrap(),
    );
    kernels.0.with("common/mean.clh", &mean);
    let output = kernels.bench("flat");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let utf16: Vec<u8> = "// two bytes".encode_utf16().flat_map(u16::to_le_bytes).collect();
    kernels.0.with("common/mean.clh", &utf16);
    let output = kernels.bench("flat");
    let reason = json(&output)["devices"][0]["runs"][0]["variants"][0]["reason"].to_string();
    assert!(reason.contains("03_flat.cl:") && reason.contains("it is in UTF-16"), "{reason}");
}

#[test]
fn saved_results_with_a_byte_order_mark_are_read_and_utf16_is_named() {
    let folder = Folder::new("bench-encoding");
    let saved = folder.file("saved.json");
    let args = ["bench", "--size", "70x50", "--frames", "50", "--radius", "3", "--variant", "native"];
    let output = clreel(&args).arg("--save").arg(&saved).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plain = std::fs::read(&saved).unwrap();
    folder.with("mark.json", &[&b"\xef\xbb\xbf"[..], &plain].concat());
    let compare = |name: &str| clreel(&["compare"]).args([&saved, &folder.file(name)]).output().unwrap();
    assert_eq!(compare("mark.json").status.code(), Some(0), "{}", text(&compare("mark.json").stderr));
    let utf16 = text(&plain).encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    folder.with("utf16.json", &[&b"\xff\xfe"[..], &utf16].concat());
    let output = compare("utf16.json");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("It is invalid: it is in UTF-16 or UTF-32; save it in UTF-8."),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn local_memory_beyond_the_devices_is_named_in_bytes() {
    let array = "local volatile int huge[4000000]; huge[get_local_id(0)] = 1;";
    let kernels = Kernels::with("local", "03_flat.cl", |text| with_statement(&text, array));
    let output = kernels.bench("flat");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let reason = json(&output)["devices"][0]["runs"][0]["variants"][0]["reason"].to_string();
    assert!(reason.contains("needs more local memory than the device has"), "{reason}");
    assert!(reason.contains("16000000 bytes for each work-group; the device has "), "{reason}");
    assert!(!reason.contains("outside their memory"), "{reason}");
}

#[test]
fn warnings_about_edited_kernels_are_printed_once() {
    let kernels = Kernels::with("warnings", "03_flat.cl", |text| format!("#warning look at this\n{text}"));
    let output = kernels.bench("flat,fused");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("The compiler warns").count(), 1, "{stderr}");
    assert!(stderr.contains("box_filter/03_flat.cl:1:2: look at this"), "{stderr}");
}
