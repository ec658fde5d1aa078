//! Drivers that crash, hang or are missing: clreel continues with the others and reports the fault. The faulty drivers
//! are compiled from `tests/drivers`; the good ones are those of the machine.

use std::borrow::BorrowMut;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::*;
use testkit::native;

/// A folder of driver registrations, and a folder for clreel's temporary files.
struct Vendors {
    folder: Folder,
    runtime: PathBuf,
}

impl Vendors {
    /// Registers these faulty drivers, each named by its fault.
    fn new(broken: &[&str]) -> Self {
        let folder = Folder::new("vendors");
        let vendors = Self { runtime: folder.folder("runtime"), folder };
        for name in broken {
            vendors.register(&name.to_lowercase(), broken_library(name).to_str().unwrap());
        }
        vendors
    }

    fn register(&self, name: &str, library: &str) {
        self.folder.with(&format!("{name}.icd"), format!("{library}\n"));
    }

    /// Also registers the drivers of the machine.
    fn with_machine_drivers(self) -> Self {
        let entries = std::fs::read_dir("/etc/OpenCL/vendors").expect("these tests need an OpenCL driver");
        let paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        for path in &paths {
            symlink(path, self.folder.file(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        assert!(!paths.is_empty(), "these tests need an OpenCL driver: ./dev test installs one");
        self
    }

    fn clreel(&self, arguments: &[&str]) -> Command {
        let mut command = clreel(None);
        command.args(arguments).env("XDG_RUNTIME_DIR", &self.runtime).env("OCL_ICD_VENDORS", &self.folder);
        command.env_remove("POCL_CACHE_DIR").env_remove("CLREEL_BINARIES");
        command
    }

    /// Runs a command; requires this exit code, and that no temporary file is left. Returns stdout and stderr.
    fn run(&self, command: impl BorrowMut<Command>, code: i32) -> (String, String) {
        let output = finish(command, code);
        let left: Vec<_> = std::fs::read_dir(&self.runtime).unwrap().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        (text(&output.stdout), text(&output.stderr))
    }

    /// Returns the output of `clreel devices --json`.
    fn list(&self, extra: &[&str], environment: &[(String, OsString)]) -> Value {
        let mut command = self.clreel(&["devices", "--json"]);
        let (stdout, _) = self.run(command.args(extra).envs(environment.iter().map(|(k, v)| (k, v))), 0);
        serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e} in {stdout}"))
    }
}

/// Returns the path of a driver with this fault.
fn broken_library(name: &str) -> PathBuf {
    let fault = format!("-D{name}");
    native::shared_library(&format!("broken_{name}"), "drivers", &["broken_icd.c"], &[&fault])
}

fn driver<'a>(list: &'a Value, name: &str) -> &'a Value {
    let drivers = list["drivers"].as_array().unwrap();
    drivers.iter().find(|d| d["name"].as_str().unwrap().ends_with(name)).unwrap_or_else(|| panic!("{list}"))
}

fn device_count(list: &Value) -> usize {
    list["devices"].as_array().unwrap().len()
}

fn limit(seconds: &str) -> (String, OsString) {
    ("CLREEL_DRIVER_TIMEOUT".into(), seconds.into())
}

