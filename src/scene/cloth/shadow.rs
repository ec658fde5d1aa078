//! The shadow map, which stores the depth of the nearest surface as seen from the light (L. Williams, "Casting Curved Shadows
//! on Curved Surfaces", 1978).

use std::sync::Arc;

use glow::HasContext as _;

use super::camera::Matrix;
use base::error::{Error, Result};
use opengl::shader;

/// The shadow map, as a depth texture that is drawn from the light's point of view.
pub(super) struct Shadow {
    gl: Arc<glow::Context>,
    program: glow::Program,
    framebuffer: glow::Framebuffer,
    /// The depth texture of the shadow map.
    pub(super) texture: glow::Texture,
    /// The width and height of the texture in pixels.
    size: i32,
}

impl Shadow {
    /// Creates an empty shadow map, `size` pixels wide and high.
    ///
    /// # Errors
    /// If the shaders do not compile, or OpenGL cannot create the texture.
    pub(super) fn new(gl: &Arc<glow::Context>, size: i32) -> Result<Self> {
        let vertex = ("cloth_shadow.vert", include_str!("../../../shaders/cloth_shadow.vert"));
        let fragment = ("cloth_shadow.frag", include_str!("../../../shaders/cloth_shadow.frag"));
        let program = shader::program(gl, "cloth_shadow", vertex, fragment)?;
        let target = glow::TEXTURE_2D;
        // SAFETY: the context is current on this thread, and the objects are this context's.
        unsafe {
            let texture = gl.create_texture().map_err(shadow_map_error)?;
            gl.bind_texture(target, Some(texture));
            let (inner, outer, kind) =
                (glow::DEPTH_COMPONENT24 as i32, glow::DEPTH_COMPONENT, glow::UNSIGNED_INT);
            let none = glow::PixelUnpackData::Slice(None);
            gl.tex_image_2d(target, 0, inner, size, size, 0, outer, kind, none);
            for (name, value) in [
                (glow::TEXTURE_MIN_FILTER, glow::LINEAR),
                (glow::TEXTURE_MAG_FILTER, glow::LINEAR),
                (glow::TEXTURE_WRAP_S, glow::CLAMP_TO_EDGE),
                (glow::TEXTURE_WRAP_T, glow::CLAMP_TO_EDGE),
                (glow::TEXTURE_COMPARE_MODE, glow::COMPARE_REF_TO_TEXTURE),
                (glow::TEXTURE_COMPARE_FUNC, glow::LEQUAL),
            ] {
                gl.tex_parameter_i32(target, name, value as i32);
            }
            gl.bind_texture(target, None);
            let framebuffer = gl.create_framebuffer().map_err(shadow_map_error)?;
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(framebuffer));
            let attachment = glow::DEPTH_ATTACHMENT;
            gl.framebuffer_texture_2d(glow::FRAMEBUFFER, attachment, target, Some(texture), 0);
            gl.draw_buffers(&[glow::NONE]);
            gl.read_buffer(glow::NONE);
            let status = gl.check_framebuffer_status(glow::FRAMEBUFFER);
            gl.bind_framebuffer(glow::FRAMEBUFFER, None);
            if status != glow::FRAMEBUFFER_COMPLETE {
                return Err(shadow_map_error(format!("its status is 0x{status:x}")));
            }
            Ok(Self { gl: gl.clone(), program, framebuffer, texture, size })
        }
    }

    /// Calls `draw` with the shadow map as the render target; `light` is the matrix that transforms points of the scene to the
    /// shadow map.
    pub(super) fn draw(&self, light: &Matrix, draw: impl FnOnce()) {
        let gl = &self.gl;
        // SAFETY: the context is current on this thread; all objects are alive and this context's.
        unsafe {
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(self.framebuffer));
            gl.viewport(0, 0, self.size, self.size);
            gl.enable(glow::DEPTH_TEST);
            gl.depth_func(glow::LESS);
            gl.depth_mask(true);
            gl.clear(glow::DEPTH_BUFFER_BIT);
            gl.enable(glow::POLYGON_OFFSET_FILL);
            gl.polygon_offset(2.0, 4.0);
            gl.use_program(Some(self.program));
            let at = gl.get_uniform_location(self.program, "light");
            gl.uniform_matrix_4_f32_slice(at.as_ref(), false, light);
            draw();
            gl.use_program(None);
            gl.disable(glow::POLYGON_OFFSET_FILL);
            gl.disable(glow::DEPTH_TEST);
            gl.bind_framebuffer(glow::FRAMEBUFFER, None);
        }
    }

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(&self) {
        // SAFETY: the context is current, and the objects are not used again.
        unsafe {
            self.gl.delete_framebuffer(self.framebuffer);
            self.gl.delete_texture(self.texture);
            self.gl.delete_program(self.program);
        }
    }
}

fn shadow_map_error(why: String) -> Error {
    Error::new("OpenGL gives no picture for shadows.", format!("{why}."), "Update the OpenGL driver.")
}
