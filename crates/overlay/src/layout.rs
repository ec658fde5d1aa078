//! Places the parts of the overlay that are always shown (headline, ladder, graph and strip along the bottom) beside the column
//! of panels.

use crate::cells::CellDetail;
use crate::panels::{FoldStates, Panel};
use crate::prelude::*;
use crate::strip::{GRAPH_TITLE_HEIGHT, STRIP_PADDING, Strip};
use crate::{headline, panel, scoreboard};

/// The least width and height in points of a window in which the headline is not folded to one line.
const MIN_HEADLINE_WINDOW: Vec2 = vec2(404.0, 400.0);
/// The least height in points for the unfolded headline.
const MIN_HEADLINE_HEIGHT: f32 = 176.0;

/// The rectangles of all parts of the overlay, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Layout {
    /// The headline, or the line of text to which it is folded.
    pub headline: Rect,
    /// True if the headline is folded to one line of statistics.
    pub line: bool,
    /// The panel of the ladder (the list of variants); `None` if there is no room for it.
    pub ladder: Option<Rect>,
    /// The panel of the graph; `None` if there is no room for it.
    pub graph: Option<Rect>,
    pub strip: Strip,
    /// The part of the window to whose left or right edge the column of panels is docked.
    pub docks: Rect,
    /// The area that all other parts leave free, for banners, messages and the labels of a wipe.
    pub free: Rect,
}

/// The number of steps by which parts give way to the picture: ladder to cells, a lower graph, no graph, headline to a line, and
/// lower cells twice.
const STEPS: usize = 6;

/// The width in points of the column of panels, and true if the column is at the left side; `None` if no panel is open.
pub(crate) type ColumnPlace = Option<(f32, bool)>;

/// The least part of the window that is left for the picture while panels are open, unless the window is too small for that.
pub(crate) const MIN_PICTURE: f32 = 0.4;
/// The least height in points of the column of panels, in which a title and a line can be seen.
const MIN_COLUMN_HEIGHT: f32 = 60.0;

/// The least width and height in points in which banners, beside or below the headline, can be read.
const MIN_FREE_SIZE: Vec2 = vec2(220.0, 90.0);

/// Returns the part of `area` beside the column of panels.
pub(crate) fn beside_column(area: Rect, column: ColumnPlace) -> Rect {
    match column {
        Some((width, true)) => area.with_min_x((area.left() + width + theme::GAP).min(area.right())),
        Some((width, false)) => area.with_max_x((area.right() - width - theme::GAP).max(area.left())),
        None => area,
    }
}

impl Layout {
    /// Places the parts of the overlay in `window`. `folds` has the panels that the user has folded. `line` is the width in
    /// points that the folded headline needs. While `fills` is true (a panel of the column is unfolded), parts give way one
    /// after the other until [`MIN_PICTURE`] of the window is left for the picture; the graph is the last of them to disappear if
    /// `keeps_graph` is true.
    pub(crate) fn new(
        window: Rect,
        (column, folds): (ColumnPlace, &FoldStates),
        line: f32,
        view: &View,
        (fills, keeps_graph): (bool, bool),
    ) -> Self {
        let place = |step| Self::place(window, (column, folds), line, view, (step, keeps_graph));
        let is_enough = |layout: &Self| {
            let column = column.map_or(0.0, |(width, _)| width * layout.docks.height());
            let parts = [Some(layout.headline), layout.ladder, layout.graph, Some(layout.strip.rect)];
            let covered = column + parts.iter().flatten().map(|part| part.area()).sum::<f32>();
            covered <= (1.0 - MIN_PICTURE) * window.expand(theme::GAP).area()
        };
        let steps = if fills { STEPS } else { 0 };
        (0..steps).map(place).find(is_enough).unwrap_or_else(|| place(steps))
    }

