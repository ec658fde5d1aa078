//! Draws a picture in the window, with black bars to keep its shape, and over a chequerboard if it has alpha.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use glow::HasContext as _;

use base::error::Result;
use opengl::shader;
use video::Orientation;

/// The rectangle of the window that shows the picture, in pixels. The origin is at the bottom left, as in OpenGL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewport {
    /// The left edge.
    pub x: i32,
    /// The bottom edge.
    pub y: i32,
    /// The width.
    pub width: i32,
    /// The height.
    pub height: i32,
}

impl Viewport {
    /// Returns true if a picture of this size is shown pixel by pixel, without scaling.
    pub(crate) fn is_exact(&self, (width, height): (u32, u32)) -> bool {
        (self.width, self.height) == (width as i32, height as i32)
    }

    /// Returns true if the rectangle covers a window of this size.
    pub fn fills(&self, window: (u32, u32)) -> bool {
        (self.x, self.y) == (0, 0) && self.is_exact(window)
    }
}

/// Returns the largest rectangle of the picture's shape that fits into the window, centred.
///
/// `window` and `picture` are sizes in pixels, and `pixel_aspect` is the width of one of the picture's pixels divided by its height. A
/// picture that is as large as the window fills it exactly, pixel by pixel.
pub fn letterbox(window: (u32, u32), picture: (u32, u32), pixel_aspect: f64) -> Viewport {
    let (ww, wh) = (f64::from(window.0.max(1)), f64::from(window.1.max(1)));
    let aspect = f64::from(picture.0.max(1)) * pixel_aspect / f64::from(picture.1.max(1));
    let (w, h) = if ww / wh > aspect { (wh * aspect, wh) } else { (ww, ww / aspect) };
    let (w, h) = (w.round().clamp(1.0, ww), h.round().clamp(1.0, wh));
    let [x, y] = [ww - w, wh - h].map(|bars| (bars / 2.0).floor() as i32);
    Viewport { x, y, width: w as i32, height: h as i32 }
}

/// Returns the matrix that maps a point of the shown picture to the point of the stored picture, both relative to the picture's
/// centre: 2×2 numbers, column by column. The mapping is exact at the edges, because it only exchanges and negates coordinates.
pub fn texture_matrix(orientation: Orientation) -> [f32; 4] {
    let sign = |flipped| if flipped { -1.0 } else { 1.0 };
    let (x, y) = (sign(orientation.flip_x), sign(orientation.flip_y));
    if orientation.swapped { [0.0, x, y, 0.0] } else { [x, 0.0, 0.0, y] }
}

/// A picture to draw.
#[derive(Debug, Clone, Copy)]
pub struct Picture {
    /// The texture with its pixels.
    pub texture: glow::Texture,
    /// The size in pixels.
    pub size: (u32, u32),
    /// True if it has alpha: its colours are then premultiplied, and it is drawn over a chequerboard.
    pub has_alpha: bool,
    /// The rotation and mirroring with which it is drawn.
    pub orientation: Orientation,
}

/// A shader program that draws a picture, and the location of its matrix.
struct QuadProgram {
    program: glow::Program,
    orientation: Option<glow::UniformLocation>,
}

impl QuadProgram {
    /// Compiles the program with the fragment shader `fragment`, a pair of name and source text.
    fn new(gl: &glow::Context, fragment: (&str, &str)) -> Result<Self> {
        let vertex = ("video.vert", include_str!("../../../shaders/video.vert"));
        let program = shader::program(gl, "video", vertex, fragment)?;
        // SAFETY: the context is current on this thread, and the program is this context's.
        let orientation = unsafe { gl.get_uniform_location(program, "orientation") };
        Ok(Self { program, orientation })
    }
}

