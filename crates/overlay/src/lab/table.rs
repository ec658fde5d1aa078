//! The table of the Lab: a row for each variant and for the peak kernel (a kernel that only moves the bytes or does the
//! operations), with a bar for the median of its times.

use base::timing::believed;
use ladder::results::RowReport;

use super::Lab;
use crate::prelude::*;
use crate::words;

/// The font size of names in points, and the space after them.
const NAME_FONT_AND_GAP: (f32, f32) = (12.0, 10.0);
/// The hover text of the row whose name is in parentheses.
const PEAK: &str = "In parentheses: no variant, but the plainest kernel for this work, such as a copy, whose speed bounds that \
                    of the variants where caches do not help.";
/// Widths in points of the three columns of numbers after the bars.
const FIGURE_WIDTHS: [f32; 3] = [62.0, 56.0, 92.0];
/// The thickness of a bar in points.
const BAR_THICKNESS: f32 = 9.0;

/// Returns the row to which the factors in the table refer: the first variant's, or the slowest variant's if the first has no
/// time. Returns `None` if no variant has a time.
fn base_row(rows: &[RowReport]) -> Option<&RowReport> {
    let slowest = || {
        let timed = rows.iter().filter(|row| row.ms().is_some());
        timed.max_by(|a, b| f64::total_cmp(&a.ms().unwrap_or(0.0), &b.ms().unwrap_or(0.0)))
    };
    rows.first().filter(|row| row.ms().is_some()).or_else(slowest)
}

/// Returns the length of the bar for the time `ms` as a fraction of a logarithmic axis, which begins at half the least and ends
/// at the largest of the times `all`.
fn bar_length(ms: f64, all: &[f64]) -> f32 {
    let least = all.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
    let most = all.iter().copied().fold(0.0, f64::max);
    ((ms / least).ln() / (most / least).ln()).clamp(0.0, 1.0) as f32
}

/// Returns the width in points of the longest of these names, including a gap after it.
pub(super) fn names_width<'a>(ui: &Ui, names: impl Iterator<Item = &'a str>) -> f32 {
    let (size, gap) = NAME_FONT_AND_GAP;
    let width =
        |name: &str| ui.painter().layout_no_wrap(name.to_owned(), theme::words(size), theme::TEXT).size().x;
    names.map(width).fold(0.0, f32::max) + gap
}

/// Allocates a row of this size that the user can select by a click; it is marked if `selected` is true.
pub(super) fn allocate_row(ui: &mut Ui, size: Vec2, selected: bool) -> (Rect, Response) {
    let (area, response) = ui.allocate_exact_size(size, Sense::click());
    let hovered = response.hovered().then_some(Color32::from_white_alpha(14));
    if let Some(fill) = selected.then_some(theme::SELECTION_BACKGROUND).or(hovered) {
        ui.painter().rect_filled(area.expand2(vec2(3.0, 0.0)), 2, fill);
    }
    (area, response)
}

/// Lays out a row for the peak kernel (which bounds the speed of all variants), if there is one, and a row for each variant;
/// the row of `selected` is marked. A click on a row selects the variant.
pub(super) fn show(
    ui: &mut Ui,
    lab: &Lab,
    (peak, rows): (Option<&RowReport>, &[RowReport]),
    selected: &mut String,
) {
    let base = base_row(rows);
    let peak = peak.filter(|peak| peak.ms().is_some() || peak.is_wrong());
    let all: Vec<f64> = rows.iter().chain(peak).filter_map(RowReport::ms).collect();
    let in_brackets = peak.map(|peak| format!("({})", peak.id));
    let named: Vec<String> = rows.iter().map(|row| lab.name(row)).collect();
    let names = names_width(ui, named.iter().map(String::as_str).chain(in_brackets.as_deref()));
    let unit = rows.iter().find_map(RowReport::rate).map_or("", |(_, unit)| unit);
    let columns = ["ms", "factor", unit];
    show_row(ui, names, ("", theme::WEAK, false), None, (&columns.map(str::to_owned), theme::WEAK));
    for row in peak.into_iter().chain(rows) {
        let is_peak = peak.is_some_and(|peak| std::ptr::eq(peak, row));
        let texts = match row.ms() {
            Some(ms) => {
                let own = [row.precision()];
                let factor = base.filter(|_| !is_peak).and_then(|base| match std::ptr::eq(base, row) {
                    true => Some("1".to_owned()),
                    false => Some(believed(base.ms()? / ms, &[base.precision(), row.precision()])),
                });
                let rate = row.rate().map(|(rate, _)| believed(rate, &own));
                [believed(ms, &own), factor.unwrap_or_default(), rate.unwrap_or_default()]
            }
            None => [theme::UNKNOWN, "", row.word().unwrap_or(theme::UNKNOWN)].map(str::to_owned),
        };
        // A single bar would compare nothing.
        let bar = row
            .ms()
            .filter(|_| all.len() > 1)
            .map(|ms| (bar_length(ms, &all), is_peak, row.noise().is_some()));
        let name = if is_peak { format!("({})", row.id) } else { lab.name(row) };
        let color = match is_peak {
            _ if row.is_wrong() => theme::ERROR,
            true => theme::WEAK,
            false => theme::TEXT,
        };
        let is_selected = !is_peak && row.id == *selected;
        let response = show_row(ui, names, (&name, color, is_selected), bar, (&texts, theme::STRONG));
        let values = texts.iter().zip(columns).map(|(text, unit)| format!("{text} {unit}"));
        let role = if is_peak { Role::Row } else { Role::Button };
        let response = response.named(role, &name).valued(|| values.collect::<Vec<_>>().join(", "));
        if response.clicked() && !is_peak {
            selected.clone_from(&row.id);
        }
        let hover = match row.time() {
            Some(time) => {
                let clock = if row.device_ms.is_none() { "wall time" } else { "device time" };
                let [p50, min, p95] =
                    [time.p50, time.min, time.p95].map(|ms| believed(ms, &[row.precision()]));
                let chosen = row.chosen.as_ref().map(|chosen| format!("{chosen}\n")).unwrap_or_default();
                let noisy =
                    row.noise().map(|why| format!("\n{}", words::noise_text(&why))).unwrap_or_default();
                Some(format!(
                    "{chosen}{clock} in ms, {} runs: p50 {p50}, min {min}, p95 {p95}{noisy}",
                    time.n
                ))
            }
            None => row.reason.clone(),
        };
        let hover: Vec<String> = is_peak.then(|| PEAK.to_owned()).into_iter().chain(hover).collect();
        if !hover.is_empty() {
            response.explain(hover.join("\n"));
        }
    }
}

