//! `clreel conformance --sharing`: passes where the tests' OpenCL layer shares as specified, and finds each fault of sharing
//! that the layer injects (`tests/gl_sharing`). Needs an OpenCL device, Xvfb and OpenGL.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use crate::common::*;

const APIS: [&str; 3] = ["GLX", "EGL", "EGL without a window"];
const ORDERS: [&str; 6] = ["finish", "wait", "fence", "implicit", "together", "repeated"];
const TO_CL: &str = "OpenGL to OpenCL";
const TO_GL: &str = "OpenCL to OpenGL";
/// The number of cases of an API.
const CASES: usize = 9 * 2 * ORDERS.len();

/// Returns the command, with the layer's options.
fn conformance(display: Option<&Display>, options: &[(&str, &str)]) -> Command {
    let mut command = clreel(display);
    let options = [&[("FAKE_GPU", "1"), ("POISON", "1")], options].concat();
    command.args(["conformance", "--sharing", "--seed", "7"]).envs(layer::environment(&options));
    command
}

/// Runs the test with JSON; returns the results of the APIs.
fn results(options: &[(&str, &str)], code: i32) -> Vec<Value> {
    apis(&conformance(Some(&Display::start(&[])), options).arg("--json").output().unwrap(), code)
}

/// Runs the test of the only API that needs no display, in a third of the time; returns its result.
fn results_without_display(options: &[(&str, &str)], code: i32) -> Value {
    let mut apis = apis(&conformance(None, options).arg("--json").output().unwrap(), code);
    let outcomes: Vec<&Value> = apis.iter().map(|api| &api["outcome"]).collect();
    assert_eq!(outcomes, ["unsupported", "unsupported", "tested"]);
    assert!(apis[0]["opengl"].is_null() && !apis[0]["reason"].is_null(), "{apis:#?}");
    apis.pop().unwrap()
}

fn apis(output: &Output, code: i32) -> Vec<Value> {
    report(output, code)["devices"][0]["apis"].as_array().unwrap().clone()
}

fn report(output: &Output, code: i32) -> Value {
    let report = json(output);
    assert_eq!(output.status.code(), Some(code), "{} {report:#}", text(&output.stderr));
    assert_eq!((&report["complete"], &report["seed"]), (&true.into(), &7.into()));
    report
}

/// Returns the cases of an API's result.
fn cases(api: &Value) -> &Vec<Value> {
    api["cases"].as_array().unwrap()
}

/// Returns the number of formats that are offered. PoCL 3.1 has no RG8 images, and the layer no RG16 textures.
fn offered(api: &Value) -> usize {
    let all = cases(api).iter().filter(|case| case["order"] == "finish" && case["outcome"] != "unsupported");
    let formats: BTreeSet<_> = all.map(|case| case["format"].as_str().unwrap()).collect();
    assert!((7..=8).contains(&formats.len()) && !formats.contains("RG16"), "{api:#}");
    formats.len()
}

/// Returns how many cases of an API have this outcome.
fn count(api: &Value, outcome: &str) -> usize {
    cases(api).iter().filter(|case| case["outcome"] == outcome).count()
}

/// Returns the values that `key` has among the cases of an API with this outcome.
fn values<'a>(api: &'a Value, outcome: &str, key: &str) -> BTreeSet<&'a str> {
    let found = cases(api).iter().filter(|case| case["outcome"] == outcome);
    found.map(|case| case[key].as_str().unwrap()).collect()
}

#[test]
fn a_device_that_shares_passes_every_case() {
    for (events, unsupported) in [("1", 0), ("0", 2)] {
        let apis = results(&[("GL_EVENT", events)], 0);
        assert_eq!(apis.iter().map(|api| api["api"].as_str().unwrap()).collect::<Vec<_>>(), APIS);
        for api in &apis {
            assert_eq!((&api["outcome"], &api["reason"]), (&"tested".into(), &Value::Null), "{api:#}");
            assert!(api["opengl"].as_str().unwrap().starts_with(api["api"].as_str().unwrap()), "{api:#}");
            let ok = offered(api) * 2 * (ORDERS.len() - unsupported);
            assert_eq!((cases(api).len(), count(api, "ok")), (CASES, ok), "{api:#}");
            assert_eq!(count(api, "unsupported"), CASES - ok, "{api:#}");
            assert_eq!(values(api, "ok", "order").len(), ORDERS.len() - unsupported);
        }
    }
}

