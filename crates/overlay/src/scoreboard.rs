//! The panel of the ladder (the list of the filter's variants): a button for each variant with its last measured time as a bar.
//! Without room for this panel, `cells.rs` shows the variants in the strip along the bottom.

use egui::{
    Align2, Color32, CornerRadius, Painter, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, pos2, vec2,
};

use super::comparison::compare;
use super::pass::Pass;
use super::{Action, VariantRow, VariantStatus, View, access, facts, panel, theme, words};
use crate::access::Access as _;
use crate::hover::Explain as _;
use box_filter::Group;
use box_filter::VariantId;
use engine::stats::{Score, Scores};

/// The width in points of the ladder's panel.
pub(crate) const WIDTH: f32 = 344.0;
/// Height in points of the panel's title bar, which compares the fastest and the slowest kernel.
pub(crate) const TITLE_HEIGHT: f32 = 42.0;
/// Space in points between two groups of variants.
const GROUP_GAP: f32 = 7.0;
/// The least and the greatest height of a row, in points.
const ROW_HEIGHTS: (f32, f32) = (20.0, 27.0);
/// Distance in points of a variant's name from the left edge of its row.
const NAME_LEFT: f32 = 28.0;
/// Distance in points of the bar from the left edge of the row.
const BAR_LEFT: f32 = 118.0;
/// Width in points that is kept free for the time, right of the bar.
const TIME_WIDTH: f32 = 74.0;
/// The least number of powers of ten that the axis of the bars spans.
const MIN_DECADES: f64 = 3.0;

/// Returns the height in points of the panel for this number of variants, in a space that is `room` points high.
pub(crate) fn height(variants: usize, room: f32) -> f32 {
    let rows = variants as f32;
    let rest = TITLE_HEIGHT + GROUP_GAP * (Group::ALL.len() as f32 - 1.0) + theme::PAD;
    let row = ((room - rest) / rows).clamp(ROW_HEIGHTS.0, ROW_HEIGHTS.1).floor();
    rest + rows * row
}

/// Returns the least height in points of the panel for this number of variants.
pub(crate) fn least_height(variants: usize) -> f32 {
    height(variants, 0.0)
}

/// The logarithmic axis of the variants' bars. Its ends are logarithms to base 10 of times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    /// The logarithm at the left end of the axis.
    low: f64,
    /// The logarithm at the right end of the axis.
    high: f64,
}

impl Scale {
    /// Creates an axis that contains these times, which are in milliseconds.
    fn for_times(times: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0f64);
        for ms in times.filter(|ms| ms.is_finite() && *ms > 0.0) {
            (least, most) = (least.min(ms), most.max(ms));
        }
        if !least.is_finite() {
            return Self { low: -1.0, high: 2.0 };
        }
        // The shortest bar must be visible.
        let low = least.log10() - 0.3;
        Self { low, high: (most.log10() + 0.05).max(low + MIN_DECADES) }
    }

    /// Returns the length of the bar for a time in milliseconds, as a fraction of the axis.
    fn bar_length(self, ms: f64) -> f32 {
        (((ms.max(1e-9).log10() - self.low) / (self.high - self.low)) as f32).clamp(0.02, 1.0)
    }
}

/// The data that the rows of all variants share: the view, the scores (last measured times), and the axis of the bars.
pub(super) struct Board<'a> {
    pub(super) view: &'a View<'a>,
    scores: &'a Scores,
    scale: Scale,
}

impl<'a> Board<'a> {
    /// Creates the data for the rows of all variants, with an axis that contains all measured times.
    pub(super) fn new(pass: &Pass<'a>) -> Self {
        let (view, scores) = (pass.view, &pass.numbers.scores);
        let times = view.variants.iter().filter_map(|row| Some(scores.of(row.id)?.ms));
        Self { view, scores, scale: Scale::for_times(times) }
    }

    /// Returns the length of the bar of a score (a measured time), as a fraction of the axis.
    pub(super) fn bar_length(&self, score: &Score) -> f32 {
        self.scale.bar_length(score.ms)
    }

    /// Returns a variant's time as text, or the reason why there is none.
    fn time_text(&self, row: &VariantRow) -> String {
        match time_of(self, row) {
            Time::Current(score) => format!("{} ms", score_text(score)),
            Time::Old(score) => format!("{} ms {}", score_text(score), old_setting(self.view, score)),
            Time::Unknown(why) => why,
        }
    }
}

