//! What a benchmark has measured, as a chart. In: for each device and case a [`CaseRun`]. Out: the text of an SVG with a
//! panel for each, one below the other, all on one logarithmic axis.
//!
//! A bar ends at the row's median. What is noisy is hatched and written with the digits that can be believed, a row without
//! a time has its outcome's word instead, and each limit is a line across the rows.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::measure::Measurement;
use super::rows::{CaseRun, Row};
use super::{NOT_TIMED, Outcome};
use base::timing::believed;

/// The width of the whole, and of what stands at its sides.
const WIDTH: f64 = 860.0;
const MARGIN: f64 = 16.0;
/// Where the columns of times and factors end.
const TIMES: f64 = WIDTH - 100.0;
const FACTORS: f64 = WIDTH - MARGIN;
/// Where the axis ends, and where it begins at most.
const AXIS_END: f64 = TIMES - 86.0;
const AXIS_BEGIN: f64 = 300.0;
/// From one row to the next, the height of a bar, and that of a line of text.
const ROW: f64 = 30.0;
const BAR: f64 = 16.0;
const LINE: f64 = 18.0;
/// How many letters a line across the whole has room for.
const LETTERS: usize = 112;
/// The shortest time that can be drawn, in milliseconds.
const SHORTEST: f64 = 1e-6;

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
.limit{stroke:#bc4c00;stroke-width:1.5;stroke-dasharray:5 3}
.limit-name{font-size:11px;fill:#bc4c00;paint-order:stroke;stroke:#ffffff;stroke-width:3px}
.word{font-style:italic;fill:#59636e;text-anchor:end}
.wrong{font-style:italic;fill:#cf222e;text-anchor:end}
.interrupted{fill:#cf222e}
";

/// The chart of a ladder's benchmark: the text of an SVG file. Each panel has a device's name and a case; `interrupted` says
/// what is missing, where it was.
pub fn svg(ladder: &str, panels: &[(&str, &CaseRun)], interrupted: Option<&str>) -> String {
    let mut svg = String::new();
    // Writing to a String does not fail.
    let _ = write_svg(&mut svg, ladder, panels, interrupted);
    svg
}

fn write_svg(
    out: &mut String,
    ladder: &str,
    panels: &[(&str, &CaseRun)],
    interrupted: Option<&str>,
) -> fmt::Result {
    let axis = Axis::of(panels.iter().flat_map(|(_, run)| run.outcomes()).filter_map(Outcome::measured));
    let begin = labels_end(panels);
    let mut body = String::new();
    let mut y = MARGIN + LINE;
    let title = format!("{ladder}: median of each in ms, on a logarithmic scale");
    y = lines(&mut body, "head", &title, y)?;
    if let Some(sentence) = interrupted {
        y = lines(&mut body, "interrupted", sentence, y)?;
    }
    if panels.is_empty() {
        y = lines(&mut body, "nothing", "Nothing has been measured.", y)?;
    }
    for (device, run) in panels {
        let mut panel = Panel { out: &mut body, run, axis, begin };
        y = panel.write(device, y + 0.5 * LINE)?;
    }
    if panels.iter().any(|(_, run)| run.outcomes().filter_map(Outcome::measured).any(is_noisy)) {
        y += LINE;
        rect(&mut body, (MARGIN, y - 11.0), (24.0, 12.0), true)?;
        text(&mut body, "small", MARGIN + 32.0, y, "~ noisy: only the digits that can be believed")?;
    }
    let height = (y + MARGIN).ceil();
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n<style>\n{STYLE}</style>\n\
         <defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#dbe9ff\"/>\
         <rect width=\"2.5\" height=\"6\" fill=\"#2f6fd6\"/></pattern></defs>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>",
        escaped(&title),
        escaped(&description(panels, interrupted)),
    )?;
    writeln!(out, "{body}</svg>")
}

/// A logarithmic axis over whole powers of ten.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    /// The power at its beginning, and that at its end.
    low: i32,
    high: i32,
}

impl Axis {
    /// One that shows all these times, the shortest as a bar as well; `None` where there are none.
    fn of<'a>(times: impl Iterator<Item = &'a Measurement>) -> Option<Self> {
        let ends = times.map(|measured| measured.time.p50.max(SHORTEST)).fold(None, |ends, ms| match ends {
            None => Some((ms, ms)),
            Some((low, high)) => Some((f64::min(low, ms), f64::max(high, ms))),
        });
        let (shortest, longest) = ends?;
        let low = (0.8 * shortest).log10().floor() as i32;
        Some(Self { low, high: (longest.log10().ceil() as i32).max(low + 1) })
    }

    /// Where a time stands on an axis that begins at `begin`.
    fn x(self, ms: f64, begin: f64) -> f64 {
        let part = (ms.max(SHORTEST).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        begin + part * (AXIS_END - begin)
    }

    /// Its marks, and what stands beside those that have words.
    fn ticks(self) -> impl Iterator<Item = (f64, Option<String>)> {
        let powers = self.high - self.low;
        let (steps, has_words): (&[i32], bool) = match powers {
            ..=3 => (&[1, 2, 5], powers < 3),
            _ => (&[1], false),
        };
        let ticks = (self.low..=self.high).flat_map(move |power| {
            steps.iter().map(move |&step| {
                let (ms, decimals) =
                    (f64::from(step) * 10f64.powi(power), power.min(0).unsigned_abs() as usize);
                (power, ms, (step == 1 || has_words).then(|| format!("{ms:.decimals$}")))
            })
        });
        let end = 10f64.powi(self.high) * 1.001;
        ticks.filter(move |(_, ms, _)| *ms <= end).map(|(_, ms, word)| (ms, word))
    }
}

/// A device and a case.
struct Panel<'a> {
    out: &'a mut String,
    run: &'a CaseRun,
    axis: Option<Axis>,
    /// Where the axis begins.
    begin: f64,
}

impl Panel<'_> {
    /// Writes it from `y` on; returns where it ends.
    fn write(&mut self, device: &str, mut y: f64) -> Result<f64, fmt::Error> {
        y += LINE;
        y = lines(self.out, "panel", &format!("{device} · {}", self.run.case.title), y)?;
        y = lines(self.out, "small", &clock(self.run), y)?;
        let limits: Vec<_> = self.run.timed_limits().collect();
        let rows = y + 6.0 + 14.0 * limits.len().max(1) as f64;
        let end = rows + ROW * self.run.rows.len() as f64;
        let base = self.run.base();
        if let Some((row, _)) = base {
            text(self.out, "small number", TIMES, rows - 6.0, "p50")?;
            text(self.out, "small number", FACTORS, rows - 19.0, "speed-up")?;
            text(self.out, "small number", FACTORS, rows - 6.0, &format!("× {}", row.entry.id))?;
        }
        self.grid(rows, end)?;
        for (index, row) in self.run.rows.iter().enumerate() {
            self.row(row, base.map(|(_, measured)| measured), rows + ROW * index as f64)?;
        }
        let Some(axis) = self.axis else { return Ok(end) };
        let at = |index: usize| y + 4.0 + 14.0 * index as f64;
        let x = |measured: &Measurement| axis.x(measured.time.p50, self.begin);
        for (index, (_, measured)) in limits.iter().enumerate() {
            line(self.out, "limit", x(measured), (at(index), end))?;
        }
        for (index, (limit, measured)) in limits.iter().enumerate() {
            let is_left = x(measured) < 0.5 * (self.begin + AXIS_END);
            let (x, anchor) = if is_left { (x(measured) + 5.0, "start") } else { (x(measured) - 5.0, "end") };
            let told = escaped(&format!("limit: {} {} ms", limit.name, p50(measured)));
            let y = at(index) + 9.0;
            writeln!(
                self.out,
                "<text class=\"limit-name\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{told}</text>"
            )?;
        }
        Ok(end + LINE + 6.0)
    }

    fn grid(&mut self, top: f64, bottom: f64) -> fmt::Result {
        let Some(axis) = self.axis else { return Ok(()) };
        for (ms, word) in axis.ticks() {
            let class = if word.is_some() { "grid" } else { "fine" };
            let x = axis.x(ms, self.begin);
            line(self.out, class, x, (top, bottom))?;
            if let Some(word) = word {
                text(self.out, "tick", x, bottom + 14.0, &word)?;
            }
        }
        text(self.out, "tick", AXIS_END + 40.0, bottom + 14.0, "ms")
    }

    fn row(&mut self, row: &Row, base: Option<&Measurement>, top: f64) -> fmt::Result {
        let middle = top + 0.5 * ROW;
        writeln!(self.out, "<g class=\"row\"><title>{}</title>", escaped(&sentence(row, base)))?;
        let (title, below) = label(row);
        match below {
            None => text(self.out, "name", MARGIN, middle + 4.5, &title)?,
            Some(below) => {
                text(self.out, "name", MARGIN, middle - 0.5, &title)?;
                text(self.out, "small", MARGIN, middle + 11.0, &cut(below, 38))?;
            }
        }
        match (row.outcome.measured(), self.axis) {
            (Some(measured), Some(axis)) => {
                let x = axis.x(measured.time.p50, self.begin);
                let size = ((x - self.begin).max(0.0), BAR);
                rect(self.out, (self.begin, middle - 0.5 * BAR), size, is_noisy(measured))?;
                text(self.out, "number", TIMES, middle + 4.5, &format!("{} ms", p50(measured)))?;
                if let Some(factor) = base.and_then(|base| base.ratio(measured)) {
                    text(self.out, "number", FACTORS, middle + 4.5, &factor)?;
                }
            }
            _ => {
                let is_wrong = matches!(row.outcome, Outcome::Mismatch(_) | Outcome::Failed(_));
                let class = if is_wrong { "wrong" } else { "word" };
                text(self.out, class, TIMES, middle + 4.5, word(&row.outcome))?;
            }
        }
        writeln!(self.out, "</g>")
    }
}

/// Where the axis begins: right of the longest label.
fn labels_end(panels: &[(&str, &CaseRun)]) -> f64 {
    let rows = panels.iter().flat_map(|(_, run)| &run.rows);
    let widths = rows.map(|row| {
        let (title, below) = label(row);
        let letters = |text: &str| text.chars().count() as f64;
        f64::max(7.6 * letters(&title), 7.0 * below.map_or(0.0, letters))
    });
    (MARGIN + widths.fold(60.0, f64::max) + 14.0).min(AXIS_BEGIN)
}

/// A row's name for people, and what is to be said below it: what was chosen, or which of several it is.
fn label(row: &Row) -> (Cow<'static, str>, Option<&str>) {
    let entry = &row.entry;
    let which = (entry.name != entry.id).then_some(entry.name.as_str());
    (cut(entry.title, 30), row.chosen.as_ref().map(|chosen| chosen.what.as_str()).or(which))
}

/// So many letters at most.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(most - 1).chain(['…']).collect()),
    }
}

