//! The overlay's surface: egui between the window and OpenGL. In: the window's events. Out: the overlay over the picture, and
//! what the user asked for in it.

use std::sync::Arc;
use std::time::Duration;

use winit::event::WindowEvent;
use winit::event_loop::ActiveEventLoop;
use winit::window::Window;

use super::{presses, texts};
use crate::app::fonts::SystemFonts;
use crate::app::settings::UI_SCALE;
use base::error::{Error, Result};
use base::jobs::Waker;
use engine::present::VideoQuad;
use opengl::renderer::is_software;
use opengl::timer::{GlTimer, Timing};

/// What the overlay asks for later than this is never: egui says it with a very long time.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// Mouse moves do not repaint faster than this.
pub(super) const INPUT_REPAINT: Duration = Duration::from_millis(16);

/// Returns the largest width and height of egui's textures, where OpenGL's limit is `most`. Each size of the window gives the
/// overlay a zoom of its own and egui new glyphs, which it keeps until a square atlas of this side is nearly full: with the
/// 16,384 of llvmpipe that is 1 GiB, here 64 MiB.
fn texture_side(most: usize) -> usize {
    most.min(4096)
}

/// What draws the overlay, and what draws pictures. It lives in the window's OpenGL context.
pub(super) struct Surface {
    quad: VideoQuad,
    painter: egui_glow::Painter,
    egui: egui::Context,
    fonts: SystemFonts,
    input: egui_winit::State,
    /// Size of the overlay relative to what the window's size asks for.
    scale: f32,
    /// The mouse's last move, while it is over the window.
    moved: Option<WindowEvent>,
    /// The overlay's input that comes with its next pass.
    later: Vec<egui::Event>,
    texts: texts::TextFile,
    /// A processor draws: text takes the letters' pixels as they are.
    is_software: bool,
}

