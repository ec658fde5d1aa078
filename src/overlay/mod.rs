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
mod panel;
mod path_field;
mod place;
mod seekbar;
mod table;
mod theme;
mod tuning;
mod words;

use std::time::Duration;

use egui::{Rect, Ui, UiBuilder, pos2, vec2};

pub use devices::{DeviceList, DeviceRow, DeviceState};
pub use keys::{KEYS, KeyHelp};
use path_field::PathField;
pub use place::Places;
use place::{Panel, Title};
pub use tuning::{Tuning, TuningState};

use crate::convert::Correction;
use crate::error::Error;
use crate::gpu::cl::DeviceInfo;
use crate::ladder::VariantId;
use crate::media::Fields;
use crate::stats::{CpuReading, Recorder};

/// What the user asked for with the mouse; keys give the same actions.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Filter by this variant from the next frame on.
    SetVariant(VariantId),
    /// Use this radius, in pixels.
    SetRadius(u32),
    /// Go to a time of the movie.
    Seek {
        /// Where to, in seconds.
        to_s: f64,
        /// To that very frame; not so while the seek bar is being dragged.
        exact: bool,
    },
    /// Pause, or go on.
    TogglePause,
    /// Ask the user for a movie to open.
    AskForMovie,
    /// Open the movie at this path, as it was typed.
    Open(String),
    /// Hide or show the overlay.
    ToggleOverlay,
    /// Open or close the panel with all keys.
    ToggleKeys,
    /// Put the panels back where they belong.
    ResetPanels,
    /// Correct colours with this.
    SetCorrection(Correction),
    /// Switch colour correction on or off.
    ToggleCorrection,
    /// Save the filtered picture as PNG.
    SaveFrame,
    /// Save the window with the overlay as PNG.
    SaveWindow,
    /// Change to the next OpenCL device.
    NextDevice,
    /// Change to this OpenCL device: a position in [`DeviceList::rows`].
    SetDevice(usize),
    /// Open or close the panel of devices.
    ToggleDevices,
    /// Open or close the panel of the search for the best parameters.
    ToggleTuning,
    /// Search for the best parameters now.
    TuneNow,
    /// End the search for the best parameters.
    StopTuning,
    /// Save the statistics as CSV and JSON.
    ExportStats,
    /// Take this banner away: a position in [`View::notices`].
    DismissNotice(usize),
    /// Close the window.
    Quit,
}

/// Whether a variant can be chosen now.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantStatus {
    /// It is built.
    Ready,
    /// Its program is being compiled in the background.
    Building,
    /// It cannot run here, and why.
    Unavailable(Error),
}

/// A frame that has been in the filter for long enough to tell the user about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// The variant at work.
    pub variant: VariantId,
    /// Its radius in pixels.
    pub radius: u32,
    /// Part of the frame that is done, 0 to 1.
    pub fraction: f32,
    /// Time since it started, in seconds.
    pub elapsed_s: f64,
    /// Predicted time of the whole frame, in seconds.
    pub predicted_s: f64,
}

/// A variant as the overlay lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantRow<'a> {
    /// The variant.
    pub id: VariantId,
    /// One to three words for the button's hover text.
    pub title: &'a str,
    /// What the variant does differently, in a sentence or two.
    pub idea: &'a str,
    /// Whether it can be chosen now.
    pub status: VariantStatus,
}

/// What the overlay says about the movie.
#[derive(Debug, Clone, PartialEq)]
pub struct MovieSummary {
    /// The file's name without its folder.
    pub file_name: String,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// Frames a second by the container, if it says.
    pub fps: Option<f64>,
    /// FFmpeg's name of the codec.
    pub codec: String,
    /// Whether the movie is interlaced.
    pub fields: Fields,
    /// Position of the frame on the screen, in seconds.
    pub position_s: f64,
    /// Length in seconds, if it is known.
    pub duration_s: Option<f64>,
}

/// Something that the user must know, shown as a banner until dismissed.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// What happened, why, and what to try.
    pub error: Error,
    /// Also shown while the overlay is hidden.
    pub serious: bool,
}