fn is_noisy(measured: &Measurement) -> bool {
    measured.noise().is_some()
}

fn p50(measured: &Measurement) -> String {
    believed(measured.time.p50, &[measured.noise()])
}

/// Which clock tells the times.
fn clock(run: &CaseRun) -> String {
    match run.by_wall() {
        ids if ids.is_empty() => "device time".to_owned(),
        _ if run.outcomes().filter_map(Outcome::measured).all(|m| m.device.is_none()) => {
            "wall time".to_owned()
        }
        ids => format!("device time ({}: wall time)", ids.join(", ")),
    }
}

/// What stands in a time's place.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Skipped(why) if why == NOT_TIMED => "not timed",
        outcome => outcome.word(),
    }
}

/// A row in words.
fn sentence(row: &Row, base: Option<&Measurement>) -> String {
    let mut told = row.entry.name.clone();
    if let Some(chosen) = &row.chosen {
        told = format!("{told} ({})", chosen.what);
    }
    let Some(measured) = row.outcome.measured() else {
        let why = row.outcome.reason().filter(|why| why != NOT_TIMED);
        let why = why.map_or_else(String::new, |why| format!(". {why}"));
        return format!("{told}: {}{why}", word(&row.outcome));
    };
    told = format!("{told}: {} ms", p50(measured));
    if let Some(factor) = base.and_then(|base| base.ratio(measured)) {
        told = format!("{told}, {factor}");
    }
    match measured.noise() {
        Some(noise) => format!("{told}. Noisy: {noise}"),
        None => told,
    }
}

