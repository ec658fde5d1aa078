//! Texts and buttons that several panels use.

use crate::prelude::*;

/// Lays out one line of text, cut at the panel's edge; if it is cut, the hover text shows all of it.
pub(crate) fn line(ui: &mut Ui, text: &str, color: Color32) -> Response {
    let label = Label::new(RichText::new(text).font(theme::words(12.0)).color(color)).truncate();
    let (at, galley, response) = label.show_tooltip_when_elided(false).layout_in_ui(ui);
    let response = response.named(Role::Label, text);
    let is_cut = galley.elided;
    ui.painter().galley(at, galley, color);
    if is_cut { response.explain(text) } else { response }
}

/// Lays out text in as many lines as it needs.
pub(crate) fn paragraph(ui: &mut Ui, text: &str, color: Color32) -> Response {
    ui.label(RichText::new(text).font(theme::words(12.0)).color(color))
}

/// Returns a button for one of several choices, which is marked if it is the `chosen` one.
pub(crate) fn choice_button(text: &str, chosen: bool) -> Button<'static> {
    // Only black can be read on the background of the chosen one.
    let color = if chosen { Color32::BLACK } else { theme::TEXT };
    let button = Button::new(RichText::new(text).color(color));
    if chosen { button.fill(theme::SELECT) } else { button }
}

/// Lays out a clickable word, with its right end at `at`. Returns true if the user clicked it.
pub(crate) fn link(ui: &mut Ui, at: Pos2, text: &str, hover: &str) -> bool {
    let galley = ui.painter().layout_no_wrap(text.to_owned(), theme::words(12.0), theme::SELECT);
    let rect = Align2::RIGHT_CENTER.anchor_size(at, galley.size());
    let response = ui.interact(rect.expand(3.0), ui.unique_id().with(("link", text)), Sense::click());
    let color = if response.hovered() { theme::STRONG } else { theme::SELECT };
    ui.painter().galley_with_override_text_color(rect.min, galley, color);
    response.named(Role::Button, text).explain(hover).clicked()
}

/// Lays `contents` out in `height` points, or in the height to which the user has dragged the lower edge of the contents.
pub(crate) fn resizable(ui: &mut Ui, name: &'static str, height: f32, contents: impl FnOnce(&mut Ui)) {
    let id = Id::unique(("height", name));
    let (chosen, drags) = ui.data(|data| data.get_temp::<(Option<f32>, u32)>(id)).unwrap_or_default();
    let height = chosen.unwrap_or(height).max(MIN_RESIZED_HEIGHT);
    // Another height has another identifier, since egui keeps the height that it has shown first.
    let panel = egui::Panel::top((name, drags, height.to_bits())).resizable(true).default_size(height);
    let panel = panel.min_size(MIN_RESIZED_HEIGHT).frame(egui::Frame::NONE);
    let room = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), MAX_HEIGHT));
    let shown = ui.scope_builder(UiBuilder::new().max_rect(room), |ui| {
        let shown = panel.show(ui, |ui| {
            contents(ui);
            ui.take_available_space();
        });
        shown.response.rect.height()
    });
    if (shown.inner - height).abs() > 0.5 && !ui.input(|i| i.pointer.any_down()) {
        ui.data_mut(|data| data.insert_temp(id, (Some(shown.inner), drags + 1)));
    }
}

/// A height in points that is larger than any panel, for layouts without a limit.
pub(crate) const MAX_HEIGHT: f32 = 100_000.0;
/// The least height in points to which a part of a panel can be resized.
const MIN_RESIZED_HEIGHT: f32 = 90.0;

/// Lays `contents` out with `margin` around them.
pub(crate) fn padded(ui: &mut Ui, margin: Margin, contents: impl FnOnce(&mut Ui)) {
    egui::Frame::new().inner_margin(margin).show(ui, contents);
}

/// Returns egui's identifier of the area that the panel with this name covers.
pub(crate) fn cover_id(name: &str) -> Id {
    Id::unique(("cover", name))
}
