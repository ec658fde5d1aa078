//! The vertices of an army in OpenGL's memory. In: what the chain has written, or buffers in which it has. Out: triangles, drawn.

use std::ops::Range;
use std::sync::Arc;

use glow::HasContext as _;

use super::detail::{Detail, Meshes};
use crate::scene::mesh;
use base::error::Result;
use engine::sharing::vertex_buffer::VertexBuffer;
use ladders::cloth::model::{Figure, SHIRT_VERTICES};
use opengl::shader;

/// Bytes of a vertex.
const VERTEX: usize = 32;

/// A buffer of vertices, and how they are drawn.
struct Half {
    vertices: Arc<VertexBuffer>,
    array: glow::VertexArray,
    /// After it OpenGL has finished with the buffer.
    drawn: Option<glow::Fence>,
}

impl Half {
    fn new(gl: &glow::Context, indices: glow::Buffer, bytes: usize) -> Result<Self> {
        let vertices = Arc::new(VertexBuffer::new(gl, bytes)?);
        let array = mesh::vertex_array(gl, vertices.name())?;
        // SAFETY: the context is current on this thread, and the objects are this context's.
        unsafe {
            gl.bind_vertex_array(Some(array));
            gl.bind_buffer(glow::ELEMENT_ARRAY_BUFFER, Some(indices));
            gl.bind_vertex_array(None);
        }
        Ok(Self { vertices, array, drawn: None })
    }

    /// Notes that OpenGL's commands so far are the last ones that use it.
    fn retire(&mut self, gl: &glow::Context) {
        // SAFETY: the context is current on this thread.
        self.drawn = unsafe { gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0) }.ok();
        if self.drawn.is_none() {
            // SAFETY: as above.
            unsafe { gl.finish() };
        }
    }

    /// Whether OpenGL has finished with it; does not wait.
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
        self.forget_fence(gl);
        true
    }

    fn forget_fence(&mut self, gl: &glow::Context) {
        if let Some(fence) = self.drawn.take() {
            // SAFETY: the context is current on this thread, and the fence is not used again.
            unsafe { gl.delete_sync(fence) };
        }
    }

    /// Its buffer goes as soon as nobody has it any more.
    fn destroy(mut self, gl: &glow::Context) {
        self.forget_fence(gl);
        // SAFETY: the context is current on this thread, and the array is not used again.
        unsafe { gl.delete_vertex_array(self.array) };
    }
}

/// Whether the vertices of a frame can be written into OpenGL's memory.
pub(super) enum Lent {
    /// There is no such army.
    Nothing,
    /// OpenGL still draws from it.
    NotYet,
    /// Here.
    Buffer(Arc<VertexBuffer>),
}

/// So many figures. The vertices of the shirts come first, character after character, then those of the bodies.
///
/// One buffer is drawn from, the other one is written, by OpenGL or by whom it is lent to; then they change places.
pub(super) struct Army {
    gl: Arc<glow::Context>,
    count: usize,
    /// How many bytes the vertices have.
    bytes: usize,
    front: Half,
    back: Half,
    /// The one at the back is lent, and has not come back.
    is_lent: bool,
    indices: glow::Buffer,
    /// Where among them those are of the shirts, of the sleeves, of the bodies, and of what throws the shadow.
    shirts: Range<usize>,
    sleeves: Range<usize>,
    bodies: Range<usize>,
    shadow: Range<usize>,
    is_there: bool,
}

impl Army {
    /// Makes room for `count` figures, drawn so finely.
    ///
    /// # Errors
    /// When OpenGL gives no objects.
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
        let bytes = count * (SHIRT_VERTICES + body) * VERTEX;
        // SAFETY: the context is current on this thread, and the buffer is this context's.
        let indices = unsafe {
            let indices = gl.create_buffer().map_err(|e| shader::failed("cloth", e))?;
            gl.bind_buffer(glow::ARRAY_BUFFER, Some(indices));
            gl.buffer_data_u8_slice(glow::ARRAY_BUFFER, &all, glow::STATIC_DRAW);
            gl.bind_buffer(glow::ARRAY_BUFFER, None);
            indices
        };
        let half = || Half::new(gl, indices, bytes);
        let (front, back) = (half()?, half()?);
        let (is_lent, is_there) = (false, false);
        let gl = gl.clone();
        Ok(Self {
            gl,
            count,
            bytes,
            front,
            back,
            is_lent,
            indices,
            shirts,
            sleeves,
            bodies,
            shadow,
            is_there,
        })
    }

    /// How many figures there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Takes vertices; whether they are those of so many figures.
    ///
    /// # Errors
    /// When OpenGL gives no objects.
    pub(super) fn set(&mut self, vertices: &[u8]) -> Result<bool> {
        self.replace_lent()?;
        let taken = self.back.vertices.write(&self.gl, vertices);
        if taken {
            self.flip();
        }
        Ok(taken)
    }

    /// Lends the buffer that is not drawn from.
    ///
    /// # Errors
    /// When OpenGL gives no objects.
    pub(super) fn lend(&mut self) -> Result<Lent> {
        self.replace_lent()?;
        if !self.back.is_free(&self.gl) {
            return Ok(Lent::NotYet);
        }
        self.is_lent = true;
        Ok(Lent::Buffer(self.back.vertices.clone()))
    }

    /// A buffer comes back that was lent, by this army or by one before it; it is drawn from now on if the vertices are in it.
    pub(super) fn came_back(&mut self, buffer: &Arc<VertexBuffer>, is_written: bool) {
        if !self.is_lent || !Arc::ptr_eq(&self.back.vertices, buffer) {
            return;
        }
        self.is_lent = false;
        if is_written {
            // What another API has changed is seen once the buffer is bound.
            // SAFETY: the context is current on this thread, and the buffer is this context's.
            unsafe {
                self.gl.bind_buffer(glow::ARRAY_BUFFER, Some(buffer.name()));
                self.gl.bind_buffer(glow::ARRAY_BUFFER, None);
            }
            self.flip();
        }
    }

    /// Who has a buffer and did not bring it back, because it was left, may still write into it: another one takes its place.
    fn replace_lent(&mut self) -> Result<()> {
        if self.is_lent {
            let new = Half::new(&self.gl, self.indices, self.bytes)?;
            std::mem::replace(&mut self.back, new).destroy(&self.gl);
            self.is_lent = false;
        }
        Ok(())
    }

    fn flip(&mut self) {
        self.front.retire(&self.gl);
        std::mem::swap(&mut self.front, &mut self.back);
        self.front.forget_fence(&self.gl);
        self.is_there = true;
    }

    /// Draws what throws the shadow with the program that is in use.
    pub(super) fn draw_shadow(&self) {
        self.draw(&self.shadow);
    }

    /// Draws the sleeves with the program that is in use.
    pub(super) fn draw_sleeves(&self) {
        self.draw(&self.sleeves);
    }

    /// Draws what else the bodies have with the program that is in use.
    pub(super) fn draw_bodies(&self) {
        self.draw(&self.bodies);
    }

    /// Draws the shirts with the program that is in use.
    pub(super) fn draw_shirts(&self) {
        self.draw(&self.shirts);
    }

    fn draw(&self, range: &Range<usize>) {
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
        unsafe {
            self.gl.delete_buffer(self.indices);
        }
        self.front.destroy(&self.gl);
        self.back.destroy(&self.gl);
    }
}
