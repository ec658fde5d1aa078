//! Reads textures back to host memory.

use glow::HasContext as _;

use crate::texture::{PixelFormat, RGBA8};
use base::error::{Error, Result};
use base::memory::zeroed;

impl PixelFormat {
    /// Returns the pixels of a texture of this format and of `size` (width and height), without gaps between rows. The row at
    /// texture coordinate 0 comes first. The context must be current.
    ///
    /// # Errors
    /// Returns an error if the driver cannot read from the texture, or memory runs out.
    pub fn read(&self, gl: &glow::Context, texture: glow::Texture, size: (u32, u32)) -> Result<Vec<u8>> {
        let what = "The frame could not be read back.";
        let mut pixels = zeroed(self.picture_bytes(size))?;
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
                gl.pixel_store_i32(glow::PACK_ALIGNMENT, self.row_alignment());
                gl.pixel_store_i32(glow::PACK_ROW_LENGTH, 0);
                let into = glow::PixelPackData::Slice(Some(&mut pixels));
                let (width, height) = (size.0 as i32, size.1 as i32);
                gl.read_pixels(0, 0, width, height, self.channels, self.kind, into);
            }
            gl.bind_framebuffer(glow::READ_FRAMEBUFFER, None);
            gl.delete_framebuffer(framebuffer);
            if !complete {
                let why = "The driver cannot read from the picture's texture.";
                return Err(Error::new(what, why, "Use S to save the window."));
            }
        }
        Ok(pixels)
    }
}

/// Returns the pixels of a texture of [`RGBA8`], as [`PixelFormat::read`] does.
///
/// # Errors
/// Returns an error as [`PixelFormat::read`] does.
pub fn read_texture(gl: &glow::Context, texture: glow::Texture, size: (u32, u32)) -> Result<Vec<u8>> {
    RGBA8.read(gl, texture, size)
}
