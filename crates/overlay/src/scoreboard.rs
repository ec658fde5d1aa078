//! The rungs: buttons and scoreboard in one. In: each variant's status and its last measured time. Out: the variant that was
//! chosen. They stand in a panel of their own with a bar each; where there is no room for it, `cells.rs` has them.

use egui::{Align2, Color32, CornerRadius, Rect, Response, Sense, Stroke, StrokeKind, Ui, pos2, vec2};

use super::place::{self, Panel, Title};
use super::story::story;
use super::{Action, VariantRow, VariantStatus, View, panel, theme, words};
use box_filter::Group;
use box_filter::VariantId;
use engine::stats::{Score, Scores};

/// The panel's width in points.
pub(crate) const WIDTH: f32 = 344.0;
/// Height of the panel's title, which tells the story.
pub(crate) const TITLE: f32 = 42.0;
const GROUP_GAP: f32 = 7.0;
/// Height of a rung in the panel, at least and at most.
const ROW: (f32, f32) = (20.0, 27.0);
/// Where a row's name, its bar and its time are.
const NAME: f32 = 28.0;
const BAR: f32 = 118.0;
const TIME: f32 = 74.0;
/// Decades that the bars span at least.
const LEAST_DECADES: f64 = 3.0;

/// Height of the panel with so many rungs in a room of this height: as high as its rows may be.
pub(crate) fn height(rungs: usize, room: f32) -> f32 {
    let rows = rungs as f32;
    let rest = TITLE + GROUP_GAP * (Group::ALL.len() as f32 - 1.0) + theme::PAD;
    let row = ((room - rest) / rows).clamp(ROW.0, ROW.1).floor();
    rest + rows * row
}

/// The least height of the panel with so many rungs.
pub(crate) fn least_height(rungs: usize) -> f32 {
    height(rungs, 0.0)
}

/// What a time is measured against: the ends of the bars, as logarithms to base 10.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(times: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0f64);
        for ms in times.filter(|ms| ms.is_finite() && *ms > 0.0) {
            (least, most) = (least.min(ms), most.max(ms));
        }
        if !least.is_finite() {
            return Self { low: -1.0, high: 2.0 };
        }
        // The shortest bar can be seen too.
        let low = least.log10() - 0.3;
        Self { low, high: (most.log10() + 0.05).max(low + LEAST_DECADES) }
    }

    /// Part of the whole length, 0 to 1.
    fn part(self, ms: f64) -> f32 {
        (((ms.max(1e-9).log10() - self.low) / (self.high - self.low)) as f32).clamp(0.02, 1.0)
    }
}

/// What all rungs are drawn by.
pub(super) struct Board<'a> {
    pub(super) view: &'a View<'a>,
    scores: &'a Scores,
    scale: Scale,
}

impl<'a> Board<'a> {
    pub(super) fn new(view: &'a View<'a>, scores: &'a Scores) -> Self {
        let times = view.variants.iter().filter_map(|row| Some(scores.of(row.id)?.ms));
        Self { view, scores, scale: Scale::of(times) }
    }

    /// A time's part of the whole length of a bar, 0 to 1.
    pub(super) fn part(&self, score: &Score) -> f32 {
        self.scale.part(score.ms)
    }
}

/// What is known about a rung's time.
pub(super) enum Time<'a> {
    /// Measured at this radius and size.
    Now(&'a Score),
    /// Measured at another one.
    Old(&'a Score),
    /// Not measured, and why or where.
    Unknown(String),
}

pub(super) fn time<'a>(board: &Board<'a>, row: &VariantRow) -> Time<'a> {
    let view = board.view;
    let size = view.size();
    match (board.scores.of(row.id), &row.status) {
        (_, VariantStatus::Unavailable(_)) => Time::Unknown("cannot run here".to_owned()),
        (Some(score), _) if score.is_at(view.radius, size) => Time::Now(score),
        (Some(score), _) => Time::Old(score),
        (None, _) if view.kernels.differs(row.id) => Time::Unknown("differs: no time".to_owned()),
        (None, _) if row.id == VariantId::Off => Time::Unknown(String::new()),
        (None, VariantStatus::Building) => Time::Unknown("being compiled".to_owned()),
        (None, _) => Time::Unknown(format!("not yet at r = {}", view.radius)),
    }
}

/// A time in milliseconds, as far as it can be believed.
pub(super) fn told(score: &Score) -> String {
    theme::believed(score.ms, score.noise, theme::short_ms)
}

/// Where an old time was measured.
pub(super) fn of_earlier(view: &View, score: &Score) -> String {
    match score.radius == view.radius {
        true => format!("at {} \u{d7} {}", score.size.0, score.size.1),
        false => format!("at r = {}", score.radius),
    }
}

