//! Tests of charts of made-up results.

use serde_json::json;

use super::*;
use crate::rows::{AutoChoice, Case, Entry, PeakKernel, Throughput};
use base::error::Error;
use compute::BackEnd;
use compute::sample::Sample;
use testkit::golden;

/// Returns the statistics of nine runs that took `ms` milliseconds each; if `noisy` is true, of only three runs, which are too
/// few, so that the time counts as noisy.
fn measured(ms: f64, noisy: bool) -> Measurement {
    let sample = Sample { device_ms: Some(ms), dispatch_ms: None, wall_ms: 2.0 * ms };
    Measurement::from_samples(&vec![sample; if noisy { 3 } else { 9 }]).unwrap()
}

fn quiet(ms: f64) -> Outcome {
    Outcome::Ok(measured(ms, false))
}

fn noisy(ms: f64) -> Outcome {
    Outcome::Ok(measured(ms, true))
}

fn row(id: &'static str, title: &'static str, outcome: Outcome) -> Row {
    let entry =
        Entry { id, name: id.to_owned(), title, back_end: BackEnd::OpenCl, peak: Some(0), extra: None };
    Row::new(entry, outcome)
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

const HOSTILE: &str = "A<b>&\"c'\u{1b}\0]]>";

fn drawn() -> String {
    let runs = runs();
    svg("a ladder", &[("Device", &runs[0]), (HOSTILE, &runs[1])], Some("It was interrupted. Missing: later."))
}

/// An XML element: its attributes, and the text before its first child.
#[derive(Debug, Clone, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    /// The index of the XML element that contains this one.
    parent: Option<usize>,
}

impl Element {
    fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn number(&self, name: &str) -> f64 {
        self.get(name).parse().unwrap_or(f64::NAN)
    }
}

/// Replaces XML entities; `Err` if one is unknown.
fn unescaped(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').ok_or(format!("a bare & in {text}"))?;
        let known = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"')];
        let (_, c) = known.iter().find(|(known, _)| *known == name).ok_or(format!("&{name};"))?;
        plain.push(*c);
        plain.push_str(rest);
    }
    if plain.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(format!("control characters in {text:?}"));
    }
    Ok(plain)
}

/// Parses XML without comments and CDATA; `Err` if it is not well-formed.
fn parsed(xml: &str) -> Result<Vec<Element>, String> {
    let mut elements: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut parts = xml.split('<');
    if !parts.next().unwrap_or_default().trim().is_empty() {
        return Err("text before the root".to_owned());
    }
    for part in parts {
        let (tag, text) = part.split_once('>').ok_or(format!("no > in {part}"))?;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop().ok_or(format!("{name} was not open"))?;
            if elements[last].name != name {
                return Err(format!("{} is closed as {name}", elements[last].name));
            }
        } else {
            let is_empty = tag.ends_with('/');
            let tag = tag.strip_suffix('/').unwrap_or(tag);
            let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            let mut element =
                Element { name: name.to_owned(), parent: open.last().copied(), ..Element::default() };
            if element.parent.is_none() && !elements.is_empty() {
                return Err("two roots".to_owned());
            }
            while !rest.trim().is_empty() {
                let (key, value) = rest.split_once("=\"").ok_or(format!("no value in {rest}"))?;
                let (value, after) = value.split_once('"').ok_or(format!("no quote in {rest}"))?;
                let key = key.trim();
                if !key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':')) || key.is_empty()
                {
                    return Err(format!("the attribute {key}"));
                }
                if element.attributes.iter().any(|(known, _)| known == key) {
                    return Err(format!("{key} twice"));
                }
                element.attributes.push((key.to_owned(), unescaped(value)?));
                rest = after;
            }
            elements.push(element);
            if !is_empty {
                open.push(elements.len() - 1);
            }
        }
        let text = unescaped(text)?;
        match open.last() {
            Some(&at) => elements[at].text.push_str(&text),
            None if text.trim().is_empty() => {}
            None => return Err("text behind the root".to_owned()),
        }
    }
    if open.is_empty() { Ok(elements) } else { Err("not all is closed".to_owned()) }
}

