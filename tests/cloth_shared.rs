//! The cloth's vertices in OpenGL's own buffers, in the window, with the tests' layer over a driver that cannot share. The
//! pictures are compared in `src/scene/cloth/shared_tests.rs`. No time is asserted.

use std::path::Path;
use std::process::Command;

use crate::common::*;
use ladders::cloth::model::{Figure, SHIRT_VERTICES};

/// Returns the size of a figure's vertices in bytes.
fn figure_bytes() -> usize {
    32 * (SHIRT_VERTICES + Figure::new().body.vertices.len())
}

/// Counts the calls of a handover function for vertex buffers of armies of this size.
fn handovers(log: &Path, function: &str, army: usize) -> usize {
    let bytes = format!("bytes={}", army * figure_bytes());
    layer::calls(log, function).iter().filter(|call| call.split(' ').any(|word| word == bytes)).count()
}

/// Counts how often the device acquired the same vertex buffer as before, and how often another one of the same army.
fn count_acquisitions(log: &Path) -> (usize, usize) {
    let of = |call: &String, key: &str| call.split(' ').find(|word| word.starts_with(key)).map(str::to_owned);
    let is_vertices =
        |bytes: &String| [1, 4].iter().any(|army| *bytes == format!("bytes={}", army * figure_bytes()));
    let calls = layer::calls(log, "clEnqueueAcquireGLObjects");
    let buffers = calls.iter().filter_map(|call| Some((of(call, "bytes=")?, of(call, "name=")?)));
    let buffers: Vec<_> = buffers.filter(|(bytes, _)| is_vertices(bytes)).collect();
    let of_one_army = || buffers.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let same = of_one_army().filter(|pair| pair[0].1 == pair[1].1).count();
    (same, of_one_army().count() - same)
}