#[test]
fn faulty_drivers_are_named_or_skipped_and_the_others_listed() {
    let expected = device_count(&Vendors::new(&[]).with_machine_drivers().list(&[], &[]));
    assert!(expected > 0);
    let vendors = Vendors::new(&["CRASH_ON_LOAD", "CRASH", "EXIT", "HANG", "NOTHING"]).with_machine_drivers();
    vendors.register("missing", "libno_such_driver.so.1");
    // Long enough for the good drivers on a loaded machine.
    let list = vendors.list(&[], &[limit("20")]);
    assert_eq!(device_count(&list), expected);
    for (name, state, reason) in [
        ("hang.icd", "failed", "It timed out after 20 s."),
        ("crash_on_load.icd", "failed", "SIGABRT"),
        ("crash.icd", "failed", "SIGSEGV"),
        ("exit.icd", "failed", "with exit code 3"),
        ("nothing.icd", "empty", "no device"),
        ("missing.icd", "empty", "libno_such_driver.so.1"),
    ] {
        let driver = driver(&list, name);
        assert_eq!(driver["state"], state, "{list}");
        assert!(driver["reason"].as_str().unwrap().contains(reason), "{list}");
    }
    assert!(list["drivers"].as_array().unwrap().iter().any(|d| d["state"] == "ok"), "{list}");

    // A skipped driver is not loaded: with a timeout of an hour, a query of the hanging one would be noticed.
    let skips = ["--skip-platform", "HANG", "--skip-platform", "Crash_On"];
    let list = vendors.list(&skips, &[limit("3600")]);
    assert_eq!(device_count(&list), expected);
    assert_eq!(driver(&list, "hang.icd")["state"], "skipped");
    assert_eq!(driver(&list, "crash_on_load.icd")["by"], "crash_on");

    // The table for users: what happened, why, and what to try.
    let (stdout, _) = vendors.run(vendors.clreel(&["devices"]).args(skips), 0);
    for words in ["crash.icd is skipped", "SIGSEGV", "--skip-platform crash", "missing.icd: no device"] {
        assert!(stdout.contains(words), "{words} in {stdout}");
    }
}

/// Another program's libOpenCL precedes the system's in the search path and finds no driver: it is named, with advice.
#[test]
fn a_libopencl_that_shadows_the_system_library_is_named() {
    let versions =
        concat!("-Wl,--version-script=", env!("CARGO_MANIFEST_DIR"), "/tests/drivers/no_platforms.map");
    let arguments = ["-Wl,-soname,libOpenCL.so.1", versions];
    let library = native::shared_library("no_platforms", "drivers", &["no_platforms.c"], &arguments);
    let vendors = Vendors::new(&[]).with_machine_drivers();
    let folder = vendors.folder.folder("brought");
    let brought = folder.join("libOpenCL.so.1");
    std::fs::copy(library, &brought).unwrap();
    let environment = [("LD_LIBRARY_PATH".to_owned(), folder.clone().into_os_string())];
    let list = vendors.list(&[], &environment);
    let drivers = list["drivers"].as_array().unwrap();
    let pocl = drivers.iter().find(|d| d["name"].as_str().unwrap().contains("pocl")).unwrap();
    assert_eq!(pocl["state"], "empty", "{list}");
    assert_eq!(pocl["overlooked_by"].as_str(), brought.to_str(), "{list}");
    let bench = ["bench", "--size", "32x32", "--radius", "1", "--frames", "1", "--variant", "flat"];
    for (arguments, code) in [(&["devices"][..], 0), (&bench, 1)] {
        let (_, said) = vendors.run(vendors.clreel(arguments).env("LD_LIBRARY_PATH", &folder), code);
        let overlooks = format!("The OpenCL library {} does not find the driver ", brought.display());
        for words in [&overlooks, "which works.", "start clreel without it"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("No OpenCL driver is installed"), "{said}");
    }
}

#[test]
fn platforms_can_be_skipped_by_a_part_of_their_name() {
    let vendors = Vendors::new(&[]).with_machine_drivers();
    let list = vendors.list(&[], &[]);
    let platform = list["devices"][0]["platform"].as_str().unwrap();
    let of_platform = |list: &Value| {
        list["devices"].as_array().unwrap().iter().filter(|d| d["platform"] == platform).count()
    };
    assert!(of_platform(&list) > 0);
    let part = platform[platform.len() / 3..].to_uppercase();
    assert_eq!(of_platform(&vendors.list(&["--skip-platform", &part], &[])), 0);

    // No device is left: the message has the reason.
    let arguments =
        ["snapshot", "--skip-platform", "", "--skip-platform", ".icd", "--out", "/nonexistent/never.png"];
    let (_, stderr) = vendors.run(vendors.clreel(&arguments).arg(clip()), 1);
    assert!(stderr.contains("no OpenCL device") && stderr.contains("skipped, by '.icd'"), "{stderr}");
}

