//! Opening a file: what is refused and why. In: a path. Out: FFmpeg's container, the stream with the pictures and
//! its decoder.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::format::context::Input;

use super::access::{self, Gate, Io};
use super::alpha;
use super::failures::{Ffmpeg, is_unsupported, no_memory, sentence};
use super::formats;
use super::reading::{Reading, References};
use super::room::Room;
use base::error::{Error, Result};
use base::text;

/// The error for a file without pictures to play.
pub(super) fn not_a_movie(path: &Path, why: impl Into<String>) -> Error {
    Error::new(
        format!("'{}' is not a movie that can be played.", text::name(path)),
        why,
        "Try another file, such as an .mp4, .mkv, .webm or .avi.",
    )
}

/// An opened container. FFmpeg reads through the gate as long as it is there.
pub(super) struct Container {
    pub input: Input,
    _io: Io,
    gate: Box<Gate>,
    pub room: Room,
}

impl Container {
    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.gate.bytes()
    }

    /// Bytes that the file has at least if nothing of it is missing, where it says so.
    pub(crate) fn announced_bytes(&self) -> Option<u64> {
        self.gate.announced_bytes()
    }

    /// Its first bytes: so many, or all that it has.
    pub(crate) fn start(&self, count: usize) -> Vec<u8> {
        self.gate.start(count)
    }

    /// A sentence where it has fewer.
    pub(crate) fn missing_bytes(&self) -> Option<String> {
        self.gate.missing_bytes()
    }

    /// The error for a movie that wanted another file opened, if it did.
    pub(crate) fn refused_reference(&self, path: &Path) -> Option<Error> {
        refused_reference(path, &self.gate)
    }
}

/// Opens the container at `path`: only a format of the list, and only this file, unless references are allowed.
///
/// # Errors
/// It cannot be read, it is of another format, or FFmpeg cannot open it.
pub(super) fn open_container(path: &Path, reading: &Reading) -> Result<Container> {
    let gate = Gate::new(path, reading)?;
    let io = gate.io().ok_or_else(|| no_memory(path))?;
    let room = Room::now();
    room.limit_blocks();
    let refused = |error: ffmpeg::Error| refusal(path, reading, &gate, error);
    let format = probe(&io, path).map_err(refused)?;
    // SAFETY: a format that FFmpeg has found is static, and so are its texts; the long name may be missing.
    let (names, title) = unsafe { (text((*format).name), text((*format).long_name)) };
    if reading.references() == References::Refused {
        formats::check(path, &names, &title)?;
    }
    let input = open_input(&gate, &io, format, room).map_err(|failure| match failure {
        Failure::Ffmpeg(error) => refused(error),
        Failure::TooLarge(width, height) => room.too_large(path, width, height),
    })?;
    gate.is_open();
    Ok(Container { input, _io: io, gate, room })
}

/// Finds the format by what the file holds and by the ending of its name. The rest of the name is kept from FFmpeg, for
/// which it could be a pattern.
fn probe(io: &Io, path: &Path) -> Ffmpeg<*const ffi::AVInputFormat> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let ending = if ending.bytes().all(|byte| byte.is_ascii_alphanumeric()) { ending } else { "" };
    let name = CString::new(format!("movie.{ending}")).unwrap_or_default();
    // SAFETY: an all-zero structure is one without data, as FFmpeg's own first look at a name has it; name and context
    // are valid for the calls.
    unsafe {
        let mut data: ffi::AVProbeData = std::mem::zeroed();
        data.filename = name.as_ptr();
        let mut score = ffi::AVPROBE_SCORE_MAX as libc::c_int / 4;
        let mut format = ffi::av_probe_input_format2(&data, 0, &mut score);
        if format.is_null() {
            let found = ffi::av_probe_input_buffer2(
                io.as_ptr(),
                &mut format,
                name.as_ptr(),
                std::ptr::null_mut(),
                0,
                0,
            );
            if found < 0 {
                return Err(ffmpeg::Error::from(found));
            }
        }
        if format.is_null() { Err(ffmpeg::Error::InvalidData) } else { Ok(format) }
    }
}

/// Why a container could not be opened.
enum Failure {
    Ffmpeg(ffmpeg::Error),
    /// A stream's pictures have more pixels than are taken.
    TooLarge(libc::c_int, libc::c_int),
}

fn open_input(
    gate: &Gate,
    io: &Io,
    format: *const ffi::AVInputFormat,
    room: Room,
) -> std::result::Result<Input, Failure> {
    let memory = || Failure::Ffmpeg(ffmpeg::Error::Other { errno: ffmpeg::error::ENOMEM });
    let reading = gate.reading().clone();
    let interrupt = ffmpeg::util::interrupt::new(Box::new(move || reading.is_over()));
    let mut options = ffmpeg::Dictionary::new();
    options.set("protocol_whitelist", "file");
    if gate.reading().references() == References::Refused {
        options.set("format_whitelist", &formats::whitelist());
    }
    // A name is a name, also with a percent sign in it.
    options.set("pattern_type", "none");
    // SAFETY: the context comes from FFmpeg and is handed to `Input`, which frees it, or freed here; the interrupt
    // closure outlives it in both cases, since its guard goes into `Input` or is dropped at the end. The gate and its I/O
    // context outlive it too: `Container` drops them later.
    unsafe {
        let mut context = ffi::avformat_alloc_context();
        if context.is_null() {
            return Err(memory());
        }
        (*context).interrupt_callback = interrupt.interrupt;
        (*context).opaque = std::ptr::from_ref(gate).cast_mut().cast();
        (*context).io_open = Some(access::open);
        (*context).io_close2 = Some(access::close);
        // What reads files by itself, as that for pictures does, asks `access::open` instead.
        if (*format).flags & ffi::AVFMT_NOFILE == 0 {
            (*context).pb = io.as_ptr();
        }
        let mut raw = options.disown();
        // A failed open frees the context.
        let opened = ffi::avformat_open_input(&mut context, gate.url().as_ptr(), format as _, &mut raw);
        drop(ffmpeg::Dictionary::own(raw));
        if opened < 0 {
            return Err(Failure::Ffmpeg(ffmpeg::Error::from(opened)));
        }
        let input = Input::wrap_with_interrupt(context, interrupt.guard);
        check_sizes(context, room)?;
        let found = ffi::avformat_find_stream_info(context, std::ptr::null_mut());
        if found < 0 {
            return Err(Failure::Ffmpeg(ffmpeg::Error::from(found)));
        }
        check_sizes(context, room)?;
        Ok(input)
    }
}

