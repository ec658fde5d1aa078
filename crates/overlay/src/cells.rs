//! The variants as cells (small buttons) in the strip along the bottom, for windows without room for the panel of variants.

use box_filter::VariantId;

use crate::prelude::*;
use crate::scoreboard::{
    Board, draw_bar, draw_key, name_color, score_text, show_hover_text, time_of, variant_ground,
    variants_by_group,
};
use crate::{Subject, VariantRow, VariantStatus};

/// Space in points between two cells of variants.
const CELL_GAP: f32 = 5.0;

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

    /// Returns the height of a cell, and the space between two cells, in points.
    fn height_and_gap(self) -> (f32, f32) {
        match self {
            Self::Tight => (16.0, 3.0),
            Self::Names => (20.0, CELL_GAP),
            Self::Times => (38.0, CELL_GAP),
        }
    }
}

/// Returns the number of cells per line of `width` points, if there are `count` cells in all.
fn cells_per_line(width: f32, count: usize) -> usize {
    // The least width in points of a variant's cell.
    let fit = ((width + CELL_GAP) / (92.0 + CELL_GAP)).max(1.0) as usize;
    let lines = count.div_ceil(fit.max(1)).clamp(1, 3);
    // The lines have the same number of cells, so that `off` and the steps of the ladder share the first line if they fit.
    count.div_ceil(lines).max(1)
}

/// Returns the height in points of `count` cells with this amount of information, in a strip of this width.
pub(crate) fn height_in(width: f32, count: usize, detail: CellDetail) -> f32 {
    let lines = count.div_ceil(cells_per_line(width, count)) as f32;
    let (height, gap) = detail.height_and_gap();
    lines * height + (lines - 1.0) * gap
}

/// Lays the variants out as cells (small buttons), from the top of `rect` on.
pub(crate) fn show(ui: &mut Ui, rect: Rect, detail: CellDetail, pass: &mut Pass) {
    let rows = variants_by_group(pass.view);
    let count = cells_per_line(rect.width(), rows.len());
    let (height, gap) = detail.height_and_gap();
    let size = vec2(((rect.width() - gap * (count as f32 - 1.0)) / count as f32).floor(), height);
    let board = Board::new(pass);
    for (n, row) in rows.into_iter().enumerate() {
        let at = vec2((n % count) as f32 * (size.x + gap), (n / count) as f32 * (size.y + gap));
        show_cell(ui, Rect::from_min_size(rect.min + at, size), &board, row, &mut pass.actions);
    }
}

/// Returns the mark of a variant without a time, whose meaning the hover text says, and its colour.
fn mark_of(board: &Board, row: &VariantRow) -> (&'static str, Color32) {
    match row.status {
        VariantStatus::Unavailable(_) => ("\u{d7}", theme::WARN),
        _ if board.view.kernels.differs(Subject::Variant(row.id), None) => ("\u{2260}", theme::WARN),
        VariantStatus::Building => ("\u{2026}", theme::TEXT),
        VariantStatus::Ready => (theme::UNKNOWN, theme::WEAK),
    }
}

/// Lays out the cell of a variant, with its time if the cell is high enough. A click selects the variant.
fn show_cell(ui: &Ui, rect: Rect, board: &Board, row: &VariantRow, actions: &mut Vec<Action>) {
    ui.painter().rect_filled(rect, 5, Color32::from_white_alpha(10));
    let (response, chosen) = variant_ground(ui, rect, board, row);
    let has_times = rect.height() >= CellDetail::Times.height_and_gap().0;
    let y = if has_times { rect.top() + 12.0 } else { rect.center().y };
    draw_key(ui, rect.left() + 3.0, y, row);
    let (size, left) = match rect.width() {
        w if w < 74.0 => (8.5, rect.left() + 19.5),
        w if w < 80.0 => (10.5, rect.left() + 23.0),
        w if w < 102.0 => (11.5, rect.left() + 23.0),
        _ => (12.5, rect.left() + 23.0),
    };
    let color = name_color(row, chosen);
    let at = (pos2(left, y), Align2::LEFT_CENTER, rect.right() - left - 2.0);
    let name = theme::elided_text(ui, at, &board.view.kernels.short_name(row.id), (size, color));
    let why = time_of(board, row).err().filter(|why| !why.is_empty());
    let (mark, mark_color) = mark_of(board, row);
    if !has_times && why.is_some() && mark != theme::UNKNOWN && name.right() + 12.0 <= rect.right() {
        ui.words(pos2(rect.right() - 4.0, y), Align2::RIGHT_CENTER, mark, size, mark_color);
    }
    if has_times {
        let shown = board.view.shown.is_some_and(|s| s.variant == row.id);
        let (text, color, bar) = match time_of(board, row) {
            Ok((score, None)) => {
                (score_text(score), if shown { theme::FILTER } else { theme::STRONG }, Some(score))
            }
            Ok((score, Some(setting))) => {
                let ms = theme::with_noise(score.ms, score.noise, theme::short_ms);
                // Half as wide as "at r = 7", which would be cut.
                let short = setting.replace("at ", "").replace(' ', "");
                (format!("{ms} {short}"), theme::WEAK, None)
            }
            Err(_) if row.id == VariantId::OFF => (String::new(), theme::WEAK, None),
            Err(_) => (mark.to_owned(), mark_color, None),
        };
        let galley = theme::elided(ui, &text, (theme::figures(11.0), color), rect.width() - 8.0);
        let at = pos2(rect.left() + 6.0, rect.bottom() - 13.0 - galley.size().y / 2.0);
        ui.painter().galley(at, galley, color);
        if let Some(score) = bar {
            let bottom = rect.with_min_y(rect.bottom() - 5.0).with_max_y(rect.bottom() - 2.5);
            let line = bottom.shrink2(vec2(5.0, 0.0));
            draw_bar(ui.painter(), line, board.scale.bar_length(score.ms), shown);
        }
    }
    let explained = response.explain_by(|ui| {
        show_hover_text(ui, board, row);
        if let Some(why) = &why {
            ui.weak(format!("{mark} {why}"));
        }
    });
    explained.on_click(Action::SetVariant(row.id), actions);
}
