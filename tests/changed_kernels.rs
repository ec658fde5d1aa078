//! Modified kernels that never end, write out of bounds, or do not build: each fails its own rows or its own variant only,
//! in `bench`, `tune`, `snapshot` and the window. Needs an OpenCL device on which a write to an unmapped address ends the
//! process, as PoCL's CPU device.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::changed_conversions::{ENDLESS_LOOP, TIMEOUT_S};
use crate::common::reports::{has_status, trials};
use crate::common::*;
use crate::why::{PLAIN, own};
use box_filter::{VariantId, Work};
use serde_json::json;

/// A statement that writes to an unmapped address.
const FAR_WRITE: &str = "*(volatile __global uchar *)((ulong)1 << 46) = 1;";

/// A statement that changes nothing.
const HARMLESS: &str = "int unused_by_anyone = 0; (void)unused_by_anyone;";

/// Writes a kernel file with `line` at the start of every kernel into the folder of modified kernels.
fn change(folder: &Folder, file: &str, line: &str) {
    let text = kernel(&format!("box_filter/{file}"));
    let (begin, kernels) = text.split_once("__kernel").unwrap();
    let changed = kernels.split("__kernel").map(|one| one.replacen('{', &format!("{{ {line} "), 1));
    let changed = changed.collect::<Vec<_>>().join("__kernel");
    folder.with(&format!("kernels/box_filter/{file}"), format!("{begin}__kernel{changed}"));
}

fn kernels(folder: &Folder) -> PathBuf {
    folder.file("kernels")
}

/// Runs a small bench with the modified kernels; returns its exit code and runs.
fn bench(folder: &Folder, variants: &str, more: &str) -> (Option<i32>, Value) {
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(folder)).args(["bench", "--json", "--frames", "2"]);
    command.args(["--variant", variants, "--kernel-timeout", TIMEOUT_S]).args(more.split(' '));
    let (code, stdout, stderr) = output(folder, command);
    let report: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{stderr}"));
    (code, report["devices"][0]["runs"].clone())
}

fn row<'a>(runs: &'a Value, run: usize, id: &str) -> &'a Value {
    runs[run]["variants"].as_array().unwrap().iter().find(|v| v["id"] == id).unwrap()
}

/// Asserts that a row failed and that its reason contains `part`.
fn assert_failed(row: &Value, part: &str) {
    assert_eq!(row["outcome"], "failed", "{row}");
    assert!(row["reason"].as_str().unwrap().contains(part), "{row}");
    assert!(row["device_ms"].is_null(), "{row}");
}

#[test]
fn bench_keeps_the_rows_of_all_other_variants() {
    let folder = Folder::new("changed-bench");
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", ENDLESS_LOOP);
    change(&folder, "02_separable.cl", HARMLESS);
    change(&folder, "08_planes.cl", FAR_WRITE);
    let ids = VariantId::all().filter(|id| matches!(id.work, Work::Kernels(_)));
    let ids: Vec<&str> = ids.map(|id| id.name).chain(["planar"]).collect();
    let (code, runs) = bench(&folder, &ids.join(","), "--size 70x50 --radius 2,5");
    assert_eq!(code, Some(1), "{runs}");
    for run in [0, 1] {
        for id in &ids {
            let row = row(&runs, run, id);
            match *id {
                "flat" | "planar" => assert_failed(row, "crashed in the sandbox (SIGSEGV)"),
                "vectorized" => assert_failed(row, &format!("timed out after {TIMEOUT_S} s")),
                _ => assert_eq!(row["outcome"], "ok", "{row}"),
            }
        }
    }
    // Half of the work-items wait at a barrier that the others never reach: the outcome depends on the driver.
    change(&folder, "03_flat.cl", "if (get_global_id(0) % 2) barrier(CLK_LOCAL_MEM_FENCE);");
    let (_, runs) = bench(&folder, "flat,fused", "--size 70x50 --radius 2");
    assert!(row(&runs, 0, "flat")["outcome"].is_string());
    assert_eq!(row(&runs, 0, "fused")["outcome"], "ok");
}

#[test]
fn a_hang_or_crash_at_the_measured_size_or_radius_only_is_detected() {
    let folder = Folder::new("changed-size");
    change(&folder, "03_flat.cl", &format!("if (width == 161 && radius == 5) {ENDLESS_LOOP}"));
    change(&folder, "04_vectorized.cl", &format!("if (height == 91 && radius == 2) {FAR_WRITE}"));
    let (code, runs) = bench(&folder, "flat,vectorized", "--size 161x91 --radius 2,5");
    assert_eq!(code, Some(1), "{runs}");
    assert_eq!(row(&runs, 0, "flat")["outcome"], "ok");
    assert_failed(row(&runs, 1, "flat"), &format!("timed out after {TIMEOUT_S} s"));
    assert_failed(row(&runs, 0, "vectorized"), "SIGSEGV");
    assert_eq!(row(&runs, 1, "vectorized")["outcome"], "ok");
}

/// A kernel that keeps the row sums of the first frame in the memory between its passes is right wherever that memory is overwritten
/// before a run.
#[test]
fn a_kernel_that_returns_a_cached_frame_is_detected() {
    let folder = Folder::new("changed-cache");
    let cached = "    if (sums[y * width + x].w == 255 * (2 * radius + 1)) return; ushort4 sum = 0;";
    folder.with("kernels/box_filter/03_flat.cl", flat("    ushort4 sum = 0;", cached));
    let movie = folder.movie("moving.mp4", &Movie::default());
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(&folder)).arg("bench").arg(&movie);
    command.args(["--json", "--frames", "12", "--variant", "flat", "--radius", "2", "--conversions", "none"]);
    let report = finish_json(command, 3);
    let flat = row(&report["devices"][0]["runs"], 0, "flat");
    let reason = flat["reason"].as_str().unwrap();
    assert_eq!(flat["outcome"], "mismatch", "{flat}");
    assert!(reason.starts_with("the movie, as it is timed in round "), "{reason}");
    assert!(!reason.starts_with("the movie, as it is timed in round 1:"), "{reason}");
}

