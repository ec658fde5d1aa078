//! Two pictures in one texture, side by side. In: the pictures in the host's memory, red first. Out: the texture, which has blue first
//! ([`Order::Bgra`](super::texture::Order)), filled with columns of both.
//!
//! Red and blue are exchanged here: some rows at a time, which stay in the processor's cache ([`join`]), or all of them before the
//! texture is at hand, on a thread that has nothing else to do ([`Joined`]). OpenGL does that in as much time for whole rows, and in
//! half as much again for the halves of two pictures.

use std::ops::Range;
use std::time::{Duration, Instant};

use glow::HasContext as _;

/// How many bytes are brought into the texture at once.
const BAND_BYTES: usize = 1 << 18;

/// Two pictures of a size, tightly packed RGBA8, and where they meet.
struct Sides<'a> {
    pictures: [&'a [u8]; 2],
    /// Bytes in a row.
    row: usize,
    rows: usize,
    /// The first one's bytes of a row, and the other one's.
    parts: [Range<usize>; 2],
}

impl<'a> Sides<'a> {
    /// Of pictures of `size` the first one's columns to the left of `column`, and the other one's from there on. `None` where a
    /// picture is not there in full.
    fn new(pictures: [&'a [u8]; 2], size: (u32, u32), column: u32) -> Option<Self> {
        let (row, rows) = (4 * size.0 as usize, size.1 as usize);
        let line = 4 * column.min(size.0) as usize;
        let are_there = row * rows > 0 && pictures.iter().all(|rgba| rgba.len() >= row * rows);
        are_there.then_some(Self { pictures, row, rows, parts: [0..line, line..row] })
    }

    /// Writes one side's part of the rows from `top` on, as many as there is room for.
    fn exchange(&self, side: usize, top: usize, bgra: &mut [u8]) {
        let part = self.parts[side].clone();
        let lines = self.pictures[side][top * self.row..].chunks_exact(self.row);
        for (to, from) in bgra.chunks_exact_mut(self.row).zip(lines) {
            exchange(&from[part.clone()], &mut to[part.clone()]);
        }
    }

    /// Which share of what is done for both is whose.
    fn shares(&self) -> [f64; 2] {
        self.parts.clone().map(|part| part.len() as f64 / self.row as f64)
    }
}

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
    let sides = Sides::new(pictures, size, column)?;
    let band_rows = (BAND_BYTES / sides.row).max(1);
    let mut began = Instant::now();
    for top in (0..sides.rows).step_by(band_rows) {
        band.resize(band_rows.min(sides.rows - top) * sides.row, 0);
        for (side, took) in took.iter_mut().enumerate() {
            sides.exchange(side, top, band);
            *took += since(&mut began);
        }
        bring(gl, texture, size.0, top as i32, band);
        let both = since(&mut began);
        for (took, share) in took.iter_mut().zip(sides.shares()) {
            *took += both.mul_f64(share);
        }
    }
    Some(took)
}

/// Brings whole rows of `width` pixels, blue first, into a texture, from row `top` on. The context must be current.
fn bring(gl: &glow::Context, texture: glow::Texture, width: u32, top: i32, bgra: &[u8]) {
    let rows = bgra.len() / (4 * width as usize);
    let pixels = glow::PixelUnpackData::Slice(Some(bgra));
    let (width, height) = (width as i32, rows as i32);
    let (target, order, kind) = (glow::TEXTURE_2D, glow::BGRA, glow::UNSIGNED_BYTE);
    // SAFETY: the context is current; OpenGL reads width·height·4 bytes before it returns, and the slice has them.
    unsafe {
        gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
        gl.pixel_store_i32(glow::UNPACK_ALIGNMENT, 4);
        gl.bind_texture(target, Some(texture));
        gl.tex_sub_image_2d(target, 0, 0, top, width, height, order, kind, pixels);
        gl.bind_texture(target, None);
    }
}

/// Columns of two pictures, put together in the host's memory before they are brought into a texture.
#[derive(Default)]
pub(crate) struct Joined {
    /// Tightly packed, blue first.
    bgra: Vec<u8>,
    /// The pictures' size, and the other one's first column; `None` where nothing is put together.
    holds: Option<((u32, u32), u32)>,
}

impl Joined {
    /// Puts together what [`join`] would of the same pictures; returns when each side's part was. `None`, with nothing there, where a
    /// picture is not there in full, or memory has run out.
    pub(crate) fn put_together(
        &mut self,
        pictures: [&[u8]; 2],
        size: (u32, u32),
        column: u32,
    ) -> Option<[Range<Instant>; 2]> {
        self.holds = None;
        let sides = Sides::new(pictures, size, column)?;
        let bytes = sides.row * sides.rows;
        self.bgra.try_reserve_exact(bytes.saturating_sub(self.bgra.len())).ok()?;
        self.bgra.resize(bytes, 0);
        let when = [0, 1].map(|side| {
            let began = Instant::now();
            sides.exchange(side, 0, &mut self.bgra);
            began..Instant::now()
        });
        self.holds = Some((size, column));
        Some(when)
    }

    /// Fills a texture of `size` with what was put together at `column`; what each side's part of that took. `None`, with nothing
    /// done, where nothing was, or otherwise. The context must be current.
    pub(crate) fn fill(
        &self,
        gl: &glow::Context,
        (texture, size): (glow::Texture, (u32, u32)),
        column: u32,
    ) -> Option<[Duration; 2]> {
        if self.holds != Some((size, column)) {
            return None;
        }
        let began = Instant::now();
        bring(gl, texture, size.0, 0, &self.bgra);
        let first = f64::from(column.min(size.0)) / f64::from(size.0);
        Some([first, 1.0 - first].map(|share| began.elapsed().mul_f64(share)))
    }

    /// Nothing is put together any more; the memory stays for the next pictures.
    pub(crate) fn forget(&mut self) {
        self.holds = None;
    }
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
        let assert_seen = |[first, other]: [&[u8]; 2], column: u32, how: &str| {
            let seen = read_texture(gl, texture, size).unwrap();
            for (at, pixel) in seen.chunks_exact(4).enumerate() {
                let picture = if at as u32 % size.0 < column { first } else { other };
                assert_eq!(pixel, &picture[4 * at..4 * at + 4], "pixel {at}, column {column}, {how}");
            }
        };
        let swapped = [both[1], both[0]];
        let (mut band, mut joined) = (Vec::new(), Joined::default());
        for column in [0, 1, 100, 256, 257, 300] {
            join(gl, (texture, size), both, column, &mut band).unwrap();
            assert_seen(both, column, "some rows at a time");
            joined.put_together(swapped, size, column).unwrap();
            assert_seen(both, column, "nothing was brought yet");
            joined.fill(gl, (texture, size), column).unwrap();
            assert_seen(swapped, column, "put together before");
        }
        let too_little = [both[0], &both[1][1..]];
        assert_eq!(join(gl, (texture, size), too_little, 100, &mut band), None);
        let fills = |joined: &Joined, column, size| joined.fill(gl, (texture, size), column).is_some();
        joined.put_together(both, size, 100).unwrap();
        assert!(!fills(&joined, 99, size) && !fills(&joined, 100, (size.1, size.0)), "of others");
        joined.forget();
        assert!(!fills(&joined, 100, size));
        joined.put_together(both, size, 100).unwrap();
        assert_eq!(joined.put_together(too_little, size, 100), None);
        assert!(!fills(&joined, 100, size));
        assert_seen(swapped, 300, "as it was");
    }
}
