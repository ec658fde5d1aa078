//! The vertices of an army in OpenGL's memory. In: what the chain has written. Out: triangles, drawn.

use std::sync::Arc;

use glow::HasContext as _;

use crate::error::Result;
use crate::gpu::shader;
use crate::ladders::cloth::model::{Figure, SHIRT_VERTICES};
use crate::scene::mesh;

/// Bytes of a vertex.
const VERTEX: usize = 32;

/// So many figures. The vertices of the shirts come first, character after character, then those of the bodies.
pub(super) struct Army {
    gl: Arc<glow::Context>,
    count: usize,
    /// How many bytes the vertices have.
    bytes: usize,
    vertices: glow::Buffer,
    /// For the picture, and for the shadow.
    arrays: [glow::VertexArray; 2],
    indices: glow::Buffer,
    /// How many indices the shirts have, and then the bodies.
    shirts: i32,
    bodies: i32,
    is_there: bool,
}

impl Army {
    /// Makes room for `count` figures that these programs draw: that of the picture, and that of the shadow.
    ///
    /// # Errors
    /// When OpenGL gives no objects.
    pub(super) fn new(
        gl: &Arc<glow::Context>,
        figure: &Figure,
        count: usize,
        programs: [glow::Program; 2],
    ) -> Result<Self> {
        let body = figure.body.vertices.len();
        let of_all = |indices: &[u32], first: usize, each: usize| -> Vec<u32> {
            let one = |at: usize| indices.iter().map(move |index| index + (first + at * each) as u32);
            (0..count).flat_map(one).collect()
        };
        let shirts = of_all(&figure.shirt.indices, 0, SHIRT_VERTICES);
        let bodies = of_all(&figure.body.indices, count * SHIRT_VERTICES, body);
        let all: Vec<u8> = shirts.iter().chain(&bodies).flat_map(|index| index.to_ne_bytes()).collect();
        let bytes = count * (SHIRT_VERTICES + body) * VERTEX;
        let failed = |e: String| shader::failed("cloth", e);
        // SAFETY: the context is current on this thread, and the objects are this context's.
        unsafe {
            let (vertices, indices) =
                (gl.create_buffer().map_err(failed)?, gl.create_buffer().map_err(failed)?);
            gl.bind_buffer(glow::ARRAY_BUFFER, Some(vertices));
            gl.buffer_data_size(glow::ARRAY_BUFFER, i32::try_from(bytes).unwrap_or(0), glow::STREAM_DRAW);
            let arrays = programs.map(|program| mesh::vertex_array(gl, program, vertices));
            let [picture, shadow] = arrays;
            let arrays = [picture?, shadow?];
            for array in arrays {
                gl.bind_vertex_array(Some(array));
                gl.bind_buffer(glow::ELEMENT_ARRAY_BUFFER, Some(indices));
            }
            gl.buffer_data_u8_slice(glow::ELEMENT_ARRAY_BUFFER, &all, glow::STATIC_DRAW);
            gl.bind_vertex_array(None);
            gl.bind_buffer(glow::ARRAY_BUFFER, None);
            let (shirts, bodies) = (shirts.len() as i32, bodies.len() as i32);
            let gl = gl.clone();
            Ok(Self { gl, count, bytes, vertices, arrays, indices, shirts, bodies, is_there: false })
        }
    }

    /// How many figures there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Takes vertices; whether they are those of so many figures.
    pub(super) fn set(&mut self, vertices: &[u8]) -> bool {
        if vertices.len() != self.bytes {
            return false;
        }
        // SAFETY: the context is current on this thread; OpenGL reads the bytes before it returns.
        unsafe {
            self.gl.bind_buffer(glow::ARRAY_BUFFER, Some(self.vertices));
            // Anew, so that nobody waits until those of the frame before are drawn.
            self.gl.buffer_data_u8_slice(glow::ARRAY_BUFFER, vertices, glow::STREAM_DRAW);
            self.gl.bind_buffer(glow::ARRAY_BUFFER, None);
        }
        self.is_there = true;
        true
    }

    /// Draws all with the program of the shadow, which is in use.
    pub(super) fn draw_shadow(&self) {
        self.draw(1, 0, self.shirts + self.bodies);
    }

    /// Draws the bodies with the program of the picture, which is in use.
    pub(super) fn draw_bodies(&self) {
        self.draw(0, self.shirts, self.bodies);
    }

    /// Draws the shirts with the program of the picture, which is in use.
    pub(super) fn draw_shirts(&self) {
        self.draw(0, 0, self.shirts);
    }

    fn draw(&self, array: usize, first: i32, count: i32) {
        if !self.is_there {
            return;
        }
        let offset = first * size_of::<u32>() as i32;
        // SAFETY: the context is current on this thread; the indices name vertices that the buffer has.
        unsafe {
            self.gl.bind_vertex_array(Some(self.arrays[array]));
            self.gl.draw_elements(glow::TRIANGLES, count, glow::UNSIGNED_INT, offset);
            self.gl.bind_vertex_array(None);
        }
    }

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(self) {
        // SAFETY: the context is current, and the objects are not used again.
        unsafe {
            self.arrays.into_iter().for_each(|array| self.gl.delete_vertex_array(array));
            self.gl.delete_buffer(self.vertices);
            self.gl.delete_buffer(self.indices);
        }
    }
}