#[test]
fn tune_skips_variants_that_crash_or_hang() {
    let folder = Folder::new("changed-tune");
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", ENDLESS_LOOP);
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(&folder)).env("XDG_CACHE_HOME", folder.file("cache"));
    command.args(["tune", "--json", "--radius", "2", "--size", "64x48", "--kernel-timeout", TIMEOUT_S]);
    let trials = trials(&finish_json(command, 0));
    for (id, part) in [("flat", "SIGSEGV"), ("vectorized", "timed out after")] {
        let of: Vec<_> = trials.iter().filter(|t| t["id"] == id).collect();
        assert_eq!(of.len(), 1, "it is not tried again with every value");
        assert!(has_status(of[0], "failed") && of[0]["reason"].as_str().unwrap().contains(part), "{}", of[0]);
    }
    let best: Vec<_> = trials.iter().filter(|t| has_status(t, "kept")).map(|t| &t["id"]).collect();
    assert!(best.contains(&&Value::from("fused")), "{best:?}");
    let cache = std::fs::read_to_string(folder.file("cache/clreel/tuning.json")).unwrap();
    assert!(cache.contains("fused") && !cache.contains("flat") && !cache.contains("vectorized"));
}

fn snapshot_to_file(folder: &Folder, variant: &str) -> (Option<i32>, String) {
    let mut command = clreel(None);
    command.env("CLREEL_KERNELS", kernels(folder)).arg("snapshot").arg(clip());
    command.args(["--variant", variant, "--radius", "2", "--kernel-timeout", TIMEOUT_S, "--out"]);
    run(command.arg(folder.file("out.png")))
}

#[test]
fn snapshot_writes_the_picture_of_modified_kernels_unless_they_crash_or_hang() {
    let folder = Folder::new("changed-snapshot");
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", ENDLESS_LOOP);
    change(&folder, "08_planes.cl", FAR_WRITE);
    for (variant, part) in [
        ("flat", "The kernels of 'flat' crashed in the sandbox (SIGSEGV)."),
        ("vectorized", "The kernels of 'vectorized' timed out after"),
        ("planar", "The kernels of 'planar' crashed in the sandbox (SIGSEGV)."),
    ] {
        let (code, stderr) = snapshot_to_file(&folder, variant);
        assert!(code == Some(1) && stderr.contains(part), "{stderr}");
        assert!(!folder.file("out.png").exists());
    }
    change(&folder, "03_flat.cl", HARMLESS);
    change(&folder, "08_planes.cl", HARMLESS);
    for variant in ["flat", "planar"] {
        assert_eq!(snapshot_to_file(&folder, variant), (Some(0), String::new()));
        let own = snapshot(&folder, &clip(), 0.0, variant, "2");
        assert!(png(&folder.file("out.png")) == own, "{variant}");
    }
    // A wrong picture is written too, with a message.
    change(&folder, "03_flat.cl", "if (get_global_id(0) == 7) return;");
    let (code, stderr) = snapshot_to_file(&folder, "flat");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("'flat' differ") || stderr.contains("flat differ"), "{stderr}");
    assert!(stderr.contains(" bytes were never written"), "{stderr}");
    // All pixels of this one are written, even if some equal the poison.
    overwrite(&folder, flat("    int4 sum = 0;", "    int4 sum = 2;"));
    let (code, stderr) = snapshot_to_file(&folder, "flat");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("differ by up to 1,") && !stderr.contains("never written"), "{stderr}");
}

#[test]
fn only_modified_kernels_run_in_a_child_process_which_ends_with_its_parent() {
    let folder = Folder::new("changed-not");
    // An unmodified copy in the folder is no modification.
    folder.with("kernels/box_filter/03_flat.cl", kernel(FLAT));
    let bench = |timeout: &str| {
        let mut command = clreel(None);
        command.env("CLREEL_KERNELS", kernels(&folder)).args(["bench", "--frames", "1", "--size", "64x48"]);
        command.args(["--variant", "flat", "--kernel-timeout", timeout]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let has_child = || {
        let mut running = bench("60");
        // The child process runs until the end, so polling sees it.
        let mut seen = false;
        while running.try_wait().unwrap().is_none() {
            seen |= !children(running.id()).is_empty();
        }
        assert!(running.wait().unwrap().success());
        seen
    };
    assert!(!has_child());
    change(&folder, "03_flat.cl", HARMLESS);
    assert!(has_child());
    change(&folder, "03_flat.cl", ENDLESS_LOOP);
    let mut parent = bench("80");
    let began = std::time::Instant::now();
    let wait_for = |what: &str, is_done: &dyn Fn() -> bool| {
        while !is_done() {
            assert!(began.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait_for("no child", &|| !children(parent.id()).is_empty());
    let child = format!("/proc/{}", children(parent.id())[0]);
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_for("the child still runs", &|| !Path::new(&child).exists());
}

/// Returns the child processes that try kernels for this process.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let parent_of = read("stat").rsplit(") ").next().and_then(|s| s.split(' ').nth(1)?.parse().ok());
        if parent_of == Some(parent) && read("cmdline").contains("try-kernels") {
            found.push(pid);
        }
    }
    found
}

fn window(display: &Display, folder: &Folder, arguments: &[&str]) -> Command {
    window_with_timeout(TIMEOUT_S, display, folder, arguments)
}

/// Returns the command of a window with a timeout for kernels in seconds.
fn window_with_timeout(limit: &str, display: &Display, folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = clreel(Some(display));
    // A small movie: kernels are tried at the size of its pictures.
    let movie = folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    command.env("CLREEL_KERNELS", kernels(folder)).arg(movie);
    command.args(["--kernel-timeout", limit]).args(arguments);
    command
}

/// Starts a window with `flat` and a folder of kernels, and opens the panel of kernels.
fn start_with_panel<'a>(display: &'a Display, folder: &Folder, more: &[&str]) -> Session<'a> {
    folder.folder("kernels/box_filter");
    let mut command = window(display, folder, &["--variant", "flat", "--radius", "2"]);
    let mut session = Session::start(display, command.args(more));
    open_kernel_panel(&mut session);
    session
}

#[test]
fn the_window_continues_without_variants_that_crash_or_hang() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-window"));
    change(&folder, "03_flat.cl", FAR_WRITE);
    change(&folder, "04_vectorized.cl", &format!("if (radius == 8) {ENDLESS_LOOP}"));
    let mut session = Session::start(&display, &mut window(&display, &folder, &["--variant", "flat"]));
    session.resize(1280, 720);
    session.wait_for_text("The kernels of 'flat' crashed in the sandbox (SIGSEGV).");
    session.wait_for_title("- off");
    session.wait_for_frames();
    session.press_until_title("8", "fused, r=7");
    // Modified but harmless: shown after it was tried at this size and radius.
    session.press_until_title("4", "vectorized, r=7");
    session.press_until_title("minus", "vectorized, r=6");
    session.press_until_title("8", "fused, r=6");
    for radius in [7, 8] {
        session.press_until_title("equal", &format!("fused, r={radius}"));
    }
    session.display.key("4");
    session.wait_for_text("The kernels of 'vectorized' timed out after");
    session.wait_for_title("- off");
    session.wait_for_frames();
    session.press_until_title("8", "fused, r=8");
    let stderr = session.quit();
    assert_eq!(stderr.matches("crashed in the sandbox").count(), 1, "{stderr}");
    assert_eq!(stderr.matches("timed out").count(), 1, "{stderr}");
}

