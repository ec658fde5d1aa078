//! The egui overlay. In: a [`View`], plain data about this moment. Out: [`Action`]s that the user asked for.
//!
//! A panel on the left has the numbers, a strip at the bottom the frame-time graph and the controls; the rest
//! of the window belongs to the picture. Nothing here asks for a repaint or touches the movie.

mod controls;
mod correction;
mod devices;
mod graph;
mod hatch;
mod keys;
mod notices;
mod numbers;
mod on_top;
mod panel;
mod path_field;
mod place;
mod seekbar;
mod strip;
mod table;
mod texts;
mod theme;
mod timeline;
mod tuning;
mod view;
mod words;

use std::time::Duration;

use egui::{Rect, Ui, pos2, vec2};

pub use devices::{DeviceList, DeviceRow, DeviceState};
pub use keys::{KEYS, KeyHelp};
use path_field::PathField;
pub use place::{Folds, Places};
use place::{Panel, Title};
use strip::{FLOATING_GRAPH, graph_height, strip_rect};
pub use texts::texts;
pub use tuning::{Tuning, TuningState};
pub use view::{Action, Busy, MovieSummary, Notice, Shown, VariantRow, VariantStatus, View};

use crate::ladder::VariantId;

/// The overlay's own state.
#[derive(Debug)]
pub struct Overlay {
    /// Whether the panels are shown; serious notices always are.
    pub visible: bool,
    /// Whether the first-run hint has been shown.
    pub hint_seen: bool,
    /// Whether the panel with the keys is open.
    pub keys_open: bool,
    /// Whether the panel of devices is open.
    pub devices_open: bool,
    /// Whether the panel of the search for the best parameters is open.
    pub tuning_open: bool,
    /// Whether the panel with the last frames on one time axis is open.
    pub timeline_open: bool,
    /// The variant whose map it shows; `None`: the fastest.
    tuning_of: Option<VariantId>,
    /// Which panels are folded.
    pub folded: Folds,
    /// Where the panels were moved to.
    pub places: Places,
    /// The field for a path while it is open, and what was typed into it the last time.
    path_field: Option<PathField>,
    typed: String,
    /// The heights that the numbers, the devices and the search would like to have.
    numbers_height: f32,
    devices_height: f32,
    tuning_height: f32,
    /// While the devices are shown for a change of device alone: until when, in seconds; that is not known before the
    /// first drawing.
    devices_until: Option<Option<f64>>,
    /// When the hint, the message and the button in the corner go, in seconds.
    hint_until: Option<f64>,
    said: Option<(String, Option<f64>)>,
    corner_until: f64,
    numbers: table::Numbers,
}

impl Overlay {
    /// A visible overlay.
    pub fn new() -> Self {
        Self {
            visible: true,
            hint_seen: false,
            keys_open: false,
            devices_open: false,
            tuning_open: false,
            timeline_open: false,
            tuning_of: None,
            folded: Folds::default(),
            places: Places::default(),
            path_field: None,
            typed: String::new(),
            numbers_height: 0.0,
            devices_height: 200.0,
            tuning_height: 284.0,
            devices_until: None,
            hint_until: None,
            said: None,
            corner_until: f64::NEG_INFINITY,
            numbers: table::Numbers::default(),
        }
    }

    /// Sets fonts, colours and spacing; once, after the context is made.
    pub fn style(ctx: &egui::Context) {
        theme::apply(ctx);
    }

    /// Shows a short message for some seconds, also while the overlay is hidden.
    pub fn say(&mut self, text: String) {
        self.said = Some((text, None));
    }

    /// Shows the devices for some seconds, also while the overlay is hidden: the device changes.
    pub fn show_devices(&mut self) {
        self.devices_until = Some(None);
    }

    /// Opens or closes the panel of devices.
    pub fn toggle_devices(&mut self) {
        self.devices_open = !self.devices_shown();
        self.devices_until = None;
    }

    /// Whether the panel of devices is shown.
    pub fn devices_shown(&self) -> bool {
        self.devices_open && self.visible || self.devices_until.is_some()
    }

    /// Opens the field for a movie's path, also while the overlay is hidden.
    pub fn ask_for_path(&mut self) {
        if self.path_field.is_none() {
            self.path_field = Some(PathField::new(std::mem::take(&mut self.typed)));
        }
    }

    /// Closes the field; what was typed stays for the next time.
    pub fn close_path_field(&mut self) {
        if let Some(field) = self.path_field.take() {
            self.typed = field.into_text();
        }
    }

    /// Whether keys are being typed into a field: they are not the player's then.
    pub fn takes_keys(&self) -> bool {
        self.path_field.is_some()
    }

