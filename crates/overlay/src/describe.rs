//! Descriptions of widgets: hover texts, and names and values in AccessKit's tree for screen readers. egui's own widgets have names
//! and values; widgets that the overlay paints itself get them here. A hover text is shown beside the part of the overlay that it
//! explains, so that it covers neither the next rows nor the filter's time; or at the pointer if that would be far away.

use egui::{
    Align2, Color32, Context, Id, PopupAnchor, Pos2, Rect, RectAlign, Response, Role, Sense, Tooltip, Ui,
    Vec2, WidgetInfo, WidgetText, vec2,
};

use crate::action::Action;
use crate::theme;

/// Distance in points between a hover text and the part that it explains.
pub(crate) const GAP: f32 = 4.0;

/// Adds names, values, hover texts and actions to [`Response`], the handle of a widget.
pub(crate) trait Describe {
    /// Sets the name and the role of the widget, in place of the text on it.
    fn named(self, role: Role, name: &str) -> Self;
    /// Sets the value of the widget, such as the time of a variant. Calls `text` only while a screen reader is in use.
    fn valued(self, text: impl FnOnce() -> String) -> Self;
    /// Shows `text` while the pointer is over the widget.
    fn explain(self, text: impl Into<WidgetText>) -> Self;
    /// Shows `contents` while the pointer is over the widget.
    fn explain_by(self, contents: impl FnOnce(&mut Ui)) -> Self;
    /// Shows `contents` while the pointer is over the widget, beside the part of the overlay that contains the pointer, at the
    /// pointer's height if there is room.
    fn explain_at_pointer(self, contents: impl FnOnce(&mut Ui)) -> Self;
    /// Adds `action` to `actions` if the user has clicked the widget.
    fn on_click(self, action: Action, actions: &mut Vec<Action>);
}

impl Describe for Response {
    fn named(self, role: Role, name: &str) -> Self {
        self.widget_info(|| WidgetInfo::labeled(role, self.enabled(), name));
        self
    }

    fn valued(self, text: impl FnOnce() -> String) -> Self {
        self.ctx.accesskit_node_builder(self.id, |node| {
            let text = text();
            // AT-SPI, the interface of Linux, reads only numbers as values.
            node.set_description(text.clone());
            node.set_value(text);
        });
        self
    }

    fn explain(self, text: impl Into<WidgetText>) -> Self {
        let text = text.into();
        if self.ctx.has_accesskit_node(self.id) {
            self.ctx.accesskit_node_builder(self.id, |node| {
                if node.description().is_none() {
                    node.set_description(text.text());
                }
            });
        }
        self.explain_by(|ui| drop(ui.label(text)))
    }

    fn explain_by(self, contents: impl FnOnce(&mut Ui)) -> Self {
        show_beside(&self, self.rect, contents);
        self
    }

    fn explain_at_pointer(self, contents: impl FnOnce(&mut Ui)) -> Self {
        let at = self.hover_pos().map_or(self.rect, |at| Rect::from_center_size(at, Vec2::splat(2.0)));
        show_beside(&self, at, contents);
        self
    }

    fn on_click(self, action: Action, actions: &mut Vec<Action>) {
        actions.extend(self.clicked().then_some(action));
    }
}

/// Adds the name and the value of a number that is painted in `rect` for screen readers.
pub(crate) fn number(ui: &Ui, rect: Rect, name: &str, value: &str) -> Response {
    painted(ui, rect, Role::Status, name, value)
}

/// Adds the name and the value of what is painted in `rect` for screen readers.
pub(crate) fn painted(ui: &Ui, rect: Rect, role: Role, name: &str, value: &str) -> Response {
    let response = ui.interact(rect, ui.unique_id().with(("painted", name)), Sense::hover());
    response.named(role, name).valued(|| value.to_owned())
}

/// Draws a text as [`theme::elided_text`] does, and adds it for screen readers under this name.
pub(crate) fn text(
    ui: &Ui,
    name: &str,
    at: (Pos2, Align2, f32),
    text: &str,
    style: (f32, Color32),
) -> Response {
    number(ui, theme::elided_text(ui, at, text, style), name, text)
}

/// The cost per square point of covering a part of the overlay with a hover text: of the headline, which has the filter's time, or
/// of the names in the ladder; and of another part.
pub(crate) const COVER_COSTS: [f32; 2] = [10.0, 1.0];

