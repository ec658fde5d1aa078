//! What a file says of itself. In: an opened [`Source`]. Out: its rate, length and codec, and what is refused of it.

use std::ffi::CStr;
use std::path::Path;

use ffmpeg_next::ffi;

use super::frame::{seconds, usable_rate};
use super::source::Source;
use crate::error::Error;

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

    /// Frames a second as the file states them.
    pub(crate) fn fps(&self) -> Option<f64> {
        let video = self.file.input.stream(self.stream)?;
        usable_rate(video.avg_frame_rate()).or(usable_rate(video.rate()))
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

    /// The length that the file promises for its pictures, in seconds, and how far the truth may be from it;
    /// `None` where the length is only an estimate.
    pub(crate) fn promised_s(&self) -> Option<(f64, f64)> {
        if let Some(duration) = self.stream_duration_s() {
            return Some((duration, 0.5 + 0.02 * duration));
        }
        // SAFETY: the context is valid; the field is a plain number.
        let method = unsafe { (*self.file.input.as_ptr()).duration_estimation_method };
        if method != ffi::AVDurationEstimationMethod::AVFMT_DURATION_FROM_STREAM {
            return None;
        }
        // The sound may go on after the pictures.
        let slack = if self.file.input.nb_streams() > 1 { 1.0 } else { 0.5 };
        self.file_duration_s().map(|duration| (duration, slack + 0.05 * duration))
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
