//! `clreel bench --chart`: the SVG file with the chart of a benchmark. Needs an OpenCL device.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::common::reports::clreel;
use crate::common::*;

/// Returns the names of the files in the folder.
fn names(folder: &Folder) -> Vec<String> {
    let files = std::fs::read_dir(folder.file("")).unwrap();
    files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

const PICTURES: &[&str] = &["bench", "--size", "64x48", "--conversions", "none", "--variant", "naive,flat"];
const NUMBERS: &[&str] = &["bench", "--ladder", "vector-add", "--variant", "serial,scalar"];

fn bench(what: &[&str], args: &[&str]) -> Command {
    let mut command = clreel(what);
    command.args(args);
    command
}

/// Counts the occurrences of a part in a text.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn every_ladder_writes_a_chart_with_the_times_of_its_json() {
    let folder = Folder::new("charts-ladders");
    for (what, cases, ladder, variants) in [
        (PICTURES, ["--radius", "1,3"], "box filter", [">Naive<", ">Flat<"]),
        (NUMBERS, ["--count", "1000,5000"], "vector add", [">Serial<", ">Scalar<"]),
    ] {
        let chart = folder.file("chart.svg");
        let args = [&cases[..], &["--frames", "6", "--chart", chart.to_str().unwrap()]].concat();
        let report = finish_json(bench(what, &args).arg("--json"), 0);
        let svg = std::fs::read_to_string(&chart).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains(&format!("<title id=\"title\">{ladder}: ")), "{svg}");
        assert!(!svg.contains("interrupted\""), "{svg}");
        let device = &report["devices"][0];
        assert_eq!(count(&svg, "class=\"panel\""), 2, "a panel for each case");
        assert!(svg.contains(device["name"].as_str().unwrap()), "{svg}");
        for variant in variants {
            assert_eq!(count(&svg, variant), 2, "{variant}: {svg}");
        }
        // The chart has the times of the JSON beside its bars.
        for run in device["runs"].as_array().unwrap() {
            for row in run["variants"].as_array().unwrap() {
                let times = [&row["device_ms"], &row["wall_ms"]].into_iter().find(|times| times.is_object());
                let p50 = times.unwrap()["p50"].as_f64().unwrap();
                let title = format!("<title>{}: ", row["id"].as_str().unwrap());
                let times = svg.split(&title).skip(1).map(|rest| rest.split(" ms").next().unwrap());
                let near = |time: &str| {
                    let (number, most) = time.strip_prefix('~').map_or((time, 0.01), |number| (number, 0.5));
                    (number.replace(",", "").parse::<f64>().unwrap() / p50 - 1.0).abs() <= most
                };
                assert!(times.clone().any(near), "{title}{p50}: {:?}", times.collect::<Vec<_>>());
            }
        }
        // The table does not change with --chart, and an older chart is replaced.
        let before = std::fs::metadata(&chart).unwrap().modified().unwrap();
        let table = finish(bench(what, &args), 0);
        assert!(text(&table.stdout).contains("speed-up"), "{}", text(&table.stdout));
        assert_ne!(std::fs::metadata(&chart).unwrap().modified().unwrap(), before);
        assert_eq!(names(&folder), ["chart.svg"], "nothing else is left");
    }
}

#[test]
fn an_unwritable_chart_is_an_error_before_measuring() {
    let folder = Folder::new("charts-refused");
    let [locked, taken] = ["locked", "folder.svg"].map(|name| folder.folder(name).display().to_string());
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
            // This would run for years.
            let output = finish(bench(what, &["--frames", "4000000000", "--chart", path]), 1);
            let stderr = text(&output.stderr);
            assert!(stderr.contains(&format!("clreel: '{path}' could not be written.")), "{stderr}");
            assert!(stderr.contains(hint) && output.stdout.is_empty(), "{stderr}");
        }
    }
    // A movie is not taken for a chart.
    let movie = folder.with("movie.mp4", "precious");
    let output = finish(bench(PICTURES, &["--chart"]).arg(&movie), 2);
    assert!(text(&output.stderr).contains("must end in .svg"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&movie).unwrap(), "precious");
}

#[test]
fn an_interrupted_benchmark_writes_a_chart_of_its_finished_rows() {
    let folder = Folder::new("charts-interrupted");
    let chart = folder.file("chart.svg");
    let args = ["--frames", "4000000000", "--radius", "1,2", "--chart", chart.to_str().unwrap()];
    let read = || std::fs::read_to_string(&chart).unwrap_or_default();
    let is_drawn = |svg: String| count(&svg, "class=\"row\"") >= 2 && !svg.contains("not timed");
    interrupt(|| bench(PICTURES, &args), libc::SIGINT, |_| is_drawn(read()));
    let svg = read();
    assert!(svg.ends_with("</svg>\n"), "{svg}");
    for part in ["class=\"interrupted\"", "Missing: all variants at r=2."] {
        assert!(svg.contains(part), "{svg}");
    }
    assert_eq!((count(&svg, "class=\"panel\""), names(&folder)), (1, vec!["chart.svg".to_owned()]));
}
