//! Extracts the two fields of an interlaced picture, for conversions that handle only progressive pictures.

use ffmpeg_next::ffi;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use crate::libav;
use base::error::{Error, Result};

/// Returns true if rows of chroma belong alternately to the picture's two fields, as [`Layout::interlaced`] does for formats
/// with a layout.
///
/// [`Layout::interlaced`]: super::Layout::interlaced
pub(super) fn has_fields(picture: &Video) -> bool {
    let has_half_rows = libav::descriptor(picture.format())
        .is_some_and(|format| format.nb_components >= 3 && format.log2_chroma_h == 1);
    picture.is_interlaced() && has_half_rows && picture.height() > 2
}

/// Copies the lines `parity`, `parity` + 2, … of a picture that [has fields](has_fields), with their rows of chroma. A last
/// line without a row of chroma of its own gets the previous row of chroma.
///
/// # Errors
/// When memory runs out.
pub(super) fn field(picture: &Video, parity: usize) -> Result<Video> {
    let format = ffi::AVPixelFormat::from(picture.format());
    let height = picture.height() as usize;
    let mut field = new_picture(picture.format(), (picture.width(), (height + 1 - parity) as u32 / 2))?;
    let rows_of =
        |plane: usize, height: usize| if matches!(plane, 1 | 2) { height.div_ceil(2) } else { height };
    // SAFETY: both pictures are valid and of one format, which has so many planes. Each of these has as many rows as `rows_of`
    // returns, `linesize` bytes apart, of at least the bytes that av_image_get_linesize returns for this width.
    unsafe {
        let (from, to) = (picture.as_ptr(), field.as_mut_ptr());
        for plane in 0..usize::try_from(ffi::av_pix_fmt_count_planes(format)).unwrap_or(0) {
            let row = ffi::av_image_get_linesize(format, (*from).width, plane as libc::c_int);
            let row = usize::try_from(row).unwrap_or(0);
            let last = rows_of(plane, height) - 1;
            let last = last - (last + parity) % 2;
            for y in 0..rows_of(plane, (*to).height as usize) {
                let source = (parity + 2 * y).min(last) as isize;
                let source = (*from).data[plane].offset(source * (*from).linesize[plane] as isize);
                let target = (*to).data[plane].offset(y as isize * (*to).linesize[plane] as isize);
                source.copy_to_nonoverlapping(target, row);
            }
        }
    }
    Ok(field)
}

/// Allocates a picture.
///
/// # Errors
/// When memory runs out.
pub(super) fn new_picture(format: Pixel, (width, height): (u32, u32)) -> Result<Video> {
    let failed =
        || Error::new("Cannot convert the picture.", "There is no memory for it.", "Close other programs.");
    libav::allocate_picture(format, width, height).ok_or_else(failed)
}