/// Draws a bar whose length is this fraction of the width of `room`. `shown` is true for the variant of the picture on the
/// screen.
pub(super) fn draw_bar(painter: &Painter, room: Rect, length: f32, shown: bool) {
    painter.rect_filled(room, 2, theme::TROUGH);
    let color = if shown { theme::FILTER } else { theme::FILTER_DIM };
    painter.rect_filled(room.with_max_x(room.left() + room.width() * length), 2, color);
}

/// The last measured filter time of a variant, or the reason why there is none.
pub(super) enum Time<'a> {
    /// The time was measured at the current radius and size.
    Current(&'a Score),
    /// The time was measured at another radius or size.
    Old(&'a Score),
    /// There is no time, for this reason.
    Unknown(String),
}

/// Returns the last measured filter time of a variant, or the reason why there is none.
pub(super) fn time_of<'a>(board: &Board<'a>, row: &VariantRow) -> Time<'a> {
    let view = board.view;
    let size = view.size();
    match (board.scores.of(row.id), &row.status) {
        (_, VariantStatus::Unavailable(_)) => Time::Unknown("not available".to_owned()),
        // A score may be of a frame that was filtered by the version before.
        _ if view.kernels.differs(row.id, None) => Time::Unknown(facts::NOT_TIMED.to_owned()),
        (Some(score), _) if score.is_at(view.radius, size) => Time::Current(score),
        (Some(score), _) => Time::Old(score),
        (None, _) if row.id == VariantId::OFF => Time::Unknown(String::new()),
        (None, VariantStatus::Building) => Time::Unknown("compiling".to_owned()),
        (None, _) => Time::Unknown(format!("not measured at r = {}", view.radius)),
    }
}

/// Returns the time of a score (a measured time) in milliseconds as text, rounded to its significant digits.
pub(super) fn score_text(score: &Score) -> String {
    theme::with_noise(score.ms, score.noise, theme::short_ms)
}

/// Returns the radius or the size at which an old time was measured, as text.
pub(super) fn old_setting(view: &View, score: &Score) -> String {
    match score.radius == view.radius {
        true => format!("at {} \u{d7} {}", score.size.0, score.size.1),
        false => format!("at r = {}", score.radius),
    }
}

/// Returns the variants, each with the index of its group, sorted by group.
pub(super) fn variants_by_group<'a>(view: &'a View) -> Vec<(usize, &'a VariantRow<'a>)> {
    let group = |id: VariantId| Group::ALL.iter().position(|group| *group == id.group).unwrap_or(0);
    let mut rows: Vec<_> = view.variants.iter().map(|row| (group(row.id), row)).collect();
    rows.sort_by_key(|(group, _)| *group);
    rows
}

/// Lays the panel out in `rect`. Returns true if the user folded or unfolded it.
pub(crate) fn show(ui: &mut Ui, (rect, folded): (Rect, bool), pass: &mut Pass) -> bool {
    let view = pass.view;
    let mut ui = panel::ground(ui, rect, "ladder");
    let head = rect.with_max_y((rect.top() + TITLE_HEIGHT).min(rect.bottom()));
    let inner = head.shrink2(vec2(10.0, 3.0));
    let comparison = compare(&pass.numbers.scores, view.radius, view.size());
    let name = comparison.map_or_else(|| "The ladder".to_owned(), |comparison| comparison.title());
    let at = inner.right_center();
    let factor = match comparison.and_then(|comparison| comparison.factor()) {
        Some(factor) => {
            let text = format!("{factor} faster");
            access::number(&ui, inner, &name, &text);
            ui.painter().text(at, Align2::RIGHT_CENTER, text, theme::words(25.0), theme::FILTER)
        }
        None => {
            let can = |row: &VariantRow| {
                row.id.group == Group::Steps && !matches!(row.status, VariantStatus::Unavailable(_))
            };
            let hint = || view.variants.iter().any(can).then(|| "select a variant: keys 1 to 5".to_owned());
            let text =
                comparison.and_then(|comparison| comparison.progress()).or_else(hint).unwrap_or_default();
            ui.painter().text(at, Align2::RIGHT_CENTER, text, theme::words(12.0), theme::WEAK)
        }
    };
    let mut left = inner.with_max_x(factor.left() - 8.0);
    if let Some(few) = comparison.and_then(|comparison| comparison.few_frames()) {
        let at = (left.left_bottom() + vec2(16.0, 0.0), Align2::LEFT_BOTTOM, left.width() - 16.0);
        theme::elided_text(&ui, at, &few, (theme::words(11.0), theme::WEAK));
        left.max.y -= 14.0;
    }
    panel::explain_bar(&ui, head, ABOUT);
    let title = panel::title_bar(&mut ui, left, &name, folded);
    if folded {
        return title;
    }
    let rows = variants_by_group(view);
    let board = Board::new(pass);
    let gaps = GROUP_GAP * (Group::ALL.len() as f32 - 1.0);
    let height = ((rect.bottom() - theme::PAD - head.bottom() - gaps) / rows.len().max(1) as f32).floor();
    let mut top = head.bottom();
    let mut before = rows.first().map_or(0, |(group, _)| *group);
    for (group, row) in rows {
        if std::mem::replace(&mut before, group) != group {
            top += GROUP_GAP;
        }
        let area = Rect::from_min_size(pos2(rect.left() + 6.0, top), vec2(rect.width() - 12.0, height));
        if show_variant_row(&mut ui, area, &board, row) {
            pass.actions.push(Action::SetVariant(row.id));
        }
        top += height;
    }
    title
}

