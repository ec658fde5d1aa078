//! The tests' own OpenCL layer (`tests/gl_sharing`): it shares textures as `cl_khr_gl_sharing` specifies, it makes a missing
//! acquire or release visible, and it injects failures as planned. Only raw calls are used, nothing of clreel: the tests of
//! the application rely on this.
//!
//! The layer reads its options once for each process, so each case runs in a child process: this test binary with the
//! ignored test of the module [`child`], which runs the case that `CASE` names and prints its results.

mod child;

use std::collections::HashMap;
use std::process::Command;

use crate::common::*;
use child::{HEIGHT, LENGTH, WIDTH};
use ocl::ffi;

/// Runs a case in a child process under the layer; returns the words that it printed as `name=value`.
fn case(what: &str, platform: &str, options: &[(&str, &str)]) -> HashMap<String, String> {
    let display = Display::start(&[]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "gl_sharing::child::case", "--nocapture", "--test-threads=1"]);
    command.env("DISPLAY", &display.name).env("CASE", what).env("CASE_PLATFORM", platform);
    let output = command.envs(layer::environment(options)).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what} under {platform}: {stdout}\n{stderr}");
    let seen = stdout.lines().filter_map(|line| line.split_once('='));
    seen.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Runs a case like [`case`] with poisoned memory; returns its words, and the layer's log.
fn poisoned(what: &str, platform: &str) -> (HashMap<String, String>, Log) {
    let folder = Folder::new("gl-sharing");
    let log = folder.file("log");
    let seen = case(what, platform, &[("POISON", "1"), ("LOG", log.to_str().unwrap())]);
    (seen, Log(folder))
}

/// The layer's log of a case.
struct Log(Folder);

impl Log {
    fn calls(&self, function: &str) -> Vec<String> {
        layer::calls(&self.0.file("log"), function)
    }

    /// Asserts that both handovers were called once each, with this number of bytes, and that there was no misuse.
    fn assert_handovers(&self, bytes: usize, thread: &str) {
        for function in ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"] {
            let calls = self.calls(function);
            let begins = format!("{function} objects=1 bytes={bytes} {thread}queue=");
            assert!(calls.len() == 1 && calls[0].starts_with(&begins), "{calls:?}");
        }
        layer::assert_no_misuse(&self.0.file("log"), "");
    }
}

#[test]
fn a_texture_is_shared_both_ways_under_glx_and_egl() {
    for platform in ["glx", "egl"] {
        for (format, channels) in [("rgba8", 4), ("r8", 1)] {
            let (seen, log) = poisoned(&format!("share-{format}"), platform);
            // Bytes written by OpenGL are read by a command of OpenCL, and vice versa.
            for (name, value) in [
                ("platform", platform),
                ("listed", "true"),
                ("created", "0"),
                ("cl_sees_gl", "true"),
                ("gl_sees_cl", "true"),
                ("object", "0 0x2001 true 0xde1 0"),
                ("gl_state_kept", "true"),
            ] {
                assert_eq!(seen[name], value, "{name}: {platform} {format}");
            }
            let bytes = WIDTH * HEIGHT * channels;
            log.assert_handovers(bytes, "");
            // The log has the calls of the application, not the layer's own copies.
            assert_eq!(log.calls("clEnqueueReadImage"), [format!("clEnqueueReadImage bytes={bytes}")]);
        }
    }
}

#[test]
fn with_poison_a_missing_acquire_or_release_gives_wrong_pixels() {
    for platform in ["glx", "egl"] {
        for (forgotten, misuse) in
            [("acquire", &["misuse clEnqueueReleaseGLObjects not-acquired"][..]), ("release", &[])]
        {
            let (seen, log) = poisoned(&format!("forget-{forgotten}"), platform);
            assert_eq!(seen["gl_sees_cl"], "false", "{platform} {forgotten}");
            assert_eq!(log.calls("misuse"), misuse);
        }
        // Without poison a picture may be right by chance: this is why tests use it.
        assert_eq!(case("forget-acquire", platform, &[])["gl_sees_cl"], "true");
    }
}

