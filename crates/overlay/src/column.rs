//! The column of panels, docked to a side of the window, and as wide as the user has dragged its edge. The open panels stand in
//! it below each other, the newest first, and the column scrolls.

use crate::cells::CellDetail;
use crate::layout::MIN_PICTURE;
use crate::panel;
use crate::prelude::*;
use crate::strip::Strip;

/// The part of the state of the column of panels that is kept from one start to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ColumnState {
    /// True if the column is at the left side of the window.
    pub left: bool,
    /// The width in points to which the user has dragged the column's edge; `None` if the user has never dragged it.
    pub width: Option<f32>,
}

/// The column of panels at a side of the window.
#[derive(Debug, Default)]
pub(crate) struct Column {
    pub state: ColumnState,
    /// The width in points while the user drags the column's edge; `None` otherwise.
    dragged: Option<f32>,
    /// The number of times that the user has dragged the column's edge.
    drags: u32,
    /// The least and the greatest width in points to which the user can drag the edge.
    limits: (f32, f32),
    /// The width in points before the user began to drag the edge.
    shown: f32,
}

/// The least width in points of the column of panels, whichever panels are open.
const MIN_WIDTH: f32 = 240.0;
/// The space in points beside the panels for the column's scroll bar.
const SCROLL_BAR: f32 = 8.0;
/// The least width in points of the picture beside the column, if the window is wide enough for both.
const MIN_ROOM: f32 = 64.0;

impl Column {
    /// Returns the column's width in points in `window`; `folded` is true if all panels are folded. `panels` is the least width
    /// in points of the unfolded panels, for which the column is always wide enough if the window is; apart from that, it leaves
    /// [`MIN_PICTURE`] of the window for the picture above the lowest strip with `variants` cells.
    pub(crate) fn width(&mut self, window: Rect, folded: bool, panels: f32, variants: usize) -> f32 {
        let room = (window.width() - theme::GAP - MIN_ROOM).max(MIN_WIDTH.min(window.width()));
        let strip = Strip::new(window, Some(variants), CellDetail::Tight).rect;
        let line = 400.0 * panel::HEADER_HEIGHT;
        let area = (1.0 - MIN_PICTURE) * window.expand(theme::GAP).area() - strip.area() - line;
        let least = (panels + SCROLL_BAR).max(MIN_WIDTH).min(room);
        let most = (area / (strip.top() - theme::GAP - window.top()).max(1.0)).min(room).max(least);
        self.limits = (least, most);
        // The width in points until the user drags the edge: that of the widest panel and a scroll bar.
        let width = self.dragged.or(self.state.width).unwrap_or(476.0).max(least);
        // The width in points while all panels are folded.
        if folded { width.min(250.0) } else { width }.min(most)
    }

    /// Lays `contents` out in a column of `width` points at the left or right side of `area`. The user can drag the edge of the
    /// column unless `folded` is true (all panels are folded).
    pub(crate) fn show(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        (width, folded): (f32, bool),
        contents: impl FnOnce(&mut Ui),
    ) {
        let mut ui = ui.new_child(UiBuilder::new().id_salt("column").max_rect(area));
        // Another width has another identifier, since egui keeps the width that it has shown first.
        let shown = if self.dragged.is_some() { self.shown } else { width };
        self.shown = shown;
        let salt = ("column", self.drags, shown.to_bits());
        let panel = if self.state.left { egui::Panel::left(salt) } else { egui::Panel::right(salt) };
        let (least, most) = self.limits;
        let panel = match folded {
            true => panel.exact_size(width).resizable(false),
            false => panel.default_size(width).size_range(least.min(width)..=most.max(width)),
        };
        let panel = panel.frame(egui::Frame::NONE).show_separator_line(false);
        let shown = panel.show(&mut ui, |ui| {
            let area = ScrollArea::both().id_salt("column").auto_shrink(false);
            // In a very low window, all of its contents can be reached.
            area.min_scrolled_height(0.0).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = theme::GAP;
                contents(ui);
            });
        });
        let now = shown.response.rect.width();
        let is_down = ui.input(|i| i.pointer.any_down());
        if (now - width).abs() > 0.5 || self.dragged.is_some() {
            self.dragged = is_down.then_some(now);
            if !is_down {
                self.state.width = Some(now);
                self.drags += 1;
            }
        }
    }
}
