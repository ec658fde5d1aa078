//! The table of the Lab: a row for each variant and for the peak kernel (a kernel that only moves the bytes or does the
//! operations), with a bar for the median of its times.

use egui::{Align2, Color32, Rect, Response, Role, Sense, Ui, pos2, vec2};

use crate::access::Access as _;
use crate::hover::Explain as _;
use crate::theme;
use base::timing::believed;
use ladder::results::RowReport;

/// Height in points of a row of the table.
const ROW_HEIGHT: f32 = 16.0;
/// The font size of names in points, and the space after them.
const NAME_FONT_AND_GAP: (f32, f32) = (12.0, 10.0);
/// Widths in points of the three columns of numbers after the bars.
const FIGURE_WIDTHS: [f32; 3] = [62.0, 56.0, 92.0];
/// The least length of a bar in points.
const MIN_BAR_LENGTH: f32 = 2.0;
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
pub(super) fn allocate_row(ui: &mut Ui, size: egui::Vec2, selected: bool) -> (Rect, Response) {
    let (area, response) = ui.allocate_exact_size(size, Sense::click());
    if selected {
        ui.painter().rect_filled(area.expand2(vec2(3.0, 0.0)), 2, theme::SELECTION_BACKGROUND);
    } else if response.hovered() {
        ui.painter().rect_filled(area.expand2(vec2(3.0, 0.0)), 2, Color32::from_white_alpha(14));
    }
    (area, response)
}

/// Lays out a row for the peak kernel (which bounds the speed of all variants), if there is one, and a row for each variant;
/// the row of `selected` is marked. Returns the name of the variant that the user clicked.
pub(super) fn show(
    ui: &mut Ui,
    peak: Option<&RowReport>,
    rows: &[RowReport],
    selected: &str,
) -> Option<String> {
    let base = base_row(rows);
    let peak = peak.filter(|peak| peak.ms().is_some() || peak.is_wrong());
    let all: Vec<f64> = rows.iter().chain(peak).filter_map(RowReport::ms).collect();
    let in_brackets = peak.map(|peak| format!("({})", peak.id));
    let names = rows.iter().map(|row| row.id.as_str()).chain(in_brackets.as_deref());
    let width = (ui.available_width(), names_width(ui, names));
    let mut clicked = None;
    let unit = rows.iter().find_map(RowReport::rate).map_or("", |(_, unit)| unit);
    let head = ["ms", "factor", unit].map(str::to_owned);
    let (weak, name) = (theme::WEAK, String::new());
    let head = Row { name, color: weak, is_selected: false, bar: None, texts: head, strong: weak };
    show_row(ui, width, &head);
    for row in peak.into_iter().chain(rows) {
        let is_peak = peak.is_some_and(|peak| std::ptr::eq(peak, row));
        let known = row.ms().map(|ms| {
            let own = [row.precision()];
            let factor = base.filter(|_| !is_peak).and_then(|base| {
                let factor = base.ms()? / ms;
                let is_base = std::ptr::eq(base, row);
                let both = [base.precision(), row.precision()];
                Some(if is_base { "1".to_owned() } else { believed(factor, &both) })
            });
            let rate = row.rate().map(|(rate, _)| believed(rate, &own)).unwrap_or_default();
            [believed(ms, &own), factor.unwrap_or_default(), rate]
        });
        let bar = row.ms().map(|ms| (bar_length(ms, &all), is_peak, row.noisy.0.is_some()));
        let texts = known.unwrap_or_else(|| {
            [theme::UNKNOWN.to_owned(), String::new(), row.word().unwrap_or(theme::UNKNOWN).to_owned()]
        });
        let name = if is_peak { format!("({})", row.id) } else { row.id.clone() };
        let color = match is_peak {
            _ if row.is_wrong() => theme::ERROR,
            true => theme::WEAK,
            false => theme::TEXT,
        };
        let is_selected = !is_peak && row.id == selected;
        let shown = Row { name, color, is_selected, bar, texts, strong: theme::STRONG };
        let response = show_row(ui, width, &shown);
        let value =
            || shown.texts.iter().zip(["ms", "factor", unit]).map(|(text, unit)| format!("{text} {unit}"));
        let role = if is_peak { Role::Row } else { Role::Button };
        let response = response.named(role, &shown.name).valued(|| value().collect::<Vec<_>>().join(", "));
        if response.clicked() && !is_peak {
            clicked = Some(row.id.clone());
        }
        if let Some(text) = row_hover_text(row) {
            response.explain(text);
        }
    }
    clicked
}

