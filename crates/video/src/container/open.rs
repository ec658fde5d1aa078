//! Opens a movie's container, its video stream and its decoder, or explains why they cannot be opened.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::ffi;
use ffmpeg_next::format::context::Input;

use super::Container;
use crate::access::{self, FileAccess, IoContext};
use crate::alpha;
use crate::errors::{CONVERT_HINT, Ffmpeg, cannot_decode, is_unsupported, no_memory, not_a_movie, sentence};
use crate::formats;
use crate::libav;
use crate::memory_budget::MemoryBudget;
use crate::read_control::{ReadControl, References};
use base::error::{Error, Result};
use base::text;

impl Container {
    /// Opens the movie at `path` and selects its video stream. Unless references are allowed, only
    /// [self-contained formats](formats) are opened. Reading stops soon after `read_control` is cancelled.
    ///
    /// # Errors
    /// The file cannot be read, has another format or no pictures, or FFmpeg cannot open it.
    pub(crate) fn open(path: &Path, read_control: &ReadControl) -> Result<Self> {
        let mut container = Self::open_stream(path, read_control, |input| video_stream(input, path))?;
        container.sound = container.preferred_sound(&read_control.policy().languages);
        Ok(container)
    }

    /// Opens the movie at `path` as [`Container::open`] does, with the stream that `select` returns.
    pub(super) fn open_stream(
        path: &Path,
        read_control: &ReadControl,
        select: impl FnOnce(&Input) -> Result<ffmpeg::Stream<'_>>,
    ) -> Result<Self> {
        libav::initialise();
        read_control.begin_step();
        let access = FileAccess::new(path, read_control)?;
        let io = IoContext::new(access.file.clone(), read_control).ok_or_else(|| no_memory(path))?;
        let file = match read_control.policy().references {
            References::Refused => access.bytes(),
            References::Allowed => u64::MAX,
        };
        let budget = MemoryBudget { free: base::memory::free().unwrap_or(u64::MAX), file };
        budget.limit_allocations();
        let format = probe(&io, path).map_err(|error| open_error(&access, error))?;
        if read_control.policy().references == References::Refused {
            // SAFETY: a format that FFmpeg has found is static, and so are its texts; the long name may be missing.
            let (names, title) =
                unsafe { (libav::string((*format).name), libav::string((*format).long_name)) };
            formats::check(path, &names, &title)?;
        }
        let (input, states_duration) = open_input(&access, &io, format, budget)?;
        access.open_requests.store(u32::MAX, Ordering::Relaxed);
        let selected = select(&input)?;
        let (stream, time_base) = (selected.index(), selected.time_base().into());
        let states_duration = states_duration.get(stream).copied().unwrap_or(false);
        Ok(Self { input, _io: io, access, budget, stream, sound: None, states_duration, time_base })
    }

    /// Opens the decoder for the video stream, with as many threads as FFmpeg chooses and memory allows.
    pub(crate) fn open_decoder(&self) -> Result<ffmpeg::decoder::Video> {
        let stream = self.played().ok_or_else(|| not_a_movie(&self.access.path, "It has no stream."))?;
        let parameters = stream.parameters();
        let missing = || {
            let why = format!("This FFmpeg does not decode {}.", describe_codec(&stream));
            cannot_decode(&self.access.path, why, CONVERT_HINT)
        };
        let codec = alpha::find_decoder(&stream).or_else(|| ffmpeg::decoder::find(parameters.id()));
        let codec = codec.ok_or_else(missing)?;
        let decoder_error = |error| match is_unsupported(error) {
            true => missing(),
            false => {
                let why = format!("FFmpeg's decoder {} says: {}.", codec.name(), sentence(error));
                cannot_decode(&self.access.path, why, "")
            }
        };
        let mut context = ffmpeg::codec::Context::new_with_codec(codec);
        context.set_parameters(parameters).map_err(decoder_error)?;
        // SAFETY: the context is valid and not yet open; all are plain fields.
        unsafe {
            let raw = context.as_mut_ptr();
            // Without this flag FFmpeg keeps columns that the file crops on the left, so that rows stay aligned in memory.
            (*raw).flags |= ffi::AV_CODEC_FLAG_UNALIGNED as libc::c_int;
            (*raw).max_pixels = self.budget.max_pixels();
            (*raw).thread_count = self.budget.threads((*raw).width, (*raw).height);
            (*raw).thread_type = ffi::FF_THREAD_FRAME | ffi::FF_THREAD_SLICE;
        }
        let mut decoder = context.decoder();
        decoder.set_packet_time_base(stream.time_base());
        decoder.open_as(codec).and_then(|opened| opened.video()).map_err(decoder_error)
    }
}

