//! The strip along the bottom of the window, with the variants if their panel has no room, the seek bar, the filter's
//! parameter and the buttons; and the graph above the strip.

use crate::cells::CellDetail;
use crate::controls::{self, ControlsState};
use crate::hatch::Hatch;
use crate::prelude::*;
use crate::{cells, filter_graph, panel, seekbar, stage_graph, timeline};

/// Height in points of the title bar over a graph.
pub(crate) const GRAPH_TITLE_HEIGHT: f32 = 22.0;
/// Space in points between the strip's edge and its contents.
pub(crate) const STRIP_PADDING: f32 = 8.0;

/// The rectangles of the strip along the bottom of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Strip {
    /// The rectangle of the whole strip.
    pub rect: Rect,
    /// The rectangle of the variants' cells, and the amount of information in the cells for which there is room; `None` if the
    /// strip has no cells.
    pub cells: Option<(Rect, CellDetail)>,
    /// The row of the strip with the seek bar.
    pub seek: Rect,
    /// The row of the strip with the filter's parameter and the buttons.
    pub controls: Rect,
}

impl Strip {
    /// Computes the rectangles of the strip along the bottom of `window`. `cells` is the number of cells for variants; `None`
    /// if the strip has no cells.
    pub(crate) fn new(window: Rect, cells: Option<usize>, detail: CellDetail) -> Self {
        // Space in points between the rows of the strip along the bottom.
        let (pad, gap) = if detail == CellDetail::Tight { (5.0, 3.0) } else { (STRIP_PADDING, 6.0) };
        let width = (window.width() - 2.0 * pad).max(0.0);
        let cells = cells.map_or(0.0, |count| cells::height_in(width, count, detail) + gap);
        // In a wide window, the filter's parameter and the buttons are next to the seek bar.
        let one_row = width >= 1120.0;
        let rows = if one_row { theme::CONTROL } else { theme::CONTROL + gap + seekbar::HEIGHT };
        let height = (cells + rows + 2.0 * pad).min(window.height());
        let rect = Rect::from_min_max(pos2(window.left(), window.bottom() - height), window.max);
        let inner = rect.shrink(pad);
        let bottom = inner.with_min_y(inner.bottom() - theme::CONTROL);
        let (seek, controls) = match one_row {
            true => {
                // Width in points of the filter's parameter and the buttons.
                let middle = bottom.right() - 566.0;
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

/// Lays out the strip along the bottom of the window: the variants if they have no panel, the seek bar and the controls.
pub(crate) fn show(ui: &mut Ui, strip: &Strip, state: &ControlsState, pass: &mut Pass) {
    let mut ui = panel::ground(ui, strip.rect, "strip");
    if let Some((rect, detail)) = strip.cells {
        cells::show(&mut ui, rect, detail, pass);
    }
    seekbar::show(&mut ui, strip.seek, pass);
    controls::show(&mut ui, strip.controls, state, pass);
}

/// Lays the panel of the graph out in `rect`: the times of all stages with their patterns `hatch`, or the filter's time alone
/// if `hatch` is `None`.
pub(crate) fn show_graph(ui: &mut Ui, (rect, folded): (Rect, bool), hatch: Option<&Hatch>, pass: &mut Pass) {
    let mut ui = panel::ground(ui, rect, "graph");
    let head = rect.with_max_y(rect.top() + if folded { rect.height() } else { GRAPH_TITLE_HEIGHT });
    let name = if hatch.is_some() { "Frame time by stage, ms" } else { "Filter alone" };
    let inner = head.shrink2(vec2(10.0, 2.0));
    panel::title_bar(&mut ui, inner, name, (Panel::Graph, folded), pass);
    if folded {
        return;
    }
    // Half a figure reaches below the lowest line.
    let area = rect.shrink2(vec2(10.0, 9.0)).with_min_y(head.bottom() + 4.0);
    match hatch {
        Some(hatch) => {
            let costly: Vec<_> = theme::STACK.into_iter().filter(|s| pass.numbers.takes_time(*s)).collect();
            // Beside the title in a wide graph, otherwise below it.
            let legend = match inner.width() > 560.0 {
                true => inner.with_min_x(inner.left() + 170.0).translate(vec2(0.0, -3.0)),
                false => inner.with_min_y(head.bottom()).with_max_y(area.bottom()),
            };
            let legend = ui.scope_builder(UiBuilder::new().max_rect(legend), |ui| {
                timeline::show_legend(ui, &costly, (None, true), hatch);
            });
            let top = area.top().max(legend.response.rect.bottom() + 6.0);
            stage_graph::show(&mut ui, area.with_min_y(top), hatch, pass);
        }
        None => {
            let text = "ms (log scale) with medians, last 10 s";
            if inner.width() > 420.0 {
                ui.words(inner.right_center(), Align2::RIGHT_CENTER, text, 11.5, theme::WEAK);
            }
            filter_graph::show(&mut ui, area, pass);
        }
    }
}