    /// Lays the overlay out over `ui`, which covers the window, and returns what the user asked for.
    pub fn show(&mut self, ui: &mut Ui, view: &View) -> Vec<Action> {
        // Keys belong to the player: a button that kept the focus would answer Space as well.
        let field = self.path_field.as_ref().map(|_| PathField::id());
        ui.memory_mut(|memory| {
            if let Some(id) = memory.focused().filter(|id| Some(*id) != field) {
                memory.surrender_focus(id);
            }
        });
        let mut actions = Vec::new();
        let window = ui.max_rect().shrink(theme::GAP);
        if !self.visible {
            if let Some(busy) =
                view.busy.filter(|b| b.predicted_s.unwrap_or(0.0).max(b.elapsed_s) >= HIDDEN_BUSY_S)
            {
                notices::progress(ui, window, busy);
            }
            self.corner(ui, window, &mut actions);
            self.devices(ui, window, window, view, &mut actions);
            notices::show(ui, window, view.notices, true, &mut actions);
            self.on_top(ui, window, window, &mut actions);
            return actions;
        }
        let now = ui.input(|i| i.time);
        self.numbers.refresh(view.recorder, now);

        let small = [window.height() < 420.0 || window.width() < 400.0, window.height() < 360.0];
        let folded = [0, 1].map(|n| self.folded[n].unwrap_or(small[n]));
        let docked = self.places[Panel::Graph as usize].is_none();
        let strip = strip_rect(window, view.variants.len(), docked, folded[1]);
        let above = Rect::from_min_max(window.min, pos2(window.right(), strip.top() - theme::GAP));
        if above.height() > 60.0 {
            let width = numbers::WIDTH.min(above.width());
            let rect = match self.places[Panel::Numbers as usize] {
                None => Rect::from_min_size(above.min, vec2(width, above.height() - 2.0)),
                Some(at) => {
                    let height = if folded[0] { panel::HEADER } else { self.numbers_height };
                    place::floating(at, vec2(width, height), above)
                }
            };
            let (title, height) = numbers::show(ui, rect, view, &self.numbers, folded[0], &mut actions);
            self.took(Panel::Numbers, title, folded[0]);
            if height != self.numbers_height && !folded[0] {
                self.numbers_height = height;
                ui.ctx().request_discard(OTHER_HEIGHT);
            }
        }
        let title = self.strip(ui, strip, view, docked.then_some(folded[1]), &mut actions);
        self.took(Panel::Graph, title, folded[1]);
        if let Some(at) = self.places[Panel::Graph as usize].filter(|_| above.height() > 60.0 && !docked) {
            let height = if folded[1] { panel::HEADER } else { graph_height(window) + 2.0 * theme::PAD };
            let rect = place::floating(at, vec2(FLOATING_GRAPH, height), above);
            let title = self.floating_graph(ui, rect, view, folded[1], &mut actions);
            self.took(Panel::Graph, title, folded[1]);
        }

        let mut free = above;
        if self.places[Panel::Numbers as usize].is_some() {
            // Who moved the panel chose what it covers.
        } else if folded[0] {
            free.min.y = (free.min.y + panel::HEADER + theme::GAP).min(free.max.y);
        } else if above.width() > numbers::WIDTH + 220.0 {
            free.min.x += numbers::WIDTH + theme::GAP;
        }
        if let Some(busy) = view.busy {
            notices::progress(ui, free, busy);
        }
        // Under the sliders, where there is no room beside them.
        self.timeline(ui, window, free, view, &mut actions);
        if let Some(correction) = view.correction {
            let size = correction::SIZE;
            let rect = match self.places[Panel::Correction as usize] {
                // Where there is no room beside the other panels it lies over them.
                None if free.width() < size.x || free.height() < size.y => {
                    place::floating([f32::MAX, 0.0], size, window)
                }
                None => Rect::from_min_size(free.max - size, size),
                Some(at) => place::floating(at, size, if above.height() < size.y { window } else { above }),
            };
            let title = correction::show(ui, rect, correction, &mut actions);
            self.took(Panel::Correction, title, false);
        }
        self.devices(ui, window, free, view, &mut actions);
        self.tuning(ui, window, free, view, &mut actions);
        // Over the panels: news, and they can be dismissed.
        notices::show(ui, free, view.notices, false, &mut actions);
        self.on_top(ui, window, free, &mut actions);

        actions
    }

    /// Puts the panels back where they belong.
    pub fn reset_panels(&mut self) {
        (self.places, self.folded) = (Places::default(), Folds::default());
    }

