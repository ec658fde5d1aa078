//! Triangle meshes in OpenGL's memory, and an offscreen framebuffer with a depth buffer, for scenes in 3D. The window itself has
//! no depth buffer, since most scenes need none. The objects live until their context is destroyed, which deletes them.

use std::sync::Arc;

use glow::HasContext as _;

use base::error::{Error, Result};
use engine::present::Viewport;
use opengl::shader;

/// The number of floats of a vertex.
pub(super) const VERTEX_FLOATS: usize = 8;
/// A vertex: three coordinates of its position, three of its normal, and two of its place in the texture.
pub(super) type Vertex = [f32; VERTEX_FLOATS];

/// Uploads bytes into a new buffer, such as vertices or indices.
///
/// # Errors
/// If OpenGL cannot create the object.
pub(super) fn upload(gl: &glow::Context, bytes: &[u8]) -> Result<glow::Buffer> {
    // SAFETY: the context is current on this thread, and the buffer is this context's.
    unsafe {
        let buffer = gl.create_buffer().map_err(|e| shader::build_error("mesh", e))?;
        gl.bind_buffer(glow::ARRAY_BUFFER, Some(buffer));
        gl.buffer_data_u8_slice(glow::ARRAY_BUFFER, bytes, glow::STATIC_DRAW);
        gl.bind_buffer(glow::ARRAY_BUFFER, None);
        Ok(buffer)
    }
}

/// Creates a vertex array that binds the [`Vertex`]es in `buffer` to the attributes of the shader programs.
///
/// # Errors
/// If OpenGL cannot create the object.
pub(super) fn vertex_array(gl: &glow::Context, buffer: glow::Buffer) -> Result<glow::VertexArray> {
    // SAFETY: the context is current on this thread; the attributes lie within vertices of that stride.
    unsafe {
        let vertex_array = gl.create_vertex_array().map_err(|e| shader::build_error("mesh", e))?;
        gl.bind_vertex_array(Some(vertex_array));
        gl.bind_buffer(glow::ARRAY_BUFFER, Some(buffer));
        let mut offset = 0;
        // The number of components of each attribute in `shader::ATTRIBUTES`.
        for (at, size) in (0..).zip([3, 3, 2]) {
            gl.enable_vertex_attrib_array(at);
            gl.vertex_attrib_pointer_f32(at, size, glow::FLOAT, false, size_of::<Vertex>() as i32, offset);
            offset += size * size_of::<f32>() as i32;
        }
        gl.bind_vertex_array(None);
        gl.bind_buffer(glow::ARRAY_BUFFER, None);
        Ok(vertex_array)
    }
}

/// A triangle mesh in OpenGL's memory, with three vertices for each triangle.
pub(super) struct Mesh {
    gl: Arc<glow::Context>,
    vertex_array: glow::VertexArray,
    count: i32,
}

impl Mesh {
    /// Creates a mesh: uploads `vertices` and binds them to the attributes of the shader programs.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn new(gl: Arc<glow::Context>, vertices: &[Vertex]) -> Result<Self> {
        let bytes: Vec<u8> = vertices.as_flattened().iter().flat_map(|number| number.to_ne_bytes()).collect();
        let vertex_array = vertex_array(&gl, upload(&gl, &bytes)?)?;
        Ok(Self { gl, vertex_array, count: vertices.len() as i32 })
    }

    /// Draws the triangles with the shader program in use.
    pub(super) fn draw(&self) {
        // SAFETY: the context is current on this thread, and the buffer has that many vertices.
        unsafe {
            self.gl.bind_vertex_array(Some(self.vertex_array));
            self.gl.draw_arrays(glow::TRIANGLES, 0, self.count);
            self.gl.bind_vertex_array(None);
        }
    }
}

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
}

fn depth_buffer_error(why: String) -> Error {
    Error::new("OpenGL gives no depth buffer.", format!("{why}."), "Make the window smaller.")
}
