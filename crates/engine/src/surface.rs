//! The texture that a slot's picture is shown from. In: pixels of the host's, or of OpenCL's. Out: the texture, and
//! when OpenGL has done with what is in it. The context must be current whenever it is used; it may be dropped on any
//! thread.

use std::sync::Arc;

use glow::HasContext as _;

use base::error::Result;
use opengl::names::{Home, Name};
use opengl::pixel_buffer::PixelBuffer;
use opengl::texture::{self, Part};

/// After so long OpenGL is asked to finish all that it has, in nanoseconds.
const FETCH_NS: i32 = 1_000_000_000;

/// A texture of a picture's size.
pub(super) struct Surface {
    gl: Arc<glow::Context>,
    texture: glow::Texture,
    size: (u32, u32),
    /// After it OpenGL has finished with the texture.
    drawn: Option<glow::Fence>,
    /// It has finished with the texture, and has got no command for it since.
    is_idle: bool,
    home: Home,
}

impl Surface {
    /// # Errors
    /// When the picture is larger than the driver's textures, or memory runs out.
    pub(super) fn new(gl: &Arc<glow::Context>, size: (u32, u32)) -> Result<Self> {
        let texture = texture::create(gl, size.0, size.1)?;
        Ok(Self { gl: gl.clone(), texture, size, drawn: None, is_idle: false, home: Home::here() })
    }

    pub(super) fn texture(&self) -> glow::Texture {
        self.texture
    }

    /// Memory that OpenGL fetches pictures from by itself, where it has such.
    pub(super) fn pixel_buffer(&self, bytes: usize) -> Option<PixelBuffer> {
        PixelBuffer::new(&self.gl, bytes)
    }

    /// Fills a part of the texture from a picture, tightly packed RGBA8.
    pub(super) fn fill(&mut self, part: &Part, rgba: &[u8]) {
        self.is_idle = false;
        texture::fill_part(&self.gl, self.texture, self.size, part, rgba);
    }

    /// Has OpenGL fetch a part of the picture into the texture.
    pub(super) fn fill_from(&mut self, part: &Part, pixels: &PixelBuffer) {
        self.is_idle = false;
        texture::fill_from(&self.gl, self.texture, self.size, part, pixels);
    }

    /// Notes that OpenGL's commands so far are the last ones that use the texture, until the next picture is in it.
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

    /// Whether OpenGL has finished with the texture, as was waited for.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Waits until OpenGL has finished with the texture, or has fetched the picture before from its pixel buffer. Seldom at all:
    /// it began a few frames ago. Makes no call where that was waited for already.
    ///
    /// The device does not wait in its queue instead, by an event made of the fence (clCreateEventFromGLsyncKHR of
    /// cl_khr_gl_event): with three slots the fence is passed when it is looked at, and such an event would be one more object to
    /// make and to release for each frame.
    pub(super) fn wait_for_gl(&mut self) {
        if self.is_idle {
            return;
        }
        let passed = self.drawn.take().is_some_and(|fence| self.is_passed(fence, FETCH_NS));
        if !passed {
            // SAFETY: the context is current.
            unsafe { self.gl.finish() };
        }
        self.is_idle = true;
    }

    /// Whether OpenGL passes the fence within that time, in nanoseconds. The fence is gone then.
    fn is_passed(&self, fence: glow::Fence, ns: i32) -> bool {
        // SAFETY: the context is current; the fence is this surface's own and is not used again.
        let status = unsafe {
            let status = self.gl.client_wait_sync(fence, glow::SYNC_FLUSH_COMMANDS_BIT, ns);
            self.gl.delete_sync(fence);
            status
        };
        matches!(status, glow::ALREADY_SIGNALED | glow::CONDITION_SATISFIED)
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        let fence = self.drawn.take().map(Name::Fence);
        let names = fence.into_iter().chain([Name::Texture(self.texture)]);
        names.for_each(|name| self.home.delete(&self.gl, name));
    }
}