/// Stores the rectangles of the parts of the overlay in this pass, each with the cost per square point of covering it with a hover
/// text.
pub(crate) fn set_parts(ctx: &Context, parts: Vec<(Rect, f32)>) {
    ctx.data_mut(|data| data.insert_temp(Id::unique("parts"), parts));
}

/// Returns the rectangles and costs that [`set_parts`] has stored.
pub(crate) fn parts(ctx: &Context) -> Vec<(Rect, f32)> {
    ctx.data(|data| data.get_temp::<Vec<(Rect, f32)>>(Id::unique("parts"))).unwrap_or_default()
}

/// Shows `contents` while the pointer is over the widget, beside the part of the overlay that contains the rectangle `at`.
fn show_beside(widget: &Response, at: Rect, contents: impl FnOnce(&mut Ui)) {
    if !widget.enabled() || !Tooltip::should_show_tooltip(widget, false) {
        return;
    }
    let mut tooltip = Tooltip::for_widget(widget);
    let size = tooltip.popup.get_expected_size().unwrap_or(vec2(340.0, 90.0));
    let parts = parts(&widget.ctx);
    let pointer = widget.hover_pos().unwrap_or(at.center());
    let (anchor, align) = place(at, pointer, size, widget.ctx.content_rect(), &parts);
    tooltip.popup =
        tooltip.popup.anchor(PopupAnchor::ParentRect(anchor)).align(align).align_alternatives(&[]);
    tooltip.gap(GAP).show(contents);
}

/// Returns the rectangle beside which to show a hover text of `size` for a widget at `widget`, and the side of that rectangle:
/// left or right of the part among `parts` that contains the widget, above or below that part or the widget, also left of a
/// part that is read. Selects the place with the least cost. The cost grows with the area of `parts` that the text would
/// cover, with the text's area outside `window`, and with its distance from `pointer`.
pub(crate) fn place(
    widget: Rect,
    pointer: Pos2,
    size: Vec2,
    window: Rect,
    parts: &[(Rect, f32)],
) -> (Rect, RectAlign) {
    let is_home = |part: &&(Rect, f32)| part.0.contains(widget.center());
    let home = parts.iter().find(is_home).map_or(widget, |part| part.0);
    let beside = Rect::from_x_y_ranges(home.x_range(), widget.y_range());
    let column = Rect::from_x_y_ranges(widget.x_range(), home.y_range());
    // Where the text begins or ends at the pointer.
    let at_pointer = Rect::from_x_y_ranges(pointer.x..=pointer.x, widget.y_range());
    let sides = [RectAlign::LEFT_START, RectAlign::RIGHT_START].map(|side| (beside, side));
    let ends = [RectAlign::TOP_START, RectAlign::BOTTOM_START, RectAlign::TOP_END, RectAlign::BOTTOM_END];
    let places = [column, widget, at_pointer].into_iter().flat_map(|at| ends.map(|side| (at, side)));
    // Left of a part that is read, such as the names in the ladder.
    let is_read = |part: &&(Rect, f32)| part.1 > COVER_COSTS[1];
    let beside_parts = parts.iter().filter(is_read).flat_map(|(part, _)| {
        let x = part.left() - GAP;
        let at = Rect::from_x_y_ranges(x..=x, home.y_range());
        [RectAlign::TOP_END, RectAlign::BOTTOM_END].map(|side| (at, side))
    });
    let places = places.chain(beside_parts);
    let area = |rect: Rect| if rect.is_positive() { rect.area() } else { 0.0 };
    let cost = |(anchor, align): &(Rect, RectAlign)| {
        let rect = align.align_rect(anchor, size, GAP);
        let outside = area(rect) - area(rect.intersect(window));
        // The names beside a widget of the ladder may have no other place for its text.
        let parts = parts.iter().filter(|(part, _)| *part == home || !home.contains_rect(*part));
        let covered: f32 = parts.map(|(part, cost)| cost * area(rect.intersect(*part))).sum();
        // A text 150 points away costs as much as the covered rows of a usual one. A text that does not fit into the window is
        // moved, and would cover the widget that it explains.
        let distance = 180.0 * rect.distance_to_pos(pointer);
        4.0 * outside + covered + distance
    };
    let best = sides.into_iter().chain(places).min_by(|a, b| cost(a).total_cmp(&cost(b)));
    best.unwrap_or((widget, RectAlign::RIGHT_START))
}
