//! The vertices of the figures in OpenGL's memory, and their level of detail.

use std::ops::Range;
use std::sync::Arc;

use glow::HasContext as _;

use crate::scene::mesh;
use base::error::Result;
use engine::sharing::vertex_buffer::VertexBuffer;
use ladders::cloth::model::{Figure, SHIRT_VERTICES};

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
        let ([shirt, torso], shadow) = detail.meshes(figure, count);
        let [sleeve, torso] = figure.body.sleeves(&torso);
        let shirts = of_all(&shirt, 0, SHIRT_VERTICES);
        let [sleeves, bodies] = [sleeve, torso].map(|of| of_all(&of, count * SHIRT_VERTICES, body));
        let shadow = shadow.map_or(shirts.start..bodies.end, |[shirt, torso]| {
            let first = of_all(&shirt, 0, SHIRT_VERTICES).start;
            first..of_all(&torso, count * SHIRT_VERTICES, body).end
        });
        let all: Vec<u8> = all.iter().flat_map(|index| index.to_ne_bytes()).collect();
        let bytes = count * (SHIRT_VERTICES + body) * size_of::<mesh::Vertex>();
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

/// The level of detail at which the figures are drawn: number of triangles, kind of shaders, and size of the shadow map. If
/// OpenGL runs on the CPU (Mesa's llvmpipe), triangles of one or two pixels and filtered shadows would take most of the time for
/// a picture, and would hardly be visible. A GPU draws all of them.
#[derive(Clone, Copy)]
pub(super) enum Detail {
    /// All triangles, for GPUs.
    Fine,
    /// Fewer triangles for small figures, for OpenGL on the CPU.
    Coarse,
}

/// Lists of the vertex indices of a figure's triangles: one for the shirt, one for the body.
type Triangles = [Vec<u32>; 2];

impl Detail {
    /// Returns the width and height of the shadow map in pixels.
    pub(super) fn shadow_size(self) -> u32 {
        match self {
            Self::Fine => 1024,
            Self::Coarse => 512,
        }
    }

    /// Returns the name and the source of the vertex shader and of the fragment shader for a kind of object, such as the
    /// shirts; `may_be_shaded` is true if shadows may fall on it.
    pub(super) fn shaders(self, kind: usize, may_be_shaded: bool) -> [(&'static str, String); 2] {
        // The number of samples of the shadow map that are averaged for each pixel.
        let (samples, files) = match self {
            Self::Fine => (4, [shader_file!("cloth.vert"), shader_file!("cloth.frag")]),
            Self::Coarse => (1, [shader_file!("cloth_coarse.vert"), shader_file!("cloth_coarse.frag")]),
        };
        let taps = if may_be_shaded { samples } else { 0 };
        files.map(|(name, source)| (name, format!("#define KIND {kind}\n#define TAPS {taps}\n{source}")))
    }

    /// Returns the triangles with which each of `count` figures is drawn, and those that cast shadows; `None` if these are the
    /// same. The more figures there are, the fewer triangles each has.
    fn meshes(self, figure: &Figure, count: usize) -> (Triangles, Option<Triangles>) {
        let thinned = |shirt: usize, rows: usize, columns: usize| {
            [figure.shirt.coarser_triangles(shirt), figure.body.coarser_triangles(rows, columns)]
        };
        match (self, count) {
            (Self::Fine, _) => (thinned(1, 1, 1), None),
            (Self::Coarse, ..=1) => (thinned(1, 1, 1), Some(thinned(2, 2, 2))),
            (Self::Coarse, ..=4) => (thinned(1, 2, 2), Some(thinned(2, 2, 2))),
            (Self::Coarse, ..=25) => (thinned(2, 3, 2), Some(thinned(4, 3, 4))),
            (Self::Coarse, _) => (thinned(4, 3, 4), Some(thinned(4, 3, 4))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_there_are_the_fewer_triangles_each_has() {
        let figure = Figure::new();
        let triangles = |meshes: &Triangles| (meshes[0].len() + meshes[1].len()) / 3;
        let all = triangles(&[figure.shirt.indices.clone(), figure.body.indices.clone()]);
        let mut before = usize::MAX;
        for count in [1, 4, 9, 25, 100] {
            let (fine, coarse) = (Detail::Fine.meshes(&figure, count), Detail::Coarse.meshes(&figure, count));
            assert!(triangles(&fine.0) == all && fine.1.is_none(), "{count}");
            let (picture, shadow) = (triangles(&coarse.0), triangles(&coarse.1.unwrap()));
            assert!(picture <= before && shadow <= picture, "{count}: {picture} triangles, shadow {shadow}");
            before = picture;
        }
        assert!(before * 8 < all, "{before} of {all}");
    }
}