/// The whole in words, for those who do not see it.
fn description(panels: &[(&str, &CaseRun)], interrupted: Option<&str>) -> String {
    let mut told: Vec<String> = interrupted.map(str::to_owned).into_iter().collect();
    for (device, run) in panels {
        let base = run.base();
        told.push(match base {
            Some((row, _)) => format!("{device}, {}; factors to {}.", run.case.title, row.entry.id),
            None => format!("{device}, {}.", run.case.title),
        });
        let limits = run.timed_limits().map(|(limit, m)| format!("limit, {}: {} ms", limit.name, p50(m)));
        let rows = run.rows.iter().map(|row| sentence(row, base.map(|(_, measured)| measured)));
        told.extend(limits.chain(rows));
    }
    told.join("\n")
}

/// Text that is as long as it likes, broken between words; returns where the next line stands.
fn lines(out: &mut String, class: &str, words: &str, mut y: f64) -> Result<f64, fmt::Error> {
    for one in wrapped(words, LETTERS) {
        text(out, class, MARGIN, y, &one)?;
        y += LINE;
    }
    Ok(y)
}

/// Lines of so many letters at most; a longer word is broken.
fn wrapped(words: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for word in words.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for part in letters.chunks(most) {
            match lines.last_mut() {
                Some(line) if part.len() < room => {
                    line.push(' ');
                    line.extend(part);
                    room -= part.len() + 1;
                }
                _ => {
                    lines.push(part.iter().collect());
                    room = most - part.len();
                }
            }
        }
    }
    lines
}

fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) -> fmt::Result {
    writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(words))
}

fn line(out: &mut String, class: &str, x: f64, (top, bottom): (f64, f64)) -> fmt::Result {
    writeln!(out, "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>")
}

/// A bar, hatched where what it shows is noisy.
fn rect(out: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), noisy: bool) -> fmt::Result {
    let fill = if noisy { "url(#hatch)" } else { "#2f6fd6" };
    writeln!(
        out,
        "<rect class=\"bar\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
    )
}

/// Text as XML has it. What XML has no way to write becomes U+FFFD.
fn escaped(text: &str) -> String {
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