/// Returns the format by the file's contents and the extension of its name. FFmpeg does not get the rest of the name, which it
/// could take for a pattern.
fn probe(io: &IoContext, path: &Path) -> Ffmpeg<*const ffi::AVInputFormat> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let ending = if ending.bytes().all(|byte| byte.is_ascii_alphanumeric()) { ending } else { "" };
    let name = CString::new(format!("movie.{ending}")).unwrap_or_default();
    // SAFETY: an all-zero structure is one without data, as in FFmpeg's own probing by name; name and context are valid
    // for the calls.
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

/// Opens the container with this format through `access`, and reads the properties of its streams. Returns its context, and for
/// each stream true if the container states its duration.
fn open_input(
    access: &FileAccess,
    io: &IoContext,
    format: *const ffi::AVInputFormat,
    budget: MemoryBudget,
) -> Result<(Input, Vec<bool>)> {
    let read_control = access.read_control.clone();
    let interrupt = ffmpeg::util::interrupt::new(Box::new(move || read_control.must_stop()));
    let mut options = ffmpeg::Dictionary::new();
    options.set("protocol_whitelist", "file");
    if access.read_control.policy().references == References::Refused {
        options.set("format_whitelist", formats::whitelist());
    }
    // A percent sign in a name is no pattern for a sequence of pictures.
    options.set("pattern_type", "none");
    // SAFETY: the context comes from FFmpeg and is handed to `Input`, which frees it, or freed here; the interrupt
    // closure outlives it in both cases, since its guard goes into `Input` or is dropped at the end. The access and its I/O
    // context outlive it too: `Container` drops them later.
    unsafe {
        let mut context = ffi::avformat_alloc_context();
        if context.is_null() {
            return Err(open_error(access, ffmpeg::Error::Other { errno: ffmpeg::error::ENOMEM }));
        }
        (*context).interrupt_callback = interrupt.interrupt;
        (*context).opaque = std::ptr::from_ref(access).cast_mut().cast();
        (*context).io_open = Some(access::open);
        (*context).io_close2 = Some(access::close);
        // Formats that open files themselves, such as image2, call `access::open` instead.
        if (*format).flags & ffi::AVFMT_NOFILE == 0 {
            (*context).pb = io.as_ptr();
        }
        let mut raw = options.disown();
        // A failed open frees the context.
        let opened = ffi::avformat_open_input(&mut context, access.url.as_ptr(), format as _, &mut raw);
        drop(ffmpeg::Dictionary::own(raw));
        if opened < 0 {
            return Err(open_error(access, opened.into()));
        }
        let input = Input::wrap_with_interrupt(context, interrupt.guard);
        let stated = picture_sizes(context);
        // FFmpeg fills in the others when it reads the properties of the streams.
        let states_duration = input.streams().map(|stream| stream.duration() > 0).collect();
        read_stream_info(context, budget).map_err(|error| open_error(access, error))?;
        check_picture_sizes(&stated, &picture_sizes(context), &access.path, budget)?;
        Ok((input, states_duration))
    }
}

