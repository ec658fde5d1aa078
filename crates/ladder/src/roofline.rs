//! Draws roofline charts: a dot for each variant, at its operations per byte (x) and operations per second (y), below the lines
//! of the device's measured [peaks](DevicePeaks) (S. Williams, A. Waterman, D. Patterson, "Roofline", 2009). The bytes are
//! those that any implementation must move at the case, so that a dot is farther to the left if its variant needs fewer
//! operations. Both axes are logarithmic.
//!
//! [`Roofline::marks`] returns the lines, dots and texts; [`svg`] writes them as SVG, and the window paints them.

use super::chart::{Axis, LINE_HEIGHT, MARGIN, escaped, write_line, write_text};
use super::rows::{CaseRun, Row};
use super::why::{DevicePeaks, Rates};
use base::timing::number;
use compute::work::WorkTotals;

/// The width of the chart.
const WIDTH: f64 = 920.0;
/// The x coordinates of the left and the right end of the plot.
const PLOT_X: (f64, f64) = (70.0, 560.0);
/// The height of a plot.
const PLOT_HEIGHT: f64 = 300.0;

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

/// A variant in a roofline: its operations per byte and per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Dot {
    name: String,
    /// The number of operations that the variant does for each byte that has to be moved.
    intensity: f64,
    rates: Rates,
}

impl Dot {
    /// Creates the dot of a variant whose run takes `ms` milliseconds; `None` if the variant does no known operations, or the
    /// time is too short.
    pub fn new(name: &str, work: WorkTotals, ms: f64) -> Option<Self> {
        let is_known = work.operations > 0 && work.least_bytes > 0;
        let rates = Rates::new(work, ms).filter(|_| is_known)?;
        let intensity = work.operations as f64 / work.least_bytes as f64;
        Some(Self { name: name.to_owned(), intensity, rates })
    }

    /// Creates the dot of a row; `None` if the row's time or its operations are not known.
    fn of(row: &Row) -> Option<Self> {
        Self::new(&row.entry.name, row.work.as_ref()?.totals(), row.outcome.measured()?.time.p50)
    }

    /// Returns a text that describes the dot: the variant's name and its rates.
    pub fn words(&self) -> String {
        let Self { name, intensity, rates } = self;
        format!("{name}: {} GFLOP/s, {} op/byte", number(rates.gflop_s), number(*intensity))
    }
}

/// A roofline: the measured peaks of a device, and a dot for each variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    peaks: DevicePeaks,
    /// The dots of the variants.
    pub dots: Vec<Dot>,
}

/// The alignment of a text: the part of it that is at the given position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins at the position.
    Start,
    /// The middle of the text is at the position.
    Middle,
    /// The text ends at the position.
    End,
}

/// An element of the drawing of a roofline. Positions are x and y in the plot's coordinates; the position of a text is on its
/// baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line of the grid, between two points.
    Grid([(f64, f64); 2]),
    /// The line of one of the device's peaks, between two points.
    Roof([(f64, f64); 2]),
    /// A number on an axis, or the title of an axis.
    Tick((f64, f64), Anchor, String),
    /// The name of a peak, written at its line.
    RoofName((f64, f64), Anchor, String),
    /// The dot of a variant, with its index in the list of dots.
    Dot((f64, f64), usize),
}

/// The factor by which a dot is above a roof before that is said, since both are measured.
const CLEARLY: f64 = 1.05;

