//! Opening a file: what is refused and why. In: a path. Out: FFmpeg's container, the stream with the pictures and
//! its decoder.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::format::context::Input;

use super::source::{Ffmpeg, sentence};
use crate::error::{Error, Result};

/// Refuses what is not a regular file with something in it: opening a pipe or a device could wait for ever.
pub(super) fn check_file(path: &Path) -> Result<()> {
    let fail =
        |why: &str, hint: &str| Err(Error::new(format!("Cannot open '{}'.", path.display()), why, hint));
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return fail("There is no such file.", "Check the name and the folder.");
        }
        Err(error) => return fail(&format!("{error}."), "Check the name and the permissions."),
    };
    if meta.is_dir() {
        return fail("It is a folder.", "Name a movie file in it.");
    }
    if !meta.is_file() {
        return fail(
            "It is a pipe, a socket or a device, and a movie is read more than once.",
            "Save it to a file and open that.",
        );
    }
    if meta.len() == 0 {
        return fail("The file is empty.", "If it is still being copied, wait until it is complete.");
    }
    match std::fs::File::open(path) {
        Ok(_) => Ok(()),
        Err(error) => fail(&format!("{error}."), "Check the file's permissions."),
    }
}

/// The error for a file without pictures to play.
pub(super) fn not_a_movie(path: &Path, why: impl Into<String>) -> Error {
    Error::new(
        format!("'{}' is not a movie that can be played.", path.display()),
        why,
        "Try another file, such as an .mp4, .mkv, .webm or .avi.",
    )
}

/// Opens the container. The "file:" in front keeps names such as `a:b.mp4` from being read as addresses.
pub(super) fn open_input(path: &Path, stop: Arc<AtomicBool>) -> Ffmpeg<Input> {
    let invalid = ffmpeg::Error::Other { errno: ffmpeg::error::EINVAL };
    let url = CString::new([b"file:", path.as_os_str().as_bytes()].concat()).map_err(|_| invalid)?;
    let interrupt = ffmpeg::util::interrupt::new(Box::new(move || stop.load(Ordering::Relaxed)));
    // SAFETY: the context comes from FFmpeg and is handed to `Input`, which frees it, or freed here; the interrupt
    // closure outlives it in both cases, since its guard goes into `Input` or is dropped at the end.
    unsafe {
        let mut context = ffi::avformat_alloc_context();
        if context.is_null() {
            return Err(ffmpeg::Error::Other { errno: ffmpeg::error::ENOMEM });
        }
        (*context).interrupt_callback = interrupt.interrupt;
        // A failed open frees the context.
        let opened =
            ffi::avformat_open_input(&mut context, url.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut());
        if opened < 0 {
            return Err(ffmpeg::Error::from(opened));
        }
        let found = ffi::avformat_find_stream_info(context, std::ptr::null_mut());
        if found < 0 {
            ffi::avformat_close_input(&mut context);
            return Err(ffmpeg::Error::from(found));
        }
        Ok(Input::wrap_with_interrupt(context, interrupt.guard))
    }
}

/// The stream with the pictures.
pub(super) fn video_stream(input: &Input, path: &Path) -> Result<usize> {
    use ffmpeg::codec::Id;
    use ffmpeg::media::Type;

    let is_cover =
        |s: &ffmpeg::Stream| s.disposition().contains(ffmpeg::format::stream::Disposition::ATTACHED_PIC);
    let best = input
        .streams()
        .best(Type::Video)
        .filter(|s| !is_cover(s))
        .or_else(|| input.streams().find(|s| s.parameters().medium() == Type::Video && !is_cover(s)));
    let Some(best) = best else {
        if input.streams().any(|s| s.parameters().medium() == Type::Audio) {
            return Err(Error::new(
                format!("'{}' has no pictures.", path.display()),
                "It holds only sound.",
                "Name a file with a video stream.",
            ));
        }
        return Err(not_a_movie(path, "It has no video stream."));
    };
    // FFmpeg can draw text files as pictures; a text that was named by mistake is not a movie.
    if matches!(best.parameters().id(), Id::ANSI | Id::BINTEXT | Id::XBIN | Id::IDF) {
        return Err(not_a_movie(path, "It is a text."));
    }
    Ok(best.index())
}

/// Lets the reader skip every stream but one.
pub(super) fn discard_others(input: &mut Input, keep: usize) {
    // SAFETY: the context is valid and has nb_streams streams; `discard` is a plain field.
    unsafe {
        let context = input.as_mut_ptr();
        for index in (0..(*context).nb_streams as usize).filter(|&index| index != keep) {
            (*(*(*context).streams.add(index))).discard = ffi::AVDiscard::AVDISCARD_ALL;
        }
    }
}

/// Opens the decoder for a stream, with as many threads as FFmpeg sees fit.
pub(super) fn open_decoder(stream: &ffmpeg::Stream, path: &Path) -> Result<ffmpeg::decoder::Video> {
    let parameters = stream.parameters();
    let id = parameters.id();
    let fail =
        |why: String, hint: &str| Error::new(format!("Cannot decode '{}'.", path.display()), why, hint);
    let Some(codec) = ffmpeg::decoder::find(id) else {
        return Err(fail(
            format!("This build of FFmpeg has no decoder for its codec, {id:?}."),
            "Install a complete FFmpeg, or convert the file.",
        ));
    };
    let refused = |error| fail(format!("FFmpeg's decoder {} says: {}.", codec.name(), sentence(error)), "");
    let mut context = ffmpeg::codec::Context::new_with_codec(codec);
    context.set_parameters(parameters).map_err(refused)?;
    // SAFETY: the context is valid and not yet open; all are plain fields. A count of 0 lets FFmpeg choose.
    unsafe {
        let raw = context.as_mut_ptr();
        // Without it FFmpeg leaves columns in that the file cuts off on the left, to keep rows aligned in memory.
        (*raw).flags |= ffi::AV_CODEC_FLAG_UNALIGNED as libc::c_int;
        (*raw).thread_count = 0;
        (*raw).thread_type = ffi::FF_THREAD_FRAME | ffi::FF_THREAD_SLICE;
    }
    let mut decoder = context.decoder();
    decoder.set_packet_time_base(stream.time_base());
    decoder.open_as(codec).and_then(|opened| opened.video()).map_err(refused)
}
