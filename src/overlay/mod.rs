//! The egui overlay. In: a [`View`], plain data about this moment. Out: [`Action`]s that the user asked for.

use crate::error::Error;
use crate::gpu::cl::DeviceInfo;
use crate::ladder::VariantId;
use crate::stats::{CpuReading, Recorder};

/// What the user asked for with the mouse; keys give the same actions.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    SetVariant(VariantId),
    SetRadius(u32),
    TogglePause,
    ToggleOverlay,
    DismissNotice(usize),
    Quit,
}

/// Whether a variant can be chosen now.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantStatus {
    Ready,
    /// Its program is being compiled in the background.
    Building,
    /// It cannot run here, and why.
    Unavailable(Error),
}

/// A frame that has been in the filter for long enough to tell the user about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    pub variant: VariantId,
    pub radius: u32,
    /// Part of the frame that is done, 0 to 1.
    pub fraction: f32,
    pub elapsed_s: f64,
    /// Predicted time of the whole frame, in seconds.
    pub predicted_s: f64,
}

/// A variant as the overlay lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantRow<'a> {
    pub id: VariantId,
    /// One to three words for the button's hover text.
    pub title: &'a str,
    /// What the variant does differently, in a sentence or two.
    pub idea: &'a str,
    pub status: VariantStatus,
}

/// What the overlay says about the movie.
#[derive(Debug, Clone, PartialEq)]
pub struct MovieSummary {
    pub file_name: String,
    /// Size of the picture in pixels.
    pub width: u32,
    pub height: u32,
    /// Frames a second by the container, if it says.
    pub fps: Option<f64>,
    pub codec: String,
    /// Position of the frame on the screen, in seconds.
    pub position_s: f64,
    pub duration_s: Option<f64>,
}

/// Something that the user must know, shown as a banner until dismissed.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    pub error: Error,
    /// Also shown while the overlay is hidden.
    pub serious: bool,
}

/// This moment, as far as the overlay is concerned.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub recorder: &'a Recorder,
    pub cpu: CpuReading,
    pub movie: &'a MovieSummary,
    /// The OpenCL device; `None` when there is no OpenCL.
    pub device: Option<&'a DeviceInfo>,
    /// What OpenGL calls its renderer.
    pub gl_renderer: &'a str,
    /// "copy" or "zero-copy", and why.
    pub sharing: &'a str,
    pub sharing_reason: &'a str,
    /// In key order.
    pub variants: &'a [VariantRow<'a>],
    /// What the user chose; the frame on the screen may still be of another one.
    pub chosen: VariantId,
    pub radius: u32,
    pub paused: bool,
    pub unpaced: bool,
    pub busy: Option<&'a Busy>,
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
}

impl Overlay {
    /// A visible overlay.
    pub fn new() -> Self {
        Self { visible: true }
    }

    /// Sets fonts, colours and spacing; once, after the context is made.
    pub fn style(ctx: &egui::Context) {
        ctx.all_styles_mut(|style| style.animation_time = 0.0);
    }

    /// Lays the overlay out over `ui`, which covers the window, and returns what the user asked for.
    pub fn show(&mut self, ui: &mut egui::Ui, view: &View) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.visible {
            for row in view.variants {
                if ui.button(row.id.as_str()).clicked() {
                    actions.push(Action::SetVariant(row.id));
                }
            }
        }
        actions
    }
}

impl Default for Overlay {
    fn default() -> Self {
        Self::new()
    }
}