#[test]
fn counted_frames_wait_for_the_trial_of_modified_kernels() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-counted"));
    for file in ["03_flat.cl", "08_planes.cl"] {
        change(&folder, file, HARMLESS);
    }
    for variant in ["flat", "planar"] {
        let (stats, _) = play(window(&display, &folder, &["--variant", variant, "--frames", "3"]));
        let frames = presented_frames(&stats);
        assert!(frames.len() == 3 && frames.iter().all(|f| f["variant"] == variant), "{frames:?}");
    }
}

/// Returns the CPU time in clock ticks of the child processes that try kernels for this process.
fn child_ticks(parent: u32) -> u64 {
    let ticks = |child: u32| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
        fields.filter_map(|n| n.parse::<u64>().ok()).sum()
    };
    children(parent).into_iter().map(ticks).sum()
}

/// Returns the milliseconds for which a thread of a process ran or waited for a core, and the number of its voluntary
/// context switches.
fn thread_usage(process: u32, name: &str) -> Option<(u64, u64)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let read = |file: &Path| std::fs::read_to_string(file).unwrap_or_default();
    let mut named = tasks.filter(|task| read(&task.path().join("comm")).trim() == name);
    let task = named.next()?.path();
    let status = read(&task.join("status"));
    let slept = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    let times = read(&task.join("schedstat"));
    let wanted: u64 = times.split(' ').take(2).filter_map(|ns| ns.parse::<u64>().ok()).sum();
    Some((wanted / 1_000_000, slept.trim().parse().ok()?))
}

/// Waits until a kernel of the child process has run for long: no compiler takes so many clock ticks.
fn wait_for_endless_kernel(session: &mut Session) {
    let window = session.child.as_ref().unwrap().id();
    let mut before = None;
    session.wait("an endless kernel", |_| {
        let now = child_ticks(window);
        now >= *before.get_or_insert(now) + 300
    });
}

#[test]
#[ignore = "waits for endless kernels for a minute: ./dev test --all"]
fn threads_sleep_during_a_trial() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-waits"));
    change(&folder, "03_flat.cl", &format!("if (radius == 3) {ENDLESS_LOOP}"));
    // With --frames the first frame waits for the filter.
    let counted = ["--variant", "flat", "--radius", "3", "--frames", "3"];
    // On a busy machine the wait above takes long, and the timeout must be later.
    let limit = "60";
    let mut command = window_with_timeout(limit, &display, &folder, &counted);
    let mut session = Session::without_focus(&display, &mut command);
    wait_for_endless_kernel(&mut session);
    let process = session.child.as_ref().unwrap().id();
    let all = || thread_usage(process, "clreel").unwrap().0;
    let before = all();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let wanted = all() - before;
    assert!(wanted < 1500, "{wanted} ms of 3000");
    drop(session);
    // In a pause the trial is not requested again and again.
    let arguments = ["--variant", "flat", "--radius", "2"];
    let mut command = window_with_timeout(limit, &display, &folder, &arguments);
    let mut session = Session::start(&display, &mut command);
    session.wait_for_title("flat, r=2");
    session.wait_for_frames();
    session.press_until_title("space", "paused");
    session.display.key("equal");
    wait_for_endless_kernel(&mut session);
    let process = session.child.as_ref().unwrap().id();
    let calls = || thread_usage(process, "device").unwrap().1;
    let before = calls();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let made = calls() - before;
    assert!(made < 20, "{made} calls");
    session.wait_for_text("The kernels of 'flat' timed out after");
    session.quit();
}

