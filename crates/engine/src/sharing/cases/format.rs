//! The formats of objects that are shared between OpenGL and OpenCL, and pseudo-random bytes for them.

use ocl::ffi;
use serde::{Deserialize, Serialize};
use stats::named_values;

use base::random::Xorshift;
use opengl::texture::PixelFormat;

/// The size in bytes of an element of [`Format::Buffer`]: odd, so that the lengths of buffers are odd.
const BUFFER_PIXEL: usize = 3;

named_values! {
    /// The format of an object that is shared between OpenGL and OpenCL.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Format {
        /// Textures with four channels of 8 bits.
        Rgba8 = "RGBA8",
        /// Textures with four channels of 8 bits, of which blue is first in the host's memory.
        Bgra8 = "BGRA8",
        /// Textures with one channel of 8 bits.
        R8 = "R8",
        /// Textures with two channels of 8 bits.
        Rg8 = "RG8",
        /// Textures with one channel of 16 bits.
        R16 = "R16",
        /// Textures with two channels of 16 bits.
        Rg16 = "RG16",
        /// Textures with four floats of 16 bits.
        Rgba16f = "RGBA16F",
        /// Textures with four floats of 32 bits.
        Rgba32f = "RGBA32F",
        /// Buffers of bytes instead of textures.
        Buffer = "buffer",
    }
}

/// The pixel format of a shared texture, in OpenGL and in OpenCL.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedFormat {
    /// The pixel format of OpenGL's texture and of the bytes in host memory.
    pub gl: PixelFormat,
    /// The channel order of OpenCL's image, such as `CL_RGBA`, by the table of `cl_khr_gl_sharing`.
    pub order: u32,
    /// The channel type of OpenCL's image, such as `CL_UNORM_INT8`, by the same table.
    pub kind: u32,
}

impl Format {
    /// Returns the pixel format of textures; `None` for buffers.
    pub(super) fn pixels(self) -> Option<SharedFormat> {
        const BYTE: u32 = glow::UNSIGNED_BYTE;
        const SHORT: u32 = glow::UNSIGNED_SHORT;
        let (internal, channels, gl_kind, order, kind, pixel_bytes) = match self {
            Self::Rgba8 => (glow::RGBA8, glow::RGBA, BYTE, ffi::CL_RGBA, ffi::CL_UNORM_INT8, 4),
            Self::Bgra8 => (glow::RGBA8, glow::BGRA, BYTE, ffi::CL_RGBA, ffi::CL_UNORM_INT8, 4),
            Self::R8 => (glow::R8, glow::RED, BYTE, ffi::CL_R, ffi::CL_UNORM_INT8, 1),
            Self::Rg8 => (glow::RG8, glow::RG, BYTE, ffi::CL_RG, ffi::CL_UNORM_INT8, 2),
            Self::R16 => (glow::R16, glow::RED, SHORT, ffi::CL_R, ffi::CL_UNORM_INT16, 2),
            Self::Rg16 => (glow::RG16, glow::RG, SHORT, ffi::CL_RG, ffi::CL_UNORM_INT16, 4),
            Self::Rgba16f => {
                (glow::RGBA16F, glow::RGBA, glow::HALF_FLOAT, ffi::CL_RGBA, ffi::CL_HALF_FLOAT, 8)
            }
            Self::Rgba32f => (glow::RGBA32F, glow::RGBA, glow::FLOAT, ffi::CL_RGBA, ffi::CL_FLOAT, 16),
            Self::Buffer => return None,
        };
        let gl = PixelFormat { internal, channels, kind: gl_kind, pixel_bytes };
        Some(SharedFormat { gl, order, kind })
    }

    /// Returns "buffer" or "texture", for messages.
    pub(super) fn noun(self) -> &'static str {
        if self == Self::Buffer { "buffer" } else { "texture" }
    }

    /// Returns the plural name of such objects for messages, such as "RGBA8 textures".
    pub(super) fn plural(self) -> String {
        if self == Self::Buffer { "buffers".to_owned() } else { format!("{} textures", self.name()) }
    }

    /// Returns the size of a pixel in bytes; for buffers, [`BUFFER_PIXEL`].
    pub(super) fn pixel_bytes(self) -> usize {
        self.pixels().map_or(BUFFER_PIXEL, |pixels| pixels.gl.pixel_bytes)
    }

    /// Returns pseudo-random bytes for an object of `size` pixels. Read as floats, the bytes and their complements are finite
    /// and not subnormal, because OpenGL may change other floats.
    pub(super) fn random_bytes(self, (width, height): (u32, u32), random: &mut Xorshift) -> Vec<u8> {
        let mut bytes = vec![0; width as usize * height as usize * self.pixel_bytes()];
        for part in bytes.chunks_mut(4) {
            let drawn = random.draw().to_le_bytes();
            part.iter_mut().zip(drawn).for_each(|(byte, drawn)| *byte = drawn);
        }
        // An exponent whose bits are all 0 or all 1 gets another last bit.
        match self {
            Self::Rgba16f => bytes.as_chunks_mut().0.iter_mut().for_each(|half: &mut [u8; 2]| {
                if [0, 0x7c].contains(&(half[1] & 0x7c)) {
                    half[1] ^= 0x04;
                }
            }),
            Self::Rgba32f => bytes.as_chunks_mut().0.iter_mut().for_each(|float: &mut [u8; 4]| {
                if [0, 0x7f80].contains(&(u16::from_le_bytes([float[2], float[3]]) & 0x7f80)) {
                    float[2] ^= 0x80;
                }
            }),
            _ => {}
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::complement;
    use super::*;

    #[test]
    fn floats_and_their_complements_are_finite_and_normal() {
        for seed in [1, 7, 0xffff_ffff] {
            let bytes = Format::Rgba32f.random_bytes((67, 35), &mut Xorshift::new(seed));
            for bytes in [complement(&bytes), bytes] {
                let mut floats = bytes.as_chunks().0.iter().map(|float| f32::from_le_bytes(*float));
                assert!(floats.all(f32::is_normal));
            }
            let bytes = Format::Rgba16f.random_bytes((67, 35), &mut Xorshift::new(seed));
            for bytes in [complement(&bytes), bytes] {
                let mut exponents = bytes.as_chunks::<2>().0.iter().map(|half| half[1] >> 2 & 31);
                assert!(exponents.all(|exponent| (1..31).contains(&exponent)));
            }
        }
    }
}
