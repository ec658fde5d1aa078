//! Tests of the comparison of saved results: verdicts, and rows of unequal work, which get none.

use super::*;
use base::random::Xorshift;
use serde_json::{Value, json};

/// Returns 30 times around `ms` that vary by some per cent.
fn samples(ms: f64, seed: u32) -> Vec<f64> {
    let mut random = Xorshift::new(seed);
    (0..30).map(|_| ms * (1.0 + 0.04 * f64::from(random.draw() % 1000) / 1000.0)).collect()
}

/// Returns a saved result with one case, in which the only variant takes `ms` milliseconds and the peak kernel `peak_ms`.
fn result(ms: f64, peak_ms: f64, seed: u32) -> Value {
    let of = |ms, seed| json!({ "device_ms": samples(ms, seed), "dispatch_ms": null, "wall_ms": samples(ms, seed) });
    json!({
        "schema": 2, "kind": "bench", "program": "clreel 1.0.0", "date": "2026-11-27T10:28:09Z",
        "host": { "name": "here", "system": "Linux 6", "processor": "P", "processors": 2 },
        "ladder": "filter", "input": { "file": "/a/clip.mp4", "width": 64, "height": 48 },
        "devices": [{
            "name": "D", "platform": "P", "version": "3.0", "driver": "1", "type": "cpu",
            "runs": [{
                "title": "n=7", "clock_mhz": { "mean": 1000.0 },
                "peaks": [{ "id": "copy", "outcome": "ok", "samples": of(peak_ms, seed + 1) }],
                "variants": [{
                    "id": "one", "outcome": "ok", "reason": null, "noisy": false, "others": 0.01,
                    "samples": of(ms, seed),
                    "kernel": { "file": "one.cl", "hash": "0123" }, "checked": [{}],
                }],
            }],
        }],
    })
}

fn saved(value: &Value) -> Report {
    serde_json::from_value(value.clone()).unwrap()
}

/// Compares two saved results that have one variant, and returns the comparison of that variant.
fn compare_one(before: &Value, after: &Value) -> Comparison {
    let all = compare(&saved(before), &saved(after));
    all.into_iter().find(|comparison| comparison.row == "one").unwrap()
}

#[test]
fn rows_are_faster_slower_or_not_different() {
    let before = result(10.0, 1.0, 1);
    let verdict = |after: &Value| compare_one(&before, after).result.unwrap().verdict;
    let near = |ratio: Ratio, want: f64, off: f64| (ratio.estimate - want).abs() < off;
    assert!(matches!(verdict(&result(8.0, 1.0, 5)), Verdict::Faster(ratio) if near(ratio, 1.25, 0.02)));
    assert!(matches!(verdict(&result(50.0, 1.0, 5)), Verdict::Slower(ratio) if near(ratio, 5.0, 0.1)));
    assert!(matches!(verdict(&result(10.0, 1.0, 5)), Verdict::NoDifferenceShown { below } if below < 6.0));
    // The whole machine was slower, or the peak kernel was faster for no cause: the variant is not slower.
    for peak_ms in [1.2, 0.8] {
        let verdict = verdict(&result(12.0, peak_ms, 5));
        let is_same = matches!(verdict, Verdict::NoDifferenceShown { below } if below > 20.0);
        assert!(is_same, "{peak_ms}: {verdict:?}");
    }
    let all = compare(&saved(&before), &saved(&result(12.0, 1.2, 5)));
    assert_eq!(all.len(), 2, "the peak kernel is a row of its own");
    assert_eq!(all[0].row, "(copy)");
    assert!(matches!(all[0].result.as_ref().unwrap().verdict, Verdict::NoDifferenceShown { .. }));
    let row = compare_one(&before, &before);
    assert!(row.times.iter().all(|times| !times.unwrap().is_noisy));
    assert_eq!(row.result.as_ref().unwrap().changed_kernel, Some(false));
    assert!(row.medians()[0].as_ref().unwrap().starts_with("10."), "{:?}", row.medians());
}

