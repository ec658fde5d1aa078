//! The OpenCL calls of a frame in the window's steady state, by name, counted by the tests' layer (`tests/gl_sharing`): a
//! frame creates no objects, and sets no arguments that did not change.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::*;

/// The number of frames until the steady state, and of those that are counted after them.
const WARM_UP: usize = 120;
const COUNTED: usize = 60;

/// Calls by name.
type Calls = BTreeMap<String, usize>;

/// Returns the calls of the thread that submits frames, frame by frame: each ends with the callback that wakes the window,
/// which no other thread sets.
fn frames(log: &Path) -> Vec<Calls> {
    let text = std::fs::read_to_string(log).unwrap();
    let calls: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut frames = vec![Calls::new()];
    let Some((_, window)) = calls.iter().find(|(function, _)| *function == "clSetEventCallback") else {
        return frames;
    };
    for (function, _) in calls.iter().filter(|(_, thread)| thread == window) {
        *frames.last_mut().unwrap().entry((*function).to_owned()).or_default() += 1;
        if *function == "clSetEventCallback" {
            frames.push(Calls::new());
        }
    }
    frames
}

/// Plays a small movie and returns the calls of its last frames.
fn play(display: &Display, folder: &Folder, options: &[(&str, &str)], arguments: &[&str]) -> Vec<Calls> {
    let log = folder.file("calls");
    // Unfiltered frames do not wait for the device, which is ready late on a busy machine.
    for warm_up in [WARM_UP, 10 * WARM_UP, 40 * WARM_UP] {
        let count = warm_up + COUNTED;
        let movie = Movie { size: (176, 100), stamps_ms: steady(count + 20), ..Movie::default() };
        let movie = folder.movie("small.mkv", &movie);
        let _ = std::fs::remove_file(&log);
        let mut command = clreel(Some(display));
        command.envs(layer::environment(&[options, &[("CALLS", log.to_str().unwrap())]].concat()));
        command.arg(movie).args(arguments).args(["--unpaced", "--frames", &count.to_string()]);
        succeed(command);
        let frames = frames(&log);
        if frames.len() > WARM_UP + COUNTED / 2 {
            return frames[frames.len() - COUNTED..frames.len() - 2].to_vec();
        }
    }
    panic!("no device was ready for any of {} frames", 40 * WARM_UP + COUNTED);
}

/// Returns true for polls of a frame in flight: their number depends on its duration.
fn is_poll(function: &str) -> bool {
    function == "clGetEventInfo"
}

/// Returns the calls that submit a frame: those of the majority of frames, which nothing else interrupts.
fn submission_calls(frames: &[Calls]) -> Calls {
    let mut seen: BTreeMap<Calls, usize> = BTreeMap::new();
    for frame in frames {
        // Many of the others belong to the end of a frame, which may come before or after the start of the next one.
        let at_end = ["clGetEventProfilingInfo", "clReleaseEvent"];
        let begins =
            |(function, _): &(&String, &usize)| !is_poll(function) && !at_end.contains(&function.as_str());
        let calls = frame.iter().filter(begins).map(|(function, count)| (function.clone(), *count)).collect();
        *seen.entry(calls).or_default() += 1;
    }
    let (calls, count) = seen.iter().max_by_key(|(_, count)| **count).unwrap();
    assert!(*count > frames.len() / 2, "no frame is like the others: {seen:?}");
    calls.clone()
}

/// The calls that submit a frame on a device with memory of its own, into textures or into host memory, and on one that
/// computes in host memory.
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
fn a_frame_in_steady_state_creates_no_objects_and_sets_no_arguments() {
    let (display, folder) = (Display::start(&[]), Folder::new("frame-calls"));
    let gpu = [("FAKE_GPU", "1")];
    let copied = ["--no-sharing"];
    type Case<'a> =
        (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str], &'a [(&'a str, usize)], [usize; 2], usize);
    // Kernels besides the conversion, copies into the texture, and the largest number of calls per frame.
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
        let calls = frames.iter().flatten().filter(|(function, _)| !is_poll(function));
        let all = (calls.map(|(_, count)| *count as f64).sum::<f64>() / frames.len() as f64).round() as usize;
        let submission_calls = submission_calls(&frames);
        let case = format!("{variant} {options:?} {more:?}: {all} calls a frame, {submission_calls:?}");
        println!("{case}");
        let mut expected: Calls = around.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        *expected.entry("clEnqueueNDRangeKernel".to_owned()).or_default() += kernels;
        if copies > 0 {
            expected.insert("clEnqueueCopyBufferToImage".to_owned(), copies);
        }
        assert_eq!(submission_calls, expected, "{case}");
        if all > most {
            too_many.push(case);
        }
    }
    assert!(too_many.is_empty(), "{too_many:#?}");
}