/// The shader programs and OpenGL objects that draw a picture.
pub struct VideoQuad {
    gl: Arc<glow::Context>,
    program: QuadProgram,
    /// The program for pictures with alpha, compiled when the first of them is drawn. `None` if it does not compile; such
    /// pictures are then drawn on black.
    alpha_program: OnceCell<Option<QuadProgram>>,
    vertex_array: glow::VertexArray,
    /// A sampler without filtering, for pictures that are shown pixel by pixel.
    nearest: glow::Sampler,
}

impl VideoQuad {
    /// Compiles the shaders.
    ///
    /// # Errors
    /// If a shader does not compile or link, with the driver's log.
    pub fn new(gl: Arc<glow::Context>) -> Result<Self> {
        let program = QuadProgram::new(&gl, ("video.frag", include_str!("../../../shaders/video.frag")))?;
        // SAFETY: the context is current on this thread, and the objects are this context's.
        unsafe {
            let vertex_array = gl.create_vertex_array().map_err(|e| shader::build_error("video", e))?;
            let nearest = gl.create_sampler().map_err(|e| shader::build_error("video", e))?;
            for filter in [glow::TEXTURE_MIN_FILTER, glow::TEXTURE_MAG_FILTER] {
                gl.sampler_parameter_i32(nearest, filter, glow::NEAREST as i32);
            }
            Ok(Self { gl, program, alpha_program: OnceCell::new(), vertex_array, nearest })
        }
    }

    /// Sets up OpenGL's state to draw into a window of this size, and clears it to black.
    pub fn clear(&self, window: (u32, u32)) {
        self.make_ready(window);
        // SAFETY: the context is current on this thread.
        unsafe {
            self.gl.clear_color(0.0, 0.0, 0.0, 1.0);
            self.gl.clear(glow::COLOR_BUFFER_BIT);
        }
    }

    /// Sets up OpenGL's state to draw into a window of this size, without clearing it: for a picture that covers all of it.
    pub fn make_ready(&self, window: (u32, u32)) {
        let gl = &self.gl;
        // The overlay's painter changes blending, scissor and vertex array, so all of it is set each time.
        // SAFETY: the context is current on this thread; all objects are alive and this context's.
        unsafe {
            gl.bind_framebuffer(glow::FRAMEBUFFER, None);
            let off = [glow::SCISSOR_TEST, glow::BLEND, glow::CULL_FACE, glow::DEPTH_TEST];
            off.into_iter().for_each(|state| gl.disable(state));
            if !gl.version().is_embedded {
                gl.disable(glow::FRAMEBUFFER_SRGB);
            }
            gl.color_mask(true, true, true, true);
            gl.viewport(0, 0, window.0 as i32, window.1 as i32);
        }
    }

    /// Draws the pixel columns `columns` of a picture that fills `viewport`, counted from the viewport's left edge. Call
    /// [`VideoQuad::clear`] or [`VideoQuad::make_ready`] before.
    pub fn draw(&self, picture: &Picture, viewport: Viewport, columns: Range<i32>) {
        let gl = &self.gl;
        let (from, to) = (columns.start.max(0), columns.end.min(viewport.width));
        if from >= to {
            return;
        }
        let (shown, _) = picture.orientation.display_size(picture.size, 1.0);
        // The bytes are the same with both samplers, and this one is less work for a CPU that draws.
        let sampler = viewport.is_exact(shown).then_some(self.nearest);
        let program = picture.has_alpha.then(|| self.alpha_program()).flatten().unwrap_or(&self.program);
        let matrix = texture_matrix(picture.orientation);
        // SAFETY: the context is current on this thread; all objects are alive and this context's.
        unsafe {
            gl.enable(glow::SCISSOR_TEST);
            gl.scissor(viewport.x + from, viewport.y, to - from, viewport.height);
            gl.viewport(viewport.x, viewport.y, viewport.width, viewport.height);
            gl.use_program(Some(program.program));
            gl.uniform_matrix_2_f32_slice(program.orientation.as_ref(), false, &matrix);
            gl.bind_vertex_array(Some(self.vertex_array));
            gl.active_texture(glow::TEXTURE0);
            gl.bind_texture(glow::TEXTURE_2D, Some(picture.texture));
            gl.bind_sampler(0, sampler);
            gl.draw_arrays(glow::TRIANGLE_STRIP, 0, 4);
            gl.bind_sampler(0, None);
            gl.bind_texture(glow::TEXTURE_2D, None);
            gl.bind_vertex_array(None);
            gl.use_program(None);
            gl.disable(glow::SCISSOR_TEST);
        }
    }

