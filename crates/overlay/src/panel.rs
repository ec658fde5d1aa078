//! The parts that all panels share: the entry in the list of panels, and the frame with its title bar and closing button.

use egui::{Align2, Button, Color32, Margin, Rect, Sense, Stroke, StrokeKind, Ui, UiBuilder, pos2, vec2};

use super::panels::Panel;
pub(crate) use super::widgets::{choice_button, line, link, padded, paragraph, resizable};
use super::{Action, theme};
use crate::hover::Explain as _;

/// Height in points of a folded panel, and of a panel's title bar.
pub(crate) const HEADER_HEIGHT: f32 = 26.0;
/// A panel that a key or the menu opens. The panel's file defines it, and [`crate::ENTRIES`] lists it.
pub struct Entry {
    /// The panel that the entry describes.
    pub panel: Panel,
    /// The key that opens and closes the panel, and its effect as the table of keys describes it.
    pub key: Option<(&'static str, &'static str)>,
    /// Name and hover text of the line in the menu.
    pub menu: (&'static str, &'static str),
    /// An explanation in the hover text of the title bar; may be empty.
    pub(crate) about: &'static str,
    /// The least width in points in which the contents are laid out; in a narrower column they scroll horizontally.
    pub(crate) width: f32,
}

impl Entry {
    /// Returns the action of the panel's key, of its line in the menu and of its closing button.
    pub fn action(&self) -> Action {
        match self.panel {
            // The panel is shown as long as colours are corrected.
            Panel::Correction => Action::ToggleCorrection,
            panel => Action::Toggle(panel),
        }
    }

    /// Returns true if the menu lists the panel. `has_scene_panel` is true if the current scene has a panel.
    pub(crate) fn is_available(&self, has_scene_panel: bool) -> bool {
        self.panel != Panel::Scene || has_scene_panel
    }

    fn close_hover(&self) -> String {
        match (self.panel, self.key) {
            (Panel::Correction, _) => "Switch colour correction off (c)".to_owned(),
            (Panel::Scene, _) => "Close (reopen with the menu Panels)".to_owned(),
            (_, Some((key, _))) => format!("Close ({key})"),
            (_, None) => "Close".to_owned(),
        }
    }

    /// Lays the panel out at the cursor, with the title `title`, and `contents` below it unless it is `folded`; `contents`
    /// also gets the rectangle of the title bar. Returns true if the user folded or unfolded the panel, and its rectangle.
    pub(crate) fn show(
        &self,
        ui: &mut Ui,
        title: &str,
        folded: bool,
        actions: &mut Vec<Action>,
        contents: impl FnOnce(&mut Ui, Rect, &mut Vec<Action>),
    ) -> (bool, Rect) {
        let at = ui.cursor().min;
        let width = if folded { ui.available_width() } else { ui.available_width().max(self.width) };
        let room = Rect::from_min_size(at, vec2(width, MAX_HEIGHT));
        // The closing button stays visible where the contents are wider than the column.
        let head = Rect::from_min_size(at, vec2(width, HEADER_HEIGHT));
        let head = head.with_max_x(head.right().min(ui.clip_rect().right()));
        // A click on the panel must not reach the picture.
        let over = UiBuilder::new().id_salt(self.panel.name()).max_rect(room).sense(Sense::click_and_drag());
        let fill = if folded { theme::PANEL } else { theme::PANEL.to_opaque() };
        let frame = egui::Frame::new().fill(fill).corner_radius(6);
        let spacing = ui.ctx().global_style().spacing.item_spacing;
        let shown = ui.scope_builder(over, |ui| {
            let shown = frame.show(ui, |ui| {
                ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
                ui.set_width(width);
                ui.allocate_space(vec2(width, HEADER_HEIGHT));
                // The closing button stands at the right.
                let inner = head.shrink2(vec2(10.0, 3.0)).with_max_x(head.right() - 28.0);
                let folds = title_bar(ui, (head, inner), title, self.about, folded);
                let at = Rect::from_min_size(pos2(head.right() - 25.0, head.top() + 2.0), vec2(22.0, 22.0));
                let close = ui.put(at, Button::new("\u{d7}").frame_when_inactive(false));
                if close.explain(self.close_hover()).clicked() {
                    actions.push(self.action());
                }
                if !folded {
                    ui.spacing_mut().item_spacing = spacing;
                    contents(ui, head, actions);
                }
                folds
            });
            (shown.inner, shown.response.rect)
        });
        let (folds, rect) = shown.inner;
        ui.painter().rect_stroke(rect, 6, Stroke::new(1.0, theme::PANEL_EDGE), StrokeKind::Inside);
        ui.interact(rect, cover_id(self.panel.name()), Sense::hover());
        (folds, rect)
    }
}

