//! The conversions of OpenCL C: the reference against a table that was made in another way, and `clreel conformance`: right
//! kernels pass, and each planted fault is caught and named. Needs an OpenCL device, and fails without one.

mod reference;
mod strategies;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use testkit::layer;
use testkit::pair;

/// A folder of this test alone; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("clreel-conformance-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("conversions")).unwrap();
        Self(folder)
    }

    /// The kernels with one place changed.
    fn plant(&self, from: &str, to: &str) {
        self.plant_in(KERNELS, from, to);
    }

    fn plant_in(&self, file: &str, from: &str, to: &str) {
        self.plant_all(file, &[(from, to)]);
    }

    fn plant_all(&self, file: &str, changes: &[(&str, &str)]) {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(file);
        let mut text = std::fs::read_to_string(original).unwrap();
        for (from, to) in changes {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text = text.replace(from, to);
        }
        std::fs::write(self.0.join(file), text).unwrap();
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const KERNELS: &str = "conversions/01_all_forms.cl";

fn conformance(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.arg("conformance").args(args).env_remove("CLREEL_KERNELS");
    // What the compiler has made before may be used again.
    command.env("POCL_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/pocl"));
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The cases of the one device.
fn cases(report: &Value) -> &Vec<Value> {
    report["devices"][0]["cases"].as_array().unwrap()
}

#[test]
fn right_conversions_pass_in_every_form() {
    let output = conformance(&["--type", "ushort_char float_sat_int*", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "there is no saturation of a float");
    let output = conformance(&["--type", "*_char_", "--json"]).output().unwrap();
    assert!(output.status.code() == Some(2) && output.stdout.is_empty());
    let names = "ushort_char char_sat_rtn_double float_rtp_ulong";
    let output = conformance(&["--type", names, "--seed", "5", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    assert_eq!(
        (&report["seed"], &report["complete"], &report["depth"]),
        (&5.into(), &true.into(), &"quick".into())
    );
    for (case, (name, exhaustive, forms)) in cases(&report).iter().zip([
        ("ushort_char", true, 7),
        ("char_sat_rtn_double", false, 6),
        ("float_rtp_ulong", false, 6),
    ]) {
        assert_eq!((&case["case"], &case["outcome"]), (&name.into(), &"ok".into()), "{case}");
        assert_eq!(
            (&case["exhaustive"], case["forms"].as_array().unwrap().len()),
            (&exhaustive.into(), forms)
        );
        assert_eq!(case["values"], case["of"]);
        assert!(exhaustive && case["values"] == 256 || case["values"].as_u64() > Some(1 << 20), "{case}");
    }
    assert_eq!(cases(&report).len(), 3);
    // Some widths alone, and what else would be there is not written.
    assert_eq!(conformance(&["--width", "5"]).output().unwrap().status.code(), Some(2));
    let output = conformance(&["--type", "ushort_char", "--width", "3,1", "--json"]).output().unwrap();
    let report = json(&output);
    assert_eq!((output.status.code(), &cases(&report)[0]["outcome"]), (Some(0), &"ok".into()), "{report}");
    assert_eq!(cases(&report)[0]["forms"], serde_json::json!(["width 1", "width 3", "implicit"]));
    // A type that is not there is not tried, and no failure.
    let output = conformance(&["--type", "half_int", "--json"]).output().unwrap();
    let report = json(&output);
    let outcome = cases(&report)[0]["outcome"].as_str().unwrap();
    assert!(output.status.code() == Some(0) && ["ok", "unsupported"].contains(&outcome), "{outcome}");
}

/// Each costs its own case alone; what is said names case, form, number and how to repeat it. All are planted at once.
#[test]
fn a_planted_fault_is_caught_and_named() {
    // A conversion that gives something else of some numbers; `right` is what it was.
    let instead = |n: usize, from: &str, to: &str, name: &str, given: &str| {
        let right = format!("right{n}");
        let given = given.replace("right", &right);
        format!("{to} {right}({from} x) {{ return {name}(x); }}\n#define {name}(x) {given}\n")
    };
    let at = |bits: &str, given: &str| format!("(as_ulong(x) == {bits}UL ? {given} : right(x))");
    let crash = "(*(volatile __global int *)16 = 1, right(x))";
    let top = "#define PASTED(";
    let defined = [
        "#define convert_uchar3_sat_rte(x) convert_uchar3_sat_rtz(x)\n".to_owned(),
        instead(1, "int", "short", "convert_short_rtp", "((x) == 65537 ? (short)2 : right(x))"),
        instead(2, "float", "int", "convert_int_sat_rtn", "(isnan(x) ? 1 : right(x))"),
        instead(3, "double", "float", "convert_float_rtz", "(isnan(x) ? 0.0f : right(x))"),
        instead(4, "int4", "char4", "convert_char4_sat", "min(right(x), (char4)126)"),
        instead(5, "uchar", "int", "convert_int_sat_rtp", crash),
        // The tie from which a double is infinity as a float, the largest float, the tie below the smallest normal one.
        instead(6, "double", "float", "convert_float_rte", &at("0x47effffff0000000", "FLT_MAX")),
        instead(7, "double", "float", "convert_float_rtn", &at("0x47efffffe0000000", "INFINITY")),
        instead(8, "double", "float", "convert_float", &at("0x380fffffe0000000", "as_float(0x007fffff)")),
        // The last tie of a long that becomes a double.
        instead(
            9,
            "long",
            "double",
            "convert_double_rte",
            &at("0x7ffffffffffffe00", "9223372036854774784.0"),
        ),
        top.to_owned(),
    ];
    let scalars = "#define SCALARS(mode)                                                                 \\\n    EACH(i, count)";
    let folder = Folder::new("planted");
    // Whether the program is that of these sizes; and of a source without a sign.
    folder.plant_all(
        KERNELS,
        &[
            (top, &defined.concat()),
            (
                "out[i] = CONVERT(TO, , mode)(in[i]);",
                "if (i != 77 || sizeof(TO) != 2 || sizeof(FROM) != 1) out[i] = CONVERT(TO, , mode)(in[i]);",
            ),
            (
                "EACH(i, count / width)",
                "EACH(i, count / width - (width == 16 && sizeof(TO) == 1 && sizeof(FROM) == 2))",
            ),
            ("out[i] = in[i];", "out[i] = sizeof(TO) == 1 && in[i] == 3 ? 4 : in[i];"),
            (scalars, "#define SCALARS(mode) \\\n    EACH(i, count + (sizeof(TO) == 4 && sizeof(FROM) == 1 && (FROM)-1 < 0))"),
        ],
    );
    // The case, form, what is wrong, of which number.
    let wrong = [
        // A wrong rounding in one case and one width, and of one number.
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
        // Edges of what a narrower type can hold.
        ("float_rte_double", "width 1", "differs", "3.4028235677973366e38"),
        ("float_rtn_double", "width 1", "differs", "3.4028234663852886e38"),
        ("float_double", "width 1", "differs", "1.1754942807573643e-38"),
        ("double_rte_long", "width 1", "differs", "9223372036854775296"),
        // More than there is room for.
        ("int_rtz_char", "width 1", "outside", ""),
    ];
    let right = [
        "uchar_rte_float",
        "short_rtn_int",
        "int_rtn_float",
        "float_rtp_double",
        "char_sat_rte_int",
        "int_rtp_uchar",
    ];
    // Kernels that end the process, beside some that do not.
    let failed = "int_sat_rtp_uchar";
    let names: Vec<&str> = wrong.iter().map(|(name, ..)| *name).chain(right).chain([failed]).collect();
    let output = conformance(&["--type", &names.join(" "), "--seed", "3", "--json"])
        .env("CLREEL_KERNELS", &folder.0)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
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
    for name in right {
        assert_eq!(of(name)["outcome"], "ok", "{report}");
    }
    let case = of(failed);
    assert_eq!(case["outcome"], "failed", "{case}");
    assert!(case["reason"].as_str().unwrap().contains("ends the process that runs it (signal"), "{case}");
}

/// What never ends costs its own case alone, and says how long it was given.
#[test]
fn a_conversion_without_an_end_is_given_up() {
    let folder = Folder::new("endless");
    let endless = "uchar endless(char x) { while (*(volatile char *)&x == x); return x; }\n#define convert_uchar_rtz(x) endless(x)\n";
    folder.plant("#define PASTED(", &format!("{endless}#define PASTED("));
    let run = |args: &[&str]| {
        json(&conformance(args).arg("--json").env("CLREEL_KERNELS", &folder.0).output().unwrap())
    };
    // What the driver compiles at a launch it keeps: it is not timed below.
    let alone = run(&["--type", "uchar_rtn_char"]);
    assert_eq!(cases(&alone)[0]["outcome"], "ok", "{alone}");
    let both = run(&["--type", "uchar_rtz_char uchar_rtn_char", "--kernel-timeout", "5"]);
    assert_eq!(cases(&both)[1]["outcome"], "ok", "{both}");
    let case = &cases(&both)[0];
    assert_eq!(case["outcome"], "failed", "{case}");
    assert!(case["reason"].as_str().unwrap().contains("did not end within 5.0 s"), "{case}");
}

/// What does not build costs its own case alone, too.
#[test]
fn what_does_not_compile_costs_its_own_case() {
    let folder = Folder::new("compile");
    folder.plant("#define PASTED(", "#define convert_int8_sat(x) nonsense(x)\n#define PASTED(");
    let output = conformance(&["--type", "int_sat_short int_rte_short", "--json"])
        .env("CLREEL_KERNELS", &folder.0)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    let outcomes: Vec<&str> = cases(&report).iter().map(|case| case["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["failed", "ok"], "{report}");
    assert!(cases(&report)[0]["reason"].as_str().unwrap().contains("nonsense"));
}

/// Lets a process use one processor alone, so that the test has one thread, and that one child.
fn on_one_processor(command: &mut Command) -> &mut Command {
    let pin = || {
        // SAFETY: both calls get a set of the size that is told, and change nothing but this process.
        unsafe {
            let mut all: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            if libc::sched_getaffinity(0, size, &mut all) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &all));
            libc::CPU_SET(first.unwrap_or(0), &mut one);
            if libc::sched_setaffinity(0, size, &one) != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: only calls of the system are made between fork and exec.
    unsafe { command.pre_exec(pin) }
}

/// A command that fails costs its own case, and the next one gets a context that no command has failed in.
#[test]
fn after_a_command_that_fails_there_is_another_context() {
    let folder = Folder::new("context");
    std::fs::create_dir_all(&folder.0).unwrap();
    let calls = folder.0.join("calls");
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
fn a_result_is_saved_compared_and_continued() {
    let folder = Folder::new("saved");
    let (before, after) = (folder.file("before.json"), folder.file("after.json"));
    let names = "uchar_short char_sat_uchar";
    let output = conformance(&["--type", names, "--save", &before]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 conversions: 2 right"));
    folder.plant("out[i] = in[i];", "out[i] = in[i] + 1;");
    let changed =
        conformance(&["--type", names, "--save", &after]).env("CLREEL_KERNELS", &folder.0).output().unwrap();
    assert_eq!(changed.status.code(), Some(3));
    let compared = conformance(&["--compare", &before, &before]).output().unwrap();
    assert_eq!(compared.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&compared.stdout).contains("Nothing changed."));
    let compared = conformance(&["--compare", &before, &after]).output().unwrap();
    assert_eq!(compared.status.code(), Some(3));
    let told = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(
        told.contains("BROKE uchar_short: was ok, is wrong") && told.contains("1 changed, 1 broke"),
        "{told}"
    );
    // What was wrong and is right again breaks nothing.
    let compared = conformance(&["--compare", &after, &before, "--json"]).output().unwrap();
    assert_eq!((compared.status.code(), json(&compared)["changes"].as_array().unwrap().len()), (Some(0), 1));
    // Half of it is gone: only that is tried anew.
    let mut half: Value = serde_json::from_str(&std::fs::read_to_string(&before).unwrap()).unwrap();
    let of_device = &mut half["devices"][0]["cases"];
    of_device[0]["outcome"] = "wrong".into();
    (of_device[1]["outcome"], of_device[1]["values"]) = ("missing".into(), 0.into());
    std::fs::write(&before, half.to_string()).unwrap();
    let resumed = conformance(&["--resume", &before, "--json"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(3), "what is settled stays as it is");
    assert_eq!(cases(&json(&resumed))[1]["outcome"], "ok");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&before).unwrap()).unwrap();
    assert_eq!((&kept["complete"], &cases(&kept)[1]["outcome"]), (&true.into(), &"ok".into()));
    // One of other numbers is not gone on with, as an older version may have tried them.
    let mut other = half.clone();
    other["devices"][0]["cases"][0]["of"] = 255.into();
    std::fs::write(&before, other.to_string()).unwrap();
    let refused = conformance(&["--resume", &before]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("This program tries other numbers of 'uchar_short'."), "{told}");
    // Nor is another driver's result.
    half["devices"][0]["driver"] = "0".into();
    std::fs::write(&before, half.to_string()).unwrap();
    let refused = conformance(&["--resume", &before]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("The driver of"));
    std::fs::write(&before, "{}").unwrap();
    assert_eq!(conformance(&["--resume", &before]).output().unwrap().status.code(), Some(1));
}

/// A test that is interrupted has saved what it knows, shows it, and goes on from there.
#[test]
fn a_signal_loses_nothing() {
    let folder = Folder::new("conformance-signal");
    let file = folder.file("full.json");
    let saved = || -> Value {
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap_or_default()).unwrap_or_default()
    };
    // Numbers that are done of each case, and of all.
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
        // Not by a program: a bare system has no `kill`.
        assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) }, 0);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), None, "a signal ends it");
        assert_eq!(lost.or_else(|| fell(&done())), None);
        String::from_utf8(output.stdout).unwrap()
    };
    // All numbers of 32 bits as ten types: more than can be done before the signal comes.
    let shown = interrupted_after(&BTreeMap::new(), &["--full", "--type", "*_float", "--save", &file]);
    assert!(shown.contains("begun") || shown.contains("missing"), "{shown}");
    let first = done();
    assert!(sum(&first) > 0, "{first:?}");
    interrupted_after(&first, &["--resume", &file]);
    // A case that would begin again has less at first than these have, as they would be after some minutes.
    let mut later = saved();
    for case in later["devices"][0]["cases"].as_array_mut().unwrap() {
        if ["partial", "missing"].contains(&case["outcome"].as_str().unwrap()) {
            (case["outcome"], case["values"]) = ("partial".into(), (1_u64 << 31).into());
        }
    }
    std::fs::write(&file, later.to_string()).unwrap();
    let before = done();
    assert!(sum(&before) >= 90 << 31, "{before:?}");
    interrupted_after(&before, &["--resume", &file]);
}