    /// Does what was asked for at a panel's title.
    fn took(&mut self, panel: Panel, title: Title, folded: bool) {
        if let Some(place) = title.moved {
            self.places[panel as usize] = place;
        }
        if title.fold {
            self.folded[panel as usize] = Some(!folded);
        }
    }

    /// The panel of devices, where it is open or the device changes.
    fn devices(&mut self, ui: &mut Ui, window: Rect, free: Rect, view: &View, actions: &mut Vec<Action>) {
        let now = ui.input(|i| i.time);
        if let Some(until) = &mut self.devices_until {
            let at = until.get_or_insert(now + DEVICES_S);
            // As long as one is being made ready, that is news.
            if view.devices.is_preparing() {
                *at = at.max(now + DEVICES_S);
            }
            if now < *at {
                ui.ctx().request_repaint_after(Duration::from_secs_f64(*at - now));
            } else {
                self.devices_until = None;
            }
        }
        if !self.devices_shown() || window.width() < 60.0 || window.height() < 60.0 {
            return;
        }
        let folded = self.folded[Panel::Devices as usize].unwrap_or(false);
        let height = if folded { panel::HEADER } else { self.devices_height };
        let size = vec2(devices::WIDTH, height);
        let rect = match self.places[Panel::Devices as usize] {
            // Where there is no room beside the other panels it lies over them.
            None if free.width() < size.x || free.height() < size.y => {
                place::floating([f32::MAX, 0.0], size, window)
            }
            None => Rect::from_min_size(pos2(free.left(), free.bottom() - size.y), size),
            Some(at) => place::floating(at, size, window),
        };
        let (title, height) = devices::show(ui, rect, &view.devices, folded, actions);
        self.took(Panel::Devices, title, folded);
        if height != self.devices_height && !folded {
            self.devices_height = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
    }

    /// The search for the best parameters, at the upper right of the room that the other panels leave.
    fn tuning(&mut self, ui: &mut Ui, window: Rect, free: Rect, view: &View, actions: &mut Vec<Action>) {
        if !self.tuning_open || window.width() < 60.0 || window.height() < 60.0 {
            return;
        }
        let folded = self.folded[Panel::Tuning as usize].unwrap_or(false);
        let size = vec2(tuning::WIDTH, if folded { panel::HEADER } else { self.tuning_height });
        let rect = match self.places[Panel::Tuning as usize] {
            None => {
                let room = if free.width() < size.x || free.height() < size.y { window } else { free };
                place::floating([f32::MAX, room.top()], size, room)
            }
            Some(at) => place::floating(at, size, window),
        };
        let (title, height) =
            tuning::show(ui, rect, (view.tuning, view.auto), folded, &mut self.tuning_of, actions);
        self.took(Panel::Tuning, title, folded);
        if height != self.tuning_height && !folded {
            self.tuning_height = height;
            ui.ctx().request_discard(OTHER_HEIGHT);
        }
    }

    /// The last frames on one time axis, at the lower right of that room, beside the sliders: over the graph, whose stages
    /// they are.
    fn timeline(&mut self, ui: &mut Ui, window: Rect, free: Rect, view: &View, actions: &mut Vec<Action>) {
        if !self.timeline_open || window.width() < 60.0 || window.height() < 60.0 {
            return;
        }
        let folded = self.folded[Panel::Timeline as usize].unwrap_or(false);
        let size = if folded { vec2(timeline::SIZE.x, panel::HEADER) } else { timeline::SIZE };
        let rect = match self.places[Panel::Timeline as usize] {
            None => {
                let least = timeline::LEAST;
                let mut room = if free.width() < least.x || free.height() < least.y { window } else { free };
                let sliders = correction::SIZE + vec2(theme::GAP, theme::GAP);
                if view.correction.is_none() || self.places[Panel::Correction as usize].is_some() {
                    // The corner is free.
                } else if room.width() >= size.x + sliders.x {
                    room.max.x -= sliders.x;
                } else if room.height() >= size.y + sliders.y {
                    room.max.y -= sliders.y;
                }
                place::floating([f32::MAX, f32::MAX], size, room)
            }
            Some(at) => place::floating(at, size, window),
        };
        let title = timeline::show(ui, rect, view.recorder.trace(), folded, actions);
        self.took(Panel::Timeline, title, folded);
    }
}

/// Why a pass is done again: a panel is shown only in the height that its contents need.
const OTHER_HEIGHT: &str = "a panel has another height";
/// Seconds that the devices stay after a change.
const DEVICES_S: f64 = 5.0;
/// While the overlay is hidden, only frames that take this long are told, in seconds.
const HIDDEN_BUSY_S: f64 = 1.0;

impl Default for Overlay {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
