//! `--trace`: it has every presented frame with all stages, kernels have the times of their events, and a trace that
//! cannot be written is an error message. Needs an OpenCL device, Xvfb and xdotool.

use std::collections::BTreeMap;

use crate::common::*;

const STAGES: [&str; 11] = [
    "take", "upload", "acquire", "convert", "correct", "filter", "release", "present", "overlay", "swap",
    "collect",
];

fn events(trace: &Value) -> &Vec<Value> {
    trace["traceEvents"].as_array().unwrap()
}

/// Returns the name of an event, or the stage or kind of one that is named by its kernel.
fn kind(event: &Value) -> &str {
    event["cat"].as_str().or(event["name"].as_str()).unwrap()
}

fn count(trace: &Value, name: &str) -> usize {
    events(trace).iter().filter(|event| kind(event) == name).count()
}

/// Returns the time of each stage of each frame in milliseconds, by the events of the trace, without OpenGL's own times.
fn stage_times(trace: &Value) -> BTreeMap<(u64, String), f64> {
    let mut sums = BTreeMap::new();
    for event in events(trace).iter().filter(|event| event["ph"] == "X" && event["pid"] != 3) {
        let Some(frame) = event["args"]["frame"].as_u64() else { continue };
        let name = kind(event).to_owned();
        *sums.entry((frame, name)).or_default() += event["dur"].as_f64().unwrap() / 1e3;
    }
    sums
}

/// Returns true if the frames of this variant have this stage, whose time may be rounded to 0 in some of them. Nothing corrects
/// colours here.
fn is_in(stage: &str, variant: &str) -> bool {
    stage != "correct" && !(variant == "native" && matches!(stage, "upload" | "acquire"))
}

/// Returns a line for each stage whose time in the statistics and in the trace differ, and for each that frames lack.
fn missing_stages(trace: &Value, stats: &Value, variant: &str) -> Vec<String> {
    let (sums, frames) = (stage_times(trace), presented_frames(stats));
    let mut faults = Vec::new();
    for stage in STAGES {
        let (mut compared, mut different) = (0, Vec::new());
        for frame in frames {
            let case = format!("{variant}, {stage} of frame {}", frame["frame"]);
            if frame.get(stage).is_none() {
                faults.push(format!("no column: {case}"));
                continue;
            }
            let wall = frame["filter_wall"].as_f64().filter(|_| stage == "filter");
            let Some(ms) = frame[stage].as_f64().or(wall).filter(|ms| *ms > 0.0) else { continue };
            compared += 1;
            let number = frame["frame"].as_u64().unwrap();
            let Some(traced) = sums.get(&(number, stage.to_owned())) else {
                faults.push(format!("no event: {case}"));
                continue;
            };
            // Polled stages have only their last time in the trace. Others are rounded, or read the clock once more.
            let near = (traced - ms).abs() <= if stage == "filter" { 0.00011 } else { 0.05 };
            if !(near || stage == "collect" && *traced <= ms + 0.05) {
                different.push(format!("{case}: {traced} and {ms}"));
            }
        }
        // A thread can lose its processor between two readings of the clock, but not in most frames.
        if different.len() > compared / 10 {
            faults.append(&mut different);
        }
        // Times of uploads and handovers may be shorter than what is printed.
        let least =
            if matches!(stage, "upload" | "acquire") { frames.len() / 2 } else { frames.len() * 9 / 10 };
        if is_in(stage, variant) && compared < least {
            faults.push(format!("{variant}: {compared} of {} frames have {stage}", frames.len()));
        }
    }
    faults
}