/// Refuses streams of pictures that are larger than those that clreel takes, before anything is decoded.
///
/// # Safety
/// The context is a valid one of an opened file.
unsafe fn check_sizes(context: *const ffi::AVFormatContext, room: Room) -> std::result::Result<(), Failure> {
    let limit = room.max_pixels();
    // SAFETY: the context has so many streams, and each has parameters.
    unsafe {
        for index in 0..(*context).nb_streams as usize {
            let parameters = (**(*context).streams.add(index)).codecpar;
            let (width, height) = ((*parameters).width, (*parameters).height);
            if i64::from(width.max(0)) * i64::from(height.max(0)) > limit {
                return Err(Failure::TooLarge(width, height));
            }
        }
    }
    Ok(())
}

/// A text of FFmpeg's; empty where there is none.
///
/// # Safety
/// It is null or a valid C string.
unsafe fn text(text: *const libc::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as said above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The error for a file that FFmpeg does not open.
fn refusal(path: &Path, reading: &Reading, gate: &Gate, error: ffmpeg::Error) -> Error {
    if reading.timed_out() {
        return reading.too_slow(path);
    }
    if let Some(error) = refused_reference(path, gate) {
        return error;
    }
    // An MP4 without the index at its end, for one.
    if let Some(missing) = gate.missing_bytes() {
        return Error::new(
            format!("'{}' is cut off.", text::name(path)),
            format!("{missing} FFmpeg says: {}.", sentence(error)),
            "If it is still being copied, wait until it is complete; or get a new copy of it.",
        );
    }
    not_a_movie(path, format!("FFmpeg says: {}.", sentence(error)))
}

fn refused_reference(path: &Path, gate: &Gate) -> Option<Error> {
    let refused = gate.refused()?;
    Some(match gate.reading().references() {
        References::Refused => formats::names_others(path, &format!("It wants '{}' opened.", refused.url)),
        References::Allowed if refused.endless => {
            not_a_movie(path, format!("It has files opened without an end, such as '{}'.", refused.url))
        }
        References::Allowed => {
            not_a_movie(path, format!("It names '{}', which cannot be opened.", refused.url))
        }
    })
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
                format!("'{}' has no pictures.", text::name(path)),
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

/// What to try where a decoder is missing.
pub(super) const CONVERT: &str = "Install a complete or a newer FFmpeg, or convert the file.";

/// What a stream is coded with, as far as that is known, in words.
fn codec_of(stream: &ffmpeg::Stream) -> String {
    let parameters = stream.parameters();
    // SAFETY: a stream has parameters; the name is a static text for every codec.
    let (name, tag) = unsafe {
        let raw = &*parameters.as_ptr();
        (text(ffi::avcodec_get_name(raw.codec_id)), raw.codec_tag.to_le_bytes())
    };
    let tag = match tag {
        [0, 0, 0, 0] => String::new(),
        tag => format!(" '{}'", text::name(OsStr::from_bytes(&tag))),
    };
    match parameters.id() {
        ffmpeg::codec::Id::None => format!("its codec{tag}, which it does not know"),
        _ => format!("its codec, {name}"),
    }
}

/// Opens the decoder for a stream, with as many threads as FFmpeg sees fit.
pub(super) fn open_decoder(
    stream: &ffmpeg::Stream,
    path: &Path,
    room: Room,
) -> Result<ffmpeg::decoder::Video> {
    let parameters = stream.parameters();
    let id = parameters.id();
    let fail =
        |why: String, hint: &str| Error::new(format!("Cannot decode '{}'.", text::name(path)), why, hint);
    let Some(codec) = alpha::decoder(stream).or_else(|| ffmpeg::decoder::find(id)) else {
        return Err(fail(format!("This FFmpeg does not decode {}.", codec_of(stream)), CONVERT));
    };
    let refused = |error| match is_unsupported(error) {
        true => fail(format!("This FFmpeg does not decode {}.", codec_of(stream)), CONVERT),
        false => fail(format!("FFmpeg's decoder {} says: {}.", codec.name(), sentence(error)), ""),
    };
    let mut context = ffmpeg::codec::Context::new_with_codec(codec);
    context.set_parameters(parameters).map_err(refused)?;
    // SAFETY: the context is valid and not yet open; all are plain fields.
    unsafe {
        let raw = context.as_mut_ptr();
        // Without it FFmpeg leaves columns in that the file cuts off on the left, to keep rows aligned in memory.
        (*raw).flags |= ffi::AV_CODEC_FLAG_UNALIGNED as libc::c_int;
        (*raw).max_pixels = room.max_pixels();
        (*raw).thread_count = room.threads((*raw).width, (*raw).height);
        (*raw).thread_type = ffi::FF_THREAD_FRAME | ffi::FF_THREAD_SLICE;
    }
    let mut decoder = context.decoder();
    decoder.set_packet_time_base(stream.time_base());
    decoder.open_as(codec).and_then(|opened| opened.video()).map_err(refused)
}