/// This moment, as far as the overlay is concerned.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// All that was measured.
    pub recorder: &'a Recorder,
    /// CPU load of the process and of the machine.
    pub cpu: CpuReading,
    /// The movie that plays.
    pub movie: &'a MovieSummary,
    /// The OpenCL device; `None` when there is no OpenCL.
    pub device: Option<&'a DeviceInfo>,
    /// All devices, for the panel that lists them.
    pub devices: DeviceList<'a>,
    /// What OpenGL calls its renderer.
    pub gl_renderer: &'a str,
    /// "copy" or "zero-copy", and why.
    pub sharing: &'a str,
    /// Why it is so; may be empty.
    pub sharing_reason: &'a str,
    /// In key order.
    pub variants: &'a [VariantRow<'a>],
    /// What the user chose; the frame on the screen may still be of another one.
    pub chosen: VariantId,
    /// The radius that the user chose, in pixels.
    pub radius: u32,
    /// The movie stands still.
    pub paused: bool,
    /// Frames are presented as fast as they come.
    pub unpaced: bool,
    /// The slow frame in the filter, if there is one.
    pub busy: Option<&'a Busy>,
    /// The banners, oldest first.
    pub notices: &'a [Notice],
    /// What colours are corrected with; `None` where that is switched off.
    pub correction: Option<Correction>,
    /// How fast the movie's time goes; 1 is its own speed.
    pub speed: f64,
    /// What is repeated other than the whole movie; empty if nothing.
    pub repeats: &'a str,
    /// Where a seek that is not on the screen yet goes, in seconds.
    pub target_s: Option<f64>,
    /// Where the part that repeats begins and ends, in seconds, as far as that is said.
    pub part: (Option<f64>, Option<f64>),
    /// Frame interval at this speed in milliseconds, the budget of a frame.
    pub budget_ms: Option<f64>,
    /// Frames are being dropped because the filter is slower than the movie.
    pub catching_up: bool,
    /// The search for the best parameters.
    pub tuning: &'a Tuning,
}

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
    /// The variant whose map it shows; `None`: the fastest.
    tuning_of: Option<VariantId>,
    /// Whether the numbers and the graph are folded; `None`: by the window's size.
    pub folded: [Option<bool>; 2],
    /// Where the numbers, the graph, the colour correction and the devices were moved to.
    pub places: Places,
    /// The field for a path while it is open, and what was typed into it the last time.
    path_field: Option<PathField>,
    typed: String,
    /// The height that the numbers would like to have.
    numbers_height: f32,
    /// Whether the devices are folded, the height that they would like to have, and while they are shown for a change
    /// of device alone, until when, in seconds; that is not known before the first drawing.
    devices_folded: bool,
    devices_height: f32,
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
            tuning_of: None,
            folded: [None; 2],
            places: Places::default(),
            path_field: None,
            typed: String::new(),
            numbers_height: 0.0,
            devices_folded: false,
            devices_height: 200.0,
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
            notices::show(ui, window, view.notices, true, &mut actions);
            if let Some(busy) = view.busy.filter(|b| b.predicted_s.max(b.elapsed_s) >= HIDDEN_BUSY_S) {
                notices::progress(ui, window, busy);
            }
            self.corner(ui, window, &mut actions);
            self.devices(ui, window, window, view, &mut actions);
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
            let width = panel::WIDTH.min(above.width());
            let rect = match self.places[Panel::Numbers as usize] {
                None => Rect::from_min_size(above.min, vec2(width, above.height() - 2.0)),
                Some(at) => {
                    let height = if folded[0] { panel::HEADER } else { self.numbers_height };
                    place::floating(at, vec2(width, height), above)
                }
            };
            let (title, height) = panel::show(ui, rect, view, &self.numbers, folded[0], &mut actions);
            self.took(Panel::Numbers, title, folded[0]);
            if height != self.numbers_height && !folded[0] {
                self.numbers_height = height;
                ui.request_repaint();
            }
        }
        let title = self.strip(ui, strip, view, docked.then_some(folded[1]), &mut actions);
        self.took(Panel::Graph, title, folded[1]);
        if let Some(at) = self.places[Panel::Graph as usize].filter(|_| above.height() > 60.0 && !docked) {
            let height = if folded[1] { panel::HEADER } else { graph_height(window) + 2.0 * theme::PAD };
            let rect = place::floating(at, vec2(FLOATING_GRAPH, height), above);
            let title = self.floating_graph(ui, rect, view, folded[1]);
            self.took(Panel::Graph, title, folded[1]);
        }

        let mut free = above;
        if self.places[Panel::Numbers as usize].is_some() {
            // Who moved the panel chose what it covers.
        } else if folded[0] {
            free.min.y = (free.min.y + panel::HEADER + theme::GAP).min(free.max.y);
        } else if above.width() > panel::WIDTH + 220.0 {
            free.min.x += panel::WIDTH + theme::GAP;
        }
        if let Some(busy) = view.busy {
            notices::progress(ui, free, busy);
        }
        notices::show(ui, free, view.notices, false, &mut actions);
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
        self.on_top(ui, window, free, &mut actions);

        actions
    }

    /// Puts the panels back where they belong.
    pub fn reset_panels(&mut self) {
        (self.places, self.folded) = (Places::default(), [None; 2]);
        self.devices_folded = false;
    }

    /// Does what was asked for at a panel's title.
    fn took(&mut self, panel: Panel, title: Title, folded: bool) {
        if let Some(place) = title.moved {
            self.places[panel as usize] = place;
        }
        if title.fold && panel == Panel::Devices {
            self.devices_folded = !folded;
        } else if title.fold
            && let Some(of) = self.folded.get_mut(panel as usize)
        {
            *of = Some(!folded);
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
        let height = if self.devices_folded { panel::HEADER } else { self.devices_height };
        let size = vec2(devices::WIDTH, height);
        let rect = match self.places[Panel::Devices as usize] {
            // Where there is no room beside the other panels it lies over them.
            None if free.width() < size.x || free.height() < size.y => {
                place::floating([f32::MAX, 0.0], size, window)
            }
            None => Rect::from_min_size(pos2(free.left(), free.bottom() - size.y), size),
            Some(at) => place::floating(at, size, window),
        };
        let (title, height) = devices::show(ui, rect, &view.devices, self.devices_folded, actions);
        self.took(Panel::Devices, title, self.devices_folded);
        if height != self.devices_height && !self.devices_folded {
            self.devices_height = height;
            ui.request_repaint();
        }
    }

    /// The search for the best parameters, at the upper right of the room that the other panels leave.
    fn tuning(&mut self, ui: &mut Ui, window: Rect, free: Rect, view: &View, actions: &mut Vec<Action>) {
        if !self.tuning_open || window.width() < 60.0 || window.height() < 60.0 {
            return;
        }
        let size = tuning::SIZE;
        let room = if free.width() < size.x || free.height() < size.y { window } else { free };
        let rect = place::floating([f32::MAX, room.top()], size, room);
        tuning::show(ui, rect, view.tuning, &mut self.tuning_of, actions);
    }

    /// The graph in a panel of its own, where it was moved to.
    fn floating_graph(&self, ui: &mut Ui, rect: Rect, view: &View, folded: bool) -> Title {
        // Keeps the pointer from what lies below.
        ui.interact(rect, ui.unique_id().with("graph"), egui::Sense::click_and_drag());
        if folded {
            return panel::folded_panel(ui, rect, Panel::Graph, "Frame time");
        }
        let edge = egui::Stroke::new(1.0, theme::PANEL_EDGE);
        ui.painter().rect(rect, 6, theme::PANEL, edge, egui::StrokeKind::Inside);
        self.graph(ui, rect.shrink(theme::PAD), view, rect.min)
    }

    fn graph(&self, ui: &mut Ui, rect: Rect, view: &View, corner: egui::Pos2) -> Title {
        let mut ui = ui.new_child(UiBuilder::new().id_salt("graph").max_rect(rect));
        ui.spacing_mut().item_spacing.y = 7.0;
        graph::show(&mut ui, view, &self.numbers, corner)
    }

    /// The hint, the message and the table of keys.
    fn on_top(&mut self, ui: &mut Ui, window: Rect, free: Rect, actions: &mut Vec<Action>) {
        let now = ui.input(|i| i.time);
        let later = |until: f64| ui.ctx().request_repaint_after(Duration::from_secs_f64(until - now));
        // One line at a time: the newest news takes the hint's place.
        let mut line = None;
        let pressed = |e: &egui::Event| matches!(e, egui::Event::Key { pressed: true, .. });
        if !self.hint_seen && ui.input(|i| i.events.iter().any(pressed)) {
            self.hint_seen = true;
        }
        if self.visible && !self.hint_seen {
            let until = *self.hint_until.get_or_insert(now + HINT_S);
            if now >= until {
                self.hint_seen = true;
            } else {
                later(until);
                line = Some(keys::hint());
            }
        }
        if let Some((text, until)) = &mut self.said {
            let until = *until.get_or_insert(now + MESSAGE_S);
            if now < until {
                later(until);
                line = Some(text.clone());
            } else {
                self.said = None;
            }
        }
        if let Some(line) = line {
            notices::message(ui, free, line);
        }
        if self.keys_open {
            keys::show(ui, window, actions);
        }
        if let Some(mut field) = self.path_field.take() {
            if field.show(ui, window, actions) {
                self.path_field = Some(field);
            } else {
                self.typed = field.into_text();
                ui.request_repaint();
            }
        }
    }

    /// A button in the lower left corner that shows the hidden overlay, there while the mouse moves there.
    fn corner(&mut self, ui: &mut Ui, window: Rect, actions: &mut Vec<Action>) {
        let (now, pointer, moved) =
            ui.input(|i| (i.time, i.pointer.latest_pos(), i.pointer.delta() != egui::Vec2::ZERO));
        let area = Rect::from_min_max(window.left_bottom() - vec2(theme::GAP, 80.0), window.left_bottom())
            .with_max_x(window.left() + 120.0)
            .with_max_y(window.bottom() + theme::GAP);
        if moved && pointer.is_some_and(|p| area.contains(p)) {
            self.corner_until = now + CORNER_S;
        }
        if now >= self.corner_until {
            return;
        }
        ui.ctx().request_repaint_after(Duration::from_secs_f64(self.corner_until - now));
        let rect = Rect::from_min_size(window.left_bottom() - vec2(0.0, 28.0), vec2(60.0, 28.0));
        let button = egui::Button::new("Show").fill(theme::PANEL.to_opaque());
        if ui.put(rect, button).on_hover_text("Show the overlay: key i").clicked() {
            actions.push(Action::ToggleOverlay);
        }
    }

    /// The controls, the seek bar, and over them the graph unless it is elsewhere, folded or not.
    fn strip(
        &self,
        ui: &mut Ui,
        rect: Rect,
        view: &View,
        graph_folded: Option<bool>,
        actions: &mut Vec<Action>,
    ) -> Title {
        let painter = ui.painter();
        let edge = egui::Stroke::new(1.0, theme::PANEL_EDGE);
        painter.rect(rect, 6, theme::PANEL, edge, egui::StrokeKind::Inside);
        let inner = rect.shrink(theme::PAD);
        if inner.width() < 60.0 {
            return Title::default();
        }
        let mut ui = ui.new_child(UiBuilder::new().id_salt("strip").max_rect(inner));
        ui.set_clip_rect(rect);
        let controls = controls_height(inner.width(), view.variants.len());
        let seek = Rect::from_min_max(
            pos2(inner.left(), inner.bottom() - controls - ROW_GAP - seekbar::HEIGHT),
            pos2(inner.right(), inner.bottom() - controls - ROW_GAP),
        );
        let graph = Rect::from_min_max(inner.min, pos2(inner.right(), seek.top() - ROW_GAP));
        let mut title = Title::default();
        match graph_folded {
            Some(true) if graph.height() > 10.0 => {
                (_, title) = place::handle(&ui, Panel::Graph, graph, rect.min);
                title.fold = panel::header(&mut ui, graph, "Frame time", true);
            }
            Some(false) if graph.height() > 40.0 => title = self.graph(&mut ui, graph, view, rect.min),
            _ => {}
        }
        let below = Rect::from_min_max(pos2(inner.left(), inner.bottom() - controls), inner.max);
        let mut ui = ui.new_child(UiBuilder::new().id_salt("controls").max_rect(below));
        ui.spacing_mut().item_spacing = vec2(6.0, ROW_GAP);
        controls::show(&mut ui, view, actions);
        if seek.top() >= rect.top() {
            seekbar::show(&mut ui, seek, view, actions);
        }
        title
    }
}

