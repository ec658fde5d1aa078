//! Uploads on a queue of their own, in the window: the filter's queue waits for them, the bytes do not change, and failures
//! are recovered from. The tests' layer (`tests/gl_sharing`) presents the device as a GPU.

use std::path::Path;
use std::process::Command;

use crate::common::window::{Display, clreel, json, png, presented_frames, succeed};
use testkit::layer;
use testkit::movie::{Folder, Movie, steady};

/// Writes a movie of odd size whose frames differ.
fn movie(folder: &Folder) -> std::path::PathBuf {
    folder.movie("odd.mkv", &Movie { size: (175, 99), stamps_ms: steady(50), ..Movie::default() })
}

fn window(display: &Display, movie: &Path, queues: &str, layer_options: &[(&str, &str)]) -> Command {
    let mut command = clreel(Some(display));
    command.envs(layer::environment(layer_options)).env("CLREEL_QUEUES", queues);
    command.arg(movie).args(["--variant", "separable", "--radius", "3", "--device", "0"]);
    command
}

#[test]
fn one_and_two_queues_give_the_same_bytes_on_every_path() {
    let (display, folder) = (Display::start(&[]), Folder::new("queues-bytes"));
    let movie = movie(&folder);
    type Options = &'static [(&'static str, &'static str)];
    let paths: [(Options, &[&str], &str); 3] = [
        (&[("FAKE_GPU", "1"), ("POISON", "1")], &[], "zero-copy"),
        (&[("FAKE_GPU", "1")], &["--no-sharing"], "copy"),
        // A CPU device, where an upload only maps and unmaps.
        (&[], &["--no-sharing"], "copy"),
    ];
    for (options, arguments, sharing) in paths {
        for queues in ["1", "2"] {
            let (log, picture, stats) = (folder.file("log"), folder.file("w.png"), folder.file("s.json"));
            let _ = std::fs::remove_file(&log);
            let options = [options, &[("LOG", log.to_str().unwrap())]].concat();
            let mut command = window(&display, &movie, queues, &options);
            command.args(arguments).args(["--unpaced", "--frames", "40"]);
            command.arg("--save-frame").arg(&picture).arg("--stats").arg(&stats);
            let stderr = succeed(command);
            let case = format!("{options:?}, {queues} queues: {stderr}");
            let stats = json(&stats);
            assert_eq!(stats["sharing"], sharing, "{case}");
            let frames = presented_frames(&stats);
            let last = frames.last().unwrap().clone();
            assert_eq!(last["variant"], "separable", "{case}");
            // Frames for a GPU are packed by the decoder's thread, except the first ones.
            let packed = frames.iter().filter(|frame| frame["pack"].is_number()).count();
            if case.contains("FAKE_GPU") {
                assert!(packed >= 20, "{packed} frames packed; {case}");
            } else {
                assert_eq!(packed, 0, "{case}");
            }

            // Counted before snapshot adds calls to the same log.
            let waits = layer::calls(&log, "clEnqueueBarrierWithWaitList").len();
            let snapshot = folder.file("snapshot.png");
            let mut command = clreel(None);
            command.envs(layer::environment(&options)).arg("snapshot").arg(&movie);
            let at = (last["pts_s"].as_f64().unwrap() + 1e-4).to_string();
            command.args(["--variant", "separable", "--radius", "3", "--device", "0", "--at", &at, "--out"]);
            succeed({
                command.arg(&snapshot);
                command
            });
            assert!(png(&picture).2 == png(&snapshot).2, "other bytes than snapshot's; {case}");

            if queues == "1" {
                assert_eq!(waits, 0, "{case}");
            } else {
                // On a CPU device the first use of each slot needs no handover.
                assert!(waits >= 30, "{waits} waits; {case}");
            }
        }
    }
}

#[test]
fn failures_on_either_queue_are_recovered_from() {
    let (display, folder) = (Display::start(&[]), Folder::new("queues-failures"));
    let movie = movie(&folder);
    for plan in ["clEnqueueBarrierWithWaitList:100:-5", "clEnqueueWriteBuffer:150:-36", "clFlush:301:-36"] {
        for arguments in [&[][..], &["--no-sharing"][..]] {
            let stats = folder.file("s.json");
            let mut command = window(
                &display,
                &movie,
                "2",
                &[("FAKE_GPU", "1"), ("FAIL", plan), ("SPARE_THREAD", "builder")],
            );
            command.args(arguments).args(["--unpaced", "--frames", "300", "--stats"]).arg(&stats);
            let stderr = succeed(command);
            assert!(stderr.contains("started it anew"), "{plan} {arguments:?}: {stderr}");
            let last = presented_frames(&json(&stats)).last().unwrap().clone();
            assert_eq!(last["variant"], "separable", "{plan} {arguments:?}: {stderr}");
        }
    }
}
