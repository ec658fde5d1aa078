//! Drivers that report event times which cannot be, with success, as rusticl 22.3 does (0, 1, 2 and 3 ns). None of them is
//! shown as a time or a rate, and none is kept. The tests' layer reports them (`tests/gl_sharing`, `TIMES`).

use std::process::{Command, Output};

use serde_json::Value;
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

use crate::common::window::{Display, Session, clreel, json, succeed};

const LIES: [&str; 5] = ["counted", "zero", "reversed", "same", "long"];
const REASON: &str = "its driver reports impossible times";

fn run(lie: &str, args: &[&str], cache: &Folder) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.env_remove("CLREEL_KERNELS").env("XDG_CACHE_HOME", cache.file("cache"));
    let options: &[(&str, &str)] = if lie.is_empty() { &[] } else { &[("TIMES", lie)] };
    command.envs(layer::environment(options)).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const BENCH: [&str; 10] =
    ["bench", "--conversions", "input", "--size", "70x50", "--radius", "2", "--frames", "6", "--variant"];

#[test]
fn bench_shows_no_rate_and_says_why() {
    let folder = Folder::new("impossible-bench");
    for lie in LIES {
        let output = run(lie, &[&BENCH[..], &["flat,native", "--json"]].concat(), &folder);
        assert_eq!(output.status.code(), Some(0), "{lie}: {}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run_of = &report["devices"][0]["runs"][0];
        let [flat, native] = [0, 1].map(|at| &run_of["variants"][at]);
        for clock in ["device_ms", "dispatch_ms", "wall_ms"] {
            assert!(flat[clock].is_null(), "{lie}: {flat}");
        }
        assert!(flat["reason"].as_str().is_some_and(|why| why.contains(REASON)), "{lie}: {flat}");
        assert!(run_of["copy_ms"].is_null(), "{lie}: {run_of}");
        // What no driver times has its time.
        assert!(native["wall_ms"]["p50"].as_f64() > Some(0.0), "{lie}: {native}");
        for conversion in report["devices"][0]["conversions"].as_array().unwrap() {
            assert!(conversion["device_ms"].is_null(), "{lie}: {conversion}");
        }
    }
    let table = text(&run("counted", &[&BENCH[..], &["flat"]].concat(), &folder).stdout);
    let row = table.lines().find(|line| line.contains(" flat ")).unwrap();
    assert!(!row.chars().any(|c| c.is_ascii_digit()) && table.contains(REASON), "{table}");
    // As the driver has it, it has a time.
    let output = run("", &[&BENCH[..], &["flat", "--json"]].concat(), &folder);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flat = &report["devices"][0]["runs"][0]["variants"][0];
    assert!(flat["device_ms"]["p50"].as_f64() > Some(0.0) && flat["reason"].is_null(), "{flat}");
}

#[test]
fn other_ladders_show_none_either() {
    let folder = Folder::new("impossible-ladder");
    let args = ["bench", "--ladder", "vector-add", "--count", "4096", "--frames", "6", "--json"];
    let report: Value = serde_json::from_slice(&run("counted", &args, &folder).stdout).unwrap();
    let run_of = &report["devices"][0]["runs"][0];
    assert!(run_of["limit_ms"].is_null(), "{run_of}");
    let of_kernels = run_of["variants"].as_array().unwrap().iter().filter(|row| row["kind"] == "opencl");
    for row in of_kernels {
        assert!(row["device_ms"].is_null() && row["gb_s"].is_null() && row["outcome"] != "failed", "{row}");
    }
}

#[test]
fn tuning_keeps_nothing() {
    let folder = Folder::new("impossible-tune");
    for lie in ["counted", "reversed"] {
        let args = ["tune", "--ladder", "vector-add", "--count", "4096", "--json"];
        let output = run(lie, &args, &folder);
        assert_eq!(output.status.code(), Some(0), "{lie}: {}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        for trial in report["runs"][0]["trials"].as_array().unwrap() {
            assert!(trial["ms"].is_null() && trial["status"] == "failed", "{lie}: {trial}");
            assert!(trial["reason"].as_str().is_some_and(|why| why.contains(REASON)), "{lie}: {trial}");
        }
        assert!(!folder.file("cache/clreel/tuning.json").exists(), "{lie}");
    }
}

#[test]
fn the_window_shows_a_dash() {
    let (display, folder) = (Display::start(&[]), Folder::new("impossible-window"));
    let movie = folder.movie("m.mkv", &Movie { size: (176, 100), stamps_ms: steady(50), ..Movie::default() });
    for lie in ["counted", "long"] {
        let (stats, trace) = (folder.file("s.json"), folder.file("t.json"));
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&[("FAKE_GPU", "1"), ("TIMES", lie)]));
        command.arg(&movie).args(["--variant", "flat", "--frames", "20"]);
        succeed({
            command.arg("--stats").arg(&stats).arg("--trace").arg(&trace);
            command
        });
        let frames = json(&stats)["frames"].as_array().unwrap().clone();
        for frame in frames.iter().filter(|frame| frame["variant"] == "flat") {
            for stage in ["upload", "convert", "filter", "release"] {
                assert!(frame[stage].is_null(), "{lie}, {stage}: {frame}");
            }
        }
        // Nothing stands in a row of the device's.
        let events = json(&trace)["traceEvents"].as_array().unwrap().clone();
        let took = events.iter().filter_map(|event| event["dur"].as_f64());
        assert!(took.fold(0.0, f64::max) < 600e6, "{lie}: no event takes ten minutes");
    }
    let mut command = clreel(Some(&display));
    command.envs(layer::environment(&[("FAKE_GPU", "1"), ("TIMES", "counted")]));
    let mut session = Session::start(&display, command.arg(&movie).args(["--variant", "flat"]));
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait_for_text("not measured");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let texts: Vec<String> = session.texts().iter().map(|text| text.text.clone()).collect();
    assert!(session.shows("not measured"), "{texts:?}");
    let fast = |text: &&String| text.contains("000,000") || text.contains("000000");
    assert!(!texts.iter().any(|text| fast(&text)), "{texts:?}");
    session.quit();
}
