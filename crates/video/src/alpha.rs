//! Handles two special cases of alpha: alpha that is stored as additional pictures in the packets, which most decoders ignore,
//! and alpha that is declared but not used.

use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::Id;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;

use base::error::Error;
use base::text;

/// Returns true if the stream stores alpha as additional pictures in its packets, as VP8 and VP9 may in Matroska and WebM.
fn has_separate_alpha(stream: &ffmpeg::Stream) -> bool {
    stream.metadata().get("alpha_mode") == Some("1")
}

/// Returns the decoder for a stream with separate alpha, which FFmpeg's own decoders ignore; `None` for other streams, or if
/// this FFmpeg has no such decoder.
pub(super) fn find_decoder(stream: &ffmpeg::Stream) -> Option<ffmpeg::Codec> {
    let name = has_separate_alpha(stream).then(|| decoder_name(stream.parameters().id()))??;
    ffmpeg::decoder::find_by_name(name)
}

/// Returns the name of the decoder that reads separate alpha of a codec; `None` for codecs without separate alpha.
fn decoder_name(id: Id) -> Option<&'static str> {
    match id {
        Id::VP8 => Some("libvpx"),
        Id::VP9 => Some("libvpx-vp9"),
        _ => None,
    }
}

/// Returns a warning if the stream has separate alpha that the decoder called `name` ignores; otherwise `None`.
pub(super) fn warning(stream: &ffmpeg::Stream, name: &str, path: &Path) -> Option<Error> {
    let is_dropped = has_separate_alpha(stream) && decoder_name(stream.parameters().id()) != Some(name);
    let what = format!("The transparency of '{}' is not shown.", text::name(path));
    let why = "It lies beside the pictures, and this FFmpeg has no decoder for it there: it was built without libvpx.";
    is_dropped.then(|| Error::new(what, why, "Install an FFmpeg with libvpx."))
}

/// Changes the picture's pixel format to the one without alpha if alpha is 0 everywhere and the codec often leaves alpha
/// unused: uncompressed pictures in AVI and Targa often have 0 in the fourth byte. FFmpeg's BMP decoder does the same.
pub(super) fn drop_unused_alpha(id: Id, picture: &mut Video) {
    let may_lack_alpha = matches!(id, Id::RAWVIDEO | Id::TARGA) && picture.format() == Pixel::BGRA;
    if !may_lack_alpha {
        return;
    }
    let bytes = 4 * picture.width() as usize;
    // SAFETY: the picture is valid and has `height` rows of at least `bytes` bytes each; the stride may be negative.
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
    fn only_libvpx_decodes_separate_alpha() {
        assert_eq!([Id::VP8, Id::VP9, Id::AV1].map(decoder_name), [Some("libvpx"), Some("libvpx-vp9"), None]);
    }

    #[test]
    fn zero_alpha_is_dropped_for_some_codecs_only() {
        let picture = |alpha: u8| {
            let mut picture = Video::new(Pixel::BGRA, 5, 3);
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
            drop_unused_alpha(id, &mut picture);
            assert_eq!(picture.format(), format, "{id:?} {alpha}");
        }
    }
}
