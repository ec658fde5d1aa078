//! The row of controls: variants, radius, pause, hide.

use egui::text::LayoutJob;
use egui::{Button, Color32, Layout, Rect, Slider, TextFormat, Ui, UiBuilder, vec2};

use super::{Action, VariantRow, VariantStatus, View, theme, words};
use crate::cli::MAX_RADIUS;

const GAP: f32 = 6.0;
/// Width of a variant's button where there is room.
const VARIANT: f32 = 112.0;
/// The same where it is least beside the rest, and where it is least of all.
const BESIDE: f32 = 95.0;
const NARROWEST: f32 = 84.0;
/// Width of everything right of the variants.
const REST: f32 = 572.0;
/// From these widths on there is room for the slider and for quitting, for the button that opens a movie, and for the
/// one that lists the devices.
const SLIDER: f32 = 390.0;
const OPEN: f32 = 500.0;
const DEVICES: f32 = 566.0;

/// Rows that the controls need at this width.
pub fn rows(width: f32, variants: usize) -> usize {
    if beside(width, variants).is_some() { 1 } else { 1 + lines(width, variants) }
}

/// Width of a variant's button where all fit beside the rest.
fn beside(width: f32, variants: usize) -> Option<f32> {
    let each = (width - REST) / variants.max(1) as f32 - GAP;
    (each >= BESIDE).then(|| each.min(VARIANT).floor())
}

/// Lines that the variants need at this width, so that their names can be read.
fn lines(width: f32, variants: usize) -> usize {
    let fit = ((width + GAP) / (NARROWEST + GAP)).max(1.0) as usize;
    variants.div_ceil(fit).clamp(1, 3)
}

/// Lays the controls out over the width of `ui`.
pub fn show(ui: &mut Ui, view: &View, actions: &mut Vec<Action>) {
    let width = ui.available_width();
    ui.spacing_mut().item_spacing.x = GAP;
    let all = view.variants;
    if let Some(each) = beside(width, all.len()) {
        row(ui, |ui| {
            variants(ui, view, all, each, actions);
            rest(ui, view, actions);
        });
        return;
    }
    let count = all.len().div_ceil(lines(width, all.len())).max(1);
    let each = ((width - GAP * (count as f32 - 1.0)) / count as f32).floor();
    for line in all.chunks(count) {
        row(ui, |ui| variants(ui, view, line, each, actions));
    }
    row(ui, |ui| rest(ui, view, actions));
}

fn row(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), theme::CONTROL), egui::Sense::hover());
    let layout = Layout::left_to_right(egui::Align::Center);
    add(&mut ui.new_child(UiBuilder::new().max_rect(rect).layout(layout)));
}

fn variants(ui: &mut Ui, view: &View, rows: &[VariantRow], width: f32, actions: &mut Vec<Action>) {
    let small = width < 95.0;
    ui.spacing_mut().button_padding.x = if small { 3.0 } else { 4.0 };
    for row in rows {
        let chosen = row.id == view.chosen;
        let unavailable = matches!(row.status, VariantStatus::Unavailable(_));
        let mut button =
            Button::new(label(row, chosen, small)).min_size(vec2(width, theme::CONTROL)).truncate();
        if chosen {
            button = button.fill(theme::ACCENT);
        }
        let response = ui
            .add_enabled_ui(!unavailable, |ui| {
                ui.set_max_width(width);
                ui.add(button)
            })
            .inner;
        let response = response.on_hover_ui(|ui| about(ui, row)).on_disabled_hover_ui(|ui| about(ui, row));
        if response.clicked() {
            actions.push(Action::SetVariant(row.id));
        }
    }
}

/// The key, then the name.
fn label(row: &VariantRow, chosen: bool, small: bool) -> LayoutJob {
    let (size, gap) = if small { (11.0, 4.0) } else { (12.5, 6.0) };
    let (key, name) = match (chosen, &row.status) {
        (true, _) => (Color32::from_rgb(84, 58, 0), Color32::BLACK),
        (false, VariantStatus::Ready) => (theme::ACCENT, theme::STRONG),
        (false, _) => (theme::WEAK, theme::WEAK),
    };
    let mut job = LayoutJob::default();
    job.append(&row.id.key().to_string(), 0.0, TextFormat::simple(theme::figures(size - 0.5), key));
    job.append(row.id.as_str(), gap, TextFormat::simple(theme::words(size), name));
    if row.status == VariantStatus::Building {
        job.append("...", 0.0, TextFormat::simple(theme::words(size), name));
    }
    job
}

