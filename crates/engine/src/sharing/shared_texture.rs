//! OpenCL's memory objects of shared textures.

use super::handover::hand_over;
use base::error::Result;
use opencl::cl::{ClContext, Event, Image, failed};
use opencl::memory::Picture;
use opengl::texture::RGBA8;

/// The first sentence of the error when the handover of a texture fails.
const HANDOVER_FAILED: &str = "A texture could not be handed over between OpenGL and OpenCL.";

/// OpenCL's memory object of an OpenGL texture. It must be dropped before the texture is deleted.
pub(crate) struct SharedTexture {
    picture: Picture,
}

impl SharedTexture {
    /// Creates the memory object of a texture that was created by [`create`](opengl::texture::create) with `width` by `height` pixels.
    ///
    /// # Errors
    /// If the driver does not share the texture.
    pub(crate) fn new(cl: &ClContext, texture: glow::Texture, width: u32, height: u32) -> Result<Self> {
        let size = (width as usize, height as usize);
        // SAFETY: the texture belongs to the OpenGL context that `cl` shares with, if it shares at all; else the driver
        // refuses.
        unsafe { Image::from_gl(&cl.context, texture.0.get(), size, RGBA8.pixel_bytes) }
            .map(|image| Self { picture: Picture::Image(image) })
            .map_err(|e| failed("A texture could not be shared between OpenGL and OpenCL.", &e))
    }

    /// Returns the texture as a picture for OpenCL. Commands may use it between the events of [`SharedTexture::acquire`] and
    /// [`SharedTexture::release`].
    pub(crate) fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Enqueues the handover of the texture to OpenCL. OpenGL must have finished with the texture, and must not use it until the event of
    /// [`SharedTexture::release`] is complete.
    ///
    /// # Errors
    /// If the driver refuses the command.
    pub(crate) fn acquire(&self, cl: &ClContext) -> Result<Event> {
        hand_over(cl, self.picture.mem(), true, HANDOVER_FAILED)
    }

    /// Enqueues the handover of the texture back to OpenGL.
    ///
    /// # Errors
    /// If the driver refuses the command.
    pub(crate) fn release(&self, cl: &ClContext) -> Result<Event> {
        hand_over(cl, self.picture.mem(), false, HANDOVER_FAILED)
    }
}
