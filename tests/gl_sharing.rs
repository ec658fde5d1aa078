//! The tests' own OpenCL layer (`tests/gl_sharing`): it shares textures as `cl_khr_gl_sharing` specifies, it makes a missing
//! acquire or release visible, and it injects failures as planned. Only raw calls are used, nothing of clreel: the tests of
//! the application rely on this.
//!
//! The layer reads its options once for each process, so each case runs in a child process: this test binary with the
//! ignored test of the module [`child`], which runs the case that `CASE` names and prints its results.

mod child;

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use child::{HEIGHT, LENGTH, WIDTH};
use ocl::ffi;
use testkit::display::Display;
use testkit::layer;

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

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("clreel-gl-sharing-{}-{name}", std::process::id()))
}

#[test]
fn a_texture_is_shared_both_ways_under_glx_and_egl() {
    for platform in ["glx", "egl"] {
        for format in ["rgba8", "r8"] {
            let log = temporary(&format!("{platform}-{format}"));
            let options = [("POISON", "1"), ("LOG", log.to_str().unwrap())];
            let seen = case(&format!("share-{format}"), platform, &options);
            assert_eq!(seen["platform"], platform);
            assert_eq!(seen["listed"], "true");
            assert_eq!(seen["created"], "0");
            // Bytes written by OpenGL are read by a command of OpenCL, and vice versa.
            assert_eq!(seen["cl_sees_gl"], "true", "{platform} {format}");
            assert_eq!(seen["gl_sees_cl"], "true", "{platform} {format}");
            assert_eq!(seen["object"], "0 0x2001 true 0xde1 0");
            assert_eq!(seen["gl_state_kept"], "true");
            let bytes = WIDTH * HEIGHT * if format == "rgba8" { 4 } else { 1 };
            for function in ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"] {
                let calls = layer::calls(&log, function);
                let begins = format!("{function} objects=1 bytes={bytes} queue=");
                assert!(calls.len() == 1 && calls[0].starts_with(&begins), "{calls:?}");
            }
            // The log has the calls of the application, not the layer's own copies.
            assert_eq!(
                layer::calls(&log, "clEnqueueReadImage"),
                [format!("clEnqueueReadImage bytes={bytes}")]
            );
            layer::assert_no_misuse(&log, "");
            std::fs::remove_file(log).unwrap();
        }
    }
}

#[test]
fn with_poison_a_missing_acquire_or_release_gives_wrong_pixels() {
    for platform in ["glx", "egl"] {
        for forgotten in ["acquire", "release"] {
            let log = temporary(&format!("{platform}-{forgotten}"));
            let options = [("POISON", "1"), ("LOG", log.to_str().unwrap())];
            let seen = case(&format!("forget-{forgotten}"), platform, &options);
            assert_eq!(seen["gl_sees_cl"], "false", "{platform} {forgotten}");
            let misuse = layer::calls(&log, "misuse");
            let expected: &[&str] = match forgotten {
                "acquire" => &["misuse clEnqueueReleaseGLObjects not-acquired"],
                _ => &[],
            };
            assert_eq!(misuse, expected);
            std::fs::remove_file(log).unwrap();
        }
        // Without poison a picture may be right by chance: this is why tests use it.
        assert_eq!(case("forget-acquire", platform, &[])["gl_sees_cl"], "true");
    }
}

#[test]
fn a_thread_without_a_gl_context_can_acquire_and_release() {
    for platform in ["glx", "egl"] {
        for (threads, elsewhere) in [("release", [0, 1]), ("acquire", [1, 0]), ("both", [1, 1])] {
            let log = temporary(&format!("{platform}-thread-{threads}"));
            let options = [("POISON", "1"), ("LOG", log.to_str().unwrap())];
            let seen = case(&format!("thread-{threads}"), platform, &options);
            assert_eq!((seen["acquired"].as_str(), seen["released"].as_str()), ("0 0 0", "0 0 0"));
            assert_eq!(seen["cl_sees_gl"], "true true true", "{platform} {threads}");
            assert_eq!(seen["gl_sees_cl"], "true true true", "{platform} {threads}");
            assert_eq!(seen["current_again"], "true", "{platform} {threads}");
            let from_there = ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"].map(|function| {
                let calls = layer::calls(&log, function);
                assert_eq!(calls.len(), 3);
                calls.iter().filter(|call| call.contains("thread=without-gl")).count() / 3
            });
            assert_eq!(from_there, elsewhere, "{platform} {threads}");
            layer::assert_no_misuse(&log, "");
            std::fs::remove_file(log).unwrap();
        }
    }
}