fn about(ui: &mut Ui, row: &VariantRow) {
    ui.strong(row.title);
    ui.label(row.idea);
    match &row.status {
        VariantStatus::Ready => {}
        VariantStatus::Building => {
            ui.colored_label(theme::WARN, "Its program is being compiled.");
        }
        VariantStatus::Unavailable(error) => {
            ui.colored_label(theme::WARN, &error.what);
            let reason = error.why.lines().next().unwrap_or_default();
            if !reason.is_empty() {
                ui.label(reason);
            }
        }
    }
}

fn rest(ui: &mut Ui, view: &View, actions: &mut Vec<Action>) {
    let room = ui.available_width();
    let slider = room >= SLIDER;
    if slider {
        ui.add_space(4.0);
        ui.label("Radius").on_hover_text(words::RADIUS);
    }
    let step = |ui: &mut Ui, text: &str, enabled: bool| {
        let button = Button::new(egui::RichText::new(text).monospace()).min_size(vec2(22.0, theme::CONTROL));
        ui.add_enabled(enabled, button).on_hover_text(words::RADIUS).clicked()
    };
    if step(ui, "-", view.radius > 0) {
        actions.push(Action::SetRadius(view.radius - 1));
    }
    let mut radius = view.radius.min(MAX_RADIUS);
    // What is fixed needs about 300 points; the slider gives way in a narrow window.
    let open = room >= OPEN;
    let devices = room >= DEVICES;
    let fixed = if devices {
        504.0
    } else if open {
        438.0
    } else {
        384.0
    };
    ui.spacing_mut().slider_width = (room - fixed).clamp(16.0, 130.0);
    if slider {
        let slider = ui.add(Slider::new(&mut radius, 0..=MAX_RADIUS).show_value(false));
        if slider.on_hover_text(words::window(view.radius)).changed() {
            actions.push(Action::SetRadius(radius));
        }
    }
    if step(ui, "+", view.radius < MAX_RADIUS) {
        actions.push(Action::SetRadius(view.radius + 1));
    }
    let (value, _) = ui.allocate_exact_size(vec2(48.0, theme::CONTROL), egui::Sense::hover());
    ui.painter().text(
        value.left_center(),
        egui::Align2::LEFT_CENTER,
        format!("{} px", view.radius),
        theme::figures(12.5),
        theme::STRONG,
    );

    let right =
        Rect::from_min_max(egui::pos2(ui.cursor().left(), ui.max_rect().top()), ui.max_rect().right_bottom());
    let layout = Layout::right_to_left(egui::Align::Center);
    let mut ui = ui.new_child(UiBuilder::new().max_rect(right).layout(layout));
    let key_button = |ui: &mut Ui, text: &str, hover: &str, width: f32| {
        ui.add(Button::new(text).min_size(vec2(width, theme::CONTROL))).on_hover_text(hover).clicked()
    };
    if slider && key_button(&mut ui, "Quit", "Quit: key q", 48.0) {
        actions.push(Action::Quit);
    }
    if key_button(&mut ui, "?", "All keys: key ?", 24.0) {
        actions.push(Action::ToggleKeys);
    }
    if key_button(
        &mut ui,
        "Hide",
        "Hide the overlay: key i shows it again, and so does a button in the lower left corner",
        48.0,
    ) {
        actions.push(Action::ToggleOverlay);
    }
    if open && key_button(&mut ui, "Open", "Open a movie: key o", 48.0) {
        actions.push(Action::AskForMovie);
    }
    let hover = "All OpenCL devices: change to another one. Key Ctrl+D takes the next";
    if devices && key_button(&mut ui, "Devices", hover, 60.0) {
        actions.push(Action::ToggleDevices);
    }
    let (text, hover) = match view.paused {
        true => ("Play", "Go on: Space"),
        false => ("Pause", "Hold this frame: Space. A change of variant or radius shows on it."),
    };
    if key_button(&mut ui, text, hover, 60.0) {
        actions.push(Action::TogglePause);
    }
}
