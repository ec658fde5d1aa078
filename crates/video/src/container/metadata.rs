//! Properties that a file states about itself: its frame rate, duration and format.

use std::os::unix::fs::FileExt as _;

use ffmpeg_next::codec::Id;
use ffmpeg_next::ffi;

use super::Container;
use crate::frame::{seconds, usable_rate};

/// A duration that the container states, to find files that are cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DeclaredDuration {
    /// The stated end of the pictures, or of all streams, in seconds.
    pub end_s: f64,
    /// The tolerated difference between the stated and the real end, in seconds.
    pub tolerance_s: f64,
    /// True if the duration is that of the pictures alone.
    pub of_pictures: bool,
}

impl Container {
    /// Returns true if time stamps may jump in this format without the file being damaged.
    pub(crate) fn allows_jumps(&self) -> bool {
        // SAFETY: the context is valid, and an opened input has a format.
        unsafe { (*(*self.input.as_ptr()).iformat).flags & ffi::AVFMT_TS_DISCONT != 0 }
    }

    /// Returns true for a picture in a file of its own whose format states its resolution in dots per inch, which FFmpeg
    /// takes for the shape of its pixels. DPX and OpenEXR do state the shape.
    pub(crate) fn is_still_image(&self, codec: Id) -> bool {
        let input = self.input.format();
        let mut names = input.name().split(',');
        let is_image = names.any(|name| ["image2", "apng"].contains(&name) || name.ends_with("_pipe"));
        is_image && !matches!(codec, Id::DPX | Id::EXR)
    }

    /// Returns true for a WebP with several pictures: FFmpeg's decoder finds no picture in such a file (5.1 to 7.1).
    pub(crate) fn is_animated_webp(&self) -> bool {
        // The container specification of WebP, "Extended File Format": the flags follow the chunk's size.
        let mut start = [0; 21];
        self.access.file().read_exact_at(&mut start, 0).is_ok()
            && (&start[..4], &start[8..16], start[20] & 2) == (b"RIFF".as_slice(), b"WEBPVP8X".as_slice(), 2)
    }

    /// Returns the frames per second that the file states, if they are plausible.
    pub(crate) fn fps(&self) -> Option<f64> {
        let video = self.played()?;
        usable_rate(video.avg_frame_rate()).or(usable_rate(video.rate()))
    }

    /// Returns the duration of the video stream, or else of the whole file, in seconds; `None` if the file states neither.
    pub(crate) fn duration_s(&self) -> Option<f64> {
        self.stream_duration_s().or(self.file_duration_s())
    }

    /// Returns the duration that the file states; `None` if FFmpeg only estimates the duration.
    pub(crate) fn declared_duration(&self) -> Option<DeclaredDuration> {
        if let Some(end_s) = self.stream_duration_s().filter(|_| self.states_each_duration()) {
            return Some(DeclaredDuration { end_s, tolerance_s: 0.5 + 0.02 * end_s, of_pictures: true });
        }
        // SAFETY: the context is valid; the field is a plain number.
        let method = unsafe { (*self.input.as_ptr()).duration_estimation_method };
        if method != ffi::AVDurationEstimationMethod::AVFMT_DURATION_FROM_STREAM {
            return None;
        }
        let end_s = self.file_duration_s()?;
        Some(DeclaredDuration { end_s, tolerance_s: 0.5 + 0.05 * end_s, of_pictures: false })
    }

    /// Returns true if the container states the duration of each stream, not only of the whole file. ASF files do not
    /// count: they state the duration of the whole file for each stream.
    pub(crate) fn states_each_duration(&self) -> bool {
        let is_asf = self.input.format().name().starts_with("asf");
        !is_asf && self.stream_duration_s().is_some()
    }

    /// Returns the duration of the video stream in seconds, if the file states it.
    fn stream_duration_s(&self) -> Option<f64> {
        let duration = self.played()?.duration();
        (duration > 0).then(|| seconds(self.nanoseconds(duration)))
    }

    /// Returns the duration of the whole file in seconds, if it is known.
    fn file_duration_s(&self) -> Option<f64> {
        let duration = self.input.duration();
        (duration > 0).then(|| duration as f64 / f64::from(ffi::AV_TIME_BASE))
    }
}
