//! Conversion between straight alpha, as files store it, and premultiplied alpha, which the rest of the program uses.
//!
//! The contract:
//!
//! 1. A colour becomes `(colour·alpha + largest/2) / largest`, rounded down, where `largest` is `2^depth - 1`: this rounds to
//!    the nearest, without ties. For 8 bits it is `(c·a + 127) / 255`. Transparent pixels lose their colour, so that
//!    computations on single channels (filters, scaling, interpolation) cannot reveal it. Opaque pixels keep their bytes.
//! 2. RGB samples of 8 to 12 bits that the contract of [`color`](super) covers are multiplied at their own depth, before all
//!    other steps. Other pictures are multiplied as RGBA8.
//! 3. Files store straight colours: `min((255·c + a/2) / a, 255)`, rounded down, and 0 in all channels where alpha is 0.
//!    Premultiplied again these give the same bytes.

use ffmpeg_next::ffi;
use ffmpeg_next::frame::Video;

use super::layout::Layout;
use crate::libav;

const PALETTE_ENTRIES: usize = 256;

/// Returns true if the picture may have pixels that are not opaque: its pixel format has alpha, or its palette has entries
/// that are not opaque.
pub(crate) fn has_alpha(picture: &Video) -> bool {
    let Some(format) = libav::descriptor(picture.format()) else { return false };
    let has = |flag: i32| format.flags as i32 & flag != 0;
    if !has(ffi::AV_PIX_FMT_FLAG_PAL) {
        return has(ffi::AV_PIX_FMT_FLAG_ALPHA);
    }
    // SAFETY: the second plane of a picture with a palette is null or the palette, of four bytes per entry.
    unsafe {
        let palette = (*picture.as_ptr()).data[1].cast::<u32>();
        !palette.is_null()
            && (0..PALETTE_ENTRIES).any(|entry| palette.add(entry).read_unaligned() >> 24 != 255)
    }
}

/// Multiplies a colour value by its alpha; `largest` is the maximum value of both.
#[inline(always)]
pub(super) fn multiply_alpha(colour: u32, alpha: u32, largest: u32) -> u32 {
    (colour * alpha + largest / 2) / largest
}

/// Divides an 8-bit colour value by its alpha, the inverse of [`multiply_alpha`].
pub(super) fn divide_alpha(colour: u8, alpha: u8) -> u8 {
    let alpha = u32::from(alpha);
    let colour = (255 * u32::from(colour) + alpha / 2).checked_div(alpha);
    colour.unwrap_or(0).min(255) as u8
}

/// Divides the colours of premultiplied RGBA8 pixels by their alpha, for files.
pub fn unpremultiply(rgba: &mut [u8]) {
    for pixel in rgba.chunks_exact_mut(4).filter(|pixel| pixel[3] != 255) {
        let alpha = pixel[3];
        pixel[..3].iter_mut().for_each(|colour| *colour = divide_alpha(*colour, alpha));
    }
}

/// Multiplies each sample of a row by the alpha sample of the same pixel. All samples have `depth` bits.
#[inline(always)]
pub(super) fn premultiply_samples(colours: &mut [u16], alphas: &[u16], depth: u32) {
    let multiply = |colours: &mut [u16], largest: u32| {
        for (colour, alpha) in colours.iter_mut().zip(alphas) {
            *colour = multiply_alpha((*colour).into(), (*alpha).into(), largest) as u16;
        }
    };
    match depth {
        // The compiler replaces the division by a constant.
        8 => multiply(colours, 255),
        depth => multiply(colours, (1 << depth) - 1),
    }
}

/// Multiplies the colours of the picture in `block` by their alpha. `layout` describes the block and must be RGB with alpha.
pub(super) fn premultiply_block(layout: &Layout, block: &mut [u8]) {
    let (at, first) = layout.first_sample_of(3);
    let plane = layout.planes[at];
    if layout.first_sample_of(0).0 == at {
        for row in block[plane.offset..].chunks_mut(plane.stride).take(plane.rows) {
            let row = &mut row[..plane.row];
            if first == 0 { premultiply_packed::<0>(row) } else { premultiply_packed::<3>(row) }
        }
        return;
    }
    // The plane with alpha is the last one.
    let (colours, alphas) = block.split_at_mut(plane.offset);
    let [mut alpha, mut line] = [(); 2].map(|()| vec![0; layout.width as usize]);
    for (y, alphas) in alphas.chunks(plane.stride).take(plane.rows).enumerate() {
        layout.read_row(3, &alphas[..plane.row], &mut alpha);
        for component in 0..3 {
            let plane = layout.planes[layout.first_sample_of(component).0];
            let row = &mut colours[plane.offset + y * plane.stride..][..plane.row];
            layout.read_row(component, row, &mut line);
            premultiply_samples(&mut line, &alpha, layout.depth);
            layout.write_row(&line, row);
        }
    }
}

/// Multiplies the colours of four-byte pixels by their alpha. `ALPHA` is the index of the alpha byte in a pixel.
pub(super) fn premultiply_packed<const ALPHA: usize>(pixels: &mut [u8]) {
    for pixel in pixels.as_chunks_mut::<4>().0 {
        let mut factors = [u32::from(pixel[ALPHA]); 4];
        // Keeps alpha.
        factors[ALPHA] = 255;
        for (colour, factor) in pixel.iter_mut().zip(factors) {
            *colour = multiply_alpha((*colour).into(), factor, 255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffmpeg_next::format::Pixel;

    #[test]
    fn dividing_and_multiplying_by_alpha_is_lossless() {
        for alpha in 0..=255_u8 {
            for colour in 0..=255_u8 {
                let mut pixel = [colour, 0, alpha, alpha];
                premultiply_packed::<3>(&mut pixel);
                let exact = f64::from(colour) * f64::from(alpha) / 255.0;
                assert!((f64::from(pixel[0]) - exact).abs() < 0.5 && pixel[3] == alpha, "{colour} {alpha}");
                let multiplied = pixel;
                unpremultiply(&mut pixel);
                assert!(alpha > 0 || pixel == [0; 4]);
                premultiply_packed::<3>(&mut pixel);
                assert_eq!(pixel, multiplied);
            }
        }
        // What a filter of another kind may leave: more colour than alpha.
        assert_eq!(divide_alpha(200, 100), 255);
    }

    #[test]
    fn format_and_palette_determine_alpha() {
        let of = |format| has_alpha(&Video::new(format, 8, 2));
        let with = [Pixel::RGBA, Pixel::ARGB, Pixel::GBRAP, Pixel::YUVA420P, Pixel::YA8, Pixel::RGBA64LE];
        let without =
            [Pixel::RGB24, Pixel::BGRZ, Pixel::YUV420P, Pixel::GRAY8, Pixel::NV12, Pixel::MonoBlack];
        assert!(with.into_iter().all(of) && !without.into_iter().any(of) && !has_alpha(&Video::empty()));
        let mut picture = Video::new(Pixel::PAL8, 8, 2);
        // SAFETY: PAL8 frames have 256 entries of four bytes in their second plane.
        let palette = unsafe {
            std::slice::from_raw_parts_mut((*picture.as_mut_ptr()).data[1].cast::<u32>(), PALETTE_ENTRIES)
        };
        palette.fill(0xff00_8040);
        assert!(!has_alpha(&picture));
        palette[200] = 0xfe00_8040;
        assert!(has_alpha(&picture));
    }
}
