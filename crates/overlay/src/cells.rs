//! The rungs as cells in the strip, where there is no room for their panel. In: each variant's status and its last measured
//! time. Out: the variant that was chosen.

use egui::{Color32, CornerRadius, Rect, Ui, pos2, vec2};

use super::{Action, VariantRow, View, theme};
use crate::scoreboard::{Board, Time, about, ground, grouped, key, name_color, of_earlier, time, told};
use box_filter::VariantId;
use engine::stats::Scores;

/// Between cells.
const GAP: f32 = 5.0;
/// Width of a cell at least.
const CELL: f32 = 92.0;

/// How much room cells have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cells {
    /// For their names alone, and close together.
    Tight,
    /// For their names.
    Names,
    /// For their times below the names.
    Times,
}

impl Cells {
    /// As much as a window of this height leaves.
    pub(crate) fn of(height: f32) -> Self {
        match height {
            h if h < 230.0 => Self::Tight,
            h if h < 330.0 => Self::Names,
            _ => Self::Times,
        }
    }

    fn height(self) -> f32 {
        match self {
            Self::Tight => 16.0,
            Self::Names => 20.0,
            Self::Times => 38.0,
        }
    }

    fn gap(self) -> f32 {
        if self == Self::Tight { 3.0 } else { GAP }
    }
}

/// How many cells stand in a line of this width.
fn in_line(width: f32, count: usize) -> usize {
    let fit = ((width + GAP) / (CELL + GAP)).max(1.0) as usize;
    let lines = count.div_ceil(fit.max(1)).clamp(1, 3);
    // The first line has no filter and the ladder, where they fit.
    count.div_ceil(lines).max(1)
}

/// Height of the cells in a strip of this width.
pub(crate) fn height_in(width: f32, count: usize, room: Cells) -> f32 {
    let lines = count.div_ceil(in_line(width, count)) as f32;
    lines * room.height() + (lines - 1.0) * room.gap()
}

/// Lays the rungs out as cells, from the top of `rect` on.
pub(crate) fn show(
    ui: &mut Ui,
    rect: Rect,
    (view, scores): (&View, &Scores),
    room: Cells,
    actions: &mut Vec<Action>,
) {
    let rows = grouped(view);
    let count = in_line(rect.width(), rows.len());
    let gap = room.gap();
    let size = vec2(((rect.width() - gap * (count as f32 - 1.0)) / count as f32).floor(), room.height());
    let board = Board::new(view, scores);
    for (n, (_, row)) in rows.iter().enumerate() {
        let at = vec2((n % count) as f32 * (size.x + gap), (n / count) as f32 * (size.y + gap));
        cell(ui, Rect::from_min_size(rect.min + at, size), &board, row, room, actions);
    }
}

fn cell(ui: &mut Ui, rect: Rect, board: &Board, row: &VariantRow, room: Cells, actions: &mut Vec<Action>) {
    let view = board.view;
    ui.painter().rect_filled(rect, CornerRadius::same(5), Color32::from_white_alpha(10));
    let (response, chosen) = ground(ui, rect, view, row, actions);
    let has_times = room == Cells::Times;
    let y = if has_times { rect.top() + 12.0 } else { rect.center().y };
    key(ui, rect.left() + 3.0, y, row);
    let painter = ui.painter();
    let font = theme::words(match rect.width() {
        w if w < 80.0 => 10.5,
        w if w < 102.0 => 11.5,
        _ => 12.5,
    });
    let (left, color) = (rect.left() + 23.0, name_color(row, chosen));
    let name = theme::elided(ui, row.id.as_str(), font, color, rect.right() - left - 2.0);
    painter.galley(pos2(left, y - name.size().y / 2.0), name, color);
    if has_times {
        let shown = view.shown.is_some_and(|s| s.variant == row.id);
        let line = Rect::from_min_max(
            pos2(rect.left() + 5.0, rect.bottom() - 5.0),
            pos2(rect.right() - 5.0, rect.bottom() - 2.5),
        );
        let (text, color, bar) = match time(board, row) {
            Time::Now(score) if shown => (told(score) + " ms", theme::FILTER, Some(score)),
            Time::Now(score) => (told(score) + " ms", theme::STRONG, Some(score)),
            Time::Old(score) => (format!("{} {}", told(score), of_earlier(view, score)), theme::WEAK, None),
            Time::Unknown(_) if row.id == VariantId::Off => (String::new(), theme::WEAK, None),
            Time::Unknown(_) => (theme::UNKNOWN.to_owned(), theme::WEAK, None),
        };
        let at = pos2(rect.left() + 6.0, rect.bottom() - 13.0);
        let text = theme::elided(ui, &text, theme::figures(11.0), color, rect.width() - 8.0);
        painter.galley(at - vec2(0.0, text.size().y / 2.0), text, color);
        if let Some(score) = bar {
            painter.rect_filled(line, CornerRadius::same(1), theme::TROUGH);
            let color = if shown { theme::FILTER } else { theme::FILTER_DIM };
            let length = line.with_max_x(line.left() + line.width() * board.part(score));
            painter.rect_filled(length, CornerRadius::same(1), color);
        }
    }
    response.on_hover_ui(|ui| about(ui, board, row));
}
