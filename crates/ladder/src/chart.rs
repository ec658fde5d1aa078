//! Draws benchmark results as an SVG chart. It has a panel for each [`CaseRun`] (the results for one case); the panels are
//! below each other and share one logarithmic time axis.
//!
//! A bar ends at the row's median time. A noisy time is hatched and rounded to its significant digits. A row without a time
//! shows the word of its outcome. Each peak kernel is a line across the rows. Coordinates and sizes are in SVG user units.

use std::borrow::Cow;

use super::measure::Measurement;
use super::rows::{CaseRun, Row};
use super::{NOT_TIMED, Outcome};
use base::numbers::thousands;
use base::timing::believed;

/// The width of the chart.
pub(super) const WIDTH: f64 = 860.0;
/// The margin of the chart on all sides.
pub(super) const MARGIN: f64 = 16.0;
/// The x coordinate of the right edge of the column with the times.
const TIMES_RIGHT: f64 = WIDTH - 100.0;
/// The x coordinate of the right edge of the column with the speed-up factors.
const FACTORS_RIGHT: f64 = WIDTH - MARGIN;
/// The x coordinate of the end of the time axis.
const AXIS_END: f64 = TIMES_RIGHT - 86.0;
/// The largest x coordinate at which the time axis may begin.
const MAX_AXIS_BEGIN: f64 = 300.0;
pub(super) const ROW_HEIGHT: f64 = 30.0;
const BAR_HEIGHT: f64 = 16.0;
/// The height of a line of text.
pub(super) const LINE_HEIGHT: f64 = 18.0;
/// The number of characters that fit into a line of text as wide as the chart.
const MAX_LINE_CHARS: usize = 112;
/// The shortest time that is drawn, in milliseconds. Shorter times are drawn at this value, since 0 has no place on a
/// logarithmic axis.
const MIN_MS: f64 = 1e-6;

