//! Two pictures in one texture, side by side. In: the pictures in the host's memory, red first. Out: the texture, which has blue first
//! ([`Order::Bgra`](super::texture::Order)), filled with columns of both.
//!
//! Red and blue are exchanged here, some rows at a time, which stay in the processor's cache. OpenGL does that in less time for whole
//! rows, and in half as much again for the halves of two pictures.

use std::time::{Duration, Instant};

use glow::HasContext as _;

/// How many bytes are brought into the texture at once.
const BAND_BYTES: usize = 1 << 18;

/// Fills a texture of `size` from two pictures of that size, tightly packed RGBA8: with the first one's columns to the left of `column`,
/// and the other one's from there on. `band` is memory to work with. Returns what each took: of what is done for both, the part that
/// its columns are; `None`, with nothing done, where a picture is not there in full. The context must be current.
pub(crate) fn join(
    gl: &glow::Context,
    (texture, size): (glow::Texture, (u32, u32)),
    pictures: [&[u8]; 2],
    column: u32,
    band: &mut Vec<u8>,
) -> Option<[Duration; 2]> {
    let mut took = [Duration::ZERO; 2];
    let (row, line) = (4 * size.0 as usize, 4 * column.min(size.0) as usize);
    let bytes = row * size.1 as usize;
    if bytes == 0 || pictures.iter().any(|rgba| rgba.len() < bytes) {
        return None;
    }
    let parts = [0..line, line..row];
    let rows = (BAND_BYTES / row).max(1);
    // SAFETY: the context is current on this thread.
    unsafe {
        gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
        gl.pixel_store_i32(glow::UNPACK_ALIGNMENT, 4);
        gl.bind_texture(glow::TEXTURE_2D, Some(texture));
    }
    let mut began = Instant::now();
    for top in (0..size.1 as usize).step_by(rows) {
        let rows = rows.min(size.1 as usize - top);
        band.resize(rows * row, 0);
        for ((part, rgba), took) in parts.iter().zip(pictures).zip(&mut took) {
            let lines = rgba[top * row..].chunks_exact(row);
            for (to, from) in band.chunks_exact_mut(row).zip(lines) {
                exchange(&from[part.clone()], &mut to[part.clone()]);
            }
            *took += since(&mut began);
        }
        let pixels = glow::PixelUnpackData::Slice(Some(band));
        let (y, width, height) = (top as i32, size.0 as i32, rows as i32);
        let (target, order, kind) = (glow::TEXTURE_2D, glow::BGRA, glow::UNSIGNED_BYTE);
        // SAFETY: the context is current; OpenGL reads width·height·4 bytes before it returns, and the band has them.
        unsafe { gl.tex_sub_image_2d(target, 0, 0, y, width, height, order, kind, pixels) };
        let both = since(&mut began);
        for (part, took) in parts.iter().zip(&mut took) {
            *took += both.mul_f64(part.len() as f64 / row as f64);
        }
    }
    // SAFETY: as before.
    unsafe { gl.bind_texture(glow::TEXTURE_2D, None) };
    Some(took)
}

/// The time since then; the next one begins now.
fn since(began: &mut Instant) -> Duration {
    let now = Instant::now();
    now.duration_since(std::mem::replace(began, now))
}

/// Exchanges the first and the third byte of each four.
fn exchange(from: &[u8], to: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: this processor has AVX2.
        return unsafe { exchange_avx2(from, to) };
    }
    exchange_words(from, to);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn exchange_avx2(from: &[u8], to: &mut [u8]) {
    exchange_words(from, to);
}

#[inline(always)]
fn exchange_words(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        let word = u32::from_le_bytes(*from);
        *to = (word & 0xff00_ff00 | word.rotate_left(16) & 0x00ff_00ff).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::headless::Headless;
    use crate::gpu::read_texture::read_texture;
    use crate::gpu::sharing::texture::{self, Order};

    #[test]
    fn each_column_is_of_its_side() {
        let headless = Headless::new().unwrap();
        let gl = &headless.gl;
        // More rows than a band has, and an odd width.
        let size = (257, 611);
        let texture = texture::create_in(Order::Bgra, gl, size.0, size.1).unwrap();
        let pictures = [2_654_435_761_u32, 2_246_822_519]
            .map(|factor| (0..size.0 * size.1 * 4).map(|i| (i.wrapping_mul(factor) >> 13) as u8).collect())
            .map(|picture: Vec<u8>| picture);
        let both = [&pictures[0][..], &pictures[1][..]];
        let mut band = Vec::new();
        for column in [0, 1, 100, 256, 257, 300] {
            join(gl, (texture, size), both, column, &mut band).unwrap();
            let seen = read_texture(gl, texture, size).unwrap();
            for (at, pixel) in seen.chunks_exact(4).enumerate() {
                let picture = both[usize::from(at as u32 % size.0 >= column)];
                assert_eq!(pixel, &picture[4 * at..4 * at + 4], "pixel {at}, column {column}");
            }
        }
        let too_little = [both[1], &both[0][1..]];
        assert_eq!(join(gl, (texture, size), too_little, 100, &mut band), None);
        assert!(read_texture(gl, texture, size).unwrap() == pictures[0], "as it was");
    }
}
