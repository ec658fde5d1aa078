//! The overlay's surface: passes the window's events to egui, and draws what egui has laid out with OpenGL.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::Event;
use serde_json::json;
use winit::event::WindowEvent;
use winit::event_loop::ActiveEventLoop;
use winit::window::Window;

use crate::app::fonts::{SystemFonts, fontconfig};
use crate::app::settings::UI_SCALE;
use crate::gl_window::GlWindow;
use base::error::{Error, Result};
use base::jobs::Waker;
use base::stderr::print_message;
use engine::present::VideoQuad;
use opengl::renderer::is_software;
use opengl::timer::{GlTimer, Timing};

/// The delay from which on a repaint that egui requests is ignored: egui requests a very long delay if it needs no repaint.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// The minimum interval between repaints that are caused by moves of the mouse.
pub(super) const INPUT_REPAINT: Duration = Duration::from_millis(16);

/// Returns the maximum width and height that egui may give its textures after `zooms` changes of the zoom; `most` is the
/// maximum of OpenGL. egui keeps all glyphs that it has ever drawn in a square atlas until an atlas of this size is nearly
/// full: with the 16,384 of llvmpipe that would take 1 GiB. Glyphs of a previous zoom are never drawn again, so the returned
/// value alternates between two numbers: when it changes, egui begins an empty atlas.
fn texture_side(most: usize, zooms: usize) -> usize {
    most.min(4096) - zooms % 2
}

/// The painters of the picture and of the overlay in the window's OpenGL context, and the state of egui's input.
pub(super) struct Surface {
    /// The painter that draws the picture (a frame or a scene's output) on the window.
    pub quad: VideoQuad,
    painter: egui_glow::Painter,
    pub egui: egui::Context,
    pub fonts: SystemFonts,
    pub input: egui_winit::State,
    /// The user's scale of the overlay, as a factor of the scale that follows from the window's size.
    pub scale: f32,
    /// The number of changes of egui's zoom so far.
    zooms: usize,
    /// The last event that moved the mouse; `None` if the mouse is not over the window.
    moved: Option<WindowEvent>,
    /// Input events that were held back for the next pass of egui, so that quick clicks are noticed.
    later: Vec<Event>,
    texts: TextFile,
    /// True if OpenGL is rendered by the CPU. Then glyphs are drawn without interpolation, which is faster.
    is_software: bool,
}

impl Surface {
    /// Creates the painters; the OpenGL context must be current. `scale` is the user's scale of the overlay. `waker` is called
    /// whenever a font was found.
    ///
    /// # Errors
    /// If OpenGL cannot build the programs.
    pub(super) fn new(
        event_loop: &ActiveEventLoop,
        gl: &Arc<glow::Context>,
        scale: f32,
        waker: &Waker,
    ) -> Result<Self> {
        let quad = VideoQuad::new(gl.clone())?;
        let painter = egui_glow::Painter::new(gl.clone(), "", None, false).map_err(|e| {
            Error::new("The overlay could not be started.", e.to_string(), "Update the OpenGL driver.")
        })?;
        let egui = egui::Context::default();
        overlay::theme::apply(&egui);
        let fonts = SystemFonts::provide(fontconfig, &egui, waker);
        let is_software = is_software(gl);
        // Prerasterized discs would be scaled from the atlas, with interpolation.
        egui.options_mut(|options| options.tessellation_options.prerasterized_discs = !is_software);
        // The overlay's own keys set its size.
        egui.options_mut(|options| options.zoom_with_keyboard = false);
        let (root, side) = (egui::ViewportId::ROOT, Some(texture_side(painter.max_texture_side(), 0)));
        let input = egui_winit::State::new(egui.clone(), root, event_loop, None, None, side);
        let (zooms, moved, later, texts) = (0, None, Vec::new(), TextFile::new());
        Ok(Self { quad, painter, egui, fonts, input, scale, zooms, moved, later, texts, is_software })
    }

    /// Multiplies the user's scale of the overlay by a factor; `None` resets the scale to 1.
    pub(super) fn zoom(&mut self, factor: Option<f32>) {
        let scale = factor.map_or(1.0, |factor| self.scale * factor);
        self.scale = scale.clamp(*UI_SCALE.start(), *UI_SCALE.end());
    }