impl Roofline {
    /// Returns a sentence about the dots that are above the roofs, with the reason; `None` if there are none. `name` returns the
    /// name of the dot with an index.
    pub fn above(&self, name: impl Fn(usize) -> String) -> Option<String> {
        let bandwidth = [self.peaks.copy_gb_s, self.peaks.read_gb_s].into_iter().flatten().reduce(f64::max);
        let is_above = |rate: f64, peak: Option<f64>| peak.is_some_and(|peak| rate > CLEARLY * peak);
        let names = |is: &dyn Fn(&Dot) -> bool| {
            let of = self.dots.iter().enumerate().filter(|(_, dot)| is(dot));
            of.map(|(index, _)| name(index)).collect::<Vec<_>>().join(", ")
        };
        let cached = names(&|dot| is_above(dot.rates.gb_s, bandwidth));
        let quick = names(&|dot| is_above(dot.rates.gflop_s, self.peaks.gflop_s));
        let cached = (!cached.is_empty()).then(|| {
            format!(
                "Above the roof of memory: {cached}. The data fit into a cache; the peaks are those of main memory, measured \
                 with 128 MiB."
            )
        });
        let quick = (!quick.is_empty()).then(|| {
            format!("Above the roof of multiply-adds: {quick}. The peak is that of floats, and integers may be faster.")
        });
        let sentences: Vec<String> = cached.into_iter().chain(quick).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// Creates a roofline from the peaks of a device and the dots of variants.
    pub fn new(peaks: DevicePeaks, dots: Vec<Dot>) -> Self {
        Self { peaks, dots }
    }

    /// Returns the lines, dots and texts of a plot between these left and right x coordinates, and these bottom and top y
    /// coordinates. The numbers of the axes are left of the plot and below it. Returns none if there are no dots.
    pub fn marks(&self, left_right: (f64, f64), bottom_top: (f64, f64)) -> Vec<Mark> {
        let Self { peaks, dots } = self;
        if dots.is_empty() {
            return Vec::new();
        }
        let x = Axis::new(dots.iter().map(|dot| dot.intensity), left_right);
        let fastest = dots.iter().map(|dot| dot.rates.gflop_s).chain(peaks.gflop_s);
        let y = Axis::new(fastest, bottom_top);
        let ((left, right), (bottom, top)) = (left_right, bottom_top);
        let mut marks = Vec::new();
        for (_, value, word) in x.ticks(&[1]) {
            let at = x.at(value);
            marks.push(Mark::Grid([(at, top), (at, bottom)]));
            marks.push(Mark::Tick((at, bottom + 14.0), Anchor::Middle, word));
        }
        for (_, value, word) in y.ticks(&[1]) {
            let at = y.at(value);
            marks.push(Mark::Grid([(left, at), (right, at)]));
            marks.push(Mark::Tick((left - 6.0, at + 4.0), Anchor::End, word));
        }
        let axes = "operations per byte; GFLOP/s upwards".to_owned();
        marks.push(Mark::Tick((left, bottom + 28.0), Anchor::Start, axes));
        // Reading is at least as fast as copying, so its name is on the other side of the two lines.
        let roofs = [
            ("copy", peaks.copy_gb_s, Anchor::Start, (8.0, 12.0)),
            ("plain read", peaks.read_gb_s, Anchor::End, (-8.0, -4.0)),
        ];
        for (name, gb_s, anchor, shift) in roofs {
            let Some((line, gb_s)) = gb_s.and_then(|gb_s| Some((slope((x, y), gb_s, peaks.gflop_s)?, gb_s)))
            else {
                continue;
            };
            let [(x1, y1), (x2, y2)] = line;
            let at = (0.5 * (x1 + x2) + shift.0, 0.5 * (y1 + y2) + shift.1);
            marks.push(Mark::Roof(line));
            marks.push(Mark::RoofName(at, anchor, format!("{name}: {} GB/s", number(gb_s))));
        }
        if let Some(gflop_s) = peaks.gflop_s {
            let at = y.at(gflop_s);
            marks.push(Mark::Roof([(left, at), (right, at)]));
            let words = format!("multiply-adds: {} GFLOP/s", number(gflop_s));
            marks.push(Mark::RoofName((left + 6.0, at - 4.0), Anchor::Start, words));
        }
        let place = |dot: &Dot| (x.at(dot.intensity), y.at(dot.rates.gflop_s));
        marks.extend(dots.iter().enumerate().map(|(index, dot)| Mark::Dot(place(dot), index)));
        marks
    }
}

/// Returns the sloped line of a peak bandwidth in GB/s, which ends where it reaches `most` operations per second; `None` if the
/// line is outside the plot.
fn slope((x, y): (Axis, Axis), gb_s: f64, most: Option<f64>) -> Option<[(f64, f64); 2]> {
    let [left, right] = [x.powers.0, x.powers.1].map(|power| 10f64.powi(power));
    let [bottom, top] = [y.powers.0, y.powers.1].map(|power| 10f64.powi(power));
    let (begin, end) = (left.max(bottom / gb_s), right.min(most.unwrap_or(top).min(top) / gb_s));
    (begin < end).then(|| [begin, end].map(|intensity| (x.at(intensity), y.at(intensity * gb_s))))
}

/// Returns a chart with a roofline for each panel, as SVG text. `ladder` is the ladder's name for the title. Each panel consists
/// of a device's name, its results for a case, and its measured peaks.
pub fn svg(ladder: &str, panels: &[(&str, &CaseRun, DevicePeaks)]) -> String {
    let mut body = String::new();
    let mut y = MARGIN + LINE_HEIGHT;
    let head = format!("{ladder}: operations per second over operations per byte");
    write_text(&mut body, "head", MARGIN, y, &head);
    for &(device, run, peaks) in panels {
        y += 1.5 * LINE_HEIGHT;
        write_text(&mut body, "panel", MARGIN, y, &format!("{device} · {}", run.case.title));
        y += LINE_HEIGHT;
        let mut roofline = Roofline::new(peaks, run.rows.iter().filter_map(Dot::of).collect());
        // The fastest variant is number 1.
        roofline.dots.sort_by(|a, b| b.rates.gb_s.total_cmp(&a.rates.gb_s));
        if roofline.dots.is_empty() {
            let none = "No variant has a time and a known number of operations.";
            write_text(&mut body, "small", MARGIN, y, none);
            continue;
        }
        write_panel(&mut body, &roofline, y);
        y += f64::max(PLOT_HEIGHT + 2.0 * LINE_HEIGHT, LINE_HEIGHT * (roofline.dots.len() + 1) as f64);
    }
    let height = (y + MARGIN).ceil();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\">\n<title>{}: roofline</title>\n<style>\n{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n",
        escaped(ladder)
    )
}