impl Surface {
    /// Makes what draws; the context must be current. `scale` is the overlay's size, `waker` is called when a font is found.
    ///
    /// # Errors
    /// When the programs of OpenGL do not build.
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
        overlay::Overlay::style(&egui);
        let fonts = SystemFonts::provide(&egui, waker.clone());
        let is_software = is_software(gl);
        // Discs would be scaled out of the letters' picture.
        egui.options_mut(|options| options.tessellation_options.prerasterized_discs = !is_software);
        // The overlay's own keys set its size.
        egui.options_mut(|options| options.zoom_with_keyboard = false);
        let (root, side) = (egui::ViewportId::ROOT, Some(texture_side(painter.max_texture_side())));
        let input = egui_winit::State::new(egui.clone(), root, event_loop, None, None, side);
        let texts = texts::TextFile::new();
        Ok(Self {
            quad,
            painter,
            egui,
            fonts,
            input,
            scale,
            moved: None,
            later: Vec::new(),
            texts,
            is_software,
        })
    }

    /// What draws pictures.
    pub(super) fn quad(&self) -> &VideoQuad {
        &self.quad
    }

    /// Size of the overlay relative to what the window's size asks for.
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// Makes the overlay larger or smaller by a factor; `None`: its own size again.
    pub(super) fn zoom(&mut self, factor: Option<f32>) {
        let scale = factor.map_or(1.0, |factor| self.scale * factor);
        self.scale = scale.clamp(*UI_SCALE.start(), *UI_SCALE.end());
    }

    /// Where the mouse is now, in the overlay's points, if it has moved over the window.
    pub(super) fn mouse(&self) -> Option<egui::Pos2> {
        let Some(WindowEvent::CursorMoved { position, .. }) = &self.moved else { return None };
        let points = self.egui.pixels_per_point();
        Some(egui::pos2(position.x as f32 / points, position.y as f32 / points))
    }

    /// Takes an event of the window; whether the overlay is to be drawn for it. `has_field`: keys are being typed into a field.
    pub(super) fn event(&mut self, window: &Window, event: &WindowEvent, has_field: bool) -> bool {
        match event {
            WindowEvent::CursorMoved { .. } => self.moved = Some(event.clone()),
            WindowEvent::CursorLeft { .. } => self.moved = None,
            _ => {}
        }
        let response = self.input.on_window_event(window, event);
        if !has_field {
            // The key that opens a field is not typed into it, whatever the layout calls it.
            self.input.egui_input_mut().events.retain(|event| !matches!(event, egui::Event::Text(_)));
        }
        response.repaint
    }

    /// Uses the fonts that have been found since; whether there are any.
    pub(super) fn look(&self) -> bool {
        self.fonts.look(&self.egui)
    }

    /// Lays the overlay out in a window of `size` pixels, by `contents`, and draws it. Returns after how long it wants to be
    /// drawn again, and what tells the time that OpenGL takes, where `timer` is to.
    pub(super) fn paint(
        &mut self,
        window: &Window,
        size: (u32, u32),
        timer: Option<GlTimer>,
        contents: impl FnMut(&mut egui::Ui),
    ) -> (Option<Duration>, Option<Timing>) {
        self.fit(window, size);
        let mut raw_input = self.input.take_egui_input(window);
        raw_input.events.splice(0..0, self.later.drain(..));
        self.later = presses::hold_back(&mut raw_input.events);
        let mut output = self.egui.run_ui(raw_input, contents);
        self.input.handle_platform_output(window, output.platform_output);
        self.texts.tell(&output.shapes, output.pixels_per_point);
        if self.is_software {
            take_letters_as_they_are(&mut output.textures_delta);
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

    /// Makes everything as large as the window's size in pixels and the scale ask for: a full screen is looked at from
    /// farther away. The mouse is over another point then, and its next click must not be where it was.
    fn fit(&mut self, window: &Window, (width, height): (u32, u32)) {
        let native = window.scale_factor() as f32;
        let points = |pixels: u32| pixels as f32 / native;
        let factor = self.scale * overlay::zoom(points(width), points(height));
        if factor == self.egui.zoom_factor() {
            return;
        }
        // At once: `set_zoom_factor` lays the next pass out for the size that the window had before.
        self.egui.options_mut(|options| options.zoom_factor = factor);
        if let Some(moved) = &self.moved {
            let _ = self.input.on_window_event(window, moved);
        }
    }

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(&mut self) {
        self.quad.destroy();
        self.painter.destroy();
    }
}

/// Has what is drawn with the picture of the letters take the pixel that lies there. Letters begin at whole pixels and all else takes
/// one white pixel of it, so that the same comes out as from four pixels around, with less to do for a processor that draws.
fn take_letters_as_they_are(delta: &mut egui::TexturesDelta) {
    let of_letters = delta.set.iter_mut().filter(|(id, _)| **id == egui::TextureId::default());
    of_letters.flat_map(|(_, images)| images).for_each(|image| image.options = egui::TextureOptions::NEAREST);
}

#[cfg(test)]
mod tests {
    use super::texture_side;

    #[test]
    fn glyphs_of_many_zooms_take_a_bounded_atlas() {
        let egui = egui::Context::default();
        let text: String = ('!'..='~').collect();
        let (mut largest, mut clears, mut before) = (0, 0, 0);
        for n in 0..300_u16 {
            let input =
                egui::RawInput { max_texture_side: Some(texture_side(1 << 14)), ..Default::default() };
            egui.options_mut(|options| options.zoom_factor = 1.0 + f32::from(n) * 0.01);
            let mut output = egui.run_ui(input, |ui| {
                for size in [14.0, 25.0, 60.0] {
                    ui.label(egui::RichText::new(&text).size(size));
                }
            });
            let atlas = egui.fonts(|fonts| fonts.font_image_size());
            let pixels = atlas[0] * atlas[1];
            clears += usize::from(pixels < before);
            (largest, before) = (largest.max(pixels), pixels);
            output.textures_delta.clear();
        }
        assert!(largest <= 1 << 24 && clears > 0, "{largest} pixels, {clears} times cleared");
    }
}
