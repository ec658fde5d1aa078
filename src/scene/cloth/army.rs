//! The vertices of the figures in OpenGL's memory.

use std::ops::Range;
use std::sync::Arc;

use glow::HasContext as _;

use super::detail::{Detail, Meshes};
use crate::scene::mesh;
use base::error::Result;
use engine::sharing::vertex_buffer::VertexBuffer;
use ladders::cloth::model::{Figure, SHIRT_VERTICES};

/// The size of a vertex in bytes.
const VERTEX_BYTES: usize = 32;

/// A vertex buffer with its vertex array. While one of two such buffers is drawn, the other one is written.
struct DrawBuffer {
    vertices: Arc<VertexBuffer>,
    array: glow::VertexArray,
    /// The fence that is signalled when OpenGL has finished with the buffer; `None` if OpenGL does not use the buffer.
    drawn: Option<glow::Fence>,
}

impl DrawBuffer {
    /// Allocates a vertex buffer of `bytes` bytes, whose triangles are given by the index buffer `indices`.
    fn new(gl: &glow::Context, indices: glow::Buffer, bytes: usize) -> Result<Self> {
        let vertices = Arc::new(VertexBuffer::new(gl, bytes)?);
        let array = mesh::vertex_array(gl, vertices.name)?;
        // SAFETY: the context is current on this thread, and the objects are this context's.
        unsafe {
            gl.bind_vertex_array(Some(array));
            gl.bind_buffer(glow::ELEMENT_ARRAY_BUFFER, Some(indices));
            gl.bind_vertex_array(None);
        }
        Ok(Self { vertices, array, drawn: None })
    }

    /// Inserts a fence after the last OpenGL command that uses the buffer, so that [`is_free`](Self::is_free) can tell when
    /// OpenGL has finished with it.
    fn retire(&mut self, gl: &glow::Context) {
        // SAFETY: the context is current on this thread.
        self.drawn = unsafe { gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0) }.ok();
        if self.drawn.is_none() {
            // SAFETY: as above.
            unsafe { gl.finish() };
        }
    }

    /// Returns true if OpenGL has finished with the buffer; does not wait.
    fn is_free(&mut self, gl: &glow::Context) -> bool {
        let Some(fence) = self.drawn else { return true };
        // SAFETY: the context is current on this thread, and the fence is this half's own.
        let status = unsafe { gl.client_wait_sync(fence, glow::SYNC_FLUSH_COMMANDS_BIT, 0) };
        if status == glow::TIMEOUT_EXPIRED {
            return false;
        }
        if status == glow::WAIT_FAILED {
            // SAFETY: as above.
            unsafe { gl.finish() };
        }
        self.delete_fence(gl);
        true
    }

    fn delete_fence(&mut self, gl: &glow::Context) {
        if let Some(fence) = self.drawn.take() {
            // SAFETY: the context is current on this thread, and the fence is not used again.
            unsafe { gl.delete_sync(fence) };
        }
    }

    /// Deletes fence and vertex array; the vertex buffer is deleted when its last owner drops it.
    fn destroy(mut self, gl: &glow::Context) {
        self.delete_fence(gl);
        // SAFETY: the context is current on this thread, and the array is not used again.
        unsafe { gl.delete_vertex_array(self.array) };
    }
}

/// The result of lending a vertex buffer to the device.
pub(super) enum LendResult {
    /// There are no vertex buffers for the requested number of figures.
    NoArmy,
    /// OpenGL still draws from the buffer.
    Busy,
    /// The vertex buffer that is lent.
    Buffer(Arc<VertexBuffer>),
}

/// The crowd of figures in OpenGL. Its vertices are those of the shirts, figure by figure, followed by those of the bodies.
///
/// It has two vertex buffers: while one is drawn, the other is written, by OpenGL or by the device to which it is lent. Then
/// the buffers are exchanged.
pub(super) struct Army {
    gl: Arc<glow::Context>,
    pub(super) count: usize,
    /// The size of the vertices of all figures in bytes.
    bytes: usize,
    front: DrawBuffer,
    back: DrawBuffer,
    /// True while the device may write into the back buffer, which is lent to it.
    is_lent: bool,
    indices: glow::Buffer,
    /// The range of indices of the shirts' triangles.
    pub(super) shirts: Range<usize>,
    /// The range of indices of the sleeves' triangles.
    pub(super) sleeves: Range<usize>,
    /// The range of indices of the triangles of the bodies without sleeves.
    pub(super) bodies: Range<usize>,
    /// The range of indices of the triangles that cast shadows.
    pub(super) shadow: Range<usize>,
    is_there: bool,
}

