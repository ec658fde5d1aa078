//! The egui overlay. In: a [`View`], plain data about this moment. Out: [`Action`]s that the user asked for.
//!
//! A panel on the left has the numbers, a strip at the bottom the frame-time graph and the controls; the rest
//! of the window belongs to the picture. Nothing here asks for a repaint or touches the movie.

mod controls;
mod graph;
mod notices;
mod panel;
mod table;
mod theme;
mod words;

use egui::{Rect, Ui, UiBuilder, pos2, vec2};

use crate::error::Error;
use crate::gpu::cl::DeviceInfo;
use crate::ladder::VariantId;
use crate::stats::{CpuReading, Recorder};

/// What the user asked for with the mouse; keys give the same actions.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Filter by this variant from the next frame on.
    SetVariant(VariantId),
    /// Use this radius, in pixels.
    SetRadius(u32),
    /// Pause, or go on.
    TogglePause,
    /// Hide or show the overlay.
    ToggleOverlay,
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
    /// Frame interval of the movie in milliseconds, the budget of a frame.
    pub budget_ms: Option<f64>,
    /// Frames are being dropped because the filter is slower than the movie.
    pub catching_up: bool,
}

/// The overlay's own state.
#[derive(Debug)]
pub struct Overlay {
    /// Whether the panels are shown; serious notices always are.
    pub visible: bool,
    numbers: table::Numbers,
}

impl Overlay {
    /// A visible overlay.
    pub fn new() -> Self {
        Self { visible: true, numbers: table::Numbers::default() }
    }

    /// Sets fonts, colours and spacing; once, after the context is made.
    pub fn style(ctx: &egui::Context) {
        theme::apply(ctx);
    }

    /// Lays the overlay out over `ui`, which covers the window, and returns what the user asked for.
    pub fn show(&mut self, ui: &mut Ui, view: &View) -> Vec<Action> {
        // Keys belong to the player: a button that kept the focus would answer Space as well.
        ui.memory_mut(|memory| {
            if let Some(id) = memory.focused() {
                memory.surrender_focus(id);
            }
        });
        let mut actions = Vec::new();
        let window = ui.max_rect().shrink(theme::GAP);
        if !self.visible {
            notices::show(ui, window, view.notices, true, &mut actions);
            return actions;
        }
        let now = ui.input(|i| i.time);
        self.numbers.refresh(view.recorder, now);

        let strip = strip_rect(window, view.variants.len());
        let above = Rect::from_min_max(window.min, pos2(window.right(), strip.top() - theme::GAP));
        if above.height() > 60.0 {
            panel::show(ui, above, view, &self.numbers);
        }
        self.strip(ui, strip, view, &mut actions);

        let mut free = above;
        if above.width() > panel::WIDTH + 220.0 {
            free.min.x += panel::WIDTH + theme::GAP;
        }
        if let Some(busy) = view.busy {
            notices::progress(ui, free, busy);
        }
        notices::show(ui, free, view.notices, false, &mut actions);

        actions
    }

    fn strip(&self, ui: &mut Ui, rect: Rect, view: &View, actions: &mut Vec<Action>) {
        let painter = ui.painter();
        let edge = egui::Stroke::new(1.0, theme::PANEL_EDGE);
        painter.rect(rect, 6, theme::PANEL, edge, egui::StrokeKind::Inside);
        let inner = rect.shrink(theme::PAD);
        if inner.width() < 60.0 {
            return;
        }
        let mut ui = ui.new_child(UiBuilder::new().id_salt("strip").max_rect(inner));
        ui.set_clip_rect(rect);
        let controls = controls_height(inner.width(), view.variants.len());
        let graph = Rect::from_min_max(inner.min, pos2(inner.right(), inner.bottom() - controls - 6.0));
        if graph.height() > 40.0 {
            let mut ui = ui.new_child(UiBuilder::new().id_salt("graph").max_rect(graph));
            ui.spacing_mut().item_spacing.y = 7.0;
            graph::show(&mut ui, view, &self.numbers);
        }
        let below = Rect::from_min_max(pos2(inner.left(), inner.bottom() - controls), inner.max);
        let mut ui = ui.new_child(UiBuilder::new().id_salt("controls").max_rect(below));
        ui.spacing_mut().item_spacing = vec2(6.0, ROW_GAP);
        controls::show(&mut ui, view, actions);
    }
}

const ROW_GAP: f32 = 5.0;

fn controls_height(width: f32, variants: usize) -> f32 {
    let rows = controls::rows(width, variants) as f32;
    rows * theme::CONTROL + (rows - 1.0) * ROW_GAP
}

/// The strip along the bottom of `window`: controls, and a graph as high as the window allows.
fn strip_rect(window: Rect, variants: usize) -> Rect {
    let controls = controls_height(window.width() - 2.0 * theme::PAD, variants);
    let graph = (window.height() * 0.18).clamp(64.0, 170.0);
    let graph = if window.height() < 220.0 { 0.0 } else { graph };
    let height = (controls + graph + 6.0 + 2.0 * theme::PAD).min(window.height());
    Rect::from_min_max(pos2(window.left(), window.bottom() - height), window.max)
}

impl Default for Overlay {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
