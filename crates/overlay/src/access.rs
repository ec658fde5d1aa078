//! Names and values for screen readers, in AccessKit's tree. egui's own widgets have names and values; widgets that the overlay
//! paints itself get them here.

use egui::{Rect, Response, Role, Sense, Ui, WidgetInfo};

/// Adds names and values for screen readers to [`Response`], the handle of a widget.
pub(crate) trait Access {
    /// Sets the name and the role of the widget, in place of the text on it.
    fn named(self, role: Role, name: &str) -> Self;
    /// Sets the value of the widget, such as the time of a variant. Calls `text` only while a screen reader is in use.
    fn valued(self, text: impl FnOnce() -> String) -> Self;
}

impl Access for Response {
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
}

/// Adds the name and the value of a number that is painted in `rect` for screen readers.
pub(crate) fn number(ui: &Ui, rect: Rect, name: &str, value: &str) -> Response {
    let response = ui.interact(rect, ui.unique_id().with(("number", name)), Sense::hover());
    response.named(Role::Status, name).valued(|| value.to_owned())
}

/// Adds the name and the value of a graph that is painted in `rect` for screen readers.
pub(crate) fn graph(ui: &Ui, rect: Rect, name: &str, value: &str) {
    let response = ui.interact(rect, ui.unique_id().with(("graph", name)), Sense::hover());
    response.named(Role::Image, name).valued(|| value.to_owned());
}
