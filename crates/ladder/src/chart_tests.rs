//! Tests of charts of made-up results.

use serde_json::json;

use super::*;
use crate::fake::{measured, row};
use crate::rows::{AutoChoice, Case, PeakKernel, Throughput};
use base::error::Error;
use compute::sample::Sample;
use testkit::golden;

fn quiet(ms: f64) -> Outcome {
    Outcome::Ok(measured(ms, 9))
}

/// Returns the times of three runs, which are too few, so that the time counts as noisy.
fn noisy(ms: f64) -> Outcome {
    Outcome::Ok(measured(ms, 3))
}

fn run(title: &str, peaks: Vec<Outcome>, rows: Vec<Row>) -> CaseRun {
    let names = ["copy", "copy of halves"].into_iter().zip(&peaks);
    let case = Case {
        title: title.to_owned(),
        short: String::new(),
        json: json!({}),
        throughput: Throughput::Frames,
        base: "first",
        peaks: names.map(|(name, _)| PeakKernel { name, note: None, computes: false }).collect(),
    };
    CaseRun { peaks, rows, ..CaseRun::new(case) }
}

/// Returns made-up results with everything that a chart can show.
fn runs() -> [CaseRun; 2] {
    let wall = Sample { device_ms: None, dispatch_ms: None, wall_ms: 40.0 };
    let mut of_several =
        row("threads", "Threads", Outcome::Ok(Measurement::from_samples(&[wall; 9]).unwrap()));
    of_several.entry.name = "threads, 4".to_owned();
    let mut chosen = row("auto", "Auto", quiet(0.125));
    chosen.auto_choice = Some(AutoChoice { config: "third WIDTH=4".to_owned(), from_cache: None });
    let rows = vec![
        row("first", "First", quiet(853.0)),
        row("second", "Second", noisy(104.7)),
        row("third", "Third", quiet(0.13)),
        of_several,
        chosen,
        row("slow", "Slow", Outcome::Skipped("One run would take about 70 s.".to_owned())),
        row("later", "Later", Outcome::Skipped(NOT_TIMED.to_owned())),
        row("foreign", "Foreign", Outcome::Unsupported("It takes 9 arguments.".to_owned())),
        row("broken", "Broken", Outcome::Failed(Error::new("It does not compile.", "a < b && c", ""))),
    ];
    let full = run("1000 things", vec![quiet(0.1), noisy(0.055)], rows);
    // The base variant has no time, so the slowest one takes its place.
    let rows = vec![
        row("first", "First", Outcome::Failed(Error::new("No.", "", ""))),
        row("second", "Second", noisy(2.0)),
    ];
    [full, run("1 thing", vec![quiet(1.0)], rows)]
}

/// Asserts that elements are closed, and returns the x coordinate and the width of each bar.
fn bars(svg: &str) -> Vec<[f64; 2]> {
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!(svg.matches("<svg").count(), 1, "{svg}");
    for tag in ["g", "text", "title", "desc", "style", "defs", "pattern"] {
        let opened = svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}: {svg}");
    }
    let bars = svg.lines().filter(|line| line.starts_with("<rect class=\"bar\""));
    let number = |bar: &str, name: &str| {
        let (_, rest) = bar.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    bars.map(|bar| ["x", "width"].map(|name| number(bar, name))).collect()
}

#[test]
fn a_chart_shows_the_results() {
    let runs = runs();
    let panels = [("Device", &runs[0]), ("A<b>&\"c'\u{1b}\0]]>", &runs[1])];
    let drawn = svg("a ladder", &panels, Some("It was interrupted. Missing: later."));
    let timed = runs.iter().flat_map(CaseRun::timed).count();
    // The note on noise has a bar, too.
    assert_eq!(bars(&drawn).len(), timed + 1);
    golden::check("chart.svg", &drawn);
    assert!(!svg("a ladder", &panels[..1], None).contains("nterrupted."), "of one that was not");
}

#[test]
fn empty_results_and_odd_times_can_be_drawn() {
    let nothing = svg("a ladder", &[], Some("The benchmark was interrupted."));
    assert!(bars(&nothing).is_empty() && nothing.contains("Nothing has been measured."));
    let failed = run("x", vec![], vec![row("first", "First", Outcome::Failed(Error::new("No.", "", "")))]);
    let failed = svg("a ladder", &[("Device", &failed)], None);
    assert!(bars(&failed).is_empty() && failed.contains(">failed<") && !failed.contains("~ noisy"));
    for times in [[0.0, 0.0], [0.0, 1e9], [1e-9, 3e-9], [1.0, 1.0], [9.99, 10.0], [1e-3, 1e3]] {
        let rows = vec![row("first", "First", quiet(times[1])), row("second", "Second", quiet(times[0]))];
        let svg = svg("a ladder", &[("Device", &run("x", vec![], rows))], None);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{times:?}: {svg}");
        let bars = bars(&svg);
        assert!(
            !bars.is_empty() && bars.iter().all(|[x, width]| *width >= 0.0 && x + width <= AXIS_END + 0.1)
        );
    }
}

#[test]
fn lines_break_between_words() {
    assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
    assert_eq!(wrapped("abcdefgh ij", 5), ["abcde", "fgh", "ij"]);
    assert_eq!(wrapped("", 5), [""; 0]);
    assert_eq!([truncated("abcd", 4), truncated("abcde", 4)], ["abcd", "abc…"]);
}