/// The style sheet of the SVG.
const STYLE: &str = "\
text{font:13px sans-serif;fill:#1f2328}
.head{font-size:16px;font-weight:bold}
.panel{font-size:14px;font-weight:bold}
.small{font-size:11px;fill:#59636e}
.number{text-anchor:end}
.tick{font-size:11px;fill:#59636e;text-anchor:middle}
.grid{stroke:#d1d9e0}
.fine{stroke:#eaeef2}
.bar{stroke:#1f5fc4}
.peak{stroke:#bc4c00;stroke-width:1.5;stroke-dasharray:5 3}
.peak-name{font-size:11px;fill:#bc4c00;paint-order:stroke;stroke:#ffffff;stroke-width:3px}
.word{font-style:italic;fill:#59636e;text-anchor:end}
.wrong{font-style:italic;fill:#cf222e;text-anchor:end}
.interrupted{fill:#cf222e}
";

/// Returns a chart of benchmark results as SVG text. The title contains `ladder`, the ladder's name. Each panel consists of a
/// device's name and its results for a case. `interrupted` is a sentence about the missing results if the benchmark was stopped
/// early.
pub fn svg(ladder: &str, panels: &[(&str, &CaseRun)], interrupted: Option<&str>) -> String {
    let measured = || panels.iter().flat_map(|(_, run)| run.outcomes()).filter_map(Outcome::measured);
    // Some space is left of the shortest time for its bar.
    let ends = measured().flat_map(|m| [0.8, 1.0].map(|part| part * m.time.p50.max(MIN_MS)));
    let axis = measured().next().map(|_| Axis::new(ends, (labels_end(panels), AXIS_END)));
    let mut body = String::new();
    let mut y = MARGIN + LINE_HEIGHT;
    let title = format!("{ladder}: median of each in ms, on a logarithmic scale");
    y = write_lines(&mut body, "head", &title, y);
    if let Some(sentence) = interrupted {
        y = write_lines(&mut body, "interrupted", sentence, y);
    }
    if panels.is_empty() {
        y = write_lines(&mut body, "nothing", "Nothing has been measured.", y);
    }
    for (device, run) in panels {
        let mut panel = Panel { out: &mut body, run, axis };
        y = panel.write(device, y + 0.5 * LINE_HEIGHT);
    }
    if measured().any(|measured| measured.noise().is_some()) {
        y += LINE_HEIGHT;
        write_bar(&mut body, (MARGIN, y - 11.0), (24.0, 12.0), true);
        write_text(&mut body, "small", MARGIN + 32.0, y, "~ noisy: only the digits that can be believed");
    }
    document((&title, &description(panels, interrupted)), y, &body)
}

/// Returns an SVG document with a title and a description for screen readers. `bottom` is the y coordinate of the lower end of
/// `body`.
pub(super) fn document((title, description): (&str, &str), bottom: f64, body: &str) -> String {
    let height = (bottom + MARGIN).ceil();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<style>\n{STYLE}</style>\n\
         <defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#dbe9ff\"/>\
         <rect width=\"2.5\" height=\"6\" fill=\"#2f6fd6\"/></pattern></defs>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n",
        escaped(title),
        escaped(description),
    )
}

/// A logarithmic axis over whole powers of ten.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// The exponents of ten at both ends.
    pub powers: (i32, i32),
    /// The coordinates of both ends.
    ends: (f64, f64),
}

impl Axis {
    /// Creates an axis that includes all `values`; `ends` are the coordinates of its two ends.
    pub(super) fn new(values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let low = low.log10().floor() as i32;
        Self { powers: (low, (high.log10().ceil() as i32).max(low + 1)), ends }
    }

    /// Returns the coordinate of a value on the axis.
    pub(super) fn at(self, value: f64) -> f64 {
        let (low, high) = (f64::from(self.powers.0), f64::from(self.powers.1));
        self.ends.0 + (value.log10() - low) / (high - low) * (self.ends.1 - self.ends.0)
    }

    /// Returns the x coordinate of a time in milliseconds.
    fn x(self, ms: f64) -> f64 {
        self.at(ms.max(MIN_MS))
    }

    /// Returns the ticks of the axis, at all products of one of `steps` and a power of ten: the step, the value and the label of
    /// each.
    pub(super) fn ticks(self, steps: &[i32]) -> impl Iterator<Item = (i32, f64, String)> {
        let end = 10f64.powi(self.powers.1) * 1.001;
        let ticks = (self.powers.0..=self.powers.1).flat_map(move |power| {
            steps.iter().map(move |&step| {
                let (value, decimals) =
                    (f64::from(step) * 10f64.powi(power), power.min(0).unsigned_abs() as usize);
                let label = if decimals == 0 { thousands(value) } else { format!("{value:.decimals$}") };
                (step, value, label)
            })
        });
        ticks.filter(move |(_, value, _)| *value <= end)
    }
}

/// A panel while it is drawn: the results of one device for one case, and the text written so far.
struct Panel<'a> {
    out: &'a mut String,
    run: &'a CaseRun,
    axis: Option<Axis>,
}

impl Panel<'_> {
    /// Draws the panel below `y`; returns the y coordinate of its lower end.
    fn write(&mut self, device: &str, mut y: f64) -> f64 {
        y += LINE_HEIGHT;
        y = write_lines(self.out, "panel", &format!("{device} · {}", self.run.case.title), y);
        y = write_lines(self.out, "small", &clock_note(self.run), y);
        let peaks: Vec<_> = self.run.timed_peaks().collect();
        let rows = y + 6.0 + 14.0 * peaks.len().max(1) as f64;
        let end = rows + ROW_HEIGHT * self.run.rows.len() as f64;
        let base = self.run.base();
        if let Some((row, _)) = base {
            write_text(self.out, "small number", TIMES_RIGHT, rows - 6.0, "p50");
            write_text(self.out, "small number", FACTORS_RIGHT, rows - 19.0, "speed-up");
            write_text(self.out, "small number", FACTORS_RIGHT, rows - 6.0, &format!("× {}", row.entry.id));
        }
        self.grid(rows, end);
        for (index, row) in self.run.rows.iter().enumerate() {
            self.row(row, base.map(|(_, measured)| measured), rows + ROW_HEIGHT * index as f64);
        }
        let Some(axis) = self.axis else { return end };
        let at = |index: usize| y + 4.0 + 14.0 * index as f64;
        let x = |measured: &Measurement| axis.x(measured.time.p50);
        for (index, (_, measured)) in peaks.iter().enumerate() {
            let x = x(measured);
            write_line(self.out, "peak", [(x, at(index)), (x, end)]);
        }
        for (index, (peak, measured)) in peaks.iter().enumerate() {
            let is_left = x(measured) < 0.5 * (axis.ends.0 + AXIS_END);
            let (x, anchor) = if is_left { (x(measured) + 5.0, "start") } else { (x(measured) - 5.0, "end") };
            let text = escaped(&format!("peak: {} {} ms", peak.name, median_text(measured)));
            let y = at(index) + 9.0;
            *self.out += &format!(
                "<text class=\"peak-name\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"
            );
        }
        end + LINE_HEIGHT + 6.0
    }

    /// Draws the ticks of the axis between two y coordinates.
    fn grid(&mut self, top: f64, bottom: f64) {
        let Some(axis) = self.axis else { return };
        let powers = axis.powers.1 - axis.powers.0;
        for (step, ms, word) in axis.ticks(if powers <= 3 { &[1, 2, 5] } else { &[1] }) {
            let (x, has_word) = (axis.x(ms), step == 1 || powers < 3);
            write_line(self.out, if has_word { "grid" } else { "fine" }, [(x, top), (x, bottom)]);
            if has_word {
                write_text(self.out, "tick", x, bottom + 14.0, &word);
            }
        }
        write_text(self.out, "tick", AXIS_END + 40.0, bottom + 14.0, "ms");
    }

    /// Draws a row of the panel with its upper edge at y = `top`. Its speed-up factor is the time of `base` divided by the
    /// row's time.
    fn row(&mut self, row: &Row, base: Option<&Measurement>, top: f64) {
        let middle = top + 0.5 * ROW_HEIGHT;
        *self.out += &format!("<g class=\"row\"><title>{}</title>\n", escaped(&row_sentence(row, base)));
        let (title, below) = label(row);
        write_text(self.out, "name", MARGIN, middle + if below.is_some() { -0.5 } else { 4.5 }, &title);
        if let Some(below) = below {
            write_text(self.out, "small", MARGIN, middle + 11.0, &truncated(below, 38));
        }
        match (row.outcome.measured(), self.axis) {
            (Some(measured), Some(axis)) => {
                let begin = axis.ends.0;
                let size = ((axis.x(measured.time.p50) - begin).max(0.0), BAR_HEIGHT);
                write_bar(self.out, (begin, middle - 0.5 * BAR_HEIGHT), size, measured.noise().is_some());
                let text = format!("{} ms", median_text(measured));
                write_text(self.out, "number", TIMES_RIGHT, middle + 4.5, &text);
                if let Some(factor) = base.and_then(|base| base.ratio(measured)) {
                    write_text(self.out, "number", FACTORS_RIGHT, middle + 4.5, &factor);
                }
            }
            _ => {
                let is_wrong = matches!(row.outcome, Outcome::Mismatch(_) | Outcome::Failed(_));
                let class = if is_wrong { "wrong" } else { "word" };
                write_text(self.out, class, TIMES_RIGHT, middle + 4.5, outcome_word(&row.outcome));
            }
        }
        *self.out += "</g>\n";
    }
}

/// Returns the x coordinate at which the time axis begins: right of the longest row label.
fn labels_end(panels: &[(&str, &CaseRun)]) -> f64 {
    let rows = panels.iter().flat_map(|(_, run)| &run.rows);
    let widths = rows.map(|row| {
        let (title, below) = label(row);
        let letters = |text: &str| text.chars().count() as f64;
        f64::max(7.6 * letters(&title), 7.0 * below.map_or(0.0, letters))
    });
    (MARGIN + widths.fold(60.0, f64::max) + 14.0).min(MAX_AXIS_BEGIN)
}

/// Returns a row's title and the small text below it. The text is the variant that an automatic variant has chosen, or the
/// row's name if several rows share an id; `None` in all other cases.
fn label(row: &Row) -> (Cow<'static, str>, Option<&str>) {
    let entry = &row.entry;
    let which = (entry.name != entry.id).then_some(entry.name.as_str());
    (truncated(entry.title, 30), row.auto_choice.as_ref().map(|choice| choice.config.as_str()).or(which))
}

/// Shortens text to at most `max_chars` characters; shortened text ends with an ellipsis.
pub(super) fn truncated(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(max_chars - 1).chain(['…']).collect()),
    }
}

/// Returns the median time as text, rounded to its significant digits if it is noisy.
fn median_text(measured: &Measurement) -> String {
    believed(measured.time.p50, &[measured.precision()])
}

/// Returns a note that says which clock measured the times: device time, wall time, or device time with the ids of the rows
/// that have wall time.
fn clock_note(run: &CaseRun) -> String {
    match run.by_wall() {
        ids if ids.is_empty() => "device time".to_owned(),
        _ if run.outcomes().filter_map(Outcome::measured).all(|m| m.device.is_none()) => {
            "wall time".to_owned()
        }
        ids => format!("device time ({}: wall time)", ids.join(", ")),
    }
}

/// Returns the word that the chart shows instead of a time for this outcome.
fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Skipped(why) if why == NOT_TIMED => "not timed",
        outcome => outcome.word(),
    }
}

/// Returns a sentence that describes a row, for its tooltip. `base` is the measurement that speed-up factors relate to.
fn row_sentence(row: &Row, base: Option<&Measurement>) -> String {
    let mut text = row.entry.name.clone();
    if let Some(choice) = &row.auto_choice {
        text = format!("{text} ({})", choice.config);
    }
    let Some(measured) = row.outcome.measured() else {
        let why = row.outcome.reason().filter(|why| why != NOT_TIMED);
        let why = why.map_or_else(String::new, |why| format!(". {why}"));
        return format!("{text}: {}{why}", outcome_word(&row.outcome));
    };
    text = format!("{text}: {} ms", median_text(measured));
    if let Some(factor) = base.and_then(|base| base.ratio(measured)) {
        text = format!("{text}, {factor}");
    }
    match measured.noise() {
        Some(noise) => format!("{text}. Noisy: {noise}"),
        None => text,
    }
}

/// Returns a description of the whole chart for screen readers.
fn description(panels: &[(&str, &CaseRun)], interrupted: Option<&str>) -> String {
    let mut text: Vec<String> = interrupted.map(str::to_owned).into_iter().collect();
    for (device, run) in panels {
        let base = run.base();
        text.push(match base {
            Some((row, _)) => format!("{device}, {}; factors to {}.", run.case.title, row.entry.id),
            None => format!("{device}, {}.", run.case.title),
        });
        let peaks = run.timed_peaks().map(|(peak, m)| format!("peak, {}: {} ms", peak.name, median_text(m)));
        let rows = run.rows.iter().map(|row| row_sentence(row, base.map(|(_, measured)| measured)));
        text.extend(peaks.chain(rows));
    }
    text.join("\n")
}

/// Writes text of any length as lines that are wrapped at the chart's width, the first one at the y coordinate `y`. Returns the
/// y coordinate for the next line.
pub(super) fn write_lines(out: &mut String, class: &str, words: &str, mut y: f64) -> f64 {
    for one in wrapped(words, MAX_LINE_CHARS) {
        write_text(out, class, MARGIN, y, &one);
        y += LINE_HEIGHT;
    }
    y
}

/// Splits text into lines of at most `max_chars` characters. Lines break between words; only a word that is longer than a line
/// is split.
fn wrapped(words: &str, max_chars: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut free = 0;
    for word in words.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for part in letters.chunks(max_chars) {
            match lines.last_mut() {
                Some(line) if part.len() < free => {
                    line.push(' ');
                    line.extend(part);
                    free -= part.len() + 1;
                }
                _ => {
                    lines.push(part.iter().collect());
                    free = max_chars - part.len();
                }
            }
        }
    }
    lines
}

/// Writes text with a style class at a point.
pub(super) fn write_text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    *out += &format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escaped(words));
}

/// Writes a line with a style class.
pub(super) fn write_line(out: &mut String, class: &str, [(x1, y1), (x2, y2)]: [(f64, f64); 2]) {
    *out +=
        &format!("<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n");
}

/// Writes a bar, hatched if its time is noisy.
fn write_bar(out: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), noisy: bool) {
    let fill = if noisy { "url(#hatch)" } else { "#2f6fd6" };
    *out += &format!(
        "<rect class=\"bar\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>\n"
    );
}

/// Escapes text for XML. Characters that XML does not allow become U+FFFD.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod tests;