/// Returns a copy of the document `value` in which the value at a path, such as "/devices/0/name", is replaced by `other`.
fn with(value: &Value, path: &str, other: Value) -> Value {
    let mut value = value.clone();
    *value.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = other;
    value
}

#[test]
fn unlike_work_is_refused_with_the_reason() {
    let before = result(10.0, 1.0, 1);
    let after = result(10.0, 1.0, 5);
    let row = |key: &str| format!("/devices/0/runs/0/variants/0/{key}");
    let clock = "/devices/0/runs/0/clock_mhz/mean".to_owned();
    let few = json!({ "device_ms": [1.0, 2.0], "wall_ms": [1.0, 2.0] });
    let wall = json!({ "device_ms": null, "wall_ms": samples(10.0, 5) });
    let negative = json!({ "device_ms": vec![-1.0; 30], "wall_ms": samples(10.0, 5) });
    for (path, other, why) in [
        ("/ladder".to_owned(), json!("another"), "other ladder"),
        ("/input/width".to_owned(), json!(65), "other input: 64×48 of clip.mp4 and 65×48 of clip.mp4"),
        ("/input/file".to_owned(), json!("/a/other.mp4"), "other input"),
        ("/devices/0/runs/0/title".to_owned(), json!("n=8"), "other case: n=7 and n=8"),
        (row("outcome"), json!("mismatch"), "wrong output in the later result"),
        (row("outcome"), json!("failed"), "failed in the later result"),
        (row("checked"), json!([]), "not verified in the later result"),
        (row("samples"), Value::Null, "no samples in the later result"),
        (row("samples"), few, "too few samples"),
        (row("samples"), negative, "samples that are no times"),
        (row("samples"), wall, "other clock: device time and wall time"),
        (clock, json!(1100.0), "other clock speed: 1000 and 1100 MHz"),
    ] {
        let comparison = compare_one(&before, &with(&after, &path, other.clone()));
        let told = comparison.result.unwrap_err();
        assert_eq!(told.kind, NoVerdictKind::NotComparable, "{path}");
        assert!(told.reason.starts_with(why), "{path}: {told}");
        assert_eq!(comparison.broke, other == json!("mismatch"));
        // In the other direction, too.
        assert!(compare_one(&with(&after, &path, other), &before).result.is_err(), "{path}");
    }
    // The same work on another day, with another driver, kernel or folder, is comparable.
    for (path, other) in [
        ("/devices/0/driver".to_owned(), json!("2")),
        ("/date".to_owned(), json!("2027-01-01T00:00:00Z")),
        ("/program".to_owned(), json!("clreel 2.0.0")),
        ("/input/file".to_owned(), json!("/b/clip.mp4")),
        (row("kernel"), json!({ "file": "one.cl", "hash": "4567" })),
        (row("noisy"), json!("P95 is 2.0 times p50.")),
    ] {
        assert!(compare_one(&before, &with(&after, &path, other)).result.is_ok(), "{path}");
    }
    // A GPU counts as the same device in another machine.
    let card = |value: &Value| with(value, "/devices/0/type", json!("gpu"));
    let moved = with(&card(&after), "/host/processor", json!("Q"));
    assert!(compare_one(&card(&before), &moved).result.is_ok());
}

/// Returns the case and the name of each row that only the earlier result has.
fn gone(before: &Value, after: &Value) -> Vec<(String, String)> {
    let rows = compare(&saved(before), &saved(after)).into_iter();
    let is_gone = |row: &Comparison| matches!(&row.result, Err(why) if why.kind == NoVerdictKind::Gone);
    let gone = rows.filter(is_gone).map(|row| {
        assert!(row.is_missing() && row.medians()[0].is_some(), "{row:?}");
        (row.row, row.case)
    });
    gone.collect()
}