#[test]
fn with_faulty_drivers_only_the_errors_name_them() {
    let vendors = Vendors::new(&["CRASH"]);
    assert_eq!(device_count(&vendors.list(&[], &[])), 0);
    for arguments in [vec!["bench"], vec!["snapshot", "--out", "/nonexistent/never.png"]] {
        let (stdout, stderr) = vendors.run(vendors.clreel(&arguments).arg(clip()), 1);
        assert!(stdout.is_empty() && stderr.contains("crash.icd") && stderr.contains("SIGSEGV"), "{stderr}");
    }
}

#[test]
fn a_crash_or_hang_while_listing_devices_skips_the_driver() {
    let vendors = Vendors::new(&[]).with_machine_drivers();
    for (option, seconds, words) in [("CRASH_ON_LIST", "60", "SIGABRT"), ("HANG_ON_LIST", "1", "after 1 s")] {
        let mut environment = layer::environment(&[(option, "1")]);
        environment.push(limit(seconds));
        let list = vendors.list(&[], &environment);
        assert_eq!(device_count(&list), 0);
        let drivers = list["drivers"].as_array().unwrap();
        assert!(drivers.iter().any(|d| d["reason"].as_str().unwrap_or_default().contains(words)), "{list}");
    }
}

#[test]
fn every_command_continues_without_a_faulty_driver() {
    let vendors = Vendors::new(&["CRASH_ON_LOAD"]).with_machine_drivers();
    let out = vendors.folder.file("frame.png");
    let run = |arguments: &str, more: &Path, display: &str| {
        let mut command = vendors.clreel(&arguments.split(' ').collect::<Vec<_>>());
        if !display.is_empty() {
            command.env("DISPLAY", display);
        }
        let (stdout, stderr) = vendors.run(command.arg(more).arg(clip()), 0);
        assert!(stderr.contains("crash_on_load.icd is skipped"), "{stderr}");
        stdout
    };
    run("snapshot --variant flat --out", &out, "");
    assert!(out.exists());
    let chart = vendors.folder.file("chart.svg");
    let bench = run("bench --json --variant flat --radius 1 --frames 1 --size 64x48 --chart", &chart, "");
    let json: Value = serde_json::from_str(&bench).unwrap();
    assert_eq!(json["devices"][0]["runs"][0]["variants"][0]["outcome"], "ok");
    let (display, stats) = (Display::start(&[]), vendors.folder.file("stats.json"));
    run("--frames 40 --variant flat --stats", &stats, &display.name);
    let stats = read_json(&stats);
    assert!(stats["device"].is_string() || stats["device"].is_object(), "{stats}");
}

