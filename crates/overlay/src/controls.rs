//! The controls in the strip along the bottom of the window: the filter's parameter, menus, and buttons.

use egui::Popup;

use crate::bindings::key_of;
use crate::devices::DEVICES;
use crate::filters::FILTERS;
use crate::open_panels::OpenPanels;
use crate::panel::ColumnPanel;
use crate::panel_list::COLUMN_PANELS;
use crate::parameters;
use crate::prelude::*;

/// Width in points of a line of a menu.
const MENU_LINE_WIDTH: f32 = 190.0;
/// Text and hover text of the menu's line that moves the column, while the column is at the right.
const RIGHT: (&str, &str) = ("Dock to the left", "Move the panels to the left side of the window");
/// Text and hover text of the menu's line that moves the column, while the column is at the left.
const LEFT: (&str, &str) = ("Dock to the right", "Move the panels to the right side of the window");

/// The part of the overlay's state on which the controls along the bottom of the window depend.
pub(crate) struct ControlsState<'a> {
    /// True unless the overlay is hidden.
    pub visible: bool,
    /// True if the table of keys is open.
    pub keys_open: bool,
    pub panels: &'a OpenPanels,
    /// True if the column of panels is at the left side of the window.
    pub column_left: bool,
    /// True if the filter's parameters are in a group above the strip.
    pub has_group: bool,
}

/// A line of a menu: its text, its hover text, its action, and true if the part or setting that it switches is on; the line is
/// then marked.
type Line = (&'static str, &'static str, Action, bool);

fn button_width(ui: &Ui, text: &str) -> f32 {
    // Space in points around a button's text.
    ui.painter().layout_no_wrap(text.to_owned(), theme::words(12.5), theme::TEXT).size().x + 11.0
}

/// Lays out the parameter of the selected filter at the left of `row`, and the buttons at its right.
pub(crate) fn show(ui: &mut Ui, row: Rect, state: &ControlsState, pass: &mut Pass) {
    let view = pass.view;
    let (hide, about) = match state.visible {
        true => ("Hide", "Hide the overlay (i). The mouse at the lower edge shows these controls again."),
        false => ("Show", "Show the overlay (i)"),
    };
    let action = |action| (Vec::new(), Some(action));
    let hide = (None, hide, about, action(Action::ToggleOverlay));
    let keys = (None, "?", "All keys (?, F1)", action(Action::ToggleKeys));
    // From left to right, each with its rank, and with the lines of its menu or its action. If not all of them fit, those with the
    // lowest rank are left out; those without a rank stay.
    let mut buttons = if state.visible {
        let filters = action(FILTERS.action());
        vec![
            (Some(0), "Filters", "Choose the filter: the box filter, or one of your own (F)", filters),
            (Some(3), "File", "Open, save, quit", (file_lines(), None)),
            (Some(4), "Picture", "Wipe, scenes, fullscreen, talk", (picture_lines(view), None)),
            (Some(1), "Sound", "Mute, sound tracks", (sound_lines(view), None)),
            (Some(2), "Device", "OpenCL devices", (device_lines(view, state), None)),
            (None, "Panels", "Open or close panels", (panel_lines(view, state), None)),
            hide,
            keys,
        ]
    } else {
        // The menus belong to parts that cannot be seen while the overlay is hidden.
        let [open, quit] = [Action::AskForMovie, Action::Quit].map(action);
        vec![(Some(1), "Open", "Open a movie (o)", open), hide, keys, (Some(2), "Quit", "Quit (q)", quit)]
    };
    let needed =
        |buttons: &[MenuButton]| buttons.iter().map(|(_, text, ..)| button_width(ui, text)).sum::<f32>();
    let room = row.width() - parameters::LEAST_WIDTH;
    while needed(&buttons) > room
        && let Some(lowest) = buttons.iter().filter_map(|(rank, ..)| *rank).min()
    {
        buttons.retain(|(rank, ..)| *rank != Some(lowest));
    }
    let mut left = row.right() - needed(&buttons);
    if !state.has_group {
        parameters::show_first(ui, row.with_max_x(left - 8.0), pass);
    }
    for (_, text, hover, (lines, action)) in buttons {
        let rect = row.with_min_x(left).with_max_x(left + button_width(ui, text));
        left = rect.right();
        if let Some(action) = action {
            let is_on = match action {
                Action::ToggleKeys => state.keys_open,
                _ => action == FILTERS.action() && state.panels.is_requested(Panel::Filters),
            };
            text_button(ui, rect, text, is_on).explain(hover).on_click(action, &mut pass.actions);
        } else {
            show_menu(ui, rect, (text, hover), lines, &mut pass.actions);
        }
    }
}

/// Lays out a button without a frame.
fn text_button(ui: &mut Ui, rect: Rect, text: &str, on: bool) -> Response {
    let response = ui.interact(rect, ui.unique_id().with(text), Sense::click());
    if response.hovered() {
        ui.painter().rect_filled(rect.shrink(1.0), 4, Color32::from_white_alpha(22));
    }
    let hovered = if response.hovered() { theme::STRONG } else { theme::TEXT };
    let color = if on { theme::SELECT } else { hovered };
    ui.words(rect.center(), Align2::CENTER_CENTER, text, 12.5, color);
    response.named(Role::Button, if text == "?" { "Keys" } else { text })
}