/// Writes one roofline below `top`, and the list of its dots next to it.
fn write_panel(out: &mut String, roofline: &Roofline, top: f64) {
    for mark in roofline.marks(PLOT_X, (top + PLOT_HEIGHT, top)) {
        match mark {
            Mark::Grid(line) => write_line(out, "grid", line),
            Mark::Roof(line) => write_line(out, "roof", line),
            Mark::Tick((x, y), anchor, words) => {
                write_text(out, ["small", "tick", "tick-y"][anchor as usize], x, y, &words);
            }
            Mark::RoofName((x, y), anchor, words) => {
                let class = if anchor == Anchor::End { "roof-name-left" } else { "roof-name" };
                write_text(out, class, x, y, &words);
            }
            Mark::Dot((x, y), index) => {
                let words = roofline.dots[index].words();
                *out += &format!(
                    "<g><title>{}</title><circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\"/>\n",
                    escaped(&words)
                );
                write_text(out, "dot-number", x, y + 3.5, &(index + 1).to_string());
                *out += "</g>\n";
                let line = top + LINE_HEIGHT * (index as f64 + 0.7);
                write_text(out, "legend", PLOT_X.1 + 20.0, line, &format!("{}  {words}", index + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_stands_on_the_line_of_its_rates() {
        // 8 MB in 1 ms are 8 GB/s, at two operations per byte 16 GFLOP/s.
        let dot =
            |name, ms| Dot::new(name, WorkTotals { least_bytes: 8_000_000, operations: 16_000_000 }, ms);
        let peaks = DevicePeaks { copy_gb_s: Some(8.0), read_gb_s: None, gflop_s: Some(100.0) };
        let roofline =
            Roofline::new(peaks, [dot("fast", 1.0), dot("slow", 10.0)].into_iter().flatten().collect());
        assert_eq!(roofline.dots[0].words(), "fast: 16.0 GFLOP/s, 2.00 op/byte");
        let marks = roofline.marks((0.0, 100.0), (200.0, 0.0));
        let dots: Vec<(f64, f64)> = marks
            .iter()
            .filter_map(|mark| if let Mark::Dot(at, _) = mark { Some(*at) } else { None })
            .collect();
        let roofs: Vec<[(f64, f64); 2]> = marks
            .iter()
            .filter_map(|mark| if let Mark::Roof(line) = mark { Some(*line) } else { None })
            .collect();
        let ([fast, slow], [[(x1, y1), (x2, y2)], peak]) = (dots.as_slice(), roofs.as_slice()) else {
            panic!("{marks:?}")
        };
        let on_line = y1 + (fast.0 - x1) / (x2 - x1) * (y2 - y1);
        assert!((fast.1 - on_line).abs() < 1e-6, "{fast:?} is on the copy's line, at {on_line}");
        assert!(fast.0 == slow.0 && slow.1 > fast.1 && peak[0].1 < fast.1, "{marks:?}");
        assert_eq!(roofline.above(|index| index.to_string()), None, "on the line is not above it");
        let slower = DevicePeaks { copy_gb_s: Some(7.0), ..peaks };
        let above = Roofline::new(slower, roofline.dots.clone()).above(|index| index.to_string()).unwrap();
        assert!(above.starts_with("Above the roof of memory: 0. ") && above.contains("cache"), "{above}");
        let nothing = WorkTotals { least_bytes: 8, operations: 0 };
        assert_eq!(Dot::new("none", nothing, 1.0), None);
        assert_eq!(Roofline::new(peaks, Vec::new()).marks((0.0, 1.0), (1.0, 0.0)), []);
    }
}