    /// Returns the position of the mouse in points; `None` if the mouse is not over the window.
    pub(super) fn mouse(&self) -> Option<egui::Pos2> {
        let Some(WindowEvent::CursorMoved { position, .. }) = &self.moved else { return None };
        let points = self.egui.pixels_per_point();
        Some(egui::pos2(position.x as f32 / points, position.y as f32 / points))
    }

    /// Passes an event of the window to egui; returns true if the overlay must be redrawn. `has_field` is true while a text
    /// field has the focus; typed text is dropped otherwise.
    pub(super) fn event(&mut self, window: &Window, event: &WindowEvent, has_field: bool) -> bool {
        match event {
            WindowEvent::CursorMoved { .. } => self.moved = Some(event.clone()),
            WindowEvent::CursorLeft { .. } => self.moved = None,
            _ => {}
        }
        let response = self.input.on_window_event(window, event);
        if !has_field {
            // The key that opens a field is not typed into it.
            self.input.egui_input_mut().events.retain(|event| !matches!(event, Event::Text(_)));
        }
        response.repaint
    }

    /// Lays out and draws the overlay, which `contents` builds, in this window. Returns the delay until the overlay must be
    /// redrawn (`None` if it need not be redrawn), and the running measurement of its drawing time in OpenGL (`None` without a
    /// `timer`).
    pub(super) fn paint(
        &mut self,
        gl_window: &GlWindow,
        timer: Option<GlTimer>,
        contents: impl FnMut(&mut egui::Ui),
    ) -> (Option<Duration>, Option<Timing>) {
        let (window, size) = (&gl_window.window, gl_window.size());
        self.fit(window, size);
        let mut raw_input = self.input.take_egui_input(window);
        raw_input.events.splice(0..0, self.later.drain(..));
        self.later = hold_back(&mut raw_input.events);
        let mut output = self.egui.run_ui(raw_input, contents);
        self.input.handle_platform_output(window, output.platform_output);
        self.texts.write(&output.shapes, output.pixels_per_point);
        if self.is_software {
            // Glyphs begin at whole pixels, and everything else uses one white pixel of the atlas, so the picture is the same
            // without interpolation, with less work for the CPU.
            let atlas = output.textures_delta.set.get_mut(&egui::TextureId::default());
            atlas.into_iter().flatten().for_each(|image| image.options = egui::TextureOptions::NEAREST);
        }
        let primitives = self.egui.tessellate(output.shapes, output.pixels_per_point);
        let (size, scale) = ([size.0, size.1], output.pixels_per_point);
        let painter = &mut self.painter;
        let mut paint =
            || painter.paint_and_update_textures(size, scale, &primitives, &mut output.textures_delta);
        let timing = match timer {
            Some(timer) => timer.time_with_next(paint).1,
            None => {
                paint();
                None
            }
        };
        let wait = output.viewport_output.get(&egui::ViewportId::ROOT).map(|v| v.repaint_delay);
        let wait = wait.filter(|wait| *wait < LONGEST_WAIT).map(|wait| wait.max(INPUT_REPAINT));
        (if self.later.is_empty() { wait } else { Some(Duration::ZERO) }, timing)
    }

    /// Sets egui's zoom from the window's size in pixels and the user's scale: a full screen is viewed from a greater distance.
    /// Passes the mouse's position to egui again, since its position in points changes.
    fn fit(&mut self, window: &Window, (width, height): (u32, u32)) {
        let native = window.scale_factor() as f32;
        let points = |pixels: u32| pixels as f32 / native;
        let factor = self.scale * overlay::zoom(points(width), points(height));
        if factor == self.egui.zoom_factor() {
            return;
        }
        // Set at once: `set_zoom_factor` would lay the next pass out for the size that the window had before.
        self.egui.options_mut(|options| options.zoom_factor = factor);
        self.zooms += 1;
        self.input.set_max_texture_side(texture_side(self.painter.max_texture_side(), self.zooms));
        if let Some(moved) = &self.moved {
            let _ = self.input.on_window_event(window, moved);
        }
    }

    /// Deletes the OpenGL objects; must be called while the OpenGL context is current.
    pub(super) fn destroy(&mut self) {
        self.quad.destroy();
        self.painter.destroy();
    }
}

