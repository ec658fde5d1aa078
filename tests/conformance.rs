//! The conversions of OpenCL C: the reference against a table that was made in another way, and `clreel conformance`: right
//! kernels pass, and each planted fault is caught and named. Needs an OpenCL device, and fails without one.

#[path = "common/layer.rs"]
mod layer;
#[path = "common/native.rs"]
mod native;

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clreel::ladder::contest::Ladder as _;
use clreel::ladders::conversions::bulk::convert_all;
use clreel::ladders::conversions::reference::{accepts, convert, is_open};
use clreel::ladders::conversions::strategies::HostStrategies;
use clreel::ladders::conversions::types::{Case, Rounding, Type};
use clreel::ladders::conversions::values::{Depth, Values};
use serde_json::Value;

/// `table.py` finds results by search and with fractions.
#[test]
fn the_reference_is_what_an_independent_table_says() {
    let table = include_str!("conformance/table.txt");
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let (mut inputs, mut cases, mut numbers) = (Vec::new(), Vec::new(), 0);
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(' ').unwrap();
        if name == "inputs" {
            inputs = rest.split(' ').skip(1).map(hex).collect();
            continue;
        }
        let case = Case::named(name).unwrap_or_else(|| panic!("{name}"));
        let wanted: Vec<&str> = rest.split(' ').collect();
        assert_eq!(wanted.len(), inputs.len(), "{name}");
        for (&input, wanted) in inputs.iter().zip(wanted) {
            let got = convert(case, input);
            match wanted {
                "-" => assert_eq!(got.care, 0, "{name} of {input:x} is open"),
                "n" => assert!(is_nan(case.to, got.bits), "{name} of {input:x} gives {:x}", got.bits),
                bits => assert_eq!((got.bits, got.care), (hex(bits), case.to.mask()), "{name} of {input:x}"),
            }
            assert!(is_open(case) || got.care == case.to.mask(), "{name}");
            numbers += 1;
        }
        cases.push(case);
    }
    cases.sort_unstable();
    let mut all = Case::all(&Type::ALL);
    all.sort_unstable();
    assert_eq!(cases, all);
    assert!(numbers > 30_000, "{numbers}");
}

fn is_nan(of: Type, bits: u64) -> bool {
    match of {
        Type::Half => bits & 0x7fff > 0x7c00,
        Type::Float => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}

/// Where Rust has the same conversion, both agree on many more numbers.
#[test]
fn the_reference_is_what_the_language_says() {
    let mut state = 1_u64;
    let case = |to, saturates, rounding, from| Case { from, to, saturates, rounding };
    for _ in 0..200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = (state ^ (state >> 31)) >> (state >> 60);
        let (single, double) = (f32::from_bits(bits as u32), f64::from_bits(bits));
        let of = |case: Case, bits: u64| convert(case, bits & case.from.mask()).bits;
        // `as` goes to zero and saturates; between binary numbers it goes to the nearest.
        let saturated = |to, from| of(case(to, true, Rounding::Default, from), bits);
        assert_eq!(saturated(Type::Int, Type::Float), u64::from(single as i32 as u32));
        assert_eq!(saturated(Type::UChar, Type::Float), u64::from(single as u8));
        assert_eq!(saturated(Type::Long, Type::Double), double as i64 as u64);
        assert_eq!(saturated(Type::ULong, Type::Double), double as u64);
        let nearest = |to, from| of(case(to, false, Rounding::Nearest, from), bits);
        assert_eq!(nearest(Type::Float, Type::ULong), u64::from((bits as f32).to_bits()));
        assert_eq!(nearest(Type::Double, Type::Long), (bits as i64 as f64).to_bits());
        if !double.is_nan() {
            assert_eq!(nearest(Type::Float, Type::Double), u64::from((double as f32).to_bits()));
        }
        if !single.is_nan() {
            assert_eq!(nearest(Type::Double, Type::Float), f64::from(single).to_bits());
        }
        let wrapped = of(case(Type::Short, false, Rounding::Up, Type::ULong), bits);
        assert_eq!(wrapped, u64::from(bits as u16));
    }
}

/// Many numbers at once, which are computed in another way, are what one at a time is: edges of all ranges, and any bits.
#[test]
fn numbers_in_bulk_are_the_same() {
    const COUNT: u64 = 3000;
    for case in Case::all(&Type::ALL) {
        let edges = Values::new(case.from, Depth::Quick, 3);
        // The edges come first, and random ones behind them.
        let special = edges.count() - if edges.is_exhaustive() { 0 } else { 1 << 20 };
        let numbers: Vec<u64> = (0..COUNT)
            .map(|i| match i % 3 {
                0 => i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64) & case.from.mask(),
                1 => edges.at(i * special / COUNT),
                _ => edges.at(i * edges.count() / COUNT),
            })
            .collect();
        let packed = |numbers: &[u64], bytes: usize| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_le_bytes()[..bytes].to_vec()).collect()
        };
        let (bits, care): (Vec<u64>, Vec<u64>) =
            numbers.iter().map(|&number| convert(case, number)).map(|w| (w.bits, w.care)).unzip();
        let size = case.to.bytes();
        let room = size * numbers.len();
        let (mut got, mut open) = (vec![1; room], vec![1; if is_open(case) { room } else { 0 }]);
        convert_all(case, &packed(&numbers, case.from.bytes()), &mut got, &mut open);
        assert!(got == packed(&bits, size), "{case}");
        assert!(!is_open(case) || open == packed(&care, size), "{case}");
    }
}

