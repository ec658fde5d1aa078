//! Changed kernels that loop for ever, write into nowhere, or do not build: each costs one sentence and its own rows, in
//! `bench`, `tune`, `snapshot` and the window. Needs an OpenCL device that ends a process whose kernels write into nowhere,
//! as PoCL does.

#[path = "common/window.rs"]
mod common;
#[path = "common/movie.rs"]
mod movie;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clreel::ladders::box_filter::VariantId;
use common::{Display, Session, clip, clreel, finish, json, png, succeed};
use movie::{Folder, Movie, steady};
use serde_json::Value;

/// What a kernel does first of all, beside its work; for all work-items.
const FOR_EVER: &str = "for (volatile int forever = 1; forever;) forever = 1;";
const FAR_WRITE: &str = "*(volatile __global uchar *)((ulong)1 << 46) = 1;";
/// Seconds after which a kernel counts as endless: enough for a machine that is busy.
const LIMIT: &str = "12";
/// Half of a work-group waits for the other half.
const ODD_BARRIER: &str = "if (get_global_id(0) % 2) barrier(CLK_LOCAL_MEM_FENCE);";

/// The kernels as they are built in.
fn original(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/box_filter").join(file);
    std::fs::read_to_string(path).unwrap()
}

/// Puts `line` at the beginning of every kernel of a file, into a folder of changed kernels.
fn change(folder: &Folder, file: &str, line: &str) {
    let text = original(file);
    let mut changed = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("__kernel") {
        let body = at + rest[at..].find('{').unwrap() + 1;
        changed.push_str(&rest[..body]);
        changed.push_str(&format!(" {line} "));
        rest = &rest[body..];
    }
    changed.push_str(rest);
    assert_ne!(changed, text);
    let to = folder.file("kernels/box_filter");
    std::fs::create_dir_all(&to).unwrap();
    std::fs::write(to.join(file), changed).unwrap();
}

fn kernels(folder: &Folder) -> PathBuf {
    folder.file("kernels")
}

/// Runs clreel to its end, which must come; returns its exit code, stdout and stderr.
fn output(folder: &Folder, mut command: Command) -> (Option<i32>, String, String) {
    let stdout = folder.file("stdout");
    command.stdout(std::fs::File::create(&stdout).unwrap()).stderr(Stdio::piped());
    let (code, stderr) = finish(command.spawn().unwrap());
    (code, std::fs::read_to_string(stdout).unwrap(), stderr)
}

/// A small bench with the changed kernels; its rows by their names.
fn bench(folder: &Folder, variants: &str, more: &[&str]) -> (Option<i32>, Value) {
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(folder)).args(["bench", "--json", "--frames", "2"]);
    command.args(["--variant", variants]).args(more);
    let (code, stdout, stderr) = output(folder, command);
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{stderr}"));
    (code, report["devices"][0]["runs"].clone())
}

fn row<'a>(runs: &'a Value, run: usize, id: &str) -> &'a Value {
    runs[run]["variants"].as_array().unwrap().iter().find(|v| v["id"] == id).unwrap()
}

/// Whether a row failed, and its reason says this.
fn assert_failed(row: &Value, part: &str) {
    assert_eq!(row["outcome"], "failed", "{row}");
    assert!(row["reason"].as_str().unwrap().contains(part), "{row}");
    assert!(row["device_ms"].is_null(), "{row}");
}

#[test]
fn bench_keeps_the_rows_of_all_other_variants() {
    let folder = Folder::new("changed-bench");
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", FOR_EVER);
    change(&folder, "02_separable.cl", "int unused_by_anyone = 0; (void)unused_by_anyone;");
    let ids = VariantId::ALL.into_iter().filter(|id| *id != VariantId::Auto && id.kernels().is_some());
    let ids: Vec<&str> = ids.map(VariantId::as_str).collect();
    let (code, runs) =
        bench(&folder, &ids.join(","), &["--size", "70x50", "--radius", "2,5", "--kernel-timeout", LIMIT]);
    assert_eq!(code, Some(1), "{runs}");
    for run in [0, 1] {
        assert_failed(row(&runs, run, "flat"), "end the program that runs them (signal 11)");
        assert_failed(row(&runs, run, "vectorized"), &format!("did not end within {LIMIT} s"));
        for id in ids.iter().filter(|id| !["flat", "vectorized"].contains(id)) {
            assert_eq!(row(&runs, run, id)["outcome"], "ok", "{}", row(&runs, run, id));
        }
    }
}