struct Row {
    name: String,
    color: Color32,
    is_selected: bool,
    /// The bar: its length as a fraction, true for the peak kernel, and true if the time is noisy; `None` without a time.
    bar: Option<(f32, bool, bool)>,
    texts: [String; 3],
    /// The colour of the texts in the row.
    strong: Color32,
}

/// Lays out a row: the name, the bar, and the columns of numbers. `width` and `names` are the widths in points of the row and
/// of its name.
fn show_row(ui: &mut Ui, (width, names): (f32, f32), row: &Row) -> Response {
    let &Row { ref name, color, is_selected, bar, ref texts, strong } = row;
    let (area, response) = allocate_row(ui, vec2(width, ROW_HEIGHT), is_selected);
    let y = area.center().y;
    let font = theme::words(NAME_FONT_AND_GAP.0);
    ui.painter().text(area.left_center(), Align2::LEFT_CENTER, name, font, color);
    let mut right = area.right() - FIGURE_WIDTHS.iter().sum::<f32>();
    if let Some((length, is_peak, is_noisy)) = bar {
        let left = area.left() + names;
        let long = ((right - left - 4.0) * length).max(MIN_BAR_LENGTH);
        let rect = Rect::from_min_size(pos2(left, y - BAR_THICKNESS / 2.0), vec2(long, BAR_THICKNESS));
        let fill = if is_peak { theme::IDLE } else { theme::SELECT };
        match is_noisy {
            // As in charts, a noisy time has a pale bar.
            true => {
                ui.painter().rect_filled(rect, 1, fill.gamma_multiply(0.35));
                let edge = egui::Stroke::new(1.0, fill);
                ui.painter().rect_stroke(rect, 1, edge, egui::StrokeKind::Inside);
            }
            false => drop(ui.painter().rect_filled(rect, 1, fill)),
        }
    }
    for (text, width) in texts.iter().zip(FIGURE_WIDTHS) {
        right += width;
        ui.painter().text(pos2(right, y), Align2::RIGHT_CENTER, text, theme::figures(11.5), strong);
    }
    response
}

/// Returns the hover text of a variant's row in the table.
fn row_hover_text(row: &RowReport) -> Option<String> {
    let Some(time) = row.time() else { return row.reason.clone() };
    let clock = if row.device_ms.is_none() { "wall time" } else { "device time" };
    let figure = |ms: f64| believed(ms, &[row.precision()]);
    let chosen = row.chosen.as_ref().map(|chosen| format!("{chosen}\n")).unwrap_or_default();
    let noisy = row.noisy.0.as_ref().map(|why| format!("\nNoisy: {why}")).unwrap_or_default();
    let (p50, min, p95) = (figure(time.p50), figure(time.min), figure(time.p95));
    Some(format!("{chosen}{clock} in ms, {} runs: p50 {p50}, min {min}, p95 {p95}{noisy}", time.n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::timing::Series;

    #[test]
    fn bars_end_within_their_room_in_the_order_of_their_times() {
        let all = [0.01, 3.0, 700.0];
        let reached: Vec<f32> = all.iter().map(|ms| bar_length(*ms, &all)).collect();
        assert!(
            reached[0] > 0.0 && reached.windows(2).all(|w| w[0] < w[1]) && reached[2] <= 1.0,
            "{reached:?}"
        );
        assert!((0.0..=1.0).contains(&bar_length(5.0, &[5.0])));
    }

    #[test]
    fn factors_are_to_the_first_or_to_the_slowest_that_has_a_time() {
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