#[test]
fn a_kernel_folder_that_appears_later_is_used() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-later"));
    let wrong = flat(MEAN_OF, &format!("{MEAN_OF} ^ (uchar4)(1)"));
    folder.with(&format!("later/{FLAT}"), wrong);
    // A broken file: the built-in one does not replace it.
    folder.with(&format!("later/{VECTORIZED}"), "__kernel void");
    let trace = folder.file("t.json");
    let mut command = window(&display, &folder, &["--variant", "flat", "--trace"]);
    let mut session = Session::start(&display, command.arg(&trace));
    session.resize(1280, 720);
    // The folder is missing now, not only unread.
    session.wait_for_text("The movie is shown unfiltered.");
    session.display.key("h");
    session.wait_for_text("cannot be read.");
    session.display.key("e");
    std::fs::rename(folder.file("later"), kernels(&folder)).unwrap();
    // Unmodified variants are built too, and keys work before that is done.
    session.wait_for_text("03_flat.cl and 1 more: ");
    session.press_until_title("8", "fused, r=7");
    session.wait_for_frames();
    session.press_until_title("3", "flat, r=7");
    session.wait_for_frames();
    session.wait_for_text("flat differs in");
    // Old messages disappear as well; the scopes are built after the filters.
    session.wait_for_end_of("cannot be read.");
    // The ladder's words need room that the panels take.
    for keys in [["e", "h"], ["h", "e"]] {
        keys.iter().for_each(|key| session.display.key(key));
        session.wait("the variant's state", |s| s.shows("not available") == (keys[0] == "e"));
    }
    session.display.key("4");
    session.wait_for_text("The kernel file 'box_filter/04_vectorized.cl' does not build for ");
    session.wait_for_frames();
    session.wait_for_title("flat, r=7");
    // The kernels that measure pictures and correct colours come from the folder too.
    session.display.key("e");
    session.wait_for_text("minimum ");
    session.display.key("h");
    session.display.key("c");
    session.minimize_contrast();
    // The correction is built last: the builder and the child process in which it tries kernels become idle.
    let process = session.child.as_ref().unwrap().id();
    let mut before = None;
    session.wait("the builder is idle", |s| {
        for _ in 0..5 {
            s.wait_for_frames();
        }
        let now = (thread_usage(process, "builder").unwrap(), child_ticks(process));
        before.replace(now) == Some(now)
    });
    session.wait_for_frames();
    session.quit();
    let trace = read_json(&trace);
    let corrects = |event: &Value| event["name"] == "correct" && event["pid"] == 2;
    assert!(trace["traceEvents"].as_array().unwrap().iter().any(corrects), "the device");
}

/// Waits until a window shows the movie filtered by `flat`, and opens the panel of kernels.
pub fn open_kernel_panel(session: &mut Session) {
    session.resize(1280, 720);
    session.wait_for_title("flat, r=2");
    session.wait_for_frames();
    session.display.key("e");
    session.wait_for_text("Edit the files in");
}

fn save(folder: &Folder, file: &str, text: &str) {
    save_kernel(&kernels(folder), file, text);
}

/// Writes into the file of `flat`.
fn overwrite(folder: &Folder, bytes: impl AsRef<[u8]>) {
    std::fs::write(kernels(folder).join(FLAT), bytes).unwrap();
}

const FLAT: &str = "box_filter/03_flat.cl";
const VECTORIZED: &str = "box_filter/04_vectorized.cl";
const MEAN: &str = "common/mean.clh";
const OWN: &str = "box_filter/own.cl";
/// The last line of the kernels of `flat`: the mean of a sum.
const MEAN_OF: &str = "convert_uchar4(mean4(sum, side * side, scale))";

/// Returns `flat` with `from`, which it contains, replaced by `to`.
fn flat(from: &str, to: &str) -> String {
    edited_kernel(FLAT, &[(from, to)])
}

/// Returns a kernel of the user's own: the mean, modified by `then`.
fn own_kernel(then: &str) -> String {
    own(&PLAIN.replace("= mean(", &format!("= {then}(mean(")).replace("x, y);", "x, y));"))
}

/// An edit: its description, the change of the files, the expected line of the version in the panel, and further expected texts.
struct Edit(&'static str, fn(&Folder), &'static str, &'static [&'static str]);

const EXACT: &str = "03_flat.cl: flat exact";
/// The line of the first version, which has the built-in kernels, after they were validated.
const FIRST: &str = "original: flat exact";

/// The edits of every run of the tests.
const EDITS: &[Edit] = &[
    Edit("another text, the same bytes", |f| save(f, FLAT, &(kernel(FLAT) + "// edited\n")), EXACT, &[]),
    Edit(
        "a wrong constant",
        |f| save(f, FLAT, &flat(MEAN_OF, &format!("{MEAN_OF} ^ (uchar4)(1)"))),
        "flat differs in",
        &[", first ", "output differs"],
    ),
    Edit(
        "a syntax error",
        |f| save(f, FLAT, &kernel(FLAT).replacen("int", "imt", 1)),
        "does not build",
        &["03_flat.cl:", "imt", "still running version 3"],
    ),
    Edit("an endless loop", |f| change(f, "03_flat.cl", ENDLESS_LOOP), "timed out after 5 s", &[STILL_3]),
    Edit("a write far outside", |f| change(f, "03_flat.cl", FAR_WRITE), "(SIGSEGV)", &[STILL_3]),
    Edit(
        "an include that is called otherwise",
        |f| save(f, FLAT, &flat("mean.clh", "maen.clh")),
        "does not build",
        &["box_filter/03_flat.cl:10:", "There is no kernel file 'common/maen.clh'.", STILL_3],
    ),
    Edit("deleted: what is built in", |f| std::fs::remove_file(kernels(f).join(FLAT)).unwrap(), FIRST, &[]),
    Edit("a kernel of one's own", |f| save(f, OWN, &own_kernel("")), "own.cl: own exact", &["own"]),
];

const STILL: &str = "still running version";
const STILL_3: &str = "still running version 3";