#[test]
fn the_list_shows_for_each_device_if_it_shares_or_why_not() {
    let vendors = Vendors::new(&[]).with_machine_drivers();
    // Without a display, without sharing, with sharing, and with a driver that crashes in the test of sharing.
    let tested = |display: Option<&Display>, environment: Vec<(String, OsString)>| {
        let display = display.map(|d| ("DISPLAY".to_owned(), d.name.clone().into()));
        let list = vendors.list(&[], &environment.into_iter().chain(display).collect::<Vec<_>>());
        let device = list["devices"].as_array().unwrap().last().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&device["sharing"]), text(&device["sharing_reason"]), text(&list["opengl"]))
    };
    let (sharing, reason, opengl) = tested(None, vec![]);
    assert_eq!((sharing.as_str(), opengl.as_str()), ("copy", ""));
    assert!(reason.contains("no display"), "{reason}");

    let display = Display::start(&[]);
    let (sharing, reason, opengl) = tested(Some(&display), layer::environment(&[("POISON", "1")]));
    assert_eq!((sharing.as_str(), reason.as_str()), ("zero-copy", ""));
    assert!(opengl.starts_with("GLX, "), "{opengl}");
    let with_egl = ("CLREEL_GL".to_owned(), "egl".into());
    let environment = layer::environment(&[("POISON", "1")]).into_iter().chain([with_egl]).collect();
    let (sharing, _, opengl) = tested(Some(&display), environment);
    assert_eq!(sharing, "zero-copy");
    assert!(opengl.starts_with("EGL, "), "{opengl}");

    const REFUSED: &str = "clEnqueueAcquireGLObjects:1+:-59";
    const CRASHES: &str = "clGetGLContextInfoKHR:1+:crash";
    let both = format!("{CRASHES},{REFUSED}");
    let none = "the driver does not offer cl_khr_gl_sharing";
    for (plan, hidden, seconds, why) in [
        (REFUSED, "0", "60", "-59"),
        ("clEnqueueAcquireGLObjects:1+:crash", "0", "60", "SIGABRT"),
        // The device that drives OpenGL is queried after the test of sharing: a crash or hang there does not affect its result.
        (CRASHES, "0", "60", ""),
        (CRASHES, "1", "60", ""),
        // Long enough for the test on a loaded machine.
        ("clGetGLContextInfoKHR:1+:hang", "1", "10", ""),
        (&both, "0", "60", "-59"),
        (&both, "1", "60", none),
        // A driver without the property for shared contexts.
        ("clCreateContext:1:-64", "1", "60", none),
        // A successful query keeps the reason of the sharing test.
        (REFUSED, "1", "60", "-59"),
    ] {
        let mut environment = layer::environment(&[("FAIL", plan), ("HIDE_EXTENSION", hidden)]);
        environment.push(limit(seconds));
        let (sharing, reason, _) = tested(Some(&display), environment);
        assert_eq!(sharing, if why.is_empty() { "zero-copy" } else { "copy" }, "{plan}, {hidden}: {reason}");
        let is_whole = why.is_empty() || why == none;
        assert!(if is_whole { reason == why } else { reason.contains(why) }, "{plan}, {hidden}: {reason}");
    }
}

#[test]
fn identical_cards_are_distinguished_by_pci_address() {
    let (vendors, display) = (Vendors::new(&[]).with_machine_drivers(), Display::start(&[]));
    let list = |driving: &[(&str, &str)]| {
        let mut command = vendors.clreel(&["devices", "--json"]);
        command.env("DISPLAY", &display.name).env("POCL_DEVICES", "pthread pthread");
        let options = [&[("TWINS", "1"), ("FAKE_GPU", "1")], driving].concat();
        let (json, _) = vendors.run(command.envs(layer::environment(&options)), 0);
        serde_json::from_str::<Value>(&json).unwrap()["devices"].clone()
    };
    let devices = list(&[]);
    let names = [0, 1].map(|n| devices[n]["name"].as_str().unwrap().to_owned());
    assert_eq!(names, ["Twin (0001:18:00.3)", "Twin (0001:19:00.3)"]);
    let why = |devices: &Value| devices[1]["sharing_reason"].as_str().unwrap_or_default().to_owned();
    assert_eq!(devices[0]["sharing"], "zero-copy", "{devices}");
    let elsewhere = why(&devices);
    assert!(elsewhere.starts_with("OpenGL runs on device 0, 'Twin (0001:18:00.3)': "), "{elsewhere}");
    let untold = why(&list(&[("DRIVING_DEVICE", "none of them")]));
    assert!(untold.ends_with("(-59); which device OpenGL runs on is not known"), "{untold}");
}

/// Returns the path of PoCL's library in its registration.
fn pocl() -> String {
    let registrations = std::fs::read_dir("/etc/OpenCL/vendors").unwrap();
    let paths = registrations.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let mut paths = paths.map(|path| path.trim().to_owned());
    paths.find(|path| path.contains("pocl")).expect("these tests need PoCL")
}