#[test]
fn wrong_bytes_are_found_in_their_direction_or_order() {
    type IsFound = fn(&str, &str) -> bool;
    let faults: [(&str, IsFound); 4] = [
        ("acquire", |direction, _| direction == TO_CL),
        // The release before the second acquisition spoils what OpenGL has written.
        ("release", |direction, order| direction == TO_GL || order == "repeated"),
        ("first-only", |_, order| order == "together"),
        ("once-only", |_, order| order == "repeated"),
    ];
    for (fault, is_found) in faults {
        for api in results(&[("GL_EVENT", "1"), ("FAULTY_HANDOVER", fault)], 3) {
            let tested = count(&api, "ok") + count(&api, "wrong");
            assert_eq!(tested, offered(&api) * 2 * ORDERS.len(), "{fault}: {api:#}");
            for case in cases(&api).iter().filter(|case| case["outcome"] != "unsupported") {
                let is_wrong = is_found(case["direction"].as_str().unwrap(), case["order"].as_str().unwrap());
                assert_eq!(case["outcome"], if is_wrong { "wrong" } else { "ok" }, "{fault}: {case}");
                let repeat = "clreel conformance --sharing --device 0 --seed 7";
                assert_eq!(case["repeat"].as_str(), is_wrong.then_some(repeat));
                if is_wrong {
                    let (wrong, bytes) =
                        (case["wrong_bytes"].as_u64().unwrap(), case["bytes"].as_u64().unwrap());
                    let is_bit = ["acquire", "release"].contains(&fault);
                    assert!(if is_bit { wrong == 1 } else { wrong > bytes / 2 }, "{fault}: {case}");
                    assert!(case["reason"].as_str().unwrap().contains(", expected 0x"), "{case}");
                }
            }
        }
    }
}

#[test]
fn an_error_of_a_call_fails_its_cases() {
    for (plan, reason, failed) in [
        ("clEnqueueAcquireGLObjects:1+:-5", "handing a texture to OpenCL failed", |all| all * 12),
        ("clEnqueueReleaseGLObjects:1+:-5", "handing a texture back to OpenGL failed", |all| all * 12),
        ("clCreateEventFromGLsyncKHR:1+:-6", "making an event of a fence failed", |formats| formats * 2),
        ("clCreateFromGLBuffer:1+:-4", "the driver does not share buffers", |_| 2 * 6),
        ("clEnqueueReadImage:1+:-5", "a transfer of a shared texture failed", |formats| (formats - 1) * 6),
    ] as [(&str, &str, fn(usize) -> usize); 5]
    {
        for api in results(&[("GL_EVENT", "1"), ("FAIL", plan)], 1) {
            let outcomes = (count(&api, "failed"), count(&api, "wrong"));
            assert_eq!(outcomes, (failed(offered(&api)), 0), "{plan}: {api:#}");
            let reasons = values(&api, "failed", "reason");
            assert!(reasons.iter().any(|why| why.starts_with(reason)), "{plan}: {reasons:?}");
        }
    }
    // A format that is refused is not offered.
    for api in results(&[("FAIL", "clCreateFromGLBuffer:1+:-60")], 0) {
        let refused = cases(&api).iter().filter(|case| case["format"] == "buffer");
        assert!(refused.clone().all(|case| case["outcome"] == "unsupported"), "{api:#}");
        assert_eq!(refused.count(), 2 * ORDERS.len());
    }
}