/// Draws the background of a variant's button. Returns the widget, and true if the variant is selected.
pub(super) fn variant_ground(ui: &Ui, rect: Rect, board: &Board, row: &VariantRow) -> (Response, bool) {
    let can = !matches!(row.status, VariantStatus::Unavailable(_));
    let sense = if can { Sense::click() } else { Sense::hover() };
    let response = ui.interact(rect, ui.unique_id().with(row.id.name), sense);
    let response = response.named(Role::Button, row.id.name).valued(|| board.time_text(row));
    let chosen = row.id == board.view.chosen;
    if chosen {
        let edge = Stroke::new(1.0, theme::SELECT);
        ui.painter().rect(rect, CornerRadius::same(5), theme::SELECTION_BACKGROUND, edge, StrokeKind::Inside);
    } else if response.hovered() && can {
        ui.painter().rect_filled(rect, CornerRadius::same(5), Color32::from_white_alpha(18));
    }
    (response, chosen)
}

/// Draws the key that selects a variant as a key cap, with its left edge at `left`.
pub(super) fn draw_key(ui: &Ui, left: f32, y: f32, row: &VariantRow) {
    let cap = Rect::from_center_size(pos2(left + 8.0, y), vec2(16.0, 15.0));
    ui.painter().rect_filled(cap, CornerRadius::same(3), theme::TROUGH);
    let text = row.id.key.to_string();
    ui.painter().text(cap.center(), Align2::CENTER_CENTER, text, theme::figures(11.0), theme::TEXT);
}

/// Returns the colour of a variant's name, which depends on whether the variant is available and selected.
pub(super) fn name_color(row: &VariantRow, chosen: bool) -> Color32 {
    match row.status {
        VariantStatus::Unavailable(_) => theme::RULE,
        VariantStatus::Building => theme::WEAK,
        VariantStatus::Ready if chosen => theme::STRONG,
        VariantStatus::Ready => theme::TEXT,
    }
}

/// Lays out a variant's row: key, name, bar and time. Returns true if the user clicked it.
fn show_variant_row(ui: &mut Ui, rect: Rect, board: &Board, row: &VariantRow) -> bool {
    let view = board.view;
    let (response, chosen) = variant_ground(ui, rect, board, row);
    let painter = ui.painter();
    let y = rect.center().y;
    draw_key(ui, rect.left() + 5.0, y, row);
    let at = pos2(rect.left() + NAME_LEFT, y);
    painter.text(at, Align2::LEFT_CENTER, row.id.name, theme::words(13.5), name_color(row, chosen));
    let bar = Rect::from_min_max(
        pos2(rect.left() + BAR_LEFT, y - 5.0),
        pos2(rect.right() - TIME_WIDTH - 4.0, y + 5.0),
    );
    let value = pos2(rect.right() - 8.0, y);
    let shown = view.shown.is_some_and(|s| s.variant == row.id);
    match time_of(board, row) {
        Time::Current(score) => {
            draw_bar(painter, bar, board.bar_length(score), shown);
            let color = if shown { theme::FILTER } else { theme::STRONG };
            let text = format!("{} ms", score_text(score));
            painter.text(value, Align2::RIGHT_CENTER, text, theme::figures(12.5), color);
        }
        Time::Old(score) => {
            let line =
                Rect::from_min_max(pos2(bar.left(), bar.bottom() - 1.0), bar.right_bottom() + vec2(0.0, 2.0));
            let length = line.with_max_x(line.left() + line.width() * board.bar_length(score));
            painter.rect_filled(length, 1, theme::IDLE);
            let at = pos2(bar.left(), y - 2.0);
            painter.text(at, Align2::LEFT_CENTER, old_setting(view, score), theme::words(11.0), theme::WEAK);
            let text = format!("{} ms", score_text(score));
            painter.text(value, Align2::RIGHT_CENTER, text, theme::figures(12.5), theme::WEAK);
        }
        Time::Unknown(why) => {
            painter.text(pos2(bar.left(), y), Align2::LEFT_CENTER, why, theme::words(12.0), theme::WEAK);
        }
    }
    response.explain_by(|ui| show_hover_text(ui, board, row)).clicked()
}

