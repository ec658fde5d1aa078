//! An offscreen framebuffer with a depth buffer, for scenes in 3D. The window itself has no depth buffer, since most scenes
//! need none.

use std::sync::Arc;

use glow::HasContext as _;

use base::error::{Error, Result};
use engine::present::Viewport;

/// A framebuffer with a colour buffer and a depth buffer.
pub(super) struct DepthBuffer {
    gl: Arc<glow::Context>,
    /// The framebuffer, which contains the picture that was drawn last.
    pub(super) framebuffer: glow::Framebuffer,
    color: glow::Renderbuffer,
    depth: glow::Renderbuffer,
    size: (i32, i32),
}

impl DepthBuffer {
    /// Creates the OpenGL objects; their memory is allocated by the first [`draw`](Self::draw).
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn new(gl: Arc<glow::Context>) -> Result<Self> {
        // SAFETY: the context is current on this thread.
        let framebuffer = unsafe { gl.create_framebuffer() }.map_err(depth_buffer_error)?;
        // SAFETY: as before.
        let [color, depth] = unsafe { [gl.create_renderbuffer(), gl.create_renderbuffer()] };
        let (color, depth) = (color.map_err(depth_buffer_error)?, depth.map_err(depth_buffer_error)?);
        Ok(Self { gl, framebuffer, color, depth, size: (0, 0) })
    }

    /// Calls `draw` with the framebuffer bound, the viewport set and the depth test enabled, after clearing the framebuffer to
    /// the background colour `ground` (red, green, blue from 0 to 1). Copies the result to the rectangle `at` of the window.
    ///
    /// # Errors
    /// If OpenGL has not enough memory.
    pub(super) fn draw(&mut self, at: Viewport, ground: [f32; 3], draw: impl FnOnce()) -> Result<()> {
        let gl = self.gl.clone();
        // SAFETY: the context is current on this thread; all objects are alive and this context's.
        unsafe {
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(self.framebuffer));
            let fits = self.fit((at.width, at.height));
            if fits.is_ok() {
                gl.viewport(0, 0, at.width, at.height);
                gl.clear_color(ground[0], ground[1], ground[2], 1.0);
                gl.enable(glow::DEPTH_TEST);
                gl.depth_func(glow::LESS);
                gl.depth_mask(true);
                gl.clear(glow::COLOR_BUFFER_BIT | glow::DEPTH_BUFFER_BIT);
                draw();
                gl.disable(glow::DEPTH_TEST);
                gl.bind_framebuffer(glow::READ_FRAMEBUFFER, Some(self.framebuffer));
                gl.bind_framebuffer(glow::DRAW_FRAMEBUFFER, None);
                let (right, top) = (at.x + at.width, at.y + at.height);
                let bits = glow::COLOR_BUFFER_BIT;
                gl.blit_framebuffer(0, 0, at.width, at.height, at.x, at.y, right, top, bits, glow::NEAREST);
            }
            gl.bind_framebuffer(glow::FRAMEBUFFER, None);
            fits
        }
    }

    /// Resizes the colour buffer and the depth buffer to this size. The framebuffer must be bound.
    fn fit(&mut self, size: (i32, i32)) -> Result<()> {
        if size == self.size {
            return Ok(());
        }
        let gl = &self.gl;
        // SAFETY: the context is current on this thread; all objects are alive and this context's.
        let status = unsafe {
            for (buffer, format, place) in [
                (self.color, glow::RGBA8, glow::COLOR_ATTACHMENT0),
                (self.depth, glow::DEPTH_COMPONENT24, glow::DEPTH_ATTACHMENT),
            ] {
                gl.bind_renderbuffer(glow::RENDERBUFFER, Some(buffer));
                gl.renderbuffer_storage(glow::RENDERBUFFER, format, size.0, size.1);
                gl.framebuffer_renderbuffer(glow::FRAMEBUFFER, place, glow::RENDERBUFFER, Some(buffer));
            }
            gl.bind_renderbuffer(glow::RENDERBUFFER, None);
            gl.check_framebuffer_status(glow::FRAMEBUFFER)
        };
        if status != glow::FRAMEBUFFER_COMPLETE {
            return Err(depth_buffer_error(format!(
                "its status is 0x{status:x} at {}×{} pixels",
                size.0, size.1
            )));
        }
        self.size = size;
        Ok(())
    }

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(&self) {
        // SAFETY: the context is current, and the objects are not used again.
        unsafe {
            self.gl.delete_framebuffer(self.framebuffer);
            self.gl.delete_renderbuffer(self.color);
            self.gl.delete_renderbuffer(self.depth);
        }
    }
}

fn depth_buffer_error(why: String) -> Error {
    Error::new("OpenGL gives no depth buffer.", format!("{why}."), "Make the window smaller.")
}
