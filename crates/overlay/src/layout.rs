//! Places the parts that are always shown: headline, ladder, graph and strip.

use egui::{Rect, pos2, vec2};

use super::cells::{self, CellDetail};
use super::place::{self, FoldStates, Panel, PanelPositions};
use super::{headline, panel, seekbar, theme};
use crate::scoreboard;

/// The least width of the window in points at which the strip along the bottom has one row, with radius and buttons next to
/// the seek bar.
const MIN_ONE_ROW_WIDTH: f32 = 1120.0;
/// The least width and height of the window in points in which the headline is not folded to a line.
const MIN_HEADLINE_WINDOW: egui::Vec2 = vec2(404.0, 400.0);
/// The least height in points for the unfolded headline.
const MIN_HEADLINE_HEIGHT: f32 = 176.0;
/// The least width of the window in points in which the panel of the ladder (the list of variants) has room next to the
/// headline.
const MIN_LADDER_WINDOW_WIDTH: f32 = headline::SIZE.x + scoreboard::WIDTH + theme::GAP;
/// Height in points of the title bar over a graph.
pub(crate) const GRAPH_TITLE_HEIGHT: f32 = 22.0;
/// Space in points between the rows of the strip along the bottom.
const ROW_GAP: f32 = 6.0;
/// Space in points between the strip's edge and its contents.
const STRIP_PADDING: f32 = 8.0;

/// The strip along the bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Strip {
    /// The whole strip.
    pub rect: Rect,
    /// The rectangle of the cells of the variants, and the detail for which there is room; `None` if the strip has no
    /// cells.
    pub cells: Option<(Rect, CellDetail)>,
    /// The row of the strip with the seek bar.
    pub seek: Rect,
    /// The row of the strip with the radius and the buttons.
    pub controls: Rect,
}

/// The rectangles of the parts that are always shown, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Layout {
    /// The window without its margin.
    pub window: Rect,
    /// The headline, or the line to which it is folded.
    pub headline: Rect,
    /// True if the headline is folded to one line of statistics.
    pub line: bool,
    /// The ladder, if there is room for its panel.
    pub ladder: Option<Rect>,
    /// The graph, if there is room for it.
    pub graph: Option<Rect>,
    pub strip: Strip,
    /// The area of the window above the graph and the strip.
    pub above: Rect,
    /// The part of `above` that headline and ladder leave free.
    pub free: Rect,
}

impl Layout {
    /// Places the parts in `window`. `variants` is the number of variants; `in_strip` is true if they become cells of the
    /// strip when the ladder's panel has no room. `folds` and `places` are the panels that the user has folded and moved.
    /// `line` is the width in points that the folded headline needs.
    pub(crate) fn new(
        window: Rect,
        (variants, in_strip): (usize, bool),
        folds: &FoldStates,
        places: &PanelPositions,
        line: f32,
    ) -> Self {
        let folded = |panel: Panel| folds[panel as usize].unwrap_or(false);
        let at = |panel: Panel| places[panel as usize];
        let roomy = window.width() >= MIN_HEADLINE_WINDOW.x && window.height() >= MIN_HEADLINE_WINDOW.y;
        let graph_height = match folded(Panel::Graph) {
            true => panel::HEADER_HEIGHT,
            false => (window.height() * 0.135).clamp(56.0, 150.0) + GRAPH_TITLE_HEIGHT + 2.0 * STRIP_PADDING,
        };
        // The ladder has a panel if it fits next to the headline and above the rest.
        let plain = Strip::new(window, None);
        let side = plain.rect.top() - graph_height - 2.0 * theme::GAP - window.top();
        let has_ladder =
            roomy && window.width() >= MIN_LADDER_WINDOW_WIDTH && side >= scoreboard::least_height(variants);
        let strip = if has_ladder { plain } else { Strip::new(window, in_strip.then_some(variants)) };
        let mut above = window.with_max_y((strip.rect.top() - theme::GAP).max(window.top()));
        // The headline takes precedence over the graph.
        let has_graph = roomy && above.height() - graph_height - theme::GAP >= MIN_HEADLINE_HEIGHT;
        let graph = has_graph.then(|| match at(Panel::Graph) {
            Some(at) => place::clamped_rect(at, vec2(window.width().min(720.0), graph_height), above),
            None => {
                let rect = above.with_min_y(above.bottom() - graph_height);
                above.max.y = rect.top() - theme::GAP;
                rect
            }
        });
        let line_folded =
            folds[Panel::Numbers as usize].unwrap_or(!roomy) || above.height() < MIN_HEADLINE_HEIGHT;
        let size =
            if line_folded { vec2(line.min(above.width()), panel::HEADER_HEIGHT) } else { headline::SIZE };
        let size = size.min(above.size());
        let headline = match at(Panel::Numbers) {
            Some(at) => place::clamped_rect(at, size, above),
            None => Rect::from_min_size(above.min, size),
        };
        let ladder = has_ladder.then(|| {
            let height = if folded(Panel::Ladder) {
                scoreboard::TITLE_HEIGHT
            } else {
                scoreboard::height(variants, above.height())
            };
            let size = vec2(scoreboard::WIDTH, height);
            match at(Panel::Ladder) {
                Some(at) => place::clamped_rect(at, size, above),
                None => Rect::from_min_size(pos2(above.right() - size.x, above.top()), size),
            }
        });
        let mut free = above;
        if at(Panel::Ladder).is_none()
            && let Some(rect) = ladder
        {
            free.max.x = rect.left() - theme::GAP;
        }
        if at(Panel::Numbers).is_some() {
            // A panel that the user moved may cover others.
        } else if line_folded
            || free.width() < headline.width() + 220.0 && above.height() > 380.0 && ladder.is_none()
        {
            free.min.y = (headline.bottom() + theme::GAP).min(free.max.y);
        } else {
            free.min.x = (headline.right() + theme::GAP).min(free.max.x);
        }
        Self { window, headline, line: line_folded, ladder, graph, strip, above, free }
    }
}

impl Strip {
    /// Places the strip along the bottom of `window`, with this number of cells for variants, if any.
    pub(crate) fn new(window: Rect, cells: Option<usize>) -> Self {
        let detail = CellDetail::for_height(window.height());
        let (pad, gap) = if detail == CellDetail::Tight { (5.0, 3.0) } else { (STRIP_PADDING, ROW_GAP) };
        let width = (window.width() - 2.0 * pad).max(0.0);
        let cells = cells.map_or(0.0, |count| cells::height_in(width, count, detail) + gap);
        let one_row = width >= MIN_ONE_ROW_WIDTH;
        let rows = if one_row { theme::CONTROL } else { theme::CONTROL + gap + seekbar::HEIGHT };
        let height = (cells + rows + 2.0 * pad).min(window.height());
        let rect = Rect::from_min_max(pos2(window.left(), window.bottom() - height), window.max);
        let inner = rect.shrink(pad);
        let bottom = inner.with_min_y(inner.bottom() - theme::CONTROL);
        let (seek, controls) = match one_row {
            true => {
                let middle = bottom.right() - CONTROLS_WIDTH;
                (bottom.with_max_x(middle - 22.0), bottom.with_min_x(middle))
            }
            false => {
                let seek = bottom.with_max_y(bottom.top() - gap);
                (seek.with_min_y(seek.bottom() - seekbar::HEIGHT), bottom)
            }
        };
        let cells = (cells > 0.0).then(|| (inner.with_max_y(seek.top() - gap), detail));
        Self { rect, cells, seek, controls }
    }
}

/// Width in points of radius and buttons if they are next to the seek bar.
const CONTROLS_WIDTH: f32 = 520.0;