/// Lays out the hover text of a variant.
pub(super) fn show_hover_text(ui: &mut Ui, board: &Board, row: &VariantRow) {
    ui.strong(row.title);
    ui.label(row.idea);
    if let Some(auto) = board.view.auto.filter(|_| row.id.is_auto()) {
        ui.label(words::auto_text(auto));
    }
    match time_of(board, row) {
        Time::Current(score) | Time::Old(score) => {
            let (w, h) = score.size;
            let frames = if score.n == 1 { "1 frame".to_owned() } else { format!("{} frames", score.n) };
            let ms = score_text(score);
            ui.weak(format!("{ms} ms: median of {frames}, {w} \u{d7} {h}, r = {}.", score.radius));
            if let Some(noise) = &score.noise {
                ui.weak(words::noise_text(noise));
            }
        }
        Time::Unknown(_) => {}
    }
    match &row.status {
        VariantStatus::Ready => {}
        VariantStatus::Building => {
            ui.colored_label(theme::WARN, "Its kernels are being compiled.");
        }
        VariantStatus::Unavailable(error) => {
            ui.colored_label(theme::WARN, &error.what);
            let reason = error.why.lines().next().unwrap_or_default();
            if !reason.is_empty() {
                ui.label(reason);
            }
        }
    }
}

/// The explanation of the panel in the hover text of its title bar.
const ABOUT: &str = "The last measured filter time of each variant, on a logarithmic scale. Select a variant by a click or its \
                     key.\nTimes measured at another radius or size are grey. The title compares the fastest kernel on this device \
                     with the slowest, at the current radius and size.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_logarithmic_and_can_be_seen() {
        let scale = Scale::for_times([845.0, 105.0, 0.37].into_iter());
        let [naive, separable, fused] = [845.0, 105.0, 0.37].map(|ms| scale.bar_length(ms));
        assert!(naive <= 1.0 && naive > 0.97 && fused > 0.05 && fused < 0.15, "{naive} {fused}");
        // Equal factors are equal lengths.
        let one = scale.bar_length(100.0) - scale.bar_length(10.0);
        assert!(
            (one - (scale.bar_length(10.0) - scale.bar_length(1.0))).abs() < 1e-4
                && separable > scale.bar_length(100.0)
        );
        // Two bars that are nearly equal look equal.
        let close = Scale::for_times([1.0, 1.1].into_iter());
        assert!(close.bar_length(1.1) - close.bar_length(1.0) < 0.05);
        for odd in [0.0, f64::NAN, f64::INFINITY] {
            let part = Scale::for_times([odd].into_iter()).bar_length(odd);
            assert!((0.0..=1.0).contains(&part), "{odd}: {part}");
        }
    }

    #[test]
    fn the_panel_is_as_high_as_its_room_within_limits() {
        for rows in [VariantId::all().count(), VariantId::all().count() + 1] {
            let (least, most) = (least_height(rows), height(rows, 1e6));
            assert_eq!(most - least, rows as f32 * (ROW_HEIGHTS.1 - ROW_HEIGHTS.0));
            for room in [least, (least + most) / 2.0, most] {
                let height = height(rows, room);
                assert!((room - rows as f32..=room).contains(&height), "{room}: {height}");
            }
        }
    }
}
