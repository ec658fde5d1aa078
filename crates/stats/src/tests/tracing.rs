//! Tests of the trace file: its contents, and that it is written completely or not at all.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::*;
use crate::trace::{frame_events, repaint_events, write_trace};
use base::device::DeviceInfo;
use base::timing::log::{Event, Recording, Track};

fn recorded(began: Instant, events: Vec<Event>) -> Recording {
    let blocks = vec![Arc::new(events)];
    let began = (began, SystemTime::now());
    Recording { began, blocks, forgotten: 0, first_whole_frame: 0, cost_ns: 2_000 }
}

fn written(recorded: &Recording) -> Value {
    let folder = Folder::new("stats-trace");
    let path = folder.file("t.json");
    let device = DeviceInfo { name: "A \"device\"".into(), ..DeviceInfo::made_up() };
    let context = ExportContext { device: Some(device), ..ExportContext::made_up() };
    write_trace(&path, recorded, Some(&context)).unwrap();
    assert_eq!(file_names(&folder), ["t.json"], "nothing is left beside it");
    serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()
}

/// Returns the trace events with this name or, if events are named after a kernel, with this category.
fn events_named<'a>(trace: &'a Value, name: &str) -> Vec<&'a Value> {
    let is_named = |event: &&Value| event["name"] == name || event["cat"] == name;
    trace["traceEvents"].as_array().unwrap().iter().filter(is_named).collect()
}

fn spans(base: Instant) -> Vec<Span> {
    let span = |stage, lane, from: u64, to: u64| {
        let at = |ns| base + Duration::from_nanos(ns);
        Span { stage, lane, from: at(from), to: at(to) }
    };
    vec![
        span(Stage::Take, Lane::Host, 1_000, 2_001),
        span(Stage::Convert, Lane::Calls, 2_001, 2_400),
        span(Stage::Filter, Lane::Device, 2_500, 7_777),
        span(Stage::Filter, Lane::Device, 7_777, 9_000),
        span(Stage::Swap, Lane::Host, 9_100, 12_000),
    ]
}

/// Returns the sample of a frame with these [`spans`].
fn traced(base: Instant, variant: VariantId) -> FrameSample {
    with(frame(1.5, 40.0, 1.0, variant), |sample| sample.stages.spans = spans(base))
}

#[test]
fn a_frame_is_in_the_trace_with_its_stages_and_what_was_dropped() {
    let base = Instant::now();
    let sample = FrameSample { dropped_before: 2, late: true, ..traced(base, named("flat")) };
    let mut events = frame_events(7, &sample);
    let again = repaint_events(&spans(base + Duration::from_micros(20)));
    events.extend(again);
    let trace = written(&recorded(base, events));
    let frames = events_named(&trace, "frame");
    assert_eq!((frames.len(), &frames[0]["ts"], &frames[0]["dur"]), (1, &1.0.into(), &11.0.into()));
    assert_eq!(frames[0]["args"]["detail"], "flat r=7, at 1.500 s, late");
    let dropped = events_named(&trace, "dropped");
    assert_eq!((&dropped[0]["ph"], &dropped[0]["args"]["detail"]), (&"i".into(), &"2".into()));
    let filters = events_named(&trace, "filter");
    assert_eq!((&filters[0]["dur"], &filters[1]["dur"]), (&5.277.into(), &1.223.into()), "to the nanosecond");
    assert!(filters[..2].iter().all(|filter| filter["args"]["frame"] == 7 && filter["pid"] == 2));
    // Work of the device's thread meanwhile does not appear on another thread.
    let [convert, ..] = events_named(&trace, "convert")[..] else { panic!("{trace}") };
    let thread = |event: &Value| {
        let is_its = |name: &&&Value| name["pid"] == event["pid"] && name["tid"] == event["tid"];
        events_named(&trace, "thread_name").iter().find(is_its).unwrap()["args"]["name"].clone()
    };
    assert_eq!(
        (thread(convert), thread(events_named(&trace, "take")[0])),
        ("device's calls".into(), "window".into())
    );
    let [repaint] = events_named(&trace, "repaint")[..] else { panic!("{trace}") };
    assert!(repaint["args"]["frame"].is_null());
    // Every event has a process and a thread with a name.
    let events = trace["traceEvents"].as_array().unwrap();
    let has = |what: &str, event: &Value| {
        events_named(&trace, what)
            .iter()
            .any(|n| n["pid"] == event["pid"] && (what == "process_name" || n["tid"] == event["tid"]))
    };
    for event in events.iter().filter(|event| event["ph"] != "M") {
        assert!(has("process_name", event) && has("thread_name", event), "{event}");
    }
    let process = events_named(&trace, "process_name");
    assert!(process.iter().any(|p| p["args"]["name"] == "OpenCL: A \"device\""), "{process:?}");
    let recording = &trace["otherData"]["recording"];
    // 2 µs for eight frames, of which one is here; that spent 1.001 and 2.9 µs on the window's thread.
    assert_eq!((&recording["frame_us"], &recording["window_frame_us"]), (&0.25.into(), &3.901.into()));
    let of_shaders = frame_events(0, &traced(base, named("glsl")));
    assert_eq!(of_shaders.iter().filter(|event| event.track == Track::GlFilter).count(), 2);
}