#[test]
fn what_the_language_leaves_open_is_accepted_and_nothing_else() {
    let (never, always) = (|_: Type| false, |_: Type| true);
    let case = |name: &str| Case::named(name).unwrap();
    let float = |number: f32| u64::from(number.to_bits());
    // Out of range and NaN without saturation.
    assert!(accepts(case("uchar_float"), float(256.0), 77, never));
    assert!(accepts(case("uchar_float"), float(f32::NAN), 77, never));
    assert!(!accepts(case("uchar_float"), float(255.9), 77, never));
    assert!(!accepts(case("uchar_sat_float"), float(f32::NAN), 255, never));
    assert!(!accepts(case("uchar_sat_float"), float(256.0), 254, never));
    // Any NaN, and nothing but a NaN.
    assert!(accepts(case("double_float"), float(f32::NAN), 0xfff0_0000_0000_0001, never));
    assert!(!accepts(case("double_float"), float(f32::NAN), 0x7ff0_0000_0000_0000, never));
    assert!(!accepts(case("double_float"), float(f32::NAN), 0, never));
    // Subnormal numbers for zeros, where the device says so: before and after.
    let tiny = 1e-40_f64.to_bits();
    assert!(accepts(case("float_double"), tiny, 0x8000_0000, always));
    assert!(!accepts(case("float_double"), tiny, 0, never));
    assert!(accepts(case("int_rtp_float"), 1, 0, always) && accepts(case("int_rtp_float"), 1, 1, always));
    assert!(!accepts(case("int_rtp_float"), 1, 0, never) && !accepts(case("int_rtp_float"), 1, 2, always));
}

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
    let crash = "(*(volatile __global int *)16 = 1, right(x))";
    let top = "#define PASTED(";
    let defined = [
        "#define convert_uchar3_sat_rte(x) convert_uchar3_sat_rtz(x)\n".to_owned(),
        instead(1, "int", "short", "convert_short_rtp", "((x) == 65537 ? (short)2 : right(x))"),
        instead(2, "float", "int", "convert_int_sat_rtn", "(isnan(x) ? 1 : right(x))"),
        instead(3, "double", "float", "convert_float_rtz", "(isnan(x) ? 0.0f : right(x))"),
        instead(4, "int4", "char4", "convert_char4_sat", "min(right(x), (char4)126)"),
        instead(5, "uchar", "int", "convert_int_sat_rtp", crash),
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
    // Another driver's result is not gone on with.
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
    let folder = Folder::new("signal");
    let file = folder.file("full.json");
    let done = || -> u64 {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let saved: Value = serde_json::from_str(&text).unwrap_or_default();
        let cases = saved["devices"][0]["cases"].as_array();
        cases.into_iter().flatten().filter_map(|case| case["values"].as_u64()).sum()
    };
    let interrupted_after = |before: u64, args: &[&str]| {
        let mut child = conformance(args).stdout(std::process::Stdio::piped()).spawn().unwrap();
        while done() <= before {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        // Not by a program: a bare system has no `kill`.
        assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) }, 0);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), None, "a signal ends it");
        String::from_utf8(output.stdout).unwrap()
    };
    // All numbers of 32 bits as ten types: more than can be done before the signal comes.
    let shown = interrupted_after(0, &["--full", "--type", "*_float", "--save", &file]);
    assert!(shown.contains("begun") || shown.contains("missing"), "{shown}");
    let first = done();
    assert!(first > 0, "{first}");
    interrupted_after(first, &["--resume", &file]);
    assert!(done() > first);
}

fn strategies(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command
        .args(["bench", "--ladder", "conversions", "--frames", "1", "--count", "5000", "--json"])
        .args(args);
    command
        .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
        .env_remove("CLREEL_KERNELS");
    command.env("POCL_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache/pocl"));
    command
}

/// The rungs and what came of them.
fn outcomes(report: &Value) -> Vec<(String, String)> {
    let rows = report["devices"][0]["runs"][0]["variants"].as_array().unwrap();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.iter().map(|row| (word(row, "id"), word(row, "outcome"))).collect()
}

#[test]
fn every_host_strategy_counts_right() {
    let output = strategies(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output);
    let ids: Vec<&str> = HostStrategies.rungs().iter().map(|rung| rung.id).collect();
    let found = outcomes(&report);
    assert_eq!(found.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ids);
    assert!(found.iter().all(|(_, outcome)| outcome == "ok"), "{found:?}");
    assert_eq!(report["devices"][0]["runs"][0]["case"]["conversion"], "int_sat_rte_float");
}

/// A conversion that is wrong, and a comparison that finds nothing wrong, cost the rungs that use them.
#[test]
fn a_strategy_that_is_wrong_or_looks_away_is_caught() {
    let host = ["blocking", "mapped", "non-blocking", "double-buffered", "verified-on-device"];
    // One fault in each file at a time.
    for (n, (widths, checked, wrong)) in [
        (
            ("MODE)(in[i]);", "MODE)(in[i]) + (i == 7);"),
            ("found += CONVERT(TO, , MODE)(in[i]) == wanted[i];", "found += 1;"),
            [&host[..], &["fused"]].concat(),
        ),
        (
            ("found += out[i] == wanted[i];", "found += 1;"),
            ("eight += HALVES(8, x, w);", "eight += EQUAL(8, x.lo, w.lo);"),
            vec!["verified-on-device", "all-widths", "threads"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = Folder::new(&format!("strategies-{n}"));
        folder.plant_in("conversions/02_widths.cl", widths.0, widths.1);
        folder.plant_in("conversions/03_checked.cl", checked.0, checked.1);
        let output = strategies(&[]).env("CLREEL_KERNELS", &folder.0).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{widths:?}: {}", String::from_utf8_lossy(&output.stderr));
        let found = outcomes(&json(&output));
        let differs: Vec<&str> =
            found.iter().filter(|(_, outcome)| outcome == "mismatch").map(|(id, _)| id.as_str()).collect();
        assert_eq!(differs, wrong, "{widths:?}: {found:?}");
    }
}
