//! OpenCL's type conversions: the reference against an independent table, and `clreel conformance`, which passes right
//! kernels and reports each injected fault. Needs an OpenCL device, and fails without one.

mod reference;
mod strategies;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::common::reports::clreel;
use crate::common::*;

const KERNELS: &str = "conversions/01_all_forms.cl";
/// The line of the kernel file before which functions are replaced.
const TOP: &str = "#define PASTED(";

fn conformance(args: &[&str]) -> Command {
    let mut command = clreel(&["conformance"]);
    command.args(args);
    command
}

/// Returns the cases of the only device.
fn cases(report: &Value) -> &Vec<Value> {
    report["devices"][0]["cases"].as_array().unwrap()
}

#[test]
fn right_conversions_pass_in_every_form() {
    // There is no saturation of a float, no type of no letters, and no width of five.
    for args in [["--type", "ushort_char float_sat_int*"], ["--type", "*_char_"], ["--width", "5"]] {
        assert!(finish(conformance(&args).arg("--json"), 2).stdout.is_empty(), "{args:?}");
    }
    let names = "ushort_char char_sat_rtn_double float_rtp_ulong";
    let report = finish_json(conformance(&["--type", names, "--seed", "5", "--json"]), 0);
    let parts = ["seed", "complete", "depth"].map(|key| &report[key]);
    assert_eq!(serde_json::json!(parts), serde_json::json!([5, true, "quick"]));
    let all = [("ushort_char", true, 7), ("char_sat_rtn_double", false, 6), ("float_rtp_ulong", false, 6)];
    for (case, (name, exhaustive, forms)) in cases(&report).iter().zip(all) {
        assert_eq!((&case["case"], &case["outcome"]), (&name.into(), &"ok".into()), "{case}");
        let tested = case["forms"].as_array().unwrap().len();
        assert_eq!((case["exhaustive"] == true, tested), (exhaustive, forms));
        assert_eq!(case["values"], case["of"]);
        assert!(exhaustive && case["values"] == 256 || case["values"].as_u64() > Some(1 << 20), "{case}");
    }
    assert_eq!(cases(&report).len(), 3);
    // Only some widths; JSON lists no other forms.
    let report = finish_json(conformance(&["--type", "ushort_char", "--width", "3,1", "--json"]), 0);
    assert_eq!(cases(&report)[0]["outcome"], "ok", "{report}");
    assert_eq!(cases(&report)[0]["forms"], serde_json::json!(["width 1", "width 3", "implicit"]));
    // A type that the device lacks is not tested, and is no failure.
    let report = finish_json(conformance(&["--type", "half_int", "--json"]), 0);
    let outcome = cases(&report)[0]["outcome"].as_str().unwrap();
    assert!(["ok", "unsupported"].contains(&outcome), "{outcome}");
}

