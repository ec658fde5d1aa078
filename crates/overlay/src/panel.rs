//! The parts that all panels share: the entry in the list of panels, and the frame with its title bar and closing button.

use egui::{
    Align2, Button, Color32, Label, Margin, Pos2, Rect, Response, RichText, ScrollArea, Sense, Ui, UiBuilder,
    Vec2, pos2, vec2,
};

use super::place::{self, Panel, TitleBarChange};
use super::{Action, theme};

/// Height in points of a folded panel, and of a panel's title bar.
pub(crate) const HEADER_HEIGHT: f32 = 26.0;
/// Height in points below which no panel is laid out; its contents scroll.
pub(crate) const MIN_HEIGHT: f32 = 100.0;

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
    /// The requested size in points; the height is less if the contents are lower.
    pub size: Vec2,
    /// The least size in points in which the panel can be read; its contents scroll.
    pub min_size: Vec2,
    /// The corner of the window that the panel is placed next to.
    pub corner: Align2,
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

    /// Returns the hover text of the closing button.
    fn close_hover(&self) -> String {
        match (self.panel, self.key) {
            (Panel::Correction, _) => "Switch colour correction off (c)".to_owned(),
            (Panel::Scene, _) => "Close (reopen with the menu Panels)".to_owned(),
            (_, Some((key, _))) => format!("Close ({key})"),
            (_, None) => "Close".to_owned(),
        }
    }

    /// Lays the panel's frame out in `rect`, with the title `title`. Returns whether the user folded, unfolded or moved the
    /// panel by its title bar, and the space for its contents, which is `None` if the panel is `folded`.
    pub(crate) fn show_frame(
        &self,
        ui: &mut Ui,
        rect: Rect,
        title: &str,
        folded: bool,
        actions: &mut Vec<Action>,
    ) -> (TitleBarChange, Option<Ui>) {
        let fill = if folded { theme::PANEL } else { theme::PANEL.to_opaque() };
        let mut ui = ground(ui, rect, self.panel.name(), fill, theme::PAD);
        let head = rect.with_max_y(rect.top() + HEADER_HEIGHT);
        // The closing button stands at the right.
        let inner = head.shrink2(vec2(10.0, 3.0)).with_max_x(rect.right() - 28.0);
        let changes = title_bar(&mut ui, self.panel, (head, inner), title, self.about, folded);
        let at = Rect::from_min_size(pos2(rect.right() - 25.0, rect.top() + 2.0), vec2(22.0, 22.0));
        let close = ui.put(at, Button::new("\u{d7}").frame_when_inactive(false));
        if close.on_hover_text(self.close_hover()).clicked() {
            actions.push(self.action());
        }
        (changes, (!folded).then_some(ui))
    }
}

/// Returns the area below the title bar of the panel in `rect`.
pub(crate) fn contents_rect(rect: Rect) -> Rect {
    Rect::from_min_max(pos2(rect.left(), rect.top() + HEADER_HEIGHT), rect.max)
}

/// The space around the contents of most panels, in points.
pub(crate) const MARGIN: Margin = Margin { left: 8, right: 8, top: 0, bottom: 8 };

/// Lays `contents` out below the title bar of the panel in `rect`, with `margin` around them; they scroll if they are higher
/// than `rect`. Returns the height in points that the panel needs.
pub(crate) fn scroll_area(ui: &mut Ui, rect: Rect, margin: Margin, contents: impl FnOnce(&mut Ui)) -> f32 {
    let area = contents_rect(rect).shrink2(vec2(2.0, 0.0));
    let mut ui = ui.new_child(UiBuilder::new().id_salt("contents").max_rect(area));
    let area = ScrollArea::vertical().auto_shrink([false, true]);
    let shown = area.show(&mut ui, |ui| egui::Frame::new().inner_margin(margin).show(ui, contents));
    HEADER_HEIGHT + shown.content_size.y + 2.0
}

/// Lays out one line of text, cut at the panel's edge; the hover text then has all of it.
pub(crate) fn line(ui: &mut Ui, text: &str, color: Color32) -> Response {
    ui.add(Label::new(RichText::new(text).font(theme::words(12.0)).color(color)).truncate())
}

/// Lays out text in as many lines as it needs.
pub(crate) fn paragraph(ui: &mut Ui, text: &str, color: Color32) -> Response {
    ui.label(RichText::new(text).font(theme::words(12.0)).color(color))
}

/// Returns a button for a choice, which is marked if it is `chosen`.
pub(crate) fn choice_button(text: &str, chosen: bool) -> Button<'static> {
    // Only black can be read on the ground of the chosen one.
    let color = if chosen { Color32::BLACK } else { theme::TEXT };
    let button = Button::new(RichText::new(text).color(color));
    if chosen { button.fill(theme::SELECT) } else { button }
}

/// Lays out a clickable word, with its right end at `at`. Returns true if it was clicked.
pub(crate) fn link(ui: &mut Ui, at: Pos2, text: &str, hover: &str) -> bool {
    let galley = ui.painter().layout_no_wrap(text.to_owned(), theme::words(12.0), theme::SELECT);
    let rect = Align2::RIGHT_CENTER.anchor_size(at, galley.size());
    let response = ui.interact(rect.expand(3.0), ui.unique_id().with(("link", text)), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::SELECT };
    ui.painter().galley_with_override_text_color(rect.min, galley, color);
    response.on_hover_text(hover).clicked()
}

/// Lays out a clickable word in the title bar of the panel in `rect`, left of the closing button. Returns true if it was
/// clicked.
pub(crate) fn title_link(ui: &mut Ui, rect: Rect, text: &str, hover: &str) -> bool {
    link(ui, pos2(rect.right() - 34.0, rect.top() + HEADER_HEIGHT / 2.0), text, hover)
}

/// Draws the opaque ground of a panel that may cover others. Returns the space for its contents, with a margin.
pub(crate) fn opaque_ground(ui: &mut Ui, rect: Rect, id: &str) -> Ui {
    ground(ui, rect, id, theme::PANEL.to_opaque(), theme::PAD)
}

/// Draws the ground of the panel that `id` names, and keeps clicks on the panel from reaching the picture and the panels
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
/// whether the user folded, unfolded or moved the panel. `about` is an explanation in the hover text, which may be empty.
pub(crate) fn title_bar(
    ui: &mut Ui,
    panel: Panel,
    (bar, inner): (Rect, Rect),
    title: &str,
    about: &str,
    folded: bool,
) -> TitleBarChange {
    let (handle, moved) = place::make_drag_handle(ui, panel, bar);
    handle.on_hover_text(format!("{about}\n{}", place::TITLE_BAR_HOVER).trim_start());
    TitleBarChange { fold: show_header(ui, inner, title, folded), moved }
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
    response.on_hover_text(if folded { "Unfold" } else { "Fold" }).clicked()
}