#[test]
fn rows_that_the_later_result_lacks_are_gone() {
    let before = result(10.0, 1.0, 1);
    let row = |name: &str| (name.to_owned(), "n=7".to_owned());
    assert_eq!(gone(&before, &before), []);
    let renamed = with(&before, "/devices/0/runs/0/variants/0/id", json!("two"));
    assert_eq!(gone(&before, &renamed), [row("one")]);
    assert_eq!(gone(&renamed, &before), [row("two")], "a new row is no row of the comparison");
    assert!(compare(&saved(&before), &saved(&renamed)).iter().all(|row| row.row != "two"));
    let other_case = with(&before, "/devices/0/runs/0/title", json!("n=8"));
    assert_eq!(gone(&before, &other_case), [row("(copy)"), row("one")]);
    for path in ["/devices", "/devices/0/runs"] {
        assert_eq!(gone(&before, &with(&before, path, json!([]))), [row("(copy)"), row("one")], "{path}");
    }
    // A row without times counts as missing, unless it had no times before.
    for (key, value) in [("outcome", json!("failed")), ("checked", json!([])), ("samples", Value::Null)] {
        let failed = with(&before, &format!("/devices/0/runs/0/variants/0/{key}"), value);
        assert!(gone(&before, &failed).is_empty() && compare_one(&before, &failed).is_missing(), "{key}");
        assert!(!compare_one(&failed, &before).is_missing() && !compare_one(&failed, &failed).is_missing());
        let neither = with(&failed, "/devices/0/runs/0/variants", json!([]));
        assert_eq!(gone(&failed, &neither), [], "{key}");
    }
    // Of two rows with the same name the first one is compared.
    let mut twice = before.clone();
    let variants = twice.pointer_mut("/devices/0/runs/0/variants").unwrap().as_array_mut().unwrap();
    variants.push(variants[0].clone());
    assert_eq!(gone(&twice, &twice), []);
}

#[test]
fn other_devices_and_machines_have_medians_and_no_verdict() {
    let before = result(10.0, 1.0, 1);
    let after = result(50.0, 1.0, 5);
    for (path, other, why) in [
        ("/devices/0/name", json!("E"), "other device: 'D' and 'E'"),
        ("/devices/0/platform", json!("Q"), "other device: platform 'P' and 'Q'"),
        ("/host/processor", json!("Q"), "other device: processor 'P' and 'Q'"),
        ("/host/processors", json!(4), "other device: 2 and 4 processors"),
    ] {
        let other = with(&after, path, other);
        let rows = compare(&saved(&before), &saved(&other));
        assert_eq!(rows.len(), 2, "{path}");
        for row in rows {
            assert_eq!(row.result.as_ref().unwrap_err().to_string(), why);
            assert!(row.medians().iter().all(Option::is_some) && !row.is_missing(), "{path}: {row:?}");
        }
        // The outputs must be right there, too.
        let wrong = with(&other, "/devices/0/runs/0/variants/0/outcome", json!("mismatch"));
        let row = compare_one(&before, &wrong);
        assert!(row.broke && row.medians()[1].is_none(), "{row:?}");
    }
    // The second device of the earlier result is that of the later one.
    let mut two = with(&before, "/devices/0/name", json!("E"));
    let devices = two.pointer_mut("/devices").unwrap().as_array_mut().unwrap();
    devices.push(before.pointer("/devices/0").unwrap().clone());
    let rows = compare(&saved(&two), &saved(&after));
    assert_eq!(rows.iter().filter(|row| row.result.is_ok()).count(), 2);
    assert_eq!(gone(&two, &after).len(), 2, "those of E");
}