/// Reads the properties of all streams, for which FFmpeg may decode their first pictures. Decoders ignore a size that the
/// container states if it is too large: most codecs state the size, too, and only the container may be damaged.
///
/// # Safety
/// The context is a valid one of an opened file.
unsafe fn read_stream_info(context: *mut ffi::AVFormatContext, budget: MemoryBudget) -> Ffmpeg<()> {
    let mut options = ffmpeg::Dictionary::new();
    options.set("max_pixels", &budget.max_pixels().to_string());
    // SAFETY: FFmpeg reads as many dictionaries as there are streams before the call, and may replace them; all are freed.
    unsafe {
        let copy = |_| {
            let mut copied = std::ptr::null_mut();
            ffi::av_dict_copy(&mut copied, options.as_ptr(), 0);
            copied
        };
        let mut of_streams: Vec<_> = (0..(*context).nb_streams).map(copy).collect();
        let found = ffi::avformat_find_stream_info(context, of_streams.as_mut_ptr());
        of_streams.iter_mut().for_each(|one| ffi::av_dict_free(one));
        if found < 0 { Err(found.into()) } else { Ok(()) }
    }
}

/// Returns the width and the height of the pictures of each stream.
///
/// # Safety
/// The context is a valid one of an opened file.
unsafe fn picture_sizes(context: *const ffi::AVFormatContext) -> Vec<(libc::c_int, libc::c_int)> {
    // SAFETY: the context has so many streams, and each has parameters.
    let size = |index: u32| unsafe {
        let parameters = (**(*context).streams.add(index as usize)).codecpar;
        ((*parameters).width, (*parameters).height)
    };
    // SAFETY: the context is valid.
    (0..unsafe { (*context).nb_streams }).map(size).collect()
}

/// Returns an error if the pictures of a stream are too large, before any is decoded for the screen. `stated` has the sizes
/// that the container states, `found` those that the codecs state: 0×0 where the size of the container was ignored and the
/// codec states none.
fn check_picture_sizes(
    stated: &[(libc::c_int, libc::c_int)],
    found: &[(libc::c_int, libc::c_int)],
    path: &Path,
    budget: MemoryBudget,
) -> Result<()> {
    for (index, found) in found.iter().enumerate() {
        let (width, height) = *match found {
            (0, 0) => stated.get(index).unwrap_or(found),
            found => found,
        };
        if i64::from(width.max(0)) * i64::from(height.max(0)) > budget.max_pixels() {
            return Err(budget.too_large(path, width, height));
        }
    }
    Ok(())
}

/// Returns the error to show to the user for a file that FFmpeg failed to open.
fn open_error(access: &FileAccess, error: ffmpeg::Error) -> Error {
    let path = &access.path;
    if access.read_control.timed_out() {
        return access.read_control.too_slow(path);
    }
    if let Some(error) = refused_reference(access) {
        return error;
    }
    // For example an MP4 without the index at its end.
    if let Some(missing) = access.missing_bytes_message() {
        return Error::new(
            format!("'{}' is cut off.", text::name(path)),
            format!("{missing} FFmpeg says: {}.", sentence(error)),
            "If it is still being copied, wait until it is complete; or get a new copy of it.",
        );
    }
    not_a_movie(path, format!("FFmpeg says: {}.", sentence(error)))
}

/// Returns the error for a movie that referred to a file which was not opened; `None` if it referred to no such file.
pub(crate) fn refused_reference(access: &FileAccess) -> Option<Error> {
    let (path, refused) = (&access.path, access.refused.lock().clone()?);
    Some(match access.read_control.policy().references {
        References::Refused => {
            formats::refers_to_others(path, &format!("It wants '{}' opened.", refused.url))
        }
        References::Allowed if refused.is_endless => {
            not_a_movie(path, format!("It has files opened without an end, such as '{}'.", refused.url))
        }
        References::Allowed => {
            not_a_movie(path, format!("It names '{}', which cannot be opened.", refused.url))
        }
    })
}

/// Returns the stream to play: the video stream that FFmpeg selects, or the first other video stream if that one is cover art.
fn video_stream<'a>(input: &'a Input, path: &Path) -> Result<ffmpeg::Stream<'a>> {
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
    Ok(best)
}

/// Returns a description of a stream's codec, worded for the middle of a sentence.
pub(super) fn describe_codec(stream: &ffmpeg::Stream) -> String {
    let parameters = stream.parameters();
    // SAFETY: a stream has parameters; the name is a static text for every codec.
    let (name, tag) = unsafe {
        let raw = &*parameters.as_ptr();
        (libav::string(ffi::avcodec_get_name(raw.codec_id)), raw.codec_tag.to_le_bytes())
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
