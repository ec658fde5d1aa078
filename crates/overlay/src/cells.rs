//! The variants as cells (small buttons) in the strip along the bottom, for windows without room for the panel of variants.

use egui::{Align2, Color32, CornerRadius, Rect, Ui, pos2, vec2};

use super::pass::Pass;
use super::{Action, VariantRow, theme};
use crate::hover::Explain as _;
use crate::scoreboard::{
    Board, Time, draw_bar, draw_key, name_color, old_setting, score_text, show_hover_text, time_of,
    variant_ground, variants_by_group,
};
use box_filter::VariantId;

/// Space in points between two cells of variants.
const CELL_GAP: f32 = 5.0;
/// The least width in points of a variant's cell.
const MIN_CELL_WIDTH: f32 = 92.0;

/// The amount of information in the cells of variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellDetail {
    /// Names of the variants in low cells, close together.
    Tight,
    /// Names of the variants.
    Names,
    /// Names of the variants, and times below them.
    Times,
}

impl CellDetail {
    /// Returns the amount of information for which cells have room in a window of this height in points.
    pub(crate) fn for_height(height: f32) -> Self {
        match height {
            h if h < 230.0 => Self::Tight,
            h if h < 330.0 => Self::Names,
            _ => Self::Times,
        }
    }

    /// Returns the height of a cell in points.
    fn height(self) -> f32 {
        match self {
            Self::Tight => 16.0,
            Self::Names => 20.0,
            Self::Times => 38.0,
        }
    }

    /// Returns the space between two cells in points.
    fn gap(self) -> f32 {
        if self == Self::Tight { 3.0 } else { CELL_GAP }
    }
}

/// Returns the number of cells per line of `width` points, if there are `count` cells in all.
fn cells_per_line(width: f32, count: usize) -> usize {
    let fit = ((width + CELL_GAP) / (MIN_CELL_WIDTH + CELL_GAP)).max(1.0) as usize;
    let lines = count.div_ceil(fit.max(1)).clamp(1, 3);
    // The lines have the same number of cells, so that `off` and the steps of the ladder share the first line if they fit.
    count.div_ceil(lines).max(1)
}

/// Returns the height in points of `count` cells with this amount of information, in a strip of this width.
pub(crate) fn height_in(width: f32, count: usize, detail: CellDetail) -> f32 {
    let lines = count.div_ceil(cells_per_line(width, count)) as f32;
    lines * detail.height() + (lines - 1.0) * detail.gap()
}

/// Lays the variants out as cells (small buttons), from the top of `rect` on.
pub(crate) fn show(ui: &mut Ui, rect: Rect, detail: CellDetail, pass: &mut Pass) {
    let rows = variants_by_group(pass.view);
    let count = cells_per_line(rect.width(), rows.len());
    let gap = detail.gap();
    let size = vec2(((rect.width() - gap * (count as f32 - 1.0)) / count as f32).floor(), detail.height());
    let board = Board::new(pass);
    for (n, (_, row)) in rows.iter().enumerate() {
        let at = vec2((n % count) as f32 * (size.x + gap), (n / count) as f32 * (size.y + gap));
        if show_cell(ui, Rect::from_min_size(rect.min + at, size), &board, row) {
            pass.actions.push(Action::SetVariant(row.id));
        }
    }
}

/// Lays out the cell of a variant, with its time if the cell is high enough. Returns true if the user clicked it.
fn show_cell(ui: &mut Ui, rect: Rect, board: &Board, row: &VariantRow) -> bool {
    let view = board.view;
    ui.painter().rect_filled(rect, CornerRadius::same(5), Color32::from_white_alpha(10));
    let (response, chosen) = variant_ground(ui, rect, board, row);
    let has_times = rect.height() >= CellDetail::Times.height();
    let y = if has_times { rect.top() + 12.0 } else { rect.center().y };
    draw_key(ui, rect.left() + 3.0, y, row);
    let painter = ui.painter();
    let font = theme::words(match rect.width() {
        w if w < 74.0 => 8.5,
        w if w < 80.0 => 10.5,
        w if w < 102.0 => 11.5,
        _ => 12.5,
    });
    let left = rect.left() + if rect.width() < 74.0 { 19.5 } else { 23.0 };
    let color = name_color(row, chosen);
    let at = (pos2(left, y), Align2::LEFT_CENTER, rect.right() - left - 2.0);
    theme::elided_text(ui, at, row.id.name, (font, color));
    if has_times {
        let shown = view.shown.is_some_and(|s| s.variant == row.id);
        let line = Rect::from_min_max(
            pos2(rect.left() + 5.0, rect.bottom() - 5.0),
            pos2(rect.right() - 5.0, rect.bottom() - 2.5),
        );
        let (text, color, bar) = match time_of(board, row) {
            Time::Current(score) if shown => (score_text(score) + " ms", theme::FILTER, Some(score)),
            Time::Current(score) => (score_text(score) + " ms", theme::STRONG, Some(score)),
            Time::Old(score) => {
                (format!("{} {}", score_text(score), old_setting(view, score)), theme::WEAK, None)
            }
            Time::Unknown(_) if row.id == VariantId::OFF => (String::new(), theme::WEAK, None),
            Time::Unknown(_) => (theme::UNKNOWN.to_owned(), theme::WEAK, None),
        };
        let at = (pos2(rect.left() + 6.0, rect.bottom() - 13.0), Align2::LEFT_CENTER, rect.width() - 8.0);
        theme::elided_text(ui, at, &text, (theme::figures(11.0), color));
        if let Some(score) = bar {
            draw_bar(painter, line, board.bar_length(score), shown);
        }
    }
    response.explain_by(|ui| show_hover_text(ui, board, row)).clicked()
}
