//! What the panels have in common: the ground they lie on, a title that folds and moves them, a button that closes them.

use egui::{Align2, Margin, Rect, ScrollArea, Sense, Ui, UiBuilder, pos2, vec2};

use super::place::{self, Panel, Title};
use super::{Action, theme};

/// Height of a panel that is folded, and of the title of one with a [`Frame`].
pub(crate) const HEADER: f32 = 26.0;

/// What is round the contents of a panel that can be closed.
pub(crate) struct Frame<'a> {
    /// Which panel.
    pub panel: Panel,
    /// Its name in egui.
    pub id: &'a str,
    /// Its title.
    pub name: &'a str,
    /// What the title's hover text says.
    pub hover: &'a str,
    /// What the closing button's hover text says, and what the button does.
    pub close: (&'a str, Action),
}

impl Frame<'_> {
    /// Lays the frame out in `rect`. Returns what was done with the title, and a space for the contents, which go
    /// [`below`] it; none in a panel that is folded.
    pub(crate) fn show(
        self,
        ui: &mut Ui,
        rect: Rect,
        folded: bool,
        actions: &mut Vec<Action>,
    ) -> (Title, Option<Ui>) {
        let (hover, action) = self.close;
        let close = |ui: &mut Ui| {
            if close(ui, rect, hover) {
                actions.push(action);
            }
        };
        if folded {
            cover(ui, rect, self.id);
            let title = self::folded(ui, rect, self.panel, self.name);
            close(ui);
            return (title, None);
        }
        let mut ui = over(ui, rect, self.id);
        let head = rect.with_max_y(rect.top() + HEADER);
        let (response, mut title) = place::handle(&ui, self.panel, head, rect.min);
        response.on_hover_text(self.hover);
        title.fold = header(&mut ui, head.shrink2(vec2(10.0, 3.0)), self.name, false);
        close(&mut ui);
        (title, Some(ui))
    }

    /// The same with these contents, which scroll where it is too low. Returns what was done with the title, and the height that
    /// the panel would like to have.
    pub(crate) fn around(
        self,
        ui: &mut Ui,
        rect: Rect,
        folded: bool,
        actions: &mut Vec<Action>,
        contents: impl FnOnce(&mut Ui, &mut Vec<Action>),
    ) -> (Title, f32) {
        let (title, inner) = self.show(ui, rect, folded, actions);
        let Some(mut ui) = inner else { return (title, HEADER) };
        let margin = Margin { left: 8, right: 8, top: 0, bottom: 8 };
        let height = scrolled(&mut ui, rect, |ui| {
            egui::Frame::new().inner_margin(margin).show(ui, |ui| contents(ui, actions));
        });
        (title, HEADER + height + 2.0)
    }
}

/// The room below the title of the panel in `rect`.
pub(crate) fn below(rect: Rect) -> Rect {
    Rect::from_min_max(pos2(rect.left(), rect.top() + HEADER), rect.max)
}

/// Contents [`below`] the title of the panel in `rect`, with a scroll bar where it is too low. Returns their height.
pub(crate) fn scrolled(ui: &mut Ui, rect: Rect, contents: impl FnOnce(&mut Ui)) -> f32 {
    let area = below(rect).shrink2(vec2(2.0, 0.0));
    let mut ui = ui.new_child(UiBuilder::new().id_salt("contents").max_rect(area));
    let shown = ScrollArea::vertical().auto_shrink([false, true]).show(&mut ui, contents);
    shown.content_size.y
}

/// A word in the title of the panel in `rect` that can be clicked, before the button that closes it; whether it was.
pub(crate) fn link(ui: &mut Ui, rect: Rect, text: &str, hover: &str) -> bool {
    let galley = ui.painter().layout_no_wrap(text.to_owned(), theme::words(12.0), theme::SELECT);
    let at = pos2(rect.right() - 34.0 - galley.size().x, rect.top() + HEADER / 2.0 - galley.size().y / 2.0);
    let area = Rect::from_min_size(at, galley.size());
    let response = ui.interact(area.expand(3.0), ui.unique_id().with("link"), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::SELECT };
    ui.painter().galley_with_override_text_color(at, galley, color);
    response.on_hover_text(hover).clicked()
}

/// A space with a margin in a panel that may lie over others: nothing shines through.
pub(crate) fn over(ui: &mut Ui, rect: Rect, id: &str) -> Ui {
    cover(ui, rect, id);
    theme::ground(ui.painter(), rect, theme::PANEL.to_opaque());
    let mut ui = ui.new_child(UiBuilder::new().id_salt(id).max_rect(rect.shrink(theme::PAD)));
    ui.set_clip_rect(rect);
    ui
}

/// Keeps the pointer from what lies below a panel.
pub(crate) fn cover(ui: &Ui, rect: Rect, id: &str) {
    ui.interact(rect, cover_id(id), Sense::click_and_drag());
}

/// What covers that panel, in egui.
pub(crate) fn cover_id(id: &str) -> egui::Id {
    egui::Id::unique(("cover", id))
}

/// A panel of which only the title is shown.
pub(crate) fn folded(ui: &mut Ui, rect: Rect, panel: Panel, name: &str) -> Title {
    theme::ground(ui.painter(), rect, theme::PANEL);
    let (_, mut title) = place::handle(ui, panel, rect, rect.min);
    // The button that closes it stands at the right.
    title.fold = header(ui, rect.shrink2(vec2(10.0, 3.0)).with_max_x(rect.right() - 28.0), name, true);
    title
}

/// A triangle, and `title` beside it, at the left of `rect`; whether it was clicked.
pub(crate) fn header(ui: &mut Ui, rect: Rect, title: &str, folded: bool) -> bool {
    let center = pos2(rect.left() + 5.0, rect.center().y);
    let points = if folded {
        [vec2(-3.0, -5.0), vec2(4.0, 0.0), vec2(-3.0, 5.0)]
    } else {
        [vec2(-5.0, -3.0), vec2(5.0, -3.0), vec2(0.0, 4.0)]
    };
    let text = pos2(rect.left() + 16.0, rect.center().y);
    let galley = theme::elided(ui, title, theme::words(12.5), theme::TEXT, rect.right() - text.x);
    let text = Align2::LEFT_CENTER.anchor_size(text, galley.size());
    ui.painter().galley(text.min, galley, theme::TEXT);
    let active = Rect::from_center_size(center, vec2(16.0, 20.0)).union(text);
    let response = ui.interact(active, ui.unique_id().with("fold"), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::WEAK };
    let points = points.map(|p| center + p).to_vec();
    ui.painter().add(egui::Shape::convex_polygon(points, color, egui::Stroke::NONE));
    response.on_hover_text(if folded { "Unfold" } else { "Fold" }).clicked()
}

/// A button that closes the panel in `rect`, in its upper right corner; whether it was clicked.
fn close(ui: &mut Ui, rect: Rect, hover: &str) -> bool {
    let at = Rect::from_min_size(pos2(rect.right() - 25.0, rect.top() + 2.0), vec2(22.0, 22.0));
    let button = egui::Button::new("\u{d7}").frame_when_inactive(false);
    ui.put(at, button).on_hover_text(hover).clicked()
}
