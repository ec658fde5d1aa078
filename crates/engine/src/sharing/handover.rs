//! Creates OpenCL's memory objects of textures, and hands shared memory objects from OpenGL to OpenCL and back.

use std::slice;

use base::error::{Error, Result};
use opencl::cl::{self, ClContext, Event, Image, Mem, OrFail as _, failed};
use opencl::memory::Picture;
use opengl::texture::RGBA8;

/// Enqueues the handover of a shared memory object: from OpenGL to OpenCL if `to_cl` is true, else back to OpenGL. `what` is
/// the first sentence of the error message.
///
/// # Errors
/// If the driver refuses the command.
pub(super) fn hand_over(cl: &ClContext, memory: &Mem, to_cl: bool, what: &str) -> Result<Event> {
    cl::hand_over(&cl.queue, slice::from_ref(memory), to_cl, &[]).map_err(|e| Error {
        hint: "Choose another device, or start with --no-sharing.".to_owned(),
        ..failed(what, &e)
    })
}

/// Creates OpenCL's memory object of a texture that was created by [`create`](opengl::texture::PixelFormat::create) with `width` by `height` pixels. It
/// must be dropped before the texture is deleted. Commands may use it between the events of two calls of [`hand_over_texture`].
///
/// # Errors
/// If the driver does not share the texture.
pub(crate) fn share_texture(
    cl: &ClContext,
    texture: glow::Texture,
    (width, height): (u32, u32),
) -> Result<Picture> {
    let size = (width as usize, height as usize);
    // SAFETY: the texture belongs to the OpenGL context that `cl` shares with, if it shares at all; else the driver
    // refuses.
    unsafe { Image::from_gl(&cl.context, texture.0.get(), size, RGBA8.pixel_bytes) }
        .map(Picture::Image)
        .or_fail("A texture could not be shared between OpenGL and OpenCL.")
}

/// Enqueues the handover of a texture: to OpenCL if `to_cl` is true, else back to OpenGL. OpenGL must have finished with the texture before,
/// and must not use it until the event of the handover back is complete.
///
/// # Errors
/// If the driver refuses the command.
pub(crate) fn hand_over_texture(cl: &ClContext, texture: &Picture, to_cl: bool) -> Result<Event> {
    hand_over(cl, texture.mem(), to_cl, "A texture could not be handed over between OpenGL and OpenCL.")
}