#[test]
fn every_frame_has_all_stages_and_kernels_have_their_event_times() {
    let (display, folder) = (Display::start(&[]), Folder::new("trace-frames"));
    let movie = Movie { size: (175, 99), stamps_ms: steady(60), ..Movie::default() };
    let movie = folder.movie("small.mkv", &movie);
    for variant in ["separable", "planar", "native"] {
        let trace = folder.file("t.json");
        let mut command = clreel(Some(&display));
        command.arg(&movie).args(["--variant", variant, "--radius", "3", "--frames", "50", "--trace"]);
        let (stats, _) = play(command.arg(&trace));
        let trace = read_json(&trace);
        let frames = presented_frames(&stats);
        assert_eq!((frames.len(), count(&trace, "frame")), (50, 50), "{variant}");
        assert_eq!(missing_stages(&trace, &stats, variant), [""; 0]);
        // A stage that one of both files loses is missed.
        for stage in STAGES {
            let (mut none, mut null, mut untraced) = (stats.clone(), stats.clone(), trace.clone());
            for (none, null) in
                none["frames"].as_array_mut().unwrap().iter_mut().zip(null["frames"].as_array_mut().unwrap())
            {
                none.as_object_mut().unwrap().remove(stage);
                null[stage] = Value::Null;
                null["filter_wall"] = Value::Null;
            }
            untraced["traceEvents"].as_array_mut().unwrap().retain(|event| kind(event) != stage);
            assert!(!missing_stages(&trace, &none, variant).is_empty(), "{variant} without {stage}");
            if stage != "correct" {
                for (trace, stats) in [(&trace, &null), (&untraced, &stats)] {
                    let found = missing_stages(trace, stats, variant);
                    let is_found = found.iter().any(|what| what.contains(stage));
                    assert!(is_found || !is_in(stage, variant), "{variant} without times or events: {stage}");
                }
            }
        }
        let dropped = events(&trace).iter().filter(|event| event["name"] == "dropped");
        let dropped = dropped.map(|event| event["args"]["detail"].as_str().unwrap().parse::<u64>().unwrap());
        assert_eq!(Some(dropped.sum::<u64>()), stats["dropped"].as_u64(), "{variant}");
        assert!(count(&trace, "decode") >= 50 && count(&trace, "build") >= 1, "{variant}");
        let other = &trace["otherData"];
        assert_eq!(other["events_forgotten"], 0);
        assert!(other["recording"]["part_of_frame"].is_number() && other["clocks"][1].is_string(), "{other}");
    }
}

#[test]
fn an_unwritable_trace_is_reported_and_stops_nothing() {
    let (display, folder) = (Display::start(&[]), Folder::new("trace-hostile"));
    let movie = folder.movie("small.mkv", &Movie::default());
    std::fs::create_dir(folder.file("folder.json")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.file("full.json")).unwrap();
    for hostile in ["missing/t.json", "folder.json", "full.json"] {
        let stats = folder.file("s.json");
        let mut command = clreel(Some(&display));
        command.arg(&movie).args(["--variant", "off", "--frames", "10", "--stats"]).arg(&stats);
        let (code, stderr) = run(command.arg("--trace").arg(folder.file(hostile)));
        assert_eq!(code, Some(1), "{hostile}: {stderr}");
        assert!(stderr.contains("could not be written"), "{stderr}");
        assert_eq!(presented_frames(&read_json(&stats)).len(), 10, "{hostile}");
        std::fs::remove_file(stats).unwrap();
    }
    // A window reports the error at once, before there is a trace, and again at its end.
    let mut command = clreel(Some(&display));
    command.arg(&movie).args(["--variant", "off", "--trace"]).arg(folder.file("missing/t.json"));
    let mut session = Session::start(&display, &mut command);
    session.wait_for_text("t.json' could not be written.");
    session.display.key("q");
    let (code, stderr) = session.end();
    assert_eq!((code, stderr.matches("t.json' could not be written.").count()), (Some(1), 2), "{stderr}");
    let (code, stderr) = run(clreel(None).args(["--trace", "trace.txt"]));
    assert!(code == Some(2) && stderr.contains("end in .json"), "{stderr}");
}

#[test]
fn bench_and_snapshot_write_traces() {
    let folder = Folder::new("trace-others");
    let movie = folder.movie("small.mkv", &Movie::default());
    let trace = folder.file("t.json");
    let mut command = clreel(None);
    command.arg("snapshot").arg(&movie).args(["--variant", "flat", "--out"]).arg(folder.file("s.png"));
    succeed(command.arg("--trace").arg(&trace));
    assert!(count(&read_json(&trace), "build") >= 1);
    let mut command = clreel(None);
    command.arg("bench").arg(&movie).args(["--variant", "flat", "--frames", "5", "--conversions", "input"]);
    succeed(command.arg("--trace").arg(&trace));
    let trace = read_json(&trace);
    assert!(count(&trace, "measure") >= 5 && count(&trace, "command") >= 10, "{trace}");
}
