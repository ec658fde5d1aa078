//! OpenCL's side of textures that can be shared.

use ocl::ffi;

use super::handover::hand_over;
use base::error::Result;
use opencl::cl::{ClContext, Event, Image, failed};
use opencl::memory::Picture;

const NOT_HANDED: &str = "A texture could not be handed over between OpenGL and OpenCL.";

/// OpenCL's side of a texture. It must drop before the texture is deleted.
pub(crate) struct Shared {
    picture: Picture,
}

impl Shared {
    /// Makes the memory object of a texture that [`create`](opengl::texture::create) made, with `width` by `height` pixels.
    ///
    /// # Errors
    /// When the driver does not share it.
    pub(crate) fn new(cl: &ClContext, texture: glow::Texture, width: u32, height: u32) -> Result<Self> {
        let (size, flags) = ((width as usize, height as usize), ffi::CL_MEM_READ_WRITE);
        // SAFETY: the texture is of the OpenGL context that `cl` shares with, if it shares at all; else the driver refuses.
        unsafe { Image::of_gl(&cl.context, flags, texture.0.get(), size) }
            .map(|image| Self { picture: Picture::Image(image) })
            .map_err(|e| failed("A texture could not be shared between OpenGL and OpenCL.", &e))
    }

    /// The texture as OpenCL sees it, between acquire and release.
    pub(crate) fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Enqueues the handover to OpenCL. OpenGL must have finished with the texture, and must leave it alone until the
    /// event of [`Shared::release`] is complete.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(crate) fn acquire(&self, cl: &ClContext) -> Result<Event> {
        hand_over(cl, self.picture.mem(), true, NOT_HANDED)
    }

    /// Enqueues the handover to OpenGL.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(crate) fn release(&self, cl: &ClContext) -> Result<Event> {
        hand_over(cl, self.picture.mem(), false, NOT_HANDED)
    }
}