impl Army {
    /// Creates the OpenGL objects for `count` figures at this level of detail.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn new(
        gl: &Arc<glow::Context>,
        figure: &Figure,
        count: usize,
        detail: Detail,
    ) -> Result<Self> {
        let body = figure.body.vertices.len();
        let mut all: Vec<u32> = Vec::new();
        let mut of_all = |indices: &[u32], first: usize, each: usize| -> Range<usize> {
            let from = all.len();
            let one = |at: usize| indices.iter().map(move |index| index + (first + at * each) as u32);
            all.extend((0..count).flat_map(one));
            from..all.len()
        };
        let Meshes { picture: [shirt, torso], shadow } = detail.meshes(figure, count);
        let [sleeve, torso] = figure.body.sleeves(&torso);
        let shirts = of_all(&shirt, 0, SHIRT_VERTICES);
        let [sleeves, bodies] = [sleeve, torso].map(|of| of_all(&of, count * SHIRT_VERTICES, body));
        let shadow = shadow.map_or(shirts.start..bodies.end, |[shirt, torso]| {
            let first = of_all(&shirt, 0, SHIRT_VERTICES).start;
            first..of_all(&torso, count * SHIRT_VERTICES, body).end
        });
        let all: Vec<u8> = all.iter().flat_map(|index| index.to_ne_bytes()).collect();
        let bytes = count * (SHIRT_VERTICES + body) * VERTEX_BYTES;
        let indices = mesh::upload(gl, &all)?;
        let half = || DrawBuffer::new(gl, indices, bytes);
        let (front, back) = (half()?, half()?);
        Ok(Self {
            gl: gl.clone(),
            count,
            bytes,
            front,
            back,
            is_lent: false,
            indices,
            shirts,
            sleeves,
            bodies,
            shadow,
            is_there: false,
        })
    }

    /// Uploads the vertices of all figures, which are drawn from now on. Returns false if the number of vertices is wrong; then
    /// the previous ones are still drawn.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn set(&mut self, vertices: &[u8]) -> Result<bool> {
        self.replace_lent()?;
        let taken = self.back.vertices.write(&self.gl, vertices);
        if taken {
            self.swap_buffers();
        }
        Ok(taken)
    }

    /// Lends the back buffer, so that the device can write into it.
    ///
    /// # Errors
    /// If OpenGL cannot create the objects.
    pub(super) fn lend(&mut self) -> Result<LendResult> {
        self.replace_lent()?;
        if !self.back.is_free(&self.gl) {
            return Ok(LendResult::Busy);
        }
        self.is_lent = true;
        Ok(LendResult::Buffer(self.back.vertices.clone()))
    }

    /// Takes back a buffer that was lent to the device. If `is_written` is true, the vertices in the buffer are drawn from now
    /// on. Does nothing if the buffer has been replaced or belongs to an earlier crowd of figures.
    pub(super) fn take_back(&mut self, buffer: &Arc<VertexBuffer>, is_written: bool) {
        if !self.is_lent || !Arc::ptr_eq(&self.back.vertices, buffer) {
            return;
        }
        self.is_lent = false;
        if is_written {
            // Changes by another API are visible once the buffer is bound.
            // SAFETY: the context is current on this thread, and the buffer is this context's.
            unsafe {
                self.gl.bind_buffer(glow::ARRAY_BUFFER, Some(buffer.name));
                self.gl.bind_buffer(glow::ARRAY_BUFFER, None);
            }
            self.swap_buffers();
        }
    }

    /// Replaces the back buffer by a new one if it is still lent, since a device that was abandoned may still write into it.
    fn replace_lent(&mut self) -> Result<()> {
        if self.is_lent {
            let new = DrawBuffer::new(&self.gl, self.indices, self.bytes)?;
            std::mem::replace(&mut self.back, new).destroy(&self.gl);
            self.is_lent = false;
        }
        Ok(())
    }

    /// Exchanges the two buffers, so that the buffer that was written last is drawn.
    fn swap_buffers(&mut self) {
        self.front.retire(&self.gl);
        std::mem::swap(&mut self.front, &mut self.back);
        self.front.delete_fence(&self.gl);
        self.is_there = true;
    }

    /// Draws the triangles of this range of indices with the shader program in use.
    pub(super) fn draw(&self, range: &Range<usize>) {
        if !self.is_there {
            return;
        }
        let (count, offset) = (range.len() as i32, (range.start * size_of::<u32>()) as i32);
        // SAFETY: the context is current on this thread; the indices name vertices that the buffer has.
        unsafe {
            self.gl.bind_vertex_array(Some(self.front.array));
            self.gl.draw_elements(glow::TRIANGLES, count, glow::UNSIGNED_INT, offset);
            self.gl.bind_vertex_array(None);
        }
    }

    /// Deletes the OpenGL objects; call it while the context is current.
    pub(super) fn destroy(self) {
        // SAFETY: the context is current, and the objects are not used again.
        unsafe { self.gl.delete_buffer(self.indices) };
        self.front.destroy(&self.gl);
        self.back.destroy(&self.gl);
    }
}