/// Further edits, which `tests/edits` makes.
const FURTHER_EDITS: &[Edit] = &[
    Edit(
        "a name that nothing has",
        |f| save(f, FLAT, &flat("mean4(", "maen4(")),
        "does not build",
        &["03_flat.cl:", "maen4"],
    ),
    Edit(
        "a write just behind the picture",
        |f| save(f, FLAT, &flat("    dst[", "    if (x == 0) dst[width * height + 3] = 1;\n    dst[")),
        "Changed kernels write outside the picture.",
        &[STILL],
    ),
    Edit("other types", |f| save(f, FLAT, &flat("float scale", "int scale")), "flat: ", &["float", STILL]),
    Edit(
        "a kernel that is called otherwise",
        |f| save(f, FLAT, &flat("box_flat_columns", "box_flat_colums")),
        "flat: ",
        &["03_flat.cl has no kernel 'box_flat_columns'.", STILL],
    ),
    Edit("an empty file", |f| save(f, FLAT, ""), "flat: ", &["has no kernel 'box_flat_rows'.", STILL]),
    Edit("no text", |f| overwrite(f, [0xff, 0xfe, 0x00]), "cannot be read", &[STILL]),
    Edit(
        "an include that includes itself",
        |f| save(f, FLAT, &format!("#include \"03_flat.cl\"\n{}", kernel(FLAT))),
        "does not build",
        &["nested too deeply"],
    ),
    Edit(
        "in two pieces",
        |f| {
            use std::io::Write as _;
            let text = kernel(FLAT) + "// in two pieces\n";
            let mut file = std::fs::File::create(kernels(f).join(FLAT)).unwrap();
            file.write_all(&text.as_bytes()[..text.len() / 2]).unwrap();
            file.sync_all().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(60));
            file.write_all(&text.as_bytes()[text.len() / 2..]).unwrap();
        },
        EXACT,
        &[],
    ),
    Edit(
        "half of it, and closed",
        |f| {
            let text = kernel(FLAT);
            overwrite(f, &text[..text.find("__kernel").unwrap() + 60]);
        },
        "does not build",
        &[STILL],
    ),
    Edit(
        "the old file kept under another name",
        |f| {
            let path = kernels(f).join(FLAT);
            std::fs::rename(&path, path.with_extension("cl~")).unwrap();
            std::fs::write(path, kernel(FLAT) + "// renamed\n").unwrap();
        },
        EXACT,
        &[],
    ),
    Edit(
        "what others include",
        |f| save(f, MEAN, &(kernel(MEAN) + "// edited\n")),
        "mean.clh: flat exact",
        &[],
    ),
    Edit(
        "a kernel of one's own that does not build",
        |f| save(f, OWN, "__kernel void own_kernel(int"),
        "own.cl: own: ",
        &["does not build"],
    ),
];

/// Returns the longest time without a presented frame that overlaps an interval (in seconds since 1970), in milliseconds, by a
/// trace. A gap that begins before the interval or ends after it counts as a whole. Where there is no frame before or after, a
/// gap begins or ends with the interval.
pub fn longest_gap(trace: &Value, from: f64, to: f64) -> f64 {
    let began = trace["otherData"]["began_unix_s"].as_f64().unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let swaps = events.filter(|event| event["name"] == "swap");
    let end_s = |event: &Value| (event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap()) / 1e6;
    let mut times: Vec<f64> = swaps.map(|event| began + end_s(event)).collect();
    if !times.iter().any(|at| *at <= from) {
        times.push(from);
    }
    if !times.iter().any(|at| *at >= to) {
        times.push(to);
    }
    times.sort_by(f64::total_cmp);
    let overlaps = |pair: &&[f64]| pair[1] > from && pair[0] < to;
    times.windows(2).filter(overlaps).map(|pair| (pair[1] - pair[0]) * 1e3).fold(0.0, f64::max)
}

/// Plants freezes in traces.
#[test]
fn a_freeze_that_begins_with_the_save_is_a_gap() {
    let trace = |swaps: &[f64]| {
        let swap = |at: &f64| json!({ "name": "swap", "ts": at * 1e6 - 500.0, "dur": 500.0 });
        json!({
            "otherData": { "began_unix_s": 1000.0 },
            "traceEvents": swaps.iter().map(swap).collect::<Vec<_>>(),
        })
    };
    let steady = |from: u32, to: u32| (from..to).map(|n| f64::from(n) * 0.04);
    let gap = |swaps: &[f64]| longest_gap(&trace(swaps), 1002.0, 1006.0).round();
    assert_eq!(gap(&steady(0, 250).collect::<Vec<_>>()), 40.0);
    // From the save on, for 3 s; and to the end, or to the end of the trace.
    let frozen: Vec<_> = steady(0, 51).chain(steady(125, 250)).collect();
    assert_eq!(gap(&frozen), 3000.0);
    let frozen: Vec<_> = steady(0, 76).chain(steady(200, 250)).collect();
    assert_eq!(gap(&frozen), 5000.0);
    assert_eq!(gap(&steady(0, 76).collect::<Vec<_>>()), 3000.0);
    // No frame at all, none before the save, and a freeze elsewhere.
    assert_eq!(gap(&[]), 4000.0);
    assert_eq!(gap(&steady(100, 250).collect::<Vec<_>>()), 2000.0);
    let elsewhere: Vec<_> = steady(20, 151).chain(steady(500, 501)).collect();
    assert_eq!(longest_gap(&trace(&elsewhere), 1002.0, 1006.0 - 0.02).round(), 40.0);
}

/// Returns start and end of a span of a trace, in milliseconds since the start of the trace.
fn span(event: &Value) -> (f64, f64) {
    let number = |name: &str| event[name].as_f64().unwrap_or_default() / 1e3;
    (number("ts"), number("ts") + number("dur"))
}

/// The latency from a save to the screen, in milliseconds.
struct Latency {
    /// From the save to the end of the first frame that began after the verdict.
    all: f64,
    /// From the save to the start of the verification, and to the verdict.
    parts: [f64; 2],
    /// The compiler's time for the trial, and for the window's own build, which may be cached.
    compilers: [f64; 2],
    /// The time of the filter.
    filter: f64,
}