/// A wipe has the calls of two frames, and those of the map.
#[test]
fn a_frame_of_a_wipe_has_the_calls_of_two_frames() {
    let (display, folder) = (Display::start(&[]), Folder::new("frame-calls-wipe"));
    let gpu = [("FAKE_GPU", "1")];
    // Kernels with the conversion, and copies into textures or images. The map of the differences is written into its
    // texture on the device: only numbers are read back.
    let cases: [(&str, &[&str], usize, usize); 3] = [
        ("off,fused:3", &[], 3, 0),
        ("separable:3,fused:5", &[], 5, 0),
        ("fused:3,fused:5", &["--difference"], 6, 1),
    ];
    for (wipe, compared, kernels, copies) in cases {
        let frames = play(&display, &folder, &gpu, &[&["--wipe", wipe], compared].concat());
        // Each side sets a callback. The sides are compared when both are finished, which may be during the next frame:
        // so only the sum of two frames is known.
        let frames_at_once = if compared.is_empty() { 1 } else { 2 };
        let both = |pair: &[Calls]| {
            let mut sum = Calls::new();
            for (function, count) in pair.iter().flatten() {
                *sum.entry(function.clone()).or_default() += count;
            }
            sum
        };
        let submission_calls =
            submission_calls(&frames.chunks_exact(2 * frames_at_once).map(both).collect::<Vec<_>>());
        let count = |function: &str| {
            let calls = submission_calls.get(function).copied().unwrap_or_default();
            assert_eq!(calls % frames_at_once, 0, "{wipe}: {submission_calls:?}");
            calls / frames_at_once
        };
        let case = format!("{wipe}: {submission_calls:?}");
        assert_eq!(count("clEnqueueWriteBuffer"), 2, "{case}");
        let pictures = if compared.is_empty() { 2 } else { 5 };
        assert_eq!(count("clEnqueueAcquireGLObjects"), pictures, "{case}");
        assert_eq!(count("clEnqueueReadBuffer"), compared.len(), "{case}");
        assert_eq!(count("clEnqueueNDRangeKernel"), kernels, "{case}");
        assert_eq!(count("clEnqueueCopyBufferToImage"), copies, "{case}");
    }
}

#[test]
fn a_snapshot_uploads_its_frame_once_for_each_filter() {
    let folder = Folder::new("frame-calls-snapshot");
    let movie =
        folder.movie("small.mkv", &Movie { size: (176, 100), stamps_ms: steady(3), ..Movie::default() });
    let (log, calls) = (folder.file("log"), folder.file("calls"));
    // The sizes of the writes to the device in bytes, and the number of launches.
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
    let (writes, _) = one("off");
    let frame = *writes.iter().max().unwrap();
    assert!(frame >= 176 * 100 * 3 / 2, "{frame}");
    let large = |writes: &[usize]| writes.iter().filter(|bytes| **bytes >= frame).count();
    for variant in ["off", "flat", "planar"] {
        let (writes, _) = one(variant);
        assert_eq!(large(&writes), 1, "{variant}: {writes:?}");
    }
    for (left, right) in [("flat", "fused"), ("flat", "native"), ("glsl", "fused"), ("flat", "planar")] {
        let (writes, _) = made(&["--wipe", &format!("{left},{right}")]);
        // A variant without OpenCL launches nothing.
        let alone = [left, right].map(|id| if ["native", "glsl"].contains(&id) { 0 } else { one(id).1 });
        let on_device = alone.iter().filter(|launches| **launches > 0).count();
        assert_eq!(large(&writes), on_device, "{left}, {right}: {writes:?}");
    }
}
