//! Triangle meshes in OpenGL's memory.

use std::sync::Arc;

use glow::HasContext as _;

use base::error::Result;
use opengl::shader;

/// A vertex: position, normal, and texture coordinates.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vertex {
    pub position: [f32; 3],
    pub normal: [f32; 3],
    pub uv: [f32; 2],
}

/// The number of components of each attribute in [`shader::ATTRIBUTES`].
const COMPONENTS: [i32; shader::ATTRIBUTES.len()] = [3, 3, 2];
/// The size of a vertex in bytes.
const STRIDE: i32 = size_of::<Vertex>() as i32;

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
        for (at, size) in (0..).zip(COMPONENTS) {
            gl.enable_vertex_attrib_array(at);
            gl.vertex_attrib_pointer_f32(at, size, glow::FLOAT, false, STRIDE, offset);
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
    vertices: glow::Buffer,
    count: i32,
}

impl Mesh {
    /// Creates a mesh: uploads `vertices` and binds them to the attributes of the shader programs.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn new(gl: Arc<glow::Context>, vertices: &[Vertex]) -> Result<Self> {
        let numbers: Vec<f32> =
            vertices.iter().flat_map(|v| v.position.into_iter().chain(v.normal).chain(v.uv)).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let buffer = upload(&gl, &bytes)?;
        let vertex_array = vertex_array(&gl, buffer)?;
        Ok(Self { gl, vertex_array, vertices: buffer, count: vertices.len() as i32 })
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

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(&self) {
        // SAFETY: the context is current, and the objects are not used again.
        unsafe {
            self.gl.delete_vertex_array(self.vertex_array);
            self.gl.delete_buffer(self.vertices);
        }
    }
}