/// Invalid registrations are named: in the table, in JSON, and, without another driver, in the error.
#[test]
fn an_invalid_registration_is_named_with_the_reason() {
    let pocl = pocl();
    let mut narrow = std::fs::read(broken_library("NOTHING")).unwrap();
    // The class of an ELF file: 1 is 32 bits.
    narrow[4] = 1;
    let folder = Folder::new("vendors-narrow");
    let narrow = folder.with("libnarrow.so", narrow).display().to_string();
    for (content, words) in [
        (format!("{pocl}\r\n"), "the path ends in a carriage return"),
        (format!("{pocl}\r"), "the path ends in a carriage return"),
        (format!("{pocl} \n"), "the path ends in a blank"),
        (format!("\t{pocl}\n"), "the path begins with a blank"),
        (format!("\u{feff}{pocl}\n"), "byte order mark"),
        (format!("\n{pocl}\n"), "empty line"),
        (String::new(), "file is empty"),
        ("\0p\0o".to_owned(), "no plain text"),
        ("libno_such_driver.so.1\n".to_owned(), "libno_such_driver.so.1: cannot open shared object file"),
        ("/tmp\n".to_owned(), "Is a directory"),
        (format!("{narrow}\n"), "for programs of 32 bits"),
        // A library that every machine has, and that is no driver.
        ("libm.so.6\n".to_owned(), "is no OpenCL driver"),
    ] {
        let vendors = Vendors::new(&[]);
        vendors.folder.with("x.icd", &content);
        let list = vendors.list(&[], &[]);
        let x = driver(&list, "x.icd");
        assert_eq!(x["state"], "empty", "{content:?}: {x}");
        assert!(x["reason"].as_str().unwrap().contains(words), "{content:?}: {x}");
        let (stdout, stderr) = vendors.run(vendors.clreel(&["devices"]), 0);
        for text in [stdout, stderr] {
            assert!(text.contains(words) && text.contains("x.icd"), "{content:?}: {text}");
            assert!(!text.contains("system's own") && !text.contains("is installed"), "{content:?}: {text}");
        }
        // Other drivers are not affected.
        vendors.register("y", &pocl);
        let list = vendors.list(&[], &[]);
        assert!(device_count(&list) > 0 && driver(&list, "y.icd")["state"] == "ok", "{content:?}: {list}");
        assert!(driver(&list, "x.icd")["reason"].as_str().unwrap().contains(words), "{content:?}: {list}");
    }
    // A registration that is not a regular file.
    let vendors = Vendors::new(&[]);
    vendors.folder.folder("folder.icd");
    symlink("/nonexistent/driver.icd", vendors.folder.file("link.icd")).unwrap();
    let list = vendors.list(&[], &[]);
    for (name, words) in [("folder.icd", "It is a folder"), ("link.icd", "There is no such file")] {
        assert!(driver(&list, name)["reason"].as_str().unwrap().contains(words), "{list}");
    }
}

/// An environment variable that leads to no driver is named with its value.
#[test]
fn an_environment_variable_without_a_driver_is_named() {
    let vendors = Vendors::new(&[]);
    let text = vendors.folder.with("empty/pocl.icd.bak", pocl());
    let [empty, missing, no_file] = ["empty", "missing", "missing.icd"].map(|name| vendors.folder.file(name));
    for (variable, value, words) in [
        ("OCL_ICD_VENDORS", &empty, "No file in this folder ends in .icd"),
        ("OCL_ICD_VENDORS", &missing, "Nothing has this name"),
        ("OCL_ICD_VENDORS", &no_file, "There is no such file"),
        ("OCL_ICD_VENDORS", &text, "cannot be loaded"),
        ("OPENCL_VENDOR_PATH", &empty, "No file in this folder ends in .icd"),
        ("OPENCL_VENDOR_PATH", &missing, "Nothing has this name"),
    ] {
        let command = |arguments: &[&str]| {
            let mut command = vendors.clreel(arguments);
            command.env_remove("OCL_ICD_VENDORS").env(variable, value);
            command
        };
        let (stdout, stderr) = vendors.run(command(&["devices"]), 0);
        let (json, _) = vendors.run(command(&["devices", "--json"]), 0);
        for text in [stdout, stderr, json] {
            let named = text.contains(variable) && text.contains(value.to_str().unwrap());
            assert!(named && text.contains(words), "{variable}={value:?}: {text}");
            assert!(!text.contains("is installed"), "{variable}={value:?}: {text}");
        }
    }
}

