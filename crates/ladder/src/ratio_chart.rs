//! Draws comparisons of saved results as an SVG chart. It has a row for each comparison, with the confidence interval of the
//! ratio of the times on a logarithmic axis. An interval right of the line at 1 means faster, one left of it slower; one that
//! contains 1 shows no difference.

use super::chart::{
    LINE_HEIGHT, MARGIN, ROW_HEIGHT, WIDTH, document, escaped, truncated, write_line, write_lines, write_text,
};
use super::compare::{Compared, Comparison};
use base::timing::Verdict;

/// The x coordinates of the left and the right end of the axis.
const AXIS: (f64, f64) = (200.0, WIDTH - 280.0);
/// The smallest ratio at which the axis may end. The axis is longer if an interval reaches beyond this ratio.
const MIN_END: f64 = 1.1;
/// The largest ratio at which the axis may end; longer intervals are cut off there.
const MAX_END: f64 = 1e4;
/// The CSS rules that this chart needs in addition to those of [`chart`](super::chart).
const STYLE: &str = "\
.even{stroke:#59636e;stroke-dasharray:5 3}
.interval{stroke-width:3}
.faster{stroke:#1a7f37;fill:#1a7f37}
.slower{stroke:#cf222e;fill:#cf222e}
.same{stroke:#59636e;fill:#59636e}
";
/// The ratios at which the axis may have ticks.
const TICKS: [f64; 12] = [1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 20.0, 100.0, 1000.0, 10_000.0];

/// Returns a chart as SVG text. `before` is a description of the result with which all others are compared. Each panel consists
/// of the description of another result, and the comparisons of its rows.
pub fn svg(before: &str, panels: &[(&str, &[Comparison])]) -> String {
    let title = format!("How many times as fast as in A, with intervals of 99 % confidence. A: {before}");
    let compared = panels.iter().flat_map(|(_, rows)| rows.iter()).filter_map(|row| row.result.as_ref().ok());
    let end = compared.map(|c| c.ratio.high.max(1.0 / c.ratio.low)).fold(MIN_END, f64::max).min(MAX_END);
    let mut body = format!("<style>\n{STYLE}</style>\n");
    let mut description = Vec::new();
    let mut y = write_lines(&mut body, "panel", &title, MARGIN + LINE_HEIGHT);
    for (after, rows) in panels {
        y = write_lines(&mut body, "panel", &format!("B: {after}"), y + LINE_HEIGHT);
        description.push(format!("B: {after}"));
        for rows in rows.chunk_by(|a, b| (&a.device, &a.case) == (&b.device, &b.case)) {
            let titles = [rows[0].device.as_str(), rows[0].case.as_str()];
            let titles = titles.into_iter().filter(|title| !title.is_empty()).collect::<Vec<_>>().join(" · ");
            y = write_lines(&mut body, "small", &titles, y);
            let bottom = y + ROW_HEIGHT * rows.len() as f64;
            write_axis(&mut body, end, (y, bottom));
            for row in rows {
                write_row(&mut body, row, end, y);
                description.push(sentence(row));
                y += ROW_HEIGHT;
            }
            y += 2.0 * LINE_HEIGHT;
        }
    }
    document((&title, &description.join("\n")), y, &body)
}

/// Returns the x coordinate of a ratio; `end` is the ratio at the end of the axis.
fn x_of(ratio: f64, end: f64) -> f64 {
    let part = 0.5 + 0.5 * (ratio.ln() / end.ln()).clamp(-1.0, 1.0);
    AXIS.0 + part * (AXIS.1 - AXIS.0)
}

/// Draws the vertical line at the ratio 1, and up to three ticks of the axis on either side of it.
fn write_axis(out: &mut String, end: f64, (top, bottom): (f64, f64)) {
    let mut mark = |class: &str, ratio: f64, word: &str| {
        let x = x_of(ratio, end);
        write_line(out, class, [(x, top), (x, bottom)]);
        write_text(out, "tick", x, bottom + 14.0, word);
    };
    mark("even", 1.0, "1×");
    for tick in TICKS.into_iter().rev().filter(|tick| *tick <= end).step_by(2).take(3) {
        for (ratio, word) in [(tick, "faster"), (1.0 / tick, "slower")] {
            mark("grid", ratio, &format!("{tick}× {word}"));
        }
    }
}

/// Draws a row with its upper edge at y = `top`: the name, the interval, and the verdict.
fn write_row(out: &mut String, row: &Comparison, end: f64, top: f64) {
    let middle = top + 0.5 * ROW_HEIGHT;
    *out += &format!("<g class=\"row\"><title>{}</title>\n", escaped(&sentence(row)));
    write_text(out, "name", MARGIN, middle + 4.5, &truncated(&row.row, 26));
    match &row.result {
        Ok(Compared { ratio, verdict, .. }) => {
            let class = match verdict {
                Verdict::Faster(_) => "faster",
                Verdict::Slower(_) => "slower",
                Verdict::NoDifferenceShown { .. } => "same",
            };
            let [low, at, high] = [ratio.low, ratio.estimate, ratio.high].map(|ratio| x_of(ratio, end));
            *out += &format!(
                "<line class=\"interval {class}\" x1=\"{low:.1}\" y1=\"{middle:.1}\" x2=\"{high:.1}\" \
                 y2=\"{middle:.1}\"/>\n<circle class=\"{class}\" cx=\"{at:.1}\" cy=\"{middle:.1}\" r=\"4\"/>\n"
            );
            write_text(out, "small", AXIS.1 + 16.0, middle + 4.0, &verdict.to_string());
        }
        Err(why) => write_text(out, "small", AXIS.1 + 16.0, middle + 4.0, why.kind.as_str()),
    }
    *out += "</g>\n";
}

/// Returns a sentence that describes a row, for its tooltip.
fn sentence(row: &Comparison) -> String {
    let result =
        row.result.as_ref().map_or_else(ToString::to_string, |compared| compared.verdict.to_string());
    match row.medians() {
        [Some(before), Some(after)] => format!("{}: {result}; {before} and {after} ms", row.row),
        _ => format!("{}: {result}", row.row),
    }
}
