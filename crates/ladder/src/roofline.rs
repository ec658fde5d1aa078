//! Draws a roofline as SVG: a dot for each variant, at its operations per byte and per second, below the lines that the device's
//! measured [peaks](DevicePeaks) draw (S. Williams, A. Waterman, D. Patterson, "Roofline", 2009). Bytes are those that the case
//! requires any kernel to move, so that a dot moves to the left if a variant needs fewer operations. Both axes are logarithmic.

use std::fmt::{self, Write};

use super::chart::{escaped, write_line, write_text};
use super::rows::{CaseRun, Row};
use super::why::{DevicePeaks, Rates};
use base::timing::number;

/// Width of the chart.
const WIDTH: f64 = 920.0;
/// Margin of the chart on all sides.
const MARGIN: f64 = 16.0;
/// The left and the right end of the plot.
const PLOT_X: (f64, f64) = (70.0, 560.0);
/// Height of a plot.
const PLOT_HEIGHT: f64 = 300.0;
/// Height of a line of text.
const LINE_HEIGHT: f64 = 18.0;

/// The style sheet of the SVG.
const STYLE: &str = "\
text{font:13px sans-serif;fill:#1f2328}
.head{font-size:16px;font-weight:bold}
.panel{font-size:14px;font-weight:bold}
.small{font-size:11px;fill:#59636e}
.tick{font-size:11px;fill:#59636e;text-anchor:middle}
.tick-y{font-size:11px;fill:#59636e;text-anchor:end}
.grid{stroke:#d1d9e0}
.roof{stroke:#bc4c00;stroke-width:1.5;fill:none}
.roof-name{font-size:11px;fill:#bc4c00}
.roof-name-left{font-size:11px;fill:#bc4c00;text-anchor:end}
.dot{fill:#2f6fd6}
.dot-number{font-size:10px;fill:#ffffff;text-anchor:middle}
";

/// The results of a case on a device.
#[derive(Debug, Clone, Copy)]
pub struct Panel<'a> {
    /// The device's name.
    pub device: &'a str,
    /// The results.
    pub run: &'a CaseRun,
    /// The measured peaks of the device.
    pub peaks: DevicePeaks,
}

/// A variant in the chart.
#[derive(Debug, Clone, Copy)]
struct Dot<'a> {
    row: &'a Row,
    /// Operations per byte.
    intensity: f64,
    rates: Rates,
}

impl Panel<'_> {
    /// Returns the variants whose time and operations are known, the fastest first.
    fn dots(&self) -> Vec<Dot<'_>> {
        let dot = |row| {
            let row: &Row = row;
            let work = row.work.as_ref().filter(|work| work.operations() > 0 && work.least_bytes > 0)?;
            let rates = Rates::new(work, row.outcome.measured()?)?;
            Some(Dot { row, intensity: work.operations() as f64 / work.least_bytes as f64, rates })
        };
        let mut dots: Vec<Dot> = self.run.rows.iter().filter_map(dot).collect();
        dots.sort_by(|a, b| b.rates.gb_s.total_cmp(&a.rates.gb_s));
        dots
    }
}

/// Returns the SVG text of a chart with a roofline for each panel. `ladder` is the ladder's name for the title.
pub fn svg(ladder: &str, panels: &[Panel]) -> String {
    let (mut body, mut svg) = (String::new(), String::new());
    // Writing to a String does not fail.
    let _ = write_body(&mut body, ladder, panels)
        .and_then(|height| write_document(&mut svg, ladder, height, &body));
    svg
}

fn write_document(out: &mut String, ladder: &str, height: f64, body: &str) -> fmt::Result {
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\">\n<title>{}: roofline</title>\n<style>\n{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>",
        escaped(ladder)
    )
}

/// Writes all panels; returns the height of the chart.
fn write_body(out: &mut String, ladder: &str, panels: &[Panel]) -> Result<f64, fmt::Error> {
    let mut y = MARGIN + LINE_HEIGHT;
    write_text(out, "head", MARGIN, y, &format!("{ladder}: operations per second over operations per byte"))?;
    for panel in panels {
        y += 1.5 * LINE_HEIGHT;
        write_text(out, "panel", MARGIN, y, &format!("{} · {}", panel.device, panel.run.case.title))?;
        y += LINE_HEIGHT;
        let dots = panel.dots();
        if dots.is_empty() {
            write_text(out, "small", MARGIN, y, "No variant has a time and a known number of operations.")?;
            continue;
        }
        write_panel(out, &panel.peaks, &dots, y)?;
        y += f64::max(PLOT_HEIGHT + 2.0 * LINE_HEIGHT, LINE_HEIGHT * (dots.len() + 1) as f64);
    }
    Ok((y + MARGIN).ceil())
}

/// A logarithmic axis over whole powers of ten.
#[derive(Debug, Clone, Copy)]
struct Axis {
    /// The exponents of ten at both ends.
    powers: (i32, i32),
    /// The coordinates of both ends.
    ends: (f64, f64),
}

impl Axis {
    /// Returns an axis that has all `values`, between two coordinates.
    fn new(values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let low = low.log10().floor() as i32;
        Self { powers: (low, (high.log10().ceil() as i32).max(low + 1)), ends }
    }

    /// Returns the coordinate of a value.
    fn at(self, value: f64) -> f64 {
        let (low, high) = (f64::from(self.powers.0), f64::from(self.powers.1));
        self.ends.0 + (value.log10() - low) / (high - low) * (self.ends.1 - self.ends.0)
    }

    /// Returns the powers of ten on the axis, with their labels.
    fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        (self.powers.0..=self.powers.1).map(|power| {
            let decimals = power.min(0).unsigned_abs() as usize;
            (10f64.powi(power), format!("{:.decimals$}", 10f64.powi(power)))
        })
    }
}

/// Writes one roofline below `top`, and the list of its dots beside it.
fn write_panel(out: &mut String, peaks: &DevicePeaks, dots: &[Dot], top: f64) -> fmt::Result {
    let bottom = top + PLOT_HEIGHT;
    let x = Axis::new(dots.iter().map(|dot| dot.intensity), PLOT_X);
    let fastest = dots.iter().map(|dot| dot.rates.gflop_s).chain(peaks.gflop_s);
    let y = Axis::new(fastest, (bottom, top));
    for (value, word) in x.ticks() {
        write_line(out, "grid", x.at(value), (top, bottom))?;
        write_text(out, "tick", x.at(value), bottom + 14.0, &word)?;
    }
    for (value, word) in y.ticks() {
        let at = y.at(value);
        writeln!(
            out,
            "<line class=\"grid\" x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>",
            PLOT_X.0, PLOT_X.1
        )?;
        write_text(out, "tick-y", PLOT_X.0 - 6.0, at + 4.0, &word)?;
    }
    write_text(out, "small", PLOT_X.0, bottom + 28.0, "operations per byte; GFLOP/s upwards")?;
    // Reading is at least as fast as copying, so its name stands on the other side of the two lines.
    let roofs = [
        ("copy", peaks.copy_gb_s, ("roof-name", (8.0, 12.0))),
        ("plain read", peaks.read_gb_s, ("roof-name-left", (-8.0, -4.0))),
    ];
    for (name, gb_s, label) in roofs {
        if let Some(gb_s) = gb_s {
            write_roof(out, (x, y), (name, gb_s), label, peaks.gflop_s)?;
        }
    }
    if let Some(gflop_s) = peaks.gflop_s {
        let at = y.at(gflop_s);
        writeln!(
            out,
            "<line class=\"roof\" x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>",
            PLOT_X.0, PLOT_X.1
        )?;
        let words = format!("multiply-adds: {} GFLOP/s", number(gflop_s));
        write_text(out, "roof-name", PLOT_X.0 + 6.0, at - 4.0, &words)?;
    }
    for (index, dot) in dots.iter().enumerate() {
        let name = &dot.row.entry.name;
        let words =
            format!("{name}: {} GFLOP/s, {} op/byte", number(dot.rates.gflop_s), number(dot.intensity));
        let (at_x, at_y) = (x.at(dot.intensity), y.at(dot.rates.gflop_s));
        writeln!(
            out,
            "<g><title>{}</title><circle class=\"dot\" cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"8\"/>",
            escaped(&words)
        )?;
        write_text(out, "dot-number", at_x, at_y + 3.5, &(index + 1).to_string())?;
        writeln!(out, "</g>")?;
        let line = top + LINE_HEIGHT * (index as f64 + 0.7);
        write_text(out, "legend", PLOT_X.1 + 20.0, line, &format!("{}  {words}", index + 1))?;
    }
    Ok(())
}

/// Writes the line of a bandwidth in GB/s, up to the rate of operations `most`, and its name: `label` has the class of the text and the
/// distance from the middle of the line.
fn write_roof(
    out: &mut String,
    (x, y): (Axis, Axis),
    (name, gb_s): (&str, f64),
    (class, shift): (&str, (f64, f64)),
    most: Option<f64>,
) -> fmt::Result {
    let [left, right] = [x.powers.0, x.powers.1].map(|power| 10f64.powi(power));
    let [bottom, top] = [y.powers.0, y.powers.1].map(|power| 10f64.powi(power));
    let (begin, end) = (left.max(bottom / gb_s), right.min(most.unwrap_or(top).min(top) / gb_s));
    if begin >= end {
        return Ok(());
    }
    let [(x1, y1), (x2, y2)] = [begin, end].map(|intensity| (x.at(intensity), y.at(intensity * gb_s)));
    writeln!(out, "<line class=\"roof\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>")?;
    let (x, y) = (0.5 * (x1 + x2), 0.5 * (y1 + y2));
    write_text(out, class, x + shift.0, y + shift.1, &format!("{name}: {} GB/s", number(gb_s)))
}
