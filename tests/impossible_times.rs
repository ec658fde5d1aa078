//! Drivers whose event times are not those of their commands, without an error, as rusticl 22.3's (0, 1, 2 and 3 ns). Wall times take
//! the place of such times, and are named so. The tests' layer reports them (`tests/gl_sharing`, `TIMES`).

use std::process::Output;

use crate::common::reports::{conversions, trials};
use crate::common::*;

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

/// Runs clreel with this fault of the clock, or with none; requires this exit code.
fn run_with(lie: &str, args: &[&str], cache: &Folder, code: i32) -> Output {
    let options: &[(&str, &str)] = if lie.is_empty() { &[] } else { &[("TIMES", lie)] };
    let mut command = clreel(None);
    command.env("XDG_CACHE_HOME", cache.file("cache")).env_remove("CLREEL_BINARIES");
    finish(command.envs(layer::environment(options)).args(args), code)
}

/// Runs a small bench with these arguments like [`run_with`].
fn bench(lie: &str, args: &[&str], cache: &Folder, code: i32) -> Output {
    let small = "bench --conversions input --size 70x50 --radius 2 --frames 6 --variant";
    let args: Vec<&str> = small.split(' ').chain(args.iter().copied()).collect();
    run_with(lie, &args, cache, code)
}

#[test]
fn bench_shows_wall_times_and_the_reason() {
    let cache = Folder::new("impossible-bench");
    for (lie, reason) in TIMES {
        let report = json(&bench(lie, &["flat,native", "--json"], &cache, 0));
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
    let table = text(&bench("counted", &["flat"], &cache, 0).stdout);
    for part in ["radius 2 · wall time in ms", "Wall times are shown instead of device times, since"] {
        assert!(table.contains(part), "{table}");
    }
    assert!(!table.contains("device time in ms"), "{table}");
    // With the driver's real times there is a time.
    let report = json(&bench("", &["flat", "--json"], &cache, 0));
    let flat = &report["devices"][0]["runs"][0]["variants"][0];
    assert!(flat["device_ms"]["p50"].as_f64() > Some(0.0) && flat["reason"].is_null(), "{flat}");
    assert_eq!(report["devices"][0]["runs"][0]["clock"], "trusted");
}

#[test]
fn kernels_that_did_not_run_have_no_times() {
    let report = json(&bench("skipped", &["flat", "--json"], &Folder::new("impossible-skipped"), 3));
    let run_of = &report["devices"][0]["runs"][0];
    let flat = &run_of["variants"][0];
    assert_eq!(flat["outcome"], "failed", "{flat}");
    assert!(flat["reason"].as_str().is_some_and(|why| why.contains("complete that has not run")), "{flat}");
    assert!(flat["device_ms"].is_null() && flat["wall_ms"].is_null(), "{flat}");
    assert_eq!(run_of["clock"], "rejected", "{run_of}");
}

#[test]
fn other_ladders_show_wall_times() {
    let folder = Folder::new("impossible-ladder");
    let args = ["bench", "--ladder", "vector-add", "--count", "4096", "--frames", "6", "--json"];
    let report = json(&run_with("counted", &args, &folder, 0));
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
        let report = json(&run_with(lie, &args, &folder, 0));
        let run_of = &report["devices"][0]["runs"][0];
        assert_eq!(run_of["clock"], "rejected", "{lie}: {run_of}");
        for trial in trials(&report).iter().filter(|trial| !trial["trial"]["ms"].is_null()) {
            assert!(trial["trial"]["ms"].as_f64() > Some(0.001), "{lie}: {trial}");
        }
        let cache = read_json(&folder.file("cache/clreel/tuning.json")).to_string();
        assert!(!cache.contains("e-6"), "{lie}: no kernel takes a nanosecond: {cache}");
    }
}

#[test]
fn the_window_shows_wall_times_instead_of_impossible_ones() {
    let (display, folder) = (Display::start(&[]), Folder::new("impossible-window"));
    let movie = folder.movie("m.mkv", &Movie { size: (176, 100), stamps_ms: steady(50), ..Movie::default() });
    let window = |lie: &str, arguments: &[&str]| {
        let mut command = clreel(Some(&display));
        command.envs(layer::environment(&[("FAKE_GPU", "1"), ("TIMES", lie)])).arg(&movie).args(arguments);
        command
    };
    for lie in ["counted", "long", "tenth", "ticks"] {
        let trace = folder.file("t.json");
        let mut command = window(lie, &["--variant", "flat", "--frames", "20", "--trace"]);
        let (stats, _) = play(command.arg(&trace));
        assert_eq!(stats["clock"], "rejected", "{lie}");
        let reason = stats["clock_reason"].as_str().unwrap();
        assert!(reason.starts_with("Wall times are shown"), "{lie}: {reason}");
        // Frames before the comparison of the clocks have wall times only if their device times are impossible.
        let last = presented_frames(&stats).iter().rfind(|frame| frame["variant"] == "flat").unwrap();
        for stage in ["upload", "convert", "filter", "release"] {
            assert!(last[stage].is_null(), "{lie}, {stage}: {last}");
        }
        assert!(last["filter_wall"].as_f64() > Some(0.001), "{lie}: {last}");
        // The rows of the device are empty.
        let events = read_json(&trace)["traceEvents"].as_array().unwrap().clone();
        let took = events.iter().filter_map(|event| event["dur"].as_f64());
        assert!(took.fold(0.0, f64::max) < 600e6, "{lie}: no event takes ten minutes");
    }
    // The comparison of both sides of a wipe has no wall time.
    let (stats, _) = play(window("tenth", &["--wipe", "flat:3,fused:3", "--difference", "--frames", "40"]));
    let is_compared = |frame: &&Value| frame["compared"] == true;
    let last = presented_frames(&stats).iter().rfind(is_compared).unwrap();
    assert!(last["difference"].is_null(), "{last}");
    let mut session = Session::start(&display, window("counted", &["--variant", "flat"]));
    session.resize(1280, 720);
    session.wait_for_title("flat");
    session.wait_for_text("filter, wall time");
    for _ in 0..5 {
        session.wait_for_frames();
    }
    let texts: Vec<String> = session.texts().iter().map(|text| text.text.clone()).collect();
    assert!(session.shows("filter, wall time"), "{texts:?}");
    let fast = |text: &&String| text.contains("000,000") || text.contains("000000");
    assert!(!texts.iter().any(|text| fast(&text)), "{texts:?}");
    session.quit();
}
