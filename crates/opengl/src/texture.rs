//! Textures that can be shared with OpenCL, filled from memory or from a [`PixelBuffer`]. clreel's own pictures are [`RGBA8`].

use glow::HasContext as _;

use super::pixel_buffer::PixelBuffer;
use crate::renderer::{max_texture_size, too_large};
use base::error::{Error, Result};

/// The format of the pixels of a texture, and of the pixels in host memory that it is filled from and read back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelFormat {
    /// OpenGL's format of the texture, such as `GL_RGBA8`.
    pub internal: u32,
    /// The channels of a pixel in the host's memory, such as `GL_RGBA`.
    pub channels: u32,
    /// The type of a channel in the host's memory, such as `GL_UNSIGNED_BYTE`.
    pub kind: u32,
    /// The size of a pixel in the host's memory, in bytes: 1, 2 or a multiple of 4.
    pub pixel_bytes: usize,
}

/// The format of clreel's pictures: red, green, blue and alpha, 8 bits each, in this order. `GL_BGRA` is not used, since Mesa
/// 22.3's llvmpipe exchanges red and blue in tiles of 64×64 pixels where a texture of `GL_RGBA` that was filled as `GL_BGRA` is
/// drawn scaled.
pub const RGBA8: PixelFormat =
    PixelFormat { internal: glow::RGBA8, channels: glow::RGBA, kind: glow::UNSIGNED_BYTE, pixel_bytes: 4 };

impl PixelFormat {
    /// Returns the length in bytes of a picture of `size` pixels (width and height) in the host's memory, without gaps between
    /// rows.
    pub fn picture_bytes(&self, size: (u32, u32)) -> usize {
        size.0 as usize * size.1 as usize * self.pixel_bytes
    }

    /// Returns the alignment of rows for OpenGL (`GL_UNPACK_ALIGNMENT`) with which rows of any width have no gaps.
    pub(crate) fn row_alignment(&self) -> i32 {
        self.pixel_bytes.min(4) as i32
    }

    /// Creates a texture of `width` by `height` pixels with linear filtering, clamped to its edge, and with one level, as
    /// sharing with OpenCL requires. If the driver does not support the format, `glGetError` returns an error. The context must
    /// be current.
    pub fn create(&self, gl: &glow::Context, width: u32, height: u32) -> Result<glow::Texture> {
        // SAFETY: the context is current on this thread.
        unsafe {
            let limit = max_texture_size(gl);
            if width > limit || height > limit {
                return Err(too_large(width, height, limit));
            }
            let texture = gl.create_texture().map_err(|e| {
                Error::new(
                    "No texture could be created for the picture.",
                    e,
                    "Close other programs that use the GPU.",
                )
            })?;
            gl.bind_texture(glow::TEXTURE_2D, Some(texture));
            let version = gl.version();
            let storage = (version.is_embedded && version.major >= 3)
                || (version.major, version.minor) >= (4, 2)
                || gl.supported_extensions().contains("GL_ARB_texture_storage");
            let (w, h) = (width as i32, height as i32);
            if storage {
                gl.tex_storage_2d(glow::TEXTURE_2D, 1, self.internal, w, h);
            } else {
                gl.tex_parameter_i32(glow::TEXTURE_2D, glow::TEXTURE_MAX_LEVEL, 0);
                let none = glow::PixelUnpackData::Slice(None);
                let internal = self.internal as i32;
                gl.tex_image_2d(glow::TEXTURE_2D, 0, internal, w, h, 0, self.channels, self.kind, none);
            }
            for (name, value) in [
                (glow::TEXTURE_MIN_FILTER, glow::LINEAR),
                (glow::TEXTURE_MAG_FILTER, glow::LINEAR),
                (glow::TEXTURE_WRAP_S, glow::CLAMP_TO_EDGE),
                (glow::TEXTURE_WRAP_T, glow::CLAMP_TO_EDGE),
            ] {
                gl.tex_parameter_i32(glow::TEXTURE_2D, name, value as i32);
            }
            gl.bind_texture(glow::TEXTURE_2D, None);
            Ok(texture)
        }
    }

    /// Uploads a picture, without gaps between rows, to a texture of this format and of `size` pixels. Does nothing if `pixels`
    /// has too few bytes. The context must be current.
    pub fn fill(&self, gl: &glow::Context, texture: glow::Texture, size: (u32, u32), pixels: &[u8]) {
        if pixels.len() >= self.picture_bytes(size) {
            // SAFETY: OpenGL reads no more than the picture before it returns, and the slice has that.
            unsafe { self.fill_with(gl, texture, size, None, glow::PixelUnpackData::Slice(Some(pixels))) };
        }
    }

    /// Uploads a picture of `width` by `height` pixels to a texture. `pixels` has the picture: in host memory, or as an offset
    /// into `buffer` if that is given.
    ///
    /// # Safety
    /// The context must be current. The whole picture must be at `pixels`, in memory or, if one is given, in the buffer.
    unsafe fn fill_with(
        &self,
        gl: &glow::Context,
        texture: glow::Texture,
        (width, height): (u32, u32),
        buffer: Option<glow::Buffer>,
        pixels: glow::PixelUnpackData,
    ) {
        let [w, h] = [width, height].map(|n| n as i32);
        // SAFETY: the caller vouches for the context and the pixels.
        unsafe {
            gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, buffer);
            gl.pixel_store_i32(glow::UNPACK_ALIGNMENT, self.row_alignment());
            gl.bind_texture(glow::TEXTURE_2D, Some(texture));
            gl.tex_sub_image_2d(glow::TEXTURE_2D, 0, 0, 0, w, h, self.channels, self.kind, pixels);
            gl.bind_texture(glow::TEXTURE_2D, None);
            gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
        }
    }
}

/// Enqueues a copy of the picture in `buffer`, RGBA8 without gaps, to a texture of `size` pixels. The copy may run after the
/// call returns. The driver refuses a buffer that is too small. The context must be current.
pub fn fill_from(gl: &glow::Context, texture: glow::Texture, size: (u32, u32), buffer: &PixelBuffer) {
    let pixels = glow::PixelUnpackData::BufferOffset(0);
    // SAFETY: the buffer is bound, so that the pixels are an offset into it.
    unsafe { RGBA8.fill_with(gl, texture, size, Some(buffer.buffer), pixels) };
}
