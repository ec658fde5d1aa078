//! The two fields of an interlaced picture, for conversions that know only whole pictures. In: a picture of any format.
//! Out: a field as a picture of its own.

use ffmpeg_next::ffi;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use base::error::{Error, Result};

/// Returns true if rows of chroma belong to the picture's two fields in turns, as [`Layout::interlaced`] says of the formats
/// that have a layout.
///
/// [`Layout::interlaced`]: super::Layout::interlaced
pub(super) fn has_fields(picture: &Video) -> bool {
    // SAFETY: the function returns null or a static descriptor.
    let format = unsafe { ffi::av_pix_fmt_desc_get(picture.format().into()).as_ref() };
    let has_half_rows = format.is_some_and(|format| format.nb_components >= 3 && format.log2_chroma_h == 1);
    picture.is_interlaced() && has_half_rows && picture.height() > 2
}

/// Copies the field of the lines `parity`, `parity` + 2, … of a picture that [has fields](has_fields), with their rows of
/// chroma. Where its last line has no row of chroma of its own, it takes the one before.
///
/// # Errors
/// When memory runs out.
pub(super) fn field(picture: &Video, parity: usize) -> Result<Video> {
    let format = ffi::AVPixelFormat::from(picture.format());
    let height = picture.height() as usize;
    let mut field = new_picture(picture.format(), (picture.width(), (height + 1 - parity) as u32 / 2))?;
    let rows_of =
        |plane: usize, height: usize| if matches!(plane, 1 | 2) { height.div_ceil(2) } else { height };
    // SAFETY: both pictures are valid and of one format, which has so many planes. Each of these has rows as `rows_of` says,
    // `linesize` bytes apart, of at least the bytes that FFmpeg says a row of this width takes.
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

/// A picture with memory of its own.
///
/// # Errors
/// When there is none.
pub(super) fn new_picture(format: Pixel, (width, height): (u32, u32)) -> Result<Video> {
    let mut picture = Video::empty();
    // SAFETY: an allocation that failed is seen before it is used; the picture has a format, a width and a height when it
    // gets its memory.
    let made = unsafe {
        if picture.as_ptr().is_null() {
            -1
        } else {
            picture.set_format(format);
            picture.set_width(width);
            picture.set_height(height);
            ffi::av_frame_get_buffer(picture.as_mut_ptr(), 0)
        }
    };
    if made < 0 {
        return Err(Error::new(
            "Cannot convert the picture.",
            "There is no memory for it.",
            "Close other programs.",
        ));
    }
    Ok(picture)
}
