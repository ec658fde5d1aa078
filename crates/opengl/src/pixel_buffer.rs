//! A pixel buffer object that stays mapped: OpenCL writes a picture there, and OpenGL fetches it into a texture by itself
//! while the window's thread goes on (`ARB_buffer_storage`).

use std::ptr::NonNull;
use std::sync::Arc;

use glow::HasContext as _;

use crate::names::{Home, Name};

/// Host memory of OpenGL's. The context must be current when it is made or used; it may be dropped on any thread.
pub struct PixelBuffer {
    gl: Arc<glow::Context>,
    buffer: glow::Buffer,
    home: Home,
    start: NonNull<u8>,
}

impl PixelBuffer {
    /// `len` bytes; `None` where this OpenGL has no buffers that stay mapped (they came with 4.4), or no memory.
    pub fn new(gl: &Arc<glow::Context>, len: usize) -> Option<Self> {
        let version = gl.version();
        let known = !version.is_embedded
            && ((version.major, version.minor) >= (4, 4)
                || gl.supported_extensions().contains("GL_ARB_buffer_storage"));
        let size = i32::try_from(len).ok().filter(|size| known && *size > 0)?;
        // Read access keeps the memory cached: kernels of a CPU device may read what they have written.
        let access =
            glow::MAP_READ_BIT | glow::MAP_WRITE_BIT | glow::MAP_PERSISTENT_BIT | glow::MAP_COHERENT_BIT;
        let target = glow::PIXEL_UNPACK_BUFFER;
        // SAFETY: the context is current; the mapping is the whole buffer, and lasts until that is deleted.
        unsafe {
            let buffer = gl.create_buffer().ok()?;
            gl.bind_buffer(target, Some(buffer));
            gl.buffer_storage(target, size, None, access | glow::CLIENT_STORAGE_BIT);
            let start = NonNull::new(gl.map_buffer_range(target, 0, size, access));
            gl.bind_buffer(target, None);
            if start.is_none() {
                gl.delete_buffer(buffer);
            }
            start.map(|start| Self { gl: gl.clone(), buffer, home: Home::here(), start })
        }
    }

    /// Where it starts, for OpenCL.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Whether it starts at a page, as drivers of CPU devices want memory that they are to use in place.
    pub fn is_aligned(&self) -> bool {
        self.start.addr().get().is_multiple_of(4096)
    }

    /// The buffer, for OpenGL.
    pub(crate) fn buffer(&self) -> glow::Buffer {
        self.buffer
    }
}

impl Drop for PixelBuffer {
    fn drop(&mut self) {
        // OpenGL keeps the memory until its own commands have read it.
        self.home.delete(&self.gl, Name::Buffer(self.buffer));
    }
}