/// Delays quick clicks, so that egui sees press and release of a mouse button in different passes: egui ignores a click on a
/// slider or seek bar whose press and release are in one pass, which happens where drawing takes long. If `events` contain a press
/// and the release of the same button, removes the release and all later events from `events`, and returns them for the next
/// pass; returns nothing otherwise.
fn hold_back(events: &mut Vec<Event>) -> Vec<Event> {
    let mut down = Vec::new();
    let at = events.iter().position(|event| match event {
        Event::PointerButton { button, pressed: true, .. } => {
            down.push(*button);
            false
        }
        Event::PointerButton { button, pressed: false, .. } => down.contains(button),
        _ => false,
    });
    at.map_or_else(Vec::new, |at| events.split_off(at))
}

/// The file for the overlay's texts, for tests: a JSON list of texts with their rectangles in pixels of the window, written
/// whenever the texts change. Also its last contents.
struct TextFile {
    path: Option<PathBuf>,
    written: String,
}

impl TextFile {
    /// Takes the path of the file from the environment; no file is written if that names none.
    fn new() -> Self {
        let path = base::environment::get("CLREEL_TEXTS").filter(|path| !path.is_empty()).map(PathBuf::from);
        Self { path, written: String::new() }
    }

    /// Writes the texts among these shapes to the file if they have changed; `scale` is the number of pixels per point. After
    /// an error nothing is written any more.
    fn write(&mut self, shapes: &[egui::epaint::ClippedShape], scale: f32) {
        let Some(path) = &self.path else { return };
        let texts = overlay::texts(shapes);
        let rows = texts.iter().map(|(text, rect)| {
            let [x, y, width, height] =
                [rect.left(), rect.top(), rect.width(), rect.height()].map(|side| side * scale);
            json!({ "text": text, "x": x, "y": y, "width": width, "height": height })
        });
        let json = rows.collect::<serde_json::Value>().to_string();
        if json == self.written {
            return;
        }
        // The file is written under another name and then renamed, so that nobody reads an incomplete file.
        let part = path.with_extension("part");
        if let Err(error) = std::fs::write(&part, &json).and_then(|()| std::fs::rename(&part, path)) {
            print_message(format_args!("'{}' cannot be written: {error}.", base::text::name(path)));
            self.path = None;
        }
        self.written = json;
    }
}

#[cfg(test)]
mod tests {
    use egui::{Modifiers, PointerButton, pos2};

    use super::*;

    #[test]
    fn the_atlas_has_the_glyphs_of_one_zoom() {
        let egui = egui::Context::default();
        let text: String = ('!'..='~').collect();
        let (mut first, mut largest) = (0, 0);
        for zooms in 0..100 {
            let input =
                egui::RawInput { max_texture_side: Some(texture_side(1 << 14, zooms)), ..Default::default() };
            egui.options_mut(|options| options.zoom_factor = 2.0 - zooms as f32 * 0.01);
            let mut output = egui.run_ui(input, |ui| {
                for size in [14.0, 25.0, 60.0] {
                    ui.label(egui::RichText::new(&text).size(size));
                }
            });
            let atlas = egui.fonts(|fonts| fonts.font_image_size());
            let pixels = atlas[0] * atlas[1];
            first = if zooms == 0 { pixels } else { first };
            largest = largest.max(pixels);
            output.textures_delta.clear();
        }
        assert_eq!(largest, first);
    }

    fn button(button: PointerButton, pressed: bool) -> Event {
        Event::PointerButton { pos: pos2(1.0, 2.0), button, pressed, modifiers: Modifiers::NONE }
    }

    #[test]
    fn a_release_comes_a_pass_after_its_press() {
        let (left, right) = (PointerButton::Primary, PointerButton::Secondary);
        let moved = Event::PointerMoved(pos2(3.0, 4.0));
        // The release of a button that was pressed before, then two clicks.
        let (down, up) = (button(left, true), button(left, false));
        let other = button(right, false);
        let click = [down.clone(), up.clone()];
        let mut events = vec![up.clone(), down, other, moved.clone(), up];
        events.extend(click);
        let all = events.clone();
        let mut passes = Vec::new();
        while !events.is_empty() {
            let later = hold_back(&mut events);
            passes.push(std::mem::replace(&mut events, later));
        }
        assert_eq!(passes, [all[..4].to_vec(), all[4..6].to_vec(), all[6..].to_vec()]);
        let mut none = vec![moved];
        assert!(hold_back(&mut none).is_empty() && none.len() == 1);
    }
}