#[test]
fn a_crash_or_hang_fails_only_its_case() {
    let right = results_without_display(&[], 0);
    assert_eq!((count(&right, "failed"), count(&right, "wrong")), (0, 0), "{right:#}");
    // A hang ends at the default timeout, which is longer on a busy machine. There are so many acquisitions that the next
    // child process does not reach that number.
    for (how, reason) in [
        ("crash", "the driver crashed in the sandbox (SIGABRT)"),
        ("fault", "the driver crashed in the sandbox (SIGSEGV)"),
        ("exit", "the driver ended the sandbox with exit code 1"),
        ("hang", "the driver timed out after "),
    ] {
        let plan = format!("clEnqueueAcquireGLObjects:150:{how}");
        let options = [("FAIL", plan.as_str())];
        // The APIs share the code that deals with the end of a child process.
        let apis =
            if how == "crash" { results(&options, 1) } else { vec![results_without_display(&options, 1)] };
        for api in apis {
            assert_eq!(cases(&api).len(), CASES);
            assert_eq!((count(&api, "failed"), count(&api, "wrong")), (1, 0), "{how}: {api:#}");
            let reasons = values(&api, "failed", "reason");
            assert!(reasons.iter().all(|why| why.starts_with(reason)), "{how}: {reasons:?}");
        }
    }
    // A driver that always crashes is given up.
    let api = results_without_display(&[("FAIL", "clEnqueueAcquireGLObjects:1:crash")], 1);
    let reasons = values(&api, "failed", "reason");
    assert!(reasons.contains("not tested after 16 crashes or timeouts"), "{reasons:?}");
    assert_eq!(count(&api, "ok"), 0);
}

#[test]
fn a_device_that_shares_nothing_is_no_failure() {
    let display = Display::start(&[]);
    // Without the layer, and with drivers that refuse at different calls.
    let mut bare = clreel(Some(&display));
    bare.args(["conformance", "--sharing", "--seed", "7"]);
    let no_texture = "the driver does not share RGBA8 textures: OpenCL returned CL_INVALID";
    let refusals = [
        ("clCreateFromGLTexture:1+:-59", no_texture),
        ("clCreateContext:1+:-1000", "the driver makes no OpenCL context for this window"),
    ];
    let refused = refusals.map(|(plan, why)| (conformance(Some(&display), &[("FAIL", plan)]), why));
    for (mut command, why) in [(bare, "shares nothing: ")].into_iter().chain(refused) {
        let output = command.output().unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{why}: {stdout}{stderr}");
        assert_eq!(stdout.matches("shares nothing: ").count(), APIS.len(), "{why}: {stdout}");
        assert_eq!(stdout.matches(why).count(), APIS.len(), "{stdout}");
        assert_eq!(stdout.lines().count(), 1 + APIS.len(), "the device, and each API: {stdout}");
    }
    // One API may share and another not.
    let apis = results(&[("NO_INTEROP_EGL", "1")], 0);
    let outcomes: Vec<&Value> = apis.iter().map(|api| &api["outcome"]).collect();
    assert_eq!(outcomes, ["tested", "unsupported", "unsupported"]);
}

#[test]
fn the_table_has_a_row_for_each_format_and_direction() {
    let display = Display::start(&[]);
    let output = conformance(Some(&display), &[("FAULTY_HANDOVER", "acquire")]).output().unwrap();
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    for direction in [TO_CL, TO_GL] {
        let rows: Vec<&str> =
            stdout.lines().filter(|line| line.contains(direction) && line.contains('│')).collect();
        assert_eq!(rows.len(), 9 * APIS.len(), "{stdout}");
        let wrong = rows.iter().filter(|row| row.contains("WRONG")).count();
        let formats = if direction == TO_CL { 7 * APIS.len()..=8 * APIS.len() } else { 0..=0 };
        assert!(formats.contains(&wrong), "{wrong}: {stdout}");
    }
    for line in [
        "108 cases: ",
        "differs: 1 of 4 bytes, first: byte 3 of pixel (0, 0) of 1×1 is 0x",
        "not offered: the driver does not share RG16 textures: ",
        "not offered: the device does not list cl_khr_gl_event",
        "  clreel conformance --sharing --device 0 --seed 7",
    ] {
        assert_eq!(stdout.matches(line).count(), APIS.len(), "{line}: {stdout}");
    }
    assert!(text(&output.stderr).contains("seed of the random bytes is 7"));
}
