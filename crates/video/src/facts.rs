//! What a file says of itself. In: an opened [`Source`]. Out: its rate, length and codec, and what is refused of it.

use std::ffi::CStr;
use std::path::Path;

use ffmpeg_next::ffi;

use super::alpha;
use super::frame::{seconds, usable_rate};
use super::source::Source;
use base::error::Error;

/// The length that a file promises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Promise {
    /// When the pictures, or all of its streams, end, in seconds.
    pub end_s: f64,
    /// How far the truth may be from it.
    pub slack_s: f64,
    /// It is of the pictures alone.
    pub of_pictures: bool,
}

impl Source {
    /// Whether stamps may jump in this format without anything being wrong.
    pub(crate) fn gaps_allowed(&self) -> bool {
        // SAFETY: the context is valid, and an opened input has a format.
        unsafe { (*(*self.file.input.as_ptr()).iformat).flags & ffi::AVFMT_TS_DISCONT != 0 }
    }

    /// Pixels of the largest pictures that are decoded.
    pub(crate) fn max_pixels(&self) -> i64 {
        self.file.room.max_pixels()
    }

    /// The error for a movie that wanted another file opened, if it did.
    pub(crate) fn refused_reference(&self, path: &Path) -> Option<Error> {
        self.file.refused_reference(path)
    }

    /// Returns true for a picture in a file of its own, of a kind that tells how many dots to an inch it was scanned or is to be
    /// printed with. FFmpeg takes these for the shape of its pixels. DPX and OpenEXR do tell that shape.
    pub(crate) fn is_still(&self) -> bool {
        use ffmpeg_next::codec::Id;
        let input = self.file.input.format();
        let mut names = input.name().split(',');
        let is_of_one = names.any(|name| ["image2", "apng"].contains(&name) || name.ends_with("_pipe"));
        is_of_one && !matches!(self.decoder.id(), Id::DPX | Id::EXR)
    }

    /// Returns true for a WebP with several pictures: FFmpeg's decoder sees none in it (5.1 to 7.1).
    pub(crate) fn is_animated_webp(&self) -> bool {
        // The container specification of WebP, "Extended File Format": behind the chunk's size its flags.
        let start = self.file.start(21);
        start.len() == 21
            && (&start[..4], &start[8..16], start[20] & 2) == (b"RIFF".as_slice(), b"WEBPVP8X".as_slice(), 2)
    }

    /// Frames a second as the file states them.
    pub(crate) fn fps(&self) -> Option<f64> {
        let video = self.file.input.stream(self.stream)?;
        usable_rate(video.avg_frame_rate()).or(usable_rate(video.rate()))
    }

    /// What is said of alpha that is not decoded.
    pub(crate) fn alpha_warning(&self, path: &Path) -> Option<Error> {
        let name = self.decoder.codec();
        alpha::warning(
            &self.file.input.stream(self.stream)?,
            name.as_ref().map_or("", |codec| codec.name()),
            path,
        )
    }

    /// The codec's short name, such as "h264".
    pub(crate) fn codec_name(&self) -> String {
        // SAFETY: avcodec_get_name returns a static string for every id.
        let name = unsafe { CStr::from_ptr(ffi::avcodec_get_name(self.decoder.id().into())) };
        name.to_string_lossy().into_owned()
    }

    /// Length of the picture's stream, or of the whole file, in seconds.
    pub(crate) fn duration_s(&self) -> Option<f64> {
        self.stream_duration_s().or(self.file_duration_s())
    }

    /// The length that the file promises; `None` where it is only an estimate.
    pub(crate) fn promise(&self) -> Option<Promise> {
        if let Some(end_s) = self.stream_duration_s().filter(|_| self.states_each_length()) {
            return Some(Promise { end_s, slack_s: 0.5 + 0.02 * end_s, of_pictures: true });
        }
        // SAFETY: the context is valid; the field is a plain number.
        let method = unsafe { (*self.file.input.as_ptr()).duration_estimation_method };
        if method != ffi::AVDurationEstimationMethod::AVFMT_DURATION_FROM_STREAM {
            return None;
        }
        let end_s = self.file_duration_s()?;
        Some(Promise { end_s, slack_s: 0.5 + 0.05 * end_s, of_pictures: false })
    }

    /// Whether the container states the length of each stream, and not only of the whole. ASF states that of the whole for
    /// each of them.
    pub(crate) fn states_each_length(&self) -> bool {
        let is_asf = self.file.input.format().name().starts_with("asf");
        !is_asf && self.stream_duration_s().is_some()
    }

    fn stream_duration_s(&self) -> Option<f64> {
        let duration = self.file.input.stream(self.stream)?.duration();
        (duration > 0).then(|| seconds(self.nanoseconds(duration)))
    }

    fn file_duration_s(&self) -> Option<f64> {
        let duration = self.file.input.duration();
        (duration > 0).then(|| duration as f64 / f64::from(ffi::AV_TIME_BASE))
    }
}