fn window(display: &Display, folder: &Folder, options: &[(&str, &str)], more: &[&str]) -> Command {
    let settings = folder.file("settings.json");
    std::fs::write(&settings, r#"{"hint_seen": true}"#).unwrap();
    let mut command = clreel(Some(display));
    command.env("CLREEL_SETTINGS", settings).envs(layer::environment(options));
    let movie = Movie { size: (64, 36), stamps_ms: steady(100), ..Movie::default() };
    command.arg(folder.movie("m.mkv", &movie)).args(["--scene", "cloth", "--variant", "off"]).args(more);
    command
}

/// Opens the panel of the steps, in a window that is small enough to be drawn fast without a GPU.
fn open_panel(session: &mut Session) {
    session.resize(900, 560);
    session.click_until("Scene: cloth", "write-back");
}

#[test]
fn vertices_are_written_to_opengl_buffers_and_all_are_released() {
    let (display, folder) = (Display::start(&[]), Folder::new("cloth-shared"));
    let (log, stats, trace) = (folder.file("log"), folder.file("s.json"), folder.file("t.json"));
    let options = [("FAKE_GPU", "1"), ("POISON", "1"), ("LOG", log.to_str().unwrap())];
    let mut command = window(&display, &folder, &options, &[]);
    let mut session = Session::start(&display, command.arg("--stats").arg(&stats).arg("--trace").arg(&trace));
    session.wait_for_title("m.mkv on shirts");
    open_panel(&mut session);
    session.wait_for_text("which writes into OpenGL's vertex buffers.");
    let acquired = |army| handovers(&log, "clEnqueueAcquireGLObjects", army);
    let go_on = |session: &mut Session, army: usize| {
        let before = acquired(army);
        session.wait("frames in OpenGL's buffers", |_| acquired(army) > before + 4);
    };
    go_on(&mut session, 1);
    session.resize(800, 500);
    go_on(&mut session, 1);
    session.display.key("Prior");
    session.wait_for_text("An army of 4 figures");
    go_on(&mut session, 4);
    // A device change; with one device, it is started again.
    session.display.key("ctrl+d");
    go_on(&mut session, 4);
    // Once through all scenes.
    session.press_until_title("v", "m.mkv - off");
    session.press_until_title("v", "test card");
    session.press_until_title("v", "on shirts");
    go_on(&mut session, 4);
    session.display.key("Next");
    go_on(&mut session, 1);
    // The buffer written last is drawn, so the device acquires the other one. A change of device or scene may delete
    // buffers, whose names are then reused.
    let (same, other) = count_acquisitions(&log);
    assert!(same <= 2 && other > 16, "{same} times the same buffer, {other} times the other one");
    // Two handovers a frame: for skin, and for write-back.
    session.click_until("once", "twice");
    go_on(&mut session, 1);
    session.quit();
    assert!(count_acquisitions(&log).0 > same + 2, "the device got no buffer a second time");
    for army in [1, 4] {
        let [acquired, released] = ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"]
            .map(|function| handovers(&log, function, army));
        assert!(acquired > 8 && acquired == released, "{army}: {acquired} acquired, {released} released");
    }
    layer::assert_no_misuse(&log, "");
    assert_recorded_steps(&read_json(&stats), &read_json(&trace));
}

/// Asserts that statistics and trace have every step under its own name.
fn assert_recorded_steps(stats: &Value, trace: &Value) {
    let frames = presented_frames(stats);
    let shared = frames.iter().map(|frame| &frame["cloth"]).filter(|cloth| cloth["acquire"].is_number());
    let mut count = 0;
    for cloth in shared {
        count += 1;
        for step in ["skin", "write-back", "release"] {
            assert!(cloth[step].is_number(), "{step}: {cloth}");
        }
        assert!(cloth["copy"].is_null() && cloth["on_host"].as_array().unwrap().is_empty(), "{cloth}");
        assert!([1, 4].contains(&cloth["figures"].as_u64().unwrap()), "{cloth}");
    }
    let has = |n: u64| frames.iter().any(|frame| frame["cloth"]["handovers"].as_u64() == Some(n));
    assert!(has(1) && has(2), "frames whose buffer was handed over once, and twice");
    assert!(count > 3, "{count} of {} frames", frames.len());
    let events = trace["traceEvents"].as_array().unwrap();
    // Overlapping spans of a track are in several rows.
    let track = |name: &str| -> Vec<(Value, Value)> {
        let is_row = |row: &str| row == name || row.starts_with(&format!("{name} ("));
        let names = events.iter().filter(|e| e["name"] == "thread_name");
        let rows = names.filter(|e| e["args"]["name"].as_str().is_some_and(is_row));
        rows.map(|row| (row["pid"].clone(), row["tid"].clone())).collect()
    };
    let (queue, thread) = (track("queue of the cloth"), track("cloth"));
    let on = |track: &[(Value, Value)], name: &str| {
        let is_there = |e: &&Value| track.contains(&(e["pid"].clone(), e["tid"].clone()));
        events.iter().filter(|e| e["name"] == name).filter(is_there).count()
    };
    let handovers = [on(&queue, "cloth acquire"), on(&queue, "cloth release")];
    assert!(handovers[0] > 12 && handovers[0] == handovers[1], "{handovers:?}");
    // A frame has two handovers at most.
    let least = handovers[0].div_ceil(2);
    for step in ["skin", "integrate", "distances", "drive", "write-back"] {
        assert!(on(&queue, step) >= least, "{step}: {} of {handovers:?}", on(&queue, step));
    }
    let [frames, copies] = ["cloth frame", "cloth copy"].map(|name| on(&thread, name));
    assert!(frames >= least && copies > 0, "{frames} frames, {copies} copies, {handovers:?}");
    // The times of the cloth belong to no movie frame.
    for name in ["skin", "cloth acquire", "cloth frame"] {
        assert!(events.iter().all(|e| e["name"] != name || e["args"]["frame"].is_null()), "{name}");
    }
}

/// Options of the layer, further arguments, and the expected reason.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a str);

#[test]
fn a_buffer_that_cannot_be_shared_is_copied_with_the_reason() {
    let (display, folder) = (Display::start(&[]), Folder::new("cloth-copied"));
    let cases: [Case; 4] = [
        (&[("FAIL", "clCreateFromGLBuffer:1+:-59")], &[], "could not be shared"),
        (&[("NEEDS_CONTEXT", "1")], &[], "could not be shared"),
        (&[], &["--no-sharing"], "Vertices are copied: --no-sharing was given."),
        (&[("NO_INTEROP_EGL", "1")], &["--gl", "egl"], "no OpenCL context"),
    ];
    for (options, more, reason) in cases {
        let log = folder.file("log");
        let _ = std::fs::remove_file(&log);
        let always = [("FAKE_GPU", "1"), ("POISON", "1"), ("LOG", log.to_str().unwrap())];
        let options = [options, &always].concat();
        let mut session = Session::start(&display, &mut window(&display, &folder, &options, more));
        session.wait_for_title("m.mkv on shirts");
        open_panel(&mut session);
        session.wait("the reason", |s| {
            let all: Vec<String> = s.texts().into_iter().map(|text| text.text).collect();
            all.join(" ").contains(reason)
        });
        session.quit();
        layer::assert_written(&log);
        assert_eq!(handovers(&log, "clEnqueueAcquireGLObjects", 1), 0, "{options:?}");
    }
}
