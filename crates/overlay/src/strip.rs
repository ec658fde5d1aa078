//! The strip along the bottom of the window: the rungs where they have no panel, the seek bar, the radius, the buttons; and
//! the graph above it.

use egui::{Align2, Rect, Ui, UiBuilder, vec2};

use super::layout::{GRAPH_TITLE, Strip};
use super::place::{self, Panel, Title};
use super::{
    Action, Overlay, View, cells, controls, filter_graph, hatch::Hatch, panel, seekbar, stage_graph, theme,
};

impl Overlay {
    /// The strip in its place.
    pub(super) fn strip(&self, ui: &mut Ui, strip: &Strip, view: &View, actions: &mut Vec<Action>) {
        panel::cover(ui, strip.rect, "strip");
        theme::ground(ui.painter(), strip.rect, theme::PANEL);
        let mut ui = ui.new_child(UiBuilder::new().id_salt("strip").max_rect(strip.rect));
        ui.set_clip_rect(strip.rect);
        if let Some((rect, room)) = strip.cells {
            cells::show(&mut ui, rect, (view, &self.numbers.scores), room, actions);
        }
        seekbar::show(&mut ui, strip.seek, view, actions);
        controls::show(&mut ui, strip.controls, view, self, actions);
    }

    /// The graph in `rect`: of the filter alone, or by stage while the table of stages is open.
    pub(super) fn graph(
        &self,
        ui: &mut Ui,
        rect: Rect,
        view: &View,
        folded: bool,
        actions: &mut Vec<Action>,
    ) -> Title {
        panel::cover(ui, rect, "graph");
        theme::ground(ui.painter(), rect, theme::PANEL);
        let mut ui = ui.new_child(UiBuilder::new().id_salt("graph").max_rect(rect));
        ui.set_clip_rect(rect);
        let head = rect.with_max_y(rect.top() + if folded { rect.height() } else { GRAPH_TITLE });
        let (response, mut title) = place::handle(&ui, Panel::Graph, head, rect.min);
        response.on_hover_text(place::HOVER);
        let name = if self.open[Panel::Stages as usize] { "Frame time by stage, ms" } else { "Filter alone" };
        let inner = head.shrink2(vec2(10.0, 2.0));
        title.fold = panel::header(&mut ui, inner, name, folded);
        if folded {
            return title;
        }
        // Half a figure reaches below the lowest line.
        let area = rect.shrink2(vec2(10.0, 9.0)).with_min_y(head.bottom() + 4.0);
        if self.open[Panel::Stages as usize] {
            let hatch = Hatch::new(&ui, self.hatched);
            let costly: Vec<_> = theme::STACK.into_iter().filter(|s| self.numbers.costs(*s)).collect();
            stage_graph::legend(&ui, inner.with_min_x(inner.left() + 170.0), &costly, &hatch);
            stage_graph::show(&mut ui, area, view, &hatch, actions);
        } else {
            let at = inner.right_center();
            let text = "ms, logarithmic, with medians; the last 10 s";
            if inner.width() > 420.0 {
                ui.painter().text(at, Align2::RIGHT_CENTER, text, theme::words(11.5), theme::WEAK);
            }
            filter_graph::show(&mut ui, area, view, &self.numbers, actions);
        }
        title
    }
}
