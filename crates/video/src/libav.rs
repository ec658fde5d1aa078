//! Access to FFmpeg's global state and C structures.

use std::ffi::CStr;
use std::sync::Once;

use ffmpeg_next::codec::packet::side_data::SideData;
use ffmpeg_next::ffi;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

/// Initialises FFmpeg once, and turns off its own messages on stderr: errors reach the user as
/// [`Error`](base::error::Error).
pub(crate) fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // A failure is harmless: codecs and formats are registered automatically since FFmpeg 4.
        let _ = ffmpeg_next::init();
        ffmpeg_next::log::set_level(ffmpeg_next::log::Level::Quiet);
    });
}

/// Copies a C string of FFmpeg; returns an empty string for null.
///
/// # Safety
/// `text` is null or a valid C string.
pub(crate) unsafe fn string(text: *const libc::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees a valid C string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Returns FFmpeg's description of a pixel format; `None` for formats that it does not know.
pub(crate) fn descriptor(format: Pixel) -> Option<&'static ffi::AVPixFmtDescriptor> {
    // SAFETY: the function returns null or a static descriptor.
    unsafe { ffi::av_pix_fmt_desc_get(format.into()).as_ref() }
}

/// Returns a stream's side data of the kind that FFmpeg calls `name`. Kinds are found by name because those of newer libraries
/// have no number in older ones.
pub(crate) fn stream_side_data<'a>(stream: &'a ffmpeg_next::Stream, name: &CStr) -> Option<SideData<'a>> {
    stream.side_data().find(|data| {
        // SAFETY: the data belong to the stream; FFmpeg returns null or a static text.
        let kind = unsafe { ffi::av_packet_side_data_name((*data.as_ptr()).type_) };
        // SAFETY: as above.
        !kind.is_null() && unsafe { CStr::from_ptr(kind) } == name
    })
}

/// Allocates a picture; `None` when memory has run out.
pub(crate) fn allocate_picture(format: Pixel, width: u32, height: u32) -> Option<Video> {
    let mut picture = Video::empty();
    // SAFETY: an allocation that failed is detected before it is used; the picture has a format, a width and a height when
    // it gets its memory.
    unsafe {
        if picture.as_ptr().is_null() {
            return None;
        }
        picture.set_format(format);
        picture.set_width(width);
        picture.set_height(height);
        (ffi::av_frame_get_buffer(picture.as_mut_ptr(), 0) >= 0).then_some(picture)
    }
}

/// Copies `bytes`, rows without gaps of `row` bytes each, to the plane `index` of a picture.
pub(crate) fn fill_plane(picture: &mut Video, index: usize, bytes: &[u8], row: usize) {
    let stride = picture.stride(index);
    let rows = picture.data_mut(index).chunks_mut(stride).zip(bytes.chunks_exact(row));
    rows.for_each(|(to, from)| to[..row].copy_from_slice(from));
}
