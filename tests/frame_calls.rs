//! How many OpenCL calls a frame of the window takes in steady state, by name, as the tests' own layer counts them
//! (`tests/gl_sharing`): nothing is made for a frame, and no argument set that did not change.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::window::{Display, clreel, succeed};
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

/// Frames until nothing is new any more, and those that are counted after them.
const BEFORE: usize = 120;
const COUNTED: usize = 60;

/// Calls by name.
type Calls = BTreeMap<String, usize>;

/// The calls of the window's thread, from the last command of a frame to that of the next one: it asks to be woken after
/// it, and no other thread does.
fn frames(log: &Path) -> Vec<Calls> {
    let text = std::fs::read_to_string(log).unwrap();
    let calls: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let (_, window) = calls.iter().find(|(function, _)| *function == "clSetEventCallback").unwrap();
    let mut frames = vec![Calls::new()];
    for (function, _) in calls.iter().filter(|(_, thread)| thread == window) {
        *frames.last_mut().unwrap().entry((*function).to_owned()).or_default() += 1;
        if *function == "clSetEventCallback" {
            frames.push(Calls::new());
        }
    }
    frames
}

/// Plays a small movie; the calls of its last frames.
fn play(display: &Display, folder: &Folder, options: &[(&str, &str)], arguments: &[&str]) -> Vec<Calls> {
    let movie = Movie { size: (176, 100), stamps_ms: steady(BEFORE + COUNTED + 20), ..Movie::default() };
    let movie = folder.movie("small.mkv", &movie);
    let log = folder.file("calls");
    let _ = std::fs::remove_file(&log);
    let mut command = clreel(Some(display));
    command.envs(layer::environment(&[options, &[("CALLS", log.to_str().unwrap())]].concat()));
    command.arg(movie).args(arguments).args(["--unpaced", "--frames", &(BEFORE + COUNTED).to_string()]);
    succeed(command);
    let frames = frames(&log);
    frames[frames.len().saturating_sub(COUNTED)..frames.len() - 2].to_vec()
}

/// What is asked while a frame is on its way: how often depends on how long it takes.
fn is_asked(function: &str) -> bool {
    function == "clGetEventInfo"
}

/// What is counted only in the sum: much of it belongs to a frame's end, which may come before or after the next one's
/// beginning.
fn is_anywhere(function: &str) -> bool {
    ["clGetEventProfilingInfo", "clReleaseEvent"].contains(&function)
}

/// The calls that put a frame on the device: those of most frames, in which nothing else comes between.
fn begun(frames: &[Calls]) -> Calls {
    let mut seen: BTreeMap<Calls, usize> = BTreeMap::new();
    for frame in frames {
        let begins = |(function, _): &(&String, &usize)| !is_asked(function) && !is_anywhere(function);
        let calls = frame.iter().filter(begins).map(|(function, count)| (function.clone(), *count)).collect();
        *seen.entry(calls).or_default() += 1;
    }
    let (calls, count) = seen.iter().max_by_key(|(_, count)| **count).unwrap();
    assert!(*count > frames.len() / 2, "no frame is like the others: {seen:?}");
    calls.clone()
}

/// All calls a frame but those that ask whether it is done, rounded.
fn a_frame(frames: &[Calls]) -> usize {
    let calls = frames.iter().flatten().filter(|(function, _)| !is_asked(function));
    (calls.map(|(_, count)| count).sum::<usize>() as f64 / frames.len() as f64).round() as usize
}

