//! OpenGL vertex buffers that can be shared with OpenCL, and their OpenCL memory objects.

use std::slice;
use std::sync::Arc;

use glow::HasContext as _;

use super::handover::hand_over;
use base::error::{Error, Result};
use opencl::cl::{Buffer, ClContext, Event, OrFail as _};
use opengl::names::{ContextThread, GlObject};

/// A vertex buffer of OpenGL. Its size never changes, as sharing requires. It may be dropped on any thread and is deleted at the next
/// [`delete_pending`](opengl::names::delete_pending) on the thread of its context.
#[derive(Debug)]
pub struct VertexBuffer {
    /// OpenGL's name of the buffer.
    pub name: glow::Buffer,
    pub(super) len: usize,
    home: ContextThread,
}

impl VertexBuffer {
    /// Creates a buffer of `len` bytes with undefined contents. The context must be current.
    ///
    /// # Errors
    /// If OpenGL cannot allocate the buffer.
    pub fn new(gl: &glow::Context, len: usize) -> Result<Self> {
        let refused = |why: String| {
            let what = "OpenGL gives no room for vertices.";
            Error::new(what, why, "Close other programs that use the GPU.")
        };
        let size = i32::try_from(len).map_err(|_| refused(format!("They have {len} bytes.")))?;
        // SAFETY: the context is current on this thread.
        unsafe {
            let name = gl.create_buffer().map_err(refused)?;
            gl.bind_buffer(glow::ARRAY_BUFFER, Some(name));
            gl.buffer_data_size(glow::ARRAY_BUFFER, size, glow::STREAM_DRAW);
            gl.bind_buffer(glow::ARRAY_BUFFER, None);
            Ok(Self { name, len, home: ContextThread::here() })
        }
    }

    /// Copies `bytes` into the buffer. Returns false, and copies nothing, if their number is not the buffer's size. The context must be
    /// current.
    pub fn write(&self, gl: &glow::Context, bytes: &[u8]) -> bool {
        if bytes.len() != self.len {
            return false;
        }
        // SAFETY: the context is current on this thread; OpenGL reads the bytes before it returns.
        unsafe {
            gl.bind_buffer(glow::ARRAY_BUFFER, Some(self.name));
            gl.buffer_sub_data_u8_slice(glow::ARRAY_BUFFER, 0, bytes);
            gl.bind_buffer(glow::ARRAY_BUFFER, None);
        }
        true
    }

    /// Returns the bytes that OpenGL reads from the buffer; `None` if the driver does not map it. Waits for OpenGL; the context
    /// must be current.
    pub fn read(&self, gl: &glow::Context) -> Option<Vec<u8>> {
        let size = i32::try_from(self.len).ok()?;
        // SAFETY: the context is current on this thread; the mapped memory has `len` bytes and is read before the mapping ends.
        unsafe {
            gl.bind_buffer(glow::ARRAY_BUFFER, Some(self.name));
            let start = gl.map_buffer_range(glow::ARRAY_BUFFER, 0, size, glow::MAP_READ_BIT);
            let bytes = (!start.is_null()).then(|| slice::from_raw_parts(start, self.len).to_vec());
            if bytes.is_some() {
                gl.unmap_buffer(glow::ARRAY_BUFFER);
            }
            gl.bind_buffer(glow::ARRAY_BUFFER, None);
            bytes
        }
    }
}

impl Drop for VertexBuffer {
    fn drop(&mut self) {
        self.home.delete_later(GlObject::Buffer(self.name));
    }
}

/// OpenCL's memory object of a vertex buffer. It keeps the vertex buffer alive. Clones share the memory object.
#[derive(Debug, Clone)]
pub struct SharedVertices {
    /// The memory object, which must be dropped before OpenGL's buffer. Commands may use it between the events of two calls of
    /// [`SharedVertices::hand_over`].
    pub memory: Buffer,
    of: Arc<VertexBuffer>,
}

impl SharedVertices {
    /// Creates the memory object of a vertex buffer. The context of `cl` must be one that was tested to share textures with
    /// the buffer's OpenGL context: its driver then has clCreateFromGLBuffer, too.
    ///
    /// # Errors
    /// If the driver does not share the buffer.
    pub fn new(cl: &ClContext, of: &Arc<VertexBuffer>) -> Result<Self> {
        // SAFETY: the caller guarantees the context, and the buffer lives as long as its memory object.
        unsafe { Buffer::from_gl(&cl.context, of.name.0.get(), of.len) }
            .map(|memory| Self { memory, of: of.clone() })
            .or_fail("A vertex buffer could not be shared between OpenGL and OpenCL.")
    }

    /// Returns true if this memory object belongs to the vertex buffer `buffer`.
    pub fn belongs_to(&self, buffer: &Arc<VertexBuffer>) -> bool {
        Arc::ptr_eq(&self.of, buffer)
    }

    /// Enqueues the handover of the buffer: to OpenCL if `to_cl` is true, else back to OpenGL. OpenGL must have finished with the buffer
    /// before, and must not use it until the event of the handover back is complete.
    ///
    /// # Errors
    /// If the driver refuses the command.
    pub fn hand_over(&self, cl: &ClContext, to_cl: bool) -> Result<Event> {
        let what = "A vertex buffer could not be handed over between OpenGL and OpenCL.";
        hand_over(cl, self.memory.mem(), to_cl, what)
    }
}