/// Lays out a row: the name, with its colour and true if it is selected, in `names` points; the bar; and the columns of numbers
/// with their colour. `bar` has the bar's length as a fraction, true for the peak kernel, and true if the time is noisy; it is
/// `None` without a time.
fn show_row(
    ui: &mut Ui,
    names: f32,
    (name, color, is_selected): (&str, Color32, bool),
    bar: Option<(f32, bool, bool)>,
    (texts, strong): (&[String; 3], Color32),
) -> Response {
    // Height in points of a row of the table.
    let (area, response) = allocate_row(ui, vec2(ui.available_width(), 16.0), is_selected);
    let y = area.center().y;
    ui.words(area.left_center(), Align2::LEFT_CENTER, name, NAME_FONT_AND_GAP.0, color);
    let mut right = area.right() - FIGURE_WIDTHS.iter().sum::<f32>();
    if let Some((length, is_peak, is_noisy)) = bar {
        let left = area.left() + names;
        // The least length of a bar in points.
        let long = ((right - left - 4.0) * length).max(2.0);
        let rect = Rect::from_min_size(pos2(left, y - BAR_THICKNESS / 2.0), vec2(long, BAR_THICKNESS));
        let fill = if is_peak { theme::IDLE } else { theme::SELECT };
        // As in charts, a noisy time has a pale bar.
        ui.painter().rect_filled(rect, 1, if is_noisy { fill.gamma_multiply(0.35) } else { fill });
        if is_noisy {
            ui.painter().rect_stroke(rect, 1, Stroke::new(1.0, fill), StrokeKind::Inside);
        }
    }
    for (text, width) in texts.iter().zip(FIGURE_WIDTHS) {
        right += width;
        ui.figures(pos2(right, y), Align2::RIGHT_CENTER, text, 11.5, strong);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::timing::Series;

    #[test]
    fn bars_and_factors_compare_the_rows() {
        let all = [0.01, 3.0, 700.0];
        let reached: Vec<f32> = all.iter().map(|ms| bar_length(*ms, &all)).collect();
        assert!(reached[0] > 0.0 && reached.is_sorted_by(|a, b| a < b) && reached[2] <= 1.0, "{reached:?}");
        assert!((0.0..=1.0).contains(&bar_length(5.0, &[5.0])));

        let time = |ms: f64| Series::of(&[ms; 9]);
        let row = |name: &str, ms: Option<f64>| RowReport {
            device_ms: ms.and_then(time),
            ..RowReport::unknown(name)
        };
        let name = |rows: &[RowReport]| base_row(rows).map(|row| row.id.clone());
        assert_eq!(name(&[row("a", Some(2.0)), row("b", Some(5.0))]).as_deref(), Some("a"));
        let rows = [row("a", None), row("b", Some(2.0)), row("c", Some(5.0))];
        assert_eq!(name(&rows).as_deref(), Some("c"));
        assert_eq!(name(&[row("a", None)]), None);
    }
}