/// What begins a frame on a device with memory of its own, in textures and in the host's memory, and on one that
/// computes in the host's memory.
const SHARED: [(&str, usize); 7] = [
    ("clEnqueueWriteBuffer", 1),
    ("clFlush", 2),
    ("clEnqueueAcquireGLObjects", 1),
    ("clEnqueueBarrierWithWaitList", 1),
    ("clEnqueueReleaseGLObjects", 1),
    ("clSetEventCallback", 1),
    ("clEnqueueNDRangeKernel", 1),
];
const COPIED: [(&str, usize); 6] = [
    ("clEnqueueWriteBuffer", 1),
    ("clFlush", 2),
    ("clEnqueueBarrierWithWaitList", 1),
    ("clEnqueueReadBuffer", 1),
    ("clSetEventCallback", 1),
    ("clEnqueueNDRangeKernel", 1),
];
const IN_PLACE: [(&str, usize); 4] =
    [("clFlush", 1), ("clEnqueueMapBuffer", 2), ("clEnqueueUnmapMemObject", 2), ("clSetEventCallback", 1)];

#[test]
fn a_frame_in_steady_state_makes_nothing_and_sets_nothing() {
    let (display, folder) = (Display::start(&[]), Folder::new("frame-calls"));
    let gpu = [("FAKE_GPU", "1")];
    let copied = ["--no-sharing"];
    type Case<'a> =
        (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str], &'a [(&'a str, usize)], [usize; 2], usize);
    // Kernels beside the conversion, copies into the texture, and all calls of a frame at most.
    let cases: [Case; 9] = [
        ("off", &gpu, &[], &SHARED, [0, 0], 21),
        ("separable", &gpu, &[], &SHARED, [2, 0], 29),
        ("running-sum", &gpu, &[], &SHARED, [2, 1], 33),
        ("fused", &gpu, &[], &SHARED, [1, 0], 25),
        ("planar", &gpu, &[], &SHARED, [1, 0], 25),
        ("running-sum", &gpu, &copied, &COPIED, [2, 0], 25),
        ("planar", &gpu, &copied, &COPIED, [1, 0], 21),
        ("running-sum", &[], &copied, &IN_PLACE, [2, 0], 23),
        ("planar", &[], &copied, &IN_PLACE, [2, 0], 23),
    ];
    let mut too_many = Vec::new();
    for (variant, options, more, around, [kernels, copies], most) in cases {
        let arguments = [&["--variant", variant, "--radius", "3"][..], more].concat();
        let frames = play(&display, &folder, options, &arguments);
        let (begun, all) = (begun(&frames), a_frame(&frames));
        let case = format!("{variant} {options:?} {more:?}: {all} calls a frame, {begun:?}");
        println!("{case}");
        let mut expected: Calls = around.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        *expected.entry("clEnqueueNDRangeKernel".to_owned()).or_default() += kernels;
        if copies > 0 {
            expected.insert("clEnqueueCopyBufferToImage".to_owned(), copies);
        }
        assert_eq!(begun, expected, "{case}");
        if all > most {
            too_many.push(case);
        }
    }
    assert!(too_many.is_empty(), "{too_many:#?}");
}

/// Both sides of a wipe: one upload and one conversion a frame, and all else twice.
#[test]
fn a_wiped_frame_is_brought_to_the_device_and_converted_once() {
    let (display, folder) = (Display::start(&[]), Folder::new("frame-calls-wipe"));
    let gpu = [("FAKE_GPU", "1")];
    // Kernels with the conversion, and copies into textures or images.
    // The map of the differences goes into its texture on the device: only numbers are read.
    let cases: [(&str, &[&str], usize, usize); 3] = [
        ("off,fused:3", &[], 2, 1),
        ("separable:3,fused:5", &[], 4, 1),
        ("fused:3,fused:5", &["--difference"], 5, 1),
    ];
    for (wipe, compared, kernels, copies) in cases {
        let frames = play(&display, &folder, &gpu, &[&["--wipe", wipe], compared].concat());
        // Each side asks to be woken. Pictures are compared when both are there, which may be when the next frame has begun: of
        // two frames together no more can be said than the sum.
        let frames_at_once = if compared.is_empty() { 1 } else { 2 };
        let both = |pair: &[Calls]| {
            let mut sum = Calls::new();
            for (function, count) in pair.iter().flatten() {
                *sum.entry(function.clone()).or_default() += count;
            }
            sum
        };
        let begun = begun(&frames.chunks_exact(2 * frames_at_once).map(both).collect::<Vec<_>>());
        let count = |function: &str| {
            let calls = begun.get(function).copied().unwrap_or_default();
            assert_eq!(calls % frames_at_once, 0, "{wipe}: {begun:?}");
            calls / frames_at_once
        };
        let case = format!("{wipe}: {begun:?}");
        assert_eq!(count("clEnqueueWriteBuffer"), 1, "{case}");
        let pictures = if compared.is_empty() { 2 } else { 5 };
        assert_eq!(count("clEnqueueAcquireGLObjects"), pictures, "{case}");
        assert_eq!(count("clEnqueueReadBuffer"), compared.len(), "{case}");
        assert_eq!(count("clEnqueueNDRangeKernel"), kernels, "{case}");
        assert_eq!(count("clEnqueueCopyBufferToImage"), copies, "{case}");
    }
}

