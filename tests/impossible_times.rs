//! Drivers whose event times are not those of their commands, without an error, as rusticl 22.3's (0, 1, 2 and 3 ns). Wall times take
//! the place of such times, and are named so. The tests' layer reports them (`tests/gl_sharing`, `TIMES`).

use std::process::{Command, Output};

use serde_json::Value;
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

use crate::common::ladder::{conversions, trials};
use crate::common::process::{COMPILED, text};
use crate::common::window::{Display, Session, clreel, json, presented_frames, succeed};

/// Faults of clocks, with a part of the reason that the user reads.
const TIMES: [(&str, &str); 9] = [
    ("counted", "impossible times"),
    ("zero", "impossible times"),
    ("reversed", "impossible times"),
    ("same", "impossible times"),
    ("long", "impossible times"),
    ("constant", "ms longer by the driver's times"),
    ("tenth", "ms longer by the driver's times"),
    ("tenfold", "impossible times"),
    ("ticks", "the device's clock has steps of 1 ms"),
];

fn run(lie: &str, args: &[&str], cache: &Folder) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.env_remove("CLREEL_KERNELS").env("XDG_CACHE_HOME", cache.file("cache"));
    command.env("POCL_CACHE_DIR", COMPILED);
    let options: &[(&str, &str)] = if lie.is_empty() { &[] } else { &[("TIMES", lie)] };
    command.envs(layer::environment(options)).args(args).output().unwrap()
}

const BENCH: [&str; 10] =
    ["bench", "--conversions", "input", "--size", "70x50", "--radius", "2", "--frames", "6", "--variant"];