    /// Returns the program that draws pictures with alpha over a chequerboard, compiled on first use; `None` if it does not
    /// compile.
    fn alpha_program(&self) -> Option<&QuadProgram> {
        let fragment = ("video_alpha.frag", include_str!("../../../shaders/video_alpha.frag"));
        self.alpha_program.get_or_init(|| QuadProgram::new(&self.gl, fragment).ok()).as_ref()
    }

    /// Deletes the OpenGL objects. The context must be current.
    pub fn destroy(&self) {
        // SAFETY: the context is current, and the objects are not used again.
        unsafe {
            self.gl.delete_program(self.program.program);
            let of_alpha = self.alpha_program.get().and_then(Option::as_ref);
            of_alpha.into_iter().for_each(|program| self.gl.delete_program(program.program));
            self.gl.delete_vertex_array(self.vertex_array);
            self.gl.delete_sampler(self.nearest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_corners_are_the_right_stored_ones() {
        // The stored point that is shown at the top left and at the top right corner, by rotation and mirror.
        let cases = [
            ((false, false, false), [0.0, 0.0], [1.0, 0.0]),
            ((true, true, false), [0.0, 1.0], [0.0, 0.0]),
            ((false, true, true), [1.0, 1.0], [0.0, 1.0]),
            ((true, false, true), [1.0, 0.0], [1.0, 1.0]),
            ((false, true, false), [1.0, 0.0], [0.0, 0.0]),
            ((true, true, true), [1.0, 1.0], [1.0, 0.0]),
            ((false, false, true), [0.0, 1.0], [1.0, 1.0]),
            ((true, false, false), [0.0, 0.0], [0.0, 1.0]),
        ];
        for ((swapped, flip_x, flip_y), left, right) in cases {
            let orientation = Orientation { swapped, flip_x, flip_y };
            let [a, b, c, d] = texture_matrix(orientation);
            let stored = |x: f32, y: f32| {
                let (x, y) = (x - 0.5, y - 0.5);
                [a * x + c * y + 0.5, b * x + d * y + 0.5]
            };
            assert_eq!((stored(0.0, 0.0), stored(1.0, 0.0)), (left, right), "{orientation:?}");
        }
    }

    #[test]
    fn bars_go_where_the_window_is_too_large() {
        let cases = [
            // The same size is exact, pixel by pixel.
            ((1280, 720), (1280, 720), 1.0, [0, 0, 1280, 720]),
            ((175, 99), (175, 99), 1.0, [0, 0, 175, 99]),
            ((1000, 1000), (1280, 720), 1.0, [0, 218, 1000, 563]),
            ((1000, 100), (100, 100), 1.0, [450, 0, 100, 100]),
            // Anamorphic PAL: 720×576 with 64:45 pixels is shown as 16:9.
            ((1600, 1600), (720, 576), 64.0 / 45.0, [0, 350, 1600, 900]),
        ];
        for (window, picture, aspect, [x, y, width, height]) in cases {
            assert_eq!(letterbox(window, picture, aspect), Viewport { x, y, width, height });
        }
        // Extremes stay inside the window.
        for (window, picture) in [((1, 1), (16384, 1)), ((640, 360), (1, 16384)), ((0, 0), (0, 0))] {
            let v = letterbox(window, picture, 1.0);
            assert!(v.width >= 1 && v.height >= 1 && v.x >= 0 && v.y >= 0);
            assert!(v.x + v.width <= window.0.max(1) as i32 && v.y + v.height <= window.1.max(1) as i32);
        }
    }
}