/// The rows of the view by the number of their group, in the order of groups and rungs.
pub(super) fn grouped<'a>(view: &'a View) -> Vec<(usize, &'a VariantRow<'a>)> {
    let group = |id: VariantId| Group::ALL.iter().position(|of| *of == id.rung().group).unwrap_or(0);
    let mut rows: Vec<_> = view.variants.iter().map(|row| (group(row.id), row)).collect();
    rows.sort_by_key(|(group, row)| (*group, row.id));
    rows
}

/// Lays the panel out in `rect`. Returns what was done with its title.
pub(crate) fn show(
    ui: &mut Ui,
    rect: Rect,
    (view, scores): (&View, &Scores),
    folded: bool,
    actions: &mut Vec<Action>,
) -> Title {
    panel::cover(ui, rect, "ladder");
    theme::ground(ui.painter(), rect, theme::PANEL);
    let mut ui = ui.new_child(egui::UiBuilder::new().id_salt("ladder").max_rect(rect));
    let head = rect.with_max_y((rect.top() + TITLE).min(rect.bottom()));
    let (response, mut title) = place::handle(&ui, Panel::Ladder, head, rect.min);
    response.on_hover_text(format!("{ABOUT}\n{}", place::HOVER));
    let inner = head.shrink2(vec2(10.0, 3.0));
    let story = story(scores, view.radius, view.size());
    let name = story.map_or_else(|| "The ladder".to_owned(), |story| story.title());
    title.fold = panel::header(&mut ui, inner, &name, folded);
    let at = inner.right_center();
    match story.and_then(|story| story.times()) {
        Some(times) => {
            ui.painter().text(at, Align2::RIGHT_CENTER, times, theme::words(25.0), theme::FILTER);
        }
        None => {
            let can = |row: &VariantRow| {
                row.id.rung().group == Group::Steps && !matches!(row.status, VariantStatus::Unavailable(_))
            };
            let hint = || view.variants.iter().any(can).then(|| "try its rungs: keys 1 to 5".to_owned());
            let text = story.and_then(|story| story.waits()).or_else(hint).unwrap_or_default();
            ui.painter().text(at, Align2::RIGHT_CENTER, text, theme::words(12.0), theme::WEAK);
        }
    }
    if folded {
        return title;
    }
    let rows = grouped(view);
    let board = Board::new(view, scores);
    let gaps = GROUP_GAP * (Group::ALL.len() as f32 - 1.0);
    let height = ((rect.bottom() - theme::PAD - head.bottom() - gaps) / rows.len().max(1) as f32).floor();
    let mut top = head.bottom();
    let mut before = rows.first().map_or(0, |(group, _)| *group);
    for (group, row) in rows {
        if std::mem::replace(&mut before, group) != group {
            top += GROUP_GAP;
        }
        let area = Rect::from_min_size(pos2(rect.left() + 6.0, top), vec2(rect.width() - 12.0, height));
        rung(&mut ui, area, &board, row, actions);
        top += height;
    }
    title
}

/// Marks a rung that is chosen or under the pointer, and takes clicks.
pub(super) fn ground(
    ui: &Ui,
    rect: Rect,
    view: &View,
    row: &VariantRow,
    actions: &mut Vec<Action>,
) -> (Response, bool) {
    let can = !matches!(row.status, VariantStatus::Unavailable(_));
    let sense = if can { Sense::click() } else { Sense::hover() };
    let response = ui.interact(rect, ui.unique_id().with(row.id.as_str()), sense);
    let chosen = row.id == view.chosen;
    if chosen {
        let edge = Stroke::new(1.0, theme::SELECT);
        ui.painter().rect(rect, CornerRadius::same(5), theme::SELECT_GROUND, edge, StrokeKind::Inside);
    } else if response.hovered() && can {
        ui.painter().rect_filled(rect, CornerRadius::same(5), Color32::from_white_alpha(18));
    }
    if response.clicked() {
        actions.push(Action::SetVariant(row.id));
    }
    (response, chosen)
}

/// The key of a rung on a key's cap, with its left edge at `left`.
pub(super) fn key(ui: &Ui, left: f32, y: f32, row: &VariantRow) {
    let cap = Rect::from_center_size(pos2(left + 8.0, y), vec2(16.0, 15.0));
    ui.painter().rect_filled(cap, CornerRadius::same(3), theme::TROUGH);
    let text = row.id.key().to_string();
    ui.painter().text(cap.center(), Align2::CENTER_CENTER, text, theme::figures(11.0), theme::TEXT);
}

pub(super) fn name_color(row: &VariantRow, chosen: bool) -> Color32 {
    match row.status {
        VariantStatus::Unavailable(_) => theme::RULE,
        VariantStatus::Building => theme::WEAK,
        VariantStatus::Ready if chosen => theme::STRONG,
        VariantStatus::Ready => theme::TEXT,
    }
}

