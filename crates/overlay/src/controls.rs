//! The radius and the buttons. In: the room that they have. Out: what was clicked.

use egui::{
    Align2, Button, Color32, CornerRadius, Popup, Rect, Response, RichText, Sense, Slider, Ui, pos2, vec2,
};

use super::{Action, ENTRIES, Overlay, View, mouse, panels, theme, words};
use box_filter::MAX_RADIUS;

/// Width of a step of the radius.
const STEP: f32 = 22.0;
/// Width of the radius in figures.
const VALUE: f32 = 48.0;
/// Widths of the word before the slider, and of the slider where there is least and most room.
const LABEL: f32 = 48.0;
const SLIDER: (f32, f32) = (48.0, 110.0);
/// The button of the menu.
const MENU: &str = "Panels";
/// Width of a line of the menu.
const LINE: f32 = 170.0;
/// What surrounds a button's text.
const PAD: f32 = 11.0;

/// A button: its text, its hover text, what it does, whether what it opens is open, and how much it matters where not all
/// fit: the least goes first.
struct Entry {
    text: &'static str,
    hover: &'static str,
    action: Action,
    on: bool,
    rank: u8,
}

fn entries(overlay: &Overlay) -> Vec<Entry> {
    let entry = |text, hover, action, on, rank| Entry { text, hover, action, on, rank };
    let (hide, about) = match overlay.visible {
        true => ("Hide", "Hide the overlay: key i shows it again, and so does the mouse at the lower edge"),
        false => ("Show", "Show the overlay: key i"),
    };
    vec![
        entry("Open", "Open a movie: key o", Action::AskForMovie, false, 4),
        entry(hide, about, Action::ToggleOverlay, false, 8),
        entry("?", "All keys: key ? or F1", Action::ToggleKeys, overlay.keys_open, 7),
        entry("Quit", "Quit: key q", Action::Quit, false, 6),
    ]
}

/// Lays the radius out at the left of `row`, the buttons at its right.
pub(crate) fn show(ui: &mut Ui, row: Rect, view: &View, overlay: &Overlay, actions: &mut Vec<Action>) {
    let width = |ui: &Ui, text: &str| {
        ui.painter().layout_no_wrap(text.to_owned(), theme::words(12.5), theme::TEXT).size().x + PAD
    };
    let mut entries: Vec<(Entry, f32)> = entries(overlay)
        .into_iter()
        .map(|entry| {
            let width = width(ui, entry.text);
            (entry, width)
        })
        .collect();
    // While the overlay is hidden its panels cannot be seen.
    let menu = if overlay.visible { width(ui, MENU) } else { 0.0 };
    let needed = |entries: &[(Entry, f32)]| menu + entries.iter().map(|(_, width)| width).sum::<f32>();
    let least = 2.0 * STEP + VALUE + 20.0;
    while needed(&entries) + least + SLIDER.0 > row.width() && entries.len() > 2 {
        let worst = entries.iter().map(|(entry, _)| entry.rank).min();
        entries.retain(|(entry, _)| Some(entry.rank) != worst);
    }
    let buttons = needed(&entries);
    radius(ui, row.with_max_x(row.right() - buttons - 8.0), view, actions);
    let mut left = row.right() - buttons;
    if overlay.visible {
        let rect = Rect::from_min_size(pos2(left, row.top()), vec2(menu, row.height()));
        left += menu;
        panels(ui, rect, view, overlay, actions);
    }
    for (entry, width) in entries {
        let rect = Rect::from_min_max(pos2(left, row.top()), pos2(left + width, row.bottom()));
        left += width;
        if button(ui, rect, &entry) {
            actions.push(entry.action);
        }
    }
}

/// A word that can be clicked.
fn button(ui: &mut Ui, rect: Rect, entry: &Entry) -> bool {
    word(ui, rect, entry.text, entry.on).on_hover_text(entry.hover).clicked()
}

fn word(ui: &mut Ui, rect: Rect, text: &str, on: bool) -> Response {
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

/// The menu of the panels: each with its key; what is open is marked.
fn panels(ui: &mut Ui, rect: Rect, view: &View, overlay: &Overlay, actions: &mut Vec<Action>) {
    let is_shown = |panel: &panels::Entry| (panel.is_shown)(overlay, view);
    let response = word(ui, rect, MENU, ENTRIES.iter().any(is_shown));
    Popup::menu(&response).show(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.set_min_width(LINE);
        for panel in ENTRIES.iter().filter(|panel| panel.is_there(view)) {
            let (name, hover) = panel.menu;
            let color = if is_shown(panel) { theme::SELECT } else { theme::TEXT };
            let line = Button::new(RichText::new(name).color(color)).frame_when_inactive(false);
            let line = line.min_size(vec2(LINE, 0.0)).shortcut_text(panel.key.map_or("", |(key, _)| key));
            if ui.add(line).on_hover_text(hover).clicked() {
                actions.push(panel.action());
            }
        }
    });
    response.on_hover_text("The panels: open and close them");
}

/// The radius: its name, less, the slider, more, in figures, as far as there is room.
fn radius(ui: &mut Ui, room: Rect, view: &View, actions: &mut Vec<Action>) {
    let over = ui.interact(room, ui.unique_id().with("wheel over the radius"), Sense::hover());
    let steps = mouse::wheel(ui, &over);
    if steps != 0 {
        actions.push(Action::SetRadius(view.radius.saturating_add_signed(steps).min(MAX_RADIUS)));
    }
    let mut spare = room.width() - 2.0 * STEP - VALUE - 12.0;
    let mut x = room.left();
    if spare >= LABEL + SLIDER.0 {
        let at = pos2(x, room.center().y);
        ui.painter().text(at, Align2::LEFT_CENTER, "Radius", theme::words(12.5), theme::TEXT);
        let area = Rect::from_min_size(pos2(x, room.top()), vec2(LABEL, room.height()));
        ui.interact(area, ui.unique_id().with("radius"), Sense::hover()).on_hover_text(words::RADIUS);
        x += LABEL;
        spare -= LABEL;
    }
    let mut step = |ui: &mut Ui, x: f32, text: &str, enabled: bool, to: u32| {
        let rect = Rect::from_min_size(pos2(x, room.top()), vec2(STEP, room.height()));
        let button = Button::new(egui::RichText::new(text).font(theme::figures(12.5))).min_size(rect.size());
        ui.add_enabled_ui(enabled, |ui| {
            if ui.put(rect, button).on_hover_text(words::RADIUS).clicked() {
                actions.push(Action::SetRadius(to));
            }
        });
    };
    step(ui, x, "-", view.radius > 0, view.radius.saturating_sub(1));
    x += STEP + 4.0;
    let mut wanted = None;
    if spare >= SLIDER.0 {
        let width = spare.min(SLIDER.1);
        let rect = Rect::from_min_size(pos2(x, room.top()), vec2(width, room.height()));
        ui.spacing_mut().slider_width = width;
        let mut radius = view.radius.min(MAX_RADIUS);
        let slider = ui.put(rect, Slider::new(&mut radius, 0..=MAX_RADIUS).show_value(false));
        if slider.on_hover_text(words::window(view.radius)).changed() {
            wanted = Some(radius);
        }
        x += width + 4.0;
    }
    step(ui, x, "+", view.radius < MAX_RADIUS, view.radius + 1);
    x += STEP + 7.0;
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
