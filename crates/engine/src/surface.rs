//! The texture of a slot's picture, and the fence after which OpenGL has finished with it. The context must be current whenever a surface
//! is used; it may be dropped on any thread.

use std::sync::Arc;

use glow::HasContext as _;

use base::error::Result;
use opengl::names::{ContextThread, GlObject};
use opengl::pixel_buffer::PixelBuffer;
use opengl::texture;

/// The maximum time to wait for the fence, in nanoseconds. After that, `glFinish` is called.
const FENCE_TIMEOUT_NS: i32 = 1_000_000_000;

/// A texture of a picture's size, with a fence behind the last command that uses it.
pub(super) struct Surface {
    pub gl: Arc<glow::Context>,
    pub texture: glow::Texture,
    size: (u32, u32),
    /// The fence behind OpenGL's last command that uses the texture; `None` if it has been deleted or there is none.
    drawn: Option<glow::Fence>,
    /// True if OpenGL has finished with the texture, and has received no further command for it.
    pub is_idle: bool,
    home: ContextThread,
}

impl Surface {
    /// Creates the texture. The context must be current.
    ///
    /// # Errors
    /// If the picture is larger than the driver's textures, or memory runs out.
    pub(super) fn new(gl: &Arc<glow::Context>, size: (u32, u32)) -> Result<Self> {
        let texture = texture::RGBA8.create(gl, size.0, size.1)?;
        Ok(Self { gl: gl.clone(), texture, size, drawn: None, is_idle: false, home: ContextThread::here() })
    }

    /// Uploads a picture into the texture; `rgba` is tightly packed RGBA8.
    pub(super) fn fill(&mut self, rgba: &[u8]) {
        self.is_idle = false;
        texture::RGBA8.fill(&self.gl, self.texture, self.size, rgba);
    }

    /// Enqueues OpenGL's copy of the picture in `pixels` into the texture.
    pub(super) fn fill_from(&mut self, pixels: &PixelBuffer) {
        self.is_idle = false;
        texture::fill_from(&self.gl, self.texture, self.size, pixels);
    }

    /// Records that OpenGL has received the last command that uses the current picture in the texture, and puts a fence behind
    /// that command.
    pub(super) fn retire(&mut self) {
        self.is_idle = false;
        let gl = &self.gl;
        // SAFETY: the context is current; the old fence is this surface's own.
        unsafe {
            if let Some(old) = self.drawn.take() {
                gl.delete_sync(old);
            }
            self.drawn = gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0).ok();
            if self.drawn.is_none() {
                gl.finish();
            }
        }
    }

    /// Waits until OpenGL has finished with the texture, or has copied the previous picture from its pixel buffer. It seldom
    /// has to wait, because OpenGL received the commands a few frames ago. Makes no call if OpenGL is known to have finished.
    ///
    /// The device does not wait in its queue for an OpenCL event of the fence (clCreateEventFromGLsyncKHR of cl_khr_gl_event):
    /// with three slots the fence has been passed when it is polled, and such an event would be one more object to create and
    /// release for each frame.
    pub(super) fn wait_for_gl(&mut self) {
        if self.is_idle {
            return;
        }
        // SAFETY: the context is current; the fence is this surface's own and is not used again.
        unsafe {
            let status = self.drawn.take().map(|fence| {
                let status = self.gl.client_wait_sync(fence, glow::SYNC_FLUSH_COMMANDS_BIT, FENCE_TIMEOUT_NS);
                self.gl.delete_sync(fence);
                status
            });
            if !matches!(status, Some(glow::ALREADY_SIGNALED | glow::CONDITION_SATISFIED)) {
                self.gl.finish();
            }
        }
        self.is_idle = true;
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        let fence = self.drawn.take().map(GlObject::Fence);
        let names = fence.into_iter().chain([GlObject::Texture(self.texture)]);
        names.for_each(|name| self.home.delete(&self.gl, name));
    }
}
