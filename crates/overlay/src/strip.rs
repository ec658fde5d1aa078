//! The strip along the bottom of the window: variants where their panel has no room, seek bar, radius and buttons; and the
//! graph above it.

use egui::{Align2, Rect, Ui, vec2};

use super::controls::{self, ControlsState};
use super::hatch::Hatch;
use super::layout::{self, GRAPH_TITLE_HEIGHT};
use super::place::{Panel, TitleBarChange};
use super::table::Numbers;
use super::{Action, View, cells, filter_graph, panel, seekbar, stage_graph, theme};
use engine::stats::Scores;

/// Lays out the strip along the bottom of the window: variants without a panel of their own, the seek bar and the controls.
pub(crate) fn show(
    ui: &mut Ui,
    strip: &layout::Strip,
    view: &View,
    scores: &Scores,
    state: &ControlsState,
    actions: &mut Vec<Action>,
) {
    let mut ui = panel::ground(ui, strip.rect, "strip", theme::PANEL, 0.0);
    if let Some((rect, detail)) = strip.cells {
        cells::show(&mut ui, rect, (view, scores), detail, actions);
    }
    seekbar::show(&mut ui, strip.seek, view, actions);
    controls::show(&mut ui, strip.controls, view, state, actions);
}

/// Lays the panel of the graph out in `rect`: the times of all stages with their patterns `hatch`, or the time of the filter
/// alone if there are none. Returns whether the user folded, unfolded or moved the panel by its title bar.
pub(crate) fn show_graph(
    ui: &mut Ui,
    rect: Rect,
    view: &View,
    numbers: &Numbers,
    hatch: Option<&Hatch>,
    folded: bool,
    actions: &mut Vec<Action>,
) -> TitleBarChange {
    let mut ui = panel::ground(ui, rect, "graph", theme::PANEL, 0.0);
    let head = rect.with_max_y(rect.top() + if folded { rect.height() } else { GRAPH_TITLE_HEIGHT });
    let name = if hatch.is_some() { "Frame time by stage, ms" } else { "Filter alone" };
    let inner = head.shrink2(vec2(10.0, 2.0));
    let title = panel::title_bar(&mut ui, Panel::Graph, (head, inner), name, "", folded);
    if folded {
        return title;
    }
    // Half a figure reaches below the lowest line.
    let area = rect.shrink2(vec2(10.0, 9.0)).with_min_y(head.bottom() + 4.0);
    match hatch {
        Some(hatch) => {
            let costly: Vec<_> = theme::STACK.into_iter().filter(|s| numbers.takes_time(*s)).collect();
            stage_graph::draw_legend(&ui, inner.with_min_x(inner.left() + 170.0), &costly, hatch);
            stage_graph::show(&mut ui, area, view, hatch, actions);
        }
        None => {
            let text = "ms (log scale) with medians, last 10 s";
            if inner.width() > 420.0 {
                let (at, font) = (inner.right_center(), theme::words(11.5));
                ui.painter().text(at, Align2::RIGHT_CENTER, text, font, theme::WEAK);
            }
            filter_graph::show(&mut ui, area, view, numbers, actions);
        }
    }
    title
}
