//! `bench --ladder conversions`: every host strategy counts right, wrong ones are detected, and a trace shows their steps.

use std::process::Command;

use ladder::runner::Ladder as _;
use ladder::sizes::Sizes;
use ladders::type_conversions::strategies::HostStrategies;
use serde_json::Value;

use super::Folder;
use crate::common::process::{COMPILED, json};

fn strategies(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.args(["bench", "--ladder", "conversions", "--frames", "1", "--json"]).args(args);
    command
        .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
        .env_remove("CLREEL_KERNELS");
    command.env("POCL_CACHE_DIR", COMPILED);
    command
}

/// Returns the id and outcome of each variant.
fn outcomes(report: &Value) -> Vec<(String, String)> {
    let rows = report["devices"][0]["runs"][0]["variants"].as_array().unwrap();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.iter().map(|row| (word(row, "id"), word(row, "outcome"))).collect()
}

#[test]
fn every_host_strategy_counts_all_numbers() {
    let output = strategies(&["--count", "5000"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    let ids: Vec<&str> = HostStrategies.variants().iter().map(|variant| variant.id).collect();
    let found = outcomes(&report);
    assert_eq!(found.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ids);
    assert!(found.iter().all(|(_, outcome)| outcome == "ok"), "{found:?}");
    assert_eq!(report["devices"][0]["runs"][0]["case"]["conversion"], "int_sat_rte_float");
}

/// A wrong conversion, and a comparison that ignores errors, fail the variants that use them.
#[test]
fn a_wrong_conversion_or_comparison_is_a_mismatch() {
    let host = ["blocking", "mapped", "non-blocking", "double-buffered", "verified-on-device"];
    // One fault in one file at a time.
    for (n, (widths, checked, wrong)) in [
        (
            ("MODE)(in[i]);", "MODE)(in[i]) + (i == 7);"),
            ("found += CONVERT(TO, , MODE)(in[i]) == wanted[i];", "found += 1;"),
            [&host[..], &["fused"]].concat(),
        ),
        (
            ("found += out[i] == wanted[i];", "found += 1;"),
            ("eight += HALVES(8, x, w);", "eight += EQUAL(8, x.lo, w.lo);"),
            vec!["verified-on-device", "all-widths", "threads"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = Folder::new(&format!("strategies-{n}"));
        folder.inject_into("conversions/02_widths.cl", widths.0, widths.1);
        folder.inject_into("conversions/03_checked.cl", checked.0, checked.1);
        let output = strategies(&["--count", "5000"]).env("CLREEL_KERNELS", &folder.0).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{widths:?}: {}", String::from_utf8_lossy(&output.stderr));
        let found = outcomes(&json(&output));
        let differs: Vec<&str> =
            found.iter().filter(|(_, outcome)| outcome == "mismatch").map(|(id, _)| id.as_str()).collect();
        assert_eq!(differs, wrong, "{widths:?}: {found:?}");
    }
}

/// --count accepts the count of all numbers of the source type, and no more.
#[test]
fn the_count_is_limited_by_the_source_type() {
    for count in ["0", "4294967297", "18446744073709551616"] {
        let output = strategies(&["--count", count]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains("--count"), "{count}: {stderr}");
    }
    let all = Sizes::default().with("count", [[1_u64 << 32]]);
    assert_eq!(HostStrategies.cases(&all), Ok(vec![1 << 32]));
}

/// The trace has the spans that `traces.py` draws, for all parts of the last run.
#[test]
fn the_trace_has_the_spans_that_charts_are_drawn_from() {
    let script = include_str!("traces.py");
    let host = script.lines().find_map(|line| line.strip_prefix("HOST = {")).unwrap();
    let names: Vec<&str> = host.split('"').skip(1).step_by(4).collect();
    assert_eq!(names, ["numbers and reference", "write", "read", "compare", "wait"]);
    let folder = Folder::new("trace");
    // Two parts, or eight if each thread has parts of its own; a kernel for each width, or one.
    for (variant, parts, kernels, missing) in
        [("blocking", 2, 12, &[][..]), ("threads", 8, 8, &["write", "read", "compare"])]
    {
        let file = folder.file("trace.json");
        let output =
            strategies(&["--count", "2000000", "--variant", variant, "--trace", &file]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let began = |event: &Value| event["ts"].as_f64().unwrap();
        let of = |name: &str| events.clone().filter(|event| event["name"] == name).collect::<Vec<_>>();
        let mut made: Vec<f64> = of(names[0]).into_iter().map(began).collect();
        made.sort_by(f64::total_cmp);
        let last_run = made[made.len().checked_sub(parts).unwrap()];
        let in_last_run = |name: &str| of(name).into_iter().filter(|event| began(event) >= last_run).count();
        for name in &names {
            assert_eq!(in_last_run(name) == 0, missing.contains(name), "{variant}: {name}");
        }
        assert_eq!(in_last_run("convert"), kernels, "{variant}");
    }
}
