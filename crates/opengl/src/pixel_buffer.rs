//! Pixel buffer objects that stay mapped (`ARB_buffer_storage`): OpenCL writes a picture there, and OpenGL copies it into a texture
//! while the window's thread continues.

use std::ptr::NonNull;
use std::sync::Arc;

use glow::HasContext as _;

use crate::names::{ContextThread, GlObject};

/// A mapped pixel buffer in host memory. The context must be current when the buffer is created or used; the buffer may be
/// dropped on any thread.
pub struct PixelBuffer {
    gl: Arc<glow::Context>,
    /// OpenGL's name of the buffer.
    pub(crate) buffer: glow::Buffer,
    home: ContextThread,
    start: NonNull<u8>,
}

impl PixelBuffer {
    /// Creates and maps a buffer of `len` bytes. Returns `None` without support for persistent mapping (OpenGL 4.4), or if
    /// memory runs out.
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
            start.map(|start| Self { gl: gl.clone(), buffer, home: ContextThread::here(), start })
        }
    }

    /// Returns the address of the mapped memory.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for PixelBuffer {
    fn drop(&mut self) {
        // OpenGL keeps the memory until its own commands have read it.
        self.home.delete(&self.gl, GlObject::Buffer(self.buffer));
    }
}