impl Latency {
    /// Returns `None` if nothing new was shown.
    fn of(trace: &Value, saved: f64, version: u64) -> Option<Self> {
        let saved = (saved - trace["otherData"]["began_unix_s"].as_f64()?) * 1e3;
        let events = trace["traceEvents"].as_array()?;
        // Kernels are named by their variant.
        let is_named = |event: &&Value, name: &str| event["name"] == name || event["cat"] == name;
        let all = |name: &'static str| events.iter().filter(move |event| is_named(event, name));
        let of_it = format!("version {version} of flat");
        let (begins, ends) = span(all("validate").find(|event| event["args"]["detail"] == of_it.as_str())?);
        let within = |event: &&Value| span(event).0 >= begins && span(event).1 <= ends;
        let took = |event: &Value| span(event).1 - span(event).0;
        // A refused version is not built for the window.
        let compile = took(all("compile").rfind(within)?);
        // Some drivers finish compiling at the first launch.
        let is_compiler =
            |event: &&Value| ["build", "launch"].iter().any(|step| event["args"]["detail"] == *step);
        let trial = all("trial").filter(within).filter(is_compiler).map(took).sum();
        let shown = all("frame").map(span).filter(|(from, _)| *from >= ends).map(|(_, to)| to);
        let filter = all("filter").find(|event| span(event).0 >= ends).map(took)?;
        let all = shown.fold(f64::INFINITY, f64::min) - saved;
        Some(Self { all, parts: [begins - saved, ends - saved], compilers: [trial, compile], filter })
    }

    /// Returns the target for the latency. Built-in kernels are not tried: then only the window's own build counts.
    fn target_ms(&self) -> f64 {
        let [tried, built] = self.compilers;
        2.0 * if tried > 0.0 { tried } else { built } + 2.0 * self.filter + 100.0
    }
}

fn now() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// With `CLREEL_EDITS`, all edits on the movie that it names; `tests/edits` does that.
#[test]
fn every_edit_is_validated_and_shown_while_the_movie_plays() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-live"));
    let long = std::env::var_os("CLREEL_EDITS").map(PathBuf::from);
    for below in ["kernels/box_filter", "kernels/common"] {
        folder.folder(below);
    }
    let small = || folder.movie("m.mkv", &Movie { stamps_ms: steady(50), ..Movie::default() });
    let movie = long.clone().unwrap_or_else(small);
    let trace = folder.file("trace.json");
    let mut command = clreel(Some(&display));
    command.arg("--kernels").arg(kernels(&folder)).args(["--variant", "flat", "--radius", "2"]);
    command.args(["--kernel-timeout", "5"]).arg("--trace").arg(&trace).arg(movie);
    let mut session = Session::start(&display, &mut command);
    open_kernel_panel(&mut session);
    // Machine code beside the source, or a hint how to get it; and Oclgrind, which runs during all that follows.
    session.click("Machine code");
    session.wait("machine code", |s| s.shows("vector load") || s.shows("No disassembler is installed."));
    session.click("Machine code");
    session.click_until("Races", "Oclgrind");
    // The number of the next version; version 1 is the initial one.
    let mut number = 1;
    let mut made = Vec::new();
    let edits = EDITS.iter().chain(FURTHER_EDITS.iter().filter(|_| long.is_some()));
    for Edit(what, save, line, words) in edits {
        // A known text is the version that it was.
        let version = if *line == FIRST { 1 } else { number + 1 };
        number = number.max(version);
        let tries = |session: &Session| children(session.child.as_ref().unwrap().id());
        session.wait("a process for trials", |s| !tries(s).is_empty());
        let before = tries(&session);
        let from = now();
        save(&folder);
        let saved = now();
        session.wait(&format!("version {version}, {what}: {line} {words:?}"), |session| {
            let texts = session.texts();
            let is_there = session.version_line(version).is_some_and(|text| text.contains(line));
            is_there && words.iter().all(|word| texts.iter().any(|text| text.text.contains(word)))
        });
        if words.contains(&"03_flat.cl:") {
            assert_eq!(tries(&session), before, "{what}: nothing ran that needs a new process");
        }
        session.wait_for_title("flat, r=2");
        session.wait_for_frames();
        let is_accepted = ["flat differs in", "flat exact"].iter().any(|word| line.contains(word));
        made.push((*what, version, is_accepted, [from, saved, now()]));
    }
    // The user's own kernel becomes a variant with a key, is marked as different, and disappears with its file.
    let from = now();
    save(&folder, OWN, &own_kernel("(uchar4)(255) - "));
    session.wait_for_text("own differs in");
    session.press_until_title("u", "own, r=2");
    session.wait_for_frames();
    session.wait_for_text("output differs");
    std::fs::remove_file(kernels(&folder).join(OWN)).unwrap();
    session.wait_for_text("There is no kernel of your own.");
    session.wait_for_text("own.cl was removed, and 'own' with it");
    session.press_until_title("3", "flat, r=2");
    session.wait_for_frames();
    made.push(("one's own that differs, is chosen, and deleted", number + 1, false, [from, from, now()]));
    if long.is_none() {
        // Returns the places of a version's number and of its button for a wipe.
        let places = |session: &mut Session, version: &str| {
            let texts = session.texts();
            let is_of = |two: &&[Text]| two[0].text == version && two[1].text == "wipe";
            let found = texts.windows(2).find(is_of).unwrap();
            [found[0].center(), found[1].center()]
        };
        // A click returns to an exact version.
        let at = places(&mut session, "2")[0];
        session.click_at(at);
        session.wait_for_text("03_flat.cl, 1 line changed");
        // A wipe with a version that differs.
        let at = places(&mut session, "3")[1];
        session.click_at(at);
        session.wait_for_text("flat r=2, version 3");
        session.press_until_title("w", "flat, r=2");
        // The result is shown beside the kernels that were checked.
        let at = places(&mut session, "1")[0];
        session.click_at(at);
        session.wait("Oclgrind", |s| s.shows("flat: no data races") || s.shows("Oclgrind is not installed."));
    }
    let stderr = session.quit();
    // PoCL's compiler prints this line itself if includes nest too deeply.
    let stderr = stderr.replace("2 errors generated.\n", "");
    // All other messages were in the panel only.
    assert!(stderr.starts_with("clreel: There is no kernel of your own."), "{stderr}");
    assert_eq!(stderr.matches("clreel:").count(), 1, "{stderr}");
    if long.is_some() {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edits.json");
        std::fs::copy(&trace, &kept).unwrap();
        println!("trace: {}", kept.display());
    }
    let trace = read_json(&trace);
    // A save validates only what it changes: nothing is tuned, so `auto` is `fused`.
    let validated =
        |of: &str| trace["traceEvents"].as_array().unwrap().iter().any(|e| e["args"]["detail"] == of);
    assert!(validated("version 2 of flat") && !validated("version 2 of auto"));
    // The rows of the table in docs/kernel_editing.md.
    let columns =
        "until the frame is on the screen | longest stall of the window | aim | validated | compiler, built";
    println!("| edit of `flat` | {columns} |");
    let mut shown = 0;
    for (what, number, is_accepted, [from, saved, to]) in made {
        let stall = longest_gap(&trace, from, to);
        let latency = Latency::of(&trace, saved, number).filter(|_| is_accepted);
        match &latency {
            Some(Latency { all, parts: [validated, verdict], compilers: [tried, built], .. }) => {
                let aim = latency.as_ref().map_or(f64::NAN, Latency::target_ms);
                assert!(all.is_finite() && *all >= 0.0, "{what}: no frame was shown after the verdict");
                println!(
                    "| {what} | {all:.0} | {stall:.0} | {aim:.0} | {validated:.0} to {verdict:.0} | {tried:.0}, {built:.0} |"
                );
            }
            None => println!("| {what} | rejected | {stall:.0} | | | |"),
        }
        assert_eq!(latency.is_some(), is_accepted, "{what}: it is not in the trace");
        shown += usize::from(is_accepted);
    }
    assert_eq!(shown, if long.is_some() { 6 } else { 3 }, "accepted edits of flat");
}