/// Seconds that the first-run hint, a message and the button in the corner stay.
const HINT_S: f64 = 10.0;
const MESSAGE_S: f64 = 4.0;
const CORNER_S: f64 = 2.0;
/// Seconds that the devices stay after a change.
const DEVICES_S: f64 = 5.0;
/// While the overlay is hidden, only frames that take this long are told, in seconds.
const HIDDEN_BUSY_S: f64 = 1.0;
const ROW_GAP: f32 = 5.0;
/// Width of the graph where it was moved to.
const FLOATING_GRAPH: f32 = 600.0;

fn controls_height(width: f32, variants: usize) -> f32 {
    let rows = controls::rows(width, variants) as f32;
    rows * theme::CONTROL + (rows - 1.0) * ROW_GAP
}

/// Height of the graph: as high as the window allows.
fn graph_height(window: Rect) -> f32 {
    (window.height() * 0.15).clamp(64.0, 170.0)
}

/// The strip along the bottom of `window`: the controls, the seek bar, and the graph where it is docked.
fn strip_rect(window: Rect, variants: usize, docked: bool, folded: bool) -> Rect {
    let controls = controls_height(window.width() - 2.0 * theme::PAD, variants);
    let graph = if folded { panel::HEADER - 8.0 } else { graph_height(window) } + ROW_GAP;
    let graph = if !docked || window.height() < 220.0 { 0.0 } else { graph };
    let seek = seekbar::HEIGHT + ROW_GAP;
    let height = (controls + seek + graph + 2.0 * theme::PAD).min(window.height());
    Rect::from_min_max(pos2(window.left(), window.bottom() - height), window.max)
}

impl Default for Overlay {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