/// One rung in the panel: its key, its name, its bar, its time.
fn rung(ui: &mut Ui, rect: Rect, board: &Board, row: &VariantRow, actions: &mut Vec<Action>) {
    let view = board.view;
    let (response, chosen) = ground(ui, rect, view, row, actions);
    let painter = ui.painter();
    let y = rect.center().y;
    key(ui, rect.left() + 5.0, y, row);
    let at = pos2(rect.left() + NAME, y);
    painter.text(at, Align2::LEFT_CENTER, row.id.as_str(), theme::words(13.5), name_color(row, chosen));
    let bar = Rect::from_min_max(pos2(rect.left() + BAR, y - 5.0), pos2(rect.right() - TIME - 4.0, y + 5.0));
    let value = pos2(rect.right() - 8.0, y);
    let shown = view.shown.is_some_and(|s| s.variant == row.id);
    match time(board, row) {
        Time::Now(score) => {
            painter.rect_filled(bar, CornerRadius::same(2), theme::TROUGH);
            let color = if shown { theme::FILTER } else { theme::FILTER_DIM };
            let length = bar.with_max_x(bar.left() + bar.width() * board.part(score));
            painter.rect_filled(length, CornerRadius::same(2), color);
            let color = if shown { theme::FILTER } else { theme::STRONG };
            let text = format!("{} ms", told(score));
            painter.text(value, Align2::RIGHT_CENTER, text, theme::figures(12.5), color);
        }
        Time::Old(score) => {
            let line =
                Rect::from_min_max(pos2(bar.left(), bar.bottom() - 1.0), bar.right_bottom() + vec2(0.0, 2.0));
            let length = line.with_max_x(line.left() + line.width() * board.part(score));
            painter.rect_filled(length, CornerRadius::same(1), theme::IDLE);
            let at = pos2(bar.left(), y - 2.0);
            painter.text(at, Align2::LEFT_CENTER, of_earlier(view, score), theme::words(11.0), theme::WEAK);
            let text = format!("{} ms", told(score));
            painter.text(value, Align2::RIGHT_CENTER, text, theme::figures(12.5), theme::WEAK);
        }
        Time::Unknown(why) => {
            painter.text(pos2(bar.left(), y), Align2::LEFT_CENTER, why, theme::words(12.0), theme::WEAK);
        }
    }
    response.on_hover_ui(|ui| about(ui, board, row));
}

/// A rung in words.
pub(super) fn about(ui: &mut Ui, board: &Board, row: &VariantRow) {
    ui.strong(row.title);
    ui.label(row.idea);
    if let Some(auto) = board.view.auto.filter(|_| row.id == VariantId::Auto) {
        ui.label(format!("For this picture and radius it is {auto}."));
    }
    match time(board, row) {
        Time::Now(score) | Time::Old(score) => {
            let (w, h) = score.size;
            let frames = if score.n == 1 { "1 frame".to_owned() } else { format!("{} frames", score.n) };
            let ms = told(score);
            ui.weak(format!("{ms} ms: the median of {frames} of {w} \u{d7} {h} at r = {}.", score.radius));
            if let Some(noise) = &score.noise {
                ui.weak(words::noisy(noise));
            }
        }
        Time::Unknown(_) => {}
    }
    match &row.status {
        VariantStatus::Ready => {}
        VariantStatus::Building => {
            ui.colored_label(theme::WARN, "Its program is being compiled.");
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

const ABOUT: &str = "What each variant's filter took when it was measured last, on a logarithmic scale: a click or its key \
                     chooses it.\nTimes of another radius or size are grey, and say which. The sentence compares times of \
                     this radius and size alone: the slowest kernel on this device with the fastest.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_logarithmic_and_can_be_seen() {
        let scale = Scale::of([845.0, 105.0, 0.37].into_iter());
        let [naive, separable, fused] = [845.0, 105.0, 0.37].map(|ms| scale.part(ms));
        assert!(naive <= 1.0 && naive > 0.97 && fused > 0.05 && fused < 0.15, "{naive} {fused}");
        // Equal factors are equal lengths.
        let one = scale.part(100.0) - scale.part(10.0);
        assert!((one - (scale.part(10.0) - scale.part(1.0))).abs() < 1e-4 && separable > scale.part(100.0));
        // Two that are nearly equal look so.
        let close = Scale::of([1.0, 1.1].into_iter());
        assert!(close.part(1.1) - close.part(1.0) < 0.05);
        for odd in [0.0, f64::NAN, f64::INFINITY] {
            let part = Scale::of([odd].into_iter()).part(odd);
            assert!((0.0..=1.0).contains(&part), "{odd}: {part}");
        }
    }

    #[test]
    fn the_panel_is_as_high_as_its_room_within_limits() {
        for rungs in [VariantId::ALL.len(), VariantId::ALL.len() + 1] {
            let (least, most) = (least_height(rungs), height(rungs, 1e6));
            assert_eq!(most - least, rungs as f32 * (ROW.1 - ROW.0));
            for room in [least, (least + most) / 2.0, most] {
                let height = height(rungs, room);
                assert!((room - rungs as f32..=room).contains(&height), "{room}: {height}");
            }
        }
    }
}