/// Compares an SVG chart with the results that it should show, and returns a description of each difference. The time of a bar
/// is computed from the bar's end and the labels of the axis ticks.
fn faults(svg: &str, runs: &[CaseRun]) -> Vec<String> {
    let elements = match parsed(svg) {
        Ok(elements) => elements,
        Err(why) => return vec![format!("not well-formed: {why}")],
    };
    let class = |name: &'static str| elements.iter().filter(move |e| e.get("class") == name);
    let mut faults = Vec::new();
    // The times in milliseconds by x coordinate, from the outer ticks.
    let ticks: Vec<(f64, f64)> =
        class("tick").filter_map(|e| Some((e.number("x"), e.text.parse::<f64>().ok()?))).collect();
    let by_x = |a: &&(f64, f64), b: &&(f64, f64)| f64::total_cmp(&a.0, &b.0);
    let (first, last) = (ticks.iter().min_by(by_x), ticks.iter().max_by(by_x));
    let Some((&(x1, ms1), &(x2, ms2))) = first.zip(last) else { return vec!["no ticks".to_owned()] };
    let ms_at = |x: f64| ms1 * (ms2 / ms1).powf((x - x1) / (x2 - x1));
    let near = |x: f64, ms: f64| (ms_at(x) / ms).ln().abs() < 0.01;
    let groups: Vec<usize> = (0..elements.len()).filter(|&at| elements[at].get("class") == "row").collect();
    let rows = runs.iter().flat_map(|run| run.rows.iter().map(move |row| (run, row)));
    let rows: Vec<_> = rows.collect();
    if groups.len() != rows.len() {
        faults.push(format!("{} rows of {}", groups.len(), rows.len()));
    }
    for (at, (run, row)) in groups.into_iter().zip(rows) {
        let id = &row.entry.name;
        let inner: Vec<&Element> = elements.iter().filter(|e| e.parent == Some(at)).collect();
        let told: Vec<&str> = inner.iter().map(|e| e.text.as_str()).collect();
        let bar = inner.iter().find(|e| e.name == "rect");
        if !told.contains(&row.entry.title) {
            faults.push(format!("{id} has no title"));
        }
        let Some(m) = row.outcome.measured() else {
            let word = if matches!(&row.outcome, Outcome::Skipped(why) if why == NOT_TIMED) {
                "not timed"
            } else {
                row.outcome.word()
            };
            if !told.contains(&word) || bar.is_some() {
                faults.push(format!("{id} has no word, or a bar"));
            }
            continue;
        };
        let noisy = m.noise().is_some();
        if !told.contains(&format!("{} ms", believed(m.time.p50, &[m.precision()])).as_str()) {
            faults.push(format!("{id} has another time: {told:?}"));
        }
        let base = run.base().unwrap().1;
        let factor = believed(base.time.p50 / m.time.p50, &[base.precision(), m.precision()]);
        if !told.contains(&format!("{factor}×").as_str()) {
            faults.push(format!("{id} has another factor: {told:?}"));
        }
        let Some(bar) = bar else {
            faults.push(format!("{id} has no bar"));
            continue;
        };
        if bar.number("x") != x1 || !near(bar.number("x") + bar.number("width"), m.time.p50) {
            faults.push(format!("{id}'s bar ends elsewhere: {bar:?}"));
        }
        if (bar.get("fill") == "url(#hatch)") != noisy {
            faults.push(format!("{id}'s hatch"));
        }
    }
    let peaks: Vec<_> = runs.iter().flat_map(CaseRun::timed_peaks).collect();
    let drawn = class("peak").zip(class("peak-name")).collect::<Vec<_>>();
    if drawn.len() != peaks.len() {
        faults.push(format!("{} peaks of {}", drawn.len(), peaks.len()));
    }
    for ((line, name), (peak, m)) in drawn.into_iter().zip(peaks) {
        let told = format!("peak: {} {} ms", peak.name, believed(m.time.p50, &[m.precision()]));
        if name.text != told || !near(line.number("x1"), m.time.p50) || line.get("x1") != line.get("x2") {
            faults.push(format!("the peak {}: {}", peak.name, name.text));
        }
    }
    faults
}

#[test]
fn a_chart_shows_the_results() {
    let svg = drawn();
    assert_eq!(faults(&svg, &runs()), [""; 0]);
    golden::check("chart.svg", &svg);
}

