//! `clreel bench --chart`: the file that a benchmark leaves beside what it prints. Needs an OpenCL device.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A folder of its own; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("clreel-charts-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// What is in it.
    fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.0).unwrap();
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PICTURES: &[&str] = &["bench", "--size", "64x48", "--conversions", "none", "--variant", "naive,flat"];
const NUMBERS: &[&str] = &["bench", "--ladder", "vector-add", "--variant", "serial,scalar"];

fn bench(what: &[&str], args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clreel"));
    command.args(what).args(args).env_remove("CLREEL_KERNELS");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(mut command: Command, code: i32) -> Output {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {}", text(&output.stderr));
    output
}

/// How often a part stands in a text.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn every_ladder_has_a_chart_beside_its_json_or_table() {
    let folder = Folder::new("ladders");
    for (what, cases, ladder, rungs) in [
        (PICTURES, ["--radius", "1,3"], "box filter", [">Naive<", ">Flat<"]),
        (NUMBERS, ["--count", "1000,5000"], "vector add", [">Serial<", ">Scalar<"]),
    ] {
        let chart = folder.file("chart.svg");
        let args = [&cases[..], &["--frames", "6", "--chart", &chart]].concat();
        let output = run(bench(what, &[&args[..], &["--json"]].concat()), 0);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let svg = std::fs::read_to_string(&chart).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains(&format!("<title id=\"title\">{ladder}: ")), "{svg}");
        assert!(!svg.contains("interrupted\""), "{svg}");
        let device = &report["devices"][0];
        assert_eq!(count(&svg, "class=\"panel\""), 2, "a panel for each case");
        assert!(svg.contains(device["name"].as_str().unwrap()), "{svg}");
        for rung in rungs {
            assert_eq!(count(&svg, rung), 2, "{rung}: {svg}");
        }
        // What the JSON says stands beside the bars.
        for run in device["runs"].as_array().unwrap() {
            for row in run["variants"].as_array().unwrap() {
                let times = [&row["device_ms"], &row["wall_ms"]].into_iter().find(|times| times.is_object());
                let p50 = times.unwrap()["p50"].as_f64().unwrap();
                let title = format!("<title>{}: ", row["id"].as_str().unwrap());
                let told = svg.split(&title).skip(1).map(|rest| rest.split(" ms").next().unwrap());
                let near = |told: &str| {
                    let (number, most) = told.strip_prefix('~').map_or((told, 0.01), |number| (number, 0.5));
                    (number.parse::<f64>().unwrap() / p50 - 1.0).abs() <= most
                };
                assert!(told.clone().any(near), "{title}{p50}: {:?}", told.collect::<Vec<_>>());
            }
        }
        // The table is the same with it, and an older chart is replaced.
        let before = std::fs::metadata(&chart).unwrap().modified().unwrap();
        let table = run(bench(what, &args), 0);
        assert!(text(&table.stdout).contains("speed-up"), "{}", text(&table.stdout));
        assert_ne!(std::fs::metadata(&chart).unwrap().modified().unwrap(), before);
        assert_eq!(folder.names(), ["chart.svg"], "nothing else is left");
    }
}

#[test]
fn a_chart_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let folder = Folder::new("refused");
    let (locked, taken) = (folder.file("locked"), folder.file("folder.svg"));
    for path in [&locked, &taken] {
        std::fs::create_dir(path).unwrap();
    }
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
    let locked = format!("{locked}/chart.svg");
    // Root may write there.
    let is_root = std::fs::write(&locked, "").is_ok();
    let mut refused =
        vec![("/nowhere/chart.svg".to_owned(), "Create the folder first"), (taken, "directory")];
    if !is_root {
        refused.push((locked, "Choose a folder that you may write to."));
    }
    for (path, hint) in &refused {
        for what in [PICTURES, NUMBERS] {
            // It would take years.
            let output = run(bench(what, &["--frames", "4000000000", "--chart", path]), 1);
            let stderr = text(&output.stderr);
            assert!(stderr.contains(&format!("clreel: '{path}' could not be written.")), "{stderr}");
            assert!(stderr.contains(hint) && output.stdout.is_empty(), "{stderr}");
        }
    }
    // A movie is not taken for a chart.
    let movie = folder.file("movie.mp4");
    std::fs::write(&movie, "precious").unwrap();
    let output = run(bench(PICTURES, &["--chart", &movie]), 2);
    assert!(text(&output.stderr).contains("must end in .svg"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&movie).unwrap(), "precious");
}

#[test]
fn an_interrupted_benchmark_leaves_the_chart_of_what_it_has() {
    let folder = Folder::new("interrupted");
    let chart = folder.file("chart.svg");
    let args = ["--frames", "4000000000", "--radius", "1,2", "--chart", &chart];
    // Longer each time, until there was something to draw.
    for turn in 0..16 {
        let mut command = bench(PICTURES, &args);
        // A shell may have started these tests with signals ignored, which clreel would respect.
        // SAFETY: `signal` may be called after `fork`.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200).mul_f64(1.6_f64.powi(turn)));
        // SAFETY: the process is ours and has not been waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGINT), "{}", text(&output.stderr));
        let svg = std::fs::read_to_string(&chart).unwrap_or_default();
        if count(&svg, "class=\"row\"") < 2 || svg.contains("not timed") {
            continue;
        }
        assert!(svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("class=\"interrupted\"") && svg.contains("Missing: all at r=2."), "{svg}");
        assert_eq!((count(&svg, "class=\"panel\""), folder.names()), (1, vec!["chart.svg".to_owned()]));
        return;
    }
    panic!("nothing was drawn: {:?}", folder.names());
}