/// A height in points that no panel reaches.
pub(crate) const MAX_HEIGHT: f32 = 100_000.0;

/// The space around the contents of most panels, in points.
pub(crate) const MARGIN: Margin = Margin { left: 8, right: 8, top: 0, bottom: 8 };

/// Lays out a clickable word in the title bar `head`, left of the closing button. Returns true if it was clicked.
pub(crate) fn title_link(ui: &mut Ui, head: Rect, text: &str, hover: &str) -> bool {
    link(ui, pos2(head.right() - 34.0, head.center().y), text, hover)
}

/// Draws the opaque background of a panel that may cover others. Returns the space for its contents, with a margin.
pub(crate) fn opaque_ground(ui: &mut Ui, rect: Rect, id: &str) -> Ui {
    ground(ui, rect, id, theme::PANEL.to_opaque(), theme::PAD)
}

/// Draws the background of the panel that `id` names, and keeps clicks on the panel from reaching the picture and the panels
/// below. Returns the space for the panel's contents, with this margin.
pub(crate) fn ground(ui: &mut Ui, rect: Rect, id: &str, fill: Color32, margin: f32) -> Ui {
    ui.interact(rect, cover_id(id), Sense::click_and_drag());
    theme::draw_ground(ui.painter(), rect, fill);
    let mut ui = ui.new_child(UiBuilder::new().id_salt(id).max_rect(rect.shrink(margin)));
    ui.set_clip_rect(rect);
    ui
}

/// Returns egui's identifier of the area that [`ground`] covers for the panel that `id` names.
pub(crate) fn cover_id(id: &str) -> egui::Id {
    egui::Id::unique(("cover", id))
}

/// Lays out a title bar in `bar`, the upper end of a panel: a triangle and `title` at the left of its part `inner`. Returns
/// true if the user folded or unfolded the panel. `about` is an explanation in the hover text, which may be empty.
pub(crate) fn title_bar(
    ui: &mut Ui,
    (bar, inner): (Rect, Rect),
    title: &str,
    about: &str,
    folded: bool,
) -> bool {
    if !about.is_empty() {
        ui.interact(bar, ui.unique_id().with("about"), Sense::hover()).explain(about);
    }
    show_header(ui, inner, title, folded)
}

/// Lays out a triangle and `title` at the left of `rect`. Returns true if the user clicked them, which folds or unfolds the
/// panel.
fn show_header(ui: &mut Ui, rect: Rect, title: &str, folded: bool) -> bool {
    let center = pos2(rect.left() + 5.0, rect.center().y);
    let points = if folded {
        [vec2(-3.0, -5.0), vec2(4.0, 0.0), vec2(-3.0, 5.0)]
    } else {
        [vec2(-5.0, -3.0), vec2(5.0, -3.0), vec2(0.0, 4.0)]
    };
    let at = (rect.left_center() + vec2(16.0, 0.0), Align2::LEFT_CENTER);
    let text = theme::elided_text(ui, at, title, theme::words(12.5), theme::TEXT, rect.width() - 16.0);
    let active = Rect::from_center_size(center, vec2(16.0, 20.0)).union(text);
    let response = ui.interact(active, ui.unique_id().with("fold"), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::WEAK };
    let points = points.map(|p| center + p).to_vec();
    ui.painter().add(egui::Shape::convex_polygon(points, color, egui::Stroke::NONE));
    response.explain(if folded { "Unfold" } else { "Fold" }).clicked()
}
