//! Uploads on a queue of their own, in the window: the filter's queue waits for them, the bytes do not change, and failures
//! are recovered from. The tests' layer (`tests/gl_sharing`) presents the device as a GPU.

use std::path::Path;
use std::process::Command;

use crate::common::*;

fn window(display: &Display, movie: &Path, queues: &str, layer_options: &[(&str, &str)]) -> Command {
    let mut command = clreel(Some(display));
    command.envs(layer::environment(layer_options)).env("CLREEL_QUEUES", queues);
    command.arg(movie).args(["--variant", "separable", "--radius", "3", "--device", "0"]);
    command
}

#[test]
fn one_and_two_queues_give_the_same_bytes_on_every_path() {
    let (display, folder) = (Display::start(&[]), Folder::new("queues-bytes"));
    let movie = odd_movie(&folder);
    type Options = &'static [(&'static str, &'static str)];
    let paths: [(Options, &[&str], &str); 3] = [
        (&[("FAKE_GPU", "1"), ("POISON", "1")], &[], "zero-copy"),
        (&[("FAKE_GPU", "1")], &["--no-sharing"], "copy"),
        // A CPU device, where an upload only maps and unmaps.
        (&[], &["--no-sharing"], "copy"),
    ];
    for (options, arguments, sharing) in paths {
        for queues in ["1", "2"] {
            let [log, picture] = ["log", "w.png"].map(|name| folder.file(name));
            let _ = std::fs::remove_file(&log);
            let options = [options, &[("LOG", log.to_str().unwrap())]].concat();
            let mut command = window(&display, &movie, queues, &options);
            command.args(arguments).args(["--unpaced", "--frames", "40"]);
            let (stats, stderr) = play(command.arg("--save-frame").arg(&picture));
            let case = format!("{options:?}, {queues} queues: {stderr}");
            assert_eq!(stats["sharing"], sharing, "{case}");
            let frames = presented_frames(&stats);
            let last = frames.last().unwrap().clone();
            assert_eq!(last["variant"], "separable", "{case}");
            // Frames for a GPU are packed by the decoder's thread, except the first ones.
            let packed = frames.iter().filter(|frame| frame["pack"].is_number()).count();
            let is_gpu = case.contains("FAKE_GPU");
            assert!(if is_gpu { packed >= 20 } else { packed == 0 }, "{packed} frames packed; {case}");

            // Counted before snapshot adds calls to the same log.
            let waits = layer::calls(&log, "clEnqueueBarrierWithWaitList").len();
            let snapshot = folder.file("snapshot.png");
            let mut command = clreel(None);
            command.envs(layer::environment(&options)).arg("snapshot").arg(&movie);
            let at = (last["pts_s"].as_f64().unwrap() + 1e-4).to_string();
            command.args(["--variant", "separable", "--radius", "3", "--device", "0", "--at", &at, "--out"]);
            succeed(command.arg(&snapshot));
            assert!(png(&picture).2 == png(&snapshot).2, "other bytes than snapshot's; {case}");

            // On a CPU device the first use of each slot needs no handover.
            assert!(if queues == "1" { waits == 0 } else { waits >= 30 }, "{waits} waits; {case}");
        }
    }
}

#[test]
fn failures_on_either_queue_are_recovered_from() {
    let (display, folder) = (Display::start(&[]), Folder::new("queues-failures"));
    let movie = odd_movie(&folder);
    for plan in ["clEnqueueBarrierWithWaitList:100:-5", "clEnqueueWriteBuffer:150:-36", "clFlush:301:-36"] {
        for arguments in [&[][..], &["--no-sharing"][..]] {
            let options = [("FAKE_GPU", "1"), ("FAIL", plan), ("SPARE_THREAD", "builder")];
            let mut command = window(&display, &movie, "2", &options);
            let (stats, stderr) = play(command.args(arguments).args(["--unpaced", "--frames", "300"]));
            assert!(stderr.contains("started it anew"), "{plan} {arguments:?}: {stderr}");
            let last = presented_frames(&stats).last().unwrap();
            assert_eq!(last["variant"], "separable", "{plan} {arguments:?}: {stderr}");
        }
    }
}
