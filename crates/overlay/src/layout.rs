//! Where everything is. In: the window's size in points, what is folded and what was moved. Out: a rectangle for each part;
//! the middle of the window belongs to the picture.

use egui::{Rect, pos2, vec2};

use super::cells::{self, Cells};
use super::place::{self, Folds, Panel, Places};
use super::{headline, panel, seekbar, theme};
use crate::scoreboard;

/// From this width of the strip on everything in it stands in one row.
const ONE_ROW: f32 = 1120.0;
/// What the headline needs of the window in place of its one line.
const HEADLINE: egui::Vec2 = vec2(404.0, 400.0);
/// Height that it can be laid out in.
const LEAST: f32 = 176.0;
/// Width from which on there is room for the rungs beside the headline.
const LADDER: f32 = headline::SIZE.x + scoreboard::WIDTH + theme::GAP;
/// Height of the title over a graph.
pub(crate) const GRAPH_TITLE: f32 = 22.0;
const ROW_GAP: f32 = 6.0;
/// Space between the strip's edge and its contents.
const STRIP_PAD: f32 = 8.0;

/// The strip along the bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Strip {
    /// All of it.
    pub rect: Rect,
    /// The rungs, where they have no panel of their own, and how much room each of them has.
    pub cells: Option<(Rect, Cells)>,
    /// The row of the seek bar.
    pub seek: Rect,
    /// The row of the radius and the buttons.
    pub controls: Rect,
}

/// Where everything is, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Layout {
    /// The window without its margin.
    pub window: Rect,
    /// The headline, or the line that it is folded to.
    pub headline: Rect,
    /// Whether it is folded.
    pub line: bool,
    /// The rungs, where they have a panel of their own.
    pub ladder: Option<Rect>,
    /// The graph, where there is room for it.
    pub graph: Option<Rect>,
    /// The strip.
    pub strip: Strip,
    /// What is left above the graph and the strip.
    pub above: Rect,
    /// What is left of that beside the headline and the rungs.
    pub free: Rect,
}

impl Layout {
    /// The parts of `window`, with so many `variants`, which may be in the strip where they have no panel; `line` is the width
    /// that the folded headline would like to have.
    pub(crate) fn new(
        window: Rect,
        (variants, in_strip): (usize, bool),
        folds: &Folds,
        places: &Places,
        line: f32,
    ) -> Self {
        let folded = |panel: Panel| folds[panel as usize].unwrap_or(false);
        let at = |panel: Panel| places[panel as usize];
        let roomy = window.width() >= HEADLINE.x && window.height() >= HEADLINE.y;
        let graph_height = match folded(Panel::Graph) {
            true => panel::HEADER,
            false => (window.height() * 0.135).clamp(56.0, 150.0) + GRAPH_TITLE + 2.0 * STRIP_PAD,
        };
        // The rungs have a panel where they fit beside the headline and over the rest.
        let plain = Strip::new(window, None);
        let side = plain.rect.top() - graph_height - 2.0 * theme::GAP - window.top();
        let has_ladder = roomy && window.width() >= LADDER && side >= scoreboard::least_height(variants);
        let strip = if has_ladder { plain } else { Strip::new(window, in_strip.then_some(variants)) };
        let mut above = window.with_max_y((strip.rect.top() - theme::GAP).max(window.top()));
        // Its place is not the headline's.
        let has_graph = roomy && above.height() - graph_height - theme::GAP >= LEAST;
        let graph = has_graph.then(|| match at(Panel::Graph) {
            Some(at) => place::floating(at, vec2(window.width().min(720.0), graph_height), above),
            None => {
                let rect = above.with_min_y(above.bottom() - graph_height);
                above.max.y = rect.top() - theme::GAP;
                rect
            }
        });
        let line_folded = folds[Panel::Numbers as usize].unwrap_or(!roomy) || above.height() < LEAST;
        let size = if line_folded { vec2(line.min(above.width()), panel::HEADER) } else { headline::SIZE };
        let size = size.min(above.size());
        let headline = match at(Panel::Numbers) {
            Some(at) => place::floating(at, size, above),
            None => Rect::from_min_size(above.min, size),
        };
        let ladder = has_ladder.then(|| {
            let height = if folded(Panel::Ladder) {
                scoreboard::TITLE
            } else {
                scoreboard::height(variants, above.height())
            };
            let size = vec2(scoreboard::WIDTH, height);
            match at(Panel::Ladder) {
                Some(at) => place::floating(at, size, above),
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
            // Who moved the panel chose what it covers.
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
    /// The strip along the bottom of `window`; with the rungs as cells, where there are any.
    pub(crate) fn new(window: Rect, cells: Option<usize>) -> Self {
        let room = Cells::of(window.height());
        let (pad, gap) = if room == Cells::Tight { (5.0, 3.0) } else { (STRIP_PAD, ROW_GAP) };
        let width = (window.width() - 2.0 * pad).max(0.0);
        let cells = cells.map_or(0.0, |count| cells::height_in(width, count, room) + gap);
        let one_row = width >= ONE_ROW;
        let rows = if one_row { theme::CONTROL } else { theme::CONTROL + gap + seekbar::HEIGHT };
        let height = (cells + rows + 2.0 * pad).min(window.height());
        let rect = Rect::from_min_max(pos2(window.left(), window.bottom() - height), window.max);
        let inner = rect.shrink(pad);
        let bottom = inner.with_min_y(inner.bottom() - theme::CONTROL);
        let (seek, controls) = match one_row {
            true => {
                let middle = bottom.right() - CONTROLS;
                (bottom.with_max_x(middle - 22.0), bottom.with_min_x(middle))
            }
            false => {
                let seek = bottom.with_max_y(bottom.top() - gap);
                (seek.with_min_y(seek.bottom() - seekbar::HEIGHT), bottom)
            }
        };
        let cells = (cells > 0.0).then(|| (inner.with_max_y(seek.top() - gap), room));
        Self { rect, cells, seek, controls }
    }
}

/// Width of the radius and the buttons where they stand beside the seek bar.
const CONTROLS: f32 = 520.0;