#[test]
fn a_snapshot_brings_its_frame_to_the_device_once() {
    let folder = Folder::new("frame-calls-snapshot");
    let movie =
        folder.movie("small.mkv", &Movie { size: (176, 100), stamps_ms: steady(3), ..Movie::default() });
    let (log, calls) = (folder.file("log"), folder.file("calls"));
    // The bytes of each write to the device, and how many kernels were launched.
    let made = |arguments: &[&str]| {
        [&log, &calls].into_iter().for_each(|file| drop(std::fs::remove_file(file)));
        let mut command = clreel(None);
        let files = [("LOG", log.to_str().unwrap()), ("CALLS", calls.to_str().unwrap())];
        command.envs(layer::environment(&[&[("FAKE_GPU", "1")], &files[..]].concat()));
        command.arg("snapshot").arg(&movie).args(["--radius", "3", "--device", "0"]).args(arguments);
        command.arg("--out").arg(folder.file("out.png"));
        succeed(command);
        let writes = layer::calls(&log, "clEnqueueWriteBuffer");
        let bytes = |call: &String| call.rsplit_once('=').unwrap().1.parse::<usize>().unwrap();
        let launches = layer::calls(&calls, "clEnqueueNDRangeKernel").len();
        (writes.iter().map(bytes).collect::<Vec<_>>(), launches)
    };
    let one = |variant: &str| made(&["--variant", variant]);
    let (writes, conversion) = one("off");
    let frame = *writes.iter().max().unwrap();
    assert!(frame >= 176 * 100 * 3 / 2, "{frame}");
    let large = |writes: &[usize]| writes.iter().filter(|bytes| **bytes >= frame).count();
    for variant in ["off", "flat", "planar"] {
        let (writes, _) = one(variant);
        assert_eq!(large(&writes), 1, "{variant}: {writes:?}");
    }
    // Two filters of it: one upload, one conversion, and the kernels of both. `planar` reads planes, which are uploaded again.
    for (left, right, uploads) in [
        ("flat", "fused", 1),
        ("off", "vectorized", 1),
        ("flat", "off", 1),
        ("flat", "native", 1),
        ("glsl", "fused", 1),
        ("flat", "planar", 2),
    ] {
        let (writes, launches) = made(&["--wipe", &format!("{left},{right}")]);
        assert_eq!(large(&writes), uploads, "{left}, {right}: {writes:?}");
        // What does without OpenCL launches nothing.
        let alone = [left, right].map(|id| if ["native", "glsl"].contains(&id) { 0 } else { one(id).1 });
        let on_device = alone.iter().filter(|launches| **launches > 0).count();
        let shared = if uploads == 1 && on_device == 2 { conversion } else { 0 };
        assert_eq!(launches, alone[0] + alone[1] - shared, "{left}, {right}: {alone:?} alone");
    }
}