#[test]
fn planted_faults_are_noticed() {
    let (svg, runs) = (drawn(), runs());
    let widths: Vec<&str> =
        svg.split(" width=\"").filter_map(|part| part.split_once('"')).map(|(w, _)| w).collect();
    let longest = widths.iter().find(|w| w.contains('.') && w.parse::<f64>().unwrap() > 100.0).unwrap();
    let longer = format!("width=\"{:.1}\"", longest.parse::<f64>().unwrap() + 5.0);
    for (from, to) in [
        (">853 ms<", ">854 ms<"),
        (">~100 ms<", ">100 ms<"),
        (">~100 ms<", ">~105 ms<"),
        (">6562×<", ">6561×<"),
        (format!("width=\"{longest}\"").as_str(), longer.as_str()),
        ("height=\"16.0\" fill=\"url(#hatch)\"", "height=\"16.0\" fill=\"#2f6fd6\""),
        ("height=\"16.0\" fill=\"#2f6fd6\"", "height=\"16.0\" fill=\"url(#hatch)\""),
        (">skipped<", ">ok<"),
        (">First<", ">Fifth<"),
        ("peak: copy 0.100 ms", "peak: copy 0.200 ms"),
        ("&lt;b&gt;", "<b>"),
        ("&amp;&quot;c", "&\"c"),
        ("</g>", ""),
        ("class=\"row\"", "class=\"row\" class=\"row\""),
        ("</svg>", "</svg><svg/>"),
        ("class=\"peak\"", "class=\"grid\""),
    ] {
        let planted = svg.replacen(from, to, 1);
        assert_ne!(planted, svg, "{from} is not there");
        assert_ne!(faults(&planted, &runs), [""; 0], "{from} → {to}");
    }
}

#[test]
fn names_are_escaped() {
    let told = parsed(&drawn()).unwrap();
    let panels: Vec<&str> =
        told.iter().filter(|e| e.get("class") == "panel").map(|e| e.text.as_str()).collect();
    assert_eq!(panels, ["Device · 1000 things", "A<b>&\"c'\u{fffd}\u{fffd}]]> · 1 thing"]);
    let of = |name: &str| told.iter().find(|e| e.name == name).unwrap();
    assert!(of("title").text.contains("a ladder"), "for those who do not see it");
    let description = &of("desc").text;
    for part in [
        "It was interrupted.",
        "A<b>",
        "first: 853 ms, 1.00×",
        "second: ~100 ms, ~8.1×. Noisy: Only 3 runs.",
        "One run would take about 70 s.",
    ] {
        assert!(description.contains(part), "{part}: {description}");
    }
    assert_eq!(of("svg").get("aria-labelledby"), "title desc");
    assert!(told.iter().any(|e| e.get("class") == "interrupted" && e.text.contains("Missing: later.")));
    let whole = svg("a ladder", &[("Device", &runs()[0])], None);
    assert!(!whole.contains("nterrupted."), "of one that was not");
}

#[test]
fn empty_results_and_odd_times_can_be_drawn() {
    let nothing = svg("a ladder", &[], Some("The benchmark was interrupted."));
    assert!(parsed(&nothing).is_ok() && nothing.contains("Nothing has been measured."));
    let failed = run("x", vec![], vec![row("first", "First", Outcome::Failed(Error::new("No.", "", "")))]);
    let failed = svg("a ladder", &[("Device", &failed)], None);
    assert!(parsed(&failed).is_ok() && failed.contains(">failed<") && !failed.contains("~ noisy"));
    for times in [[0.0, 0.0], [0.0, 1e9], [1e-9, 3e-9], [1.0, 1.0], [9.99, 10.0], [1e-3, 1e3]] {
        let rows = vec![row("first", "First", quiet(times[1])), row("second", "Second", quiet(times[0]))];
        let svg = svg("a ladder", &[("Device", &run("x", vec![], rows))], None);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{times:?}: {svg}");
        for bar in parsed(&svg).unwrap().iter().filter(|e| e.get("class") == "bar") {
            let (x, width) = (bar.number("x"), bar.number("width"));
            assert!(width >= 0.0 && x + width <= AXIS_END + 0.1, "{times:?}: {bar:?}");
        }
    }
}

#[test]
fn lines_break_between_words() {
    assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
    assert_eq!(wrapped("abcdefgh ij", 5), ["abcde", "fgh", "ij"]);
    assert_eq!(wrapped("", 5), [""; 0]);
    assert_eq!([truncated("abcd", 4), truncated("abcde", 4)], ["abcd", "abc…"]);
}
