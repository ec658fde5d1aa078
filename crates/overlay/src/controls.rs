//! The controls in the strip along the bottom of the window: radius, menus, and buttons.

use egui::{
    Align2, Button, Color32, CornerRadius, Popup, Rect, Response, RichText, Role, Sense, Slider, Ui, pos2,
    vec2,
};

use super::bindings::key_of;
use super::open_panels::OpenPanels;
use super::panel::ColumnPanel;
use super::panel_list::COLUMN_PANELS;
use super::pass::Pass;
use super::{Action, View, access, mouse, theme, words};
use crate::access::Access as _;
use crate::hover::Explain as _;
use box_filter::MAX_RADIUS;

/// Width in points of the buttons that change the radius.
const STEP_BUTTON_WIDTH: f32 = 22.0;
/// Width in points of the number that shows the radius.
const VALUE_WIDTH: f32 = 48.0;
/// Width in points of the word "radius" before its slider.
const LABEL_WIDTH: f32 = 48.0;
/// The least and the greatest width of the slider of the radius, in points.
const SLIDER_WIDTHS: (f32, f32) = (48.0, 110.0);
/// Label and hover text of the button that opens the menu of panels.
const PANELS_LABEL: (&str, &str) = ("Panels", "Open or close panels");
/// Label and hover text of the button that opens the menu of actions on the picture.
const PICTURE_LABEL: (&str, &str) = ("Picture", "Wipe, scenes, saving");
/// Width in points of a line of a menu.
const MENU_LINE_WIDTH: f32 = 190.0;
/// Text and hover text of the menu's line that moves the column, while the column is at the right.
const RIGHT: (&str, &str) = ("Dock to the left", "Move the panels to the left side of the window");
/// Text and hover text of the menu's line that moves the column, while the column is at the left.
const LEFT: (&str, &str) = ("Dock to the right", "Move the panels to the right side of the window");
/// Space in points around a button's text.
const BUTTON_PADDING: f32 = 11.0;

/// The part of the overlay's state on which the controls along the bottom of the window depend.
pub(crate) struct ControlsState<'a> {
    /// True unless the overlay is hidden.
    pub visible: bool,
    /// True if the table of keys is open.
    pub keys_open: bool,
    pub panels: &'a OpenPanels,
    /// True if the column of panels is at the left side of the window.
    pub column_left: bool,
}

/// A button of the controls, or a line of one of their menus.
struct Item {
    text: &'static str,
    hover: &'static str,
    action: Action,
    /// True if the part or setting that the item switches is on; the item is then marked.
    on: bool,
}

fn button_width(ui: &Ui, text: &str) -> f32 {
    ui.painter().layout_no_wrap(text.to_owned(), theme::words(12.5), theme::TEXT).size().x + BUTTON_PADDING
}

