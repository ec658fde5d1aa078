//! The controls in the strip: radius, menu of panels, and buttons.

use egui::{
    Align2, Button, Color32, CornerRadius, Popup, Rect, Response, RichText, Sense, Slider, Ui, pos2, vec2,
};

use super::open_panels::OpenPanels;
use super::{Action, ENTRIES, Entry, View, mouse, theme, words};
use box_filter::MAX_RADIUS;

/// Width in points of the buttons that change the radius.
const STEP_BUTTON_WIDTH: f32 = 22.0;
/// Width in points of the radius as text.
const VALUE_WIDTH: f32 = 48.0;
/// Width in points of the word before the slider of the radius.
const LABEL_WIDTH: f32 = 48.0;
/// The least and the greatest width of the slider of the radius, in points.
const SLIDER_WIDTHS: (f32, f32) = (48.0, 110.0);
/// The label of the button that opens the menu of panels.
const MENU_LABEL: &str = "Panels";
/// Width in points of a line of the menu of panels.
const MENU_LINE_WIDTH: f32 = 170.0;
/// Text and hover text of the menu's line that moves the column, while the column is at the right.
const RIGHT: (&str, &str) = ("Dock to the left", "Move the panels to the left side of the window");
/// Text and hover text of that line while the column is at the left.
const LEFT: (&str, &str) = ("Dock to the right", "Move the panels to the right side of the window");
/// Space in points around a button's text.
const BUTTON_PADDING: f32 = 11.0;

/// The part of the overlay's state that the controls show.
pub(crate) struct ControlsState<'a> {
    /// True unless the overlay is hidden.
    pub visible: bool,
    /// True if the table of keys is open.
    pub keys_open: bool,
    pub panels: &'a OpenPanels,
    /// True if the column of panels is at the left side.
    pub column_left: bool,
}

/// A button of the controls, with its text and width.
struct TextButton {
    text: &'static str,
    /// The width in points.
    width: f32,
    hover: &'static str,
    action: Action,
    /// True to draw the button as active, because the part that it opens is open.
    on: bool,
    /// The button's rank: if not all buttons fit, those with the lowest rank are left out.
    rank: u8,
}

/// Returns the width in points of a button with this text.
fn button_width(ui: &Ui, text: &str) -> f32 {
    ui.painter().layout_no_wrap(text.to_owned(), theme::words(12.5), theme::TEXT).size().x + BUTTON_PADDING
}

/// Returns the buttons right of the radius, from left to right.
fn buttons(ui: &Ui, state: &ControlsState) -> Vec<TextButton> {
    let button = |text, hover, action, on, rank| {
        let width = button_width(ui, text);
        TextButton { text, width, hover, action, on, rank }
    };
    let (hide, about) = match state.visible {
        true => ("Hide", "Hide the overlay (i). The mouse at the lower edge shows these controls again."),
        false => ("Show", "Show the overlay (i)"),
    };
    vec![
        button("Open", "Open a movie (o)", Action::AskForMovie, false, 4),
        button(hide, about, Action::ToggleOverlay, false, 8),
        button("?", "All keys (?, F1)", Action::ToggleKeys, state.keys_open, 7),
        button("Quit", "Quit (q)", Action::Quit, false, 6),
    ]
}

/// Lays the radius out at the left of `row`, the buttons at its right.
pub(crate) fn show(ui: &mut Ui, row: Rect, view: &View, state: &ControlsState, actions: &mut Vec<Action>) {
    let mut buttons = buttons(ui, state);
    // Panels cannot be seen while the overlay is hidden.
    let menu = if state.visible { button_width(ui, MENU_LABEL) } else { 0.0 };
    let needed = |buttons: &[TextButton]| menu + buttons.iter().map(|button| button.width).sum::<f32>();
    let least = 2.0 * STEP_BUTTON_WIDTH + VALUE_WIDTH + 20.0;
    while needed(&buttons) + least + SLIDER_WIDTHS.0 > row.width() && buttons.len() > 2 {
        let lowest = buttons.iter().map(|button| button.rank).min();
        buttons.retain(|button| Some(button.rank) != lowest);
    }
    let mut left = row.right() - needed(&buttons);
    show_radius(ui, row.with_max_x(left - 8.0), view, actions);
    if state.visible {
        let rect = Rect::from_min_size(pos2(left, row.top()), vec2(menu, row.height()));
        left += menu;
        show_panel_menu(ui, rect, view, state, actions);
    }
    for button in buttons {
        let rect = Rect::from_min_size(pos2(left, row.top()), vec2(button.width, row.height()));
        left += button.width;
        if text_button(ui, rect, button.text, button.on).on_hover_text(button.hover).clicked() {
            actions.push(button.action);
        }
    }
}