/// Returns the lines of the menu of panels: one for each panel, marked if the panel is open, those for the comparison with a
/// saved run, and one that moves the column of panels to the other side.
fn panel_lines(view: &View, state: &ControlsState) -> Vec<Line> {
    let line = |panel: &&ColumnPanel| {
        let (text, hover) = panel.menu;
        (text, hover, panel.action(), (panel.is_shown)(panel.panel, view, state.panels))
    };
    let panels = COLUMN_PANELS.iter().filter(|listed| listed.panel != Panel::Scene || view.scene.is_some());
    let (text, hover) = if state.column_left { LEFT } else { RIGHT };
    let is_compared = !view.saved_columns.is_empty();
    let compare = "Show a saved run beside the ladder, with a verdict on each variant";
    let compare = ("Compare with\u{2026}", compare, Action::CompareWith, is_compared);
    let end = ("End comparison", "Remove the saved run from the ladder", Action::EndComparison, false);
    let end = is_compared.then_some(end);
    panels.map(line).chain([compare]).chain(end).chain([(text, hover, Action::MoveColumn, false)]).collect()
}

/// A button of a menu: the order in which it is left out if the bar is too narrow (`None`: never), its text and hover text, and
/// its lines or action.
type MenuButton<'a> = (Option<u8>, &'a str, &'a str, (Vec<Line>, Option<Action>));

/// Returns the lines of the menu of files.
fn file_lines() -> Vec<Line> {
    vec![
        ("Open", "Open a movie", Action::AskForMovie, false),
        ("Recent files", "Movies that were opened last, and a list of files", Action::ShowFiles, false),
        ("Save frame", "Save the filtered picture as a PNG", Action::SaveFrame, false),
        ("Save window", "Save the window with the overlay as a PNG", Action::SaveWindow, false),
        ("Save run", "Save the filter's times, for 'clreel compare'", Action::SaveRun, false),
        ("Export ladder", "Save the ladder as CSV, SVG and PNG", Action::ExportLadder, false),
        (
            "Export statistics",
            "Save the statistics, a trace, and the results of the Lab",
            Action::ExportStats,
            false,
        ),
        ("Quit", "Close the window", Action::Quit, false),
    ]
}

/// Returns the lines of the menu of the sound.
fn sound_lines(view: &View) -> Vec<Line> {
    let is_muted = view.sound.is_some_and(|sound| sound.is_muted);
    vec![
        ("Mute", "Switch the sound off or on", Action::ToggleMute, is_muted),
        ("Next track", "Play the movie's next track of sound", Action::NextTrack, false),
    ]
}

/// Returns the lines of the menu of the OpenCL devices.
fn device_lines(view: &View, state: &ControlsState) -> Vec<Line> {
    let is_listed = (DEVICES.is_shown)(Panel::Devices, view, state.panels);
    vec![
        ("Next device", "Filter with the next OpenCL device", Action::NextDevice, false),
        ("List of devices", DEVICES.menu.1, DEVICES.action(), is_listed),
    ]
}

/// Returns the lines of the menu of actions on the picture.
fn picture_lines(view: &View) -> Vec<Line> {
    let is_difference = view.wipe.is_some_and(|wipe| wipe.difference.is_some());
    vec![
        ("Wipe", "Show two filters side by side", Action::ToggleWipe, view.wipe.is_some()),
        ("Swap sides", "Exchange the filters of a wipe's sides", Action::SwapSides, false),
        ("Difference", "Map where the sides of a wipe differ", Action::ToggleDifference, is_difference),
        ("Next scene", "Movie, test card or cloth", Action::NextScene, view.scene.is_some()),
        ("Fullscreen", "Enter or leave fullscreen", Action::ToggleFullscreen, false),
        ("Talk", "Show the ladder in large type, for a projector", Action::ToggleTalk, false),
    ]
}

/// Returns the text of a line of a menu. That of a panel with several parts names them.
pub(crate) fn line_text(text: &str, action: &Action) -> String {
    let panel = COLUMN_PANELS.iter().find(|panel| panel.action() == *action);
    let parts = panel.and_then(|panel| panel.key?.1.split_once(": "));
    parts.map_or_else(|| text.to_owned(), |(_, parts)| format!("{text}: {parts}"))
}

/// Lays out the button of a menu in `rect`, and the menu with these lines while it is open.
fn show_menu(
    ui: &mut Ui,
    rect: Rect,
    (label, hover): (&str, &str),
    lines: Vec<Line>,
    actions: &mut Vec<Action>,
) {
    let response = text_button(ui, rect, label, lines.iter().any(|(.., on)| *on));
    Popup::menu(&response).show(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.set_min_width(MENU_LINE_WIDTH);
        for (text, hover, action, on) in lines {
            let color = if on { theme::SELECT } else { theme::TEXT };
            let line =
                Button::new(RichText::new(line_text(text, &action)).color(color)).frame_when_inactive(false);
            let line = line.min_size(vec2(MENU_LINE_WIDTH, 0.0)).shortcut_text(key_of(&action));
            let line = ui.add(line).named(Role::MenuItemCheckBox, text);
            ui.ctx().accesskit_node_builder(line.id, |node| node.set_toggled(on.into()));
            line.explain(hover).on_click(action, actions);
        }
    });
    response.explain(hover);
}