/// Each fault fails its own case only; the report names case, form and number, and how to repeat it. All in one program.
#[test]
fn each_injected_fault_is_reported_with_case_and_number() {
    // A conversion that is wrong for some numbers; `right` is the original.
    let instead = |n: usize, from: &str, to: &str, name: &str, given: &str| {
        let right = format!("right{n}");
        let given = given.replace("right", &right);
        format!("{to} {right}({from} x) {{ return {name}(x); }}\n#define {name}(x) {given}\n")
    };
    let at = |bits: &str, given: &str| format!("(as_ulong(x) == {bits}UL ? {given} : right(x))");
    let crash = "(*(volatile __global int *)16 = 1, right(x))";
    let defined = [
        "#define convert_uchar3_sat_rte(x) convert_uchar3_sat_rtz(x)\n".to_owned(),
        instead(1, "int", "short", "convert_short_rtp", "((x) == 65537 ? (short)2 : right(x))"),
        instead(2, "float", "int", "convert_int_sat_rtn", "(isnan(x) ? 1 : right(x))"),
        instead(3, "double", "float", "convert_float_rtz", "(isnan(x) ? 0.0f : right(x))"),
        instead(4, "int4", "char4", "convert_char4_sat", "min(right(x), (char4)126)"),
        instead(5, "uchar", "int", "convert_int_sat_rtp", crash),
        // The tie between the largest float and infinity, the largest float, the tie below the smallest normal float.
        instead(6, "double", "float", "convert_float_rte", &at("0x47effffff0000000", "FLT_MAX")),
        instead(7, "double", "float", "convert_float_rtn", &at("0x47efffffe0000000", "INFINITY")),
        instead(8, "double", "float", "convert_float", &at("0x380fffffe0000000", "as_float(0x007fffff)")),
        // The last tie of a long that becomes a double.
        instead(9, "long", "double", "convert_double_rte", &at("0x7ffffffffffffe00", "9223372036854774784.")),
        "#define convert_int8_sat(x) nonsense(x)\n".to_owned(),
        TOP.to_owned(),
    ];
    let scalars = "#define SCALARS(mode)                                                                 \\\n    EACH(i, count)";
    let one_less =
        "if (i != 77 || sizeof(TO) != 2 || sizeof(FROM) != 1) out[i] = CONVERT(TO, , mode)(in[i]);";
    let fewer = "EACH(i, count / width - (width == 16 && sizeof(TO) == 1 && sizeof(FROM) == 2))";
    let more = "#define SCALARS(mode) \\\n    EACH(i, count + (sizeof(TO) == 4 && sizeof(FROM) == 1 && (FROM)-1 < 0))";
    // Selects the program by its sizes and by the sign of its source.
    let edits = [
        (TOP, &*defined.concat()),
        ("out[i] = CONVERT(TO, , mode)(in[i]);", one_less),
        ("EACH(i, count / width)", fewer),
        ("out[i] = in[i];", "out[i] = sizeof(TO) == 1 && in[i] == 3 ? 4 : in[i];"),
        (scalars, more),
    ];
    let kernels = edited_kernels("conformance-planted", KERNELS, &edits);
    // The case, the form, the kind of fault, and the number.
    let wrong = [
        // A wrong rounding in one case and one width, of one number.
        ("uchar_sat_rte_float", "width 3", "differs", ""),
        ("short_rtp_int", "width 1", "differs", "65537"),
        // A number that is not written, and a vector of them.
        ("ushort_sat_char", "width 1", "not written", "77"),
        ("uchar_short", "width 16", "not written", ""),
        // A NaN, and saturation that is off by one.
        ("int_sat_rtn_float", "width 1", "differs", "NaN"),
        ("float_rtz_double", "width 1", "differs", "NaN"),
        ("char_sat_int", "width 4", "differs", ""),
        ("uchar_char", "implicit", "differs", "3"),
        // Edges of the range of a narrower type.
        ("float_rte_double", "width 1", "differs", "3.4028235677973366e38"),
        ("float_rtn_double", "width 1", "differs", "3.4028234663852886e38"),
        ("float_double", "width 1", "differs", "1.1754942807573643e-38"),
        ("double_rte_long", "width 1", "differs", "9223372036854775296"),
        // More wrong numbers than are listed.
        ("int_rtz_char", "width 1", "outside", ""),
    ];
    let right = "uchar_rte_float short_rtn_int int_rtn_float float_rtp_double char_sat_rte_int int_rtp_uchar int_rte_short";
    // Kernels that crash, and some that do not build.
    let failed = [("int_sat_rtp_uchar", "crashed in the sandbox (SIG"), ("int_sat_short", "nonsense")];
    let names = wrong.iter().map(|(name, ..)| *name).chain([right]).chain(failed.map(|(name, _)| name));
    let names: Vec<&str> = names.collect();
    let mut command = conformance(&["--type", &names.join(" "), "--seed", "3", "--json"]);
    let report = finish_json(command.env("CLREEL_KERNELS", &kernels), 3);
    assert_eq!(report["devices"][0]["conditions"]["changed_kernels"], true);
    let of = |name: &str| cases(&report).iter().find(|case| case["case"] == name).unwrap();
    for (name, form, what, input) in wrong {
        let case = of(name);
        assert_eq!(case["outcome"], "wrong", "{case}");
        let failure = &case["failure"];
        assert_eq!((&failure["form"], &failure["what"]), (&form.into(), &what.into()), "{case}");
        assert!(input.is_empty() || failure["input"] == input, "{case}");
        assert!(failure["wrong"].as_u64() > Some(0), "{case}");
        let repeat = case["repeat"].as_str().unwrap();
        assert!(repeat.contains(&format!("--type {name} --quick --seed 3")), "{repeat}");
    }
    for name in right.split(' ') {
        assert_eq!(of(name)["outcome"], "ok", "{report}");
    }
    for (name, why) in failed {
        let case = of(name);
        assert_eq!(case["outcome"], "failed", "{case}");
        assert!(case["reason"].as_str().unwrap().contains(why), "{case}");
    }
}

