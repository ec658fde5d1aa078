//! `bench --ladder conversions`: every host strategy counts right, wrong ones are detected, and a trace shows their steps.

use std::process::Command;

use crate::common::reports::{clreel, ids_with_outcome, rows};
use crate::common::*;
use ladder::runner::Ladder as _;
use ladder::sizes::Sizes;
use ladders::type_conversions::strategies::HostStrategies;

fn strategies(args: &[&str]) -> Command {
    let mut command = clreel(&["bench", "--ladder", "conversions", "--frames", "1", "--json"]);
    command.args(args);
    command
}

#[test]
fn every_host_strategy_counts_all_numbers() {
    let report = finish_json(strategies(&["--count", "5000"]), 0);
    let run = &report["devices"][0]["runs"][0];
    let ids: Vec<&str> = HostStrategies.variants().iter().map(|variant| variant.id).collect();
    assert_eq!(ids_with_outcome(run, "ok"), ids);
    assert_eq!(run["case"]["conversion"], "int_sat_rte_float");
    // --count accepts the count of all numbers of the source type.
    let all = Sizes::default().with("count", [[1_u64 << 32]]);
    assert_eq!(HostStrategies.cases(&all), Ok(vec![1 << 32]));
}

/// A wrong conversion, and a comparison that ignores errors, fail the variants that use them.
#[test]
fn a_wrong_conversion_or_comparison_is_a_mismatch() {
    let host = vec!["blocking", "mapped", "non-blocking", "double-buffered", "verified-on-device", "fused"];
    let found = "found += CONVERT(TO, , MODE)(in[i]) == wanted[i];";
    // One fault in one file at a time.
    for (widths, checked, wrong) in [
        (("MODE)(in[i]);", "MODE)(in[i]) + (i == 7);"), (found, "found += 1;"), host),
        (
            ("found += out[i] == wanted[i];", "found += 1;"),
            ("eight += HALVES(8, x, w);", "eight += EQUAL(8, x.lo, w.lo);"),
            vec!["verified-on-device", "all-widths", "threads"],
        ),
    ] {
        let folder = edited_kernels("strategies", "conversions/02_widths.cl", &[widths]);
        folder.with("conversions/03_checked.cl", edited_kernel("conversions/03_checked.cl", &[checked]));
        let rows = rows(&finish_json(strategies(&["--count", "5000"]).env("CLREEL_KERNELS", &folder), 3));
        let differs = rows.iter().filter(|row| row["outcome"] == "mismatch");
        let differs: Vec<&str> = differs.map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(differs, wrong, "{widths:?}: {rows:?}");
    }
}

/// The trace has the spans that `traces.py` draws, for all parts of the last run.
#[test]
fn the_trace_has_the_spans_that_charts_are_drawn_from() {
    let script = include_str!("traces.py");
    let host = script.lines().find_map(|line| line.strip_prefix("HOST = {")).unwrap();
    let names: Vec<&str> = host.split('"').skip(1).step_by(4).collect();
    assert_eq!(names, ["numbers and reference", "write", "read", "compare", "wait"]);
    let folder = Folder::new("strategies-trace");
    // Two parts, or eight if each thread has parts of its own; a kernel for each width, or one.
    for (variant, parts, kernels, missing) in
        [("blocking", 2, 12, &[][..]), ("threads", 8, 8, &["write", "read", "compare"])]
    {
        let file = folder.file("trace.json");
        finish(strategies(&["--count", "2000000", "--variant", variant, "--trace"]).arg(&file), 0);
        let trace = read_json(&file);
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