#[test]
fn a_thread_without_a_gl_context_can_acquire_and_release() {
    for platform in ["glx", "egl"] {
        for (threads, elsewhere) in [("release", [0, 1]), ("acquire", [1, 0]), ("both", [1, 1])] {
            let (seen, log) = poisoned(&format!("thread-{threads}"), platform);
            for (name, value) in [
                ("acquired", "0 0 0"),
                ("released", "0 0 0"),
                ("cl_sees_gl", "true true true"),
                ("gl_sees_cl", "true true true"),
                ("current_again", "true"),
            ] {
                assert_eq!(seen[name], value, "{name}: {platform} {threads}");
            }
            let from_there = ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"].map(|function| {
                let calls = log.calls(function);
                assert_eq!(calls.len(), 3);
                calls.iter().filter(|call| call.contains("thread=without-gl")).count() / 3
            });
            assert_eq!(from_there, elsewhere, "{platform} {threads}");
            assert!(log.calls("misuse").is_empty());
        }
    }
}

#[test]
fn a_buffer_is_shared_both_ways_and_poisoned_if_a_call_is_missing() {
    for platform in ["glx", "egl"] {
        for (what, thread) in [("buffer", ""), ("buffer-elsewhere", "thread=without-gl ")] {
            let (seen, log) = poisoned(what, platform);
            assert_eq!(seen["object"], "0x2000 true");
            assert_eq!(["cl_sees_gl", "gl_sees_cl"].map(|name| &*seen[name]), ["true"; 2], "{what}");
            log.assert_handovers(LENGTH, thread);
        }
    }
    for (forgotten, sees) in [("acquire", ["false", "false"]), ("release", ["true", "false"])] {
        let (seen, _) = poisoned(&format!("buffer-forget-{forgotten}"), "glx");
        assert_eq!(["cl_sees_gl", "gl_sees_cl"].map(|name| &*seen[name]), sees, "{forgotten}");
    }
    let seen = case("no-buffer", "glx", &[]);
    let none = ffi::CL_INVALID_GL_OBJECT.to_string();
    assert_eq!((&seen["unknown"], &seen["empty"]), (&none, &none));
}

#[test]
fn only_the_planned_call_fails_on_the_planned_device() {
    let name = &case("device", "glx", &[])["name"];
    let plan = ("FAIL", "clFlush:3:-36,clCreateBuffer:2:-4");
    let none = "0 0 0 0 0";
    for (options, flush, buffer) in [
        (&[plan][..], "0 0 -36 0 0", "0 -4 0 0 0"),
        (&[("FAIL", "clFlush:4+:-5")], "0 0 0 -5 -5", none),
        (&[plan, ("FAIL_DEVICE", name)], "0 0 -36 0 0", "0 -4 0 0 0"),
        (&[plan, ("FAIL_DEVICE", "another")], none, none),
    ] {
        let seen = case("flush-five-times", "glx", options);
        assert_eq!((seen["flush"].as_str(), seen["buffer"].as_str()), (flush, buffer), "{options:?}");
    }
    assert_eq!(case("share-rgba8", "glx", &[("FAIL", "clCreateContext:1:-1000")])["created"], "-1000");
}

#[test]
fn the_device_of_the_gl_context_can_be_set_or_unknown() {
    let name = &case("device", "glx", &[])["name"];
    for platform in ["glx", "egl"] {
        assert_eq!(case("driving", platform, &[])["driving"], "0 8 true");
        assert_eq!(case("driving", platform, &[("DRIVING_DEVICE", name)])["driving"], "0 8 true");
        assert_eq!(case("driving", platform, &[("DRIVING_DEVICE", "another")])["driving"], "0 0 false");
    }
}

#[test]
fn the_device_can_be_presented_as_another_kind_and_sharing_be_hidden_or_refused() {
    let seen = case("share-rgba8", "glx", &[("HIDE_EXTENSION", "1")]);
    assert_eq!((seen["listed"].as_str(), seen["gl_sees_cl"].as_str()), ("false", "true"));
    // Sharing can be refused for EGL only.
    let options = [("NO_INTEROP_EGL", "1")];
    assert_eq!(case("share-rgba8", "egl", &options)["created"], ffi::CL_INVALID_OPERATION.to_string());
    assert_eq!(case("share-rgba8", "glx", &options)["gl_sees_cl"], "true");
    let seen = case("device", "glx", &[]);
    assert_eq!((seen["type"].as_str(), seen["images"].as_str()), ("2", "1"));
    let seen = case("device", "glx", &[("FAKE_GPU", "1"), ("NO_IMAGES", "1")]);
    assert_eq!((seen["type"].as_str(), seen["images"].as_str(), seen["unified"].as_str()), ("4", "0", "0"));
    // Objects are shared only with a context created for sharing.
    let seen = case("plain-context", "glx", &[]);
    let refused = ffi::CL_INVALID_CONTEXT.to_string();
    assert_eq!((&seen["texture"], &seen["buffer"]), (&refused, &refused));
}