/// The panel and stderr have the text that a kernel prints. One that takes seconds for the current frame is still verified completely,
/// on all pictures and with canaries.
#[test]
fn a_slow_kernel_is_verified_completely_and_a_printing_one_is_shown() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-slow"));
    let mut session = start_with_panel(&display, &folder, &[]);
    save(&folder, FLAT, &flat("    dst[", "    if (x + y == 0) printf(\"printed\\n\");\n    dst["));
    session.wait_for_version(2, EXACT);
    session.wait_for_text("Printed by kernels:");
    session.wait_for_text("printed");
    // The text of the first version, which runs again.
    save(&folder, FLAT, &kernel(FLAT));
    session.wait_for_end_of("Printed by kernels:");
    session.wait_for_version(1, FIRST);
    // Only the movie's pictures are 64 wide; some of the verifier's are 67.
    let slow = "for (volatile int i = 0; x == 0 && width == 64 && height == 48 && i < 12000000; i++) ;";
    let outside = "if (width == 67 && x == 0 && y == 0) ((__global uchar *)src)[width * height * 4 + 3] = 1;";
    let begins = "    ushort4 sum = 0;";
    save(&folder, FLAT, &flat(begins, &format!("    {slow}\n    {outside}\n{begins}")));
    session.wait_for_text("flat: Changed kernels write outside the picture.");
    session.wait_for_text("flat: still running version 1");
    session.wait_for_title("flat, r=2");
    session.wait_for_frames();
    let stderr = session.quit();
    assert!(stderr.contains("printed\n") && !stderr.contains("clreel: "), "{stderr}");
}

#[test]
fn edits_are_seen_after_the_folder_is_replaced_or_linked() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-replaced"));
    let text = |comment: &str| format!("{}// {comment}\n", kernel(FLAT));
    for name in ["one", "two", "three"] {
        folder.with(&format!("{name}/{FLAT}"), text(name));
    }
    std::os::unix::fs::symlink("one", kernels(&folder)).unwrap();
    let mut session = start_with_panel(&display, &folder, &[]);
    // Written through the symbolic link, and by renaming in its target.
    overwrite(&folder, text("saved"));
    session.wait_for_version(2, EXACT);
    std::fs::write(folder.file("new"), text("renamed")).unwrap();
    std::fs::rename(folder.file("new"), folder.file("one").join(FLAT)).unwrap();
    session.wait_for_version(3, EXACT);
    std::os::unix::fs::symlink("two", folder.file("link")).unwrap();
    std::fs::rename(folder.file("link"), kernels(&folder)).unwrap();
    session.wait_for_version(4, EXACT);
    overwrite(&folder, text("saved in the second one"));
    session.wait_for_version(5, EXACT);
    // The folder is removed, and another one takes its place.
    std::fs::remove_file(kernels(&folder)).unwrap();
    session.wait_for_text("cannot be read.");
    std::fs::rename(folder.file("three"), kernels(&folder)).unwrap();
    session.wait_for_end_of("cannot be read.");
    session.wait_for_version(6, EXACT);
    // A kernel file that is a symbolic link.
    std::fs::write(folder.file("mine.txt"), text("linked")).unwrap();
    std::fs::remove_file(kernels(&folder).join(FLAT)).unwrap();
    session.wait_for_version(7, EXACT);
    std::os::unix::fs::symlink("../../mine.txt", kernels(&folder).join(FLAT)).unwrap();
    session.wait_for_version(8, EXACT);
    std::fs::write(folder.file("mine.txt"), text("saved behind the link")).unwrap();
    session.wait_for_version(9, EXACT);
    assert_eq!(session.quit(), "", "it is told in the panel");
}