#[test]
fn a_buffer_is_shared_both_ways_and_poisoned_if_a_call_is_missing() {
    for platform in ["glx", "egl"] {
        for what in ["buffer", "buffer-elsewhere"] {
            let log = temporary(&format!("{platform}-{what}"));
            let seen = case(what, platform, &[("POISON", "1"), ("LOG", log.to_str().unwrap())]);
            assert_eq!(seen["object"], "0x2000 true");
            assert_eq!(
                (seen["cl_sees_gl"].as_str(), seen["gl_sees_cl"].as_str()),
                ("true", "true"),
                "{what}"
            );
            let thread = if what == "buffer" { "" } else { "thread=without-gl " };
            for function in ["clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects"] {
                let calls = layer::calls(&log, function);
                let begins = format!("{function} objects=1 bytes={LENGTH} {thread}queue=");
                assert!(calls.len() == 1 && calls[0].starts_with(&begins), "{calls:?}");
            }
            layer::assert_no_misuse(&log, "");
            std::fs::remove_file(log).unwrap();
        }
    }
    let poisoned = [("POISON", "1")];
    let seen = case("buffer-forget-acquire", "glx", &poisoned);
    assert_eq!((seen["cl_sees_gl"].as_str(), seen["gl_sees_cl"].as_str()), ("false", "false"));
    let seen = case("buffer-forget-release", "glx", &poisoned);
    assert_eq!((seen["cl_sees_gl"].as_str(), seen["gl_sees_cl"].as_str()), ("true", "false"));
    let seen = case("no-buffer", "glx", &[]);
    let none = ffi::CL_INVALID_GL_OBJECT.to_string();
    assert_eq!((&seen["unknown"], &seen["empty"]), (&none, &none));
}

#[test]
fn only_the_planned_call_fails() {
    let seen = case("flush-five-times", "glx", &[("FAIL", "clFlush:3:-36,clCreateBuffer:2:-4")]);
    assert_eq!(seen["flush"], "0 0 -36 0 0");
    assert_eq!(seen["buffer"], "0 -4 0 0 0");
    let seen = case("flush-five-times", "glx", &[("FAIL", "clFlush:4+:-5")]);
    assert_eq!(seen["flush"], "0 0 0 -5 -5");
    assert_eq!(seen["buffer"], "0 0 0 0 0");
    assert_eq!(case("share-rgba8", "glx", &[("FAIL", "clCreateContext:1:-1000")])["created"], "-1000");
}

#[test]
fn failures_can_be_limited_to_one_device() {
    let name = &case("device", "glx", &[])["name"];
    for (device, flush, buffer) in
        [(name.as_str(), "0 0 -36 0 0", "0 -4 0 0 0"), ("another", "0 0 0 0 0", "0 0 0 0 0")]
    {
        let options = [("FAIL", "clFlush:3:-36,clCreateBuffer:2:-4"), ("FAIL_DEVICE", device)];
        let seen = case("flush-five-times", "glx", &options);
        assert_eq!((seen["flush"].as_str(), seen["buffer"].as_str()), (flush, buffer), "{device}");
    }
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
fn the_extension_can_be_hidden_while_sharing_works() {
    let seen = case("share-rgba8", "glx", &[("HIDE_EXTENSION", "1")]);
    assert_eq!((seen["listed"].as_str(), seen["gl_sees_cl"].as_str()), ("false", "true"));
}

#[test]
fn sharing_can_be_refused_for_egl_only() {
    let options = [("NO_INTEROP_EGL", "1")];
    assert_eq!(case("share-rgba8", "egl", &options)["created"], ffi::CL_INVALID_OPERATION.to_string());
    assert_eq!(case("share-rgba8", "glx", &options)["gl_sees_cl"], "true");
}

#[test]
fn the_device_can_be_presented_as_another_kind() {
    let seen = case("device", "glx", &[]);
    assert_eq!((seen["type"].as_str(), seen["images"].as_str()), ("2", "1"));
    let seen = case("device", "glx", &[("FAKE_GPU", "1"), ("NO_IMAGES", "1")]);
    assert_eq!((seen["type"].as_str(), seen["images"].as_str(), seen["unified"].as_str()), ("4", "0", "0"));
}

#[test]
fn objects_are_shared_only_with_a_context_created_for_sharing() {
    let seen = case("plain-context", "glx", &[]);
    let refused = ffi::CL_INVALID_CONTEXT.to_string();
    assert_eq!((&seen["texture"], &seen["buffer"]), (&refused, &refused));
}
