//! Textures back to the host. In: an OpenGL texture. Out: its pixels.

use glow::HasContext as _;

use base::error::{Error, Result};
use base::memory::picture_memory;

/// The pixels of a texture of `size`: RGBA8, tightly packed, the row at texture coordinate 0 first. The
/// context must be current.
///
/// # Errors
/// When the driver cannot read from such a texture.
pub fn read_texture(gl: &glow::Context, texture: glow::Texture, size: (u32, u32)) -> Result<Vec<u8>> {
    let what = "The frame could not be read back.";
    let mut rgba = picture_memory(size.0, size.1)?;
    // SAFETY: the context is current, the texture is alive, and the slice has room for all its pixels.
    unsafe {
        let framebuffer = gl.create_framebuffer().map_err(|e| Error::new(what, e, ""))?;
        gl.bind_framebuffer(glow::READ_FRAMEBUFFER, Some(framebuffer));
        gl.framebuffer_texture_2d(
            glow::READ_FRAMEBUFFER,
            glow::COLOR_ATTACHMENT0,
            glow::TEXTURE_2D,
            Some(texture),
            0,
        );
        let complete = gl.check_framebuffer_status(glow::READ_FRAMEBUFFER) == glow::FRAMEBUFFER_COMPLETE;
        if complete {
            gl.pixel_store_i32(glow::PACK_ALIGNMENT, 4);
            gl.pixel_store_i32(glow::PACK_ROW_LENGTH, 0);
            let pixels = glow::PixelPackData::Slice(Some(&mut rgba));
            gl.read_pixels(0, 0, size.0 as i32, size.1 as i32, glow::RGBA, glow::UNSIGNED_BYTE, pixels);
        }
        gl.bind_framebuffer(glow::READ_FRAMEBUFFER, None);
        gl.delete_framebuffer(framebuffer);
        if !complete {
            let why = "The driver does not read from the picture's texture.";
            return Err(Error::new(what, why, "Use S to save the window."));
        }
    }
    Ok(rgba)
}
