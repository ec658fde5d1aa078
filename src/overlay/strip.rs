//! The strip along the bottom of the window: the controls, the seek bar, and the graph unless it was moved.

use egui::{Rect, Ui, UiBuilder, pos2, vec2};

use super::place::{self, Panel, Title};
use super::{Action, Overlay, View, controls, graph, panel, seekbar, theme};

const ROW_GAP: f32 = 5.0;
/// Width of the graph where it was moved to.
pub(super) const FLOATING_GRAPH: f32 = 600.0;

impl Overlay {
    /// The graph in a panel of its own, where it was moved to.
    pub(super) fn floating_graph(
        &self,
        ui: &mut Ui,
        rect: Rect,
        view: &View,
        folded: bool,
        actions: &mut Vec<Action>,
    ) -> Title {
        panel::cover(ui, rect, "graph");
        if folded {
            return panel::folded(ui, rect, Panel::Graph, "Frame time");
        }
        theme::ground(ui.painter(), rect, theme::PANEL);
        self.graph(ui, rect.shrink(theme::PAD), view, rect.min, actions)
    }

    fn graph(
        &self,
        ui: &mut Ui,
        rect: Rect,
        view: &View,
        corner: egui::Pos2,
        actions: &mut Vec<Action>,
    ) -> Title {
        let mut ui = ui.new_child(UiBuilder::new().id_salt("graph").max_rect(rect));
        ui.spacing_mut().item_spacing.y = 7.0;
        graph::show(&mut ui, view, &self.numbers, corner, actions)
    }

    /// The controls, the seek bar, and over them the graph unless it is elsewhere, folded or not.
    pub(super) fn strip(
        &self,
        ui: &mut Ui,
        rect: Rect,
        view: &View,
        graph_folded: Option<bool>,
        actions: &mut Vec<Action>,
    ) -> Title {
        theme::ground(ui.painter(), rect, theme::PANEL);
        let inner = rect.shrink(theme::PAD);
        if inner.width() < 60.0 {
            return Title::default();
        }
        let mut ui = ui.new_child(UiBuilder::new().id_salt("strip").max_rect(inner));
        ui.set_clip_rect(rect);
        let controls = controls_height(inner.width(), view.variants.len());
        let seek = Rect::from_min_max(
            pos2(inner.left(), inner.bottom() - controls - ROW_GAP - seekbar::HEIGHT),
            pos2(inner.right(), inner.bottom() - controls - ROW_GAP),
        );
        let graph = Rect::from_min_max(inner.min, pos2(inner.right(), seek.top() - ROW_GAP));
        let mut title = Title::default();
        match graph_folded {
            Some(true) if graph.height() > 10.0 => {
                (_, title) = place::handle(&ui, Panel::Graph, graph, rect.min);
                title.fold = panel::header(&mut ui, graph, "Frame time", true);
            }
            Some(false) if graph.height() > 40.0 => {
                title = self.graph(&mut ui, graph, view, rect.min, actions)
            }
            _ => {}
        }
        let below = Rect::from_min_max(pos2(inner.left(), inner.bottom() - controls), inner.max);
        let mut ui = ui.new_child(UiBuilder::new().id_salt("controls").max_rect(below));
        ui.spacing_mut().item_spacing = vec2(6.0, ROW_GAP);
        controls::show(&mut ui, view, actions);
        if seek.top() >= rect.top() {
            seekbar::show(&mut ui, seek, view, actions);
        }
        title
    }
}

fn controls_height(width: f32, variants: usize) -> f32 {
    let rows = controls::rows(width, variants) as f32;
    rows * theme::CONTROL + (rows - 1.0) * ROW_GAP
}

/// Height of the graph: as high as the window allows.
pub(super) fn graph_height(window: Rect) -> f32 {
    (window.height() * 0.15).clamp(64.0, 170.0)
}

/// The strip along the bottom of `window`: the controls, the seek bar, and the graph where it is docked.
pub(super) fn strip_rect(window: Rect, variants: usize, docked: bool, folded: bool) -> Rect {
    let controls = controls_height(window.width() - 2.0 * theme::PAD, variants);
    let graph = if folded { panel::HEADER - 8.0 } else { graph_height(window) } + ROW_GAP;
    let graph = if !docked || window.height() < 220.0 { 0.0 } else { graph };
    let seek = seekbar::HEIGHT + ROW_GAP;
    let height = (controls + seek + graph + 2.0 * theme::PAD).min(window.height());
    Rect::from_min_max(pos2(window.left(), window.bottom() - height), window.max)
}