/// Without the panel, which has a line for each save, a banner has the reason why a version does not run.
#[test]
fn messages_of_a_save_disappear_when_it_is_undone() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-undone"));
    for below in ["kernels/box_filter", "kernels/common"] {
        folder.folder(below);
    }
    let broken = || kernel(FLAT).replacen("int", "imt", 1);
    save(&folder, FLAT, &broken());
    let mut command = window(&display, &folder, &["--variant", "flat", "--radius", "2"]);
    let mut session = Session::start(&display, &mut command);
    session.resize(1280, 720);
    const REFUSED: &str = "does not build";
    // Broken before the window starts.
    session.wait_for_text(REFUSED);
    session.wait_for_title("- off");
    save(&folder, FLAT, &kernel(FLAT));
    session.wait_for_end_of(REFUSED);
    session.press_until_title("3", "flat, r=2");
    // The version that runs already: it is not tried again.
    let edited = kernel(FLAT) + "// edited\n";
    save(&folder, FLAT, &edited);
    session.wait_for_text("flat r=2, version ");
    save(&folder, FLAT, &broken());
    session.wait_for_text(REFUSED);
    save(&folder, FLAT, &edited);
    session.wait_for_end_of(REFUSED);
    change(&folder, "03_flat.cl", FAR_WRITE);
    session.wait_for_text("(SIGSEGV)");
    save(&folder, FLAT, &edited);
    session.wait_for_end_of("(SIGSEGV)");
    // An included file is refused, then deleted.
    save(&folder, MEAN, "#error no\n");
    session.wait_for_text(REFUSED);
    std::fs::remove_file(kernels(&folder).join(MEAN)).unwrap();
    session.wait_for_end_of(REFUSED);
    // Refused twice, with a save of another file between.
    save(&folder, FLAT, &broken());
    session.wait_for_text(REFUSED);
    save(&folder, VECTORIZED, "// another one\n");
    session.wait_for_frames();
    assert!(session.shows(REFUSED));
    save(&folder, FLAT, &edited);
    session.wait_for_end_of(REFUSED);
    // The user's own kernel is created and deleted.
    save(&folder, OWN, &own_kernel(""));
    session.press_until_title("u", "own, r=2");
    save(&folder, OWN, "__kernel void own_kernel(int");
    session.wait_for_text(REFUSED);
    std::fs::remove_file(kernels(&folder).join(OWN)).unwrap();
    session.wait_for_text("There is no kernel of your own.");
    session.wait_for_end_of(REFUSED);
    save(&folder, OWN, &own_kernel(""));
    session.wait_for_end_of("There is no kernel of your own.");
    session.quit();
}

/// Waits until the mark of the speed of this version in the panel contains `mark`.
fn wait_for_speed(session: &mut Session, number: u64, mark: &str) {
    session.wait(&format!("the speed of version {number}: {mark}"), |session| {
        let texts = session.texts();
        let mut rows =
            texts.windows(5).filter(|row| row[0].text == number.to_string() && row[1].text == "wipe");
        rows.next().is_some_and(|row| row[4].text.contains(mark))
    });
}

/// The speed of a version is known only after it was timed in turns with the version before it: a comment makes nothing faster.
#[test]
fn versions_are_timed_in_turns() {
    let (display, folder) = (Display::start(&[]), Folder::new("changed-speed"));
    let trace = folder.file("trace.json");
    let mut session = start_with_panel(&display, &folder, &["--trace", trace.to_str().unwrap()]);
    save(&folder, FLAT, &(kernel(FLAT) + "// edited\n"));
    wait_for_speed(&mut session, 2, "no difference shown against version 1 (below ");
    let begins = "    ushort4 sum = 0;";
    let slow = "    for (volatile int i = 0; i < 300; i++) ;";
    save(&folder, FLAT, &flat(begins, &format!("{slow}\n{begins}")));
    wait_for_speed(&mut session, 3, "× slower than version 2, ");
    save(&folder, FLAT, &(kernel(FLAT) + "// fast\n"));
    wait_for_speed(&mut session, 4, "× faster than version 3, ");
    // The marks of the other versions stay; one whose output differs has none.
    wait_for_speed(&mut session, 3, "× slower than version 2, ");
    save(&folder, FLAT, &flat(MEAN_OF, &format!("{MEAN_OF} ^ (uchar4)(1)")));
    session.wait_for_version(5, "flat differs in");
    let texts = session.texts();
    let row = texts.windows(5).find(|row| row[0].text == "5" && row[1].text == "wipe").unwrap();
    assert_eq!(row[4].text, "4", "the line of the next version");
    assert_eq!(session.quit(), "", "it is told in the panel");
    // Kernels' spans have the names of variant and version, and the rounds those of both versions.
    let trace = read_json(&trace);
    let of = |cat: &str, name: &str| {
        let events = trace["traceEvents"].as_array().unwrap().iter();
        events.filter(|event| event["cat"] == cat && event["name"] == name).count()
    };
    assert!(of("filter", "flat") > 0 && of("filter", "flat, version 2") > 0, "the movie's frames");
    assert!(of("command", "flat (A)") > 100 && of("command", "flat (B)") > 100, "the rounds");
    let kernels = trace["otherData"]["kernels"].as_array().unwrap();
    let hash =
        |version: u64| kernels.iter().find(|used| used["version"] == version).map(|used| &used["hash"]);
    let hashes = [1, 3, 4].map(hash);
    assert!(hashes.iter().all(Option::is_some), "{kernels:?}");
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2], "{kernels:?}");
}