    /// Places the parts after `step` of them have given way to the picture, of [`STEPS`].
    fn place(
        window: Rect,
        (column, folds): (ColumnPlace, &FoldStates),
        line: f32,
        view: &View,
        (step, keeps_graph): (usize, bool),
    ) -> Self {
        let (graph_step, headline_step) = if keeps_graph { (4, 3) } else { (3, 4) };
        // Variants are cells of the strip where the ladder's panel has no room.
        let (variants, has_banners) = (view.variants.len(), !view.notices.is_empty());
        let folded = |panel: Panel| folds[panel as usize].unwrap_or(false);
        let width = beside_column(window, column).width();
        let roomy = width >= MIN_HEADLINE_WINDOW.x && window.height() >= MIN_HEADLINE_WINDOW.y;
        let graph_height = match folded(Panel::Graph) {
            true => panel::HEADER_HEIGHT,
            false => {
                (window.height() * 0.135).clamp(56.0, if step < 2 { 150.0 } else { 56.0 })
                    + GRAPH_TITLE_HEIGHT
                    + 2.0 * STRIP_PADDING
            }
        };
        // The ladder has a panel if it fits next to the headline and above the rest.
        // The height in points by which the window counts as lower while there is a column of panels, when the amount of information
        // in the variants' cells is chosen.
        let height = window.height() - if column.is_some() { 150.0 } else { 0.0 };
        let detail = match step {
            0..=4 => CellDetail::for_height(height),
            5 => CellDetail::Names,
            _ => CellDetail::Tight,
        };
        let plain = Strip::new(window, None, detail);
        let side = plain.rect.top() - graph_height - 2.0 * theme::GAP - window.top();
        // The ladder's panel (the list of variants) fits next to the headline.
        let has_width = width >= headline::SIZE.x + scoreboard::WIDTH + theme::GAP;
        let has_ladder = step < 1 && roomy && has_width && side >= scoreboard::height(variants, 0.0);
        let strip = if has_ladder { plain } else { Strip::new(window, Some(variants), detail) };
        let mut docks = window.with_max_y((strip.rect.top() - theme::GAP).max(window.top()));
        let mut above = beside_column(docks, column);
        // Banners stand beside the headline, or below it.
        let ladder_width = if has_ladder { scoreboard::WIDTH + theme::GAP } else { 0.0 };
        let has_free_side = width - headline::SIZE.x - theme::GAP - ladder_width >= MIN_FREE_SIZE.x;
        let needed = match has_free_side {
            _ if step >= headline_step => panel::HEADER_HEIGHT + theme::GAP + MIN_FREE_SIZE.y,
            true => MIN_HEADLINE_HEIGHT,
            false => headline::SIZE.y + theme::GAP + MIN_FREE_SIZE.y,
        };
        // The headline takes precedence over the graph.
        let has_graph = step < graph_step && roomy && above.height() - graph_height - theme::GAP >= needed;
        let graph = has_graph.then(|| {
            let rect = above.with_min_y(above.bottom() - graph_height);
            above.max.y = rect.top() - theme::GAP;
            rect
        });
        let is_line = folds[Panel::Numbers as usize]
            .unwrap_or(!roomy || step >= headline_step || above.height() < needed)
            || above.height() < MIN_HEADLINE_HEIGHT;
        let size = if is_line { vec2(line, panel::HEADER_HEIGHT) } else { headline::SIZE };
        let mut headline = Rect::from_min_size(above.min, size.min(above.size()));
        // The least width in points beside the column of panels in which a message can be read.
        let least = if has_banners { MIN_FREE_SIZE.x } else { 120.0 };
        let is_narrow = is_line && column.is_some() && width < least;
        if is_line && line > above.width() || is_narrow {
            // The column begins below the line, which takes the whole width.
            headline = Rect::from_min_size(docks.min, size.min(docks.size()));
            docks.min.y = (headline.bottom() + theme::GAP).min(docks.bottom());
        }
        // The height in points that is kept free for a short message.
        let height = if has_banners { MIN_FREE_SIZE.y } else { 26.0 };
        if is_narrow {
            // Banners and messages, which cannot be read beside the column, take the whole width below it.
            above = docks.with_min_y((docks.bottom() - height).max(docks.top()));
            // In a very low window they cover the column's end.
            if above.top() - theme::GAP - docks.top() >= MIN_COLUMN_HEIGHT {
                docks.max.y = above.top() - theme::GAP;
            }
        }
        if column.is_some() && is_line && docks.height() < MIN_COLUMN_HEIGHT {
            // The line gives way to the column, and the column to the controls.
            headline = Rect::from_min_size(window.min, Vec2::ZERO);
            docks.min.y = window.top();
        }
        let ladder = has_ladder.then(|| {
            let height = match folded(Panel::Ladder) {
                true => scoreboard::TITLE_HEIGHT,
                // The labels of a wipe stand below the ladder, too.
                false if view.wipe.is_some() => scoreboard::height(variants, above.height())
                    .min(scoreboard::height_without_note(variants)),
                false => scoreboard::height(variants, above.height()),
            };
            let size = vec2(scoreboard::WIDTH, height);
            Rect::from_min_size(pos2(above.right() - size.x, above.top()), size)
        });
        let right = ladder.map_or(above.right(), |ladder| ladder.left() - theme::GAP);
        let beside = above.with_max_x(right).with_min_x((headline.right() + theme::GAP).min(right));
        let below = above.with_max_x(right).with_min_y((headline.bottom() + theme::GAP).min(above.bottom()));
        let free = if is_narrow {
            above
        } else if !is_line && (has_free_side || below.height() < MIN_FREE_SIZE.y) {
            beside
        } else {
            below
        };
        Self { headline, line: is_line, ladder, graph, strip, docks, free }
    }
}