/// Each device that is there has an entry of its own, and the exit code is that of all.
#[test]
fn all_devices_are_tried() {
    let names = pair::names(Command::new(env!("CARGO_BIN_EXE_clreel")));
    let folder = Folder::new("all");
    let file = folder.file("all.json");
    let run = |args: &[&str], changed: bool| {
        let mut command = conformance(args);
        command.arg("--json").envs(pair::environment());
        if changed {
            command.env("CLREEL_KERNELS", &folder.0);
        }
        let output = command.output().unwrap();
        (output.status.code(), json(&output))
    };
    let of_devices = |report: &Value, what: &dyn Fn(&Value) -> Value| -> Vec<Value> {
        report["devices"].as_array().unwrap().iter().map(what).collect()
    };
    let asked = ["--device", "all", "--type", "uchar_short char_uchar", "--seed", "1"];
    let (code, report) = run(&[&asked[..], &["--save", &file]].concat(), false);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(of_devices(&report, &|device| device["name"].clone()), names);
    let right = [("uchar_short", "ok", 1 << 16), ("char_uchar", "ok", 1 << 8)];
    for device in report["devices"].as_array().unwrap() {
        let cases = device["cases"].as_array().unwrap().iter();
        let found: Vec<_> = cases
            .map(|case| {
                let word = |key: &str| case[key].as_str().unwrap();
                (word("case"), word("outcome"), case["values"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(found, right, "{device}");
    }
    // What is wrong on one of them is wrong.
    let mut saved: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    saved["devices"][1]["cases"][0]["outcome"] = "wrong".into();
    std::fs::write(&file, saved.to_string()).unwrap();
    assert_eq!(run(&["--resume", &file], false).0, Some(3));
    // Each is tried by itself, and named in the command that repeats it.
    folder.plant("out[i] = in[i];", "out[i] = in[i] + 1;");
    let (code, report) = run(&asked, true);
    assert_eq!(code, Some(3), "{report}");
    let repeats = of_devices(&report, &|device| device["cases"][0]["repeat"].clone());
    let repeat =
        |index: usize| format!("clreel conformance --device {index} --type uchar_short --quick --seed 1");
    assert_eq!(repeats, [repeat(0), repeat(1)]);
}