/// A kernel that never ends fails its own case only, and the report has the timeout.
#[test]
fn a_conversion_that_never_ends_times_out() {
    let endless = "uchar endless(char x) { while (*(volatile char *)&x == x); return x; }\n#define convert_uchar_rtz(x) endless(x)\n";
    let kernels = edited_kernels("conformance-endless", KERNELS, &[(TOP, &format!("{endless}{TOP}"))]);
    let run = |args: &[&str], code| finish_json(conformance(args).env("CLREEL_KERNELS", &kernels), code);
    // Programs that the driver compiles at the launch are cached: they are not part of the time below.
    let alone = run(&["--type", "uchar_rtn_char", "--json"], 0);
    assert_eq!(cases(&alone)[0]["outcome"], "ok", "{alone}");
    let both = run(&["--type", "uchar_rtz_char uchar_rtn_char", "--kernel-timeout", "5", "--json"], 1);
    assert_eq!(cases(&both)[1]["outcome"], "ok", "{both}");
    let case = &cases(&both)[0];
    assert_eq!(case["outcome"], "failed", "{case}");
    assert!(case["reason"].as_str().unwrap().contains("timed out after 5 s"), "{case}");
}

/// A function that the driver lacks is no failed build: such conversions are listed together. What a wrong result for NaN violates is
/// quoted.
#[test]
fn functions_that_the_driver_lacks_are_listed_together() {
    // There is no vector of seven.
    let changed = "int nan_to_one(float x) { return isnan(x) ? 1 : convert_int_sat(x); }\n\
                   #define convert_int_sat(x) nan_to_one(x)\n#define convert_int8_rte(x) convert_int7_rte(x)\n";
    let kernels = edited_kernels("conformance-lacking", KERNELS, &[(TOP, &format!("{changed}{TOP}"))]);
    let saved = kernels.file("saved.json");
    let run = |names: &str, code: i32| {
        let mut command = conformance(&["--type", names, "--width", "1,8", "--save"]);
        let output = finish(command.arg(&saved).env("CLREEL_KERNELS", &kernels), code);
        (text(&output.stdout), read_json(&saved))
    };
    let (shown, report) = run("int_rte_short int_rtz_short int_rte_char", 1);
    let missing = serde_json::json!(["int_rte_char", "int_rte_short"]);
    assert_eq!(report["devices"][0]["missing_in_driver"], missing);
    let outcomes: Vec<&str> = cases(&report).iter().map(|case| case["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["missing_in_driver", "ok", "missing_in_driver"], "{report}");
    assert_eq!(cases(&report)[0]["reason"], "The driver has no convert_int7_rte().");
    for part in
        ["3 conversions: 1 right, 2 missing in the driver; ", "\nMissing in the driver: 2 of 2 with _rte\n"]
    {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!shown.contains("NaN"), "{shown}");
    let (shown, _) = run("int_sat_float", 3);
    assert!(shown.contains("\n1 wrong with NaN. OpenCL C: \"When in saturated mode, "), "{shown}");
}

/// Pins a process to one processor, so that the test uses one thread and one child process.
fn on_one_processor(command: &mut Command) -> &mut Command {
    let pin = || {
        // SAFETY: all bits zero are an empty set; the calls get a set and its size, and change nothing but this process.
        let status = unsafe {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one)
        };
        if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: only system calls are made between fork and exec.
    unsafe { command.pre_exec(pin) }
}

/// A command that fails fails its own case only; the next case gets a new context.
#[test]
fn a_new_context_is_created_after_a_failed_command() {
    let folder = Folder::new("conformance-context");
    let calls = folder.file("calls");
    let tried = |plan: &str| {
        let _ = std::fs::remove_file(&calls);
        let names = "uchar_char char_uchar short_char short_uchar uchar_short char_short";
        let mut command = conformance(&["--type", names, "--device", "cpu", "--width", "1", "--json"]);
        command.envs(layer::environment(&[("CALLS", calls.to_str().unwrap()), ("FAIL", plan)]));
        let report = json(&on_one_processor(&mut command).output().unwrap());
        let count = |outcome: &str| cases(&report).iter().filter(|case| case["outcome"] == outcome).count();
        ([count("ok"), count("failed")], layer::calls(&calls, "clCreateContext").len(), report)
    };
    let (outcomes, contexts, report) = tried("clEnqueueNDRangeKernel:10000:-36");
    assert_eq!(outcomes, [6, 0], "{report}");
    let (failed, more, report) = tried("clEnqueueNDRangeKernel:2:-36");
    assert_eq!((failed, more), ([5, 1], contexts + 1), "{report}");
}

#[test]
fn a_result_can_be_saved_compared_and_resumed() {
    let kernels = edited_kernels("conformance-saved", KERNELS, &[("out[i] = in[i];", "out[i] = in[i] + 1;")]);
    let [before, after] = ["before.json", "after.json"].map(|name| kernels.file(name));
    let saving = |file: &Path| {
        let mut command = conformance(&["--type", "uchar_short char_sat_uchar", "--save"]);
        command.arg(file);
        command
    };
    assert!(text(&finish(saving(&before), 0).stdout).contains("2 conversions: 2 right"));
    finish(saving(&after).env("CLREEL_KERNELS", &kernels), 3);
    let compare = |from: &Path, to: &Path| {
        let mut command = clreel(&["compare"]);
        command.arg(from).arg(to);
        command
    };
    assert!(text(&finish(compare(&before, &before), 0).stdout).contains("Nothing changed."));
    let told = text(&finish(compare(&before, &after), 3).stdout);
    assert!(told.contains("BROKE uchar_short: was ok, is wrong"), "{told}");
    assert!(told.contains("1 changed, 1 broke"), "{told}");
    // A case that was wrong and is right now is a change, and not broken.
    let compared = finish_json(compare(&after, &before).arg("--json"), 0);
    assert_eq!(compared["changes"].as_array().unwrap().len(), 1);
    // With half of the results removed only those are tested again.
    let mut half = read_json(&before);
    let of_device = &mut half["devices"][0]["cases"];
    of_device[0]["outcome"] = "wrong".into();
    (of_device[1]["outcome"], of_device[1]["values"]) = ("missing".into(), 0.into());
    let resume = |result: &Value, code: i32| {
        let file = kernels.with("before.json", result.to_string());
        finish(conformance(&["--json", "--resume"]).arg(file), code)
    };
    // What is settled stays as it is.
    assert_eq!(cases(&json(&resume(&half, 3)))[1]["outcome"], "ok");
    let kept = read_json(&before);
    assert_eq!((&kept["complete"], &cases(&kept)[1]["outcome"]), (&true.into(), &"ok".into()));
    // A result with another count of numbers, as of another version, cannot be resumed, nor can the result of another driver.
    let mut other = half.clone();
    other["devices"][0]["cases"][0]["of"] = 255.into();
    let told = text(&resume(&other, 1).stderr);
    assert!(told.contains("This version tests other numbers of 'uchar_short'."), "{told}");
    half["devices"][0]["driver"] = "0".into();
    assert!(text(&resume(&half, 1).stderr).contains("The driver of"));
    resume(&serde_json::json!({}), 1);
}

/// An interrupted test has saved its results, prints them, and can be resumed.
#[test]
fn a_signal_loses_no_finished_results() {
    let folder = Folder::new("conformance-signal");
    let path = folder.file("full.json");
    let file = path.to_str().unwrap();
    let saved =
        || -> Value { serde_json::from_slice(&std::fs::read(file).unwrap_or_default()).unwrap_or_default() };
    // Counts of tested numbers by case, and their sum.
    let done = || -> BTreeMap<String, u64> {
        let saved = saved();
        let cases = saved["devices"][0]["cases"].as_array().into_iter().flatten();
        cases.map(|case| (case["case"].to_string(), case["values"].as_u64().unwrap())).collect()
    };
    let sum = |done: &BTreeMap<String, u64>| done.values().sum::<u64>();
    let interrupted_after = |before: &BTreeMap<String, u64>, args: &[&str]| {
        let mut child = conformance(args).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let fell = |now: &BTreeMap<String, u64>| {
            let fell = before.iter().find(|(case, was)| now.get(*case).is_none_or(|is| is < *was));
            fell.map(|(case, was)| format!("{case}: {was} were done, now {:?}", now.get(case)))
        };
        let lost = loop {
            let now = done();
            let lost = fell(&now).filter(|_| !now.is_empty());
            if lost.is_some() || sum(&now) > sum(before) || child.try_wait().unwrap().is_some() {
                break lost;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        send_signal(&child, libc::SIGTERM);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), None, "a signal ends it");
        assert_eq!(lost.or_else(|| fell(&done())), None);
        String::from_utf8(output.stdout).unwrap()
    };
    // All numbers of 32 bits as ten types: more than can be tested before the signal.
    let shown = interrupted_after(&BTreeMap::new(), &["--full", "--type", "*_float", "--save", file]);
    assert!(shown.contains("incomplete") || shown.contains("missing"), "{shown}");
    let first = done();
    assert!(sum(&first) > 0, "{first:?}");
    interrupted_after(&first, &["--resume", file]);
    // Counts as after some minutes: a case that started again would have less.
    let mut later = saved();
    for case in later["devices"][0]["cases"].as_array_mut().unwrap() {
        if ["partial", "missing"].contains(&case["outcome"].as_str().unwrap()) {
            (case["outcome"], case["values"]) = ("partial".into(), (1_u64 << 31).into());
        }
    }
    std::fs::write(file, later.to_string()).unwrap();
    let before = done();
    assert!(sum(&before) >= 90 << 31, "{before:?}");
    interrupted_after(&before, &["--resume", file]);
}

/// Each device has an entry of its own, and the exit code covers all of them.
#[test]
fn all_devices_are_tested() {
    let names = pair::names(Command::new(env!("CARGO_BIN_EXE_clreel")));
    let kernels = edited_kernels("conformance-all", KERNELS, &[("out[i] = in[i];", "out[i] = in[i] + 1;")]);
    let file = kernels.file("all.json");
    let both = |args: &[&str]| {
        let mut command = conformance(args);
        command.arg("--json").envs(pair::environment());
        command
    };
    let of_devices = |report: &Value, what: &dyn Fn(&Value) -> Value| -> Vec<Value> {
        report["devices"].as_array().unwrap().iter().map(what).collect()
    };
    let asked = ["--device", "all", "--type", "uchar_short char_uchar", "--seed", "1"];
    let mut report = finish_json(both(&asked).arg("--save").arg(&file), 0);
    assert_eq!(of_devices(&report, &|device| device["name"].clone()), names);
    let right = [("uchar_short", "ok", 1 << 16), ("char_uchar", "ok", 1 << 8)];
    for device in report["devices"].as_array().unwrap() {
        let found = device["cases"].as_array().unwrap().iter().map(|case| {
            let word = |key: &str| case[key].as_str().unwrap();
            (word("case"), word("outcome"), case["values"].as_u64().unwrap())
        });
        assert_eq!(found.collect::<Vec<_>>(), right, "{device}");
    }
    // A wrong case on one device is a mismatch.
    report = read_json(&file);
    report["devices"][1]["cases"][0]["outcome"] = "wrong".into();
    std::fs::write(&file, report.to_string()).unwrap();
    finish(both(&[]).arg("--resume").arg(&file), 3);
    // Each device is tested by itself, and named in the command that repeats a case.
    let report = finish_json(both(&asked).env("CLREEL_KERNELS", &kernels), 3);
    let repeats = of_devices(&report, &|device| device["cases"][0]["repeat"].clone());
    let repeat =
        |index: usize| format!("clreel conformance --device {index} --type uchar_short --quick --seed 1");
    assert_eq!(repeats, [repeat(0), repeat(1)]);
}
