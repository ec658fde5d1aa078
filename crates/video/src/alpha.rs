//! Alpha that files have otherwise than as a part of their pictures: beside them, where most decoders do not look, or in name
//! only. In: a stream, a decoder's picture. Out: the decoder for it, a warning, the picture as it is meant.

use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;

use base::error::Error;
use base::text;

/// Returns true if the stream's packets have pictures of alpha beside them, as those of VP8 and VP9 may in Matroska and WebM.
fn has_alpha_beside(stream: &ffmpeg::Stream) -> bool {
    stream.metadata().get("alpha_mode") == Some("1")
}

/// Returns the decoder that a stream with alpha beside its pictures needs, if there is one. FFmpeg's own decoders leave that
/// alpha out.
pub(super) fn decoder(stream: &ffmpeg::Stream) -> Option<ffmpeg::Codec> {
    let name = if has_alpha_beside(stream) { decoder_name(stream.parameters().id())? } else { return None };
    ffmpeg::decoder::find_by_name(name)
}

fn decoder_name(id: Id) -> Option<&'static str> {
    match id {
        Id::VP8 => Some("libvpx"),
        Id::VP9 => Some("libvpx-vp9"),
        _ => None,
    }
}

/// Returns the warning about a stream with alpha that the decoder called `name` leaves out.
pub(super) fn warning(stream: &ffmpeg::Stream, name: &str, path: &Path) -> Option<Error> {
    let is_left_out = has_alpha_beside(stream) && decoder_name(stream.parameters().id()) != Some(name);
    is_left_out.then(|| left_out(path))
}

fn left_out(path: &Path) -> Error {
    Error::new(
        format!("The transparency of '{}' is not shown.", text::name(path)),
        "It lies beside the pictures, and this FFmpeg has no decoder for it there: it was built without libvpx.",
        "Install an FFmpeg with libvpx.",
    )
}

/// Takes a picture for opaque whose alpha is 0 everywhere, where its file need not mean alpha: the fourth byte of raw pictures in
/// AVI and of Targa's is often left 0, and a picture of which nothing can be seen is not worth a file. FFmpeg's decoder of BMP
/// does the same.
pub(super) fn without_unused(id: Id, picture: &mut ffmpeg::frame::Video) {
    let may_lack_it = matches!(id, Id::RAWVIDEO | Id::TARGA) && picture.format() == Pixel::BGRA;
    if !may_lack_it {
        return;
    }
    let bytes = 4 * picture.width() as usize;
    // SAFETY: the picture is valid, and has so many rows of so many bytes each; the stride may be negative.
    let is_unused = unsafe {
        let raw = picture.as_ptr();
        let (start, line) = ((*raw).data[0], (*raw).linesize[0] as isize);
        !start.is_null()
            && line.unsigned_abs() >= bytes
            && (0..picture.height() as isize).all(|y| {
                let row = std::slice::from_raw_parts(start.offset(y * line), bytes);
                row.as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 0)
            })
    };
    if is_unused {
        picture.set_format(Pixel::BGRZ);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libvpx_decodes_alpha_beside_pictures() {
        assert_eq!([Id::VP8, Id::VP9, Id::AV1].map(decoder_name), [Some("libvpx"), Some("libvpx-vp9"), None]);
        assert!(left_out(Path::new("a.webm")).to_string().contains("a.webm"));
    }

    #[test]
    fn alpha_that_is_zero_everywhere_may_be_meant_or_not() {
        let picture = |alpha: u8| {
            let mut picture = ffmpeg::frame::Video::new(Pixel::BGRA, 5, 3);
            picture.data_mut(0).fill(0);
            picture.data_mut(0)[3] = alpha;
            picture
        };
        for (id, alpha, format) in [
            (Id::RAWVIDEO, 0, Pixel::BGRZ),
            (Id::TARGA, 0, Pixel::BGRZ),
            (Id::RAWVIDEO, 1, Pixel::BGRA),
            (Id::GIF, 0, Pixel::BGRA),
        ] {
            let mut picture = picture(alpha);
            without_unused(id, &mut picture);
            assert_eq!(picture.format(), format, "{id:?} {alpha}");
        }
    }
}