/// Lays out a button without a frame.
fn text_button(ui: &mut Ui, rect: Rect, text: &str, on: bool) -> Response {
    let response = ui.interact(rect, ui.unique_id().with(text), Sense::click());
    if response.hovered() {
        ui.painter().rect_filled(rect.shrink(1.0), CornerRadius::same(4), Color32::from_white_alpha(22));
    }
    let color = match (on, response.hovered()) {
        (true, _) => theme::SELECT,
        (_, true) => theme::STRONG,
        _ => theme::TEXT,
    };
    ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, theme::words(12.5), color);
    response
}

/// Lays out the button of the menu of panels, and the menu while it is open: a line for each panel with its key, open ones
/// marked.
fn show_panel_menu(ui: &mut Ui, rect: Rect, view: &View, state: &ControlsState, actions: &mut Vec<Action>) {
    let is_shown = |entry: &Entry| state.panels.is_shown(entry.panel, view);
    let response = text_button(ui, rect, MENU_LABEL, ENTRIES.iter().any(is_shown));
    Popup::menu(&response).show(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.set_min_width(MENU_LINE_WIDTH);
        for panel in ENTRIES.iter().filter(|panel| panel.is_available(view.scene.is_some())) {
            let (name, hover) = panel.menu;
            let color = if is_shown(panel) { theme::SELECT } else { theme::TEXT };
            let line = Button::new(RichText::new(name).color(color)).frame_when_inactive(false);
            let line =
                line.min_size(vec2(MENU_LINE_WIDTH, 0.0)).shortcut_text(panel.key.map_or("", |(key, _)| key));
            if ui.add(line).on_hover_text(hover).clicked() {
                actions.push(panel.action());
            }
        }
        ui.separator();
        let (text, hover) = if state.column_left { LEFT } else { RIGHT };
        let line = Button::new(text).frame_when_inactive(false).min_size(vec2(MENU_LINE_WIDTH, 0.0));
        if ui.add(line).on_hover_text(hover).clicked() {
            actions.push(Action::MoveColumn);
        }
    });
    response.on_hover_text("Open or close panels");
}

/// Lays out the radius: its name, buttons, a slider and the value, as far as there is room.
fn show_radius(ui: &mut Ui, room: Rect, view: &View, actions: &mut Vec<Action>) {
    let over = ui.interact(room, ui.unique_id().with("wheel over the radius"), Sense::hover());
    let steps = mouse::wheel_steps(ui, &over);
    if steps != 0 {
        actions.push(Action::SetRadius(view.radius.saturating_add_signed(steps).min(MAX_RADIUS)));
    }
    let mut spare = room.width() - 2.0 * STEP_BUTTON_WIDTH - VALUE_WIDTH - 12.0;
    let mut x = room.left();
    if spare >= LABEL_WIDTH + SLIDER_WIDTHS.0 {
        let at = pos2(x, room.center().y);
        ui.painter().text(at, Align2::LEFT_CENTER, "Radius", theme::words(12.5), theme::TEXT);
        let area = Rect::from_min_size(pos2(x, room.top()), vec2(LABEL_WIDTH, room.height()));
        ui.interact(area, ui.unique_id().with("radius"), Sense::hover()).on_hover_text(words::RADIUS);
        x += LABEL_WIDTH;
        spare -= LABEL_WIDTH;
    }
    let mut step = |ui: &mut Ui, x: f32, text: &str, enabled: bool, to: u32| {
        let rect = Rect::from_min_size(pos2(x, room.top()), vec2(STEP_BUTTON_WIDTH, room.height()));
        let button = Button::new(egui::RichText::new(text).font(theme::figures(12.5))).min_size(rect.size());
        ui.add_enabled_ui(enabled, |ui| {
            if ui.put(rect, button).on_hover_text(words::RADIUS).clicked() {
                actions.push(Action::SetRadius(to));
            }
        });
    };
    step(ui, x, "-", view.radius > 0, view.radius.saturating_sub(1));
    x += STEP_BUTTON_WIDTH + 4.0;
    let mut wanted = None;
    if spare >= SLIDER_WIDTHS.0 {
        let width = spare.min(SLIDER_WIDTHS.1);
        let rect = Rect::from_min_size(pos2(x, room.top()), vec2(width, room.height()));
        ui.spacing_mut().slider_width = width;
        let mut radius = view.radius.min(MAX_RADIUS);
        let slider = ui.put(rect, Slider::new(&mut radius, 0..=MAX_RADIUS).show_value(false));
        if slider.on_hover_text(words::window_text(view.radius)).changed() {
            wanted = Some(radius);
        }
        x += width + 4.0;
    }
    step(ui, x, "+", view.radius < MAX_RADIUS, view.radius + 1);
    x += STEP_BUTTON_WIDTH + 7.0;
    let text = format!("{} px", view.radius);
    ui.painter().text(
        pos2(x, room.center().y),
        Align2::LEFT_CENTER,
        text,
        theme::figures(12.5),
        theme::STRONG,
    );
    actions.extend(wanted.map(Action::SetRadius));
}
