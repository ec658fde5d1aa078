//! Textures that can be shared with OpenCL. In: pixels in memory or in a [`PixelBuffer`]. Out: a texture that has them.

use std::ops::Range;
use std::sync::Arc;

use glow::HasContext as _;

use super::pixel_buffer::PixelBuffer;
use crate::renderer::{max_texture_size, too_large};
use base::error::{Error, Result};

/// A complete texture with one level, as sharing needs it: RGBA8, linear, clamped. The context must be current.
///
/// Its bytes are red first, as everywhere: Mesa 22.3's llvmpipe exchanges red and blue in tiles of 64×64 pixels where a texture of
/// `GL_RGBA` that was filled as `GL_BGRA` is drawn scaled.
pub fn create(gl: &Arc<glow::Context>, width: u32, height: u32) -> Result<glow::Texture> {
    // SAFETY: the context is current on this thread.
    unsafe {
        let limit = max_texture_size(gl);
        if width > limit || height > limit {
            return Err(too_large(width, height, limit));
        }
        let texture = gl.create_texture().map_err(|e| {
            Error::new(
                "No texture could be made for the picture.",
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
            gl.tex_storage_2d(glow::TEXTURE_2D, 1, glow::RGBA8, w, h);
        } else {
            gl.tex_parameter_i32(glow::TEXTURE_2D, glow::TEXTURE_MAX_LEVEL, 0);
            let none = glow::PixelUnpackData::Slice(None);
            let (format, kind) = (glow::RGBA, glow::UNSIGNED_BYTE);
            gl.tex_image_2d(glow::TEXTURE_2D, 0, glow::RGBA8 as i32, w, h, 0, format, kind, none);
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

/// Columns and rows of a picture, in pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Columns.
    pub x: Range<u32>,
    /// Rows.
    pub y: Range<u32>,
}

impl Part {
    /// All of a picture of this size.
    pub fn whole((width, height): (u32, u32)) -> Self {
        Self { x: 0..width, y: 0..height }
    }

    /// No pixel at all.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty() || self.y.is_empty()
    }

    /// Whether all pixels of the other one are among its.
    pub fn has(&self, other: &Self) -> bool {
        let has = |own: &Range<u32>, of: &Range<u32>| own.start <= of.start && of.end <= own.end;
        other.is_empty() || has(&self.x, &other.x) && has(&self.y, &other.y)
    }

    /// What of it a picture of this size has.
    fn within(&self, (width, height): (u32, u32)) -> Self {
        let within = |own: &Range<u32>, size: u32| own.start.min(size)..own.end.min(size);
        Self { x: within(&self.x, width), y: within(&self.y, height) }
    }
}

/// Puts `rgba`, tightly packed RGBA8, into a texture of `size`. The context must be current.
pub fn fill(gl: &glow::Context, texture: glow::Texture, size: (u32, u32), rgba: &[u8]) {
    fill_part(gl, texture, size, &Part::whole(size), rgba);
}

/// Puts a part of `rgba`, a picture of `size`, tightly packed RGBA8, into a texture of that size. The context must be current.
pub fn fill_part(gl: &glow::Context, texture: glow::Texture, size: (u32, u32), part: &Part, rgba: &[u8]) {
    if rgba.len() >= size.0 as usize * size.1 as usize * 4 {
        // SAFETY: OpenGL reads no more than width·height·4 bytes before it returns, and the slice has them.
        unsafe { fill_with(gl, texture, size, part, None, glow::PixelUnpackData::Slice(Some(rgba))) };
    }
}

/// Has OpenGL fetch a part of the picture in `buffer`, tightly packed RGBA8, into a texture of `size`. It may do so after the
/// call; the driver refuses a buffer that is too small. The context must be current.
pub fn fill_from(
    gl: &glow::Context,
    texture: glow::Texture,
    size: (u32, u32),
    part: &Part,
    buffer: &PixelBuffer,
) {
    let pixels = glow::PixelUnpackData::BufferOffset(0);
    // SAFETY: the buffer is bound, so that the pixels are an offset into it.
    unsafe { fill_with(gl, texture, size, part, Some(buffer.buffer()), pixels) };
}

/// # Safety
/// The context must be current, and `pixels` hold the whole picture, in memory or, if one is given, in the buffer.
unsafe fn fill_with(
    gl: &glow::Context,
    texture: glow::Texture,
    size: (u32, u32),
    part: &Part,
    buffer: Option<glow::Buffer>,
    pixels: glow::PixelUnpackData,
) {
    let Part { x, y } = part.within(size);
    let [row, left, top, w, h] = [size.0, x.start, y.start, x.len() as u32, y.len() as u32].map(|n| n as i32);
    // SAFETY: the caller vouches for the context and the pixels.
    unsafe {
        gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, buffer);
        gl.pixel_store_i32(glow::UNPACK_ALIGNMENT, 4);
        for (name, value) in skipping(row, left, top) {
            gl.pixel_store_i32(name, value);
        }
        gl.bind_texture(glow::TEXTURE_2D, Some(texture));
        gl.tex_sub_image_2d(glow::TEXTURE_2D, 0, left, top, w, h, glow::RGBA, glow::UNSIGNED_BYTE, pixels);
        // As others expect it.
        for (name, value) in skipping(0, 0, 0) {
            gl.pixel_store_i32(name, value);
        }
        gl.bind_texture(glow::TEXTURE_2D, None);
        gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
    }
}

/// What has OpenGL read rows of so many pixels from the one at `left` and `top` on; 0 is as many as it is to read.
fn skipping(row: i32, left: i32, top: i32) -> [(u32, i32); 3] {
    [(glow::UNPACK_ROW_LENGTH, row), (glow::UNPACK_SKIP_PIXELS, left), (glow::UNPACK_SKIP_ROWS, top)]
}