/// Properties that a driver does not return, or with impossible values, are unknown: no number, and unused in calculations.
#[test]
fn impossible_device_properties_are_unknown() {
    use ocl::ffi;
    let vendors = Vendors::new(&[]).with_machine_drivers();
    let numbers = [
        ffi::CL_DEVICE_MAX_COMPUTE_UNITS,
        ffi::CL_DEVICE_MAX_CLOCK_FREQUENCY,
        ffi::CL_DEVICE_GLOBAL_MEM_SIZE,
        ffi::CL_DEVICE_MAX_MEM_ALLOC_SIZE,
        ffi::CL_DEVICE_LOCAL_MEM_SIZE,
    ];
    let texts = [ffi::CL_DEVICE_NAME, ffi::CL_DRIVER_VERSION, ffi::CL_DEVICE_VERSION];
    for number in ["0", "0xffffffffffffffff"] {
        let overrides = numbers.iter().map(|what| format!("{what:#x}={number}"));
        let overrides =
            overrides.chain(texts.iter().map(|what| format!("{what:#x}="))).collect::<Vec<_>>().join(",");
        for kind in ["0", "1"] {
            let environment = layer::environment(&[("DEVICE_INFO", &overrides), ("FAKE_GPU", kind)]);
            let list = vendors.list(&[], &environment);
            let device = &list["devices"][0];
            let fields = "name driver version units clock_mhz global_memory_bytes max_allocation_bytes local_memory_bytes";
            for field in fields.split(' ') {
                assert!(device[field].is_null(), "{field}: {device}");
            }
            let (table, _) = vendors.run(vendors.clreel(&["devices"]).envs(environment.clone()), 0);
            let row = table.lines().find(|line| line.contains("│ 0 ")).unwrap();
            let unknown = row.matches(" – ").count();
            assert_eq!(unknown, 6, "name, units, MHz, memory, OpenCL, driver: {table}");
            let bench = |arguments: &[&str]| {
                let mut command = vendors.clreel(&["bench", "--frames", "1"]);
                let (stdout, _) = vendors.run(command.args(arguments).envs(environment.clone()), 0);
                assert!(!stdout.contains("unsupported"), "{overrides}: {stdout}");
            };
            let ids = "naive,flat,running-sum,fused,native";
            bench(&["--conversions=none", "--size", "64x48", "--radius", "1", "--variant", ids]);
            bench(&["--ladder", "vector-add", "--count", "1000"]);
        }
    }
}

/// A device that is listed as unavailable is named, beside others, or alone.
#[test]
fn an_unavailable_device_is_named() {
    use ocl::ffi;
    let vendors = Vendors::new(&[]).with_machine_drivers();
    let two = ("POCL_DEVICES".to_owned(), "pthread basic".into());
    let names: Vec<String> = {
        let list = vendors.list(&[], std::slice::from_ref(&two));
        let devices = list["devices"].as_array().unwrap().iter();
        devices.map(|device| device["name"].as_str().unwrap().to_owned()).collect()
    };
    for (question, words) in [
        (ffi::CL_DEVICE_AVAILABLE, "is not available (CL_DEVICE_AVAILABLE)"),
        (ffi::CL_DEVICE_COMPILER_AVAILABLE, "has no compiler"),
    ] {
        let overrides = format!("{question:#x}=0");
        let mut one = layer::environment(&[("DEVICE_INFO", &overrides), ("FAIL_DEVICE", &names[1])]);
        one.push(two.clone());
        let list = vendors.list(&[], &one);
        assert_eq!(device_count(&list), names.len() - 1, "{list}");
        let (stdout, _) = vendors.run(vendors.clreel(&["devices"]).envs(one), 0);
        assert!(stdout.contains(&format!("'{}' {words}", names[1])), "{stdout}");
        let all = layer::environment(&[("DEVICE_INFO", &overrides)]);
        assert_eq!(device_count(&vendors.list(&[], &all)), 0);
        let (_, stderr) = vendors.run(vendors.clreel(&["bench", "--variant", "flat"]).envs(all), 1);
        assert!(stderr.contains(words) && !stderr.contains("is installed"), "{stderr}");
    }
}