#[test]
fn other_processes_explain_a_difference_on_the_processor() {
    let with_others =
        |value: &Value, others: f64| with(value, "/devices/0/runs/0/variants/0/others", json!(others));
    let (before, after) = (result(10.0, 1.0, 1), result(15.0, 1.0, 5));
    let is_slower = |before: &Value, after: &Value| {
        matches!(compare_one(before, after).result.unwrap().verdict, Verdict::Slower(_))
    };
    assert!(is_slower(&before, &after));
    assert!(is_slower(&with_others(&before, 0.1), &with_others(&after, 0.1)), "the same in both");
    assert!(!is_slower(&before, &with_others(&after, 0.4)), "the later run was disturbed");
    assert!(!is_slower(&with_others(&before, 0.4), &after));
    // No load of the machine explains a factor of 1000, and an impossible load is clamped.
    let far = result(10_000.0, 1.0, 5);
    for others in [0.7, -1.0, 0.0] {
        assert!(is_slower(&before, &with_others(&far, others)), "{others}");
    }
    assert!(compare_one(&before, &with_others(&far, 7.0)).result.unwrap().ratio.low > 0.0);
    // The times of a GPU do not depend on the load of the CPU.
    let card = |value: &Value| with(value, "/devices/0/type", json!("gpu"));
    assert!(is_slower(&card(&before), &card(&with_others(&after, 0.4))));
}

#[test]
fn times_that_repeat_too_seldom_have_no_verdict_and_are_named() {
    let before = result(10.0, 1.0, 1);
    let times: Vec<f64> = (0..120).map(|at| if at % 40 < 20 { 10.0 } else { 13.0 }).collect();
    let samples = json!({ "device_ms": times, "wall_ms": times });
    let after = with(&before, "/devices/0/runs/0/variants/0/samples", samples);
    let row = compare_one(&before, &after);
    let why = row.result.as_ref().unwrap_err();
    assert_eq!(why.kind, NoVerdictKind::LongPeriod);
    assert!(why.reason.starts_with("the later times repeat every 40 samples"), "{why}");
    assert!(row.medians().iter().all(Option::is_some));
    assert!(compare_one(&after, &before).result.unwrap_err().reason.starts_with("the earlier times"));
}

/// Reads this JSON as a file of saved results.
fn read(value: &Value) -> Result<Report, String> {
    let path = std::env::temp_dir().join(format!("clreel-saved-{}.json", std::process::id()));
    std::fs::write(&path, value.to_string()).unwrap();
    let read = Report::read(&path).map_err(|error| error.why);
    std::fs::remove_file(&path).unwrap();
    read
}

/// Tests that files with too many rows are refused before they are grouped, because grouping them first took minutes.
#[test]
fn files_of_too_many_rows_are_refused_before_they_are_grouped() {
    let mut many = result(10.0, 1.0, 1);
    many["schema"] = json!(1);
    many["devices"][0]["whole_frames"] = (0..200_000).map(|n| json!({ "title": n.to_string() })).collect();
    assert!(read(&many).unwrap_err().contains("more than 5000 rows"));
    // A document that is not an object does not end the program, either.
    for odd in [json!(["bench", 1]), json!({ "kind": "bench", "schema": 1, "devices": [7] })] {
        assert!(read(&odd).is_err(), "{odd}");
    }
}

#[test]
fn each_peak_kernel_is_a_row_and_rows_of_the_same_case_are_compared() {
    let mut peaks = result(10.0, 1.0, 1);
    for n in 1..=3 {
        let times = json!({ "device_ms": null, "dispatch_ms": null, "wall_ms": vec![f64::from(n); 30] });
        let all = peaks["devices"][0]["runs"][0]["peaks"].as_array_mut().unwrap();
        all.push(json!({ "id": format!("peak{n}"), "outcome": "ok", "samples": times }));
    }
    let other = with(&result(20.0, 1.0, 3), "/devices/0/runs/0/title", json!("n=15"));
    peaks["devices"][0]["runs"].as_array_mut().unwrap().push(other["devices"][0]["runs"][0].clone());
    let saved = read(&peaks).unwrap();
    let rows = compare(&saved, &saved);
    assert!(rows.iter().all(|row| row.row.starts_with("(peak") || row.result.is_ok()));
    let median = |name: &str| {
        let row = rows.iter().find(|row| row.row == name).unwrap();
        row.medians()[0].clone().unwrap()
    };
    assert_eq!(rows.len(), 5 + 2);
    assert!([1, 2, 3].iter().all(|n| median(&format!("(peak{n})")).starts_with(&n.to_string())));
}