#[test]
fn what_overlaps_has_rows_of_its_own_and_what_is_inside_has_not() {
    let base = Instant::now();
    let event = |from: u64, to: u64| {
        let at = |us| base + Duration::from_micros(us);
        Event::span(Track::GlPresent, "present", at(from), at(to))
    };
    // In the order in which they came: the first two cross, the third is inside the second, the last is after all.
    let events = [(10, 30), (0, 20), (5, 9), (25, 28), (40, 50)].map(|(from, to)| event(from, to));
    let trace = written(&recorded(base, events.to_vec()));
    let placed: Vec<(f64, u64)> = events_named(&trace, "present")
        .iter()
        .map(|e| (e["ts"].as_f64().unwrap(), e["tid"].as_u64().unwrap()))
        .collect();
    let first = placed[0].1;
    let expected = [(0.0, 0), (5.0, 0), (10.0, 1), (25.0, 0), (40.0, 0)];
    assert_eq!(placed, expected.map(|(ts, row)| (ts, first + row)));
    let names: Vec<_> =
        events_named(&trace, "thread_name").iter().map(|n| n["args"]["name"].clone()).collect();
    assert_eq!(names, ["present", "present (2)"]);
}

#[test]
fn frames_that_lost_events_are_left_out_and_all_that_went_is_counted() {
    let base = Instant::now();
    let sample = traced(base, named("flat"));
    let events: Vec<Event> = (3..6).flat_map(|n| frame_events(n, &sample)).collect();
    let all = events.len();
    let trace = written(&Recording { forgotten: 100, first_whole_frame: 4, ..recorded(base, events) });
    let other = &trace["otherData"];
    assert_eq!((&other["frames"], &other["first_whole_frame"]), (&2.into(), &4.into()));
    assert_eq!(other["events_forgotten"], 100 + all / 3);
    assert!(events_named(&trace, "filter").iter().all(|event| event["args"]["frame"].as_u64() >= Some(4)));
    assert_eq!(events_named(&trace, "filter").len(), 4);
    // A recording without events gives a valid trace, too.
    let trace = written(&recorded(base, Vec::new()));
    assert_eq!(
        (events_named(&trace, "process_name").len(), &trace["otherData"]["recording"]["frame_us"]),
        (1, &Value::Null)
    );
}

#[test]
fn a_trace_that_cannot_be_written_is_a_sentence() {
    let folder = Folder::new("stats-hostile");
    fs::create_dir(folder.file("folder.json")).unwrap();
    fs::write(folder.file("file"), "").unwrap();
    let events = vec![Event::instant(Track::Window, "dropped", Instant::now()); 10_000];
    let recorded = recorded(Instant::now(), events);
    for path in ["missing/t.json", "folder.json", "file/t.json", "/dev/full"] {
        let path = folder.file(path);
        let error = write_trace(&path, &recorded, None).unwrap_err();
        assert!(error.what.contains("could not be written") && !error.hint.is_empty(), "{error}");
    }
    assert!(!Path::new(&folder.file("missing")).exists());
    assert_eq!(file_names(&folder).len(), 2, "{:?}", file_names(&folder));
}

#[test]
fn a_frame_of_the_history_has_its_timeline_and_those_before_it() {
    let base = Instant::now();
    let mut recorder = Recorder::new(false);
    let at = |n: u64| base + Duration::from_millis(n);
    for n in 0..10 {
        let span = Span { stage: Stage::Filter, lane: Lane::Device, from: at(n), to: at(n + 1) };
        if n == 4 {
            recorder.mark_discontinuity();
        }
        let sample = frame(n as f64 * 0.04, 40.0, 1.0, named("flat"));
        recorder.push(with(sample, |sample| sample.stages.spans = vec![span]));
    }
    let first = |number| recorder.timeline_of(number).map(|(_, t)| (t.frames.len(), t.extent().unwrap().0));
    assert_eq!(first(9), Some((3, at(7))));
    assert_eq!(first(6), Some((3, at(4))));
    // The timeline of the fifth frame (number 4) does not include the frame before it, because the movie stood still between
    // them.
    assert_eq!((first(5), first(4)), (Some((2, at(4))), Some((1, at(4)))));
    assert_eq!((first(0), first(10), first(u64::MAX)), (Some((1, at(0))), None, None));
    assert_eq!(recorder.number_of(&recorder.history()[6]), Some(6));
    assert_eq!(recorder.number_of(&recorder.history()[6].clone()), None);
    // Frames that have left the history have no timeline, and the others keep theirs.
    recorder.push(frame(11.0, 40.0, 1.0, named("flat")));
    assert_eq!(recorder.timeline_of(0).map(|_| ()), None);
    let newest = recorder.presented - 1;
    assert_eq!(recorder.timeline_of(newest).unwrap().0.presented_at, 11.0);
}