#[test]
fn what_hangs_or_crashes_only_at_the_real_size_or_radius_is_found() {
    let folder = Folder::new("changed-size");
    change(&folder, "03_flat.cl", &format!("if (width == 161 && radius == 5) {FOR_EVER}"));
    change(&folder, "04_vectorized.cl", &format!("if (height == 91 && radius == 2) {FAR_WRITE}"));
    let (code, runs) = bench(
        &folder,
        "flat,vectorized",
        &["--size", "161x91", "--radius", "2,5", "--kernel-timeout", LIMIT],
    );
    assert_eq!(code, Some(1), "{runs}");
    assert_eq!(row(&runs, 0, "flat")["outcome"], "ok");
    assert_failed(row(&runs, 1, "flat"), &format!("did not end within {LIMIT} s"));
    assert_failed(row(&runs, 0, "vectorized"), "signal 11");
    assert_eq!(row(&runs, 1, "vectorized")["outcome"], "ok");
}

#[test]
fn a_barrier_that_not_all_reach_costs_its_own_row_at_most() {
    let folder = Folder::new("changed-barrier");
    change(&folder, "03_flat.cl", ODD_BARRIER);
    let (_, runs) =
        bench(&folder, "flat,fused", &["--size", "70x50", "--radius", "2", "--kernel-timeout", LIMIT]);
    // What becomes of it is the driver's affair.
    assert!(row(&runs, 0, "flat")["outcome"].is_string());
    assert_eq!(row(&runs, 0, "fused")["outcome"], "ok");
}

#[test]
fn a_kernel_that_differs_is_a_mismatch_as_ever() {
    let folder = Folder::new("changed-wrong");
    change(&folder, "03_flat.cl", "if (get_global_id(0) == 7) return;");
    let (code, runs) = bench(&folder, "flat,fused", &["--size", "70x50", "--radius", "2"]);
    assert_eq!(code, Some(3), "{runs}");
    assert_eq!(row(&runs, 0, "flat")["outcome"], "mismatch");
    assert_eq!(row(&runs, 0, "fused")["outcome"], "ok");
}

#[test]
fn planar_is_tried_too() {
    let folder = Folder::new("changed-planar");
    change(&folder, "08_planes.cl", FAR_WRITE);
    let (code, runs) = bench(&folder, "planar,fused", &["--size", "70x50", "--radius", "2"]);
    assert_eq!(code, Some(1), "{runs}");
    assert_failed(row(&runs, 0, "planar"), "signal 11");
    assert_eq!(row(&runs, 0, "fused")["outcome"], "ok");
}

#[test]
fn tune_leaves_them_out() {
    let folder = Folder::new("changed-tune");
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", FOR_EVER);
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(&folder)).env("XDG_CACHE_HOME", folder.file("cache"));
    command.args(["tune", "--json", "--radius", "2", "--size", "64x48", "--kernel-timeout", LIMIT]);
    let (code, stdout, stderr) = output(&folder, command);
    assert_eq!(code, Some(0), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let trials = report["runs"][0]["trials"].as_array().unwrap();
    for (id, part) in [("flat", "signal 11"), ("vectorized", "did not end within")] {
        let of: Vec<_> = trials.iter().filter(|t| t["variant"] == id).collect();
        assert_eq!(of.len(), 1, "it is not tried again with every value");
        assert!(of[0]["status"] == "failed" && of[0]["reason"].as_str().unwrap().contains(part), "{}", of[0]);
    }
    let best: Vec<_> = trials.iter().filter(|t| t["status"] == "best").map(|t| &t["variant"]).collect();
    assert!(best.contains(&&Value::from("fused")), "{best:?}");
    let cache = std::fs::read_to_string(folder.file("cache/clreel/tuning.json")).unwrap();
    assert!(cache.contains("fused") && !cache.contains("flat") && !cache.contains("vectorized"));
}

fn snapshot(folder: &Folder, variant: &str) -> (Option<i32>, String) {
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(folder)).arg("snapshot").arg(clip());
    command.args(["--variant", variant, "--radius", "2", "--kernel-timeout", LIMIT, "--out"]);
    command.arg(folder.file("out.png"));
    let (code, _, stderr) = output(folder, command);
    (code, stderr)
}

#[test]
fn snapshot_ends_with_the_sentence() {
    let folder = Folder::new("changed-snapshot");
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", FOR_EVER);
    change(&folder, "08_planes.cl", FAR_WRITE);
    for (variant, part) in [
        ("flat", "The kernels of 'flat' end the program that runs them (signal 11)."),
        ("vectorized", "The kernels of 'vectorized' did not end within"),
        ("planar", "The kernels of 'planar' end the program that runs them (signal 11)."),
    ] {
        let (code, stderr) = snapshot(&folder, variant);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
        assert!(!folder.file("out.png").exists());
    }
}

