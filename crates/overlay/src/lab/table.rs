//! The Lab's table. In: rungs with their times, and the limit. Out: a row for each, with a bar for its median and its factor.

use egui::{Align2, Color32, Rect, Sense, Ui, pos2, vec2};

use super::LabRow;
use crate::theme;
use base::timing::believed;

/// Height of a row; widths of the rungs' names, and of the figures behind the bars.
const ROW: f32 = 16.0;
const NAMES: f32 = 112.0;
const FIGURES: [f32; 3] = [62.0, 56.0, 92.0];
/// The shortest bar, and the thickness of all.
const SHORTEST: f32 = 2.0;
const BAR: f32 = 9.0;

/// What factors are relative to: the first rung, or the slowest where that has no time.
fn base(rows: &[LabRow]) -> Option<&LabRow> {
    let slowest = || {
        let timed = rows.iter().filter(|row| row.ms().is_some());
        timed.max_by(|a, b| f64::total_cmp(&a.ms().unwrap_or(0.0), &b.ms().unwrap_or(0.0)))
    };
    rows.first().filter(|row| row.ms().is_some()).or_else(slowest)
}

/// How far a bar reaches, 0 to 1, on a logarithmic axis from half the least to the largest of `all`.
fn reach(ms: f64, all: &[f64]) -> f32 {
    let least = all.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
    let most = all.iter().copied().fold(0.0, f64::max);
    ((ms / least).ln() / (most / least).ln()).clamp(0.0, 1.0) as f32
}

/// A row for the limit, if there is one, and for each rung.
pub(super) fn show(ui: &mut Ui, limit: Option<&LabRow>, rows: &[LabRow]) {
    let base = base(rows);
    let limit = limit.filter(|limit| limit.ms().is_some() || limit.is_wrong());
    let all: Vec<f64> = rows.iter().chain(limit).filter_map(LabRow::ms).collect();
    let width = ui.available_width();
    let unit = rows.iter().find_map(|row| row.rate).map_or("", |(_, unit)| unit);
    let head = ["ms", "factor", unit].map(str::to_owned);
    figures(ui, width, ("", theme::WEAK), None, head, theme::WEAK);
    for row in limit.into_iter().chain(rows) {
        let is_limit = limit.is_some_and(|limit| std::ptr::eq(limit, row));
        let known = row.ms().map(|ms| {
            let own = [row.noise()];
            let factor = base.filter(|_| !is_limit).and_then(|base| {
                let factor = base.ms()? / ms;
                let is_base = std::ptr::eq(base, row);
                let noise = [base.noise(), row.noise()];
                Some(if is_base { "1".to_owned() } else { believed(factor, &noise) })
            });
            let rate = row.rate.map(|(rate, _)| believed(rate, &own)).unwrap_or_default();
            [believed(ms, &own), factor.unwrap_or_default(), rate]
        });
        let bar = row.ms().map(|ms| (reach(ms, &all), is_limit, row.noisy.is_some()));
        let texts = known.unwrap_or_else(|| {
            let word = match row.outcome.as_str() {
                "" | "ok" => theme::UNKNOWN.to_owned(),
                word => word.to_owned(),
            };
            [theme::UNKNOWN.to_owned(), String::new(), word]
        });
        let name = if is_limit { format!("({})", row.name) } else { row.name.clone() };
        let color = match is_limit {
            _ if row.is_wrong() => theme::ERROR,
            true => theme::WEAK,
            false => theme::TEXT,
        };
        let response = figures(ui, width, (&name, color), bar, texts, theme::STRONG);
        if let Some(text) = about(row) {
            response.on_hover_text(text);
        }
    }
}

/// A row: its name, its bar (how far, whether of a limit, whether noisy), and the figures.
fn figures(
    ui: &mut Ui,
    width: f32,
    (name, color): (&str, Color32),
    bar: Option<(f32, bool, bool)>,
    texts: [String; 3],
    strong: Color32,
) -> egui::Response {
    let (area, response) = ui.allocate_exact_size(vec2(width, ROW), Sense::hover());
    let y = area.center().y;
    let galley = theme::elided(ui, name, theme::words(12.0), color, NAMES - 4.0);
    ui.painter().galley(pos2(area.left(), y - galley.size().y / 2.0), galley, color);
    let mut right = area.right() - FIGURES.iter().sum::<f32>();
    if let Some((reach, is_limit, is_noisy)) = bar {
        let left = area.left() + NAMES;
        let long = ((right - left - 4.0) * reach).max(SHORTEST);
        let rect = Rect::from_min_size(pos2(left, y - BAR / 2.0), vec2(long, BAR));
        let fill = if is_limit { theme::IDLE } else { theme::SELECT };
        match is_noisy {
            // As in the chart: what is noisy is no full bar.
            true => {
                ui.painter().rect_filled(rect, 1, fill.gamma_multiply(0.35));
                let edge = egui::Stroke::new(1.0, fill);
                ui.painter().rect_stroke(rect, 1, edge, egui::StrokeKind::Inside);
            }
            false => drop(ui.painter().rect_filled(rect, 1, fill)),
        }
    }
    for (text, width) in texts.iter().zip(FIGURES) {
        right += width;
        ui.painter().text(pos2(right, y), Align2::RIGHT_CENTER, text, theme::figures(11.5), strong);
    }
    response
}

/// A row in words.
fn about(row: &LabRow) -> Option<String> {
    let Some(time) = row.time else { return row.reason.clone() };
    let clock = if row.by_wall { "wall time" } else { "device time" };
    let figure = |ms: f64| believed(ms, &[row.noise()]);
    let chosen = row.chosen.as_ref().map(|chosen| format!("{chosen}\n")).unwrap_or_default();
    let noisy = row.noisy.as_ref().map(|why| format!("\nNoisy: {why}")).unwrap_or_default();
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
        let reached: Vec<f32> = all.iter().map(|ms| reach(*ms, &all)).collect();
        assert!(
            reached[0] > 0.0 && reached.windows(2).all(|w| w[0] < w[1]) && reached[2] <= 1.0,
            "{reached:?}"
        );
        assert!((0.0..=1.0).contains(&reach(5.0, &[5.0])));
    }

    #[test]
    fn factors_are_to_the_first_or_to_the_slowest_that_has_a_time() {
        let time = |ms: f64| Series::of(&[ms; 9]);
        let row = |name: &str, ms: Option<f64>| LabRow { time: ms.and_then(time), ..LabRow::unknown(name) };
        let name = |rows: &[LabRow]| base(rows).map(|row| row.name.clone());
        assert_eq!(name(&[row("a", Some(2.0)), row("b", Some(5.0))]).as_deref(), Some("a"));
        let rows = [row("a", None), row("b", Some(2.0)), row("c", Some(5.0))];
        assert_eq!(name(&rows).as_deref(), Some("c"));
        assert_eq!(name(&[row("a", None)]), None);
    }
}