#[test]
fn bench_shows_wall_times_and_the_reason() {
    let folder = Folder::new("impossible-bench");
    for (lie, reason) in TIMES {
        let output = run(lie, &[&BENCH[..], &["flat,native", "--json"]].concat(), &folder);
        assert_eq!(output.status.code(), Some(0), "{lie}: {}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run_of = &report["devices"][0]["runs"][0];
        let [flat, native] = [0, 1].map(|at| &run_of["variants"][at]);
        for clock in ["device_ms", "dispatch_ms"] {
            assert!(flat[clock].is_null(), "{lie}: {flat}");
        }
        assert!(flat["wall_ms"]["p50"].as_f64() > Some(0.0), "{lie}: {flat}");
        assert!(flat["reason"].as_str().is_some_and(|why| why.contains(reason)), "{lie}: {flat}");
        assert_eq!(run_of["clock"], "rejected", "{lie}: {run_of}");
        // A copy of 14 kB takes some microseconds with all that is around it.
        assert!(run_of["peaks"][0]["wall_ms"]["p50"].as_f64() > Some(0.001), "{lie}: {run_of}");
        // A variant that the driver does not time has a time.
        assert!(native["wall_ms"]["p50"].as_f64() > Some(0.0), "{lie}: {native}");
        for conversion in conversions(&report["devices"][0]) {
            assert!(conversion["device_ms"].is_null(), "{lie}: {conversion}");
        }
    }
    let table = text(&run("counted", &[&BENCH[..], &["flat"]].concat(), &folder).stdout);
    assert!(
        table.contains("radius 2 · wall time in ms")
            && table.contains("Wall times are shown instead of device times, since"),
        "{table}"
    );
    assert!(!table.contains("device time in ms"), "{table}");
    // With the driver's real times there is a time.
    let output = run("", &[&BENCH[..], &["flat", "--json"]].concat(), &folder);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flat = &report["devices"][0]["runs"][0]["variants"][0];
    assert!(flat["device_ms"]["p50"].as_f64() > Some(0.0) && flat["reason"].is_null(), "{flat}");
    assert_eq!(report["devices"][0]["runs"][0]["clock"], "trusted");
}

#[test]
fn kernels_that_did_not_run_have_no_times() {
    let folder = Folder::new("impossible-skipped");
    let output = run("skipped", &[&BENCH[..], &["flat", "--json"]].concat(), &folder);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run_of = &report["devices"][0]["runs"][0];
    let flat = &run_of["variants"][0];
    assert_eq!((output.status.code(), &flat["outcome"]), (Some(3), &Value::from("failed")), "{flat}");
    assert!(flat["reason"].as_str().is_some_and(|why| why.contains("complete that has not run")), "{flat}");
    assert!(flat["device_ms"].is_null() && flat["wall_ms"].is_null(), "{flat}");
    assert_eq!(run_of["clock"], "rejected", "{run_of}");
}

#[test]
fn other_ladders_show_wall_times() {
    let folder = Folder::new("impossible-ladder");
    let args = ["bench", "--ladder", "vector-add", "--count", "4096", "--frames", "6", "--json"];
    let report: Value = serde_json::from_slice(&run("counted", &args, &folder).stdout).unwrap();
    let run_of = &report["devices"][0]["runs"][0];
    assert_eq!(run_of["clock"], "rejected", "{run_of}");
    let of_kernels = run_of["variants"].as_array().unwrap().iter().filter(|row| row["kind"] == "opencl");
    for row in of_kernels {
        assert!(row["device_ms"].is_null() && row["wall_ms"]["p50"].as_f64() > Some(0.001), "{row}");
        assert!(row["gb_s"].as_f64() < Some(1000.0), "{row}");
    }
}

#[test]
fn tune_compares_wall_times() {
    let folder = Folder::new("impossible-tune");
    for lie in ["counted", "tenth"] {
        let args = ["tune", "--ladder", "vector-add", "--count", "4096", "--json"];
        let output = run(lie, &args, &folder);
        assert_eq!(output.status.code(), Some(0), "{lie}: {}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run_of = &report["devices"][0]["runs"][0];
        assert_eq!(run_of["clock"], "rejected", "{lie}: {run_of}");
        for trial in trials(&report).iter().filter(|trial| !trial["trial"]["ms"].is_null()) {
            assert!(trial["trial"]["ms"].as_f64() > Some(0.001), "{lie}: {trial}");
        }
        let cache = json(&folder.file("cache/clreel/tuning.json")).to_string();
        assert!(!cache.contains("e-6"), "{lie}: no kernel takes a nanosecond: {cache}");
    }
}

#[test]
fn the_window_shows_wall_times_instead_of_impossible_ones() {
    let (display, folder) = (Display::start(&[]), Folder::new("impossible-window"));
    let movie = folder.movie("m.mkv", &Movie { size: (176, 100), stamps_ms: steady(50), ..Movie::default() });
    for lie in ["counted", "long", "tenth", "ticks"] {
        let (stats, trace) = (folder.file("s.json"), folder.file("t.json"));
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&[("FAKE_GPU", "1"), ("TIMES", lie)]));
        command.arg(&movie).args(["--variant", "flat", "--frames", "20"]);
        succeed({
            command.arg("--stats").arg(&stats).arg("--trace").arg(&trace);
            command
        });
        let stats = json(&stats);
        assert_eq!(stats["clock"], "rejected", "{lie}");
        assert!(
            stats["clock_reason"].as_str().unwrap().starts_with("Wall times are shown"),
            "{lie}: {stats}"
        );
        // Frames before the comparison of the clocks have wall times only if their device times are impossible.
        let frames = presented_frames(&stats).to_vec();
        let last = frames.iter().rfind(|frame| frame["variant"] == "flat").unwrap();
        for stage in ["upload", "convert", "filter", "release"] {
            assert!(last[stage].is_null(), "{lie}, {stage}: {last}");
        }
        assert!(last["filter_wall"].as_f64() > Some(0.001), "{lie}: {last}");
        // The rows of the device are empty.
        let events = json(&trace)["traceEvents"].as_array().unwrap().clone();
        let took = events.iter().filter_map(|event| event["dur"].as_f64());
        assert!(took.fold(0.0, f64::max) < 600e6, "{lie}: no event takes ten minutes");
    }
    // The comparison of both sides of a wipe has no wall time.
    let stats = folder.file("compared.json");
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(&[("FAKE_GPU", "1"), ("TIMES", "tenth")]));
    command.arg(&movie).args(["--wipe", "flat:3,fused:3", "--difference", "--frames", "40", "--stats"]);
    command.arg(&stats);
    succeed(command);
    let stats = json(&stats);
    let is_compared = |frame: &&Value| frame["compared"] == true;
    let last = presented_frames(&stats).iter().rfind(is_compared).unwrap();
    assert!(last["difference"].is_null(), "{last}");
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(&[("FAKE_GPU", "1"), ("TIMES", "counted")]));
    let mut session = Session::start(&display, command.arg(&movie).args(["--variant", "flat"]));
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait_for_text("filter, wall time");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let texts: Vec<String> = session.texts().iter().map(|text| text.text.clone()).collect();
    assert!(session.shows("filter, wall time"), "{texts:?}");
    let fast = |text: &&String| text.contains("000,000") || text.contains("000000");
    assert!(!texts.iter().any(|text| fast(&text)), "{texts:?}");
    session.quit();
}