#[test]
fn snapshot_shows_what_changed_kernels_make() {
    let folder = Folder::new("changed-picture");
    change(&folder, "03_flat.cl", "int unused_by_anyone = 0; (void)unused_by_anyone;");
    change(&folder, "08_planes.cl", "int unused_by_anyone = 0; (void)unused_by_anyone;");
    for variant in ["flat", "planar"] {
        let (code, stderr) = snapshot(&folder, variant);
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        let got = png(&folder.file("out.png"));
        let mut own = clreel(None);
        own.arg("snapshot").arg(clip()).args(["--variant", variant, "--radius", "2", "--out"]);
        own.arg(folder.file("own.png"));
        succeed(own);
        assert!(got == png(&folder.file("own.png")), "{variant}");
    }
    // A wrong one is shown, too, and said to be.
    change(&folder, "03_flat.cl", "if (get_global_id(0) == 7) return;");
    let (code, stderr) = snapshot(&folder, "flat");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("'flat' differ") || stderr.contains("flat differ"), "{stderr}");
}

#[test]
fn kernels_that_are_built_in_need_no_child() {
    let folder = Folder::new("changed-not");
    // The same text in the folder is no change.
    let to = folder.file("kernels/box_filter");
    std::fs::create_dir_all(&to).unwrap();
    std::fs::write(to.join("03_flat.cl"), original("03_flat.cl")).unwrap();
    let has_child = |change_it: bool| {
        if change_it {
            change(&folder, "03_flat.cl", "int unused_by_anyone = 0; (void)unused_by_anyone;");
        }
        let mut command = clreel(None);
        command.env("CLREEL_KERNELS", kernels(&folder)).stdout(Stdio::null());
        command.args(["bench", "--frames", "1", "--size", "64x48", "--variant", "flat"]);
        let mut running = command.spawn().unwrap();
        // It stays to the end: who looks all the time sees it.
        let mut seen = false;
        while running.try_wait().unwrap().is_none() {
            seen |= !children(running.id()).is_empty();
        }
        assert!(running.wait().unwrap().success());
        seen
    };
    assert!(!has_child(false));
    assert!(has_child(true));
}

/// The processes that try kernels for this one.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let parent_of =
            read("stat").rsplit(") ").next().and_then(|s| s.split(' ').nth(1)?.parse::<u32>().ok());
        if parent_of == Some(parent) && read("cmdline").contains("try-kernels") {
            found.push(pid);
        }
    }
    found
}

#[test]
fn a_child_ends_with_who_started_it() {
    let folder = Folder::new("changed-orphan");
    change(&folder, "03_flat.cl", FOR_EVER);
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(&folder)).args(["bench", "--variant", "flat", "--size", "64x48"]);
    command.args(["--kernel-timeout", "80"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut parent = command.spawn().unwrap();
    let began = std::time::Instant::now();
    let child = loop {
        if let Some(child) = children(parent.id()).first() {
            break *child;
        }
        assert!(began.elapsed() < common::PATIENCE, "no child");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    parent.kill().unwrap();
    parent.wait().unwrap();
    while Path::new(&format!("/proc/{child}")).exists() {
        assert!(began.elapsed() < common::PATIENCE, "the child still runs");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn window(display: &Display, folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = clreel(Some(display));
    // A small movie: what is tried is as large as its pictures.
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    command
        .env("CLREEL_KERNELS", kernels(folder))
        .arg(movie)
        .args(["--kernel-timeout", LIMIT])
        .args(arguments);
    command
}

#[test]
fn the_window_goes_on_without_them() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-window"));
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", &format!("if (radius == 8) {FOR_EVER}"));
    let mut session = Session::start(&display, &mut window(&display, &folder, &["--variant", "flat"]));
    session.resize(1280, 720);
    session.wait_for_text("The kernels of 'flat' end the program that runs them (signal 11).");
    session.wait_for_title("- off");
    session.wait_for_frames();
    session.press_until_title("8", "fused, r=7");
    // Changed, but it ends: it is shown once it was tried at this size and radius.
    session.press_until_title("4", "vectorized, r=7");
    session.press_until_title("minus", "vectorized, r=6");
    session.press_until_title("8", "fused, r=6");
    for radius in [7, 8] {
        session.press_until_title("equal", &format!("fused, r={radius}"));
    }
    session.display.key("4");
    session.wait_for_text("The kernels of 'vectorized' did not end within");
    session.wait_for_title("- off");
    session.wait_for_frames();
    session.press_until_title("8", "fused, r=8");
    let stderr = session.quit();
    assert_eq!(stderr.matches("end the program").count(), 1, "{stderr}");
    assert_eq!(stderr.matches("did not end").count(), 1, "{stderr}");
}

#[test]
fn frames_that_are_counted_wait_for_the_trial_of_changed_kernels() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-counted"));
    for file in ["03_flat.cl", "08_planes.cl"] {
        change(&folder, file, "int unused_by_anyone = 0; (void)unused_by_anyone;");
    }
    for variant in ["flat", "planar"] {
        let stats = folder.file("stats.json");
        let mut command = window(&display, &folder, &["--variant", variant, "--frames", "3", "--stats"]);
        command.arg(&stats);
        succeed(command);
        let frames = json(&stats)["frames"].as_array().unwrap().clone();
        assert!(frames.len() == 3 && frames.iter().all(|f| f["variant"] == variant), "{frames:?}");
    }
}
