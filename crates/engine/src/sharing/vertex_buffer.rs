//! Vertex buffers that can be shared, and OpenCL's side of them.

use std::slice;
use std::sync::Arc;

use glow::HasContext as _;

use super::handover::hand_over;
use base::error::{Error, Result};
use opencl::cl::{Buffer, ClContext, Event, failed};
use opengl::names::{Home, Name};

/// Bytes in OpenGL's memory. Their number never changes, as sharing needs it. It may be dropped on any thread, and is deleted
/// when the thread with its context looks after what was left.
#[derive(Debug)]
pub struct VertexBuffer {
    name: glow::Buffer,
    len: usize,
    home: Home,
}

impl VertexBuffer {
    /// So many bytes; what is in them is undefined. The context must be current.
    ///
    /// # Errors
    /// When OpenGL has no room for them.
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
            Ok(Self { name, len, home: Home::here() })
        }
    }

    /// The buffer, for OpenGL.
    pub fn name(&self) -> glow::Buffer {
        self.name
    }

    /// Copies bytes into it; whether they are as many as it has. The context must be current.
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

    /// Whether OpenGL sees these bytes in it. Waits for OpenGL; the context must be current.
    pub fn holds(&self, gl: &glow::Context, bytes: &[u8]) -> bool {
        let Some(size) = i32::try_from(self.len).ok().filter(|_| bytes.len() == self.len) else {
            return false;
        };
        // SAFETY: the context is current on this thread; what is mapped is read before the mapping ends, and has `len` bytes.
        unsafe {
            gl.bind_buffer(glow::ARRAY_BUFFER, Some(self.name));
            let start = gl.map_buffer_range(glow::ARRAY_BUFFER, 0, size, glow::MAP_READ_BIT);
            let same = !start.is_null() && slice::from_raw_parts(start, self.len) == bytes;
            if !start.is_null() {
                gl.unmap_buffer(glow::ARRAY_BUFFER);
            }
            gl.bind_buffer(glow::ARRAY_BUFFER, None);
            same
        }
    }
}

impl Drop for VertexBuffer {
    fn drop(&mut self) {
        self.home.leave(Name::Buffer(self.name));
    }
}

const NOT_HANDED: &str = "A vertex buffer could not be handed over between OpenGL and OpenCL.";

/// OpenCL's side of a vertex buffer, which lives as long as this does. Clones share it.
#[derive(Debug, Clone)]
pub struct SharedVertices {
    /// It must go before OpenGL's side.
    memory: Buffer,
    of: Arc<VertexBuffer>,
}

impl SharedVertices {
    /// Makes the memory object of a buffer. `cl` must be of a context that has proved that it shares textures with the
    /// buffer's: its driver has the function then.
    ///
    /// # Errors
    /// When the driver does not share it.
    pub fn new(cl: &ClContext, of: &Arc<VertexBuffer>) -> Result<Self> {
        // SAFETY: the caller vouches for the context, and the buffer lives as long as its memory object.
        unsafe { Buffer::of_gl(&cl.context, of.name.0.get(), of.len) }
            .map(|memory| Self { memory, of: of.clone() })
            .map_err(|e| failed("A vertex buffer could not be shared between OpenGL and OpenCL.", &e))
    }

    /// Whether it is this buffer's.
    pub fn is_of(&self, buffer: &Arc<VertexBuffer>) -> bool {
        Arc::ptr_eq(&self.of, buffer)
    }

    /// The bytes as OpenCL sees them, between acquire and release.
    pub fn memory(&self) -> &Buffer {
        &self.memory
    }

    /// Enqueues the handover to OpenCL. OpenGL must have finished with the buffer, and must leave it alone until the event of
    /// [`SharedVertices::release`] is complete.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn acquire(&self, cl: &ClContext) -> Result<Event> {
        hand_over(cl, self.memory.mem(), true, NOT_HANDED)
    }

    /// Enqueues the handover to OpenGL.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn release(&self, cl: &ClContext) -> Result<Event> {
        hand_over(cl, self.memory.mem(), false, NOT_HANDED)
    }
}