/// A name selects among platforms and devices, then among driver files; of several matches the first is taken.
#[test]
fn a_device_can_be_selected_by_platform_or_driver_file() {
    let vendors = Vendors::new(&[]);
    vendors.register("some", &pocl());
    let bench = |selected: &str, code: i32| {
        let mut command = vendors.clreel(&["bench", "--variant", "flat", "--size", "32x32", "--radius", "1"]);
        command.args(["--frames", "1", "--conversions=none", "--json", "--device", selected]);
        let (stdout, stderr) = vendors.run(command.env("POCL_DEVICES", "pthread basic"), code);
        let json: Value = serde_json::from_str(&stdout).unwrap_or_default();
        (json["devices"][0]["index"].as_u64(), stderr)
    };
    for selected in ["Portable Computing", "PoCL", "cpu"] {
        let (index, stderr) = bench(selected, 0);
        assert_eq!(index, Some(0), "{selected}: {stderr}");
        for words in
            [&format!("Several OpenCL devices match '{selected}': 0: "), ", 1: ", "The first one is used"]
        {
            assert!(stderr.contains(words), "{selected}: {stderr}");
        }
    }
    let (index, stderr) = bench("1", 0);
    assert_eq!(index, Some(1), "{stderr}");
    assert!(!stderr.contains("Several"), "{stderr}");
    // An index that does not exist is not searched in names.
    let (_, stderr) = bench("2", 1);
    let words = stderr.contains("no OpenCL device '2'") && stderr.contains("(Portable Computing Language)");
    assert!(words, "{stderr}");
}

#[test]
fn a_signal_during_driver_queries_leaves_no_files() {
    // A driver that hangs: the signal always comes during the query.
    let vendors = Vendors::new(&["HANG"]);
    let left = || std::fs::read_dir(&vendors.runtime).unwrap().count();
    for (signal, verb) in [(libc::SIGINT, "tune"), (libc::SIGTERM, "bench"), (libc::SIGHUP, "devices")] {
        let mut command = vendors.clreel(&[verb]);
        let mut child = with_default_action(&mut command, signal).stdout(Stdio::null()).spawn().unwrap();
        while left() == 0 {
            assert_eq!(child.try_wait().unwrap(), None, "{verb} ended before the signal");
            std::thread::sleep(Duration::from_millis(5));
        }
        send_signal(&child, signal);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal), "{verb}: {status}");
        assert_eq!(left(), 0, "{verb} left a folder behind");
    }
}

#[test]
fn unwritable_folders_do_not_affect_devices() {
    let vendors = Vendors::new(&[]).with_machine_drivers();
    let file = vendors.folder.with("file", "");
    let count = device_count(&vendors.list(&[], &[]));
    assert!(count > 0);
    let set = |name: &str, value: &Path| (name.to_owned(), value.as_os_str().to_owned());
    let nowhere = vendors.folder.file("nowhere");
    for environment in
        [vec![set("XDG_CACHE_HOME", &file)], vec![set("XDG_RUNTIME_DIR", &nowhere), set("TMPDIR", &nowhere)]]
    {
        let mut command = vendors.clreel(&["devices", "--json"]);
        // PoCL's cache of an earlier test must not help.
        command.env_remove("POCL_CACHE_DIR").env("XDG_RUNTIME_DIR", std::env::temp_dir());
        let list = json(&command.envs(environment.clone()).output().unwrap());
        assert_eq!(device_count(&list), count, "{environment:?}: {list}");
    }
}