/// Returns the buttons right of the radius, from left to right, each with its rank: if not all buttons fit, those with the
/// lowest rank are left out.
fn buttons(state: &ControlsState) -> Vec<(Item, u8)> {
    let button = |text, hover, action, on, rank| (Item { text, hover, action, on }, rank);
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

/// Lays out the radius at the left of `row`, and the buttons at its right.
pub(crate) fn show(ui: &mut Ui, row: Rect, state: &ControlsState, pass: &mut Pass) {
    let view = pass.view;
    let mut buttons = buttons(state);
    // The menus belong to parts that cannot be seen while the overlay is hidden.
    let mut menus = if state.visible { vec![PANELS_LABEL.0, PICTURE_LABEL.0] } else { Vec::new() };
    let needed = |ui: &Ui, menus: &[&'static str], buttons: &[(Item, u8)]| {
        let texts = menus.iter().copied().chain(buttons.iter().map(|(button, _)| button.text));
        texts.map(|text| button_width(ui, text)).sum::<f32>()
    };
    let least = 2.0 * STEP_BUTTON_WIDTH + VALUE_WIDTH + 20.0;
    let room = row.width() - least - SLIDER_WIDTHS.0;
    while needed(ui, &menus, &buttons) > room && buttons.len() > 2 {
        let lowest = buttons.iter().map(|(_, rank)| *rank).min();
        buttons.retain(|(_, rank)| Some(*rank) != lowest);
    }
    if needed(ui, &menus, &buttons) > room {
        menus.truncate(1);
    }
    let mut left = row.right() - needed(ui, &menus, &buttons);
    show_radius(ui, row.with_max_x(left - 8.0), pass);
    for label in menus {
        let rect = Rect::from_min_size(pos2(left, row.top()), vec2(button_width(ui, label), row.height()));
        left = rect.right();
        let requested = match label == PANELS_LABEL.0 {
            true => show_menu(ui, rect, PANELS_LABEL, panel_lines(view, state)),
            false => show_menu(ui, rect, PICTURE_LABEL, picture_lines(view)),
        };
        pass.actions.extend(requested);
    }
    for (Item { text, hover, action, on }, _) in buttons {
        let rect = Rect::from_min_size(pos2(left, row.top()), vec2(button_width(ui, text), row.height()));
        left = rect.right();
        if text_button(ui, rect, text, on).explain(hover).clicked() {
            pass.actions.push(action);
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
    response.named(Role::Button, if text == "?" { "Keys" } else { text })
}

/// Returns the lines of the menu of panels: one for each panel, marked if the panel is open, and one that moves the column of
/// panels to the other side.
fn panel_lines(view: &View, state: &ControlsState) -> Vec<Item> {
    let line = |panel: &&dyn ColumnPanel| {
        let (text, hover) = panel.entry().menu;
        Item { text, hover, action: panel.action(), on: panel.is_shown(view, state.panels) }
    };
    let panels = COLUMN_PANELS.iter().filter(|panel| panel.is_available(view));
    let (text, hover) = if state.column_left { LEFT } else { RIGHT };
    let side = Item { text, hover, action: Action::MoveColumn, on: false };
    panels.map(line).chain([side]).collect()
}

/// Returns the lines of the menu of actions on the picture.
fn picture_lines(view: &View) -> Vec<Item> {
    let line = |text, hover, action, on| Item { text, hover, action, on };
    let is_muted = view.sound.is_some_and(|sound| sound.is_muted);
    let is_difference = view.wipe.is_some_and(|wipe| wipe.difference.is_some());
    vec![
        line("Wipe", "Show two filters side by side", Action::ToggleWipe, view.wipe.is_some()),
        line("Swap sides", "Exchange the filters of a wipe's sides", Action::SwapSides, false),
        line("Difference", "Map where the sides of a wipe differ", Action::ToggleDifference, is_difference),
        line("Mute", "Switch the sound off or on", Action::ToggleMute, is_muted),
        line("Next track", "Play the movie's next track of sound", Action::NextTrack, false),
        line("Next scene", "Movie, test card or cloth", Action::NextScene, view.scene.is_some()),
        line("Next device", "Filter with the next OpenCL device", Action::NextDevice, false),
        line("Fullscreen", "Enter or leave fullscreen", Action::ToggleFullscreen, false),
        line("Talk", "Show the ladder in large type, for a projector", Action::ToggleTalk, false),
        line("Save frame", "Save the filtered picture as a PNG", Action::SaveFrame, false),
        line("Save window", "Save the window with the overlay as a PNG", Action::SaveWindow, false),
        line("Export", "Save the statistics and a trace", Action::ExportStats, false),
    ]
}

/// Lays out the button of a menu in `rect`, and the menu with these lines while it is open. Returns the action of the line that
/// was clicked.
fn show_menu(
    ui: &mut Ui,
    rect: Rect,
    (label, hover): (&'static str, &str),
    lines: Vec<Item>,
) -> Option<Action> {
    let mut requested = None;
    let response = text_button(ui, rect, label, lines.iter().any(|line| line.on));
    Popup::menu(&response).show(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.set_min_width(MENU_LINE_WIDTH);
        for Item { text, hover, action, on } in lines {
            let color = if on { theme::SELECT } else { theme::TEXT };
            let line = Button::new(RichText::new(text).color(color)).frame_when_inactive(false);
            let line = line.min_size(vec2(MENU_LINE_WIDTH, 0.0)).shortcut_text(key_of(&action));
            let line = ui.add(line).named(Role::MenuItemCheckBox, text);
            ui.ctx().accesskit_node_builder(line.id, |node| node.set_toggled(on.into()));
            if line.explain(hover).clicked() {
                requested = Some(action);
            }
        }
    });
    response.explain(hover);
    requested
}

/// Lays out the radius: its name, buttons, a slider and the value, as far as `room` is wide enough for them.
fn show_radius(ui: &mut Ui, room: Rect, pass: &mut Pass) {
    let (view, actions) = (pass.view, &mut pass.actions);
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
        ui.interact(area, ui.unique_id().with("radius"), Sense::hover()).explain(words::RADIUS);
        x += LABEL_WIDTH;
        spare -= LABEL_WIDTH;
    }
    let mut step = |ui: &mut Ui, x: f32, (text, name): (&str, &str), enabled: bool, to: u32| {
        let rect = Rect::from_min_size(pos2(x, room.top()), vec2(STEP_BUTTON_WIDTH, room.height()));
        let button = Button::new(egui::RichText::new(text).font(theme::figures(12.5))).min_size(rect.size());
        ui.add_enabled_ui(enabled, |ui| {
            if ui.put(rect, button).named(Role::Button, name).explain(words::RADIUS).clicked() {
                actions.push(Action::SetRadius(to));
            }
        });
    };
    step(ui, x, ("-", "Smaller radius"), view.radius > 0, view.radius.saturating_sub(1));
    x += STEP_BUTTON_WIDTH + 4.0;
    let mut wanted = None;
    if spare >= SLIDER_WIDTHS.0 {
        let width = spare.min(SLIDER_WIDTHS.1);
        let rect = Rect::from_min_size(pos2(x, room.top()), vec2(width, room.height()));
        ui.spacing_mut().slider_width = width;
        let mut radius = view.radius.min(MAX_RADIUS);
        let slider = ui.put(rect, Slider::new(&mut radius, 0..=MAX_RADIUS).show_value(false));
        if slider.named(Role::Slider, "Radius").explain(words::window_text(view.radius)).changed() {
            wanted = Some(radius);
        }
        x += width + 4.0;
    }
    step(ui, x, ("+", "Larger radius"), view.radius < MAX_RADIUS, view.radius + 1);
    x += STEP_BUTTON_WIDTH + 7.0;
    let (at, text) = (pos2(x, room.center().y), format!("{} px", view.radius));
    let place = ui.painter().text(at, Align2::LEFT_CENTER, &text, theme::figures(12.5), theme::STRONG);
    access::number(ui, place, "Radius of the box", &text);
    actions.extend(wanted.map(Action::SetRadius));
}
